//! Branch and bound of a program: each node is bounded by multipliers of the linear program, evaluated in integers;
//! values whose reduced cost reaches the gap are removed, and rows remove others.

use super::ascent::Ascent;
use super::covers::covers;
use super::domains::{Domains, Propagator};
use super::exact::{Lagrangean, Multipliers};
use super::lp::Linear;
use super::program::Program;
use super::simplex::Ended;
use crate::model::{Cost, FORBIDDEN};
use crate::stop::Stop;
use crate::tuning::tuning;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Distance from 0 and 1 within which a value counts as one of them.
const INTEGRAL: f64 = 1e-6;
/// Exponent of the power of two by which multipliers are scaled.
const BITS: u32 = 20;

/// An open node: its lower bound and remaining columns.
#[derive(Debug, PartialEq, Eq)]
struct Node {
    bound: Cost,
    serial: u64,
    columns: Box<[u64]>,
    /// The column that the node fixes or removes, and the distance of its value from that; `None` at the root.
    branched: Option<Branched>,
}

/// A branching, whose gain is learned at the child.
#[derive(Clone, Copy, Debug)]
struct Branched {
    column: u32,
    is_fixed: bool,
    distance: f64,
    /// The bound of the parent.
    before: Cost,
}

impl PartialEq for Branched {
    fn eq(&self, other: &Branched) -> bool {
        (self.column, self.is_fixed) == (other.column, other.is_fixed)
    }
}

impl Eq for Branched {}

impl Ord for Node {
    /// The node of least bound is the greatest; among equal ones the newest, which is the deepest.
    fn cmp(&self, other: &Node) -> Ordering {
        other.bound.cmp(&self.bound).then(self.serial.cmp(&other.serial))
    }
}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Node) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Mean gains of the bound for each unit by which a branching moves a column's value.
#[derive(Clone, Debug, Default)]
struct Gains {
    /// For each column, sum and number of the gains by removing and by fixing it.
    of_columns: Vec<[(f64, u32); 2]>,
    all: [(f64, u32); 2],
}

impl Gains {
    fn learn(&mut self, branched: &Branched, bound: Cost) {
        let gain = bound.saturating_sub(branched.before).max(0) as f64 / branched.distance.max(INTEGRAL);
        let side = usize::from(branched.is_fixed);
        for (sum, count) in [&mut self.of_columns[branched.column as usize][side], &mut self.all[side]] {
            (*sum, *count) = (*sum + gain, *count + 1);
        }
    }

    fn expected(&self, column: usize, is_fixed: bool) -> f64 {
        let side = usize::from(is_fixed);
        let mean = |(sum, count): (f64, u32)| (count > 0).then(|| sum / f64::from(count));
        mean(self.of_columns[column][side]).or_else(|| mean(self.all[side])).unwrap_or(1.0)
    }
}

/// The method that chooses multipliers.
#[derive(Debug)]
enum Pricing {
    Simplex(Box<Linear>),
    Ascent(Box<Ascent>),
}

impl Pricing {
    fn restrict(&mut self, program: &Program, domains: &Domains) {
        match self {
            Pricing::Simplex(linear) => linear.restrict(program, domains),
            Pricing::Ascent(ascent) => ascent.restrict(domains),
        }
    }

    fn solve(&mut self, ub: Cost, work: u64) -> Ended {
        match self {
            Pricing::Simplex(linear) => linear.solve(ub, work),
            Pricing::Ascent(ascent) => ascent.solve(ub, work),
        }
    }

    fn multipliers(&self) -> Vec<f64> {
        match self {
            Pricing::Simplex(linear) => linear.multipliers(),
            Pricing::Ascent(ascent) => ascent.multipliers(),
        }
    }

    /// Returns multipliers by which the rows contradict each other; zeros if the method has none.
    fn ray(&self) -> Vec<f64> {
        match self {
            Pricing::Simplex(linear) => linear.ray(),
            Pricing::Ascent(ascent) => vec![0.0; ascent.multipliers().len()],
        }
    }

    fn value(&self, program: &Program, column: usize) -> f64 {
        match self {
            Pricing::Simplex(linear) => linear.value(program, column),
            Pricing::Ascent(ascent) => ascent.value(column),
        }
    }

    fn work(&self) -> u64 {
        match self {
            Pricing::Simplex(linear) => linear.simplex.work,
            Pricing::Ascent(ascent) => ascent.work,
        }
    }
}

/// A branch and bound search of a program.
#[derive(Debug)]
pub struct Tree {
    program: Program,
    pricing: Pricing,
    propagator: Propagator,
    domains: Domains,
    lagrangean: Lagrangean,
    gains: Gains,
    open: BinaryHeap<Node>,
    /// The child with which the search continues.
    next: Option<Node>,
    /// Cost from which solutions are of no interest.
    pub ub: Cost,
    bound: Cost,
    /// An assignment of the network's variables that satisfies the rows; the caller evaluates it.
    pub candidate: Option<Vec<u32>>,
    /// The bounds of the values by the multipliers of the root, once.
    pub value_bounds: Option<Vec<Vec<Cost>>>,
    is_rooted: bool,
    is_reported: bool,
    /// Rounds of covers since the bound last rose.
    dull: u32,
    /// Slices of the root's linear program since its bound last rose.
    stalls: u32,
    serial: u64,
    work: u64,
    memory: u64,
    pub nodes: u64,
}

impl Tree {
    /// Starts a search for solutions below `ub`, all of which cost at least `least`. Open nodes may take `memory`
    /// bytes, and the basis of the simplex method as many.
    pub fn new(program: Program, least: Cost, ub: Cost, memory: u64) -> Tree {
        let rows = Linear::rows(&program) as u64;
        let is_small = rows <= tuning().linear.rows && rows * rows * size_of::<f64>() as u64 <= memory;
        let pricing = match is_small {
            true => Pricing::Simplex(Linear::new(&program).into()),
            false => Pricing::Ascent(Ascent::new(&program).into()),
        };
        let (propagator, domains) = (Propagator::new(&program), Domains::new(&program));
        let gains = Gains { of_columns: vec![Default::default(); program.costs.len()], all: Default::default() };
        let root = Node { bound: least, serial: 0, columns: domains.bits().into(), branched: None };
        Tree {
            program,
            pricing,
            propagator,
            domains,
            lagrangean: Lagrangean::default(),
            gains,
            open: BinaryHeap::new(),
            next: Some(root),
            ub,
            bound: least,
            candidate: None,
            value_bounds: None,
            is_rooted: false,
            is_reported: false,
            stalls: 0,
            dull: 0,
            serial: 0,
            work: 0,
            memory,
            nodes: 0,
        }
    }

    /// Chooses multipliers by the volume algorithm, which large programs use.
    #[cfg(test)]
    pub fn use_ascent(&mut self) {
        self.pricing = Pricing::Ascent(Ascent::new(&self.program).into());
    }

    /// Returns the entries visited.
    pub fn work_done(&self) -> u64 {
        self.work + self.pricing.work() + self.propagator.work
    }

    /// Returns the lower bound.
    pub fn lower_bound(&self) -> Cost {
        self.bound.min(self.ub)
    }

    /// Returns whether no node is left.
    pub fn is_done(&self) -> bool {
        self.open.is_empty() && self.next.is_none()
    }

    /// Returns whether the linear program of the root is solved.
    pub fn is_rooted(&self) -> bool {
        self.is_rooted
    }

    /// Works until `end` entries have been visited in total, a candidate is found, or `stop` is set.
    pub fn advance(&mut self, end: u64, stop: &Stop) {
        while !self.is_done() && self.candidate.is_none() {
            if stop.is_set() || self.work_done() >= end {
                break;
            }
            let from_next = self.next.take();
            let Some(node) = from_next.or_else(|| self.open.pop()) else { break };
            if node.bound < self.ub {
                self.visit(node);
            }
        }
        self.settle();
    }

    /// Updates the bound from the open nodes.
    fn settle(&mut self) {
        let next = self.next.as_ref().map_or(self.ub, |node| node.bound);
        let open = self.open.peek().map_or(self.ub, |node| node.bound);
        self.bound = self.bound.max(next.min(open).min(self.ub));
    }

    /// Bounds a node, and branches if it may hold a better solution.
    fn visit(&mut self, mut node: Node) {
        self.nodes += 1;
        self.domains.load(&self.program, &node.columns);
        match node.branched {
            Some(Branched { column, is_fixed: true, .. }) => {
                self.propagator.fix(&self.program, &mut self.domains, column as usize);
            }
            Some(Branched { column, .. }) => {
                self.propagator.remove(&self.program, &mut self.domains, column as usize);
            }
            None => self.propagator.queue_all(),
        }
        if !self.propagator.run(&self.program, &mut self.domains) {
            return;
        }
        let is_root = node.branched.is_none();
        let slice = tuning().linear.slice;
        for turn in 0..tuning().linear.resolves {
            self.pricing.restrict(&self.program, &self.domains);
            let ended = self.pricing.solve(self.ub, slice);
            if ended == Ended::Infeasible && self.contradicts() {
                return;
            }
            let multipliers = Multipliers::rounded(&self.program, &self.pricing.multipliers(), BITS);
            let found = self.lagrangean.evaluate(&self.program, &self.domains, &multipliers, true);
            self.work += self.program.costs.len() as u64 * 4;
            if found.is_none() {
                break;
            }
            let before = node.bound;
            node.bound = node.bound.max(self.lagrangean.bound(&self.program));
            if node.bound >= self.ub {
                return;
            }
            self.stalls = if node.bound > before { 0 } else { self.stalls + 1 };
            if is_root && ended == Ended::Work && self.stalls < tuning().linear.stalls {
                // the basis is kept, and the root continues in the next slice
                self.next = Some(node);
                return;
            }
            if is_root && turn == 0 {
                self.report_values();
            }
            let removed = self.remove_by_cost();
            if !self.propagator.run(&self.program, &mut self.domains) {
                return;
            }
            let gain = node.bound.saturating_sub(before) as f64;
            if is_root && self.cover(gain > tuning().linear.cover_gain * node.bound.abs() as f64) {
                node.columns = self.domains.bits().into();
                self.next = Some(node);
                return;
            }
            if removed * tuning().linear.worth_resolving < self.program.costs.len() {
                break;
            }
        }
        self.is_rooted = true;
        if let Some(branched) = node.branched {
            self.gains.learn(&branched, node.bound);
        }
        self.branch(node);
    }

    /// Adds covers that the linear program violates, and drops those without a multiplier; returns whether there are
    /// new ones. The linear program begins afresh, so covers end once it takes long or gains nothing for some rounds.
    fn cover(&mut self, has_gained: bool) -> bool {
        let Pricing::Simplex(linear) = &self.pricing else { return false };
        self.dull = if has_gained { 0 } else { self.dull + 1 };
        if linear.simplex.work > tuning().linear.cover_work || self.dull > tuning().linear.cover_rounds {
            return false;
        }
        let value = |column: usize| linear.value(&self.program, column);
        let mut more = covers(&self.program, &self.domains, self.program.own_rows, value);
        more.retain(|row| !self.program.rows.iter().any(|known| known.terms == row.terms && known.high <= row.high));
        if more.is_empty() {
            return false;
        }
        let multipliers = linear.multipliers();
        self.work += linear.simplex.work + self.propagator.work;
        self.program.replace_covers(|row| multipliers[row] != 0.0, more);
        self.pricing = Pricing::Simplex(Linear::new(&self.program).into());
        self.propagator = Propagator::new(&self.program);
        true
    }

    /// Returns whether the multipliers of the linear program prove that the rows contradict each other.
    fn contradicts(&mut self) -> bool {
        let multipliers = Multipliers::of_ray(&self.program, &self.pricing.ray(), BITS);
        self.lagrangean.evaluate(&self.program, &self.domains, &multipliers, false).is_some()
            && self.lagrangean.is_contradiction()
    }

    /// Keeps the bounds of the network's values, once.
    fn report_values(&mut self) {
        if std::mem::replace(&mut self.is_reported, true) {
            return;
        }
        let of = |v: usize| {
            let bound = |column: usize| match self.domains.has(column) {
                true => self.lagrangean.bound_with(&self.program, v, column),
                // the rows alone exclude it
                false => FORBIDDEN,
            };
            self.program.columns(v).map(bound).collect()
        };
        self.value_bounds = Some((0..self.program.own).map(of).collect());
    }

    /// Removes the columns with which the bound reaches the limit; returns their number.
    fn remove_by_cost(&mut self) -> usize {
        let mut removed = 0;
        for v in 0..self.program.variables() {
            if self.domains.count(v) < 2 {
                continue;
            }
            for column in self.program.columns(v) {
                if self.domains.has(column) && self.lagrangean.bound_with(&self.program, v, column) >= self.ub {
                    self.propagator.remove(&self.program, &mut self.domains, column);
                    removed += 1;
                }
            }
        }
        removed
    }

    /// Makes the children of the node at hand, or evaluates its only assignment.
    fn branch(&mut self, node: Node) {
        let own = 0..self.program.own;
        let value = |v: usize| {
            let columns = self.program.columns(v).filter(|&column| self.domains.has(column));
            let of = |column: usize| (column, self.pricing.value(&self.program, column));
            columns.map(of).max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |best| best.0)
        };
        let rounded: Vec<u32> = own.clone().map(|v| (value(v) - self.program.firsts[v] as usize) as u32).collect();
        let is_leaf = own.clone().all(|v| self.domains.count(v) == 1);
        if is_leaf || self.is_feasible(&rounded) {
            self.candidate = Some(rounded);
        }
        if is_leaf {
            return;
        }
        let Some((column, value)) = self.branching() else { return };
        let child = |is_fixed: bool| {
            let distance = if is_fixed { 1.0 - value } else { value };
            Branched { column: column as u32, is_fixed, distance, before: node.bound }
        };
        let columns: Box<[u64]> = self.domains.bits().into();
        let first = value >= tuning().linear.fixed_first;
        let mut make = |is_fixed: bool, columns: Box<[u64]>| {
            self.serial += 1;
            Node { bound: node.bound, serial: self.serial, columns, branched: Some(child(is_fixed)) }
        };
        let (second, first) = (make(!first, columns.clone()), make(first, columns));
        self.open.push(second);
        self.next = Some(first);
        if self.open.len() as u64 * (self.program.costs.len() as u64 / 8 + 64) > self.memory {
            self.crowd();
        }
    }

    /// Returns whether an assignment of the network's variables satisfies the hard rows over them.
    fn is_feasible(&mut self, values: &[u32]) -> bool {
        let mut totals = vec![0i64; self.program.rows.len()];
        for (v, &value) in values.iter().enumerate() {
            let terms = &self.program.terms[self.program.firsts[v] as usize + value as usize];
            terms.iter().for_each(|&(row, weight)| totals[row as usize] += weight);
        }
        self.work += values.len() as u64;
        let own = self.program.firsts[self.program.own];
        self.program.rows.iter().zip(totals).all(|(row, total)| {
            row.terms.iter().any(|&(column, _)| column >= own)
                || (row.short < FORBIDDEN || total >= row.low) && (row.excess < FORBIDDEN || total <= row.high)
        })
    }

    /// Chooses the column to branch on, with its value: the largest product of the expected gains. If all values are
    /// integral, any column of a variable that has several.
    fn branching(&self) -> Option<(usize, f64)> {
        let mut best: Option<(usize, f64, f64)> = None;
        let mut any = None;
        for v in 0..self.program.own {
            if self.domains.count(v) < 2 {
                continue;
            }
            let is_pair = self.domains.count(v) == 2;
            for column in self.program.columns(v).filter(|&column| self.domains.has(column)) {
                let value = self.pricing.value(&self.program, column);
                if any.is_none_or(|(_, most)| value > most) {
                    any = Some((column, value));
                }
                if !(INTEGRAL..=1.0 - INTEGRAL).contains(&value) {
                    continue;
                }
                let gain = |is_fixed: bool| {
                    let distance = if is_fixed { 1.0 - value } else { value };
                    (self.gains.expected(column, is_fixed) * distance).max(1e-6)
                };
                let score = gain(true) * gain(false);
                if best.is_none_or(|(.., most)| score > most) {
                    best = Some((column, value, score));
                }
                if is_pair {
                    // the other column's value is the rest
                    break;
                }
            }
        }
        best.map(|(column, value, _)| (column, value)).or(any)
    }

    /// Continues depth first with the deepest node while open nodes take too much memory: the best wait.
    fn crowd(&mut self) {
        let mut nodes = std::mem::take(&mut self.open).into_vec();
        nodes.retain(|node| node.bound < self.ub);
        self.open = nodes.into();
    }
}
