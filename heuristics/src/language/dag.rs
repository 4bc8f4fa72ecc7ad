//! Typed expressions as a graph of operations: equal subexpressions share a node, and constants are folded.

use super::arithmetic::{Aggregate, Binary, Unary};
use rustc_hash::FxHashMap;

/// The number of a node. Its operands have lower numbers.
pub(super) type Id = usize;

/// An operation. All numbers are doubles, truth values 1 and 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// A constant, by its bits.
    Constant(u64),
    /// A scalar input, by its position in the list: one number for a visit.
    Scalar(usize),
    /// A column input, by its position in the list: one number for each value.
    Column(usize),
    /// A number of a table by variables.
    ByVariable(usize),
    /// A number of a table by variables and values.
    ByValue(usize),
    Unary(Unary, Id),
    Binary(Binary, Id, Id),
    /// The second operand if the first is not 0, else the third.
    Choose(Id, Id, Id),
    Aggregate(Aggregate, Id),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub node: Node,
    pub column: bool,
    /// The length of the longest chain of aggregates among its operands, including itself.
    pub level: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Dag {
    nodes: Vec<Known>,
    ids: FxHashMap<Node, Id>,
}

impl Node {
    pub fn operands(self) -> impl Iterator<Item = Id> {
        let operands = match self {
            Node::Unary(_, x) | Node::Aggregate(_, x) => [Some(x), None, None],
            Node::Binary(_, x, y) => [Some(x), Some(y), None],
            Node::Choose(x, y, z) => [Some(x), Some(y), Some(z)],
            _ => [None; 3],
        };
        operands.into_iter().flatten()
    }
}

impl Dag {
    pub fn get(&self, id: Id) -> Known {
        self.nodes[id]
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn constant(&self, id: Id) -> Option<f64> {
        match self.nodes[id].node {
            Node::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    pub fn number(&mut self, number: f64) -> Id {
        self.add(Node::Constant(number.to_bits()))
    }

    /// Returns the node of an operation; equal operations share one.
    pub fn add(&mut self, node: Node) -> Id {
        if let Some(id) = self.folded(node) {
            return id;
        }
        if let Some(&id) = self.ids.get(&node) {
            return id;
        }
        let column = match node {
            Node::Column(_) | Node::ByValue(_) => true,
            Node::Aggregate(..) => false,
            node => node.operands().any(|id| self.nodes[id].column),
        };
        let level = node.operands().map(|id| self.nodes[id].level).max().unwrap_or(0);
        let level = level + usize::from(matches!(node, Node::Aggregate(..)));
        let id = self.nodes.len();
        self.nodes.push(Known { node, column, level });
        let _ = self.ids.insert(node, id);
        id
    }

    /// Simplifies an operation to a constant or to one of its operands, if possible.
    fn folded(&mut self, node: Node) -> Option<Id> {
        match node {
            Node::Unary(function, x) => self.constant(x).map(|x| self.number(function.apply(x))),
            Node::Binary(function, x, y) => {
                self.constant(x).zip(self.constant(y)).map(|(x, y)| self.number(function.apply(x, y)))
            }
            Node::Choose(condition, x, y) => self.constant(condition).map(|holds| if holds != 0.0 { x } else { y }),
            _ => None,
        }
    }

    /// Returns for each node whether one of `roots` needs it.
    pub fn needed(&self, roots: &[Id]) -> Vec<bool> {
        let mut needed = vec![false; self.nodes.len()];
        for &root in roots {
            needed[root] = true;
        }
        for id in (0..self.nodes.len()).rev() {
            if needed[id] {
                self.nodes[id].node.operands().for_each(|operand| needed[operand] = true);
            }
        }
        needed
    }
}
