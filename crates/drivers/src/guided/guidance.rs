//! Guidance by mini-buckets: the position of each variable in their order, and their tables on a device.

use super::round_context::Guidance;
use crate::device::shared::device_structs;
use crate::device::{Cuda, CudaSlice, DeviceError, DeviceRepr, Held, ValidAsZeroBits};
use crate::elimination::{Entries, Outcome};
use std::sync::Arc;

/// Mini-buckets, and the order in which their variables are visited.
pub(crate) struct MiniBucketGuidance {
    outcome: Arc<Outcome>,
    positions: Vec<u32>,
    order: Vec<u32>,
    /// The number of this guidance, counted over the run.
    number: u64,
}

impl MiniBucketGuidance {
    /// Returns `None` if the messages of the mini-buckets are not available.
    pub fn new(outcome: &Arc<Outcome>, number: u64) -> Option<MiniBucketGuidance> {
        let to_go = outcome.cost_to_go()?;
        let order: Vec<u32> = (0..to_go.positions()).rev().map(|position| to_go.variable(position)).collect();
        let mut positions = vec![0; order.len()];
        for (place, &v) in order.iter().rev().enumerate() {
            positions[v as usize] = place as u32;
        }
        Some(MiniBucketGuidance { outcome: outcome.clone(), positions, order, number })
    }

    /// Returns whether a device can look up the messages.
    pub fn is_dense(&self) -> bool {
        self.outcome.cost_to_go().is_some_and(|to_go| to_go.is_dense())
    }

    pub fn shown(&self) -> Option<Guidance<'_>> {
        let to_go = self.outcome.cost_to_go()?;
        Some(Guidance { to_go, positions: &self.positions, order: &self.order, number: self.number })
    }
}

device_structs! {
    /// The struct `Guidance` of `kernels/network.cuh`.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct GuidanceArgument as "Guidance" {
        order: u64,
        begin: u64,
        terms: u64,
        pairs: u64,
        costs: u64,
        messages: u64,
        narrow: u32,
        shift: u32,
    }
}

pub(crate) struct GuidanceOnDevice {
    pub argument: GuidanceArgument,
    pub number: u64,
    _held: Held,
}

impl GuidanceOnDevice {
    /// Uploads mini-buckets. `shift` is the number of bits by which costs are shifted to the units of rows.
    ///
    /// # Errors
    /// [`DeviceError`] if the device fails, or if messages are not dense tables.
    pub fn new(cuda: &Cuda, guidance: &Guidance<'_>, shift: u32) -> Result<GuidanceOnDevice, DeviceError> {
        let sparse = || DeviceError::Unusable("tables of the mini-buckets are no dense ones".into());
        let made = guidance.to_go.terms().ok_or_else(sparse)?;
        let mut held = Held::default();
        let (messages, narrow) = match &made.messages {
            Entries::Narrow(messages) => (held.keep(cuda, upload(cuda, messages)?), 1),
            Entries::Wide(messages) => (held.keep(cuda, upload(cuda, messages)?), 0),
        };
        let argument = GuidanceArgument {
            order: held.upload(cuda, guidance.order)?,
            begin: held.upload(cuda, &made.begin)?,
            terms: held.upload(cuda, &made.terms)?,
            pairs: held.upload(cuda, &made.pairs)?,
            costs: held.upload(cuda, &made.costs)?,
            messages,
            narrow,
            shift,
        };
        Ok(GuidanceOnDevice { argument, number: guidance.number, _held: held })
    }
}

/// Uploads pieces one after the other, without concatenating them first.
fn upload<T: DeviceRepr + ValidAsZeroBits>(cuda: &Cuda, pieces: &[&[T]]) -> Result<CudaSlice<T>, DeviceError> {
    let mut all = cuda.zeros(pieces.iter().map(|piece| piece.len()).sum::<usize>().max(1))?;
    let mut first = 0;
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        cuda.write(piece, &mut all.slice_mut(first..first + piece.len()))?;
        first += piece.len();
    }
    Ok(all)
}
