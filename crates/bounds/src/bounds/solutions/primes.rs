//! Integers of any size from their remainders modulo primes (Chinese remainder theorem).

use num_bigint::BigUint;

/// Bases with which the test of Miller and Rabin is exact for all numbers of 64 bits (Sorenson and Webster, "Strong
/// pseudoprimes to twelve prime bases", 2017).
const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
/// Number below which the primes are: sums of two remainders fit 64 bits.
const BELOW: u64 = 1 << 62;

fn product(a: u64, b: u64, modulus: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(modulus)) as u64
}

fn power(mut base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = product(result, base, modulus);
        }
        base = product(base, base, modulus);
        exponent >>= 1;
    }
    result
}

/// Returns whether an odd number above the bases is prime (Miller and Rabin).
fn is_prime(number: u64) -> bool {
    let twos = (number - 1).trailing_zeros();
    BASES.iter().all(|&base| {
        let mut x = power(base, (number - 1) >> twos, number);
        let mut is_one_like = x == 1 || x == number - 1;
        for _ in 1..twos {
            x = product(x, x, number);
            is_one_like |= x == number - 1;
        }
        is_one_like
    })
}

/// Iterates over the largest primes below 2^62, descending.
pub(super) fn primes() -> impl Iterator<Item = u64> {
    (0..BELOW / 4).map(|k| BELOW - 1 - 2 * k).filter(|&number| is_prime(number))
}

/// An integer modulo the product of the primes so far.
#[derive(Clone, Debug)]
pub(super) struct Remainder {
    pub number: BigUint,
    pub modulus: BigUint,
}

impl Remainder {
    /// Creates the remainder modulo 1.
    pub fn new() -> Remainder {
        Remainder { number: BigUint::ZERO, modulus: BigUint::from(1u32) }
    }

    /// Adds the remainder modulo one more prime (Garner 1959).
    pub fn add(&mut self, remainder: u64, prime: u64) {
        let of = |number: &BigUint| (number % prime).iter_u64_digits().next().unwrap_or(0);
        let inverse = power(of(&self.modulus), prime - 2, prime);
        let missing = (remainder + prime - of(&self.number)) % prime;
        self.number += &self.modulus * product(missing, inverse, prime);
        self.modulus *= prime;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn small_numbers_are_prime_if_no_number_divides_them() {
        for number in (39..20_000u64).step_by(2) {
            assert_eq!(is_prime(number), (2..).take_while(|d| d * d <= number).all(|d| number % d > 0), "{number}");
        }
        assert_eq!(primes().next(), Some((1 << 62) - 57));
    }

    #[test]
    fn integers_come_back_from_their_remainders() {
        let mut rng = Rng::new(3);
        for digits in 0..20 {
            let number = (0..digits).fold(BigUint::ZERO, |number, _| (number << 64u32) + rng.draw());
            let mut remainder = Remainder::new();
            for prime in primes() {
                if remainder.modulus > number {
                    break;
                }
                remainder.add((&number % prime).iter_u64_digits().next().unwrap_or(0), prime);
            }
            assert_eq!(remainder.number, number);
        }
    }
}
