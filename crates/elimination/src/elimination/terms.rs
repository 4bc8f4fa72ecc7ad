//! The terms of the cost-to-go in a flat layout for a device: the entries that [`CostToGo::rate`] adds up.

use super::costs::Tables;
use super::decode::CostToGo;
use super::plan::Source;
use super::run::Outcome;
use crate::device::shared::{constants, device_structs};
use crate::model::{Cost, CostFunction, Table};
use rustc_hash::FxHashMap;

/// The kind of an entry: a cost of the problem, an entry of a message that waits in the bucket, or one of a message
/// that the bucket has sent.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Costs,
    Waits,
    Sent,
}

device_structs! {
    /// A table that contributes to the costs of a variable's values (`kernels/network.cuh`: Term).
    #[derive(Clone, Copy, Debug)]
    pub struct Term as "Term" {
        /// Index of the entry in which all variables have value 0, among costs or messages.
        base: u64,
        /// Distance from one value of the variable to the next, in entries.
        own: u32,
        /// Index of the first pair of variable and stride of the other variables.
        first: u32,
        pairs: u32,
        kind: u32,
    }
}

/// Returns the declarations of the kinds of tables for kernels.
pub fn declared() -> String {
    const COSTS: u32 = Kind::Costs as u32;
    const WAITS: u32 = Kind::Waits as u32;
    const SENT: u32 = Kind::Sent as u32;
    constants! { u32: COSTS, WAITS, SENT; }
}

/// All messages in the order of the steps, with the plan's entry type.
#[derive(Debug)]
pub enum Entries<'a> {
    /// Messages of 32-bit entries.
    Narrow(Vec<&'a [i32]>),
    /// Messages of 64-bit entries.
    Wide(Vec<&'a [i64]>),
}

/// The terms of all variables.
#[derive(Debug)]
pub struct Terms<'a> {
    /// Index of the first term of each variable, and at last the number of terms.
    pub begin: Vec<u32>,
    /// The terms.
    pub terms: Vec<Term>,
    /// Pairs of variable and stride, flattened.
    pub pairs: Vec<u32>,
    /// The costs of functions, equal tables stored once, and of variables.
    pub costs: Vec<Cost>,
    /// The messages.
    pub messages: Entries<'a>,
}

impl<'a> CostToGo<'a> {
    /// Returns the terms that evaluations of values add up; `None` if messages or functions are not dense tables.
    pub fn terms(&self) -> Option<Terms<'a>> {
        let (Outcome { problem, plan, .. }, tables) = self.parts();
        let messages = match tables? {
            Tables::I32(messages) => Entries::Narrow(messages.iter().map(|message| &message[..]).collect()),
            Tables::I64(messages) => Entries::Wide(messages.iter().map(|message| &message[..]).collect()),
        };
        let starts = messages.starts();
        let mut made = Terms { begin: vec![0], terms: vec![], pairs: vec![], costs: vec![], messages };
        let mut known = FxHashMap::default();
        let mut positions = vec![0; plan.sequence.len()];
        (0..).zip(&plan.sequence).for_each(|(position, &v)| positions[v as usize] = position);
        for (variable, &position) in positions.iter().enumerate() {
            let own = &problem.unary[variable];
            let first = made.append(own);
            made.push(first, Kind::Costs, [(variable as u32, own.len() as u64)], Some(variable as u32))?;
            for (step, number) in plan.bucket(position).iter().zip(plan.first[position]..) {
                let of = |scope: &[u32]| -> Vec<(u32, u64)> {
                    let digit = |&p: &u32| (plan.sequence[p as usize], u64::from(plan.domains[p as usize]));
                    scope.iter().map(digit).collect()
                };
                for input in &step.inputs {
                    match input.source {
                        Source::Unary => {}
                        Source::Function(f) => {
                            let CostFunction { scope, table, .. } = &problem.functions[f as usize];
                            let Table::Dense(costs) = table else { return None };
                            let first = *known.entry(costs.address()).or_insert_with(|| made.append(&costs.wide()));
                            let digits: Vec<_> =
                                scope.iter().map(|&v| (v, u64::from(problem.domains[v as usize]))).collect();
                            made.push(first, Kind::Costs, digits, Some(variable as u32))?;
                        }
                        Source::Message(from) => {
                            made.push(starts[from as usize], Kind::Waits, of(&input.scope), Some(variable as u32))?;
                        }
                    }
                }
                made.push(starts[number as usize], Kind::Sent, of(&step.scope), None)?;
            }
            made.begin.push(made.terms.len() as u32);
        }
        Some(made)
    }
}

impl Terms<'_> {
    /// Appends a table of costs and returns its first index.
    fn append(&mut self, costs: &[Cost]) -> u64 {
        self.costs.extend_from_slice(costs);
        (self.costs.len() - costs.len()) as u64
    }

    /// Appends a term over variables with their domain sizes, the last one running fastest. `None` if strides are too
    /// wide.
    fn push(
        &mut self,
        base: u64,
        kind: Kind,
        digits: impl IntoIterator<Item = (u32, u64), IntoIter: DoubleEndedIterator>,
        variable: Option<u32>,
    ) -> Option<()> {
        let first = self.pairs.len() as u32 / 2;
        let (mut stride, mut own) = (1u64, 0);
        for (v, domain) in digits.into_iter().rev() {
            let step = u32::try_from(stride).ok()?;
            if variable == Some(v) {
                own = step;
            } else {
                self.pairs.extend([v, step]);
            }
            stride *= domain;
        }
        let pairs = self.pairs.len() as u32 / 2 - first;
        self.terms.push(Term { base, own, first, pairs, kind: kind as u32 });
        Some(())
    }
}

impl Entries<'_> {
    /// Returns the first index of each message.
    fn starts(&self) -> Vec<u64> {
        let lengths: Vec<usize> = match self {
            Entries::Narrow(messages) => messages.iter().map(|message| message.len()).collect(),
            Entries::Wide(messages) => messages.iter().map(|message| message.len()).collect(),
        };
        let begin = |sum: &mut u64, length: usize| {
            *sum += length as u64;
            Some(*sum - length as u64)
        };
        lengths.into_iter().scan(0, begin).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elimination::tests::{random, run, shuffled};
    use crate::elimination::{Limits, Plan};
    use crate::model::{FORBIDDEN, add};
    use crate::rng::Rng;
    use std::sync::Arc;

    /// Returns the sum of the terms that `kernels/network.cuh` computes.
    fn rise(made: &Terms<'_>, entries: &[Cost], variable: usize, value: u64, assignment: &[u32]) -> Cost {
        let (mut sum, mut sent) = (0, 0);
        for term in &made.terms[made.begin[variable] as usize..made.begin[variable + 1] as usize] {
            let pairs = &made.pairs[2 * term.first as usize..2 * (term.first + term.pairs) as usize];
            let moved = |pair: &[u32]| u64::from(assignment[pair[0] as usize]) * u64::from(pair[1]);
            let at = (term.base + u64::from(term.own) * value + pairs.chunks(2).map(moved).sum::<u64>()) as usize;
            match term.kind {
                0 => sum = add(sum, made.costs[at]),
                1 => sum = add(sum, entries[at]),
                _ => sent = add(sent, entries[at]),
            }
        }
        if sum >= FORBIDDEN { FORBIDDEN } else { sum - sent }
    }

    #[test]
    fn terms_add_up_to_ratings() {
        let mut rng = Rng::new(3);
        let mut rated = 0;
        for case in 0..60 {
            let problem = Arc::new(random(&mut rng, 3));
            let limits = Limits { z: Some(1 + case % 3), ..Limits::new(1 << 30) };
            let outcome = run(&problem, Plan::new(&problem, &shuffled(&problem, &mut rng), &limits));
            let Some(to_go) = outcome.cost_to_go() else { continue };
            let Some(made) = to_go.terms() else { continue };
            let entries: Vec<Cost> = match &made.messages {
                Entries::Narrow(messages) => messages.concat().into_iter().map(Cost::from).collect(),
                Entries::Wide(messages) => messages.concat(),
            };
            for _ in 0..20 {
                let assignment: Vec<u32> = problem.domains.iter().map(|&d| rng.below(u64::from(d)) as u32).collect();
                for position in 0..to_go.positions() {
                    let variable = to_go.variable(position) as usize;
                    let mut row = vec![0; to_go.domain(position)];
                    to_go.rate(position, &assignment, &mut row);
                    let own = (0..).zip(&row).map(|(value, _)| rise(&made, &entries, variable, value, &assignment));
                    assert!(own.eq(row.iter().copied()), "case {case}");
                    rated += 1;
                }
            }
        }
        assert!(rated > 1000, "{rated}");
    }
}
