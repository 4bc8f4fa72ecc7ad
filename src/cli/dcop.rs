//! `fangs dcop`: agents that solve a distributed constraint optimization problem by messages.

mod case;
mod flags;
mod kept;
mod metrics;
mod report;

use super::invocation::Invocation;
use super::output::Rows;
use super::{Exit, output, signals, values, worker};
use case::Case;
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_check as check;
use fangs_dcop::{
    Clocks, Cycle, Found, LocalSearch, Place, Processes, Traffic, run_agents, run_bounded, run_levels, run_processes,
    watch_local,
};
use fangs_device::{Choice, Opening};
use fangs_elimination::elimination::{Gpu, Limits, Plan};
use fangs_elimination::order::{PseudoTree, TreeSize};
use fangs_formats as formats;
use fangs_model::model::{Cost, Network};
use fangs_report::{Console, ReplacedFile, seconds};
use fangs_search::{Clock, gap};
use flags::{Algorithm, Mode};
pub use flags::{Config, DcopFlags, TreeChoice};
use kept::Kept;
use metrics::CycleRow;
use report::{Assignment, Limited, Messages, Report, Tree};
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

/// Solves a problem by messages between agents.
pub fn run(config: Config, started: Instant) -> Result<Exit, Error> {
    let stop = signals::listen()?;
    let clock = Clock::start(started, Some(config.time), &stop);
    values::use_threads(config.threads)?;
    let device = Opening::start(config.device.clone());
    let solution = config.solution.as_deref().map(|path| output::as_usage(ReplacedFile::new(path))).transpose()?;
    let mut trace = Rows::create(config.trace.clone())?;
    let mut metrics = Rows::create(config.run_metrics.clone())?;
    let config = Arc::new(config);
    let kept = Kept::default();
    let work = {
        let (config, stop, kept) = (config.clone(), stop.clone(), kept.clone());
        move || solve(&config, &device, started, &kept, &stop)
    };
    let result = worker::run(&stop, work, || ());
    let console = Console::new(config.verbosity);
    // the result is printed even if memory does not suffice for the messages, or a file cannot be written
    let mut written = true;
    let ended = match (result, kept.take()) {
        (Ok(ended), Some(best)) if ended.exit == Exit::NoSolution => best.instead_of(ended),
        (Ok(ended), _) => ended,
        (Err(error), Some(best)) if error.is_stop() => best.ended(),
        (Err(error @ Error::Memory(_)), Some(best)) => {
            console.warn(&error.to_string());
            written = false;
            best.ended()
        }
        (Err(error), None) if error.is_stop() => {
            let mut report = Report {
                instance: config.input.name(),
                version: fangs_base::VERSION,
                algorithm: config.algorithm.name().into(),
                status: "unknown",
                device: "cpu".into(),
                threads: rayon::current_num_threads(),
                label: "cost",
                ..Report::default()
            };
            report.end(clock.seconds());
            output::print_report(&report, config.json)?;
            return Ok(Exit::NoSolution);
        }
        (Err(error), _) => return Err(error),
    };
    let Ended { mut report, rows, cycles, values, network, exit, .. } = ended;
    let mut heed = |outcome: Result<(), Error>| {
        if let Err(error) = outcome {
            console.warn(&error.to_string());
            written = false;
        }
    };
    heed(rows.iter().try_for_each(|row| trace.push(row)));
    heed(cycles.iter().try_for_each(|row| metrics.push(row)));
    report.end(clock.seconds());
    if let (Some(mut file), Some(values)) = (solution, values) {
        let text = formats::write_solution(&network, &values, formats::SolutionFormat::Native);
        heed(file.write_to_end(text.into_bytes(), &stop));
    }
    heed(trace.finish(&stop));
    heed(metrics.finish(&stop));
    output::print_report(&report, config.json)?;
    Ok(exit.written(written))
}

/// The result of a run.
struct Ended {
    report: Report,
    rows: Vec<Row>,
    /// The rows of `--run-metrics`.
    cycles: Vec<CycleRow>,
    lower: Cost,
    values: Option<Vec<u32>>,
    network: Arc<Network>,
    exit: Exit,
}

/// A row of the trace: the agent of one variable.
#[derive(Serialize)]
struct Row {
    agent: String,
    variable: String,
    parent: Option<String>,
    depth: u32,
    separator: usize,
    inputs: u64,
    join_entries: u64,
    util_entries: u64,
    tables: u64,
    busy_s: Option<f64>,
    transfer_s: Option<f64>,
    clock_s: Option<f64>,
}

/// Returns the sizes of depth-first pseudo-trees, of the best of them and of that of the best elimination order, for
/// `fangs info`.
pub fn sizes(network: &Network, stop: &Stop) -> Result<Vec<(String, TreeSize)>, Error> {
    let case = Case::new(Arc::new(network.clone()), stop)?;
    let rules = TreeChoice::DEPTH_FIRST.map(|(_, visit)| TreeChoice::DepthFirst(visit));
    let rules = rules.into_iter().chain([TreeChoice::Best, TreeChoice::Order(None)]);
    rules.map(|rule| Ok((rule.name(), case.size(&case.tree(&rule, None, stop)?)))).collect()
}

fn solve(config: &Config, device: &Opening, started: Instant, kept: &Kept, stop: &Stop) -> Result<Ended, Error> {
    config.activity.step("reading");
    let console = Console::new(config.verbosity).progress(&config.activity, started, Some(config.time));
    let network = Arc::new(config.input.load(&console, stop)?);
    let mut report = Report {
        instance: network.name.clone(),
        version: fangs_base::VERSION,
        algorithm: config.algorithm.name().into(),
        status: "unknown",
        variables: network.variables().len(),
        functions: network.functions().len(),
        load_s: seconds(started.elapsed().as_secs_f64()),
        device: "cpu".into(),
        threads: rayon::current_num_threads(),
        label: network.objective(),
        ..Report::default()
    };
    kept.begin(&network, &report);
    let case = Case::new(network, stop)?;
    report.agents = case.agents.names.len();
    if let Algorithm::Local(algorithm) = config.algorithm {
        config.activity.step("local search");
        return local(config, &case, algorithm, report, started, stop);
    }
    kept.improve(&case, &report, config.local, stop);
    config.activity.step("pseudo-tree");
    let tree = case.tree(&config.tree, config.root.as_deref(), stop)?;
    report.pseudo_tree = Some(Tree { rule: config.tree.name(), size: case.size(&tree) });
    if case.reducer.infeasible() {
        return Ok(ended(case.network, report, None, Vec::new()));
    }
    if let Some(limit) = config.message_limit {
        config.activity.step("messages");
        let gpu = gpu(device, f64::INFINITY, &mut report, stop)?;
        return bounded(config, &case, &tree, limit, gpu.as_ref(), report, stop);
    }
    let plan = plan(config, &case, &tree, &console, &mut report, stop)?;
    kept.eliminate(&case, &tree, &plan, stop);
    let gpu = gpu(device, plan.joint_entries as f64, &mut report, stop)?;
    config.activity.step("messages");
    let traffic = Traffic::new(&plan, &tree, &case.owner);
    let entry_bytes = plan.costs.width.bytes();
    count(&mut report, &traffic, &plan);
    report.message_entries = traffic.util_entries + value_entries(&case, &tree);
    let found = match config.mode {
        _ if config.processes.is_some() => over_tcp(config, &case, &plan, &tree, stop)?,
        Mode::Levels => run_levels(&case.problem, plan, gpu.as_ref(), stop)?,
        Mode::Agents => {
            let automatic = *device.choice() == Choice::Auto;
            let place = |gpu| if automatic { Place::Faster(gpu) } else { Place::Device(gpu) };
            run_agents(&case.problem, &plan, gpu.as_ref().map_or(Place::Host, place), stop)?
        }
    };
    if let Some(trouble) = &found.trouble {
        console.warn(&format!("{trouble}; going on on the CPU"));
    }
    if !found.on_device {
        report.device = "cpu".into();
    }
    let clocks = (config.mode == Mode::Agents)
        .then(|| Clocks::new(&tree, &traffic, &found.spent, &case.owner, entry_bytes, config.latency));
    report.simulated_s = clocks.as_ref().map(|clocks| seconds(clocks.end_s));
    report.transfer_s = clocks.as_ref().map(|_| seconds(found.spent.iter().map(|spent| spent.transfer_s).sum()));
    (report.util_s, report.value_s) = (seconds(found.util_s), seconds(found.value_s));
    let rows = rows(&case, &tree, &traffic, &found, clocks.as_ref());
    let values = case.reducer.lift(&found.assignment, &Stop::new())?;
    Ok(ended(case.network, report, Some((found.lower, Some(values))), rows))
}

/// Runs the agents as processes; each process gets consecutive agents of the list.
fn over_tcp(config: &Config, case: &Case, plan: &Plan, tree: &PseudoTree, stop: &Stop) -> Result<Found, Error> {
    let agents = case.agents.names.len().max(1);
    let count = config.processes.unwrap_or(1).min(agents);
    let of = |agent: usize| agent * count / agents;
    let names = (0..count).map(|process| {
        let all = case.agents.names.iter().enumerate();
        let own: Vec<&str> = all.filter(|(agent, _)| of(*agent) == process).map(|(_, name)| &**name).collect();
        let more = if own.len() > NAMED { format!(", … {} in all", own.len()) } else { String::new() };
        format!("{}{more}", own[..own.len().min(NAMED)].join(", "))
    });
    let again = Invocation::again()?;
    let start = || {
        let mut command = again();
        let _ = command.arg("dcop-agent");
        command
    };
    let processes = Processes {
        program: &start,
        count,
        threads: (rayon::current_num_threads() / count).max(1),
        of: case.owner.iter().map(|&agent| of(agent as usize)).collect(),
        names: names.collect(),
    };
    run_processes(&case.problem, plan, tree, &processes, stop)
}

/// Serves agents for the `fangs` process that started this one.
pub fn serve() -> Result<Exit, Error> {
    fangs_dcop::serve(std::io::stdin(), std::io::stdout(), || super::leave(0)).map(|()| Exit::Done)
}

/// Number of a process's agents that messages name.
const NAMED: usize = 3;

/// Returns the plan of DPOP, or of ADPOP if that is requested or DPOP does not fit into memory.
fn plan(
    config: &Config,
    case: &Case,
    tree: &PseudoTree,
    console: &Console,
    report: &mut Report,
    stop: &Stop,
) -> Result<Plan, Error> {
    let limits = Limits::new(config.memory).with(|limits| limits.z = config.z);
    let plan = Plan::until(&case.problem, &tree.order, &limits, stop)?;
    let algorithm = match (config.algorithm, plan.exact) {
        (Algorithm::Dpop, false) => {
            let size = case.size(tree);
            return Err(Error::Usage(format!(
                "DPOP does not fit into {} bytes: the largest message of the pseudo-tree {} has {:.2e} entries, all \
                 together have {:.2e} (--pseudo-tree order or dfs-best may be smaller, --message-limit repeats smaller \
                 ones, --algorithm adpop splits them, --bound-memory raises the limit)",
                config.memory,
                config.tree.name(),
                size.largest_util_entries as f64,
                size.util_entries as f64
            )));
        }
        (Algorithm::Adpop, _) | (_, false) => "adpop",
        (_, true) => "dpop",
    };
    report.algorithm = algorithm.into();
    report.z = (!plan.exact).then_some(plan.z);
    if config.algorithm == Algorithm::Auto {
        let what = match plan.exact {
            true => "DPOP: its messages fit into the memory".into(),
            false => format!("ADPOP with z = {}: the messages of DPOP do not fit into {} bytes", plan.z, config.memory),
        };
        console.tell(&what);
    }
    Ok(plan)
}

/// Returns the device if the work is worth waiting for it, and reports its name.
fn gpu(device: &Opening, joint_entries: f64, report: &mut Report, stop: &Stop) -> Result<Option<Arc<Gpu>>, Error> {
    let gpu = Gpu::of(device, joint_entries, false, stop)?;
    report.device = gpu.as_ref().map_or("cpu".into(), |gpu| gpu.cuda().label());
    Ok(gpu)
}

fn count(report: &mut Report, traffic: &Traffic, plan: &Plan) {
    let (util, tables, local) = (traffic.util_messages, traffic.tables, traffic.local_messages);
    report.messages = Messages { util, value: util, tables, local, repeated: None };
    report.util_entries = traffic.util_entries;
    report.made_entries = traffic.made_entries;
    report.largest_util_entries = traffic.largest_util_entries;
    report.util_bytes = traffic.util_bytes;
    report.nccc = traffic.nccc;
    report.joint_entries = plan.joint_entries;
}

/// Returns the number of values in all VALUE messages between agents. A message has a value for each variable of the
/// receiver's separator.
fn value_entries(case: &Case, tree: &PseudoTree) -> u64 {
    let is_sent = |&(v, parent): &(usize, u32)| case.owner[v] != case.owner[parent as usize];
    let edges = tree.parent.iter().enumerate().filter_map(|(v, parent)| Some((v, (*parent)?)));
    edges.filter(is_sent).map(|(v, _)| tree.separators[v].len() as u64).sum()
}

fn rows(case: &Case, tree: &PseudoTree, traffic: &Traffic, found: &Found, clocks: Option<&Clocks>) -> Vec<Row> {
    let agent = |v: u32| case.agents.names[case.owner[v as usize] as usize].to_string();
    let row = |v: u32| {
        let (own, place) = (&traffic.agents[v as usize], v as usize);
        let spent = found.spent.get(place);
        Row {
            agent: agent(v),
            variable: case.name(v),
            parent: tree.parent[place].map(|parent| case.name(parent)),
            depth: tree.depth[place],
            separator: tree.separators[place].len(),
            inputs: own.inputs,
            join_entries: own.join_entries,
            util_entries: if tree.parent[place].is_some() { own.util_entries } else { 0 },
            tables: if tree.parent[place].is_some() { own.tables } else { 0 },
            busy_s: spent.map(|spent| seconds(spent.util_s + spent.value_s)),
            transfer_s: spent.map(|spent| seconds(spent.transfer_s)),
            clock_s: clocks.map(|clocks| seconds(clocks.util_s[place])),
        }
    };
    (0..tree.parent.len() as u32).map(row).collect()
}

fn local(
    config: &Config,
    case: &Case,
    algorithm: LocalSearch,
    mut report: Report,
    started: Instant,
    stop: &Stop,
) -> Result<Ended, Error> {
    let begun = Instant::now();
    let mut cycles: Vec<Result<CycleRow, Error>> = Vec::new();
    let mut watch = |cycle: Cycle<'_>| {
        if config.run_metrics.is_some() {
            cycles.push(CycleRow::new(case, cycle, started));
        }
    };
    let found = watch_local(&case.problem, algorithm, &case.initial(), config.local, &mut watch, stop)?;
    if config.run_metrics.is_some() {
        cycles.push(CycleRow::new(case, found.end(), started).map(|row| row.last(stop)));
    }
    let cycles = cycles.into_iter().collect::<Result<_, Error>>()?;
    report.cycles = Some(found.cycles);
    report.messages.value = found.messages;
    report.message_entries = found.message_entries;
    report.util_s = seconds(begun.elapsed().as_secs_f64());
    let values = case.reducer.lift(&found.assignment, &Stop::new())?;
    Ok(Ended { cycles, ..ended(case.network.clone(), report, Some((Cost::MIN, Some(values))), Vec::new()) })
}

fn bounded(
    config: &Config,
    case: &Case,
    tree: &PseudoTree,
    limit: u64,
    gpu: Option<&Arc<Gpu>>,
    mut report: Report,
    stop: &Stop,
) -> Result<Ended, Error> {
    let begun = Instant::now();
    let found = run_bounded(&case.problem, tree, limit, config.memory, gpu, stop)?;
    let edges = tree.parent.iter().flatten().count() as u64;
    report.messages =
        Messages { util: edges, value: edges, tables: edges, local: 0, repeated: Some(found.repeated_messages) };
    report.util_entries = found.util_entries;
    report.message_entries = found.util_entries + value_entries(case, tree);
    report.largest_util_entries = found.largest_util_entries;
    let cut_variables = found.cut.iter().map(|&v| case.name(v)).collect();
    let (contexts, pruned, runs) = (found.contexts, found.pruned, found.runs);
    report.message_limit = Some(Limited { entries: limit, cut_variables, contexts, pruned, runs });
    report.util_s = seconds(begun.elapsed().as_secs_f64());
    let values = found.assignment.map(|(_, values)| case.reducer.lift(&values, &Stop::new())).transpose()?;
    Ok(ended(case.network.clone(), report, Some((found.lower, values)), Vec::new()))
}

/// Completes the report. `found` has a lower bound and perhaps values of the network, and is `None` if there is no
/// solution. The checker computes the cost of the values from the file's own tables.
fn ended(network: Arc<Network>, mut report: Report, found: Option<(Cost, Option<Vec<u32>>)>, rows: Vec<Row>) -> Ended {
    let (lower, values) = found.unwrap_or((network.top(), None));
    let lower = lower.max(network.least());
    let solution = values.and_then(|values| {
        let evaluation = check::evaluate(&network, &values);
        let value = evaluation.value(&network, &values).filter(|_| evaluation.is_solution())?;
        report.end.violation = Some(evaluation.violated.len());
        Some((evaluation.cost, value, values))
    });
    report.bound = network.bound(lower);
    report.cost = solution.as_ref().map(|(_, value, _)| *value);
    report.gap = gap(&network, solution.as_ref().map(|(cost, value, _)| (*cost, *value)), lower);
    let optimal = solution.as_ref().is_some_and(|(cost, ..)| lower >= *cost);
    let infeasible = solution.is_none() && lower >= network.top();
    let exit = match (&solution, infeasible) {
        (_, true) => Exit::Infeasible,
        (Some(_), _) => Exit::Done,
        (None, _) => Exit::NoSolution,
    };
    report.status = match exit {
        Exit::Infeasible => "infeasible",
        Exit::Done if optimal => "optimal",
        Exit::Done => "bounded",
        _ => "unknown",
    };
    report.precision_slack = network.units().precision_slack(report.cost.zip(report.bound).filter(|_| optimal));
    report.assignment = solution.as_ref().map(|(_, _, values)| Assignment::new(&network, values));
    Ended { report, rows, cycles: Vec::new(), lower, values: solution.map(|(.., values)| values), network, exit }
}
