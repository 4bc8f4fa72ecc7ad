//! Tables in device memory.

use crate::algebra::Entry;
use crate::elimination::plan::Source;
use crate::model::Scope;
use crate::tensor::storage::Storage;

/// The content that the host puts into a table once, before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The table of a function or of unary costs over the table's scope.
    Source(Source),
    /// The message of an earlier step, if the program is a part of the plan.
    Message(u32),
    /// Nothing: a step makes the table.
    Made,
}

/// A table in device memory, in the plan's layout, but with gaps between rows that would otherwise not begin at
/// multiples of 128 bytes. A row has the entries of the fastest digits: as few digits as make long rows.
#[derive(Clone, Debug)]
pub struct DeviceTable {
    /// Positions, ascending.
    pub scope: Scope,
    /// Number of entries, without the gaps.
    pub entries: u64,
    /// Number of entries of a row.
    pub row: u64,
    /// Padded length of a row, in entries: the distance from one row to the next.
    pub pitch: u64,
    /// The content that the host puts into the table.
    pub content: Content,
    /// Index of the first entry in device memory.
    pub at: u64,
    /// The level that makes the table; 0 for the host. `last` is the last level that reads it.
    pub(crate) made: u32,
    pub(crate) last: u32,
}

/// Least number of entries of a row.
const ROW: u64 = 128;
/// The reciprocal of the fraction of memory that gaps may take.
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

    /// Returns the number of entries with the gaps.
    pub fn extent(&self) -> u64 {
        self.entries / self.row * self.pitch
    }

    /// Returns the offset of the plan's entry `index` from the table's first entry.
    pub fn place(&self, index: u64) -> u64 {
        index / self.row * self.pitch + index % self.row
    }

    /// Returns the table without its gaps, out of the entries of device memory.
    pub fn whole<E: Entry>(&self, entries: &[E]) -> Storage<E> {
        let rows = entries[self.at as usize..][..self.extent() as usize].chunks(self.pitch as usize);
        rows.flat_map(|row| &row[..self.row as usize]).copied().collect()
    }

    /// Returns, for each digit, the distance from one value to the next, in entries.
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
