//! Fused buckets against the published aggregate-then-eliminate (GpuBE, sections 5.3 and 5.4).
//!
//! Each case is one bucket: functions of the eliminated variable and some of `w` others, `d` values each. Measured is
//! the time from tables on the device to the message, as medians: of our kernel as plans run it; of the published
//! algorithm on a joint table in device memory; and of our CPU kernel on all threads.

use super::buckets::{self, Aggregated};
use crate::device::{Cuda, DeviceError};
use crate::elimination::{Gpu, Limits, Plan, Progress, Run, measure};
use crate::model::{Cost, CostFunction, FORBIDDEN, Problem, Table};
use crate::order::{Method, Order, best_order};
use crate::rng::Rng;
use crate::search::measure::median;
use crate::stop::Stop;
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

/// A bucket: values of a variable, and the output variables that each function leaves out.
struct Case {
    d: u32,
    w: u32,
    left_out: &'static [&'static [u32]],
}

/// Three functions, each without another one of the slowest outputs.
const THREE: &[&[u32]] = &[&[1], &[2], &[3]];
/// Four functions of arity 7 that together read nine outputs.
const FOUR: &[&[u32]] = &[&[1, 2, 3], &[3, 4, 5], &[5, 6, 7], &[7, 8, 9]];

const CASES: [Case; 6] = [
    Case { d: 25, w: 5, left_out: THREE },
    Case { d: 4, w: 12, left_out: THREE },
    Case { d: 10, w: 7, left_out: THREE },
    Case { d: 44, w: 4, left_out: THREE },
    Case { d: 2, w: 20, left_out: THREE },
    Case { d: 10, w: 9, left_out: FOUR },
];

/// Output rows compared with each other and with sums made on the host.
const SAMPLES: usize = 2000;

/// Measurements of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Values of a variable.
    pub d: u32,
    /// Variables of the message.
    pub w: u32,
    /// Functions, and their arity, the eliminated variable included.
    pub functions: usize,
    /// Their arity.
    pub arity: usize,
    /// Combinations.
    pub joint: u64,
    /// Bytes that must move at least: each function read and the message written once.
    pub bytes: u64,
    /// Milliseconds of the fused kernel.
    pub fused_ms: f64,
    /// Combinations a second, in units of 10^9.
    pub fused_g: f64,
    /// The least bytes over its time, as a part of the copy bandwidth.
    pub bandwidth: f64,
    /// Milliseconds of the published algorithm.
    pub paper_ms: f64,
    /// Combinations a second, in units of 10^9.
    pub paper_g: f64,
    /// How many times faster the fused kernel is.
    pub ratio: f64,
    /// Milliseconds of the CPU's kernel.
    pub cpu_ms: f64,
    /// Combinations a second, in units of 10^9.
    pub cpu_g: f64,
    /// The launch shape on the device.
    pub launch: String,
}

/// All cases on one device.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The device.
    pub device: String,
    /// Bytes read and written a second by a copy within the device, in units of 10^9.
    pub copy_gb: f64,
    /// CPU threads.
    pub threads: usize,
    /// The cases.
    pub rows: Vec<Row>,
}

/// Runs all cases; every time is the median of `repeats`.
///
/// # Errors
/// The device's, and a message that is wrong.
pub fn run(cuda: &Arc<Cuda>, repeats: usize) -> Result<Report, DeviceError> {
    let copy_gb = super::copy_bandwidth(cuda)? / 1e9;
    let rows = CASES.iter().map(|case| case.run(cuda, repeats, copy_gb)).collect::<Result<_, _>>()?;
    Ok(Report { device: cuda.info.name.clone(), copy_gb, threads: rayon::current_num_threads(), rows })
}

/// Measurements of a network.
#[derive(Clone, Debug, Serialize)]
pub struct NetworkRow {
    /// Its name.
    pub name: String,
    /// `be` or `mbe(z)`.
    pub plan: String,
    /// Variables of the largest mini-bucket.
    pub z: u32,
    /// Combinations.
    pub joint: u64,
    /// Bytes of all messages.
    pub table_bytes: u64,
    /// The bound.
    pub bound: Cost,
    /// Launches.
    pub launches: usize,
    /// Milliseconds of the device for all of them.
    pub device_ms: f64,
    /// Milliseconds from the plan to the bound, copies to the device included.
    pub bound_ms: f64,
    /// Milliseconds from the bound to an assignment.
    pub assign_ms: f64,
    /// Milliseconds of the CPU from the plan to the bound; none where that would take long.
    pub cpu_ms: Option<f64>,
}

/// Most combinations measured on the CPU.
const PATIENCE: u64 = 20_000_000_000;

/// Elimination of a whole network, exact if it fits; the CPU's bound must be the same.
///
/// # Errors
/// The device's, and a bound that is wrong.
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
    let _ = outcome.assign();
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

impl Case {
    fn scope(&self, function: usize) -> Vec<u32> {
        (0..=self.w).filter(|v| !self.left_out[function].contains(v)).collect()
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

    /// The message's entry of an output row, and the values of the variables there.
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

    fn run(&self, cuda: &Arc<Cuda>, repeats: usize, copy_gb: f64) -> Result<Row, DeviceError> {
        let problem = Arc::new(self.problem());
        let sequence: Vec<u32> = (0..=self.w).collect();
        let order = Order::given(&problem, &sequence, &Stop::new());
        let order = order.map_err(|error| DeviceError::Unusable(error.to_string()))?;
        let mut plan = Plan::new(&problem, &order, &Limits::new(1 << 45));
        plan.steps.truncate(1);
        let mut rng = Rng::new(2);
        let outputs = self.size(self.w as usize);
        let samples: Vec<u64> = (0..SAMPLES).map(|_| rng.below(outputs)).collect();
        let expected: Vec<Cost> = samples.iter().map(|&row| self.entry(&problem, row)).collect();
        let check = |who: &str, entries: &[Cost]| match entries == expected {
            true => Ok(()),
            false => Err(DeviceError::Unusable(format!("d = {}, w = {}: {who} makes a wrong message", self.d, self.w))),
        };
        let gpu = Gpu::new(cuda.clone());
        let measured = measure(&gpu, &problem, &plan, repeats, &samples)?;
        check("the fused kernel", &measured.entries)?;
        let paper = self.paper(cuda, &problem, repeats, &samples)?;
        check("the published algorithm", &paper.1)?;
        let cpu_ms = cpu(&problem, &plan, repeats.min(3));
        let joint = outputs * u64::from(self.d);
        let read: u64 = (0..self.left_out.len()).map(|function| self.size(self.scope(function).len())).sum();
        let bytes = 4 * (outputs + read);
        let rate = |ms: f64| joint as f64 / ms / 1e6;
        Ok(Row {
            d: self.d,
            w: self.w,
            functions: self.left_out.len(),
            arity: self.scope(0).len(),
            joint,
            bytes,
            fused_ms: measured.ms,
            fused_g: rate(measured.ms),
            bandwidth: bytes as f64 / measured.ms / 1e6 / copy_gb,
            paper_ms: paper.0,
            paper_g: rate(paper.0),
            ratio: paper.0 / measured.ms,
            cpu_ms,
            cpu_g: rate(cpu_ms),
            launch: measured.launch,
        })
    }

    /// The published algorithm: its milliseconds and the entries of some rows.
    fn paper(
        &self,
        cuda: &Arc<Cuda>,
        problem: &Problem,
        repeats: usize,
        samples: &[u64],
    ) -> Result<(f64, Vec<Cost>), DeviceError> {
        let outputs = self.size(self.w as usize);
        let sizes = vec![self.d; self.w as usize + 1];
        let mut tables = Vec::new();
        for (number, function) in problem.functions.iter().enumerate() {
            let mut axes: Vec<usize> = self.scope(number)[1..].iter().map(|&v| v as usize - 1).collect();
            axes.push(self.w as usize);
            tables.push(Aggregated::new(cuda, &self.eliminated_last(function), &axes, &sizes)?);
        }
        let mut joint = cuda.zeros::<i32>(outputs as usize * self.d as usize)?;
        let mut out = cuda.zeros::<i32>(outputs as usize)?;
        buckets::join(cuda, &tables, &mut joint, &mut out, self.d)?;
        // before more is added to the joint table
        let sample = |&row: &u64| cuda.read(&out.slice(row as usize..row as usize + 1));
        let entries = samples.iter().map(sample).collect::<Result<Vec<_>, _>>()?.concat();
        let ms = cuda.median_ms(1, repeats, || buckets::join(cuda, &tables, &mut joint, &mut out, self.d))?;
        Ok((ms, entries.into_iter().map(Cost::from).collect()))
    }

    /// A function's table with the eliminated variable as the last axis, as in the paper.
    fn eliminated_last(&self, function: &CostFunction) -> Vec<i32> {
        let Table::Dense(costs) = &function.table else { return Vec::new() };
        let slab = costs.len() / self.d as usize;
        (0..costs.len()).map(|at| costs.get(at % self.d as usize * slab + at / self.d as usize) as i32).collect()
    }
}

/// Milliseconds of the CPU's kernel, the functions being laid out already.
fn cpu(problem: &Arc<Problem>, plan: &Plan, repeats: usize) -> f64 {
    let stop = Stop::new();
    let times = (0..repeats)
        .map(|_| {
            let mut run = Run::new(problem.clone(), plan.clone());
            // the first tile lays them out
            let _ = run.advance(1, &stop);
            let started = Instant::now();
            while run.advance(u64::MAX, &stop) == Progress::More {}
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    median(times)
}
