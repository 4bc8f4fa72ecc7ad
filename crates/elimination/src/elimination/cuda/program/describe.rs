//! Descriptors and launches of the steps, as kernels read them.

use super::{Launch, Program, Settled, Task};
use crate::elimination::cuda::cuts::Geometry;
use crate::elimination::cuda::shape::{BUSY, Chip, Digit, SETTLED, Shape, merge};
use crate::elimination::cuda::variant::{Phase, Variant};
use crate::elimination::cuda::words::{BoxWords, DigitWords, FoldWords, InputWords, SettledWords, StepWords};
use rustc_hash::FxHashMap;

/// Approximate number of combinations of a launch: some milliseconds, so that a run can stop.
const LAUNCH: u64 = 1 << 34;

/// Largest number of blocks of a step, each of which may take a word of the map on host and device.
const MOST_BLOCKS: u64 = 1 << 26;

/// The divisor of a table that is not divided.
pub(crate) const NEVER: u64 = u64::MAX;

/// Lets one kernel do all steps of single outputs of a level, if one of them needs that kernel and the others are few:
/// a launch takes longer than these steps.
fn fewer_kernels(steps: &mut [(&Task, Shape, Geometry)]) {
    let of = |variant: Variant| move |(.., geometry): &&(&Task, Shape, Geometry)| geometry.variant == variant;
    let threads = |(.., geometry): &(&Task, Shape, Geometry)| geometry.blocks * u64::from(geometry.threads);
    if steps.iter().any(|step| of(Variant::Down)(&step))
        && steps.iter().filter(of(Variant::Each)).map(threads).sum::<u64>() <= BUSY
    {
        let each = steps.iter_mut().filter(|(.., geometry)| geometry.variant == Variant::Each);
        each.for_each(|(.., geometry)| geometry.variant = Variant::Down);
    }
}

impl Program {
    /// Makes descriptors and launches. Returns false if a step would have too many blocks.
    pub(super) fn describe(&mut self, tasks: &[Task], chip: &Chip) -> bool {
        let bytes = self.room.bytes;
        let mut settling: Vec<(u32, usize)> = (0..self.settling.len()).map(|own| (self.made(own), own)).collect();
        settling.sort_unstable();
        let mut settling = settling.into_iter().peekable();
        for level in tasks.chunk_by(|a, b| a.level == b.level) {
            let cut = |task| {
                let shape = self.shape(task);
                let geometry = match task.pair {
                    Some(pair) => Geometry::pair(&shape, bytes, pair.role),
                    None => Geometry::new(&shape, bytes, chip),
                };
                (task, shape, geometry)
            };
            let mut steps: Vec<(&Task, Shape, Geometry)> = level.iter().map(cut).collect();
            fewer_kernels(&mut steps);
            // blocks of one kernel are adjacent
            steps.sort_by_key(|(.., geometry)| geometry.variant.rank());
            let made = level[0].level;
            let own = std::iter::from_fn(|| settling.next_if(|&(level, _)| level <= made));
            let mut own: FxHashMap<usize, usize> = own.map(|(_, own)| (self.settling[own].table, own)).collect();
            for (task, shape, geometry) in &steps {
                if geometry.blocks.saturating_mul(shape.parts.into()) > MOST_BLOCKS {
                    return false;
                }
                match geometry.variant {
                    Variant::Each | Variant::Down => {
                        let small = self.tables[task.output].entries <= SETTLED;
                        let settled = if small { own.remove(&task.output) } else { None };
                        let settled = settled.map_or(0, |range| self.settled(range, 0, bytes));
                        self.each(task, shape, geometry, bytes, settled);
                    }
                    Variant::Pair(_) => self.each(task, shape, geometry, bytes, 0),
                    _ => self.tile(task, shape, geometry, bytes),
                }
            }
            let mut own: Vec<usize> = own.into_values().collect();
            own.sort_unstable();
            self.settle(&own, made, bytes);
        }
        true
    }

    /// Returns the level that makes a table that is settled.
    fn made(&self, settled: usize) -> u32 {
        self.tables[self.settling[settled].table].made
    }

    /// Returns the sizes and strides of a task, with merged digits.
    fn shape(&self, task: &Task) -> Shape {
        let domains = &self.domains;
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
        let mut digits: Vec<Digit> = output.scope.iter().zip(output.strides(domains)).map(digit).collect();
        let part = if task.parts > 1 { digits.pop().map_or(0, |part| part.out) } else { 0 };
        let folded = task.folded.iter().map(|&p| Digit { size: domains[p as usize], out: 0, inputs: stride(p) });
        let mut outer = merge(folded.collect());
        let (domain, slabs) = outer.pop().map_or((1, vec![0; inputs.len()]), |last| (last.size, last.inputs));
        Shape { domain, slabs, digits, outer, parts: task.parts, part }.merged()
    }

    /// Adds a step of single outputs, to the last launch of its kernel if that is of the same level. `settled` is the
    /// number of the table that the step itself settles, counted from 1, or 0.
    fn each(&mut self, task: &Task, shape: &Shape, geometry: &Geometry, bytes: u64, settled: u64) {
        let first = self.map.len() as u32;
        let blocks = geometry.blocks as u32 * shape.parts;
        self.map.resize(self.map.len() + blocks as usize, self.steps.len() as u32);
        let (digit_at, input_at) = (self.digits.len() as u32, self.inputs.len() as u32);
        let (stride_at, fold_at) = (self.strides.len() as u32, self.folds.len() as u32);
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
        let mut domain = shape.domain;
        if geometry.variant == Variant::Down {
            domain = shape.folded() as u32;
            let last = (shape.domain > 1).then_some((shape.domain, &shape.slabs));
            let outer = shape.outer.iter().map(|digit| (digit.size, &digit.inputs));
            for (size, strides) in last.into_iter().chain(outer.rev()) {
                self.folds.push(FoldWords::new(size, self.strides.len() as u32));
                self.strides.extend(strides);
            }
        }
        let pair = task.pair;
        self.steps.push(StepWords {
            out: self.tables[task.output].at * bytes,
            part: shape.part * bytes,
            first,
            domain,
            digits: geometry.cuts.len() as u32,
            spread: geometry.spread,
            inputs: geometry.order.len() as u32,
            threads: geometry.threads,
            split: geometry.split,
            digit_at,
            input_at,
            stride_at,
            folds: self.folds.len() as u32 - fold_at,
            fold_at,
            parts: shape.parts,
            boxes: geometry.blocks as u32,
            sums: pair.map_or(0, |pair| pair.sums),
            also: pair.map_or(0, |pair| pair.also.into()),
            tie: pair.map_or(0.0, |pair| pair.tie),
            margin: pair.map_or(0.0, |pair| pair.margin),
            settled,
        });
        self.join_launch(geometry.variant, task.level, first, blocks, task.work);
    }

    /// Adds blocks to the last launch of their kernel, if that is of the same level and short enough, or else a new
    /// launch.
    fn join_launch(&mut self, variant: Variant, level: u32, first: u32, blocks: u32, work: u64) {
        let same = |launch: &&mut Launch| launch.variant == variant && launch.level == level;
        match self.launches.iter_mut().rev().take_while(|launch| launch.level == level).find(same) {
            Some(launch) if launch.work.saturating_add(work) <= LAUNCH => {
                launch.blocks += blocks;
                launch.work += work;
            }
            _ => self.launch(variant, level, None, first, blocks, work),
        }
    }

    /// Adds launches that settle those tables of a level that their steps do not settle: tables of one block by one
    /// launch, then the larger ones by two.
    fn settle(&mut self, tables: &[usize], level: u32, bytes: u64) {
        let entries = |program: &Self, range: usize| program.tables[program.settling[range].table].entries;
        let (small, large): (Vec<usize>, Vec<usize>) =
            tables.iter().partition(|&&range| entries(self, range) <= SETTLED);
        for (ranges, phases) in [(small, &[Phase::Whole][..]), (large, &[Phase::Measure, Phase::Scale])] {
            let first = self.settled_map.len();
            for range in ranges {
                let begin = self.settled_map.len();
                let blocks = entries(self, range).div_ceil(SETTLED) as usize;
                self.settled_map.resize(begin + blocks, self.settled.len() as u32);
                let _ = self.settled(range, begin as u32, bytes);
            }
            let blocks = (self.settled_map.len() - first) as u32;
            for &phase in phases.iter().filter(|_| blocks > 0) {
                self.launch(Variant::Settle(phase), level, None, first as u32, blocks, 0);
            }
        }
    }

    /// Adds a table that is settled by blocks from `first` on, and returns its number, counted from 1.
    fn settled(&mut self, range: usize, first: u32, bytes: u64) -> u64 {
        let Settled { table, divisor } = self.settling[range];
        let own = &self.tables[table];
        self.settled.push(SettledWords {
            table: own.at * bytes,
            divisor: divisor.map_or(NEVER, |divisor| self.tables[divisor].at * bytes),
            entries: own.entries,
            row: own.row,
            pitch: own.pitch,
            first,
            range: range as u32,
        });
        self.settled.len() as u64
    }

    /// Adds a step that is made in tiles, by the staged kernel or not.
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
        self.launch(geometry.variant, task.level, Some(self.tiled.len() - 1), 0, geometry.blocks as u32, task.work);
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

    /// Adds one launch, or several if one would take long.
    fn launch(&mut self, variant: Variant, level: u32, tiled: Option<usize>, first: u32, blocks: u32, work: u64) {
        let parts = work.div_ceil(LAUNCH).min(u64::from(blocks)).max(1) as u32;
        let share = |part: u32, all: u64| (u128::from(all) * u128::from(part) / u128::from(parts)) as u64;
        for part in 0..parts {
            let begin = share(part, u64::from(blocks)) as u32;
            let end = share(part + 1, u64::from(blocks)) as u32;
            let work = share(part + 1, work) - share(part, work);
            self.launches.push(Launch { variant, tiled, first: first + begin, blocks: end - begin, level, work });
        }
    }
}
