//! Reducing the core again with what was found and proven.

use super::{Run, fits_search};
use crate::bounds::Proof;
use crate::model::Problem;
use crate::reduce::ReducedProblem;
use crate::search::drivers::annealing::state::Elite;
use crate::search::scheduler::driver::SearchContext;
use crate::threads;
use std::sync::Arc;

impl Run<'_> {
    /// The incumbent becomes the top, values that bounds forbid leave: reduces again and moves everything to the
    /// smaller core.
    pub(super) fn tighten(&mut self) {
        self.tightened = (self.upper, self.budget.search_work);
        let upper = self.upper.min(self.network.top());
        // the loop sees the flag, here and below
        let Ok(mut reducer) = self.core.reducer.copy(self.stop) else { return };
        reducer.tighten_by(upper, &self.values, self.stop);
        let reducer = Arc::new(reducer);
        if reducer.infeasible() {
            self.raise(upper, "reduce", Proof::reductions(&reducer));
            return;
        }
        let Ok(problem) = reducer.problem_until(self.stop) else { return };
        let size = |p: &Problem| (p.variables(), p.domains.iter().sum::<u32>(), p.functions.len(), p.constant);
        if size(&problem) == size(&self.core.problem) {
            return;
        }
        let new = ReducedProblem { reducer, problem: Arc::new(problem) };
        self.raise(new.problem.constant, "reduce", Proof::reductions(&new.reducer));
        if self.reached().is_some() {
            return;
        }
        let Ok(context) = SearchContext::of_core(&new, self.options, &mut self.rng, self.stop) else { return };
        let old = std::mem::replace(&mut self.core, new);
        self.context = context;
        self.has_search = fits_search(&self.core.problem);
        self.look_at_reduced();
        let (new, context, stop) = (&self.core.reducer, &self.context, self.stop);
        let translate = |values: &[u16]| -> Option<Elite> {
            let assignment: Vec<u32> = values.iter().map(|&value| u32::from(value)).collect();
            let core = new.project_until(&old.reducer.lift_until(&assignment, stop).ok()?, stop).ok()?;
            Elite::until(&context.tables, core.into_iter().map(|value| value as u16).collect(), stop).ok()
        };
        self.pool.rebase(&translate);
        self.group.rebase(&self.context, &translate);
        self.bounds.rebase();
        let parts = self.network.domains().len();
        threads::free(old, parts);
    }
}
