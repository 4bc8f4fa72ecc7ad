//! Programs on sums of products: the device runs them, the host asks for what they came to.

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use super::execution::{Loaded, SLICE};
use super::program::{DeviceTable, Program};
use super::{Gpu, staging};
use crate::algebra::SumProduct;
use crate::device::{CudaSlice, DeviceError};
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use std::ops::Range;
use std::sync::Arc;

/// Bits of the largest entry of a table and inverted ones of its least but 0, before it was scaled.
pub(crate) type Bits = [u64; 2];

/// What runs a program.
pub(crate) trait Machine {
    /// The program.
    fn program(&self) -> &Program;

    /// Runs some launches to their end. False where `stop` was set before that.
    fn run(&mut self, launches: Range<usize>, stop: &Stop) -> Result<bool, DeviceError>;

    /// What was measured of the tables that were settled so far.
    fn ranges(&self) -> Result<Vec<Bits>, DeviceError>;

    /// Entries of its memory.
    fn entries(&self, range: Range<u64>) -> Result<Vec<f64>, DeviceError>;
}

/// A program whose tables are on a device.
#[derive(Debug)]
pub(crate) struct Running {
    gpu: Arc<Gpu>,
    loaded: Loaded<SumProduct>,
    memory: CudaSlice<f64>,
}

impl Running {
    /// Puts everything on a device; the host says what it fills in.
    pub fn new(
        gpu: &Arc<Gpu>,
        program: Program,
        table: &dyn Fn(&DeviceTable) -> Storage<f64>,
    ) -> Result<Running, DeviceError> {
        let loaded = Loaded::new(gpu, program, SumProduct)?;
        let memory = staging::upload(gpu, &loaded.program, table)?;
        Ok(Running { gpu: gpu.clone(), loaded, memory })
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

    /// Milliseconds of the device for all launches, the median of `repeats` after one that is not counted. What the
    /// host fills in stays, so that each makes the same tables.
    pub fn time(&self, repeats: usize) -> Result<f64, DeviceError> {
        let memory = self.gpu.cuda().address(&self.memory);
        // SAFETY: the memory was made for the program.
        let launch = |index| unsafe { self.loaded.launch(&self.gpu, index, memory) };
        let all = || (0..self.loaded.program.launches.len()).try_for_each(launch);
        self.gpu.cuda().median_ms(1, repeats, all)
    }
}

impl Machine for Running {
    fn program(&self) -> &Program {
        &self.loaded.program
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

    fn ranges(&self) -> Result<Vec<Bits>, DeviceError> {
        self.loaded.ranges(&self.gpu)
    }

    fn entries(&self, range: Range<u64>) -> Result<Vec<f64>, DeviceError> {
        let range = range.start as usize..range.end as usize;
        if range.is_empty() { Ok(Vec::new()) } else { self.gpu.cuda().read(&self.memory.slice(range)) }
    }
}
