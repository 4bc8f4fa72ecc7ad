//! Both directions of a propagation as one program: messages to the roots, and outside aggregates on the way back.

use super::{Program, Room, Settled, Task};
use crate::elimination::cuda::shape::{BUSY, Chip, INPUTS, THREADS};
use crate::elimination::cuda::tile::split;
use crate::elimination::plan::{EliminationPlan, Source};
use crate::model::Scope;
use std::cmp::Reverse;

/// Least number of combinations of a part, because adding up the parts takes another launch.
const PART: u64 = 1 << 11;
/// Largest number of threads that share an output.
const SHARED: u64 = 32;
/// The number of combinations folded to an output must be below this, because kernels divide only smaller numbers.
const FOLDED: u64 = 1 << 31;
/// The number of entries of a table must be below this, because offsets in it have 32 bits.
const REACH: u64 = 1 << 32;

/// The results of the backward pass that are wanted of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Whether the aggregate by the values of the step's variable is wanted.
    pub values: bool,
    /// Whether the outside aggregate over the step's message is wanted.
    pub outside: bool,
}

/// The locations of a step's results.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackStep {
    /// Index of the range of the step's message; `None` if the message has no variables.
    pub message: Option<usize>,
    /// Index of the range of the outside aggregate over the step's message.
    pub outside: Option<usize>,
    /// The way in which the outside aggregate was folded, before it was divided.
    pub outside_made: Made,
    /// The table of the aggregate by the values of the step's variable.
    pub values: Option<usize>,
    /// The way in which the aggregate by values was folded.
    pub values_made: Made,
}

/// The way in which the combination of a step was folded to a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Made {
    /// The largest number of combinations that were folded to one entry one after the other.
    pub depth: u64,
    /// The step of a message, if the table was folded from that message combined with its outside aggregate: together
    /// they are the step's combination, folded to a table that is larger.
    pub from: Option<usize>,
}

/// A program of both directions, and the locations of its results.
#[derive(Debug)]
pub struct Back {
    /// The program of both directions.
    pub program: Program,
    /// The results of each step.
    pub steps: Vec<BackStep>,
    /// The first launch of the backward pass.
    pub turn: usize,
}

impl Back {
    /// Lays out both directions. `wanted` has the results of the backward pass that are wanted, by step; a step's
    /// outside aggregate must be wanted if any result is wanted of it or of a step below. Aggregates by values also
    /// distinguish the values of the `kept` positions, which must be the last.
    ///
    /// # Errors
    /// Returns the number of entries of device memory that the program takes, if `room` has fewer, or `u64::MAX` if the
    /// kernels do not support tables of that size.
    pub fn new(plan: &EliminationPlan, wanted: &[Wanted], kept: &[u32], room: Room, chip: &Chip) -> Result<Back, u64> {
        let mut program = Program::empty(plan, room);
        let mut tasks = Vec::new();
        let mut steps = vec![BackStep::default(); plan.steps.len()];
        let mut inputs = Vec::with_capacity(plan.steps.len());
        for (index, step) in plan.steps.iter().enumerate() {
            inputs.push(program.step(step, 0, &mut tasks));
            if !step.scope.is_empty() {
                steps[index].message = Some(program.settle_later(program.messages[index], None));
            }
        }
        program.floor = tasks.iter().map(|task| task.level).max().unwrap_or(0);
        let turn = program.floor;
        let mut outside: Vec<Option<usize>> = vec![None; plan.steps.len()];
        for (index, step) in plan.steps.iter().enumerate().rev() {
            let below = step.inputs.iter().filter_map(|input| match input.source {
                Source::Message(from) => Some(from as usize).filter(|&from| wanted[from].outside),
                _ => None,
            });
            let mut below: Vec<usize> = below.collect();
            below.sort_by_key(|&from| Reverse(plan.steps[from].entries));
            if below.is_empty() && !wanted[index].values {
                continue;
            }
            let mut joined = std::mem::take(&mut inputs[index]);
            joined.extend(outside[index]);
            let joined = program.pre_join(joined, INPUTS, step.joint, &mut tasks);
            let clique = plan.scope(index);
            // folds to a scope from the smallest table of this step that covers it, or else from the whole combination
            let mut fold = |program: &mut Program, scope: Scope, outside: &[Option<usize>], known: &[usize]| {
                let has = |&&from: &&usize| scope.iter().all(|p| plan.steps[from].scope.binary_search(p).is_ok());
                let from = known.iter().filter(has).min_by_key(|&&from| plan.steps[from].entries).copied();
                let (table, depth) = match from.and_then(|from| Some((from, outside[from]?))) {
                    Some((from, rest)) => {
                        let (own, inputs) = (&plan.steps[from], vec![program.messages[from], rest]);
                        program.down(scope, &own.scope, inputs, own.entries, &mut tasks)
                    }
                    None => program.down(scope, &clique, joined.clone(), step.joint, &mut tasks),
                };
                (table, Made { depth, from })
            };
            for (number, &from) in below.iter().enumerate() {
                let (message, scope) = (program.messages[from], plan.steps[from].scope.clone());
                let (table, made) = fold(&mut program, scope, &outside, &below[..number]);
                let level = program.tables[table].made;
                program.tables[message].last = program.tables[message].last.max(level);
                outside[from] = Some(table);
                steps[from].outside = Some(program.settle_later(table, Some(message)));
                steps[from].outside_made = made;
            }
            if wanted[index].values {
                let others = kept.iter().copied().filter(|p| step.scope.binary_search(p).is_ok());
                let own = std::iter::once(step.position).chain(others).collect();
                let (table, made) = fold(&mut program, own, &outside, &below);
                program.results.push(table);
                (steps[index].values, steps[index].values_made) = (Some(table), made);
            }
        }
        let reach = program.tables.iter().all(|table| table.extent() < REACH);
        let folds = tasks.iter().all(|task| program.size(&task.folded) < FOLDED);
        if !(reach && folds) {
            return Err(u64::MAX);
        }
        let program = program.complete(tasks, chip)?;
        let turn = program.launches.partition_point(|launch| launch.level <= turn);
        Ok(Back { program, steps, turn })
    }
}

impl Program {
    /// Returns, for each step, its aggregate by values if wanted, out of the entries that are kept.
    pub fn values(&self, steps: &[BackStep], kept: &[f64]) -> Vec<Option<Vec<f64>>> {
        let values = |step: &BackStep| Some(self.tables[step.values?].whole(kept).to_vec());
        steps.iter().map(values).collect()
    }

    /// Notes that a table is settled once it is made, and returns the index of its range.
    pub(super) fn settle_later(&mut self, table: usize, divisor: Option<usize>) -> usize {
        self.settling.push(Settled { table, divisor });
        self.settling.len() - 1
    }

    /// Adds a step that folds the combination of some tables to `scope`. Returns the table, and the largest number of
    /// combinations that are folded to one of its entries one after the other.
    fn down(
        &mut self,
        scope: Scope,
        clique: &[u32],
        inputs: Vec<usize>,
        work: u64,
        tasks: &mut Vec<Task>,
    ) -> (usize, u64) {
        let folded: Scope = clique.iter().copied().filter(|p| scope.binary_search(p).is_err()).collect();
        let (outputs, combinations) = (self.size(&scope), self.size(&folded));
        let parts = (BUSY / outputs.saturating_mul(SHARED)).min(combinations / PART).max(1);
        let of_part = combinations.div_ceil(parts);
        let depth = match of_part <= u64::from(THREADS) {
            true => of_part,
            // whichever kernel executes it
            false => {
                let split = split(outputs.saturating_mul(parts), combinations / parts, 0);
                of_part.div_ceil(1 << split) + u64::from(split)
            }
        };
        if parts == 1 {
            return (self.task(scope, inputs, folded, work, tasks), depth);
        }
        let part = self.domains.len() as u32;
        self.domains.push(parts as u32);
        let cut = scope.iter().copied().chain([part]).collect();
        let table = self.task(cut, inputs, folded, work, tasks);
        if let Some(task) = tasks.last_mut() {
            task.parts = parts as u32;
        }
        (self.task(scope, vec![table], [part].into(), 0, tasks), depth + parts)
    }
}
