//! Measurements of the speed of elimination for `fangs bench mbe`: single buckets, and whole networks.
//!
//! A bucket has functions of the eliminated variable and of some of `w` others, with `d` values each. The measured time
//! is the median time from tables on the device to the message: of the device's kernel as plans execute it, and of the
//! CPU's kernel on all threads.

use super::{Gpu, Limits, Measured, Plan, Progress, Run, measure};
use crate::device::{Cuda, DeviceError};
use crate::model::{Cost, CostFunction, FORBIDDEN, Problem, Table};
use crate::order::{Method, Order, best_order};
use crate::rng::Rng;
use crate::stop::Stop;
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

/// The shape of a bucket.
#[derive(Clone, Copy, Debug)]
pub struct BucketShape {
    /// Number of values of a variable.
    pub d: u32,
    /// Number of variables of the message.
    pub w: u32,
    /// For each function, the variables of the message that it does not read.
    left_out: &'static [&'static [u32]],
}

/// Three functions, each of which lacks another one of the three slowest variables of the message.
const THREE: &[&[u32]] = &[&[1], &[2], &[3]];
/// Four functions of arity 7 that together read nine outputs.
const FOUR: &[&[u32]] = &[&[1, 2, 3], &[3, 4, 5], &[5, 6, 7], &[7, 8, 9]];

/// The measured buckets.
pub const BUCKETS: [BucketShape; 6] = [
    BucketShape { d: 25, w: 5, left_out: THREE },
    BucketShape { d: 4, w: 12, left_out: THREE },
    BucketShape { d: 10, w: 7, left_out: THREE },
    BucketShape { d: 44, w: 4, left_out: THREE },
    BucketShape { d: 2, w: 20, left_out: THREE },
    BucketShape { d: 10, w: 9, left_out: FOUR },
];

/// Number of entries of the message that are compared with entries computed on the host.
const SAMPLES: usize = 2000;

/// Measurements of a bucket.
#[derive(Clone, Debug, Serialize)]
pub struct BucketRow {
    /// Number of values of a variable.
    pub d: u32,
    /// Number of variables of the message.
    pub w: u32,
    /// Number of functions.
    pub functions: usize,
    /// Arity of the functions, the eliminated variable included.
    pub arity: usize,
    /// Number of combinations.
    pub joint: u64,
    /// Least number of bytes that must move: each function read and the message written once.
    pub bytes: u64,
    /// Milliseconds of the fused kernel.
    pub fused_ms: f64,
    /// Combinations a second of the fused kernel, in units of 10^9.
    pub fused_g: f64,
    /// The least bytes divided by the fused kernel's time, as a fraction of the copy bandwidth.
    pub bandwidth: f64,
    /// Milliseconds of the CPU's kernel.
    pub cpu_ms: f64,
    /// Combinations a second of the CPU's kernel, in units of 10^9.
    pub cpu_g: f64,
    /// The launch shape on the device.
    pub launch: String,
}

/// Measurements of a network.
#[derive(Clone, Debug, Serialize)]
pub struct NetworkRow {
    /// The name of the network.
    pub name: String,
    /// The name of the plan: `be` or `mbe(z)`.
    pub plan: String,
    /// Number of variables of the largest mini-bucket.
    pub z: u32,
    /// Number of combinations.
    pub joint: u64,
    /// Bytes of all messages.
    pub table_bytes: u64,
    /// The lower bound.
    pub bound: Cost,
    /// Number of launches.
    pub launches: usize,
    /// Milliseconds of the device for all launches.
    pub device_ms: f64,
    /// Milliseconds from the plan to the bound, copies to the device included.
    pub bound_ms: f64,
    /// Milliseconds from the bound to an assignment.
    pub assign_ms: f64,
    /// Milliseconds of the CPU from the plan to the bound; `None` if that would take long.
    pub cpu_ms: Option<f64>,
}

/// Largest number of combinations measured on the CPU.
const PATIENCE: u64 = 20_000_000_000;

/// Measures the elimination of a whole network, which is exact if it fits. The CPU's bound must be equal.
///
/// # Errors
/// Returns errors of the device, or an error if the bounds differ.
pub fn network(
    cuda: &Arc<Cuda>,
    name: &str,
    problem: &Arc<Problem>,
    repeats: usize,
) -> Result<NetworkRow, DeviceError> {
    let gpu = Gpu::new(cuda.clone());
    let stop = Stop::new();
    let order = best_order(problem, &[Method::MinFill, Method::WeightedMinFill], 1, 16, &stop);
    let plan = Plan::new(problem, &order, &Limits::new(gpu.budget()? / 10 * 9));
    let finish = |mut run: Run| {
        while run.advance(u64::MAX, &stop) == Progress::More {}
        let trouble = run.trouble().cloned();
        match (run.finish(), trouble) {
            (Some(outcome), None) => Ok(outcome),
            (_, trouble) => Err(trouble.unwrap_or(DeviceError::Unusable("the run did not end".into()))),
        }
    };
    // kernels are compiled before anything is timed
    let launches = measure(&gpu, problem, &plan, 1, &[])?;
    let started = Instant::now();
    let outcome = finish(Run::on(Some(&gpu), problem.clone(), plan.clone()))?;
    let bound_ms = started.elapsed().as_secs_f64() * 1e3;
    let started = Instant::now();
    let _ = outcome.assign(&Stop::new());
    let assign_ms = started.elapsed().as_secs_f64() * 1e3;
    let bound = outcome.lower_bound();
    drop(outcome);
    let device_ms = measure(&gpu, problem, &plan, repeats, &[])?.ms;
    let cpu_ms = if plan.joint_entries <= PATIENCE {
        let started = Instant::now();
        let host = finish(Run::new(problem.clone(), plan.clone()))?;
        if host.lower_bound() != bound {
            return Err(DeviceError::Unusable(format!("{name}: bound {bound}, on the CPU {}", host.lower_bound())));
        }
        Some(started.elapsed().as_secs_f64() * 1e3)
    } else {
        None
    };
    Ok(NetworkRow {
        name: name.into(),
        plan: plan.name(),
        z: plan.z,
        joint: plan.joint_entries,
        table_bytes: plan.placement.table_bytes,
        bound,
        launches: launches.launches,
        device_ms,
        bound_ms,
        assign_ms,
        cpu_ms,
    })
}

/// A bucket with random tables, and the expected values of some entries of its message.
#[derive(Debug)]
pub struct Bucket {
    shape: BucketShape,
    /// The functions of the bucket; variable 0 is eliminated.
    pub problem: Arc<Problem>,
    /// The indices of the entries that are compared.
    pub samples: Vec<u64>,
    expected: Vec<Cost>,
}

impl Bucket {
    /// Draws the tables.
    pub fn new(shape: BucketShape) -> Bucket {
        let problem = Arc::new(shape.problem());
        let (mut rng, rows) = (Rng::new(2), shape.rows());
        let samples: Vec<u64> = (0..SAMPLES).map(|_| rng.below(rows)).collect();
        let expected = samples.iter().map(|&row| shape.entry(&problem, row)).collect();
        Bucket { shape, problem, samples, expected }
    }

    /// Compares the sampled entries of the message with entries computed on the host.
    ///
    /// # Errors
    /// Returns an error that names `who` if an entry differs.
    pub fn check(&self, who: &str, entries: &[Cost]) -> Result<(), DeviceError> {
        let BucketShape { d, w, .. } = self.shape;
        match entries == self.expected {
            true => Ok(()),
            false => Err(DeviceError::Unusable(format!("d = {d}, w = {w}: {who} makes a wrong message"))),
        }
    }

    /// Returns the plan that eliminates variable 0 alone.
    fn plan(&self) -> Result<Plan, DeviceError> {
        let sequence: Vec<u32> = (0..=self.shape.w).collect();
        let order = Order::given(&self.problem, &sequence, &Stop::new());
        let order = order.map_err(|error| DeviceError::Unusable(error.to_string()))?;
        let mut plan = Plan::new(&self.problem, &order, &Limits::new(1 << 45));
        plan.steps.truncate(1);
        Ok(plan)
    }

    /// Measures the kernel that plans execute on a device.
    ///
    /// # Errors
    /// Returns errors of the device, or an error if the message is wrong.
    pub fn fused(&self, gpu: &Arc<Gpu>, repeats: usize) -> Result<Measured, DeviceError> {
        let fused = measure(gpu, &self.problem, &self.plan()?, repeats, &self.samples)?;
        self.check("the fused kernel", &fused.entries).map(|()| fused)
    }

    /// Measures the bucket on a device and on the CPU; `copy_gb` is the device's copy bandwidth in 10^9 bytes a second.
    ///
    /// # Errors
    /// Returns errors of the device, or an error if the message is wrong.
    pub fn measure(&self, cuda: &Arc<Cuda>, repeats: usize, copy_gb: f64) -> Result<BucketRow, DeviceError> {
        let fused = self.fused(&Gpu::new(cuda.clone()), repeats)?;
        let cpu_ms = cpu(&self.problem, &self.plan()?, repeats.min(3));
        let BucketShape { d, w, left_out } = self.shape;
        let (joint, bytes) = (self.shape.joint(), self.shape.bytes());
        Ok(BucketRow {
            d,
            w,
            functions: left_out.len(),
            arity: self.shape.scope(0).len(),
            joint,
            bytes,
            fused_ms: fused.ms,
            fused_g: giga_per_second(joint, fused.ms),
            bandwidth: bytes as f64 / fused.ms / 1e6 / copy_gb,
            cpu_ms,
            cpu_g: giga_per_second(joint, cpu_ms),
            launch: fused.launch,
        })
    }
}

/// Returns 10^9 combinations a second.
pub fn giga_per_second(combinations: u64, milliseconds: f64) -> f64 {
    combinations as f64 / milliseconds / 1e6
}

impl BucketShape {
    /// Returns the variables of a function.
    pub fn scope(&self, function: usize) -> Vec<u32> {
        (0..=self.w).filter(|v| !self.left_out[function].contains(v)).collect()
    }

    /// Returns the number of entries of the message.
    pub fn rows(&self) -> u64 {
        self.size(self.w as usize)
    }

    /// Returns the number of combinations of all variables.
    pub fn joint(&self) -> u64 {
        self.rows() * u64::from(self.d)
    }

    /// Returns the least number of bytes that must move: each function read and the message written once.
    fn bytes(&self) -> u64 {
        let read: u64 = (0..self.left_out.len()).map(|function| self.size(self.scope(function).len())).sum();
        4 * (self.rows() + read)
    }

    fn size(&self, digits: usize) -> u64 {
        u64::from(self.d).pow(digits as u32)
    }

    fn problem(&self) -> Problem {
        let mut rng = Rng::new(1);
        let function = |index: usize| {
            let scope = self.scope(index);
            let costs = (0..self.size(scope.len())).map(|_| rng.below(1000) as Cost).collect();
            CostFunction { scope: scope.into(), table: Table::dense(costs) }
        };
        let n = self.w as usize + 1;
        Problem {
            domains: vec![self.d; n],
            unary: vec![vec![0; self.d as usize]; n],
            functions: (0..self.left_out.len()).map(function).collect(),
            constant: 0,
            top: FORBIDDEN,
        }
    }

    /// Returns an entry of the message, computed on the host.
    fn entry(&self, problem: &Problem, mut row: u64) -> Cost {
        let mut values = vec![0; self.w as usize + 1];
        for value in values[1..].iter_mut().rev() {
            *value = (row % u64::from(self.d)) as u32;
            row /= u64::from(self.d);
        }
        let cost = |value: u32| {
            values[0] = value;
            problem.cost(&values)
        };
        (0..self.d).map(cost).min().unwrap_or(0)
    }
}

/// Returns the milliseconds of the CPU's kernel, without the time to lay out functions.
fn cpu(problem: &Arc<Problem>, plan: &Plan, repeats: usize) -> f64 {
    let stop = Stop::new();
    let mut times: Vec<f64> = (0..repeats)
        .map(|_| {
            let mut run = Run::new(problem.clone(), plan.clone());
            // the first tile lays them out
            let _ = run.advance(1, &stop);
            let started = Instant::now();
            while run.advance(u64::MAX, &stop) == Progress::More {}
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
