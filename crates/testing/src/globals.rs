//! Random global cost functions, and networks that contain them.

use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_model::globals::Decomposer;
use fangs_model::model::{
    Automaton, Builder, Cost, CountCost, Counting, FORBIDDEN, Global, GlobalKind, Grammar, Linear, Measure, Network,
    Price, Repair, Same, Target, ValueCount,
};

/// Returns a random price.
pub fn price(rng: &mut Rng) -> Price {
    let measure = [Measure::Hard, Measure::Linear, Measure::Quadratic][rng.index(3)];
    Price { cost: [rng.below(20) as Cost, FORBIDDEN][usize::from(rng.below(5) == 0)], measure }
}

/// Returns a random target.
pub fn target(rng: &mut Rng) -> Target {
    let low = rng.below(9) as i64 - 3;
    match rng.below(4) {
        0 => Target::Not(low),
        1 => Target::Within(i64::MIN, low),
        2 => Target::Within(low, i64::MAX),
        _ => Target::Within(low, low + rng.below(4) as i64),
    }
}

/// Returns random bounds on the counts of values.
pub fn bounds(rng: &mut Rng) -> Vec<ValueCount> {
    let one = |value: u32, rng: &mut Rng| ValueCount { value, low: rng.below(3) as i64, high: rng.below(4) as i64 };
    (0..4).filter(|_| rng.below(3) > 0).collect::<Vec<_>>().into_iter().map(|value| one(value, rng)).collect()
}

/// Returns a random automaton.
pub fn automaton(rng: &mut Rng) -> Automaton {
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

/// Returns a random grammar.
pub fn grammar(rng: &mut Rng) -> Grammar {
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

/// Returns a network of variables with the given domain sizes, each with a random table.
pub fn unary(sizes: &[u32], rng: &mut Rng) -> Builder {
    let mut builder = Network::builder("t");
    for (v, &size) in (0..).zip(sizes) {
        let _ = builder.variable(size).expect("a variable");
        let _ = builder.dense(&[v], (0..size).map(|_| rng.below(5) as Cost).collect()).expect("a table");
    }
    builder
}

/// Returns a random function of the kind with this number, from 0 to 11.
pub fn random(kind: usize, sizes: &[u32], rng: &mut Rng) -> GlobalKind {
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

/// Returns a network of unary tables and one global cost function of any kind, decomposed into tables or with added
/// variables; sums of many values are only bounded.
pub fn network(rng: &mut Rng) -> Network {
    let sizes: Vec<u32> = (0..3 + rng.index(3)).map(|_| 1 + rng.below(3) as u32).collect();
    let mut builder = unary(&sizes, rng);
    let entries = [0, 1 << 20][rng.index(2)];
    let mut decomposer = Decomposer::limited(entries, 4 + rng.index(20), true);
    let (kind, scope) = (random(rng.index(12), &sizes, rng), (0..sizes.len() as u32).collect());
    let global = Global { scope, keyword: "k".into(), kind, limit: [FORBIDDEN, 6][rng.index(2)] };
    // a function of too many states is refused
    drop(decomposer.add(&mut builder, global, &Stop::new()));
    builder.build()
}

/// Returns a network of tables of one to three variables and of global cost functions that are sums, of all kinds.
pub fn network_of_sums(rng: &mut Rng) -> Network {
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
        // a function of too many states is refused
        drop(decomposer.add(&mut builder, global, &Stop::new()));
    }
    builder.build()
}
