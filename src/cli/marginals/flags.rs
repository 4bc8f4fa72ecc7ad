//! The options of `fangs marginals`.

use crate::cli::orders::OrderChoice;
use crate::cli::potentials::{PotentialsFlags, PotentialsInput};
use crate::cli::{help, values};
use clap::Args;
use fangs_base::Error;
use fangs_base::activity::Activity;
use fangs_base::memory;
use fangs_device::Choice;
use fangs_report::Verbosity;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args, Debug)]
pub struct MarginalsFlags {
    #[command(flatten)]
    input: PotentialsFlags,
    /// Compute the sum and posteriors of many cases, a JSON object or a CSV row each, and print a JSON line for
    /// each [default: none]
    ///
    /// An object names variables and their values, or lists of weights: {"rain": "yes", "wind": [0.2, 0.8]}. The first
    /// line of a .csv names variables, the others have values; an empty field is not observed.
    #[arg(long, value_name = "FILE", help_heading = help::INPUT)]
    cases: Option<PathBuf>,
    /// Print only the posteriors of these variables, by names or indices: A,B [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = help::OUTPUT)]
    variables: Vec<String>,
    /// Find the values of this file's variables for which the sum over all others is largest (marginal MAP)
    /// [default: none]
    ///
    /// If tables do not fit into memory, a time limit gives the best values found and bounds from both sides.
    #[arg(long, value_name = "FILE.map", conflicts_with_all = ["cases", "variables", "only_z", "uai", "order"],
        help_heading = help::INPUT)]
    maximize: Option<PathBuf>,
    /// Compute only the sum, no posteriors
    #[arg(long, conflicts_with = "variables", help_heading = help::OUTPUT)]
    only_z: bool,
    /// Elimination order: best, min-fill, weighted-min-fill, min-degree, sweep, or file:ORDER
    #[arg(long, value_name = "ORDER", default_value = "best", value_parser = OrderChoice::parse,
        help_heading = help::BOUNDS)]
    order: OrderChoice,
    /// Where to run: auto (a CUDA device if one works and it pays), cpu, cuda or cuda:I; --maximize is on the CPU
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = Choice::of_one,
        help_heading = help::BOUNDS)]
    device: Choice,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", value_parser = values::threads, help_heading = help::BOUNDS)]
    threads: Option<usize>,
    /// Stop after this wall-clock time, loading included: 30, 500ms, 5m, 1h 30m [default: no limit]
    ///
    /// With a time limit, bounds come first; if exact tables take too much memory or time, the sum is bounded from both
    /// sides until the limit. Reading and the first bound may take longer than the limit.
    #[arg(short, long, value_name = "DUR", value_parser = values::duration, help_heading = help::BUDGET)]
    time: Option<Duration>,
    /// Memory of the CPU for tables, such as 512M or 4G [default: half of free memory]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = help::BOUNDS)]
    bound_memory: Option<u64>,
    /// Write PREFIX.PR and PREFIX.MAR, in the form of the UAI competitions
    #[arg(long, value_name = "PREFIX", conflicts_with = "cases", help_heading = help::OUTPUT)]
    uai: Option<PathBuf>,
    /// Write a row for each bound and second, as they happen, of sums whose tables do not fit
    #[arg(long, value_name = "FILE", requires = "time", conflicts_with = "cases", help_heading = help::OUTPUT)]
    csv: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    json: bool,
    /// Print only warnings on standard error
    #[arg(short, long, help_heading = help::OUTPUT)]
    quiet: bool,
}

/// A checked call of `fangs marginals`.
#[derive(Clone, Debug)]
pub struct Config {
    pub(super) input: PotentialsInput,
    pub(super) cases: Option<PathBuf>,
    pub(super) maximize: Option<PathBuf>,
    /// The variables whose posteriors are wanted; `None` for all of them.
    pub(super) variables: Option<Vec<String>>,
    pub(super) order: OrderChoice,
    pub(super) device: Choice,
    pub(super) threads: Option<usize>,
    pub(super) time: Option<Duration>,
    pub(super) memory: u64,
    /// The two files of the UAI competitions.
    pub(super) uai: Option<[PathBuf; 2]>,
    pub(super) csv: Option<PathBuf>,
    pub(super) json: bool,
    pub(super) verbosity: Verbosity,
    /// The phase that the progress line shows.
    pub(super) activity: Activity,
}

impl TryFrom<MarginalsFlags> for Config {
    type Error = Error;

    fn try_from(flags: MarginalsFlags) -> Result<Self, Error> {
        let on_host = flags.maximize.is_some();
        if flags.device.is_named() && on_host {
            return Err(Error::Usage(format!(
                "--device {}: --maximize runs on the CPU; use auto or cpu",
                flags.device
            )));
        }
        let input = PotentialsInput::try_from(flags.input)?;
        let uai = flags.uai.map(|prefix| {
            [".PR", ".MAR"].map(|ending| {
                let mut path = prefix.clone().into_os_string();
                path.push(ending);
                PathBuf::from(path)
            })
        });
        let files = input.files()?.reads("--order", flags.order.path())?.reads("--cases", flags.cases.as_deref())?;
        let files = files.reads("--maximize", flags.maximize.as_deref())?;
        let files = files.writes("--csv", flags.csv.as_deref())?;
        let _ = uai.iter().flatten().try_fold(files, |files, path| files.writes("--uai", Some(path)))?;
        let variables = if flags.only_z { Some(Vec::new()) } else { None };
        Ok(Config {
            input,
            cases: flags.cases,
            maximize: flags.maximize,
            variables: if flags.variables.is_empty() { variables } else { Some(flags.variables) },
            order: flags.order,
            device: if on_host { Choice::Cpu } else { flags.device },
            threads: flags.threads,
            time: flags.time,
            memory: flags.bound_memory.unwrap_or_else(|| memory::available() / 2),
            uai,
            csv: flags.csv,
            json: flags.json,
            verbosity: if flags.quiet { Verbosity::Quiet } else { Verbosity::Normal },
            activity: Activity::default(),
        })
    }
}
