//! Both directions of a propagation as one program: messages to the roots, and what all else comes to on the way back.

use super::{Program, Room, Settled, Task};
use crate::elimination::cuda::shape::{BUSY, Chip, INPUTS, THREADS};
use crate::elimination::cuda::tile::split;
use crate::elimination::plan::{EliminationPlan, Source};
use crate::model::Scope;
use std::cmp::Reverse;

/// Combinations of a part, at least: what adds up the parts is a launch more.
const PART: u64 = 1 << 11;
/// Threads that share an output at most.
const SHARED: u64 = 32;
/// Combinations that are folded, at most: kernels divide numbers below that.
const FOLDED: u64 = 1 << 31;
/// Entries of a table, at most: offsets in it have 32 bits.
const REACH: u64 = 1 << 32;

/// What is wanted of a step on the way back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// What its combination comes to by the values of its variable.
    pub values: bool,
    /// What all else comes to, over its message.
    pub outside: bool,
}

/// Where a step's results are.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackStep {
    /// The range of its message; none without variables.
    pub message: Option<usize>,
    /// The range of what all else comes to, over its message.
    pub outside: Option<usize>,
    /// How that was folded, before it was divided.
    pub outside_made: Made,
    /// What its combination comes to by the values of its variable, as a table.
    pub values: Option<usize>,
    /// How these were folded.
    pub values_made: Made,
}

/// How the combination of a step was folded to a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Made {
    /// Combinations that were folded to one entry, one after the other, at most.
    pub depth: u64,
    /// The step of a message, if the table was made from that and what all else comes to for it: together they are the
    /// combination, folded to a table that is larger.
    pub from: Option<usize>,
}

/// A program of both directions, and where its results are.
#[derive(Debug)]
pub struct Back {
    /// What the device does.
    pub program: Program,
    /// The steps backwards.
    pub steps: Vec<BackStep>,
    /// The first launch of the way back.
    pub turn: usize,
}

impl Back {
    /// Lays out both directions; of the way back what is wanted, by step. A step's outside is wanted where anything is
    /// wanted of it or below. Values are told apart by the `kept` positions, too, which go last.
    ///
    /// # Errors
    /// The entries that it takes where those are more; the most where kernels do not reach them.
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
            // folds to a scope what was folded least to one that has it
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
    /// The values of the steps for which they were wanted, out of the entries that stay.
    pub fn values(&self, steps: &[BackStep], kept: &[f64]) -> Vec<Option<Vec<f64>>> {
        let values = |step: &BackStep| Some(self.tables[step.values?].whole(kept).to_vec());
        steps.iter().map(values).collect()
    }

    /// Has a table settled once it is made; returns its range.
    pub(super) fn settle_later(&mut self, table: usize, divisor: Option<usize>) -> usize {
        self.settling.push(Settled { table, divisor });
        self.settling.len() - 1
    }

    /// A step that folds the combination of some tables to `scope`; the table, and how many combinations are folded to
    /// one of its entries one after the other, at most.
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
            // whatever kernel takes it
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
