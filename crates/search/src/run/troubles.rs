//! Failures in a run: parts without which it continues, and a search that ends without a solution.

use super::Run;
use crate::bounds::{Bounder, Notice};
use crate::device::DeviceError;
use crate::elimination::Gpu;
use crate::scheduler::portfolio::Lost;

impl Run<'_> {
    /// Reports a device that has failed, once; the run continues without it.
    pub(super) fn lose_device(&mut self, error: &DeviceError) {
        let Some(message) = self.device.lose(error) else { return };
        match self.device.cuda.clone() {
            // bounds move with the alternating drivers; those of a repeatable run are on the CPU
            Some(next) if self.options.rounds.is_none() => self.bounds.use_device(Gpu::new(next), None),
            Some(_) => {}
            None => {
                // bounds ran beside the device until now
                self.budget.begin_turns();
                self.bounds.lose_device();
            }
        }
        self.ledger.lose_device(message, self.device.name());
        if let Some(error) = self.group.lose_device(&mut self.pool) {
            self.lose_device(&error);
        }
    }

    /// Reports how many functions the best assignment violates if a search ends without a solution. On vast problems
    /// they are not counted, because that would delay the end of a run.
    pub(super) fn report_violations(&mut self) {
        // a relaxed problem lacks functions of the network
        let is_open = !self.pool.solved && !self.context.is_relaxed() && self.reached().is_none();
        let Some(best) = self.pool.elites().first().filter(|_| is_open) else { return };
        let values: Vec<u32> = best.values.iter().map(|&value| u32::from(value)).collect();
        let Ok(violated) = self.core.problem.violated(&values, &self.checking()) else { return };
        let all = self.core.problem.functions.len();
        let message =
            format!("no solution found: the best assignment violates {violated} of the core's {all} functions");
        self.ledger.note(message);
    }

    /// Reports the notices of the bounds.
    pub(super) fn tell_of_bounds(&mut self) {
        while let Some(notice) = self.bounds.here().and_then(Bounder::take_notice) {
            match notice {
                Notice::Spilling(text) => self.ledger.note(text),
                Notice::PlanFailed(text) => self.ledger.warn(text),
                Notice::Refused(why) => self.ledger.warn(why.to_string()),
                Notice::DeviceLost(_, error) => self.ledger.warn(format!("bounds go on on the CPU: {error}")),
            }
        }
    }

    /// Reports further devices that have failed, and bounds or drivers that ended by an internal error. The rest
    /// continues.
    pub(super) fn tell_of_losses(&mut self) {
        while let Some((place, error)) = self.group.take_failed(&mut self.pool) {
            let message = self.device.lose_other(place, &error);
            self.ledger.lose_device(message, self.device.name());
        }
        if let Some(what) = self.bounds.take_lost() {
            let message = format!("the bounds ended by an internal error ({what}); the run goes on without them");
            self.ledger.lose("bounds", message);
        }
        for Lost { source, what } in self.group.take_lost() {
            let message = format!("{source} ended by an internal error ({what}); the run goes on without");
            self.ledger.lose(source, message);
        }
    }
}
