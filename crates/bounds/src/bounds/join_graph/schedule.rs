//! The moves of a pass over a join graph, the same on CPU threads and devices, with the same result to the last bit.
//!
//! A pass is a sequence of moves along edges. A move reads the least costs of the tables at its ends for each
//! combination of their shared variables, and leaves a change for each end. A table applies all its pending changes
//! when it is read next. Moves between different tables whose changes are known share a wave: first operations on
//! tables, then moves. Waves keep the dependencies of the sequence, so they have the same result.

use crate::elimination::plan::{Plan, Source, Step};
use crate::error::Error;
use crate::stop::Stop;
use crate::tensor::tiles::{StrideMap, Tiles};
use crate::threads::Large;

/// Most changes that a table applies at once (kernels/joingraph.cu).
pub(crate) const INPUTS: usize = 8;

/// The table of a mini-bucket over all its variables.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// Sizes of its axes, the variable that is eliminated first being the first axis.
    pub sizes: Vec<usize>,
    pub tiles: Tiles,
    pub entries: usize,
}

/// A separator message: a smaller table over some axes of a cluster.
#[derive(Debug)]
pub(crate) struct Separator {
    pub cluster: u32,
    pub map: StrideMap,
    pub entries: usize,
}

/// A join graph: its clusters, and the edges along which costs move.
#[derive(Debug)]
pub(crate) struct Layout {
    pub clusters: Large<Cluster>,
    /// Separator messages: two for each edge, and one for each cluster without a parent, whose least cost becomes
    /// constant.
    pub separators: Large<Separator>,
    links: Large<Links>,
    /// Range of the clusters of each variable of the plan's sequence, with an end mark.
    first: Vec<u32>,
}

/// The edges of a cluster, each by its first separator message; the second one follows it.
#[derive(Debug, Default)]
struct Links {
    /// Edge to the cluster that takes its message; the separator message of its own least cost if it is a root.
    parent: u32,
    /// Whether the cluster is a root.
    orphan: bool,
    /// Edges from the clusters whose messages it takes.
    children: Vec<u32>,
    /// Edge to an earlier mini-bucket of the same variable.
    sibling: Option<u32>,
}

/// A move between separator messages, given by their numbers. The least cost that is left over becomes constant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Move {
    /// All costs of the first move to the second, if there is one.
    Push(u32, Option<u32>),
    /// A share of the first message's costs, one in this many parts, moves to the second.
    Share(u32, u32, u32),
    /// Half of the difference moves, so that both are equal.
    Level(u32, u32),
}

/// Changes that a table applies, and the separator message that is then read from it.
#[derive(Debug)]
pub(crate) struct Operation {
    pub cluster: u32,
    pub inputs: Vec<u32>,
    pub output: Option<u32>,
}

/// Operations on different tables, and the moves that follow.
#[derive(Debug, Default)]
pub(crate) struct Wave {
    pub operations: Large<Operation>,
    pub moves: Vec<Move>,
    /// Number of entries read.
    pub work: u64,
}

/// The kind of a pass, which decides its moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    /// Whether the pass goes forward along the plan, not backward.
    pub forward: bool,
    /// Whether every move averages, along all edges.
    pub symmetric: bool,
}

impl Layout {
    /// Creates the graph of a plan's mini-buckets. An edge joins each to the mini-bucket that takes its message, and to
    /// the earlier mini-bucket of the same variable with which it shares the most variables.
    pub fn new(plan: &Plan, stop: &Stop) -> Result<Layout, Error> {
        // lists with a million entries that grow would be copied repeatedly
        let mut scopes: Large<Vec<u32>> = Vec::with_capacity(plan.steps.len()).into();
        for index in stop.each(0..plan.steps.len()) {
            scopes.push(plan.scope(index?));
        }
        let sizes =
            |scope: &[u32]| -> Vec<usize> { scope.iter().map(|&p| plan.domains[p as usize] as usize).collect() };
        let mut clusters: Large<Cluster> = Vec::with_capacity(scopes.len()).into();
        for scope in stop.each(&scopes) {
            clusters.push(Cluster::new(sizes(scope?)));
        }
        let mut separators: Large<Separator> = Large::default();
        let mut separator = |cluster: usize, shared: &[u32]| {
            separators.push(clusters[cluster].separator(cluster, &scopes[cluster], shared, &sizes(shared)));
            separators.len() as u32 - 1
        };
        let mut links: Large<Links> = scopes.iter().map(|_| Links { orphan: true, ..Links::default() }).collect();
        for item in stop.each(plan.steps.iter().enumerate()) {
            let (index, step) = item?;
            for input in &step.inputs {
                if let Source::Message(from) = input.source {
                    let edge = separator(from as usize, &input.scope);
                    let _ = separator(index, &input.scope);
                    (links[from as usize].parent, links[from as usize].orphan) = (edge, false);
                    links[index].children.push(edge);
                }
            }
            if let Some((other, shared)) = sibling(plan, &scopes, index) {
                links[index].sibling = Some(separator(other, &shared));
                let _ = separator(index, &shared);
            }
        }
        for (index, links) in links.iter_mut().enumerate().filter(|(_, links)| links.orphan) {
            links.parent = separator(index, &[]);
        }
        Ok(Layout { clusters, separators, links, first: plan.first.clone() })
    }

    /// Returns the clusters at the other ends of a cluster's edges: the one that takes its message, and an earlier one
    /// of the same variable.
    pub fn neighbours(&self, cluster: usize) -> (Option<u32>, Option<u32>) {
        let links = &self.links[cluster];
        let of = |separator: u32| self.separators[separator as usize].cluster;
        ((!links.orphan).then(|| of(links.parent + 1)), links.sibling.map(of))
    }

    /// Returns the number of entries of all tables and separator messages of a plan's graph, without making it.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub fn entries_of(plan: &Plan, stop: &Stop) -> Result<u64, Error> {
        let scopes = stop.each(0..plan.steps.len()).map(|index| Ok(plan.scope(index?)));
        let scopes: Large<Vec<u32>> = scopes.collect::<Result<_, Error>>()?;
        let size = |&p: &u32| u64::from(plan.domains[p as usize]);
        let sizes = |shared: &[u32]| shared.iter().map(size).fold(1, u64::saturating_mul);
        let own = |(index, step): (usize, &Step)| {
            let sibling = sibling(plan, &scopes, index).map_or(0, |(_, shared)| sizes(&shared));
            step.joint.saturating_add(2 * step.entries.saturating_add(sibling))
        };
        stop.each(plan.steps.iter().enumerate()).try_fold(0u64, |sum, step| Ok(sum.saturating_add(own(step?))))
    }

    /// Returns the number of entries of all tables and separator messages.
    pub fn entries(&self) -> u64 {
        let clusters = self.clusters.iter().map(|cluster| cluster.entries as u64);
        let separators = self.separators.iter().map(|separator| separator.entries as u64);
        clusters.chain(separators).fold(0, u64::saturating_add)
    }

    /// Returns the waves of a pass over all variables; at its end all tables have all their changes.
    pub fn pass(&self, kind: Kind, stop: &Stop) -> Result<Vec<Wave>, Error> {
        let clusters = self.clusters.len();
        let pending = vec![Vec::new(); clusters].into();
        let mut pass = Scheduler { layout: self, waves: Vec::new(), free: vec![0; clusters], pending };
        let last = self.first.len() - 1;
        for place in stop.each(0..last) {
            let place = place?;
            self.visit(&mut pass, if kind.forward { place } else { last - 1 - place }, kind);
        }
        for cluster in stop.each(0..clusters as u32) {
            pass.take(cluster?, 0);
        }
        Ok(pass.waves)
    }

    /// Adds the moves of the clusters of a variable.
    fn visit(&self, pass: &mut Scheduler<'_>, position: usize, kind: Kind) {
        let clusters = &self.links[self.first[position] as usize..self.first[position + 1] as usize];
        for links in clusters {
            if let Some(edge) = links.sibling {
                pass.add(Move::Level(edge, edge + 1));
            }
        }
        for links in clusters {
            match (kind.forward, links.orphan) {
                (true, true) => pass.add(Move::Push(links.parent, None)),
                (true, false) if kind.symmetric => pass.add(Move::Level(links.parent, links.parent + 1)),
                (true, false) => pass.add(Move::Push(links.parent, Some(links.parent + 1))),
                (false, _) => {
                    for (place, &edge) in links.children.iter().enumerate() {
                        let parts = (links.children.len() - place + 1) as u32;
                        pass.add(if kind.symmetric {
                            Move::Level(edge, edge + 1)
                        } else {
                            Move::Share(edge + 1, edge, parts)
                        });
                    }
                }
            }
        }
    }
}

/// Returns the earlier mini-bucket of the same variable with the most shared variables, and these variables.
fn sibling(plan: &Plan, scopes: &[Vec<u32>], index: usize) -> Option<(usize, Vec<u32>)> {
    let first = plan.first[plan.steps[index].position as usize] as usize;
    let common = |other: usize| -> Vec<u32> {
        scopes[index].iter().copied().filter(|p| scopes[other].binary_search(p).is_ok()).collect()
    };
    (first..index).map(|other| (other, common(other))).max_by_key(|(_, shared)| shared.len())
}

impl Cluster {
    fn new(sizes: Vec<usize>) -> Cluster {
        Cluster { tiles: Tiles::new(&sizes), entries: sizes.iter().product(), sizes }
    }

    /// Returns a separator message over some of a cluster's positions.
    pub fn separator(&self, cluster: usize, scope: &[u32], shared: &[u32], sizes: &[usize]) -> Separator {
        let places: Vec<_> = scope.iter().map(|p| shared.binary_search(p).ok()).collect();
        Separator { cluster: cluster as u32, map: self.tiles.map(&places, sizes), entries: sizes.iter().product() }
    }
}

/// The assignment of moves to waves.
struct Scheduler<'a> {
    layout: &'a Layout,
    waves: Vec<Wave>,
    /// The first wave in which each cluster may be read: after its last operation, and once its changes are known.
    free: Vec<usize>,
    /// Changes that each cluster has not applied yet.
    pending: Large<Vec<u32>>,
}

impl Scheduler<'_> {
    fn cluster(&self, separator: u32) -> u32 {
        self.layout.separators[separator as usize].cluster
    }

    fn wave(&mut self, number: usize) -> &mut Wave {
        if self.waves.len() <= number {
            self.waves.resize_with(number + 1, Wave::default);
        }
        &mut self.waves[number]
    }

    /// Makes a cluster apply its changes as early as possible, all but `left` of them.
    fn take(&mut self, cluster: u32, left: usize) {
        let index = cluster as usize;
        while self.pending[index].len() > left {
            let some = self.pending[index].len().min(INPUTS);
            let inputs: Vec<u32> = self.pending[index].drain(..some).collect();
            let wave = self.free[index];
            self.place(wave, Operation { cluster, inputs, output: None });
        }
    }

    fn place(&mut self, number: usize, operation: Operation) {
        let entries = self.layout.clusters[operation.cluster as usize].entries;
        self.free[operation.cluster as usize] = number + 1;
        let wave = self.wave(number);
        wave.work += (entries * (operation.inputs.len() + usize::from(operation.output.is_some()))) as u64;
        wave.operations.push(operation);
    }

    fn add(&mut self, what: Move) {
        let (reads, changes) = match what {
            Move::Push(from, to) => ([Some(from), None], [Some(from), to]),
            Move::Share(from, to, _) => ([Some(from), None], [Some(from), Some(to)]),
            Move::Level(a, b) => ([Some(a), Some(b)], [Some(a), Some(b)]),
        };
        let mut number = 0;
        for separator in reads.into_iter().flatten() {
            let cluster = self.cluster(separator);
            self.take(cluster, INPUTS);
            number = number.max(self.free[cluster as usize]);
        }
        for separator in reads.into_iter().flatten() {
            let cluster = self.cluster(separator);
            let inputs = std::mem::take(&mut self.pending[cluster as usize]);
            self.place(number, Operation { cluster, inputs, output: Some(separator) });
        }
        self.wave(number).moves.push(what);
        for separator in changes.into_iter().flatten() {
            let cluster = self.cluster(separator) as usize;
            self.pending[cluster].push(separator);
            self.free[cluster] = self.free[cluster].max(number + 1);
        }
    }
}
