//! `fangs bench fang`: measures the speed of successor generation.

use super::output::{self, Rows};
use super::{Exit, values};
use clap::Args;
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_device::{Cuda, DeviceError};
use fangs_fang::speed::{LOADS, Load, Workload, device_ms};
use serde::Serialize;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Args, Debug)]
pub struct FangFlags {
    /// Repetitions on the CUDA device; their median is reported
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = values::positive::<u16>)]
    repeats: u16,
    /// Repetitions on the CPU; 0 skips the CPU
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = values::whole::<u16>)]
    cpu_repeats: u16,
    /// Write the rows of the table to a file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long)]
    json: bool,
}

/// A measured load; times are medians of one generation of successors, in milliseconds.
#[derive(Clone, Debug, Serialize)]
struct FangRow {
    load: usize,
    states: usize,
    variables: usize,
    possibilities: usize,
    fang_ms: Option<f64>,
    /// Evaluations per second, in units of 10^9.
    gratings_s: Option<f64>,
    cpu_ms: Option<f64>,
    /// Threads that hold a state, and packs that each thread keeps in registers.
    group: Option<String>,
}

impl FangRow {
    /// Measures a load. The columns of the device or the CPU stay empty if there is no device or no CPU repetition.
    fn measure(seed: u64, load: &Load, cuda: Option<&Arc<Cuda>>, flags: &FangFlags) -> Result<FangRow, DeviceError> {
        let &Load { distances, states, variables, .. } = load;
        let mut row = FangRow {
            load: distances,
            states,
            variables,
            possibilities: load.possibilities(),
            fang_ms: None,
            gratings_s: None,
            cpu_ms: None,
            group: None,
        };
        let mut workload = Workload::new(load, seed);
        if let Some(cuda) = cuda {
            let mut population = workload.on_device(cuda)?;
            let ms = device_ms(cuda, &mut population, flags.repeats.into())?;
            let shape = population.shape();
            row.fang_ms = Some(ms);
            row.gratings_s = Some(load.ratings() as f64 / ms / 1e6);
            row.group = Some(format!("{}x{}", shape.threads, shape.keep.first().unwrap_or(&0)));
        }
        if flags.cpu_repeats > 0 {
            row.cpu_ms = Some(workload.cpu_ms(flags.cpu_repeats.into()));
        }
        Ok(row)
    }
}

/// Returns the device's memory bandwidth: the bytes that a copy on the device reads and writes in a second.
pub fn copy_bandwidth(cuda: &Cuda) -> Result<f64, DeviceError> {
    const BYTES: usize = 1 << 30;
    let source = cuda.zeros::<u64>(BYTES / 8)?;
    let mut target = cuda.zeros::<u64>(BYTES / 8)?;
    let milliseconds = cuda.median_ms(2, 7, || cuda.copy(&source, &mut target))?;
    Ok(2e3 * BYTES as f64 / milliseconds)
}

/// Measures all loads of the FANG paper and prints a table or one JSON object.
pub fn run(flags: FangFlags) -> Result<Exit, Error> {
    let mut csv = Rows::create(flags.csv.clone())?;
    let cuda = Cuda::open(0);
    let bandwidth = cuda.as_ref().ok().and_then(|cuda| copy_bandwidth(cuda).ok());
    let threads = rayon::current_num_threads();
    if !flags.json {
        match (&cuda, bandwidth) {
            (Ok(cuda), Some(bytes)) => output::print(&format_args!(
                "{}, copies {:.2} TB/s; CPU with {threads} threads; medians of {} and {}, ms\n",
                cuda.info.name,
                bytes / 1e12,
                flags.repeats,
                flags.cpu_repeats
            ))?,
            (Ok(cuda), None) => output::print(&format_args!("{}; CPU with {threads} threads\n", cuda.info.name))?,
            (Err(error), _) => output::print(&format_args!("no device: {error}\nCPU with {threads} threads\n"))?,
        }
        output::print(&"load  states  vars  possib.     fang  G ratings/s  group      cpu\n")?;
    }
    let mut rows: Vec<FangRow> = Vec::new();
    for (seed, load) in (0..).zip(&LOADS) {
        let row = FangRow::measure(seed, load, cuda.as_ref().ok(), &flags);
        let row = row.map_err(|error| Error::Internal(error.to_string()))?;
        if !flags.json {
            output::print(&line(&row))?;
        }
        csv.push(&row)?;
        rows.push(row);
    }
    if flags.json {
        let reason = cuda.as_ref().err().map(ToString::to_string);
        let device = cuda.as_ref().ok().map(|cuda| cuda.info.name.as_str());
        output::print_json(&json!({
            "device": device, "reason": reason, "copy_bytes_s": bandwidth, "cpu_threads": threads, "rows": rows,
        }))?;
    }
    csv.finish(&Stop::new())?;
    Ok(Exit::Done)
}

fn line(row: &FangRow) -> String {
    let number = |value: Option<f64>, width: usize, decimals: usize| match value {
        Some(value) => format!("{value:width$.decimals$}"),
        None => format!("{:>width$}", "-"),
    };
    format!(
        "{:4}  {:6}  {:4}  {:7}  {}  {}  {:>5}  {}\n",
        row.load,
        row.states,
        row.variables,
        row.possibilities,
        number(row.fang_ms, 7, 4),
        number(row.gratings_s, 11, 0),
        row.group.as_deref().unwrap_or("-"),
        number(row.cpu_ms, 7, 2),
    )
}
