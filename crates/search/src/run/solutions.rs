//! The way of solutions to the network: lifted, checked by the independent evaluator, and kept if they are better.

use super::Run;
use crate::check::{self, Evaluation};
use crate::core::effort::Found;
use crate::error::Error;
use crate::model::Cost;
use crate::options::Assertions;
use crate::reduce::ReducedProblem;

impl Run<'_> {
    /// Turns the best feasible elite into a solution if it is better than the incumbent.
    pub(super) fn look_at_pool(&mut self, source: &str) -> Result<(), Error> {
        let Some(elite) = self.pool.allowed() else { return Ok(()) };
        let total = self.core.problem.constant.saturating_add(elite.energy.total);
        if total < self.ledger.upper().min(self.core.problem.top) {
            let assignment: Vec<u32> = elite.values.iter().map(|&value| u32::from(value)).collect();
            let _ = self.core_solution(&self.core.clone(), &assignment, source)?;
        }
        Ok(())
    }

    /// Keeps a driver's solution of the network if it is better than the incumbent.
    pub(super) fn look_at_found(&mut self, found: Option<Found>) -> Result<(), Error> {
        let Some(Found { source, values, .. }) = found.filter(|found| found.cost < self.ledger.upper()) else {
            return Ok(());
        };
        let stop = self.checking();
        let evaluation = check::evaluate_unless(self.network, &values, || stop.is_set());
        if let Some(evaluation) = evaluation {
            let _ = self.solution(&values, &evaluation, source)?;
        }
        Ok(())
    }

    /// Lifts a solution of the reduced problem to the network, checks it there, and keeps it if it is better than the
    /// incumbent. Returns the lifted solution; `None` once the run is over.
    pub(super) fn core_solution(
        &mut self,
        core: &ReducedProblem,
        assignment: &[u32],
        source: &str,
    ) -> Result<Option<Vec<u32>>, Error> {
        let stop = self.checking();
        let Ok(expected) = core.problem.cost_until(assignment, &stop) else { return Ok(None) };
        let Ok(solution) = core.reducer.lift(assignment, &stop) else { return Ok(None) };
        let evaluation = check::evaluate_unless(self.network, &solution, || stop.is_set());
        let Some(evaluation) = evaluation else { return Ok(None) };
        let cost = self.solution(&solution, &evaluation, source)?;
        let is_exact = self.options.assertions >= Assertions::Incumbent && !self.network.is_relaxed();
        if expected < core.problem.top && cost != Some(expected) && is_exact {
            return Err(Error::Internal(format!(
                "{source}: a solution costs {expected} in the core, but {cost:?} by the independent evaluator"
            )));
        }
        Ok(Some(solution))
    }

    /// Checks an assignment of the network and keeps it if it is better than the incumbent. Returns its cost; `None` if
    /// it is not a solution.
    pub(super) fn solution(
        &mut self,
        solution: &[u32],
        evaluation: &Evaluation,
        source: &str,
    ) -> Result<Option<Cost>, Error> {
        if !evaluation.is_solution() {
            return Ok(None);
        }
        let cost = evaluation.cost;
        let proved = self.ledger.proved();
        if cost < proved {
            return Err(Error::Internal(format!("{source}: cost {cost} is below the proven bound {proved}")));
        }
        if cost < self.ledger.upper() {
            let Some(value) = evaluation.value(self.network, solution) else {
                return Err(Error::Internal(format!("{source}: a solution of cost {cost} that the file forbids")));
            };
            self.budget.note_better();
            self.ledger.count(self.totals);
            let _ = self.ledger.offer(cost, value, solution, source);
            (self.pulse)();
        }
        Ok(Some(cost))
    }
}
