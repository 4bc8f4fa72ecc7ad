//! Join graphs of growing z, each made of the tables that the preceding one left. A larger z gains more than further
//! passes (results/notes/shifting.md), so each graph has few; the last one that fits in memory continues. A device also
//! tries other orders (`orders`).

use super::orders::{Next, Orders};
use super::sizes::SizeSchedule;
use crate::bounds::cost_shifting::Shift;
use crate::bounds::join_graph::{JoinGraph, Patience};
use crate::bounds::shifting::{Between, Shifting};
use crate::bounds::strategies::Graphs;
use crate::bounds::tuning::join_graph::CHECKED_LARGEST;
use crate::certificate;
use crate::elimination::{Gpu, Limits, Plan};
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::order::{Method, Order};
use crate::rng::mix;
use crate::stop::Stop;
use crate::tuning::tuning;
use std::sync::Arc;

/// A plan of the next graph.
struct Grown {
    plan: Plan,
    /// Bytes of the graph's tables.
    bytes: u64,
    /// Bytes on the host, including those of the problem that the tables become.
    host_bytes: u64,
    on_device: bool,
}

/// Whether a device also serves a search, which decides what pays there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceUse {
    /// It also serves a search: the device takes exact eliminations, and join graphs that are too large for the CPU.
    #[default]
    Shared,
    /// It serves the bounds alone: the device takes everything that is not small.
    Exclusive,
}

/// The strategy of join graphs.
#[derive(Debug)]
pub(crate) struct GraphStrategy {
    /// The problem that the first graph is made of.
    problem: Arc<Problem>,
    shift: Arc<Shift>,
    first: Order,
    /// The order of the current graph, which may differ from the first.
    order: Order,
    graphs: Graphs,
    gpu: Option<Arc<Gpu>>,
    /// Number of entries from which a device takes a graph.
    large: u64,
    /// Whether the checker of a certificate has to follow the graphs.
    checked: bool,
    /// The last graph, with the tables that it left.
    left: Option<JoinGraph>,
    /// z of the last plan.
    z: u32,
    /// Number of entries of the last plan.
    pub entries: u64,
    /// One less than the first z.
    begin: u32,
    /// z if it does not grow.
    fixed: Option<u32>,
    /// Whether no larger graph fits.
    last: bool,
    done: bool,
    orders: Orders,
    /// Number of the order along which the next graph is the first.
    pub along: Option<u32>,
    /// Work of the last graph, as it counts.
    pub work: u64,
    /// The best bound, and the gain of the last graphs; `None` before the first.
    pub reached: Option<(Cost, Cost)>,
}

impl GraphStrategy {
    /// Creates the strategy for a shifted problem, along the first order of a size schedule, and with its z if that is
    /// fixed. If `checked`, graphs stay small enough for the checker of a certificate.
    pub fn new(
        problem: &Arc<Problem>,
        shift: &Arc<Shift>,
        sizes: &SizeSchedule,
        graphs: Graphs,
        gpu: Option<&Arc<Gpu>>,
        device_use: DeviceUse,
        checked: bool,
    ) -> Option<GraphStrategy> {
        let (problem, shift, order) = (problem.clone(), shift.clone(), sizes.order()?.clone());
        let fixed = sizes.fixed();
        let begin = fixed.unwrap_or(if graphs == Graphs::Matching { 2 } else { tuning().join_graph.first_z }) - 1;
        Some(GraphStrategy {
            problem,
            shift,
            first: order.clone(),
            order,
            graphs,
            gpu: gpu.cloned(),
            large: if device_use == DeviceUse::Shared {
                tuning().join_graph.largest
            } else {
                tuning().general.device_worthwhile
            },
            checked,
            left: None,
            z: begin,
            entries: 0,
            begin,
            fixed,
            last: false,
            done: false,
            orders: Orders::default(),
            along: None,
            work: 0,
            reached: None,
        })
    }

    /// Returns the next graph and its bytes of host memory, at most `memory`; `None` once there is no further graph, or
    /// `stop` is set.
    pub fn next(&mut self, ub: Option<Cost>, memory: u64, stop: &Stop) -> Option<(Shifting, u64)> {
        if self.done {
            return None;
        }
        if let Some(number) = self.along.take() {
            self.begin_again(number, stop);
        }
        let outline = match &self.left {
            Some(left) => Some(Arc::new(left.outline(stop).ok()?)),
            None => None,
        };
        let problem = outline.as_ref().unwrap_or(&self.problem).clone();
        let limit = self.shift.limit();
        let ub = Some(ub.map_or(limit, |ub| self.shift.scaled(ub).min(limit)));
        let grown = if self.last || self.fixed.is_some() && self.entries > 0 {
            None
        } else {
            self.grow(&problem, ub, memory, stop).ok()?
        };
        let matching = self.graphs == Graphs::Matching;
        self.last |= grown.as_ref().is_none_or(|grown| grown.plan.exact);
        let patience = match (matching, self.last) {
            (true, _) => Patience::Once,
            (false, false) => Patience::Short,
            (false, true) => Patience::Long,
        };
        self.done |= self.last && matching;
        let mut bytes = 0;
        let graph = match grown {
            Some(Grown { plan, host_bytes, on_device, .. }) => {
                bytes = if on_device { 0 } else { host_bytes };
                self.done |= plan.exact;
                (self.z, self.entries) = (plan.z, plan.joint_entries);
                let graph = match (self.left.take(), outline) {
                    (Some(left), Some(outline)) => left.after(outline, plan, patience, stop),
                    _ => JoinGraph::new(&problem, plan, patience, stop),
                };
                let graph = graph.map(|graph| if self.checked { graph } else { graph.without_past() });
                graph.map(|graph| graph.on(self.gpu.as_ref().filter(|_| on_device)))
            }
            None => self.left.take().filter(|_| !matching).map(|mut graph| {
                graph.resume(patience);
                graph
            }),
        };
        let Some(graph) = graph else {
            self.done = true;
            return None;
        };
        let name = format!("{}({})", if matching { "mbe-mm" } else { "jg" }, self.z);
        Some((Shifting { name, between: Between::MiniBuckets(graph, self.shift.clone()) }, bytes))
    }

    /// Returns the first plan of a larger z with several times the entries, else the largest plan with more entries
    /// that fits; and whether a device takes it.
    fn grow(&self, problem: &Problem, ub: Option<Cost>, memory: u64, stop: &Stop) -> Result<Option<Grown>, Error> {
        let device = self.budget();
        let most = if self.checked { CHECKED_LARGEST } else { u64::MAX };
        let on_host =
            |of: &Grown| of.plan.joint_entries <= tuning().join_graph.largest.min(most) && of.host_bytes <= memory;
        let on_device =
            |of: &Grown| of.plan.joint_entries <= tuning().join_graph.device_largest.min(most) && of.bytes <= device;
        let mut best: Option<Grown> = None;
        let mut z = self.z;
        loop {
            z += 1;
            let plan = self.plan(problem, z, ub, stop)?;
            let bytes = JoinGraph::bytes(&plan, stop)?;
            let host_bytes = bytes.saturating_add(plan.joint_entries.saturating_mul(size_of::<Cost>() as u64));
            let grown = Grown { plan, bytes, host_bytes, on_device: false };
            let plan = &grown.plan;
            let stuck = plan.z < z;
            let small = best.as_ref().map_or(self.entries, |best| best.plan.joint_entries);
            let fits = on_host(&grown) || on_device(&grown);
            let enough = plan.exact || plan.joint_entries / tuning().join_graph.growth >= self.entries;
            let found = fits && (plan.exact || plan.joint_entries > small);
            if found {
                best = Some(grown);
            }
            if found && enough || stuck || !fits {
                let large = |of: &Grown| of.plan.joint_entries >= self.large || self.left_on_device();
                return Ok(best.map(|grown| {
                    let on_device = on_device(&grown) && (large(&grown) || !on_host(&grown));
                    Grown { on_device, ..grown }
                }));
            }
        }
    }

    fn left_on_device(&self) -> bool {
        self.left.as_ref().is_some_and(JoinGraph::on_device)
    }

    /// Returns the bytes that a graph may take on the device; the rest is for plans and searches there.
    fn budget(&self) -> u64 {
        self.gpu.as_ref().and_then(|gpu| gpu.budget().ok()).unwrap_or(0) / 4 * 3
    }

    fn plan(&self, problem: &Problem, z: u32, ub: Option<Cost>, stop: &Stop) -> Result<Plan, Error> {
        // the plan's messages are never made
        let limits = Limits { z: Some(z), ub, ..Limits::new(u64::MAX) };
        Plan::until(problem, &self.order, &limits, stop)
    }

    /// Returns whether a device makes the next graph and will be done soon. That holds while graphs first grow, and
    /// then along the first orders as long as no other strategy leads by much: the gain of the graphs is at least seven
    /// eighths of the gain that leads to `best`.
    pub fn is_brief(&self, best: Cost) -> bool {
        let large = self.large == tuning().general.device_worthwhile
            || self.entries.saturating_mul(tuning().join_graph.growth) >= self.large;
        let begins = self.orders.tried == 0;
        let grows = begins && !self.last;
        let begin = self.shift.bound(self.problem.constant);
        let gained = |bound: Cost| i128::from(bound) - i128::from(begin);
        let near = |(bound, _): (Cost, Cost)| 8 * gained(bound) >= 7 * gained(best);
        let leads = !self.orders.settled && self.reached.is_some_and(near);
        self.gpu.is_some() && (grows || leads) && (large || self.left_on_device() || !begins)
    }

    /// Starts with graphs of the shifted problem again, along another order.
    fn begin_again(&mut self, number: u32, stop: &Stop) {
        self.order = match number {
            0 => self.first.clone(),
            _ => {
                let method = Method::ALL[number as usize % 3].1;
                Order::greedy(&self.problem, method, mix(1 << 32, u64::from(number)), stop)
            }
        };
        self.left.take().into_iter().for_each(JoinGraph::free);
        self.last = false;
        (self.z, self.entries) = (self.begin, 0);
    }

    /// Takes up a finished graph, from which the next one is made, and its bound. If its device failed, the graphs
    /// start again on the CPU. Returns whether no graph along another order had a better bound.
    pub fn note(&mut self, graph: JoinGraph, work: u64, bound: Cost) -> bool {
        if graph.tables().is_none() && graph.on_device() {
            (self.gpu, self.left, self.last, self.done) = (None, None, false, false);
            (self.z, self.entries) = (self.begin, 0);
        } else if self.graphs == Graphs::Growing {
            self.left = Some(graph);
        } else {
            graph.free();
        }
        // the last graph continues until its work equals that of the other strategies
        self.work = if self.last { self.work.saturating_add(work) } else { work / tuning().join_graph.leading };
        let (before, gain) = self.reached.unwrap_or((bound, 0));
        if !self.last {
            self.orders.own = Some(bound);
        } else if !self.done {
            let others = self.left_on_device() && self.graphs == Graphs::Growing && self.fixed.is_none();
            match self.orders.note(bound, others) {
                Next::Further => {}
                Next::Along(number) => self.along = Some(number),
                Next::End => self.done = true,
            }
        }
        self.reached = Some((before.max(bound), (bound - before).max(gain / 2)));
        bound >= before
    }

    /// Returns the graphs that led to the tables of the last one.
    pub fn graphs(&self) -> Vec<Arc<certificate::Graph>> {
        self.left.as_ref().map(JoinGraph::graphs).unwrap_or_default()
    }

    /// Returns the problem that the last graph left, if its tables take at most `bytes` bytes and `stop` is not set.
    pub fn problem(&self, bytes: u64, stop: &Stop) -> Option<Problem> {
        let left = self.left.as_ref()?;
        let needed = self.entries.saturating_mul(size_of::<Cost>() as u64);
        // the next graph notices a failing device
        if needed <= bytes { left.problem(stop).ok().flatten() } else { None }
    }
}
