//! The change to another reduced problem: the one that concurrent reductions have made, or one reduced again with the
//! incumbent and the bounds.

use super::Run;
use super::first_core::prepared;
use super::reducing::{Reducing, extent, size};
use crate::bounds::{Bounder, Proof, REDUCTIONS};
use crate::core::elite::Elite;
use crate::core::size::fits_search;
use crate::error::Error;
use crate::model::Problem;
use crate::reduce::{ReducedProblem, ValueBounds};
use crate::threads;
use crate::tuning::tuning;
use std::sync::Arc;

impl Run<'_> {
    /// Reduces again, with the incumbent's cost as top and without the values that bounds exclude, and moves everything
    /// to the smaller problem.
    pub(super) fn tighten(&mut self) {
        if self.reducing.is_some() {
            return;
        }
        self.tightened = (self.ledger.upper(), self.budget.search_work);
        let upper = self.ledger.limit();
        // the loop checks the flag, here and below
        let Ok(mut reducer) = self.core.reducer.copy(self.stop) else { return };
        reducer.tighten_by(upper, &self.values, self.stop);
        let reducer = Arc::new(reducer);
        if reducer.infeasible() {
            self.raise(upper, REDUCTIONS, Proof::reductions(&reducer));
            return;
        }
        let Ok(problem) = reducer.problem(self.stop) else { return };
        let size = |p: &Problem| (p.variables(), p.domains.iter().sum::<u32>(), p.functions.len(), p.constant);
        if size(&problem) == size(&self.core.problem) {
            threads::free(reducer, self.network.domains().len());
            return;
        }
        let new = ReducedProblem { reducer, problem: Arc::new(problem) };
        let proof = Proof::reductions(&new.reducer);
        let _ = self.move_to(new, proof);
    }

    /// Moves to the reduced network once it is complete. Stays if it did not fit into memory or the reductions failed.
    pub(super) fn take_reduced(&mut self) {
        let Some(reduced) = self.reducing.as_mut().and_then(Reducing::finished) else { return };
        match reduced {
            Ok(None) => self.tell_facts(),
            Ok(Some(new)) if new.reducer.infeasible() => {
                self.reducing = None;
                self.raise(self.ledger.limit(), REDUCTIONS, None);
            }
            // the present problem stays, with everything made for it
            Ok(Some(new)) if extent(&new.problem) >= tuning().run.worth_moving * extent(&self.core.problem) => {
                self.tell_facts();
                threads::free(new, self.network.domains().len());
            }
            Ok(Some(new)) => {
                let Ok(values) = ValueBounds::new(&new.reducer, self.stop) else { return };
                if self.move_to(new, None) {
                    self.reducing = None;
                    self.values = values;
                    self.tell_facts();
                }
            }
            Err(Error::Stopped) => {}
            Err(error) => {
                let message = format!("{error}; the network is searched as it is");
                self.ledger.lose(REDUCTIONS, message);
            }
        }
    }

    /// Moves everything to another reduced problem. Returns whether it did: it does not once the run is over.
    pub(super) fn move_to(&mut self, new: ReducedProblem, proof: Option<Proof>) -> bool {
        self.raise(new.problem.constant, REDUCTIONS, proof);
        if self.reached().is_some() {
            return false;
        }
        let Ok(context) = prepared(self.network, &new, self.options, &mut self.rng, self.stop) else {
            return false;
        };
        context.have_form_of(&self.context);
        let old = std::mem::replace(&mut self.core, new);
        self.context = context;
        self.size = size(&self.core.problem);
        self.has_room = fits_search(&self.core.problem);
        self.has_search = self.has_room;
        self.look_at_reduced();
        let (new, context, stop) = (&self.core.reducer, &self.context, self.stop);
        let translate = |values: &[u16]| -> Option<Elite> {
            let assignment: Vec<u32> = values.iter().map(|&value| u32::from(value)).collect();
            let core = new.project(&old.reducer.lift(&assignment, stop).ok()?, stop).ok()?;
            Elite::until(&context.tables, core.into_iter().map(|value| value as u16).collect(), stop).ok()
        };
        self.pool.rebase(&translate);
        self.group.rebase(&self.context, &translate);
        self.bounds.change(Bounder::rebase);
        let parts = self.network.domains().len();
        threads::free(old, parts);
        true
    }
}
