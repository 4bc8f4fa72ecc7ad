//! Conflict analysis: a clause that all assignments above 0 satisfy and the present one does not (first unique
//! implication point: Marques-Silva and Sakallah, "GRASP: a search algorithm for propositional satisfiability", 1999).
//! The implication graph has a node for each removed value; literals of one variable are joined, so that a decision on
//! a variable of more than two values is one literal, too.

use super::assignment::{APPLIED, Assignment, Conflict, Entry, Reason, bits};
use super::clauses::Literal;
use super::tuning::DECAY;

/// A clause that a conflict implies.
#[derive(Debug)]
pub(super) struct Learnt {
    /// The literals, all false; the first one is false since a later level than all others.
    pub literals: Vec<Literal>,
    /// The level since which all literals but the first one are false.
    pub level: u32,
}

/// Buffers of the analysis, and how often variables take part in conflicts.
#[derive(Debug)]
pub(super) struct Analysis {
    /// For each value, whether its removal is part of the cut.
    marked: Vec<bool>,
    /// The values that were marked, as trail positions.
    cut: Vec<u32>,
    /// For each variable, the number of its removals at the level of the conflict that are part of the cut.
    pending: Vec<u32>,
    /// For each variable, the recent conflicts that it took part in; later ones count more.
    activities: Vec<f64>,
    gain: f64,
    /// Values whose removal implies another one.
    causes: Vec<u32>,
    /// For each variable, the mask of its literal in the clause.
    masks: Vec<u64>,
}

impl Analysis {
    pub fn new(variables: usize, atoms: usize) -> Self {
        Analysis {
            marked: vec![false; atoms],
            cut: Vec::new(),
            pending: vec![0; variables],
            activities: vec![0.0; variables],
            gain: 1.0,
            causes: Vec::new(),
            masks: vec![0; variables],
        }
    }

    /// Returns the activity of a variable in conflicts, in weights of the last conflict.
    pub fn activity(&self, v: u32) -> f64 {
        self.activities[v as usize] / self.gain
    }

    /// Returns the clause that a conflict implies, or `None` if no assignment of the whole is above 0.
    pub fn learn(&mut self, assignment: &mut Assignment) -> Option<Learnt> {
        self.causes.clear();
        match assignment.conflict? {
            Conflict::Variable(v) => assignment.removed_of(v, u64::MAX, &mut self.causes),
            Conflict::Function(function) => {
                assignment.causes_in(function, None, assignment.trail.len(), &mut self.causes);
            }
        }
        let level_of = |&at: &u32| assignment.trail[at as usize].level;
        let level = self.causes.iter().map(level_of).max().unwrap_or(0);
        let mut variables = 0;
        if level > 0 {
            variables = self.mark(assignment, level, variables);
            let mut at = assignment.trail.len();
            while variables > 1 && at > 0 {
                at -= 1;
                let entry = assignment.trail[at];
                let is_own = entry.value != APPLIED && entry.level == level && self.marked[assignment.atom(entry)];
                if !is_own {
                    continue;
                }
                self.marked[assignment.atom(entry)] = false;
                self.pending[entry.variable as usize] -= 1;
                variables -= usize::from(self.pending[entry.variable as usize] == 0);
                self.causes.clear();
                assignment.causes_of(entry, at, &mut self.causes);
                if let Reason::Clause(clause) = entry.reason {
                    assignment.clauses.used(clause);
                }
                variables = self.mark(assignment, level, variables);
            }
        }
        let learnt = (level > 0).then(|| self.clause(assignment, level));
        for &at in &self.cut {
            let entry = assignment.trail[at as usize];
            self.marked[assignment.atom(entry)] = false;
            self.pending[entry.variable as usize] = 0;
        }
        self.cut.clear();
        self.gain /= DECAY;
        assignment.clauses.age();
        if self.gain > 1e100 {
            self.activities.iter_mut().for_each(|activity| *activity /= self.gain);
            self.gain = 1.0;
        }
        learnt
    }

    /// Adds the causes to the cut. Returns the number of variables with removals at the level of the conflict; it was
    /// `variables` before.
    fn mark(&mut self, assignment: &Assignment, level: u32, mut variables: usize) -> usize {
        for &at in &self.causes {
            let entry = assignment.trail[at as usize];
            let atom = assignment.atom(entry);
            if entry.level == 0 || self.marked[atom] {
                continue;
            }
            self.marked[atom] = true;
            self.cut.push(at);
            self.activities[entry.variable as usize] += self.gain;
            if entry.level == level {
                let pending = &mut self.pending[entry.variable as usize];
                variables += usize::from(*pending == 0);
                *pending += 1;
            }
        }
        variables
    }

    /// Returns the clause of the cut.
    fn clause(&mut self, assignment: &Assignment, level: u32) -> Learnt {
        let (mut variables, mut first) = (Vec::new(), 0);
        for k in 0..self.cut.len() {
            let entry = assignment.trail[self.cut[k] as usize];
            if !self.marked[assignment.atom(entry)] {
                continue;
            }
            if entry.level == level {
                first = entry.variable;
            } else if self.is_implied(assignment, entry, self.cut[k] as usize) {
                continue;
            }
            if self.masks[entry.variable as usize] == 0 {
                variables.push(entry.variable);
            }
            self.masks[entry.variable as usize] |= 1 << entry.value;
        }
        let masks = &mut self.masks;
        let mut literals: Vec<Literal> = variables
            .into_iter()
            .map(|variable| Literal { variable, mask: std::mem::take(&mut masks[variable as usize]) })
            .collect();
        let last = |literal: &Literal| {
            let offset = assignment.offsets[literal.variable as usize];
            bits(literal.mask).map(|value| assignment.removed[(offset + value) as usize]).max().unwrap_or(0)
        };
        literals.sort_by_key(|literal| (literal.variable != first, std::cmp::Reverse(last(literal))));
        let level = literals.get(1).map_or(0, |literal| assignment.trail[last(literal) as usize].level);
        Learnt { literals, level }
    }

    /// Returns whether the rest of the cut implies the removal of a value.
    fn is_implied(&mut self, assignment: &Assignment, entry: Entry, at: usize) -> bool {
        if entry.reason == Reason::Decision {
            return false;
        }
        self.causes.clear();
        assignment.causes_of(entry, at, &mut self.causes);
        self.causes.iter().all(|&at| {
            let entry = assignment.trail[at as usize];
            entry.level == 0 || self.marked[assignment.atom(entry)]
        })
    }
}

impl Assignment {
    /// Returns the index of a removed value among all values.
    fn atom(&self, entry: Entry) -> usize {
        (self.offsets[entry.variable as usize] + entry.value) as usize
    }

    /// Appends the trail positions of the removed values of a variable that are in a mask.
    fn removed_of(&self, v: u32, mask: u64, causes: &mut Vec<u32>) {
        let (offset, domain) = (self.offsets[v as usize], self.network.domains[v as usize]);
        let all = super::residuals::low(domain as usize);
        causes.extend(bits(mask & all & !self.values[v as usize]).map(|value| self.removed[(offset + value) as usize]));
    }

    /// Appends the causes of a removal at a trail position.
    fn causes_of(&self, entry: Entry, at: usize, causes: &mut Vec<u32>) {
        match entry.reason {
            Reason::Decision => {}
            Reason::Function(function) => self.causes_in(function, Some(entry), at, causes),
            Reason::Clause(clause) => {
                let others = self.clauses.list[clause as usize].iter();
                for literal in others.filter(|literal| literal.variable != entry.variable) {
                    self.removed_of(literal.variable, literal.mask, causes);
                }
            }
        }
    }

    /// Appends the causes for which a function removed a value before a trail position, or has no entry above 0.
    fn causes_in(&self, function: u32, removed: Option<Entry>, at: usize, causes: &mut Vec<u32>) {
        let own = &self.network.functions[function as usize];
        let is_cause = |&(_, &v): &(usize, &u32)| (self.applied[v as usize] as usize) < at;
        let given = own.scope.iter().enumerate().filter(is_cause);
        if own.banned.is_some() {
            given.for_each(|(_, &v)| self.removed_of(v, !(1 << self.digits[v as usize]), causes));
            return;
        }
        let steps = &own.steps;
        let mut state = own.free;
        for (axis, &v) in given.clone() {
            state += (self.digits[v as usize] + 1) * steps[axis];
        }
        let axis = removed.and_then(|entry| own.scope.iter().position(|&v| v == entry.variable));
        let still = |state: u32| {
            let residual = self.network.residual_of(state);
            match (axis, removed) {
                (Some(axis), Some(entry)) => {
                    let supports = self.network.supports(own, residual);
                    supports.get(axis).is_some_and(|mask| mask >> entry.value & 1 == 0)
                }
                _ => residual.scale.mantissa == 0.0,
            }
        };
        for (axis, &v) in given {
            let without = state - (self.digits[v as usize] + 1) * steps[axis];
            if still(without) {
                state = without;
            } else {
                self.removed_of(v, !(1 << self.digits[v as usize]), causes);
            }
        }
    }
}
