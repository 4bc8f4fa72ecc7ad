//! The table `decide`: the experiments of Adoe, Chen and Doshi on interactive diagrams.

use super::named;
use crate::decide::{DecideOptions, DecideRow, EXPERIMENTS, decide, decide_settings};
use crate::error::Error;
use crate::experiment::ExperimentFlags;
use crate::stop::Stop;
use clap::Args;

const WORDS: [(&str, &str); 3] = [
    ("tiger", "Table 1: two agents and a tiger"),
    ("uav", "Table 2: an aircraft and a fugitive; the numbers are our own"),
    ("blocks", "Figure 9: the tiger by threads of a block of the paper's kernels, on a device"),
];

/// Options of the table.
#[derive(Args, Debug)]
pub struct DecideFlags {
    /// Experiment, may be repeated [default: all]
    #[arg(long, value_name = "TABLE", value_parser = named(&WORDS))]
    table: Vec<String>,
    /// Most models of the other agent; rows of more are left out
    #[arg(long, value_name = "N", default_value_t = 100)]
    most_models: usize,
    /// Options of every table
    #[command(flatten)]
    shared: ExperimentFlags,
}

/// Measures the table.
///
/// # Errors
/// [`Error::Usage`] if a required device is missing; an error if values do not agree.
pub fn run(flags: DecideFlags) -> Result<(), Error> {
    let stop = Stop::new();
    let (memory, cpu) = (flags.shared.memory(), !flags.shared.no_cpu);
    let (table, gpu) = flags.shared.begin(
        "seconds: all of it, with models merged and by the paper's method; on the device the flat diagram alone and \
         the other's models one after the other (level 0), by our kernels and by the paper's; the paper's own\n\
         table   models  last  T1  T0  value         merged     CPU        device     speed-up  mean phi  mean psi  \
         flat      paper's k.  level 0   paper's k.  block  paper CPU  GPU",
    )?;
    let options = DecideOptions { gpu: gpu.as_ref(), cpu, memory };
    if gpu.is_none() && flags.table.iter().any(|table| table == "blocks") {
        return Err(Error::Usage("--table blocks needs a CUDA device".into()));
    }
    let wanted = |table: &&&str| match flags.table.is_empty() {
        true => **table != "blocks" || gpu.is_some(),
        false => flags.table.iter().any(|wanted| wanted == *table),
    };
    let tables = EXPERIMENTS.iter().filter(wanted);
    let settings = tables.flat_map(|table| decide_settings(table));
    let settings = settings.filter(|setting| setting.models <= flags.most_models);
    table.run(settings, |setting| {
        let row = decide(&setting, options, &stop)?;
        let line = line(&row);
        Ok((row, line))
    })
}

fn line(row: &DecideRow) -> String {
    let time = |seconds: Option<f64>| seconds.map_or("-".into(), |seconds| format!("{seconds:.6}"));
    let count = |entries: Option<f64>| entries.map_or("-".into(), |entries| format!("{entries:.1}"));
    let plain = |seconds: Option<f64>| seconds.map_or("-".into(), |seconds| seconds.to_string());
    format!(
        "{:6}  {:6}  {:4}  {:2}  {:2}  {:<12}  {:<9}  {:<9}  {:<9}  {:<8}  {:<8}  {:<8}  {:<8}  {:<10}  {:<8}  {:<10}  \
         {:5}  {:<9}  {}",
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
        time(row.flat_s),
        time(row.paper_kernels_flat_s),
        time(row.level0_s),
        time(row.paper_kernels_level0_s),
        row.block,
        plain(row.paper_cpu_s),
        plain(row.paper_gpu_s),
    )
}
