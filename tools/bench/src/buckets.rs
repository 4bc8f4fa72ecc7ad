//! The published elimination on the device (Fioretto et al., GpuBE, sections 5.3 and 5.4): the host's side of
//! `paper_mbe.cu`, as a baseline of the tables `mbe` and `dcop`.
//!
//! A joint table of all variables of a bucket is held in memory, with the eliminated variable as the last axis. Each
//! function is added to it in a pass, and a last pass takes the minimum over the eliminated variable.

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use crate::algebra::{CostEntry, MinSum};
use crate::device::{Blocks, Cuda, CudaSlice, DeviceError, PushKernelArg, Source};
use crate::elimination::{self, Factors, Gpu, Plan, Width};
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use crate::terms::{self, AXES, Terms};
use fangs_dcop::{Spent, lower_bound};
use std::sync::Arc;
use std::time::Instant;

/// Threads of a block.
const THREADS: u32 = 256;

/// Returns the source of the published kernels, which compile without a device.
pub(super) fn source() -> Source {
    let kernels = ["aggregate<u32>", "aggregate<u64>", "eliminate<u32>", "eliminate<u64>"];
    let text = terms::before("paper_mbe.cu", include_str!("../kernels/paper_mbe.cu"));
    kernels.into_iter().fold(text.asserts::<Terms>(), Source::kernel)
}

/// A table on the device, and its index for each row of the joint table.
pub(super) struct Aggregated {
    table: CudaSlice<i32>,
    terms: Terms,
}

impl Aggregated {
    /// Uploads a table. `axes` are its axes in the joint table, in that order, and `sizes` the sizes of the joint
    /// table.
    pub fn new(cuda: &Cuda, table: &[i32], axes: &[usize], sizes: &[u32]) -> Result<Self, DeviceError> {
        Ok(Aggregated { table: cuda.upload(table)?, terms: Terms::new(axes, sizes) })
    }
}

/// Adds tables to a joint table and takes the minimum of each run of `domain` rows.
pub(super) fn join(
    cuda: &Arc<Cuda>,
    tables: &[Aggregated],
    joint: &mut CudaSlice<i32>,
    out: &mut CudaSlice<i32>,
    domain: u32,
) -> Result<(), DeviceError> {
    let (rows, outputs) = (joint.len() as u64, out.len() as u64);
    let index = if rows < 1 << 31 { "u32" } else { "u64" };
    let module = cuda.load(&source())?;
    let aggregate = module.kernel(&format!("aggregate<{index}>"), 0)?;
    let eliminate = module.kernel(&format!("eliminate<{index}>"), 0)?;
    let blocks = |rows: u64| rows.div_ceil(u64::from(THREADS)) as u32;
    for Aggregated { table, terms } in tables {
        // SAFETY: the arguments are aggregate's; the joint table has `rows` rows.
        unsafe {
            aggregate.launch(cuda.stream(), Blocks::new(blocks(rows), THREADS), |arguments| {
                arguments.arg(&mut *joint).arg(table).arg(terms).arg(&rows)
            })?;
        }
    }
    // SAFETY: the arguments are eliminate's; the output has `outputs` rows.
    unsafe {
        eliminate.launch(cuda.stream(), Blocks::new(blocks(outputs), THREADS), |arguments| {
            arguments.arg(out).arg(&*joint).arg(&domain).arg(&outputs)
        })
    }
}

/// Runs DPOP or ADPOP along a plan with the published kernels, one agent after another; each agent copies its tables to
/// the device and its message back, as in the paper. Returns the bound and the time of each agent, by variable. Returns
/// `None` if a joint table does not fit the device, or costs do not fit the 32 bits in which the kernels add.
pub(super) fn dpop(
    gpu: &Gpu,
    problem: &Problem,
    plan: &Plan,
    stop: &Stop,
) -> Result<Option<(Cost, Vec<Spent>)>, Error> {
    let failed = |error: DeviceError| Error::Internal(format!("the published kernels: {error}"));
    // half of the memory for a joint table, because inputs and a message are smaller
    let room = gpu.budget().map_err(failed)? / 2 / size_of::<i32>() as u64;
    if !is_for_them(plan, room) {
        return Ok(None);
    }
    let mut spent = vec![Spent::default(); plan.sequence.len()];
    let lower = along(problem, plan, |bucket, variable| {
        stop.check()?;
        bucket.on_device(gpu.cuda(), &mut spent[variable as usize]).map_err(failed)
    })?;
    Ok(Some((lower, spent)))
}

/// Returns whether joint tables have at most `room` entries and sums of entries fit 32 bits.
fn is_for_them(plan: &Plan, room: u64) -> bool {
    plan.costs.width == Width::I32
        && plan.steps.iter().all(|step| {
            let sum = (step.inputs.len() as Cost).saturating_mul(plan.costs.cap);
            !step.lowered && sum <= Cost::from(i32::MAX) && step.joint <= room && step.scope.len() < AXES
        })
}

/// Returns the bound of a plan. `message` computes the message of a bucket.
fn along(
    problem: &Problem,
    plan: &Plan,
    mut message: impl FnMut(Bucket, u32) -> Result<Vec<i32>, Error>,
) -> Result<Cost, Error> {
    let cap = i32::from_cost(plan.costs.cap);
    let mut messages: Vec<Vec<i32>> = Vec::with_capacity(plan.steps.len());
    let mut total = 0;
    for step in plan.steps.iter() {
        let mut made = message(Bucket::new(problem, plan, step, &messages), plan.sequence[step.position as usize])?;
        // forbidden entries are capped, so that sums fit 32 bits
        made.iter_mut().for_each(|entry| *entry = cap.min(*entry));
        total += if step.scope.is_empty() { Cost::from(made[0]) } else { 0 };
        messages.push(made);
    }
    Ok(lower_bound(problem.constant, plan, total))
}

/// The inputs of a bucket. Axes are ordered from the variable eliminated last to the one eliminated first, so that the
/// variable eliminated here is the last axis, and the next one is the last axis of the message.
struct Bucket {
    /// The sizes of the joint table.
    sizes: Vec<u32>,
    /// The tables and their axes in the joint table.
    tables: Vec<(Vec<i32>, Vec<usize>)>,
}

impl Bucket {
    fn new(problem: &Problem, plan: &Plan, step: &elimination::Step, messages: &[Vec<i32>]) -> Bucket {
        let cap = i32::from_cost(plan.costs.cap);
        let axes: Vec<u32> = step.scope.iter().rev().copied().chain([step.position]).collect();
        let table = |input: &elimination::Input| {
            let own = || input.scope.iter().rev();
            let places = own().filter_map(|position| axes.iter().position(|axis| axis == position)).collect();
            let entries = match input.source {
                elimination::Source::Message(step) => messages[step as usize].clone(),
                source => {
                    let variables: Vec<u32> = own().map(|&position| plan.sequence[position as usize]).collect();
                    problem.load(source, &variables, MinSum { cap }).to_vec()
                }
            };
            (entries, places)
        };
        Bucket {
            sizes: axes.iter().map(|&position| plan.domains[position as usize]).collect(),
            tables: step.inputs.iter().map(table).collect(),
        }
    }

    /// Returns the number of values of the eliminated variable and the number of entries of the message.
    fn shape(&self) -> (u32, usize) {
        let entries = |sizes: &[u32]| sizes.iter().map(|&size| size as usize).product();
        self.sizes.split_last().map_or((1, 1), |(&domain, others)| (domain, entries(others)))
    }

    fn on_device(self, cuda: &Arc<Cuda>, spent: &mut Spent) -> Result<Vec<i32>, DeviceError> {
        let started = Instant::now();
        let (domain, entries) = self.shape();
        let up = |(table, axes): &(Vec<i32>, Vec<usize>)| Aggregated::new(cuda, table, axes, &self.sizes);
        let tables = self.tables.iter().map(up).collect::<Result<Vec<_>, _>>()?;
        let mut joint = cuda.zeros::<i32>(entries * domain as usize)?;
        let mut out = cuda.zeros::<i32>(entries)?;
        cuda.synchronize()?;
        let up = started.elapsed().as_secs_f64();
        join(cuda, &tables, &mut joint, &mut out, domain)?;
        cuda.synchronize()?;
        let computed = started.elapsed().as_secs_f64();
        let message = cuda.read(&out)?;
        spent.util_s += computed - up;
        spent.transfer_s += up + started.elapsed().as_secs_f64() - computed;
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elimination::Limits;
    use crate::elimination::testing::shuffled;
    use crate::rng::Rng;
    use fangs_dcop::run_levels;
    use fangs_testing::problems::random;

    impl Bucket {
        /// Computes the message as the kernels do, on the host.
        fn on_host(&self) -> Vec<i32> {
            let (domain, entries) = self.shape();
            let row = |row: u64| -> i32 {
                let entry = |(table, axes): &(Vec<i32>, Vec<usize>)| table[Terms::new(axes, &self.sizes).place(row)];
                self.tables.iter().map(entry).sum()
            };
            let domain = u64::from(domain);
            (0..entries as u64).map(|out| (0..domain).map(|v| row(out * domain + v)).min().expect("a value")).collect()
        }
    }

    /// Checks that bounds by the published algorithm, with its two kernels on the host or on a device, equal those of
    /// plans.
    fn compare(cases: u64, gpu: Option<&Gpu>) {
        let (mut rng, stop) = (Rng::new(71), Stop::new());
        let (mut compared, mut split, mut infeasible) = (0, 0, 0);
        for case in 0..cases {
            let problem = Arc::new(random(&mut rng, 4));
            let order = shuffled(&problem, &mut rng);
            for z in [Some(2), Some(3), None] {
                let plan = Plan::new(&problem, &order, &Limits { z, ..Limits::new(1 << 30) });
                if !is_for_them(&plan, 1 << 20) {
                    continue;
                }
                let lower = run_levels(&problem, plan.clone(), None, &stop).expect("memory").lower;
                let found = match gpu {
                    None => along(&problem, &plan, |bucket, _| Ok(bucket.on_host())).expect("no device"),
                    Some(gpu) => dpop(gpu, &problem, &plan, &stop).expect("a device").expect("it fits").0,
                };
                assert_eq!(found, lower, "case {case}, z = {z:?}");
                compared += 1;
                split += u64::from(!plan.exact);
                infeasible += u64::from(lower >= problem.top);
            }
        }
        assert!(
            compared > 2 * cases && split > cases / 4 && infeasible > cases / 50,
            "{compared} {split} {infeasible}"
        );
    }

    #[test]
    fn the_published_algorithm_comes_to_the_same_bounds() {
        compare(1000, None);
    }

    #[test]
    fn its_kernels_come_to_the_same_bounds() {
        let Some(cuda) = fangs_testing::gpu() else { return };
        compare(100, Some(&Gpu::new(cuda)));
    }
}
