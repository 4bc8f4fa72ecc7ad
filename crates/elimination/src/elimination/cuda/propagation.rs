//! Sum-product propagation on a device in both directions: messages to the roots, and outside aggregates back.

use super::execution::lay_out;
use super::gpu::Gpu;
use super::program::{Back, BackStep, Room, Wanted};
use super::running::{Bits, Machine, Running};
use super::shape::Chip;
use crate::algebra::SumProduct;
use crate::device::DeviceError;
use crate::elimination::executor::Task;
use crate::elimination::plan::EliminationPlan;
use crate::stop::Stop;
use std::sync::Arc;

/// Both directions of a propagation, on a device or an emulator.
#[derive(Debug)]
pub struct Propagation<M = Running> {
    machine: M,
    steps: Vec<BackStep>,
    turn: usize,
}

impl Propagation {
    /// Returns the bytes of device memory that a propagation takes; `None` if it is too large for any device.
    pub fn bytes(plan: &EliminationPlan, wanted: &[Wanted], kept: &[u32]) -> Option<u64> {
        let room = Room { keep_messages: false, bytes: size_of::<f64>() as u64, entries: 0 };
        let entries = Back::new(plan, wanted, kept, room, &Chip::default()).map_or_else(|entries| entries, |_| 0);
        entries.checked_mul(room.bytes)
    }

    /// Copies all tables to a device; `None` if they do not fit into its free memory.
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
        let machine = Running::new(gpu, program, &|table| lay_out(task, table))?;
        Ok(Some(Propagation { machine, steps, turn }))
    }

    /// Waits for the kernels and records the launches of both directions. Returns false if `stop` was set before.
    pub fn ready(&mut self, stop: &Stop) -> Result<bool, DeviceError> {
        let ready = self.machine.ready(stop)?;
        if ready {
            self.machine.record([0..self.turn, self.turn..self.launches()])?;
        }
        Ok(ready)
    }

    /// Returns the device time of both directions in milliseconds: the median of `repeats` after one that does not
    /// count.
    pub fn time(&mut self, repeats: usize) -> Result<f64, DeviceError> {
        self.machine.time(repeats)
    }

    /// Returns the number of launches of both directions.
    pub fn launches(&self) -> usize {
        self.machine.program().launches.len()
    }
}

impl<M: Machine> Propagation<M> {
    /// Creates a propagation on a machine that has the program of both directions.
    pub fn over(machine: M, steps: Vec<BackStep>, turn: usize) -> Self {
        Propagation { machine, steps, turn }
    }

    /// Returns the locations of the steps' results.
    pub fn steps(&self) -> &[BackStep] {
        &self.steps
    }

    /// Makes the messages. Returns false if `stop` was set before that was done.
    pub fn collect(&mut self, stop: &Stop) -> Result<bool, DeviceError> {
        self.machine.run(0..self.turn, stop)
    }

    /// Makes the outside aggregates, after [`Propagation::collect`]. Returns false if `stop` was set before that was
    /// done.
    pub fn distribute(&mut self, stop: &Stop) -> Result<bool, DeviceError> {
        self.machine.run(self.turn..self.machine.program().launches.len(), stop)
    }

    /// Returns the measured ranges of the tables that were settled so far.
    pub fn ranges(&self) -> Result<Vec<Bits>, DeviceError> {
        self.machine.ranges()
    }

    /// Returns the messages without variables, in the order of their steps.
    pub fn constants(&self) -> Result<Vec<f64>, DeviceError> {
        self.machine.entries(self.machine.program().constants.clone())
    }

    /// Returns, for each step, its aggregate by values if wanted.
    pub fn values(&self) -> Result<Vec<Option<Vec<f64>>>, DeviceError> {
        let program = self.machine.program();
        Ok(program.values(&self.steps, &self.machine.entries(program.kept.clone())?))
    }
}
