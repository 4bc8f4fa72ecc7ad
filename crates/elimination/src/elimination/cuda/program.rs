//! A plan in the form that a device executes: tables in one piece of memory, steps in levels, launches.
//!
//! The device makes the messages of the plan, each by one step from the same tables as the CPU. In addition there are
//! *pre-joins*: if inputs of a step share most of their variables, a table of their sums, small compared to the step
//! itself, is made first. Capped entries may be added in any order (see kernels/bucket.cu), so no message changes.

mod back;
mod describe;
mod pairs;
mod place;
mod pre_join;
mod table;

use super::gpu::Gpu;
use super::shape::{Chip, INPUTS};
use super::variant::{Role, Variant};
use super::words::{BoxWords, DigitWords, FoldWords, InputWords, SettledWords, StepWords};
use crate::elimination::plan::{EliminationPlan, Plan, Source, Step};
use crate::model::Scope;
pub use back::{Back, BackStep, Made, Wanted};
pub(crate) use describe::NEVER;
pub use pairs::{Expected, Pairing};
use std::ops::Range;
pub use table::{Content, DeviceTable};

/// Tables begin at multiples of this number of entries.
pub(crate) const ALIGNMENT: u64 = 64;

/// A step of the device.
#[derive(Debug)]
struct Task {
    output: usize,
    inputs: Vec<usize>,
    /// The positions that are folded over, ascending; empty for a pre-join.
    folded: Scope,
    /// Number of parts into which the folded combinations are divided. If there are several, the output's last position
    /// is the part.
    parts: u32,
    level: u32,
    /// Combinations of the plan's step; 0 for a pre-join.
    work: u64,
    /// The step on probabilities and utilities, if it is not only a sum of products.
    pair: Option<Pair>,
}

/// A step on probabilities and utilities.
#[derive(Clone, Copy, Debug)]
struct Pair {
    role: Role,
    /// Number of the inputs, after those that are multiplied, that are added up.
    sums: u32,
    /// Whether the last input is a second table that the step makes.
    also: bool,
    /// Relative differences. The first of several values within `tie` is chosen; a choice is certain if it differs by
    /// more than `margin`.
    tie: f64,
    margin: f64,
}

impl Task {
    /// Returns the tables that the step makes.
    fn made(&self) -> impl Iterator<Item = usize> {
        let second = self.inputs.last().filter(|_| self.pair.is_some_and(|pair| pair.also)).copied();
        [self.output].into_iter().chain(second)
    }
}

/// A table that is settled once it is made: divided by another table, if given, and scaled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled {
    pub table: usize,
    pub divisor: Option<usize>,
}

/// Blocks that are launched together.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    pub variant: Variant,
    /// The step that is made in tiles, which is alone in its launch; `None` for other kernels.
    pub tiled: Option<usize>,
    pub first: u32,
    pub blocks: u32,
    /// The level of the steps.
    pub level: u32,
    /// Combinations of the plan that the launch completes.
    pub work: u64,
}

/// Limits of a program, and whether it keeps messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Room {
    /// Whether messages are kept.
    pub keep_messages: bool,
    /// Bytes of an entry.
    pub bytes: u64,
    /// Entries of device memory.
    pub entries: u64,
}

/// A program of a device: tables, descriptors of steps, and launches.
#[derive(Debug, Default)]
pub struct Program {
    /// The limits with which the program was made.
    pub room: Room,
    /// All tables.
    pub tables: Vec<DeviceTable>,
    /// By step of the plan, the table of its message.
    pub messages: Vec<usize>,
    /// Entries of device memory.
    pub entries: u64,
    /// The range of the constants, the messages without variables, in device memory.
    pub constants: Range<u64>,
    /// The range of all tables that are kept, constants included, in device memory.
    pub kept: Range<u64>,
    /// Descriptors of the steps of single outputs.
    pub(crate) steps: Vec<StepWords>,
    /// Descriptors of the steps made in tiles.
    pub(crate) tiled: Vec<BoxWords>,
    /// By block of the steps of single outputs, the step.
    pub map: Vec<u32>,
    /// The digits of all steps.
    pub(crate) digits: Vec<DigitWords>,
    /// The inputs of all steps.
    pub(crate) inputs: Vec<InputWords>,
    /// The strides of the inputs and outputs of all steps, in bytes, and of their folds, in entries.
    pub strides: Vec<u64>,
    /// The axes over which steps fold.
    pub(crate) folds: Vec<FoldWords>,
    /// Tables that are settled once they are made.
    pub(crate) settled: Vec<SettledWords>,
    /// By block of the kernels that settle tables, the table.
    pub settled_map: Vec<u32>,
    /// The launches in the order of their execution.
    pub launches: Vec<Launch>,
    /// Combinations that the host did while it filled tables.
    pub filled: u64,
    /// Domain sizes by position; beyond the plan's positions, numbers of parts.
    domains: Vec<u32>,
    /// Tables that are settled; the index of each is the index of its range.
    settling: Vec<Settled>,
    /// Tables that are kept besides messages.
    results: Vec<usize>,
    /// The level after which further steps begin.
    floor: u32,
}

impl Program {
    /// Lays out a plan for a device; no device is needed for that.
    ///
    /// # Errors
    /// Returns the number of entries of device memory that the plan takes, if `room` has fewer.
    pub fn new(plan: &EliminationPlan, room: Room, chip: &Chip) -> Result<Program, u64> {
        Program::part(plan, 0..plan.steps.len(), room, chip)
    }

    /// Lays out some steps of a plan, to which the host supplies the messages of earlier steps. The program's messages
    /// are those of these steps.
    pub fn part(plan: &EliminationPlan, steps: Range<usize>, room: Room, chip: &Chip) -> Result<Program, u64> {
        let mut program = Program::empty(plan, room);
        let mut tasks = Vec::new();
        let begin = steps.start;
        for step in &plan.steps[steps] {
            let _ = program.step(step, begin, &mut tasks);
        }
        program.complete(tasks, chip)
    }

    fn empty(plan: &EliminationPlan, room: Room) -> Program {
        Program { room, domains: plan.domains.clone(), ..Program::default() }
    }

    /// Adds the step that makes a message, and returns the tables that it joins. The host supplies messages of steps
    /// before `begin`.
    fn step(&mut self, step: &Step, begin: usize, tasks: &mut Vec<Task>) -> Vec<usize> {
        if let (true, Some(source @ Source::Function(_))) = (step.lowered, step.inputs.first().map(|i| i.source)) {
            let table = self.table(step.scope.clone(), Content::Source(source), 0);
            self.messages.push(table);
            self.filled += step.joint;
            return Vec::new();
        }
        let inputs: Vec<usize> = step
            .inputs
            .iter()
            .map(|input| match input.source {
                Source::Message(from) => match (from as usize).checked_sub(begin) {
                    Some(own) => self.messages[own],
                    None => self.table(input.scope.clone(), Content::Message(from), 0),
                },
                source => self.table(input.scope.clone(), Content::Source(source), 0),
            })
            .collect();
        let joined = self.pre_join(inputs.clone(), INPUTS, step.joint, tasks);
        let output = self.task(step.scope.clone(), joined, [step.position].into(), step.joint, tasks);
        self.messages.push(output);
        inputs
    }

    /// Places all tables and describes all steps.
    fn complete(mut self, mut tasks: Vec<Task>, chip: &Chip) -> Result<Program, u64> {
        tasks.sort_by_key(|task| task.level);
        self.place(&tasks);
        if self.entries > self.room.entries {
            return Err(self.entries);
        }
        if self.describe(&tasks, chip) { Ok(self) } else { Err(u64::MAX) }
    }

    fn table(&mut self, scope: Scope, content: Content, made: u32) -> usize {
        self.tables.push(DeviceTable::new(scope, &self.domains, content, made));
        self.tables.len() - 1
    }

    /// Adds a step that makes a new table, and returns the table.
    fn task(&mut self, scope: Scope, inputs: Vec<usize>, folded: Scope, work: u64, tasks: &mut Vec<Task>) -> usize {
        let level = inputs.iter().map(|&input| self.tables[input].made).max().unwrap_or(0).max(self.floor) + 1;
        for &input in &inputs {
            self.tables[input].last = self.tables[input].last.max(level);
        }
        let output = self.table(scope, Content::Made, level);
        tasks.push(Task { output, inputs, folded, parts: 1, level, work, pair: None });
        output
    }

    /// Returns the number of combinations of some positions, saturating.
    fn size(&self, scope: &[u32]) -> u64 {
        scope.iter().fold(1u64, |size, &p| size.saturating_mul(u64::from(self.domains[p as usize])))
    }

    /// Returns the kernels that the program needs.
    pub fn variants(&self) -> Vec<Variant> {
        let mut variants: Vec<Variant> = Vec::new();
        for launch in &self.launches {
            if !variants.contains(&launch.variant) {
                variants.push(launch.variant);
            }
        }
        variants
    }
}

impl Gpu {
    /// Returns the bytes of device memory that a plan takes: its tables, all functions at a time, and pre-joins.
    pub fn bytes(plan: &Plan) -> u64 {
        Gpu::bytes_of(plan, plan.placement.keep_messages, plan.costs.width.bytes())
    }

    /// Returns whether a device with `bytes` bytes of free memory can hold a plan whose messages are not kept.
    pub(crate) fn holds(plan: &EliminationPlan, entry_bytes: u64, bytes: u64) -> bool {
        let room = Room { keep_messages: false, bytes: entry_bytes, entries: bytes / entry_bytes };
        Program::new(plan, room, &Chip::default()).is_ok()
    }

    pub(super) fn bytes_of(plan: &EliminationPlan, keep_messages: bool, entry_bytes: u64) -> u64 {
        let room = Room { keep_messages, bytes: entry_bytes, entries: 0 };
        // the error is the size
        let program = Program::new(plan, room, &Chip::default());
        program.map_or_else(|entries| entries, |program| program.entries).saturating_mul(entry_bytes)
    }
}
