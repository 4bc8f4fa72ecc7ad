//! Access for benchmarks: the plan of a product, and the time that a device alone takes.

use super::on_device;
use super::prepared::Prepared;
use super::propagate::Trouble;
use super::sliced::Sliced;
use crate::elimination::{EliminationPlan, Gpu};
use crate::error::Error;
use crate::stop::Stop;
use std::sync::Arc;

impl Prepared {
    /// Returns the sliced product and its plan, or `None` if the evidence contradicts itself.
    pub fn planned(&self) -> Option<(&Sliced, &EliminationPlan)> {
        self.tree.as_ref().map(|tree| (&tree.sliced, &tree.plan))
    }

    /// Measures collect and distribute on a device after its kernels are loaded and its tables allocated. Returns the
    /// median of `repeats` in milliseconds and the number of kernel launches, or `None` if the device has no room for
    /// the tables.
    ///
    /// # Errors
    /// Returns an error if the device fails, and [`Error::Stopped`] if `stop` is set.
    pub fn device_ms(&self, gpu: &Arc<Gpu>, repeats: usize, stop: &Stop) -> Result<Option<(f64, usize)>, Error> {
        let Some(tree) = &self.tree else { return Ok(None) };
        on_device::time(gpu, tree.planned(), &self.asked_of(tree), repeats, stop).map_err(|trouble| match trouble {
            Trouble::Device(error) => Error::Internal(format!("{}: {error}", gpu.cuda().label())),
            trouble => trouble.into(),
        })
    }
}
