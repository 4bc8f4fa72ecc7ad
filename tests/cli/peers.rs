//! Files as other programs write them: read with the same optimum, and with a warning if something is ignored.

use super::{Result, fangs, object, refused};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// The output of pyAgrum's `saveBN`: names behind `#`, a row of a table per line.
const AGRUM_BAYES: &str = "BAYES\n3\n2 3 2 \n3\n1 0   # cloudy\n2 0 1   # rain\n3 0 1 2   # wet grass\n\n\n\
    2\n  0.25 0.75 \n\
    6\n  0.5 0.25 0.25 \n  0.1 0.2 0.7 \n\n\
    12\n  0.5 0.5 \n  0.1 0.9 \n  1 0 \n  0.75 0.25 \n  0.125 0.875 \n  0 1 \n\n\n";

/// The output of pyAgrum's `saveMRF`: `#` behind numbers and braces in the comments.
const AGRUM_MARKOV: &str = "MARKOV\n3 # nbr Nodes\n2 3 2 \n2 # nbr Factors \n2 1 0 \n2 2 1 \n\n\
    6 # {0, 1}\n  1 4 \n  2 0 \n\
    3 1 \n\n6 # {1, 2}\n  2 1 5 \n  1 1 0.5 \n\n\n";

/// The output of pgmpy's `UAIWriter`: Python's floats, no line end after the last table.
const PGMPY_MARKOV: &str = "MARKOV\n2\n2 3\n2\n2 0 1\n1 0\n\n6\n1.0 0.0 1e-05 30000000000.0 2.5 1.0\n2\n0.1 1e-10";

/// A dump of toulbar2: the unary costs with their domains' ends, arities without a constant.
const TOULBAR2: &str = "wcsp 2 3 3 1000\n2 3\n2 0 1 0 5\n0 0 1\n0 1 2\n0 2 3\n1 0 4\n1 1 5\n\
    1 0 1000 2\n0 0\n1 0\n1 1 1000 3\n0 0\n1 0\n2 0\n";

/// Three variables of 2, 2 and 3 values; the best assignment is 0 1 2.
const THREE: &str = "MARKOV\n3\n2 2 3\n2\n2 0 1\n3 0 1 2\n\n4\n 4.0 2.4\n 1.0 0.0\n\n12\n 2.25 3.25 3.75\n 0 0 10\n\
    1.875 4 3.333\n 2 2 3.4\n";

fn folder(files: &[(&str, &str)]) -> Result<(TempDir, impl Fn(&str) -> PathBuf + use<>)> {
    let folder = tempfile::tempdir()?;
    for (name, text) in files {
        fs::write(folder.path().join(name), text)?;
    }
    let path = folder.path().to_path_buf();
    Ok((folder, move |name: &str| path.join(name)))
}

/// Returns the lines on standard error that name files.
fn told(command: &mut assert_cmd::Command) -> Result<Vec<String>> {
    let said = String::from_utf8(command.assert().success().get_output().stderr.clone())?;
    let of_files = |line: &&str| [".uai", ".wcsp", ".evid", ".sol"].iter().any(|name| line.contains(name));
    Ok(said.lines().filter(of_files).map(String::from).collect())
}

#[test]
fn networks_of_writers() -> Result {
    let files = [
        ("bn.uai", AGRUM_BAYES, (0.75f64 * 0.7).ln(), json!([1, 2, 1])),
        ("mrf.uai", AGRUM_MARKOV, (3.0f64 * 5.0).ln(), json!([0, 2, 0])),
        ("pgmpy.uai", PGMPY_MARKOV, 3f64.ln(), json!([1, 0])),
        ("dump.wcsp", TOULBAR2, 0.0, json!([1, 2])),
    ];
    for (name, text, best, solution) in files {
        let (_folder, at) = folder(&[(name, text)])?;
        let result = object(fangs().args(["solve", "--json", "--time", "20"]).arg(at(name)), 0)?;
        assert_eq!(result["status"], "optimal", "{name}");
        let (cost, slack) = (result["cost"].as_f64(), result["precision_slack"].as_f64());
        assert!((cost.ok_or("no cost")? - best).abs() <= slack.ok_or("no slack")? + 1e-9, "{name}: {result}");
        assert_eq!(result["solution"], solution, "{name}");
        let told = told(fangs().args(["solve", "-q", "--time", "20"]).arg(at(name)))?;
        // pyAgrum lists the three variables of its last table in another order than the entries
        let doubtful = told.iter().filter(|line| line.contains("bn.uai:5:7: comments as pyAgrum writes them")).count();
        assert_eq!((told.len(), doubtful), if name == "bn.uai" { (1, 1) } else { (0, 0) }, "{name}: {told:?}");
    }
    Ok(())
}

#[test]
fn what_is_left_unread_is_told_by_every_command() -> Result {
    let text = "MARKOV\n2\n2 2\n1\n2 0 1\n4\n1 2 3 4\n0\n2 0 1\n";
    let (_folder, at) = folder(&[("query.uai", text), ("s.sol", "1 1")])?;
    let expected = format!(
        "fangs: warning: {}:8:1: left unread after the last table (the file announces 1): 4 words, beginning with \
         `0 2 0 1`",
        at("query.uai").display()
    );
    for words in
        [&["solve", "--json", "-q"][..], &["solve", "-q"], &["bound", "--json", "-q"], &["info", "--json"], &["info"]]
    {
        assert_eq!(told(fangs().args(words).arg(at("query.uai")))?, [&*expected], "{words:?}");
    }
    assert_eq!(told(fangs().arg("check").arg(at("query.uai")).arg(at("s.sol")))?, [&*expected]);
    Ok(())
}

#[test]
fn evidence_is_told() -> Result {
    let (_folder, at) = folder(&[
        ("three.uai", THREE),
        ("s.sol", "1 0 2"),
        ("two.evid", "# seen\n2 # pairs\n0 1 # x0\n2 2\n"),
        ("one.evid", "1\n1 2 2\n"),
        ("none.evid", "0\n"),
        ("rest.evid", "0\n2 0\n"),
    ])?;
    for (name, words) in [
        ("two.evid", "evidence applied to 2 variables"),
        ("one.evid", "evidence applied to 1 variable"),
        ("none.evid", "no evidence in it: no variable is observed"),
    ] {
        let line = format!("fangs: {}: {words}", at(name).display());
        for command in ["solve", "bound", "info", "check"] {
            let mut call = fangs();
            let _ = call.arg(command).arg("--evidence").arg(at(name)).arg(at("three.uai"));
            if command == "check" {
                let _ = call.arg(at("s.sol"));
            }
            assert_eq!(told(&mut call)?, [&*line], "{command} {name}");
        }
        let quiet = told(fangs().args(["solve", "-q", "--evidence"]).arg(at(name)).arg(at("three.uai")))?;
        assert!(quiet.is_empty(), "{name}: {quiet:?}");
    }
    let observed = |name: Option<&str>| -> Result<Value> {
        let mut call = fangs();
        let _ = call.args(["info", "--json"]).arg(at("three.uai"));
        if let Some(name) = name {
            let _ = call.arg("--evidence").arg(at(name));
        }
        Ok(object(&mut call, 0)?["observed"].clone())
    };
    assert_eq!(
        [observed(None)?, observed(Some("none.evid"))?, observed(Some("two.evid"))?],
        [json!(null), json!(0), json!(2)]
    );
    let mut call = fangs();
    let _ = call.args(["solve", "--json", "-q", "--evidence"]).arg(at("rest.evid")).arg(at("three.uai"));
    let [warning] = &told(&mut call)?[..] else { return Err("one warning".into()) };
    assert!(warning.starts_with("fangs: warning: ") && warning.contains("rest.evid:2:1: left unread"), "{warning}");
    let result = object(&mut call, 0)?;
    assert!((result["cost"].as_f64().ok_or("no cost")? - 24f64.ln()).abs() < 1e-8, "{result}");
    Ok(())
}

#[test]
fn solutions_of_writers() -> Result {
    let (_folder, at) = folder(&[("three.uai", THREE)])?;
    let file = at("s.sol");
    let run = object(fangs().args(["solve", "--json", "--time", "20"]).arg(at("three.uai")), 0)?;
    for text in
        ["MAP\n3 0 1 2\n", "MPE\n1\n3 0 1 2\n", "MPE\n3 1 0 2\n-BEGIN-\n3 0 1 2\n", "[0, 1, 2]\n", &run.to_string()]
    {
        fs::write(&file, text)?;
        let checked = object(fangs().args(["check", "--json"]).arg(at("three.uai")).arg(&file), 0)?;
        // 2.4 and 10 are the entries at 0 1 2
        assert!((checked["cost"].as_f64().ok_or("no cost")? - 24f64.ln()).abs() < 1e-8, "{text}: {checked}");
        let start = object(fangs().args(["solve", "--json", "--warm-start"]).arg(&file).arg(at("three.uai")), 0)?;
        assert_eq!(start["cost"], run["cost"], "{text}");
    }
    fs::write(&file, "MAR\n3 2 0.1 0.9 2 0.5 0.5 3 0 0 1\n")?;
    refused(fangs().arg("check").arg(at("three.uai")).arg(&file), &["s.sol:1:1", "MAR", "MPE, MAP or value indices"])
}

#[test]
fn graphs_of_writers() -> Result {
    let edges = "c a triangle and a loop\nP EDGE 3 5\nE 1 2 7\n2 3\nE 1 3 2.5\ne 3 1\nE 2 2\n";
    let (_folder, at) =
        folder(&[("mixed.col", edges), ("mark.col", "\u{feff}p 3 2\n1 2\n2 3\n"), ("s.sol", "0 0 1\n")])?;
    let result = object(fangs().args(["solve", "--json", "--colors", "3"]).arg(at("mixed.col")), 0)?;
    assert_eq!(result["cost"], 1, "the loop stays a conflict: {result}");
    let mut check = fangs();
    let _ = check.args(["check", "--colors", "2"]).arg(at("mixed.col")).arg(at("s.sol"));
    let output = check.assert().code(0).get_output().clone();
    let (report, warnings) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert!(report.contains("cost 2") && !report.contains("function"), "{report}");
    assert!(report.ends_with("2 edges are monochromatic:\n  edge 1 2: color 0\n  edge 2 2: color 0\n"), "{report}");
    assert!(warnings.contains("mixed.col:3:7: edge weights are ignored (2 in all)"), "{warnings}");
    assert!(warnings.contains("mixed.col:7:1: edges from a vertex to itself (1 in all)"), "{warnings}");
    let found = object(fangs().args(["check", "--json", "--colors", "2"]).arg(at("mixed.col")).arg(at("s.sol")), 0)?;
    assert_eq!(found["monochromatic"], json!([{"edge": [1, 2], "color": 0}, {"edge": [2, 2], "color": 0}]));
    let result = object(fangs().args(["solve", "--json", "--colors", "2"]).arg(at("mark.col")), 0)?;
    assert_eq!((&result["cost"], &result["functions"]), (&json!(0), &json!(2)));
    fs::write(at("s.sol"), "0 1 0\n")?;
    let proper = fangs().args(["check", "--colors", "2"]).arg(at("mark.col")).arg(at("s.sol")).assert().success();
    let report = String::from_utf8(proper.get_output().stdout.clone())?;
    assert!(report.ends_with("no edge is monochromatic: a proper coloring\n"), "{report}");
    Ok(())
}
