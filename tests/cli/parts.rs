//! `solve --parts`: a network that is divided among threads.

use super::*;

fn in_parts(path: &Path, parts: &str, rest: &[&str]) -> Command {
    let mut command = fangs();
    let _ = command.args(["solve", "--json", "--parts", parts]).args(rest).arg(path);
    command
}

#[test]
fn results_do_not_depend_on_the_number_of_parts() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let solution = folder.path().join("best.sol").to_string_lossy().into_owned();
    let csv = folder.path().join("run.csv").to_string_lossy().into_owned();
    // more parts than variables leave some without any
    for parts in ["1", "2", "3", "7"] {
        let rest = ["--rounds", "2", "--solution", &solution, "--csv", &csv];
        let output = in_parts(&path, parts, &rest).assert().success();
        let result: Value = serde_json::from_slice(&output.get_output().stdout)?;
        assert_eq!((&result["cost"], &result["status"]), (&5.into(), &"feasible".into()), "{parts}: {result}");
        assert_eq!(result["solution"], serde_json::json!([0, 1, 0, 1]), "{parts}");
        assert_eq!((&result["driver"], &result["stopped_by"]), (&"parts".into(), &"rounds".into()), "{parts}");
        assert_eq!(fs::read_to_string(&solution)?.trim(), "0 1 0 1");
        let rows = fs::read_to_string(&csv)?;
        let kinds: Vec<_> = rows.lines().skip(1).filter_map(|row| row.split(',').nth(4)).collect();
        assert!(kinds.first() == Some(&"start") && kinds.last() == Some(&"end"), "{rows}");
        assert!(kinds.contains(&"solution"), "{rows}");
    }
    Ok(())
}

#[test]
fn infeasible_networks_have_no_solution_in_parts() -> Result {
    let (_folder, path) = folder_with("none.wcsp", INFEASIBLE)?;
    let output = in_parts(&path, "2", &["--rounds", "2"]).assert().code(3);
    let result: Value = serde_json::from_slice(&output.get_output().stdout)?;
    assert_eq!((&result["status"], &result["cost"]), (&"unknown".into(), &Value::Null));
    Ok(())
}

#[test]
fn anneals_of_parts_end_with_the_time() -> Result {
    let (_folder, path) = folder_with("four.wcsp", FOUR)?;
    let begin = Instant::now();
    let output = in_parts(&path, "2", &["--time", "1s"]).assert().success();
    let result: Value = serde_json::from_slice(&output.get_output().stdout)?;
    assert_eq!((&result["cost"], &result["stopped_by"]), (&5.into(), &"time".into()));
    assert!(begin.elapsed() < PATIENCE);
    Ok(())
}

#[test]
fn what_cannot_be_divided_is_refused() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let coins = folder.path().join("coins.uai");
    fs::write(&coins, COINS)?;
    refused(&mut in_parts(&coins, "2", &[]), &["probabilities", "--parts"])?;
    refused(&mut in_parts(&path, "0", &[]), &["--parts"])?;
    refused(&mut in_parts(&path, "5000", &[]), &["5000", "1 to 1024"])?;
    refused(&mut in_parts(&path, "2", &["--device", "cuda"]), &["--parts", "CPU"])?;
    for option in [&["--gap", "0.1"][..], &["--bound", "none"], &["--driver", "tabu"], &["--checkpoint", "x"]] {
        refused(&mut in_parts(&path, "2", option), &["--parts", option[0]])?;
    }
    let global = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/global.wcsp");
    refused(&mut in_parts(&global, "2", &[]), &["global cost functions", "--parts"])
}
