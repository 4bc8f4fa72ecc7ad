//! Branch and bound: the least bound of an open node bounds the network from below at any time.
//!
//! A node is the network with fewer values for some variables. Cost shifting bounds it, starting from its parent's
//! shifted network; values that reach the upper bound are dropped. What is left is eliminated exactly once that takes
//! few combinations. Nodes are taken best first in batches, each is searched depth first for a limited work, and what
//! remains joins the open nodes again (hybrid best-first search: Allouche, de Givry, Katsirelos, Schiex, Zytnicki,
//! "Anytime hybrid best-first search with tree decomposition for weighted CSP", 2015).
//!
//! The work of a batch is counted and its nodes are searched independently, so threads do not change the result.

mod depth_first;
mod leaf;
mod probe;
mod residual;
mod scan;
mod static_data;
#[cfg(test)]
mod tests;

use super::proof::Proof;
use super::search::{Begin, Begun, Search, Searcher, Steady};
use crate::bounds::proof::SearchBytes;
use crate::bounds::trace::{Branched, BranchingTrace};
use crate::bounds::tuning::branch::{
    BATCH, DESCENT, DEVICE_MINI, DEVICE_SPEED, LEAF, LEAST_DIVE, LEAST_MINI, MINI_PART, MOST_DIVE, NODE, ROOT_PASSES,
    STATES,
};
use crate::device::DeviceError;
use crate::elimination::Progress;
use crate::elimination::cuda::Gpu;
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::reduce::Reducer;
use crate::stop::Stop;
use crate::threads;
pub use depth_first::Style;
use depth_first::{Dive, Found, Node};
use leaf::Budget;
pub use leaf::Sent;
pub use probe::{Probe, Probed};
use residual::State;
use static_data::StaticData;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

/// A search on its way.
#[derive(Debug)]
pub struct Branch {
    data: StaticData,
    /// The whole network, shifted.
    root: State,
    open: BinaryHeap<Node>,
    style: Style,
    /// Solutions from here on are of no interest, unscaled.
    ub: Cost,
    /// The best solution found, until it is asked for.
    solution: Option<Vec<u32>>,
    /// Unscaled.
    bound: Cost,
    memory: u64,
    begun: bool,
    /// The limit when values of the root were dropped last.
    dropped: Cost,
    serial: u64,
    dive: u64,
    work: u64,
    nodes: u64,
    pruned: u64,
    sent: Sent,
    /// The variables that agents branched on.
    cut: BTreeSet<u32>,
    /// Combinations for the elimination of a light node; for mini-buckets of a heavy one, at least.
    leaf: f64,
    mini: f64,
    /// Where heavy nodes are eliminated that pay there.
    gpu: Option<Arc<Gpu>>,
    trouble: Option<DeviceError>,
    /// What was branched on, where a certificate is wanted.
    trace: Option<BranchingTrace>,
}

impl Branch {
    /// A search with light nodes.
    pub(crate) const LIGHT: &'static Searcher = &Searcher {
        name: Style::Light.name(),
        steady: Some(Steady::Light),
        begin: |begin, stop| Branch::begin(begin, Style::Light, stop),
    };

    /// A search with heavy nodes.
    pub(crate) const HEAVY: &'static Searcher = &Searcher {
        name: Style::Heavy.name(),
        steady: None,
        begin: |begin, stop| Branch::begin(begin, Style::Heavy, stop),
    };

    fn begin(begin: Begin<'_>, style: Style, stop: &Stop) -> Begun {
        let memory = begin.memory;
        let Some(branch) = Branch::new(begin, style, stop) else {
            stop.check()?;
            return Err(Error::Memory(format!(
                "branch and bound does not fit into {memory} bytes, an eighth of the memory for bounds, or its costs \
                 are too large to be added in 64 bits"
            )));
        };
        Ok(Box::new(branch))
    }

    /// A search for solutions better than `ub` and the problem's top; what is left of nodes is eliminated along the
    /// order, or better. `None` where costs are too large for sums of 64 bits, or the network itself takes more than
    /// the memory, and once `stop` is set.
    pub fn new(begin: Begin<'_>, style: Style, stop: &Stop) -> Option<Branch> {
        let Begin { problem, ub, order, memory, journal } = begin;
        // of many variables these alone are too much
        let _ = memory.checked_sub(StaticData::pairs(problem))?;
        let (tables, state) = StaticData::bytes(problem, stop).ok()?;
        let taken = tables.saturating_add(state.saturating_mul(STATES));
        let memory = memory.checked_sub(taken)?;
        let ub = ub.unwrap_or(problem.top).min(problem.top);
        let data = StaticData::new(problem, ub, &order.sequence, stop)?;
        let root = State::new(&data, data.limit(ub));
        Some(Branch {
            data,
            root,
            open: BinaryHeap::new(),
            style,
            ub,
            solution: None,
            bound: problem.constant.min(ub),
            memory,
            begun: false,
            dropped: 0,
            serial: 0,
            dive: LEAST_DIVE,
            work: 0,
            nodes: 0,
            pruned: 0,
            sent: Sent::default(),
            cut: BTreeSet::new(),
            leaf: LEAF,
            mini: LEAST_MINI,
            gpu: None,
            trouble: None,
            trace: journal.then(BranchingTrace::default),
        })
    }

    /// Goes on with the root alone; the bound stays.
    fn begin_again(&mut self) {
        if !self.open.is_empty() {
            self.open.clear();
            self.open.push(self.whole());
        }
    }

    /// The node above all others.
    fn whole(&self) -> Node {
        Node { bound: self.root.constant, part: 1.0, depth: 0, serial: 0, path: None }
    }

    /// Leaves are eliminated, and heavy nodes bounded, only where that takes no more than so many combinations: tests
    /// have small networks.
    #[doc(hidden)]
    pub fn leaves(mut self, joint_entries: f64) -> Branch {
        (self.leaf, self.mini) = (joint_entries, 2.0 * joint_entries);
        self
    }

    fn begin_at_root(&mut self, stop: &Stop) {
        let before = self.root.work;
        let open = self.root.limit > 0 && self.root.propagate(&self.data, ROOT_PASSES, stop);
        self.work += self.root.work - before;
        if stop.is_set() {
            // the passes done keep: costs are only shifted
            return;
        }
        self.begun = true;
        self.dropped = self.root.limit;
        if open {
            self.open.push(self.whole());
        }
        self.settle();
    }

    /// The limit has fallen: drops what reaches it at the root, for all nodes.
    fn drop_values(&mut self, stop: &Stop) {
        self.dropped = self.root.limit;
        let before = self.root.work;
        if !self.root.propagate(&self.data, ROOT_PASSES, stop) {
            self.open.clear();
        }
        self.work += (self.root.work - before).max(1);
        self.settle();
    }

    /// Searches the best open nodes.
    fn batch(&mut self, stop: &Stop) {
        // heavy nodes are shared out by their eliminations
        let batch = if self.style == Style::Heavy { 1 } else { BATCH };
        let nodes: Vec<Node> = (0..batch).map_while(|_| self.open.pop()).collect();
        // where there is no room for more open nodes, nodes are searched for longer
        let crowded = self.open.len() as u64 > self.memory / 2 / NODE;
        let work = if self.style == Style::Heavy { 0 } else { self.dive };
        let mini = self.mini.max(self.work as f64 * MINI_PART);
        let room = self.gpu.as_ref().map(|gpu| gpu.budget()).transpose().unwrap_or_else(|error| {
            self.lose(error);
            None
        });
        let gpu = self.gpu.clone();
        let budget = self.budget(gpu.as_ref(), room, mini, self.memory / 2 / batch as u64);
        let dive = Dive {
            data: &self.data,
            style: self.style,
            work: if crowded { self.dive.saturating_mul(64) } else { work },
            descent: 0,
            discrepancies: usize::MAX,
            failures: Some(&self.root.failures),
            budget,
        };
        let descent = Dive { descent: work.saturating_mul(DESCENT), ..dive };
        let search = |(at, node): (usize, Node)| {
            let dive = if at == 0 { &descent } else { &dive };
            dive.search(&mut self.root.clone(), node, stop)
        };
        let found = threads::map(nodes.into_iter().enumerate(), search);
        self.gather(found);
        self.settle();
    }

    /// What a light node is eliminated for, or what mini-buckets of a heavy one may take: `mini` combinations, `bytes`
    /// of the host or the `room` of a device.
    fn budget<'a>(&self, gpu: Option<&'a Arc<Gpu>>, room: Option<u64>, mini: f64, bytes: u64) -> Budget<'a> {
        let light = Budget { joint_entries: self.leaf, bytes, message_entries: None, gpu: None };
        match (self.style, room) {
            (Style::Light, _) => light,
            (Style::Cut { message_entries }, _) => Budget { message_entries: Some(message_entries), ..light },
            (Style::Heavy, Some(bytes)) => {
                let joint_entries = (mini * DEVICE_SPEED as f64).max(DEVICE_MINI);
                Budget { joint_entries, bytes, gpu, ..light }
            }
            (Style::Heavy, None) => Budget { joint_entries: mini, ..light },
        }
    }

    /// Takes what the dives of a batch have found.
    fn gather(&mut self, found: Vec<Found>) {
        let (mut spent, mut replayed, mut mini) = (0, 0, 0);
        let mut branchings = Vec::new();
        for (at, found) in found.into_iter().enumerate() {
            // in the order of the nodes: threads do not change anything
            if at > 0 {
                // failures far down say little of the nodes above: with those of descents CELAR6-SUB1-24 took twice as
                // many
                self.root.failures.iter_mut().zip(&found.failures).for_each(|(all, of_dive)| *all += of_dive);
            }
            spent += found.work;
            replayed += found.replayed;
            self.nodes += found.nodes;
            self.pruned += found.pruned;
            self.sent.add(found.account.sent);
            if let Style::Cut { .. } = self.style {
                self.cut.extend(found.branchings.iter().map(|branched| branched.variable));
            }
            branchings.extend(found.branchings);
            mini = mini.max(found.mini);
            if let Some(error) = found.account.trouble {
                self.lose(error);
            }
            for mut node in found.open {
                self.serial += 1;
                node.serial = self.serial;
                self.open.push(node);
            }
            if let Some(assignment) = found.solution {
                self.found(assignment);
            }
        }
        self.work += spent.max(1);
        if let Some(log) = &self.trace {
            let total = |of: Branched| Branched { bound: self.data.total(of.bound), ..of };
            log.add(branchings.into_iter().map(total), if self.style == Style::Heavy { mini } else { 0 });
        }
        // as much as a tenth of the work on the way back to open nodes (hybrid best-first search)
        if replayed * 10 > spent {
            self.dive = (self.dive * 2).min(MOST_DIVE);
        } else if replayed * 20 < spent {
            self.dive = (self.dive / 2).max(LEAST_DIVE);
        }
    }

    /// The CPU does from now on what the device was meant to.
    fn lose(&mut self, error: DeviceError) {
        (self.gpu, self.trouble) = (None, Some(error));
    }

    fn found(&mut self, assignment: Vec<u32>) {
        let cost = self.data.problem.cost(&assignment);
        if cost < self.ub {
            self.tighten(cost);
            self.solution = Some(assignment);
        }
    }

    /// The bound of what is open; nodes that cannot hold anything better go.
    fn settle(&mut self) {
        if let Some(log) = &self.trace {
            log.spent(self.work);
        }
        let least = self.open.peek().map(|node| node.bound).filter(|&bound| bound < self.root.limit);
        match least {
            Some(bound) => self.bound = self.bound.max(self.data.total(bound)).min(self.ub),
            None => {
                self.open.clear();
                self.bound = self.ub;
            }
        }
    }

    /// Nodes visited.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Nodes that cost shifting cut off.
    pub fn pruned(&self) -> u64 {
        self.pruned
    }

    /// The messages of nodes that were eliminated.
    pub fn sent(&self) -> Sent {
        self.sent
    }

    /// The variables that a search of [`Style::Cut`] branched on, ascending.
    pub fn cut(&self) -> impl Iterator<Item = u32> {
        self.cut.iter().copied()
    }
}

impl Search for Branch {
    fn name(&self) -> &'static str {
        self.style.name()
    }

    fn doing(&self) -> &'static str {
        "branch and bound"
    }

    fn problem(&self) -> &Arc<Problem> {
        &self.data.problem
    }

    /// At least one batch.
    fn advance(&mut self, work: u64, stop: &Stop) -> Progress {
        let end = self.work.saturating_add(work);
        if !self.begun {
            self.begin_at_root(stop);
        }
        while self.begun && !self.open.is_empty() {
            if self.work >= end || stop.is_set() {
                return Progress::More;
            }
            if self.root.limit < self.dropped {
                self.drop_values(stop);
            } else {
                self.batch(stop);
            }
        }
        if self.begun { Progress::Done } else { Progress::More }
    }

    fn lower_bound(&self) -> Cost {
        self.bound.min(self.ub)
    }

    /// Combinations eliminated included.
    fn work_done(&self) -> u64 {
        self.work
    }

    fn is_done(&self) -> bool {
        self.begun && self.open.is_empty()
    }

    /// Were the rest of the tree like what is closed of it, the children of a node alike (after the weighted backtrack
    /// estimator: Kilby, Slaney, Thiebaux, Walsh, "Estimating search tree size", 2006). The largest number until
    /// something is closed.
    fn work_left(&self) -> u64 {
        let open: f64 = self.open.iter().filter(|node| node.bound < self.root.limit).map(|node| node.part).sum();
        // as an integer at most the largest one
        if self.begun { (self.work as f64 * (open / (1.0 - open).max(0.0))) as u64 } else { u64::MAX }
    }

    fn tighten(&mut self, ub: Cost) {
        if ub < self.ub {
            self.ub = ub;
            self.root.limit = self.data.limit(ub);
        }
    }

    fn take_solution(&mut self) -> Option<Vec<u32>> {
        self.solution.take()
    }

    fn proof(&self, reducer: &Arc<Reducer>) -> Option<Proof> {
        let bytes = SearchBytes { node: StaticData::bytes_of(self.data.cells as u64), all: self.memory };
        Some(Proof::reductions(reducer)?.searched(self.data.bits, self.trace.as_ref()?, bytes))
    }

    /// For heavy nodes, with tables that fit there. What it does counts by the time it takes. Where branchings are kept
    /// they stay on the CPU: the checker of a certificate makes their tables there.
    fn use_device(&mut self, gpu: &Arc<Gpu>) {
        if self.style == Style::Heavy && self.trace.is_none() {
            self.gpu = Some(gpu.clone());
            // the device's mini-buckets of one node say more than those of all that the CPU's have split it into, and
            // each of these takes as long there (SPOT5 505: 21156 after the root, 18328 after 12 s of such nodes)
            self.begin_again();
        }
    }

    fn is_on_device(&self) -> bool {
        self.gpu.is_some()
    }

    fn take_trouble(&mut self) -> Option<DeviceError> {
        self.trouble.take()
    }

    fn steady(&self) -> Option<Steady> {
        (self.style == Style::Light).then_some(Steady::Light)
    }
}
