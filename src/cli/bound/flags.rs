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
    /// Method that proves the bound
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = values::method(false),
        help_heading = help::BOUNDS)]
    method: BoundChoice,
    /// Largest number z of variables in a mini-bucket, the i-bound plus 1 [default: grows while time remains]
    #[arg(long, value_name = "N", value_parser = values::positive::<u32>, help_heading = help::BOUNDS)]
    z: Option<u32>,
    /// Elimination order: best, min-fill, weighted-min-fill, min-degree, sweep, or file:ORDER
    ///
    /// best takes the best order of all rules if exact elimination may be possible, otherwise the best of min-fill. A
    /// file lists all variables of the network, in the order of elimination.
    #[arg(long, value_name = "ORDER", default_value = "best", value_parser = OrderChoice::parse,
        help_heading = help::BOUNDS)]
    order: OrderChoice,
    /// Skip the exact reductions before elimination, except that variables in no function are removed
    #[arg(long, help_heading = help::BOUNDS)]
    no_reduce: bool,
    /// Where to run: auto (a CUDA device if one works), cpu, cuda or cuda:I; several as cuda:0,1 or cuda:all
    ///
    /// Several devices share large exact eliminations, which are cut into slices; the first device does all other work.
    #[arg(long, value_name = "DEVICE", default_value = "auto", help_heading = help::BOUNDS)]
    device: Choice,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", value_parser = values::threads, help_heading = help::BOUNDS)]
    threads: Option<usize>,
    /// Memory for tables, such as 512M or 4G [default: half of free memory]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = help::BOUNDS)]
    bound_memory: Option<u64>,
    /// Disk space for tables of exact elimination that exceed the memory, such as 100G [default: half of the free
    /// space]
    ///
    /// The tables are in unnamed files in the folder that TMPDIR names; 0 disables them.
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = help::BOUNDS)]
    spill: Option<u64>,
    #[command(flatten)]
    output: OutputFlags,
    /// Print only warnings on standard error, and no progress line
    #[arg(short, long, help_heading = help::OUTPUT)]
    quiet: bool,
}

/// A checked configuration of `fangs bound`.
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
    /// Returns the options of the proof: method, limits, order and device.
    pub fn proving(&self, order: Ordering, device: Opening) -> ProvingOptions {
        ProvingOptions::default().with(|options| {
            let bounder = &mut options.bounder;
            (bounder.choice, bounder.z) = (self.method, self.z);
            bounder.certified = self.output.certificate.is_some();
            (bounder.memory, bounder.spill) = (self.memory, self.spill);
            (options.order, options.device, options.reduce) = (order, device, self.reduce);
            options.activity = self.activity.clone();
        })
    }

    /// Turns an error about memory into one that also gives the advice of the chosen method, if it has any.
    pub fn hinted(&self, error: Error) -> Error {
        let Some(hint) = self.method.method().advice else { return error };
        match error {
            Error::Memory(what) => Error::Usage(format!("{what} ({hint})")),
            other => other,
        }
    }
}
