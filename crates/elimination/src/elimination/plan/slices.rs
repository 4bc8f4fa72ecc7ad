//! Division of a step into slices along the slowest digits of its message. Each slice is made from the parts of the
//! inputs that it reads.
//!
//! The digits of a message are in the order of its inputs' digits. So a slice reads one stretch of an input for each
//! value of the eliminated variable, and is itself a stretch of the message. Tables may therefore be stored elsewhere
//! and read slice by slice: in the host's memory while a device computes (`cuda::stream`), or in files (`spill`).

use super::structure::{EliminationPlan, Step};

/// The division of a message into slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Number of the slowest digits that have one value in a slice.
    fixed: usize,
    /// Number of values of the next digit in a slice.
    values: u32,
}

/// The entries of a table that a slice reads or makes, in their order: entry `i` is entry `offset + i / length * stride
/// + i % length` of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub offset: u64,
    pub length: u64,
    pub stride: u64,
}

impl Cut {
    /// Returns the largest slices that fit, reduced to make at least `slices` of them if there are enough values.
    /// `None` if not even single entries fit.
    pub fn largest(plan: &EliminationPlan, step: &Step, slices: u64, fits: impl Fn(Cut) -> bool) -> Option<Cut> {
        let mut before = 1u64;
        for (fixed, &position) in step.scope.iter().enumerate() {
            let size = plan.domains[position as usize];
            let fits = |values: u32| fits(Cut { fixed, values });
            if fits(1) {
                let (mut low, mut high) = (1, size);
                while low < high {
                    let middle = low + (high - low).div_ceil(2);
                    (low, high) = if fits(middle) { (middle, high) } else { (low, middle - 1) };
                }
                let wanted = slices.div_ceil(before).min(u64::from(size)) as u32;
                return Some(Cut { fixed, values: low.min(size.div_ceil(wanted)) });
            }
            before = before.saturating_mul(u64::from(size));
        }
        None
    }

    /// Returns the plan over the domains of a slice, with the sizes of step `index` adjusted.
    pub fn of(&self, plan: &EliminationPlan, index: usize) -> EliminationPlan {
        let mut slice = plan.clone();
        slice.domains = self.domains(plan, index);
        let step = &mut slice.steps[index];
        step.entries = entries(&step.scope, &slice.domains);
        step.joint = step.entries * u64::from(slice.domains[step.position as usize]);
        slice
    }

    /// Returns the domains of a slice of a step, by position.
    pub fn domains(&self, plan: &EliminationPlan, index: usize) -> Vec<u32> {
        let (mut domains, scope) = (plan.domains.clone(), &plan.steps[index].scope);
        for &position in &scope[..self.fixed] {
            domains[position as usize] = 1;
        }
        domains[scope[self.fixed] as usize] = self.values;
        domains
    }

    /// Returns the number of slices along the digit that is not fixed. The last of them is moved back to have the size
    /// of the others, so that some of its entries are made twice, with equal results.
    fn ranges(&self, plan: &EliminationPlan, step: &Step) -> u64 {
        u64::from(plan.domains[step.scope[self.fixed] as usize].div_ceil(self.values))
    }

    /// Returns the number of slices of a step.
    pub fn slices(&self, plan: &EliminationPlan, step: &Step) -> u64 {
        let fixed = step.scope[..self.fixed].iter().map(|&p| u64::from(plan.domains[p as usize]));
        fixed.fold(self.ranges(plan, step), u64::saturating_mul)
    }

    /// Returns where a slice begins: positions and their first values. All other positions begin at 0.
    pub fn begin(&self, plan: &EliminationPlan, step: &Step, slice: u64) -> Vec<(u32, u64)> {
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
    /// Returns the stretch of a table over `scope` that belongs to a slice beginning at `begin`. `plan` has the domains
    /// of the whole table, `slice` those of the slice.
    pub fn new(scope: &[u32], plan: &EliminationPlan, slice: &EliminationPlan, begin: &[(u32, u64)]) -> Stretch {
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
        // the next stretch belongs to the next value of the slowest digit, which is the eliminated variable
        let slowest = scope.first().map_or(1, |&p| u64::from(plan.domains[p as usize]));
        Stretch { offset, length, stride: stride / slowest }
    }
}

/// Returns the number of entries of a table over some positions, saturating.
pub(crate) fn entries(scope: &[u32], domains: &[u32]) -> u64 {
    scope.iter().fold(1, |product, &p| product.saturating_mul(u64::from(domains[p as usize])))
}
