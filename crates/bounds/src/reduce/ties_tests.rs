//! Tests of tied variables against enumeration.

use super::Reducer;
use super::named::Named;
use super::tests::{assignments, below, check, optimum, total};
use super::tuning::Limits;
use crate::model::{Cost, FORBIDDEN, Network};
use crate::rng::Rng;
use crate::stop::Stop;

/// Rings and chords of ties, and functions whose scopes become equal by merging.
#[test]
fn ties_become_variables_and_come_back() {
    let mut rng = Rng::new(27);
    let (mut tied, mut chained, mut left) = (0, 0, 0);
    for case in 0..1500 {
        let (n, d) = (6, 3 + below(&mut rng, 2) as u32);
        let mut builder = Network::builder("ties");
        for _ in 0..n {
            let _ = builder.variable(d).expect("a domain");
        }
        let random = |rng: &mut Rng| below(rng, 9) as Cost;
        for i in 0..n {
            let costs = (0..d).map(|_| random(&mut rng)).collect();
            let _ = builder.dense(&[i], costs).expect("a function");
            for j in i + 1..n {
                let share = if j == i + 1 && i % 3 != 2 { 5 } else { 0 };
                let entry = |e: u32, rng: &mut Rng| {
                    let near = (e / d).abs_diff(e % d) <= 1 || below(rng, 10) >= share * 2;
                    if near { random(rng) } else { FORBIDDEN }
                };
                let costs = (0..d * d).map(|e| entry(e, &mut rng)).collect();
                let _ = builder.dense(&[i, j], costs).expect("a function");
            }
        }
        if below(&mut rng, 2) == 0 {
            let _ = builder.dense(&[0, 2, 4], (0..d * d * d).map(|_| random(&mut rng)).collect()).expect("a function");
        }
        let network = builder.build();
        let stop = Stop::new();
        let mut reducer = Reducer::load(&network, Named::default(), true, &stop).expect("not stopped");
        reducer.limits = Limits { joint: 0, component: 0, tie_share: 1, tie_multiple: 3, ..Limits::default() };
        reducer.log = (case % 2 == 0).then(Vec::new);
        reducer.merge_ties(&stop);
        check(&network, &reducer, network.top());
        tied += reducer.report().tied;
        chained += reducer.ties.iter().filter(|tie| tie.parts.iter().any(|&v| v >= n)).count();
        left += reducer.problem(&Stop::new()).expect("no stop is set").variables();
        // a warm start keeps what it can: an assignment of the network below the limit comes back unchanged
        let (mut any, best) = (reducer.clone(), optimum(&network, network.top()));
        for x in assignments(network.domains()).step_by(11) {
            let (whole, core) = (total(&network, &x), reducer.project(&x, &Stop::new()).expect("no stop is set"));
            if whole < FORBIDDEN && reducer.report().dominated == 0 && reducer.report().substituted == 0 {
                assert_eq!(reducer.lift(&core, &Stop::new()).expect("no stop is set"), x, "case {case}");
            }
        }
        if let Some(best) = best {
            any.tighten(best + 1, &stop);
            check(&network, &any, best + 1);
        }
    }
    assert!(tied > 1500 && chained > 300 && left > 1500, "{tied} merged, {chained} of them twice, {left} left");
}
