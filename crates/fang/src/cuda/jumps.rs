//! Many jumps of a random stream at once, as a linear map.
//!
//! The CPU's population derives one stream for each successor in turn, each by a jump of 256 steps. A jump is linear in
//! the 256 bits of the state, so a power of it advances all streams of a generation to their positions in the next one
//! at the same time (`advance` in `kernels/fang.cuh`).

use crate::rng::Rng;

/// A linear map of a stream's state: the image of each bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Jumps(Vec<[u64; 4]>);

impl Jumps {
    pub(super) fn new(mut count: usize) -> Self {
        let unit = |bit: usize| std::array::from_fn(|word| if word == bit / 64 { 1 << (bit % 64) } else { 0 });
        let mut power = Jumps((0..256).map(unit).collect());
        let mut square = Jumps((0..256).map(|bit| jumped(unit(bit))).collect());
        while count > 0 {
            if count % 2 == 1 {
                power = square.after(&power);
            }
            square = square.after(&square);
            count /= 2;
        }
        power
    }

    /// Returns the state after the jumps.
    pub(super) fn apply(&self, state: [u64; 4]) -> [u64; 4] {
        let mut sum = [0; 4];
        for (bit, column) in self.0.iter().enumerate() {
            let mask = (state[bit / 64] >> (bit % 64) & 1).wrapping_neg();
            sum.iter_mut().zip(column).for_each(|(sum, word)| *sum ^= word & mask);
        }
        sum
    }

    fn after(&self, first: &Jumps) -> Jumps {
        Jumps(first.0.iter().map(|&column| self.apply(column)).collect())
    }

    /// Returns the columns one after the other, as the kernel reads them.
    pub(super) fn columns(&self) -> Vec<u64> {
        self.0.concat()
    }
}

fn jumped(state: [u64; 4]) -> [u64; 4] {
    let mut rng = Rng::from_words(state);
    let _ = rng.split();
    rng.words()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_equals_single_jumps() {
        let start = Rng::new(4);
        for count in [0, 1, 2, 7, 100] {
            let mut walked = start.clone();
            for _ in 0..count {
                let _ = walked.split();
            }
            assert_eq!(Rng::from_words(Jumps::new(count).apply(start.words())), walked, "{count} jumps");
        }
    }
}
