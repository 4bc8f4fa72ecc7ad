//! A plan as a device executes it: tables in one piece of memory, steps in levels, launches.
//!
//! The device makes the messages of the plan, each by one step from the same tables as the CPU. Beyond the plan there
//! are *pre-joins*: where inputs of a step share most of their variables, a table of their sums is made first, small
//! against the step itself. Sums of capped entries may be taken in any order (see kernels/bucket.cu), so no message
//! changes.

mod table;

use super::tile::{Chip, Digit, Geometry, INPUTS, Shape, Variant};
use super::words::{BoxWords, DigitWords, InputWords, StepWords};
use crate::elimination::plan::{EliminationPlan, Source};
use std::collections::BTreeMap;
use std::ops::Range;
pub(crate) use table::{Content, DeviceTable};

/// A pre-join pays where its table is so many times smaller than the step's combinations,
const SMALLER: u64 = 32;
/// and these are so many.
const WORTHWHILE: u64 = 1 << 22;
/// Inputs among which pairs are looked for.
const CANDIDATES: usize = 32;
/// Combinations of a launch, about: some milliseconds, so that a run can stop.
const LAUNCH: u64 = 1 << 34;
/// Entries that tables begin at multiples of.
pub(crate) const ALIGNMENT: u64 = 64;

/// A step of the device.
#[derive(Debug)]
struct Task {
    output: usize,
    inputs: Vec<usize>,
    /// The position that the minimum is taken over; none for a pre-join.
    position: Option<u32>,
    level: u32,
    /// Combinations of the plan's step; none for a pre-join.
    work: u64,
}

/// Blocks that are launched together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    pub variant: Variant,
    /// The step that is made in tiles, alone in its launch.
    pub tiled: Option<usize>,
    pub first: u32,
    pub blocks: u32,
    /// Combinations of the plan that it completes.
    pub work: u64,
}

/// What a program may take and should leave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    /// Whether messages stay.
    pub keep_messages: bool,
    /// Bytes of an entry.
    pub bytes: u64,
    /// Entries of device memory.
    pub entries: u64,
}

/// Everything that the device needs to know.
#[derive(Debug, Default)]
pub(crate) struct Program {
    /// What it was made for.
    pub room: Room,
    pub tables: Vec<DeviceTable>,
    /// By step of the plan, the table of its message.
    pub messages: Vec<usize>,
    /// Entries of device memory.
    pub entries: u64,
    /// Where the constants lie: the messages without variables.
    pub constants: Range<u64>,
    /// Where the messages lie, constants included, if the plan keeps them.
    pub kept: Range<u64>,
    pub steps: Vec<StepWords>,
    /// Steps made in tiles.
    pub tiled: Vec<BoxWords>,
    /// By block of the others, its step.
    pub map: Vec<u32>,
    pub digits: Vec<DigitWords>,
    pub inputs: Vec<InputWords>,
    pub strides: Vec<u64>,
    pub launches: Vec<Launch>,
    /// Combinations that the host did while it filled tables.
    pub filled: u64,
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
        let mut program = Program { room, ..Program::default() };
        let mut tasks = Vec::new();
        for step in &plan.steps[steps.clone()] {
            if let (true, Some(source @ Source::Function(_))) = (step.lowered, step.inputs.first().map(|i| i.source)) {
                let table = program.table(plan, step.scope.clone(), Content::Source(source), 0);
                program.messages.push(table);
                program.filled += step.joint;
                continue;
            }
            let inputs: Vec<usize> = step
                .inputs
                .iter()
                .map(|input| match input.source {
                    Source::Message(from) => match (from as usize).checked_sub(steps.start) {
                        Some(own) => program.messages[own],
                        None => program.table(plan, input.scope.clone(), Content::Message(from), 0),
                    },
                    source => program.table(plan, input.scope.clone(), Content::Source(source), 0),
                })
                .collect();
            let inputs = program.pre_join(plan, inputs, step.joint, &mut tasks);
            let output = program.task(plan, step.scope.clone(), inputs, Some(step.position), step.joint, &mut tasks);
            program.messages.push(output);
        }
        tasks.sort_by_key(|task| task.level);
        program.place(&tasks);
        if program.entries > room.entries {
            return Err(program.entries);
        }
        program.describe(plan, &tasks, chip);
        Ok(program)
    }

    fn table(&mut self, plan: &EliminationPlan, scope: Box<[u32]>, content: Content, made: u32) -> usize {
        self.tables.push(DeviceTable::new(scope, &plan.domains, content, made));
        self.tables.len() - 1
    }

    /// A step that makes a new table.
    fn task(
        &mut self,
        plan: &EliminationPlan,
        scope: Box<[u32]>,
        inputs: Vec<usize>,
        position: Option<u32>,
        work: u64,
        tasks: &mut Vec<Task>,
    ) -> usize {
        let level = inputs.iter().map(|&input| self.tables[input].made).max().unwrap_or(0) + 1;
        for &input in &inputs {
            self.tables[input].last = self.tables[input].last.max(level);
        }
        let output = self.table(plan, scope, Content::Made, level);
        tasks.push(Task { output, inputs, position, level, work });
        output
    }

    /// Adds up inputs until there are few enough for a kernel, and where it makes a large step cheaper.
    fn pre_join(
        &mut self,
        plan: &EliminationPlan,
        inputs: Vec<usize>,
        joint: u64,
        tasks: &mut Vec<Task>,
    ) -> Vec<usize> {
        if inputs.len() <= INPUTS && joint < WORTHWHILE {
            return inputs;
        }
        let size = |scope: &[u32]| {
            scope.iter().fold(1u64, |size, &p| size.saturating_mul(u64::from(plan.domains[p as usize])))
        };
        // clusters of inputs and the positions that they cover; those of one scope are one cluster from the start
        let mut clusters: BTreeMap<Box<[u32]>, Vec<usize>> = BTreeMap::new();
        for input in inputs {
            clusters.entry(self.tables[input].scope.clone()).or_default().push(input);
        }
        let mut clusters: Vec<(u64, Box<[u32]>, Vec<usize>)> =
            clusters.into_iter().map(|(scope, inputs)| (size(&scope), scope, inputs)).collect();
        loop {
            clusters.sort_by_key(|(size, ..)| *size);
            let mut best: Option<(u64, usize, usize, Box<[u32]>)> = None;
            for (b, (_, scope, _)) in clusters.iter().enumerate().take(CANDIDATES) {
                for (a, (_, other, _)) in clusters.iter().enumerate().take(b) {
                    let union = union(scope, other);
                    let size = size(&union);
                    if best.as_ref().is_none_or(|(least, ..)| size < *least) {
                        best = Some((size, a, b, union));
                    }
                }
            }
            let Some((size, a, b, union)) = best else { break };
            let pays = joint >= WORTHWHILE && size.saturating_mul(SMALLER) <= joint;
            if clusters.len() <= INPUTS && !pays {
                break;
            }
            let (.., inputs) = clusters.remove(b);
            clusters[a].0 = size;
            clusters[a].1 = union;
            clusters[a].2.extend(inputs);
        }
        let few = clusters.iter().map(|(.., inputs)| inputs.len()).sum::<usize>() <= INPUTS;
        let mut joined = Vec::new();
        for (size, scope, mut inputs) in clusters {
            let pays = joint >= WORTHWHILE && size.saturating_mul(SMALLER) <= joint;
            if few && !pays {
                joined.extend(inputs);
                continue;
            }
            while inputs.len() > 1 {
                // the small ones first, so that what they are added to is made late
                inputs.sort_by_key(|&input| self.tables[input].entries);
                let last = inputs.len() <= INPUTS;
                let mut sums = Vec::new();
                for part in inputs.chunks(INPUTS) {
                    let scope = match last {
                        true => scope.clone(),
                        false => part
                            .iter()
                            .fold(Box::default(), |all: Box<[u32]>, &input| union(&all, &self.tables[input].scope)),
                    };
                    sums.push((part.to_vec(), scope));
                }
                inputs = sums
                    .into_iter()
                    .map(|(part, scope)| match part[..] {
                        [alone] => alone,
                        _ => self.task(plan, scope, part, None, 0, tasks),
                    })
                    .collect();
            }
            joined.extend(inputs);
        }
        joined
    }

    /// Gives every table its place: constants, messages that are kept, what the host fills, and scratch that is used
    /// again once its last reader is done.
    fn place(&mut self, tasks: &[Task]) {
        let mut message = vec![false; self.tables.len()];
        for &table in &self.messages {
            message[table] = true;
        }
        let mut end = 0;
        for &table in &self.messages {
            if self.tables[table].scope.is_empty() {
                self.tables[table].at = end;
                end += 1;
            }
        }
        self.constants = 0..end;
        let keep_messages = self.room.keep_messages;
        let stays = |table: usize, own: &DeviceTable| {
            !own.scope.is_empty() && (message[table] && (keep_messages || own.content != Content::Made))
        };
        let filled = |table: usize, own: &DeviceTable| !message[table] && own.content != Content::Made;
        let mut put = |tables: &mut [DeviceTable], which: &dyn Fn(usize, &DeviceTable) -> bool| {
            for (index, table) in tables.iter_mut().enumerate() {
                if which(index, table) {
                    table.at = end.next_multiple_of(ALIGNMENT);
                    end = table.at + table.extent();
                }
            }
            end
        };
        let kept = put(&mut self.tables, &stays);
        self.kept = 0..kept;
        let fixed = put(&mut self.tables, &filled).next_multiple_of(ALIGNMENT);
        let mut scratch = Scratch { free: vec![(fixed, u64::MAX - fixed)], end: fixed };
        let mut alive: Vec<(u32, u64, u64)> = Vec::new();
        let mut level = 0;
        for task in tasks {
            if task.level > level {
                level = task.level;
                // what was read last in an earlier level is free
                alive.retain(|&(last, at, size)| {
                    if last < level {
                        scratch.give_back(at, size);
                    }
                    last >= level
                });
            }
            let table = &mut self.tables[task.output];
            if table.scope.is_empty() && message[task.output] || stays(task.output, table) {
                continue;
            }
            let size = table.extent().next_multiple_of(ALIGNMENT);
            table.at = scratch.take(size);
            alive.push((table.last.max(level), table.at, size));
        }
        self.entries = scratch.end;
    }

    /// Descriptors and launches.
    fn describe(&mut self, plan: &EliminationPlan, tasks: &[Task], chip: &Chip) {
        let bytes = self.room.bytes;
        let mut previous = 0;
        for level in tasks.chunk_by(|a, b| a.level == b.level) {
            for task in level {
                let shape = self.shape(plan, task);
                let geometry = Geometry::new(&shape, bytes, chip);
                match geometry.variant {
                    Variant::Each => self.each(task, &shape, &geometry, bytes, &mut previous),
                    Variant::Staged(..) | Variant::Tile(..) => self.tile(task, &shape, &geometry, bytes),
                }
            }
        }
    }

    /// Sizes and strides of a task, its digits merged.
    fn shape(&self, plan: &EliminationPlan, task: &Task) -> Shape {
        let domains = &plan.domains;
        let inputs: Vec<(&[u32], Vec<u64>)> = task
            .inputs
            .iter()
            .map(|&input| (&self.tables[input].scope[..], self.tables[input].strides(domains)))
            .collect();
        let stride = |p: u32| -> Vec<u64> {
            let of = |(scope, steps): &(&[u32], Vec<u64>)| scope.binary_search(&p).map_or(0, |digit| steps[digit]);
            inputs.iter().map(of).collect()
        };
        let output = &self.tables[task.output];
        let digit = |(&p, out): (&u32, u64)| Digit { size: domains[p as usize], out, inputs: stride(p) };
        let digits = output.scope.iter().zip(output.strides(domains)).map(digit).collect();
        let (domain, slabs) = match task.position {
            Some(p) => (domains[p as usize], stride(p)),
            None => (1, vec![0; inputs.len()]),
        };
        Shape { domain, slabs, digits }.merged()
    }

    /// Adds a step of single outputs, to the last launch where that is of the same level.
    fn each(&mut self, task: &Task, shape: &Shape, geometry: &Geometry, bytes: u64, level: &mut u32) {
        let first = self.map.len() as u32;
        self.map.resize(self.map.len() + geometry.blocks as usize, self.steps.len() as u32);
        self.steps.push(StepWords {
            out: self.tables[task.output].at * bytes,
            first,
            domain: shape.domain,
            digits: geometry.cuts.len() as u32,
            spread: geometry.spread,
            inputs: geometry.order.len() as u32,
            threads: geometry.threads,
            split: geometry.split,
            digit_at: self.digits.len() as u32,
            input_at: self.inputs.len() as u32,
            stride_at: self.strides.len() as u32,
        });
        for cut in &geometry.cuts {
            let digit = &shape.digits[cut.digit];
            self.digits.push(DigitWords::new(cut));
            self.strides.extend(digit.inputs.iter().map(|stride| stride * bytes));
            self.strides.push(digit.out * bytes);
        }
        for input in 0..geometry.order.len() {
            let words = self.input(task, shape, geometry, bytes, input);
            self.inputs.push(words);
        }
        let blocks = geometry.blocks as u32;
        let open = std::mem::replace(level, task.level) == task.level;
        match self.launches.iter_mut().rev().find(|launch| launch.tiled.is_none()) {
            Some(launch) if open && launch.work.saturating_add(task.work) <= LAUNCH => {
                launch.blocks += blocks;
                launch.work += task.work;
            }
            _ => self.launch(geometry.variant, None, first, blocks, task.work),
        }
    }

    /// Adds a step that is made in tiles, staged or not.
    fn tile(&mut self, task: &Task, shape: &Shape, geometry: &Geometry, bytes: u64) {
        let along = |digit: Option<usize>| digit.map_or(0, |digit| shape.digits[digit].out * bytes);
        let mut words = BoxWords {
            out: self.tables[task.output].at * bytes,
            tile: geometry.tile.map(along),
            domain: shape.domain,
            digits: geometry.cuts.len() as u32,
            spread: geometry.spread,
            inputs: geometry.order.len() as u32,
            threads: geometry.threads,
            ends: geometry.ends,
            values: geometry.values,
            one: 1,
            ..BoxWords::default()
        };
        for (place, cut) in geometry.cuts.iter().enumerate() {
            let digit = &shape.digits[cut.digit];
            words.digit[place] = DigitWords::new(cut);
            for (column, &input) in geometry.order.iter().enumerate() {
                words.stride[place][column] = digit.inputs[input] * bytes;
            }
            words.stride[place][geometry.order.len()] = digit.out * bytes;
        }
        for (place, &input) in geometry.order.iter().enumerate() {
            words.input[place] = self.input(task, shape, geometry, bytes, input);
        }
        self.tiled.push(words);
        self.launch(geometry.variant, Some(self.tiled.len() - 1), 0, geometry.blocks as u32, task.work);
    }

    fn input(&self, task: &Task, shape: &Shape, geometry: &Geometry, bytes: u64, input: usize) -> InputWords {
        let along = |digit: Option<usize>| digit.map_or(0, |digit| shape.digits[digit].inputs[input] * bytes);
        InputWords {
            table: self.tables[task.inputs[input]].at * bytes,
            slab: shape.slabs[input] * bytes,
            tile: geometry.tile.map(|digit| along(digit) as u32),
            run: u32::from(shape.digits.last().is_some_and(|digit| digit.inputs[input] != 0)),
        }
    }

    /// One launch, or several where it would take long.
    fn launch(&mut self, variant: Variant, tiled: Option<usize>, first: u32, blocks: u32, work: u64) {
        let parts = work.div_ceil(LAUNCH).min(u64::from(blocks)).max(1) as u32;
        let share = |part: u32, all: u64| (u128::from(all) * u128::from(part) / u128::from(parts)) as u64;
        for part in 0..parts {
            let begin = share(part, u64::from(blocks)) as u32;
            let end = share(part + 1, u64::from(blocks)) as u32;
            let work = share(part + 1, work) - share(part, work);
            self.launches.push(Launch { variant, tiled, first: first + begin, blocks: end - begin, work });
        }
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

/// Two ascending lists as one.
fn union(a: &[u32], b: &[u32]) -> Box<[u32]> {
    let mut all: Vec<u32> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    all.dedup();
    all.into()
}

/// Memory that is handed out and given back before anything runs.
struct Scratch {
    /// Free pieces as start and size, by start.
    free: Vec<(u64, u64)>,
    /// The end of all that was ever taken.
    end: u64,
}

impl Scratch {
    /// The first piece that is large enough; the last one has no end.
    fn take(&mut self, size: u64) -> u64 {
        let place = self.free.iter().position(|&(_, free)| free >= size).unwrap_or(self.free.len() - 1);
        let (at, free) = self.free[place];
        if free == size {
            let _ = self.free.remove(place);
        } else {
            self.free[place] = (at + size, free - size);
        }
        self.end = self.end.max(at + size);
        at
    }

    fn give_back(&mut self, at: u64, size: u64) {
        let place = self.free.partition_point(|&(start, _)| start < at);
        self.free.insert(place, (at, size));
        if let Some(&(next, more)) = self.free.get(place + 1)
            && at + size == next
        {
            self.free[place].1 += more;
            let _ = self.free.remove(place + 1);
        }
        if place > 0 && self.free[place - 1].0 + self.free[place - 1].1 == at {
            self.free[place - 1].1 += self.free[place].1;
            let _ = self.free.remove(place);
        }
    }
}
