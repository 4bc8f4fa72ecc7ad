//! The entries of dense tables, stored in the narrowest sufficient integer type.

use super::{Cost, FORBIDDEN};
use std::borrow::Cow;
use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;

/// The entries of a dense table; clones share them. Equal entries are always stored in the same form, so tables are
/// compared and hashed as stored.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Costs(Stored);

/// The entries in the narrowest type that holds them all. An unsigned type needs all finite entries to be at least 0
/// and below its largest value, which stands for [`FORBIDDEN`].
#[derive(Clone, PartialEq, Eq, Hash)]
enum Stored {
    U8(Arc<[u8]>),
    U16(Arc<[u16]>),
    U32(Arc<[u32]>),
    Wide(Arc<[Cost]>),
}

/// The entries as a slice of their stored type (see [`on_entries`]).
#[derive(Clone, Copy)]
pub enum Slice<'a> {
    /// Entries of 8 bits.
    U8(&'a [u8]),
    /// Entries of 16 bits.
    U16(&'a [u16]),
    /// Entries of 32 bits.
    U32(&'a [u32]),
    /// Entries stored as costs.
    Wide(&'a [Cost]),
}

/// An integer type in which entries are stored.
pub trait Entry: Copy + Ord + Send + Sync + 'static {
    /// The entry that stands for [`FORBIDDEN`].
    const FORBIDDEN: Self;

    /// Returns the cost that the entry stands for; larger entries stand for larger costs.
    fn cost(self) -> Cost;
}

impl Entry for Cost {
    const FORBIDDEN: Cost = FORBIDDEN;

    #[inline(always)]
    fn cost(self) -> Cost {
        self
    }
}

/// An unsigned type in which costs can be stored.
trait Narrow: Entry {
    /// The strict upper limit of finite entries.
    const TOP: u64;

    /// Converts costs, all of which must fit the type.
    fn narrow(costs: &[Cost]) -> Arc<[Self]>;
}

macro_rules! narrow {
    ($kind:ty) => {
        impl Entry for $kind {
            const FORBIDDEN: $kind = <$kind>::MAX;

            #[inline(always)]
            fn cost(self) -> Cost {
                if self == <$kind>::MAX { FORBIDDEN } else { Cost::from(self) }
            }
        }

        impl Narrow for $kind {
            const TOP: u64 = <$kind>::MAX as u64;

            fn narrow(costs: &[Cost]) -> Arc<[Self]> {
                costs.iter().map(|&cost| if cost == FORBIDDEN { <$kind>::MAX } else { cost as $kind }).collect()
            }
        }
    };
}

narrow!(u8);
narrow!(u16);
narrow!(u32);

/// Evaluates an expression on the stored slice of [`Costs`], compiled once for each stored type (see [`Entry`]).
#[macro_export]
macro_rules! on_entries {
    ($costs:expr, $entries:ident => $body:expr) => {
        match $costs.slice() {
            $crate::model::Slice::U8($entries) => $body,
            $crate::model::Slice::U16($entries) => $body,
            $crate::model::Slice::U32($entries) => $body,
            $crate::model::Slice::Wide($entries) => $body,
        }
    };
}
pub use crate::on_entries;

impl Costs {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        on_entries!(self, entries => entries.len())
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an entry. Panics if the index is out of range.
    #[inline]
    pub fn get(&self, index: usize) -> Cost {
        on_entries!(self, entries => entries[index].cost())
    }

    /// Iterates over the entries in order.
    #[inline]
    pub fn iter(&self) -> CostsIter<'_> {
        CostsIter(self.slice())
    }

    /// Returns all entries as costs: borrowed if they are stored as such, a copy otherwise.
    pub fn wide(&self) -> Cow<'_, [Cost]> {
        match self.slice() {
            Slice::U8(entries) => Cow::Owned(copied(entries)),
            Slice::U16(entries) => Cow::Owned(copied(entries)),
            Slice::U32(entries) => Cow::Owned(copied(entries)),
            Slice::Wide(entries) => Cow::Borrowed(entries),
        }
    }

    /// Returns the least entry; `None` if there are none.
    pub fn min(&self) -> Option<Cost> {
        on_entries!(self, entries => entries.iter().copied().min().map(Entry::cost))
    }

    /// Returns the greatest entry; `None` if there are none.
    pub fn max(&self) -> Option<Cost> {
        on_entries!(self, entries => entries.iter().copied().max().map(Entry::cost))
    }

    /// Returns the address of the stored entries, which clones share.
    pub fn address(&self) -> usize {
        on_entries!(self, entries => entries.as_ptr().addr())
    }

    /// Returns the number of bytes of the entries.
    pub fn bytes(&self) -> usize {
        on_entries!(self, entries => size_of_val(entries))
    }

    /// Returns how many clones share the entries, this one included.
    pub fn owners(&self) -> usize {
        match &self.0 {
            Stored::U8(entries) => Arc::strong_count(entries),
            Stored::U16(entries) => Arc::strong_count(entries),
            Stored::U32(entries) => Arc::strong_count(entries),
            Stored::Wide(entries) => Arc::strong_count(entries),
        }
    }

    /// Returns the slice of entries in their stored type.
    #[inline(always)]
    pub fn slice(&self) -> Slice<'_> {
        match &self.0 {
            Stored::U8(entries) => Slice::U8(entries),
            Stored::U16(entries) => Slice::U16(entries),
            Stored::U32(entries) => Slice::U32(entries),
            Stored::Wide(entries) => Slice::Wide(entries),
        }
    }
}

/// Converts stored entries to costs.
fn copied<T: Entry>(entries: &[T]) -> Vec<Cost> {
    entries.iter().map(|entry| entry.cost()).collect()
}

/// Returns the greatest finite entry as an unsigned number, so that negative entries count as larger than all others.
fn greatest(costs: &[Cost]) -> u64 {
    costs.iter().fold(0, |greatest, &cost| if cost == FORBIDDEN { greatest } else { greatest.max(cost as u64) })
}

impl From<&[Cost]> for Costs {
    fn from(costs: &[Cost]) -> Self {
        Costs(match greatest(costs) {
            cost if cost < u8::TOP => Stored::U8(u8::narrow(costs)),
            cost if cost < u16::TOP => Stored::U16(u16::narrow(costs)),
            cost if cost < u32::TOP => Stored::U32(u32::narrow(costs)),
            _ => Stored::Wide(costs.into()),
        })
    }
}

impl From<Vec<Cost>> for Costs {
    fn from(costs: Vec<Cost>) -> Self {
        costs[..].into()
    }
}

impl FromIterator<Cost> for Costs {
    fn from_iter<T: IntoIterator<Item = Cost>>(costs: T) -> Self {
        let costs = costs.into_iter();
        let mut all = Vec::with_capacity(costs.size_hint().0);
        // `for_each` uses `fold`, which matches on the stored type of another table only once
        costs.for_each(|cost| all.push(cost));
        all.into()
    }
}

impl<'a> IntoIterator for &'a Costs {
    type Item = Cost;
    type IntoIter = CostsIter<'a>;

    fn into_iter(self) -> CostsIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// An iterator over the entries of [`Costs`].
#[derive(Clone)]
pub struct CostsIter<'a>(Slice<'a>);

impl<'a> From<&'a [Cost]> for CostsIter<'a> {
    fn from(costs: &'a [Cost]) -> Self {
        CostsIter(Slice::Wide(costs))
    }
}

/// Skips `skipped` entries of a slice and removes the next one.
#[inline(always)]
fn next<T: Entry>(entries: &mut &[T], skipped: usize) -> Option<Cost> {
    *entries = entries.get(skipped..).unwrap_or_default();
    entries.split_off_first().map(|entry| entry.cost())
}

impl Iterator for CostsIter<'_> {
    type Item = Cost;

    #[inline]
    fn next(&mut self) -> Option<Cost> {
        self.nth(0)
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<Cost> {
        match &mut self.0 {
            Slice::U8(entries) => next(entries, n),
            Slice::U16(entries) => next(entries, n),
            Slice::U32(entries) => next(entries, n),
            Slice::Wide(entries) => next(entries, n),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = match self.0 {
            Slice::U8(entries) => entries.len(),
            Slice::U16(entries) => entries.len(),
            Slice::U32(entries) => entries.len(),
            Slice::Wide(entries) => entries.len(),
        };
        (len, Some(len))
    }

    /// Runs one loop for the stored type; `min`, `sum`, `collect`, `for_each` and similar methods use it.
    #[inline]
    fn fold<B, F: FnMut(B, Cost) -> B>(self, first: B, mut next: F) -> B {
        match self.0 {
            Slice::U8(entries) => entries.iter().fold(first, |so_far, entry| next(so_far, entry.cost())),
            Slice::U16(entries) => entries.iter().fold(first, |so_far, entry| next(so_far, entry.cost())),
            Slice::U32(entries) => entries.iter().fold(first, |so_far, entry| next(so_far, entry.cost())),
            Slice::Wide(entries) => entries.iter().fold(first, |so_far, entry| next(so_far, entry.cost())),
        }
    }
}

impl ExactSizeIterator for CostsIter<'_> {}

impl FusedIterator for CostsIter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{DefaultHasher, Hash, Hasher};

    const U8: Cost = u8::MAX as Cost;
    const U16: Cost = u16::MAX as Cost;
    const U32: Cost = u32::MAX as Cost;

    /// Returns lists of entries with the number of bytes that each entry takes.
    fn cases() -> Vec<(Vec<Cost>, usize)> {
        vec![
            (vec![], 1),
            (vec![0], 1),
            (vec![FORBIDDEN], 1),
            (vec![0, 99, U8 - 1, FORBIDDEN], 1),
            (vec![0, U8], 2),
            (vec![U8 + 1, FORBIDDEN, U8], 2),
            (vec![7, U16 - 1, FORBIDDEN], 2),
            (vec![U16, 0], 4),
            (vec![U16 + 1, FORBIDDEN, U16], 4),
            (vec![U32 - 1, FORBIDDEN, U8, U16], 4),
            (vec![U32, FORBIDDEN], 8),
            (vec![U32 + 1, 0], 8),
            (vec![-1, 0, FORBIDDEN], 8),
            (vec![FORBIDDEN - 1], 8),
            (vec![FORBIDDEN + 1, FORBIDDEN, 0], 8),
            (vec![Cost::MAX, Cost::MIN], 8),
        ]
    }

    #[test]
    fn entries_come_back_from_the_narrowest_kind() {
        for (entries, bytes) in cases() {
            let costs = Costs::from(entries.clone());
            assert_eq!(costs.bytes(), bytes * entries.len(), "{entries:?}");
            assert_eq!((costs.len(), costs.is_empty()), (entries.len(), entries.is_empty()));
            assert_eq!(costs.iter().collect::<Vec<_>>(), entries);
            assert_eq!(costs.wide()[..], entries[..]);
            assert_eq!((0..costs.len()).map(|i| costs.get(i)).collect::<Vec<_>>(), entries);
            assert_eq!(format!("{costs:?}"), format!("{entries:?}"));
            assert_eq!(costs.min(), entries.iter().copied().min());
            assert_eq!(costs.max(), entries.iter().copied().max());
        }
    }

    #[test]
    fn equal_entries_are_stored_alike() {
        let hash = |costs: &Costs| {
            let mut hasher = DefaultHasher::new();
            costs.hash(&mut hasher);
            hasher.finish()
        };
        for (k, (entries, _)) in cases().iter().enumerate() {
            let costs = Costs::from(&entries[..]);
            let others = [entries.iter().copied().collect(), entries.clone().into(), costs.clone()];
            assert!(others.iter().all(|other| *other == costs && hash(other) == hash(&costs)), "{entries:?}");
            let unlike = cases().into_iter().enumerate().filter(|&(other, _)| other != k);
            assert!(unlike.into_iter().all(|(_, (other, _))| Costs::from(other) != costs), "{entries:?}");
        }
        // equal bytes of different types
        assert_ne!(Costs::from(vec![FORBIDDEN]), Costs::from(vec![U8]));
    }

    #[test]
    fn clones_share_their_entries() {
        for (entries, _) in cases() {
            let costs = Costs::from(entries);
            assert_eq!(costs.owners(), 1);
            let clone = costs.clone();
            assert_eq!((costs.owners(), costs.address()), (2, clone.address()));
        }
    }

    #[test]
    fn an_iterator_steps_and_skips_alike() {
        for (entries, _) in cases() {
            let costs = Costs::from(entries.clone());
            for skipped in 0..=entries.len() + 1 {
                let (mut mine, mut slice) = (costs.iter(), entries.iter().copied());
                assert_eq!(mine.nth(skipped), slice.nth(skipped));
                assert_eq!(mine.len(), slice.len());
                assert_eq!(mine.clone().fold(0, Cost::wrapping_add), slice.clone().fold(0, Cost::wrapping_add));
                assert!(mine.eq(slice));
            }
        }
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn there_is_no_entry_past_the_end() {
        let _ = Costs::from(vec![1]).get(1);
    }
}
