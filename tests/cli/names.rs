//! Names, decimals and maximisation of `.cfn`; global cost functions.

use super::{Result, check_csv, fangs, folder_with, object, refused, same};
use serde_json::json;
use std::fs;

/// The optimum: a at home (0.5), b not at home with a bicycle (1.25), both by one vehicle at most.
const TRIP: &str = r#"{ problem: { name: "trip", mustbe: "<20.00" },
  variables: { "a": ["home", "car", "bus"], "b": ["home", "bicycle", "bus"], n: 2 },
  functions: {
    "ways of a": { scope: ["a"], costs: [0.5, 2.25, 3] },
    fb: { scope: ["b"], costs: [9, 1.25, 1.75] },
    none: { scope: ["n"], costs: [0, 0.1] },
    few: { scope: ["a", "b"], type: "wamong", params: { metric: "hard", cost: inf, values: [1, 2], min: 1, max: 1 } }
  } }
"#;

const MOST: &str = r#"{ problem: { name: "most", mustbe: ">-5.0" },
  variables: { "v1": ["a", "b"], "v2": ["c", "d"] },
  functions: {
    "c": { scope: ["v1", "v2"], costs: [-1.0, 0.5, -2.0, 5.5] },
    "u": { scope: ["v1"], costs: [1.0, -4.25] } } }
"#;

#[test]
fn names_go_out_and_come_back() -> Result {
    let (folder, path) = folder_with("trip.cfn", &TRIP.replace("\"ways of a\"", "ways"))?;
    let solution = folder.path().join("trip.sol");
    let found = object(fangs().arg("solve").arg(&path).arg("--json").arg("--solution").arg(&solution), 0)?;
    assert_eq!((&found["status"], &found["cost"], &found["bound"]), (&json!("optimal"), &json!(1.75), &json!(1.75)));
    assert_eq!(
        (&found["variables"], &found["functions"], &found["solution"]),
        (&json!(3), &json!(4), &json!([0, 1, 0]))
    );
    assert_eq!(found["assignment"], json!({"a": "home", "b": "bicycle", "n": "v0"}));
    let written = fs::read_to_string(&solution)?;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&written)?, found["assignment"]);
    assert!(written.find("\"a\"") < written.find("\"b\""), "in the order of the file");

    let checked = object(fangs().arg("check").args([&path, &solution]).arg("--json"), 0)?;
    assert_eq!((&checked["cost"], &checked["top"]), (&json!(1.75), &json!(20.0)));
    let printed = folder.path().join("printed.json");
    fs::write(&printed, found.to_string())?;
    let again = object(fangs().arg("check").args([&path, &printed]).arg("--json"), 0)?;
    assert_eq!(again["cost"], json!(1.75));
    let warm =
        fangs().arg("solve").arg(&path).args(["--rounds", "0", "--json", "--warm-start"]).arg(&solution).output()?;
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&warm.stdout)?["cost"], json!(1.75));
    // a start may leave variables out, a solution may not
    let part = folder.path().join("part.sol");
    fs::write(&part, r#"{"b": "bicycle"}"#)?;
    let warm = object(fangs().arg("solve").arg(&path).args(["--rounds", "0", "--json", "--warm-start"]).arg(&part), 0)?;
    assert_eq!((&warm["cost"], &warm["assignment"]), (&json!(1.75), &found["assignment"]));
    refused(fangs().arg("check").args([&path, &part]), &["it gives no value to a, one of 3 variables"])?;

    let mut indices = fangs();
    let _ = indices.arg("solve").arg(&path).args(["--solution-format", "indices", "--solution"]).arg(&solution);
    let _ = indices.assert().success();
    assert_eq!(fs::read_to_string(&solution)?, "0 1 0\n");

    fs::write(&solution, r#"{"a": "car", "b": "bus", "n": "v1"}"#)?;
    let broken = object(fangs().arg("check").args([&path, &solution]).arg("--json"), 4)?;
    let violated = json!([{
        "function": 3, "kind": "wamong", "name": "few", "scope": [0, 1], "names": ["a", "b"], "values": [1, 2]
    }]);
    assert_eq!((&broken["cost"], &broken["soft"], &broken["violated"]), (&json!(null), &json!(4.1), &violated));
    fs::write(&solution, r#"{"a": "plane", "b": "bus", "n": "v1"}"#)?;
    refused(fangs().arg("check").args([&path, &solution]), &["trip.sol:1:7: found `\"plane\"`", "home car bus"])
}

#[test]
fn networks_that_maximise_have_upper_bounds() -> Result {
    let (folder, path) = folder_with("most.cfn", MOST)?;
    let csv = folder.path().join("run.csv");
    let found = object(fangs().arg("solve").arg(&path).args(["--json", "--csv"]).arg(&csv), 0)?;
    assert_eq!((&found["status"], &found["cost"], &found["bound"]), (&json!("optimal"), &json!(1.5), &json!(1.5)));
    assert_eq!(found["assignment"], json!({"v1": "a", "v2": "d"}));
    same(&check_csv(&csv, true)?, &found, true);
    let bound = object(fangs().arg("bound").arg(&path).arg("--json"), 0)?;
    assert_eq!((&bound["bound"], &bound["exact"]), (&json!(1.5), &json!(true)));
    let told = fangs().arg("solve").arg(&path).output()?;
    assert!(String::from_utf8(told.stdout)?.contains("value       1.5 (larger is better)"));
    Ok(())
}

#[test]
fn long_scopes_have_variables_that_nobody_sees() -> Result {
    // the sum of 24 variables of 3 values must be 30; the values of the first 6 cost most
    let domains = vec!["3"; 24].join(" ");
    let scope: Vec<String> = (0..24).map(|v| v.to_string()).collect();
    let unary: String = (0..24).map(|v| format!("1 {v} 0 2\n1 {0}\n2 {0}\n", if v < 6 { 5 } else { 2 })).collect();
    let text = format!("sum 24 3 25 1000\n{domains}\n24 {} -1 wsum hard 1000 == 30\n{unary}", scope.join(" "));
    let (folder, path) = folder_with("sum.wcsp", &text)?;
    let solution = folder.path().join("sum.sol");
    let found = object(fangs().arg("solve").arg(&path).args(["--json", "--solution"]).arg(&solution), 0)?;
    // 15 of the variables of low cost have the value 2
    assert_eq!((&found["status"], &found["cost"]), (&json!("optimal"), &json!(30)));
    assert_eq!((&found["variables"], &found["functions"]), (&json!(24), &json!(25)));
    let values: Vec<u64> = found["solution"].as_array().into_iter().flatten().filter_map(|v| v.as_u64()).collect();
    assert_eq!((values.len(), values.iter().sum::<u64>()), (24, 30));
    let checked = object(fangs().arg("check").args([&path, &solution]).arg("--json"), 0)?;
    assert_eq!(checked["cost"], json!(30));
    let again = object(fangs().arg("solve").arg(&path).args(["--json", "--warm-start"]).arg(&solution), 0)?;
    assert_eq!(again["cost"], json!(30));
    let info = object(fangs().arg("info").arg(&path).arg("--json"), 0)?;
    assert_eq!((&info["network"]["variables"], &info["network"]["functions"][24]), (&json!(24), &json!(1)));
    let _ = fangs().arg("bound").arg(&path).args(["--time", "5"]).assert().success();
    let certificate = folder.path().join("c.json");
    refused(
        fangs().arg("solve").arg(&path).arg("--certificate").arg(&certificate),
        &["no certificate of a network with global cost functions"],
    )
}
