//! Compares sums by search with sums by elimination, with little memory and in small slices of work.

use super::ComponentSearch;
use crate::model::{Potentials, Variable};
use crate::rng::Rng;
use crate::simplify::Keep;
use crate::sliced::Sliced;
use crate::stop::Stop;
use crate::tests::{evidence, models, random};
use crate::{Evidence, Options, compute};

#[test]
fn sums_by_search_are_those_of_elimination() {
    let (mut rng, stop) = (Rng::new(7), Stop::new());
    let mut looked_at = 0;
    for case in 0..models() {
        let potentials = random(&mut rng);
        let evidence = evidence(&mut rng, &potentials);
        let only_z = Options::default().with(|options| options.variables = Some(Vec::new()));
        let found = compute(&potentials, &evidence, &only_z, &stop).expect("it fits");
        let keep = if rng.below(2) == 0 { Keep::All } else { Keep::These(&|_| false) };
        let sliced = Sliced::new(&potentials, &evidence, |_| true, keep, &stop).expect("no stop is set");
        let Some(sliced) = sliced else { continue };
        let mut places: Vec<usize> = (0..sliced.variables.len()).collect();
        rng.shuffle(&mut places);
        let memory = [1 << 12, 1 << 20][rng.index(2)];
        let Some(mut search) = ComponentSearch::new(&sliced, places, u64::MAX, memory, &stop).expect("no stop is set")
        else {
            continue;
        };
        let mut lower = f64::NEG_INFINITY;
        let sum = loop {
            let done = search.advance(1 + rng.below(40), &stop);
            let now = search.lower().value.ln();
            assert!(
                now >= lower - 1e-12 * (1.0 + lower.abs()) || lower == f64::NEG_INFINITY,
                "case {case}: {now} {lower}"
            );
            lower = now;
            if let Some(sum) = done {
                break sum;
            }
        };
        let (ln_z, off) = (sum.value.ln(), found.error_bound + sum.error + sliced.rounding);
        assert!(
            ln_z == found.ln_z || (ln_z - found.ln_z).abs() <= off + 1e-15 * ln_z.abs(),
            "case {case}: {ln_z}, {found:?}"
        );
        looked_at += 1;
    }
    assert!(looked_at > models() / 4, "{looked_at}");
}

/// Returns a product of bans and some weights, over groups of variables that few functions connect. Groups may be
/// without an assignment above 0.
fn formula(rng: &mut Rng) -> Potentials {
    let mut potentials = Potentials::new("formula");
    let is_large = rng.below(4) == 0;
    let (groups, size) = if is_large { (2, 7 + rng.index(3)) } else { (1 + rng.index(4), 2 + rng.index(5)) };
    let domains: &[u32] = if is_large { &[2] } else { [&[2][..], &[2, 2, 3], &[2, 3, 4, 1]][rng.index(3)] };
    for _ in 0..groups * size {
        let domain = domains[rng.index(domains.len())];
        let _ = potentials.variable(Variable { domain, name: None, values: None }).expect("it has values");
    }
    let all = (groups * size) as u64;
    for _ in 0..all * (2 + rng.below(8)) / 2 {
        let first = if rng.below(12) == 0 { None } else { Some((rng.index(groups) * size) as u32) };
        let mut scope: Vec<u32> = match first {
            Some(first) => (first..first + size as u32).collect(),
            None => (0..all as u32).collect(),
        };
        rng.shuffle(&mut scope);
        scope.truncate(if is_large { 2 + rng.index(2) } else { 1 + rng.index(6).min(1 + rng.index(3)) });
        let entries: usize = scope.iter().map(|&v| potentials.domains[v as usize] as usize).product();
        let (banned, is_weighted) = (rng.index(entries), rng.below(6) == 0);
        let entry = |at: usize| if at == banned && entries > 1 { 0.0 } else { 1.0 };
        let weight = |rng: &mut Rng| if is_weighted { (1 + rng.below(3)) as f64 } else { 1.0 };
        let table: Vec<f64> = (0..entries).map(|at| entry(at) * weight(rng)).collect();
        potentials.function(&scope, &table).expect("it fits");
    }
    if rng.below(3) == 0 && all >= 6 {
        // wide functions with few zeros have no table of states
        let scope: Vec<u32> = (0..all.min(9) as u32).collect();
        let entries: usize = scope.iter().map(|&v| potentials.domains[v as usize] as usize).product();
        if entries <= 1 << 12 {
            let banned: Vec<usize> = (0..1 + rng.below(20)).map(|_| rng.index(entries)).collect();
            let table: Vec<f64> = (0..entries).map(|at| if banned.contains(&at) { 0.0 } else { 3.0 }).collect();
            potentials.function(&scope, &table).expect("it fits");
        }
    }
    potentials
}

#[test]
fn learnt_clauses_leave_sums_of_formulas_as_they_are() {
    let (mut rng, stop) = (Rng::new(11), Stop::new());
    let (mut possible, mut impossible, mut learnt) = (0, 0, 0);
    for case in 0..2 * models() {
        let potentials = formula(&mut rng);
        let only_z = Options::default().with(|options| options.variables = Some(Vec::new()));
        let none = Evidence::default();
        let found = compute(&potentials, &none, &only_z, &stop).expect("it fits");
        let keep = if rng.below(4) > 0 { Keep::All } else { Keep::These(&|_| false) };
        let Some(sliced) = Sliced::new(&potentials, &none, |_| false, keep, &stop).expect("no stop is set") else {
            continue;
        };
        let mut places: Vec<usize> = (0..sliced.variables.len()).collect();
        rng.shuffle(&mut places);
        let memory = [1 << 14, 1 << 15, 1 << 20][rng.index(3)];
        let Some(mut search) = ComponentSearch::new(&sliced, places, u64::MAX, memory, &stop).expect("no stop is set")
        else {
            continue;
        };
        let sum = loop {
            let done = search.advance(1 + rng.below(1000), &stop);
            let lower = search.lower().value.ln();
            let is_below = lower == f64::NEG_INFINITY || lower <= found.ln_z + 1e-9 * (1.0 + found.ln_z.abs());
            assert!(is_below, "case {case}: {lower} {found:?}");
            if let Some(sum) = done {
                break sum;
            }
        };
        let (ln_z, off) = (sum.value.ln(), found.error_bound + sum.error + sliced.rounding);
        assert!(ln_z == found.ln_z || (ln_z - found.ln_z).abs() <= off + 1e-15 * ln_z.abs(), "case {case}: {ln_z}");
        learnt += search.assignment.clauses.list.len();
        (possible, impossible) = match found.ln_z == f64::NEG_INFINITY {
            true => (possible, impossible + 1),
            false => (possible + 1, impossible),
        };
    }
    assert!(possible > models() / 4 && impossible > models() / 8 && learnt as u64 > models() / 10);
}
