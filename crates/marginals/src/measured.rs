//! What benchmarks ask of a product: its plan, and the time of a device alone.

use super::on_device;
use super::prepared::Prepared;
use super::propagate::Trouble;
use super::sliced::Sliced;
use crate::elimination::{EliminationPlan, Gpu};
use crate::error::Error;
use crate::stop::Stop;
use std::sync::Arc;

impl Prepared {
    /// What is left of the product, and its plan; nothing where the evidence contradicts itself.
    pub fn planned(&self) -> Option<(&Sliced, &EliminationPlan)> {
        self.tree.as_ref().map(|tree| (&tree.sliced, &tree.plan))
    }

    /// Milliseconds of a device for both directions once everything is there, the median of `repeats`, and how many
    /// launches that are. Nothing where it has no room.
    ///
    /// # Errors
    /// Why the device failed; [`Error::Stopped`].
    pub fn device_ms(&self, gpu: &Arc<Gpu>, repeats: usize, stop: &Stop) -> Result<Option<(f64, usize)>, Error> {
        let Some(tree) = &self.tree else { return Ok(None) };
        on_device::time(gpu, tree.planned(), &self.asked_of(tree), repeats, stop).map_err(|trouble| match trouble {
            Trouble::Device(error) => Error::Internal(format!("{}: {error}", gpu.cuda().label())),
            trouble => trouble.into(),
        })
    }
}
