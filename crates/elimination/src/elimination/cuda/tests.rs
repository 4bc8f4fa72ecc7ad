//! Tests of programs, which the host executes from their descriptors.

use super::emulator::{Emulator, room, task};
use super::execution::lay_out;
use super::parts::parts;
use super::program::{Content, DeviceTable, Program, Room};
use super::shape::{Chip, INPUTS};
use super::staging::{gather, scatter, windows};
use super::variant::Staged;
use super::variant::Variant;
use super::words::BoxWords;
use crate::elimination::plan::slices::Stretch;
use crate::elimination::plan::{Plan, Source, Step};
use crate::elimination::table;
use crate::elimination::tests::{messages, random, run, shuffled, wide};
use crate::elimination::{Limits, Width};
use crate::model::{Cost, CostFunction, Problem, Scope, Table};
use crate::order::Order;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use std::sync::Arc;

/// An H200 for which staged kernels pay from few combinations on.
const CHIP: Chip = Chip { multiprocessors: 132, shared: 232_448, staged: 1 << 17 };

/// Compares the messages of a program with those of the CPU, and returns the kernels that the program needs.
fn conforms(problem: &Arc<Problem>, plan: &Plan, chip: &Chip) -> Vec<Variant> {
    let program = Program::new(plan, room(plan, u64::MAX), chip).expect("no limit");
    assert!(program.inputs.len() <= INPUTS * program.steps.len());
    let mut emulator = Emulator::new(&program, task(problem, plan));
    emulator.run();
    let outcome = run(problem, plan.clone());
    let work: u64 = program.launches.iter().map(|launch| launch.work).sum();
    assert_eq!(work + program.filled, plan.joint_entries);
    let constants = program.constants.clone().map(|at| emulator.memory[at as usize]).fold(0, Cost::saturating_add);
    if plan.placement.keep_messages {
        for (step, expected) in messages(&outcome).iter().enumerate() {
            let table = &program.tables[program.messages[step]];
            let own = |index: usize| emulator.memory[(table.at + table.place(index as u64)) as usize];
            let own: Vec<Cost> = (0..expected.len()).map(own).collect();
            assert_eq!(own, expected[..], "step {step} of {}", plan.steps.len());
        }
    }
    let bound = if constants >= plan.costs.cap {
        plan.costs.limit
    } else {
        (problem.constant + constants).min(plan.costs.limit)
    };
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
        let mut plan =
            Plan::new(&problem, &order, &Limits { z, keep_messages: round % 3 > 0, ub, ..Limits::new(max_bytes) });
        if round.is_multiple_of(5) {
            plan.costs.width = Width::I64;
        }
        let _ = conforms(&problem, &plan, &CHIP);
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
            let plan = Plan::new(&problem, &order, &Limits { z, ..Limits::new(1 << 30) });
            // devices without asynchronous copies
            seen.extend(conforms(&problem, &plan, &Chip { shared: 0, ..CHIP }));
        }
    }
    for run in [1, 4] {
        let tiled = |variant: &Variant| matches!(variant, Variant::Tile([.., own], _) if *own == run);
        assert!(seen.iter().any(tiled), "{seen:?}");
    }
}

/// Each hub has up to hundreds of functions, which pre-joins add up level by level.
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
            // the hub is last, or earlier so that its bucket has functions and messages
            let mut sequence: Vec<u32> = (1..=leaves).collect();
            sequence.insert(if last { leaves as usize } else { leaves.saturating_sub(8) as usize }, 0);
            let order = Order::given(&problem, &sequence, &Stop::new()).expect("a permutation");
            let _ = conforms(&problem, &Plan::new(&problem, &order, &Limits::new(1 << 26)), &CHIP);
        }
    }
}

/// Scopes left out of functions: each lacks another one of three variables, or lacks several.
const THREE: &[&[u32]] = &[&[1], &[2], &[3]];
const FOUR: &[&[u32]] = &[&[1, 2, 3], &[3, 4, 5], &[5, 6, 7], &[7, 8, 9]];

/// Returns a bucket of functions of variable 0 and `w` others, with `d` values each; each function lacks some of the
/// others. Without a generator the tables are empty.
fn bucket(d: u32, w: u32, left_out: &[&[u32]], mut rng: Option<&mut Rng>) -> (Arc<Problem>, Plan) {
    let function = |left_out: &&[u32]| {
        let scope: Scope = (0..=w).filter(|v| !left_out.contains(v)).collect();
        let costs = rng
            .as_mut()
            .map_or_else(Vec::new, |rng| (0..d.pow(scope.len() as u32)).map(|_| rng.below(1000) as Cost).collect());
        CostFunction { scope, table: Table::dense(costs) }
    };
    let functions = left_out.iter().map(function).collect();
    let n = w as usize + 1;
    let unary = vec![vec![0; d as usize]; n];
    let problem = Arc::new(Problem { domains: vec![d; n], unary, functions, constant: 0, top: 1 << 60 });
    let sequence: Vec<u32> = (0..=w).collect();
    let order = Order::given(&problem, &sequence, &Stop::new()).expect("a permutation");
    let mut plan = Plan::new(&problem, &order, &Limits::new(1 << 45));
    if rng.is_none() {
        // only the bucket of variable 0
        plan.steps.truncate(1);
    }
    (problem, plan)
}

/// The functions lack different digits; some boxes divide their digits evenly and some do not.
#[test]
fn staged_buckets_make_the_messages_of_the_cpu() {
    let mut rng = Rng::new(24);
    // several inputs of one group
    let five: &[&[u32]] = &[&[1], &[2], &[3], &[2, 3], &[1]];
    let cases: [(u32, u32, &[&[u32]]); 5] = [(4, 8, THREE), (5, 7, THREE), (7, 6, THREE), (16, 4, THREE), (4, 8, five)];
    for (d, w, left_out) in cases {
        let (_, plan) = bucket(d, w, left_out, None);
        let program = Program::new(&plan, room(&plan, u64::MAX), &CHIP).expect("no limit");
        let taken = program.variants();
        assert!(taken.iter().any(|variant| matches!(variant, Variant::Staged(..))), "d = {d}: {taken:?}");
        let (problem, plan) = bucket(d, w, left_out, Some(&mut rng));
        let _ = conforms(&problem, &plan, &CHIP);
    }
}

/// Executes a plan in parts of little device memory on the host, from its descriptors. Returns the numbers of parts and
/// of slices.
fn streamed(problem: &Arc<Problem>, plan: &Plan, limit: u64, window: u64) -> Option<(usize, u64)> {
    let room = Room { keep_messages: true, ..room(plan, limit) };
    let parts = parts(plan, room)?;
    assert_eq!(parts.first().map_or(0, |part| part.steps.start), 0);
    assert!(parts.windows(2).all(|pair| pair[0].steps.end == pair[1].steps.start));
    assert_eq!(parts.last().map_or(0, |part| part.steps.end), plan.steps.len());
    let lowered = |step: &Step| -> Vec<Cost> {
        let Source::Function(f) = step.inputs[0].source else { panic!("{step:?}") };
        let scope: Vec<u32> = step.scope.iter().map(|&p| plan.sequence[p as usize]).collect();
        table::costs(&problem.functions[f as usize], &scope, &problem.domains, plan.cap()).to_vec()
    };
    let mut own: Vec<Vec<Cost>> = Vec::new();
    let mut slices = 0;
    for part in &parts {
        assert!(part.entries * if part.cut.is_some() { 2 } else { 1 } <= limit);
        for step in &plan.steps[part.steps.clone()] {
            own.push(if step.lowered { lowered(step) } else { vec![-1; step.entries as usize] });
        }
        if part.entries == 0 {
            continue;
        }
        let first = part.steps.start;
        let slice = part.cut.map_or_else(|| plan.structure.clone(), |cut| cut.of(plan, first));
        let program = Program::part(&slice, part.steps.clone(), Room { entries: part.entries, ..room }, &CHIP)
            .expect("it was looked at");
        let count = part.cut.map_or(1, |cut| cut.slices(plan, &plan.steps[first]));
        for number in 0..count {
            let begin = part.cut.map_or_else(Vec::new, |cut| cut.begin(plan, &plan.steps[first], number));
            let mut emulator =
                Emulator::over(&program, task(problem, plan).semiring, vec![-7; program.entries as usize]);
            let stretch = |table: &DeviceTable| Stretch::new(&table.scope, plan, &slice, &begin);
            let filled = |&table: &usize| program.tables[table].content != Content::Made;
            for own_window in windows(&program.tables, (0..program.tables.len()).filter(filled).collect(), window) {
                for share in &own_window.shares {
                    let table = &program.tables[share.table];
                    let laid_out: Storage<Cost> = lay_out(task(problem, plan), table);
                    let source = match table.content {
                        Content::Message(from) => &own[from as usize][..],
                        _ => &laid_out,
                    };
                    let out = &mut emulator.memory[(table.at + share.from) as usize..][..share.entries as usize];
                    gather(out, table, share.from, stretch(table), source);
                }
            }
            emulator.run();
            let made = program.messages.iter().copied().filter(|&table| !filled(&table)).collect();
            for own_window in windows(&program.tables, made, window) {
                let entries = &emulator.memory[own_window.at as usize..][..own_window.entries as usize];
                for share in &own_window.shares {
                    let table = &program.tables[share.table];
                    let step = program.messages.iter().position(|&own| own == share.table).expect("a message");
                    let at = (table.at + share.from - own_window.at) as usize;
                    let share_entries = &entries[at..at + share.entries as usize];
                    scatter(share_entries, table, share.from, stretch(table), &mut own[first + step]);
                }
            }
        }
        slices += count;
    }
    let mut kept = plan.clone();
    kept.placement.keep_messages = true;
    for (step, expected) in messages(&run(problem, kept)).iter().enumerate() {
        assert_eq!(own[step], expected[..], "step {step} of {}: {:?}", plan.steps.len(), plan.steps[step]);
    }
    Some((parts.len(), slices))
}

#[test]
fn parts_of_plans_make_the_messages_of_the_cpu() {
    let mut rng = Rng::new(24);
    let (mut whole, mut parted, mut cut, mut none) = (0, 0, 0, 0);
    for round in 0..1500u32 {
        let problem = Arc::new(random(&mut rng, 7));
        let order = shuffled(&problem, &mut rng);
        let z = [None, Some(1), Some(2), Some(3)][rng.index(4)];
        let max_bytes = [60, 400, 3000, 1 << 30][rng.index(4)];
        let mut plan =
            Plan::new(&problem, &order, &Limits { z, keep_messages: round % 3 > 0, ..Limits::new(max_bytes) });
        if round.is_multiple_of(5) {
            plan.costs.width = Width::I64;
        }
        let limit = [200, 300, 500, 1 << 20][rng.index(4)];
        match streamed(&problem, &plan, limit, [1, 7, 64, 1000][rng.index(4)]) {
            None => none += 1,
            Some((1, _)) => whole += 1,
            Some((parts, slices)) if slices > parts as u64 => cut += 1,
            Some(_) => parted += 1,
        }
    }
    assert!(whole > 100 && parted > 100 && cut > 0 && none < 500, "{whole} {parted} {cut} {none}");
}

/// Returns a band of binary functions like `wide`, with domains of 3 to 9 values.
fn mixed(rng: &mut Rng, n: usize, reach: usize) -> Problem {
    let domains: Vec<u32> = (0..n).map(|_| 3 + rng.below(7) as u32).collect();
    let pairs = (0..n).flat_map(|a| (a + 1..n.min(a + reach)).map(move |b| (a, b)));
    let function = |(a, b): (usize, usize)| CostFunction {
        scope: [a as u32, b as u32].into(),
        table: Table::dense((0..domains[a] * domains[b]).map(|_| rng.below(100) as Cost).collect()),
    };
    let functions = pairs.map(function).collect();
    let unary = domains.iter().map(|&domain| (0..domain).map(Cost::from).collect()).collect();
    Problem { domains, unary, functions, constant: 0, top: 1 << 60 }
}

#[test]
fn slices_of_large_steps_make_the_messages_of_the_cpu() {
    let mut rng = Rng::new(25);
    for (n, domain, reach) in
        [(20, 2, 18), (11, 3, 11), (10, 4, 9), (7, 9, 6), (6, 11, 6), (5, 25, 4), (8, 0, 7), (7, 0, 7)]
    {
        let problem = Arc::new(if domain > 0 { wide(&mut rng, n, domain, reach) } else { mixed(&mut rng, n, reach) });
        let sequence: Vec<u32> = (0..n as u32).collect();
        let order = Order::given(&problem, &sequence, &Stop::new()).expect("a permutation");
        let plan = Plan::new(&problem, &order, &Limits::new(1 << 30));
        for divisor in [2, 9, 50] {
            let limit = plan.largest_table / divisor + 4000;
            let (parts, slices) = streamed(&problem, &plan, limit, 5000).expect("slices fit");
            assert!(slices > parts as u64, "domain {domain}, a {divisor}th: {parts} parts, {slices} slices");
        }
    }
}

/// Checks the offsets of the kernels' `Box`, which is passed by value.
#[test]
fn a_box_is_laid_out_as_the_kernels_declare_it() {
    use std::mem::{offset_of, size_of};
    assert_eq!((offset_of!(BoxWords, tile), offset_of!(BoxWords, domain), offset_of!(BoxWords, ends)), (8, 32, 52));
    assert_eq!((offset_of!(BoxWords, values), offset_of!(BoxWords, one), offset_of!(BoxWords, digit)), (72, 84, 88));
    assert_eq!((offset_of!(BoxWords, input), offset_of!(BoxWords, stride), size_of::<BoxWords>()), (376, 760, 2008));
}

/// Checks the boxes chosen for buckets of `fangs bench mbe` on an H200. In those whose boxes were measured none was
/// faster by more than 2 %. In the last one some inputs lack the fastest digit, so register tiles were faster.
#[test]
fn measured_buckets_take_their_boxes() {
    let taken = |d: u32, w: u32, left_out: &[&[u32]]| {
        let (_, plan) = bucket(d, w, left_out, None);
        let variants = Program::new(&plan, room(&plan, u64::MAX), &CHIP).expect("no limit").variants();
        assert_eq!(variants.len(), 1);
        variants[0]
    };
    let staged = |tile, tiles, lanes, blocks| Variant::Staged(Staged { tile, tiles, lanes, blocks }, [1; 3]);
    assert_eq!(taken(25, 5, THREE), staged([5, 5, 3], [1, 1, 3], 64, 2));
    assert_eq!(taken(44, 4, THREE), staged([9, 3, 3], [1, 4, 8], 16, 1));
    for (d, w) in [(10, 7), (4, 12)] {
        assert!(matches!(taken(d, w, THREE), Variant::Staged(..)));
    }
    assert!(matches!(taken(10, 9, FOUR), Variant::Tile(..)));
}
