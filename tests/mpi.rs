//! Processes that `mpirun` starts work together. Needs the feature `mpi` and Open MPI.

use serde_json::Value;
use std::error::Error;
use std::path::Path;
use std::process::{Command, Output};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const PROGRAM: &str = env!("CARGO_BIN_EXE_fangs");

/// Runs four processes, even with fewer processors, and even if root runs the tests.
fn ranks(arguments: &[&str], network: &Path) -> Result<Output> {
    let mut command = Command::new("mpirun");
    let _ = command.args(["-n", "4", "--oversubscribe", "--allow-run-as-root", PROGRAM, "solve", "--device", "cpu"]);
    let output = command.args(arguments).arg(network).output();
    output.map_err(|error| format!("mpirun cannot be started: {error}").into())
}

fn generated(folder: &Path, arguments: &[&str]) -> Result<std::path::PathBuf> {
    let path = folder.join("net.wcsp");
    let made = Command::new(PROGRAM).arg("generate").args(arguments).arg("-o").arg(&path).status()?;
    assert!(made.success());
    Ok(path)
}

fn object(output: &Output) -> Result<Value> {
    let text = String::from_utf8(output.stdout.clone())?;
    assert_eq!(text.lines().count(), 1, "one rank reports: {text} {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_str(&text)?)
}

#[test]
fn four_ranks_work_as_one_run() -> Result {
    let folder = tempfile::tempdir()?;
    let path = generated(folder.path(), &["potts", "--side", "18", "--d", "6"])?;
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let [csv, solution, checkpoint] = ["run.csv", "best.sol", "run.ckpt"].map(at);
    let files = ["--csv", &csv, "--solution", &solution, "--checkpoint", &checkpoint];
    let output = ranks(&[&["--json", "--time", "8"], &files[..]].concat(), &path)?;
    let result = object(&output)?;
    assert!(output.status.success() && result["ranks"] == 4, "{result} {}", String::from_utf8_lossy(&output.stderr));
    // the time of the run, not that of the last rank to leave
    assert!(result["time_s"].as_f64().is_some_and(|time| time < 9.5), "{result}");
    let checked = Command::new(PROGRAM).args(["check", "--json"]).arg(&path).arg(&solution).output()?;
    assert_eq!(object(&checked)?["cost"], result["cost"]);
    let rows = std::fs::read_to_string(&csv)?;
    let fields: Vec<Vec<&str>> = rows.lines().skip(1).map(|row| row.split(',').collect()).collect();
    let of = |kind: &str| fields.iter().filter(|row| row[4] == kind).map(|row| row[8]).collect::<Vec<_>>();
    assert_eq!((of("start").len(), of("end").len()), (1, 1), "one writes: {rows}");
    assert!(of("solution").iter().any(|source| source.starts_with("exchange/")), "ranks tell solutions: {rows}");
    // the first rank itself computes only the bounds of cost shifting and what follows from them
    let (others, own): (Vec<&str>, _) = of("bound").iter().partition(|source| source.starts_with("exchange/"));
    assert!(own.iter().all(|source: &&str| !source.starts_with("mbe") && !source.starts_with("branch")), "{own:?}");
    assert!(others.len() + own.len() > 0, "{rows}");
    // a run resumes from the results of all ranks
    let mut again = Command::new(PROGRAM);
    let _ = again.args(["solve", "--json", "--device", "cpu", "--time", "1", "--resume", &checkpoint]).arg(&path);
    let again = object(&again.output()?)?;
    assert!(again["cost"].as_i64() <= result["cost"].as_i64() && again["bound"].as_f64() >= result["bound"].as_f64());
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 4, "the others leave nothing");
    Ok(())
}

#[test]
fn what_one_proves_ends_all() -> Result {
    let folder = tempfile::tempdir()?;
    let path = generated(folder.path(), &["random", "--n", "30", "--d", "4", "--p2", "0"])?;
    // another rank than the first eliminates the network itself
    let output = ranks(&["--json", "--time", "100", "--bound", "auto"], &path)?;
    let result = object(&output)?;
    assert_eq!((&result["status"], output.status.code()), (&"optimal".into(), Some(0)), "{result}");
    assert!(result["time_s"].as_f64().is_some_and(|time| time < 60.0), "{result}");
    let path = folder.path().join("none.wcsp");
    std::fs::write(&path, "none 2 2 2 10\n2 2\n2 0 1 10 2\n0 0 0\n1 1 0\n2 0 1 0 2\n0 0 10\n1 1 10\n")?;
    let output = ranks(&["--json", "--time", "100"], &path)?;
    assert_eq!((&object(&output)?["status"], output.status.code()), (&"infeasible".into(), Some(4)));
    Ok(())
}

#[test]
fn ranks_depend_on_the_clock() -> Result {
    let folder = tempfile::tempdir()?;
    let path = generated(folder.path(), &["random", "--n", "10", "--d", "3"])?;
    let output = ranks(&["--rounds", "3"], &path)?;
    let told = String::from_utf8(output.stderr)?;
    assert!(output.status.code() == Some(2) && told.contains("--rounds: several ranks depend on the clock"), "{told}");
    assert!(output.stdout.is_empty());
    Ok(())
}

#[test]
fn ranks_with_a_part_each_reach_what_threads_with_a_part_each_reach() -> Result {
    let folder = tempfile::tempdir()?;
    let text = generated(folder.path(), &["potts", "--side", "30", "--d", "5"])?;
    let path = folder.path().join("net.fangs");
    assert!(Command::new(PROGRAM).arg("convert").args([&text, &path]).status()?.success());
    let solution = folder.path().join("best.sol").to_string_lossy().into_owned();
    let result = object(&ranks(&["--json", "--parts", "4", "--rounds", "3", "--solution", &solution], &path)?)?;
    let alone = Command::new(PROGRAM).args(["solve", "--json", "--parts", "1", "--rounds", "3"]).arg(&path).output()?;
    let alone = object(&alone)?;
    for key in ["status", "cost", "moves", "solution", "functions"] {
        assert_eq!(result[key], alone[key], "{key}");
    }
    assert_eq!((&result["ranks"], &result["status"]), (&4.into(), &"feasible".into()));
    let checked = Command::new(PROGRAM).args(["check", "--json"]).arg(&path).arg(&solution).output()?;
    assert_eq!(object(&checked)?["cost"], result["cost"]);
    Ok(())
}

#[test]
fn ranks_that_cannot_read_their_parts_end() -> Result {
    let folder = tempfile::tempdir()?;
    let path = generated(folder.path(), &["potts", "--side", "4", "--d", "3"])?;
    for (parts, expected) in [("3", "mpirun has started 4 processes"), ("4", "read in parts from a .fangs file")] {
        let output = ranks(&["--parts", parts], &path)?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && told.contains(expected), "{told}");
    }
    Ok(())
}
