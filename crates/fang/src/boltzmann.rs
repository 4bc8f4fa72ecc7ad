//! Boltzmann weights in integers, equal on every device and computed by vector code without a table.

/// Halvings of the weight after which a possibility is dropped (a factor of 4e-7, about 15 temperatures).
const HALVINGS: u32 = 21;

/// Weights exp(-delta / T) of integer cost differences, as integers up to 2^21.
///
/// delta / (T ln 2) is computed in 16-bit fixed point. Its integer part shifts; its fraction goes through a parabola
/// that equals 2^-f at 0, 1/2 and 1 (relative error below 2e-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boltzmann {
    /// Differences above this have weight 0.
    limit: u32,
    /// Halvings for each unit of difference, with 16 + 11 fractional bits.
    slope: u32,
}

impl Boltzmann {
    /// Returns the weights of a temperature, in the units of the differences.
    pub fn new(temperature: f64) -> Self {
        let halving = temperature * std::f64::consts::LN_2;
        let slope = f64::from(1u32 << 27) / halving;
        // slope * limit must stay below 2^32, and 32 halvings are 2^32 / 2^27
        let limit = (f64::from(HALVINGS) * halving).min(f64::from(1u32 << 28) - 1.0);
        if slope >= f64::from(u32::MAX) {
            return Self::GREEDY;
        }
        Boltzmann { limit: limit as u32, slope: slope.max(1.0) as u32 }
    }

    /// The weights of temperature zero: only the best possibilities have weight, all the same.
    pub const GREEDY: Self = Boltzmann { limit: 0, slope: 0 };

    /// Returns the limit and the slope, which determine all weights.
    pub fn numbers(&self) -> [u32; 2] {
        [self.limit, self.slope]
    }

    /// Returns the weight of a possibility that costs `delta` more than the best one.
    #[inline(always)]
    pub fn weight(&self, delta: u32) -> u32 {
        let halvings = delta.min(self.limit).wrapping_mul(self.slope) >> 11;
        let fraction = halvings & 0xFFFF;
        // 2^-f = 1 - f (a - b f) with a = 0.6716, b = 0.1716, in 16 bits
        let curve = 65536 - ((fraction * (44_012 - ((fraction * 11_244) >> 16))) >> 16);
        let weight = (curve << 5) >> (halvings >> 16);
        if delta > self.limit { 0 } else { weight }
    }
}

/// The least rating so far.
#[derive(Clone, Copy, Debug)]
pub struct Least(
    /// The rating.
    pub i32,
);

impl Default for Least {
    fn default() -> Self {
        Least(i32::MAX)
    }
}

/// Computes the weights of a row and returns their sum. Ratings that pad a row are so large that their weight is 0.
#[inline(always)]
pub fn boltzmann_weights(boltzmann: &Boltzmann, ratings: &[i32], least: Least, weights: &mut [u32]) -> u64 {
    for (weight, &rating) in weights.iter_mut().zip(ratings) {
        *weight = boltzmann.weight(rating.wrapping_sub(least.0) as u32);
    }
    // 2^10 weights of up to 2^21 fit a 32-bit sum
    weights.chunks(1024).map(|chunk| u64::from(chunk.iter().sum::<u32>())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_follow_the_exponential() {
        for temperature in [0.3, 1.0, 7.5, 60.0, 1e3, 1e5] {
            let boltzmann = Boltzmann::new(temperature);
            assert_eq!(boltzmann.weight(0), 1 << 21);
            for step in 0..200 {
                let delta = (temperature * f64::from(step) / 25.0) as u32;
                let exact = (-f64::from(delta) / temperature).exp();
                let weight = f64::from(boltzmann.weight(delta)) / f64::from(1u32 << 21);
                assert!((weight / exact - 1.0).abs() < 0.01, "T {temperature} delta {delta}: {weight} {exact}");
            }
        }
    }

    #[test]
    fn long_rows_of_weights_are_summed_without_overflow() {
        let ratings = vec![7; 5000];
        let mut weights = vec![0; 5000];
        let total = boltzmann_weights(&Boltzmann::new(1.0), &ratings, Least(7), &mut weights);
        assert_eq!(total, 5000 << 21);
    }

    #[test]
    fn weights_never_rise_and_end_at_zero() {
        let boltzmann = Boltzmann::new(3.0);
        let weights: Vec<u32> = (0..200).map(|delta| boltzmann.weight(delta)).collect();
        assert!(weights.windows(2).all(|pair| pair[0] >= pair[1]));
        assert_eq!(weights[199], 0);
        assert_eq!(boltzmann.weight(u32::MAX), 0);
    }

    #[test]
    fn temperature_zero_is_greedy() {
        for boltzmann in [Boltzmann::GREEDY, Boltzmann::new(1e-12), Boltzmann::new(0.0)] {
            assert!(boltzmann.weight(0) > 0);
            assert_eq!(boltzmann.weight(1), 0);
        }
    }
}
