use super::progress::window;
use super::*;
use crate::core::context::Request;
use crate::core::driver::Driver;
use crate::formats::{Format, ReadOptions, read_from};
use crate::globals::{self, Decomposer};
use crate::model::{CountCost, Counting, Global, GlobalKind, Measure, Price, ValueCount};
use crate::model::{FORBIDDEN, Network};
use crate::reduce::ReducedProblem;
use crate::reduce::Reducer;
use crate::walks::search::Walk as _;
use fangs_testing::globals::network_of_sums;

pub(super) fn parse(text: &str) -> Network {
    read_from(text.as_bytes(), "t.opb", Format::Opb, &ReadOptions::default(), &Stop::new()).expect("a problem")
}

/// Returns the text of a network of items with prices and weights, of which `count` are chosen, and the lowest total
/// price.
pub(super) fn items(rng: &mut Rng, n: usize, count: usize) -> (String, Option<i64>) {
    let prices: Vec<i64> = (0..n).map(|_| 1 + rng.below(30) as i64).collect();
    let weights: Vec<i64> = (0..n).map(|_| 1 + rng.below(20) as i64).collect();
    let least = weights.iter().sum::<i64>() * count as i64 / n as i64 + 10;
    let terms = |of: &[i64]| (1..).zip(of).map(|(k, c)| format!("+{c} x{k} ")).collect::<String>();
    let text =
        format!("min: {};\n{}= {count} ;\n{}>= {least} ;\n", terms(&prices), terms(&vec![1; n]), terms(&weights));
    let all = weights.iter().sum::<i64>() as usize;
    let mut best = vec![vec![None::<i64>; all + 1]; count + 1];
    best[0][0] = Some(0);
    for (price, &weight) in prices.iter().zip(&weights) {
        for k in (0..count).rev() {
            for total in (0..=all - weight as usize).rev() {
                if let Some(so_far) = best[k][total] {
                    let next = &mut best[k + 1][total + weight as usize];
                    *next = Some(next.map_or(so_far + price, |known| known.min(so_far + price)));
                }
            }
        }
    }
    let least = best[count][least as usize..].iter().flatten().min().copied();
    (text, least)
}

pub(super) fn context_of(network: &Network, rng: &mut Rng) -> Arc<SearchContext> {
    let (reducer, problem) = Reducer::unreduced(network, &Stop::new()).expect("no stop is set");
    let core = ReducedProblem { problem: problem.into(), reducer: reducer.into() };
    SearchContext::of_core(network, &core, Request::default(), rng, &Stop::new()).expect("no stop is set")
}

#[test]
fn alone_it_finds_the_best_choice_of_items() {
    let mut rng = Rng::new(3);
    for _ in 0..3 {
        let (text, least) = items(&mut rng, 24, 9);
        let network = parse(&text);
        assert!(globals::sums::Sums::has(&network, network.function_count() - 1), "a chain");
        let context = context_of(&network, &mut rng);
        let (mut driver, mut pool) = (Sums::new(rng.split(), None), Pool::default());
        let found = |pool: &Pool| pool.allowed().map(|elite| elite.energy.total + context.constant);
        let mut rounds = 0;
        while found(&pool) != least && rounds < 100 {
            let effort = driver.round(&context, &mut pool, &Stop::new());
            assert!(effort.moves > 0);
            rounds += 1;
        }
        assert_eq!(found(&pool), least, "{text}");
    }
}

/// Returns a network with tables, sums of bits and counts of values, soft and hard.
pub(super) fn mixed() -> Network {
    let mut builder = Network::builder("mixed");
    let n = 24;
    (0..n).for_each(|v| drop(builder.variable(2 + v % 3)));
    for v in 0..n - 1 {
        let entries = Cost::from((2 + v % 3) * (2 + (v + 1) % 3));
        let costs = (0..entries).map(|k| if k == 3 { FORBIDDEN } else { k * 7 % 5 }).collect();
        let _ = builder.dense(&[v, v + 1], costs).expect("a table");
    }
    let mut decomposer = Decomposer::default();
    let soft = Price { cost: 4, measure: Measure::Quadratic };
    for (price, low, high) in [(soft, 5, 6), (Price::HARD, 4, 12)] {
        let bounds = (0..3).map(|value| ValueCount { value, low, high }).collect();
        let counting = Counting { bounds, cost: CountCost::Each(price), classes: None };
        let kind = GlobalKind::Counting(counting);
        let global = Global { scope: (0..n).collect(), keyword: "count".into(), kind, limit: FORBIDDEN };
        let _ = decomposer.add(&mut builder, global, &Stop::new()).expect("a chain");
    }
    builder.build()
}

/// Returns a walk that has not begun, with the average cost of a move.
pub(super) fn progress(space: &SumSpace, key: u64, climb: f64) -> SumProgress {
    SumProgress::default().next(key, false, climb, space)
}

/// Returns random values for the beginning of a walk.
pub(super) fn values(space: &SumSpace, rng: &mut Rng) -> Vec<u16> {
    space.values.iter().map(|values| values.get(rng.index(values.len().max(1))).copied().unwrap_or(0)).collect()
}

fn limit(steps: u32) -> Limit {
    Limit { steps, work: u64::MAX }
}

/// Returns a network of variables with many values: tables of neighbours, and counts of some values.
pub(super) fn wide() -> Network {
    let (n, d, mut rng) = (12, 45, Rng::new(9));
    let mut builder = Network::builder("wide");
    (0..n).for_each(|_| drop(builder.variable(d)));
    for v in 0..n - 1 {
        let costs = (0..d * d).map(|_| if rng.below(40) == 0 { FORBIDDEN } else { rng.below(50) as Cost }).collect();
        let _ = builder.dense(&[v, v + 1], costs).expect("a table");
    }
    let price = Price { cost: 30, measure: Measure::Linear };
    let bounds = (0..9).map(|value| ValueCount { value: 5 * value, low: 1, high: 2 }).collect();
    let kind = GlobalKind::Counting(Counting { bounds, cost: CountCost::Each(price), classes: None });
    let global = Global { scope: (0..n).collect(), keyword: "count".into(), kind, limit: FORBIDDEN };
    let _ = Decomposer::default().add(&mut builder, global, &Stop::new()).expect("chains");
    builder.build()
}

#[test]
fn walks_keep_what_they_pay() {
    let mut rng = Rng::new(1);
    let drawn = (0..60).map(|_| network_of_sums(&mut rng)).collect::<Vec<_>>();
    let (mut walked, mut solved) = (0, 0);
    for network in [mixed(), wide(), parse(&items(&mut Rng::new(5), 30, 12).0)].into_iter().chain(drawn) {
        let context = context_of(&network, &mut rng);
        let Some(space) = &context.sums else { continue };
        let ground = Ground::new(space.clone());
        let mut walk = SumWalk::default();
        for round in 0..3 {
            let progress = walk.progress().next(rng.draw() | 1, round == 1, 9.0, space);
            let begun = walk.begin(&space.tables, &ground, progress, &values(space, &mut rng), &Stop::new());
            begun.expect("no stop is set");
            walk.assert_kept(space);
            let work = walk.walk(&space.tables, &ground, limit(u32::MAX), &Stop::new());
            walk.assert_kept(space);
            let walked = walk.progress();
            assert!(walked.is_over() && work > progress.length);
            assert!(walked.ratings >= walked.moves && walked.moves - progress.moves == progress.length);
        }
        walked += 1;
        let best = walk.progress().best;
        assert_eq!(space.cost(walk.best()), (best < i64::MAX).then_some(best));
        if best < i64::MAX {
            let assignment = space.own(walk.best());
            // entries of tables are exact
            assert_eq!(space.tables.shift, 0);
            let cost = best + space.tables.problem.constant;
            // parts of a function may reach its limit only together
            let evaluated = fangs_check::evaluate(&network, &assignment).cost;
            assert!(evaluated == cost || evaluated >= FORBIDDEN, "{evaluated} {cost}");
            solved += u32::from(evaluated == cost);
        }
    }
    assert!(walked > 40 && solved > 10, "{walked} {solved}");
}

#[test]
fn walks_are_the_same_wherever_they_pause() {
    let mut rng = Rng::new(2);
    let mut walked = 0;
    for _ in 0..20 {
        let context = context_of(&network_of_sums(&mut rng), &mut rng);
        let Some(space) = &context.sums else { continue };
        let ground = Ground::new(space.clone());
        let (progress, values) = (progress(space, rng.draw() | 1, 3.0), values(space, &mut rng));
        let mut walks = [SumWalk::default(), SumWalk::default()];
        let tables = &space.tables;
        for walk in &mut walks {
            walk.begin(tables, &ground, progress, &values, &Stop::new()).expect("no stop is set");
        }
        let steps = [0, 1, 1, 2, 7, 40, 64, 65, 100];
        let _ = walks[0].walk(tables, &ground, limit(steps.iter().sum()), &Stop::new());
        for &steps in &steps {
            let _ = walks[1].walk(tables, &ground, limit(steps), &Stop::new());
        }
        assert_eq!(walks[0].progress(), walks[1].progress());
        assert_eq!(walks[0].best(), walks[1].best());
        assert_eq!(walks[0].values, walks[1].values);
        walked += 1;
    }
    assert!(walked > 10, "{walked}");
}

#[test]
fn thresholds_are_those_of_an_exponential_distribution() {
    let context = context_of(&mixed(), &mut Rng::new(1));
    let ground = Ground::new(context.sums.clone().expect("sums"));
    for bits in [1u64 << 63, u64::MAX, 1 << 40, (1 << 40) + (1 << 35), 5, 1, 0] {
        let exact = -(bits.max(1) as f64 / 2f64.powi(64)).ln();
        assert!((ground.threshold(bits) - exact).abs() < 1e-3, "{bits}");
    }
    let mut rng = Rng::new(4);
    let drawn: Vec<f64> = (0..100_000).map(|_| ground.threshold(rng.draw())).collect();
    for level in [0.1, 0.5, 1.0, 3.0, 6.0] {
        let above = drawn.iter().filter(|&&drawn| drawn > level).count() as f64 / drawn.len() as f64;
        assert!((above - (-level).exp()).abs() < 0.005, "{level}: {above}");
    }
}

#[test]
fn windows_show_other_values_than_the_own_one() {
    let mut rng = Rng::new(6);
    for values in 2..40 {
        let mut seen = vec![0; values];
        for _ in 0..2000 {
            let (first, count) = window(rng.draw(), values);
            assert!(first < values && (2..=values).contains(&count));
            (first..first + count).for_each(|place| seen[place % values] += 1);
        }
        assert!(seen.iter().all(|&times| times > 100), "{values}: {seen:?}");
    }
}
