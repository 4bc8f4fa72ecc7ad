//! Whole runs on a CUDA device: equal to the CPU's if they are limited by rounds, and continued on the CPU if the
//! device fails. They are skipped without a GPU.

use assert_cmd::Command;
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
fn a_plug_in_survives_its_device() {
    let Some(_gpu) = gpu() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("grid.wcsp");
    let mut generated = Command::cargo_bin("fangs").expect("the program is built");
    let _ = generated.args(["generate", "grid", "--side", "25", "--p2", "0.2", "-o"]).arg(&file).assert().success();
    for launch in ["1", "3"] {
        let mut solved = Command::cargo_bin("fangs").expect("the program is built");
        let _ = solved.args([
            "solve",
            "--driver",
            "guided",
            "--heuristic",
            "boltzmann",
            "--device",
            "cuda",
            "--rounds",
            "20",
        ]);
        let _ = solved.args(["--json", "--bound", "none"]).arg(&file).env("FANGS_FAIL_LAUNCH", launch);
        let output = solved.assert().success().get_output().clone();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(errors.matches("going on on the CPU").count(), 1, "{errors}");
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
        assert!(summary["cost"].is_number() && summary["device"] == "cpu");
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
fn a_device_that_fails_costs_no_solution() {
    let Some(_gpu) = gpu() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("grid.wcsp");
    let mut generated = Command::cargo_bin("fangs").expect("the program is built");
    let _ = generated.args(["generate", "grid", "--side", "25", "--p2", "0.2", "-o"]).arg(&file).assert().success();
    for launch in ["1", "2", "9", "40"] {
        let mut solved = Command::cargo_bin("fangs").expect("the program is built");
        let _ =
            solved.args(["solve", "--device", "cuda", "-t", "2", "--json"]).arg(&file).env("FANGS_FAIL_LAUNCH", launch);
        let output = solved.assert().success().get_output().clone();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(errors.contains("warning: cuda:0: ") && errors.contains("going on on the CPU"), "{errors}");
        assert_eq!(errors.matches("going on on the CPU").count(), 1, "{errors}");
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
        assert_eq!(summary["device"], "cpu");
        assert!(summary["cost"].is_number());
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

#[test]
fn one_of_two_devices_that_fails_leaves_the_other_at_work() {
    let (Some(()), Some(_gpu)) = (fangs_testing::two_gpus(), gpu()) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (file, rows) = (folder.path().join("grid.wcsp"), folder.path().join("rows.csv"));
    let mut generated = Command::cargo_bin("fangs").expect("the program is built");
    let _ = generated.args(["generate", "grid", "--side", "25", "--p2", "0.2", "-o"]).arg(&file).assert().success();
    for (launch, lost, left) in [
        ("0:2", "cuda:0", "cuda:1"),
        ("0:40", "cuda:0", "cuda:1"),
        ("1:2", "cuda:1", "cuda:0"),
        ("1:40", "cuda:1", "cuda:0"),
    ] {
        for budget in [["-t", "3"], ["--rounds", "30"]] {
            let mut solved = Command::cargo_bin("fangs").expect("the program is built");
            let _ = solved.args(["solve", "--device", "cuda:all", "--threads", "2", "--json", "--csv"]).arg(&rows);
            let _ = solved.args(budget).arg(&file).env("FANGS_FAIL_LAUNCH", launch).env("CUDA_VISIBLE_DEVICES", "0,1");
            let output = solved.assert().success().get_output().clone();
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            let (warning, goes_on) = (format!("warning: {lost}: "), format!("going on on {left}"));
            assert!(errors.contains(&warning) && errors.matches(&goes_on).count() == 1, "{launch}: {errors}");
            let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
            assert_eq!(summary["device"], left, "{launch} {budget:?}");
            assert!(summary["cost"].is_number());
        }
    }
    let mut solved = Command::cargo_bin("fangs").expect("the program is built");
    let _ =
        solved.args(["solve", "--device", "cuda:0,1", "-t", "3", "--json"]).arg(&file).env("FANGS_FAIL_LAUNCH", "60");
    let output = solved.assert().success().get_output().clone();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(errors.matches("going on on ").count(), 2, "{errors}");
    assert!(errors.contains("going on on the CPU") && errors.contains("going on on cuda:"), "{errors}");
}

/// Exact plans and mini-bucket nodes lose the device: the bound continues on the CPU, and remains valid.
#[test]
fn a_device_that_fails_costs_no_bound() {
    let Some(_gpu) = gpu() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str], side: &str, launch: Option<&str>| {
        let file = folder.path().join(format!("{side}.wcsp"));
        let mut generated = Command::cargo_bin("fangs").expect("the program is built");
        let grid = ["generate", "grid", "--side", side, "--d", "5", "--p2", "0", "-o"];
        let _ = generated.args(grid).arg(&file).assert().success();
        let mut command = Command::cargo_bin("fangs").expect("the program is built");
        // more threads would eliminate the smaller grid before the device is open
        let _ = command.args(arguments).args(["--device", "cuda", "--threads", "2", "-t", "5", "--json"]).arg(&file);
        let _ = launch.map(|launch| command.env("FANGS_FAIL_LAUNCH", launch));
        let output = command.assert().success().get_output().clone();
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
        (summary, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // the smaller grid is eliminated, the larger one searched
    for (command, side) in [
        (["bound", "--method", "be"], "11"),
        (["solve", "--bound", "be"], "11"),
        (["bound", "--method", "branch"], "16"),
        (["bound", "--method", "shift"], "16"),
    ] {
        let (whole, _) = run(&["solve"], side, None);
        let least = whole["cost"].as_f64().expect("a number");
        for launch in ["1", "5"] {
            let (summary, errors) = run(&command, side, Some(launch));
            assert!(errors.contains("on on the CPU"), "{command:?} {launch}: {errors}");
            let bound = summary["bound"].as_f64().expect("a number");
            assert!(bound <= least, "{command:?} {launch}: {bound} above {least}");
        }
    }
}
