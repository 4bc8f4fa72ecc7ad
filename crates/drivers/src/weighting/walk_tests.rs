//! Walks against recomputed sums.

use super::super::incidences::without_forbidden;
use super::*;
use crate::rng::Rng;
use fangs_testing::cores::{assignment, price, random_dense};
use std::sync::Arc;

/// Compares the walk's weights and sums with those of a fresh walk at its assignment.
fn compare(input: WalkInput, walk: &WeightingWalk, case: u32) {
    let mut fresh = WeightingWalk::new(input, walk.values.clone(), WeightingProgress::new(0, false));
    for (function, &weight) in walk.weights.iter().enumerate() {
        fresh.change_weight(input, function as u32, weight - 1);
    }
    assert!(fresh.hard == walk.hard && fresh.soft == walk.soft, "case {case}");
    assert_eq!(
        (fresh.progress.cost, fresh.progress.violated),
        (walk.progress.cost, walk.progress.violated),
        "case {case}"
    );
    let sorted = |functions: &[u32]| {
        let mut functions = functions.to_vec();
        functions.sort_unstable();
        functions
    };
    assert_eq!(sorted(&fresh.violated), sorted(&walk.violated), "case {case}");
    let weighs = |function: &u32| walk.weights[*function as usize] > 1;
    assert_eq!(sorted(&walk.heavy), (0..walk.weights.len() as u32).filter(weighs).collect::<Vec<_>>(), "case {case}");
}

#[test]
fn sums_and_violations_are_those_counted_again() {
    let mut rng = Rng::new(1);
    let (mut heavy, mut solved, mut cheaper) = (0, 0, 0);
    for case in 0..1000 {
        let problem = Arc::new(random_dense(&mut rng));
        let tables = ValueTables::new(&problem, price(&problem));
        let incidences = IncidenceLists::new(&tables);
        let input = WalkInput { tables: &tables, incidences: &incidences };
        let begin = without_forbidden(&tables, assignment(&problem, &mut rng), &Stop::new());
        let begin = begin.expect("no stop is set");
        // phases end often
        let progress = match case % 3 {
            2 => WeightingProgress::focused(rng.draw()),
            _ => WeightingProgress { phase_end: 20, ..WeightingProgress::new(rng.draw(), case % 2 == 0) },
        };
        let mut walk = WeightingWalk::new(input, begin, progress);
        for _ in 0..5 {
            let worked = walk.walk(&tables, &incidences, Limit { steps: u32::MAX, work: 10_000 }, &Stop::new());
            assert!(worked >= 10_000 && walk.progress.looked_at > 0, "case {case}");
            compare(input, &walk, case);
        }
        heavy += usize::from(!walk.heavy.is_empty());
        let (progress, found) = (walk.progress(), walk.best());
        let energy = tables.energy(found);
        let of_functions = problem.functions.iter().filter(|f| tables.entry(f, found) >= crate::model::FORBIDDEN);
        // unary costs equal to a forbidden one count, too
        assert!(progress.fewest as usize >= of_functions.count(), "case {case}: {energy:?}");
        solved += usize::from(progress.fewest == 0);
        if energy.violations == 0 && tables.shift == 0 && progress.cheapest < i64::MAX {
            assert_eq!(progress.cheapest, energy.total, "case {case}");
            cheaper += 1;
        }
    }
    assert!(heavy > 50 && solved > 500 && cheaper > 300, "{heavy} {solved} {cheaper}");
}

#[test]
fn a_focused_walk_solves_a_formula_and_counts_costs_then() {
    let network = crate::generate::generate("sat", &[("n", "400"), ("clauses", "1600")], 5).expect("a family");
    let problem = Arc::new(crate::reduce::Reducer::unreduced(&network, &Stop::new()).expect("no limit").1);
    let tables = ValueTables::new(&problem, price(&problem));
    let incidences = IncidenceLists::new(&tables);
    let input = WalkInput { tables: &tables, incidences: &incidences };
    let mut walk = WeightingWalk::new(input, vec![0; tables.variables()], WeightingProgress::focused(3));
    assert!(!walk.violated.is_empty() && walk.progress.is_focused());
    let mut turns = 0;
    while walk.progress.is_focused() {
        let _ = walk.walk(&tables, &incidences, Limit { steps: 1000, work: u64::MAX }, &Stop::new());
        assert!(walk.heavy.is_empty() || !walk.progress.is_focused(), "no weight rises before");
        compare(input, &walk, turns);
        turns += 1;
        assert!(turns < 1000, "no solution");
    }
    let first = walk.progress.cheapest;
    let _ = walk.walk(&tables, &incidences, Limit { steps: 100_000, work: u64::MAX }, &Stop::new());
    assert_eq!(tables.energy(walk.best()).violations, 0);
    assert!(walk.progress.fewest == 0 && walk.progress.cheapest < first, "{first}");
}
