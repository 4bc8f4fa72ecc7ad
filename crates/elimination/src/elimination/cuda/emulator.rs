//! Execution of a device's program on the host, from its descriptors.

use super::execution::lay_out;
use super::program::{Back, Content, DeviceTable, Launch, NEVER, Program, Room, Wanted};
use super::propagation::Propagation;
use super::running::{Bits, Machine};
use super::shape::{Chip, SETTLED};
use super::variant::{GROUPS, Staged};
use super::variant::{Kinds, Phase, Role, Variant};
use super::words::{BoxWords, DigitWords, InputWords, SettledWords, StepWords};
use crate::algebra::{Division, MinSum, Semiring, SumProduct};
use crate::device::DeviceError;
use crate::elimination::executor::Task;
use crate::elimination::plan::EliminationPlan;
#[cfg(test)]
use crate::elimination::plan::Plan;
#[cfg(test)]
use crate::model::Problem;
use crate::model::{Cost, Scaled, scale};
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use std::ops::Range;

/// Returns the task with 64-bit entries, whatever the plan's entry type is.
#[cfg(test)]
pub(super) fn task<'a>(problem: &'a Problem, plan: &'a Plan) -> Task<'a, MinSum<Cost>> {
    let semiring = MinSum { cap: plan.cap() };
    Task { plan: &plan.structure, placement: &plan.placement, factors: problem, semiring }
}

#[cfg(test)]
pub(super) fn room(plan: &Plan, entries: u64) -> Room {
    Room { keep_messages: plan.placement.keep_messages, bytes: plan.costs.width.bytes(), entries }
}

/// Executes the kernels thread by thread. Memory starts as garbage, which gaps between rows may pass only to other
/// gaps.
pub(super) struct Emulator<'a, S: Semiring> {
    program: &'a Program,
    pub(super) memory: Vec<S::Entry>,
    /// By settled table, the range of its entries.
    pub(super) ranges: Vec<Bits>,
    bytes: u64,
    semiring: S,
}

/// A sum-product program that the host executes from its descriptors.
pub struct EmulatedMachine<'a>(Emulator<'a, SumProduct>);

/// The emulator's device: multiprocessors of an H200, and no staged kernels.
pub const EMULATED: Chip = Chip { multiprocessors: 132, shared: 0, staged: u64::MAX };

impl Back {
    /// Lays out both directions for a device of unlimited memory.
    ///
    /// # Panics
    /// Never: there is no limit.
    pub fn of_emulator(plan: &EliminationPlan, wanted: &[Wanted], kept: &[u32]) -> Back {
        let room = Room { keep_messages: false, bytes: size_of::<f64>() as u64, entries: u64::MAX };
        Back::new(plan, wanted, kept, room, &EMULATED).expect("no limit")
    }

    /// Returns a propagation that the host executes.
    pub fn emulated<'a>(&'a self, task: Task<'a, SumProduct>) -> Propagation<EmulatedMachine<'a>> {
        let machine = EmulatedMachine::new(&self.program, &|table| lay_out(task, table));
        Propagation::over(machine, self.steps.clone(), self.turn)
    }
}

impl<'a> EmulatedMachine<'a> {
    /// Creates a machine over memory in which the host's tables are filled.
    pub fn new(program: &'a Program, table: &dyn Fn(&DeviceTable) -> Storage<f64>) -> Self {
        EmulatedMachine(Emulator::filled(program, SumProduct, table))
    }
}

impl Machine for EmulatedMachine<'_> {
    fn program(&self) -> &Program {
        self.0.program
    }

    fn run(&mut self, launches: Range<usize>, _: &Stop) -> Result<bool, DeviceError> {
        self.0.program.launches[launches].iter().for_each(|launch| self.0.launch(launch));
        Ok(true)
    }

    fn ranges(&self) -> Result<Vec<Bits>, DeviceError> {
        Ok(self.0.ranges.clone())
    }

    fn entries(&self, range: Range<u64>) -> Result<Vec<f64>, DeviceError> {
        Ok(self.0.memory[range.start as usize..range.end as usize].to_vec())
    }
}

/// A semiring that can emulate the settling of its tables.
pub(super) trait Settling: Semiring {
    /// An entry that no table contains before it is written.
    const GARBAGE: Self::Entry;

    /// Settles some entries of a table as a block of a kernel does.
    fn settle_entries(emulator: &mut Emulator<'_, Self>, phase: Phase, own: SettledWords, entries: Range<u64>);

    /// Returns the entry and the second entry that a thread of a step on pairs makes. `values` has the product and the
    /// sum for each value of the variable.
    fn pair(role: Role, step: &StepWords, values: &[(Self::Entry, Self::Entry)]) -> (Self::Entry, Self::Entry);

    /// Returns the sum of entries, for semirings whose steps on pairs add up.
    fn sum(entries: impl Iterator<Item = Self::Entry>) -> Self::Entry;
}

impl Settling for MinSum<Cost> {
    const GARBAGE: Cost = -7;

    fn settle_entries(_: &mut Emulator<'_, Self>, phase: Phase, _: SettledWords, _: Range<u64>) {
        panic!("costs are not settled: {phase:?}");
    }

    fn pair(role: Role, _: &StepWords, _: &[(Cost, Cost)]) -> (Cost, Cost) {
        panic!("costs are no pairs: {role:?}");
    }

    fn sum(entries: impl Iterator<Item = Cost>) -> Cost {
        entries.sum()
    }
}

impl Settling for SumProduct {
    const GARBAGE: f64 = f64::NAN;

    fn settle_entries(emulator: &mut Emulator<'_, Self>, phase: Phase, own: SettledWords, entries: Range<u64>) {
        let place = |entry: u64| entry / own.row * own.pitch + entry % own.row;
        let at = |table: u64, entry: u64| (table / 8 + place(entry)) as usize;
        let range = own.range as usize;
        if phase != Phase::Scale {
            for entry in entries.clone() {
                let mut number = emulator.memory[at(own.table, entry)];
                if own.divisor != NEVER {
                    number = SumProduct.divide(number, emulator.memory[at(own.divisor, entry)]);
                }
                assert!(!number.is_nan(), "an entry was never made");
                emulator.memory[at(own.table, entry)] = number;
                let bits = number.to_bits();
                let [most, least] = &mut emulator.ranges[range];
                *most = bits.max(*most);
                if bits != 0 {
                    *least = (!bits).max(*least);
                }
            }
        }
        let most = emulator.ranges[range][0];
        if phase != Phase::Measure && most != 0 {
            let exponent = Scaled::new(f64::from_bits(most)).exponent;
            for entry in entries {
                let number = &mut emulator.memory[at(own.table, entry)];
                *number = scale(*number, -exponent);
            }
        }
    }

    fn pair(role: Role, step: &StepWords, values: &[(f64, f64)]) -> (f64, f64) {
        let sums = || values.iter().map(|&(_, sum)| sum);
        match role {
            Role::Expect => {
                let weight: f64 = values.iter().map(|&(product, _)| product).sum();
                let worth: f64 = values.iter().map(|&(product, sum)| product * sum).sum();
                (if weight < f64::MIN_POSITIVE { 0.0 } else { worth / weight }, weight)
            }
            Role::Largest => {
                let most = sums().fold(0.0, f64::max);
                let choice = sums().position(|sum| sum >= most * (1.0 - step.tie)).unwrap_or(0);
                let others = sums().enumerate().filter(|&(value, _)| value != choice);
                let second = others.map(|(_, sum)| sum).fold(f64::NEG_INFINITY, f64::max);
                let certain = values.len() == 1 || values[choice].1 - second > step.margin * most;
                (most, f64::from_bits(2 * choice as u64 + u64::from(certain)))
            }
            Role::Constant => {
                let products = || values.iter().map(|&(product, _)| product);
                let (least, most) = (products().fold(f64::INFINITY, f64::min), products().fold(0.0, f64::max));
                (values[0].0, if most > 0.0 { (most - least) / most } else { 0.0 })
            }
        }
    }

    fn sum(entries: impl Iterator<Item = f64>) -> f64 {
        entries.sum()
    }
}

impl<'a, S: Settling> Emulator<'a, S> {
    #[cfg(test)]
    pub(super) fn new(program: &'a Program, task: Task<'_, S>) -> Self {
        Emulator::filled(program, task.semiring, &|table| lay_out(task, table))
    }

    fn filled(program: &'a Program, semiring: S, table: &dyn Fn(&DeviceTable) -> Storage<S::Entry>) -> Self {
        let mut memory = vec![S::GARBAGE; program.entries as usize];
        let fill = table;
        for table in program.tables.iter().filter(|table| table.content != Content::Made) {
            let filled = fill(table);
            for (index, &entry) in filled.iter().enumerate() {
                memory[(table.at + table.place(index as u64)) as usize] = entry;
            }
        }
        Emulator::over(program, semiring, memory)
    }

    pub(super) fn over(program: &'a Program, semiring: S, memory: Vec<S::Entry>) -> Self {
        let ranges = vec![[0; 2]; program.settled.len()];
        Emulator { program, memory, ranges, bytes: program.room.bytes, semiring }
    }

    fn entry(&self, at: u64) -> S::Entry {
        assert_eq!(at % self.bytes, 0);
        self.memory[(at / self.bytes) as usize]
    }

    fn joined(&self, entries: impl Iterator<Item = S::Entry>) -> S::Entry {
        let s = self.semiring;
        entries.fold(s.one(), |all, entry| s.settle(s.combine(all, entry)))
    }

    #[cfg(test)]
    pub(super) fn run(&mut self) {
        self.program.launches.iter().for_each(|launch| self.launch(launch));
    }

    pub(super) fn launch(&mut self, launch: &Launch) {
        // no block may read what its launch writes, so it is written after the launch
        let mut written = Vec::new();
        for block in launch.first..launch.first + launch.blocks {
            match (launch.tiled, launch.variant) {
                (Some(step), Variant::Staged(staged, inputs)) => {
                    self.staged(&staged, inputs, &self.program.tiled[step], block, &mut written);
                }
                (Some(step), _) => self.tiled(launch.variant, &self.program.tiled[step], block, &mut written),
                (None, Variant::Settle(phase)) => {
                    let own = self.program.settled[self.program.settled_map[block as usize] as usize];
                    let begin = u64::from(block - own.first) * SETTLED;
                    S::settle_entries(self, phase, own, begin..own.entries.min(begin + SETTLED));
                }
                (None, Variant::Down) => self.down(block, &mut written),
                (None, Variant::Pair(role)) => self.pair(role, block, &mut written),
                (None, _) => self.each(block, &mut written),
            }
        }
        for (at, entry) in written {
            self.memory[(at / self.bytes) as usize] = entry;
        }
        if matches!(launch.variant, Variant::Each | Variant::Down) {
            for block in launch.first..launch.first + launch.blocks {
                let step = self.step(block);
                // only the last block of the step settles the table
                if step.settled != 0 && block + 1 == step.first + step.boxes * step.parts {
                    let own = self.program.settled[step.settled as usize - 1];
                    S::settle_entries(self, Phase::Whole, own, 0..own.entries);
                }
            }
        }
    }

    fn down(&self, block: u32, written: &mut Vec<(u64, S::Entry)>) {
        let Program { digits, inputs, folds, strides, .. } = self.program;
        let step = self.step(block);
        let digits = &digits[step.digit_at as usize..][..step.digits as usize];
        let inputs = &inputs[step.input_at as usize..][..step.inputs as usize];
        let folds = &folds[step.fold_at as usize..][..step.folds as usize];
        let part = u64::from((block - step.first) / step.boxes);
        let share = |part: u64| (u64::from(step.domain) * part / u64::from(step.parts)) as u32;
        for thread in (0..step.threads).step_by(1 << step.split) {
            let values = values(digits, step.spread, block - step.first, thread >> step.split);
            let product = |combination: u32| {
                let entry = |(k, input): (usize, &InputWords)| {
                    let (mut rest, mut at) = (combination, 0);
                    for fold in folds {
                        let quotient = fold.divide(rest);
                        assert_eq!(quotient, rest / fold.size);
                        at += u64::from(rest % fold.size) * strides[fold.stride_at as usize + k];
                        rest = quotient;
                    }
                    assert_eq!(rest, 0);
                    self.entry(self.at(step, &values, input.table, k) + at * self.bytes)
                };
                self.joined(inputs.iter().enumerate().map(entry))
            };
            let s = self.semiring;
            let sum = (share(part)..share(part + 1)).map(product).fold(s.zero(), |sum, entry| s.fold(sum, entry));
            written.push((self.at(step, &values, step.out, inputs.len()) + part * step.part, sum));
        }
    }

    /// Returns the step to which a block belongs.
    fn step(&self, block: u32) -> &StepWords {
        &self.program.steps[self.program.map[block as usize] as usize]
    }

    /// Returns the address of an entry of a table, given by its column and the values of the step's digits.
    fn at(&self, step: &StepWords, values: &[u32], table: u64, column: usize) -> u64 {
        let columns = step.inputs as usize + 1;
        let stride = |digit: usize| self.program.strides[step.stride_at as usize + digit * columns + column];
        table + values.iter().enumerate().map(|(digit, &value)| stride(digit) * u64::from(value)).sum::<u64>()
    }

    fn each(&self, block: u32, written: &mut Vec<(u64, S::Entry)>) {
        let step = self.step(block);
        let digits = &self.program.digits[step.digit_at as usize..][..step.digits as usize];
        let inputs = &self.program.inputs[step.input_at as usize..][..step.inputs as usize];
        for thread in (0..step.threads).step_by(1 << step.split) {
            let values = values(digits, step.spread, block - step.first, thread >> step.split);
            let product = |a: u64| {
                let entry = |(k, input): (usize, &InputWords)| {
                    self.entry(self.at(step, &values, input.table, k) + a * input.slab)
                };
                self.joined(inputs.iter().enumerate().map(entry))
            };
            let s = self.semiring;
            let folded = (0..step.domain.into()).map(product).fold(s.zero(), |all, entry| s.fold(all, entry));
            written.push((self.at(step, &values, step.out, inputs.len()), folded));
        }
    }

    fn pair(&self, role: Role, block: u32, written: &mut Vec<(u64, S::Entry)>) {
        let step = self.step(block);
        let digits = &self.program.digits[step.digit_at as usize..][..step.digits as usize];
        let inputs = &self.program.inputs[step.input_at as usize..][..step.inputs as usize];
        assert!(role == Role::Expect || step.split == 0);
        let read = (step.inputs - step.also) as usize;
        let products = read - step.sums as usize;
        for thread in (0..step.threads).step_by(1 << step.split) {
            let values = values(digits, step.spread, block - step.first, thread >> step.split);
            let entry = |k: usize, a: u64| self.entry(self.at(step, &values, inputs[k].table, k) + a * inputs[k].slab);
            let value = |a: u64| {
                (self.joined((0..products).map(|k| entry(k, a))), S::sum((products..read).map(|k| entry(k, a))))
            };
            let all: Vec<(S::Entry, S::Entry)> = (0..step.domain.into()).map(value).collect();
            let (made, second) = S::pair(role, step, &all);
            written.push((self.at(step, &values, step.out, inputs.len()), made));
            if step.also > 0 {
                written.push((self.at(step, &values, inputs[read].table, read), second));
            }
        }
    }

    fn staged(
        &self,
        staged: &Staged,
        inputs: [u32; 3],
        step: &BoxWords,
        block: u32,
        written: &mut Vec<(u64, S::Entry)>,
    ) {
        let Staged { tile, tiles, lanes, .. } = *staged;
        let starts = values(&step.digit[..step.digits as usize], 0, block, 0);
        let at = |table: u64, column: usize| {
            let digits = starts.iter().enumerate();
            table + digits.map(|(digit, &value)| step.stride[digit][column] * u64::from(value)).sum::<u64>()
        };
        // value `own` of tile `number` along a digit of the tile, from the beginning of the box
        let value =
            |digit: usize, number: u32, own: u32| (number * tile[digit]).min(step.values[digit] - tile[digit]) + own;
        // the first input of each group
        let begins = [0, step.ends[0], step.ends[1], step.ends[2]];
        assert_eq!(begins[3], step.inputs);
        let s = self.semiring;
        let mut least = vec![s.zero(); (tile.iter().product::<u32>() * staged.threads()) as usize];
        for slab in 0..u64::from(step.domain) {
            // the stages of all inputs, as the kernel fills them
            let mut stages = Vec::new();
            for (group, [a, b]) in GROUPS.into_iter().enumerate() {
                assert_eq!(inputs[group], begins[group + 1] - begins[group]);
                for k in begins[group]..begins[group + 1] {
                    let input = &step.input[k as usize];
                    assert_eq!(input.tile[3 - a - b], 0);
                    let mut stage = Vec::new();
                    for row in 0..tile[a] * tile[b] * tiles[a] * tiles[b] {
                        let (number, own) = (row % (tiles[a] * tiles[b]), row / (tiles[a] * tiles[b]));
                        let first = u64::from(value(a, number / tiles[b], own / tile[b]));
                        let second = u64::from(value(b, number % tiles[b], own % tile[b]));
                        let place = at(input.table, k as usize) + slab * input.slab;
                        let place = place + first * u64::from(input.tile[a]) + second * u64::from(input.tile[b]);
                        assert_eq!(place % 16, 0);
                        stage.extend((0..u64::from(lanes)).map(|lane| self.entry(place + lane * self.bytes)));
                    }
                    stages.push((a, b, stage));
                }
            }
            for (output, least) in least.iter_mut().enumerate() {
                let (number, own, lane) = staged_output(staged, output as u32);
                let entry = |&(a, b, ref stage): &(usize, usize, Vec<S::Entry>)| {
                    let row = (own[a] * tile[b] + own[b]) * tiles[a] * tiles[b] + number[a] * tiles[b] + number[b];
                    stage[(row * lanes + lane) as usize]
                };
                *least = s.fold(*least, self.joined(stages.iter().map(entry)));
            }
        }
        for (output, least) in least.into_iter().enumerate() {
            let (number, own, lane) = staged_output(staged, output as u32);
            let along: u64 = (0..3).map(|d| u64::from(value(d, number[d], own[d])) * step.tile[d]).sum();
            written.push((at(step.out, step.inputs as usize) + along + u64::from(lane) * self.bytes, least));
        }
    }

    fn tiled(&self, variant: Variant, step: &BoxWords, block: u32, written: &mut Vec<(u64, S::Entry)>) {
        let Variant::Tile([rx, ry, rz, run], kinds) = variant else { panic!("{variant:?}") };
        let inputs = &step.input[..step.inputs as usize];
        for thread in 0..step.threads {
            let values = values(&step.digit[..step.digits as usize], step.spread, block, thread);
            let at = |table: u64, column: usize| {
                let digits = values.iter().enumerate();
                table + digits.map(|(digit, &value)| step.stride[digit][column] * u64::from(value)).sum::<u64>()
            };
            for place in 0..rx * ry * rz * run {
                let neighbour = u64::from(place % run);
                let own = [place / run % rx, place / run / rx % ry, place / run / rx / ry].map(u64::from);
                let sum = |a: u64| -> S::Entry {
                    let entry = |(k, input): (usize, &InputWords)| {
                        // an input does not read the digit that its group lacks
                        let group = step.ends.partition_point(|&end| end <= k as u32);
                        if let Some(missing) = [2, 1, 0].get(group) {
                            assert_eq!(input.tile[*missing], 0);
                        }
                        let place = k as u32 - if group == 0 { 0 } else { step.ends[group - 1] };
                        let side = match kinds[group] {
                            Kinds::Few { runs, singles } => {
                                assert!(place < runs + singles);
                                run > 1 && place < runs
                            }
                            Kinds::Many => run > 1 && input.run != 0,
                        };
                        let along: u64 = (0..3).map(|digit| own[digit] * u64::from(input.tile[digit])).sum();
                        let at = at(input.table, k) + a * input.slab + along;
                        if side {
                            assert_eq!(at % (u64::from(run) * self.bytes), 0);
                        }
                        self.entry(at + if side { neighbour * self.bytes } else { 0 })
                    };
                    self.joined(inputs.iter().enumerate().map(entry))
                };
                let s = self.semiring;
                let least = (0..u64::from(step.domain)).map(sum).fold(s.zero(), |all, entry| s.fold(all, entry));
                let along: u64 = (0..3).map(|digit| own[digit] * step.tile[digit]).sum();
                let at = at(step.out, inputs.len()) + along + neighbour * self.bytes;
                written.push((at, least));
            }
        }
    }
}

/// Returns, for an output of a box of the staged kernel, its tile's number along each digit, its index in the tile, and
/// its lane.
pub(super) fn staged_output(staged: &Staged, output: u32) -> ([u32; 3], [u32; 3], u32) {
    let Staged { tile: [x, y, z], tiles: [_, ty, tz], lanes, .. } = *staged;
    let (thread, own) = (output / (x * y * z), output % (x * y * z));
    let number = thread / lanes;
    ([number / tz / ty, number / tz % ty, number % tz], [own / z / y, own / z % y, own % z], thread % lanes)
}

/// Returns the values of all digits at which a thread begins.
pub(super) fn values(digits: &[DigitWords], spread: u32, block: u32, mut rank: u32) -> Vec<u32> {
    let mut values = Vec::new();
    for (number, digit) in digits.iter().enumerate() {
        let start = (block / digit.below % digit.boxes * digit.extent * digit.tile).min(digit.last);
        if number >= spread as usize {
            assert_eq!(digit.extent, 1);
            values.push(start);
            continue;
        }
        let quotient = (rank * digit.magic) >> 20;
        assert_eq!(quotient, rank / digit.extent);
        values.push((start + rank % digit.extent * digit.tile).min(digit.last));
        rank = quotient;
    }
    assert_eq!(rank, 0);
    values
}
