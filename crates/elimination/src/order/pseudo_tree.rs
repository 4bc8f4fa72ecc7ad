//! Pseudo-trees: rooted forests in which the variables of every function are on one branch, along which distributed
//! algorithms send their messages (Petcu and Faltings, "A scalable method for multiagent constraint optimization",
//! 2005).
//!
//! A tree is an elimination order with a parent for each variable: every variable comes after all its descendants, so
//! its message is that of bucket elimination (Fioretto et al., 2018, theorem 1).

use super::Order;
use crate::error::Error;
use crate::graph::Graph;
use crate::model::Problem;
use crate::rng::mix;
use crate::stop::Stop;
use std::cmp::Reverse;

/// Number of depth-first trees that [`PseudoTree::best`] compares, which is the number in the protocol's specification.
const TREES: u64 = 64;

/// The neighbour to which a depth-first search goes next; ties are broken by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// The neighbour with most neighbours.
    MostNeighbours,
    /// The neighbour with fewest neighbours.
    FewestNeighbours,
    /// The neighbour of least index.
    Index,
}

/// A pseudo-tree of a problem.
#[derive(Clone, Debug)]
pub struct PseudoTree {
    /// An elimination order: each variable after all its descendants.
    pub order: Order,
    /// The parent of each variable; `None` for a root.
    pub parent: Vec<Option<u32>>,
    /// Number of edges from each variable to its root.
    pub depth: Vec<u32>,
    /// The ancestors that share a function with the variable or with a descendant of it, ascending.
    pub separators: Vec<Box<[u32]>>,
    /// Number of variables whose parent is not a neighbour, so that their agents communicate with agents beyond their
    /// neighbours.
    pub non_neighbour_edges: usize,
}

/// The size of a pseudo-tree, in messages between agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TreeSize {
    /// Number of trees.
    pub roots: usize,
    /// Number of edges of the longest branch.
    pub depth: u32,
    /// Number of variables of the largest separator.
    pub width: usize,
    /// Number of entries of the largest message.
    pub largest_util_entries: u128,
    /// Number of entries of all messages.
    pub util_entries: u128,
    /// Number of tree edges between variables that share no function.
    pub non_neighbour_edges: usize,
}

impl PseudoTree {
    /// Returns the tree of a depth-first search. It begins at `root` in the component of that variable, which is
    /// visited first, and at the variable that the rule prefers in each other component.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn depth_first(problem: &Problem, visit: Visit, root: Option<u32>, stop: &Stop) -> Result<Self, Error> {
        let graph = Graph::new(problem, stop)?;
        let degree = |v: u32| graph.neighbours(v as usize).len();
        let sequence = match visit {
            Visit::MostNeighbours => sequence(&graph, root, |v| (Reverse(degree(v)), v), stop)?,
            Visit::FewestNeighbours => sequence(&graph, root, |v| (degree(v), v), stop)?,
            Visit::Index => sequence(&graph, root, |v| v, stop)?,
        };
        PseudoTree::along(problem, &graph, &sequence, stop)
    }

    /// Returns the best tree of several depth-first searches by most neighbours, from different roots and with random
    /// ties: the tree with the least sum of message entries.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn best(problem: &Problem, root: Option<u32>, stop: &Stop) -> Result<Self, Error> {
        let graph = Graph::new(problem, stop)?;
        let mut best = PseudoTree::depth_first(problem, Visit::MostNeighbours, root, stop)?;
        let mut roots: Vec<u32> = (0..problem.variables() as u32).collect();
        roots.sort_by_key(|&v| (Reverse(graph.neighbours(v as usize).len()), v));
        for tree in 1..TREES {
            let start = root.or(roots.get(tree as usize % roots.len().max(1)).copied());
            let key = |v: u32| (Reverse(graph.neighbours(v as usize).len()), mix(tree, u64::from(v)), v);
            let sequence = sequence(&graph, start, key, stop)?;
            let other = PseudoTree::along(problem, &graph, &sequence, stop)?;
            let rank = |tree: &PseudoTree| {
                let size = tree.size(&problem.domains);
                (size.util_entries, size.largest_util_entries)
            };
            if rank(&other) < rank(&best) {
                best = other;
            }
        }
        Ok(best)
    }

    /// Returns the tree of an elimination order: the parent of a variable is the first of its separator that is
    /// eliminated.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn of_order(problem: &Problem, order: &Order, stop: &Stop) -> Result<Self, Error> {
        PseudoTree::along(problem, &Graph::new(problem, stop)?, &order.sequence, stop)
    }

    /// Returns the tree with the given parents. `name` returns the text by which messages of errors name a scope.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if a variable is its own ancestor, or if the variables of a function are not on one
    /// branch; [`Error::Stopped`] if `stop` is set.
    pub fn of_parents(
        problem: &Problem,
        parent: Vec<Option<u32>>,
        name: &dyn Fn(&[u32]) -> String,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let n = problem.variables();
        let mut children = vec![Vec::new(); n];
        let mut left: Vec<u32> = Vec::new();
        for v in (0..n as u32).rev() {
            match parent[v as usize] {
                Some(above) => children[above as usize].push(v),
                None => left.push(v),
            }
        }
        // preorder, with the end of the range of each variable's descendants
        let (mut begin, mut end, mut preorder) = (vec![u32::MAX; n], vec![0; n], Vec::with_capacity(n));
        while let Some(v) = left.pop() {
            begin[v as usize] = preorder.len() as u32;
            preorder.push(v);
            left.extend(&children[v as usize]);
        }
        if let Some(v) = begin.iter().position(|&begin| begin == u32::MAX) {
            return Err(Error::Usage(format!("pseudo-tree: {} is its own ancestor", name(&[v as u32]))));
        }
        for &v in preorder.iter().rev() {
            let own = begin[v as usize] + 1;
            end[v as usize] = children[v as usize].iter().map(|&c| end[c as usize]).fold(own, u32::max);
        }
        for function in stop.each(&problem.functions) {
            let mut branch = function?.scope.to_vec();
            branch.sort_unstable_by_key(|&v| begin[v as usize]);
            let holds = |pair: &[u32]| begin[pair[1] as usize] < end[pair[0] as usize];
            if !branch.windows(2).all(holds) {
                let name = name(&branch);
                return Err(Error::Usage(format!("pseudo-tree: the variables of {name} do not lie on one branch")));
            }
        }
        preorder.reverse();
        PseudoTree::with(problem, &Graph::new(problem, stop)?, &preorder, Some(parent), stop)
    }

    fn along(problem: &Problem, graph: &Graph, sequence: &[u32], stop: &Stop) -> Result<Self, Error> {
        PseudoTree::with(problem, graph, sequence, None, stop)
    }

    /// Creates a tree with given parents, or with parents that follow from the sequence.
    fn with(
        problem: &Problem,
        graph: &Graph,
        sequence: &[u32],
        given: Option<Vec<Option<u32>>>,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let n = problem.variables();
        let mut position = vec![0u32; n];
        (0..).zip(sequence).for_each(|(place, &v)| position[v as usize] = place);
        let mut parent: Vec<Option<u32>> = given.clone().unwrap_or_else(|| vec![None; n]);
        let mut separators: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut non_neighbour_edges = 0;
        for &v in sequence {
            stop.check()?;
            let mut own = std::mem::take(&mut separators[v as usize]);
            let later = |&u: &u32| position[u as usize] > position[v as usize];
            own.extend(graph.neighbours(v as usize).iter().copied().filter(later));
            own.sort_unstable();
            own.dedup();
            if given.is_none() {
                parent[v as usize] = own.iter().copied().min_by_key(|&u| position[u as usize]);
            }
            if let Some(above) = parent[v as usize] {
                non_neighbour_edges += usize::from(graph.neighbours(v as usize).binary_search(&above).is_err());
                separators[above as usize].extend(own.iter().copied().filter(|&u| u != above));
            }
            separators[v as usize] = own;
        }
        let mut depth = vec![0; n];
        for &v in sequence.iter().rev() {
            depth[v as usize] = parent[v as usize].map_or(0, |above| depth[above as usize] + 1);
        }
        let order = Order::given(problem, sequence, stop)?;
        let separators = separators.into_iter().map(Vec::into_boxed_slice).collect();
        Ok(PseudoTree { order, parent, depth, separators, non_neighbour_edges })
    }

    /// Returns the number of entries of the message of a variable, saturating.
    pub fn entries(&self, variable: u32, domains: &[u32]) -> u128 {
        let sizes = self.separators[variable as usize].iter().map(|&u| u128::from(domains[u as usize]));
        sizes.fold(1, u128::saturating_mul)
    }

    /// Returns the size of the tree.
    pub fn size(&self, domains: &[u32]) -> TreeSize {
        let sent = (0..).zip(&self.parent).filter(|(_, parent)| parent.is_some());
        let entries = sent.map(|(v, _)| self.entries(v, domains));
        let (largest, sum) =
            entries.fold((0, 0u128), |(largest, sum), entries| (entries.max(largest), sum.saturating_add(entries)));
        TreeSize {
            roots: self.parent.iter().filter(|parent| parent.is_none()).count(),
            depth: self.depth.iter().copied().max().unwrap_or(0),
            width: self.separators.iter().map(|separator| separator.len()).max().unwrap_or(0),
            largest_util_entries: largest,
            util_entries: sum,
            non_neighbour_edges: self.non_neighbour_edges,
        }
    }
}

/// Returns the elimination order of depth-first searches in all components, which visit variables of lesser keys first.
fn sequence<K: Ord>(graph: &Graph, root: Option<u32>, key: impl Fn(u32) -> K, stop: &Stop) -> Result<Vec<u32>, Error> {
    let n = graph.len();
    let mut roots: Vec<u32> = (0..n as u32).collect();
    roots.sort_by_key(|&v| (Some(v) != root, key(v)));
    let mut seen = vec![false; n];
    let mut preorder = Vec::with_capacity(n);
    // the unvisited neighbours of each variable on the branch, the next one last
    let mut branch: Vec<Vec<u32>> = Vec::new();
    for root in roots {
        branch.push(vec![root]);
        while let Some(waiting) = branch.last_mut() {
            stop.check()?;
            let Some(v) = waiting.pop() else {
                let _ = branch.pop();
                continue;
            };
            if std::mem::replace(&mut seen[v as usize], true) {
                continue;
            }
            preorder.push(v);
            let mut next: Vec<u32> =
                graph.neighbours(v as usize).iter().copied().filter(|&u| !seen[u as usize]).collect();
            next.sort_by_key(|&u| Reverse(key(u)));
            branch.push(next);
        }
    }
    preorder.reverse();
    Ok(preorder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CostFunction, FORBIDDEN, Table};
    use crate::order::Method;
    use crate::rng::Rng;

    fn problem(n: u32, scopes: &[&[u32]]) -> Problem {
        let table = |scope: &[u32]| Table::dense(vec![0; 1 << scope.len()]);
        let functions = scopes.iter().map(|&scope| CostFunction { scope: scope.into(), table: table(scope) }).collect();
        let (domains, unary) = (vec![2; n as usize], vec![vec![0; 2]; n as usize]);
        Problem { domains, unary, functions, constant: 0, top: FORBIDDEN }
    }

    /// Returns the separator of a variable by its definition.
    fn separator(problem: &Problem, tree: &PseudoTree, v: u32) -> Vec<u32> {
        let above = |mut v: u32| {
            let mut all = Vec::new();
            while let Some(u) = tree.parent[v as usize] {
                all.push(u);
                v = u;
            }
            all
        };
        let below: Vec<u32> = (0..problem.variables() as u32).filter(|&u| u == v || above(u).contains(&v)).collect();
        let shares = |a: u32| {
            problem.functions.iter().any(|f| f.scope.contains(&a) && below.iter().any(|b| f.scope.contains(b)))
        };
        let mut found: Vec<u32> = above(v).into_iter().filter(|&a| shares(a)).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn trees_are_pseudo_trees_of_their_definition() {
        let (mut rng, stop) = (Rng::new(7), Stop::new());
        for case in 0..300 {
            let n = 1 + rng.below(9) as u32;
            let mut scopes: Vec<Vec<u32>> = Vec::new();
            for _ in 0..rng.below(2 * u64::from(n)) {
                let mut scope: Vec<u32> = (0..n).collect();
                rng.shuffle(&mut scope);
                scope.truncate(2 + rng.index(2));
                scope.sort_unstable();
                if scope.len() > 1 && !scopes.contains(&scope) {
                    scopes.push(scope);
                }
            }
            let problem = problem(n, &scopes.iter().map(|scope| &scope[..]).collect::<Vec<_>>());
            let root = (case % 2 == 0).then_some(rng.below(u64::from(n)) as u32);
            let order = Order::greedy(&problem, Method::MinFill, case, &stop);
            let visits = [Visit::MostNeighbours, Visit::FewestNeighbours, Visit::Index];
            let mut trees: Vec<PseudoTree> =
                visits.map(|visit| PseudoTree::depth_first(&problem, visit, root, &stop).expect("a tree")).into();
            assert!(trees.iter().all(|tree| tree.non_neighbour_edges == 0));
            assert!(root.is_none_or(|root| trees.iter().all(|tree| tree.parent[root as usize].is_none())));
            trees.push(PseudoTree::best(&problem, root, &stop).expect("a tree"));
            let entries = |tree: &PseudoTree| tree.size(&problem.domains).util_entries;
            assert!(entries(&trees[3]) <= entries(&trees[0]));
            trees.push(PseudoTree::of_order(&problem, &order, &stop).expect("a tree"));
            assert_eq!(trees[4].size(&problem.domains).width as u32, order.width);
            for tree in trees {
                let again = PseudoTree::of_parents(&problem, tree.parent.clone(), &|_| String::new(), &stop);
                let again = again.expect("a pseudo-tree");
                assert_eq!((&again.separators, &again.depth), (&tree.separators, &tree.depth));
                let mut place = vec![0; n as usize];
                (0..).zip(&tree.order.sequence).for_each(|(at, &v)| place[v as usize] = at);
                for v in 0..n {
                    assert_eq!(&tree.separators[v as usize][..], separator(&problem, &tree, v), "case {case}");
                    assert!(tree.parent[v as usize].is_none_or(|above| place[above as usize] > place[v as usize]));
                }
            }
        }
    }

    #[test]
    fn wrong_trees_are_refused() {
        let problem = problem(3, &[&[0, 1], &[1, 2]]);
        let name = |scope: &[u32]| format!("{scope:?}");
        let tree = |parents: [Option<u32>; 3]| PseudoTree::of_parents(&problem, parents.into(), &name, &Stop::new());
        assert_eq!(tree([None, Some(0), Some(1)]).expect("a chain").size(&problem.domains).depth, 2);
        for (parents, part) in [
            ([None, Some(0), Some(0)], "the variables of [1, 2] do not lie on one branch"),
            ([None, None, Some(1)], "the variables of [0, 1] do not lie on one branch"),
            ([Some(1), Some(0), None], "is its own ancestor"),
        ] {
            assert!(tree(parents).is_err_and(|error| error.to_string().contains(part)), "{parents:?}");
        }
        // a parent that is not a neighbour
        let chain = tree([Some(2), None, Some(1)]).expect("a chain");
        assert_eq!(
            (chain.non_neighbour_edges, &chain.separators[2][..], &chain.separators[0][..]),
            (1, &[1][..], &[1][..])
        );
    }
}
