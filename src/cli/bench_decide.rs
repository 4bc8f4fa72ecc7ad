//! `fangs bench decide`: the paper's experiments on interactive diagrams.

use super::output::{self, Rows};
use super::{Exit, help, signals, values};
use clap::Args;
use fangs::bench::decide::{DecideOptions, DecideRow, EXPERIMENTS, decide, decide_settings};
use fangs::device::Choice;
use fangs::elimination::Gpu;
use fangs::stop::Stop;
use fangs::{Error, memory};
use serde_json::json;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct DecideBenchFlags {
    /// Experiment, may be repeated [default: all]
    #[arg(long, value_name = "TABLE", help_heading = help::INPUT,
        value_parser = values::named(EXPERIMENTS.map(|table| (table, table)), help::EXPERIMENTS))]
    table: Vec<&'static str>,
    /// Most models of the other agent; rows of more are left out
    #[arg(long, value_name = "N", default_value = "100", value_parser = values::positive,
        help_heading = help::INPUT)]
    most_models: usize,
    /// Where to run besides the CPU: auto (a CUDA device where one works), cpu, cuda or cuda:I
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = Choice::of_one,
        help_heading = help::BOUNDS)]
    device: Choice,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", value_parser = values::threads, help_heading = help::BOUNDS)]
    pub threads: Option<usize>,
    /// Leave out elimination on the CPU where there is a device
    #[arg(long, help_heading = help::BOUNDS)]
    no_cpu: bool,
    /// Memory for tables, such as 512M or 4G [default: half of free memory]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = help::BOUNDS)]
    bound_memory: Option<u64>,
    /// Write the rows of the table to a file
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    csv: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    json: bool,
}

/// Measures.
pub fn run(flags: DecideBenchFlags) -> Result<Exit, Error> {
    let stop = signals::listen()?;
    let mut csv = Rows::create(flags.csv)?;
    let opened = flags.device.open().map_err(|error| Error::Usage(error.to_string()))?;
    let gpu = opened.cuda.clone().map(Gpu::new);
    let options = DecideOptions {
        gpu: gpu.as_ref(),
        cpu: !flags.no_cpu,
        memory: flags.bound_memory.unwrap_or_else(|| memory::available() / 2),
    };
    let threads = rayon::current_num_threads();
    if !flags.json {
        output::print(&format_args!(
            "{opened}; CPU with {threads} threads; seconds: models merged and along beliefs, elimination of the flat \
             diagram, the paper's\n\
             table  models  last  T1  T0  value         merged     CPU        device     speed-up  mean phi  mean psi  \
             paper CPU  GPU\n"
        ))?;
    }
    let tables = EXPERIMENTS.iter().filter(|table| flags.table.is_empty() || flags.table.contains(table));
    let mut rows: Vec<DecideRow> = Vec::new();
    let settings = tables.flat_map(|table| decide_settings(table));
    for setting in settings.filter(|setting| setting.models <= flags.most_models) {
        let row = match decide(&setting, options, &stop) {
            Err(Error::Stopped) => break,
            row => row?,
        };
        csv.push(&row)?;
        if !flags.json {
            output::print(&format_args!("{}\n", line(&row)))?;
        }
        rows.push(row);
    }
    if flags.json {
        output::print_json(&json!({"device": opened.name(), "threads": threads, "rows": rows}))?;
    }
    csv.finish(&Stop::new()).map(|()| Exit::Done)
}

fn line(row: &DecideRow) -> String {
    let time = |seconds: Option<f64>| seconds.map_or("-".into(), |seconds| format!("{seconds:.6}"));
    let count = |entries: Option<f64>| entries.map_or("-".into(), |entries| format!("{entries:.1}"));
    let plain = |seconds: Option<f64>| seconds.map_or("-".into(), |seconds| seconds.to_string());
    format!(
        "{:5}  {:6}  {:4}  {:2}  {:2}  {:<12}  {:<9}  {:<9}  {:<9}  {:<8}  {:<8}  {:<8}  {:<9}  {}",
        row.table,
        row.models,
        row.last_models,
        row.t1,
        row.t0,
        row.meu.map_or("-".into(), |meu| format!("{meu:.9}")),
        time(Some(row.merged_s)),
        time(row.cpu_s),
        time(row.device_s),
        count(row.speed_up),
        count(row.mean_probability_factor),
        count(row.mean_utility_factor),
        plain(row.paper_cpu_s),
        plain(row.paper_gpu_s),
    )
}
