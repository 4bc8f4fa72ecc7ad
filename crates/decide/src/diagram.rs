//! Influence diagrams: exact if the tables have room, otherwise a lower bound by a policy and an upper bound by a
//! relaxation.

use super::first;
use super::limid::{Found, Given, Limited, reachable};
use super::magnitude::in_units;
use super::options::{Method, Options};
use super::pairs::{Pairs, Place, Plan, execute, plan};
use super::solution::Solution;
use crate::error::Error;
use crate::model::{Diagram, DiagramKind, Policy, Potential, Rules, scale};
use crate::stop::Stop;
use rustc_hash::FxHashSet;

/// Solves a diagram. `tell` receives better values and bounds as they are found.
///
/// # Errors
/// Returns an error if the diagram is not regular, if options do not fit, or if there is no memory; [`Error::Stopped`]
/// if `stop` is set before there is a result.
pub fn solve_diagram(
    diagram: &Diagram,
    options: &Options,
    stop: &Stop,
    tell: &mut dyn FnMut(&Solution),
) -> Result<Solution, Error> {
    in_units(diagram, tell, |diagram, tell| solve(diagram, options, stop, tell))
}

fn solve(
    diagram: &Diagram,
    options: &Options,
    stop: &Stop,
    tell: &mut dyn FnMut(&Solution),
) -> Result<Solution, Error> {
    if options.horizon.is_some() || options.belief.is_some() || options.discount.is_some() {
        return Err(Error::Usage("--horizon, --belief and --discount are for processes, not for diagrams".into()));
    }
    if let Method::BeliefTree | Method::Alpha | Method::Team = options.method {
        return Err(Error::Usage(format!("--method {} is for processes, not for diagrams", options.method.name())));
    }
    let irregular = irregular(diagram);
    let sliced;
    let diagram = match &options.observe[..] {
        [] => diagram,
        observed => {
            sliced = observe(diagram, observed)?;
            &sliced
        }
    };
    let decisions = diagram.nodes.iter().filter(|node| node.decision).count();
    let known = options.observe.len();
    let task = Task { diagram, options, irregular, stop };
    let solution = Solution::new(diagram.kind.name()).within(first::of_diagram(diagram, known > 0, irregular));
    let mut solution = Solution {
        decisions: Some(decisions),
        chance: Some(diagram.nodes.len() - decisions - known),
        utilities: Some(diagram.utilities.len()),
        conditional: known > 0,
        ..solution
    };
    tell(&solution);
    match (diagram.kind, options.method) {
        (DiagramKind::Limited, Method::Eliminate) => {
            Err(Error::Usage("one elimination does not solve a LIMID: --method spu, or auto".into()))
        }
        (DiagramKind::Limited, _) => task.limited(solution, tell),
        (DiagramKind::Recall, Method::Spu) => {
            task.forgetful(&mut solution, tell)?;
            Ok(solution)
        }
        (DiagramKind::Recall, _) => {
            if !task.recall(&mut solution)? {
                task.relaxed(&mut solution)?;
                tell(&solution);
                task.forgetful(&mut solution, tell)?;
            }
            tell(&solution);
            Ok(solution)
        }
    }
}

/// Fixes observed chance variables, which no decision may influence. With perfect recall, elimination checks that by
/// the numbers; in a LIMID the arcs show it.
fn observe(diagram: &Diagram, observed: &[(u32, u32)]) -> Result<Diagram, Error> {
    let mut sliced = diagram.clone();
    let decisions = (0..).zip(&diagram.nodes).filter(|(_, node)| node.decision).map(|(v, _)| v);
    let influenced = match diagram.kind {
        DiagramKind::Recall => FxHashSet::default(),
        DiagramKind::Limited => reachable(&children(diagram), decisions),
    };
    for &(variable, value) in observed {
        let node = &diagram.nodes[variable as usize];
        if node.decision {
            return Err(Error::Usage(format!("--observe: {} is a decision, which is not observed", node.name)));
        }
        if influenced.contains(&variable) {
            return Err(Error::Usage(format!("--observe: {} may depend on a decision", node.name)));
        }
        let slice = |function: &mut Potential| {
            let Some(axis) = function.scope.iter().position(|&v| v == variable) else { return };
            let size = |&v: &u32| diagram.nodes[v as usize].domain as usize;
            let inner: usize = function.scope[axis + 1..].iter().map(size).product();
            let rows = function.table.chunks(inner).enumerate();
            let domain = node.domain as usize;
            function.table =
                rows.filter(|(row, _)| row % domain == value as usize).flat_map(|(_, row)| row.to_vec()).collect();
            function.scope = function.scope.iter().copied().filter(|&v| v != variable).collect();
        };
        sliced.probabilities.iter_mut().chain(&mut sliced.utilities).for_each(slice);
        let lists = sliced.blocks.iter_mut().chain(sliced.informed.iter_mut().map(|(_, sees)| sees));
        lists.for_each(|list| list.retain(|&v| v != variable));
        sliced.nodes[variable as usize].domain = 1;
    }
    Ok(sliced)
}

/// Returns for each variable those whose probabilities depend on it.
fn children(diagram: &Diagram) -> Vec<Vec<u32>> {
    let mut children = vec![Vec::new(); diagram.nodes.len()];
    for function in &diagram.probabilities {
        if let Some((&child, others)) = function.scope.split_last() {
            others.iter().for_each(|&parent| children[parent as usize].push(child));
        }
    }
    children
}

/// Returns for each table the largest deviation of a row's sum from 1.
fn misses(diagram: &Diagram) -> impl Iterator<Item = f64> {
    diagram.probabilities.iter().map(|function| {
        let Some(&child) = function.scope.last() else { return 0.0 };
        let rows = function.table.chunks(diagram.nodes[child as usize].domain as usize);
        rows.map(|row| (row.iter().sum::<f64>() - 1.0).abs()).fold(0.0, f64::max)
    })
}

/// A table whose rows deviate from a sum of 1 by more than this is no distribution but a factor of a product.
const DISTRIBUTION: f64 = 1e-3;

/// Returns a bound on the total deviation of all distributions from 1. Probabilities computed from them may depend on
/// decisions by as much.
fn irregular(diagram: &Diagram) -> f64 {
    misses(diagram).filter(|&miss| miss < DISTRIBUTION).sum::<f64>() * 4.0
}

/// Returns the functions of a diagram with its variables in blocks.
pub fn pairs_of(diagram: &Diagram) -> Pairs {
    let block = |block: &Vec<u32>| {
        let decision = block.first().is_some_and(|&v| diagram.nodes[v as usize].decision);
        (decision, block.clone())
    };
    Pairs {
        domains: diagram.domains(),
        probabilities: diagram.probabilities.clone(),
        utilities: diagram.utilities.clone(),
        blocks: diagram.blocks.iter().map(block).collect(),
    }
}

/// Records the sizes of a plan.
fn note(solution: &mut Solution, plan: &Plan) {
    solution.width = Some(plan.width);
    solution.largest_table = Some(plan.largest);
    solution.joint_entries = Some(plan.joint_entries);
    (solution.mean_probability_factor, solution.mean_utility_factor) = (Some(plan.mean.0), Some(plan.mean.1));
}

/// A diagram with the options that it is solved with.
struct Task<'a> {
    diagram: &'a Diagram,
    options: &'a Options,
    /// The relative amount by which probabilities may depend on decisions.
    irregular: f64,
    stop: &'a Stop,
}

impl Task<'_> {
    /// Eliminates with perfect recall. Returns false if the tables have no room.
    fn recall(&self, solution: &mut Solution) -> Result<bool, Error> {
        let Task { diagram, options, irregular, stop } = *self;
        let pairs = pairs_of(diagram);
        let plan = plan(&pairs, stop)?;
        note(solution, &plan);
        let place = Place { device: &options.device, memory: options.memory as f64 };
        let outcome = execute(&pairs, &plan, irregular, place, stop).map_err(|error| named(error, diagram))?;
        let Some(outcome) = outcome else {
            solution.needed_bytes = Some(plan.peak_bytes);
            return Ok(false);
        };
        let normaliser = scale(outcome.normaliser.mantissa, outcome.normaliser.exponent);
        if outcome.normaliser.mantissa == 0.0 && solution.conditional {
            return Err(impossible());
        }
        let (value, error) = outcome.worth(solution.conditional);
        solution.meu = Some(value);
        solution.bound = Some(value);
        solution.exact = true;
        solution.error_bound = error;
        // `None` if the probability is too small for a double
        solution.normaliser = Some(normaliser).filter(|&p| p > 0.0 || outcome.normaliser.mantissa == 0.0);
        let mut rules = outcome.rules;
        rules.reverse();
        solution.set_rules(rules, diagram);
        solution.method = Method::Eliminate;
        Ok(true)
    }

    /// Computes the upper bound of a relaxation that reveals all variables on which decisions have no influence; that
    /// makes tables smaller.
    fn relaxed(&self, solution: &mut Solution) -> Result<(), Error> {
        let Task { diagram, options, irregular, stop } = *self;
        let most = |function: &Potential| function.table.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // the deviations of rows that do not sum to 1
        let slack = irregular * diagram.utilities.iter().map(|f| most(f).abs()).sum::<f64>();
        for diagram in [diagram, &revealed(diagram)] {
            let pairs = pairs_of(diagram);
            let plan = plan(&pairs, stop)?;
            let place = Place { device: &options.device, memory: options.memory as f64 };
            match execute(&pairs, &plan, irregular, place, stop) {
                Ok(None) => {}
                Ok(Some(outcome)) => {
                    let (value, error) = outcome.worth(solution.conditional);
                    let bound = value + error + slack;
                    solution.bound = Some(solution.bound.map_or(bound, |known| known.min(bound)));
                    return Ok(());
                }
                Err(error) if error.is_stop() => return Err(error),
                // a LIMID need not be regular if its decisions had perfect recall
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Searches for policies of a diagram with perfect recall in which each decision sees only what is observed right
    /// before it.
    fn forgetful(&self, solution: &mut Solution, tell: &mut dyn FnMut(&Solution)) -> Result<(), Error> {
        let Task { diagram, options, stop, .. } = *self;
        let bound = solution.bound;
        if solution.conditional {
            return Ok(());
        }
        let forgetting = Diagram { kind: DiagramKind::Limited, ..diagram.clone() };
        let limited = Limited::new(diagram, forgetting.decisions(), options);
        let found = match limited.fits() {
            true => limited.update(stop),
            false => Ok(None),
        };
        match found {
            Ok(Some(found)) => {
                solution.set_found(Found { exact: false, ..found }, diagram);
                // policies with memory may be better, unless the bound excludes that
                solution.bound = bound;
            }
            Ok(None) => {}
            Err(error) if error.is_stop() && bound.is_some() => {}
            Err(error) => return Err(error),
        }
        tell(solution);
        Ok(())
    }

    /// Solves a LIMID, whose decisions see only what they are informed of.
    fn limited(&self, mut solution: Solution, tell: &mut dyn FnMut(&Solution)) -> Result<Solution, Error> {
        let Task { diagram, options, stop, .. } = *self;
        let limited = Limited::new(diagram, diagram.decisions(), options);
        if !limited.fits() {
            self.relaxed(&mut solution)?;
            return Ok(solution);
        }
        // the value is conditional on the observation
        let mut given = Given { probability: 1.0, error: 0.0 };
        if solution.conditional {
            let Some(own) = limited.observed(stop)? else { return Ok(solution) };
            if own.probability == 0.0 {
                return Err(impossible());
            }
            solution.normaliser = Some(own.probability);
            given = own;
        }
        if let Some(found) = limited.update(stop)? {
            solution.set_found(found.given(given), diagram);
            tell(&solution);
        }
        if solution.exact {
            return Ok(solution);
        }
        let improve = |solution: &mut Solution| -> Result<(), Error> {
            if options.method == Method::Auto
                && let Some(found) = limited.search(options.exact_limit, stop)?
            {
                solution.set_found(found.given(given), diagram);
            }
            if !solution.exact {
                self.relaxed(solution)?;
                // a policy that reaches the bound of decisions with perfect recall is optimal
                if let (Some(value), Some(bound)) = (solution.meu, solution.bound) {
                    solution.bound = Some(bound.max(value));
                }
            }
            Ok(())
        };
        match improve(&mut solution) {
            Err(error) if error.is_stop() && solution.meu.is_some() => {}
            other => other?,
        }
        tell(&solution);
        Ok(solution)
    }
}

fn impossible() -> Error {
    Error::Usage("--observe: the observation is impossible, or its probability is below the range of doubles".into())
}

/// Adds the diagram's name to an error of elimination, which knows a decision by its index only.
fn named(error: Error, diagram: &Diagram) -> Error {
    match error {
        Error::Usage(text) => Error::Usage(format!("{}: {text}", diagram.name)),
        other => other,
    }
}

impl Solution {
    /// Takes the rules of a diagram's decisions; the first decision comes first.
    fn set_rules(&mut self, mut rules: Vec<crate::model::DecisionRule>, diagram: &Diagram) {
        let name = |v: u32| diagram.nodes[v as usize].name.clone();
        rules.iter_mut().for_each(|rule| rule.name = name(rule.decision));
        let first = diagram
            .blocks
            .iter()
            .rev()
            .find(|block| block.first().is_some_and(|&v| diagram.nodes[v as usize].decision));
        let of_first = rules.iter().filter(|rule| first.is_some_and(|block| block.contains(&rule.decision)));
        let fixed = of_first.filter(|rule| rule.choices.iter().all(|&choice| choice == rule.choices[0]));
        self.first_decision = fixed
            .map(|rule| (rule.name.clone(), diagram.nodes[rule.decision as usize].value_name(rule.choices[0])))
            .collect();
        self.policy = Some(Policy::Rules(Rules { decisions: rules }));
    }

    fn set_found(&mut self, found: Found, diagram: &Diagram) {
        self.meu = Some(found.value);
        self.error_bound = found.error;
        self.exact = found.exact;
        if let Some(plan) = &found.plan {
            note(self, plan);
        }
        self.set_rules(found.rules, diagram);
        if found.exact {
            self.bound = self.meu;
        }
        self.method = Method::Spu;
    }
}

/// Returns a diagram that reveals each hidden variable before the first decision from which on no decision influences
/// it. More information never lowers the value.
fn revealed(diagram: &Diagram) -> Diagram {
    let mut made = Diagram { kind: DiagramKind::Recall, ..diagram.clone() };
    let children = children(diagram);
    let is_decision = |block: &Vec<u32>| block.first().is_some_and(|&v| diagram.nodes[v as usize].decision);
    let Some(hidden) = diagram.blocks.first().filter(|block| !is_decision(block)) else { return made };
    // from the last decision to the first, the variables that are influenced from there on
    let mut influenced = FxHashSet::default();
    let mut place: Vec<(u32, usize)> = hidden.iter().map(|&v| (v, 0)).collect();
    for (number, block) in diagram.blocks.iter().enumerate().filter(|(_, block)| is_decision(block)) {
        influenced.extend(reachable(&children, block.iter().copied()));
        place.iter_mut().filter(|(v, _)| !influenced.contains(v)).for_each(|(_, place)| *place = number);
    }
    let mut blocks: Vec<Vec<u32>> = Vec::new();
    for (number, block) in diagram.blocks.iter().enumerate() {
        let shown = place.iter().filter(|&&(_, own)| own == number).map(|&(v, _)| v);
        match (number, is_decision(block)) {
            (0, _) => blocks.push(shown.collect()),
            (_, true) => {
                blocks.push(block.clone());
                blocks.push(shown.collect());
            }
            (_, false) => blocks.push(block.clone()),
        }
    }
    made.blocks = blocks.into_iter().filter(|block| !block.is_empty()).collect();
    made
}
