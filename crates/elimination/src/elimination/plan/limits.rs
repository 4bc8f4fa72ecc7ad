//! What a plan may take.

use crate::model::Cost;

/// What a plan may take: `Limits::new(1 << 30).with(|limits| limits.z = Some(4))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most variables of a mini-bucket, the eliminated one included; a single function may be larger.
    pub z: Option<u32>,
    /// Bytes of all tables alive at a time.
    pub max_bytes: u64,
    /// Bytes of messages that files may take beyond that, for an exact plan that does not fit otherwise.
    pub spill: u64,
    /// Whether an exact plan that does not fit, or that several devices share, may be cut into slices.
    pub slices: Option<Slices>,
    /// Keep every message: needed to assign values or to rate partial assignments afterwards.
    pub keep_messages: bool,
    /// Only solutions below this are of interest, besides the problem's own `top`.
    pub ub: Option<Cost>,
}

impl Limits {
    /// Keeps messages within `max_bytes`.
    pub fn new(max_bytes: u64) -> Self {
        Limits { z: None, max_bytes, spill: 0, slices: None, keep_messages: true, ub: None }
    }

    /// These with a change.
    pub fn with(mut self, change: impl FnOnce(&mut Limits)) -> Limits {
        change(&mut self);
        self
    }
}

/// How an exact plan that takes too much may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    /// Bytes that tables of a slice may take.
    pub bytes: u64,
    /// Devices that share the slices, none for the host: for several also a plan that fits is cut.
    pub devices: u32,
}

/// What an elimination by rows may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowLimits {
    /// Bytes of all tables alive at a time, about.
    pub bytes: u64,
    /// Work, as a run counts it.
    pub work: u64,
}

impl RowLimits {
    /// Both.
    pub fn new(bytes: u64, work: u64) -> RowLimits {
        RowLimits { bytes, work }
    }
}
