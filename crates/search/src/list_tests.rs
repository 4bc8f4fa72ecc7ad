//! Runs on lists of devices. If there is no device, the CPU stands in for each entry; on a GPU a list may name it twice
//! here, so that one GPU is enough to test several.

use super::options::Options;
use super::{EventKind, Status, Summary, solve};
use crate::core::context::SearchContext;
use crate::core::elite::Elite;
use crate::core::pool::Pool;
use crate::device::{Choice, Cuda, Opened, Opening};
use crate::generate::generate;
use crate::model::Network;
use crate::options::DriverChoice;
use crate::reduce::{ReducedProblem, Reducer};
use crate::rng::Rng;
use crate::stop::{Cause, Stop};
use std::sync::Arc;
use std::time::Duration;

/// Returns a list of `count` entries, all the same device.
fn list(count: usize, cuda: Option<&Arc<Cuda>>) -> Opening {
    let opening = Opening::on_its_way(Choice::All);
    let others = vec![cuda.cloned(); count - 1];
    opening.arrive(Ok(Opened { cuda: cuda.cloned(), others, ..Opened::default() }));
    opening
}

fn family(kind: &str, settings: &[(&str, &str)]) -> Network {
    generate(kind, settings, 3).expect("a family")
}

/// Small and large networks: with hard functions, with values that bounds exclude, of colors, with one annealed state.
fn networks() -> Vec<(&'static str, Network)> {
    vec![
        ("grid", family("grid", &[("side", "9"), ("p2", "0.2")])),
        ("large grid", family("grid", &[("side", "24"), ("d", "2"), ("p2", "0.1")])),
        ("coloring", family("coloring", &[("n", "40"), ("k", "4")])),
        ("sparse", family("large-sparse", &[("n", "23000"), ("d", "3"), ("functions", "60000")])),
    ]
}

fn run(network: &Network, device: Opening, threads: usize, rounds: u64, driver: DriverChoice) -> Summary {
    let options = Options::default().with(|options| {
        (options.device, options.threads, options.rounds) = (device, Some(threads), Some(rounds));
        (options.driver, options.seed) = (driver, 5);
    });
    solve(network, &options, &Stop::new(), &mut |_| {}).expect("the run ends well")
}

fn told(summary: &Summary) -> impl PartialEq + std::fmt::Debug + use<> {
    let Summary { cost, bound, rounds, moves, ratings, population, solution, .. } = summary.clone();
    (cost, bound, rounds, moves, ratings, population, solution)
}

#[test]
fn rounds_of_a_list_are_equal_whatever_the_threads_and_more_than_those_of_one() {
    for (name, network) in networks() {
        for driver in [DriverChoice::PORTFOLIO, DriverChoice::named("anneal").expect("a driver")] {
            let [one, three] = [1, 3].map(|count| run(&network, list(count, None), 3, 5, driver));
            let again = run(&network, list(3, None), 1, 5, driver);
            assert_eq!(told(&again), told(&three), "{name}, {driver:?}");
            if one.status != Status::Optimal && three.status != Status::Optimal {
                assert_eq!(three.device, "cpu,cpu,cpu", "{name}");
                assert!(three.moves > one.moves && three.population > one.population, "{name}, {driver:?}");
            }
        }
    }
}

#[test]
fn a_list_of_one_is_that_one() {
    let network = family("grid", &[("side", "9"), ("p2", "0.2")]);
    let alone = run(&network, Choice::Cpu.into(), 2, 8, DriverChoice::PORTFOLIO);
    let listed = run(&network, list(1, None), 2, 8, DriverChoice::PORTFOLIO);
    assert_eq!((told(&alone), alone.device), (told(&listed), listed.device));
}

#[test]
fn rounds_of_a_list_are_equal_on_cuda_devices_and_the_cpu() {
    let Some(cuda) = fangs_testing::gpu() else { return };
    for (name, network) in networks() {
        for driver in [DriverChoice::PORTFOLIO, DriverChoice::named("tabu").expect("a driver")] {
            let [cpu, gpu] = [None, Some(&cuda)].map(|cuda| run(&network, list(2, cuda), 2, 12, driver));
            assert_eq!(told(&cpu), told(&gpu), "{name}, {driver:?}");
            assert!(gpu.status == Status::Optimal || gpu.device == "cuda:0,0", "{name}: {}", gpu.device);
        }
    }
}

#[test]
fn by_the_clock_a_list_finds_and_proves_what_one_does() {
    let network = family("random", &[("n", "16"), ("d", "4"), ("p1", "0.5"), ("p2", "0.1")]);
    let alone = solve(&network, &Options::default(), &Stop::new(), &mut |_| {}).expect("nothing fails");
    for cuda in [None, fangs_testing::gpu()] {
        let options = Options::default().with(|options| {
            options.device = list(3, cuda.as_ref());
            (options.threads, options.time) = (Some(3), Some(Duration::from_secs(60)));
        });
        let summary = solve(&network, &options, &Stop::new(), &mut |_| {}).expect("nothing fails");
        assert_eq!((summary.status, summary.cost), (Status::Optimal, alone.cost));
    }
}

#[test]
fn by_the_clock_a_list_goes_on_until_the_time_is_over() {
    let network = family("grid", &[("side", "40"), ("d", "6"), ("p2", "0.1")]);
    for cuda in [None, fangs_testing::gpu()] {
        let options = Options::default().with(|options| {
            options.device = list(2, cuda.as_ref());
            (options.threads, options.time) = (Some(2), Some(Duration::from_secs(3)));
        });
        let mut warned = 0;
        let summary = solve(&network, &options, &Stop::new(), &mut |event| {
            warned += usize::from(event.kind == EventKind::Warning);
        });
        let summary = summary.expect("nothing fails");
        let name = if cuda.is_some() { "cuda:0,0" } else { "cpu,cpu" };
        assert_eq!((summary.status, &summary.device[..], warned), (Status::Feasible, name, 0));
        assert!(summary.time_s < 3.5, "{}", summary.time_s);
    }
}

#[test]
fn drivers_that_were_told_to_end_go_on_in_their_next_rounds() {
    let ising = ("ising", family("ising", &[("side", "40")]));
    for cuda in [None, fangs_testing::gpu()] {
        let mut told = Vec::new();
        for (name, network) in networks().into_iter().chain([ising.clone()]) {
            let (options, mut rng, stop) = (Options::default(), Rng::new(1), Stop::new());
            let reducer = Reducer::new(&network, false, &stop).expect("no stop is set");
            let core = ReducedProblem::new(reducer, &stop).expect("no stop is set");
            let context =
                SearchContext::of_core(&network, &core, options.request(), &mut rng, &stop).expect("no stop is set");
            for driver in DriverChoice::PORTFOLIO.drivers().filter(|driver| driver.on_device) {
                let mut setup = options.setup(cuda.clone(), &mut rng);
                let (Some(mut member), mut pool) = ((driver.make)(&mut setup), Pool::default()) else { continue };
                pool.offer(&Elite::new(&context.tables, vec![0; context.variables()]));
                if !member.fits(&context, &pool) {
                    continue;
                }
                let over = Stop::new();
                over.set(Cause::Time);
                let mut round = |stop: &Stop| member.round(&context, &mut pool, stop).moves;
                let moves = [round(&stop), round(&over), round(&stop)];
                assert!(moves[0] > 0 && moves[2] > 0, "{name}, {}: {moves:?}", driver.name);
                told.push(driver.name);
            }
        }
        for name in ["anneal", "tabu", "weighting", "spins"] {
            assert!(told.contains(&name), "{name} is not in {told:?}");
        }
    }
}
