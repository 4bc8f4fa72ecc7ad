//! Random numbers; the only module that uses `rand_xoshiro`.
//!
//! Each search state owns one [`Rng`]. The streams of different states are `jump`s of one seed, so they never overlap.
//! A step draws one number from its state's stream. All random decisions that a step makes in parallel (such as one
//! draw for each variable of a color class) come from [`mix`] of that number, so neither threads nor devices change
//! what is drawn.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// A seeded stream of random numbers (xoshiro256++).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Returns the stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Rng(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns the current stream and jumps 2^128 draws ahead, so that repeated calls return non-overlapping streams.
    pub fn split(&mut self) -> Self {
        let stream = self.clone();
        self.0.jump();
        stream
    }

    /// Returns the four words of the stream's state, from which a device can continue. (The library exposes them only
    /// through serde.)
    pub fn words(&self) -> [u64; 4] {
        let state = serde_json::to_value(&self.0).unwrap_or_default();
        std::array::from_fn(|word| state["s"][word].as_u64().unwrap_or_default())
    }

    /// Returns the stream at the state that [`words`](Self::words) returned.
    pub fn from_words(words: [u64; 4]) -> Self {
        let mut seed = [0; 32];
        for (bytes, word) in seed.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Rng(Xoshiro256PlusPlus::from_seed(seed))
    }

    /// Draws 64 random bits.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a number in `0..n` (multiply-shift; the bias is below n / 2^64). `n` must not be 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        below(self.draw(), n)
    }

    /// Draws an index in `0..n`.
    #[inline]
    pub fn index(&mut self, n: usize) -> usize {
        self.below(n as u64) as usize
    }

    /// Draws a number in [0, 1) with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Shuffles `items` (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }
}

/// Scales 64 random bits to `0..n`, by the high half of their product with `n`.
#[inline]
pub fn below(bits: u64, n: u64) -> u64 {
    ((u128::from(bits) * u128::from(n)) >> 64) as u64
}

/// Returns a stateless 64-bit mix of a draw and an index (the finalizer of SplitMix64 over their Weyl sum).
#[inline]
pub fn mix(draw: u64, index: u64) -> u64 {
    let mut z = draw.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_carry_a_stream_over() {
        let mut rng = Rng::new(9);
        for _ in 0..5 {
            let _ = rng.draw();
            assert_eq!(Rng::from_words(rng.words()), rng);
        }
    }
}
