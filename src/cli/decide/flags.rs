//! The options of `fangs decide`.

use crate::cli::output::Files;
use crate::cli::{help, values};
use clap::Args;
use fangs_base::Error;
use fangs_base::activity::Activity;
use fangs_base::memory;
use fangs_decide::{Method, Options};
use fangs_device::Choice;
use fangs_formats::{Decision, DecisionFormat, Source};
use fangs_model::model::{Diagram, Pomdp};
use fangs_report::Verbosity;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[derive(Args, Debug)]
pub struct DecideFlags {
    /// The problem: .uai with .id and .pvo, .bifxml, .xdsl, .POMDP, .dpomdp or .idid, also packed; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Format of the problem: uai, bifxml, xdsl, pomdp, dpomdp or idid [default: by the file's extension]
    #[arg(long, value_name = "NAME", help_heading = help::INPUT)]
    format: Option<DecisionFormat>,
    /// Horizon in steps: required for a process, optional for an interactive diagram [default: the file's horizon_1]
    #[arg(long, value_name = "T", value_parser = values::positive::<usize>, help_heading = help::INPUT)]
    horizon: Option<usize>,
    /// Initial belief of a process: probabilities, a state, or uniform [default: the file's]
    #[arg(long, value_name = "BELIEF", help_heading = help::INPUT)]
    belief: Option<String>,
    /// Discount factor, 0 to 1 [default: the file's]
    #[arg(long, value_name = "G", value_parser = share, help_heading = help::INPUT)]
    discount: Option<f64>,
    /// Observed variables of a diagram, such as 3=1,7=0 [default: none]
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', help_heading = help::INPUT)]
    observe: Vec<String>,
    /// Method that solves the problem
    #[arg(long, value_name = "METHOD", default_value = "auto", help_heading = help::SEARCH,
        value_parser = values::named(Method::ALL, help::DECIDE_METHODS))]
    method: Method,
    /// Limit on beliefs per step, and on vectors, beyond which bounds replace exact values
    #[arg(long, value_name = "N", default_value = "1048576", value_parser = values::positive::<usize>,
        help_heading = help::SEARCH)]
    nodes: usize,
    /// Limit on policies that are enumerated for a diagram with limited memory
    #[arg(long, value_name = "N", default_value = "1e6", value_parser = values::finite, help_heading = help::SEARCH)]
    exact_limit: f64,
    /// Where to run: auto (a CUDA device if one works and it pays), cpu, cuda or cuda:I
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = Choice::of_one,
        help_heading = help::BUDGET)]
    device: Choice,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", value_parser = values::threads, help_heading = help::BUDGET)]
    threads: Option<usize>,
    /// Stop after this wall-clock time, loading included: 30, 500ms, 5m, 1h 30m
    #[arg(short, long, value_name = "DUR", default_value = "60s", value_parser = values::duration,
        help_heading = help::BUDGET)]
    time: Duration,
    /// Memory for tables and beliefs, such as 512M or 4G [default: half of free memory]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = help::BUDGET)]
    bound_memory: Option<u64>,
    /// Write the policy to a .json or .tsv file, or draw a policy graph as .svg
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    policy: Option<PathBuf>,
    /// Write a row for each better policy, bound and second, as they happen
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    csv: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    json: bool,
    /// Print only warnings on standard error
    #[arg(short, long, help_heading = help::OUTPUT)]
    quiet: bool,
}

fn share(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|g| (0.0..=1.0).contains(g)).ok_or_else(|| "expected a number from 0 to 1".into())
}

/// A checked call of `fangs decide`.
#[derive(Clone)]
pub struct Config {
    pub source: Source,
    pub format: Option<DecisionFormat>,
    pub horizon: Option<usize>,
    belief: Option<String>,
    pub discount: Option<f64>,
    observe: Vec<String>,
    method: Method,
    nodes: usize,
    exact_limit: f64,
    pub device: Choice,
    pub threads: Option<usize>,
    pub time: Duration,
    memory: u64,
    pub policy: Option<PathBuf>,
    pub csv: Option<PathBuf>,
    pub json: bool,
    pub verbosity: Verbosity,
    /// The phase that the progress line shows.
    pub activity: Activity,
}

impl TryFrom<Box<DecideFlags>> for Config {
    type Error = Error;

    fn try_from(flags: Box<DecideFlags>) -> Result<Self, Error> {
        let source = Source::new(&flags.file);
        if flags.format.is_none() {
            match &source {
                Source::File(path) => drop(DecisionFormat::of_path(path)?),
                Source::Stdin => {
                    return Err(Error::Usage("standard input needs --format, such as pomdp or idid".into()));
                }
            }
        }
        let files = Files::default().stream("standard output", std::io::stdout(), true);
        let files = match &source {
            Source::Stdin => files.stream("standard input", std::io::stdin(), false),
            Source::File(path) => files.reads("the problem", Some(path))?,
        };
        let _ = files.writes("--policy", flags.policy.as_deref())?.writes("--csv", flags.csv.as_deref())?;
        Ok(Config {
            source,
            format: flags.format,
            horizon: flags.horizon,
            belief: flags.belief,
            discount: flags.discount,
            observe: flags.observe,
            method: flags.method,
            nodes: flags.nodes,
            exact_limit: flags.exact_limit,
            device: flags.device,
            threads: flags.threads,
            time: flags.time,
            memory: flags.bound_memory.unwrap_or_else(|| memory::available() / 2),
            policy: flags.policy,
            csv: flags.csv,
            json: flags.json,
            verbosity: if flags.quiet { Verbosity::Quiet } else { Verbosity::Normal },
            activity: Activity::default(),
        })
    }
}

impl Config {
    /// Returns the number of CPU threads: the option's, or one per processor.
    pub fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(all)
    }

    /// Returns the options of the solver for a problem whose names are known, on the CPU.
    pub fn options(&self, decision: &Decision) -> Result<Options, Error> {
        let states = match decision {
            Decision::Diagram(_) => None,
            Decision::Pomdp(pomdp) => Some(pomdp.as_ref()),
            Decision::Idid(idid) => Some(&idid.frame),
        };
        let observe = match decision {
            Decision::Diagram(diagram) => observed(&self.observe, diagram)?,
            _ if self.observe.is_empty() => Vec::new(),
            _ => return Err(Error::Usage("--observe is for diagrams; a process has --belief".into())),
        };
        let belief = match (&self.belief, states) {
            (None, _) => None,
            (Some(text), Some(process)) => Some(belief(text, process)?),
            (Some(_), None) => return Err(Error::Usage("--belief is for processes; a diagram has --observe".into())),
        };
        Ok(Options {
            method: self.method,
            horizon: self.horizon,
            belief,
            discount: self.discount,
            observe,
            memory: self.memory,
            nodes: self.nodes,
            exact_limit: self.exact_limit,
            device: Arc::default(),
        })
    }
}

fn belief(text: &str, process: &Pomdp) -> Result<Vec<f64>, Error> {
    let n = process.states.len();
    if text == "uniform" {
        return Ok(vec![1.0 / n as f64; n]);
    }
    if let Some(state) = process.states.iter().position(|name| name == text) {
        return Ok((0..n).map(|own| if own == state { 1.0 } else { 0.0 }).collect());
    }
    let words = text.split([',', ' ']).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| {
                Error::Usage(format!("--belief: `{}` is no probability, and no state", word.escape_debug()))
            })
        })
        .collect()
}

fn observed(pairs: &[String], diagram: &Diagram) -> Result<Vec<(u32, u32)>, Error> {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for pair in pairs {
        let wrong = |what: String| Error::Usage(format!("--observe {}: {what}", pair.escape_debug()));
        let (name, value) = pair.split_once('=').ok_or_else(|| wrong("expected NAME=VALUE".into()))?;
        let variable = diagram.nodes.iter().position(|node| node.name == name);
        let variable = variable.ok_or_else(|| wrong("there is no such variable".into()))?;
        let node = &diagram.nodes[variable];
        let named = node.values.iter().position(|own| own == value).map(|place| place as u32);
        let value = named.or_else(|| value.parse().ok()).filter(|&value| value < node.domain);
        let value = value.ok_or_else(|| wrong(format!("expected a value in 0..{}", node.domain)))?;
        if found.iter().any(|&(known, _)| known == variable as u32) {
            return Err(wrong("the variable is observed twice".into()));
        }
        found.push((variable as u32, value));
    }
    Ok(found)
}
