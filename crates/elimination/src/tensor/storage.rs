//! Memory of tables.

use crate::algebra::Entry;
use crate::error::Error;
use crate::memory;
use memmap2::MmapMut;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Bytes from which on a table has its own pages: two pages of 2 MB.
pub const LARGE: usize = 4 << 20;

/// The entries of a table. A large table asks the system for large pages: mapping 64 MB in pages of 4 KB took half as
/// long as computing the message that they hold (results/notes/cpu.md).
#[derive(Debug)]
pub struct Storage<E>(Place<E>);

#[derive(Debug)]
enum Place<E> {
    Heap(Vec<E>),
    /// Pages, and the number of entries that are in use.
    Pages(MmapMut, usize, PhantomData<E>),
    Shared(Arc<Storage<E>>),
}

impl<E: Entry> Storage<E> {
    /// Returns the entries of another table, which are copied only when they change.
    pub fn shared(table: &Arc<Storage<E>>) -> Self {
        Storage(Place::Shared(table.clone()))
    }

    /// Returns whether the entries are shared with another table.
    pub fn is_shared(&self) -> bool {
        matches!(self.0, Place::Shared(_))
    }

    /// Returns `entries` entries of 0. The program ends if there is no memory for them.
    pub fn new(entries: usize) -> Self {
        Self::of_pages(entries).unwrap_or_else(|| Storage(Place::Heap(vec![E::default(); entries])))
    }

    /// Returns `entries` entries of 0, or an error if there is no memory for them.
    pub fn try_new(entries: usize) -> Result<Self, Error> {
        if let Some(pages) = Self::of_pages(entries) {
            return Ok(pages);
        }
        let mut heap = Vec::new();
        memory::reserve(&mut heap, entries)?;
        heap.resize(entries, E::default());
        Ok(Storage(Place::Heap(heap)))
    }

    fn of_pages(entries: usize) -> Option<Self> {
        let bytes = entries.saturating_mul(size_of::<E>());
        // without pages the heap is used
        let map = (bytes >= LARGE).then(|| MmapMut::map_anon(bytes).ok()).flatten()?;
        #[cfg(target_os = "linux")]
        // only advice: a system without large pages works, too
        let _ = map.advise(memmap2::Advice::HugePage);
        Some(Storage(Place::Pages(map, entries, PhantomData)))
    }

    /// Returns the number of entries that the table's own pages can hold; 0 if it has none.
    pub fn page_entries(&self) -> usize {
        match &self.0 {
            Place::Pages(map, ..) => map.len() / size_of::<E>(),
            _ => 0,
        }
    }

    /// Returns a table of `entries` arbitrary entries in the same pages, which must have room for them
    /// ([`Self::page_entries`]).
    pub fn reused(self, entries: usize) -> Self {
        match self.0 {
            Place::Pages(map, _, of) if entries * size_of::<E>() <= map.len() => {
                Storage(Place::Pages(map, entries, of))
            }
            _ => Self::new(entries),
        }
    }
}

impl<E> From<Vec<E>> for Storage<E> {
    fn from(entries: Vec<E>) -> Self {
        Storage(Place::Heap(entries))
    }
}

impl<E> Default for Storage<E> {
    fn default() -> Self {
        Storage(Place::Heap(Vec::new()))
    }
}

impl<E: Entry> FromIterator<E> for Storage<E> {
    fn from_iter<I: IntoIterator<Item = E>>(entries: I) -> Self {
        Storage(Place::Heap(entries.into_iter().collect()))
    }
}

impl<E: Entry> Deref for Storage<E> {
    type Target = [E];

    fn deref(&self) -> &[E] {
        match &self.0 {
            Place::Heap(entries) => entries,
            Place::Pages(map, entries, _) => &bytemuck::cast_slice(map)[..*entries],
            Place::Shared(table) => table,
        }
    }
}

impl<E: Entry> DerefMut for Storage<E> {
    fn deref_mut(&mut self) -> &mut [E] {
        if let Place::Shared(table) = &self.0 {
            *self = table.iter().copied().collect();
        }
        match &mut self.0 {
            Place::Heap(entries) => entries,
            Place::Pages(map, entries, _) => &mut bytemuck::cast_slice_mut(map)[..*entries],
            Place::Shared(_) => &mut [],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_no_memory_holds_is_an_error() {
        for entries in [usize::MAX / 16, usize::MAX / 4] {
            let error = Storage::<i64>::try_new(entries).expect_err("no machine has so much");
            assert!(matches!(error, Error::Memory(_)), "{error}");
        }
        assert_eq!(Storage::<i32>::try_new(5).expect("twenty bytes").len(), 5);
    }

    #[test]
    fn shared_entries_change_for_one_reader_only() {
        let table = Arc::new(Storage::from(vec![1, 2, 3]));
        let mut own = Storage::shared(&table);
        assert!(own.is_shared() && own[..] == [1, 2, 3] && own.as_ptr() == table.as_ptr());
        own[1] = 7;
        assert!(!own.is_shared() && own[..] == [1, 7, 3] && table[..] == [1, 2, 3]);
    }

    #[test]
    fn tables_of_all_sizes_hold_what_is_written() {
        for entries in [0, 1, 1000, LARGE / 8 - 1, LARGE / 8, LARGE / 4 + 3] {
            let mut table = Storage::<i64>::new(entries);
            assert!(table.len() == entries && table.iter().all(|&entry| entry == 0));
            table.iter_mut().enumerate().for_each(|(k, entry)| *entry = k as i64);
            assert_eq!(matches!(table.0, Place::Pages(..)), entries >= LARGE / 8);
            assert!(table.iter().enumerate().all(|(k, &entry)| entry == k as i64));
            let (at, held) = (table.as_ptr(), table.page_entries());
            let fewer = table.reused(entries / 2);
            assert!(
                fewer.len() == entries / 2 && (held == 0 || (fewer.as_ptr() == at && fewer.page_entries() == held))
            );
        }
    }
}
