//! A cache of the sums of components, within a memory limit.

use super::Sum;
use crate::threads;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// The identity of a component: its variables, the numbers of its functions' residuals, and the remaining values of its
/// variables if some are ruled out.
#[derive(Clone, Debug, Default)]
pub(super) struct Key {
    bytes: Box<[u8]>,
    hash: u64,
}

impl Key {
    pub fn new(bytes: &[u8]) -> Self {
        Key { bytes: bytes.into(), hash: hash(bytes) }
    }
}

/// A sum in the cache.
#[derive(Clone, Debug)]
struct Kept {
    bytes: Box<[u8]>,
    sum: Sum,
}

/// Approximate bytes of a cache entry besides those of its key, with its entry of the log.
const ENTRY: u64 = 88;

/// A cache of two generations: when the younger one is full, it replaces the elder one, whose entries are dropped. Of
/// keys with equal hashes the last one is kept.
#[derive(Debug)]
pub(super) struct Cache {
    young: FxHashMap<u64, Kept>,
    elder: FxHashMap<u64, Kept>,
    bytes: u64,
    /// Bytes that a generation may take.
    most: u64,
    /// The numbers and hashes of insertions, in ascending order of the numbers.
    log: Vec<(u64, u64)>,
    /// The number of the next insertion.
    next: u64,
}

impl Cache {
    pub fn new(most: u64) -> Self {
        let (young, elder) = (FxHashMap::default(), FxHashMap::default());
        Cache { young, elder, bytes: 0, most: most / 2, log: Vec::new(), next: 0 }
    }

    pub fn len(&self) -> usize {
        self.young.len() + self.elder.len()
    }

    /// Returns the number of the next insertion.
    pub fn now(&self) -> u64 {
        self.next
    }

    /// Returns the sum of a component if the cache has it.
    pub fn find(&mut self, key: &Key) -> Option<Sum> {
        if let Some(kept) = self.young.get(&key.hash) {
            return (kept.bytes == key.bytes).then_some(kept.sum);
        }
        let is_own = self.elder.get(&key.hash).is_some_and(|kept| kept.bytes == key.bytes);
        let kept = if is_own { self.elder.remove(&key.hash) } else { None }?;
        let sum = kept.sum;
        self.insert(key.hash, kept);
        Some(sum)
    }

    /// Inserts the sum of a component.
    pub fn keep(&mut self, key: Key, sum: Sum) {
        self.log.push((self.next, key.hash));
        self.next += 1;
        self.insert(key.hash, Kept { bytes: key.bytes, sum });
    }

    fn insert(&mut self, hash: u64, kept: Kept) {
        let bytes = ENTRY + kept.bytes.len() as u64;
        if self.bytes + bytes > self.most {
            let forgotten = std::mem::replace(&mut self.elder, std::mem::take(&mut self.young));
            let parts = forgotten.len();
            threads::free(forgotten, parts);
            self.bytes = 0;
            let elder = &self.elder;
            self.log.retain(|(_, hash)| elder.contains_key(hash));
        }
        self.bytes += bytes;
        let _ = self.young.insert(hash, kept);
    }

    /// Removes the sums whose insertions have numbers from `begin` up to `end`.
    pub fn remove(&mut self, begin: u64, end: u64) {
        let place = |number: u64| self.log.partition_point(|&(own, _)| own < number);
        let (from, to) = (place(begin), place(end));
        for (_, hash) in self.log.drain(from..to) {
            if let Some(kept) = self.young.remove(&hash) {
                self.bytes = self.bytes.saturating_sub(ENTRY + kept.bytes.len() as u64);
            }
            let _ = self.elder.remove(&hash);
        }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// Appends a number to a key in groups of seven bits, the lowest first; all bytes but the last have their top bit set.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}
