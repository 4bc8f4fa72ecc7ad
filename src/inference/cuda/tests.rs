//! The program of a plan, executed on the host as its descriptors say.

use super::program::{Content, Program};
use super::tile::{INPUTS, Variant};
use crate::inference::plan::Plan;
use crate::inference::table;
use crate::inference::tests::{messages, random, run, shuffled, wide};
use crate::inference::{Limits, Width};
use crate::model::{Cost, CostFunction, Problem, Table};
use crate::order::Order;
use crate::rng::Rng;
use crate::stop::Stop;
use std::sync::Arc;

/// What the kernels do, thread by thread, on 64-bit entries; memory starts as garbage.
struct Emulator<'a> {
    program: &'a Program,
    memory: Vec<Cost>,
    bytes: u64,
    cap: Cost,
}

impl<'a> Emulator<'a> {
    fn new(program: &'a Program, problem: &Problem, plan: &Plan) -> Self {
        let mut memory = vec![-7; program.entries as usize];
        for table in &program.tables {
            let filled: Vec<i64> = match table.content {
                Content::Made => continue,
                Content::Unary(v) => problem.unary[v as usize].iter().map(|&cost| cost.min(plan.cap())).collect(),
                Content::Function(f) => {
                    let scope: Vec<u32> = table.scope.iter().map(|&p| plan.sequence[p as usize]).collect();
                    table::lay_out(&problem.functions[f as usize], &scope, &problem.domains, plan.cap())
                }
            };
            memory[table.at as usize..][..filled.len()].copy_from_slice(&filled);
        }
        Emulator { program, memory, bytes: plan.width.bytes(), cap: plan.cap() }
    }

    fn entry(&self, at: u64) -> Cost {
        assert_eq!(at % self.bytes, 0);
        let entry = self.memory[(at / self.bytes) as usize];
        assert!(entry >= 0, "nothing has been written there");
        entry
    }

    fn run(&mut self) {
        for launch in &self.program.launches {
            // what a launch writes, no block of it may read: written at its end
            let mut written = Vec::new();
            for block in launch.first..launch.first + launch.blocks {
                self.block(launch.variant, block, &mut written);
            }
            for (at, entry) in written {
                self.memory[(at / self.bytes) as usize] = entry;
            }
        }
    }

    fn block(&self, variant: Variant, block: u32, written: &mut Vec<(u64, Cost)>) {
        let step = self.program.steps[self.program.map[block as usize] as usize];
        let columns = step.inputs as usize + 1;
        let digits = &self.program.digits[step.digit_at as usize..][..step.digits as usize];
        let inputs = &self.program.inputs[step.input_at as usize..][..step.inputs as usize];
        let strides =
            |digit: usize, column: usize| self.program.strides[step.stride_at as usize + digit * columns + column];
        let starts: Vec<u32> = digits
            .iter()
            .map(|digit| ((block - step.first) / digit.below % digit.boxes * digit.extent * digit.tile).min(digit.last))
            .collect();
        let base = |column: usize| -> u64 {
            let table = inputs.get(column).map_or(step.out, |input| input.table);
            table
                + starts
                    .iter()
                    .enumerate()
                    .map(|(digit, &start)| strides(digit, column) * u64::from(start))
                    .sum::<u64>()
        };
        for thread in (0..step.threads).step_by(1 << step.split) {
            let mut rank = thread >> step.split;
            let mut local = vec![0u64; columns];
            for (number, digit) in digits.iter().enumerate().take(step.spread as usize) {
                let quotient = (rank * digit.magic) >> 20;
                assert_eq!(quotient, rank / digit.extent);
                let start = starts[number];
                let value = (start + rank % digit.extent * digit.tile).min(digit.last) - start;
                rank = quotient;
                for (column, local) in local.iter_mut().enumerate() {
                    *local += u64::from(value) * strides(number, column);
                }
            }
            assert_eq!(rank, 0);
            assert!(local[..columns - 1].iter().all(|&local| local <= u64::from(u32::MAX)));
            let tile = match variant {
                Variant::Each => [1; 3],
                Variant::Tile(tile, _) => tile,
            };
            for place in 0..tile.iter().product() {
                let own = [place % tile[0], place / tile[0] % tile[1], place / tile[0] / tile[1]].map(u64::from);
                let mut least = self.cap;
                for a in 0..u64::from(step.domain) {
                    let mut sum = 0;
                    for (k, input) in inputs.iter().enumerate() {
                        // an input does not read the digit that its group leaves out
                        let group = step.ends.iter().position(|&end| (k as u32) < end).unwrap();
                        if let (Variant::Tile(..), Some(missing)) = (variant, [2, 1, 0].get(group)) {
                            assert_eq!(input.tile[*missing], 0);
                        }
                        let along: u64 = (0..3).map(|digit| own[digit] * u64::from(input.tile[digit])).sum();
                        sum += self.entry(base(k) + local[k] + a * input.slab + along);
                    }
                    least = least.min(sum);
                }
                let along: u64 = (0..3).map(|digit| own[digit] * step.tile[digit]).sum();
                written.push((base(columns - 1) + local[columns - 1] + along, least));
            }
        }
    }
}

/// Messages of a program against those of the CPU; returns the kernels that it took.
fn conforms(problem: &Arc<Problem>, plan: &Plan) -> Vec<Variant> {
    let program = Program::new(problem, plan);
    assert!(program.inputs.len() <= INPUTS * program.steps.len());
    let mut emulator = Emulator::new(&program, problem, plan);
    emulator.run();
    let outcome = run(problem, plan.clone());
    let work: u64 = program.launches.iter().map(|launch| launch.work).sum();
    assert_eq!(work + program.filled, plan.joint_entries);
    let constants = program.constants.clone().map(|at| emulator.memory[at as usize]).fold(0, Cost::saturating_add);
    if plan.keep_messages {
        for (step, expected) in messages(&outcome).iter().enumerate() {
            let table = &program.tables[program.messages[step]];
            let own = &emulator.memory[table.at as usize..][..table.entries as usize];
            assert_eq!(own, &expected[..], "step {step} of {}", plan.steps.len());
        }
    }
    let bound = if constants >= plan.cap { plan.limit } else { (problem.constant + constants).min(plan.limit) };
    assert_eq!(bound, outcome.lower_bound());
    program.variants()
}

#[test]
fn programs_of_random_plans_make_the_messages_of_the_cpu() {
    let mut rng = Rng::new(21);
    for round in 0..1500u32 {
        let problem = Arc::new(random(&mut rng, 7));
        let order = shuffled(&problem, &mut rng);
        let z = [None, Some(1), Some(2), Some(3)][rng.index(4)];
        let ub = [None, Some(rng.below(60) as Cost)][rng.index(2)];
        let max_bytes = [60, 400, 3000, 1 << 30][rng.index(4)];
        let mut plan = Plan::new(&problem, &order, &Limits { z, max_bytes, keep_messages: round % 3 > 0, ub });
        if round.is_multiple_of(5) {
            plan.width = Width::I64;
        }
        let _ = conforms(&problem, &plan);
    }
}

#[test]
fn programs_of_large_steps_make_the_messages_of_the_cpu() {
    let mut rng = Rng::new(22);
    let mut seen = Vec::new();
    for (n, domain, reach) in [(24, 2, 22), (13, 3, 13), (12, 4, 11), (8, 9, 7), (8, 7, 8), (7, 11, 6), (5, 25, 5)] {
        let problem = Arc::new(wide(&mut rng, n, domain, reach));
        let sequence: Vec<u32> = (0..n as u32).collect();
        let order = Order::given(&problem, &sequence, &Stop::new()).expect("a permutation");
        for z in [None, Some(3)] {
            seen.extend(conforms(&problem, &Plan::new(&problem, &order, &Limits { z, ..Limits::new(1 << 30) })));
        }
    }
    assert!(seen.iter().any(|variant| matches!(variant, Variant::Tile(..))), "{seen:?}");
}

/// Every value of a hub has hundreds of messages: they are added up in passes.
#[test]
fn many_inputs_are_joined_before() {
    let mut rng = Rng::new(23);
    for leaves in [11, 12, 13, 40, 300] {
        let function = |leaf: u32, rng: &mut Rng| CostFunction {
            scope: [0, leaf].into(),
            table: Table::dense((0..9).map(|_| rng.below(100) as Cost).collect()),
        };
        let functions = (1..=leaves).map(|leaf| function(leaf, &mut rng)).collect();
        let n = leaves as usize + 1;
        let problem =
            Problem { domains: vec![3; n], unary: vec![vec![1, 0, 2]; n], functions, constant: 0, top: 1 << 60 };
        let problem = Arc::new(problem);
        for last in [true, false] {
            // the hub goes last, or among the first with a mini-bucket of many functions
            let mut sequence: Vec<u32> = (1..=leaves).collect();
            sequence.insert(if last { leaves as usize } else { leaves.saturating_sub(8) as usize }, 0);
            let order = Order::given(&problem, &sequence, &Stop::new()).expect("a permutation");
            let _ = conforms(&problem, &Plan::new(&problem, &order, &Limits::new(1 << 26)));
        }
    }
}
