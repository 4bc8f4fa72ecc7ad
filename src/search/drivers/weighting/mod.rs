//! Constraint-weighting walks on hard functions ([`weigh`](self::walk)): for networks whose trouble is to find any
//! allowed assignment, until one is known, and for those whose functions mostly forbid and whose costs are the
//! variables' own, as in satellite scheduling and weighted satisfiability.
//!
//! This is the host's side: where walks begin, and what is worth keeping.

pub(crate) mod cpu;
pub(crate) mod cuda;
#[cfg(test)]
mod cuda_tests;
pub(crate) mod walk;

use self::cpu::{CpuWeightingWalks, WALKS, WalkStart, WeightingWalks, portable_round};
use self::walk::{Limit, WalkProgress, without_forbidden};
use super::annealing::state::Elite;
use crate::device::{Cuda, DeviceError, Source};
use crate::model::{FORBIDDEN, Problem, Table};
use crate::rng::Rng;
use crate::search::context::cuda::unfit;
use crate::search::scheduler::driver::{Driver, Effort, Pool, SearchContext, shorter};
use crate::stop::Stop;
use cuda::CudaWeightingWalks;
use rayon::prelude::*;
use std::cell::OnceCell;
use std::sync::Arc;

/// Their share at first, next to annealing's six, where nothing allowed is known: in its first rounds annealing finds
/// something in most networks that the greedy solution leaves open. And where something is.
const WEIGHT: f64 = 5.0;
const SOLVED_WEIGHT: f64 = 0.5;
/// What they have at least until something is: fewer violations in the best assignment say little of who will find one
/// without.
const FLOOR: f64 = 0.5;
/// Assignments offered after a round, at most.
const OFFERED: usize = 8;
/// Work of a run before a device's walks begin, a tenth of a second: most networks have something allowed by then, and
/// need no room for them.
const BEGIN: u64 = 100_000_000;

/// The driver.
pub(crate) struct Weighting {
    rng: Rng,
    device: Option<Arc<Cuda>>,
    /// What the core's functions are like, once that was asked for.
    functions: OnceCell<Functions>,
    walks: Box<dyn WeightingWalks>,
    /// How far each has come; none before the first round.
    progress: Vec<WalkProgress>,
    rounds: u32,
}

/// What the functions of a core do.
#[derive(Clone, Copy)]
struct Functions {
    /// Some forbid something.
    forbid: bool,
    /// More than half of them do nothing else.
    mostly_forbid: bool,
}

impl Functions {
    fn of(problem: &Problem) -> Self {
        let (mut some, mut pure) = (0, 0);
        for function in &problem.functions {
            if let Table::Dense(costs) = &function.table
                && costs.iter().any(|&cost| cost >= FORBIDDEN)
            {
                some += 1;
                pure += usize::from(costs.iter().all(|&cost| cost == 0 || cost >= FORBIDDEN));
            }
        }
        Functions { forbid: some > 0, mostly_forbid: 2 * pure > problem.functions.len() }
    }
}

impl Weighting {
    /// A driver that has not begun.
    pub fn new(rng: Rng, device: Option<Arc<Cuda>>) -> Self {
        let walks = Box::new(CpuWeightingWalks::default());
        Weighting { rng, device, functions: OnceCell::new(), walks, progress: Vec::new(), rounds: 0 }
    }

    /// Walks from the best assignments known and, where there are more, from any.
    fn open(&mut self, context: &SearchContext, pool: &Pool) -> Result<(), DeviceError> {
        let tables = &context.tables;
        self.walks = match &self.device {
            Some(cuda) if unfit(context).is_none() => Box::new(CudaWeightingWalks::new(cuda.clone())?),
            _ => Box::new(CpuWeightingWalks::default()),
        };
        let begin = |(slot, mut rng): (usize, Rng)| {
            let mut random = || (0..tables.variables()).map(|v| rng.index(tables.domain(v)) as u16).collect();
            let values = pool.elites().get(slot).map_or_else(&mut random, |elite| elite.values.clone());
            WalkStart {
                progress: WalkProgress::new(rng.draw(), slot % 2 == 1),
                values: without_forbidden(tables, values),
            }
        };
        let count = if context.portable { WALKS } else { self.walks.suitable(context)? };
        let streams: Vec<(usize, Rng)> = (0..count).map(|slot| (slot, self.rng.split())).collect();
        let walks: Vec<WalkStart> = streams.into_par_iter().map(begin).collect();
        self.progress = walks.iter().map(|walk| walk.progress).collect();
        self.walks.open(context, walks)
    }

    fn advance(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Result<Effort, DeviceError> {
        if self.progress.is_empty() || self.progress.iter().any(WalkProgress::is_over) {
            self.open(context, pool)?;
        }
        let portable = context.portable.then(|| portable_round(&context.tables));
        let shorter = shorter(self.rounds);
        self.rounds += 1;
        let Limit { steps, work } = portable.map_or_else(|| self.walks.limit(context), |(limit, _)| limit);
        let limit = Limit { steps: (steps >> shorter).max(1), work: work >> shorter };
        let (progress, counted) = self.walks.walk(context, limit, stop)?;
        let work = portable.map_or(counted, |(_, work)| work >> shorter);
        let mut better: Vec<usize> =
            (0..progress.len()).filter(|&k| progress[k].found() < self.progress[k].found()).collect();
        better.sort_by_key(|&slot| progress[slot].found());
        better.truncate(OFFERED);
        for values in self.walks.found(&better)? {
            pool.offer(&Elite::new(&context.tables, values));
        }
        let done = |of: fn(&WalkProgress) -> u64| -> u64 {
            progress.iter().zip(&self.progress).map(|(now, before)| of(now) - of(before)).sum()
        };
        let (moves, ratings) = (done(|progress| progress.moves), done(|progress| progress.looked_at));
        self.progress = progress;
        Ok(Effort { moves, ratings, work, ..Effort::default() })
    }
}

impl Driver for Weighting {
    fn population(&self) -> usize {
        self.progress.len()
    }

    fn fits(&self, context: &SearchContext, pool: &Pool) -> bool {
        let functions = self.functions.get_or_init(|| Functions::of(&context.tables.problem));
        let pays = if pool.solved { functions.mostly_forbid } else { functions.forbid };
        // what no device walks is the CPU's, beside it
        let here = self.device.is_none() || unfit(context).is_none();
        pays && here && context.tables.all_copied()
    }

    fn weight(&self, _: &SearchContext, pool: &Pool) -> f64 {
        if pool.solved { SOLVED_WEIGHT } else { WEIGHT }
    }

    fn floor(&self, _: &SearchContext, pool: &Pool) -> f64 {
        if pool.solved { 0.0 } else { FLOOR }
    }

    fn begins(&self, context: &SearchContext) -> u64 {
        if self.device.is_some() && !context.portable { BEGIN } else { 0 }
    }

    fn kernels(&self, context: &SearchContext) -> Option<Source> {
        let begins = self.device.is_some() && self.progress.is_empty() && unfit(context).is_none();
        begins.then(CudaWeightingWalks::source)
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        if context.variables() == 0 || !context.tables.all_copied() {
            return Effort { work: 1_000_000, ..Effort::default() };
        }
        self.advance(context, pool, stop).unwrap_or_else(|error| {
            // what was found is in the pool
            self.device = None;
            self.progress.clear();
            Effort { lost: Some(error), ..Effort::default() }
        })
    }

    fn rebase(&mut self, _: &SearchContext, _: &(dyn Fn(&[u16]) -> Vec<u16> + Sync)) {
        // the shared pool carries over what the walks found
        self.progress.clear();
        self.functions = OnceCell::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::reduce::Reducer;
    use crate::search::testing::price;
    use std::sync::Arc;

    fn context(kind: &str, parameters: &[(&str, &str)], seed: u64) -> SearchContext {
        let network = generate(kind, parameters, seed).expect("a family");
        let problem = Arc::new(Reducer::new(&network, true, &Stop::new()).expect("no stop is set").problem());
        let mut context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(seed));
        context.portable = true;
        context
    }

    #[test]
    fn they_have_a_part_where_functions_forbid() {
        let weights = || Weighting::new(Rng::new(1), None);
        let (known, unknown) = (Pool::new(true), Pool::default());
        let clauses = context("sat", &[], 1);
        assert!(weights().fits(&clauses, &known) && weights().fits(&clauses, &unknown));
        let mixed = context("random", &[("n", "30"), ("d", "5"), ("p1", "0.5"), ("p2", "0.3")], 1);
        assert!(!weights().fits(&mixed, &known) && weights().fits(&mixed, &unknown));
        let costs = context("potts", &[], 1);
        assert!(!weights().fits(&costs, &known) && !weights().fits(&costs, &unknown));
    }

    #[test]
    fn they_find_what_is_hidden() {
        let clauses = ("sat", &[("n", "200"), ("clauses", "820")][..]);
        let square = ("latin", &[("order", "16"), ("holes", "110")][..]);
        for (kind, parameters) in [clauses, square] {
            for seed in 1..4 {
                let (context, mut pool) = (context(kind, parameters, seed), Pool::default());
                let mut weights = Weighting::new(Rng::new(seed), None);
                let mut rounds = 0;
                while !pool.solved {
                    assert!(weights.fits(&context, &pool) && rounds < 200, "{kind} {seed}");
                    let effort = weights.round(&context, &mut pool, &Stop::new());
                    assert!(effort.moves > 0 && effort.work > 1_000_000 && weights.population() == 2);
                    rounds += 1;
                }
                let allowed = pool.elites().iter().filter(|elite| elite.energy.violations == 0);
                assert!(allowed.clone().all(|elite| context.tables.energy(&elite.values) == elite.energy));
                assert!(allowed.count() > 0);
            }
        }
    }
}
