//! Counts of the literals that hold: a totalizer (Bailleux, Boufkhad, "Efficient CNF encoding of Boolean cardinality
//! constraints", 2003) whose outputs are made on demand.

use super::solver::{Lit, Sat};

/// A tree of counters; the last node is the root.
#[derive(Debug)]
pub struct Counter {
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    children: Option<(usize, usize)>,
    /// Number of literals counted.
    size: usize,
    /// Output literals: the k-th holds if more than k of the literals do.
    outputs: Vec<Lit>,
}

impl Counter {
    /// Creates a counter of these literals, of which there must be at least one.
    pub fn new(inputs: Vec<Lit>) -> Counter {
        let leaf = |literal| Node { children: None, size: 1, outputs: vec![literal] };
        let mut nodes: Vec<Node> = inputs.into_iter().map(leaf).collect();
        let mut next = 0;
        // as from a queue: joins the two oldest nodes that have no parent
        while next + 1 < nodes.len() {
            let size = nodes[next].size + nodes[next + 1].size;
            nodes.push(Node { children: Some((next, next + 1)), size, outputs: Vec::new() });
            next += 2;
        }
        Counter { nodes }
    }

    /// Returns the number of literals counted.
    pub fn size(&self) -> usize {
        self.nodes.last().map_or(0, |root| root.size)
    }

    /// Returns the literal that holds if more than `bound` of the literals do; `bound` must be below their number.
    pub fn more_than(&mut self, bound: usize, sat: &mut Sat) -> Lit {
        let root = self.nodes.len() - 1;
        self.extend(root, bound + 1, sat);
        self.nodes[root].outputs[bound]
    }

    fn extend(&mut self, at: usize, count: usize, sat: &mut Sat) {
        let count = count.min(self.nodes[at].size);
        let Some((left, right)) = self.nodes[at].children else { return };
        if self.nodes[at].outputs.len() >= count {
            return;
        }
        self.extend(left, count, sat);
        self.extend(right, count, sat);
        for sum in self.nodes[at].outputs.len() + 1..=count {
            let output = sat.literal();
            let (left, right) = (&self.nodes[left], &self.nodes[right]);
            for of_left in sum.saturating_sub(right.size)..=sum.min(left.size) {
                let of_right = sum - of_left;
                let mut clause = vec![output];
                clause.extend(of_left.checked_sub(1).map(|place| !left.outputs[place]));
                clause.extend(of_right.checked_sub(1).map(|place| !right.outputs[place]));
                sat.add(&clause);
            }
            let outputs = &mut self.nodes[at].outputs;
            if let Some(&fewer) = outputs.last() {
                sat.add(&[!output, fewer]);
            }
            outputs.push(output);
        }
    }
}
