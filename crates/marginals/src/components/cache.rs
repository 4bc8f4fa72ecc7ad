//! A cache of the sums of components, within a memory limit.

use super::Sum;
use crate::threads;
use rustc_hash::FxHashMap;

/// The identity of a component: the numbers of its functions' residuals, and the remaining values of its variables if
/// some are ruled out.
pub(super) type Key = Box<[u8]>;

/// Approximate bytes of a cache entry besides those of its key.
const ENTRY: u64 = 72;

/// A cache of two generations: when the younger one is full, it replaces the elder one, whose entries are dropped.
#[derive(Debug)]
pub(super) struct Cache {
    young: FxHashMap<Key, Sum>,
    elder: FxHashMap<Key, Sum>,
    bytes: u64,
    /// Bytes that a generation may take.
    most: u64,
}

impl Cache {
    pub fn new(most: u64) -> Self {
        Cache { young: FxHashMap::default(), elder: FxHashMap::default(), bytes: 0, most: most / 2 }
    }

    pub fn len(&self) -> usize {
        self.young.len() + self.elder.len()
    }

    pub fn find(&mut self, key: &Key) -> Option<Sum> {
        if let Some(&sum) = self.young.get(key) {
            return Some(sum);
        }
        let sum = self.elder.remove(key)?;
        self.keep(key.clone(), sum);
        Some(sum)
    }

    pub fn keep(&mut self, key: Key, sum: Sum) {
        let bytes = ENTRY + key.len() as u64;
        if self.bytes + bytes > self.most {
            let forgotten = std::mem::replace(&mut self.elder, std::mem::take(&mut self.young));
            let parts = forgotten.len();
            threads::free(forgotten, parts);
            self.bytes = 0;
        }
        self.bytes += bytes;
        let _ = self.young.insert(key, sum);
    }
}

/// Appends a number to a key in groups of seven bits, the lowest first; all bytes but the last have their top bit set.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}
