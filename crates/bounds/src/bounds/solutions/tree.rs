//! Depth-first search with propagation: cost shifting removes values that reach the limit, and sets of variables that
//! must differ lose values that no assignment of different values has. Once the tables of what is left are small, they
//! take over.

use super::different::{Different, Matching};
use super::setting::Setting;
use crate::bounds::branch::{Elimination, Give, Residual, State, StaticData, decisive};
use crate::bounds::tuning::branch::NODE_PASSES;
use crate::bounds::tuning::solutions::{DIFFERENT_WORK, LEAF_PART, STATES, VISITS};
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::order::Order;
use crate::stop::Stop;
use std::sync::Arc;

/// What a part of the search space had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// No solution.
    Nothing,
    /// A solution at least.
    Found,
    /// A solution after which the search ends.
    Break,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The whole search space was visited.
    Complete,
    /// The visitor broke off.
    Broken,
    /// The work limit was reached, and the visitor can begin again.
    Spent,
}

/// What is done with the parts of the search space that fit into tables.
pub(super) trait Visit {
    /// Begins, or begins again.
    fn begin(&mut self) {}
    /// Returns the cost, of the whole problem, that solutions must stay below; it may fall.
    fn ub(&self) -> Cost;
    /// Returns whether nothing is lost if the search begins again.
    fn may_begin_again(&self) -> bool;
    /// Visits the solutions of a part.
    fn part(&mut self, part: &Part<'_>, stop: &Stop) -> Result<Flow, Error>;
}

/// The unassigned part of a problem at a node.
pub(super) struct Part<'a> {
    pub data: &'a StaticData,
    /// The problem, scaled, with the constant of the node; solutions stay below its top.
    pub problem: Arc<Problem>,
    /// An elimination order that ends with the requested variables.
    pub order: Order,
    /// Position of the first requested variable.
    pub first: usize,
    variables: Vec<u32>,
    /// By variable of the part, its remaining values.
    values: Vec<Box<[u32]>>,
    /// Values of all variables, of which those of the part are replaced.
    base: Vec<u32>,
}

impl Part<'_> {
    /// Returns the values of all variables for values of the part's variables.
    pub fn lift(&self, values: &[u32]) -> Vec<u32> {
        let mut all = self.base.clone();
        for ((&v, own), &value) in self.variables.iter().zip(&self.values).zip(values) {
            all[v as usize] = own[value as usize];
        }
        all
    }
}

/// A branching on the path, with the values that are still to be tried; the next one is last.
struct Branching {
    variable: usize,
    values: Vec<u32>,
}

/// A search of one problem.
pub(super) struct Tree<'a> {
    setting: &'a Setting,
    data: StaticData,
    different: Different,
    matching: Matching,
    state: State,
    /// Whether some finite cost is not 0, so that cost shifting can raise the bound.
    has_costs: bool,
    queue: Vec<u32>,
    is_queued: Vec<bool>,
    /// Sets of variables that must differ and have lost values.
    changed: Vec<u32>,
    is_changed: Vec<bool>,
    eliminated: u64,
}

impl<'a> Tree<'a> {
    /// Creates a search for solutions that cost less than `ub`. Returns `None` if costs are too large for sums of 64
    /// bits, or the problem takes more than `bytes` bytes.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub fn new(setting: &'a Setting, ub: Cost, bytes: u64, stop: &Stop) -> Result<Option<Tree<'a>>, Error> {
        let problem = &setting.problem;
        let (tables, state) = StaticData::bytes(problem, stop)?;
        if tables.saturating_add(STATES * state) > bytes {
            return Ok(None);
        }
        let Some(data) = StaticData::new(problem, ub, &setting.order.sequence, stop) else {
            stop.check()?;
            return Ok(None);
        };
        let (different, n) = (Different::new(problem, stop)?, problem.variables());
        let state = State::new(&data, data.limit(ub));
        Ok(Some(Tree {
            setting,
            is_queued: vec![false; n],
            is_changed: vec![false; different.sets.len()],
            has_costs: setting.has_costs(),
            different,
            matching: Matching::default(),
            state,
            data,
            queue: Vec::new(),
            changed: Vec::new(),
            eliminated: 0,
        }))
    }

    /// Visits the whole search space, in parts of at most `leaf` combinations; more once that many times the work was
    /// done without a solution. Ends after `work` if the visitor can begin again then.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set, and errors of the visitor.
    pub fn search(&mut self, visit: &mut dyn Visit, leaf: u64, work: u64, stop: &Stop) -> Result<Ended, Error> {
        let begin = self.work();
        visit.begin();
        self.state.limit = self.state.limit.min(self.data.limit(visit.ub()));
        self.state.push();
        (0..self.data.variables() as u32).for_each(|v| self.enqueue(v));
        (0..self.different.sets.len() as u32).for_each(|set| self.touch(set));
        let mut is_open = self.state.limit > 0 && self.propagate(stop)?;
        let mut path: Vec<Branching> = Vec::new();
        let mut last_found = begin;
        loop {
            stop.check()?;
            if is_open {
                let most = leaf.max((self.work() - last_found) / LEAF_PART);
                match self.part(most as f64, stop)? {
                    None => path.push(self.branch()),
                    Some(part) => {
                        let flow = visit.part(&part, stop)?;
                        self.state.pop(&self.data);
                        self.state.limit = self.state.limit.min(self.data.limit(visit.ub()));
                        if flow != Flow::Nothing {
                            last_found = self.work();
                            self.leave_found(&mut path);
                        }
                        if flow == Flow::Break {
                            self.state.clear(&self.data);
                            return Ok(Ended::Broken);
                        }
                    }
                }
            }
            let Some(branching) = path.last_mut() else { break };
            let Some(value) = branching.values.pop() else {
                let _ = path.pop();
                self.state.pop(&self.data);
                is_open = false;
                continue;
            };
            if self.work() - begin > work && visit.may_begin_again() {
                self.state.clear(&self.data);
                return Ok(Ended::Spent);
            }
            let variable = branching.variable;
            is_open = self.enter(variable, value, stop)?;
        }
        self.state.clear(&self.data);
        Ok(Ended::Complete)
    }

    fn work(&self) -> u64 {
        self.state.work + self.eliminated
    }

    /// Leaves the branchings on variables that were not requested: their other values make no different solution.
    fn leave_found(&mut self, path: &mut Vec<Branching>) {
        while path.last().is_some_and(|branching| !self.setting.asked[branching.variable]) {
            let _ = path.pop();
            self.state.pop(&self.data);
        }
    }

    /// Returns the unassigned part of the present node if its elimination visits at most `most` combinations.
    fn part(&mut self, most: f64, stop: &Stop) -> Result<Option<Part<'_>>, Error> {
        let (data, state) = (&self.data, &mut self.state);
        let (n, most) = (data.variables(), most.max(1.0));
        let elimination = Elimination::new(data, state, None, most);
        state.work += elimination.work;
        let entries = |scope: &[u32]| scope.iter().map(|&v| f64::from(state.count(v as usize))).product::<f64>();
        if elimination.joint_entries > most || data.functions.iter().any(|function| entries(&function.scope) > most) {
            return Ok(None);
        }
        self.eliminated += elimination.joint_entries as u64;
        let rest = Residual::new(data, state);
        state.work += rest.planning();
        stop.check()?;
        // without the stop flag: an order that was cut short is no order
        let mut order = rest.along(&data.sequence, &Stop::new());
        let (variables, problem) = rest.into_parts();
        let is_asked = |&v: &u32| self.setting.asked[variables[v as usize] as usize];
        // the order may list connected components one after the other
        order.sequence.sort_by_key(is_asked);
        let first = order.sequence.iter().position(is_asked).unwrap_or(order.sequence.len());
        let values = variables.iter().map(|&v| state.values(data, v as usize).into()).collect();
        let base = (0..n).map(|v| state.values(data, v)[0]).collect();
        Ok(Some(Part { data, problem, order, first, variables, values, base }))
    }

    /// Chooses the variable to branch on, a requested one while there is one, and sorts its values: low costs first.
    fn branch(&self) -> Branching {
        let (data, state) = (&self.data, &self.state);
        let is_open = |v: usize| state.count(v) > 1;
        let asked = &self.setting.asked;
        let any = (0..data.variables()).any(|v| asked[v] && is_open(v));
        let variable = decisive(data, state, true, |v| asked[v] || !any);
        let mut values = state.values(data, variable).to_vec();
        values.sort_by_key(|&value| std::cmp::Reverse((state.unary(data, variable, value), value)));
        Branching { variable, values }
    }

    /// Goes down to a child. Returns whether a solution may be left there; if not, goes back up.
    fn enter(&mut self, v: usize, value: u32, stop: &Stop) -> Result<bool, Error> {
        self.state.push();
        let is_open = self.state.restrict(&self.data, v, &[value]);
        self.note_change(v);
        let is_open = is_open && self.propagate(stop)?;
        if !is_open {
            self.state.pop(&self.data);
        }
        Ok(is_open)
    }

    fn enqueue(&mut self, v: u32) {
        if !std::mem::replace(&mut self.is_queued[v as usize], true) {
            self.queue.push(v);
        }
    }

    fn touch(&mut self, set: u32) {
        if !std::mem::replace(&mut self.is_changed[set as usize], true) {
            self.changed.push(set);
        }
    }

    /// Queues what has to be propagated because a variable has lost values.
    fn note_change(&mut self, v: usize) {
        self.enqueue(v as u32);
        for at in 0..self.data.incidence[v].len() {
            let function = self.data.incidence[v][at].0 as usize;
            for place in 0..self.data.functions[function].scope.len() {
                self.enqueue(self.data.functions[function].scope[place]);
            }
        }
        for at in 0..self.different.of[v].len() {
            self.touch(self.different.of[v][at]);
        }
    }

    /// Removes values until nothing changes. Returns whether a solution may be left.
    fn propagate(&mut self, stop: &Stop) -> Result<bool, Error> {
        let is_open = self.exhaust(stop);
        // what is left in the queues belongs to the node that was abandoned
        self.queue.drain(..).for_each(|v| self.is_queued[v as usize] = false);
        self.changed.drain(..).for_each(|set| self.is_changed[set as usize] = false);
        is_open
    }

    fn exhaust(&mut self, stop: &Stop) -> Result<bool, Error> {
        let mut visits = 0u32;
        loop {
            while let Some(v) = self.queue.pop() {
                self.is_queued[v as usize] = false;
                visits += 1;
                if visits.is_multiple_of(VISITS) {
                    stop.check()?;
                }
                if !self.visit(v as usize) {
                    return Ok(false);
                }
            }
            if let Some(set) = self.changed.pop() {
                self.is_changed[set as usize] = false;
                stop.check()?;
                if !self.keep_different(set) {
                    return Ok(false);
                }
                continue;
            }
            if !self.has_costs {
                return Ok(true);
            }
            // the passes also raise the bound
            let before: Vec<u32> = (0..self.data.variables()).map(|v| self.state.count(v)).collect();
            if !self.state.propagate(&self.data, NODE_PASSES, stop) {
                return Ok(false);
            }
            stop.check()?;
            let changed: Vec<usize> = (0..before.len()).filter(|&v| self.state.count(v) < before[v]).collect();
            if changed.is_empty() {
                return Ok(true);
            }
            changed.into_iter().for_each(|v| self.note_change(v));
        }
    }

    fn visit(&mut self, v: usize) -> bool {
        if self.state.is_settled(v) {
            return true;
        }
        let before = self.state.count(v);
        if !self.state.visit(&self.data, v, Give::Nowhere) {
            return false;
        }
        if self.state.count(v) < before {
            self.note_change(v);
        }
        true
    }

    /// Removes the values that no assignment of different values has. Returns whether there is one.
    fn keep_different(&mut self, set: u32) -> bool {
        let (data, state) = (&self.data, &mut self.state);
        let own = &self.different.sets[set as usize];
        state.work += own.iter().map(|&v| u64::from(state.count(v as usize))).sum::<u64>() * DIFFERENT_WORK;
        let domains: Vec<&[u32]> = own.iter().map(|&v| state.values(data, v as usize)).collect();
        let Some(stays) = self.matching.filter(&domains) else { return false };
        let mut kept: Vec<(u32, Vec<u32>)> = Vec::new();
        for ((&v, values), stays) in own.iter().zip(&domains).zip(&stays) {
            if stays.contains(&false) {
                let stay = values.iter().zip(stays).filter(|(_, stays)| **stays);
                kept.push((v, stay.map(|(&value, _)| value).collect()));
            }
        }
        for (v, values) in kept {
            if !self.state.restrict(&self.data, v as usize, &values) {
                return false;
            }
            self.note_change(v as usize);
        }
        true
    }
}
