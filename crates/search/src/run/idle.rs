//! The case that no driver can make moves: the run lays out the omitted tables, and if that does not help, bounds have
//! all the time.

use super::Run;
use crate::core::context::{Request, SearchContext};
use crate::core::elite::Elite;
use crate::error::Error;

impl Run<'_> {
    /// Makes sure that a driver can make moves on the reduced problem; otherwise bounds have all the time. A warning
    /// states the reason, once for each problem.
    pub(super) fn ensure_search(&mut self) {
        let can_move = |run: &Self| run.group.turns.can_move(&run.context);
        if !self.has_room || self.core.problem.variables() == 0 || can_move(self) {
            self.has_search = self.has_room;
            return;
        }
        if !self.has_search {
            return;
        }
        let is_partial = !self.context.has_all_tables() && !self.context.is_relaxed();
        let laid_out = if is_partial { self.lay_out() } else { Ok(()) };
        let reason = match laid_out {
            Err(Error::Stopped) => return,
            Ok(()) if can_move(self) => return,
            Ok(()) => format!("the driver {} cannot search this network", self.options.driver.name()),
            Err(error) => format!("no driver can search without tables: {error}"),
        };
        self.has_search = false;
        self.ledger.lose("search", format!("{reason}: bounds work alone"));
    }

    /// Lays out the tables of all functions; the drivers restart on them.
    fn lay_out(&mut self) -> Result<(), Error> {
        let Run { network, options, stop, .. } = *self;
        options.activity.step("preparing the search");
        let request = Request { needs_tables: true, ..options.request() };
        let context = SearchContext::of_core(network, &self.core, request, &mut self.rng, stop)?;
        context.have_form_of(&self.context);
        self.context = context;
        let context = &self.context;
        let translate = |values: &[u16]| Elite::until(&context.tables, values.to_vec(), stop).ok();
        self.pool.rebase(&translate);
        self.group.rebase(context, &translate);
        Ok(())
    }
}

#[cfg(test)]
#[path = "idle_tests.rs"]
mod tests;
