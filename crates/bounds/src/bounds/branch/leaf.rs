//! The elimination of nodes: an estimate of its work, and the elimination itself.

use super::residual::State;
use super::static_data::{NEVER, StaticData};
use crate::bounds::tuning::branch::{DEVICE_SPEED, PLANNING};
use crate::device::DeviceError;
use crate::elimination::{Gpu, Limits, Outcome, Plan, Progress, Run};
use crate::model::{Cost, CostFunction, FORBIDDEN, Odometer, Problem, Scope, Table};
use crate::order::{Method, Order, best_order};
use crate::stop::Stop;
use std::sync::Arc;

/// Limits of the elimination of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget<'a> {
    pub joint_entries: f64,
    pub bytes: u64,
    /// Largest number of entries of a message. Elimination follows the order of the static data if it is set, and the
    /// best order found if it is `None`.
    pub message_entries: Option<u64>,
    pub gpu: Option<&'a Arc<Gpu>>,
}

/// What eliminations of nodes report besides solutions.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// Why the device failed to do its work.
    pub trouble: Option<DeviceError>,
    pub sent: Sent,
}

/// Counts of the messages of the eliminations of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Number of eliminations.
    pub runs: u64,
    /// Number of messages, including those that are constants.
    pub messages: u64,
    /// Entries of all messages.
    pub entries: u64,
    /// Entries of the largest message.
    pub largest: u64,
}

impl Sent {
    pub(crate) fn add(&mut self, other: Sent) {
        self.runs += other.runs;
        self.messages = self.messages.saturating_add(other.messages);
        self.entries = self.entries.saturating_add(other.entries);
        self.largest = self.largest.max(other.largest);
    }

    fn of(plan: &Plan) -> Sent {
        plan.steps.iter().fold(Sent { runs: 1, ..Sent::default() }, |mut all, step| {
            let entries = if step.scope.is_empty() { 0 } else { step.entries };
            all.add(Sent { runs: 0, messages: 1, entries, largest: entries });
            all
        })
    }
}

/// The unassigned part of a node's problem.
pub(crate) struct Residual {
    /// The variables of the whole problem that it has.
    variables: Vec<u32>,
    /// The residual problem, scaled and with the constant of the node.
    problem: Arc<Problem>,
}

/// The work of eliminating the unassigned variables in the order of the static data.
pub(crate) struct Elimination {
    /// Number of combinations visited; infinite if counting ended at the limit.
    pub joint_entries: f64,
    /// The variables of the bucket with the most combinations.
    pub hubs: Vec<u32>,
    /// Number of combinations of that bucket.
    pub largest: f64,
    /// Entries of the largest message.
    pub largest_message: f64,
    /// Work of the estimate itself, in words of bit sets.
    pub work: u64,
}

impl Elimination {
    /// Estimates the elimination of a node, as if `but` were assigned too. Stops counting at `limit`.
    pub fn new(data: &StaticData, state: &State, but: Option<u32>, limit: f64) -> Elimination {
        let n = data.variables();
        let is_open = |v: u32| state.count(v as usize) > 1 && Some(v) != but;
        let mut open = vec![0u64; n.div_ceil(64)];
        for v in (0..n as u32).filter(|&v| is_open(v)) {
            open[v as usize / 64] |= 1 << (v % 64);
        }
        // neighbours that a variable gets by the elimination of earlier ones: the next one of them to be eliminated
        // takes all
        let mut filled: Vec<Option<Box<[u64]>>> = vec![None; n];
        let mut elimination =
            Elimination { joint_entries: 0.0, hubs: Vec::new(), largest: 0.0, largest_message: 0.0, work: n as u64 };
        let mut bucket = Vec::new();
        for &v in data.sequence.iter().filter(|&&v| is_open(v)) {
            let own = v as usize;
            elimination.work += 2 * open.len() as u64;
            open[own / 64] &= !(1 << (v % 64));
            let mut joined = data.neighbours[own].clone();
            if let Some(filled) = filled[own].take() {
                joined.iter_mut().zip(&filled).for_each(|(word, more)| *word |= more);
            }
            joined.iter_mut().zip(&open).for_each(|(word, open)| *word &= open);
            bucket.clear();
            bucket.push(v);
            for (at, &word) in (0..).zip(&joined) {
                let mut word = word;
                while word != 0 {
                    bucket.push(at * 64 + word.trailing_zeros());
                    word &= word - 1;
                }
            }
            let entries: f64 = bucket.iter().map(|&u| f64::from(state.count(u as usize))).product();
            elimination.joint_entries += entries;
            if elimination.joint_entries > limit {
                elimination.joint_entries = f64::INFINITY;
                break;
            }
            let message = entries / f64::from(state.count(own));
            elimination.largest_message = elimination.largest_message.max(message);
            if entries > elimination.largest {
                elimination.largest = entries;
                elimination.hubs.clone_from(&bucket);
            }
            if let Some(&next) = bucket[1..].iter().min_by_key(|&&u| data.place[u as usize]) {
                match &mut filled[next as usize] {
                    Some(filled) => filled.iter_mut().zip(&joined).for_each(|(word, more)| *word |= more),
                    none => *none = Some(joined),
                }
            }
        }
        elimination
    }
}

impl Residual {
    pub fn new(data: &StaticData, state: &State) -> Residual {
        let n = data.variables();
        let variables: Vec<u32> = (0..n as u32).filter(|&v| state.count(v as usize) > 1).collect();
        let mut index = vec![u32::MAX; n];
        for (i, &v) in (0..).zip(&variables) {
            index[v as usize] = i;
        }
        let allowed = |cost: Cost| if cost >= NEVER / 2 { FORBIDDEN } else { cost };
        let mut constant = state.constant;
        let mut unary: Vec<Vec<Cost>> = Vec::with_capacity(variables.len());
        for (v, &index) in index.iter().enumerate() {
            let costs = state.values(data, v).iter().map(|&value| state.unary(data, v, value));
            if index == u32::MAX {
                constant += costs.sum::<Cost>();
            } else {
                unary.push(costs.collect());
            }
        }
        let mut functions = Vec::new();
        for function in &data.functions {
            let scope: Scope = function.scope.iter().map(|&v| index[v as usize]).filter(|&v| v != u32::MAX).collect();
            let costs = costs(data, state, function);
            match scope[..] {
                [] => constant += costs[0],
                [v] => {
                    let unary = &mut unary[v as usize];
                    unary.iter_mut().zip(&costs).for_each(|(sum, &cost)| *sum = (*sum + cost).min(NEVER));
                }
                _ => {
                    let table = Table::dense(costs.into_iter().map(allowed).collect());
                    functions.push(CostFunction { scope, table });
                }
            }
        }
        let problem = Problem {
            domains: unary.iter().map(|costs| costs.len() as u32).collect(),
            unary: unary.into_iter().map(|costs| costs.into_iter().map(allowed).collect()).collect(),
            functions,
            constant: constant.min(state.limit),
            top: state.limit,
        };
        Residual { variables, problem: Arc::new(problem) }
    }

    /// Returns the work that planning counts as, in combinations.
    pub fn planning(&self) -> u64 {
        let (variables, functions) = (self.variables.len() as u64, self.problem.functions.len() as u64);
        PLANNING * (variables + functions) + variables
    }

    /// Eliminates the residual problem: exactly if that keeps within the budget, otherwise with mini-buckets. If a
    /// device fails, the CPU repeats the work.
    pub fn solve(
        &self,
        data: &StaticData,
        state: &State,
        budget: Budget,
        account: &mut Account,
        stop: &Stop,
    ) -> Solved {
        let mut assignment: Vec<u32> = (0..data.variables()).map(|v| state.values(data, v)[0]).collect();
        if self.variables.is_empty() {
            let better = self.problem.constant < self.problem.top;
            return Solved::Done(better.then_some(assignment), 1);
        }
        let rules = [Method::MinFill, Method::WeightedMinFill, Method::Sweep];
        let order = match budget.message_entries {
            Some(_) => self.along(&data.sequence, stop),
            None => best_order(&self.problem, &rules, 1, 0, stop),
        };
        let Some(plan) = self.plan(&order, budget) else {
            return Solved::Bound { bound: self.problem.constant, assignment: None, work: 1 };
        };
        let gpu = budget.gpu.filter(|_| Gpu::pays(plan.joint_entries as f64));
        let (work, exact) = (plan.joint_entries / if gpu.is_some() { DEVICE_SPEED } else { 1 }, plan.exact);
        account.sent.add(Sent::of(&plan));
        let mut run = Run::on(gpu, self.problem.clone(), plan);
        loop {
            if let Some(error) = run.trouble() {
                // with the budget of the CPU, which does less in the same time
                account.trouble = Some(error.clone());
                let budget = Budget { joint_entries: budget.joint_entries / DEVICE_SPEED as f64, gpu: None, ..budget };
                return self.solve(data, state, budget, account, stop);
            }
            match run.advance(u64::MAX, stop) {
                Progress::Done => break,
                Progress::More if stop.is_set() => return Solved::Stopped,
                Progress::More => {}
            }
        }
        let outcome: Option<Outcome> = run.finish();
        let Some(outcome) = outcome else { return Solved::Stopped };
        if outcome.lower_bound() >= self.problem.top {
            return Solved::Done(None, work);
        }
        let bound = outcome.lower_bound();
        let Some(values) = outcome.assign(&Stop::new()) else { return Solved::Bound { bound, assignment: None, work } };
        for (&v, &value) in self.variables.iter().zip(&values) {
            assignment[v as usize] = state.values(data, v as usize)[value as usize];
        }
        let assignment = Some(assignment);
        if exact { Solved::Done(assignment, work) } else { Solved::Bound { bound, assignment, work } }
    }
}

/// The planning of a residual problem's elimination.
impl Residual {
    /// Returns the order of the whole problem, restricted to the unassigned variables.
    pub fn along(&self, sequence: &[u32], stop: &Stop) -> Order {
        let places = sequence.iter().filter_map(|v| self.variables.binary_search(v).ok());
        let order = Order::given(&self.problem, &places.map(|place| place as u32).collect::<Vec<_>>(), stop);
        order.expect("a permutation of what is left")
    }

    /// Returns the unassigned variables, ascending, and their problem.
    pub fn into_parts(self) -> (Vec<u32>, Arc<Problem>) {
        (self.variables, self.problem)
    }

    /// Returns the exact plan if it keeps within the budget, else the plan of the largest z that does; `None` if there
    /// is none.
    fn plan(&self, order: &Order, budget: Budget) -> Option<Plan> {
        let plan = |z| Plan::new(&self.problem, order, &Limits { z, ..Limits::new(budget.bytes) });
        // a device also holds all functions at once, and sums of some of them
        let fits = |plan: &Plan| budget.gpu.is_none() || Gpu::bytes(plan) <= budget.bytes;
        let work = budget.joint_entries;
        if order.joint_entries <= work {
            let plan = plan(None);
            if fits(&plan) {
                return Some(plan);
            }
        }
        let (mut low, mut high) = (1, order.width.saturating_add(2));
        let mut best = None;
        while low + 1 < high {
            let z = low.midpoint(high);
            let plan = plan(Some(z));
            if plan.joint_entries as f64 <= work && fits(&plan) {
                low = z;
                best = Some(plan);
            } else {
                high = z;
            }
        }
        best
    }
}

/// The result of the elimination of a node.
pub(crate) enum Solved {
    /// The best assignment below the limit, if there is one, and the combinations visited.
    Done(Option<Vec<u32>>, u64),
    /// A lower bound of the node, an assignment decoded from the messages, and the combinations visited.
    Bound {
        bound: Cost,
        assignment: Option<Vec<u32>>,
        work: u64,
    },
    Stopped,
}

/// Returns the entries of a function over the remaining values, less the costs taken from it; the last variable runs
/// fastest.
fn costs(data: &StaticData, state: &State, function: &super::static_data::Function) -> Vec<Cost> {
    let lists: Vec<&[u32]> = function.scope.iter().map(|&v| state.values(data, v as usize)).collect();
    let mut odometer = Odometer::new(lists.iter().map(|list| list.len()).collect());
    let mut values: Vec<u32> = lists.iter().map(|list| list[0]).collect();
    let mut costs = Vec::with_capacity(lists.iter().map(|list| list.len()).product());
    loop {
        let taken: Cost = values.iter().enumerate().map(|(k, &value)| state.taken(function, k, value)).sum();
        costs.push((function.entry(data, &values) - taken).min(NEVER));
        let Some(changed) = odometer.advance() else { return costs };
        (changed..lists.len()).for_each(|k| values[k] = lists[k][odometer.digits[k]]);
    }
}
