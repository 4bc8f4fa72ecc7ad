//! Measurement of the time of a plan on a device.

use super::execution::Execution;
use super::gpu::Gpu;
use super::semiring::Element;
use crate::algebra::{CostEntry, MinSum};
use crate::device::DeviceError;
use crate::elimination::executor::{Failure, Messages, Task};
use crate::elimination::plan::{Plan, Width};
use crate::model::{Cost, Problem};
use std::sync::Arc;

/// The measured time of a plan on a device.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Milliseconds of all launches, the median.
    pub ms: f64,
    /// The requested entries of the first message.
    pub entries: Vec<Cost>,
    /// Description of the kernels and their blocks.
    pub launch: String,
    /// Number of launches.
    pub launches: usize,
}

/// Measures the time of a plan with all tables on the device, and returns the given `entries` of its first message.
///
/// # Errors
/// Returns errors of the device, or an error if the plan does not fit.
pub fn measure(
    gpu: &Arc<Gpu>,
    problem: &Problem,
    plan: &Plan,
    repeats: usize,
    entries: &[u64],
) -> Result<Measured, DeviceError> {
    match plan.costs.width {
        Width::I32 => measure_entries::<i32>(gpu, problem, plan, repeats, entries),
        Width::I64 => measure_entries::<i64>(gpu, problem, plan, repeats, entries),
    }
}

fn measure_entries<E: CostEntry + Element>(
    gpu: &Arc<Gpu>,
    problem: &Problem,
    plan: &Plan,
    repeats: usize,
    entries: &[u64],
) -> Result<Measured, DeviceError> {
    let semiring = MinSum { cap: E::from_cost(plan.cap()) };
    let task = Task { plan: &plan.structure, placement: &plan.placement, factors: problem, semiring };
    let Some(mut execution) = Execution::new(gpu.clone(), task)? else {
        return Err(DeviceError::Unusable(format!("{} takes {} bytes of the device", plan.name(), Gpu::bytes(plan))));
    };
    let ms = execution.time(repeats)?;
    let (launch, launches) = (execution.describe(), execution.launches());
    let resident = execution.leave();
    let wanted: Vec<(u32, u64)> = entries.iter().map(|&index| (0, index)).collect();
    let entries = resident.entries(&wanted).map_err(|failure| match failure {
        Failure::Device(error) => error,
        Failure::Host(error) => DeviceError::Unusable(error.to_string()),
    })?;
    Ok(Measured { ms, entries: entries.into_iter().map(E::cost).collect(), launch, launches })
}
