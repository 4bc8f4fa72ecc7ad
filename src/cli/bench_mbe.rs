//! `fangs bench mbe`: measures the elimination of single buckets and of whole networks.

use super::bench_fang::copy_bandwidth;
use super::output::{self, Files, Rows};
use super::{Exit, values};
use clap::Args;
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_bounds::reduce::Reducer;
use fangs_device::Cuda;
use fangs_elimination::elimination::speed::{self, BUCKETS, Bucket, BucketRow};
use fangs_formats::{self as formats, ReadOptions, Source};
use fangs_report::{Console, Verbosity};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Args, Debug)]
pub struct MbeFlags {
    /// Networks to eliminate as a whole, instead of single buckets
    #[arg(value_name = "NETWORK")]
    networks: Vec<PathBuf>,
    /// Repetitions on the CUDA device; their median is reported
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = values::positive::<u16>)]
    repeats: u16,
    /// Write the rows of the table to a file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long)]
    json: bool,
}

/// Measures single buckets, or the given networks, and prints a table or one JSON object.
pub fn run(flags: MbeFlags) -> Result<Exit, Error> {
    let reads = |files: Files, path: &PathBuf| files.reads("the network", Some(path));
    let _ = flags.networks.iter().try_fold(Files::default(), reads)?.writes("--csv", flags.csv.as_deref())?;
    let mut csv = Rows::create(flags.csv.clone())?;
    let failed = |error: fangs_device::DeviceError| Error::Usage(error.to_string());
    let cuda = Cuda::open(0).map_err(failed)?;
    if !flags.networks.is_empty() {
        return run_networks(&cuda, &flags);
    }
    let copy_gb = copy_bandwidth(&cuda).map_err(failed)? / 1e9;
    let mut rows: Vec<BucketRow> = Vec::new();
    for shape in BUCKETS {
        rows.push(Bucket::new(shape).measure(&cuda, flags.repeats.into(), copy_gb).map_err(failed)?);
    }
    for row in &rows {
        csv.push(row)?;
    }
    let threads = rayon::current_num_threads();
    if flags.json {
        let device = &cuda.info.name;
        let report = serde_json::json!({"device": device, "copy_gb": copy_gb, "threads": threads, "rows": rows});
        output::print_json(&report)?;
        return csv.finish(&Stop::new()).map(|()| Exit::Done);
    }
    output::print(&format_args!(
        "{}, copies {copy_gb:.0} GB/s; CPU with {threads} threads; medians of {}, ms and 10^9 combinations/s\n\
          d   w  functions  combinations     fused        G/s  memory       cpu    G/s\n",
        cuda.info.name, flags.repeats
    ))?;
    for row in &rows {
        output::print(&format_args!("{}\n", line(row)))?;
    }
    csv.finish(&Stop::new())?;
    Ok(Exit::Done)
}

fn run_networks(cuda: &Arc<Cuda>, flags: &MbeFlags) -> Result<Exit, Error> {
    let stop = Stop::new();
    let mut rows = Vec::new();
    if !flags.json {
        output::print(&format_args!(
            "network               plan       z  combinations     tables  launches  device ms   bound ms  \
             assign ms     cpu ms\n"
        ))?;
    }
    for path in &flags.networks {
        let network = formats::read(&Source::File(path.clone()), None, &ReadOptions::default(), &stop)?;
        Console::new(Verbosity::Quiet).warn_of(network.warnings());
        // no reductions, so that elimination does all the work
        let problem = Arc::new(Reducer::new(&network, false, &stop)?.problem(&stop)?);
        let row = speed::network(cuda, &network.name, &problem, flags.repeats.into());
        let row = row.map_err(|error| Error::Usage(error.to_string()))?;
        if !flags.json {
            output::print(&format_args!(
                "{:20}  {:8} {:3}  {:12.3e}  {:9.3e}  {:8}  {:9.3}  {:9.1}  {:9.1}  {:>9}\n",
                row.name,
                row.plan,
                row.z,
                row.joint as f64,
                row.table_bytes as f64,
                row.launches,
                row.device_ms,
                row.bound_ms,
                row.assign_ms,
                row.cpu_ms.map_or("-".into(), |ms| format!("{ms:.1}")),
            ))?;
        }
        rows.push(row);
    }
    if flags.json {
        output::print_json(&serde_json::json!({"device": cuda.info.name, "rows": rows}))?;
    }
    Ok(Exit::Done)
}

fn line(row: &BucketRow) -> String {
    format!(
        "{:3} {:3}  {:>3} of {:2}  {:12.3e}  {:8.4}  {:9.1}  {:5.1}%  {:8.2}  {:5.2}\n           {}",
        row.d,
        row.w,
        row.functions,
        row.arity,
        row.joint as f64,
        row.fused_ms,
        row.fused_g,
        100.0 * row.bandwidth,
        row.cpu_ms,
        row.cpu_g,
        row.launch
    )
}
