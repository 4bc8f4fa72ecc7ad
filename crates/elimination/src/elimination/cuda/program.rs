//! A plan as a device executes it: tables in one piece of memory, steps in levels, launches.
//!
//! The device makes the messages of the plan, each by one step from the same tables as the CPU. Beyond the plan there
//! are *pre-joins*: where inputs of a step share most of their variables, a table of their sums is made first, small
//! against the step itself. Sums of capped entries may be taken in any order (see kernels/bucket.cu), so no message
//! changes.

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

/// Entries that tables begin at multiples of.
pub(crate) const ALIGNMENT: u64 = 64;

/// A step of the device.
#[derive(Debug)]
struct Task {
    output: usize,
    inputs: Vec<usize>,
    /// The positions that are folded over, ascending; none for a pre-join.
    folded: Scope,
    /// Parts that these combinations are cut into: the last position of the output where they are several.
    parts: u32,
    level: u32,
    /// Combinations of the plan's step; none for a pre-join.
    work: u64,
    /// What it makes where that is no sum of products alone.
    pair: Option<Pair>,
}

/// What a step on probabilities and utilities makes.
#[derive(Clone, Copy, Debug)]
struct Pair {
    role: Role,
    /// How many of the inputs, after those that are multiplied, are added up.
    sums: u32,
    /// Whether the last input is a second table that it makes.
    also: bool,
    /// Relative differences: up to the first the first of several values is chosen, beyond the second that is certain.
    tie: f64,
    margin: f64,
}

impl Task {
    /// The tables that it makes.
    fn made(&self) -> impl Iterator<Item = usize> {
        let second = self.inputs.last().filter(|_| self.pair.is_some_and(|pair| pair.also)).copied();
        [self.output].into_iter().chain(second)
    }
}

/// A table that is settled once it is made: divided by another and scaled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled {
    pub table: usize,
    pub divisor: Option<usize>,
}

/// Blocks that are launched together.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    pub variant: Variant,
    /// The step that is made in tiles, alone in its launch.
    pub tiled: Option<usize>,
    pub first: u32,
    pub blocks: u32,
    /// Of its steps.
    pub level: u32,
    /// Combinations of the plan that it completes.
    pub work: u64,
}

/// What a program may take and should leave.
#[derive(Clone, Copy, Debug, Default)]
pub struct Room {
    /// Whether messages stay.
    pub keep_messages: bool,
    /// Bytes of an entry.
    pub bytes: u64,
    /// Entries of device memory.
    pub entries: u64,
}

/// Everything that the device needs to know.
#[derive(Debug, Default)]
pub struct Program {
    /// What it was made for.
    pub room: Room,
    /// All tables.
    pub tables: Vec<DeviceTable>,
    /// By step of the plan, the table of its message.
    pub messages: Vec<usize>,
    /// Entries of device memory.
    pub entries: u64,
    /// Where the constants lie: the messages without variables.
    pub constants: Range<u64>,
    /// Where the messages lie, constants included, if the plan keeps them.
    pub kept: Range<u64>,
    /// By step.
    pub(crate) steps: Vec<StepWords>,
    /// Steps made in tiles.
    pub(crate) tiled: Vec<BoxWords>,
    /// By block of the others, its step.
    pub map: Vec<u32>,
    /// The variables of all steps.
    pub(crate) digits: Vec<DigitWords>,
    /// The tables that all steps read.
    pub(crate) inputs: Vec<InputWords>,
    /// Strides of these.
    pub strides: Vec<u64>,
    /// Tables that are folded.
    pub(crate) folds: Vec<FoldWords>,
    /// Tables that are settled once they are made.
    pub(crate) settled: Vec<SettledWords>,
    /// By block of those that settle tables, its table.
    pub settled_map: Vec<u32>,
    /// In this order.
    pub launches: Vec<Launch>,
    /// Combinations that the host did while it filled tables.
    pub filled: u64,
    /// Domain sizes by position; beyond the plan's, numbers of parts.
    domains: Vec<u32>,
    /// Tables that are settled; the place of each is that of its range.
    settling: Vec<Settled>,
    /// Tables that stay, besides messages.
    results: Vec<usize>,
    /// The level after which further steps begin.
    floor: u32,
}

impl Program {
    /// Lays out a plan for a device; nothing here needs it.
    ///
    /// # Errors
    /// The entries that it takes where those are more.
    pub fn new(plan: &EliminationPlan, room: Room, chip: &Chip) -> Result<Program, u64> {
        Program::part(plan, 0..plan.steps.len(), room, chip)
    }

    /// Lays out some steps of a plan, which take the messages of earlier ones from the host. Its messages are those of
    /// these steps.
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

    /// Adds the step that makes a message, and returns the tables that it joins. Messages before step `begin` come from
    /// the host.
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

    /// A step that makes a new table.
    fn task(&mut self, scope: Scope, inputs: Vec<usize>, folded: Scope, work: u64, tasks: &mut Vec<Task>) -> usize {
        let level = inputs.iter().map(|&input| self.tables[input].made).max().unwrap_or(0).max(self.floor) + 1;
        for &input in &inputs {
            self.tables[input].last = self.tables[input].last.max(level);
        }
        let output = self.table(scope, Content::Made, level);
        tasks.push(Task { output, inputs, folded, parts: 1, level, work, pair: None });
        output
    }

    /// The number of combinations of some positions.
    fn size(&self, scope: &[u32]) -> u64 {
        scope.iter().fold(1u64, |size, &p| size.saturating_mul(u64::from(self.domains[p as usize])))
    }

    /// The kernels that it takes.
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
    /// Bytes of device memory that a plan takes: its tables, all functions at a time, sums made beforehand.
    pub fn bytes(plan: &Plan) -> u64 {
        Gpu::bytes_of(plan, plan.placement.keep_messages, plan.costs.width.bytes())
    }

    /// Whether a device with so many bytes of free memory can hold a plan whose messages are not kept.
    pub(crate) fn holds(plan: &EliminationPlan, entry_bytes: u64, bytes: u64) -> bool {
        let room = Room { keep_messages: false, bytes: entry_bytes, entries: bytes / entry_bytes };
        Program::new(plan, room, &Chip::default()).is_ok()
    }

    pub(super) fn bytes_of(plan: &EliminationPlan, keep_messages: bool, entry_bytes: u64) -> u64 {
        let room = Room { keep_messages, bytes: entry_bytes, entries: 0 };
        // it is laid out as far as its size
        let program = Program::new(plan, room, &Chip::default());
        program.map_or_else(|entries| entries, |program| program.entries).saturating_mul(entry_bytes)
    }
}
