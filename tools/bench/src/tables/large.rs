//! The table `large`: the seconds that Fangs with a device, Fangs on the threads alone and plain annealing take to
//! reach the final costs of each of them and of the annealing of one state on the device.

use crate::error::Error;
use crate::experiment::ExperimentFlags;
use crate::large::{LargeRow, Methods, NETWORKS, Target, measure};
use clap::Args;
use std::time::Duration;

/// Options of the table.
#[derive(Args, Debug)]
pub struct LargeFlags {
    /// Network to search, may be repeated [default: all]
    #[arg(long, value_name = "NAME", value_parser = names())]
    network: Vec<String>,
    /// First seed of the networks
    #[arg(long, value_name = "N", default_value_t = 1)]
    first_seed: u64,
    /// Number of seeds
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Seconds of each method
    #[arg(long, value_name = "SECONDS", default_value_t = 22.0)]
    time: f64,
    /// Leave out plain annealing on the threads
    #[arg(long)]
    no_annealing: bool,
    /// Options of every table
    #[command(flatten)]
    shared: ExperimentFlags,
}

fn names() -> Vec<&'static str> {
    NETWORKS.iter().map(|network| network.name).collect()
}

/// Measures the table.
///
/// # Errors
/// [`Error::Usage`]; an error if a network does not fit in memory.
pub fn run(flags: LargeFlags) -> Result<(), Error> {
    let time = Duration::try_from_secs_f64(flags.time)
        .map_err(|error| Error::Usage(format!("--time {}: {error}", flags.time)))?;
    let cpu = !flags.shared.no_cpu;
    let (table, gpu) = flags.shared.begin(
        "seconds after loading to a cost\n\
         network          seed  reached by              cost  chromatic  (after upload)     device        cpu  \
         annealing",
    )?;
    let methods =
        Methods { gpu: gpu.as_ref().map(|gpu| gpu.cuda().clone()), cpu, annealing: !flags.no_annealing, time };
    let wanted = |name: &str| flags.network.is_empty() || flags.network.iter().any(|wanted| wanted == name);
    let networks = NETWORKS.iter().filter(|network| wanted(network.name));
    let seeds = flags.first_seed..flags.first_seed.saturating_add(flags.seeds);
    let settings = networks.flat_map(|network| seeds.clone().map(move |seed| (network, seed)));
    table.run_many(settings, |(network, seed)| {
        let rows = measure(network, seed, &methods)?;
        Ok(rows.into_iter().map(|row| {
            let line = line(&row);
            (row, line)
        }))
    })
}

fn line(row: &LargeRow) -> String {
    let time = |seconds: Option<f64>| seconds.map_or("-".into(), |seconds| format!("{seconds:.3}"));
    let by = match row.target {
        Target::Chromatic => "chromatic",
        Target::Device => "device",
        Target::Cpu => "cpu",
        Target::Annealing => "annealing",
    };
    format!(
        "{:16} {:4}  {:10}  {:>14}  {:>9}  {:>14}  {:>9}  {:>9}  {:>9}",
        row.network,
        row.seed,
        by,
        row.cost,
        time(row.chromatic_s),
        time(row.chromatic_after_upload_s),
        time(row.device_s),
        time(row.cpu_s),
        time(row.annealing_s),
    )
}
