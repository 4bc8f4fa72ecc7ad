//! Whole runs on a CUDA device: equal to the CPU's if they are limited by rounds. They are skipped without a GPU.

use fangs_base::stop::Stop;
use fangs_device::Choice;
use fangs_generate::generate;
use fangs_heuristics::{self as heuristics, FromCuda, FromFile, ValueHeuristic};
use fangs_model::model::Network;
use fangs_search::{Assertions, BoundChoice, DriverChoice, Options, Summary, solve};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Returns the driver with a name.
fn driver(name: &str) -> DriverChoice {
    DriverChoice::named(name).expect("there is such a driver")
}

/// Returns the device, for one test at a time, because a test might take memory and time that another one needs.
fn gpu() -> Option<MutexGuard<'static, ()>> {
    static TAKEN: Mutex<()> = Mutex::new(());
    fangs_testing::gpu().map(|_| TAKEN.lock().unwrap_or_else(PoisonError::into_inner))
}

fn run(network: &Network, device: Choice, options: Options) -> Summary {
    let options = options.with(|options| options.device = device.into());
    solve(network, &options, &Stop::new(), &mut |_| {}).expect("the run ends well")
}

fn networks() -> Vec<(&'static str, Network)> {
    let make = |kind: &str, options: &[(&str, &str)]| generate(kind, options, 3).expect("it is generated");
    vec![
        ("grid", make("grid", &[("side", "12"), ("p2", "0.2")])),
        ("large grid", make("grid", &[("side", "30"), ("p2", "0.1")])),
        ("potts", make("potts", &[("side", "14")])),
        ("ising", make("ising", &[("side", "16")])),
        ("coloring", make("coloring", &[])),
        ("sparse", make("large-sparse", &[("n", "900")])),
    ]
}

#[test]
fn rounds_give_equal_runs_on_both_devices() {
    let Some(_gpu) = gpu() else { return };
    for (name, network) in networks() {
        for (driver, population, rounds) in [
            (DriverChoice::PORTFOLIO, None, 40),
            (driver("anneal"), Some(37), 25),
            (driver("anneal"), Some(2), 9),
            (driver("tabu"), None, 60),
            (driver("weighting"), None, 20),
        ] {
            let options = || {
                Options::default().with(|options| {
                    options.rounds = Some(rounds);
                    options.seed = 5;
                    options.driver = driver;
                    options.population = population;
                })
            };
            let (cpu, cuda) = (run(&network, Choice::Cpu, options()), run(&network, Choice::Cuda(0), options()));
            let told = |summary: &Summary| {
                let Summary { cost, rounds, moves, ratings, population, solution, .. } = summary.clone();
                (cost, rounds, moves, ratings, population, solution)
            };
            assert_eq!(told(&cpu), told(&cuda), "{name}, {driver:?}, population {population:?}");
            assert_eq!(cpu.bound, cuda.bound, "{name}, {driver:?}");
            assert!(cuda.status == fangs_search::Status::Optimal || cuda.device == "cuda:0", "{name}: {}", cuda.device);
        }
    }
}

/// Trajectories of plug-in heuristics: built-in ones, files, and CUDA sources alone, which the CPU cannot run.
#[test]
fn trajectories_give_equal_runs_on_both_devices() {
    let Some(_gpu) = gpu() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("it can be written");
        path
    };
    let toml = file("my.toml", include_str!("../heuristics/min_conflicts.toml"));
    let cuda_alone = file("my.cuh", include_str!("../heuristics/min_conflicts.cuh"));
    for (name, network) in networks() {
        let from_file: Arc<dyn ValueHeuristic> =
            Arc::new(FromFile::read(&toml, &network, &Stop::new()).expect("it is right"));
        let built_in = heuristics::find("min-conflicts").expect("it is in the list");
        for (heuristic, population) in [(built_in.clone(), None), (from_file, Some(50))] {
            let options = || {
                Options::default().with(|options| {
                    options.rounds = Some(8);
                    options.driver = DriverChoice::GUIDED;
                    options.heuristic = Some(heuristic.clone());
                    options.population = population;
                })
            };
            let (cpu, cuda) = (run(&network, Choice::Cpu, options()), run(&network, Choice::Cuda(0), options()));
            let told = |summary: &Summary| {
                let Summary { cost, rounds, moves, ratings, population, solution, .. } = summary.clone();
                (cost, rounds, moves, ratings, population, solution)
            };
            assert_eq!(told(&cpu), told(&cuda), "{name}, {}", heuristic.name());
        }
        let alone: Arc<dyn ValueHeuristic> = Arc::new(FromCuda::read(&cuda_alone, &Stop::new()).expect("it is right"));
        let runs = [alone, built_in].map(|heuristic| {
            let options = Options::default().with(|options| {
                (options.rounds, options.driver, options.heuristic) = (Some(4), DriverChoice::GUIDED, Some(heuristic))
            });
            let summary = run(&network, Choice::Cuda(0), options);
            (summary.cost, summary.moves, summary.ratings)
        });
        assert_eq!(runs[0], runs[1], "{name}");
    }
}

/// A kind of networks, its parameters, and heuristics.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

/// Heuristics that propose groups or use mini-buckets give equal runs, with all assignments verified.
#[test]
fn groups_and_mini_buckets_give_equal_runs_on_both_devices() {
    let Some(_gpu) = gpu() else { return };
    // small networks, because every assignment is verified by recomputing all costs
    let cases: [Case; 4] = [
        ("coloring", &[("n", "40"), ("p", "0.3"), ("k", "5")], &["coloring", "radio"]),
        ("grid", &[("side", "6"), ("p2", "0.2")], &["radio", "mini-bucket"]),
        ("potts", &[("side", "9"), ("d", "5")], &["satellite"]),
        ("queens", &[("n", "8")], &["swap"]),
    ];
    let runs =
        cases.iter().flat_map(|(name, parameters, names)| names.iter().map(move |known| (name, parameters, *known)));
    for (name, parameters, heuristic) in runs {
        let network = generate(name, parameters, 3).expect("it is generated");
        let options = || {
            Options::default().with(|options| {
                options.rounds = Some(3);
                options.driver = DriverChoice::GUIDED;
                options.heuristic = heuristics::find(heuristic);
                options.assertions = Assertions::Assignment;
            })
        };
        let (cpu, cuda) = (run(&network, Choice::Cpu, options()), run(&network, Choice::Cuda(0), options()));
        let told = |summary: &Summary| {
            let Summary { cost, bound, rounds, moves, ratings, solution, picks, .. } = summary.clone();
            (cost, bound, rounds, moves, ratings, solution, picks.proposed, picks.taken)
        };
        assert_eq!(told(&cpu), told(&cuda), "{name}, {heuristic}");
        assert!(cuda.picks.compiled.is_some() && cpu.picks.compiled.is_none(), "{name}, {heuristic}");
    }
}

#[test]
fn walks_by_weights_find_what_is_hidden() {
    let Some(_gpu) = gpu() else { return };
    for (kind, parameters) in
        [("sat", [("n", "400"), ("clauses", "1680")]), ("latin", [("order", "25"), ("holes", "260")])]
    {
        let network = generate(kind, &parameters, 2).expect("it is generated");
        let options = Options::default().with(|options| {
            (options.time, options.bound, options.driver) =
                (Some(Duration::from_secs(4)), BoundChoice::None, driver("weighting"))
        });
        let summary = run(&network, Choice::Cuda(0), options);
        assert!(summary.solution.is_some() && summary.device == "cuda:0", "{kind}: {}", summary.device);
    }
}

#[test]
fn runs_stop_in_time() {
    let Some(_gpu) = gpu() else { return };
    for (name, network) in networks() {
        let options = || Options::default().with(|options| options.time = Some(Duration::from_secs(2)));
        let summary = run(&network, Choice::Cuda(0), options());
        assert!(summary.time_s < 2.5, "{name}: {} s", summary.time_s);
        assert!(summary.cost.is_some(), "{name}");
    }
}

#[test]
fn rounds_on_two_devices_are_equal_whatever_their_order() {
    let (Some(()), Some(_gpu)) = (fangs_testing::two_gpus(), gpu()) else { return };
    for (name, network) in networks() {
        let options = || Options::default().with(|options| (options.rounds, options.seed) = (Some(30), 5));
        let runs = [[0, 1], [0, 1], [1, 0]].map(|list| run(&network, Choice::Several(list.into()), options()));
        let told = |summary: &Summary| {
            let Summary { cost, bound, rounds, moves, ratings, population, solution, .. } = summary.clone();
            (cost, bound, rounds, moves, ratings, population, solution)
        };
        for (again, device) in runs.iter().zip(["cuda:0,1", "cuda:0,1", "cuda:1,0"]) {
            assert_eq!(told(&runs[0]), told(again), "{name}");
            assert!(again.status == fangs_search::Status::Optimal || again.device == device, "{}", again.device);
        }
        let one = run(&network, Choice::Cuda(0), options());
        assert!(one.status == fangs_search::Status::Optimal || runs[0].moves > one.moves, "{name}");
    }
}
