//! The constraint graph of a core as flat arrays, and what is drawn on it: connected regions and color classes.

use crate::model::Problem;
use crate::rng::Rng;

/// Which variables share a function.
#[derive(Debug)]
pub(crate) struct Graph {
    starts: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Graph {
    /// The graph of a core.
    pub fn new(problem: &Problem) -> Self {
        let mut graph = Graph { starts: vec![0], neighbours: Vec::new() };
        for list in problem.neighbours() {
            graph.neighbours.extend(list);
            graph.starts.push(graph.neighbours.len() as u32);
        }
        graph
    }

    /// Number of variables.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where each variable's neighbours begin, and all neighbours.
    pub fn arrays(&self) -> (&[u32], &[u32]) {
        (&self.starts, &self.neighbours)
    }

    /// The neighbours of a variable, ascending.
    #[inline]
    pub fn neighbours(&self, variable: usize) -> &[u32] {
        &self.neighbours[self.starts[variable] as usize..self.starts[variable + 1] as usize]
    }

    /// Color classes of a greedy coloring, variables of high degree first: no two variables of a class share a function.
    pub fn classes(&self) -> Vec<Vec<u32>> {
        let n = self.len();
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by_key(|&v| std::cmp::Reverse(self.neighbours(v as usize).len()));
        let mut color = vec![u32::MAX; n];
        let mut classes: Vec<Vec<u32>> = Vec::new();
        // `taken[c] == v` says that a neighbour of v has color c
        let mut taken: Vec<u32> = Vec::new();
        for &v in &order {
            for &u in self.neighbours(v as usize) {
                if color[u as usize] != u32::MAX {
                    taken[color[u as usize] as usize] = v;
                }
            }
            let free = taken.iter().position(|&mark| mark != v).unwrap_or(taken.len());
            if free == taken.len() {
                taken.push(u32::MAX);
                classes.push(Vec::new());
            }
            color[v as usize] = free as u32;
            classes[free].push(v);
        }
        for class in &mut classes {
            class.sort_unstable();
        }
        classes
    }
}

/// Grows connected regions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Region {
    members: Vec<u32>,
    mark: Vec<u32>,
    round: u32,
}

impl Region {
    /// A connected region of `size` variables (of several components where one is too small): breadth first from a random
    /// variable, each neighbour left out for now with probability 1/2, so that shapes differ.
    pub fn grow(&mut self, graph: &Graph, size: usize, rng: &mut Rng) -> &[u32] {
        let n = graph.len();
        self.mark.resize(n, 0);
        self.round += 1;
        self.members.clear();
        let mut head = 0;
        let mut skipped = false;
        while self.members.len() < size.min(n) {
            if head == self.members.len() {
                if skipped {
                    // what was left out at random gets another chance before a new component begins
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
            let v = self.members[head] as usize;
            head += 1;
            let mut bits = rng.draw();
            for (k, &u) in graph.neighbours(v).iter().enumerate() {
                if k % 64 == 63 {
                    bits = rng.draw();
                }
                if self.mark[u as usize] != self.round {
                    if bits >> (k % 64) & 1 == 1 {
                        self.take(u);
                    } else {
                        skipped = true;
                    }
                }
            }
        }
        self.members.truncate(size);
        &self.members
    }

    fn take(&mut self, variable: u32) {
        self.mark[variable as usize] = self.round;
        self.members.push(variable);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CostFunction, Table};

    fn ring(n: u32) -> Graph {
        let functions = (0..n)
            .map(|v| {
                let (a, b) = (v.min((v + 1) % n), v.max((v + 1) % n));
                CostFunction { scope: [a, b].into(), table: Table::dense(vec![0, 1, 1, 0]) }
            })
            .collect();
        let domains = vec![2; n as usize];
        Graph::new(&Problem { domains, unary: vec![vec![0, 0]; n as usize], functions, constant: 0, top: 100 })
    }

    #[test]
    fn classes_hold_every_variable_once_and_no_neighbours() {
        let graph = ring(7);
        let classes = graph.classes();
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
            let mut members = region.grow(&graph, size, &mut rng).to_vec();
            members.sort_unstable();
            members.dedup();
            assert_eq!(members.len(), size);
            let gaps = (0..50u32).filter(|v| members.contains(v) && !members.contains(&((v + 1) % 50))).count();
            assert!(gaps <= 1, "a ring's connected part has one end: {members:?}");
        }
    }
}
