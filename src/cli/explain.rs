//! `fangs explain`: reports the functions of a cost, or a set of functions that has no common solution.

use super::input::{Input, InputFlags};
use super::worker::{self, Session};
use super::{Exit, help, output, values};
use clap::Args;
use fangs_base::Error;
use fangs_base::terminal::line;
use fangs_check as check;
use fangs_formats as formats;
use fangs_model::model::{Cost, FORBIDDEN, Function, Network, Number};
use fangs_report::text::{counted, grouped, per_cent};
use fangs_search::Clock;
use fangs_search::explain::{self, Finding};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Number of functions that the text form lists without `--limit`.
pub const LISTED: usize = 20;

#[derive(Args, Debug)]
pub struct ExplainFlags {
    #[command(flatten)]
    input: InputFlags,
    /// The solution; without one, a set of functions that no assignment satisfies together is sought
    solution: Option<PathBuf>,
    /// List at most this many functions [default: 20, with --json all]
    #[arg(long, value_name = "N", value_parser = values::whole::<usize>, help_heading = help::OUTPUT)]
    limit: Option<usize>,
    /// Time limit on the search for functions without a common solution, loading included
    #[arg(short, long, value_name = "DUR", default_value = "60s", value_parser = values::duration,
        help_heading = help::BUDGET)]
    time: Duration,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    json: bool,
}

/// A checked call of `fangs explain`.
pub struct Config {
    input: Input,
    solution: Option<PathBuf>,
    limit: Option<usize>,
    time: Duration,
    json: bool,
}

impl TryFrom<ExplainFlags> for Config {
    type Error = Error;

    fn try_from(flags: ExplainFlags) -> Result<Self, Error> {
        let ExplainFlags { input, solution, limit, time, json } = flags;
        let input = Input::try_from(input)?;
        let _ = input.files()?.reads("the solution", solution.as_deref())?;
        Ok(Config { input, solution, limit, time, json })
    }
}

/// Rounds of the search for a solution of a subset of the functions. If it finds none and proves nothing, none of the
/// functions outside the subset is dropped.
const ROUNDS: u64 = 200;

/// Reports the functions that a solution's cost consists of, or a set of functions that has no common solution.
pub fn run(config: Config, started: Instant) -> Result<Exit, Error> {
    let budget = Some(config.time).filter(|_| config.solution.is_none());
    worker::command(started, budget, move |session| explain(&config, started, session))
}

fn explain(config: &Config, started: Instant, session: &Session) -> Result<Exit, Error> {
    let Session { stop, activity, console } = session;
    let limit = config.limit.unwrap_or(if config.json { usize::MAX } else { LISTED });
    let Some(path) = &config.solution else {
        values::use_threads(None)?;
        // the result so far is printed after the time limit
        let stop = stop.below();
        let _clock = Clock::start(started, Some(config.time), &stop);
        let network = config.input.load(console, &stop)?;
        let finding = explain::conflict(&network, ROUNDS, activity, &stop)?;
        let conflict = Conflict::new(&network, &finding, limit);
        output::print_report(&conflict, config.json)?;
        return Ok(match finding {
            Finding::Conflict { .. } => Exit::Infeasible,
            Finding::Solution(_) => Exit::Done,
            _ => Exit::NoSolution,
        });
    };
    let network = config.input.load(console, stop)?;
    activity.step("evaluating");
    let solution = formats::read_solution(path, &network, stop)?;
    output::print_report(&Explanation::new(&network, &solution, limit), config.json)?;
    Ok(Exit::Done)
}

/// The scope of a function, and perhaps the values of its variables.
#[derive(Serialize)]
pub struct Arguments {
    function: usize,
    /// The keyword of a global cost function.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// The name of the function, if the file gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    scope: Vec<u32>,
    names: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
}

impl Arguments {
    /// Describes a function of the network, with the values of an assignment if one is given.
    pub fn new(network: &Network, function: usize, assignment: Option<&[u32]>) -> Self {
        let (number, function) = (function, network.function(function));
        let scope = function.map_or(&[][..], Function::scope);
        let value = |&v: &u32, assignment: &[u32]| network.value_name(v as usize, assignment[v as usize]);
        Arguments {
            function: number,
            kind: match function {
                Some(Function::Global(global)) => Some(global.keyword.to_string()),
                _ => None,
            },
            name: network.function_name(number).map(Into::into),
            scope: scope.to_vec(),
            names: scope.iter().map(|&v| network.variable_name(v as usize)).collect(),
            values: assignment.map(|assignment| scope.iter().map(|v| value(v, assignment)).collect()),
        }
    }
}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{}:", line(name))?,
            None => write!(f, "function {}:", self.function)?,
        }
        if let Some(kind) = &self.kind {
            write!(f, " {}", line(kind))?;
        }
        for (place, name) in self.names.iter().enumerate() {
            write!(f, " {}", line(name))?;
            if let Some(values) = &self.values {
                write!(f, "={}", line(&values[place]))?;
            }
        }
        if self.names.is_empty() { write!(f, " a constant") } else { Ok(()) }
    }
}

/// Returns a cost in the file's units; `None` if it is forbidden.
pub fn finite(network: &Network, cost: Cost) -> Option<Number> {
    (cost < FORBIDDEN).then(|| network.units().number(cost))
}

/// The functions that the cost of a solution consists of.
#[derive(Serialize)]
struct Explanation {
    instance: String,
    version: &'static str,
    /// Whether the solution is feasible, that is, its total is below top.
    solution: bool,
    /// The total cost; null if the assignment contains a forbidden tuple.
    cost: Option<Number>,
    /// Number of functions with a forbidden tuple.
    violated: usize,
    /// Number of functions with cost 0.
    free: usize,
    functions: Vec<Part>,
    #[serde(skip)]
    label: &'static str,
    /// Number of functions with nonzero cost that are not listed.
    #[serde(skip)]
    more: usize,
}

/// The contribution of a function to the total cost.
#[derive(Serialize)]
struct Part {
    #[serde(flatten)]
    arguments: Arguments,
    /// The cost of the function; null if its tuple is forbidden.
    cost: Option<Number>,
    /// Share of the finite costs' sum; null if the tuple is forbidden or that sum is 0.
    share: Option<f64>,
}

impl Explanation {
    fn new(network: &Network, solution: &[u32], limit: usize) -> Self {
        let evaluation = check::evaluate(network, solution);
        let priced = explain::costs(network, solution);
        let part = |&(function, cost): &(usize, Cost)| Part {
            arguments: Arguments::new(network, function, Some(solution)),
            cost: finite(network, cost),
            share: (cost < FORBIDDEN && evaluation.soft != 0).then(|| cost as f64 / evaluation.soft as f64),
        };
        Explanation {
            instance: network.name.clone(),
            version: fangs_base::VERSION,
            solution: evaluation.is_solution(),
            cost: evaluation.value(network, solution),
            violated: evaluation.violated.len(),
            free: network.function_count() - priced.len(),
            functions: priced.iter().take(limit).map(part).collect(),
            label: network.objective(),
            more: priced.len().saturating_sub(limit),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", line(&self.instance))?;
        match (self.cost, self.solution) {
            (Some(cost), true) => writeln!(f, "{} {}", self.label, grouped(cost))?,
            (Some(cost), false) => writeln!(f, "no solution, {} {} reaches top", self.label, grouped(cost))?,
            (None, _) => writeln!(f, "no solution, {} violated", counted(self.violated, "function"))?,
        }
        for Part { arguments, cost, share } in &self.functions {
            let cost = cost.map_or("forbidden".into(), grouped);
            let share = share.map_or(String::new(), |share| per_cent(share.abs()));
            writeln!(f, "{cost:>16}{share:>12}  {arguments}")?;
        }
        if self.more > 0 {
            writeln!(f, "and {} that cost something (--limit N lists more)", counted(self.more, "function"))?;
        }
        writeln!(f, "costs nothing: {}", counted(self.free, "function"))
    }
}

/// A set of functions without a common solution, or the reason why there is none.
#[derive(Serialize)]
struct Conflict {
    instance: String,
    version: &'static str,
    /// `infeasible`, `feasible` or `unknown`.
    status: &'static str,
    /// Whether no function of the conflict can be dropped; null if there is no conflict.
    minimal: Option<bool>,
    conflict: Vec<Arguments>,
    /// Number of functions in the conflict.
    size: usize,
    /// A feasible solution, if one was found.
    solution: Option<Vec<u32>>,
}

impl Conflict {
    fn new(network: &Network, finding: &Finding, limit: usize) -> Self {
        let (status, functions, minimal, solution) = match finding {
            Finding::Conflict { functions, minimal } => ("infeasible", &functions[..], Some(*minimal), None),
            Finding::Solution(values) => ("feasible", &[][..], None, Some(values.clone())),
            _ => ("unknown", &[][..], None, None),
        };
        Conflict {
            instance: network.name.clone(),
            version: fangs_base::VERSION,
            status,
            minimal,
            conflict: functions.iter().take(limit).map(|&f| Arguments::new(network, f, None)).collect(),
            size: functions.len(),
            solution,
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", line(&self.instance))?;
        match (self.status, self.minimal) {
            ("infeasible", Some(minimal)) => {
                let what = counted(self.size, "function");
                let needed = if minimal { "each is needed" } else { "perhaps fewer would do" };
                writeln!(f, "no solution: {what} cannot hold together ({needed})")?;
            }
            ("feasible", _) => writeln!(f, "there is a solution, so nothing conflicts")?,
            _ => writeln!(f, "neither a solution nor a conflict was found in time")?,
        }
        for arguments in &self.conflict {
            writeln!(f, "  {arguments}")?;
        }
        match self.size - self.conflict.len() {
            0 => Ok(()),
            more => writeln!(f, "  and {} (--limit N lists more)", counted(more, "function")),
        }
    }
}
