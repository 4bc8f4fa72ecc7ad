//! Keys of sparse tables: the values of a scope in one integer, each in a field of bits.
//!
//! The first position has the highest bits, because it is the slowest digit of a dense table. So rows sorted by key are
//! in the order of dense tables, and the rows of one value of the variable whose bucket the table waits in are one run.
//! Fields take less than one bit for each variable more than mixed-radix numbers do, and shifts extract them.

use crate::model::Cost;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::{BitAnd, BitOr, Shl, Shr};

/// A key and its cost.
pub(crate) type Row<K> = (K, Cost);

/// An integer type for keys.
pub(crate) trait Key:
    'static
    + Copy
    + Ord
    + Hash
    + Debug
    + Send
    + Sync
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Number of bits of the type.
    const BITS: u32;
    /// The key in which no field is set.
    const ZERO: Self;
    /// Returns the key with the value of a variable in the lowest field.
    fn value(value: u32) -> Self;
    /// Returns the lowest bits as an index.
    fn place(self) -> usize;
    /// Returns ones in the lowest `bits` bits.
    fn ones(bits: u32) -> Self;
}

macro_rules! key {
    ($type:ty) => {
        impl Key for $type {
            const BITS: u32 = <$type>::BITS;
            const ZERO: Self = 0;
            fn value(value: u32) -> Self {
                value.into()
            }
            fn place(self) -> usize {
                self as usize
            }
            fn ones(bits: u32) -> Self {
                Self::MAX.checked_shr(Self::BITS - bits.min(Self::BITS)).unwrap_or(0)
            }
        }
    };
}

key!(u64);
key!(u128);

/// Returns the number of bits of a variable's field.
pub(super) fn bits(domain: u32) -> u32 {
    domain.max(1).next_power_of_two().trailing_zeros()
}

/// Returns the number of bits of a scope's keys.
pub(super) fn width(scope: &[u32], domains: &[u32]) -> u32 {
    scope.iter().map(|&p| bits(domains[p as usize])).sum()
}

/// Returns the shift of the field of each position.
pub(super) fn shifts(scope: &[u32], domains: &[u32]) -> Vec<u32> {
    let mut shift = width(scope, domains);
    let mut next = |&p: &u32| {
        shift -= bits(domains[p as usize]);
        shift
    };
    scope.iter().map(&mut next).collect()
}

/// A projection of keys: it moves some fields of a key to their positions in another.
#[derive(Clone, Debug)]
pub(crate) struct Projection<K> {
    /// Masks of bits with their shifts to the left and to the right; adjacent fields with equal shifts are moved
    /// together.
    moves: Box<[(K, u32, u32)]>,
}

impl<K: Key> Projection<K> {
    /// Creates the projection of the positions of `only`, which both scopes contain, from keys of `from` to keys of
    /// `to`.
    pub fn new(from: &[u32], to: &[u32], only: &[u32], domains: &[u32]) -> Self {
        let (old, new) = (shifts(from, domains), shifts(to, domains));
        let mut moves: Vec<(K, u32, u32)> = Vec::new();
        for (place, p) in from.iter().enumerate().filter(|(_, p)| only.contains(p)) {
            let Some(target) = to.iter().position(|q| q == p) else { continue };
            let (old, new, bits) = (old[place], new[target], bits(domains[*p as usize]));
            let (up, down) = (new.saturating_sub(old), old.saturating_sub(new));
            if bits == 0 {
                continue;
            }
            let mask = K::ones(bits) << old;
            match moves.last_mut() {
                Some(last) if (last.1, last.2) == (up, down) => last.0 = last.0 | mask,
                _ => moves.push((mask, up, down)),
            }
        }
        Projection { moves: moves.into() }
    }

    /// Returns the masks of bits with their shifts to the left and to the right.
    pub fn moves(&self) -> impl Iterator<Item = (K, u32, u32)> {
        self.moves.iter().copied()
    }

    /// Returns the projection of a key.
    #[inline(always)]
    pub fn of(&self, key: K) -> K {
        self.moves.iter().fold(K::ZERO, |moved, &(mask, up, down)| moved | (key & mask) << up >> down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Returns the key of the given values, by position.
    fn key<K: Key>(scope: &[u32], domains: &[u32], values: &[u32]) -> K {
        let fields = scope.iter().zip(shifts(scope, domains));
        fields.fold(K::ZERO, |key, (&p, shift)| key | K::value(values[p as usize]) << shift)
    }

    fn projections_move_fields<K: Key>(rng: &mut Rng) {
        let domains: Vec<u32> = (0..12).map(|_| [1, 2, 3, 4, 5, 16, 17, 44][rng.index(8)]).collect();
        let values: Vec<u32> = domains.iter().map(|&d| rng.below(d.into()) as u32).collect();
        let mut scope = || -> Vec<u32> { (0..12).filter(|_| rng.below(2) == 0).collect() };
        let (from, to) = (scope(), scope());
        let only: Vec<u32> = scope().into_iter().filter(|p| from.contains(p) && to.contains(p)).collect();
        let moved = Projection::<K>::new(&from, &to, &only, &domains).of(key(&from, &domains, &values));
        let mut rest = vec![0; 12];
        only.iter().for_each(|&p| rest[p as usize] = values[p as usize]);
        assert_eq!(moved, key(&to, &domains, &rest));
    }

    #[test]
    fn fields_go_where_they_belong() {
        let mut rng = Rng::new(41);
        for _ in 0..3000 {
            projections_move_fields::<u64>(&mut rng);
            projections_move_fields::<u128>(&mut rng);
        }
        assert_eq!((bits(1), bits(2), bits(3), bits(4), bits(5), bits(1 << 31)), (0, 1, 2, 2, 3, 31));
        assert_eq!((u64::ones(0), u64::ones(64), u128::ones(65)), (0, u64::MAX, (1 << 65) - 1));
    }
}
