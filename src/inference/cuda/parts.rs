//! A plan whose tables do not fit into a device's memory, as parts that do: plain data, decided before anything runs.
//!
//! The host holds every message. A part is a run of steps whose tables fit together: what earlier parts sent it is copied
//! to the device, what its steps send each other stays there, and its messages are copied back. A step that does not fit
//! alone is *cut*: its message is made in slices along its slowest digits, each from the parts of the inputs that it
//! reads. As a message's digits are in the order of its inputs', a slice reads one stretch of an input for each value of
//! the eliminated variable, and is a stretch of the message itself. To a device a slice is a step like others, over
//! smaller domains.

use super::super::plan::{Plan, Step};
use super::program::{ALIGNMENT, Program};
use super::tile::Chip;
use std::ops::Range;

/// Slices of a step that is cut, at least: while one is made the next is on its way to the device.
const SLICES: u64 = 8;

/// Steps that are on the device together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub steps: Range<usize>,
    /// How its only step is cut, if that does not fit.
    pub cut: Option<Cut>,
    /// Entries of device memory that it takes; of one slice where it is cut, and there is room for two.
    pub entries: u64,
}

/// How a message is cut into slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Digits, the slowest, that have one value in a slice.
    fixed: usize,
    /// Values of the next digit in a slice.
    values: u32,
}

/// The entries of a table that a slice reads or makes, in their order: entry `i` is entry
/// `offset + i / length * stride + i % length` of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub offset: u64,
    pub length: u64,
    pub stride: u64,
}

/// Shares a plan out in parts of up to `limit` entries. `None` where not even slices of single entries fit.
pub(super) fn parts(plan: &Plan, limit: u64) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut first = 0;
    while first < plan.steps.len() {
        let part = run(plan, first, limit).or_else(|| cut(plan, first, limit))?;
        first = part.steps.end;
        parts.push(part);
    }
    Some(parts)
}

/// The longest run of steps from `first` on that fits. A function that is lowered is made by the host and fits always.
fn run(plan: &Plan, first: usize, limit: u64) -> Option<Part> {
    let (mut best, mut stride, mut grows) = (None, 1, true);
    let mut end = first;
    while stride > 0 {
        let steps = first..end + stride;
        let entries = if steps.end <= plan.steps.len() { extent(plan, steps.clone()) } else { u64::MAX };
        if entries <= limit {
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

/// The largest slices of a step of which two fit.
fn cut(plan: &Plan, index: usize, limit: u64) -> Option<Part> {
    let scope = &plan.steps[index].scope;
    let entries = |cut: Cut| extent(&cut.of(plan, index), index..index + 1).next_multiple_of(ALIGNMENT);
    let mut before = 1u64;
    for (fixed, &position) in scope.iter().enumerate() {
        let size = plan.domains[position as usize];
        let fits = |values: u32| entries(Cut { fixed, values }) <= limit / 2;
        if fits(1) {
            let (mut low, mut high) = (1, size);
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                (low, high) = if fits(middle) { (middle, high) } else { (low, middle - 1) };
            }
            let wanted = SLICES.div_ceil(before).min(u64::from(size)) as u32;
            let cut = Cut { fixed, values: low.min(size.div_ceil(wanted)) };
            return Some(Part { steps: index..index + 1, cut: Some(cut), entries: entries(cut) });
        }
        before = before.saturating_mul(u64::from(size));
    }
    None
}

/// Entries that some steps take together.
fn extent(plan: &Plan, steps: Range<usize>) -> u64 {
    Program::part(plan, steps, 0, &Chip::default()).map_or_else(|entries| entries, |program| program.entries)
}

impl Cut {
    /// The plan with the domains that a slice has, and its step made accordingly.
    pub fn of(&self, plan: &Plan, index: usize) -> Plan {
        let mut slice = plan.clone();
        let step = &mut slice.steps[index];
        for &position in &step.scope[..self.fixed] {
            slice.domains[position as usize] = 1;
        }
        slice.domains[step.scope[self.fixed] as usize] = self.values;
        step.entries = step.scope.iter().map(|&p| u64::from(slice.domains[p as usize])).product();
        step.joint = step.entries * u64::from(slice.domains[step.position as usize]);
        slice
    }

    /// Slices along the digit that is not fixed. The last one is moved back to be as large as the others: some of its
    /// entries are made twice, alike.
    fn ranges(&self, plan: &Plan, step: &Step) -> u64 {
        u64::from(plan.domains[step.scope[self.fixed] as usize].div_ceil(self.values))
    }

    /// How many slices there are.
    pub fn slices(&self, plan: &Plan, step: &Step) -> u64 {
        let fixed = step.scope[..self.fixed].iter().map(|&p| u64::from(plan.domains[p as usize]));
        fixed.fold(self.ranges(plan, step), u64::saturating_mul)
    }

    /// Where a slice begins: positions and their first values; all others begin at 0.
    pub fn begin(&self, plan: &Plan, step: &Step, slice: u64) -> Vec<(u32, u64)> {
        let ranges = self.ranges(plan, step);
        let along = step.scope[self.fixed];
        let last = plan.domains[along as usize] - self.values;
        let mut begin = vec![(along, (slice % ranges * u64::from(self.values)).min(u64::from(last)))];
        let mut rest = slice / ranges;
        for &position in step.scope[..self.fixed].iter().rev() {
            let size = u64::from(plan.domains[position as usize]);
            begin.push((position, rest % size));
            rest /= size;
        }
        begin
    }
}

impl Stretch {
    /// What of a table over `scope`, whole in `plan`, is in a slice whose domains are those of `slice`.
    pub fn new(scope: &[u32], plan: &Plan, slice: &Plan, begin: &[(u32, u64)]) -> Stretch {
        let (mut offset, mut length, mut stride) = (0, 1, 1);
        let mut whole = true;
        for &position in scope.iter().rev() {
            let place = begin.iter().find(|&&(known, _)| known == position);
            offset += stride * place.map_or(0, |&(_, value)| value);
            let (size, own) = (plan.domains[position as usize], slice.domains[position as usize]);
            if whole {
                length *= u64::from(own);
                whole = size == own;
            }
            stride *= u64::from(size);
        }
        // beyond its stretches a table goes on with the values of its slowest digit, the eliminated variable
        let slowest = scope.first().map_or(1, |&p| u64::from(plan.domains[p as usize]));
        Stretch { offset, length, stride: stride / slowest }
    }
}
