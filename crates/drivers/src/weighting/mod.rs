//! Constraint-weighting walks on hard functions (`walk`): for networks on which a feasible assignment is hard to find,
//! until one is known, and for those whose functions mostly forbid and whose costs are unary, as in satellite
//! scheduling and weighted satisfiability.
//!
//! This module has the host's part: where walks begin, and which results are kept.

mod cuda;
#[cfg(test)]
mod cuda_tests;
pub(crate) mod incidences;
pub(crate) mod walk;

pub use self::cuda::sources;
use self::incidences::{IncidenceLists, without_forbidden};
use self::walk::{WeightingProgress, WeightingWalk};
use super::constants::walks::{LEAST_STEPS, MOST_STEPS};
use super::constants::weighting::{FLOOR, LOOKED_AT};
use super::walks::WalkDriver;
use crate::core::context::SearchContext;
use crate::core::driver::{Driver, Setup};
use crate::core::effort::Effort;
use crate::core::pool::Pool;
use crate::device::DeviceError;
use crate::error::Error;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::threads;
use crate::tuning::tuning;
use crate::value_tables::ValueTables;
use crate::walks::search::{Limit, LocalSearch, Progress, Start, Turn, Walks};
use std::sync::Arc;

/// Makes the driver.
pub fn make(setup: &mut Setup<'_>) -> Option<Box<dyn Driver>> {
    Some(Box::new(Weighting::new(setup.stream(), setup.device.clone())))
}

pub(crate) type Weighting = WalkDriver<ConstraintWeighting>;

/// The local search by constraint weighting.
#[derive(Default)]
pub(crate) struct ConstraintWeighting;

/// The index of focused walks among the kinds: walks that begin by forgetting, those that begin by remembering, and
/// focused ones.
const FOCUSED: usize = 2;

/// Returns the number of kinds on the CPU. Focused walks are for formulas: Latin squares of order 30 took them 1.1 to
/// 1.9 times as long. A device has none, and therefore a repeatable run has none either.
fn kinds(context: &SearchContext) -> usize {
    let is_formula = context.tables.problem.domains.iter().all(|&domain| domain <= 2);
    if is_formula && !context.portable { FOCUSED + 1 } else { tuning().weighting.walks }
}

/// Returns the approximate work of a step on the CPU, or the time of one step of all walks on a device, in nanoseconds.
fn step_work(tables: &ValueTables, on_device: bool) -> u64 {
    let n = tables.variables().max(1);
    let degrees = tables.incidence_count().max(1);
    let width = tables.moves() / n;
    if on_device {
        return (5000 + 40 * (degrees / n) * (8 + width)) as u64;
    }
    let arity = degrees.div_ceil(tables.problem.functions.len().max(1));
    (2 * (LOOKED_AT + degrees / n) * arity * (6 + width)) as u64
}

/// Returns the number of steps of a slice, and the work of one.
fn steps(turn: &Turn<ConstraintWeighting>) -> (u64, u64) {
    let work = if turn.on_device { tuning().walks.device_turn } else { tuning().weighting.turn_work };
    let step = step_work(&turn.context.tables, turn.on_device);
    ((work / step).clamp(LEAST_STEPS[usize::from(turn.on_device)], MOST_STEPS), step)
}

impl LocalSearch for ConstraintWeighting {
    /// A round is one slice.
    const ROUND_WORK: u64 = 0;
    type Progress = WeightingProgress;
    type Layout = IncidenceLists;
    type Walk = WeightingWalk;

    fn can_walk(&self, context: &SearchContext) -> bool {
        context.variables() > 0 && context.tables.all_copied() && !context.is_vast()
    }

    fn pays(&self, context: &SearchContext, pool: &Pool) -> bool {
        let functions = context.tables.forbidding;
        if pool.solved { functions.mostly } else { functions.some }
    }

    fn share(&self, context: &SearchContext, pool: &Pool) -> (f64, f64) {
        let floor = FLOOR[usize::from(context.has_one_state())];
        if pool.solved { (tuning().weighting.solved_weight, 0.0) } else { (tuning().weighting.weight, floor) }
    }

    fn layout(&mut self, context: &SearchContext, stop: &Stop) -> Result<Arc<IncidenceLists>, Error> {
        Ok(Arc::new(IncidenceLists::until(&context.tables, stop)?))
    }

    fn count(&self, context: &SearchContext, device: Option<usize>) -> usize {
        let threads =
            if context.portable { tuning().weighting.walks } else { rayon::current_num_threads().max(kinds(context)) };
        device.unwrap_or(threads)
    }

    fn limit(&self, turn: &Turn<Self>) -> Limit {
        turn.pause(steps(turn).0 as u32 >> turn.shorter, tuning().weighting.turn_work)
    }

    /// Begins all walks at once: at the best elites and, if there are more walks, at random assignments.
    fn begin(
        &mut self,
        turn: &Turn<Self>,
        rng: &mut Rng,
        _: &dyn Walks<WeightingProgress>,
    ) -> Result<Vec<Start<WeightingProgress>>, DeviceError> {
        if !turn.progress.iter().any(WeightingProgress::is_over) {
            return Ok(Vec::new());
        }
        let (tables, kinds) = (&turn.context.tables, kinds(turn.context));
        let begin = |(slot, mut rng): (usize, Rng)| {
            turn.stop.check()?;
            let mut random = || (0..tables.variables()).map(|v| rng.index(tables.domain(v)) as u16).collect();
            let values = turn.pool.elites().get(slot).map_or_else(&mut random, |elite| elite.values.clone());
            let progress = match slot % kinds {
                FOCUSED if !turn.on_device => WeightingProgress::focused(rng.draw()),
                _ => WeightingProgress::new(rng.draw(), slot % 2 == 1),
            };
            let progress = progress.after(&turn.progress[slot]);
            Ok::<_, Error>(Start { slot, progress, values: without_forbidden(tables, values, turn.stop)? })
        };
        let streams: Vec<(usize, Rng)> = (0..turn.progress.len()).map(|slot| (slot, rng.split())).collect();
        Ok(threads::try_map(streams, begin).unwrap_or_default())
    }

    fn choose(&self, turn: &Turn<Self>, mut better: Vec<usize>) -> Vec<usize> {
        better.sort_by_key(|&slot| turn.progress[slot].quality());
        better.truncate(tuning().weighting.offered);
        better
    }

    fn account(&self, turn: &Turn<Self>, limit: u32, _: usize, effort: &mut Effort) {
        let (steps, step) = steps(turn);
        if turn.on_device {
            effort.work = u64::from(limit) * step;
        } else if turn.context.portable {
            effort.work = (tuning().weighting.walks as u64 * steps * step) >> turn.shorter;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::driver::Driver;
    use crate::generate::generate;
    use crate::reduce::Reducer;
    use fangs_testing::cores::price;

    fn context(kind: &str, parameters: &[(&str, &str)], seed: u64) -> SearchContext {
        let network = generate(kind, parameters, seed).expect("a family");
        let problem = Arc::new(
            Reducer::new(&network, true, &Stop::new())
                .expect("no stop is set")
                .problem(&Stop::new())
                .expect("no stop is set"),
        );
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
