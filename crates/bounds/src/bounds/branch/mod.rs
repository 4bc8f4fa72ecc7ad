//! Branch and bound: at any time the least bound of an open node is a lower bound of the problem.
//!
//! A node is the problem with fewer values for some variables. Cost shifting bounds it, starting from its parent's
//! shifted problem; values that reach the upper bound are removed. Once elimination of the rest takes few combinations,
//! the node is eliminated exactly. Nodes are taken best first in batches. Each is searched depth first with limited
//! work, and the nodes that remain become open nodes again (hybrid best-first search: Allouche, de Givry, Katsirelos,
//! Schiex, Zytnicki, "Anytime hybrid best-first search with tree decomposition for weighted CSP", 2015).
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
use crate::bounds::tuning::branch::{BATCH, DEVICE_MINI, DEVICE_SPEED, NODE, ROOT_PASSES, STATES};
use crate::device::DeviceError;
use crate::elimination::Progress;
use crate::elimination::cuda::Gpu;
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::reduce::Reducer;
use crate::stop::Stop;
use crate::threads;
use crate::tuning::tuning;
pub use depth_first::Style;
pub(crate) use depth_first::decisive;
use depth_first::{Dive, Found, Node};
use leaf::Budget;
pub use leaf::Sent;
pub(crate) use leaf::{Elimination, Residual};
pub use probe::{Probe, Probed};
pub(crate) use residual::{Give, State};
pub(crate) use static_data::StaticData;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

/// A branch and bound search.
#[derive(Debug)]
pub struct Branch {
    data: StaticData,
    /// The shifted problem at the root.
    root: State,
    open: BinaryHeap<Node>,
    style: Style,
    /// Cost from which solutions are of no interest, unscaled.
    ub: Cost,
    /// The best solution found since it was last taken.
    solution: Option<Vec<u32>>,
    /// Lower bound, unscaled.
    bound: Cost,
    memory: u64,
    begun: bool,
    /// The limit when values of the root were last removed.
    dropped: Cost,
    serial: u64,
    dive: u64,
    work: u64,
    nodes: u64,
    pruned: u64,
    sent: Sent,
    /// The variables that a search of [`Style::Cut`] branched on.
    cut: BTreeSet<u32>,
    /// Combinations up to which a light node is eliminated.
    leaf: f64,
    /// Least combinations of the mini-buckets of a heavy node.
    mini: f64,
    /// The device for the heavy nodes whose elimination pays there.
    gpu: Option<Arc<Gpu>>,
    trouble: Option<DeviceError>,
    /// The branchings; `None` if no certificate is wanted.
    trace: Option<BranchingTrace>,
}

impl Branch {
    /// Branch and bound with light nodes, which are bounded by cost shifting.
    pub(crate) const LIGHT: &'static Searcher = &Searcher {
        name: Style::Light.name(),
        steady: Some(Steady::Light),
        begin: |begin, stop| Branch::begin(begin, Style::Light, stop),
    };

    /// Branch and bound with heavy nodes, which are bounded by mini-buckets.
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

    /// Creates a search for solutions better than `ub` and the problem's top. Nodes are eliminated along the given
    /// order or a better one. Returns `None` if costs are too large for sums of 64 bits, the problem itself takes more
    /// than the memory, or `stop` is set.
    pub fn new(begin: Begin<'_>, style: Style, stop: &Stop) -> Option<Branch> {
        let Begin { problem, ub, order, memory, journal, .. } = begin;
        // for many variables the pairs alone exceed the memory
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
            dive: tuning().branch.least_dive,
            work: 0,
            nodes: 0,
            pruned: 0,
            sent: Sent::default(),
            cut: BTreeSet::new(),
            leaf: tuning().branch.leaf,
            mini: tuning().branch.least_mini,
            gpu: None,
            trouble: None,
            trace: journal.then(BranchingTrace::default),
        })
    }

    /// Starts again from the root alone; the bound is kept.
    fn begin_again(&mut self) {
        if !self.open.is_empty() {
            self.open.clear();
            self.open.push(self.whole());
        }
    }

    /// Returns the root node.
    fn whole(&self) -> Node {
        Node { bound: self.root.constant, part: 1.0, depth: 0, serial: 0, path: None }
    }

    /// Sets the combinations up to which nodes are eliminated to `joint_entries`, and the least combinations of a heavy
    /// node's mini-buckets to twice that: for tests, whose networks are small.
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
            // the finished passes stay valid: costs have only been shifted
            return;
        }
        self.begun = true;
        self.dropped = self.root.limit;
        if open {
            self.open.push(self.whole());
        }
        self.settle();
    }

    /// Removes the root's values that reach the limit after it has fallen.
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
        // the elimination of a heavy node uses all threads itself
        let batch = if self.style == Style::Heavy { 1 } else { BATCH };
        let nodes: Vec<Node> = (0..batch).map_while(|_| self.open.pop()).collect();
        // if there is no room for more open nodes, each node is searched for longer
        let crowded = self.open.len() as u64 > self.memory / 2 / NODE;
        let work = if self.style == Style::Heavy { 0 } else { self.dive };
        let mini = self.mini.max(self.work as f64 * tuning().branch.mini_part);
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
        let descent = Dive { descent: work.saturating_mul(tuning().branch.descent), ..dive };
        let search = |(at, node): (usize, Node)| {
            let dive = if at == 0 { &descent } else { &dive };
            dive.search(&mut self.root.clone(), node, stop)
        };
        let found = threads::map(nodes.into_iter().enumerate(), search);
        self.gather(found);
        self.settle();
    }

    /// Returns the limits of a node's elimination: `mini` combinations for mini-buckets, and `bytes` on the host or
    /// `room` bytes on a device.
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

    /// Takes over the results of the dives of a batch.
    fn gather(&mut self, found: Vec<Found>) {
        let (mut spent, mut replayed, mut mini) = (0, 0, 0);
        let mut branchings = Vec::new();
        for (at, found) in found.into_iter().enumerate() {
            // in the order of the nodes, so that threads do not change the result
            if at > 0 {
                // failures far down say little about the nodes above: with those of descents CELAR6-SUB1-24 took twice
                // as many nodes
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
        // a twentieth to a tenth of the work is spent on the way back to open nodes (hybrid best-first search)
        if replayed * 10 > spent {
            self.dive = (self.dive * 2).min(tuning().branch.most_dive);
        } else if replayed * 20 < spent {
            self.dive = (self.dive / 2).max(tuning().branch.least_dive);
        }
    }

    /// Makes the CPU do the work of a failed device from now on.
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

    /// Updates the bound from the open nodes, and closes the search if none of them can hold a better solution.
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

    /// Returns the number of nodes visited.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Returns the number of nodes that cost shifting cut off.
    pub fn pruned(&self) -> u64 {
        self.pruned
    }

    /// Returns the counts of messages of the nodes that were eliminated.
    pub fn sent(&self) -> Sent {
        self.sent
    }

    /// Returns the variables that a search of [`Style::Cut`] branched on, ascending.
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

    /// Searches at least one batch.
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

    /// Returns the work done, including combinations of eliminations.
    fn work_done(&self) -> u64 {
        self.work
    }

    fn is_done(&self) -> bool {
        self.begun && self.open.is_empty()
    }

    /// Estimates the work left as if the rest of the tree were like its closed part and the children of a node alike
    /// (after the weighted backtrack estimator: Kilby, Slaney, Thiebaux, Walsh, "Estimating search tree size", 2006).
    /// Returns the largest number before anything is closed.
    fn work_left(&self) -> u64 {
        let open: f64 = self.open.iter().filter(|node| node.bound < self.root.limit).map(|node| node.part).sum();
        // the conversion to an integer saturates
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

    /// Uses the device for heavy nodes whose tables fit there. Their work counts by the time that it takes. If
    /// branchings are kept, all nodes stay on the CPU, because the checker of a certificate makes their tables there.
    fn use_device(&mut self, gpu: &Arc<Gpu>) {
        if self.style == Style::Heavy && self.trace.is_none() {
            self.gpu = Some(gpu.clone());
            // the device's mini-buckets of the root bound better than those of all nodes into which the CPU has split
            // it, and each of these takes as long there (SPOT5 505: 21156 after the root, 18328 after 12 s of such
            // nodes)
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
