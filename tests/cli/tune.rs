//! `--tune`: tuned values are listed, checked, set and reported.

use super::limits::grid;
use super::{Result, fangs, object, refused};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// Returns the names and defaults of all tuned values.
fn listed() -> Result<Vec<(String, String)>> {
    let output = fangs().args(["devices", "--tune", "list"]).assert().success().get_output().stdout.clone();
    let text = String::from_utf8(output)?;
    let lines = text.lines().filter(|line| !line.starts_with(' '));
    let pairs = lines.filter_map(|line| line.split_once("  (")?.0.split_once('='));
    Ok(pairs.map(|(name, default)| (name.into(), default.into())).collect())
}

#[test]
fn values_are_listed_and_defaults_change_nothing() -> Result {
    let listed = listed()?;
    let names: BTreeSet<&String> = listed.iter().map(|(name, _)| name).collect();
    assert!(names.len() == listed.len() && names.len() > 100, "{}", names.len());
    let (_folder, file) = grid()?;
    let run = |settings: &[(String, String)]| {
        let mut solve = fangs();
        let _ = solve.args(["solve", "--json", "--rounds", "12", "--threads", "1", "--device", "cpu"]).arg(&file);
        for (name, value) in settings {
            let _ = solve.args(["--tune", &format!("{name}={value}")]);
        }
        object(&mut solve, 0)
    };
    let (plain, set) = (run(&[])?, run(&listed)?);
    assert!(plain.get("tuning").is_none());
    assert_eq!(set["tuning"].as_object().map(|told| told.len()), Some(listed.len()));
    for key in ["cost", "bound", "moves", "ratings", "rounds", "solution"] {
        assert_eq!(plain[key], set[key], "{key}");
    }
    Ok(())
}

#[test]
fn what_is_wrong_is_refused_with_what_was_meant() -> Result {
    let wrong = |setting: &str, words: &[&str]| refused(fangs().args(["devices", "--tune", setting]), words);
    wrong("search.shares.flor=0.1", &["search.shares.flor", "did you mean `search.shares.floor`?", "--tune list"])?;
    wrong("search.shares.floor=1.5", &["search.shares.floor=1.5", "expected a number from 0.0 to 1.0"])?;
    wrong("search.shares.floor=many", &["expected a number"])?;
    wrong("bounds.strategies.rows=no", &["bounds.strategies.rows=no", "expected on or off"])?;
    wrong("search", &["expected NAME=VALUE"])
}

#[test]
fn drivers_and_strategies_of_bounds_are_switched_off() -> Result {
    let (folder, file) = grid()?;
    let csv = folder.path().join("run.csv");
    let off = |prefix: &str, but: &str| -> Result<Vec<String>> {
        let names = listed()?.into_iter().map(|(name, _)| name);
        let names = names.filter(|name| name.starts_with(prefix) && name != but);
        Ok(names.flat_map(|name| ["--tune".to_string(), format!("{name}=off")]).collect())
    };
    let sources = |tune: &[String]| -> Result<BTreeSet<String>> {
        let mut solve = fangs();
        let _ = solve.args(["solve", "--json", "--rounds", "40", "--threads", "1", "--device", "cpu"]);
        let _ = solve.args(["--bound", "none", "--csv"]).arg(&csv).args(tune).arg(&file);
        let _ = object(&mut solve, 0)?;
        let rows = fs::read_to_string(&csv)?;
        let found = rows.lines().map(|row| row.split(',').collect::<Vec<_>>());
        Ok(found.filter(|row| row[4] == "solution").map(|row| row[8].into()).collect())
    };
    assert!(sources(&[])?.contains("anneal"));
    let alone = sources(&off("search.drivers.", "search.drivers.tabu")?)?;
    assert!(alone.contains("tabu") && alone.is_subset(&["tabu", "greedy", "passes", "start"].map(String::from).into()));

    let bound = |tune: &[String]| -> Result<Value> {
        let mut command = fangs();
        let _ = command.args(["bound", "--json", "--time", "5s", "--threads", "1", "--device", "cpu"]);
        object(command.args(tune).arg(&file), 0)
    };
    let [none, light] = ["", "bounds.strategies.light"].map(|but| bound(&off("bounds.strategies.", but)?));
    let (none, light) = (none?, light?);
    assert!(["constant", "reductions"].contains(&none["method"].as_str().unwrap_or_default()), "{none}");
    assert_eq!(light["method"], "branch");
    assert!(light["bound"].as_f64() > none["bound"].as_f64(), "{none} {light}");
    Ok(())
}
