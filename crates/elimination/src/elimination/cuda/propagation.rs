//! Sums of products on a device in both directions: messages, and what all else comes to.

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

/// Both directions of a propagation, wherever they run.
#[derive(Debug)]
pub struct Propagation<M = Running> {
    machine: M,
    steps: Vec<BackStep>,
    turn: usize,
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
        let machine = Running::new(gpu, program, &|table| lay_out(task, table))?;
        Ok(Some(Propagation { machine, steps, turn }))
    }

    /// Waits for its kernels, and records the launches of both directions. False where `stop` was set before.
    pub fn ready(&mut self, stop: &Stop) -> Result<bool, DeviceError> {
        let ready = self.machine.ready(stop)?;
        if ready {
            self.machine.record([0..self.turn, self.turn..self.launches()])?;
        }
        Ok(ready)
    }

    /// Milliseconds of the device for both directions, the median of `repeats` after one that is not counted.
    pub fn time(&mut self, repeats: usize) -> Result<f64, DeviceError> {
        self.machine.time(repeats)
    }

    /// How many launches both directions take.
    pub fn launches(&self) -> usize {
        self.machine.program().launches.len()
    }
}

impl<M: Machine> Propagation<M> {
    /// On a machine that has the program of both directions.
    pub fn over(machine: M, steps: Vec<BackStep>, turn: usize) -> Self {
        Propagation { machine, steps, turn }
    }

    /// Where the results of the steps are.
    pub fn steps(&self) -> &[BackStep] {
        &self.steps
    }

    /// Makes the messages. False where `stop` was set before they were there.
    pub fn collect(&mut self, stop: &Stop) -> Result<bool, DeviceError> {
        self.machine.run(0..self.turn, stop)
    }

    /// Makes what all else comes to, once there are the messages; the same.
    pub fn distribute(&mut self, stop: &Stop) -> Result<bool, DeviceError> {
        self.machine.run(self.turn..self.machine.program().launches.len(), stop)
    }

    /// What was measured of the tables that were settled so far.
    pub fn ranges(&self) -> Result<Vec<Bits>, DeviceError> {
        self.machine.ranges()
    }

    /// The messages without variables, in the order of their steps.
    pub fn constants(&self) -> Result<Vec<f64>, DeviceError> {
        self.machine.entries(self.machine.program().constants.clone())
    }

    /// The values of the steps for which they were wanted.
    pub fn values(&self) -> Result<Vec<Option<Vec<f64>>>, DeviceError> {
        let program = self.machine.program();
        Ok(program.values(&self.steps, &self.machine.entries(program.kept.clone())?))
    }
}
