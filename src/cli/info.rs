//! `fangs info`: describes a network.

use super::input::{Input, InputFlags};
use super::worker::{self, Session};
use super::{Exit, coloring, dcop, help, output, values};
use clap::Args;
use fangs_base::Error;
use fangs_base::memory;
use fangs_base::stop::Stop;
use fangs_base::terminal::line;
use fangs_bounds::reduce::{Reducer, Reduction, Size, density};
use fangs_elimination::elimination::{Limits, Plan, Slices};
use fangs_elimination::order::{Method, Order, TreeSize, best_order, restarts};
use fangs_formats::{self as formats, Format};
use fangs_marginals::{Evidence, Options, Prepared, Tree};
use fangs_model::model::{FORBIDDEN, Number, Observations, Problem};
use fangs_report::seconds;
use fangs_report::text::{counted, grouped, sense};
use fangs_search::Clock;
use fangs_search::measure::{Footprint, reduces};
use indicatif::HumanBytes;
use rayon::prelude::*;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

#[derive(Args, Debug)]
pub struct InfoFlags {
    #[command(flatten)]
    input: InputFlags,
    /// Largest number z of variables in a mini-bucket, the i-bound plus 1 [default: grows while memory suffices]
    #[arg(long, value_name = "N", value_parser = values::positive::<u32>, help_heading = help::BOUNDS)]
    z: Option<u32>,
    /// Skip the exact reductions, except that variables in no function are removed
    #[arg(long, help_heading = help::BOUNDS)]
    no_reduce: bool,
    /// Memory that tables may take, such as 512M or 4G [default: half of free memory]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = help::BOUNDS)]
    bound_memory: Option<u64>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    json: bool,
}

/// A checked call of `fangs info`.
pub struct Config {
    input: Input,
    z: Option<u32>,
    reduce: bool,
    memory: u64,
    json: bool,
}

impl TryFrom<InfoFlags> for Config {
    type Error = Error;

    fn try_from(flags: InfoFlags) -> Result<Self, Error> {
        let input = Input::or_graph(flags.input)?;
        let _ = input.files()?;
        Ok(Config {
            input,
            z: flags.z,
            reduce: !flags.no_reduce,
            memory: flags.bound_memory.unwrap_or_else(|| memory::available() / 2),
            json: flags.json,
        })
    }
}

/// Describes a network, its reductions and the size of its elimination.
pub fn run(config: Config, started: Instant) -> Result<Exit, Error> {
    worker::command(started, None, move |session| describe(&config, started, session))
}

fn describe(config: &Config, started: Instant, session: &Session) -> Result<Exit, Error> {
    values::use_threads(None)?;
    let Session { stop, activity, console } = session;
    let clock = Clock::start(started, None, stop);
    if let Some(graph) = config.input.graph(console, stop)? {
        return coloring::info(&graph, &clock, config.json);
    }
    let (network, observed) = config.input.load_by_all(console, stop)?;
    let load_s = seconds(clock.seconds());
    activity.step("reducing");
    let reduces = config.reduce && reduces(&network, stop)?;
    let mut reducer = Reducer::new(&network, reduces, stop)?;
    reducer.merge_ties(stop);
    let problem = Arc::new(reducer.fitting_problem(stop)?);
    let (infeasible, reduction) = (reducer.infeasible(), reducer.report());
    // freed early, because it takes as much memory as the problem
    drop(reducer);
    let core_density = density(&problem, stop)?;
    let own_density = match reduces {
        true => density(&Reducer::new(&network, false, stop)?.fitting_problem(stop)?, stop)?,
        false => core_density,
    };
    activity.step("ordering");
    let orders = Method::ALL
        .par_iter()
        .map(|&(_, method)| (method, best_order(&problem, &[method], 1, restarts(&problem), stop)));
    let orders: Vec<(Method, Order)> = orders.collect();
    // an order that a signal has cut short is incomplete
    stop.check()?;
    activity.step("planning");
    let best = orders.iter().min_by(|a, b| a.1.joint_entries.total_cmp(&b.1.joint_entries));
    let eliminations = best.map_or(Vec::new(), |(_, order)| eliminations(&problem, order, config));
    let trees = if network.agents().is_some() { dcop::sizes(&network, stop)? } else { Vec::new() };
    let pseudo_trees = trees.into_iter().map(|(rule, size)| TreeLine { rule, size }).collect();
    let description = Description {
        instance: network.name.clone(),
        version: fangs_base::VERSION,
        top: (network.top() < FORBIDDEN).then(|| network.units().number(network.top())),
        decimals: network.units().decimals,
        maximise: network.units().maximise,
        objective: network.objective(),
        precision_slack: network.units().precision_slack(None),
        observed: observed.as_ref().map(|seen| seen.list().len()),
        domains: Domains::of(network.domains()),
        density: own_density,
        network: Size::of(&network),
        core_domains: Domains::of(&problem.domains),
        core_density,
        infeasible,
        stays: config.reduce && !reduces,
        reduction,
        search: Footprint::of(&network, &problem, reduces),
        orders: orders.iter().map(|(method, order)| OrderLine::new(*method, order)).collect(),
        pseudo_trees,
        memory: config.memory,
        eliminations,
        marginals: tree(config, observed.as_ref(), stop)?,
        load_s,
        time_s: seconds(clock.seconds()),
    };
    output::print_report(&description, config.json)?;
    Ok(Exit::Done)
}

/// Returns the bucket tree of sums over all assignments, for a file of potentials. Reads the file again for its exact
/// numbers.
fn tree(config: &Config, seen: Option<&Observations>, stop: &Stop) -> Result<Option<Tree>, Error> {
    let input = &config.input;
    if !matches!(input.format(), Format::Uai | Format::Lg | Format::Bif) || input.path().is_none() {
        return Ok(None);
    }
    let potentials = formats::read_potentials(input.source(), Some(input.format()), input.options(), None, stop)?;
    let mut evidence = Evidence::default();
    if let Some(seen) = seen {
        evidence.values = seen.pairs();
    }
    Ok(Some(Prepared::new(&potentials, &evidence, &Options::default(), stop)?.tree()))
}

/// Returns the sizes of elimination along `order` at growing z, the number of variables of a mini-bucket, as long as
/// the tables fit into the memory.
fn eliminations(problem: &Problem, order: &Order, config: &Config) -> Vec<Elimination> {
    let plan = |z| Plan::new(problem, order, &Limits::new(config.memory).with(|limits| limits.z = z));
    if let Some(z) = config.z {
        return vec![Elimination::new(&plan(Some(z)))];
    }
    let (mut lines, mut largest) = (Vec::new(), None);
    for z in (2..=order.width).step_by(if order.width > 12 { 2 } else { 1 }) {
        let line = Elimination::new(&plan(Some(z)));
        if line.z < z || line.exact {
            largest = Some(line);
            break;
        }
        lines.push(line);
    }
    // slices may make elimination exact, but not if the number of entries is infinite
    let largest = largest.filter(|_| order.joint_entries.is_infinite()).unwrap_or_else(|| {
        let slices = Slices { bytes: config.memory, devices: 0 };
        let limits = Limits::new(config.memory).with(|limits| limits.slices = Some(slices));
        Elimination::new(&Plan::new(problem, order, &limits))
    });
    lines.push(largest);
    lines.dedup_by(|a, b| (a.z, a.joint_entries) == (b.z, b.joint_entries));
    lines
}

#[derive(Serialize)]
struct Description {
    instance: String,
    version: &'static str,
    top: Option<Number>,
    decimals: u32,
    maximise: bool,
    #[serde(skip)]
    objective: &'static str,
    precision_slack: f64,
    /// Number of variables that the evidence fixes; null if no evidence is named.
    observed: Option<usize>,
    domains: Domains,
    density: f64,
    network: Size,
    core_domains: Domains,
    core_density: f64,
    infeasible: bool,
    /// Whether the network is so large that the reductions are skipped.
    #[serde(skip)]
    stays: bool,
    reduction: Reduction,
    search: Footprint,
    orders: Vec<OrderLine>,
    /// Sizes of pseudo-trees, for files with agents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pseudo_trees: Vec<TreeLine>,
    memory: u64,
    eliminations: Vec<Elimination>,
    /// The bucket tree of `fangs marginals`; null unless the file has potentials.
    marginals: Option<Tree>,
    load_s: f64,
    time_s: f64,
}

#[derive(Serialize)]
struct Domains {
    min: u32,
    mean: f64,
    max: u32,
}

impl Domains {
    fn of(domains: &[u32]) -> Self {
        let sum: u64 = domains.iter().map(|&domain| u64::from(domain)).sum();
        Domains {
            min: domains.iter().copied().min().unwrap_or(0),
            mean: sum as f64 / domains.len().max(1) as f64,
            max: domains.iter().copied().max().unwrap_or(0),
        }
    }
}

impl fmt::Display for Domains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {} values, {:.2} on average", self.min, self.max, self.mean)
    }
}

#[derive(Serialize)]
struct OrderLine {
    order: &'static str,
    induced_width: u32,
    /// Number of joint entries; null if it is too large to be counted.
    joint_entries: Option<f64>,
    largest_table: Option<f64>,
}

impl OrderLine {
    fn new(method: Method, order: &Order) -> Self {
        let finite = |number: f64| number.is_finite().then_some(number);
        OrderLine {
            order: method.name(),
            induced_width: order.width,
            joint_entries: finite(order.joint_entries),
            largest_table: finite(order.largest),
        }
    }
}

#[derive(Serialize)]
struct TreeLine {
    rule: String,
    #[serde(flatten)]
    size: TreeSize,
}

#[derive(Serialize)]
struct Elimination {
    z: u32,
    exact: bool,
    joint_entries: u64,
    largest_table: u64,
    table_bytes: u64,
    peak_bytes: u64,
    /// Number of slices, each with fixed values of some variables; the sizes of tables are those of one slice.
    slices: u64,
}

impl Elimination {
    fn new(plan: &Plan) -> Self {
        Elimination {
            z: plan.z,
            exact: plan.exact,
            joint_entries: plan.joint_entries,
            largest_table: plan.largest_table,
            table_bytes: plan.placement.table_bytes,
            peak_bytes: plan.placement.peak_bytes,
            slices: plan.slices(),
        }
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (objective, sense) = (self.objective, sense(self.maximise));
        let top = self.top.map_or("no top".into(), |top| format!("top {}", grouped(top)));
        writeln!(f, "{}: {objective}, {sense}, {top}", line(&self.instance))?;
        if self.decimals > 0 {
            let decimals = counted(self.decimals as usize, "decimal");
            writeln!(f, "  {decimals} kept, precision slack {}", self.precision_slack)?;
        }
        size(f, "network", &self.network, &self.domains, self.density)?;
        let Reduction { merged, eliminated, substituted, tied, separated, inconsistent, dominated, components, .. } =
            &self.reduction;
        size(f, "reduced", &self.reduction.after, &self.core_domains, self.core_density)?;
        let of = |count: usize, what: &str| counted(count, what);
        writeln!(
            f,
            "  {}; {} merged, {} separated; {} eliminated, {} substituted, {} tied; {} inconsistent, {} dominated",
            of(*components, "component"),
            of(*merged, "function"),
            grouped(separated),
            of(*eliminated, "variable"),
            grouped(substituted),
            grouped(tied),
            of(*inconsistent, "value"),
            grouped(dominated)
        )?;
        if self.stays {
            writeln!(f, "  left as it is: of a sample, reductions would leave nearly all")?;
        }
        if self.infeasible {
            writeln!(f, "  the reductions prove that there is no solution")?;
        }
        let Footprint { table_bytes, state_bytes, run_bytes, .. } = self.search;
        let [tables, state, run] = [table_bytes, state_bytes, run_bytes].map(HumanBytes);
        writeln!(f, "  a search reads {tables} of tables and keeps {state} a state")?;
        writeln!(f, "  a run takes about {run}, states and bounds besides")?;
        writeln!(f, "\n{:<20}{:>7}{:>18}{:>18}", "order of elimination", "width", "joint entries", "largest table")?;
        for OrderLine { order, induced_width, joint_entries, largest_table } in &self.orders {
            let number = |number: &Option<f64>| number.map_or("huge".into(), |number| format!("{number:.3e}"));
            let (joint, largest) = (number(joint_entries), number(largest_table));
            writeln!(f, "{order:<20}{induced_width:>7}{joint:>18}{largest:>18}")?;
        }
        if !self.pseudo_trees.is_empty() {
            writeln!(
                f,
                "\n{:<20}{:>7}{:>7}{:>18}{:>18}",
                "pseudo-tree", "depth", "width", "entries", "largest message"
            )?;
        }
        for TreeLine { rule, size } in &self.pseudo_trees {
            let (entries, largest) = (size.util_entries as f64, size.largest_util_entries as f64);
            writeln!(f, "{rule:<20}{:>7}{:>7}{entries:>18.3e}{largest:>18.3e}", size.depth, size.width)?;
        }
        writeln!(
            f,
            "\nelimination along the best of them, within {} (z: variables of a mini-bucket)",
            HumanBytes(self.memory)
        )?;
        writeln!(f, "{:<7}{:>20}{:>18}{:>16}{:>16}", "z", "joint entries", "largest table", "tables", "at the peak")?;
        for Elimination { z, exact, joint_entries, largest_table, table_bytes, peak_bytes, slices } in
            &self.eliminations
        {
            let name = if *exact { "exact".into() } else { z.to_string() };
            let slices = if *slices > 1 { format!(", in {} slices", grouped(slices)) } else { String::new() };
            let [joint, largest] = [joint_entries, largest_table].map(grouped);
            let [tables, peak] = [table_bytes, peak_bytes].map(|bytes| HumanBytes(*bytes).to_string());
            writeln!(f, "{name:<7}{joint:>20}{largest:>18}{tables:>16}{peak:>16}{slices}")?;
        }
        if let Some(tree) = &self.marginals {
            let [cliques, all, largest] = [tree.cliques, tree.clique_entries, tree.largest_clique].map(grouped);
            writeln!(f, "\nmarginals: {cliques} cliques with {all} entries, the largest {largest}")?;
            writeln!(f, "  induced width {}, {} of tables", tree.induced_width, HumanBytes(tree.bytes))?;
        }
        writeln!(f, "\n{:.2} s, of which reading {:.2} s", self.time_s, self.load_s)
    }
}

fn size(f: &mut fmt::Formatter<'_>, what: &str, size: &Size, domains: &Domains, density: f64) -> fmt::Result {
    let by_arity = size.functions.iter().enumerate().filter(|(_, count)| **count > 0);
    let by_arity: Vec<String> = by_arity.map(|(arity, count)| format!("{} of arity {arity}", grouped(count))).collect();
    writeln!(f, "{what}: {}, {domains}", counted(size.variables, "variable"))?;
    let list = if by_arity.is_empty() { String::new() } else { format!(" ({})", by_arity.join(", ")) };
    let (functions, entries) = (counted(size.functions(), "function"), grouped(size.entries));
    writeln!(f, "  {functions}{list}, {entries} entries, density {density:.4}")
}
