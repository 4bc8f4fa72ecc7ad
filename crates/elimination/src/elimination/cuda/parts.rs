//! Division of a plan whose tables do not fit into a device's memory into parts that do: plain data, decided before
//! anything runs.
//!
//! The host holds every message. A part is a sequence of steps whose tables fit together: the messages of earlier parts
//! are copied to the device, messages between its own steps stay there, and all its messages are copied back. A step
//! that does not fit alone is *cut* into slices ([`Cut`]). To a device a slice is an ordinary step over smaller
//! domains.

use super::program::{ALIGNMENT, Program, Room};
use super::shape::Chip;
use crate::elimination::plan::EliminationPlan;
use crate::elimination::plan::slices::Cut;
use std::ops::Range;

/// Least number of slices of a step that is cut, so that the next slice is copied to the device while one is computed.
const SLICES: u64 = 8;

/// A sequence of steps whose tables are on the device together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub steps: Range<usize>,
    /// The division of the only step into slices, if the step does not fit.
    pub cut: Option<Cut>,
    /// Entries of device memory that the part takes, or that one slice takes if it is cut; two slices fit.
    pub entries: u64,
}

/// Divides a plan into parts that fit. `None` if not even slices of single entries fit.
pub(crate) fn parts(plan: &EliminationPlan, room: Room) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut first = 0;
    while first < plan.steps.len() {
        let part = run(plan, first, room).or_else(|| cut(plan, first, room))?;
        first = part.steps.end;
        parts.push(part);
    }
    Some(parts)
}

/// Returns the longest sequence of steps from `first` on that fits. The host computes a function that is lowered, so
/// such a step always fits.
fn run(plan: &EliminationPlan, first: usize, room: Room) -> Option<Part> {
    let (mut best, mut stride, mut grows) = (None, 1, true);
    let mut end = first;
    while stride > 0 {
        let steps = first..end + stride;
        let entries = if steps.end <= plan.steps.len() { extent(plan, steps.clone(), room) } else { u64::MAX };
        if entries <= room.entries {
            end = steps.end;
            best = Some(Part { steps, cut: None, entries });
        } else {
            grows = false;
        }
        stride = if grows { 2 * stride } else { stride / 2 };
    }
    let alone = || Part { steps: first..first + 1, cut: None, entries: 0 };
    best.or_else(|| plan.steps[first].lowered.then(alone))
}

/// Returns the largest slices of a step of which two fit together.
fn cut(plan: &EliminationPlan, index: usize, room: Room) -> Option<Part> {
    let entries = |cut: Cut| extent(&cut.of(plan, index), index..index + 1, room).next_multiple_of(ALIGNMENT);
    let cut = Cut::largest(plan, &plan.steps[index], SLICES, |cut| entries(cut) <= room.entries / 2)?;
    Some(Part { steps: index..index + 1, cut: Some(cut), entries: entries(cut) })
}

/// Returns the entries of device memory that some steps take together.
fn extent(plan: &EliminationPlan, steps: Range<usize>, room: Room) -> u64 {
    Program::part(plan, steps, Room { entries: 0, ..room }, &Chip::default())
        .map_or_else(|entries| entries, |program| program.entries)
}
