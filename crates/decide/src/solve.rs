//! Processes: the first exact method that has room, or bounds if none has.

use super::alpha::Vectors;
use super::diagram::solve_diagram;
use super::first;
use super::flat::{flat, flat_pomdp};
use super::idid::{Faced, Models};
use super::magnitude::{in_units, others_in_units};
use super::options::{Method, Options};
use super::process::{Bounds, Process, bounds, dot};
use super::solution::Solution;
use super::team::solve_team;
use super::tree::{Leaf, Room, Tree};
use super::tuning::{AT_ONCE, FIRST};
use crate::error::Error;
use crate::model::{Idid, Policy, PolicyGraph, Pomdp};
use crate::stop::Stop;

/// Largest number of steps; longer horizons count as infinite.
const STEPS: usize = 1_000_000;

/// The names of actions, observations and agents.
struct Names {
    actions: Vec<String>,
    observations: Vec<String>,
    /// The agents, and the names of each one's actions.
    agents: Vec<(String, Vec<String>)>,
}

/// Solves a process up to a horizon. `tell` receives better values and bounds as they are found.
///
/// # Errors
/// Returns an error if options do not fit or there is no memory; [`Error::Stopped`] if `stop` is set before there is a
/// result.
pub fn solve_pomdp(
    pomdp: &Pomdp,
    options: &Options,
    stop: &Stop,
    tell: &mut dyn FnMut(&Solution),
) -> Result<Solution, Error> {
    let missing = || Error::Usage("a process needs --horizon T, the number of its steps".into());
    let horizon = options.horizon.ok_or_else(missing)?;
    if horizon > STEPS {
        return Err(Error::Usage(format!("--horizon: at most {STEPS} steps")));
    }
    let changed = changed(pomdp, options)?;
    in_units(&changed, tell, |pomdp, tell| solve_changed(pomdp, horizon, options, stop, tell))
}

fn solve_changed(
    pomdp: &Pomdp,
    horizon: usize,
    options: &Options,
    stop: &Stop,
    tell: &mut dyn FnMut(&Solution),
) -> Result<Solution, Error> {
    let names = Names {
        actions: (0..pomdp.actions()).map(|action| pomdp.action_name(action)).collect(),
        observations: (0..pomdp.observed()).map(|seen| pomdp.observation_name(seen)).collect(),
        agents: pomdp.agents.iter().map(|agent| (agent.name.clone(), agent.actions.clone())).collect(),
    };
    let interval = first::of_process(pomdp, &pomdp.start, horizon);
    let solution = Solution { horizon: Some(horizon), ..Solution::new("pomdp") }.within(interval);
    tell(&solution);
    let flat = || flat_pomdp(pomdp, horizon);
    let alpha = || Vectors::new(pomdp, horizon, options.nodes, stop);
    let shared = |tell: &mut dyn FnMut(&Solution)| match options.method {
        Method::Eliminate => {
            let mut found = eliminated(&flat()?, options, solution.clone(), stop, tell)?;
            found.error_bound += misses(pomdp) * (horizon * horizon) as f64 * pomdp.largest_reward();
            Ok(found)
        }
        Method::Spu => Err(Error::Usage("--method spu is for diagrams, not for processes".into())),
        _ => {
            let (start, alpha) = (&pomdp.start[..], Some(&alpha as Alpha<'_>));
            let course = Course { process: pomdp, start, horizon, names: &names, alpha, options, stop };
            course.solve(solution.clone(), tell)
        }
    };
    match (pomdp.agents.len(), options.method) {
        (0..=1, Method::Team) => Err(Error::Usage("--method team is for processes of several agents".into())),
        (0..=1, _) | (_, Method::Spu) => shared(tell),
        _ => solve_team(pomdp, &solution, options, &shared, stop, tell),
    }
}

/// Returns how far sums of probabilities deviate from 1. Elimination divides by the sums while beliefs use the numbers
/// as written, so the two methods differ by as much in each step.
fn misses(pomdp: &Pomdp) -> f64 {
    let rows = |table: &crate::model::SparseRows| {
        let sum = |row: usize| table.row(row).iter().map(|(_, p)| p).sum::<f64>();
        (0..table.len()).map(|row| (sum(row) - 1.0).abs()).fold(0.0, f64::max)
    };
    let most = |tables: &[crate::model::SparseRows]| tables.iter().map(rows).fold(0.0, f64::max);
    most(&pomdp.transitions) + most(&pomdp.observations)
}

/// Solves the first agent's problem of an interactive diagram.
///
/// # Errors
/// Returns an error if options do not fit or there is no memory; [`Error::Stopped`] if `stop` is set before there is a
/// result.
pub fn solve_idid(
    idid: &Idid,
    options: &Options,
    stop: &Stop,
    tell: &mut dyn FnMut(&Solution),
) -> Result<Solution, Error> {
    let mut changed =
        Idid { frame: changed(&idid.frame, &Options { belief: None, ..options.clone() })?, ..idid.clone() };
    if let Some(belief) = &options.belief {
        changed.belief = checked(belief, &idid.frame)?;
    }
    if let Some(discount) = options.discount {
        changed.set_discount(discount);
    }
    if let Some(horizon) = options.horizon {
        if horizon > idid.other_horizon {
            let most = idid.other_horizon;
            return Err(Error::Usage(format!(
                "--horizon: at most horizon_0 = {most}, as the other agent acts to the end"
            )));
        }
        changed.horizon = horizon;
    }
    others_in_units(&mut changed);
    in_units(&changed, tell, |idid, tell| solve_interactive(idid, options, stop, tell))
}

fn solve_interactive(
    idid: &Idid,
    options: &Options,
    stop: &Stop,
    tell: &mut dyn FnMut(&Solution),
) -> Result<Solution, Error> {
    let interval = first::of_process(&idid.frame, &idid.belief, idid.horizon);
    let solution = Solution { horizon: Some(idid.horizon), ..Solution::new("idid") }.within(interval);
    tell(&solution);
    let room = Room { nodes: options.nodes, bytes: options.memory / 2, device: &options.device };
    let Some(models) = Models::new(idid, room, stop)? else {
        return Err(Error::Memory(format!(
            "the models of the other agent reach more than {} beliefs a step; --nodes allows more",
            options.nodes
        )));
    };
    let merged = models.merged();
    let own = &idid.frame.agents[0];
    let names = Names {
        actions: own.actions.clone(),
        observations: own.observations.clone(),
        agents: vec![(own.name.clone(), own.actions.clone())],
    };
    let solution = Solution {
        models_per_step: Some(models.per_step()),
        classes_per_step: Some(merged.per_step()),
        level0_s: Some(models.seconds.0),
        expand_s: Some(models.seconds.1),
        ..solution
    };
    match options.method {
        // as in the paper, only equal beliefs are merged
        Method::Eliminate => eliminated(&flat(idid, &models)?, options, solution, stop, tell),
        Method::Alpha | Method::Spu | Method::Team => {
            Err(Error::Usage(format!("--method {} does not solve interactive diagrams", options.method.name())))
        }
        _ => {
            let faced = Faced::new(idid, &merged);
            let start = faced.start(&idid.belief);
            let (start, horizon) = (&start[..], idid.horizon);
            let course = Course { process: &faced, start, horizon, names: &names, alpha: None, options, stop };
            course.solve(solution, tell)
        }
    }
}

/// Returns the process with the belief and the discount of the options.
fn changed(pomdp: &Pomdp, options: &Options) -> Result<Pomdp, Error> {
    if !options.observe.is_empty() {
        return Err(Error::Usage("--observe is for diagrams; a process has --belief".into()));
    }
    let mut changed = pomdp.clone();
    if let Some(discount) = options.discount {
        changed.discount = discount;
    }
    if let Some(belief) = &options.belief {
        changed.start = checked(belief, pomdp)?;
    }
    Ok(changed)
}

fn checked(belief: &[f64], pomdp: &Pomdp) -> Result<Vec<f64>, Error> {
    let states = pomdp.states.len();
    let sum: f64 = belief.iter().sum();
    if belief.len() != states || belief.iter().any(|&p| p < 0.0) || (sum - 1.0).abs() > 1e-6 {
        return Err(Error::Usage(format!(
            "--belief: expected {states} probabilities that sum to 1, found {} that sum to {sum}",
            belief.len()
        )));
    }
    Ok(belief.to_vec())
}

/// Solves the flat diagram in place of the process.
fn eliminated(
    diagram: &crate::model::Diagram,
    options: &Options,
    solution: Solution,
    stop: &Stop,
    tell: &mut dyn FnMut(&Solution),
) -> Result<Solution, Error> {
    let options = Options { horizon: None, belief: None, discount: None, ..options.clone() };
    let of_process = |found: &Solution| {
        let Solution { kind, horizon, models_per_step, classes_per_step, level0_s, expand_s, .. } = solution.clone();
        Solution { kind, horizon, models_per_step, classes_per_step, level0_s, expand_s, ..found.clone() }
    };
    let found = solve_diagram(diagram, &options, stop, &mut |found| tell(&of_process(found)))?;
    Ok(of_process(&found))
}

/// The computation of vectors, for processes that have one.
type Alpha<'a> = &'a dyn Fn() -> Result<Option<Vectors>, Error>;

/// A process over a horizon that is solved from a belief.
struct Course<'a, P> {
    process: &'a P,
    start: &'a [f64],
    horizon: usize,
    names: &'a Names,
    alpha: Option<Alpha<'a>>,
    options: &'a Options,
    stop: &'a Stop,
}

impl<P: Process> Course<'_, P> {
    /// Solves by a belief tree, else by vectors, else by bounds.
    fn solve(&self, mut solution: Solution, tell: &mut dyn FnMut(&Solution)) -> Result<Solution, Error> {
        let &Course { process, horizon, stop, .. } = self;
        let mut vectors = None;
        let wide = process.states(0) as f64 * process.states(horizon - 1) as f64;
        let work = wide * (process.actions() * process.observations() * horizon) as f64;
        if work <= FIRST {
            let stop = if work <= AT_ONCE { &stop.unheeded() } else { stop };
            let made = vectors.insert(bounds(process, horizon, stop)?);
            let _ = self.between(&mut solution, 0, &made[0])?;
            tell(&solution);
        }
        match self.exact(&mut solution) {
            Ok(true) => {
                tell(&solution);
                return Ok(solution);
            }
            Ok(false) => {}
            Err(error) if error.is_stop() && solution.meu.is_some() => return Ok(solution),
            Err(error) => return Err(error),
        }
        // deeper and deeper trees, with leaves bounded by blind policies and by observed states
        let vectors = match vectors {
            Some(vectors) => vectors,
            None => bounds(process, horizon, stop)?,
        };
        for (depth, bounds) in vectors.iter().enumerate() {
            match self.between(&mut solution, depth, bounds) {
                Ok(true) => tell(&solution),
                Ok(false) => break,
                Err(error) if error.is_stop() && solution.meu.is_some() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(solution)
    }

    /// Solves exactly. Returns whether a method has room.
    fn exact(&self, solution: &mut Solution) -> Result<bool, Error> {
        let &Course { process, start, names, options, .. } = self;
        let step = self.horizon - 1;
        let last: Vec<Vec<f64>> = (0..process.actions()).map(|action| process.rewards(step, action).to_vec()).collect();
        if options.method != Method::Alpha
            && let Some(tree) = self.tree(Leaf { step, vectors: &last })?
        {
            solution.exactly(tree.value(0), tree.error_bound, self.graph(&tree), names);
            (solution.method, solution.nodes) = (Method::BeliefTree, Some(tree.nodes()));
            return Ok(true);
        }
        let vectors = match self.alpha {
            Some(alpha) if options.method != Method::BeliefTree => alpha()?,
            _ => None,
        };
        let Some(vectors) = vectors else { return Ok(false) };
        let graph = vectors.policy(start, names.actions.clone(), names.observations.clone());
        solution.exactly(vectors.value(start), vectors.error_bound, graph, names);
        (solution.method, solution.nodes) = (Method::Alpha, Some(vectors.count()));
        Ok(true)
    }

    /// Computes bounds by trees of a depth. Returns whether they have room.
    fn between(&self, solution: &mut Solution, depth: usize, bounds: &Bounds) -> Result<bool, Error> {
        let tree = |vectors: &[Vec<f64>]| self.tree(Leaf { step: depth, vectors });
        let Some(lower) = tree(&bounds.blind)? else { return Ok(false) };
        let upper = match depth {
            0 => dot(self.start, &bounds.seen),
            _ => match tree(std::slice::from_ref(&bounds.seen))? {
                Some(upper) => upper.value(0),
                None => return Ok(false),
            },
        };
        let error = lower.error_bound + bounds.error;
        if solution.meu.is_none_or(|known| lower.value(0) > known) {
            solution.take(lower.value(0), error, self.graph(&lower), self.names);
        }
        let known = solution.bound.unwrap_or(f64::INFINITY);
        solution.bound = Some(known.min(upper + error));
        (solution.method, solution.nodes) = (Method::BeliefTree, Some(lower.nodes()));
        Ok(true)
    }

    fn tree(&self, leaf: Leaf<'_>) -> Result<Option<Tree>, Error> {
        let room = Room { nodes: self.options.nodes, bytes: self.options.memory, device: &self.options.device };
        Tree::grow(self.process, &[self.start.to_vec()], leaf, room, self.stop)
    }

    fn graph(&self, tree: &Tree) -> PolicyGraph {
        tree.policy(self.horizon, self.names.actions.clone(), self.names.observations.clone())
    }
}

impl Solution {
    fn exactly(&mut self, value: f64, error: f64, graph: PolicyGraph, names: &Names) {
        // rounding does not lower the lower bound
        self.take(value.max(self.meu.unwrap_or(value)), error, graph, names);
        self.bound = self.meu;
        self.exact = true;
    }

    fn take(&mut self, value: f64, error: f64, graph: PolicyGraph, names: &Names) {
        self.meu = Some(value);
        self.error_bound = error;
        let mut rest = graph.nodes[0].action;
        let mut own = Vec::new();
        for (name, actions) in names.agents.iter().rev() {
            let name = if name.is_empty() { "action" } else { name };
            own.push((name.to_string(), actions[rest % actions.len()].clone()));
            rest /= actions.len();
        }
        own.reverse();
        self.first_decision = own;
        self.policy = Some(Policy::Graph(graph));
    }
}
