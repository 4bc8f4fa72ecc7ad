//! `fangs check`.

use super::input::{Input, InputFlags};
use super::{Exit, output};
use clap::Args;
use fangs::check::{self, Evaluation};
use fangs::model::{FORBIDDEN, Network, Number};
use fangs::stop::Stop;
use fangs::{Error, formats};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct CheckFlags {
    #[command(flatten)]
    input: InputFlags,
    /// The solution: value indices, or the MPE form of .uai
    solution: PathBuf,
    /// Exactly one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// A checked call.
pub struct Config {
    input: Input,
    solution: PathBuf,
    json: bool,
}

impl TryFrom<CheckFlags> for Config {
    type Error = Error;

    fn try_from(flags: CheckFlags) -> Result<Self, Error> {
        Ok(Config { input: flags.input.try_into()?, solution: flags.solution, json: flags.json })
    }
}

/// Recomputes the cost of a solution.
pub fn run(config: Config) -> Result<Exit, Error> {
    let network = config.input.load(&Stop::new())?;
    let solution = formats::read_solution(&config.solution, &network)?;
    let evaluation = check::evaluate(&network, &solution);
    output::print_report(&Verdict::new(&network, &solution, &evaluation), config.json)?;
    Ok(if evaluation.is_solution() { Exit::Done } else { Exit::Infeasible })
}

/// What the evaluator says.
#[derive(Serialize)]
struct Verdict {
    instance: String,
    version: &'static str,
    /// Whether the total stays below top.
    solution: bool,
    /// Null where an entry forbids the assignment.
    cost: Option<Number>,
    /// Null where there is no limit.
    top: Option<Number>,
    /// The cost without the violated functions.
    soft: Number,
    violated: Vec<Violation>,
}

/// A function whose entry reaches top alone.
#[derive(Serialize)]
struct Violation {
    function: usize,
    scope: Vec<u32>,
    names: Vec<String>,
    values: Vec<u32>,
    /// Null where it is forbidden.
    cost: Option<Number>,
}

impl Verdict {
    fn new(network: &Network, solution: &[u32], evaluation: &Evaluation) -> Self {
        let finite = |cost| (cost < FORBIDDEN).then(|| network.units().number(cost));
        let violation = |&index: &usize| {
            let function = &network.functions()[index];
            Violation {
                function: index,
                scope: function.scope.to_vec(),
                names: function.scope.iter().map(|&variable| network.variable_name(variable as usize)).collect(),
                values: function.scope.iter().map(|&variable| solution[variable as usize]).collect(),
                cost: finite(check::entry(function, network.domains(), solution)),
            }
        };
        Verdict {
            instance: network.name.clone(),
            version: fangs::VERSION,
            solution: evaluation.is_solution(),
            cost: finite(evaluation.cost),
            top: finite(network.top()),
            soft: network.units().number(evaluation.soft),
            violated: evaluation.violated.iter().map(violation).collect(),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let top = self.top.map_or("none".into(), |top| top.to_string());
        match (self.cost, self.solution) {
            (Some(cost), true) => writeln!(f, "{}: a solution, cost {cost} (top {top})", self.instance)?,
            (Some(cost), false) => writeln!(f, "{}: no solution, cost {cost} reaches top {top}", self.instance)?,
            (None, _) => writeln!(f, "{}: no solution, forbidden", self.instance)?,
        }
        if !self.solution && self.violated.is_empty() {
            writeln!(f, "no function reaches top alone: the sum of soft costs does")?;
        } else if !self.violated.is_empty() {
            writeln!(f, "{} functions violated, the others sum up to {}:", self.violated.len(), self.soft)?;
        }
        for Violation { function, names, values, cost, .. } in &self.violated {
            let cost = cost.map_or("forbidden".into(), |cost| cost.to_string());
            let pairs: Vec<String> = names.iter().zip(values).map(|(name, value)| format!("{name}={value}")).collect();
            writeln!(f, "  function {function}: {cost} at {}", pairs.join(" "))?;
        }
        Ok(())
    }
}
