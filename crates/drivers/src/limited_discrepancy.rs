//! Limited-discrepancy search: depth-first searches of the whole problem, guided and pruned by cost shifting (soft arc
//! consistency), that deviate from the best child ever more often (Harvey, Ginsberg, 1995). Propagation shows what else
//! a choice rules out, and then most other values follow. If few variables decide for many, such as whether a warehouse
//! is open, a first descent finds solutions that walks of small changes do not reach.
//!
//! Each search begins again, with the incumbent as its limit.

use super::constants::limited_discrepancy::FUNCTION_WORK;
use crate::bounds::Probe;
use crate::core::context::SearchContext;
use crate::core::driver::{Driver, Setup};
use crate::core::effort::Effort;
use crate::core::elite::Elite;
use crate::core::pool::{Pool, Translate};
use crate::core::tuning::ROUND_WORK;
use crate::model::Problem;
use crate::stop::Stop;
use crate::tuning::tuning;
use std::cell::OnceCell;

/// Makes the driver.
pub fn make(_: &mut Setup<'_>) -> Option<Box<dyn Driver>> {
    Some(Box::new(LimitedDiscrepancy::default()))
}

#[derive(Default)]
pub(crate) struct LimitedDiscrepancy {
    /// Number of times that a path may deviate from the best child.
    discrepancies: usize,
    /// Number of entries that the next search may read; 0 before the first.
    reach: u64,
    /// Whether nothing is better, or no search will find it.
    over: bool,
    /// Whether searches are useful on this problem, once that was determined.
    fits: OnceCell<bool>,
}

/// Returns the approximate number of entries that a pass over all variables reads.
fn pass(problem: &Problem) -> u64 {
    let entries = problem.functions.iter().map(|function| {
        let of_variables = function.scope.len() as u64;
        of_variables.saturating_mul(function.combinations(&problem.domains).saturating_add(FUNCTION_WORK))
    });
    entries.fold(0, u64::saturating_add)
}

impl LimitedDiscrepancy {
    /// Makes one search and returns its work.
    fn search(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> u64 {
        let problem = &context.tables.problem;
        if self.reach == 0 {
            self.reach = pass(problem)
                .saturating_mul(tuning().limited_discrepancy.passes)
                .clamp(tuning().limited_discrepancy.least_reach, tuning().limited_discrepancy.most_reach);
        }
        let allowed = pool.elites().iter().find(|elite| elite.energy.violations == 0);
        let total = |elite: &Elite| problem.constant.saturating_add(elite.energy.total);
        let ub = allowed.map_or(problem.top, total).min(problem.top);
        let Some(probed) = Probe::new(self.reach, self.discrepancies).search(problem, ub, stop) else {
            self.over = true;
            return 0;
        };
        self.over = probed.complete;
        match probed.solution {
            Some(values) => {
                pool.offer(&Elite::new(&context.tables, values.iter().map(|&value| value as u16).collect()));
            }
            None if probed.short => {
                self.reach = self.reach.saturating_mul(2);
                self.over = self.reach > tuning().limited_discrepancy.most_reach;
            }
            None => {}
        }
        if !probed.short {
            self.discrepancies = self.discrepancies.saturating_mul(2).max(1);
        }
        probed.work
    }
}

impl Driver for LimitedDiscrepancy {
    fn needs_few_threads(&self) -> bool {
        true
    }

    fn population(&self) -> usize {
        1
    }

    fn fits(&self, context: &SearchContext, _: &Pool) -> bool {
        let small = || {
            !context.is_large()
                && pass(&context.tables.problem).saturating_mul(tuning().limited_discrepancy.least_passes)
                    <= tuning().limited_discrepancy.most_reach
        };
        !self.over && *self.fits.get_or_init(small)
    }

    fn begins(&self, _: &SearchContext) -> u64 {
        tuning().limited_discrepancy.begin
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        let mut work = 0;
        while !self.over && work < ROUND_WORK && !stop.is_set() {
            work += self.search(context, pool, stop).max(1);
        }
        // with nothing left to do a round counts as a full one, so that a driver alone leaves time to bounds
        Effort { ratings: work, work: if work == 0 { ROUND_WORK } else { work }, ..Effort::default() }
    }

    fn rebase(&mut self, _: &SearchContext, _: &Translate<'_>) {
        *self = LimitedDiscrepancy::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::rng::Rng;
    use crate::value_tables::Energy;
    use fangs_testing::cores::{for_all, price, random};
    use std::sync::Arc;

    #[test]
    fn dives_end_with_the_optimum_whatever_was_known_before() {
        let mut rng = Rng::new(61);
        let (mut ended, mut infeasible) = (0, 0);
        for case in 0..600 {
            let problem = Arc::new(random(&mut rng));
            let context = SearchContext::new(&problem, price(&problem), None, &mut rng);
            let mut pool = Pool::default();
            if case % 2 == 0 {
                let values = (0..problem.variables()).map(|v| rng.index(context.tables.domain(v)) as u16).collect();
                pool.offer(&Elite::new(&context.tables, values));
            }
            // the cost of a solution; `None` if it is infeasible
            let cost = |energy: Energy| {
                let total = energy.total.saturating_add(problem.constant);
                (energy.violations == 0 && total < problem.top).then_some(total)
            };
            let mut optimum = None;
            let all: Vec<u32> = (0..problem.variables() as u32).collect();
            let count = for_all(&problem, &vec![0; problem.variables()], &all, |values| {
                let found = cost(context.tables.energy(values));
                optimum = optimum.min(found).or(optimum).or(found);
            });
            let mut driver = LimitedDiscrepancy::default();
            while driver.fits(&context, &pool) {
                let before = pool.best();
                assert!(driver.round(&context, &mut pool, &Stop::new()).work > 0 && pool.best() <= before);
            }
            // costs too large for cost shifting are not searched
            let fits = Probe::new(1, 0).search(&problem, problem.top, &Stop::new()).is_some();
            if count <= 20_000 && fits {
                let found = pool.elites().iter().filter_map(|elite| cost(elite.energy)).min();
                assert_eq!(found, optimum, "case {case}");
                *(if optimum.is_some() { &mut ended } else { &mut infeasible }) += 1;
            }
        }
        assert!(ended > 300 && infeasible > 5, "{ended} {infeasible}");
    }

    #[test]
    fn first_descents_open_the_right_warehouses() {
        let network = generate("warehouse", &[("warehouses", "8"), ("stores", "24")], 3).expect("a kind");
        let problem = Arc::new(
            crate::reduce::Reducer::new(&network, false, &Stop::new())
                .expect("no limit")
                .problem(&Stop::new())
                .expect("no stop is set"),
        );
        let context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
        // each store has the nearest open warehouse
        let core = &context.tables.problem;
        let cost = |open: usize| -> i64 {
            let of_store = |v: usize| (0..8).filter(|w| open >> w & 1 == 1).map(|w| core.unary[v][w]).min();
            let stores = (8..32).map(|v| of_store(v).unwrap_or(i64::MAX / 64)).sum::<i64>();
            stores + (0..8).map(|w| core.unary[w][open >> w & 1]).sum::<i64>()
        };
        let best = (1..256).map(cost).min().expect("some are open") + core.constant;
        let mut pool = Pool::default();
        drop(LimitedDiscrepancy::default().round(&context, &mut pool, &Stop::new()));
        let found = pool.elites()[0].energy.total + core.constant;
        assert!(best <= found && (found - best) * 50 <= best, "{found} {best}");
    }
}
