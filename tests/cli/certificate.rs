//! `--certificate` of `solve`, `bound` and `check`.

use super::{COINS, FOUR, INFEASIBLE, Result, fangs, folder_with, object, refused};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Lets a command write a certificate and `check` verify it; returns both objects.
fn certified(command: &str, file: &Path, more: &[&str], code: i32) -> Result<(Value, Value)> {
    let certificate = file.with_extension("cert");
    let mut writing = fangs();
    let _ = writing.arg(command).arg(file).args(more).arg("--json").arg("--certificate").arg(&certificate);
    let written = object(&mut writing, code)?;
    let mut checking = fangs();
    let _ = checking.arg("check").arg(file).args(["--json", "--certificate"]).arg(&certificate);
    Ok((written, object(&mut checking, 0)?["certificate"].clone()))
}

#[test]
fn certificates_of_solve_and_bound_are_followed() -> Result {
    for (name, content, optimum) in [("four.wcsp", FOUR, 5.0), ("coins.uai", COINS, (0.5f64 * 0.9 * 0.9).ln())] {
        let (_folder, file) = folder_with(name, content)?;
        for (command, more) in [
            ("solve", &["--device", "cpu"][..]),
            ("solve", &["--rounds", "30", "--no-reduce", "--bound", "mbe", "--device", "cpu"]),
            ("bound", &["--no-reduce", "--method", "be"]),
            ("bound", &["--no-reduce", "--method", "mbe", "--z", "2"]),
            ("bound", &["--no-reduce", "--method", "shift"]),
            ("bound", &[]),
        ] {
            let (written, proven) = certified(command, &file, more, 0)?;
            assert_eq!(proven["bound"], written["bound"], "{command} {more:?}");
            assert_eq!(proven["precision_slack"], written["precision_slack"]);
            let (bound, slack) = (proven["bound"].as_f64().unwrap_or(f64::NAN), 1e-6);
            assert!(
                if name == "coins.uai" { bound >= optimum - slack } else { bound <= optimum },
                "{command} {more:?}"
            );
            assert!(proven["joint_entries"].is_u64() && proven["bytes"].is_u64());
        }
        let (_, proven) = certified("solve", &file, &["--device", "cpu"], 0)?;
        assert_eq!(proven["optimal"], true, "{proven}");
    }
    let (_folder, file) = folder_with("none.wcsp", INFEASIBLE)?;
    for command in ["solve", "bound"] {
        let (_, proven) = certified(command, &file, &[], 4)?;
        assert_eq!((&proven["bound"], &proven["optimal"]), (&Value::Null, &Value::Bool(false)));
    }
    Ok(())
}

#[test]
fn keeping_a_proof_changes_nothing() -> Result {
    let (folder, file) = super::hard()?;
    let certificate = folder.path().join("c");
    let rounds = ["--rounds", "12", "--population", "8", "--device", "cpu", "--json"];
    let solve = |more: &[&str]| {
        let mut solve = fangs();
        let _ = solve.arg("solve").arg(&file).args(rounds).args(more);
        solve
    };
    for more in [&["--bound", "none"][..], &["--bound", "shift", "--no-reduce"], &["--bound", "mbe"]] {
        let with = object(solve(more).arg("--certificate").arg(&certificate), 0)?;
        let without = object(&mut solve(more), 0)?;
        for field in ["cost", "bound", "solution", "rounds", "moves", "ratings", "bound_method"] {
            assert_eq!(without[field], with[field], "{field} {more:?}");
        }
        let mut check = fangs();
        let _ = check.arg("check").arg(&file).args(["--json", "--certificate"]).arg(&certificate);
        assert_eq!(object(&mut check, 0)?["certificate"]["bound"], with["bound"], "{more:?}");
    }
    Ok(())
}

#[test]
fn join_graphs_and_rows_are_certified() -> Result {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("potts.wcsp");
    let _ = fangs().args(["generate", "potts", "--side", "7", "--d", "2", "-o"]).arg(&file).assert().success();
    let mut last = 0.0;
    // from weaker to exact
    for (method, z) in [("mbe-mm", "2"), ("join-graph", "3"), ("sparse-be", "3"), ("join-graph", "9")] {
        let (written, proven) = certified("bound", &file, &["--no-reduce", "--method", method, "--z", z], 0)?;
        let bound = proven["bound"].as_f64().ok_or("a bound")?;
        assert_eq!(proven["bound"], written["bound"], "{method} {z}");
        assert!(bound >= last, "{method} {z}: {bound} after {last}");
        last = bound;
    }
    let (_, proven) = certified("solve", &file, &["--device", "cpu", "--time", "20"], 0)?;
    assert_eq!((&proven["optimal"], proven["bound"].as_f64()), (&Value::Bool(true), Some(last)));
    Ok(())
}

/// Alone, the method `cores` refuses a certificate; together with other methods it is disabled.
#[test]
fn cores_have_no_certificate() -> Result {
    let (folder, file) = folder_with("four.wcsp", FOUR)?;
    let certificate = folder.path().join("c");
    let mut alone = fangs();
    let _ = alone.args(["bound", "--no-reduce", "--method", "cores"]).arg(&file).arg("--certificate").arg(&certificate);
    refused(&mut alone, &["cores has no certificate"])?;
    let _ = certified("bound", &file, &["--no-reduce"], 0)?;
    Ok(())
}

#[test]
fn a_solution_beside_it_is_told_whether_both_meet() -> Result {
    let (folder, file) = folder_with("four.wcsp", FOUR)?;
    let (certificate, solution) = (folder.path().join("c"), folder.path().join("s"));
    let _ = fangs().arg("solve").arg(&file).arg("--certificate").arg(&certificate).assert().success();
    let mut check = fangs();
    let _ = check.arg("check").arg(&file).arg(&solution).arg("--certificate").arg(&certificate);
    for (values, words) in [("0 1 0 1", "is optimal"), ("0 0 0 0", "does not meet")] {
        fs::write(&solution, values)?;
        let output = check.assert().success().get_output().clone();
        let (out, err) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
        assert!(out.contains("a solution, cost") && out.contains("no assignment is better than 5"), "{out}");
        assert!(out.contains(words), "{out}");
        assert!(err.contains("joint entries"), "{err}");
    }
    // an infeasible solution is reported as it is without a certificate
    fs::write(&solution, "0 0 0 1")?;
    let _ = check.assert().code(4);
    Ok(())
}

#[test]
fn what_is_not_proven_is_refused() -> Result {
    let (folder, file) = folder_with("four.wcsp", FOUR)?;
    let certificate = folder.path().join("c");
    let _ = fangs().arg("bound").arg(&file).arg("--certificate").arg(&certificate).assert().success();
    let text = fs::read_to_string(&certificate)?;
    let other = folder.path().join("other.wcsp");
    fs::write(&other, FOUR.replace("0 0 9", "0 0 8"))?;
    let refusal = |file: &PathBuf, text: &str, words: &str| -> Result {
        fs::write(&certificate, text)?;
        let mut check = fangs();
        let _ = check.arg("check").arg(file).arg("--certificate").arg(&certificate);
        let output = check.assert().code(1).get_output().clone();
        let message = String::from_utf8(output.stderr)?;
        assert!(
            output.stdout.is_empty() && message.contains("refused") && message.contains(words),
            "{words}: {message}"
        );
        Ok(())
    };
    refusal(&file, &text.replace("\"bound\":5", "\"bound\":6"), "SHA-256")?;
    refusal(&file, &text[..text.len() / 2], "cut short")?;
    refusal(&file, "", "cut short")?;
    refusal(&other, &text, "another network")?;
    fs::remove_file(&certificate)?;
    let mut missing = fangs();
    let _ = missing.arg("check").arg(&file).arg("--certificate").arg(&certificate);
    refused(&mut missing, &["cannot read"])?;
    let _ = fangs().arg("check").arg(&file).assert().code(2);
    let mut overwriting = fangs();
    let _ = overwriting.arg("solve").arg(&file).arg("--certificate").arg(&file);
    refused(&mut overwriting, &["would overwrite"])
}

/// Published instances, if present: proved optimal by elimination, by a join graph, and by branch and bound with and
/// without mini-buckets at nodes and after bounds forbade values; and bounds of mini-buckets and of join graphs.
#[test]
fn published_instances_are_certified() -> Result {
    let Some(manifest) = fangs_testing::published("MANIFEST.tsv") else { return Ok(()) };
    let folder = manifest.parent().ok_or("a folder")?;
    let copies = tempfile::tempdir()?;
    let by_graphs = ["bound", "--method", "join-graph"];
    let by_search = ["bound", "--method", "branch"];
    for (instance, command, seconds, least, words) in [
        ("spot5/54.wcsp.xz", &["solve"][..], "20", 37.0, "bound"),
        ("spot5/404.wcsp.xz", &["solve"], "40", 100.0, "bound"),
        ("spot5/54.wcsp.xz", &by_graphs, "20", 37.0, "graph"),
        ("spot5/404.wcsp.xz", &by_graphs, "5", 100.0, "graph"),
        ("spot5/505.wcsp.xz", &by_graphs, "3", 10000.0, "bound"),
        ("spot5/505.wcsp.xz", &["bound"], "5", 10000.0, "bound"),
        ("celar/scen06.wcsp.xz", &["bound"], "5", 300.0, "bound"),
        ("celar/CELAR6-SUB0.wcsp.xz", &["solve"], "20", 159.0, "bound"),
        ("celar/graph05.wcsp.xz", &["solve"], "20", 221.0, "bound"),
        ("spot5/42b.wcsp.xz", &by_search, "2", 100000.0, "mini"),
        ("celar/CELAR7-SUB0.wcsp.xz", &["solve", "--rounds", "100"], "60", 10310.0, "by_lemma"),
    ] {
        let source = folder.join(instance);
        let file = copies.path().join(source.file_name().ok_or("a name")?);
        let _ = fs::copy(&source, &file)?;
        let more = [&command[1..], &["--time", seconds, "--device", "cpu"]].concat();
        let (written, proven) = certified(command[0], &file, &more, 0)?;
        assert_eq!(proven["bound"], written["bound"], "{instance}");
        assert!(proven["bound"].as_f64() >= Some(least), "{instance}: {proven}");
        let text = fs::read_to_string(file.with_extension("cert"))?;
        assert!(text.contains(&format!("\"{words}\"")), "{instance}: {words}");
    }
    Ok(())
}

#[test]
fn merged_variables_are_certified() -> Result {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("links.wcsp");
    let small = ["--n", "20", "--width", "5", "--degree", "4", "-o"];
    let _ = fangs().args(["generate", "frequency"]).args(small).arg(&file).assert().success();
    let info = object(fangs().args(["info", "--json"]).arg(&file), 0)?;
    assert!(info["reduction"]["tied"].as_u64() > Some(2), "{info}");
    let (_, plain) = certified("solve", &file, &["--no-reduce", "--device", "cpu", "--time", "20"], 0)?;
    let (_, proven) = certified("solve", &file, &["--device", "cpu", "--time", "20"], 0)?;
    assert_eq!((&proven["optimal"], &proven["bound"]), (&Value::Bool(true), &plain["bound"]));
    Ok(())
}
