//! `fangs bench dcop`: the papers' experiments on DPOP.

use super::output::{self, Rows};
use super::{Exit, help, signals, values};
use clap::Args;
use fangs::bench::dcop::{DcopOptions, DcopRow, TABLES, dcop, settings};
use fangs::device::Choice;
use fangs::elimination::Gpu;
use fangs::stop::Stop;
use fangs::{Error, memory};
use serde_json::json;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct DcopFlags {
    /// Part of the experiments, may be repeated [default: all]
    #[arg(long, value_name = "TABLE", help_heading = help::INPUT,
        value_parser = values::named(TABLES.map(|table| (table, table)), help::TABLES))]
    table: Vec<&'static str>,
    /// Networks of each kind, with the seeds 1, 2, …
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = help::INPUT,
        value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Share of the entries of each table that are forbidden; 0.9, as the paper says, leaves no solution
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, help_heading = help::INPUT)]
    p2: f64,
    /// Where to run besides the CPU: auto (a CUDA device where one works), cpu, cuda or cuda:I
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = Choice::of_one,
        help_heading = help::BOUNDS)]
    device: Choice,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", value_parser = values::threads, help_heading = help::BOUNDS)]
    pub threads: Option<usize>,
    /// Leave out the CPU where there is a device
    #[arg(long, help_heading = help::BOUNDS)]
    no_cpu: bool,
    /// Memory for tables, such as 512M or 4G [default: half of free memory]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = help::BOUNDS)]
    bound_memory: Option<u64>,
    /// Combinations from which on a row only has its sizes
    #[arg(long, value_name = "N", default_value_t = 1e11, help_heading = help::BOUNDS)]
    most_joint_entries: f64,
    /// Write the rows of the table to a file
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    csv: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    json: bool,
}

/// Measures.
pub fn run(flags: DcopFlags) -> Result<Exit, Error> {
    let stop = signals::listen()?;
    if !(0.0..=1.0).contains(&flags.p2) {
        return Err(Error::Usage(format!("--p2 {}: expected a share from 0 to 1", flags.p2)));
    }
    let mut csv = Rows::create(flags.csv)?;
    let opened = flags.device.open().map_err(|error| Error::Usage(error.to_string()))?;
    let gpu = opened.cuda.clone().map(Gpu::new);
    let options = DcopOptions {
        gpu: gpu.as_ref(),
        cpu: !flags.no_cpu,
        memory: flags.bound_memory.unwrap_or_else(|| memory::available() / 2),
        most_joint_entries: flags.most_joint_entries,
        p2: flags.p2,
    };
    let threads = rayon::current_num_threads();
    if !flags.json {
        output::print(&format_args!(
            "{opened}; CPU with {threads} threads; seconds, DPOP simulated, GTX Titan as the paper has it\n\
             table        n    d  z  seed  width     joint  BE cpu     BE dev     DPOP cpu   DPOP dev    \
             Titan BE   DPOP\n"
        ))?;
    }
    let tables = TABLES.iter().filter(|table| flags.table.is_empty() || flags.table.contains(table));
    let mut rows: Vec<DcopRow> = Vec::new();
    'all: for table in tables {
        for setting in settings(table, flags.p2) {
            for seed in 1..=flags.seeds {
                let row = match dcop(&setting, seed, options, &stop) {
                    Err(Error::Stopped) => break 'all,
                    row => row?,
                };
                csv.push(&row)?;
                if !flags.json {
                    output::print(&format_args!("{}\n", line(&row, seed)))?;
                }
                rows.push(row);
            }
        }
    }
    if flags.json {
        output::print_json(&json!({"device": opened.name(), "threads": threads, "rows": rows}))?;
    }
    csv.finish(&Stop::new()).map(|()| Exit::Done)
}

fn line(row: &DcopRow, seed: u64) -> String {
    let time = |seconds: Option<f64>| seconds.map_or("-".into(), |seconds| format!("{seconds:.6}"));
    format!(
        "{:11} {:3} {:4} {:>2} {:5} {:6} {:9.2e}  {:<10} {:<10} {:<10} {:<10}  {:<9}  {}",
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
        row.titan_be_s.map_or("-".into(), |seconds| seconds.to_string()),
        row.titan_dpop_s.map_or("-".into(), |seconds| seconds.to_string()),
    )
}
