//! Equal tables, stored once.

use super::Table;
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};

/// An index of distinct tables, so that each is stored and processed once: the 10108 functions of SPOT5 414 have 44
/// different tables.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Table numbers by hash of the contents, or by the next free key if another table has that hash. There are many
    /// small maps because a growing map moves all of its entries without checking the stop flag.
    places: [FxHashMap<u64, u32>; PARTS],
}

/// The number of maps. With a million tables, a map that grows moves 16 thousand entries.
const PARTS: usize = 64;

impl Default for Tables {
    fn default() -> Self {
        Tables { places: std::array::from_fn(|_| FxHashMap::default()) }
    }
}

impl Tables {
    /// Returns the number of the first table for which `is_like` holds; records and returns `place` if there is none.
    pub fn first(&mut self, table: &Table, place: u32, is_like: impl Fn(u32) -> bool) -> u32 {
        let mut hasher = FxHasher::default();
        match table {
            Table::Dense(costs) => costs.hash(&mut hasher),
            Table::Sparse(sparse) => sparse.hash(&mut hasher),
        }
        let mut hash = hasher.finish();
        loop {
            match self.places[hash as usize % PARTS].entry(hash) {
                Entry::Vacant(free) => return *free.insert(place),
                Entry::Occupied(known) if is_like(*known.get()) => return *known.get(),
                Entry::Occupied(_) => hash = hash.wrapping_add(1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SparseTable;

    #[test]
    fn tables_are_where_the_first_one_like_them_is() {
        let sparse = |costs: Vec<i64>| Table::Sparse(SparseTable::new(1, 7, vec![2, 4], costs).into());
        let dense = |costs: Vec<i64>| Table::dense(costs);
        let all = [dense(vec![1, 2]), dense(vec![2, 1]), sparse(vec![1, 2]), sparse(vec![1, 3]), dense(vec![1, 2])];
        let mut tables = Tables::default();
        for begin in [0, 5] {
            let places = all.iter().zip(begin..);
            let places = places.map(|(table, k)| tables.first(table, k, |at| all[at as usize] == *table));
            assert_eq!(places.collect::<Vec<_>>(), [0, 1, 2, 3, 0]);
        }
        // callers may define equality differently
        assert_eq!(tables.first(&all[0], 9, |_| false), 9);
        assert_eq!(tables.first(&all[0], 10, |at| at == 9), 9);
    }
}
