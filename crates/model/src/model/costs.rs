//! The entries of a dense table, in as few bytes each as they need.

use super::{Cost, FORBIDDEN};
use std::borrow::Cow;
use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;

/// The entries of a dense table; clones share them. The same entries are always stored the same way, so tables are
/// compared and hashed as they are stored.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Costs(Stored);

/// In the narrowest kind that has them all: an unsigned one where the finite entries are between 0 and below its
/// largest value, which stands for [`FORBIDDEN`].
#[derive(Clone, PartialEq, Eq, Hash)]
enum Stored {
    U8(Arc<[u8]>),
    U16(Arc<[u16]>),
    U32(Arc<[u32]>),
    Wide(Arc<[Cost]>),
}

/// The entries of each kind, for code that runs on the slice of the kind at hand (see [`on_entries`]).
#[derive(Clone, Copy)]
pub enum Slice<'a> {
    /// Of 8 bits.
    U8(&'a [u8]),
    /// Of 16 bits.
    U16(&'a [u16]),
    /// Of 32 bits.
    U32(&'a [u32]),
    /// Costs as they are.
    Wide(&'a [Cost]),
}

/// An entry as it is stored.
pub trait Entry: Copy + Ord + Send + Sync + 'static {
    /// The entry that stands for [`FORBIDDEN`].
    const FORBIDDEN: Self;

    /// The cost that it stands for; larger entries stand for larger costs.
    fn cost(self) -> Cost;
}

impl Entry for Cost {
    const FORBIDDEN: Cost = FORBIDDEN;

    #[inline(always)]
    fn cost(self) -> Cost {
        self
    }
}

/// How an unsigned kind takes costs.
trait Narrow: Entry {
    /// All finite entries are below this.
    const TOP: u64;

    /// The costs, all of which this kind has.
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

/// Runs an expression on the slice of entries of [`Costs`], compiled for each kind (see [`Entry`]).
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
    /// Number of entries.
    pub fn len(&self) -> usize {
        on_entries!(self, entries => entries.len())
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An entry; panics where there is none, as a slice does.
    #[inline]
    pub fn get(&self, index: usize) -> Cost {
        on_entries!(self, entries => entries[index].cost())
    }

    /// The entries one after the other.
    #[inline]
    pub fn iter(&self) -> CostsIter<'_> {
        CostsIter(self.slice())
    }

    /// All entries as costs: borrowed where they are stored as such, a copy otherwise.
    pub fn wide(&self) -> Cow<'_, [Cost]> {
        match self.slice() {
            Slice::U8(entries) => Cow::Owned(copied(entries)),
            Slice::U16(entries) => Cow::Owned(copied(entries)),
            Slice::U32(entries) => Cow::Owned(copied(entries)),
            Slice::Wide(entries) => Cow::Borrowed(entries),
        }
    }

    /// The least entry.
    pub fn min(&self) -> Option<Cost> {
        on_entries!(self, entries => entries.iter().copied().min().map(Entry::cost))
    }

    /// The greatest entry.
    pub fn max(&self) -> Option<Cost> {
        on_entries!(self, entries => entries.iter().copied().max().map(Entry::cost))
    }

    /// Where the entries stand: clones have one address.
    pub fn address(&self) -> usize {
        on_entries!(self, entries => entries.as_ptr().addr())
    }

    /// Bytes of the entries.
    pub fn bytes(&self) -> usize {
        on_entries!(self, entries => size_of_val(entries))
    }

    /// How many clones share the entries, this one included.
    pub fn owners(&self) -> usize {
        match &self.0 {
            Stored::U8(entries) => Arc::strong_count(entries),
            Stored::U16(entries) => Arc::strong_count(entries),
            Stored::U32(entries) => Arc::strong_count(entries),
            Stored::Wide(entries) => Arc::strong_count(entries),
        }
    }

    /// All entries, as they are kept.
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

/// The costs of entries.
fn copied<T: Entry>(entries: &[T]) -> Vec<Cost> {
    entries.iter().map(|entry| entry.cost()).collect()
}

/// The greatest of the finite entries as an unsigned number, which makes negative ones larger than all others.
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
        // by `fold`, which looks up the kind of the entries of another table once
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

/// Goes through the entries of [`Costs`].
#[derive(Clone)]
pub struct CostsIter<'a>(Slice<'a>);

impl<'a> From<&'a [Cost]> for CostsIter<'a> {
    fn from(costs: &'a [Cost]) -> Self {
        CostsIter(Slice::Wide(costs))
    }
}

/// Takes an entry off the front of a slice.
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

    /// One loop for the kind at hand; `min`, `sum`, `collect`, `for_each` and the like come here.
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

    /// Entries with the bytes that each takes.
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
        // the same bytes in another kind
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
