//! Tests that every decomposition of every kind of global function has the cost that the formulas of `check` give.

use super::global_cost;
use crate::model::{
    Arithmetic, Cost, CountCost, Counting, FORBIDDEN, Function, Global, GlobalKind, Linear, Measure, Network, Odometer,
    Price, Target, ValueCount, add,
};
use crate::rng::Rng;
use crate::stop::Stop;
use fangs_model::globals::Decomposer;
use fangs_model::globals::sums::Sums;
use fangs_testing::globals::*;

/// Compares the costs of all assignments; returns the number of added variables.
fn agree(kind: GlobalKind, sizes: &[u32], limit: Cost, decomposer: &mut Decomposer) -> usize {
    let mut builder = Network::builder("t");
    // the scope is in descending order
    sizes.iter().rev().for_each(|&size| drop(builder.variable(size)));
    let scope: Vec<u32> = (0..sizes.len() as u32).rev().collect();
    let text = format!("{kind:?} of {sizes:?} below {limit}");
    let global = Global { scope: scope.into(), keyword: "k".into(), kind, limit };
    let _ = decomposer.add(&mut builder, global, &Stop::new()).expect(&text);
    let network = builder.build();
    let expanded = network.expanded();
    let Some(Function::Global(global)) = network.function(0) else { panic!("the function") };
    let mut odometer = Odometer::new(network.domains().iter().map(|&size| size as usize).collect());
    loop {
        let assignment: Vec<u32> = odometer.digits.iter().map(|&value| value as u32).collect();
        let exact = global_cost(global, network.domains(), &assignment);
        let extended = network.extend(&assignment);
        assert_eq!(extended[..sizes.len()], assignment);
        let parts = expanded.functions().iter().fold(0, |sum, f| add(sum, f.cost(expanded.domains(), &extended)));
        let parts = if parts >= limit { FORBIDDEN } else { parts };
        assert_eq!(parts, exact, "{text}: {assignment:?}");
        assert!(network.least() <= exact, "{text}");
        if Sums::has(&network, 0) {
            let sums = Sums::of(&network);
            let values: Vec<u16> = assignment.iter().map(|&value| value as u16).collect();
            let costs = sums.sums.iter().zip(sums.totals(&values)).map(|(sum, total)| sum.cost(total));
            let cost = costs.sum::<Option<Cost>>().filter(|&cost| cost < limit).unwrap_or(FORBIDDEN);
            assert_eq!(cost, exact, "{text}: {assignment:?}");
        }
        if odometer.advance().is_none() {
            return expanded.domains().len() - sizes.len();
        }
    }
}

#[test]
fn tables_pairs_and_chains_have_the_costs_of_the_formulas() {
    let mut rng = Rng::new(42);
    let mut added = [0; 12];
    for round in 0..60 {
        for (kind, added) in added.iter_mut().enumerate() {
            let n = 3 + rng.index(3);
            let widest = if kind == 9 { n as u64 } else { 4 };
            let sizes: Vec<u32> = (0..n).map(|_| 1 + rng.below(widest) as u32).collect();
            let limit = if round % 3 == 0 { 9 } else { FORBIDDEN };
            let function = random(kind, &sizes, &mut rng);
            let _ = agree(function.clone(), &sizes, limit, &mut Decomposer::default());
            let mut chains = Decomposer::limited(0, 256, false);
            *added += agree(function, &sizes, limit, &mut chains);
        }
    }
    assert!(added.iter().all(|&added| added > 0), "every kind was a chain: {added:?}");
}

#[test]
fn functions_of_two_numbers() {
    let mut rng = Rng::new(7);
    for _ in 0..50 {
        let mut number = || rng.below(9) as i64 - 3;
        let [shift, most, x, y] = [number(), number(), number(), number()];
        let costs = (5, 7);
        for function in [
            Arithmetic::AtLeast { shift, most },
            Arithmetic::AtMost { shift, most },
            Arithmetic::Equal { shift, most },
            Arithmetic::Apart { after_x: x, after_y: y, cost: 6 },
            Arithmetic::ApartUnless { after_x: x, after_y: y, most: (shift, most), costs },
        ] {
            for limit in [4, FORBIDDEN] {
                let _ = agree(GlobalKind::Arithmetic(function), &[5, 4], limit, &mut Decomposer::default());
            }
        }
    }
}

#[test]
fn long_scopes_are_chains_or_refused_with_their_size() {
    let add = |kind: GlobalKind, sizes: &[u32]| {
        let mut builder = Network::builder("t");
        sizes.iter().for_each(|&size| drop(builder.variable(size)));
        let scope = (0..sizes.len() as u32).collect();
        let global = Global { scope, keyword: "k".into(), kind, limit: FORBIDDEN };
        let added = Decomposer::default().add(&mut builder, global, &Stop::new());
        added.map(|_| builder.build())
    };
    let price = Price { cost: 2, measure: Measure::Linear };
    let weights = vec![vec![0, 1, 2]; 60];
    let linear = Linear { weights, target: Target::Within(7, 9), price, at_most_one: Vec::new() };
    let network = add(GlobalKind::Linear(linear), &[3; 60]).expect("a chain");
    let x: Vec<u32> = (0..60).map(|v| v % 3).collect();
    let (expanded, extended) = (network.expanded(), network.extend(&x));
    let parts: Cost = expanded.functions().iter().map(|f| f.cost(expanded.domains(), &extended)).sum();
    assert_eq!((parts, super::evaluate(&network, &x).cost), (2 * 51, 2 * 51));
    let counting = |cost| Counting {
        bounds: (0..3).map(|value| ValueCount { value, low: 20, high: 20 }).collect(),
        cost,
        classes: None,
    };
    let each = add(GlobalKind::Counting(counting(CountCost::Each(price))), &[3; 60]).expect("chains of each value");
    assert_eq!(each.expanded().domains().len(), 60 + 3 * 59);
    let tree = add(GlobalKind::Tree, &[20; 20]).expect_err("too many states");
    assert!(matches!(tree, fangs_model::globals::Refusal::TooLarge(what) if what.contains("a chain of more than")));
}

/// Weights up to a million: no assignment costs less than the coarser chains state, and the sums state its exact cost.
#[test]
fn sums_of_many_values_are_bounded_from_below() {
    let (mut rng, mut relaxed, mut bounded) = (Rng::new(9), 0, 0);
    for round in 0..30 {
        let sizes: Vec<u32> = (0..8).map(|_| 2 + rng.below(2) as u32).collect();
        let mut builder = Network::builder("t");
        sizes.iter().for_each(|&size| drop(builder.variable(size)));
        let mut decomposer = Decomposer::limited(0, 16, true);
        for _ in 0..2 {
            let weight = |rng: &mut Rng| rng.below(1 << 21) as i64 - (1 << 20);
            let weights = sizes.iter().map(|&size| (0..size).map(|_| weight(&mut rng)).collect()).collect();
            let low = weight(&mut rng);
            let target = Target::Within(low, low + rng.below(1 << 20) as i64);
            let measure = [Measure::Hard, Measure::Linear][round % 2];
            let price = Price { cost: [3, FORBIDDEN][usize::from(round % 3 == 0)], measure };
            let linear = Linear { weights, target, price, at_most_one: Vec::new() };
            let (scope, kind) = ((0..8).collect(), GlobalKind::Linear(linear));
            let global = Global { scope, keyword: "linear".into(), kind, limit: FORBIDDEN };
            let _ = decomposer.add(&mut builder, global, &Stop::new()).expect("a chain");
        }
        let network = builder.build();
        relaxed += u32::from(network.is_relaxed());
        let (expanded, sums) = (network.expanded(), Sums::of(&network));
        let mut odometer = Odometer::new(sizes.iter().map(|&size| size as usize).collect());
        loop {
            let assignment: Vec<u32> = odometer.digits.iter().map(|&value| value as u32).collect();
            let exact = super::evaluate(&network, &assignment).cost;
            let extended = network.extend(&assignment);
            let parts = expanded.functions().iter().fold(0, |sum, f| add(sum, f.cost(expanded.domains(), &extended)));
            assert!(parts <= exact, "{network:?}: {assignment:?}");
            bounded += u32::from(network.is_relaxed() && parts > 0);
            let mut values: Vec<u16> = assignment.iter().map(|&value| value as u16).collect();
            values.resize(expanded.domains().len(), 0);
            let costs = sums.sums.iter().zip(sums.totals(&values)).map(|(sum, total)| sum.cost(total));
            assert_eq!(costs.sum::<Option<Cost>>().unwrap_or(FORBIDDEN), exact);
            if odometer.advance().is_none() {
                break;
            }
        }
    }
    assert!(relaxed >= 10 && bounded > 0, "{relaxed}, {bounded}");
}
