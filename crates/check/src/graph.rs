//! Cost shifting between the tables of a join graph, by the replay's own passes. No move changes the cost of an
//! assignment, so a wrong graph costs time and proves nothing. Passes depend on the limit. Here it is the bound itself,
//! so more entries reach it than in the run that found the bound.
//!
//! No entry becomes negative, so an entry that reaches the limit less the constant stays forbidden.

use super::elimination::Effort;
use super::state::State;
use super::steps::ascending;
use super::tables::{self, axes, combinations, sum, sums};
use super::tuning::{LARGE, LOOKS, PARTS, TILE};
use crate::certificate::Graph;
use crate::model::{Cost, FORBIDDEN, Table};
use rayon::prelude::*;
use std::ops::Range;

/// The tables of a graph, and the edges between them.
struct Layout {
    /// Domain sizes along each table.
    sizes: Vec<Vec<usize>>,
    /// By cluster, the edge to the earlier cluster beside it.
    beside: Vec<Option<Edge>>,
    /// By cluster, the edge to the later cluster that takes its message.
    to: Vec<Option<Edge>>,
    /// By cluster, the clusters whose messages it takes.
    from: Vec<Vec<usize>>,
    /// Ranges of consecutive clusters that are visited together.
    groups: Vec<Range<usize>>,
}

/// An edge: the number of entries of the separator of two clusters, and its stride maps along both.
struct Edge {
    entries: usize,
    ends: [(usize, StrideMap); 2],
}

/// The stride map of a smaller table along a larger one.
struct StrideMap {
    /// Offsets in the smaller table of the larger table's tiles.
    begin: Vec<usize>,
    /// Offsets in the smaller table of the entries of a tile, relative to the tile's offset (less than a tile, because
    /// scopes ascend).
    along: Vec<u32>,
}

impl StrideMap {
    /// Creates the map of a table over `part` along one over `scope`.
    fn new(scope: &[u32], sizes: &[usize], part: &[u32], own: &[usize]) -> StrideMap {
        let places = axes(own);
        let lead = |(v, &size): (&u32, &usize)| {
            part.binary_search(v).map_or_else(|_| vec![0; size], |place| places[place].clone())
        };
        let leads: Vec<Vec<usize>> = scope.iter().zip(sizes).map(lead).collect();
        let (outer, inner) = leads.split_at(outer(sizes));
        let along = sums(inner, 0, |a, b| a + b).into_iter().map(|place| place as u32).collect();
        StrideMap { begin: sums(outer, 0, |a, b| a + b), along }
    }

    /// Returns the bytes of a stride map along a table.
    fn bytes(sizes: &[usize]) -> u64 {
        let (outer, inner) = sizes.split_at(outer(sizes));
        let of = |sizes: &[usize], each: usize| combinations(sizes).saturating_mul(each as u64);
        of(outer, size_of::<usize>()).saturating_add(of(inner, size_of::<u32>()))
    }

    /// Returns the least entries of a table for each combination of the smaller table's variables.
    fn least(&self, costs: &[Cost], entries: usize) -> Vec<Cost> {
        let block = self.along.len();
        let part = |blocks: Range<usize>| {
            let mut least = vec![FORBIDDEN; entries];
            for (costs, &begin) in
                costs[blocks.start * block..blocks.end * block].chunks_exact(block).zip(&self.begin[blocks])
            {
                let least = &mut least[begin..];
                for (&cost, &place) in costs.iter().zip(&self.along) {
                    least[place as usize] = least[place as usize].min(cost);
                }
            }
            least
        };
        let blocks = self.begin.len();
        if costs.len() < LARGE {
            return part(0..blocks);
        }
        let some = |number: usize| part(blocks * number / PARTS..blocks * (number + 1) / PARTS);
        let lower = |a: Vec<Cost>, b: Vec<Cost>| a.iter().zip(&b).map(|(&a, &b)| a.min(b)).collect();
        (0..PARTS).into_par_iter().map(some).reduce(|| vec![FORBIDDEN; entries], lower)
    }

    /// Adds the smaller table to the larger one; sums from `dear` on are forbidden.
    fn add(&self, costs: &mut [Cost], more: &[Cost], dear: Cost) {
        let block = self.along.len();
        let add = |(costs, &begin): (&mut [Cost], &usize)| {
            let more = &more[begin..];
            for (cost, &place) in costs.iter_mut().zip(&self.along) {
                let total = sum(*cost, more[place as usize]);
                *cost = if total >= dear { FORBIDDEN } else { total };
            }
        };
        if costs.len() < LARGE {
            costs.chunks_exact_mut(block).zip(&self.begin).for_each(add);
        } else {
            costs.par_chunks_exact_mut(block).zip(&self.begin).for_each(add);
        }
    }
}

/// Returns the number of outer axes, which lead from tile to tile.
fn outer(sizes: &[usize]) -> usize {
    let mut outer = sizes.len();
    let mut block = 1;
    while outer > 0 && block * sizes[outer - 1] <= TILE {
        outer -= 1;
        block *= sizes[outer];
    }
    outer
}

/// Checks a graph for a network with domains of these sizes; an absent variable has size 0.
fn verify(graph: &Graph, sizes: &[usize]) -> Result<(), String> {
    for (index, cluster) in graph.clusters.iter().enumerate() {
        let refused = |what: String| format!("cluster {index}: {what}");
        if let Some(v) =
            ascending(&cluster.over)?.iter().find(|&&v| sizes.get(v as usize).is_none_or(|&size| size == 0))
        {
            return Err(refused(format!("there is no variable {v}")));
        }
        if cluster.to.is_some_and(|to| to as usize <= index || to as usize >= graph.clusters.len()) {
            return Err(refused(format!("{:?} is no later cluster", cluster.to)));
        }
        if cluster.beside.is_some_and(|beside| beside as usize >= index) {
            return Err(refused(format!("{:?} is no earlier cluster", cluster.beside)));
        }
    }
    Ok(())
}

fn shared(a: &[u32], b: &[u32]) -> Vec<u32> {
    a.iter().copied().filter(|v| b.binary_search(v).is_ok()).collect()
}

/// Returns the effort (entries visited and temporary bytes), and the bytes of the tables that stay.
pub(super) fn effort(graph: &Graph, sizes: &[usize]) -> Result<(Effort, u64), String> {
    verify(graph, sizes)?;
    let sizes_of = |scope: &[u32]| scope.iter().map(|&v| sizes[v as usize]).collect::<Vec<_>>();
    let all: Vec<u64> = graph.clusters.iter().map(|cluster| combinations(&sizes_of(&cluster.over))).collect();
    let (mut maps, mut widest, mut looks) = (0u64, 0u64, 0u64);
    for (index, cluster) in graph.clusters.iter().enumerate() {
        let ends = [cluster.to, cluster.beside].into_iter().flatten();
        looks = looks.saturating_add(if cluster.to.is_none() { all[index] } else { 0 });
        for other in ends.map(|other| other as usize) {
            let entries = combinations(&sizes_of(&shared(&cluster.over, &graph.clusters[other].over)));
            widest = widest.max(entries);
            for end in [index, other] {
                looks = looks.saturating_add(all[end]);
                maps = maps.saturating_add(StrideMap::bytes(&sizes_of(&graph.clusters[end].over)));
            }
        }
    }
    let passes = u64::from(graph.passes).saturating_add(graph.even.into());
    let entries = all.iter().copied().fold(0, u64::saturating_add);
    let largest = all.iter().copied().max().unwrap_or(0);
    // a dense function for its table, or the costs between two tables, with the buffers of threads
    let more = largest.max(widest.saturating_mul(PARTS as u64 + 2));
    let stay = entries.saturating_mul(8);
    let bytes = stay.saturating_add(more.saturating_mul(8)).saturating_add(maps);
    let joint_entries = looks.saturating_mul(LOOKS).saturating_mul(passes).saturating_add(entries);
    Ok((Effort { joint_entries, bytes }, stay))
}

impl Layout {
    fn new(graph: &Graph, state: &State) -> Layout {
        let sizes: Vec<Vec<usize>> = graph.clusters.iter().map(|cluster| state.sizes(&cluster.over)).collect();
        let edge = |index: usize, other: Option<u32>| {
            let other = other? as usize;
            let scopes = [index, other].map(|end| &graph.clusters[end].over[..]);
            let part = shared(scopes[0], scopes[1]);
            let own = state.sizes(&part);
            let ends =
                [index, other].map(|end| (end, StrideMap::new(&graph.clusters[end].over, &sizes[end], &part, &own)));
            Some(Edge { entries: combinations(&own) as usize, ends })
        };
        let clusters = || graph.clusters.iter().enumerate();
        let mut from = vec![Vec::new(); sizes.len()];
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (index, cluster) in clusters() {
            if let Some(to) = cluster.to {
                from[to as usize].push(index);
            }
            match groups.last_mut().filter(|_| cluster.beside.is_some()) {
                Some(group) => group.end = index + 1,
                None => groups.push(index..index + 1),
            }
        }
        let beside = clusters().map(|(index, cluster)| edge(index, cluster.beside)).collect();
        let to = clusters().map(|(index, cluster)| edge(index, cluster.to)).collect();
        Layout { sizes, beside, to, from, groups }
    }
}

/// A join graph during its passes.
struct Task {
    layout: Layout,
    tables: Vec<Vec<Cost>>,
    /// Constant gained so far.
    constant: Cost,
    /// Limit of the entries that count.
    dear: Cost,
}

impl State {
    /// Sums functions in the tables of a graph and moves costs between these.
    pub(super) fn join(&mut self, graph: &Graph) -> Result<(), String> {
        let sizes: Vec<usize> = self.values.iter().map(|values| values.len()).collect();
        verify(graph, &sizes)?;
        self.limit_to_finite_costs();
        self.check_room()?;
        if self.closed {
            return Ok(());
        }
        self.forbid();
        let layout = Layout::new(graph, self);
        let mut task = Task { tables: self.sum_up(graph, &layout)?, layout, constant: 0, dear: self.dear() };
        task.run(graph);
        self.pay(task.constant);
        for (cluster, table) in graph.clusters.iter().zip(task.tables) {
            self.add(cluster.over.clone(), Table::dense(table))?;
        }
        self.settle();
        self.check_room()
    }

    /// Returns the tables of the clusters. Functions that fit no cluster stay in the network.
    fn sum_up(&mut self, graph: &Graph, layout: &Layout) -> Result<Vec<Vec<Cost>>, String> {
        let dear = self.dear();
        let mut tables: Vec<Vec<Cost>> =
            layout.sizes.iter().map(|sizes| vec![0; combinations(sizes) as usize]).collect();
        let mut clusters_of: Vec<Vec<usize>> = vec![Vec::new(); self.values.len()];
        for (index, cluster) in graph.clusters.iter().enumerate() {
            cluster.over.iter().for_each(|&v| clusters_of[v as usize].push(index));
        }
        let last = |scope: &[u32]| {
            let fewest = scope.iter().map(|&v| &clusters_of[v as usize]).min_by_key(|clusters| clusters.len())?;
            let has_all = |index: usize| scope.iter().all(|v| graph.clusters[index].over.binary_search(v).is_ok());
            fewest.iter().copied().rev().find(|&index| has_all(index))
        };
        let mut put = |index: usize, scope: &[u32], sizes: &[usize], costs: &[Cost]| {
            let map = StrideMap::new(&graph.clusters[index].over, &layout.sizes[index], scope, sizes);
            map.add(&mut tables[index], costs, dear);
        };
        let scopes: Vec<Box<[u32]>> = self.functions().map(|function| function.scope.clone()).collect();
        for scope in scopes {
            let Some(index) = last(&scope) else { continue };
            let Some(function) = self.take_function(&scope) else { continue };
            let sizes = self.sizes(&scope);
            put(index, &scope, &sizes, &tables::dense(&function.table, &sizes)?.wide());
        }
        for v in (0..self.values.len() as u32).filter(|&v| !self.values[v as usize].is_empty()) {
            let Some(index) = last(&[v]) else { continue };
            let size = self.values[v as usize].len();
            let costs = std::mem::replace(&mut self.unary[v as usize], vec![0; size]);
            put(index, &[v], &[size], &costs);
        }
        Ok(tables)
    }
}

impl Task {
    /// Makes all passes, or stops once no assignment below the limit is left.
    fn run(&mut self, graph: &Graph) {
        let directed = (0..graph.passes).map(|pass| (pass, false));
        for (pass, even) in directed.chain((0..graph.even).map(|pass| (pass, true))) {
            let onward = pass.is_multiple_of(2);
            let groups = self.layout.groups.len();
            for group in 0..groups {
                let group = if onward { group } else { groups - 1 - group };
                if !self.visit(self.layout.groups[group].clone(), onward, even) {
                    return;
                }
            }
        }
    }

    /// Makes the moves of a group; returns whether an assignment below the limit may be left.
    fn visit(&mut self, group: Range<usize>, onward: bool, even: bool) -> bool {
        for cluster in group.clone() {
            if self.layout.beside[cluster].is_some() && !self.level(cluster, true) {
                return false;
            }
        }
        for cluster in group {
            if onward {
                let done = match &self.layout.to[cluster] {
                    None => self.keep_least(cluster),
                    Some(_) if even => self.level(cluster, false),
                    Some(_) => self.push(cluster),
                };
                if !done {
                    return false;
                }
                continue;
            }
            let below = self.layout.from[cluster].len();
            for place in 0..below {
                let child = self.layout.from[cluster][place];
                let parts = (below - place + 1) as Cost;
                if !(if even { self.level(child, false) } else { self.share(child, parts) }) {
                    return false;
                }
            }
        }
        true
    }

    /// Adds a least cost to the constant; returns whether an assignment below the limit may be left.
    fn pay(&mut self, lowest: Cost) -> bool {
        if lowest >= self.dear {
            self.constant = sum(self.constant, self.dear);
            return false;
        }
        self.constant += lowest;
        self.dear -= lowest;
        true
    }

    /// Moves the least cost of a table to the constant; returns whether an assignment below the limit may be left.
    fn keep_least(&mut self, cluster: usize) -> bool {
        let (dear, lowest) = (self.dear, lowest(&self.tables[cluster]));
        for cost in self.tables[cluster].iter_mut().filter(|_| lowest > 0) {
            *cost = if *cost >= dear { FORBIDDEN } else { *cost - lowest };
        }
        self.pay(lowest)
    }

    /// Moves all least costs of a cluster to the cluster that takes its message.
    fn push(&mut self, cluster: usize) -> bool {
        self.exchange(cluster, false, [true, false], |from, _| {
            let low = lowest(from);
            let all = |&cost: &Cost| if cost >= FORBIDDEN { (0, FORBIDDEN) } else { (-cost, cost - low) };
            (low, from.iter().map(all).unzip())
        })
    }

    /// Moves to a cluster a share of the least costs of the cluster that takes its message.
    fn share(&mut self, cluster: usize, parts: Cost) -> bool {
        self.exchange(cluster, false, [false, true], |_, from| {
            let low = lowest(from);
            let part = |&cost: &Cost| {
                if cost >= FORBIDDEN { (FORBIDDEN, 0) } else { ((cost - low) / parts, -((cost - low) / parts) - low) }
            };
            (low, from.iter().map(part).unzip())
        })
    }

    /// Moves half of the difference along an edge.
    fn level(&mut self, cluster: usize, beside: bool) -> bool {
        let dear = self.dear;
        self.exchange(cluster, beside, [true, true], |a, b| {
            let low = a.iter().zip(b).map(|(&a, &b)| sum(a, b)).fold(FORBIDDEN, Cost::min);
            let half = |(&a, &b): (&Cost, &Cost)| {
                let total = sum(a, b);
                if total >= dear {
                    return (FORBIDDEN, FORBIDDEN);
                }
                ((total - low) / 2 - a, (total - low) - (total - low) / 2 - b)
            };
            (low, a.iter().zip(b).map(half).unzip())
        })
    }

    /// Adds to both ends of an edge what `changes` computes from the least costs of the ends marked in `looks`.
    fn exchange(
        &mut self,
        cluster: usize,
        beside: bool,
        looks: [bool; 2],
        changes: impl Fn(&[Cost], &[Cost]) -> (Cost, (Vec<Cost>, Vec<Cost>)),
    ) -> bool {
        let edges = if beside { &self.layout.beside } else { &self.layout.to };
        let Some(Edge { entries, ends }) = &edges[cluster] else { return true };
        let [(a, of_a), (b, of_b)] = ends;
        let least = |look: bool, end: usize, map: &StrideMap| {
            if look { map.least(&self.tables[end], *entries) } else { Vec::new() }
        };
        let least = [least(looks[0], *a, of_a), least(looks[1], *b, of_b)];
        let (low, (to_a, to_b)) = changes(&least[0], &least[1]);
        if low >= self.dear {
            return self.pay(low);
        }
        let dear = self.dear - low;
        of_a.add(&mut self.tables[*a], &to_a, dear);
        of_b.add(&mut self.tables[*b], &to_b, dear);
        self.pay(low)
    }
}

fn lowest(costs: &[Cost]) -> Cost {
    costs.iter().copied().fold(FORBIDDEN, Cost::min)
}
