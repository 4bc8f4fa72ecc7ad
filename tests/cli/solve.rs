//! `fangs solve`: costs, bounds, exit codes, budgets, signals.

use super::{
    COINS, FOUR, INFEASIBLE, Result, SOLVE_FIELDS, check_csv, ended, fangs, folder_with, hard, object, program, same,
    wait_for,
};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

#[test]
fn solves_and_proves() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    let result = object(
        fangs()
            .args(["solve", "--json", "--time", "20", "--csv"])
            .arg(at("run.csv"))
            .arg("--solution")
            .arg(at("best.sol"))
            .arg("--plot")
            .arg(at("run.svg"))
            .arg(&path),
        0,
    )?;
    assert_eq!(result["status"], "optimal");
    assert_eq!(result["stopped_by"], "optimal");
    assert_eq!((&result["cost"], &result["bound"], &result["gap"]), (&5.into(), &5.into(), &0.0.into()));
    assert_eq!(result["solution"], serde_json::json!([0, 1, 0, 1]));
    assert_eq!((&result["variables"], &result["functions"]), (&4.into(), &5.into()));
    for field in SOLVE_FIELDS {
        assert!(result.get(field).is_some(), "{field} is missing");
    }
    same(&check_csv(&at("run.csv"), false)?, &result, false);
    assert_eq!(fs::read_to_string(at("best.sol"))?, "0 1 0 1\n");
    assert!(fs::read_to_string(at("run.svg"))?.starts_with("<svg"));
    let _ = fangs().arg("check").arg(&path).arg(at("best.sol")).assert().success();
    assert!(result["heuristic"].is_null(), "no heuristic was asked for");
    Ok(())
}

#[test]
fn a_run_without_a_solution_reports_violated_functions() -> Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("clauses.fangs");
    let clauses = ["generate", "sat", "--n", "3000", "--clauses", "12900", "-o"];
    let _ = fangs().args(clauses).arg(&path).assert().success();
    let run = fangs().args(["solve", "-v", "--json", "--rounds", "1"]).arg(&path).output()?;
    let result: Value = serde_json::from_slice(&run.stdout)?;
    assert_eq!((&result["status"], &result["cost"]), (&"unknown".into(), &Value::Null));
    let notes = String::from_utf8(run.stderr)?;
    let (_, note) = notes.split_once("the best assignment violates ").ok_or("violations are not reported")?;
    let violated: usize = note.split(' ').next().unwrap_or_default().parse()?;
    assert!((1..1000).contains(&violated), "{note}");
    Ok(())
}

#[test]
fn maximisation_keeps_its_signs() -> Result {
    let (folder, path) = folder_with("coins.uai", COINS)?;
    let at = |name: &str| folder.path().join(name);
    let evidence = at("seen.evid");
    fs::write(&evidence, "1 0 1\n")?;
    let result = object(
        fangs()
            .args(["solve", "--json", "--time", "20", "--csv"])
            .arg(at("run.csv"))
            .arg("--solution")
            .arg(at("best.sol"))
            .arg("--evidence")
            .arg(&evidence)
            .arg(&path),
        0,
    )?;
    let value = (0.5f64 * 0.9 * 0.9).ln();
    let (cost, bound) = (result["cost"].as_f64().ok_or("no cost")?, result["bound"].as_f64().ok_or("no bound")?);
    let slack = result["precision_slack"].as_f64().ok_or("no slack")?;
    assert!((cost - value).abs() <= slack && bound >= value && bound - cost <= 2.0 * slack, "{result}");
    assert_eq!(result["solution"], serde_json::json!([1, 1, 1]));
    same(&check_csv(&at("run.csv"), true)?, &result, true);
    assert_eq!(fs::read_to_string(at("best.sol"))?, "MPE\n3 1 1 1\n");
    let _ = fangs().arg("check").arg(&path).arg(at("best.sol")).assert().success();
    let mut command = fangs();
    let _ = command.args(["solve", "--solution-format", "indices", "--solution"]).arg(at("plain")).arg(&path);
    let _ = command.assert().success();
    assert_eq!(fs::read_to_string(at("plain"))?.split_whitespace().count(), 3);
    Ok(())
}

#[test]
fn infeasible_is_exit_4() -> Result {
    let (_folder, path) = folder_with("none.wcsp", INFEASIBLE)?;
    for options in [&[][..], &["--no-reduce"]] {
        let result = object(fangs().args(["solve", "--json", "--time", "20"]).args(options).arg(&path), 4)?;
        assert_eq!((&result["status"], &result["stopped_by"]), (&"infeasible".into(), &"infeasible".into()));
        assert!(result["cost"].is_null() && result["solution"].is_null() && result["gap"].is_null());
        let _ = object(fangs().args(["bound", "--json"]).args(options).arg(&path), 4)?;
    }
    Ok(())
}

#[test]
fn no_solution_in_the_budget_is_exit_3() -> Result {
    let (folder, path) = hard()?;
    let csv = folder.path().join("run.csv");
    let result = object(fangs().args(["solve", "--json", "--rounds", "0", "--csv"]).arg(&csv).arg(&path), 3)?;
    assert_eq!((&result["status"], &result["stopped_by"]), (&"unknown".into(), &"rounds".into()));
    assert!(result["cost"].is_null() && result["bound"].is_number());
    same(&check_csv(&csv, false)?, &result, false);
    Ok(())
}

/// Loading alone exceeds the time limit, because standard input never ends.
#[test]
fn loading_heeds_the_time_limit() -> Result {
    let folder = tempfile::tempdir()?;
    for command in ["solve", "bound"] {
        let csv = folder.path().join(command);
        let mut child = std::process::Command::new(program())
            .args([command, "-", "--format", "wcsp", "--json", "--time", "300ms", "--csv"])
            .arg(&csv)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take();
        let output = ended(child)?;
        assert_eq!(output.status.code(), Some(3));
        drop(stdin);
        let result: Value = serde_json::from_slice(&output.stdout)?;
        assert!(result["cost"].is_null() && result["bound"].is_null());
        let end = check_csv(&csv, false)?;
        assert_eq!(end[0].parse::<f64>().ok(), result["time_s"].as_f64());
    }
    Ok(())
}

#[test]
fn rounds_repeat_for_any_number_of_threads() -> Result {
    let (_folder, path) = hard()?;
    let run = |threads: &str| {
        let mut command = fangs();
        let _ = command.args(["solve", "--json", "--rounds", "3", "--seed", "7", "--population", "8"]);
        object(command.args(["--threads", threads]).arg(&path), 0)
    };
    let (one, two) = (run("1")?, run("3")?);
    for field in ["cost", "bound", "solution", "rounds", "moves", "ratings", "status", "stopped_by"] {
        assert_eq!(one[field], two[field], "{field}");
    }
    assert_eq!(one["stopped_by"], "rounds");
    Ok(())
}

#[test]
fn warm_start_target_and_gap() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("start.sol"), "0 1 0 0\n")?;
    let command = |options: &[&str]| {
        let mut command = fangs();
        let _ = command.args(["solve", "--json", "--time", "20"]).args(options).arg("--csv").arg(at("run.csv"));
        let _ = command.arg("--warm-start").arg(at("start.sol")).arg(&path);
        command
    };
    let result = object(&mut command(&["--target", "14", "--bound", "none", "--no-reduce"]), 0)?;
    assert_eq!((&result["stopped_by"], &result["cost"]), (&"target".into(), &14.into()));
    let result = object(&mut command(&["--gap", "1", "--bound", "none", "--no-reduce"]), 0)?;
    assert_eq!((&result["stopped_by"], &result["cost"]), (&"gap".into(), &14.into()));
    let result = object(&mut command(&[]), 0)?;
    assert_eq!(result["cost"], 5);
    let text = fs::read_to_string(at("run.csv"))?;
    let first = text.lines().find(|line| line.contains(",solution,")).ok_or("no solution row")?;
    assert!(first.contains(",14,") && first.contains(",warm-start,14,"), "{first}");
    Ok(())
}

#[test]
fn starts_may_be_several_and_partial() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    for (name, values) in [("worst", "0 0 0 0"), ("better", "0 1 0 0"), ("part", "0 1 - 1"), ("wrong", "0 1 - 2")] {
        fs::write(at(name), values)?;
    }
    let command = |starts: &[&str]| {
        let mut command = fangs();
        let _ = command.args(["solve", "--json", "--rounds", "0", "--bound", "none", "--no-reduce", "--csv"]);
        let _ = command.arg(at("run.csv")).arg(&path);
        for start in starts {
            let _ = command.arg("--warm-start").arg(at(start));
        }
        command
    };
    let result = object(&mut command(&["worst", "better", "part"]), 0)?;
    assert_eq!((&result["cost"], &result["solution"]), (&5.into(), &serde_json::json!([0, 1, 0, 1])));
    let costs = |text: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| line.contains(",solution,") && line.contains(",warm-start,"));
        rows.map(|line| line.split(',').nth(1).unwrap_or_default().into()).collect()
    };
    assert_eq!(costs(&fs::read_to_string(at("run.csv"))?), ["26", "14", "5"]);
    // the result does not depend on the order of the starts
    assert_eq!(object(&mut command(&["part", "worst"]), 0)?["cost"], 5);
    super::refused(&mut command(&["part", "wrong"]), &["wrong:1:7", "for variable 3"])?;
    super::refused(fangs().arg("check").args([&path, &at("part")]), &["part:1:5: found `-`, expected a value"])
}

#[cfg(unix)]
#[test]
fn signals_end_a_run_with_its_results() -> Result {
    let (folder, path) = hard()?;
    for (signal, code) in [("TERM", 0), ("INT", 130)] {
        let csv = folder.path().join(format!("{signal}.csv"));
        let solution = folder.path().join(format!("{signal}.sol"));
        let child = std::process::Command::new(program())
            .args(["solve", "--json", "--time", "100", "--csv"])
            .arg(&csv)
            .arg("--solution")
            .arg(&solution)
            .arg(&path)
            .stdout(Stdio::piped())
            .spawn()?;
        // rows are on the disk immediately
        wait_for(|| fs::read_to_string(&csv).is_ok_and(|text| text.contains(",solution,")));
        let kill = format!("kill -{signal} {}", child.id());
        assert!(std::process::Command::new("sh").args(["-c", &kill]).status()?.success());
        let output = ended(child)?;
        assert_eq!(output.status.code(), Some(code));
        let result: Value = serde_json::from_slice(&output.stdout)?;
        assert_eq!((&result["stopped_by"], &result["status"]), (&"signal".into(), &"feasible".into()));
        same(&check_csv(&csv, false)?, &result, false);
        let checked = object(fangs().args(["check", "--json"]).arg(&path).arg(&solution), 0)?;
        assert_eq!(checked["cost"], result["cost"]);
    }
    Ok(())
}
