//! Depth-first search below one open node with limited work.

use super::leaf::{Account, Budget, Elimination, Residual, Solved};
use super::residual::State;
use super::static_data::{Function, NEVER, StaticData};
use crate::bounds::trace::{Branched, Choice};
use crate::bounds::tuning::branch::{HUBS, NODE_PASSES};
use crate::model::Cost;
use crate::stop::Stop;
use std::cmp::Ordering;
use std::sync::Arc;

/// How a search bounds nodes in addition to cost shifting, and how it branches. Neither style is better everywhere
/// (results/notes/branch.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Many light nodes, bounded by cost shifting; a node with little left is eliminated. Branches on the variable
    /// whose functions decide most.
    Light,
    /// Few heavy nodes, bounded by mini-buckets of what is left. Branches on the variable that makes elimination
    /// cheapest.
    Heavy,
    /// Light nodes along a pseudo-tree, as agents have them: branches on the last variables of the elimination order
    /// first, and eliminates the rest along the order with messages of limited size.
    Cut {
        /// Largest number of entries of a message.
        message_entries: u64,
    },
}

impl Style {
    /// The styles that bound networks, the lightest first.
    pub const ALL: [Style; 2] = [Style::Light, Style::Heavy];

    /// Returns the name of bounds of this style in results.
    pub const fn name(self) -> &'static str {
        match self {
            Style::Light => "branch",
            Style::Heavy => "branch+mbe",
            Style::Cut { .. } => "branch+dpop",
        }
    }
}

/// An open node of the search tree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Lower bound of the solutions below it, scaled.
    pub bound: Cost,
    /// Fraction of the whole tree below it; the children of a node have equal parts.
    pub part: f64,
    pub depth: u32,
    /// Number of the node in the order of discovery.
    pub serial: u64,
    /// Last choice on the path from the root; `None` at the root.
    pub path: Option<Arc<Choice>>,
}

/// Puts the node with the least bound first, then the deepest, then the newest.
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

/// A depth-first search below a node with limited work.
#[derive(Clone, Copy)]
pub(crate) struct Dive<'a> {
    pub data: &'a StaticData,
    pub style: Style,
    /// Entries to visit before the remaining nodes stay open.
    pub work: u64,
    /// Entries to visit on the first descent, until a first node is finished or loses all its children.
    pub descent: u64,
    /// Number of discrepancies of a path: the child of rank k, 0 for the best, uses k of them. Children beyond that are
    /// cut (limited discrepancy search: Harvey, Ginsberg, 1995).
    pub discrepancies: usize,
    /// By function, how often one of its variables lost all values in the dives before this batch. Light nodes branch
    /// where that happens often. `None` if no later dives can learn.
    pub failures: Option<&'a [u32]>,
    /// Limit of the elimination of a light node, or of the mini-buckets of a heavy one.
    pub budget: Budget<'a>,
}

/// The result of a dive.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub open: Vec<Node>,
    pub solution: Option<Vec<u32>>,
    pub work: u64,
    /// Part of `work` that was spent on the path to the node.
    pub replayed: u64,
    pub nodes: u64,
    /// Increments of the functions' failures; empty if nothing is learned.
    pub failures: Vec<u32>,
    /// Whether children were cut that may hold a better solution.
    pub cut: bool,
    pub branchings: Vec<Branched>,
    /// Largest number of combinations of the mini-buckets of a node.
    pub mini: u64,
    /// Number of nodes that cost shifting cut off.
    pub pruned: u64,
    pub account: Account,
}

/// A node on the current path, with its remaining children.
struct ChoicePoint {
    path: Option<Arc<Choice>>,
    variable: usize,
    /// Fraction of the whole tree below each child.
    part: f64,
    /// Remaining children with their bounds; the one with the least bound is last.
    children: Vec<(Cost, Box<[u32]>)>,
    /// Discrepancies that the next child may use.
    left: usize,
}

impl Dive<'_> {
    /// Searches below `node`. `state` must be the root's, or restored to it by an earlier dive. If the search is
    /// stopped, the node stays open and nothing is lost.
    pub fn search(&self, state: &mut State, node: Node, stop: &Stop) -> Found {
        let data = self.data;
        let mut found = Found::default();
        let (begin, limit) = (state.work, state.limit);
        if node.bound >= limit {
            return found;
        }
        if let Some(failures) = self.failures {
            // another dive may have left its own failures in this state
            state.failures.copy_from_slice(failures);
        }
        state.push();
        let alive = self.replay(state, node.path.as_ref()) && self.propagate(state, stop);
        found.nodes += 1;
        found.pruned += u64::from(!alive);
        found.replayed = state.work - begin;
        let mut eliminated = 0;
        // limit of the work, larger on the first descent
        let mut most = self.work.max(self.descent);
        let mut points: Vec<ChoicePoint> = Vec::new();
        // the node at work; its state has its own level of the trail
        let mut at = alive.then(|| (node.path.clone(), node.bound.max(state.constant), node.part, self.discrepancies));
        loop {
            if stop.is_set() {
                found.open = vec![node];
                found.branchings.clear();
                break;
            }
            if let Some((path, bound, part, left)) = at.take() {
                // the first node always gets its children, so that each dive makes progress
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
            // the next child of the deepest node that has one
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

    /// Goes down to a child. Returns whether a solution below the limit may be left there; if not, goes back up.
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

    /// Keeps an assignment if it is better than the incumbent, and lowers the limit to its cost.
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

    /// Applies all choices on the path to a node; returns `false` if a variable loses all its values.
    fn replay(&self, state: &mut State, mut path: Option<&Arc<Choice>>) -> bool {
        while let Some(choice) = path {
            if !state.restrict(self.data, choice.variable as usize, &choice.values) {
                return false;
            }
            path = choice.before.as_ref();
        }
        true
    }

    /// Eliminates what is left of a node, or bounds it by mini-buckets; returns `None` if that takes too much.
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

    /// Chooses the variable to branch on and sorts its values. `bound` and `part` are those of the node, `left` its
    /// discrepancies.
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
            Style::Light => decisive(data, state, self.failures.is_some(), |_| true),
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

/// Returns the variable, of those that `may` be branched on, with the fewest values relative to the mean costs of its
/// functions, which are multiplied by their failures if `learned` (dom/wdeg: Boussemart, Hemery, Lecoutre, Sais, 2004).
/// Of equal ones it is the variable with the largest second-best loss. Failures instead of costs took four times as
/// many nodes on CELAR6-SUB1-24.
pub(crate) fn decisive(data: &StaticData, state: &State, learned: bool, may: impl Fn(usize) -> bool) -> usize {
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
    // of equal ones with equal losses the first
    let (mut best, mut least, mut most) = (0, f64::INFINITY, -1);
    for v in (0..data.variables()).filter(|&v| state.count(v) > 1 && may(v)) {
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

/// Returns the unassigned variable that is eliminated last: in the pseudo-tree it is above all others.
fn last(data: &StaticData, state: &State) -> usize {
    let open = data.sequence.iter().rev().find(|&&v| state.count(v as usize) > 1);
    open.map_or(0, |&v| v as usize)
}

/// Returns how much a variable's second-best value costs more than its best.
fn loss(data: &StaticData, state: &State, v: usize) -> Cost {
    let [mut best, mut second] = [NEVER; 2];
    for &value in state.values(data, v) {
        let cost = state.unary(data, v, value);
        second = second.min(cost.max(best));
        best = best.min(cost);
    }
    second - best
}

/// Returns the variable of the largest bucket that leaves the least work, over all of its values, if it is branched on.
fn cheapest(data: &StaticData, state: &mut State) -> usize {
    let Elimination { mut hubs, work, .. } = Elimination::new(data, state, None, f64::INFINITY);
    // variables that are eliminated last are in most buckets
    hubs.sort_unstable_by_key(|&v| std::cmp::Reverse(data.place[v as usize]));
    state.work += work * (1 + hubs.len().min(HUBS) as u64);
    let score = |v: u32| {
        Elimination::new(data, state, Some(v), f64::INFINITY).joint_entries * f64::from(state.count(v as usize))
    };
    let tried = hubs.iter().take(HUBS).map(|&v| (score(v), v));
    tried.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, v)| v as usize)
}
