//! How many of some literals hold: a totalizer (Bailleux, Boufkhad, "Efficient CNF encoding of Boolean cardinality
//! constraints", 2003) whose outputs are made when they are asked for.

use super::solver::{Lit, Sat};

/// A tree of counters; the last one is the root.
#[derive(Debug)]
pub struct Counter {
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    children: Option<(usize, usize)>,
    /// Literals counted.
    size: usize,
    /// The k-th holds where more than k of them do.
    outputs: Vec<Lit>,
}

impl Counter {
    /// Counts these, at least one.
    pub fn new(inputs: Vec<Lit>) -> Counter {
        let leaf = |literal| Node { children: None, size: 1, outputs: vec![literal] };
        let mut nodes: Vec<Node> = inputs.into_iter().map(leaf).collect();
        let mut next = 0;
        // a queue: the two oldest that no other counts
        while next + 1 < nodes.len() {
            let size = nodes[next].size + nodes[next + 1].size;
            nodes.push(Node { children: Some((next, next + 1)), size, outputs: Vec::new() });
            next += 2;
        }
        Counter { nodes }
    }

    /// Literals counted.
    pub fn size(&self) -> usize {
        self.nodes.last().map_or(0, |root| root.size)
    }

    /// The literal that holds where more than `bound` do, of fewer than there are.
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
