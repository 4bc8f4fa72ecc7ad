//! `fangs bench`: one subcommand for each kind of measurement.

use super::worker::{self, Session};
use super::{Exit, bench_fang, bench_mbe, bench_search, help};
use clap::{Args, Subcommand};
use fangs_base::Error;
use std::time::Instant;

#[derive(Args, Debug)]
pub struct BenchFlags {
    #[command(subcommand)]
    what: What,
}

/// Measure successor generation, bucket elimination or the sweeps of the search
#[derive(Debug, Subcommand)]
enum What {
    /// Measure successor generation on a CUDA device and the CPU, at the loads of the FANG paper
    #[command(after_help = help::examples(&help::BENCH_FANG))]
    Fang(bench_fang::FangFlags),
    /// Measure bucket elimination on a CUDA device and the CPU
    #[command(after_help = help::examples(&help::BENCH_MBE))]
    Mbe(bench_mbe::MbeFlags),
    /// Measure the sweeps of the search on networks: visits and evaluations per second, on a CUDA device and the CPU
    #[command(after_help = help::examples(&help::BENCH_SEARCH))]
    Search(bench_search::SearchFlags),
}

/// Runs the measurement that the subcommand names.
pub fn run(flags: BenchFlags, started: Instant) -> Result<Exit, Error> {
    worker::command(started, None, move |session| measure(flags, session))
}

fn measure(flags: BenchFlags, session: &Session) -> Result<Exit, Error> {
    session.activity.step("measuring");
    match flags.what {
        What::Fang(flags) => bench_fang::run(flags),
        What::Mbe(flags) => bench_mbe::run(flags),
        What::Search(flags) => bench_search::run(flags),
    }
}
