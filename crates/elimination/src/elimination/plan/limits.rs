//! Limits on the size of a plan.

use crate::model::Cost;

/// Limits on the size of a plan, for example `Limits::new(1 << 30).with(|limits| limits.z = Some(4))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of variables of a mini-bucket, the eliminated one included (i-bound + 1); a single function
    /// may have more. `None` is no limit.
    pub z: Option<u32>,
    /// Bytes of all tables alive at a time.
    pub max_bytes: u64,
    /// Bytes of messages that files may take in addition, for an exact plan that does not fit otherwise.
    pub spill: u64,
    /// Whether and how an exact plan that does not fit, or that several devices share, may be cut into slices.
    pub slices: Option<Slices>,
    /// Whether every message is kept, which assignments and the cost-to-go of partial assignments need.
    pub keep_messages: bool,
    /// An upper bound: only solutions below it, and below the problem's own `top`, are of interest.
    pub ub: Option<Cost>,
}

impl Limits {
    /// Creates limits of `max_bytes` that keep messages and set nothing else.
    pub fn new(max_bytes: u64) -> Self {
        Limits { z: None, max_bytes, spill: 0, slices: None, keep_messages: true, ub: None }
    }

    /// Returns these limits with a change.
    pub fn with(mut self, change: impl FnOnce(&mut Limits)) -> Limits {
        change(&mut self);
        self
    }
}

/// Limits on the slices of an exact plan that would otherwise take too much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    /// Bytes that tables of a slice may take.
    pub bytes: u64,
    /// Number of devices that share the slices; 0 for the host. With several devices also a plan that fits is cut.
    pub devices: u32,
}

/// Limits on an elimination by rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowLimits {
    /// Approximate bytes of all tables alive at a time.
    pub bytes: u64,
    /// Work, in combinations as the run counts them.
    pub work: u64,
}

impl RowLimits {
    /// Creates limits of bytes and work.
    pub fn new(bytes: u64, work: u64) -> RowLimits {
        RowLimits { bytes, work }
    }
}
