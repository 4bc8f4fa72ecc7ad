//! What `fangs bound` may be asked.

use crate::cli::input::{Input, InputFlags};
use crate::cli::orders::OrderChoice;
use crate::cli::output::{self, OutputFlags};
use crate::cli::values;
use clap::Args;
use fangs::device::Choice;
use fangs::inference::spill_room;
use fangs::record::Verbosity;
use fangs::search::BoundChoice;
use fangs::{Error, memory};
use std::time::Duration;

#[derive(Args, Debug)]
pub struct BoundFlags {
    #[command(flatten)]
    input: InputFlags,
    /// auto (exact where affordable, else shifting, join graphs, growing z, elimination by rows and searches), shift, join-graph, mbe, mbe-mm, be, sparse-be or branch
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = method)]
    method: BoundChoice,
    /// Most variables of a mini-bucket [default: grows while time remains]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    z: Option<u32>,
    /// min-fill, weighted-min-fill, min-degree, sweep, best (of these if exact elimination is in sight, else min-fill), or file:ORDER with all
    /// variables, the first eliminated first
    #[arg(long, value_name = "ORDER", default_value = "best", value_parser = OrderChoice::parse)]
    order: OrderChoice,
    /// Work without the exact reductions
    #[arg(long)]
    no_reduce: bool,
    /// Where to run: auto (a device where there is one), cpu, cuda or cuda:I
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Choice,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", value_parser = values::threads)]
    threads: Option<usize>,
    /// Wall-clock budget, loading included
    #[arg(short, long, value_name = "DUR", default_value = "60s", value_parser = values::duration)]
    time: Duration,
    /// Memory for tables: 512M, 4G [default: half of free memory]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    bound_memory: Option<u64>,
    /// Disk for tables of an exact elimination beyond that memory, in the folder that TMPDIR names: 100G, 0 for none [default: half of what is free]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    spill: Option<u64>,
    #[command(flatten)]
    output: OutputFlags,
    /// Warnings only on standard error
    #[arg(short, long)]
    quiet: bool,
}

/// The methods of `solve --bound` but for none.
fn method(text: &str) -> Result<BoundChoice, String> {
    let methods: Vec<_> = BoundChoice::ALL.into_iter().filter(|(_, choice)| *choice != BoundChoice::None).collect();
    values::choice(text, &methods, &[])
}

/// A checked run.
pub struct Config {
    pub(super) input: Input,
    pub(super) method: BoundChoice,
    pub(super) z: Option<u32>,
    pub(super) order: OrderChoice,
    pub(super) reduce: bool,
    pub(super) device: Choice,
    pub(super) threads: Option<usize>,
    pub(super) time: Duration,
    pub(super) memory: u64,
    pub(super) spill: u64,
    pub(super) output: OutputFlags,
    pub(super) verbosity: Verbosity,
}

impl TryFrom<Box<BoundFlags>> for Config {
    type Error = Error;

    fn try_from(flags: Box<BoundFlags>) -> Result<Self, Error> {
        if flags.z.is_some() && matches!(flags.method, BoundChoice::Be | BoundChoice::Branch) {
            let name = flags.method.name();
            return Err(Error::Usage(format!(
                "--method {name} has no --z: that is for mini-buckets of the whole network"
            )));
        }
        let input = Input::try_from(flags.input)?;
        let OutputFlags { solution, certificate, csv, .. } = &flags.output;
        output::all_different(&[input.path()], &[solution.as_deref(), certificate.as_deref(), csv.as_deref()])?;
        Ok(Config {
            input,
            method: flags.method,
            z: flags.z,
            order: flags.order,
            reduce: !flags.no_reduce,
            device: flags.device,
            threads: flags.threads,
            time: flags.time,
            memory: flags.bound_memory.unwrap_or_else(|| memory::available() / 2),
            spill: spill_room(flags.spill),
            output: flags.output,
            verbosity: if flags.quiet { Verbosity::Quiet } else { Verbosity::Normal },
        })
    }
}
