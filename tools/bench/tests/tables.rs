//! Tests of the program from outside: tables as JSON and CSV, and rejected options.

use assert_cmd::Command;
use serde_json::{Value, json};
use std::error::Error;
use std::fs;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const RAIN: &str = "network garden { }
variable rain { type discrete [ 2 ] { yes, no }; }
variable sprinkler { type discrete [ 2 ] { on, off }; }
variable grass { type discrete [ 2 ] { wet, dry }; }
probability ( rain ) { table 0.25, 0.75; }
probability ( sprinkler | rain ) { (yes) 0.125, 0.875; (no) 0.5, 0.5; }
probability ( grass | rain, sprinkler ) {
  (yes, on) 1.0, 0.0;
  (yes, off) 0.75, 0.25;
  (no, on) 0.75, 0.25;
  (no, off) 0.0, 1.0;
}
";

fn bench() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fangs-bench"))
}

/// Returns the JSON object that a call prints.
fn object(command: &mut Command) -> Result<Value> {
    Ok(serde_json::from_slice(&command.assert().success().get_output().stdout)?)
}

/// Returns the rows of the object.
fn rows(object: &Value) -> Result<&Vec<Value>> {
    object["rows"].as_array().ok_or_else(|| "no rows".into())
}

fn refused(command: &mut Command, word: &str) -> Result {
    let refused = command.assert().code(2);
    let message = String::from_utf8(refused.get_output().stderr.clone())?;
    assert!(message.contains(word), "{word:?} is missing in {message:?}");
    Ok(())
}

#[test]
fn networks_are_measured_beside_the_figures_of_the_paper() -> Result {
    let folder = tempfile::tempdir()?;
    let (path, csv) = (folder.path().join("water.bif"), folder.path().join("cube.csv"));
    fs::write(&path, RAIN)?;
    let mut command = bench();
    let found = object(command.args(["cube", "--device", "cpu", "--json", "--csv"]).arg(&csv).arg(&path).arg(&path))?;
    assert_eq!(rows(&found)?.len(), 2);
    let row = &rows(&found)?[0];
    assert_eq!((&row["network"], &row["cliques"], &row["clique_entries"]), (&"water".into(), &1.into(), &8.into()));
    let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    assert!(number("ln_z").abs() < 1e-15 && number("cpu_ms") > 0.0, "{row}");
    assert!(row["device_ms"].is_null() && row["published_ms"].is_null() && row["trouble"].is_null(), "{row}");
    assert_eq!((number("paper_largest_clique"), number("paper_device_ms")), (589_824.0, 12.0));
    let lines = fs::read_to_string(&csv)?;
    assert!(lines.starts_with("network,variables,ln_z,") && lines.lines().count() == 3, "{lines}");
    refused(bench().args(["cube", "--csv"]).arg(&path).arg(&path), "same file")?;
    refused(bench().arg("cube"), "NETWORK")
}

#[test]
fn diagrams_are_measured_beside_the_figures_of_the_paper() -> Result {
    let mut command = bench();
    let found =
        object(command.args(["decide", "--table", "tiger", "--most-models", "10", "--device", "cpu", "--json"]))?;
    assert_eq!(rows(&found)?.len(), 12);
    let own = |row: &&Value| (&row["t1"], &row["t0"]) == (&4.into(), &6.into());
    let row = rows(&found)?.iter().find(own).ok_or("no row")?;
    assert!((row["meu"].as_f64().ok_or("no value")? - 1.3400835125).abs() < 1e-9, "{row}");
    assert!(row["cpu_s"].is_number() && row["device_s"].is_null() && row["mean_utility_factor"].is_number(), "{row}");
    assert!(row["flat_s"].is_null() && row["paper_kernels_flat_s"].is_null() && row["block"] == 512, "{row}");
    refused(bench().args(["decide", "--table", "blocks", "--device", "cpu"]), "needs a CUDA device")
}

#[test]
fn distributed_problems_have_the_sizes_of_the_papers() -> Result {
    let mut command = bench();
    let sizes = ["dcop", "--device", "cpu", "--threads", "2", "--most-joint-entries", "1", "--json"];
    let found = object(command.args(sizes))?;
    assert_eq!(found["threads"], json!(2));
    let rows = rows(&found)?;
    assert!(rows.len() > 20 && rows.iter().all(|row| row["be_cpu_s"].is_null() && row["width"].is_u64()), "{rows:?}");
    refused(bench().args(["dcop", "--device", "cpu", "--kernel", "paper"]), "--kernel paper needs a CUDA device")
}

#[test]
fn kernels_are_measured_on_devices_alone() -> Result {
    refused(bench().args(["fang", "--device", "cpu"]), "needs a CUDA device")?;
    refused(bench().args(["mbe", "--device", "cpu"]), "needs a CUDA device")
}
