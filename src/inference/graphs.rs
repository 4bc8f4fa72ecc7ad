//! The way up by join graphs: mini-buckets of growing z, costs shifted between them, each graph made of the tables that the last one
//! left. A larger z gains more than further passes (results/notes/shifting.md), so each has few; the last that fits in memory goes on.

use super::joingraph::{JoinGraph, Patience};
use super::ladder::Ladder;
use super::plan::{Limits, Plan};
use super::shift::Shift;
use super::shifting::{Between, Shifting};
use crate::model::{Cost, Problem};
use crate::order::Order;
use std::sync::Arc;

/// Entries of a graph at most, whatever the memory: a pass over more takes longer than a second.
const LARGEST: u64 = 1 << 26;
/// How many times the entries the next graph has at least, where there is room.
const GROWTH: u64 = 4;
/// Variables of the first graph's mini-buckets: with two of them there is little to gain after shifting between functions.
const FIRST: u32 = 3;

/// What a graph's work counts less than that of a run of mini-buckets: on satellite schedules it gains more.
const LEADING: u64 = 4;
/// The part of the bound that passes over the last graph must gain for more of them.
const WORTHWHILE: Cost = 500;

/// Which graphs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graphs {
    /// None.
    None,
    /// Each of the network as it is and with one pass: mini-buckets with moment matching.
    Matching,
    /// Each of the tables that the last one left.
    Growing,
}

/// Graphs of growing z.
#[derive(Debug)]
pub(super) struct GraphWay {
    problem: Arc<Problem>,
    shift: Arc<Shift>,
    order: Order,
    graphs: Graphs,
    /// Those of the last plan.
    z: u32,
    entries: u64,
    fixed: Option<u32>,
    /// No larger one fits.
    last: bool,
    done: bool,
    /// Work of the last one.
    pub work: u64,
    /// The best bound, and what the last ones gained.
    pub reached: Option<(Cost, Cost)>,
}

impl GraphWay {
    /// Graphs of a shifted problem, along a ladder's first order and of its z if it has a fixed one.
    pub fn new(problem: &Arc<Problem>, shift: &Arc<Shift>, ladder: &Ladder, graphs: Graphs) -> Option<GraphWay> {
        let (problem, shift, order) = (problem.clone(), shift.clone(), ladder.order()?.clone());
        let fixed = ladder.fixed();
        let z = fixed.unwrap_or(if graphs == Graphs::Matching { 2 } else { FIRST }) - 1;
        Some(GraphWay {
            problem,
            shift,
            order,
            graphs,
            z,
            entries: 0,
            fixed,
            last: false,
            done: false,
            work: 0,
            reached: None,
        })
    }

    /// The next graph and its bytes, of at most so many; `None` once there is none.
    pub fn next(&mut self, ub: Option<Cost>, memory: u64) -> Option<(Shifting, u64)> {
        if self.done {
            return None;
        }
        let most = (memory / JoinGraph::BYTES).min(LARGEST);
        let ub = ub.map(|ub| self.shift.scaled(ub));
        let grown =
            if self.last || self.fixed.is_some() && self.entries > 0 { None } else { self.grow(ub, most, memory) };
        let matching = self.graphs == Graphs::Matching;
        let plan = match grown {
            Some(plan) => plan,
            None if matching || self.entries == 0 => {
                self.done = true;
                return None;
            }
            None => {
                self.last = true;
                self.plan(self.z, ub, memory)
            }
        };
        self.last |= plan.exact;
        self.done |= plan.exact;
        (self.z, self.entries) = (plan.z, plan.joint_entries);
        let patience = match (matching, self.last) {
            (true, _) => Patience::Once,
            (false, false) => Patience::Short,
            (false, true) => Patience::Long,
        };
        let Some(graph) = JoinGraph::new(&self.problem, &plan, patience) else {
            self.done = true;
            return None;
        };
        let name = format!("{}({})", if matching { "mbe-mm" } else { "jg" }, plan.z);
        let bytes = plan.joint_entries.saturating_mul(JoinGraph::BYTES);
        Some((Shifting { name, between: Between::MiniBuckets(graph, self.shift.clone()) }, bytes))
    }

    /// The first plan of a larger z with several times the entries, else the largest with more of them that fits.
    fn grow(&self, ub: Option<Cost>, most: u64, memory: u64) -> Option<Plan> {
        let mut best: Option<Plan> = None;
        let mut z = self.z;
        loop {
            z += 1;
            let plan = self.plan(z, ub, memory);
            let stuck = plan.z < z;
            let small = best.as_ref().map_or(self.entries, |best| best.joint_entries);
            let fits = plan.joint_entries <= most;
            let enough = plan.exact || plan.joint_entries / GROWTH >= self.entries;
            if fits && (plan.exact || plan.joint_entries > small) {
                best = Some(plan);
                if enough {
                    return best;
                }
            }
            if stuck || !fits {
                return best;
            }
        }
    }

    fn plan(&self, z: u32, ub: Option<Cost>, memory: u64) -> Plan {
        // its messages are never made
        let limits = Limits { z: Some(z), max_bytes: memory, spill: 0, keep_messages: true, ub };
        Plan::new(&self.problem, &self.order, &limits)
    }

    /// Entries of the last graph.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// A graph has come to a bound; what it left is what the next is made of.
    pub fn note(&mut self, problem: &Arc<Problem>, work: u64, bound: Cost) {
        if self.graphs == Graphs::Growing {
            self.problem = problem.clone();
        }
        // the last one goes on for as long as what else there is to do takes
        self.work = if self.last { self.work.saturating_add(work) } else { work / LEADING };
        let (before, gain) = self.reached.unwrap_or((bound, 0));
        self.done |= self.last && bound - before <= bound.max(0) / WORTHWHILE;
        self.reached = Some((before.max(bound), (bound - before).max(gain / 2)));
    }
}
