//! The best assignment before the agents have chosen theirs: the result of a run that is stopped.

use super::case::Case;
use super::report::Report;
use super::{Ended, ended};
use fangs_base::stop::Stop;
use fangs_check as check;
use fangs_dcop::{LocalOptions, LocalSearch, run_levels, run_local};
use fangs_elimination::elimination::{Limits, Plan};
use fangs_elimination::order::PseudoTree;
use fangs_model::model::{Cost, Network};
use std::sync::{Arc, Mutex, PoisonError};

/// Limit on entries of functions that local search reads for the first assignment: some hundredths of a second.
const READS: usize = 1 << 22;
/// Limit on cycles of that local search, because MGM rarely improves after a hundred.
const CYCLES: u64 = 200;
/// Number of combinations of a plan that takes some hundredths of a second; a smaller plan precedes a longer one.
const SHORT: u64 = 1 << 22;
/// Bytes of tables of the smaller plan that precedes a long one.
const SMALL: u64 = 1 << 18;

/// The best assignment so far, shared with the thread that reports it.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Option<Best>>>);

/// A lower bound and, if one is feasible, an assignment with its cost; the report names the assignment's source.
pub struct Best {
    network: Arc<Network>,
    report: Report,
    lower: Cost,
    solution: Option<(Cost, Vec<u32>)>,
}

impl Kept {
    /// Starts with the initial values that the file gives the agents, or with the first value of each domain.
    pub fn begin(&self, network: &Arc<Network>, report: &Report) {
        let value = |v: usize| network.agents().and_then(|agents| agents.initial[v]).unwrap_or(0);
        let values = (0..network.variables().len()).map(value).collect();
        let mut best = Best { network: network.clone(), report: report.clone(), lower: Cost::MIN, solution: None };
        best.offer(values, "first values");
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(best);
    }

    /// Improves the assignment by a short local search, if there is time and memory.
    pub fn improve(&self, case: &Case, report: &Report, options: LocalOptions, stop: &Stop) {
        self.with(|best| best.report = Report { assignment_from: best.report.assignment_from, ..report.clone() });
        let domains = &case.problem.domains;
        let reads = |scope: &[u32]| scope.iter().map(|&v| domains[v as usize] as usize).sum::<usize>();
        let all = case.problem.functions.iter().map(|function| reads(&function.scope)).sum::<usize>().max(1);
        let options = LocalOptions { cycles: Some(((READS / all) as u64).clamp(1, CYCLES)), ..options };
        for (algorithm, name) in [(LocalSearch::Mgm, "mgm"), (LocalSearch::Dsa, "dsa")] {
            let found = run_local(&case.problem, algorithm, &case.initial(), options, stop);
            if let Ok(values) = found.and_then(|found| case.reducer.lift(&found.assignment, &Stop::new())) {
                self.with(|best| best.offer(values, name));
            }
        }
    }

    /// Improves the assignment and the bound by small mini-buckets, if the whole plan takes long.
    pub fn eliminate(&self, case: &Case, tree: &PseudoTree, plan: &Plan, stop: &Stop) {
        if plan.joint_entries <= SHORT {
            return;
        }
        let small = Plan::until(&case.problem, &tree.order, &Limits::new(SMALL), stop);
        if let Ok(found) = small.and_then(|small| run_levels(&case.problem, small, None, stop))
            && let Ok(values) = case.reducer.lift(&found.assignment, &Stop::new())
        {
            self.with(|best| {
                best.lower = best.lower.max(found.lower);
                best.offer(values, "adpop");
            });
        }
    }

    /// Takes out the best assignment; `None` before the start and after the first call.
    pub fn take(&self) -> Option<Best> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn with(&self, work: impl FnOnce(&mut Best)) {
        if let Some(best) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            work(best);
        }
    }
}

impl Best {
    /// Stores an assignment of the network if it is feasible and costs less.
    fn offer(&mut self, values: Vec<u32>, from: &'static str) {
        let evaluation = check::evaluate(&self.network, &values);
        let is_better = self.solution.as_ref().is_none_or(|(cost, _)| evaluation.cost < *cost);
        if evaluation.is_solution() && is_better {
            self.solution = Some((evaluation.cost, values));
            self.report.assignment_from = Some(from);
        }
    }

    /// Returns the result of a run whose agents chose infeasible values.
    pub fn instead_of(self, other: Ended) -> Ended {
        let Some((_, values)) = self.solution else { return other };
        let report = Report { assignment_from: self.report.assignment_from, ..other.report };
        ended(self.network, report, Some((other.lower.max(self.lower), Some(values))), other.rows)
    }

    /// Returns the result of a run that was stopped.
    pub fn ended(self) -> Ended {
        let Best { network, report, lower, solution } = self;
        ended(network, report, Some((lower, solution.map(|(_, values)| values))), Vec::new())
    }
}
