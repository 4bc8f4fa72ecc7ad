//! Sum-product programs: a machine runs them, and the host reads their results.

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use super::execution::{Loaded, SLICE};
use super::gpu::Gpu;
use super::program::{DeviceTable, Program};
use super::staging;
use crate::algebra::SumProduct;
use crate::device::{CudaSlice, CudaStream, DeviceError, Recorded};
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use std::ops::Range;
use std::sync::Arc;

/// The bits of the largest entry of a table and the inverted bits of its smallest positive entry, before scaling.
pub(crate) type Bits = [u64; 2];

/// A device or an emulator that runs a program.
pub trait Machine {
    /// Returns the program.
    fn program(&self) -> &Program;

    /// Runs some launches to their end. Returns false if `stop` was set before that.
    fn run(&mut self, launches: Range<usize>, stop: &Stop) -> Result<bool, DeviceError>;

    /// Returns the measured ranges of the tables that were settled so far.
    fn ranges(&self) -> Result<Vec<Bits>, DeviceError>;

    /// Returns a range of entries of its memory.
    fn entries(&self, range: Range<u64>) -> Result<Vec<f64>, DeviceError>;
}

/// A program whose tables are on a device.
#[derive(Debug)]
pub struct Running {
    gpu: Arc<Gpu>,
    /// Ranges of launches that are submitted to the device together. Declared before the memory that they use, so that
    /// they are dropped first.
    recorded: Vec<(Range<usize>, Recorded)>,
    loaded: Loaded<SumProduct>,
    memory: CudaSlice<f64>,
}

impl Running {
    /// Copies all tables to a device; `table` returns the entries that the host fills in.
    pub fn new(
        gpu: &Arc<Gpu>,
        program: Program,
        table: &dyn Fn(&DeviceTable) -> Storage<f64>,
    ) -> Result<Running, DeviceError> {
        let loaded = Loaded::new(gpu, program, SumProduct)?;
        let memory = staging::upload(gpu, &loaded.program, table)?;
        Ok(Running { gpu: gpu.clone(), recorded: Vec::new(), loaded, memory })
    }

    /// Waits for the kernels. Returns false if `stop` was set before they were compiled.
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

    /// Records the launches of two directions, each in one piece unless it takes long. The kernels must be compiled.
    pub fn record(&mut self, directions: [Range<usize>; 2]) -> Result<(), DeviceError> {
        for piece in directions.map(|direction| self.pieces(direction)).concat() {
            let launches = |stream: &CudaStream| piece.clone().try_for_each(|index| self.launch(stream, index));
            let recorded = self.gpu.cuda().record(launches)?;
            self.recorded.push((piece, recorded));
        }
        Ok(())
    }

    /// Returns the device time of all recorded launches in milliseconds: the median of `repeats` after one that does
    /// not count. Tables that the host filled are kept, so each repetition makes the same tables.
    pub fn time(&mut self, repeats: usize) -> Result<f64, DeviceError> {
        let (gpu, recorded) = (self.gpu.clone(), &mut self.recorded);
        gpu.cuda().median_ms(1, repeats, || recorded.iter_mut().try_for_each(|(_, piece)| piece.launch(gpu.cuda())))
    }

    fn launch(&self, stream: &CudaStream, index: usize) -> Result<(), DeviceError> {
        let memory = self.gpu.cuda().address(&self.memory);
        // SAFETY: the memory was allocated for the program.
        unsafe { self.loaded.launch(stream, index, memory) }
    }

    /// Divides launches into pieces that each take the device some milliseconds, if there is enough work.
    fn pieces(&self, launches: Range<usize>) -> Vec<Range<usize>> {
        let (mut pieces, mut begin, mut work) = (Vec::new(), launches.start, 0);
        for index in launches.clone() {
            work += self.loaded.program.launches[index].work;
            if work >= SLICE || index + 1 == launches.end {
                pieces.push(begin..index + 1);
                (begin, work) = (index + 1, 0);
            }
        }
        pieces
    }
}

impl Machine for Running {
    fn program(&self) -> &Program {
        &self.loaded.program
    }

    fn run(&mut self, launches: Range<usize>, stop: &Stop) -> Result<bool, DeviceError> {
        for mut piece in self.pieces(launches) {
            match self.recorded.iter_mut().find(|(own, _)| *own == piece) {
                Some((_, recorded)) => recorded.launch(self.gpu.cuda())?,
                None => piece.try_for_each(|index| self.launch(self.gpu.cuda().stream(), index))?,
            }
            self.gpu.cuda().synchronize()?;
            if stop.is_set() {
                return Ok(false);
            }
        }
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
