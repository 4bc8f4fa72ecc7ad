//! Reducing the core again with what was found and proven.

use super::Run;
use crate::bounds::{Proof, REDUCTIONS};
use crate::model::Problem;
use crate::reduce::ReducedProblem;
use crate::threads;
use std::sync::Arc;

impl Run<'_> {
    /// The incumbent becomes the top, values that bounds forbid leave: reduces again and moves everything to the
    /// smaller core.
    pub(super) fn tighten(&mut self) {
        if self.reducing.is_some() {
            return;
        }
        self.tightened = (self.upper, self.budget.search_work);
        let upper = self.upper.min(self.network.top());
        // the loop sees the flag, here and below
        let Ok(mut reducer) = self.core.reducer.copy(self.stop) else { return };
        reducer.tighten_by(upper, &self.values, self.stop);
        let reducer = Arc::new(reducer);
        if reducer.infeasible() {
            self.raise(upper, REDUCTIONS, Proof::reductions(&reducer));
            return;
        }
        let Ok(problem) = reducer.problem_until(self.stop) else { return };
        let size = |p: &Problem| (p.variables(), p.domains.iter().sum::<u32>(), p.functions.len(), p.constant);
        if size(&problem) == size(&self.core.problem) {
            threads::free(reducer, self.network.domains().len());
            return;
        }
        let new = ReducedProblem { reducer, problem: Arc::new(problem) };
        let proof = Proof::reductions(&new.reducer);
        let _ = self.move_to(new, proof);
    }
}
