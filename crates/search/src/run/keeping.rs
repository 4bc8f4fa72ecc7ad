//! Checkpoints during a run: what it stores and sends to other processes, and what it takes from them.

use super::Run;
use crate::check;
use crate::checkpoint::{Checkpoint, Extent, Found, Keeper};
use crate::core::driver::DriverState;
use crate::core::elite::Elite;
use crate::error::Error;
use crate::ledger::RunState;
use crate::stop::Stop;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

impl Run<'_> {
    /// Sends checkpoints to keepers that want one, and takes in those that they have received.
    pub(super) fn meet_keepers(&mut self) -> Result<(), Error> {
        for place in 0..self.keepers().len() {
            let keeper = self.keepers()[place].clone();
            if keeper.is_due() {
                self.tell_state(place, &*keeper);
            }
            for other in keeper.news() {
                self.take_in(&other)?;
            }
            for message in keeper.troubles() {
                self.ledger.lose("exchange", message);
            }
        }
        Ok(())
    }

    /// Sends the last checkpoint to every keeper.
    pub(super) fn tell_last_states(&mut self) {
        for place in 0..self.keepers().len() {
            let keeper = self.keepers()[place].clone();
            self.tell_state(place, &*keeper);
        }
    }

    /// Takes in the last checkpoints of other processes, unless the run has reached its goal.
    pub(super) fn take_last_news(&mut self) -> Result<(), Error> {
        for place in 0..self.keepers().len() {
            if self.reached().is_none() {
                let keeper = self.keepers()[place].clone();
                keeper.last_news().iter().try_for_each(|other| self.take_in(other))?;
            }
        }
        Ok(())
    }

    fn keepers(&self) -> &[Arc<dyn Keeper>] {
        &self.options.keeping.keepers
    }

    fn tell_state(&mut self, keeper: usize, wanted: &dyn Keeper) {
        let state = self.state(wanted.extent());
        self.ledger.count(self.totals);
        self.ledger.keep(keeper, state);
        (self.pulse)();
    }

    /// Returns the state for a checkpoint. Assignments are lifted to the network, because no other run has this reduced
    /// problem. What exceeds the time limit is omitted, which changes the checkpoint but not the run.
    fn state(&mut self, extent: Extent) -> RunState {
        let limit = Stop::new();
        limit.set_at(Instant::now() + extent.time);
        let reducer = self.core.reducer.clone();
        let lift = |values: &[u16]| -> Option<Vec<u32>> {
            let core: Vec<u32> = values.iter().map(|&value| u32::from(value)).collect();
            if limit.is_set() { None } else { reducer.lift(&core, &limit).ok() }
        };
        let lift_all = |all: &[Elite]| all.iter().map_while(|elite| lift(&elite.values)).collect::<Vec<_>>();
        let elites = self.pool.elites();
        let mut state =
            RunState { elites: lift_all(&elites[..elites.len().min(extent.elites)]), drivers: BTreeMap::new() };
        let drivers = if extent.drivers { self.group.turns.states() } else { Vec::new() };
        for (name, DriverState { population, archive, epoch, sweeps }) in drivers {
            let (archive, population) = (lift_all(&archive), lift_all(&population));
            let _ = state.drivers.insert(name.into(), DriverState { population, archive, epoch, sweeps });
        }
        state
    }

    /// Takes in a checkpoint of another process: evaluates its solution, and adopts its bound if nothing contradicts
    /// it.
    fn take_in(&mut self, other: &Checkpoint) -> Result<(), Error> {
        // the source may have a prefix already if it came through several processes
        let from = |source: &str| format!("exchange/{}", source.trim_start_matches("exchange/"));
        let best = self.ledger.costs();
        let is_better =
            |found: &Found| best.is_none_or(|(_, value)| self.network.units().is_better(found.value, value));
        let better = other.solution.as_ref().filter(|found| is_better(found));
        let fits = other.fits(self.network, self.options.keeping.network());
        // a solution that is no better than the incumbent is not evaluated
        let upper = fits.and_then(|()| if better.is_some() { other.upper(self.network) } else { Ok(None) });
        if let Err(what) = upper {
            return self.refuse(&format!("what another process wrote is not taken: {what}"));
        }
        if let Some(found) = better {
            let evaluation = check::evaluate(self.network, &found.values);
            let _ = self.solution(&found.values, &evaluation, &from(&found.source))?;
            self.offer_projected(&found.values);
        }
        other.elites.iter().for_each(|elite| self.offer_projected(elite));
        let bound = other.bound.cost;
        let most = self.ledger.limit();
        if bound > most {
            return self.refuse(&format!(
                "a bound of another process is not taken: {bound} is above {most}, the cost of the best solution"
            ));
        }
        if bound > self.ledger.bound() {
            self.ledger.adopt(bound, &from(&other.bound.source));
        }
        Ok(())
    }

    fn refuse(&mut self, what: &str) -> Result<(), Error> {
        if self.refused.insert(what.into()) {
            self.ledger.lose("exchange", what.into());
        }
        Ok(())
    }

    /// Takes the elites of the resumed checkpoint into the pool and its states into the drivers.
    pub(super) fn resume(&mut self) {
        let Some(resumed) = self.options.keeping.resumed() else { return };
        resumed.checkpoint.elites.iter().for_each(|elite| self.offer_projected(elite));
        self.resume_drivers();
    }

    /// Gives the drivers their states of the resumed checkpoint, also after a migration to a device.
    pub(super) fn resume_drivers(&mut self) {
        let Some(resumed) = self.options.keeping.resumed().filter(|_| self.has_search) else { return };
        for (name, DriverState { population, archive, epoch, sweeps }) in &resumed.checkpoint.drivers {
            let project = |all: &[Vec<u32>]| all.iter().filter_map(|values| self.projected(values)).collect();
            let (population, archive): (Vec<Elite>, _) = (project(population), project(archive));
            let state = DriverState { population, archive, epoch: *epoch, sweeps: *sweeps };
            self.group.turns.resume(name, &self.context, state);
        }
    }

    /// Offers an assignment of the network to the pool of the drivers.
    pub(super) fn offer_projected(&mut self, assignment: &[u32]) {
        if !self.has_search {
            return;
        }
        if let Some(elite) = self.projected(assignment) {
            self.pool.offer(&elite);
        }
    }

    /// Returns the projection of an assignment of the network to the reduced problem.
    fn projected(&self, assignment: &[u32]) -> Option<Elite> {
        let core = self.core.reducer.project(assignment, self.stop).ok()?;
        let values = core.into_iter().map(|value| value as u16).collect();
        Elite::until(&self.context.tables, values, self.stop).ok()
    }
}
