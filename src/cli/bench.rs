//! `fangs bench`: one subcommand a measurement.

use super::{Exit, bench_mbe};
use clap::{Args, Subcommand};
use fangs::Error;

#[derive(Args, Debug)]
pub struct BenchFlags {
    #[command(subcommand)]
    what: What,
}

/// Everything that is measured.
#[derive(Debug, Subcommand)]
enum What {
    /// Bucket elimination: fused kernels beside the published aggregate-then-eliminate
    Mbe(bench_mbe::MbeFlags),
}

/// Measures.
pub fn run(flags: BenchFlags) -> Result<Exit, Error> {
    match flags.what {
        What::Mbe(flags) => bench_mbe::run(flags),
    }
}
