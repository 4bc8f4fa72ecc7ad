//! Injected failures: threads that the system refuses, internal errors, devices that fail. The run continues with the
//! rest, and at worst ends with a message. These tests need a program with the feature `fault-injection`.

use super::limits::grid;
use super::{COINS, FOUR, Result, fangs, folder_with, object};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Returns the device, for one test at a time, because a test might take memory and time that another one needs.
fn gpu() -> Option<MutexGuard<'static, ()>> {
    static TAKEN: Mutex<()> = Mutex::new(());
    fangs_testing::gpu().map(|_| TAKEN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A build without the feature does not contain the variables' names, so it cannot read them.
#[test]
fn only_a_build_with_the_feature_reads_the_variables() -> Result {
    let bytes = fs::read(super::program())?;
    for name in ["FANGS_PANIC", "FANGS_MOST_THREADS", "FANGS_FAIL_LAUNCH", "FANGS_WATCH_STOP"] {
        let is_there = bytes.windows(name.len()).any(|window| window == name.as_bytes());
        assert_eq!(is_there, cfg!(feature = "fault-injection"), "{name}");
    }
    Ok(())
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs --features fault-injection")]
fn threads_that_cannot_start_are_done_without() -> Result {
    let (folder, file) = folder_with("four.wcsp", FOUR)?;
    let (coins, certificate) = (folder.path().join("coins.uai"), folder.path().join("four.certificate"));
    fs::write(&coins, COINS)?;
    for most in 0..9 {
        let limited = |arguments: &[&str], file: &Path| {
            let mut command = fangs();
            let _ = command.env("FANGS_MOST_THREADS", most.to_string()).args(arguments).arg(file);
            command
        };
        let mut solve = limited(&["solve", "--json", "--threads", "4", "--time", "60s", "--certificate"], &certificate);
        let solved = object(solve.arg(&file), 0)?;
        assert_eq!((&solved["status"], &solved["cost"]), (&"optimal".into(), &5.into()), "{most}");
        let threads = solved["threads"].as_u64().ok_or("a number")?;
        assert!((1..=4).contains(&threads) && (most < 8 || threads == 4), "{most}: {threads}");
        assert_eq!(object(&mut limited(&["bound", "--json", "--threads", "4"], &file), 0)?["bound"], 5);
        let checked = object(limited(&["check", "--json", "--certificate"], &certificate).arg(&file), 0)?;
        assert_eq!(checked["certificate"]["optimal"], true, "{most}: {checked}");
        for arguments in [&["info", "--json"][..], &["devices", "--json"]] {
            let mut command = fangs();
            let _ = command.env("FANGS_MOST_THREADS", most.to_string()).args(arguments);
            let _ = object(if arguments[0] == "info" { command.arg(&coins) } else { &mut command }, 0)?;
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs --features fault-injection")]
fn without_a_thread_for_the_clock_a_run_ends_on_time_and_tells_of_it() -> Result {
    let (folder, file) = super::hard()?;
    let csv = folder.path().join("run.csv");
    let mut limited = fangs();
    let _ = limited
        .env("FANGS_MOST_THREADS", "0")
        .args(["solve", "--time", "3s", "--bound", "none", "--json", "--csv"])
        .arg(&csv);
    let solved = object(limited.arg(&file), 0)?;
    assert_eq!((&solved["stopped_by"], &solved["threads"]), (&"time".into(), &1.into()));
    assert!(fs::read_to_string(&csv)?.contains(",warning,"));
    let _ = super::check_csv(&csv, false)?;
    Ok(())
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs --features fault-injection")]
fn what_ends_by_an_internal_error_is_told_and_the_rest_goes_on() -> Result {
    let (folder, _) = grid()?;
    // its best solution is found at once, and its bounds never close the gap
    let file = folder.path().join("random.wcsp");
    let kind = ["generate", "random", "--n", "45", "--d", "6", "--p1", "0.5", "--p2", "0", "-o"];
    let _ = fangs().args(kind).arg(&file).assert().success();
    let (csv, solution) = (folder.path().join("run.csv"), folder.path().join("best.sol"));
    let beside: &[&str] = &["--threads", "8"];
    for (place, source, options) in [
        ("bounds", "bounds", &["--threads", "1"][..]),
        ("bounds-beside", "bounds", beside),
        ("drivers", "drivers", beside),
        ("anneal", "anneal", &["--threads", "1"]),
    ] {
        // drivers and bounds run side by side after some rounds, whose duration depends on the machine
        let is_told = [4, 16, 64].iter().any(|seconds| {
            let mut broken = fangs();
            let _ =
                broken.env("FANGS_PANIC", place).args(["solve", "--json", "--time", &format!("{seconds}s"), "--csv"]);
            let _ = broken.arg(&csv).arg("--solution").arg(&solution).args(options).arg(&file);
            let output = broken.assert().success().get_output().clone();
            let solved: Value = serde_json::from_slice(&output.stdout).expect("an object");
            assert!(
                solved["cost"].is_number() && solved["time_s"].as_f64() < Some(f64::from(*seconds) + 5.0),
                "{solved}"
            );
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            let rows = super::check_csv(&csv, false).and_then(|_| Ok(fs::read_to_string(&csv)?)).expect("rows");
            let row = rows.lines().any(|row| row.contains(",warning,") && row.split(',').nth(8) == Some(source));
            assert_eq!(row, told.contains(&format!("{source} ended by an internal error (FANGS_PANIC is {place})")));
            row
        });
        assert!(is_told, "{place} was not lost");
        let _ = fangs().arg("check").arg(&file).arg(&solution).assert().success();
    }
    Ok(())
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs --features fault-injection")]
fn an_internal_error_of_the_run_itself_keeps_what_was_found() -> Result {
    let (folder, file) = grid()?;
    let (csv, solution) = (folder.path().join("run.csv"), folder.path().join("best.sol"));
    for (command, place, options) in
        [("solve", "loop", &[][..]), ("solve", "tabu", &["--driver", "tabu"]), ("bound", "bound", &[])]
    {
        let mut broken = fangs();
        let _ = broken.env("FANGS_PANIC", place).args([command, "--json", "--time", "60s"]).args(options).arg("--csv");
        let _ = broken.arg(&csv).arg("--solution").arg(&solution).arg(&file);
        let output = broken.assert().code(1).get_output().clone();
        let told = String::from_utf8(output.stderr)?;
        assert!(output.stdout.is_empty() && told.contains("internal error") && told.contains(place), "{told}");
        assert!(!told.contains("panicked") && !told.contains("RUST_BACKTRACE"), "{told}");
        assert!(fs::read_to_string(&csv)?.lines().last().is_some_and(|row| row.contains(",end,")));
        if command == "solve" {
            let _ = fangs().arg("check").arg(&file).arg(&solution).assert().success();
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs --features fault-injection")]
fn a_plug_in_survives_its_device() {
    let Some(_gpu) = gpu() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("grid.wcsp");
    let mut generated = fangs();
    let _ = generated.args(["generate", "grid", "--side", "25", "--p2", "0.2", "-o"]).arg(&file).assert().success();
    for launch in ["1", "3"] {
        let mut solved = fangs();
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
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs --features fault-injection")]
fn a_device_that_fails_costs_no_solution() {
    let Some(_gpu) = gpu() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("grid.wcsp");
    let mut generated = fangs();
    let _ = generated.args(["generate", "grid", "--side", "25", "--p2", "0.2", "-o"]).arg(&file).assert().success();
    for launch in ["1", "2", "9", "40"] {
        let mut solved = fangs();
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
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs --features fault-injection")]
fn one_of_two_devices_that_fails_leaves_the_other_at_work() {
    let (Some(()), Some(_gpu)) = (fangs_testing::two_gpus(), gpu()) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (file, rows) = (folder.path().join("grid.wcsp"), folder.path().join("rows.csv"));
    let mut generated = fangs();
    let _ = generated.args(["generate", "grid", "--side", "25", "--p2", "0.2", "-o"]).arg(&file).assert().success();
    for (launch, lost, left) in [
        ("0:2", "cuda:0", "cuda:1"),
        ("0:40", "cuda:0", "cuda:1"),
        ("1:2", "cuda:1", "cuda:0"),
        ("1:40", "cuda:1", "cuda:0"),
    ] {
        for budget in [["-t", "3"], ["--rounds", "30"]] {
            let mut solved = fangs();
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
    let mut solved = fangs();
    let _ =
        solved.args(["solve", "--device", "cuda:0,1", "-t", "3", "--json"]).arg(&file).env("FANGS_FAIL_LAUNCH", "60");
    let output = solved.assert().success().get_output().clone();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(errors.matches("going on on ").count(), 2, "{errors}");
    assert!(errors.contains("going on on the CPU") && errors.contains("going on on cuda:"), "{errors}");
}

/// Exact plans and mini-bucket nodes lose the device: the bound continues on the CPU, and remains valid.
#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs --features fault-injection")]
fn a_device_that_fails_costs_no_bound() {
    let Some(_gpu) = gpu() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str], side: &str, launch: Option<&str>| {
        let file = folder.path().join(format!("{side}.wcsp"));
        let mut generated = fangs();
        let grid = ["generate", "grid", "--side", side, "--d", "5", "--p2", "0", "-o"];
        let _ = generated.args(grid).arg(&file).assert().success();
        let mut command = fangs();
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

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs --features fault-injection")]
fn a_device_that_fails_costs_no_sum_and_no_policy() -> Result {
    let Some(_gpu) = gpu() else { return Ok(()) };
    let (_rain, rain) = folder_with("rain.bif", super::marginals::RAIN)?;
    let (_folder, tiger, coin) = super::decide::folder()?;
    for (arguments, path, key, launch) in [
        (&["marginals", "--observe", "grass=wet"][..], &rain, "ln_z", "2"),
        (&["decide", "--horizon", "4"], &tiger, "meu", "1"),
        (&["decide", "--horizon", "4", "--method", "eliminate"], &tiger, "meu", "1"),
        (&["decide"], &coin, "meu", "1"),
    ] {
        let on = |device: &str| {
            let mut command = fangs();
            let _ = command.args(arguments).args(["--json", "--device", device]).arg(path);
            command
        };
        let host = object(&mut on("cpu"), 0)?;
        let lost = on("cuda:0").env("FANGS_FAIL_LAUNCH", launch).assert().success().get_output().clone();
        let found: Value = serde_json::from_slice(&lost.stdout)?;
        assert_eq!((&found["device"], &found[key]), (&"cpu".into(), &host[key]), "{arguments:?}");
        assert!(String::from_utf8(lost.stderr)?.contains("going on on the CPU"), "{arguments:?}");
    }
    Ok(())
}
