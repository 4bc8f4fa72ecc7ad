//! Tuples that `top` forbids, infinite bounds, and gaps: equal in all commands and outputs.

use super::{Result, fangs, folder_with, object};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// An entry of 10 reaches top; -5 does not compensate it.
const COMPENSATED: &str = "compensated 2 1 2 10\n1 1\n2 0 1 0 1\n0 0 10\n1 0 0 1\n0 -5\n";
/// Value 0 would cost 11 - 9, but 11 is above top; value 1 costs 9 - 1.
const CHOICE: &str = "choice 1 2 2 10\n2\n1 0 0 2\n0 11\n1 9\n1 0 0 2\n0 -9\n1 -1\n";
/// Each function has a value without cost, but a different one; the constant bound is a finite number.
const CONTRARY: &str = "contrary 1 2 2 4\n2\n1 0 0 1\n0 4\n1 0 0 1\n1 4\n";
/// Minima of the functions that sum above top.
const BEYOND: &str = "beyond 1 1 2 2\n1\n0 1 0\n0 1 0\n";
/// Every value has potential 0.
const IMPOSSIBLE: &str = "MARKOV\n2\n2 2\n2\n1 0\n2 0 1\n2\n0 0\n4\n0.1 0.2 0.3 0.4\n";
/// The best product is 1, and logarithms of other entries are rounded.
const CERTAIN: &str = "MARKOV\n2\n2 2\n2\n2 0 1\n1 0\n4\n1 0 0.2 0.8\n2\n1 0.3\n";

/// Runs a command with all outputs; returns the object, the last row of the CSV, and the result of `check`.
fn outputs(command: &str, file: &Path, more: &[&str], code: i32) -> Result<(Value, Vec<String>, Value)> {
    let [csv, certificate] = ["csv", "cert"].map(|extension| file.with_extension(extension));
    let mut run = fangs();
    let _ = run.arg(command).arg(file).args(more).args(["--json", "--device", "cpu"]);
    let report = object(run.arg("--csv").arg(&csv).arg("--certificate").arg(&certificate), code)?;
    let text = fs::read_to_string(&csv)?;
    let row = text.lines().last().ok_or("a row")?.split(',').map(str::to_string).collect();
    let mut check = fangs();
    let _ = check.arg("check").arg(file).args(["--json", "--certificate"]).arg(&certificate);
    Ok((report, row, object(&mut check, 0)?["certificate"].clone()))
}

#[test]
fn an_entry_at_top_is_forbidden_whatever_negative_costs_stand_elsewhere() -> Result {
    let (folder, file) = folder_with("compensated.wcsp", COMPENSATED)?;
    let solution = folder.path().join("s");
    fs::write(&solution, "0 0")?;
    for command in ["solve", "bound"] {
        let (report, row, proven) = outputs(command, &file, &[], 4)?;
        assert_eq!((&report["cost"], &report["bound"], &proven["bound"]), (&Value::Null, &Value::Null, &Value::Null));
        assert_eq!(row[1..4], ["", "", ""], "{row:?}");
    }
    let checked = object(fangs().args(["check", "--json"]).arg(&file).arg(&solution), 4)?;
    assert_eq!((&checked["solution"], &checked["cost"]), (&Value::Bool(false), &Value::Null));
    assert_eq!(checked["violated"][0]["function"], 0);

    let (_folder, file) = folder_with("choice.wcsp", CHOICE)?;
    for command in ["solve", "bound"] {
        let (report, row, proven) = outputs(command, &file, &[], 0)?;
        assert_eq!((&report["cost"], &report["bound"], &proven["optimal"]), (&8.into(), &8.into(), &true.into()));
        assert_eq!(row[1..4], ["8", "8", "0.0"], "{row:?}");
    }
    Ok(())
}

#[test]
fn without_a_solution_there_is_no_bound_to_tell() -> Result {
    for (name, text) in [("contrary.wcsp", CONTRARY), ("beyond.wcsp", BEYOND), ("impossible.uai", IMPOSSIBLE)] {
        let (_folder, file) = folder_with(name, text)?;
        for (command, more) in [
            ("solve", &[][..]),
            ("solve", &["--no-reduce", "--bound", "mbe"]),
            ("bound", &[]),
            ("bound", &["--no-reduce", "--method", "be"]),
        ] {
            let (report, row, proven) = outputs(command, &file, more, 4)?;
            assert_eq!(report["bound"], Value::Null, "{name} {command} {more:?}");
            assert_eq!((row[1].as_str(), row[2].as_str(), row[3].as_str()), ("", "", ""), "{name}: {row:?}");
            assert_eq!(proven["bound"], Value::Null);
            let text = fangs().arg(command).arg(&file).args(more).assert().code(4).get_output().stdout.clone();
            let text = String::from_utf8(text)?;
            assert!(text.lines().any(|line| line.split_whitespace().take(2).eq(["bound", "-"])), "{text}");
        }
    }
    Ok(())
}

#[test]
fn the_gap_of_what_is_optimal_is_nothing() -> Result {
    let (_folder, file) = folder_with("certain.uai", CERTAIN)?;
    for command in ["solve", "bound"] {
        let (report, row, proven) = outputs(command, &file, &[], 0)?;
        let slack = report["precision_slack"].as_f64().ok_or("a slack")?;
        assert!(slack > 0.0, "the bound is not the cost to the last digit: {report}");
        assert_eq!((report["cost"].as_f64(), report["bound"].as_f64()), (Some(0.0), Some(slack)));
        assert_eq!((row[3].as_str(), &proven["optimal"]), ("0.0", &Value::Bool(true)), "{row:?}");
        if command == "solve" {
            assert_eq!((&report["status"], &report["gap"]), (&"optimal".into(), &0.0.into()));
        }
    }
    Ok(())
}
