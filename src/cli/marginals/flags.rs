//! The options of `fangs marginals`.

use crate::cli::orders::OrderChoice;
use crate::cli::potentials::{PotentialsFlags, PotentialsInput};
use crate::cli::{help, values};
use clap::Args;
use fangs_base::Error;
use fangs_base::activity::Activity;
use fangs_base::memory;
use fangs_base::stop::Stop;
use fangs_base::terminal;
use fangs_device::Choice;
use fangs_formats as formats;
use fangs_model::model::Variable;
use fangs_report::Verbosity;
use std::path::{Path, PathBuf};
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
    /// Find the values of these variables for which the sum over all others is largest (marginal MAP) [default: none]
    ///
    /// Names or indices such as A,B, or a file of them.
    /// If tables do not fit into memory, a time limit gives the best values found and bounds from both sides.
    #[arg(long, value_name = "NAMES|FILE", conflicts_with_all = ["cases", "variables", "only_z", "uai", "order"],
        help_heading = help::INPUT)]
    maximize: Option<String>,
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
    /// Write a table of the posteriors, a row for each value with its probability; with --cases, of all cases
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    csv: Option<PathBuf>,
    /// Draw the posteriors as bars into a picture, .svg, .png or .pdf
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cases", "only_z", "maximize"], help_heading = help::OUTPUT)]
    plot: Option<PathBuf>,
    /// Write a row for each lower and upper bound on ln Z and for each second, as they happen, for `fangs plot`
    #[arg(long, value_name = "FILE", requires = "time", conflicts_with = "cases", help_heading = help::OUTPUT)]
    bounds_csv: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    json: bool,
    /// Print only warnings on standard error
    #[arg(short, long, help_heading = help::OUTPUT)]
    quiet: bool,
}

/// The variables that marginal MAP maximises.
#[derive(Clone, Debug)]
pub(super) enum Maximised {
    File(PathBuf),
    Names(Vec<String>),
}

impl Maximised {
    /// Takes the name of a file if there is one, else a list of names.
    fn new(text: String) -> Self {
        match Path::new(&text).exists() {
            true => Maximised::File(text.into()),
            false => Maximised::Names(text.split(',').map(str::to_string).collect()),
        }
    }

    fn path(&self) -> Option<&Path> {
        match self {
            Maximised::File(path) => Some(path),
            Maximised::Names(_) => None,
        }
    }

    /// Returns the indices of the variables.
    pub fn variables(&self, all: &[Variable], stop: &Stop) -> Result<Vec<u32>, Error> {
        let names = match self {
            Maximised::File(path) => return formats::read_variables(path, all, stop),
            Maximised::Names(names) => names,
        };
        formats::variables_named("--maximize", names, all).map_err(|error| match &names[..] {
            [one] => Error::Usage(format!("{error}, nor is there a file `{}`", terminal::line(one))),
            _ => error,
        })
    }
}

/// A checked call of `fangs marginals`.
#[derive(Clone, Debug)]
pub struct Config {
    pub(super) input: PotentialsInput,
    pub(super) cases: Option<PathBuf>,
    pub(super) maximize: Option<Maximised>,
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
    pub(super) plot: Option<PathBuf>,
    pub(super) bounds_csv: Option<PathBuf>,
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
        let maximize = flags.maximize.map(Maximised::new);
        let uai = flags.uai.map(|prefix| {
            [".PR", ".MAR"].map(|ending| {
                let mut path = prefix.clone().into_os_string();
                path.push(ending);
                PathBuf::from(path)
            })
        });
        let files = input.files()?.reads("--order", flags.order.path())?.reads("--cases", flags.cases.as_deref())?;
        let files = files.reads("--maximize", maximize.as_ref().and_then(Maximised::path))?;
        let files = files.writes("--csv", flags.csv.as_deref())?.writes("--plot", flags.plot.as_deref())?;
        let files = files.writes("--bounds-csv", flags.bounds_csv.as_deref())?;
        let _ = uai.iter().flatten().try_fold(files, |files, path| files.writes("--uai", Some(path)))?;
        let variables = if flags.only_z { Some(Vec::new()) } else { None };
        Ok(Config {
            input,
            cases: flags.cases,
            maximize,
            variables: if flags.variables.is_empty() { variables } else { Some(flags.variables) },
            order: flags.order,
            device: if on_host { Choice::Cpu } else { flags.device },
            threads: flags.threads,
            time: flags.time,
            memory: flags.bound_memory.unwrap_or_else(|| memory::available() / 2),
            uai,
            csv: flags.csv,
            plot: flags.plot,
            bounds_csv: flags.bounds_csv,
            json: flags.json,
            verbosity: if flags.quiet { Verbosity::Quiet } else { Verbosity::Normal },
            activity: Activity::default(),
        })
    }
}
