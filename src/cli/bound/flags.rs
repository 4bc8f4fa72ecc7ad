//! The options of `fangs bound`.

use crate::cli::help;
use crate::cli::input::{Input, InputFlags};
use crate::cli::orders::OrderChoice;
use crate::cli::output::OutputFlags;
use crate::cli::values;
use clap::Args;
use fangs_base::Error;
use fangs_base::activity::Activity;
use fangs_base::memory;
use fangs_bounds::bounds::ProvingOptions;
use fangs_device::{Choice, Opening};
use fangs_elimination::elimination::spill_room;
use fangs_elimination::order::Ordering;
use fangs_report::Verbosity;
use fangs_search::BoundChoice;
use std::time::Duration;

#[derive(Args, Debug)]
pub struct BoundFlags {
    #[command(flatten)]
    input: InputFlags,
    /// Stop after this wall-clock time, loading included: 30, 500ms, 5m, 1h 30m
    #[arg(short, long, value_name = "DUR", default_value = "60s", value_parser = values::duration,
        help_heading = help::BUDGET)]
    time: Duration,
    /// How the bound is proven
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = values::method(false),
        help_heading = help::BOUNDS)]
    method: BoundChoice,
    /// Largest number of variables in a mini-bucket [default: grows while time remains]
    #[arg(long, value_name = "N", value_parser = values::positive::<u32>, help_heading = help::BOUNDS)]
    z: Option<u32>,
    /// Elimination order: best, min-fill, weighted-min-fill, min-degree, sweep, or file:ORDER
    ///
    /// best takes the best of all rules where exact elimination is in sight, otherwise min-fill. A file has all
    /// variables of the network, the first eliminated first.
    #[arg(long, value_name = "ORDER", default_value = "best", value_parser = OrderChoice::parse,
        help_heading = help::BOUNDS)]
    order: OrderChoice,
    /// Leave out the exact reductions that come before elimination, but for variables that no function reads
    #[arg(long, help_heading = help::BOUNDS)]
    no_reduce: bool,
    /// Where to run: auto (a CUDA device where one works), cpu, cuda or cuda:I; several as cuda:0,1 or cuda:all
    ///
    /// Several devices share large exact eliminations, cut into slices; all else is the first one's.
    #[arg(long, value_name = "DEVICE", default_value = "auto", help_heading = help::BOUNDS)]
    device: Choice,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", value_parser = values::threads, help_heading = help::BOUNDS)]
    threads: Option<usize>,
    /// Memory for tables, such as 512M or 4G [default: half of free memory]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = help::BOUNDS)]
    bound_memory: Option<u64>,
    /// Disk for tables of exact elimination beyond that, such as 100G [default: half of what is free]
    ///
    /// They are files without names in the folder that TMPDIR names; 0 is for none.
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = help::BOUNDS)]
    spill: Option<u64>,
    #[command(flatten)]
    output: OutputFlags,
    /// Only warnings on standard error, no progress line
    #[arg(short, long, help_heading = help::OUTPUT)]
    quiet: bool,
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
    pub(super) activity: Activity,
}

impl TryFrom<Box<BoundFlags>> for Config {
    type Error = Error;

    fn try_from(flags: Box<BoundFlags>) -> Result<Self, Error> {
        if flags.z.is_some() && !flags.method.strategies().have_z() {
            let name = flags.method.name();
            return Err(Error::Usage(format!(
                "--method {name} has no --z: that is for mini-buckets of the whole network"
            )));
        }
        let input = Input::try_from(flags.input)?;
        let OutputFlags { solution, certificate, csv, .. } = &flags.output;
        let files = input.files()?.reads("--order", flags.order.path())?;
        let files = files.writes("--solution", solution.as_deref())?;
        let _ = files.writes("--certificate", certificate.as_deref())?.writes("--csv", csv.as_deref())?;
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
            activity: Activity::default(),
        })
    }
}

impl Config {
    /// What the library is to prove.
    pub fn proving(&self, order: Ordering, device: Opening) -> ProvingOptions {
        ProvingOptions::default().with(|options| {
            let bounder = &mut options.bounder;
            (bounder.choice, bounder.z) = (self.method, self.z);
            (bounder.memory, bounder.spill) = (self.memory, self.spill);
            (options.order, options.device) = (order, device);
            (options.reduce, options.certified) = (self.reduce, self.output.certificate.is_some());
            options.activity = self.activity.clone();
        })
    }

    /// An error with what helps where the method that was asked for does not fit.
    pub fn hinted(&self, error: Error) -> Error {
        let Some(hint) = self.method.method().advice else { return error };
        match error {
            Error::Memory(what) => Error::Usage(format!("{what} ({hint})")),
            other => other,
        }
    }
}
