//! Depth-first search below one open node, for a limited work.

use super::leaf::{Account, Budget, Elimination, Residual, Solved};
use super::residual::State;
use super::static_data::{Function, NEVER, StaticData};
use crate::bounds::trace::{Branched, Choice};
use crate::bounds::tuning::branch::{HUBS, NODE_PASSES};
use crate::model::Cost;
use crate::stop::Stop;
use std::cmp::Ordering;
use std::sync::Arc;

/// How nodes are bounded besides by shifting, and what is branched on. Neither is better everywhere
/// (results/notes/branch.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Many light nodes: what little is left is eliminated. Branches where functions decide most.
    Light,
    /// Few heavy nodes: each gets mini-buckets of what is left. Branches where that makes elimination cheapest.
    Heavy,
    /// Light nodes as agents on a pseudo-tree have them: branches on the last variables of the elimination order first,
    /// and eliminates along it with messages of limited size.
    Cut {
        /// Entries of a message, at most.
        message_entries: u64,
    },
}

impl Style {
    /// The styles that prove bounds of networks, the lightest first.
    pub const ALL: [Style; 2] = [Style::Light, Style::Heavy];

    /// What a bound of it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Style::Light => "branch",
            Style::Heavy => "branch+mbe",
            Style::Cut { .. } => "branch+dpop",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Scaled: nothing below it costs less.
    pub bound: Cost,
    /// Its part of the whole tree, children having equal parts of their parent's.
    pub part: f64,
    pub depth: u32,
    /// Numbers the nodes as they were found.
    pub serial: u64,
    pub path: Option<Arc<Choice>>,
}

/// The least bound first, then the deepest, then the newest.
impl Ord for Node {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |node: &Node| (std::cmp::Reverse(node.bound), node.depth, node.serial);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}

#[derive(Clone, Copy)]
pub(crate) struct Dive<'a> {
    pub data: &'a StaticData,
    pub style: Style,
    /// Entries to look at before the rest stays open.
    pub work: u64,
    /// The same on the way down, until the first node that is finished or cut off from all of its children.
    pub descent: u64,
    /// How often a path may leave the best child, the k-th best counting k times; the others are cut (limited
    /// discrepancy search: Harvey, Ginsberg, 1995).
    pub discrepancies: usize,
    /// By function how often nothing was left of one of its variables, in the dives before this batch: light nodes
    /// branch where that happens often. `None` where no dives follow that could learn.
    pub failures: Option<&'a [u32]>,
    /// What a light node is eliminated for, or what mini-buckets of a heavy one may take.
    pub budget: Budget<'a>,
}

#[derive(Debug, Default)]
pub(crate) struct Found {
    pub open: Vec<Node>,
    pub solution: Option<Vec<u32>>,
    pub work: u64,
    /// Of it, on the way to the node.
    pub replayed: u64,
    pub nodes: u64,
    /// What it adds to the failures of functions; empty where nothing is learned.
    pub failures: Vec<u32>,
    /// Whether children were cut that may hold something better.
    pub cut: bool,
    pub branchings: Vec<Branched>,
    /// Combinations of the mini-buckets of a node, at most.
    pub mini: u64,
    /// Nodes that shifting cut off.
    pub pruned: u64,
    pub account: Account,
}

/// A node on the way down, and which of its children come next.
struct ChoicePoint {
    path: Option<Arc<Choice>>,
    variable: usize,
    /// The part of the whole tree that each child is.
    part: f64,
    /// Least bound last.
    children: Vec<(Cost, Box<[u32]>)>,
    /// Discrepancies left to the next child.
    left: usize,
}

impl Dive<'_> {
    /// Searches below `node`; `state` is the root's, or was left so by another dive. Where told to stop, nothing is
    /// lost.
    pub fn search(&self, state: &mut State, node: Node, stop: &Stop) -> Found {
        let data = self.data;
        let mut found = Found::default();
        let (begin, limit) = (state.work, state.limit);
        if node.bound >= limit {
            return found;
        }
        if let Some(failures) = self.failures {
            // not those of another dive that had this state
            state.failures.copy_from_slice(failures);
        }
        state.push();
        let alive = self.replay(state, node.path.as_ref()) && self.propagate(state, stop);
        found.nodes += 1;
        found.pruned += u64::from(!alive);
        found.replayed = state.work - begin;
        let mut eliminated = 0;
        // on the way down
        let mut most = self.work.max(self.descent);
        let mut points: Vec<ChoicePoint> = Vec::new();
        // the node at work; its state has a level of its own
        let mut at = alive.then(|| (node.path.clone(), node.bound.max(state.constant), node.part, self.discrepancies));
        loop {
            if stop.is_set() {
                found.open = vec![node];
                found.branchings.clear();
                break;
            }
            if let Some((path, bound, part, left)) = at.take() {
                // at least one node gets its children
                if state.work - begin + eliminated > most && !points.is_empty() {
                    let depth = node.depth + points.len() as u32;
                    found.open.push(Node { bound, part, depth, serial: 0, path });
                    self.leave_open(&points, node.depth, limit.min(state.limit), &mut found.open);
                    break;
                }
                match self.finish(state, &mut found.account, stop) {
                    Some(Solved::Done(assignment, work)) => {
                        eliminated += work;
                        found.mini = found.mini.max(work);
                        self.offer(assignment, state, &mut found);
                        state.pop(data);
                        most = self.work;
                    }
                    Some(Solved::Stopped) => continue,
                    Some(Solved::Bound { bound: better, assignment, work }) => {
                        eliminated += work;
                        found.mini = found.mini.max(work);
                        self.offer(assignment, state, &mut found);
                        points.push(self.choice_point(state, path, bound.max(better), part, left, &mut found));
                    }
                    None => points.push(self.choice_point(state, path, bound, part, left, &mut found)),
                }
            }
            // the next child of the deepest branching that has one
            let Some(point) = points.last_mut() else { break };
            let Some((bound, values)) = point.children.pop().filter(|(bound, _)| *bound < state.limit) else {
                let _ = points.pop();
                state.pop(data);
                most = self.work;
                continue;
            };
            let (v, part, left) = (point.variable, point.part, point.left);
            point.left = left.saturating_sub(1);
            let choice = Choice { variable: v as u32, values, before: point.path.clone() };
            if self.enter(state, &choice, &mut found, stop) {
                at = Some((Some(Arc::new(choice)), bound.max(state.constant), part, left));
            }
        }
        state.clear(data);
        state.limit = limit;
        if let Some(failures) = self.failures {
            found.failures = state.failures.iter().zip(failures).map(|(now, before)| now - before).collect();
        }
        found.work = state.work - begin + eliminated;
        found
    }

    /// Goes down to a child, and back up if no solution below the limit is left there; returns whether one may be.
    fn enter(&self, state: &mut State, choice: &Choice, found: &mut Found, stop: &Stop) -> bool {
        state.push();
        found.nodes += 1;
        let is_open =
            state.restrict(self.data, choice.variable as usize, &choice.values) && self.propagate(state, stop);
        if !is_open {
            state.pop(self.data);
            found.pruned += 1;
        }
        is_open
    }

    /// Keeps a solution if it is better: what does not cost less is of no interest any more.
    fn offer(&self, assignment: Option<Vec<u32>>, state: &mut State, found: &mut Found) {
        let Some(assignment) = assignment else { return };
        let problem = &self.data.problem;
        let cost = problem.cost(&assignment);
        let limit = if cost < problem.top { self.data.limit(cost) } else { state.limit };
        if limit < state.limit {
            state.limit = limit;
            found.solution = Some(assignment);
        }
    }

    fn propagate(&self, state: &mut State, stop: &Stop) -> bool {
        state.propagate(self.data, NODE_PASSES, stop)
    }

    /// All choices on the way to a node.
    fn replay(&self, state: &mut State, mut path: Option<&Arc<Choice>>) -> bool {
        while let Some(choice) = path {
            if !state.restrict(self.data, choice.variable as usize, &choice.values) {
                return false;
            }
            path = choice.before.as_ref();
        }
        true
    }

    /// Eliminates what is left of a node, or bounds it by mini-buckets; `None` where that takes too much.
    fn finish(&self, state: &mut State, account: &mut Account, stop: &Stop) -> Option<Solved> {
        let data = self.data;
        let work = self.budget.joint_entries;
        if self.style != Style::Heavy {
            let elimination = Elimination::new(data, state, None, work);
            state.work += elimination.work;
            let fits = |most| elimination.largest_message <= most as f64;
            if elimination.joint_entries > work || !self.budget.message_entries.is_none_or(fits) {
                return None;
            }
        }
        let entries = |function: &Function| -> f64 {
            function.scope.iter().map(|&v| f64::from(state.count(v as usize))).product()
        };
        if data.functions.iter().any(|function| entries(function) > work) {
            return None;
        }
        let rest = Residual::new(data, state);
        state.work += rest.planning();
        Some(rest.solve(data, state, self.budget, account, stop))
    }

    fn leave_open(&self, points: &[ChoicePoint], depth: u32, limit: Cost, open: &mut Vec<Node>) {
        for (point, depth) in points.iter().zip(depth + 1..) {
            for (bound, values) in point.children.iter().filter(|(bound, _)| *bound < limit) {
                let choice =
                    Choice { variable: point.variable as u32, values: values.clone(), before: point.path.clone() };
                open.push(Node { bound: *bound, part: point.part, depth, serial: 0, path: Some(Arc::new(choice)) });
            }
        }
    }

    /// Chooses the variable to branch on, at a node of a bound and a part of the tree, and puts its values in order.
    fn choice_point(
        &self,
        state: &mut State,
        path: Option<Arc<Choice>>,
        bound: Cost,
        part: f64,
        left: usize,
        found: &mut Found,
    ) -> ChoicePoint {
        let data = self.data;
        let variable = match self.style {
            Style::Light => decisive(data, state, self.failures.is_some()),
            Style::Heavy => cheapest(data, state),
            Style::Cut { .. } => last(data, state),
        };
        found.branchings.push(Branched { path: path.clone(), variable: variable as u32, bound });
        let cost = |value: &u32| state.unary(data, variable, *value);
        let mut values = state.values(data, variable).to_vec();
        values.sort_by_key(|value| std::cmp::Reverse((cost(value), *value)));
        let part = part / values.len() as f64;
        let beyond = values.len().saturating_sub(left.saturating_add(1));
        found.cut |= beyond > 0;
        let child = |value: u32| (bound.max(state.constant + cost(&value)), Box::from([value]));
        ChoicePoint { path, variable, part, children: values.drain(beyond..).map(child).collect(), left }
    }
}

/// The variable with the fewest values for the mean costs of its functions, where `learned` times their failures
/// (dom/wdeg: Boussemart, Hemery, Lecoutre, Sais, 2004); of equal ones the one with the largest second-best loss.
/// Failures instead of costs took four times as many nodes on CELAR6-SUB1-24.
fn decisive(data: &StaticData, state: &State, learned: bool) -> usize {
    let score = |v: usize| {
        let decides = |&&(index, _): &&(u32, u32)| {
            let scope = &data.functions[index as usize].scope;
            scope.iter().any(|&u| u as usize != v && state.count(u as usize) > 1)
        };
        let weight = |&(index, _): &(u32, u32)| {
            let failures = if learned { state.failures[index as usize] } else { 0 };
            data.functions[index as usize].mean * (1.0 + f64::from(failures))
        };
        f64::from(state.count(v)) / data.incidence[v].iter().filter(decides).map(weight).sum::<f64>()
    };
    // of equal ones the first
    let (mut best, mut least, mut most) = (0, f64::INFINITY, -1);
    for v in (0..data.variables()).filter(|&v| state.count(v) > 1) {
        let score = score(v);
        if score > least {
            continue;
        }
        let loss = loss(data, state, v);
        if score < least || loss > most {
            (best, least, most) = (v, score, loss);
        }
    }
    best
}

/// The variable that is eliminated last: all that are left are below it.
fn last(data: &StaticData, state: &State) -> usize {
    let open = data.sequence.iter().rev().find(|&&v| state.count(v as usize) > 1);
    open.map_or(0, |&v| v as usize)
}

/// What a variable's second best value costs more than the best.
fn loss(data: &StaticData, state: &State, v: usize) -> Cost {
    let [mut best, mut second] = [NEVER; 2];
    for &value in state.values(data, v) {
        let cost = state.unary(data, v, value);
        second = second.min(cost.max(best));
        best = best.min(cost);
    }
    second - best
}

/// The variable of the largest bucket whose values together are the cheapest to eliminate.
fn cheapest(data: &StaticData, state: &mut State) -> usize {
    let Elimination { mut hubs, work, .. } = Elimination::new(data, state, None, f64::INFINITY);
    // those eliminated last are in most buckets
    hubs.sort_unstable_by_key(|&v| std::cmp::Reverse(data.place[v as usize]));
    state.work += work * (1 + hubs.len().min(HUBS) as u64);
    let score = |v: u32| {
        Elimination::new(data, state, Some(v), f64::INFINITY).joint_entries * f64::from(state.count(v as usize))
    };
    let tried = hubs.iter().take(HUBS).map(|&v| (score(v), v));
    tried.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, v)| v as usize)
}
