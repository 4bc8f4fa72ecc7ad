//! The replay's own branch and bound, guided by the branching trace. A certificate stores variables, not bounds. At
//! each node this module shifts costs. If that is not enough, it eliminates the residual problem, bounds it by
//! mini-buckets of the size that the certificate states, or branches further. So a wrong hint costs time and proves
//! nothing.
//!
//! No cost is ever negative. Functions send the costs that all their tuples with a value share to the value, a variable
//! sends its least cost to the constant, and shares of the rest return to functions (a directional pass at each node,
//! after Cooper et al., "Soft arc consistency revisited", 2010). Then values that cost as much as the limit are
//! removed.

use super::buckets::Rest;
use super::state::State;
use super::tables;
use super::tuning::{ELIMINATED, PASSES, Passes, ROOT_PASSES, TRIES};
use crate::certificate::Search;
use crate::model::{Cost, Costs, FORBIDDEN};
use rustc_hash::FxHashMap;

/// Limit of the costs that matter: sums of some hundred of them fit into 64 bits.
const MOST: Cost = 1 << 55;
/// Returns the bound of a search on the current network: the constant plus the least remaining cost, or the limit.
pub(super) fn run(mut state: State, search: &Search) -> Result<Cost, String> {
    state.limit_to_finite_costs();
    state.check_room()?;
    if state.closed {
        return Ok(state.proven(0));
    }
    let (frame, root) = Frame::new(&mut state)?;
    let hints = Hints::new(search)?;
    let mut task = Task { state: &state, frame, hints, work: search.work, bytes: search.bytes, mini: search.mini };
    let mut least = state.dear();
    task.node(root, Some(0), &mut least, ROOT_PASSES)?;
    Ok(state.proven(least.into()))
}

/// Shows that values reach the limit: by passes over the current network, then by a search below each value.
pub(super) fn show(state: &State, values: &[(u32, u32)], work: u64, bytes: u64) -> Result<(), String> {
    let mut state = state.clone();
    let (frame, mut root) = Frame::new(&mut state)?;
    let limit = state.dear();
    let hints = Hints { variables: Vec::new(), next: FxHashMap::default() };
    let mut task = Task { state: &state, frame, hints, work, bytes, mini: 0 };
    if !task.shift(&mut root, limit, ROOT_PASSES)? {
        return Ok(());
    }
    for &(v, value) in values {
        if root.values[v as usize].contains(&value) {
            let mut node = root.clone();
            node.values[v as usize] = vec![value];
            let mut least = limit;
            task.node(node, None, &mut least, PASSES)?;
            if least < limit {
                let name = state.values[v as usize].get(value as usize);
                return Err(format!("value {name:?} of variable {v} is not too dear"));
            }
            root.values[v as usize].retain(|&other| other != value);
            if root.values[v as usize].is_empty() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The branching trace: the variables of nodes.
struct Hints {
    variables: Vec<u32>,
    /// Next node, by node and value.
    next: FxHashMap<(u32, u32), u32>,
}

impl Hints {
    fn new(search: &Search) -> Result<Hints, String> {
        let mut hints = Hints { variables: Vec::new(), next: FxHashMap::default() };
        for (index, &(variable, before, value)) in (0..).zip(&search.forks) {
            if index > 0 {
                if before >= index {
                    return Err(format!("fork {index} comes before fork {before}, which leads to it"));
                }
                if hints.next.insert((before, value), index).is_some() {
                    return Err(format!("two forks come after value {value} of fork {before}"));
                }
            }
            hints.variables.push(variable);
        }
        Ok(hints)
    }
}

/// A function of the search.
struct Function {
    scope: Box<[u32]>,
    strides: Box<[usize]>,
    costs: Costs,
    /// By scope position, the first cell of the costs taken for the variable's values.
    taken: Box<[usize]>,
}

/// Static data of all nodes. Values are numbered by their positions among those of the root.
struct Frame {
    functions: Vec<Function>,
    /// By variable, its functions and its position in their scopes.
    incidence: Vec<Vec<(u32, u32)>>,
    /// By variable, the first of its cost cells.
    own: Vec<usize>,
}

/// The network with only some of the values.
#[derive(Clone)]
struct Node {
    constant: Cost,
    /// By variable, the positions of the remaining values.
    values: Vec<Vec<u32>>,
    /// Costs of values, and costs taken from functions for them (negative if more was given).
    cells: Vec<Cost>,
}

/// A node, and the values that are still to be tried.
struct Open {
    node: Node,
    /// The entry of the trace that named the variable, if there is one.
    fork: Option<u32>,
    variable: u32,
    /// Index of the next value.
    next: usize,
    bytes: u64,
}

impl Frame {
    fn new(state: &mut State) -> Result<(Frame, Node), String> {
        state.forbid();
        if state.dear() >= MOST {
            return Err(format!("costs of {} and more are too large for a search", state.dear()));
        }
        let mut frame =
            Frame { functions: Vec::new(), incidence: vec![Vec::new(); state.values.len()], own: Vec::new() };
        let mut cells: Vec<Cost> = Vec::new();
        for unary in &state.unary {
            frame.own.push(cells.len());
            cells.extend(unary);
        }
        for function in state.functions() {
            let sizes = state.sizes(&function.scope);
            let mut strides = vec![1; sizes.len()];
            for k in (1..sizes.len()).rev() {
                strides[k - 1] = strides[k] * sizes[k];
            }
            let mut taken = Vec::new();
            for (place, (&v, &size)) in (0..).zip(function.scope.iter().zip(&sizes)) {
                frame.incidence[v as usize].push((frame.functions.len() as u32, place));
                taken.push(cells.len());
                cells.resize(cells.len() + size, 0);
            }
            let costs = tables::dense(&function.table, &sizes)?;
            let scope = function.scope.clone();
            frame.functions.push(Function { scope, strides: strides.into(), costs, taken: taken.into() });
        }
        let values = state.unary.iter().map(|unary| (0..unary.len() as u32).collect()).collect();
        Ok((frame, Node { constant: 0, values, cells }))
    }
}

/// A search in progress.
struct Task<'a> {
    state: &'a State,
    frame: Frame,
    hints: Hints,
    /// Number of entries that may still be visited.
    work: u64,
    /// Bytes that are left.
    bytes: u64,
    /// Combinations of the mini-buckets of a node, at most.
    mini: u64,
}

impl Task<'_> {
    /// Lowers `least` to a lower bound of the node, if that is less. The certificate decides the depth, so nodes are in
    /// a list and not on the stack.
    fn node(&mut self, node: Node, hint: Option<u32>, least: &mut Cost, passes: Passes) -> Result<(), String> {
        let mut open = Vec::new();
        open.extend(self.branch(node, hint, least, passes)?);
        while let Some(parent) = open.last_mut() {
            let Some(&value) = parent.node.values[parent.variable as usize].get(parent.next) else {
                self.bytes += parent.bytes;
                drop(open.pop());
                continue;
            };
            parent.next += 1;
            let mut child = parent.node.clone();
            child.values[parent.variable as usize] = vec![value];
            let next = parent.fork.and_then(|fork| {
                let name = self.state.values[parent.variable as usize].get(value as usize)?;
                self.hints.next.get(&(fork, *name)).copied()
            });
            open.extend(self.branch(child, next, least, PASSES)?);
        }
        Ok(())
    }

    /// Bounds a node; returns it to be branched on, if that is needed.
    fn branch(
        &mut self,
        mut node: Node,
        hint: Option<u32>,
        least: &mut Cost,
        passes: Passes,
    ) -> Result<Option<Open>, String> {
        if !self.shift(&mut node, *least, passes)? {
            return Ok(None);
        }
        let told = hint.and_then(|fork| Some((fork, *self.hints.variables.get(fork as usize)?)));
        let is_open = |v: u32| node.values.get(v as usize).is_some_and(|values| values.len() > 1);
        let (fork, variable) = match told.filter(|&(_, v)| is_open(v)) {
            Some((fork, v)) => (Some(fork), v),
            None => match self.finish(&node, least)? {
                (true, _) => return Ok(None),
                (false, Some(v)) => (None, v),
                (false, None) => return Err("nothing is left to branch on".into()),
            },
        };
        let bytes = (node.cells.len() * size_of::<Cost>() + node.values.len() * size_of::<Vec<u32>>()) as u64;
        self.bytes = self.bytes.checked_sub(bytes).ok_or("a search takes more memory than its certificate states")?;
        Ok(Some(Open { node, fork, variable, next: 0, bytes }))
    }

    fn spend(&mut self, work: u64) -> Result<(), String> {
        self.work = self.work.checked_sub(work).ok_or("a search takes more work than its certificate states")?;
        Ok(())
    }

    /// Moves costs to the constant by forward and backward passes; returns whether a cost below `limit` may be left.
    fn shift(&mut self, node: &mut Node, limit: Cost, passes: Passes) -> Result<bool, String> {
        let variables: Vec<u32> =
            (0..node.values.len() as u32).filter(|&v| !node.values[v as usize].is_empty()).collect();
        for pass in 0..passes.most {
            let before = node.constant;
            for onward in [true, false] {
                for at in 0..variables.len() {
                    let v = variables[if onward { at } else { variables.len() - 1 - at }];
                    // an assigned variable gave all its costs in the first pass
                    if (pass > 0 || !onward) && node.values[v as usize].len() == 1 {
                        continue;
                    }
                    if !self.visit(node, v, onward, limit)? {
                        return Ok(false);
                    }
                }
            }
            if (node.constant - before).saturating_mul(passes.part) < limit - node.constant {
                break;
            }
        }
        Ok(true)
    }

    /// Collects the costs of a variable's functions at its values, and returns whether a value below `limit` is left.
    /// The excess over the least cost is passed on to functions with variables to come.
    fn visit(&mut self, node: &mut Node, v: u32, onward: bool, limit: Cost) -> Result<bool, String> {
        let (own, count) = (self.frame.own[v as usize], node.values[v as usize].len());
        let mut sums: Vec<Cost> = node.values[v as usize].iter().map(|&a| node.cells[own + a as usize]).collect();
        let (mut ahead, mut behind) = (Vec::new(), 0);
        let mut work = 0;
        for &(index, place) in &self.frame.incidence[v as usize] {
            let function = &self.frame.functions[index as usize];
            let least = function.least(node, place as usize, &mut work);
            let open = |&&u: &&u32| node.values[u as usize].len() > 1;
            let others = || function.scope.iter().filter(open);
            let (after, before) = (others().any(|&u| u > v), others().any(|&u| u < v));
            if if onward { after } else { before } {
                ahead.push((index, place));
            }
            behind += Cost::from(if onward { before } else { after });
            let taken = function.taken[place as usize];
            for ((sum, &least), &a) in sums.iter_mut().zip(&least).zip(&node.values[v as usize]) {
                if least >= FORBIDDEN {
                    *sum = FORBIDDEN;
                } else {
                    *sum = (*sum + least).min(FORBIDDEN);
                    node.cells[taken + a as usize] += least;
                    if node.cells[taken + a as usize].abs() > MOST << 3 {
                        return Err("costs grow too large in a search".into());
                    }
                }
            }
        }
        self.spend(work)?;
        let lowest = sums.iter().copied().fold(FORBIDDEN, Cost::min);
        if lowest >= limit - node.constant {
            return Ok(false);
        }
        node.constant += lowest;
        let dear = limit - node.constant;
        let mut kept = Vec::with_capacity(count);
        for (&a, sum) in node.values[v as usize].iter().zip(&sums) {
            if sum - lowest < dear {
                node.cells[own + a as usize] = sum - lowest;
                kept.push(a);
            }
        }
        let parts = (ahead.len() as Cost).max(behind);
        if parts > 0 && kept.len() > 1 {
            for &a in &kept {
                let share = node.cells[own + a as usize] / parts;
                for &(index, place) in &ahead {
                    node.cells[self.frame.functions[index as usize].taken[place as usize] + a as usize] -= share;
                }
                node.cells[own + a as usize] -= share * ahead.len() as Cost;
            }
        }
        node.values[v as usize] = kept;
        Ok(true)
    }

    /// Eliminates the residual problem of a node or bounds it by mini-buckets. Returns whether the node is finished,
    /// and the variable to branch on if it is not.
    fn finish(&mut self, node: &Node, least: &mut Cost) -> Result<(bool, Option<u32>), String> {
        let (rest, constant) = self.rest(node);
        let (order, joint) = rest.order(self.mini.max(ELIMINATED));
        self.spend((order.len() + self.frame.functions.len()) as u64)?;
        if joint <= ELIMINATED {
            self.spend(joint)?;
            let limit = *least - constant.min(*least);
            *least = tables::sum(constant, rest.eliminate(self.costs(node), &order, u64::MAX, limit)).min(*least);
            return Ok((true, None));
        }
        let mut tried = 0;
        for part in TRIES {
            // no size is tried twice
            let fits = rest.fitting(&order, self.mini / part, self.bytes / size_of::<Cost>() as u64);
            let Some(most) = fits.filter(|&most| most > std::mem::replace(&mut tried, most)) else { continue };
            let taken = rest.taken(&order, most);
            self.spend(taken.joint.saturating_add(rest.entries()))?;
            let limit = *least - constant.min(*least);
            if tables::sum(constant, rest.eliminate(self.costs(node), &order, most, limit)) >= *least {
                return Ok((true, None));
            }
        }
        // the smallest domain relative to the number of functions
        let smallest = order
            .iter()
            .copied()
            .min_by_key(|&v| (node.values[v as usize].len() * 1024 / (1 + self.frame.incidence[v as usize].len()), v));
        Ok((false, smallest))
    }

    /// Returns the residual problem of a node: the scopes of its tables over unassigned variables, and the constant.
    fn rest(&self, node: &Node) -> (Rest, Cost) {
        let sizes: Vec<usize> = node.values.iter().map(Vec::len).collect();
        let open = |v: u32| sizes[v as usize] > 1;
        let mut constant = node.constant;
        for (v, values) in node.values.iter().enumerate() {
            if let [a] = values[..] {
                constant = tables::sum(constant, node.cells[self.frame.own[v] + a as usize]);
            }
        }
        let own = (0..sizes.len() as u32).filter(|&v| open(v)).map(|v| vec![v]);
        let functions = self.frame.functions.iter();
        let scopes = own.chain(functions.map(|function| function.scope.iter().copied().filter(|&v| open(v)).collect()));
        (Rest { scopes: scopes.collect(), sizes }, constant)
    }

    /// Returns the costs of the tables of [`Task::rest`].
    fn costs(&self, node: &Node) -> Vec<Vec<Cost>> {
        let open = (0..node.values.len()).filter(|&v| node.values[v].len() > 1);
        let own = open.map(|v| node.values[v].iter().map(|&a| node.cells[self.frame.own[v] + a as usize]).collect());
        own.chain(self.frame.functions.iter().map(|function| function.entries(node))).collect()
    }
}

impl Function {
    /// Returns the least entry, less the costs taken, for each remaining value of the variable at a scope position.
    fn least(&self, node: &Node, place: usize, work: &mut u64) -> Vec<Cost> {
        let own = &node.values[self.scope[place] as usize];
        let mut least = vec![FORBIDDEN; own.len()];
        self.each(node, Some(place), |base, taken| {
            for (least, &a) in least.iter_mut().zip(own) {
                let cost = self.costs.get(base + a as usize * self.strides[place]);
                if cost < FORBIDDEN {
                    *least = (*least).min(cost - taken);
                }
            }
            *work += own.len() as u64;
        });
        for (least, &a) in least.iter_mut().zip(own).filter(|(least, _)| **least < FORBIDDEN) {
            *least -= node.cells[self.taken[place] + a as usize];
        }
        least
    }

    /// Returns the entries over the remaining values, less the costs taken, the last variable running fastest.
    fn entries(&self, node: &Node) -> Vec<Cost> {
        let mut entries = Vec::new();
        self.each(node, None, |base, taken| entries.push(tables::less(self.costs.get(base), taken)));
        entries
    }

    /// Calls `look` for all combinations of the remaining values, without the variable at `but`, with their offset in
    /// the table and the costs taken from them.
    fn each(&self, node: &Node, but: Option<usize>, mut look: impl FnMut(usize, Cost)) {
        let places: Vec<usize> = (0..self.scope.len()).filter(|&k| Some(k) != but).collect();
        let list = |k: usize| &node.values[self.scope[k] as usize];
        let term = |k: usize, a: u32| (a as usize * self.strides[k], node.cells[self.taken[k] + a as usize]);
        let Some((&last, outer)) = places.split_last() else { return look(0, 0) };
        let axes: Vec<Vec<(usize, Cost)>> =
            outer.iter().map(|&k| list(k).iter().map(|&a| term(k, a)).collect()).collect();
        let fast: Vec<(usize, Cost)> = list(last).iter().map(|&a| term(last, a)).collect();
        for (base, taken) in tables::sums(&axes, (0, 0), |a, b| (a.0 + b.0, a.1 + b.1)) {
            for &(step, more) in &fast {
                look(base + step, taken + more);
            }
        }
    }
}
