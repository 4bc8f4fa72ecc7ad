//! Where the parts of a run work: on a device once it is there, on threads of their own where there are many.

use super::Run;
use super::handover::Boarding;
use super::messages::News;
use crate::elimination::Gpu;
use crate::error::Error;
use crate::search::scheduler::portfolio::Portfolio;
use crate::search::scheduler::threads::Parts;

impl Run<'_> {
    /// Moves to the device once it is there.
    pub(super) fn board(&mut self) -> Result<(), Error> {
        let Some(opened) = self.boarding.as_mut().and_then(Boarding::arrived) else { return Ok(()) };
        self.boarding = None;
        self.device = match opened {
            // the loop sees why
            Err(Error::Stopped) => return Ok(()),
            opened => opened?,
        };
        (self.tell)(News::Note(self.device.to_string()));
        if let Some(cuda) = self.device.cuda.clone() {
            let parts = Parts::beside_device(Portfolio::may_part(self.options), self.context.is_large());
            self.crew.board(self.options, cuda.clone(), parts.drivers, &mut self.pool, &mut self.rng);
            self.bounds.board(Gpu::new(cuda), parts.bounds);
        }
        Ok(())
    }

    /// Shares the CPU's threads out once the first rounds are over: networks that are solved in milliseconds need no
    /// more.
    pub(super) fn part(&mut self) {
        let has_parts = self.device.cuda.is_some() || self.bounds.are_parted();
        if has_parts || self.cannot_part || !Portfolio::may_part(self.options) || self.crew.is_opening() {
            return;
        }
        match Parts::of_the_cpu(&self.context, &self.pool) {
            Some(Some(parts)) => {
                self.bounds.part(&parts);
                parts.drivers.into_iter().for_each(|threads| self.crew.part(threads));
            }
            Some(None) => self.cannot_part = true,
            None => {}
        }
    }
}
