//! The experiments of Adoe, Chen and Doshi on interactive diagrams with a device: table 1 (two agents and a tiger) and
//! table 2 (an aircraft and a fugitive).
//!
//! Each row is solved twice: with models merged that act alike, along beliefs; and by the paper's method, elimination
//! of the flat diagram in which only equal beliefs are one model, on the CPU and on a device. The tables of the
//! aircraft are our own, as the paper states none.

use crate::decide::{Device, Method, Options, Solution, solve_idid};
use crate::elimination::Gpu;
use crate::error::Error;
use crate::formats::parse_idid;
use crate::generate::generate_diagram;
use crate::stop::Stop;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The experiments.
pub const EXPERIMENTS: [&str; 2] = ["tiger", "uav"];

/// Steps of the first agent and those that the other one has to go at first, and models.
struct Sizes {
    models: [usize; 3],
    t1: &'static [usize],
    t0: &'static [usize],
}

const TIGER: Sizes = Sizes { models: [10, 50, 100], t1: &[3, 4, 5], t0: &[6, 7, 8, 9] };
const UAV: Sizes = Sizes { models: [10, 25, 50], t1: &[3], t0: &[3, 4, 5] };

/// A row before it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecideSetting {
    /// The experiment.
    pub table: &'static str,
    /// Models of the other agent.
    pub models: usize,
    /// Steps of the first agent.
    pub t1: usize,
    /// Steps that the other agent has to go.
    pub t0: usize,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct DecideOptions<'a> {
    /// The device.
    pub gpu: Option<&'a Arc<Gpu>>,
    /// Whether the paper's method runs on the CPU where there is a device.
    pub cpu: bool,
    /// Bytes of tables.
    pub memory: u64,
}

/// A row of the tables. Seconds are those of everything but reading the file; nothing where tables had no room.
#[derive(Clone, Debug, Serialize)]
pub struct DecideRow {
    /// The experiment.
    pub table: &'static str,
    /// Models of the other agent at the beginning, and at the last step.
    pub models: usize,
    /// The same.
    pub last_models: usize,
    /// Steps of the first agent.
    pub t1: usize,
    /// Steps that the other agent has to go.
    pub t0: usize,
    /// The value.
    pub meu: Option<f64>,
    /// With models merged, along beliefs.
    pub merged_s: f64,
    /// By the paper's method.
    pub cpu_s: Option<f64>,
    /// The same on the device.
    pub device_s: Option<f64>,
    /// How many times faster that is.
    pub speed_up: Option<f64>,
    /// Mean entries of joint tables of probabilities, and of those with utilities.
    pub mean_probability_factor: Option<f64>,
    /// The same.
    pub mean_utility_factor: Option<f64>,
    /// The paper's seconds on its CPU and its GTX 480, where its text states them.
    pub paper_cpu_s: Option<f64>,
    /// The same.
    pub paper_gpu_s: Option<f64>,
}

/// The rows of an experiment.
pub fn decide_settings(table: &str) -> Vec<DecideSetting> {
    let Some(&table) = EXPERIMENTS.iter().find(|known| **known == table) else { return Vec::new() };
    let Sizes { models, t1, t0 } = if table == "tiger" { TIGER } else { UAV };
    let of = |models: usize| t1.iter().flat_map(move |&t1| t0.iter().map(move |&t0| (models, t1, t0)));
    models.into_iter().flat_map(of).map(|(models, t1, t0)| DecideSetting { table, models, t1, t0 }).collect()
}

/// Measures a row.
///
/// # Errors
/// [`Error::Stopped`]; values that do not agree.
pub fn decide(setting: &DecideSetting, options: DecideOptions<'_>, stop: &Stop) -> Result<DecideRow, Error> {
    let DecideSetting { table, models, t1, t0 } = *setting;
    let parameters = [("models", models), ("t1", t1), ("t0", t0)].map(|(name, value)| (name, value.to_string()));
    let parameters: Vec<(&str, &str)> = parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let text = generate_diagram(&format!("idid-{table}"), &parameters, 1)?;
    let (idid, _) = parse_idid(&text, table, Path::new(""), stop)?;
    let solve = |method: Method, device: Arc<Device>| -> Result<(Solution, f64), Error> {
        let begun = Instant::now();
        let options = Options { method, memory: options.memory, device, ..Options::default() };
        let found = solve_idid(&idid, &options, stop, &mut |_| ())?;
        Ok((found, begun.elapsed().as_secs_f64()))
    };
    let (merged, merged_s) = solve(Method::BeliefTree, Arc::default())?;
    // where tables have no room there is no exact value, and nothing to compare
    let flat = |device| Ok::<_, Error>(Some(solve(Method::Eliminate, device)?).filter(|(found, _)| found.exact));
    let on_cpu = if options.cpu || options.gpu.is_none() { flat(Arc::default())? } else { None };
    let on_device = match options.gpu {
        None => None,
        Some(gpu) => {
            let device = || Arc::new(Device::open(gpu.clone(), |_: &str| ()));
            // kernels are compiled by the first run
            drop(flat(device())?);
            let device = device();
            flat(device.clone())?.filter(|_| device.name() != "cpu")
        }
    };
    for (found, _) in on_cpu.iter().chain(&on_device) {
        let (Some(own), Some(other)) = (merged.meu, found.meu) else { continue };
        if (own - other).abs() > merged.error_bound + found.error_bound + 1e-9 {
            return Err(Error::Internal(format!("{setting:?}: {own} by beliefs, {other} by elimination")));
        }
    }
    let seconds = |found: &Option<(Solution, f64)>| found.as_ref().map(|(_, seconds)| *seconds);
    let (cpu_s, device_s) = (seconds(&on_cpu), seconds(&on_device));
    let sizes = on_cpu.as_ref().or(on_device.as_ref()).map(|(found, _)| found);
    let (paper_cpu_s, paper_gpu_s) = match (table, models, t1, t0) {
        ("tiger", 100, 5, 9) => (Some(5975.0), Some(575.0)),
        ("uav", 50, 3, 5) => (Some(845.0), Some(99.3)),
        _ => (None, None),
    };
    Ok(DecideRow {
        table,
        models,
        last_models: merged.models_per_step.as_ref().and_then(|all| all.last().copied()).unwrap_or(0),
        t1,
        t0,
        meu: merged.meu,
        merged_s,
        cpu_s,
        device_s,
        speed_up: cpu_s.zip(device_s).map(|(cpu, device)| cpu / device),
        mean_probability_factor: sizes.and_then(|found| found.mean_probability_factor),
        mean_utility_factor: sizes.and_then(|found| found.mean_utility_factor),
        paper_cpu_s,
        paper_gpu_s,
    })
}
