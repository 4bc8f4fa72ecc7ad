//! Tables in device memory.

use crate::algebra::Entry;
use crate::elimination::plan::Source;
use crate::model::Scope;
use crate::tensor::storage::Storage;

/// What the host puts into a table, once, before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// What a variable or a function says, over the table's scope.
    Source(Source),
    /// The message of an earlier step, where the program is a part of the plan.
    Message(u32),
    /// Nothing: a step makes it.
    Made,
}

/// A table in device memory: as the plan lays it out, but with gaps between rows where those would not begin at
/// 128 bytes. A row is the entries of the fastest digits, as few as make long rows.
#[derive(Clone, Debug)]
pub struct DeviceTable {
    /// Positions, ascending.
    pub scope: Scope,
    /// Entries, without the gaps.
    pub entries: u64,
    /// Entries of a row, and from one row to the next.
    pub row: u64,
    /// Entries from one row to the next.
    pub pitch: u64,
    /// What it holds.
    pub content: Content,
    /// Its first entry among all.
    pub at: u64,
    /// The level that makes it (0: the host), and the last that reads it.
    pub(crate) made: u32,
    pub(crate) last: u32,
}

/// The least entries of a row.
const ROW: u64 = 128;
/// The part of memory that gaps may take.
const GAPS: u64 = 16;

impl DeviceTable {
    pub(crate) fn new(scope: Scope, domains: &[u32], content: Content, made: u32) -> Self {
        let size = |p: &u32| u64::from(domains[*p as usize]);
        let entries = scope.iter().map(size).product();
        let mut row = 1;
        let mut pitch = 1;
        for p in scope.iter().rev() {
            row *= size(p);
            pitch = row.next_multiple_of(32);
            if row >= ROW && (pitch - row) * GAPS <= row {
                break;
            }
        }
        if row == entries {
            pitch = row;
        }
        DeviceTable { scope, entries, row, pitch, content, at: 0, made, last: made }
    }

    /// Entries with the gaps.
    pub fn extent(&self) -> u64 {
        self.entries / self.row * self.pitch
    }

    /// Where the plan's entry `index` is, from the table's first.
    pub fn place(&self, index: u64) -> u64 {
        index / self.row * self.pitch + index % self.row
    }

    /// The table without its gaps, out of all entries.
    pub fn whole<E: Entry>(&self, entries: &[E]) -> Storage<E> {
        let rows = entries[self.at as usize..][..self.extent() as usize].chunks(self.pitch as usize);
        rows.flat_map(|row| &row[..self.row as usize]).copied().collect()
    }

    /// From one value of each digit to the next.
    pub fn strides(&self, domains: &[u32]) -> Vec<u64> {
        let mut strides = vec![1; self.scope.len()];
        let mut stride = 1;
        for (digit, p) in self.scope.iter().enumerate().rev() {
            strides[digit] = stride;
            stride *= u64::from(domains[*p as usize]);
            if stride == self.row {
                stride = self.pitch;
            }
        }
        strides
    }
}
