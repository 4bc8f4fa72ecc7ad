//! What has failed in a run: parts that it goes on without, and the search, if it ends without a solution.

use super::Run;
use super::messages::Message;
use crate::bounds::Notice;
use crate::device::DeviceError;
use crate::elimination::Gpu;
use crate::scheduler::portfolio::Lost;

impl Run<'_> {
    /// The device has failed: says so once, and the run goes on without it.
    pub(super) fn lose_device(&mut self, error: &DeviceError) {
        let Some(message) = self.device.lose(error) else { return };
        match self.device.cuda.clone() {
            // bounds move with the drivers that take turns; those of a run that must be repeated are the CPU's
            Some(next) if self.options.rounds.is_none() => self.bounds.change_device(Gpu::new(next)),
            Some(_) => {}
            None => {
                // made beside the device until now
                self.budget.begin_turns();
                self.bounds.lose_device();
            }
        }
        (self.tell)(Message::DeviceLost { message, left: self.device.name() });
        if let Some(error) = self.group.lose_device(&mut self.pool) {
            self.lose_device(&error);
        }
    }

    /// Reports how many functions the best assignment violates if a search ends without a solution. On vast cores it
    /// is not counted: the end of a run does not wait for it.
    pub(super) fn report_violations(&mut self) {
        // a relaxed core lacks functions of the network
        let is_open = !self.pool.solved && !self.context.is_relaxed() && self.reached().is_none();
        let Some(best) = self.pool.elites().first().filter(|_| is_open) else { return };
        let values: Vec<u32> = best.values.iter().map(|&value| u32::from(value)).collect();
        let Ok(violated) = self.core.problem.violated(&values, &self.checking()) else { return };
        let all = self.core.problem.functions.len();
        let message =
            format!("no solution found: the best assignment violates {violated} of the core's {all} functions");
        (self.tell)(Message::Note(message));
    }

    /// What bounds have to tell besides results.
    pub(super) fn tell_of_bounds(&mut self) {
        while let Some(notice) = self.bounds.here().and_then(|bounds| bounds.bounder.take_notice()) {
            (self.tell)(match notice {
                Notice::Spilling(text) => Message::Note(text),
                Notice::PlanFailed(text) => Message::Warning(text),
                Notice::Refused(why) => Message::Warning(why.to_string()),
                Notice::DeviceLost(_, error) => Message::Warning(format!("bounds go on on the CPU: {error}")),
            });
        }
    }

    /// Whether further devices have failed, or bounds or drivers have ended by an internal error: the rest goes on.
    pub(super) fn tell_of_losses(&mut self) {
        while let Some((place, error)) = self.group.take_failed(&mut self.pool) {
            let message = self.device.lose_other(place, &error);
            (self.tell)(Message::DeviceLost { message, left: self.device.name() });
        }
        if let Some(what) = self.bounds.take_lost() {
            let message = format!("the bounds ended by an internal error ({what}); the run goes on without them");
            (self.tell)(Message::Lost { source: "bounds".into(), message });
        }
        for Lost { source, what } in self.group.take_lost() {
            let message = format!("{source} ended by an internal error ({what}); the run goes on without");
            (self.tell)(Message::Lost { source: source.into(), message });
        }
    }
}
