//! `fangs check`: recomputes solutions, certificates, marginals and policies with independent code.

use super::input::{Input, InputFlags};
use super::monochromatic::Monochromatic;
use super::worker::{self, Session};
use super::{Exit, check_policy, coloring, help, output, values};
use clap::Args;
use fangs_base::Error;
use fangs_base::memory;
use fangs_base::terminal::{self, line};
use fangs_check::{self as check, Evaluation, Replay};
use fangs_formats::{self as formats, Format};
use fangs_model::certificate::Certificate;
use fangs_model::model::{FORBIDDEN, Function, Network, Number};
use fangs_report::text::{counted, grouped};
use indicatif::HumanBytes;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Args, Debug)]
pub struct CheckFlags {
    #[command(flatten)]
    input: InputFlags,
    /// The solution: indices, the MPE form of .uai, or names in JSON; not needed with one of the files below
    #[arg(required_unless_present_any = ["certificate", "marginals", "policy"])]
    solution: Option<PathBuf>,
    /// Verify a certificate that `solve` or `bound` wrote, step by step [default: none]
    #[arg(long, value_name = "CERT", help_heading = help::INPUT)]
    certificate: Option<PathBuf>,
    /// Recompute the sums and posteriors that `marginals --json` wrote, for each object of the file [default: none]
    #[arg(long, value_name = "OUT.json", conflicts_with_all = ["solution", "certificate"], help_heading = help::INPUT)]
    marginals: Option<PathBuf>,
    /// Recompute the expected utility of a policy that `decide` wrote as .json [default: none]
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["certificate", "solution", "marginals"],
        help_heading = help::INPUT)]
    policy: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    json: bool,
}

/// A checked call of `fangs check`.
pub enum Call {
    /// A check of a solution, a certificate or marginals.
    Network(Config),
    /// A check of a policy: the problem's file, the policy's file, and whether to print JSON.
    Policy(PathBuf, PathBuf, bool),
}

impl TryFrom<CheckFlags> for Call {
    type Error = Error;

    fn try_from(flags: CheckFlags) -> Result<Self, Error> {
        match &flags.policy {
            Some(policy) => Ok(Call::Policy(flags.input.path().into(), policy.clone(), flags.json)),
            None => Ok(Call::Network(flags.try_into()?)),
        }
    }
}

/// A checked call about a network or a graph.
pub struct Config {
    input: Input,
    solution: Option<PathBuf>,
    certificate: Option<PathBuf>,
    marginals: Option<PathBuf>,
    json: bool,
}

impl TryFrom<CheckFlags> for Config {
    type Error = Error;

    fn try_from(flags: CheckFlags) -> Result<Self, Error> {
        let CheckFlags { input, solution, certificate, marginals, json, policy: _ } = flags;
        let input = Input::or_graph(input)?;
        let _ = input
            .files()?
            .reads("the solution", solution.as_deref())?
            .reads("--certificate", certificate.as_deref())?
            .reads("--marginals", marginals.as_deref())?;
        Ok(Config { input, solution, certificate, marginals, json })
    }
}

/// Recomputes the cost of a solution, verifies the certificate of a bound, or computes the expected utility of a
/// policy.
pub fn run(call: Call, started: Instant) -> Result<Exit, Error> {
    worker::command(started, None, move |session| match call {
        Call::Network(config) => check_network(&config, session),
        Call::Policy(problem, policy, json) => check_policy::run(&problem, &policy, json, session),
    })
}

fn check_network(config: &Config, session: &Session) -> Result<Exit, Error> {
    let Session { stop, activity, console } = session;
    if let Some(path) = &config.marginals {
        return super::check_marginals::run(&config.input, path, config.json, session);
    }
    if let Some(graph) = config.input.graph(console, stop)? {
        return coloring::check(&graph, config.solution.as_deref(), config.certificate.is_some(), config.json);
    }
    let network = config.input.load(console, stop)?;
    activity.step("evaluating");
    check::verify(&network).map_err(|what| Error::Internal(format!("costs read wrong: {what}")))?;
    let solution = config.solution.as_deref().map(|path| formats::read_solution(path, &network, stop)).transpose()?;
    let evaluation = solution.as_ref().map(|solution| check::evaluate(&network, solution));
    let proven = match &config.certificate {
        Some(path) => Some(follow(path, &network, solution.as_deref(), session).map_err(|error| match error {
            Error::Refused(what) => Error::Refused(format!("{}: refused: {what}", path.display())),
            other => other,
        })?),
        None => None,
    };
    let is_graph = config.input.format() == Format::Col;
    let verdict = solution.as_ref().zip(evaluation).map(|(solution, found)| Verdict {
        monochromatic: is_graph.then(|| monochromatic(&network, solution)),
        ..Verdict::new(&network, solution, &found)
    });
    let is_solution = verdict.as_ref().is_none_or(|verdict| verdict.solution);
    let report = Report { instance: network.name.clone(), version: fangs_base::VERSION, verdict, certificate: proven };
    output::print_report(&report, config.json)?;
    Ok(if is_solution { Exit::Done } else { Exit::Infeasible })
}

/// Reports the effort of verifying a certificate, and verifies it.
fn follow(path: &Path, network: &Network, solution: Option<&[u32]>, session: &Session) -> Result<Proven, Error> {
    values::use_threads(None)?;
    session.activity.step("following the certificate");
    let certificate = Certificate::read(path, &session.stop)?;
    let replay = Replay::new(network, &certificate)?;
    let check::Effort { joint_entries, bytes } = replay.effort();
    let name = terminal::path(path);
    session.console.tell(&format!(
        "{name}: following it takes {} joint entries and {} of tables",
        grouped(joint_entries),
        HumanBytes(bytes)
    ));
    let _ = replay.run(memory::available())?;
    let given = solution.filter(|given| check::evaluate(network, given).is_solution());
    let solution = given.or(certificate.solution.as_ref().map(|solution| &solution.values[..]));
    let (bound, units) = (certificate.bound, network.units());
    // half a unit for each function whose entries were rounded, rounded up to whole units
    let slack = (units.rounded / 2 + units.rounded % 2) as i64;
    let evaluated = solution.map(|solution| (check::evaluate(network, solution), solution));
    let optimal = evaluated.as_ref().is_some_and(|(evaluation, _)| evaluation.cost <= bound);
    let cost = evaluated.and_then(|(evaluation, solution)| evaluation.value(network, solution));
    let proven = (bound < network.top()).then(|| units.number(bound.saturating_sub(slack)));
    let precision_slack = match (proven, cost) {
        (Some(proven), Some(cost)) if optimal => proven.distance(cost),
        _ => slack as f64 / 10f64.powi(units.decimals as i32),
    };
    Ok(Proven { bound: proven, precision_slack, cost, optimal, joint_entries, bytes })
}

/// The result of a check, as JSON and as text.
#[derive(Serialize)]
struct Report {
    instance: String,
    version: &'static str,
    #[serde(flatten)]
    verdict: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<Proven>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(verdict) = &self.verdict {
            write!(f, "{}: {verdict}", line(&self.instance))?;
        }
        if let Some(proven) = &self.certificate {
            write!(f, "{}: {proven}", line(&self.instance))?;
        }
        Ok(())
    }
}

/// The claims of a verified certificate.
#[derive(Serialize)]
struct Proven {
    /// The proven bound; null if it is proven that there is no solution.
    bound: Option<Number>,
    precision_slack: f64,
    /// The cost of the given solution if it is feasible, otherwise that of the certificate's solution.
    cost: Option<Number>,
    /// Whether no assignment improves on that solution by more than the slack.
    optimal: bool,
    joint_entries: u64,
    bytes: u64,
}

impl fmt::Display for Proven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bound {
            Some(bound) => writeln!(f, "proven: no assignment is better than {}", grouped(bound))?,
            None => writeln!(f, "proven: there is no solution")?,
        }
        match &self.cost {
            Some(cost) if self.optimal => writeln!(f, "the solution of {} is optimal", grouped(cost)),
            Some(cost) => writeln!(f, "the solution of {} does not meet it", grouped(cost)),
            None => Ok(()),
        }
    }
}

/// The evaluation of a solution.
#[derive(Serialize)]
struct Verdict {
    /// Whether the solution is feasible, that is, its total is below top.
    solution: bool,
    /// The total cost; null if the assignment contains a forbidden tuple.
    cost: Option<Number>,
    /// The limit on totals; null if there is none.
    top: Option<Number>,
    /// The total cost without the violated functions.
    soft: Number,
    violated: Vec<Violation>,
    /// The name of the objective, for the text form.
    #[serde(skip)]
    label: &'static str,
    /// For a coloring, the edges whose ends have the same color.
    #[serde(skip_serializing_if = "Option::is_none")]
    monochromatic: Option<Vec<Monochromatic>>,
}

/// Returns the edges whose ends have the same color: the functions with a positive finite cost in a graph's network.
/// Edges that evidence makes infeasible are left out.
fn monochromatic(network: &Network, colors: &[u32]) -> Vec<Monochromatic> {
    let functions = network.functions().iter().filter(|function| {
        let cost = check::entry(function, network.domains(), colors);
        0 < cost && cost < FORBIDDEN
    });
    let edges = functions.filter_map(|function| Some([*function.scope.first()?, *function.scope.last()?]));
    edges.map(|edge| Monochromatic::new(edge, colors)).collect()
}

/// A violated function: its entry is forbidden, or reaches top in .wcsp.
#[derive(Serialize)]
struct Violation {
    function: usize,
    /// The keyword of a global cost function.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    scope: Vec<u32>,
    names: Vec<String>,
    values: Vec<u32>,
}

impl Verdict {
    fn new(network: &Network, solution: &[u32], evaluation: &Evaluation) -> Self {
        let finite = |cost| (cost < FORBIDDEN).then(|| network.units().number(cost));
        let violation = |&index: &usize| {
            let function = network.function(index);
            let scope = function.map_or(&[][..], Function::scope);
            let name = |&variable: &u32| network.variable_name(variable as usize);
            Violation {
                function: index,
                kind: match function {
                    Some(Function::Global(global)) => Some(global.keyword.to_string()),
                    _ => None,
                },
                name: network.function_name(index).map(str::to_string),
                scope: scope.to_vec(),
                names: scope.iter().map(name).collect(),
                values: scope.iter().map(|&variable| solution[variable as usize]).collect(),
            }
        };
        let cost = evaluation.value(network, solution);
        // an assignment that costs more than the witness found while reading is forbidden only by the reading: it is
        // feasible
        let is_solution = evaluation.is_solution() || network.reading().is_some() && cost.is_some();
        Verdict {
            solution: is_solution,
            cost,
            top: finite(network.top()),
            soft: network.units().number(evaluation.soft),
            violated: evaluation.violated.iter().filter(|_| !is_solution).map(violation).collect(),
            monochromatic: None,
            label: network.objective(),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let top = self.top.map_or(String::new(), |top| format!(" top {}", grouped(top)));
        match (self.cost, self.solution) {
            (Some(cost), true) if top.is_empty() => writeln!(f, "a solution, {} {}", self.label, grouped(cost))?,
            (Some(cost), true) => writeln!(f, "a solution, {} {}, below{top}", self.label, grouped(cost))?,
            (Some(cost), false) => writeln!(f, "no solution, {} {} reaches{top}", self.label, grouped(cost))?,
            (None, _) => writeln!(f, "no solution: it is forbidden")?,
        }
        if !self.solution && self.violated.is_empty() {
            writeln!(f, "no function is forbidden: the sum of soft costs reaches top")?;
        } else if !self.violated.is_empty() {
            let violated = counted(self.violated.len(), "function");
            writeln!(f, "{violated} violated, the others sum up to {}:", grouped(self.soft))?;
        }
        for Violation { function, kind, name, names, values, .. } in &self.violated {
            let pairs: Vec<String> = names.iter().zip(values).map(|(name, value)| format!("{name}={value}")).collect();
            let told: Vec<&str> = [kind, name].into_iter().flatten().map(String::as_str).collect();
            let told = if told.is_empty() { String::new() } else { format!(" ({})", told.join(" ")) };
            writeln!(f, "  function {function}{told}: forbidden at {}", pairs.join(" "))?;
        }
        self.monochromatic.as_deref().map_or(Ok(()), |edges| Monochromatic::list(edges, f))
    }
}
