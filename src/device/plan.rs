//! How the memory of a device is divided, before any is allocated.

use super::Memory;

/// Bytes that stay free at least: the driver allocates memory for code, stacks and printing at any time.
const RESERVE: u64 = 256 << 20;

/// A budget of a device's memory. No allocation is tried to see whether it fails: a population and tables are as large
/// as the plan says.
///
/// ```
/// use fangs::device::{Memory, MemoryPlan};
///
/// let gib = 1 << 30;
/// let mut plan = MemoryPlan::new(Memory { free: 66 * gib + gib / 4, total: 80 * gib });
/// assert_eq!(plan.left(), 64 * gib);
/// assert_eq!(plan.take(16 * gib), 16 * gib);
/// assert_eq!(plan.take(40 * gib), 24 * gib);
/// assert_eq!(plan.tables(None), 12 * gib);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    left: u64,
}

impl MemoryPlan {
    /// Plans with the free memory, less a reserve of 256 MiB and a fortieth of the device.
    pub fn new(memory: Memory) -> MemoryPlan {
        MemoryPlan { left: memory.free.saturating_sub(RESERVE + memory.total / 40) }
    }

    /// Bytes that are left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Takes what is wanted, but no more than half of what is left: a population must leave room for tables. The caller
    /// adapts to less.
    pub fn take(&mut self, wanted: u64) -> u64 {
        let given = wanted.min(self.left / 2);
        self.left -= given;
        given
    }

    /// Bytes for tables: half of what is left, or the user's limit as far as it is available.
    pub fn tables(&self, limit: Option<u64>) -> u64 {
        limit.map_or(self.left / 2, |limit| limit.min(self.left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn shares_never_exceed_what_is_there() {
        for (free, total) in [(0, 0), (100 << 20, 8 * GIB), (GIB, GIB), (139 * GIB, 140 * GIB), (u64::MAX, u64::MAX)] {
            let mut plan = MemoryPlan::new(Memory { free, total });
            let start = plan.left();
            assert!(start <= free.saturating_sub(RESERVE));
            let mut given = 0;
            for wanted in [0, 1, GIB, u64::MAX, 5] {
                let share = plan.take(wanted);
                assert!(share <= wanted);
                given += share;
            }
            assert!(given + plan.left() == start);
            assert!(plan.tables(None) <= plan.left() && plan.tables(Some(u64::MAX)) == plan.left());
            assert_eq!(plan.tables(Some(0)), 0);
        }
    }
}
