//! `fangs-bench`: see the library.

use clap::{Parser, Subcommand};
use fangs_base::Error;
use fangs_bench::tables::{cube, dcop, decide, fang, large, mbe};
use std::process::ExitCode;

/// Measures Fangs beside the kernels and the figures of published papers
#[derive(Debug, Parser)]
#[command(name = "fangs-bench", version)]
struct Flags {
    #[command(subcommand)]
    table: Table,
}

#[derive(Debug, Subcommand)]
enum Table {
    /// Posteriors of networks on CPU and CUDA device: tables I and II of the CUBE paper
    Cube(cube::CubeFlags),
    /// DPOP and ADPOP on networks like those of the papers, with the width and the work of each
    Dcop(dcop::DcopFlags),
    /// Interactive diagrams, with models merged and by the paper's method: tables 1 and 2, figure 9
    Decide(decide::DecideFlags),
    /// Successor generation on a CUDA device: tables 1 and 2 of the FANG paper
    Fang(fang::FangFlags),
    /// Large networks: the search on a device beside its threads alone and plain annealing
    Large(large::LargeFlags),
    /// Single buckets on a CUDA device: the fused kernel beside the algorithm of the GpuBE paper
    Mbe(mbe::MbeFlags),
}

fn main() -> ExitCode {
    #[allow(unsafe_code, reason = "a setting of the driver")]
    // SAFETY: no other thread runs yet.
    unsafe {
        fangs_device::want_few_queues();
    }
    let measured = match Flags::parse().table {
        Table::Cube(flags) => cube::run(flags),
        Table::Dcop(flags) => dcop::run(flags),
        Table::Decide(flags) => decide::run(flags),
        Table::Fang(flags) => fang::run(flags),
        Table::Large(flags) => large::run(flags),
        Table::Mbe(flags) => mbe::run(flags),
    };
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fangs-bench: {error}");
            ExitCode::from(if matches!(error, Error::Usage(_)) { 2 } else { 1 })
        }
    }
}
