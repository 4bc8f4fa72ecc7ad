//! A device's program executed on the host, as its descriptors say.

use super::execution::lay_out;
use super::program::{Program, Room};
use super::stage::{GROUPS, Staged};
use super::tile::{Kinds, Variant};
use super::words::{BoxWords, DigitWords, InputWords};
use crate::algebra::MinSum;
use crate::elimination::executor::Task;
use crate::elimination::plan::Plan;
use crate::model::{Cost, Problem};
use crate::tensor::storage::Storage;

/// On 64-bit entries, whatever the plan's are.
pub(super) fn task<'a>(problem: &'a Problem, plan: &'a Plan) -> Task<'a, MinSum<Cost>> {
    let semiring = MinSum { cap: plan.cap() };
    Task { plan: &plan.structure, placement: &plan.placement, factors: problem, semiring }
}

pub(super) fn room(plan: &Plan, entries: u64) -> Room {
    Room { keep_messages: plan.placement.keep_messages, bytes: plan.costs.width.bytes(), entries }
}

/// What the kernels do, thread by thread, on 64-bit entries; memory starts as garbage, which gaps may spread to gaps
/// only.
pub(super) struct Emulator<'a> {
    program: &'a Program,
    pub(super) memory: Vec<Cost>,
    bytes: u64,
    cap: Cost,
}

impl<'a> Emulator<'a> {
    pub(super) fn new(program: &'a Program, problem: &Problem, plan: &Plan) -> Self {
        let mut memory = vec![-7; program.entries as usize];
        for table in &program.tables {
            let filled: Storage<Cost> = lay_out(task(problem, plan), table);
            for (index, &entry) in filled.iter().enumerate() {
                memory[(table.at + table.place(index as u64)) as usize] = entry;
            }
        }
        Emulator::over(program, plan, memory)
    }

    pub(super) fn over(program: &'a Program, plan: &Plan, memory: Vec<Cost>) -> Self {
        Emulator { program, memory, bytes: plan.costs.width.bytes(), cap: plan.cap() }
    }

    fn entry(&self, at: u64) -> Cost {
        assert_eq!(at % self.bytes, 0);
        self.memory[(at / self.bytes) as usize]
    }

    pub(super) fn run(&mut self) {
        for launch in &self.program.launches {
            // what a launch writes, no block of it may read: written at its end
            let mut written = Vec::new();
            for block in launch.first..launch.first + launch.blocks {
                match (launch.tiled, launch.variant) {
                    (Some(step), Variant::Staged(staged, inputs)) => {
                        self.staged(&staged, inputs, &self.program.tiled[step], block, &mut written);
                    }
                    (Some(step), _) => self.tiled(launch.variant, &self.program.tiled[step], block, &mut written),
                    (None, _) => self.each(block, &mut written),
                }
            }
            for (at, entry) in written {
                self.memory[(at / self.bytes) as usize] = entry;
            }
        }
    }

    fn each(&self, block: u32, written: &mut Vec<(u64, Cost)>) {
        let step = self.program.steps[self.program.map[block as usize] as usize];
        let columns = step.inputs as usize + 1;
        let digits = &self.program.digits[step.digit_at as usize..][..step.digits as usize];
        let inputs = &self.program.inputs[step.input_at as usize..][..step.inputs as usize];
        let strides =
            |digit: usize, column: usize| self.program.strides[step.stride_at as usize + digit * columns + column];
        for thread in (0..step.threads).step_by(1 << step.split) {
            let values = values(digits, step.spread, block - step.first, thread >> step.split);
            let at = |table: u64, column: usize| {
                let digits = values.iter().enumerate();
                table + digits.map(|(digit, &value)| strides(digit, column) * u64::from(value)).sum::<u64>()
            };
            let sum = |a: u64| {
                inputs.iter().enumerate().map(|(k, input)| self.entry(at(input.table, k) + a * input.slab)).sum()
            };
            let least: Cost = (0..u64::from(step.domain)).map(sum).min().unwrap_or(self.cap);
            written.push((at(step.out, columns - 1), least.min(self.cap)));
        }
    }

    fn staged(&self, staged: &Staged, inputs: [u32; 3], step: &BoxWords, block: u32, written: &mut Vec<(u64, Cost)>) {
        let Staged { tile, tiles, lanes, .. } = *staged;
        let starts = values(&step.digit[..step.digits as usize], 0, block, 0);
        let at = |table: u64, column: usize| {
            let digits = starts.iter().enumerate();
            table + digits.map(|(digit, &value)| step.stride[digit][column] * u64::from(value)).sum::<u64>()
        };
        // where value `own` of tile `number` of a digit of the tile is, from the beginning of the box
        let value =
            |digit: usize, number: u32, own: u32| (number * tile[digit]).min(step.values[digit] - tile[digit]) + own;
        // by group its first input
        let begins = [0, step.ends[0], step.ends[1], step.ends[2]];
        assert_eq!(begins[3], step.inputs);
        let mut least = vec![self.cap; (tile.iter().product::<u32>() * staged.threads()) as usize];
        for slab in 0..u64::from(step.domain) {
            // a stage as it is filled, by input
            let mut stages = Vec::new();
            for (group, [a, b]) in GROUPS.into_iter().enumerate() {
                assert_eq!(inputs[group], begins[group + 1] - begins[group]);
                for k in begins[group]..begins[group + 1] {
                    let input = &step.input[k as usize];
                    assert_eq!(input.tile[(0..3).find(|digit| *digit != a && *digit != b).unwrap()], 0);
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
                let entry = |&(a, b, ref stage): &(usize, usize, Vec<Cost>)| {
                    let row = (own[a] * tile[b] + own[b]) * tiles[a] * tiles[b] + number[a] * tiles[b] + number[b];
                    stage[(row * lanes + lane) as usize]
                };
                *least = (*least).min(stages.iter().map(entry).fold(0, Cost::saturating_add));
            }
        }
        for (output, least) in least.into_iter().enumerate() {
            let (number, own, lane) = staged_output(staged, output as u32);
            let along: u64 = (0..3).map(|d| u64::from(value(d, number[d], own[d])) * step.tile[d]).sum();
            written.push((at(step.out, step.inputs as usize) + along + u64::from(lane) * self.bytes, least));
        }
    }

    fn tiled(&self, variant: Variant, step: &BoxWords, block: u32, written: &mut Vec<(u64, Cost)>) {
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
                let sum = |a: u64| -> Cost {
                    let entry = |(k, input): (usize, &InputWords)| {
                        // an input does not read the digit that its group leaves out
                        let group = step.ends.iter().position(|&end| (k as u32) < end).unwrap();
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
                    inputs.iter().enumerate().map(entry).fold(0, Cost::saturating_add)
                };
                let least = (0..u64::from(step.domain)).map(sum).min().unwrap_or(self.cap);
                let along: u64 = (0..3).map(|digit| own[digit] * step.tile[digit]).sum();
                let at = at(step.out, inputs.len()) + along + neighbour * self.bytes;
                written.push((at, least.min(self.cap)));
            }
        }
    }
}

/// Of an output of a box in stages: its tile's number along each digit, its place in the tile, and its lane.
pub(super) fn staged_output(staged: &Staged, output: u32) -> ([u32; 3], [u32; 3], u32) {
    let Staged { tile: [x, y, z], tiles: [_, ty, tz], lanes, .. } = *staged;
    let (thread, own) = (output / (x * y * z), output % (x * y * z));
    let number = thread / lanes;
    ([number / tz / ty, number / tz % ty, number % tz], [own / z / y, own / z % y, own % z], thread % lanes)
}

/// The values of all digits where a thread begins.
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
