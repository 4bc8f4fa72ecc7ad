//! Tests of the engine against a literal implementation of the paper's algorithms 1 to 4.

#[path = "reference/fang.rs"]
mod reference;

use fangs_base::rng::{Rng, mix};
use fangs_base::stop::{Cause, Stop};
use fangs_fang::manhattan::{Manhattan, Points};
use fangs_fang::{
    Active, ByType, LocalHeuristic, Order, Population, Scratch, State, Uniform, assign_active, assign_variable,
};
use reference::{Group, Reduce};

/// A state that only records what was done to it.
#[derive(Clone)]
struct Log {
    active: Active,
    rng: Rng,
    steps: Vec<(usize, Option<usize>)>,
}

impl Log {
    fn new(variables: usize, seed: u64) -> Self {
        let mut active = Active::new(variables);
        active.activate_all();
        Log { active, rng: Rng::new(seed), steps: Vec::new() }
    }

    fn visited(&self) -> Vec<usize> {
        self.steps.iter().map(|&(variable, _)| variable).collect()
    }
}

impl State for Log {
    fn active(&mut self) -> &mut Active {
        &mut self.active
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}

/// Ratings from a table, one row per variable, 0 forbidding; weights are the differences to the largest rating of the
/// row, or the ratings themselves.
struct Table {
    rows: Vec<Vec<u32>>,
    invert: bool,
}

impl LocalHeuristic<Log> for Table {
    type Rating = u32;
    type Aggregate = u32;

    fn possibilities(&self, _: &Log, variable: usize) -> usize {
        self.rows[variable].len()
    }

    fn rate(&self, _: &Log, variable: usize, possibility: usize) -> u32 {
        self.rows[variable][possibility]
    }

    fn accumulate(&self, largest: &mut u32, rating: u32) {
        *largest = (*largest).max(rating);
    }

    fn map(&self, rating: u32, largest: &u32) -> u32 {
        if self.invert { largest - rating } else { rating }
    }

    fn assign(&self, state: &mut Log, variable: usize, possibility: usize) {
        state.steps.push((variable, Some(possibility)));
    }

    fn could_not_assign(&self, state: &mut Log, variable: usize) {
        state.steps.push((variable, None));
    }
}

impl Reduce<Log> for Table {
    fn reduce(&self, left: u32, right: u32) -> u32 {
        left.max(right)
    }
}

impl Reduce<Points> for Manhattan {
    fn reduce(&self, left: u32, right: u32) -> u32 {
        left.max(right)
    }
}

/// Returns rows of one length with zeros and large weights at which interval searches may fail.
fn rows(length: usize, rng: &mut Rng) -> Vec<Vec<u32>> {
    let any = |rng: &mut Rng| rng.draw() as u32;
    let zeros = length / 3;
    vec![
        vec![0; length],
        vec![1; length],
        vec![u32::MAX; length],
        (0..length).map(|_| u32::MAX - rng.below(3) as u32).collect(),
        (0..length).map(|_| rng.below(4) as u32).collect(),
        (0..length).map(|i| if i < zeros { 0 } else { any(rng) }).collect(),
        (0..length).map(|i| if i + zeros >= length { 0 } else { any(rng) }).collect(),
        (0..length).map(|i| u32::from(i == 0)).collect(),
        (0..length).map(|i| u32::from(i + 1 == length)).collect(),
        (0..length).map(|_| if rng.below(50) == 0 { any(rng) } else { 0 }).collect(),
        (0..length).map(|_| any(rng) >> rng.below(32)).collect(),
    ]
}

#[test]
fn picks_equal_the_papers_on_every_size_and_weight() {
    let mut rng = Rng::new(11);
    for length in [0, 1, 2, 7, 31, 32, 33, 64, 65, 1000, 98_304, 100_001] {
        for invert in [false, true] {
            let table = Uniform(Table { rows: rows(length, &mut rng), invert });
            for (size, repeats) in [(32, 40), (96, 4), (256, 4)] {
                let mut group = Group::new(size);
                for seed in 0..if length > 1000 { 1 } else { repeats } {
                    let mut ours = Log::new(table.0.rows.len(), seed);
                    let mut theirs = ours.clone();
                    let mut scratch = Scratch::default();
                    assert!(assign_active(&table, &mut ours, Order::Fixed, &mut scratch, &Stop::new()));
                    group.assign_active(&table.0, &mut theirs);
                    assert_eq!(ours.steps, theirs.steps, "{length} possibilities, groups of {size}");
                    assert_eq!(ours.rng, theirs.rng);
                    assert!(ours.active.is_empty() && theirs.active.is_empty());
                    assert_eq!(ours.steps[0], (0, None));
                }
            }
        }
    }
}

#[test]
fn points_move_as_the_papers() {
    let mut rng = Rng::new(12);
    for (variables, side, load) in [(8, 35, 1), (3, 67, 8), (2, 99, 2), (5, 3, 1)] {
        let manhattan = Uniform(Manhattan::new(variables, side, load, &mut rng));
        let mut scratch = Scratch::default();
        let mut group = Group::new(128);
        for _ in 0..4 {
            let mut ours = manhattan.0.state(&mut rng);
            ours.active().activate_all();
            let mut theirs = ours.clone();
            assert!(assign_active(&manhattan, &mut ours, Order::Fixed, &mut scratch, &Stop::new()));
            group.assign_active(&manhattan.0, &mut theirs);
            assert_eq!(ours.cells, theirs.cells);
        }
    }
}

#[test]
fn vector_forms_equal_single_ones() {
    let mut rng = Rng::new(13);
    for (side, load) in [(3, 1), (35, 1), (67, 3)] {
        let manhattan = Manhattan::new(2, side, load, &mut rng);
        let state = manhattan.state(&mut rng);
        for variable in 0..2 {
            let single: Vec<u32> =
                (0..manhattan.possibilities(&state, variable)).map(|p| manhattan.rate(&state, variable, p)).collect();
            let mut all = vec![7; single.len()];
            manhattan.rate_all(&state, variable, &mut all);
            assert_eq!(all, single);
            let mut aggregate = 0;
            single.iter().for_each(|&rating| manhattan.accumulate(&mut aggregate, rating));
            assert_eq!(manhattan.aggregate_all(&all), aggregate);
            let mut weights = vec![7; single.len()];
            let total = manhattan.map_all(&all, &aggregate, &mut weights);
            assert!(weights.iter().copied().eq(single.iter().map(|&rating| manhattan.map(rating, &aggregate))));
            assert_eq!(total, weights.iter().map(|&weight| u64::from(weight)).sum::<u64>());
        }
    }
}

#[test]
fn picks_follow_the_weights() {
    let mut rng = Rng::new(14);
    let small = vec![5, 0, 1, 10, 4];
    let long = (0..200).map(|i| (i * 7) % 13).collect();
    let table = Table { rows: vec![small, long], invert: false };
    let mut scratch = Scratch::default();
    for (variable, row) in table.rows.iter().enumerate() {
        let mut log = Log::new(2, 0);
        let mut counts = vec![0u32; row.len()];
        let picks = 200_000;
        for _ in 0..picks {
            let picked = assign_variable(&table, &mut log, variable, rng.draw(), &mut scratch);
            counts[picked.expect("the weights are not all 0")] += 1;
            log.steps.clear();
        }
        let total: u32 = row.iter().sum();
        let mut chi_square = 0.0;
        for (&weight, &count) in row.iter().zip(&counts) {
            let expected = f64::from(picks) * f64::from(weight) / f64::from(total);
            if weight == 0 {
                assert_eq!(count, 0);
            } else {
                chi_square += (f64::from(count) - expected).powi(2) / expected;
            }
        }
        // Mean k and standard deviation sqrt(2k); five deviations are met by chance about once in 10^6.
        let freedom = row.iter().filter(|&&weight| weight > 0).count() as f64 - 1.0;
        assert!(chi_square < freedom + 5.0 * (2.0 * freedom).sqrt() + 5.0, "{chi_square} at {freedom} degrees");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let generations = |threads: usize| {
        let mut rng = Rng::new(15);
        let manhattan = Uniform(Manhattan::new(4, 9, 1, &mut rng));
        let states = (0..7).map(|_| manhattan.0.state(&mut rng)).collect();
        let mut population = Population::new(states, rng);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads are to be had");
        pool.install(|| {
            for successors in [3, 5, 1] {
                population.states_mut().iter_mut().for_each(|state| state.active().activate_all());
                assert!(population.expand(&manhattan, successors, Order::Permuted, &Stop::new()));
                population.states_mut().truncate(50);
            }
        });
        population.states().iter().map(|state| state.cells.clone()).collect::<Vec<_>>()
    };
    let one = generations(1);
    assert_eq!(one.len(), 50);
    assert!(one.iter().skip(1).any(|cells| cells != &one[0]));
    assert_eq!(one, generations(2));
    assert_eq!(one, generations(4));
}

#[test]
fn successors_stand_beside_each_other_and_differ() {
    let table = Uniform(Table { rows: vec![vec![1; 1000]; 3], invert: false });
    let mut population = Population::new(vec![Log::new(3, 0), Log::new(0, 0)], Rng::new(16));
    assert!(population.expand(&table, 4, Order::Fixed, &Stop::new()));
    let steps: Vec<_> = population.states().iter().map(|state| &state.steps).collect();
    assert!(steps[..4].iter().all(|steps| steps.len() == 3) && steps[4..].iter().all(|steps| steps.is_empty()));
    assert!((0..4).all(|i| (0..i).all(|j| steps[i] != steps[j])));
    assert!(population.expand(&table, 0, Order::Fixed, &Stop::new()));
    assert!(population.states().is_empty());
}

#[test]
fn a_stop_leaves_the_states_as_they_were() {
    let stop = Stop::new();
    stop.set(Cause::Signal);
    let table = Uniform(Table { rows: vec![vec![1; 3]; 5], invert: false });
    let mut population = Population::new(vec![Log::new(5, 0)], Rng::new(17));
    assert!(!population.expand(&table, 2, Order::Fixed, &stop));
    assert_eq!(population.states().len(), 1);
    assert_eq!(population.states()[0].active.count(), 5);
    let mut state = Log::new(5, 1);
    assert!(!assign_active(&table, &mut state, Order::Fixed, &mut Scratch::default(), &stop));
    assert_eq!(state.active.count(), 5);
}

#[test]
fn each_order_visits_active_variables_once_and_no_others() {
    let table = Uniform(Table { rows: vec![vec![1, 2]; 150], invert: false });
    let listed: Vec<u32> = (0..150).rev().collect();
    let affine = Order::Affine { start: 17, stride: 77 };
    for order in [Order::Fixed, Order::Permuted, affine, Order::List(&listed)] {
        let mut state = Log::new(150, 18);
        (0..150).filter(|variable| variable % 4 == 1).for_each(|variable| state.active.deactivate(variable));
        let expected: Vec<usize> = state.active.iter().collect();
        assert!(assign_active(&table, &mut state, order, &mut Scratch::default(), &Stop::new()));
        let mut visited = state.visited();
        match order {
            Order::Fixed => assert!(visited.is_sorted()),
            Order::Permuted => assert!(!visited.is_sorted()),
            Order::Affine { start, stride } => {
                let all = (0..150).map(|k| (start + k * stride) % 150);
                assert!(visited.iter().copied().eq(all.filter(|v| expected.contains(v))));
            }
            Order::List(_) => assert!(visited.iter().rev().is_sorted()),
        }
        visited.sort_unstable();
        assert_eq!(visited, expected);
        assert!(state.active.is_empty());
    }
}

#[test]
fn types_are_assigned_one_after_the_other_by_their_own_heuristics() {
    let first = Table { rows: vec![vec![1, 0]; 9], invert: false };
    let second = Table { rows: vec![vec![0, 1]; 9], invert: false };
    let third = Table { rows: vec![vec![0, 0, 1]; 9], invert: false };
    let types = vec![2, 1, 0, 1, 0, 2, 2, 1, 0];
    let dispatch = ByType::new(types.clone(), (first, second, third)).expect("the types are 0 to 2");
    let mut state = Log::new(9, 19);
    assert!(assign_active(&dispatch, &mut state, Order::Fixed, &mut Default::default(), &Stop::new()));
    assert_eq!(state.visited(), [2, 4, 8, 1, 3, 7, 0, 5, 6]);
    assert!(state.steps.iter().all(|&(variable, picked)| picked == Some(usize::from(types[variable]))));

    let wrong = ByType::new(vec![0, 2], (&dispatch, &dispatch)).map(|_| ());
    assert!(wrong.is_err_and(|error| error.is_input() && error.to_string().contains("variable 1 is of type 2")));
}

#[test]
fn a_pass_takes_one_draw_and_mixes_it_for_each_active_variable() {
    let table = Uniform(Table { rows: vec![vec![3, 1, 4, 1, 5]; 40], invert: false });
    let class = [30, 2, 17, 8];
    let mut scratch = Scratch::default();
    let mut state = Log::new(40, 20);
    state.active.deactivate(17);
    let mut stream = state.rng.clone();
    assert!(assign_active(&table, &mut state, Order::List(&class), &mut scratch, &Stop::new()));
    assert_eq!(state.active.count(), 36);

    let draw = stream.draw();
    assert_eq!(state.rng, stream);
    let mut single = Log::new(40, 0);
    for variable in [30, 2, 8] {
        let _ = assign_variable(&table.0, &mut single, variable, mix(draw, variable as u64), &mut scratch);
    }
    assert_eq!(state.steps, single.steps);
}

/// Assigning 2 activates 1 and 5: the pass still reaches 5.
struct Chain;

impl LocalHeuristic<Log> for Chain {
    type Rating = ();
    type Aggregate = ();

    fn possibilities(&self, _: &Log, _: usize) -> usize {
        1
    }

    fn rate(&self, _: &Log, _: usize, _: usize) {}

    fn map(&self, _: (), _: &()) -> u32 {
        1
    }

    fn assign(&self, state: &mut Log, variable: usize, possibility: usize) {
        state.steps.push((variable, Some(possibility)));
        if variable == 2 {
            [1, 2, 5].into_iter().for_each(|other| state.active.activate(other));
        }
    }
}

#[test]
fn an_assignment_may_activate_others() {
    let mut state = Log::new(8, 21);
    state.active.deactivate_all();
    state.active.activate(2);
    assert!(assign_active(&Uniform(Chain), &mut state, Order::Fixed, &mut Scratch::default(), &Stop::new()));
    assert_eq!(state.visited(), [2, 5]);
    assert!(state.active.iter().eq([1]));
}
