//! A multi-armed bandit: choices with more recent gain per work are drawn more often, and none is dropped.

/// Decaying sums of gain and work of a few choices.
#[derive(Clone, Debug)]
pub struct Bandit {
    gains: Vec<f64>,
    work: Vec<f64>,
    shares: Vec<f64>,
    floor: f64,
}

impl Bandit {
    /// Returns a bandit of `count` choices, each with at least `floor / count` of the draws.
    pub fn new(count: usize, floor: f64) -> Self {
        let none = vec![0.0; count];
        Bandit { gains: none.clone(), work: none, shares: vec![1.0 / count as f64; count], floor }
    }

    /// Returns the choice for a random number from 0 to 1.
    pub fn choose(&self, unit: f64) -> usize {
        let mut left = unit;
        for (arm, &share) in self.shares.iter().enumerate() {
            if left < share {
                return arm;
            }
            left -= share;
        }
        self.shares.len() - 1
    }

    /// Returns the cumulative shares in units of 2^-32. A draw of 32 random bits selects the first threshold not below
    /// it.
    pub fn thresholds<const N: usize>(&self) -> [u32; N] {
        let mut thresholds = [u32::MAX; N];
        let mut cumulated = 0.0;
        for (threshold, share) in thresholds[..N - 1].iter_mut().zip(&self.shares) {
            cumulated += share;
            *threshold = (cumulated * f64::from(u32::MAX)) as u32;
        }
        thresholds
    }

    /// Notes the gain of a choice (1 for a success) and its work.
    pub fn note(&mut self, arm: usize, gain: f64, work: f64) {
        self.gains[arm] += gain;
        self.work[arm] += work;
    }

    /// Ends a period. Shares follow gain per work, in which old periods have 0.8 of the weight of the next one.
    pub fn update(&mut self) {
        let count = self.shares.len() as f64;
        let mean = self.work.iter().sum::<f64>() / count;
        if mean <= 0.0 {
            return;
        }
        let gain = match self.gains.iter().sum::<f64>() / count {
            none if none <= 0.0 => 1.0,
            mean => mean,
        };
        // a prior of a tenth of the mean gain and of the mean work separates choices only by evidence; the exponent
        // favours the better ones more than in proportion
        let rate = |arm: usize| {
            let believed = 0.1 * gain;
            ((self.gains[arm] + believed) / (self.work[arm] + mean / 10.0)).powf(1.5)
        };
        let rates: Vec<f64> = (0..self.shares.len()).map(rate).collect();
        let sum: f64 = rates.iter().sum();
        for (share, rate) in self.shares.iter_mut().zip(&rates) {
            *share = self.floor / count + (1.0 - self.floor) * rate / sum;
        }
        self.gains.iter_mut().chain(&mut self.work).for_each(|number| *number *= 0.8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pays_is_taken_more_often_and_nothing_is_forgotten() {
        let mut arms = Bandit::new(3, 0.15);
        for _ in 0..10 {
            for arm in 0..3 {
                arms.note(arm, if arm == 1 { 8.0 } else { 1.0 }, 100.0);
            }
            arms.update();
        }
        let count = |arm: usize| (0..1000).filter(|&k| arms.choose(f64::from(k) / 1000.0) == arm).count();
        assert!(count(1) > 700);
        assert!(count(0) >= 50 && count(2) >= 50);
    }

    #[test]
    fn shares_stay_a_distribution_above_the_floor() {
        let mut rng = crate::rng::Rng::new(1);
        for count in 1..6 {
            let mut arms = Bandit::new(count, 0.2);
            for _ in 0..200 {
                for _ in 0..rng.index(4) {
                    let gain = if rng.below(3) == 0 { 1.0 } else { 0.0 };
                    arms.note(rng.index(count), gain, rng.unit() * 1e9);
                }
                arms.update();
                assert!((arms.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                assert!(arms.shares.iter().all(|&share| share >= 0.2 / count as f64 - 1e-12));
                assert!([0.0, rng.unit(), 1.0 - f64::EPSILON].iter().all(|&unit| arms.choose(unit) < count));
            }
        }
    }
}
