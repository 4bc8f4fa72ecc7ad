//! The constraint graph of a problem as flat arrays, its connected regions and its color classes.

use crate::error::Error;
use crate::model::Problem;
use crate::rng::Rng;
use crate::stop::Stop;
use rayon::prelude::*;

/// The number of variables that a thread processes between two checks of the stop flag.
const TURN: usize = 1 << 12;
/// The number of threads of a device's block, in variables. Color classes that can be this large are not balanced.
const WIDE: usize = 1024;
/// The number of members of a region between two checks of the stop flag.
const LOOK_EVERY: usize = 64;
/// The branching below which the difference of two assignments mostly has several components: the 100x100 grid has 3,
/// rnd1000 10.
const IN_PARTS: f64 = 5.0;

/// The constraint graph: two variables are neighbours if a function reads both.
#[derive(Debug, Default)]
pub struct Graph {
    starts: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Graph {
    /// Builds the graph of a reduced problem.
    pub fn new(problem: &Problem, stop: &Stop) -> Result<Self, Error> {
        let n = problem.variables();
        let mut ends = vec![0usize; n];
        for function in stop.each(&problem.functions) {
            let scope = &function?.scope;
            scope.iter().for_each(|&v| ends[v as usize] += scope.len() - 1);
        }
        let mut all = 0;
        ends.iter_mut().for_each(|end| all += std::mem::replace(end, all));
        let mut lists = vec![0u32; all];
        for function in stop.each(&problem.functions) {
            let scope = &function?.scope;
            for &v in scope {
                for &u in scope.iter().filter(|&&u| u != v) {
                    lists[ends[v as usize]] = u;
                    ends[v as usize] += 1;
                }
            }
        }
        // variables that share several functions occur in the lists several times
        let parts = (0..n.div_ceil(TURN)).into_par_iter().map(|part| {
            stop.check()?;
            let variables = part * TURN..n.min((part + 1) * TURN);
            let (mut degrees, mut once) = (Vec::with_capacity(TURN), Vec::new());
            for v in variables {
                let before = once.len();
                once.extend_from_slice(&lists[if v == 0 { 0 } else { ends[v - 1] }..ends[v]]);
                once[before..].sort_unstable();
                let mut kept = before;
                for k in before..once.len() {
                    if k == before || once[k] != once[k - 1] {
                        once[kept] = once[k];
                        kept += 1;
                    }
                }
                once.truncate(kept);
                degrees.push((kept - before) as u32);
            }
            Ok((degrees, once))
        });
        let mut graph = Graph { starts: Vec::with_capacity(n + 1), neighbours: Vec::with_capacity(all) };
        graph.starts.push(0);
        for (degrees, once) in parts.collect::<Result<Vec<(Vec<u32>, Vec<u32>)>, Error>>()? {
            for degree in degrees {
                graph.starts.push(graph.starts[graph.starts.len() - 1] + degree);
            }
            graph.neighbours.extend(once);
        }
        graph.neighbours.shrink_to_fit();
        Ok(graph)
    }

    /// Builds the graph of `n` variables with these edges, which must be distinct.
    pub fn of_edges(n: usize, edges: &[[u32; 2]], stop: &Stop) -> Result<Self, Error> {
        let mut starts = vec![0u32; n + 1];
        for edge in stop.each(edges) {
            edge?.iter().for_each(|&v| starts[v as usize + 1] += 1);
        }
        (0..n).for_each(|v| starts[v + 1] += starts[v]);
        let (mut free, mut neighbours) = (starts.clone(), vec![0; 2 * edges.len()]);
        for edge in stop.each(edges) {
            let &[u, v] = edge?;
            for [from, to] in [[u, v], [v, u]] {
                neighbours[free[from as usize] as usize] = to;
                free[from as usize] += 1;
            }
        }
        for v in stop.each(0..n) {
            let v = v?;
            neighbours[starts[v] as usize..starts[v + 1] as usize].sort_unstable();
        }
        Ok(Graph { starts, neighbours })
    }

    /// Returns the number of variables.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns whether there are no variables.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the offset of each variable's neighbours (then the end), and all neighbours.
    pub fn arrays(&self) -> (&[u32], &[u32]) {
        (&self.starts, &self.neighbours)
    }

    /// Returns the neighbours of a variable, ascending.
    #[inline]
    pub fn neighbours(&self, variable: usize) -> &[u32] {
        &self.neighbours[self.starts[variable] as usize..self.starts[variable + 1] as usize]
    }

    /// Returns the mean number of further neighbours of a neighbour, b. If two assignments differ in less than one in b
    /// variables, the difference has small components (Molloy, Reed, Random Structures & Algorithms 6, 1995).
    pub fn branching(&self) -> f64 {
        let degrees = || (0..self.len()).map(|v| self.neighbours(v).len() as f64);
        degrees().map(|degree| degree * (degree - 1.0)).sum::<f64>() / degrees().sum::<f64>().max(1.0)
    }

    /// Returns whether the difference of two assignments mostly has several components.
    pub fn falls_into_parts(&self) -> bool {
        self.branching() < IN_PARTS
    }

    /// Returns the color classes of a greedy coloring, variables of high degree first. Variables of a class share no
    /// function. Small classes are balanced, because the threads of a device take as many steps as the largest class
    /// needs.
    pub fn classes(&self, stop: &Stop) -> Result<Vec<Vec<u32>>, Error> {
        let classes = self.greedy_classes(stop)?;
        let room = (self.len() / (classes.len() + 1)).next_power_of_two();
        if room < WIDE { self.first_fit(room, stop) } else { Ok(classes) }
    }

    /// Returns the color classes of a greedy coloring of unlimited class size, variables of high degree first.
    pub fn greedy_classes(&self, stop: &Stop) -> Result<Vec<Vec<u32>>, Error> {
        self.first_fit(usize::MAX, stop)
    }

    fn first_fit(&self, room: usize, stop: &Stop) -> Result<Vec<Vec<u32>>, Error> {
        let neighbours = |v: u32| self.neighbours(v as usize).iter().copied();
        let order = by_degree(self.len(), |v| neighbours(v).len());
        Ok(first_fit(&order, neighbours, room, usize::MAX, stop)?.unwrap_or_default())
    }
}

/// Returns the variables in descending order of degree, by counting sort.
pub fn by_degree(n: usize, degree: impl Fn(u32) -> usize) -> Vec<u32> {
    let variables = 0..n as u32;
    let most = variables.clone().map(&degree).max().unwrap_or(0);
    let mut places = vec![0usize; most + 1];
    variables.clone().for_each(|v| places[most - degree(v)] += 1);
    let mut before = 0;
    places.iter_mut().for_each(|count| before += std::mem::replace(count, before));
    let mut order = vec![0; n];
    for v in variables {
        let place = &mut places[most - degree(v)];
        order[*place] = v;
        *place += 1;
    }
    order
}

/// Colors greedily: each variable, in order, joins the first class that has fewer than `room` members and none of its
/// neighbours. Returns `None` if that takes more than `most` classes.
pub fn first_fit<I: Iterator<Item = u32>>(
    order: &[u32],
    neighbours: impl Fn(u32) -> I,
    room: usize,
    most: usize,
    stop: &Stop,
) -> Result<Option<Vec<Vec<u32>>>, Error> {
    let mut color = vec![u32::MAX; order.len()];
    let mut classes: Vec<Vec<u32>> = Vec::new();
    // `taken[c] == v` if a neighbour of v has color c
    let mut taken: Vec<u32> = Vec::new();
    for v in stop.each(order) {
        let v = *v?;
        for u in neighbours(v) {
            if color[u as usize] != u32::MAX {
                taken[color[u as usize] as usize] = v;
            }
        }
        let is_free = |(&mark, class): (&u32, &Vec<u32>)| mark != v && class.len() < room;
        let free = taken.iter().zip(&classes).position(is_free).unwrap_or(taken.len());
        if free == most {
            return Ok(None);
        }
        if free == taken.len() {
            taken.push(u32::MAX);
            classes.push(Vec::new());
        }
        color[v as usize] = free as u32;
        classes[free].push(v);
    }
    for class in &mut classes {
        stop.check()?;
        class.sort_unstable();
    }
    Ok(Some(classes))
}

/// Grows random connected regions of a graph; keeps its buffers between calls.
#[derive(Clone, Debug, Default)]
pub struct Region {
    members: Vec<u32>,
    mark: Vec<u32>,
    round: u32,
    /// For each member already expanded, the number of random draws it takes, or 0 if it has neighbours outside the
    /// region.
    closed: Vec<u32>,
}

impl Region {
    /// Grows a connected region of `size` variables, or of several components if one is too small. It proceeds
    /// breadth-first from a random variable and skips each neighbour with probability 1/2, so that shapes differ.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn grow(&mut self, graph: &Graph, size: usize, rng: &mut Rng, stop: &Stop) -> Result<&[u32], Error> {
        let n = graph.len();
        self.mark.resize(n, 0);
        self.round += 1;
        self.members.clear();
        self.closed.clear();
        let mut head = 0;
        let mut skipped = false;
        while self.members.len() < size.min(n) {
            if head == self.members.len() {
                if skipped {
                    // skipped neighbours get another chance before a new component begins
                    skipped = false;
                    head = 0;
                } else {
                    let mut v = rng.index(n);
                    while self.mark[v] == self.round {
                        v = (v + 1) % n;
                    }
                    self.take(v as u32);
                }
                continue;
            }
            if head.is_multiple_of(LOOK_EVERY) {
                stop.check()?;
            }
            let v = self.members[head] as usize;
            head += 1;
            if let Some(&draws @ 1..) = self.closed.get(head - 1) {
                // all of its neighbours are members; the draws keep the random sequence unchanged
                for _ in 0..draws {
                    let _ = rng.draw();
                }
                continue;
            }
            let neighbours = graph.neighbours(v);
            let (mut bits, mut open) = (rng.draw(), false);
            for (k, &u) in neighbours.iter().enumerate() {
                if k % 64 == 63 {
                    bits = rng.draw();
                }
                if self.mark[u as usize] != self.round {
                    if bits >> (k % 64) & 1 == 1 {
                        self.take(u);
                    } else {
                        open = true;
                    }
                }
            }
            skipped |= open;
            let draws = if open { 0 } else { 1 + neighbours.len() as u32 / 64 };
            match self.closed.get_mut(head - 1) {
                Some(closed) => *closed = draws,
                None => self.closed.push(draws),
            }
        }
        self.members.truncate(size);
        Ok(&self.members)
    }

    fn take(&mut self, variable: u32) {
        self.mark[variable as usize] = self.round;
        self.members.push(variable);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the graph of `n` variables with the edges for which `edge(smaller, larger)` holds.
    fn graph(n: u32, edge: impl Fn(u32, u32) -> bool) -> Graph {
        let mut graph = Graph { starts: vec![0], neighbours: Vec::new() };
        for v in 0..n {
            graph.neighbours.extend((0..n).filter(|&u| u != v && edge(u.min(v), u.max(v))));
            graph.starts.push(graph.neighbours.len() as u32);
        }
        graph
    }

    fn ring(n: u32) -> Graph {
        graph(n, |u, v| v - u == 1 || v - u == n - 1)
    }

    #[test]
    fn classes_hold_every_variable_once_and_no_neighbours() {
        let graph = ring(7);
        let classes = graph.classes(&Stop::new()).expect("no stop is set");
        assert_eq!(classes.iter().map(Vec::len).sum::<usize>(), 7);
        for class in &classes {
            for &v in class {
                assert!(graph.neighbours(v as usize).iter().all(|u| !class.contains(u)));
            }
        }
    }

    #[test]
    fn regions_are_connected_and_of_the_size_asked_for() {
        let graph = ring(50);
        let mut region = Region::default();
        let mut rng = Rng::new(3);
        for size in 1..=50 {
            let members = region.grow(&graph, size, &mut rng, &Stop::new());
            let mut members = members.expect("no stop is set").to_vec();
            members.sort_unstable();
            members.dedup();
            assert_eq!(members.len(), size);
            let gaps = (0..50u32).filter(|v| members.contains(v) && !members.contains(&((v + 1) % 50))).count();
            assert!(gaps <= 1, "a ring's connected part has one end: {members:?}");
        }
    }

    #[test]
    fn narrow_classes_are_about_as_wide_as_each_other() {
        let widths =
            |graph: Graph| graph.classes(&Stop::new()).expect("no stop").iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(widths(graph(100, |_, _| false)), [64, 36]);
        // without balancing, the leaves of a star would be one class
        assert_eq!(widths(graph(100, |v, _| v == 0)), [1, 64, 35]);
        assert_eq!(widths(graph(2 * WIDE as u32, |_, _| false)), [2 * WIDE]);
    }

    #[test]
    fn branching_is_that_of_what_one_comes_to() {
        assert_eq!(ring(100).branching(), 1.0);
        assert_eq!(graph(5, |_, _| true).branching(), 3.0);
        // of the 100 leaves each leads to the centre, which has 99 further neighbours; from the centre none is left
        assert_eq!(graph(101, |u, _| u == 0).branching(), 49.5);
        assert_eq!(graph(3, |_, _| false).branching(), 0.0);
    }
}
