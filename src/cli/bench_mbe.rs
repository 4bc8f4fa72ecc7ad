//! `fangs bench mbe`: fused buckets beside the published algorithm.

use super::{Exit, output};
use clap::Args;
use fangs::Error;
use fangs::bench::mbe::{self, Row};
use fangs::device::Cuda;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct MbeFlags {
    /// Repetitions on the device, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,
    /// Write the rows to a file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Exactly one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Measures.
pub fn run(flags: MbeFlags) -> Result<Exit, Error> {
    let cannot = |path: &PathBuf, error: csv::Error| Error::Io {
        path: path.clone(),
        action: "cannot write",
        source: std::io::Error::other(error),
    };
    let mut csv = match &flags.csv {
        Some(path) => {
            Some((path, output::as_usage(csv::Writer::from_path(path).map_err(|error| cannot(path, error)))?))
        }
        None => None,
    };
    let failed = |error: fangs::device::DeviceError| Error::Usage(error.to_string());
    let cuda = Cuda::open(0).map_err(failed)?;
    let report = mbe::run(&cuda, flags.repeats.into()).map_err(failed)?;
    if let Some((path, csv)) = &mut csv {
        for row in &report.rows {
            csv.serialize(row).map_err(|error| cannot(path, error))?;
        }
        csv.flush().map_err(|error| cannot(path, error.into()))?;
    }
    if flags.json {
        output::print_json(&serde_json::json!(report))?;
        return Ok(Exit::Done);
    }
    output::print(&format_args!(
        "{}, copies {:.0} GB/s; CPU with {} threads; medians of {}, ms and 10^9 combinations/s\n\
          d   w  functions  combinations     fused        G/s  memory     paper    G/s  times       cpu    G/s\n",
        report.device, report.copy_gb, report.threads, flags.repeats
    ))?;
    for row in &report.rows {
        output::print(&format_args!("{}\n", line(row)))?;
    }
    Ok(Exit::Done)
}

fn line(row: &Row) -> String {
    format!(
        "{:3} {:3}  {:>3} of {:2}  {:12.3e}  {:8.4}  {:9.1}  {:5.1}%  {:8.3}  {:5.1}  {:5.1}  {:8.2}  {:5.2}\n           {}",
        row.d,
        row.w,
        row.functions,
        row.arity,
        row.joint as f64,
        row.fused_ms,
        row.fused_g,
        100.0 * row.bandwidth,
        row.paper_ms,
        row.paper_g,
        row.ratio,
        row.cpu_ms,
        row.cpu_g,
        row.launch
    )
}
