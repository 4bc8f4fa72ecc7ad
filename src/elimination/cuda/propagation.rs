//! Sums of products on a device in both directions: messages, and what all else comes to.

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use super::Gpu;
use super::execution::{Loaded, SLICE, fill};
use super::program::{Back, BackStep, Room, Wanted};
use super::tile::Chip;
use crate::algebra::SumProduct;
use crate::device::{CudaSlice, DeviceError};
use crate::elimination::executor::Task;
use crate::elimination::plan::EliminationPlan;
use crate::stop::Stop;
use std::ops::Range;
use std::sync::Arc;

/// A propagation whose tables are on a device.
#[derive(Debug)]
pub(crate) struct Propagation {
    gpu: Arc<Gpu>,
    loaded: Loaded<SumProduct>,
    memory: CudaSlice<f64>,
    steps: Vec<BackStep>,
    turn: usize,
}

/// Bits of the largest entry of a table and inverted ones of its least but 0, before it was scaled.
pub(crate) type Bits = [u64; 2];

/// What a device is asked to do.
pub(crate) trait Propagating {
    /// Where the results of the steps are.
    fn steps(&self) -> &[BackStep];

    /// Makes the messages. False where `stop` was set before they were there.
    fn collect(&mut self, stop: &Stop) -> Result<bool, DeviceError>;

    /// Makes what all else comes to, once there are the messages; the same.
    fn distribute(&mut self, stop: &Stop) -> Result<bool, DeviceError>;

    /// What was measured of the tables that were settled so far.
    fn ranges(&self) -> Result<Vec<Bits>, DeviceError>;

    /// The messages without variables, in the order of their steps.
    fn constants(&self) -> Result<Vec<f64>, DeviceError>;

    /// The values of the steps for which they were wanted.
    fn values(&self) -> Result<Vec<Option<Vec<f64>>>, DeviceError>;
}

impl Propagation {
    /// Bytes of device memory that it takes; none where it is too large for any.
    pub fn bytes(plan: &EliminationPlan, wanted: &[Wanted], kept: &[u32]) -> Option<u64> {
        let room = Room { keep_messages: false, bytes: size_of::<f64>() as u64, entries: 0 };
        let entries = Back::new(plan, wanted, kept, room, &Chip::default()).map_or_else(|entries| entries, |_| 0);
        entries.checked_mul(room.bytes)
    }

    /// Puts everything on a device; `None` where it does not fit into its free memory.
    pub fn new(
        gpu: &Arc<Gpu>,
        task: Task<'_, SumProduct>,
        wanted: &[Wanted],
        kept: &[u32],
    ) -> Result<Option<Propagation>, DeviceError> {
        let bytes = size_of::<f64>() as u64;
        let room = Room { keep_messages: false, bytes, entries: gpu.budget()? / bytes };
        let chip = Chip::new(&gpu.cuda().info);
        let Ok(Back { program, steps, turn }) = Back::new(task.plan, wanted, kept, room, &chip) else {
            return Ok(None);
        };
        let loaded = Loaded::new(gpu, program, SumProduct)?;
        let memory = fill(gpu, &loaded.program, task)?;
        Ok(Some(Propagation { gpu: gpu.clone(), loaded, memory, steps, turn }))
    }

    /// Waits for its kernels. False where `stop` was set before they were there.
    pub fn ready(&mut self, stop: &Stop) -> Result<bool, DeviceError> {
        for index in 0..self.loaded.program.launches.len() {
            while !self.loaded.ready(&self.gpu, index)? {
                if stop.is_set() {
                    return Ok(false);
                }
            }
        }
        self.gpu.cuda().synchronize()?;
        Ok(true)
    }

    fn run(&mut self, launches: Range<usize>, stop: &Stop) -> Result<bool, DeviceError> {
        let memory = self.gpu.cuda().address(&self.memory);
        let mut left = SLICE;
        for index in launches {
            // SAFETY: the memory was made for the program.
            unsafe { self.loaded.launch(&self.gpu, index, memory)? };
            left = left.saturating_sub(self.loaded.program.launches[index].work.max(1));
            if left == 0 {
                self.gpu.cuda().synchronize()?;
                left = SLICE;
            }
            if stop.is_set() {
                return Ok(false);
            }
        }
        self.gpu.cuda().synchronize()?;
        Ok(true)
    }
}

impl Propagating for Propagation {
    fn steps(&self) -> &[BackStep] {
        &self.steps
    }

    fn collect(&mut self, stop: &Stop) -> Result<bool, DeviceError> {
        self.run(0..self.turn, stop)
    }

    fn distribute(&mut self, stop: &Stop) -> Result<bool, DeviceError> {
        self.run(self.turn..self.loaded.program.launches.len(), stop)
    }

    fn ranges(&self) -> Result<Vec<Bits>, DeviceError> {
        self.loaded.ranges(&self.gpu)
    }

    fn constants(&self) -> Result<Vec<f64>, DeviceError> {
        let Range { start, end } = self.loaded.program.constants;
        self.gpu.cuda().read(&self.memory.slice(start as usize..end as usize))
    }

    fn values(&self) -> Result<Vec<Option<Vec<f64>>>, DeviceError> {
        let Range { start, end } = self.loaded.program.kept;
        let kept = self.gpu.cuda().read(&self.memory.slice(start as usize..end as usize))?;
        Ok(self.loaded.program.values(&self.steps, &kept))
    }
}
