//! Cost shifting between the mini-buckets of a plan: the join graph (Ihler, Flerova, Dechter, Otten, "Join-graph based
//! cost-shifting schemes", 2012).
//!
//! Each mini-bucket is a table over all its variables, the sum of its functions. What a table costs at least for each
//! combination of the variables that it shares with another may move there: down along the plan all of it, which is
//! mini-buckets with moment matching; back a share; or half of the difference, along every edge. No entry ever becomes negative, so
//! what has become constant is a bound at any time, and it never falls. Integers throughout: what a division leaves over stays.

use super::blocks::{Blocks, Lie, NEVER, add, project};
use super::plan::{Input, Plan, Source};
use super::run::Progress;
use super::storage::Storage;
use super::table;
use crate::model::{Cost, CostFunction, FORBIDDEN, Problem, Table};
use crate::stop::Stop;
use rayon::prelude::*;
use std::sync::Arc;

/// No solution of interest costs as much.
const LARGEST: Cost = 1 << 48;
/// Passes, at most: then others have their turn.
const PASSES: u32 = 24;
/// The same along all edges alike.
const LONG_PASSES: u32 = 8;

/// When to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// After one pass down: mini-buckets with moment matching.
    Once,
    /// Down and back, until a pass back and down gains less than an eighth of all: larger mini-buckets gain more in the time.
    Short,
    /// Along all edges alike, which gains more in the long run, until it is less than a ten-thousandth of the bound.
    Long,
}

/// Mini-buckets on their way to a larger constant.
#[derive(Debug)]
pub struct JoinGraph {
    problem: Arc<Problem>,
    plan: Plan,
    clusters: Vec<Cluster>,
    edges: Vec<Edge>,
    /// Without the problem's own.
    constant: Cost,
    /// With the constant, no solution costs as much.
    range: Cost,
    /// Clusters whose tables are there, variables of the pass at work that are done, and passes.
    built: usize,
    at: usize,
    passes: u32,
    /// `constant` after the last pass down.
    before: Cost,
    most: u32,
    patience: Patience,
    work: u64,
}

#[derive(Debug)]
struct Cluster {
    table: Storage<Cost>,
    sizes: Vec<usize>,
    blocks: Blocks,
    /// The edge to the mini-bucket that takes the message.
    parent: Option<u32>,
    /// Edges from those whose messages are taken.
    children: Vec<u32>,
    /// The edges to others of the same variable.
    siblings: Vec<u32>,
}

/// Two clusters that share variables.
#[derive(Debug)]
struct Edge {
    ends: [u32; 2],
    /// How a table over what they share lies along each.
    lies: [Lie; 2],
    entries: usize,
}

/// What moves along an edge.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// All that the first end has to the other.
    Push,
    /// One of so many parts of what the second end has to the first.
    Share(Cost),
    /// Half of the difference.
    Level,
}

impl JoinGraph {
    /// Nothing has moved yet. `None` where costs are too large for sums of 64 bits, or the plan does not join all functions.
    pub fn new(problem: &Arc<Problem>, plan: &Plan, patience: Patience) -> Option<JoinGraph> {
        if plan.cap() >= LARGEST || plan.steps.iter().any(|step| step.lowered) {
            return None;
        }
        let full = |index: usize| -> Vec<u32> {
            std::iter::once(plan.steps[index].position).chain(plan.steps[index].scope.iter().copied()).collect()
        };
        let scopes: Vec<Vec<u32>> = (0..plan.steps.len()).map(full).collect();
        let sizes =
            |scope: &[u32]| -> Vec<usize> { scope.iter().map(|&p| plan.domains[p as usize] as usize).collect() };
        let mut graph = JoinGraph {
            problem: problem.clone(),
            plan: plan.clone(),
            clusters: scopes.iter().map(|scope| Cluster::new(&sizes(scope))).collect(),
            edges: Vec::new(),
            constant: 0,
            range: plan.cap().max(1),
            built: 0,
            at: 0,
            passes: 0,
            before: 0,
            most: if patience == Patience::Long { LONG_PASSES } else { PASSES },
            patience,
            work: 0,
        };
        let mut edge = |a: usize, b: usize, shared: &[u32]| {
            let own = sizes(shared);
            let lie = |end: usize| {
                let places: Vec<_> = scopes[end].iter().map(|p| shared.binary_search(p).ok()).collect();
                graph.clusters[end].blocks.lie(&places, &own)
            };
            let lies = [lie(a), lie(b)];
            graph.edges.push(Edge { ends: [a as u32, b as u32], lies, entries: own.iter().product() });
            graph.edges.len() as u32 - 1
        };
        let mut found: Vec<(usize, usize, u32, bool)> = Vec::new();
        for (index, step) in plan.steps.iter().enumerate() {
            for input in &step.inputs {
                if let Source::Message(from) = input.source {
                    found.push((from as usize, index, edge(from as usize, index, &input.scope), true));
                }
            }
            // each mini-bucket of a variable with the one before it that it shares most with
            let first = plan.first[step.position as usize] as usize;
            let common = |other: usize| -> Vec<u32> {
                scopes[index].iter().copied().filter(|p| scopes[other].binary_search(p).is_ok()).collect()
            };
            if let Some(other) = (first..index).max_by_key(|&other| common(other).len()) {
                found.push((other, index, edge(other, index, &common(other)), false));
            }
        }
        for (a, b, edge, message) in found {
            if message {
                graph.clusters[a].parent = Some(edge);
                graph.clusters[b].children.push(edge);
            } else {
                graph.clusters[b].siblings.push(edge);
            }
        }
        Some(graph)
    }

    /// Bytes that an entry takes: in its table and in that of the problem it becomes.
    pub const BYTES: u64 = 2 * size_of::<Cost>() as u64;

    /// Makes tables and moves costs for about `work` entries.
    pub fn advance(&mut self, work: u64, stop: &Stop) -> Progress {
        let end = self.work.saturating_add(work);
        let buckets = self.plan.domains.len();
        while self.passes < self.most && self.constant < self.range && buckets > 0 {
            if self.work >= end || stop.is_set() {
                return Progress::More;
            }
            if self.built < self.clusters.len() {
                self.work += self.build(self.built);
                self.built += 1;
                continue;
            }
            let forward = self.passes.is_multiple_of(2);
            let position = if forward { self.at } else { buckets - 1 - self.at };
            self.work += self.visit(position, forward) + 1;
            self.at += 1;
            if self.at == buckets {
                self.at = 0;
                self.passes += 1;
                if forward {
                    let gain = self.constant - self.before;
                    let end = match self.patience {
                        Patience::Once => true,
                        Patience::Short => self.passes > 1 && gain <= self.constant / 8,
                        Patience::Long => {
                            self.passes > 1 && gain <= (self.problem.constant.max(0) + self.constant) / 10_000
                        }
                    };
                    if end {
                        self.passes = self.most;
                    }
                    self.before = self.constant;
                }
            }
        }
        Progress::Done
    }

    /// Entries looked at so far.
    pub fn work_done(&self) -> u64 {
        self.work
    }

    /// Sums up the functions of a mini-bucket. Returns the entries looked at.
    fn build(&mut self, index: usize) -> u64 {
        let JoinGraph { problem, plan, clusters, .. } = self;
        let (step, cluster, cap) = (&plan.steps[index], &mut clusters[index], plan.cap());
        let entries: usize = cluster.sizes.iter().product();
        cluster.table = Storage::new(entries);
        let place = |input: &Input, p: u32| input.scope.binary_search(&p).ok();
        for input in &step.inputs {
            let variables: Vec<u32> = input.scope.iter().map(|&p| plan.sequence[p as usize]).collect();
            let mut costs: Storage<Cost> = match input.source {
                Source::Unary => problem.unary[variables[0] as usize].iter().map(|&cost| cost.min(cap)).collect(),
                Source::Function(f) => {
                    table::lay_out(&problem.functions[f as usize], &variables, &problem.domains, cap)
                }
                Source::Message(_) => continue,
            };
            costs.iter_mut().filter(|cost| **cost >= cap).for_each(|cost| *cost = NEVER);
            let positions = std::iter::once(step.position).chain(step.scope.iter().copied());
            let places: Vec<_> = positions.map(|p| place(input, p)).collect();
            let own: Vec<usize> = input.scope.iter().map(|&p| plan.domains[p as usize] as usize).collect();
            let lie = cluster.blocks.lie(&places, &own);
            add(&mut cluster.table, &cluster.blocks, &lie, &costs, cap.max(1));
        }
        (entries * step.inputs.len().max(1)) as u64
    }

    /// The next moves of the mini-buckets of a variable. Returns the entries looked at.
    fn visit(&mut self, position: usize, forward: bool) -> u64 {
        let steps = self.plan.first[position] as usize..self.plan.first[position + 1] as usize;
        let mut work = 0;
        for index in steps.clone() {
            for place in 0..self.clusters[index].siblings.len() {
                work += self.exchange(self.clusters[index].siblings[place], Move::Level);
            }
        }
        let symmetric = self.patience == Patience::Long;
        for index in steps {
            match (forward, self.clusters[index].parent) {
                (true, Some(edge)) => work += self.exchange(edge, if symmetric { Move::Level } else { Move::Push }),
                (true, None) => work += self.settle(index),
                (false, _) => {
                    let children = self.clusters[index].children.len();
                    for place in 0..children {
                        let share = if symmetric { Move::Level } else { Move::Share((children - place + 1) as Cost) };
                        work += self.exchange(self.clusters[index].children[place], share);
                    }
                }
            }
        }
        work
    }

    /// Moves along an edge.
    fn exchange(&mut self, edge: u32, how: Move) -> u64 {
        let Edge { ends: [a, b], lies: [lie_a, lie_b], entries } = &self.edges[edge as usize];
        let (a, b) = (*a as usize, *b as usize);
        let limit = self.range - self.constant;
        let from = |cluster: usize, lie: &Lie| {
            let Cluster { table, blocks, .. } = &self.clusters[cluster];
            project(table, blocks, lie, *entries)
        };
        let mut lowest = Cost::MAX;
        let (mut to_a, mut to_b);
        match how {
            Move::Push => {
                to_a = from(a, lie_a);
                lowest = to_a.iter().copied().min().unwrap_or(0);
                to_b = to_a.iter().map(|&cost| if cost >= NEVER { NEVER } else { cost - lowest }).collect();
                to_a.iter_mut().for_each(|cost| *cost = if *cost >= NEVER { 0 } else { -*cost });
            }
            Move::Share(parts) => {
                to_b = from(b, lie_b);
                lowest = to_b.iter().copied().min().unwrap_or(0);
                let part = |&cost: &Cost| if cost >= NEVER { NEVER } else { (cost - lowest) / parts };
                to_a = to_b.iter().map(part).collect();
                let gone = |(cost, part): (&mut Cost, &Cost)| *cost = if *part >= NEVER { 0 } else { -(part + lowest) };
                to_b.iter_mut().zip(&to_a).for_each(gone);
            }
            Move::Level => {
                (to_a, to_b) = rayon::join(|| from(a, lie_a), || from(b, lie_b));
                for (a, b) in to_a.iter().zip(&to_b) {
                    lowest = lowest.min(a + b);
                }
                for (a, b) in to_a.iter_mut().zip(&mut to_b) {
                    if *a + *b >= NEVER {
                        (*a, *b) = (NEVER, NEVER);
                    } else {
                        let left = *a + *b - lowest;
                        (*a, *b) = (left / 2 - *a, left - left / 2 - *b);
                    }
                }
            }
        }
        if lowest >= limit {
            self.constant = self.range;
            return 0;
        }
        self.constant += lowest;
        let limit = limit - lowest;
        for (end, lie, change) in [(a, lie_a, &to_a), (b, lie_b, &to_b)] {
            let Cluster { table, blocks, .. } = &mut self.clusters[end];
            add(table, blocks, lie, change, limit);
        }
        2 * (self.clusters[a].table.len() + self.clusters[b].table.len()) as u64
    }

    /// What the whole table costs becomes constant.
    fn settle(&mut self, index: usize) -> u64 {
        let table = &mut self.clusters[index].table;
        let lowest = table.iter().copied().min().unwrap_or(0);
        if self.constant + lowest >= self.range {
            self.constant = self.range;
            return 0;
        }
        self.constant += lowest;
        table.iter_mut().for_each(|cost| *cost -= if *cost >= NEVER { 0 } else { lowest });
        table.len() as u64
    }

    /// No solution costs less; `limit` or more where there is none below. All is of the problem as it was given.
    pub fn lower_bound(&self, limit: Cost) -> Cost {
        if self.constant >= self.range { limit } else { (self.problem.constant + self.constant).min(limit) }
    }

    /// A better solution is known: what costs as much need not be told apart any more.
    pub fn below(&mut self, ub: Cost) {
        self.range = self.range.min(ub.saturating_sub(self.problem.constant).max(1));
        self.constant = self.constant.min(self.range);
    }

    /// What a solution with each value costs at least: the constant and what each table that has the variable takes for the value.
    /// [`FORBIDDEN`] where no solution of interest has it.
    pub fn value_bounds(&self) -> Vec<Vec<Cost>> {
        let mut sums: Vec<Vec<Cost>> = self.problem.domains.iter().map(|&d| vec![self.constant; d as usize]).collect();
        let own: Vec<_> = self.clusters.par_iter().map(Cluster::marginals).collect();
        for (step, marginals) in self.plan.steps.iter().zip(own) {
            let positions = std::iter::once(step.position).chain(step.scope.iter().copied());
            for (position, marginals) in positions.zip(marginals) {
                let sums = sums[self.plan.sequence[position as usize] as usize].iter_mut();
                sums.zip(marginals).for_each(|(sum, marginal)| *sum = (*sum + marginal).min(NEVER));
            }
        }
        let total = |sum: Cost| if sum >= self.range { FORBIDDEN } else { sum + self.problem.constant };
        sums.iter_mut().flatten().for_each(|sum| *sum = total(*sum));
        sums
    }

    /// The problem whose functions are the mini-buckets as they are.
    pub fn problem(&self) -> Problem {
        let back = |&cost: &Cost| if cost >= NEVER { FORBIDDEN } else { cost };
        let mut unary: Vec<Vec<Cost>> = self.problem.domains.iter().map(|&d| vec![0; d as usize]).collect();
        let tables = self.clusters.par_iter().map(|cluster| cluster.table.iter().map(back).collect::<Vec<Cost>>());
        let mut functions = Vec::with_capacity(self.clusters.len());
        for (costs, step) in tables.collect::<Vec<_>>().into_iter().zip(&self.plan.steps) {
            let variable = self.plan.sequence[step.position as usize];
            if step.scope.is_empty() {
                unary[variable as usize] = costs;
            } else if table::nonzero(&costs) {
                let others = step.scope.iter().map(|&p| self.plan.sequence[p as usize]);
                functions.push(CostFunction {
                    scope: std::iter::once(variable).chain(others).collect(),
                    table: Table::dense(costs),
                });
            }
        }
        let none = self.constant >= self.range;
        let constant = if none { self.problem.top } else { self.problem.constant + self.constant };
        Problem { domains: self.problem.domains.clone(), unary, functions, constant, top: self.problem.top }
    }
}

impl Cluster {
    /// Nothing is in it yet.
    fn new(sizes: &[usize]) -> Cluster {
        let (table, blocks) = (Storage::default(), Blocks::new(sizes));
        Cluster { table, blocks, sizes: sizes.to_vec(), parent: None, children: Vec::new(), siblings: Vec::new() }
    }

    /// For each variable the least for each of its values.
    fn marginals(&self) -> Vec<Vec<Cost>> {
        let steps = table::strides(&self.sizes);
        let digit = |(&size, &step): (&usize, &usize)| {
            let mut least = vec![NEVER; size];
            for (run, costs) in self.table.chunks(step).enumerate() {
                let lowest = costs.iter().copied().min().unwrap_or(NEVER);
                least[run % size] = least[run % size].min(lowest);
            }
            least
        };
        self.sizes.iter().zip(&steps).map(digit).collect()
    }
}
