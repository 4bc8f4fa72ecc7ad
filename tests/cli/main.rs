//! The command as a user runs it: exit codes, the JSON object, the CSV, files, signals, bad input.

mod cases;
mod certificate;
mod coloring;
mod compare;
mod convert;
mod dcop;
mod decide;
mod devices;
mod evidence;
mod faults;
#[cfg(unix)]
mod files;
mod heuristics;
mod limits;
mod long_runs;
mod magnitudes;
mod marginals;
mod names;
mod page;
mod parts;
mod peers;
mod refusals;
mod several;
mod several_random;
mod solve;
mod spill;
mod stop;
mod sums;
mod tables;
#[cfg(unix)]
mod terminals;
mod top;
mod tune;
mod words;

use assert_cmd::Command;
use serde_json::Value;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use tempfile::TempDir;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Pairs 12, 14, 23, 24, 34 of four binary variables; the optimum is 0 1 0 1 with 5.
const FOUR: &str = "four 4 2 5 100\n2 2 2 2\n\
    2 0 1 0 4\n0 0 9\n0 1 1\n1 0 2\n1 1 7\n\
    2 0 3 0 4\n0 0 3\n0 1 1\n1 0 6\n1 1 5\n\
    2 1 2 0 4\n0 0 8\n0 1 4\n1 0 1\n1 1 6\n\
    2 1 3 0 4\n0 0 2\n0 1 100\n1 0 5\n1 1 1\n\
    2 2 3 0 4\n0 0 4\n0 1 1\n1 0 3\n1 1 2\n";

/// Two variables that must be both different and equal.
const INFEASIBLE: &str = "none 2 2 2 10\n2 2\n2 0 1 10 2\n0 0 0\n1 1 0\n2 0 1 0 2\n0 0 10\n1 1 10\n";

/// Three coins, each of which probably equals the previous one: the optimum is ln(0.5 * 0.9 * 0.9).
const COINS: &str = "MARKOV\n3\n2 2 2\n3\n1 0\n2 0 1\n2 1 2\n2\n0.5 0.5\n4\n0.9 0.1 0.1 0.9\n4\n0.9 0.1 0.1 0.9\n";

/// How long a test waits for events that come immediately or soon.
const PATIENCE: Duration = Duration::from_secs(120);

fn fangs() -> Command {
    let mut command = Command::new(program());
    let _ = command.timeout(PATIENCE);
    command
}

fn wait_for(mut what: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !what() {
        assert!(begin.elapsed() < PATIENCE, "it has not come within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the output of a program that ends by itself.
fn ended(child: Child) -> Result<Output> {
    let (id, (sender, receiver)) = (child.id(), channel());
    let _ = std::thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(output) = receiver.recv_timeout(PATIENCE) else {
        let _ = std::process::Command::new("kill").args(["-9", &id.to_string()]).status();
        return Err(format!("the program has not ended within {PATIENCE:?}").into());
    };
    Ok(output?)
}

#[allow(deprecated, reason = "the macro that replaces it fixes the path at compile time")]
fn program() -> PathBuf {
    assert_cmd::cargo::cargo_bin("fangs")
}

fn folder_with(name: &str, content: &str) -> Result<(TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join(name);
    fs::write(&path, content)?;
    Ok((folder, path))
}

/// Returns a network too wide to be solved exactly, with many solutions.
fn hard() -> Result<(TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("potts.wcsp");
    let _ = fangs().args(["generate", "potts", "--side", "40", "--d", "6", "-o"]).arg(&path).assert().success();
    Ok((folder, path))
}

/// Runs a command; expects an exit code and exactly one JSON object on standard output.
fn object(command: &mut Command, code: i32) -> Result<Value> {
    let output = command.assert().code(code).get_output().stdout.clone();
    let value: Value = serde_json::from_slice(&output)?;
    assert!(value.is_object());
    Ok(value)
}

/// Expects exit code 2, an empty standard output, and a message that contains `words`.
fn refused(command: &mut Command, words: &[&str]) -> Result {
    let output = command.assert().code(2).get_output().clone();
    let message = String::from_utf8(output.stderr)?;
    assert!(output.stdout.is_empty(), "standard output must stay empty");
    for word in words {
        assert!(message.contains(word), "{word:?} is missing in {message:?}");
    }
    assert!(!message.contains("panicked"), "{message}");
    Ok(())
}

/// Checks the header, the order of rows, and both curves of a CSV; returns its last row.
fn check_csv(path: &Path, maximise: bool) -> Result<Vec<String>> {
    let text = fs::read_to_string(path)?;
    let mut lines = text.lines();
    let header =
        "time_s,upper_bound,lower_bound,gap,event,round,moves,ratings,source,incumbent,bound,sense,instance,seed";
    assert_eq!(lines.next(), Some(header));
    let rows: Vec<Vec<String>> = lines.map(|line| line.split(',').map(String::from).collect()).collect();
    assert_eq!(rows.first().map(|row| row[4].as_str()), Some("start"));
    assert_eq!(rows.last().map(|row| row[4].as_str()), Some("end"));
    assert_eq!(rows.iter().filter(|row| row[4] == "end").count(), 1);
    for (column, falls) in [(1, true), (2, false)] {
        let numbers: Vec<f64> = rows.iter().filter_map(|row| row[column].parse().ok()).collect();
        assert!(numbers.windows(2).all(|w| if falls { w[1] <= w[0] } else { w[1] >= w[0] }), "column {column}: {text}");
        let first = rows.iter().position(|row| !row[column].is_empty()).unwrap_or(rows.len());
        assert!(rows[first..].iter().all(|row| !row[column].is_empty()), "a known side stays known");
    }
    let times: Vec<f64> = rows.iter().filter_map(|row| row[0].parse().ok()).collect();
    assert!(times.len() == rows.len() && times.windows(2).all(|w| w[0] <= w[1]), "{text}");
    let slack = 1e-9;
    let (found, proven) = if maximise { (2, 1) } else { (1, 2) };
    for row in &rows {
        assert_eq!((&row[9], &row[10], row[11] == "max"), (&row[found], &row[proven], maximise), "{row:?}");
        if let (Ok(upper), Ok(lower)) = (row[1].parse::<f64>(), row[2].parse::<f64>()) {
            assert!(lower <= upper + slack, "{row:?} (maximise: {maximise})");
        }
    }
    Ok(rows.last().cloned().unwrap_or_default())
}

/// Checks that the last row agrees with the object.
fn same(row: &[String], object: &Value, maximise: bool) {
    let (upper, lower) = if maximise { ("bound", "cost") } else { ("cost", "bound") };
    let fields = [("time_s", 0), (upper, 1), (lower, 2), ("gap", 3), ("rounds", 5), ("moves", 6), ("ratings", 7)];
    for (field, column) in fields {
        match object[field].as_f64() {
            Some(number) => assert_eq!(row[column].parse::<f64>().ok(), Some(number), "{field}: {row:?} {object}"),
            None => assert_eq!(row[column], "", "{field}: {row:?} {object}"),
        }
    }
    assert_eq!((&row[12], &row[13]), (&text(&object["instance"]), &object["seed"].to_string()));
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().into()
}

const SOLVE_FIELDS: [&str; 29] = [
    "instance",
    "version",
    "status",
    "cost",
    "bound",
    "gap",
    "precision_slack",
    "stopped_by",
    "time_s",
    "load_s",
    "time_to_best_s",
    "search_to_best_s",
    "seed",
    "device",
    "threads",
    "driver",
    "heuristic",
    "population",
    "rounds",
    "moves",
    "ratings",
    "bound_method",
    "z",
    "induced_width",
    "values",
    "values_forbidden",
    "variables",
    "functions",
    "solution",
];

#[test]
fn help_and_version() -> Result {
    let help = String::from_utf8(fangs().arg("--help").assert().success().get_output().stdout.clone())?;
    for command in ["solve", "bound", "info", "check", "generate", "plot", "heuristics", "devices"] {
        assert!(help.contains(command), "{command}");
        let _ = fangs().args([command, "--help"]).assert().success();
    }
    let version = fangs().arg("--version").assert().success().get_output().stdout.clone();
    assert!(version.starts_with(b"fangs "));
    let _ = fangs().assert().code(2);
    Ok(())
}

#[test]
fn bound_climbs_to_the_optimum() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("order"), "3 1 0 2 # by hand\n")?;
    let order = format!("file:{}", at("order").display());
    for options in [&["--method", "be"][..], &["--method", "be", "--no-reduce"], &["--no-reduce", "--order", &order]] {
        let mut command = fangs();
        let _ = command.args(["bound", "--json", "--csv"]).arg(at("run.csv")).arg("--solution").arg(at("best.sol"));
        let result = object(command.args(options).arg(&path), 0)?;
        assert_eq!((&result["bound"], &result["cost"], &result["exact"]), (&5.into(), &5.into(), &true.into()));
        for field in
            ["instance", "version", "method", "z", "order", "induced_width", "precision_slack", "largest_table"]
                .iter()
                .chain(&["table_bytes", "joint_entries", "streamed", "time_s", "device"])
        {
            assert!(result.get(field).is_some(), "{field} is missing");
        }
        let end = check_csv(&at("run.csv"), false)?;
        assert_eq!((end[1].as_str(), end[2].as_str()), ("5", "5"));
        assert_eq!((&end[12], end[13].as_str()), (&text(&result["instance"]), ""), "a bound has no seed");
        assert_eq!(end[0].parse::<f64>().ok(), result["time_s"].as_f64());
        let _ = fangs().arg("check").arg(&path).arg(at("best.sol")).assert().success();
    }
    for (method, least) in [("shift", 0), ("join-graph", 5), ("mbe", 5), ("mbe-mm", 5), ("sparse-be", 5), ("cores", 5)]
    {
        let result = object(fangs().args(["bound", "--json", "--no-reduce", "--method", method]).arg(&path), 0)?;
        let bound = result["bound"].as_i64().ok_or("no bound")?;
        assert!((least..=5).contains(&bound), "{method}: {result}");
    }
    let weak = object(fangs().args(["bound", "--json", "--no-reduce", "--method", "mbe", "--z", "1"]).arg(&path), 0)?;
    assert!(weak["bound"].as_i64().is_some_and(|bound| bound <= 5), "{weak}");
    Ok(())
}

#[test]
fn info_tells_before_and_after() -> Result {
    let (_folder, path) = hard()?;
    let result = object(fangs().args(["info", "--json"]).arg(&path), 0)?;
    assert_eq!(result["network"]["variables"], 1600);
    assert_eq!(result["domains"]["max"], 6);
    assert_eq!(result["orders"].as_array().map(Vec::len), Some(4));
    assert!(result["search"]["state_bytes"].as_u64() > Some(0) && result["search"]["table_bytes"].as_u64() > Some(0));
    assert!(result["eliminations"].as_array().is_some_and(|list| !list.is_empty()));
    let _ = fangs().arg("info").arg(&path).assert().success();
    Ok(())
}

#[test]
fn check_tells_what_is_wrong() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("good"), "0 1 0 1")?;
    fs::write(at("bad"), "0 0 0 1")?;
    let good = object(fangs().args(["check", "--json"]).arg(&path).arg(at("good")), 0)?;
    assert_eq!((&good["cost"], &good["solution"]), (&5.into(), &true.into()));
    let bad = object(fangs().args(["check", "--json"]).arg(&path).arg(at("bad")), 4)?;
    assert_eq!(bad["violated"][0]["function"], 3);
    assert_eq!(bad["violated"][0]["scope"], serde_json::json!([1, 3]));
    let text = fangs().arg("check").arg(&path).arg(at("bad")).assert().code(4).get_output().stdout.clone();
    assert!(String::from_utf8(text)?.contains("function 3: forbidden at x1=0 x3=1"));

    let low_top = FOUR.replacen("5 100", "5 10", 1).replace("0 1 100", "0 1 9");
    fs::write(at("low.wcsp"), low_top)?;
    let text = fangs().arg("check").arg(at("low.wcsp")).arg(at("bad")).assert().code(4).get_output().stdout.clone();
    assert!(String::from_utf8(text)?.contains("sum of soft costs"));
    Ok(())
}

/// A reader that closes the pipe early causes neither a failure nor a panic.
#[cfg(unix)]
#[test]
fn closed_pipes_are_quiet() -> Result {
    let (_folder, path) = folder_with("four.wcsp", FOUR)?;
    let mut child = std::process::Command::new(program())
        .args(["solve", "--time", "20"])
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    drop(child.stdout.take());
    let output = ended(child)?;
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr)?, "");
    Ok(())
}

#[test]
fn plots_its_own_csv() -> Result {
    let (folder, path) = hard()?;
    let at = |name: &str| folder.path().join(name);
    for seed in ["1", "2"] {
        let mut command = fangs();
        let _ = command.args(["solve", "--rounds", "2", "--seed", seed, "--csv"]).arg(at(seed)).arg(&path);
        let _ = command.assert().success();
    }
    for picture in ["one.svg", "one.png", "one.pdf"] {
        let _ = fangs().arg("plot").arg(at("1")).arg("-o").arg(at(picture)).assert().success();
    }
    let mut command = fangs();
    let _ = command.arg("plot").arg(at("1")).arg(at("2")).arg("--log-time").arg("-o").arg(at("two.svg"));
    let _ = command.assert().success();
    assert!(fs::read(at("one.png"))?.starts_with(b"\x89PNG"));
    let two = fs::read_to_string(at("two.svg"))?;
    assert!(two.contains(">found<") && two.contains(">proven bound<") && two.contains(">potts<"), "{two}");
    assert!(fs::read(at("one.pdf"))?.starts_with(b"%PDF"));
    // the file names are equal, so the legend shows the seeds
    for seed in ["1", "2"] {
        fs::create_dir(at(&format!("of-{seed}")))?;
        let _ = fs::copy(at(seed), at(&format!("of-{seed}/run.csv")))?;
    }
    let mut command = fangs();
    let _ = command.arg("plot").arg(at("of-1/run.csv")).arg(at("of-2/run.csv")).arg("-o").arg(at("seeds.svg"));
    let _ = command.assert().success();
    let seeds = fs::read_to_string(at("seeds.svg"))?;
    assert!(seeds.contains(">seed 1: ") && seeds.contains(">seed 2: ") && seeds.contains(">potts<"), "{seeds}");
    fs::write(at("bad.csv"), "time_s,upper_bound,lower_bound\n0,1,x\n")?;
    refused(fangs().arg("plot").arg(at("bad.csv")).arg("-o").arg(at("x.svg")), &["bad.csv:2:5"])?;
    refused(fangs().arg("plot").arg(at("none.csv")).arg("-o").arg(at("x.svg")), &["none.csv"])?;
    refused(fangs().arg("plot").arg(at("1")).arg("-o").arg(at("x.jpg")), &[".svg", ".pdf"])?;
    refused(fangs().arg("plot").arg("-o").arg(at("x.svg")), &["CSV"])
}

#[test]
fn generates_every_kind() -> Result {
    let help = fangs().args(["generate", "--help"]).assert().success().get_output().stdout.clone();
    let help = String::from_utf8(help)?;
    let folder = tempfile::tempdir()?;
    for kind in fangs_generate::KINDS.iter().map(|kind| kind.name) {
        assert!(help.contains(kind));
        let path = folder.path().join(format!("{kind}.wcsp"));
        let _ = fangs().args(["generate", kind, "--seed", "3", "-o"]).arg(&path).assert().success();
        let _ = fangs().arg("info").arg(&path).assert().success();
        let again = fangs().args(["generate", kind, "--seed", "3"]).assert().success().get_output().stdout.clone();
        assert_eq!(fs::read(&path)?, again, "{kind}");
    }
    refused(fangs().args(["generate", "random", "--p1", "2"]), &["p1"])?;
    refused(fangs().args(["generate", "magic"]), &["magic"])
}
