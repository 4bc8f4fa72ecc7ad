//! A partial assignment: the values that each variable has left, and why the others were removed.

use super::clauses::{Clauses, Literal, Watch};
use super::residuals::{DIFFERS, Network, low};

/// The value of a trail entry that marks that the functions of a variable know its value.
pub(super) const APPLIED: u32 = u32::MAX;

/// The reason why a value was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// Another value was chosen, or no assignment of the whole has this value.
    Decision,
    /// The value has no entry above 0 in a function.
    Function(u32),
    /// All other literals of a clause are false.
    Clause(u32),
}

/// A removed value, or the mark [`APPLIED`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub variable: u32,
    pub value: u32,
    /// The number of decisions that it depends on, at most.
    pub level: u32,
    pub reason: Reason,
}

/// The reason why no assignment is left.
#[derive(Clone, Copy, Debug)]
pub(super) enum Conflict {
    /// A variable has no value left.
    Variable(u32),
    /// All entries of a function are 0.
    Function(u32),
}

/// A partial assignment to the variables of a network, with propagation.
#[derive(Debug)]
pub(super) struct Assignment {
    pub network: Network,
    /// For each function, the index of its residual; for a ban, its counts.
    pub states: Vec<u32>,
    /// For each variable, the values that are left, a bit each.
    pub values: Vec<u64>,
    /// The changes, in order.
    pub trail: Vec<Entry>,
    /// The level of new entries of the trail.
    pub level: u32,
    /// For each variable, the index of its first value among all values.
    pub offsets: Vec<u32>,
    /// For each value, the trail position at which it was removed.
    pub removed: Vec<u32>,
    /// For each variable, the trail position at which its functions were updated; [`u32::MAX`] if they were not.
    pub applied: Vec<u32>,
    /// For each variable with updated functions, its value.
    pub digits: Vec<u32>,
    pub clauses: Clauses,
    pub conflict: Option<Conflict>,
    pub work: u64,
    /// Variables with one value left whose functions are not updated yet.
    given: Vec<u32>,
    /// The length of the trail whose entries the clauses know.
    head: usize,
}

impl Assignment {
    /// Returns the empty assignment; learnt clauses may take `most` bytes.
    pub fn new(network: Network, most: u64) -> Self {
        let variables = network.domains.len();
        let mut offsets = Vec::with_capacity(variables);
        let mut atoms = 0;
        for &domain in &network.domains {
            offsets.push(atoms);
            atoms += domain;
        }
        Assignment {
            states: network.functions.iter().map(|function| function.free).collect(),
            values: network.domains.iter().map(|&domain| low(domain as usize)).collect(),
            trail: Vec::new(),
            level: 0,
            offsets,
            removed: vec![0; atoms as usize],
            applied: vec![u32::MAX; variables],
            digits: vec![0; variables],
            clauses: Clauses::new(atoms as usize, most),
            conflict: None,
            work: 0,
            given: Vec::new(),
            head: 0,
            network,
        }
    }

    /// Rules out the values that have no support from the start. Returns whether every variable has a value left.
    pub fn prepare(&mut self) -> bool {
        for v in 0..self.values.len() {
            if self.values[v].is_power_of_two() {
                self.given.push(v as u32);
            }
        }
        (0..self.states.len()).all(|function| self.look(function)) && self.propagate()
    }

    /// Returns whether a variable has one value left.
    pub fn is_given(&self, v: u32) -> bool {
        self.values[v as usize].is_power_of_two()
    }

    /// Restricts a variable to the values of `allowed`. Returns whether a value is left.
    pub fn narrow(&mut self, v: u32, allowed: u64, reason: Reason) -> bool {
        let before = self.values[v as usize];
        let after = before & allowed;
        let mut removed = before & !allowed;
        if removed == 0 {
            return true;
        }
        while removed != 0 {
            let value = removed.trailing_zeros();
            removed &= removed - 1;
            self.removed[(self.offsets[v as usize] + value) as usize] = self.trail.len() as u32;
            self.trail.push(Entry { variable: v, value, level: self.level, reason });
        }
        self.values[v as usize] = after;
        if after == 0 {
            self.conflict = Some(Conflict::Variable(v));
        } else if after.is_power_of_two() {
            self.given.push(v);
        }
        after != 0
    }

    /// Updates functions of variables with one value, and rules out values by functions and clauses. Returns whether
    /// each variable has a value left; otherwise [`Self::conflict`] has the reason.
    pub fn propagate(&mut self) -> bool {
        loop {
            if let Some(v) = self.given.pop() {
                if !self.apply(v) {
                    return false;
                }
                continue;
            }
            let Some(&entry) = self.trail.get(self.head) else { return true };
            self.head += 1;
            if entry.value != APPLIED && !self.visit(entry.variable, entry.value) {
                return false;
            }
        }
    }

    /// Updates the functions of a variable with one value, and rules out values without support in them.
    fn apply(&mut self, v: u32) -> bool {
        let own = v as usize;
        let value = self.values[own].trailing_zeros();
        self.applied[own] = self.trail.len() as u32;
        self.digits[own] = value;
        self.trail.push(Entry { variable: v, value: APPLIED, level: self.level, reason: Reason::Decision });
        for axis in &self.network.on[own] {
            self.states[axis.function as usize] += (value + 1) * axis.step;
        }
        for ban in &self.network.bans[own] {
            self.states[ban.function as usize] += if ban.value == value { 1 } else { DIFFERS };
        }
        let (tables, bans) = (self.network.on[own].len(), self.network.bans[own].len());
        self.work += (tables + bans) as u64;
        (0..tables).all(|k| self.look(self.network.on[own][k].function as usize))
            && (0..bans).all(|k| self.look_at_ban(self.network.bans[own][k].function as usize))
    }

    /// Rules out values without support in a function. Returns whether each of its variables has a value left.
    fn look(&mut self, function: usize) -> bool {
        let own = &self.network.functions[function];
        if own.banned.is_some() {
            return self.look_at_ban(function);
        }
        let residual = self.network.residual_of(self.states[function]);
        if residual.scale.mantissa == 0.0 {
            self.conflict = Some(Conflict::Function(function as u32));
            return false;
        }
        let arity = self.network.supports(own, residual).len();
        (0..arity).all(|axis| {
            let own = &self.network.functions[function];
            let (v, allowed) = (own.scope[axis], self.network.supports(own, residual)[axis]);
            self.narrow(v, allowed, Reason::Function(function as u32))
        })
    }

    /// Rules out the last value of a tuple that a ban forbids. Returns whether its variable has another one left.
    fn look_at_ban(&mut self, function: usize) -> bool {
        let own = &self.network.functions[function];
        let (state, arity) = (self.states[function], own.scope.len() as u32);
        let Some(banned) = own.banned.as_ref().filter(|_| state + 1 >= arity && state < DIFFERS) else { return true };
        let last = own.scope.iter().zip(banned).find(|&(&v, _)| self.applied[v as usize] == u32::MAX);
        let Some((&v, &value)) = last else {
            self.conflict = Some(Conflict::Function(function as u32));
            return false;
        };
        self.narrow(v, !(1 << value), Reason::Function(function as u32))
    }

    /// Visits the clauses that watch a removed value. Returns whether each variable has a value left.
    fn visit(&mut self, v: u32, value: u32) -> bool {
        let atom = (self.offsets[v as usize] + value) as usize;
        let mut list = std::mem::take(&mut self.clauses.watches[atom]);
        let (mut at, mut kept, mut is_open) = (0, 0, true);
        self.work += list.len() as u64;
        while at < list.len() && is_open {
            let watch = list[at];
            at += 1;
            if watch.blocker.is_true(&self.values) {
                list[kept] = watch;
                kept += 1;
                continue;
            }
            let Some(other) = self.rewatch(v, watch.clause) else { continue };
            list[kept] = watch;
            kept += 1;
            is_open = self.narrow(other.variable, other.mask, Reason::Clause(watch.clause));
        }
        list.copy_within(at.., kept);
        list.truncate(kept + list.len() - at);
        self.clauses.watches[atom] = list;
        is_open
    }

    /// Moves a watch from a removed value of a variable to a value that is left. Returns the other watched literal if
    /// the watch stays because that literal is true or the only one that is not false.
    fn rewatch(&mut self, v: u32, clause: u32) -> Option<Literal> {
        let Assignment { clauses, values, offsets, .. } = self;
        let literals = &mut clauses.list[clause as usize];
        let side = usize::from(literals[0].variable != v);
        let other = literals[1 - side];
        if literals[side].is_false(values) {
            if other.is_true(values) {
                return Some(other);
            }
            let rest = literals.iter().skip(2).position(|literal| !literal.is_false(values));
            let Some(rest) = rest else { return Some(other) };
            literals.swap(side, rest + 2);
        }
        let own = literals[side];
        let value = (own.mask & values[own.variable as usize]).trailing_zeros();
        clauses.watches[(offsets[own.variable as usize] + value) as usize].push(Watch { clause, blocker: other });
        None
    }

    /// Watches a clause of at least two literals; the first and second one are watched at their last removed values if
    /// they are false.
    pub fn watch(&mut self, clause: u32) {
        let literals = &self.clauses.list[clause as usize];
        let [first, second] = [literals[0], literals[1]];
        for (own, blocker) in [(first, second), (second, first)] {
            let offset = self.offsets[own.variable as usize];
            let left = own.mask & self.values[own.variable as usize];
            let value = match left {
                0 => bits(own.mask).max_by_key(|value| self.removed[(offset + value) as usize]).unwrap_or(0),
                _ => left.trailing_zeros(),
            };
            self.clauses.watches[(offset + value) as usize].push(Watch { clause, blocker });
        }
    }

    /// Undoes changes until the trail has length `to`.
    pub fn undo(&mut self, to: usize) {
        self.given.clear();
        self.conflict = None;
        while self.trail.len() > to {
            let Some(Entry { variable, value, .. }) = self.trail.pop() else { return };
            let own = variable as usize;
            if value != APPLIED {
                self.values[own] |= 1 << value;
                continue;
            }
            let digit = self.digits[own];
            self.applied[own] = u32::MAX;
            for axis in &self.network.on[own] {
                self.states[axis.function as usize] -= (digit + 1) * axis.step;
            }
            for ban in &self.network.bans[own] {
                self.states[ban.function as usize] -= if ban.value == digit { 1 } else { DIFFERS };
            }
        }
        self.head = self.head.min(to);
    }

    /// Returns the literal to which a clause is reduced if all others are false; the literal may be false, too.
    pub fn last_literal(&self, clause: u32) -> Option<Literal> {
        let mut left = self.clauses.list[clause as usize].iter().filter(|literal| !literal.is_false(&self.values));
        let first = left.next();
        match (first, left.next()) {
            (Some(&literal), None) => Some(literal),
            (None, _) => self.clauses.list[clause as usize].first().copied(),
            _ => None,
        }
    }
}

/// Returns the positions of the set bits of a mask in ascending order.
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros());
        mask &= mask.wrapping_sub(1);
        bit
    })
}
