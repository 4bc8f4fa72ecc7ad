//! Sums of components that were met before, as many as memory allows.

use super::Sum;
use crate::threads;
use rustc_hash::FxHashMap;

/// What a component is: numbers of what is left of its functions, and values of its variables that are ruled out.
pub(super) type Key = Box<[u8]>;

/// Bytes of an entry beside those of its key, about.
const ENTRY: u64 = 72;

/// Two generations: where the younger one is full, the elder one is forgotten.
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

/// Appends a number to a key: seven bits a byte, the lowest first.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}
