//! Every form of every kind has the cost that the formulas of `check` give.

use super::Decomposer;
use super::sums::Sums;
use crate::check;
use crate::model::{
    Arithmetic, Automaton, Builder, Cost, CountCost, Counting, FORBIDDEN, Function, Global, GlobalKind, Grammar,
    Linear, Measure, Network, Odometer, Price, Repair, Same, Target, ValueCount, add,
};
use crate::rng::Rng;
use crate::stop::Stop;

fn price(rng: &mut Rng) -> Price {
    let measure = [Measure::Hard, Measure::Linear, Measure::Quadratic][rng.index(3)];
    Price { cost: [rng.below(20) as Cost, FORBIDDEN][usize::from(rng.below(5) == 0)], measure }
}

fn target(rng: &mut Rng) -> Target {
    let low = rng.below(9) as i64 - 3;
    match rng.below(4) {
        0 => Target::Not(low),
        1 => Target::Within(i64::MIN, low),
        2 => Target::Within(low, i64::MAX),
        _ => Target::Within(low, low + rng.below(4) as i64),
    }
}

fn bounds(rng: &mut Rng) -> Vec<ValueCount> {
    let one = |value: u32, rng: &mut Rng| ValueCount { value, low: rng.below(3) as i64, high: rng.below(4) as i64 };
    (0..4).filter(|_| rng.below(3) > 0).collect::<Vec<_>>().into_iter().map(|value| one(value, rng)).collect()
}

fn automaton(rng: &mut Rng) -> Automaton {
    let states = 1 + rng.below(4) as u32;
    let cost = |rng: &mut Rng| rng.below(6) as Cost - 1;
    let ends = |rng: &mut Rng| (0..1 + rng.below(2)).map(|_| (rng.below(states.into()) as u32, cost(rng))).collect();
    let transition = |rng: &mut Rng| {
        let state = |rng: &mut Rng| rng.below(states.into()) as u32;
        (state(rng), rng.below(4) as u32, state(rng), rng.below(6) as Cost)
    };
    let repair = [Repair::None, Repair::Substitute(3), Repair::Edit(2)][rng.index(3)];
    let transitions = (0..rng.below(9)).map(|_| transition(rng)).collect();
    Automaton { states, starts: ends(rng), ends: ends(rng), transitions, repair }
}

fn grammar(rng: &mut Rng) -> Grammar {
    let symbols = 1 + rng.below(3) as u32;
    let symbol = |rng: &mut Rng| rng.below(symbols.into()) as u32;
    Grammar {
        symbols,
        start: symbol(rng),
        terminals: (0..4).map(|_| (symbol(rng), rng.below(4) as u32, rng.below(5) as Cost)).collect(),
        pairs: (0..4).map(|_| (symbol(rng), symbol(rng), symbol(rng), rng.below(5) as Cost)).collect(),
        substitute: [None, Some(3)][rng.index(2)],
    }
}

/// Variables, each with a random table.
fn unary(sizes: &[u32], rng: &mut Rng) -> Builder {
    let mut builder = Network::builder("t");
    for (v, &size) in (0..).zip(sizes) {
        let _ = builder.variable(size).expect("a variable");
        let _ = builder.dense(&[v], (0..size).map(|_| rng.below(5) as Cost).collect()).expect("a table");
    }
    builder
}

/// A function of the kind of this number.
fn random(kind: usize, sizes: &[u32], rng: &mut Rng) -> GlobalKind {
    let n = sizes.len();
    let weights = |rng: &mut Rng| -> Vec<Vec<i64>> {
        sizes.iter().map(|&size| (0..size).map(|_| rng.below(7) as i64 - 3).collect()).collect()
    };
    match kind {
        0 => {
            let sets = (0..rng.below(2)).map(|_| vec![(0, 0), (1, 0), (rng.below(n as u64) as u32, 1)]).collect();
            let (target, price) = (target(rng), price(rng));
            GlobalKind::Linear(Linear { weights: weights(rng), target, price, at_most_one: sets })
        }
        1 => GlobalKind::EqualPairs { price: rng.below(9) as Cost },
        2 => {
            let bounds = bounds(rng);
            let cost = match rng.below(3) {
                0 => CountCost::Each(price(rng)),
                1 => CountCost::Larger(rng.below(9) as Cost),
                _ => CountCost::Weighted(bounds.iter().map(|_| (rng.below(9) as Cost, rng.below(9) as Cost)).collect()),
            };
            let class = |size: &u32, rng: &mut Rng| (0..*size).map(|_| rng.below(4) as u32).collect();
            let classes = (rng.below(2) == 0).then(|| sizes.iter().map(|size| class(size, rng)).collect());
            GlobalKind::Counting(Counting { bounds, cost, classes })
        }
        3 => {
            let all = |high: i64| (0..4).map(|value| ValueCount { value, low: 0, high }).collect();
            GlobalKind::Counting(Counting { bounds: all(1), cost: CountCost::Each(Price::HARD), classes: None })
        }
        4 => {
            let half = n as u32 / 2;
            let (left, right) = ((0..half).collect(), (half..2 * half).rev().collect());
            let bounds = if rng.below(2) == 0 { Vec::new() } else { bounds(rng) };
            GlobalKind::Same(Same { left, right, one_sided: rng.below(2) == 0, price: price(rng), bounds })
        }
        5 => GlobalKind::Overlap { target: target(rng), price: price(rng) },
        6 => GlobalKind::Regular(automaton(rng)),
        7 => GlobalKind::Grammar(grammar(rng)),
        8 => GlobalKind::Max {
            costs: sizes.iter().map(|&size| (0..size).map(|_| rng.below(9) as Cost - 2).collect()).collect(),
        },
        9 => GlobalKind::Tree,
        10 => GlobalKind::Nested { network: unary(sizes, rng).build().into(), low: 3, high: 3 + rng.below(6) as Cost },
        _ => {
            let weights = sizes.iter().map(|&size| (0..size).map(|_| rng.below(2) as i64).collect()).collect();
            let (target, price) = (Target::Within(0, 1), Price::HARD);
            GlobalKind::Linear(Linear { weights, target, price, at_most_one: Vec::new() })
        }
    }
}

/// A network of tables of one variable and of a function of any kind, some as tables and some with added variables;
/// sums of many values only bounded.
pub(crate) fn network(rng: &mut Rng) -> Network {
    let sizes: Vec<u32> = (0..3 + rng.index(3)).map(|_| 1 + rng.below(3) as u32).collect();
    let mut builder = unary(&sizes, rng);
    let entries = [0, 1 << 20][rng.index(2)];
    let mut decomposer = Decomposer { entries, narrow: 4 + rng.index(20), ..Decomposer::default() };
    let (kind, scope) = (random(rng.index(12), &sizes, rng), (0..sizes.len() as u32).collect());
    let global = Global { scope, keyword: "k".into(), kind, limit: [FORBIDDEN, 6][rng.index(2)] };
    // what has too many states is refused
    drop(decomposer.add(&mut builder, global, &Stop::new()));
    builder.build()
}

/// A network of tables of one to three variables and of functions that are sums, of all rules.
pub(crate) fn network_of_sums(rng: &mut Rng) -> Network {
    let sizes: Vec<u32> = (0..6 + rng.index(30)).map(|_| 1 + rng.below(5) as u32).collect();
    let mut builder = unary(&sizes, rng);
    let places = |rng: &mut Rng, count: usize| {
        let first = rng.index(sizes.len() - count + 1);
        first as u32..(first + count) as u32
    };
    for _ in 0..rng.index(2 * sizes.len()) {
        let count = 2 + rng.index(2);
        let scope: Vec<u32> = places(rng, count).collect();
        let size = scope.iter().map(|&v| sizes[v as usize]).product();
        let cost = |rng: &mut Rng| if rng.below(12) == 0 { FORBIDDEN } else { rng.below(9) as Cost };
        let _ = builder.dense(&scope, (0..size).map(|_| cost(rng)).collect()).expect("a table");
    }
    let mut decomposer = Decomposer::default();
    for _ in 0..1 + rng.index(5) {
        let count = 4 + rng.index(sizes.len() - 3);
        let scope = places(rng, count);
        let own = &sizes[scope.start as usize..scope.end as usize];
        let (kind, scope) = (random([0, 0, 1, 2, 3, 4, 11][rng.index(7)], own, rng), scope.collect());
        let global = Global { scope, keyword: "k".into(), kind, limit: [FORBIDDEN, 40][rng.index(2)] };
        // what has too many states is refused
        drop(decomposer.add(&mut builder, global, &Stop::new()));
    }
    builder.build()
}

/// Compares all assignments; returns the number of added variables.
fn agree(kind: GlobalKind, sizes: &[u32], limit: Cost, decomposer: &mut Decomposer) -> usize {
    let mut builder = Network::builder("t");
    // the scope goes backwards
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
        let exact = check::global_cost(global, network.domains(), &assignment);
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
            let mut chains = Decomposer { entries: 0, pairs: false, ..Decomposer::default() };
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
    assert_eq!((parts, check::evaluate(&network, &x).cost), (2 * 51, 2 * 51));
    let counting = |cost| Counting {
        bounds: (0..3).map(|value| ValueCount { value, low: 20, high: 20 }).collect(),
        cost,
        classes: None,
    };
    let each = add(GlobalKind::Counting(counting(CountCost::Each(price))), &[3; 60]).expect("chains of each value");
    assert_eq!(each.expanded().domains().len(), 60 + 3 * 59);
    let tree = add(GlobalKind::Tree, &[20; 20]).expect_err("too many states");
    assert!(matches!(tree, super::Refusal::TooLarge(what) if what.contains("a chain of more than")));
}

/// Weights up to a million: each assignment costs at least what the coarser chains say, and the sums what it costs.
#[test]
fn sums_of_many_values_are_bounded_from_below() {
    let (mut rng, mut relaxed, mut bounded) = (Rng::new(9), 0, 0);
    for round in 0..30 {
        let sizes: Vec<u32> = (0..8).map(|_| 2 + rng.below(2) as u32).collect();
        let mut builder = Network::builder("t");
        sizes.iter().for_each(|&size| drop(builder.variable(size)));
        let mut decomposer = Decomposer { entries: 0, narrow: 16, ..Decomposer::default() };
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
            let exact = check::evaluate(&network, &assignment).cost;
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
