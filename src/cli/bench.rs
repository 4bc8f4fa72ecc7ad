//! `fangs bench`: one subcommand a measurement.

use super::output::{self, Rows};
use super::worker::{self, Session};
use super::{Exit, bench_cube, bench_dcop, bench_decide, bench_mbe, bench_search, help, values};
use clap::{Args, Subcommand};
use fangs::Error;
use fangs::bench::{FangOptions, FangRow, copy_bandwidth, fang};
use fangs::device::Cuda;
use fangs::stop::Stop;
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Args, Debug)]
pub struct BenchFlags {
    #[command(subcommand)]
    what: What,
}

/// Measure successor generation, bucket elimination, posteriors or the sweeps of the search.
#[derive(Debug, Subcommand)]
enum What {
    /// Measure successor generation against the algorithm and the figures of the FANG paper
    #[command(after_help = help::examples(&help::BENCH_FANG))]
    Fang(FangFlags),
    /// Measure posteriors of networks on CPU and CUDA device against the algorithm and the figures of the CUBE paper
    #[command(after_help = help::examples(&help::BENCH_CUBE))]
    Cube(bench_cube::CubeFlags),
    /// Measure DPOP and ADPOP on the networks of the papers, with the width and the work of each
    #[command(after_help = help::examples(&help::BENCH_DCOP))]
    Dcop(bench_dcop::DcopFlags),
    /// Measure interactive diagrams of the paper on GPUs, with models merged and by the paper's method
    #[command(after_help = help::examples(&help::BENCH_DECIDE))]
    Decide(bench_decide::DecideBenchFlags),
    /// Measure bucket elimination on a CUDA device against the published algorithm
    #[command(after_help = help::examples(&help::BENCH_MBE))]
    Mbe(bench_mbe::MbeFlags),
    /// Measure the sweeps of the search on networks: visits and evaluations a second, on CUDA device and CPU
    #[command(after_help = help::examples(&help::BENCH_SEARCH))]
    Search(bench_search::SearchFlags),
}

#[derive(Args, Debug)]
struct FangFlags {
    /// Repetitions on the CUDA device, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = values::positive::<u16>)]
    repeats: u16,
    /// Repetitions on the CPU; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = values::whole::<u16>)]
    cpu_repeats: u16,
    /// Write the rows of the table to a file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long)]
    json: bool,
}

/// Measures.
pub fn run(flags: BenchFlags, started: Instant) -> Result<Exit, Error> {
    worker::command(started, None, move |session| measure(flags, session))
}

fn measure(flags: BenchFlags, session: &Session) -> Result<Exit, Error> {
    session.activity.step("measuring");
    values::use_threads(match &flags.what {
        What::Cube(flags) => flags.shared.threads,
        What::Dcop(flags) => flags.shared.threads,
        What::Decide(flags) => flags.shared.threads,
        _ => None,
    })?;
    match flags.what {
        What::Fang(flags) => run_fang(flags),
        What::Cube(flags) => bench_cube::run(flags),
        What::Dcop(flags) => bench_dcop::run(flags),
        What::Decide(flags) => bench_decide::run(flags),
        What::Mbe(flags) => bench_mbe::run(flags),
        What::Search(flags) => bench_search::run(flags),
    }
}

fn run_fang(flags: FangFlags) -> Result<Exit, Error> {
    let mut csv = Rows::create(flags.csv)?;
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
        output::print(&format_args!(
            "load  states  vars  possib.  1080 Ti    paper     fang  times  G ratings/s  group      cpu\n"
        ))?;
    }
    let options = FangOptions { repeats: flags.repeats.into(), cpu_repeats: flags.cpu_repeats.into() };
    let mut rows: Vec<FangRow> = Vec::new();
    let mut result = Ok(());
    let measured = fang(cuda.as_ref().ok(), options, &mut |row| {
        rows.push(row.clone());
        if !flags.json && result.is_ok() {
            result = output::print(&line(row));
        }
        if result.is_ok() {
            result = csv.push(row);
        }
    });
    measured.and(result)?;
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
        "{:4}  {:6}  {:4}  {:7}  {:7.2}  {}  {}  {}  {}  {:>5}  {}\n",
        row.load,
        row.states,
        row.variables,
        row.possibilities,
        row.gtx_1080_ti_ms,
        number(row.paper_ms, 7, 4),
        number(row.fang_ms, 7, 4),
        number(row.speedup, 5, 1),
        number(row.gratings_s, 11, 0),
        row.group.as_deref().unwrap_or("-"),
        number(row.cpu_ms, 7, 2),
    )
}
