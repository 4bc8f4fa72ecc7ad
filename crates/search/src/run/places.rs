//! Where the parts of a run work: on a device once it is open, and on separate threads if there are many.

use super::Run;
use super::handover::DeviceHandover;
use crate::elimination::Gpu;
use crate::error::Error;
use crate::scheduler::portfolio::Portfolio;
use crate::scheduler::threads::ThreadSplit;

impl Run<'_> {
    pub(super) fn take_device(&mut self) -> Result<(), Error> {
        let Some(opened) = self.handover.as_mut().and_then(DeviceHandover::arrived) else { return Ok(()) };
        self.handover = None;
        self.device = match opened {
            // the loop sees the reason
            Err(Error::Stopped) => return Ok(()),
            opened => opened?,
        };
        self.ledger.note(self.device.to_string());
        if let Some(cuda) = self.device.cuda.clone() {
            let parts = ThreadSplit::beside_device(Portfolio::may_split(self.options), &self.context);
            self.group.hand_over(self.options, &self.device, parts.drivers, &mut self.pool, &mut self.rng);
            self.bounds.use_device(Gpu::new(cuda), Some(parts.bounds));
            self.resume_drivers();
        }
        Ok(())
    }

    /// Splits the CPU's threads once the first rounds are over, because networks that are solved in milliseconds do not
    /// need it.
    pub(super) fn split_threads(&mut self) {
        let has_parts = self.device.cuda.is_some() || self.bounds.are_parted();
        if has_parts || self.cannot_split || !Portfolio::may_split(self.options) || self.group.turns.is_opening() {
            return;
        }
        match ThreadSplit::of_the_cpu(&self.context, &self.pool) {
            Some(Some(parts)) => {
                self.bounds.part(&parts);
                parts.drivers.into_iter().for_each(|threads| self.group.split(threads));
            }
            Some(None) => self.cannot_split = true,
            None => {}
        }
    }
}
