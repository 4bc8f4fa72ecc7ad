//! The table `dcop`: the experiments of the papers on DPOP.

use super::named;
use crate::dcop::{DcopOptions, DcopRow, TABLES, VALUES, dcop, settings};
use crate::error::Error;
use crate::experiment::ExperimentFlags;
use crate::stop::Stop;
use clap::Args;

const WORDS: [(&str, &str); 4] = [
    ("random", "Table 1 of the 2018 paper: random networks"),
    ("scale-free", "Table 2: scale-free networks"),
    ("grid", "Table 3: grids of four rows"),
    ("adpop", "Figure 10 and table 5: mini-buckets of 2 to 10 variables"),
];
const KERNELS: [(&str, &str); 1] =
    [("paper", "The two of the 2018 paper: add each table to a joint table in memory, then eliminate")];

/// Options of the table.
#[derive(Args, Debug)]
pub struct DcopFlags {
    /// Part of the experiments, may be repeated [default: all]
    #[arg(long, value_name = "TABLE", value_parser = named(&WORDS))]
    table: Vec<String>,
    /// Networks of each kind, with the seeds 1, 2, …
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Share of the entries of each table that are forbidden; 0.9, as the paper says, leaves no solution
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    p2: f64,
    /// Values of each variable in the experiments that vary the sizes of mini-buckets
    #[arg(long, value_name = "N", default_value_t = VALUES, value_parser = clap::value_parser!(u32).range(2..))]
    values: u32,
    /// Combinations from which on a row only has its sizes
    #[arg(long, value_name = "N", default_value_t = 1e11)]
    most_joint_entries: f64,
    /// Run published kernels on the device as well: paper (GpuBE's two) [default: none]
    #[arg(long, value_name = "NAME", value_parser = named(&KERNELS))]
    kernel: Option<String>,
    /// Options of every table
    #[command(flatten)]
    shared: ExperimentFlags,
}

/// Measures the table.
///
/// # Errors
/// [`Error::Usage`]; an error if memory is too small or bounds do not agree.
pub fn run(flags: DcopFlags) -> Result<(), Error> {
    let stop = Stop::new();
    if !(0.0..=1.0).contains(&flags.p2) {
        return Err(Error::Usage(format!("--p2 {}: expected a share from 0 to 1", flags.p2)));
    }
    let (memory, cpu) = (flags.shared.memory(), !flags.shared.no_cpu);
    let (table, gpu) = flags.shared.begin(
        "seconds, DPOP simulated, GTX Titan as the paper has it\n\
         table        n    d  z  seed  width     joint  BE cpu     BE dev     DPOP cpu   DPOP dev   paper      \
         Titan BE   DPOP",
    )?;
    let DcopFlags { most_joint_entries, p2, values, kernel, .. } = flags;
    let paper = kernel.is_some();
    if paper && gpu.is_none() {
        return Err(Error::Usage("--kernel paper needs a CUDA device".into()));
    }
    let options = DcopOptions { gpu: gpu.as_ref(), cpu, paper, memory, most_joint_entries, p2 };
    let tables =
        TABLES.iter().filter(|table| flags.table.is_empty() || flags.table.iter().any(|wanted| wanted == *table));
    let settings = tables.flat_map(|name| settings(name, p2, values));
    let seeded = settings.flat_map(|setting| (1..=flags.seeds).map(move |seed| (setting.clone(), seed)));
    table.run(seeded, |(setting, seed)| {
        let row = dcop(&setting, seed, options, &stop)?;
        let line = line(&row, seed);
        Ok((row, line))
    })
}

fn line(row: &DcopRow, seed: u64) -> String {
    let time = |seconds: Option<f64>| seconds.map_or("-".into(), |seconds| format!("{seconds:.6}"));
    format!(
        "{:11} {:3} {:4} {:>2} {:5} {:6} {:9.2e}  {:<10} {:<10} {:<10} {:<10} {:<10}  {:<9}  {}",
        row.table,
        row.n,
        row.d,
        row.z.map_or("-".into(), |z| z.to_string()),
        seed,
        row.width,
        row.joint_entries,
        time(row.be_cpu_s),
        time(row.be_device_s),
        time(row.dpop_cpu_s),
        time(row.dpop_device_s),
        time(row.paper_s),
        row.titan_be_s.map_or("-".into(), |seconds| seconds.to_string()),
        row.titan_dpop_s.map_or("-".into(), |seconds| seconds.to_string()),
    )
}
