//! Random induced forests, whose variables a tree move assigns together.

use crate::error::Error;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::value_tables::ValueTables;

/// The `parent` of a root.
pub const NO_PARENT: u32 = u32::MAX;

/// A node of a forest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    /// The variable.
    pub variable: u32,
    /// Index of the parent in `Forest::nodes`; [`NO_PARENT`] at a root.
    pub parent: u32,
    /// Position of the rows over the parent's values, one row for each value of the variable.
    pub up: u32,
    /// Distance between two of the rows at `up`.
    pub up_stride: u32,
    /// Position of the rows over the variable's values, one row for each value of the parent.
    pub down: u32,
    /// Distance between two of the rows at `down`.
    pub down_stride: u32,
    /// Position of the variable's row in the scratch memory.
    pub row: u32,
}

/// An induced forest: no two of its variables share a function, except for tree edges, which are functions of two
/// variables.
#[derive(Clone, Debug)]
pub struct Forest {
    /// The nodes, ordered by their distance from the root.
    pub nodes: Vec<Node>,
    /// Index of the first node at each distance, and the number of nodes.
    pub levels: Vec<u32>,
    /// Whether each variable is in the forest.
    pub member: Vec<bool>,
    /// Total length of all rows.
    pub row_entries: usize,
}

impl Forest {
    /// Draws an induced forest. Variables in random order are taken unless they close a cycle, share a larger function
    /// with a variable taken before, or join a tree of more than `largest` variables.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    /// [`Error::Stopped`].
    pub fn random(tables: &ValueTables, largest: u32, rng: &mut Rng, stop: &Stop) -> Result<Forest, Error> {
        let n = tables.variables();
        let mut order: Vec<u32> = (0..n as u32).collect();
        rng.shuffle(&mut order);
        let mut member = vec![false; n];
        let mut root: Vec<u32> = (0..n as u32).collect();
        let mut size = vec![1u32; n];
        let mut roots = Vec::new();
        for v in stop.each(&order) {
            let v = *v? as usize;
            roots.clear();
            for (_, other, _) in tables.incidences(v).iter().filter_map(ValueTables::binary) {
                if member[other] {
                    roots.push(find(&mut root, other as u32));
                }
            }
            roots.sort_unstable();
            let closes_a_cycle = roots.windows(2).any(|pair| pair[0] == pair[1]);
            let joined = 1 + roots.iter().map(|&r| size[r as usize]).sum::<u32>();
            if closes_a_cycle || joined > largest || tables.larger_neighbours(v).any(|u| member[u as usize]) {
                continue;
            }
            member[v] = true;
            size[v] = joined;
            for &r in &roots {
                root[r as usize] = v as u32;
            }
        }
        Self::rooted(tables, &order, member, &mut root, stop)
    }

    /// Builds the forest of these members, whose trees are the sets of `root`, in the order of their first members.
    fn rooted(
        tables: &ValueTables,
        order: &[u32],
        member: Vec<bool>,
        root: &mut [u32],
        stop: &Stop,
    ) -> Result<Forest, Error> {
        let mut forest = Forest { nodes: Vec::new(), levels: Vec::new(), member, row_entries: 0 };
        let mut has_root = vec![false; order.len()];
        let push = |forest: &mut Forest, node: Node| {
            forest.nodes.push(Node { row: forest.row_entries as u32, ..node });
            forest.row_entries += tables.width[node.variable as usize] as usize;
        };
        for v in stop.each(order) {
            let v = *v?;
            let tree = find(root, v) as usize;
            if forest.member[v as usize] && !std::mem::replace(&mut has_root[tree], true) {
                let variable = centre(tables, &forest.member, v);
                push(&mut forest, Node { variable, parent: NO_PARENT, ..Node::default() });
            }
        }
        let mut head = 0;
        while head < forest.nodes.len() {
            forest.levels.push(head as u32);
            let level = head..forest.nodes.len();
            head = level.end;
            for place in stop.each(level) {
                let place = place?;
                let parent = forest.nodes[place];
                let above = forest.nodes.get(parent.parent as usize).map(|node| node.variable as usize);
                for incidence in tables.incidences(parent.variable as usize) {
                    let Some((up, child, up_stride)) = ValueTables::binary(incidence) else { continue };
                    if !forest.member[child] || Some(child) == above {
                        continue;
                    }
                    let edges = &mut tables.incidences(child).iter().filter_map(ValueTables::binary);
                    let back = edges.find(|edge| edge.1 == parent.variable as usize);
                    let Some((down, _, down_stride)) = back else { continue };
                    let [up, up_stride, down, down_stride] = [up, up_stride, down, down_stride].map(|at| at as u32);
                    let (variable, parent) = (child as u32, place as u32);
                    push(&mut forest, Node { variable, parent, up, up_stride, down, down_stride, row: 0 });
                }
            }
        }
        forest.levels.push(forest.nodes.len() as u32);
        Ok(forest)
    }

    /// Returns the number of candidate values that a tree move evaluates.
    pub fn ratings(&self, tables: &ValueTables) -> u64 {
        let domain = |node: &Node| tables.domain(node.variable as usize) as u64;
        let edge = |node: &Node| match node.parent {
            NO_PARENT => 0,
            parent => domain(node) * domain(&self.nodes[parent as usize]),
        };
        self.nodes.iter().map(|node| domain(node) + edge(node)).sum()
    }

    /// Returns the number of edges.
    pub fn edges(&self) -> usize {
        self.nodes.iter().filter(|node| node.parent != NO_PARENT).count()
    }
}

/// Returns the middle of a longest path in the tree of a member. Rooted there, a tree has the fewest levels, which a
/// device assigns one after the other.
fn centre(tables: &ValueTables, member: &[bool], start: u32) -> u32 {
    // nodes in the order of their distance, and the position from which each was reached
    let reach = |start: u32| {
        let mut reached: Vec<(u32, usize)> = vec![(start, 0)];
        let mut head = 0;
        while head < reached.len() {
            let (v, from) = reached[head];
            let before = reached[from].0;
            let edges = tables.incidences(v as usize).iter().filter_map(ValueTables::binary);
            for (_, other, _) in edges.filter(|edge| member[edge.1] && edge.1 as u32 != before) {
                reached.push((other as u32, head));
            }
            head += 1;
        }
        reached
    };
    let last = |reached: &[(u32, usize)]| reached.last().map_or(start, |end| end.0);
    let reached = reach(last(&reach(start)));
    let (mut path, mut at) = (Vec::new(), reached.len() - 1);
    while at > 0 {
        path.push(reached[at].0);
        at = reached[at].1;
    }
    path.push(reached[0].0);
    path[path.len() / 2]
}

/// Returns the representative of a disjoint set; halves the path.
pub fn find(root: &mut [u32], mut v: u32) -> u32 {
    while root[v as usize] != v {
        root[v as usize] = root[root[v as usize] as usize];
        v = root[v as usize];
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;
    use fangs_testing::cores::{price, random};
    use std::sync::Arc;

    #[test]
    fn forests_are_induced() {
        let mut rng = Rng::new(1);
        for _ in 0..1000 {
            let problem = Arc::new(random(&mut rng));
            let tables = ValueTables::new(&problem, price(&problem));
            let forest = Forest::random(&tables, u32::MAX, &mut rng, &Stop::new()).expect("no stop is set");
            let mut variables: Vec<u32> = forest.nodes.iter().map(|node| node.variable).collect();
            variables.sort_unstable();
            let members: Vec<u32> = (0..).zip(&forest.member).filter_map(|(v, &member)| member.then_some(v)).collect();
            assert_eq!(variables, members, "every member is one node");
            let edge = |node: &Node| {
                let parent = forest.nodes.get(node.parent as usize)?.variable;
                Some([parent.min(node.variable), parent.max(node.variable)])
            };
            let edges: Vec<[u32; 2]> = forest.nodes.iter().filter_map(edge).collect();
            assert_eq!(edges.len(), forest.edges());
            let mut root: Vec<u32> = (0..problem.variables() as u32).collect();
            for function in &problem.functions {
                let inside: Vec<u32> = function.scope.iter().copied().filter(|v| members.contains(v)).collect();
                if let [a, b] = inside[..] {
                    assert_eq!(function.scope.len(), 2);
                    assert!(edges.contains(&[a, b]));
                    let (a, b) = (find(&mut root, a), find(&mut root, b));
                    assert_ne!(a, b, "a cycle");
                    root[a as usize] = b;
                }
                assert!(inside.len() <= 2);
            }
            assert!(forest.nodes.iter().enumerate().all(|(k, n)| n.parent == NO_PARENT || (n.parent as usize) < k));
        }
    }
}
