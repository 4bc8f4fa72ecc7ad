//! Decoding of messages: the value-assignment phase, and the cost-to-go of partial assignments.

use super::costs::{Rows, Tables};
use super::executor::Failure;
use super::plan::{Plan, Source};
use super::run::Outcome;
use super::table::add_function;
use crate::algebra::CostEntry;
use crate::model::{Cost, FORBIDDEN, Problem, add};
use crate::stop::Stop;
use crate::tensor::storage::Storage;

impl Outcome {
    /// Assigns the variables in reverse elimination order, each to the best value by its bucket. The result is an
    /// optimal assignment if the run was exact and the optimum is below its limit, otherwise a good start. Returns
    /// `None` if the plan did not keep the messages, if a run by rows found no solution below its limit, if files with
    /// messages cannot be read any more, or if `stop` is set.
    pub fn assign(&self, stop: &Stop) -> Option<Vec<u32>> {
        if self.plan.placement.keep_messages {
            if let Some(assignment) = self.messages.decode(&self.problem, &self.plan) {
                return Some(assignment);
            }
            if self.messages.are_remote()
                && let Ok(assignment) = self.assign_by_entries()
            {
                return Some(assignment);
            }
        }
        let guide = self.cost_to_go()?;
        let mut assignment = vec![0; self.plan.sequence.len()];
        let mut row = Vec::new();
        for position in stop.each((0..assignment.len()).rev()) {
            let position = position.ok()?;
            row.resize(self.plan.domains[position] as usize, 0);
            guide.rate(position, &assignment, &mut row);
            assignment[self.plan.sequence[position] as usize] = least(&row);
        }
        Some(assignment)
    }

    /// Like [`Outcome::assign`], but reads only the entries of messages that decide between values, given as steps and
    /// indices. It serves if messages are on a device and too large to copy, or in files. The messages that a bucket
    /// sent are equal for all its values and decide nothing.
    fn assign_by_entries(&self) -> Result<Vec<u32>, Failure> {
        let Outcome { problem, plan, messages, .. } = self;
        let mut assignment = vec![0; plan.sequence.len()];
        let mut row = Vec::new();
        for position in (0..assignment.len()).rev() {
            let variable = plan.sequence[position];
            row.clone_from(&problem.unary[variable as usize]);
            let mut wanted = Vec::new();
            for input in plan.bucket(position).iter().flat_map(|step| &step.inputs) {
                match input.source {
                    Source::Unary => {}
                    Source::Function(f) => {
                        add_function(problem, &problem.functions[f as usize], variable, &assignment, &mut row);
                    }
                    Source::Message(from) => {
                        let (offset, stride) = locate(plan, &input.scope, &assignment);
                        wanted.extend((0..row.len()).map(|value| (from, (offset + value * stride) as u64)));
                    }
                }
            }
            let values = row.len();
            for (place, entry) in messages.entries(&wanted)?.into_iter().enumerate() {
                row[place % values] = add(row[place % values], entry);
            }
            assignment[variable as usize] = least(&row);
        }
        Ok(assignment)
    }

    /// Returns the cost-to-go of partial assignments. `None` if the plan did not keep the messages, if they are in
    /// files, or if they are on a device and the host has too little memory for them.
    pub fn cost_to_go(&self) -> Option<CostToGo<'_>> {
        if !self.plan.placement.keep_messages {
            return None;
        }
        let tables = match self.messages.rows() {
            Some(rows) => Lookup::Rows(rows),
            None => Lookup::Dense(self.messages.tables()?),
        };
        Some(CostToGo { outcome: self, tables })
    }
}

/// Returns the first of the values of least cost.
fn least(row: &[Cost]) -> u32 {
    row.iter().enumerate().min_by_key(|&(_, &cost)| cost).map_or(0, |(value, _)| value as u32)
}

/// The cost-to-go of the values of the next variable of a partial assignment, made in reverse elimination order.
///
/// While the variables at positions `p + 1..` have values, let
///
/// ```text
/// f = constant + the functions that read only assigned variables
///              + the messages sent from positions 0..=p to positions p + 1.. (and those without variables)
/// ```
///
/// A message never exceeds the minimum that it bounds, so no completion costs less than `f`. If nothing is assigned `f`
/// is the lower bound of the run ([`CostToGo::start`]); if everything is assigned it is the cost. Giving position `p`
/// the value `a` adds the functions and messages that wait in its bucket and subtracts the messages that the bucket
/// itself had sent. This is the increase that [`CostToGo::rate`] returns, so
///
/// ```text
/// f(.., a) = f(..) + row[a],   row[a] >= 0
/// ```
///
/// A value with `f(.., a) >= ub` has no completion below `ub`. If the plan is exact, every row has a 0.
#[derive(Clone, Copy, Debug)]
pub struct CostToGo<'a> {
    outcome: &'a Outcome,
    tables: Lookup<'a>,
}

/// The tables in which entries of messages are looked up.
#[derive(Clone, Copy, Debug)]
enum Lookup<'a> {
    Dense(Tables<'a>),
    Rows(&'a dyn Rows),
}

impl<'a> CostToGo<'a> {
    /// Returns the outcome, and its messages if they are dense tables.
    pub(crate) fn parts(&self) -> (&'a Outcome, Option<Tables<'a>>) {
        let tables = match self.tables {
            Lookup::Dense(tables) => Some(tables),
            Lookup::Rows(_) => None,
        };
        (self.outcome, tables)
    }

    /// Returns whether messages are dense tables, not lists of rows.
    pub fn is_dense(&self) -> bool {
        matches!(self.tables, Lookup::Dense(_))
    }

    /// Returns `f` before anything is assigned: the lower bound of the run.
    pub fn start(&self) -> Cost {
        self.outcome.lower_bound
    }

    /// Returns the variable at a position; positions are assigned from the last to 0.
    pub fn variable(&self, position: usize) -> u32 {
        self.outcome.plan.sequence[position]
    }

    /// Returns the number of positions.
    pub fn positions(&self) -> usize {
        self.outcome.plan.sequence.len()
    }

    /// Returns the domain size of the variable at a position.
    pub fn domain(&self, position: usize) -> usize {
        self.outcome.plan.domains[position] as usize
    }

    /// Writes into `row` by how much each value of the variable at `position` raises `f`, or [`FORBIDDEN`] if the value
    /// has no completion. Of `assignment`, given by variable, only the variables at later positions are read. `row`
    /// must have one entry for each value.
    pub fn rate(&self, position: usize, assignment: &[u32], row: &mut [Cost]) {
        let Outcome { problem, plan, .. } = self.outcome;
        match self.tables {
            Lookup::Dense(Tables::I32(messages)) => rate(problem, plan, messages, position, assignment, row),
            Lookup::Dense(Tables::I64(messages)) => rate(problem, plan, messages, position, assignment, row),
            Lookup::Rows(rows) => rows.rate(problem, plan, position, assignment, row),
        }
    }
}

fn rate<E: CostEntry>(
    problem: &Problem,
    plan: &Plan,
    messages: &[Storage<E>],
    position: usize,
    assignment: &[u32],
    row: &mut [Cost],
) {
    let variable = plan.sequence[position];
    row.copy_from_slice(&problem.unary[variable as usize]);
    let mut sent: Cost = 0;
    for (number, step) in plan.bucket(position).iter().enumerate() {
        for input in &step.inputs {
            match input.source {
                Source::Unary => {}
                Source::Function(f) => {
                    let function = &problem.functions[f as usize];
                    add_function(problem, function, variable, assignment, row);
                }
                Source::Message(from) => {
                    let (offset, stride) = locate(plan, &input.scope, assignment);
                    let table = messages[from as usize][offset..].iter().step_by(stride);
                    for (sum, entry) in row.iter_mut().zip(table) {
                        *sum = add(*sum, entry.cost());
                    }
                }
            }
        }
        let message = &messages[plan.first[position] as usize + number];
        let index = step.scope.iter().fold(0, |index, &p| {
            index * plan.domains[p as usize] as usize + assignment[plan.sequence[p as usize] as usize] as usize
        });
        sent = add(sent, message[index].cost());
    }
    for sum in row.iter_mut() {
        debug_assert!(*sum >= sent, "a message overestimates its bucket");
        *sum = if *sum >= FORBIDDEN { FORBIDDEN } else { *sum - sent };
    }
}

/// Returns the offset of the entry for value 0 of the first position, and the stride of that position.
fn locate(plan: &Plan, scope: &[u32], assignment: &[u32]) -> (usize, usize) {
    let (mut offset, mut stride) = (0, 1);
    for &p in scope[1..].iter().rev() {
        offset += stride * assignment[plan.sequence[p as usize] as usize] as usize;
        stride *= plan.domains[p as usize] as usize;
    }
    (offset, stride)
}
