//! Exact DPOP whose messages have a limited size: where they would be larger, the agents below fix *cut variables*
//! above them and repeat their messages for the values of these (Petcu and Faltings, "MB-DPOP", 2007; Chen et al.,
//! "RMB-DPOP", 2020).
//!
//! Values are fixed from the root on. Before a value goes further down, ADPOP with messages of the limited size bounds
//! what it can come to, and it is left out where that is no better than the best assignment so far; what is left is
//! exact once all separators without the cut variables fit.

use crate::elimination::cuda::Gpu;
use crate::elimination::{Limits, Outcome, Plan, Progress, Run};
use crate::error::Error;
use crate::model::{Cost, CostFunction, FORBIDDEN, Problem, Table, add};
use crate::order::PseudoTree;
use crate::stop::Stop;
use crate::tensor::strides;
use std::sync::Arc;

/// Combinations between two looks at the stop flag.
const SLICE: u64 = 1 << 30;

/// What bounded messages found.
#[derive(Clone, Debug)]
pub struct BoundedFound {
    /// No assignment costs less.
    pub lower: Cost,
    /// The best assignment; none where there is none below the limit, or none was found in time.
    pub assignment: Option<(Cost, Vec<u32>)>,
    /// Whether all was searched.
    pub complete: bool,
    /// The variables that were fixed, from the root on.
    pub cut: Vec<u32>,
    /// How often values of cut variables were tried, and how many of these went no further.
    pub contexts: u64,
    /// Contexts that a bound ended.
    pub pruned: u64,
    /// UTIL messages beyond those of a single run.
    pub repeated_messages: u64,
    /// Entries in all messages.
    pub util_entries: u64,
    /// Entries of the largest message.
    pub largest_util_entries: u64,
}

/// Runs DPOP along a tree with messages of at most `message_limit` entries, unless functions alone have more.
///
/// # Errors
/// No memory; [`Error::Stopped`] where nothing was found in time.
pub fn run_bounded(
    problem: &Arc<Problem>,
    tree: &PseudoTree,
    message_limit: u64,
    memory: u64,
    gpu: Option<&Arc<Gpu>>,
    stop: &Stop,
) -> Result<BoundedFound, Error> {
    let cut = cut_variables(problem, tree, message_limit);
    let repeats = |&v: &u32| tree.separators.iter().filter(|separator| separator.contains(&v)).count() as u64;
    let mut search = Search {
        whole: problem,
        tree,
        z: most_variables(&problem.domains, message_limit),
        memory,
        gpu,
        stop,
        repeats: cut.iter().map(repeats).collect(),
        found: BoundedFound {
            lower: problem.constant,
            assignment: None,
            complete: false,
            cut,
            contexts: 0,
            pruned: 0,
            repeated_messages: 0,
            util_entries: 0,
            largest_util_entries: 0,
        },
    };
    let root = Context { problem: problem.clone(), fixed: Vec::new() };
    let (bound, exact) = search.bound(&root)?;
    search.found.lower = bound;
    let ended = if exact { Ok(()) } else { search.branch(&root) };
    match ended {
        Ok(()) => {
            search.found.complete = true;
            search.found.lower = search.upper();
            Ok(search.found)
        }
        Err(Error::Stopped) => Ok(search.found),
        Err(error) => Err(error),
    }
}

/// Variables to fix so that all separators fit: again and again the one that is in most of those that do not, the one
/// nearest to a root where several are.
fn cut_variables(problem: &Problem, tree: &PseudoTree, limit: u64) -> Vec<u32> {
    let mut domains = problem.domains.clone();
    let mut cut = Vec::new();
    loop {
        let mut counts = vec![0u32; domains.len()];
        let large = (0..domains.len() as u32).filter(|&v| tree.entries(v, &domains) > u128::from(limit.max(1)));
        for v in large {
            let free = tree.separators[v as usize].iter().filter(|&&u| domains[u as usize] > 1);
            free.for_each(|&u| counts[u as usize] += 1);
        }
        let best = (0..counts.len()).filter(|&v| counts[v] > 0);
        let Some(best) = best.min_by_key(|&v| (std::cmp::Reverse(counts[v]), tree.depth[v], v)) else { break };
        domains[best] = 1;
        cut.push(best as u32);
    }
    cut.sort_by_key(|&v| (tree.depth[v as usize], v));
    cut
}

/// The largest z whose messages fit, whatever their variables are.
fn most_variables(domains: &[u32], limit: u64) -> u32 {
    let mut sizes: Vec<u64> = domains.iter().map(|&domain| u64::from(domain)).filter(|&domain| domain > 1).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut entries = 1u64;
    let fits = |&size: &u64| {
        entries = entries.saturating_mul(size);
        entries <= limit.max(1)
    };
    sizes.into_iter().take_while(fits).count() as u32 + 1
}

/// A problem in which some cut variables have values.
struct Context {
    problem: Arc<Problem>,
    fixed: Vec<(u32, u32)>,
}

struct Search<'a> {
    whole: &'a Problem,
    tree: &'a PseudoTree,
    z: u32,
    memory: u64,
    gpu: Option<&'a Arc<Gpu>>,
    stop: &'a Stop,
    /// For each cut variable, how many agents repeat their message for a value of it.
    repeats: Vec<u64>,
    found: BoundedFound,
}

impl Search<'_> {
    fn upper(&self) -> Cost {
        self.found.assignment.as_ref().map_or(self.whole.top, |(cost, _)| *cost)
    }

    /// A bound on what the context can come to, and whether it is what it comes to. Keeps the assignment that the
    /// agents would choose.
    fn bound(&mut self, context: &Context) -> Result<(Cost, bool), Error> {
        // without the cut variables all messages fit, however many variables they have
        let z = (context.fixed.len() < self.found.cut.len()).then_some(self.z);
        let limits = Limits { z, ub: Some(self.upper()), ..Limits::new(self.memory) };
        let plan = Plan::until(&context.problem, &self.tree.order, &limits, self.stop)?;
        for step in &plan.steps {
            let entries = if step.scope.is_empty() { 0 } else { step.entries };
            self.found.util_entries = self.found.util_entries.saturating_add(entries);
            self.found.largest_util_entries = self.found.largest_util_entries.max(entries);
        }
        let outcome = self.run(context, plan)?;
        let lower = outcome.lower_bound();
        if lower < self.upper()
            && let Some(mut values) = outcome.assign_until(self.stop)
        {
            context.fixed.iter().for_each(|&(variable, value)| values[variable as usize] = value);
            let cost = self.whole.cost(&values);
            if cost < self.upper() {
                self.found.assignment = Some((cost, values));
            }
        }
        Ok((lower, outcome.exact()))
    }

    fn run(&self, context: &Context, plan: Plan) -> Result<Outcome, Error> {
        let gpu = self.gpu.filter(|_| Gpu::pays(plan.joint_entries as f64));
        let mut run = Run::on(gpu, context.problem.clone(), plan);
        while run.advance(SLICE, self.stop) == Progress::More {
            self.stop.check()?;
        }
        if let Some(error) = run.take_failure() {
            return Err(error);
        }
        run.finish().ok_or(Error::Stopped)
    }

    /// Fixes the next cut variable to each of its values, those of the least bounds first.
    fn branch(&mut self, context: &Context) -> Result<(), Error> {
        let place = context.fixed.len();
        let Some(&variable) = self.found.cut.get(place) else {
            let what = "functions of this size do not fit into the memory although all cut variables have values";
            return Err(Error::Memory(what.into()));
        };
        let mut children = Vec::new();
        for value in 0..self.whole.domains[variable as usize] {
            let problem = Arc::new(fixed(&context.problem, variable, value));
            let fixed = context.fixed.iter().copied().chain([(variable, value)]).collect();
            let child = Context { problem, fixed };
            self.found.contexts += 1;
            self.found.repeated_messages += self.repeats[place];
            let (bound, exact) = self.bound(&child)?;
            if bound >= self.upper() || exact {
                self.found.pruned += u64::from(!exact);
                continue;
            }
            children.push((bound, child));
        }
        // the first of equal ones is the first value
        children.sort_by_key(|(bound, _)| *bound);
        for (bound, child) in children {
            // a better assignment may have come since
            if bound < self.upper() {
                self.branch(&child)?;
            } else {
                self.found.pruned += 1;
            }
        }
        Ok(())
    }
}

/// The problem where a variable has a value: it keeps its number and one value, and no function reads it.
pub(super) fn fixed(problem: &Problem, variable: u32, value: u32) -> Problem {
    let mut result = problem.clone();
    result.domains[variable as usize] = 1;
    let own = std::mem::replace(&mut result.unary[variable as usize], vec![0]);
    result.constant = add(result.constant, own[value as usize]);
    result.functions.clear();
    for function in &problem.functions {
        let Some(place) = function.scope.iter().position(|&v| v == variable) else {
            result.functions.push(function.clone());
            continue;
        };
        let sizes: Vec<usize> = function.scope.iter().map(|&v| problem.domains[v as usize] as usize).collect();
        let stride = strides(&sizes)[place];
        let costs = || {
            let entries = function.entries(&problem.domains).enumerate();
            entries.filter(move |(index, _)| index / stride % sizes[place] == value as usize).map(|(_, cost)| cost)
        };
        let scope: Box<[u32]> = function.scope.iter().copied().filter(|&v| v != variable).collect();
        match scope[..] {
            [] => result.constant = costs().fold(result.constant, add),
            [other] => {
                let unary = result.unary[other as usize].iter_mut();
                unary.zip(costs()).for_each(|(sum, cost)| *sum = add(*sum, cost));
            }
            _ => result.functions.push(CostFunction { scope, table: Table::dense(costs().collect()) }),
        }
    }
    if result.constant >= FORBIDDEN {
        result.constant = result.top;
    }
    result
}
