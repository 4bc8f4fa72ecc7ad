//! The progress of children of one state: the sweeps that a launch makes, and the energies that they reach.

use super::Standing;
use super::wide_program::Outcome;
use crate::core::context::SearchContext;
use crate::generation::{ChildPlan, Generation};
use crate::tuning::wide::{BARRIER, SPEED, TURN_PART, TURN_WORK};
use crate::tuning::{GREEDY_SWEEPS, TURN_SWEEPS};

/// Returns an estimate of the nanoseconds that one device takes for a sweep.
pub(super) fn sweep_time(context: &SearchContext) -> u64 {
    context.sweep_work / SPEED + BARRIER * context.order.classes.len() as u64
}

/// Children in the making.
#[derive(Clone, Debug)]
pub(super) struct Growing {
    pub plans: Vec<ChildPlan>,
    pub sweeps: u32,
    /// The slice that the device is executing, if one is launched.
    pub ahead: Option<Turn>,
}

/// Children after their last sweep. Each is combined with all before it, so that the last is the best.
#[derive(Debug)]
pub(super) struct Grown {
    pub standings: Vec<Standing>,
    pub plans: Vec<ChildPlan>,
}

/// A slice of the children's growth: sweeps that are launched together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// The number of a child's sweeps at the end of the slice.
    pub last: u32,
    /// The index of the snapshot if the children are measured at the end of the slice.
    pub measured: Option<usize>,
}

/// The parameters of children: the reduced problem, the generation and the slots.
#[derive(Clone, Copy)]
pub(super) struct Growth<'a> {
    pub context: &'a SearchContext,
    pub generation: &'a Generation,
    /// The slot of the first child.
    pub slot: usize,
    pub children: usize,
    /// The number of devices that sweep the children.
    pub devices: usize,
}

impl<'a> Growth<'a> {
    /// Returns the key of each child.
    pub fn keys(self) -> impl Iterator<Item = u64> + 'a {
        (self.slot..self.slot + self.children).map(move |slot| self.generation.key(slot))
    }

    /// Returns the number of all sweeps of a child, greedy ones included.
    pub fn sweeps(self) -> u32 {
        self.generation.sweeps + GREEDY_SWEEPS
    }

    /// Returns the slice that begins after `sweeps` sweeps.
    pub fn turn(self, sweeps: u32) -> Turn {
        let time = TURN_WORK.max(self.context.sweep_work / TURN_PART);
        let turn = match self.context.portable {
            true => TURN_SWEEPS.into(),
            false => (time * self.devices as u64 / sweep_time(self.context).max(1)).max(1),
        };
        let last = u64::from(sweeps).saturating_add(turn).min(self.sweeps().into()) as u32;
        Turn { last, measured: None }
    }

    /// Returns whether children are measured after a slice. They are not in their first half, because a hot child does
    /// not improve on the incumbent. In a portable run every child is measured if costs are exact, because the CPU has
    /// its energy then.
    pub fn measures(self, turn: Turn) -> bool {
        let is_measured = match self.context.portable {
            true => self.context.tables.shift == 0,
            false => 2 * turn.last >= self.sweeps(),
        };
        turn.last < self.sweeps() && is_measured
    }
}

/// The energy of a child after a slice, and the row of a snapshot that holds its values.
#[derive(Clone, Copy)]
pub(super) struct Measured {
    pub standing: Standing,
    pub snapshot: usize,
    pub child: usize,
}

impl Measured {
    /// Returns the best of the children in a snapshot.
    pub fn best(outcomes: &[Outcome], snapshot: usize) -> Option<Measured> {
        let best = (0..outcomes.len()).min_by_key(|&child| outcomes[child].total)?;
        Some(Measured { standing: standing_of(outcomes[best]), snapshot, child: best })
    }
}

/// Returns the energy and hash that a device has computed.
pub(super) fn standing_of(Outcome { total, hash, violations, .. }: Outcome) -> Standing {
    Standing { total, hash, violations, plan: 0 }
}
