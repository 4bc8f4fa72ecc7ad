//! The entries of rows: one byte each if that holds all entries of functions, which at least halves the memory that a
//! search reads.

use crate::algebra::Entry;
use crate::tensor::storage::Storage;
use std::borrow::Cow;

/// The cost of the padding of a row: more than any sum of entries.
pub const PADDING: i32 = 1 << 29;

/// The unary rows of all variables, then those of functions. Offsets are in entries.
#[derive(Debug)]
pub enum Rows {
    /// Unary rows are separate, because they contain [`PADDING`]; the bytes before those of functions are unused.
    Bytes(Storage<i32>, Storage<u8>),
    /// All rows in one array.
    Words(Storage<i32>),
}

/// Some adjacent entries of functions.
#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    /// 8-bit entries.
    Bytes(&'a [u8]),
    /// 32-bit entries.
    Words(&'a [i32]),
}

/// An entry of a function's row.
pub trait RowEntry: Entry {
    /// Returns the cost of the entry.
    fn cost(self) -> i32;
    /// Returns the entry of a cost that fits the type.
    fn of(cost: i32) -> Self;
    /// Returns rows made of unary rows and of the rows of functions, which begin after one unused entry for each unary
    /// one.
    fn rows(unary: Storage<i32>, entries: Storage<Self>) -> Rows;
}

impl RowEntry for u8 {
    #[inline(always)]
    fn cost(self) -> i32 {
        i32::from(self)
    }

    #[inline(always)]
    fn of(cost: i32) -> u8 {
        debug_assert!(u8::try_from(cost).is_ok(), "{cost}");
        cost as u8
    }

    fn rows(unary: Storage<i32>, entries: Storage<u8>) -> Rows {
        Rows::Bytes(unary, entries)
    }
}

impl RowEntry for i32 {
    #[inline(always)]
    fn cost(self) -> i32 {
        self
    }

    #[inline(always)]
    fn of(cost: i32) -> i32 {
        cost
    }

    fn rows(unary: Storage<i32>, mut entries: Storage<i32>) -> Rows {
        entries[..unary.len()].copy_from_slice(&unary);
        Rows::Words(entries)
    }
}

/// Evaluates an expression on the entries of either kind, whose offsets are those of [`Rows`].
#[macro_export]
macro_rules! on_rows {
    ($rows:expr, $entries:ident => $body:expr) => {
        match $rows {
            $crate::value_tables::Rows::Bytes(_, entries) => {
                let $entries = &entries[..];
                $body
            }
            $crate::value_tables::Rows::Words(entries) => {
                let $entries = &entries[..];
                $body
            }
        }
    };
}
pub use crate::on_rows;

impl Default for Rows {
    fn default() -> Rows {
        Rows::Words(Storage::default())
    }
}

impl Rows {
    /// Creates rows from entries that were laid out contiguously, the first `unary` of which are unary rows.
    pub fn new(entries: Vec<i32>, unary: usize) -> Rows {
        let (own, of_functions) = entries.split_at(unary);
        if of_functions.is_empty() || of_functions.iter().any(|&cost| u8::try_from(cost).is_err()) {
            return Rows::Words(entries.into());
        }
        let bytes = own.iter().map(|_| 0).chain(of_functions.iter().map(|&cost| cost as u8));
        Rows::Bytes(own.to_vec().into(), bytes.collect())
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        on_rows!(self, entries => entries.len())
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of the rows.
    pub fn bytes(&self) -> usize {
        match self {
            Rows::Bytes(unary, entries) => size_of_val(&unary[..]) + entries.len(),
            Rows::Words(entries) => size_of_val(&entries[..]),
        }
    }

    /// Returns `width` entries of a unary row.
    #[inline(always)]
    pub fn unary(&self, start: usize, width: usize) -> &[i32] {
        let (Rows::Bytes(entries, _) | Rows::Words(entries)) = self;
        &entries[start..start + width]
    }

    /// Returns `width` entries of a function's row.
    #[inline(always)]
    pub fn row(&self, offset: usize, width: usize) -> Row<'_> {
        match self {
            Rows::Bytes(_, entries) => Row::Bytes(&entries[offset..offset + width]),
            Rows::Words(entries) => Row::Words(&entries[offset..offset + width]),
        }
    }

    /// Returns all entries as 32-bit numbers, the form in which devices store them.
    pub fn words(&self) -> Cow<'_, [i32]> {
        match self {
            Rows::Bytes(unary, entries) => {
                let of_functions = entries[unary.len()..].iter().map(|&entry| i32::from(entry));
                unary.iter().copied().chain(of_functions).collect()
            }
            Rows::Words(entries) => Cow::Borrowed(entries),
        }
    }
}

impl<'a> Row<'a> {
    /// Returns the number of entries.
    #[inline(always)]
    pub fn len(self) -> usize {
        match self {
            Row::Bytes(entries) => entries.len(),
            Row::Words(entries) => entries.len(),
        }
    }

    /// Returns whether there are no entries.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the cost at an index.
    #[inline(always)]
    pub fn at(self, place: usize) -> i32 {
        match self {
            Row::Bytes(entries) => i32::from(entries[place]),
            Row::Words(entries) => entries[place],
        }
    }

    /// Returns an iterator over all costs.
    #[inline(always)]
    pub fn iter(self) -> impl ExactSizeIterator<Item = i32> + Clone + 'a {
        (0..self.len()).map(move |place| self.at(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value_tables::PADDING;

    #[test]
    fn entries_are_bytes_where_bytes_hold_them() {
        for (dearest, is_bytes) in [(255, true), (256, false), (-1, false)] {
            let entries = vec![7, 300, PADDING, PADDING, 0, dearest, 3, 0];
            let rows = Rows::new(entries.clone(), 4);
            assert_eq!(matches!(rows, Rows::Bytes(..)), is_bytes, "{dearest}");
            assert_eq!(rows.words()[..], entries);
            assert_eq!((rows.len(), rows.unary(0, 4)), (8, &entries[..4]));
            assert_eq!(rows.row(4, 4).iter().collect::<Vec<_>>(), entries[4..]);
            assert_eq!(on_rows!(&rows, entries => entries[5].cost()), dearest);
        }
        assert!(matches!(Rows::new(vec![1; 4], 4), Rows::Words(_)), "nothing would be smaller");
    }
}
