//! Tests of heat baths and sweeps against energies recomputed from the tables of the reduced problem.

use crate::core::context::SearchContext;
use crate::fang::boltzmann::Boltzmann;
use crate::fang::{LocalHeuristic, Scratch, assign_variable};
use crate::generation::ALL_MOVE;
use crate::heat_bath::{AllFunctions, HeatBath};
use crate::rng::Rng;
use crate::state::AnnealState;
use crate::stop::Stop;
use crate::sweep::{SweepDraws, sweep};
use crate::value_tables::ValueTables;
use fangs_testing::cores::{assignment, price, random};
use std::collections::BTreeSet;
use std::sync::Arc;

fn rated(tables: &ValueTables, variable: usize, values: &[u16]) -> Vec<i32> {
    let mut row = vec![-1; tables.width[variable] as usize];
    tables.rate(variable, values, &mut row, |_| true);
    row
}

#[test]
fn heat_baths_agree_with_their_single_forms() {
    let mut rng = Rng::new(5);
    for _ in 0..500 {
        let problem = Arc::new(random(&mut rng));
        let tables = ValueTables::new(&problem, price(&problem));
        let mut state = AnnealState::new(tables.variables(), rng.split());
        state.values = assignment(&problem, &mut rng);
        let temperature = [0.0, 0.3, 20.0, 1e4, 1e12][rng.index(5)];
        let coldest = greedy(&tables);
        for bath in [HeatBath { boltzmann: Boltzmann::new(temperature), ..coldest }, coldest] {
            for v in 0..tables.variables() {
                let count = bath.possibilities(&state, v);
                let mut ratings = vec![0; count];
                bath.rate_all(&state, v, &mut ratings);
                let single: Vec<i32> = (0..count).map(|p| bath.rate(&state, v, p)).collect();
                assert_eq!(ratings, single);
                let least = bath.aggregate_all(&ratings);
                assert_eq!(Some(least.0), ratings.iter().copied().min());
                let mut weights = vec![0; count];
                let total = bath.map_all(&ratings, &least, &mut weights);
                let single: Vec<u32> = ratings.iter().map(|&rating| bath.map(rating, &least)).collect();
                assert_eq!(weights, single);
                assert_eq!(total, weights.iter().map(|&weight| u64::from(weight)).sum::<u64>());
                assert!(total > 0 && weights[tables.domain(v)..].iter().all(|&weight| weight == 0));
            }
        }
    }
}

/// Returns a heat bath at temperature 0, which samples only best values, ties at random.
fn greedy(tables: &ValueTables) -> HeatBath<'_> {
    HeatBath { tables, boltzmann: Boltzmann::GREEDY, least: ALL_MOVE, source: AllFunctions }
}

#[test]
fn greedy_takes_only_minima_and_counts_what_it_does() {
    let mut rng = Rng::new(6);
    for _ in 0..500 {
        let problem = Arc::new(random(&mut rng));
        let tables = ValueTables::new(&problem, price(&problem));
        let mut state = AnnealState::new(tables.variables(), rng.split());
        state.values = assignment(&problem, &mut rng);
        let v = rng.index(tables.variables());
        let row = rated(&tables, v, &state.values);
        let least = row.iter().min().copied();
        let mut scratch = Scratch::default();
        let mut taken = BTreeSet::new();
        for _ in 0..64 {
            let before = state.values[v];
            let moves = state.moves;
            let picked = assign_variable(&greedy(&tables), &mut state, v, rng.draw(), &mut scratch);
            assert_eq!(picked, Some(usize::from(state.values[v])));
            assert_eq!(state.moves - moves, u64::from(state.values[v] != before));
            let _ = taken.insert(usize::from(state.values[v]));
        }
        assert!(taken.iter().all(|&value| Some(row[value]) == least));
        let ties = row.iter().filter(|&&cost| Some(cost) == least).count();
        assert!(taken.len() == ties || ties > 4, "64 draws see every one of {ties} ties");
        assert_eq!(state.ratings, 64 * tables.domain(v) as u64);
    }
}

#[test]
fn greedy_sweeps_never_raise_the_energy() {
    let mut rng = Rng::new(7);
    let stop = Stop::new();
    for case in 0..500 {
        let problem = Arc::new(random(&mut rng));
        let context = SearchContext::new(&problem, price(&problem), None, &mut rng);
        if context.tables.shift > 0 {
            continue;
        }
        let mut state = AnnealState::new(context.variables(), rng.split());
        state.values = assignment(&problem, &mut rng);
        let mut scratch = Scratch::default();
        let mut energy = context.tables.energy(&state.values).total;
        for _ in 0..3 {
            let draws = SweepDraws { order: rng.draw(), values: rng.draw() };
            let done = sweep(&context, greedy(&context.tables), draws, &mut state, &mut scratch, &stop);
            assert!(done.is_some() && state.active.is_empty());
            let after = context.tables.energy(&state.values).total;
            assert!(after <= energy, "case {case}: {energy} became {after}");
            energy = after;
        }
    }
}
