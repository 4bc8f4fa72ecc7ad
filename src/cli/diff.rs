//! `fangs diff`: compares two solutions.

use super::explain::{Arguments, LISTED, finite};
use super::input::{Input, InputFlags};
use super::{Exit, help, output, values, worker};
use clap::Args;
use fangs_base::Error;
use fangs_base::terminal::line;
use fangs_check as check;
use fangs_formats as formats;
use fangs_model::model::{Cost, Network, Number};
use fangs_report::text::{counted, grouped};
use fangs_search::explain;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Args, Debug)]
pub struct DiffFlags {
    #[command(flatten)]
    input: InputFlags,
    /// The first solution
    one: PathBuf,
    /// The solution to compare it with
    other: PathBuf,
    /// List at most this many variables and functions [default: 20, with --json all]
    #[arg(long, value_name = "N", value_parser = values::whole::<usize>, help_heading = help::OUTPUT)]
    limit: Option<usize>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    json: bool,
}

/// A checked call of `fangs diff`.
pub struct Config {
    input: Input,
    solutions: [PathBuf; 2],
    limit: usize,
    json: bool,
}

impl TryFrom<DiffFlags> for Config {
    type Error = Error;

    fn try_from(flags: DiffFlags) -> Result<Self, Error> {
        let DiffFlags { input, one, other, limit, json } = flags;
        let input = Input::try_from(input)?;
        let limit = limit.unwrap_or(if json { usize::MAX } else { LISTED });
        Ok(Config { input, solutions: [one, other], limit, json })
    }
}

/// Reports the differences between two solutions.
pub fn run(config: Config, started: Instant) -> Result<Exit, Error> {
    worker::command(started, None, move |session| {
        let network = config.input.load(&session.console, &session.stop)?;
        session.activity.step("evaluating");
        let [one, other] =
            config.solutions.each_ref().map(|path| formats::read_solution(path, &network, &session.stop));
        output::print_report(&Difference::new(&network, [&one?, &other?], config.limit), config.json)?;
        Ok(Exit::Done)
    })
}

/// The differences between two solutions; the first entry of each pair belongs to the first solution.
#[derive(Serialize)]
struct Difference {
    instance: String,
    version: &'static str,
    /// Costs of the solutions; null if an assignment contains a forbidden tuple.
    costs: [Option<Number>; 2],
    /// Whether each solution is feasible, that is, its total is below top.
    solutions: [bool; 2],
    /// Number of variables with different values.
    variables_differ: usize,
    /// Number of functions with different costs.
    functions_differ: usize,
    variables: Vec<Changed>,
    functions: Vec<Repriced>,
    #[serde(skip)]
    label: &'static str,
}

/// A variable whose values differ.
#[derive(Serialize)]
struct Changed {
    variable: usize,
    name: String,
    indices: [u32; 2],
    values: [String; 2],
}

/// A function whose costs differ.
#[derive(Serialize)]
struct Repriced {
    #[serde(flatten)]
    arguments: Arguments,
    /// Costs under each solution; null if the tuple is forbidden.
    costs: [Option<Number>; 2],
}

impl Difference {
    fn new(network: &Network, solutions: [&[u32]; 2], limit: usize) -> Self {
        let evaluations = solutions.map(|solution| (check::evaluate(network, solution), solution));
        let [one, other] = solutions;
        let differ: Vec<usize> = (0..one.len()).filter(|&v| one[v] != other[v]).collect();
        let changed = |&v: &usize| Changed {
            variable: v,
            name: network.variable_name(v),
            indices: [one[v], other[v]],
            values: [one[v], other[v]].map(|value| network.value_name(v, value)),
        };
        let repriced = explain::differences(network, one, other);
        let function = |&(function, costs): &(usize, [Cost; 2])| Repriced {
            arguments: Arguments::new(network, function, None),
            costs: costs.map(|cost| finite(network, cost)),
        };
        Difference {
            instance: network.name.clone(),
            version: fangs_base::VERSION,
            costs: evaluations.each_ref().map(|(evaluation, solution)| evaluation.value(network, solution)),
            solutions: evaluations.each_ref().map(|(evaluation, _)| evaluation.is_solution()),
            variables_differ: differ.len(),
            functions_differ: repriced.len(),
            variables: differ.iter().take(limit).map(changed).collect(),
            functions: repriced.iter().take(limit).map(function).collect(),
            label: network.objective(),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |cost: &Option<Number>| cost.map_or("forbidden".into(), grouped);
        let [one, other] = self.costs.each_ref().map(shown);
        writeln!(f, "{}: {} {one} and {other}", line(&self.instance), self.label)?;
        let more = |f: &mut fmt::Formatter<'_>, all: usize, listed: usize| match all - listed {
            0 => Ok(()),
            more => writeln!(f, "  and {} more (--limit N lists more)", grouped(more)),
        };
        writeln!(f, "{} with different values", counted(self.variables_differ, "variable"))?;
        for Changed { name, values: [one, other], .. } in &self.variables {
            writeln!(f, "  {}: {} and {}", line(name), line(one), line(other))?;
        }
        more(f, self.variables_differ, self.variables.len())?;
        writeln!(f, "{} with different costs", counted(self.functions_differ, "function"))?;
        for Repriced { arguments, costs } in &self.functions {
            let [one, other] = costs.each_ref().map(shown);
            writeln!(f, "{one:>16}{other:>16}  {arguments}")?;
        }
        more(f, self.functions_differ, self.functions.len())
    }
}
