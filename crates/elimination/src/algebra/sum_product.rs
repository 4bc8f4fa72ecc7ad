//! The sum-product semiring of numbers that are not negative.

use super::{Division, Entry, Semiring};
use crate::model::{Scaled, scale};

/// The sum-product semiring on doubles. Sums depend on their order by rounding only, because no terms cancel. Numbers
/// below the range of doubles become 0, so tables should be [normalised](OfNumbers::normalise).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumProduct;

/// The sum-product semiring on pairs of a double and a power of two, in which no number overflows or underflows.
/// Operations take about ten times as long as those of [`SumProduct`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideSumProduct;

/// A semiring whose entries represent numbers that are not negative.
pub trait OfNumbers: Division {
    /// Returns the entry of a double.
    fn of_double(self, double: f64) -> Self::Entry;
    /// Returns the number that an entry represents.
    fn value(self, entry: Self::Entry) -> Scaled;
    /// Returns the larger of two entries, either of which may be a combination that is not settled.
    fn larger(self, a: Self::Entry, b: Self::Entry) -> Self::Entry;
    /// Divides a table by a power of two such that its largest entry is in [1/2, 1).
    fn normalise(self, table: &mut [Self::Entry]) -> Range;
    /// Returns the ratio of the largest to the smallest positive number that entries hold to full precision, as a power
    /// of two.
    fn range(self) -> i64;
}

/// The range of the numbers of a normalised table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The power of two by which the table was divided.
    pub exponent: i64,
    /// The power of two of the smallest positive entry after the division; at most 0.
    pub least: i64,
}

impl SumProduct {
    /// Returns the power of two of the smallest positive entry of a table, or 0 if all entries are 0.
    pub fn least(self, table: &[f64]) -> i64 {
        let bits = table.iter().map(|entry| entry.to_bits().wrapping_sub(1)).min();
        bits.filter(|&bits| bits < u64::MAX).map_or(0, |bits| Scaled::new(f64::from_bits(bits + 1)).exponent)
    }
}

impl Semiring for SumProduct {
    type Entry = f64;

    #[inline(always)]
    fn one(self) -> f64 {
        1.0
    }
    #[inline(always)]
    fn zero(self) -> f64 {
        0.0
    }
    #[inline(always)]
    fn combine(self, a: f64, b: f64) -> f64 {
        a * b
    }
    #[inline(always)]
    fn fold(self, a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline(always)]
    fn settle(self, a: f64) -> f64 {
        a
    }
}

impl Division for SumProduct {
    #[inline(always)]
    fn divide(self, all: f64, part: f64) -> f64 {
        if part == 0.0 { 0.0 } else { all / part }
    }
}

impl OfNumbers for SumProduct {
    #[inline(always)]
    fn of_double(self, double: f64) -> f64 {
        double
    }
    fn value(self, entry: f64) -> Scaled {
        Scaled::new(entry)
    }
    #[inline(always)]
    fn larger(self, a: f64, b: f64) -> f64 {
        if b > a { b } else { a }
    }
    fn normalise(self, table: &mut [f64]) -> Range {
        // doubles that are not negative are ordered like their bits; subtracting 1 wraps 0 to the largest number
        let bits = table.iter().map(|entry| entry.to_bits());
        let (most, least) =
            bits.fold((0, u64::MAX), |(most, least), bits| (most.max(bits), least.min(bits.wrapping_sub(1))));
        if most == 0 {
            return Range { exponent: 0, least: 0 };
        }
        let exponent = Scaled::new(f64::from_bits(most)).exponent;
        if exponent != 0 {
            let factor = scale(1.0, -exponent);
            if factor.is_finite() {
                table.iter_mut().for_each(|entry| *entry *= factor);
            } else {
                table.iter_mut().for_each(|entry| *entry = scale(*entry, -exponent));
            }
        }
        Range { exponent, least: Scaled::new(f64::from_bits(least + 1)).exponent - exponent }
    }
    fn range(self) -> i64 {
        // 2^-1022 is the smallest normal double; the rest is a margin for sums and quotients
        1000
    }
}

/// A mantissa and an exponent to base two.
type Wide = [f64; 2];

fn wide(scaled: Scaled) -> Wide {
    [scaled.mantissa, scaled.exponent as f64]
}

impl Semiring for WideSumProduct {
    type Entry = Wide;

    const HAS_VECTORS: bool = false;

    #[inline(always)]
    fn one(self) -> Wide {
        [0.5, 1.0]
    }
    #[inline(always)]
    fn zero(self) -> Wide {
        [0.0, 0.0]
    }
    #[inline(always)]
    fn combine(self, [a, m]: Wide, [b, n]: Wide) -> Wide {
        // the product of five mantissas of at least a half is a normal number
        [a * b, m + n]
    }
    #[inline(always)]
    fn fold(self, [a, m]: Wide, [b, n]: Wide) -> Wide {
        let scaled = |mantissa, exponent| Scaled { mantissa, exponent: exponent as i64 };
        // a product that is added to zero is not settled yet
        self.settle(wide(scaled(a, m).plus(scaled(b, n))))
    }
    #[inline(always)]
    fn settle(self, [mantissa, exponent]: Wide) -> Wide {
        wide(Scaled::with(mantissa, exponent as i64))
    }
}

impl Division for WideSumProduct {
    #[inline(always)]
    fn divide(self, [a, m]: Wide, [b, n]: Wide) -> Wide {
        if b == 0.0 { [0.0, 0.0] } else { self.settle([a / b, m - n]) }
    }
}

impl OfNumbers for WideSumProduct {
    fn of_double(self, double: f64) -> Wide {
        wide(Scaled::new(double))
    }
    fn value(self, [mantissa, exponent]: Wide) -> Scaled {
        Scaled::with(mantissa, exponent as i64)
    }
    fn larger(self, a: Wide, b: Wide) -> Wide {
        let [a, b] = [self.value(a), self.value(b)];
        wide(if b.is_above(a) { b } else { a })
    }
    fn normalise(self, table: &mut [Wide]) -> Range {
        let exponents = table.iter().filter(|entry| entry[0] != 0.0).map(|entry| entry[1]);
        let Some(most) = exponents.reduce(f64::max) else { return Range { exponent: 0, least: 0 } };
        table.iter_mut().filter(|entry| entry[0] != 0.0).for_each(|entry| entry[1] -= most);
        Range { exponent: most as i64, least: 0 }
    }
    fn range(self) -> i64 {
        i64::MAX
    }
}

const _: fn() = || {
    fn is_entry<E: Entry>() {}
    is_entry::<Wide>();
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn wide_numbers_are_those_of_doubles_and_beyond() {
        let (narrow, wide) = (SumProduct, WideSumProduct);
        let mut rng = Rng::new(4);
        for _ in 0..10_000 {
            let mut draw = || match rng.below(5) {
                0 => 0.0,
                // few bits, so that nothing is rounded
                _ => scale((rng.below(1 << 10) + 1) as f64, rng.below(30) as i64 - 15),
            };
            let (a, b, c) = (draw(), draw(), draw());
            let [wa, wb, wc] = [a, b, c].map(|double| wide.of_double(double));
            let narrow_sum = narrow.fold(narrow.combine(a, b), c);
            assert_eq!(wide.value(wide.fold(wc, wide.combine(wa, wb))).double(), narrow_sum);
            let quotient = wide.value(wide.divide(wide.settle(wide.combine(wa, wb)), wb)).double();
            assert_eq!(quotient, narrow.divide(a * b, b));
        }
        let small = wide.settle([0.5, -5000.0]);
        assert_eq!(wide.value(wide.settle(wide.combine(small, small))).exponent, -10_001);
        assert_eq!((wide.fold(small, wide.one()), wide.fold(small, wide.zero())), (wide.one(), small));
    }

    #[test]
    fn tables_are_normalised_exactly() {
        let mut table = [3.0, 0.0, 0.375, 5e-324];
        assert_eq!(SumProduct.normalise(&mut table), Range { exponent: 2, least: -1075 });
        assert_eq!(table[..3], [0.75, 0.0, 0.09375]);
        let mut table = [1e-310, 0.0];
        let Range { exponent, least } = SumProduct.normalise(&mut table);
        assert!((0.5..1.0).contains(&table[0]) && scale(table[0], exponent) == 1e-310 && least == 0);
        let mut table = [[0.5, 7.0], [0.0, 0.0], [0.75, -4000.0]];
        assert_eq!(WideSumProduct.normalise(&mut table), Range { exponent: 7, least: 0 });
        assert_eq!(table, [[0.5, 0.0], [0.0, 0.0], [0.75, -4007.0]]);
        assert_eq!(SumProduct.normalise(&mut [0.0; 3]), Range { exponent: 0, least: 0 });
    }
}
