//! Bounds from both sides where tables do not fit: the sum is cut into parts by the values of some variables.
//!
//! A part has the values of some variables fixed. Where the tables of what is left fit, its sum is exact; elsewhere
//! weighted mini-buckets bound it from above, and nothing but 0 is known from below. The part of the largest bound is
//! cut next, by the values of the variable that the largest cliques share. So the sum of all exact parts rises, the sum
//! of all bounds falls, and both meet when no part is left (conditioning as in Lou, Dechter and Ihler, "Anytime
//! anyspace AND/OR search for bounding the partition function", 2017, on one path at a time).

use super::propagate::{Planned, Trouble};
use super::sliced::Sliced;
use super::weighted::{Weights, upper};
use super::{Evidence, Marginals, Options, Prepared, tuning};
use crate::algebra::{OfNumbers, SumProduct, WideSumProduct};
use crate::elimination::{EliminationPlan, Limits};
use crate::error::Error;
use crate::memory;
use crate::model::{Potentials, Problem, ROUNDOFF, Scaled};
use crate::order::Order;
use crate::stop::Stop;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Bounds on the sum over all assignments.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SumBounds {
    /// The logarithm of the sum is at least this; minus infinity where nothing is known.
    pub lower: f64,
    /// And at most this.
    pub upper: f64,
    /// Parts whose sums are known exactly, up to rounding.
    pub exact_parts: u64,
    /// Parts that are bounded only.
    pub open_parts: u64,
}

impl From<&Marginals> for SumBounds {
    fn from(found: &Marginals) -> Self {
        let (lower, upper) = (found.ln_z - found.error_bound, found.ln_z + found.error_bound);
        SumBounds { lower, upper, exact_parts: 1, open_parts: 0 }
    }
}

/// A part of the sum.
#[derive(Debug)]
struct Part {
    /// The values that are fixed.
    values: Vec<(u32, u32)>,
    /// No more than this is its sum.
    upper: Scaled,
    /// The variable to cut by next.
    cut: u32,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Part {}
impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.upper.is_above(other.upper), other.upper.is_above(self.upper)) {
            (true, _) => Ordering::Greater,
            (_, true) => Ordering::Less,
            _ => other.values.cmp(&self.values),
        }
    }
}

/// What is known of a part.
enum Known {
    /// Its sum, and how far that may be off, relatively.
    Exact(Scaled, f64),
    Bounded(Part),
}

/// Sizes of tables and parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Bytes of the first tables that bound the whole, and of the last.
    pub whole: (u64, u64),
    /// Bytes of tables that bound a part.
    pub part: u64,
    /// Entries of all cliques of a part that is summed exactly.
    pub exact: f64,
}

/// Bounds the sum until both sides meet, or `stop` is set; `tell` hears of each step. The last bounds are returned.
///
/// # Errors
/// Evidence or options that do not fit; no memory for a table that was planned.
pub fn bound(
    potentials: &Potentials,
    evidence: &Evidence,
    options: &Options,
    stop: &Stop,
    tell: &mut dyn FnMut(&SumBounds),
) -> Result<SumBounds, Error> {
    bound_by(&tuning::SIZES, potentials, evidence, options, stop, tell)
}

pub(super) fn bound_by(
    sizes: &Sizes,
    potentials: &Potentials,
    evidence: &Evidence,
    options: &Options,
    stop: &Stop,
    tell: &mut dyn FnMut(&SumBounds),
) -> Result<SumBounds, Error> {
    let only_z = options.clone().with(|options| options.variables = Some(Vec::new()));
    let places = Prepared::new(potentials, evidence, &only_z, stop)?.places();
    let memory = options.memory.unwrap_or_else(|| memory::available() / 2);
    let search = Search { potentials, evidence, places, memory, exact: sizes.exact };
    let mut found = Found::default();
    match search.run(sizes, &mut found, stop, tell) {
        Err(error) if !error.is_stop() => Err(error),
        _ => Ok(found.last),
    }
}

/// Exact parts so far, and the best bounds.
struct Found {
    lower: Scaled,
    /// Relative error of the sum of exact parts.
    error: f64,
    last: SumBounds,
}

impl Default for Found {
    fn default() -> Self {
        let last = SumBounds { lower: f64::NEG_INFINITY, upper: f64::INFINITY, exact_parts: 0, open_parts: 1 };
        Found { lower: Scaled::ZERO, error: 0.0, last }
    }
}

impl Found {
    fn exact(&mut self, sum: Scaled, error: f64) {
        self.lower = self.lower.plus(sum);
        self.error = self.error.max(error) + ROUNDOFF;
        self.last.exact_parts += 1;
    }

    /// The bounds once these parts are open.
    fn bounds<'p>(&mut self, open: impl IntoIterator<Item = &'p Part>) -> &SumBounds {
        let (mut all, mut count) = (self.lower.times(Scaled::new(1.0 + self.error)), 4.0);
        self.last.open_parts = 0;
        for part in open {
            all = all.plus(part.upper);
            count += 1.0;
            self.last.open_parts += u64::from(part.upper.mantissa > 0.0);
        }
        self.last.upper = self.last.upper.min(raised(all.ln(), count * ROUNDOFF));
        self.last.lower = raised(self.lower.ln(), -self.error).max(self.last.lower).min(self.last.upper);
        &self.last
    }
}

/// A logarithm moved by a relative error of its number, and by its own rounding in the same direction.
fn raised(ln: f64, by: f64) -> f64 {
    if ln.is_finite() { ln + by + by.signum() * (2.0 + 2.0 * ln.abs()) * ROUNDOFF } else { ln }
}

/// Tables of a bound.
#[derive(Clone, Copy)]
struct Level {
    bytes: u64,
    weights: Weights,
}

struct Search<'a> {
    potentials: &'a Potentials,
    evidence: &'a Evidence,
    places: Vec<usize>,
    memory: u64,
    /// Entries of all cliques of a part that is summed exactly.
    exact: f64,
}

impl Search<'_> {
    fn run(
        &self,
        sizes: &Sizes,
        found: &mut Found,
        stop: &Stop,
        tell: &mut dyn FnMut(&SumBounds),
    ) -> Result<(), Error> {
        // both kinds of weights on small tables, the better one from there on
        let mut level = Level { bytes: sizes.whole.0.min(self.memory), weights: Weights::Equal };
        let mut open = BinaryHeap::new();
        let (mut best, mut weights) = (f64::INFINITY, Weights::First);
        while level.bytes <= sizes.whole.1.min(self.memory) {
            match self.part(Vec::new(), level, stop)? {
                Known::Exact(sum, error) => {
                    found.exact(sum, error);
                    tell(found.bounds(&[]));
                    return Ok(());
                }
                Known::Bounded(part) if part.upper.ln() < best || open.is_empty() => {
                    (best, weights) = (part.upper.ln(), level.weights);
                    open = BinaryHeap::from([part]);
                    tell(found.bounds(&open));
                }
                Known::Bounded(_) => {}
            }
            level = match level {
                Level { bytes, weights: Weights::Equal } if bytes == sizes.whole.0.min(self.memory) => {
                    Level { bytes, weights: Weights::First }
                }
                Level { bytes, .. } => Level { bytes: bytes.saturating_mul(4).max(1), weights },
            };
        }
        let level = Level { bytes: sizes.part.min(self.memory), weights };
        while let Some(part) = open.pop().filter(|part| part.upper.mantissa > 0.0) {
            let cut = |value| {
                let values = part.values.iter().copied().chain([(part.cut, value)]).collect();
                self.part(values, level, stop)
            };
            let domain = self.potentials.domains[part.cut as usize];
            let parts: Vec<Known> = (0..domain).into_par_iter().map(cut).collect::<Result<_, _>>()?;
            for known in parts {
                match known {
                    Known::Exact(sum, error) => found.exact(sum, error),
                    Known::Bounded(part) => open.push(part),
                }
            }
            tell(found.bounds(&open));
        }
        Ok(())
    }

    /// The sum of a part, or a bound on it.
    fn part(&self, values: Vec<(u32, u32)>, level: Level, stop: &Stop) -> Result<Known, Error> {
        let mut evidence = self.evidence.clone();
        evidence.values.extend_from_slice(&values);
        let zero = Known::Exact(Scaled::ZERO, 0.0);
        let Some(sliced) = Sliced::new(self.potentials, &evidence, |_| false, |_| false, stop)? else {
            return Ok(zero);
        };
        if sliced.constant.mantissa == 0.0 || sliced.functions.iter().any(|f| f.table.iter().all(|&x| x == 0.0)) {
            return Ok(zero);
        }
        let structure = sliced.structure();
        let mut sequence: Vec<u32> = (0..sliced.variables.len() as u32).collect();
        sequence.sort_by_key(|&v| self.places[sliced.variables[v as usize] as usize]);
        let order = Order::given(&structure, &sequence, stop)?;
        stop.check()?;
        if order.joint_entries <= self.exact {
            let (plan, placement) = EliminationPlan::exact(&structure, &order, false, 16, stop)?;
            if placement.peak_bytes <= self.memory / rayon::current_num_threads() as u64 {
                let planned = Planned { sliced: &sliced, plan: &plan, placement: &placement };
                let found = sum(planned, SumProduct, stop).or_else(|trouble| match trouble {
                    Trouble::Narrow => sum(planned, WideSumProduct, stop),
                    failed => Err(failed),
                });
                return Ok(found?);
            }
        }
        let limits = Limits { keep_messages: false, ..Limits::new(level.bytes) };
        let (plan, placement) = EliminationPlan::within(&structure, &order, &limits, 8, stop)?;
        let upper = upper(&sliced, &plan, &placement, level.weights, stop)?;
        let cut = sliced.variables[self.cut(&order, &structure, stop)? as usize];
        Ok(Known::Bounded(Part { values, upper, cut }))
    }

    /// The variable that the largest cliques share.
    fn cut(&self, order: &Order, structure: &Problem, stop: &Stop) -> Result<u32, Error> {
        let (plan, _) = EliminationPlan::exact(structure, order, false, 8, stop)?;
        let mut gains = vec![0.0; structure.variables()];
        for (index, step) in plan.steps.iter().enumerate() {
            let scope = plan.scope(index);
            let entries = step.joint as f64;
            for p in scope {
                let domain = f64::from(plan.domains[p as usize]);
                // what is left of the clique in each of its parts, by what is cut off for each part
                gains[plan.sequence[p as usize] as usize] += entries * (1.0 - 1.0 / domain) / domain.ln().max(0.1);
            }
        }
        let best = (0..gains.len()).max_by(|&a, &b| gains[a].total_cmp(&gains[b]));
        best.map(|best| best as u32).ok_or_else(|| Error::Internal("a part without variables is not exact".into()))
    }
}

fn sum<S: OfNumbers>(planned: Planned<'_>, semiring: S, stop: &Stop) -> Result<Known, Trouble> {
    let collected = planned.collect(&|_| semiring, stop)?;
    Ok(Known::Exact(collected.z, collected.error + planned.sliced.rounding))
}
