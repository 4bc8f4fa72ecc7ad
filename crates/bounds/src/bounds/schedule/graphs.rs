//! Join graphs of growing z: each is made of the tables that the last one left. A larger z gains more than further
//! passes (results/notes/shifting.md), so each has few; the last that fits in memory goes on. A device also takes other
//! orders (`orders`).

use super::orders::{Next, Orders};
use super::sizes::SizeSchedule;
use crate::bounds::cost_shifting::Shift;
use crate::bounds::join_graph::{JoinGraph, Patience};
use crate::bounds::shifting::{Between, Shifting};
use crate::bounds::strategies::Graphs;
use crate::bounds::tuning::DEVICE_WORTHWHILE;
use crate::bounds::tuning::join_graph::{CHECKED_LARGEST, DEVICE_LARGEST, FIRST_Z, GROWTH, LARGEST, LEADING};
use crate::certificate;
use crate::elimination::{Gpu, Limits, Plan};
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::order::{Method, Order};
use crate::rng::mix;
use crate::stop::Stop;
use std::sync::Arc;

/// A plan for the next graph.
struct Grown {
    plan: Plan,
    /// Of the graph's tables, and on the host with those of the problem that it becomes.
    bytes: u64,
    host_bytes: u64,
    on_device: bool,
}

/// Who else a device works for, which says what pays there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceUse {
    /// A search: the device takes exact eliminations, and join graphs that the CPU cannot take.
    #[default]
    Shared,
    /// Nothing: it takes all but what is small.
    Exclusive,
}

#[derive(Debug)]
pub(crate) struct GraphStrategy {
    /// What the first graph is made of.
    problem: Arc<Problem>,
    shift: Arc<Shift>,
    first: Order,
    /// The one at work, which may be another.
    order: Order,
    graphs: Graphs,
    gpu: Option<Arc<Gpu>>,
    /// Entries from which on a graph is the device's.
    large: u64,
    /// Whether the checker of a certificate is to follow them.
    checked: bool,
    /// What the last graph left.
    left: Option<JoinGraph>,
    /// Those of the last plan.
    z: u32,
    pub entries: u64,
    /// Less than the first z.
    begin: u32,
    fixed: Option<u32>,
    /// No larger one fits.
    last: bool,
    done: bool,
    orders: Orders,
    /// The number of the order that the next graph is the first along.
    pub along: Option<u32>,
    /// Work of the last one.
    pub work: u64,
    /// The best bound, and what the last ones gained.
    pub reached: Option<(Cost, Cost)>,
}

impl GraphStrategy {
    /// Graphs of a shifted problem, along a size schedule's first order and of its z if it has a fixed one; where they
    /// are `checked`, such that the checker of a certificate can follow them.
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
        let begin = fixed.unwrap_or(if graphs == Graphs::Matching { 2 } else { FIRST_Z }) - 1;
        Some(GraphStrategy {
            problem,
            shift,
            first: order.clone(),
            order,
            graphs,
            gpu: gpu.cloned(),
            large: if device_use == DeviceUse::Shared { LARGEST } else { DEVICE_WORTHWHILE },
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

    /// The next graph and its bytes of the host's memory, of at most so many; `None` once there is none, or `stop` is
    /// set.
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

    /// The first plan of a larger z with several times the entries, else the largest with more of them that fits; and
    /// whether a device takes it.
    fn grow(&self, problem: &Problem, ub: Option<Cost>, memory: u64, stop: &Stop) -> Result<Option<Grown>, Error> {
        let device = self.budget();
        let most = if self.checked { CHECKED_LARGEST } else { u64::MAX };
        let on_host = |of: &Grown| of.plan.joint_entries <= LARGEST.min(most) && of.host_bytes <= memory;
        let on_device = |of: &Grown| of.plan.joint_entries <= DEVICE_LARGEST.min(most) && of.bytes <= device;
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
            let enough = plan.exact || plan.joint_entries / GROWTH >= self.entries;
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

    /// Bytes that a graph may take on the device: plans and searches go on there.
    fn budget(&self) -> u64 {
        self.gpu.as_ref().and_then(|gpu| gpu.budget().ok()).unwrap_or(0) / 4 * 3
    }

    fn plan(&self, problem: &Problem, z: u32, ub: Option<Cost>, stop: &Stop) -> Result<Plan, Error> {
        // its messages are never made
        let limits = Limits { z: Some(z), ub, ..Limits::new(u64::MAX) };
        Plan::until(problem, &self.order, &limits, stop)
    }

    /// Whether a device takes the next graph, and is soon done with it: the first time that graphs grow, and then along
    /// the first orders as long as no other way has come much further: what graphs have gained is seven eighths of what
    /// leads to `best`.
    pub fn is_brief(&self, best: Cost) -> bool {
        let large = self.large == DEVICE_WORTHWHILE || self.entries.saturating_mul(GROWTH) >= self.large;
        let begins = self.orders.tried == 0;
        let grows = begins && !self.last;
        let begin = self.shift.bound(self.problem.constant);
        let gained = |bound: Cost| i128::from(bound) - i128::from(begin);
        let near = |(bound, _): (Cost, Cost)| 8 * gained(bound) >= 7 * gained(best);
        let leads = !self.orders.settled && self.reached.is_some_and(near);
        self.gpu.is_some() && (grows || leads) && (large || self.left_on_device() || !begins)
    }

    /// Graphs of the original network, along an order with other ties.
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

    /// A graph has come to a bound; what it left is what the next is made of. Where its device failed all begins again
    /// on the CPU. Whether there was no better one along another order.
    pub fn note(&mut self, graph: JoinGraph, work: u64, bound: Cost) -> bool {
        if graph.tables().is_none() && graph.on_device() {
            (self.gpu, self.left, self.last, self.done) = (None, None, false, false);
            (self.z, self.entries) = (self.begin, 0);
        } else if self.graphs == Graphs::Growing {
            self.left = Some(graph);
        } else {
            graph.free();
        }
        // the last one goes on for as long as what else there is to do takes
        self.work = if self.last { self.work.saturating_add(work) } else { work / LEADING };
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

    /// The graphs that led to what the last one left.
    pub fn graphs(&self) -> Vec<Arc<certificate::Graph>> {
        self.left.as_ref().map(JoinGraph::graphs).unwrap_or_default()
    }

    /// The problem that is left, if its tables take at most so many bytes and `stop` is not set.
    pub fn problem(&self, bytes: u64, stop: &Stop) -> Option<Problem> {
        let left = self.left.as_ref()?;
        let needed = self.entries.saturating_mul(size_of::<Cost>() as u64);
        // a device that fails is noticed by the next graph
        if needed <= bytes { left.problem(stop).ok().flatten() } else { None }
    }
}
