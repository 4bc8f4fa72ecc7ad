//! The options of `fangs dcop`.

use crate::cli::help;
use crate::cli::input::{Input, InputFlags};
use crate::cli::values;
use clap::Args;
use fangs_base::Error;
use fangs_base::activity::Activity;
use fangs_base::memory;
use fangs_dcop::{Latency, LocalOptions, LocalSearch};
use fangs_device::Choice;
use fangs_elimination::order::{Method, Visit};
use fangs_report::Verbosity;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args, Debug)]
pub struct DcopFlags {
    #[command(flatten)]
    input: InputFlags,
    /// Further YAML files with other parts of the same problem, such as its agents
    #[arg(value_name = "PART")]
    parts: Vec<PathBuf>,
    /// Algorithm by which the agents solve the problem
    #[arg(long, value_name = "NAME", default_value = "auto", help_heading = help::SEARCH,
        value_parser = values::named(Algorithm::ALL, help::ALGORITHMS))]
    algorithm: Algorithm,
    /// Largest number z of variables in a mini-bucket of ADPOP, its own included [default: by memory]
    #[arg(long, value_name = "N", value_parser = values::positive::<u32>, help_heading = help::SEARCH)]
    z: Option<u32>,
    /// Exact DPOP with at most this many entries per message, repeated for the values of cut variables [default: none]
    #[arg(long, value_name = "ENTRIES", value_parser = values::positive::<u64>,
        help_heading = help::SEARCH)]
    message_limit: Option<u64>,
    /// The pseudo-tree that messages follow: dfs, dfs-min, dfs-id, dfs-best, order, a rule of --order, or file:F
    ///
    /// dfs visits the neighbour with most neighbours first, dfs-min the one with fewest, dfs-id by index; dfs-best is
    /// the best of 64 such searches. order takes the best elimination order; agents then also send messages to agents
    /// that share no function with them. A file has a line for each variable: its name and that of its parent.
    #[arg(long, value_name = "RULE", default_value = "dfs", value_parser = TreeChoice::parse,
        help_heading = help::SEARCH)]
    pseudo_tree: TreeChoice,
    /// The variable at the root of a depth-first tree [default: by the rule]
    #[arg(long, value_name = "NAME", help_heading = help::SEARCH)]
    root: Option<String>,
    /// How the agents run: levels (all at once), or agents (one after the other, timed)
    #[arg(long, value_name = "MODE", default_value = "levels", help_heading = help::SEARCH,
        value_parser = values::named(Mode::ALL, help::MODES))]
    mode: Mode,
    /// Run agents as processes that send each other messages [default: all in this process]
    #[arg(long, value_name = "HOW", help_heading = help::SEARCH,
        value_parser = values::named([("tcp", "tcp")], help::TRANSPORTS))]
    agents_over: Option<&'static str>,
    /// Number of processes that run the agents [default: 4, or one per agent if there are fewer]
    #[arg(long, value_name = "N", value_parser = values::within::<u16>(1, 1000), requires = "agents_over",
        help_heading = help::SEARCH)]
    processes: Option<u16>,
    /// Time that a message takes in the simulated runtime of --mode agents
    #[arg(long, value_name = "DUR", default_value = "0", value_parser = values::duration,
        help_heading = help::SEARCH)]
    latency: Duration,
    /// Time that each byte of a message adds to --latency
    #[arg(long, value_name = "DUR", default_value = "0", value_parser = values::duration,
        help_heading = help::SEARCH)]
    latency_per_byte: Duration,
    /// Limit on cycles of dsa, mgm and max-sum [default: 1000; no limit for max-sum on a network without cycles]
    #[arg(long, value_name = "N", value_parser = values::whole::<u64>, help_heading = help::SEARCH)]
    cycles: Option<u64>,
    /// Seed of the initial values and random choices of dsa and mgm
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::whole::<u64>,
        help_heading = help::SEARCH)]
    seed: u64,
    /// Stop after this wall-clock time, loading included: 30, 500ms, 5m, 1h 30m
    #[arg(short, long, value_name = "DUR", default_value = "60s", value_parser = values::duration,
        help_heading = help::BUDGET)]
    time: Duration,
    /// Where to run: auto (a CUDA device if one works), cpu, cuda or cuda:I
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = Choice::of_one,
        help_heading = help::SEARCH)]
    device: Choice,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", value_parser = values::threads, help_heading = help::SEARCH)]
    threads: Option<usize>,
    /// Memory for tables, such as 512M or 4G [default: half of free memory]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = help::SEARCH)]
    bound_memory: Option<u64>,
    /// Write the solution to a file: a JSON object of names
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    solution: Option<PathBuf>,
    /// Write a row for each agent: sizes of what it joined and sent, and times
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    trace: Option<PathBuf>,
    /// Write a row for each cycle of dsa, mgm and max-sum, with the columns of pyDCOP
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    run_metrics: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    json: bool,
    /// Print only warnings on standard error
    #[arg(short, long, help_heading = help::OUTPUT)]
    quiet: bool,
}

/// Number of processes that run agents, unless the user gives one.
const PROCESSES: u16 = 4;

/// An algorithm by which agents solve a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Auto,
    Dpop,
    Adpop,
    Local(LocalSearch),
}

impl Algorithm {
    pub const ALL: [(&'static str, Algorithm); 6] = [
        ("auto", Algorithm::Auto),
        ("dpop", Algorithm::Dpop),
        ("adpop", Algorithm::Adpop),
        ("dsa", Algorithm::Local(LocalSearch::Dsa)),
        ("mgm", Algorithm::Local(LocalSearch::Mgm)),
        ("max-sum", Algorithm::Local(LocalSearch::MaxSum)),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, algorithm)| *algorithm == self).map_or("", |(name, _)| name)
    }
}

/// The order in which the agents of a plan run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Levels,
    Agents,
}

impl Mode {
    pub const ALL: [(&'static str, Mode); 2] = [("levels", Mode::Levels), ("agents", Mode::Agents)];
}

/// A rule that builds a pseudo-tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeChoice {
    DepthFirst(Visit),
    Best,
    /// The tree of the best elimination order of all rules, or of one rule.
    Order(Option<Method>),
    File(PathBuf),
}

impl TreeChoice {
    /// Names of the rules of depth-first trees.
    pub const DEPTH_FIRST: [(&'static str, Visit); 3] =
        [("dfs", Visit::MostNeighbours), ("dfs-min", Visit::FewestNeighbours), ("dfs-id", Visit::Index)];

    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("file:") {
            return Ok(TreeChoice::File(path.into()));
        }
        let depth_first = Self::DEPTH_FIRST.map(|(name, visit)| (name, TreeChoice::DepthFirst(visit)));
        let rules = Method::ALL.map(|(name, method)| (name, TreeChoice::Order(Some(method))));
        let others = [("dfs-best", TreeChoice::Best), ("order", TreeChoice::Order(None))];
        let all: Vec<_> = depth_first.into_iter().chain(others).chain(rules).collect();
        all.iter().find(|(name, _)| values::is_called(text, name)).map(|(_, choice)| choice.clone()).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            format!("expected one of {}, or file:F", names.join(", "))
        })
    }

    pub fn name(&self) -> String {
        match self {
            TreeChoice::DepthFirst(visit) => {
                Self::DEPTH_FIRST.iter().find(|(_, known)| known == visit).map_or("", |(name, _)| name).into()
            }
            TreeChoice::Best => "dfs-best".into(),
            TreeChoice::Order(None) => "order".into(),
            TreeChoice::Order(Some(method)) => method.name().into(),
            TreeChoice::File(path) => format!("file:{}", path.display()),
        }
    }
}

/// A checked configuration of `fangs dcop`.
pub struct Config {
    pub input: Input,
    pub algorithm: Algorithm,
    pub z: Option<u32>,
    pub message_limit: Option<u64>,
    pub tree: TreeChoice,
    pub root: Option<String>,
    pub mode: Mode,
    /// Maximal number of processes that run the agents; `None` if they run in this process.
    pub processes: Option<usize>,
    pub latency: Latency,
    pub local: LocalOptions,
    pub time: Duration,
    pub device: Choice,
    pub threads: Option<usize>,
    pub memory: u64,
    pub solution: Option<PathBuf>,
    pub trace: Option<PathBuf>,
    pub run_metrics: Option<PathBuf>,
    pub json: bool,
    pub verbosity: Verbosity,
    /// The phase that the progress line shows.
    pub activity: Activity,
}

impl TryFrom<Box<DcopFlags>> for Config {
    type Error = Error;

    fn try_from(flags: Box<DcopFlags>) -> Result<Self, Error> {
        let usage = |message: &str| Err(Error::Usage(message.into()));
        let algorithm = match (flags.algorithm, flags.z, flags.message_limit) {
            (_, Some(_), Some(_)) => return usage("--z is of ADPOP, --message-limit of exact DPOP: take one of them"),
            (Algorithm::Auto | Algorithm::Adpop, Some(_), _) => Algorithm::Adpop,
            (_, Some(_), _) => return usage("--z is of --algorithm adpop"),
            (Algorithm::Auto | Algorithm::Dpop, _, Some(_)) => Algorithm::Dpop,
            (_, _, Some(_)) => return usage("--message-limit is of --algorithm dpop"),
            (algorithm, None, None) => algorithm,
        };
        let runs_plan = !matches!(algorithm, Algorithm::Local(_)) && flags.message_limit.is_none();
        if flags.mode == Mode::Agents && !runs_plan {
            return usage("--mode agents is of DPOP and ADPOP without --message-limit");
        }
        if flags.trace.is_some() && !runs_plan {
            return usage("--trace is of DPOP and ADPOP without --message-limit");
        }
        if flags.run_metrics.is_some() && !matches!(algorithm, Algorithm::Local(_)) {
            return usage("--run-metrics is of dsa, mgm and max-sum: DPOP and ADPOP have no cycles, --trace is theirs");
        }
        if flags.root.is_some() && !matches!(flags.pseudo_tree, TreeChoice::DepthFirst(_) | TreeChoice::Best) {
            return usage("--root is of depth-first trees");
        }
        if flags.agents_over.is_some() && (!runs_plan || flags.mode == Mode::Agents) {
            return usage("--agents-over is of DPOP and ADPOP, without --message-limit and --mode");
        }
        let input = Input::try_from(flags.input)?.with_parts(flags.parts)?;
        let tree = if let TreeChoice::File(path) = &flags.pseudo_tree { Some(path.as_path()) } else { None };
        let files = input.files()?.reads("--pseudo-tree", tree)?;
        let files = files.writes("--solution", flags.solution.as_deref())?;
        let files = files.writes("--trace", flags.trace.as_deref())?;
        let _ = files.writes("--run-metrics", flags.run_metrics.as_deref())?;
        let latency = Latency { message_s: flags.latency.as_secs_f64(), byte_s: flags.latency_per_byte.as_secs_f64() };
        Ok(Config {
            input,
            algorithm,
            z: flags.z,
            message_limit: flags.message_limit,
            tree: flags.pseudo_tree,
            root: flags.root,
            mode: flags.mode,
            processes: flags.agents_over.map(|_| flags.processes.unwrap_or(PROCESSES).into()),
            latency,
            local: LocalOptions { cycles: flags.cycles, seed: flags.seed, ..LocalOptions::default() },
            time: flags.time,
            device: flags.device,
            threads: flags.threads,
            memory: flags.bound_memory.unwrap_or_else(|| memory::available() / 2),
            solution: flags.solution,
            trace: flags.trace,
            run_metrics: flags.run_metrics,
            json: flags.json,
            verbosity: if flags.quiet { Verbosity::Quiet } else { Verbosity::Normal },
            activity: Activity::default(),
        })
    }
}
