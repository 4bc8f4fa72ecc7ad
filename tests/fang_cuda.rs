//! The engine on a device compared with the one on the CPU: picks, states and streams are equal to the last bit.
//!
//! The tests are skipped without a device. Those called `small` are small enough for compute-sanitizer.

#![allow(unsafe_code, reason = "a domain of its own promises what the device may touch")]

use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_device::{Cuda, Held, Source};
use fangs_fang::cuda::{self, Domain, Heuristic, ManhattanOnDevice, Shape};
use fangs_fang::manhattan::{Manhattan, Points};
use fangs_fang::{Active, ByType, LocalHeuristic, Order, Population, State, Uniform};
use fangs_testing::gpu;
use std::sync::Arc;

/// The value that each variable took last, `u32::MAX` for none.
#[derive(Clone, Debug, PartialEq)]
struct Taken {
    values: Vec<u32>,
    active: Active,
    rng: Rng,
}

impl State for Taken {
    fn active(&mut self) -> &mut Active {
        &mut self.active
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}

/// The rows of all variables, concatenated.
#[derive(Clone, Debug)]
struct Rows {
    ratings: Vec<u32>,
    starts: Vec<u32>,
    types: Vec<u8>,
}

impl Rows {
    fn row(&self, variable: usize) -> &[u32] {
        &self.ratings[self.starts[variable] as usize..self.starts[variable + 1] as usize]
    }
}

/// The heuristic `kernels/table.cuh` on the CPU; `KIND` is its index in the enumeration there.
struct Table<const KIND: u8>(Arc<Rows>);

const TURNED: u8 = 1;
const WAKING: u8 = 2;

impl<const KIND: u8> LocalHeuristic<Taken> for Table<KIND> {
    type Rating = u32;
    type Aggregate = u32;

    fn possibilities(&self, _: &Taken, variable: usize) -> usize {
        self.0.row(variable).len()
    }

    fn rate(&self, state: &Taken, variable: usize, possibility: usize) -> u32 {
        let row = self.0.row(variable);
        let variables = state.values.len();
        let turn = if KIND == TURNED { state.values[(variable + variables - 1) % variables] as usize } else { 0 };
        row[(possibility + turn) % row.len()]
    }

    fn accumulate(&self, largest: &mut u32, rating: u32) {
        *largest = (*largest).max(rating);
    }

    fn map(&self, rating: u32, largest: &u32) -> u32 {
        if KIND == TURNED { largest - rating } else { rating }
    }

    fn assign(&self, state: &mut Taken, variable: usize, possibility: usize) {
        state.values[variable] = possibility as u32;
        if KIND == WAKING && possibility % 2 == 1 {
            state.active.activate((variable * 7 + 3) % state.values.len());
        }
    }

    fn could_not_assign(&self, state: &mut Taken, variable: usize) {
        state.values[variable] = u32::MAX;
    }
}

/// The structure `Rows` of the CUDA source.
#[repr(C)]
#[derive(Clone, Copy)]
struct Problem {
    ratings: u64,
    starts: u64,
    variables: u32,
}

struct TableOnDevice {
    rows: Arc<Rows>,
    _held: Held,
    problem: Problem,
}

impl TableOnDevice {
    fn new(cuda: &Cuda, rows: &Arc<Rows>) -> Self {
        let mut held = Held::default();
        let mut upload = |words: &[u32]| held.words(cuda, words).expect("it fits");
        let (ratings, starts) = (upload(&rows.ratings), upload(&rows.starts));
        let problem = Problem { ratings, starts, variables: rows.types.len() as u32 };
        TableOnDevice { rows: Arc::clone(rows), _held: held, problem }
    }
}

// SAFETY: a state has a word for each variable, and `starts` lie within `ratings`.
unsafe impl Domain for TableOnDevice {
    type State = Taken;
    type Problem = Problem;

    fn source(&self) -> Source {
        fangs_kernels::source("table.cuh")
    }

    fn heuristics(&self) -> Vec<Heuristic> {
        let possibilities = (0..self.variables()).map(|v| self.rows.row(v).len()).max().unwrap_or(0);
        let heuristic = |kind: &str| Heuristic {
            name: format!("Table<{kind}>"),
            possibilities,
            width: 1,
            parts: 1,
            keep: 16,
            largest_sum: u64::MAX,
        };
        ["STRAIGHT", "TURNED", "WAKING"].map(heuristic).to_vec()
    }

    fn types(&self) -> &[u8] {
        &self.rows.types
    }

    fn variables(&self) -> usize {
        self.rows.types.len()
    }

    fn words(&self) -> usize {
        self.rows.types.len()
    }

    fn problem(&self) -> &Problem {
        &self.problem
    }

    fn store(&self, state: &Taken, words: &mut [u32]) {
        words.copy_from_slice(&state.values);
    }

    fn load(&self, words: &[u32], active: Active, rng: Rng) -> Taken {
        Taken { values: words.to_vec(), active, rng }
    }
}

/// Returns rows of each length: all forbidden, ties, the largest weights, a single weight at either end, few, any.
fn rows(lengths: &[usize], rng: &mut Rng) -> Rows {
    let mut rows = Rows { ratings: vec![], starts: vec![0], types: vec![] };
    for &length in lengths {
        for style in 0..8 {
            rows.ratings.extend((0..length).map(|i| match style {
                0 => 0,
                1 => 1,
                2 => u32::MAX,
                3 => u32::from(i == 0),
                4 => u32::from(i + 1 == length),
                5 => rng.below(3) as u32,
                6 => {
                    if rng.below(40) == 0 {
                        rng.draw() as u32
                    } else {
                        0
                    }
                }
                _ => rng.draw() as u32,
            }));
            rows.starts.push(rows.ratings.len() as u32);
            rows.types.push(rng.below(3) as u8);
        }
    }
    rows
}

/// Compares a pass over partly active states on the CPU and the device.
fn compare_tables(cuda: &Arc<Cuda>, lengths: &[usize], shapes: &[(u32, usize)], rng: &mut Rng) {
    let rows = Arc::new(rows(lengths, rng));
    let variables = rows.types.len();
    let state = |rng: &mut Rng| {
        let mut active = Active::new(variables);
        (0..variables).filter(|_| rng.below(4) > 0).for_each(|variable| active.activate(variable));
        let values = (0..variables).map(|_| rng.below(1000) as u32).collect();
        Taken { values, active, rng: rng.split() }
    };
    let states: Vec<Taken> = (0..5).map(|_| state(rng)).collect();
    let list: Vec<u32> = (0..variables as u32).filter(|v| v % 3 != 1).rev().collect();
    let heuristics = (Table::<0>(Arc::clone(&rows)), Table::<1>(Arc::clone(&rows)), Table::<2>(Arc::clone(&rows)));
    let dispatch = ByType::new(rows.types.clone(), heuristics).expect("there are three types");
    for order in [Order::Fixed, Order::Permuted, Order::List(&list)] {
        let mut expected = Population::new(states.clone(), rng.clone());
        let passes = 2;
        for _ in 0..passes {
            assert!(expected.expand(&dispatch, 2, order, &Stop::new()));
        }
        for &(threads, keep) in shapes {
            let shape = Shape { threads, keep: vec![keep; 3] };
            let domain = TableOnDevice::new(cuda, &rows);
            let mut population = cuda::Population::with_shape(cuda, domain, &mut states.clone(), rng.clone(), shape)
                .expect("it compiles");
            for _ in 0..passes {
                population.expand(2, order).expect("it runs");
            }
            let made = population.states().expect("they come back");
            assert_eq!(made.len(), expected.states().len());
            for (clone, (made, expected)) in made.iter().zip(expected.states()).enumerate() {
                assert!(made == expected, "clone {clone}, {threads} threads that keep {keep}, {order:?}");
            }
        }
    }
}

#[test]
fn tables_of_all_lengths() {
    let Some(cuda) = gpu() else { return };
    let lengths = [0, 1, 2, 7, 31, 32, 33, 64, 65, 1000, 98_304, 100_001];
    let shapes = [(1, 0), (4, 0), (16, 2), (32, 0), (32, 2), (64, 1), (96, 0), (256, 4), (1024, 0), (1024, 1)];
    compare_tables(&cuda, &lengths, &shapes, &mut Rng::new(21));
}

#[test]
fn small_tables() {
    let Some(cuda) = gpu() else { return };
    let shapes = [(2, 0), (8, 1), (32, 2), (64, 0), (96, 1)];
    compare_tables(&cuda, &[0, 1, 2, 7, 31, 33, 64, 65], &shapes, &mut Rng::new(22));
}

/// Compares generations of points on the CPU and the device.
fn compare_points(cuda: &Arc<Cuda>, side: usize, load: usize, threads: Option<u32>, generations: &[usize]) {
    let mut rng = Rng::new((side * 100 + load) as u64);
    let manhattan = Manhattan::new(5, side as i32, load, &mut rng);
    let mut states: Vec<Points> = (0..9).map(|_| manhattan.state(&mut rng)).collect();
    let all = |state: &mut Points| state.active().activate_all();
    states.iter_mut().for_each(all);
    let mut expected = Population::new(states.clone(), rng.clone());
    let domain = ManhattanOnDevice::new(cuda, &manhattan).expect("it fits");
    let shape = match threads {
        Some(threads) => Shape::of(threads, &domain.heuristics()),
        None => Shape::new(&domain.heuristics(), states.len(), cuda.info.multiprocessors),
    };
    let mut population = cuda::Population::with_shape(cuda, domain, &mut states, rng, shape).expect("it compiles");
    let dispatch = Uniform(manhattan);
    for (generation, &successors) in generations.iter().enumerate() {
        if generation > 0 {
            population.activate_all().expect("it runs");
            expected.states_mut().iter_mut().for_each(all);
        }
        population.expand(successors, Order::Permuted).expect("it runs");
        assert!(expected.expand(&dispatch, successors, Order::Permuted, &Stop::new()));
        let made = population.states().expect("they come back");
        assert!(
            made == expected.states(),
            "side {side}, load {load}, {:?}, generation {generation}",
            population.shape()
        );
    }
}

#[test]
fn points_of_all_sizes() {
    let Some(cuda) = gpu() else { return };
    for (side, load) in
        [(3, 1), (5, 1), (7, 16), (35, 1), (67, 1), (99, 1), (67, 8), (35, 16), (67, 16), (35, 17), (501, 1)]
    {
        compare_points(&cuda, side, load, None, &[1, 3, 1, 1, 2]);
    }
    for (threads, side) in [(2, 9), (8, 35), (32, 99), (64, 67), (96, 99), (256, 35), (512, 99)] {
        compare_points(&cuda, side, 1, Some(threads), &[2, 1, 1]);
    }
}

#[test]
fn small_points() {
    let Some(cuda) = gpu() else { return };
    for (side, load, threads) in [(9, 1, 32), (9, 2, 8), (11, 1, 64), (3, 1, 4)] {
        compare_points(&cuda, side, load, Some(threads), &[1, 2, 2]);
    }
}

#[test]
fn nothing_to_do_is_done() {
    let Some(cuda) = gpu() else { return };
    let mut rng = Rng::new(1);
    let manhattan = Manhattan::new(3, 5, 1, &mut rng);
    let domain = ManhattanOnDevice::new(&cuda, &manhattan).expect("it fits");
    let mut population = cuda::Population::new(&cuda, domain, &mut [], rng).expect("it compiles");
    population.expand(3, Order::Permuted).expect("it runs");
    assert!(population.states().expect("there are none").is_empty());
}
