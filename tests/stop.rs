//! The stop flag in every phase: set at the k-th read, for many k; work ends within a bounded number of further reads,
//! and its results so far are correct.

use fangs_base::Error;
use fangs_base::stop::{Stop, Watch};
use fangs_bounds::bounds::{Bounder, BounderOptions, Stage, constant_bound};
use fangs_bounds::reduce::Reducer;
use fangs_elimination::elimination::{Progress, Run};
use fangs_elimination::order::{Method, best_orders};
use fangs_formats::{Format, ReadOptions, read_from, write};
use fangs_generate::generate;
use fangs_model::model::{Cost, Network};
use fangs_search::{BoundChoice, Options, Status, solve};
use std::sync::Arc;

/// Largest number of steps of a bound schedule; the first ones include every kind.
const STAGES: usize = 8;

/// Largest number of reads after the flag is set: the levels of calls that see it, and the parts that run side by side.
/// The whole work of a run reads it hundreds of times.
const FEW: u64 = 64;

fn networks() -> Vec<Network> {
    let kinds: [(&str, &[(&str, &str)]); 3] = [
        ("random", &[("n", "14"), ("d", "4"), ("p1", "0.5"), ("p2", "0.2")]),
        ("grid", &[("side", "7"), ("d", "3"), ("p2", "0")]),
        ("large-sparse", &[("n", "60"), ("d", "3"), ("functions", "110")]),
    ];
    kinds.iter().map(|(kind, parameters)| generate(kind, parameters, 3).expect("a kind")).collect()
}

/// Returns increasing numbers of reads, each about twice the previous one.
fn moments() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(1), |&k| Some(2 * k + 1))
}

/// Returns the best bound of `choice`; small networks are not reduced, so that something remains to be done.
fn bound(network: &Network, choice: BoundChoice, stop: &Stop) -> Result<Cost, Error> {
    let reducer = Reducer::new(network, network.name.starts_with("large"), stop)?;
    let problem = Arc::new(reducer.problem(stop)?);
    let mut best = constant_bound(&problem);
    if problem.variables() == 0 {
        return Ok(best);
    }
    let orders = best_orders(&problem, &Method::ALL.map(|(_, method)| method), 1, 4, 2, stop);
    stop.check()?;
    let exact_work = Some(if choice == BoundChoice::Be { u64::MAX } else { 0 });
    let options = BounderOptions { choice, memory: 1 << 26, exact_work, ..BounderOptions::default() };
    let mut bounder = Bounder::new(options);
    bounder.follow(orders);
    for _ in 0..STAGES {
        let Some(stage) = bounder.choose(&problem, None, stop) else { break };
        match stage {
            Stage::Shift(mut shift) => {
                let _ = shift.advance(u64::MAX, stop);
                best = best.max(shift.lower_bound(problem.top));
                bounder.shifted(*shift, stop);
            }
            Stage::Search(mut branch, work) => {
                let before = branch.lower_bound();
                let _ = branch.advance(work, stop);
                best = best.max(branch.lower_bound());
                bounder.searched(branch, before);
            }
            Stage::Run(attempt, plan) => {
                let mut run = Run::new(attempt.problem().clone(), plan);
                while run.advance(u64::MAX, stop) == Progress::More && !stop.is_set() {}
                let Some(outcome) = run.finish() else { continue };
                best = best.max(attempt.lower_bound(&outcome));
                let _ = outcome.assign(stop);
                let _ = bounder.eliminated(&attempt, &outcome, problem.top, stop);
            }
        }
    }
    Ok(best)
}

#[test]
fn bounds_end_soon_after_any_look_and_are_right() {
    for network in networks() {
        let optimum = bound(&network, BoundChoice::Be, &Stop::new()).expect("the flag is not set");
        for (name, choice) in BoundChoice::all() {
            let mut most = 0;
            for last in moments() {
                let watch = Watch::until(last);
                match bound(&network, choice, &Stop::watched(&watch)) {
                    Ok(best) => assert!(best <= optimum, "{name}: {best} > {optimum}, stopped with look {last}"),
                    Err(Error::Stopped) => {}
                    Err(error) => panic!("{name}: {error}"),
                }
                if watch.looks() < last {
                    assert!(last > 4 * FEW, "{name}, {}: only {} looks", network.name, watch.looks());
                    break;
                }
                most = most.max(watch.looks() - last);
            }
            assert!(most <= FEW, "{name}, {}: {most} looks after the flag was set", network.name);
        }
    }
}

#[test]
fn readers_end_soon_after_any_look() {
    let network = generate("large-sparse", &[("n", "20000"), ("functions", "40000")], 1).expect("a kind");
    let mut text = Vec::new();
    write(&network, Format::Wcsp, &mut text).expect("to memory");
    let mut ended = 0;
    for last in moments() {
        let watch = Watch::until(last);
        let read = read_from(&text[..], "t", Format::Wcsp, &ReadOptions::default(), &Stop::watched(&watch));
        if watch.looks() < last {
            assert!(read.is_ok());
            break;
        }
        assert!(matches!(read, Err(Error::Stopped)), "look {last}");
        assert!(watch.looks() <= last + 2, "look {last}: {} more", watch.looks() - last);
        ended += 1;
    }
    assert!(ended > 5, "only {ended} moments");
}

#[test]
fn runs_end_with_what_was_found() {
    for network in networks() {
        let optimum = bound(&network, BoundChoice::Be, &Stop::new()).expect("the flag is not set");
        for last in moments().take_while(|&last| last < 3000) {
            let stop = Stop::watched(&Watch::until(last));
            let options = Options::default().with(|options| (options.time, options.threads) = (None, Some(1)));
            let summary = solve(&network, &options, &stop, &mut |_| {}).expect("it only ends");
            let bound = summary.bound.map_or(f64::NAN, |bound| bound.as_f64());
            assert!(bound <= optimum as f64, "{}: {bound} > {optimum}, look {last}", network.name);
            match summary.cost {
                Some(cost) => assert!(cost.as_f64() >= optimum as f64),
                None => assert_eq!(summary.status, Status::Unknown),
            }
        }
    }
}
