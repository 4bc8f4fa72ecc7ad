//! `convert`, `explain` and `diff`.

use super::words::text;
use super::*;

#[test]
fn written_networks_cost_the_same() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    for to in ["again.wcsp", "four.cfn", "four.wcnf", "four.uai", "four.LG"] {
        let _ = fangs().arg("convert").arg(&path).arg(at(to)).assert().success();
        let solved = object(fangs().arg("solve").arg(at(to)).args(["--json", "-t", "30"]), 0)?;
        let cost = solved["cost"].as_f64().ok_or("a cost")?;
        assert!((cost.abs() - 5.0).abs() < 1e-6, "{to}: {cost}");
    }
    let printed = text(fangs().arg("convert").arg(&path).args(["-", "--to", "LG"]), 0)?;
    assert_eq!(printed, fs::read_to_string(at("four.LG"))?);
    refused(fangs().arg("convert").arg(&path).arg(at("four.qpbo")), &["four.wcsp: .qpbo cannot hold", "forbids"])?;
    refused(fangs().arg("convert").arg(&path).arg(at("four.rud")), &[".rud is not written", ".wcnf"])?;
    refused(fangs().arg("convert").arg(&path).arg(at("four.uai.xz")), &["written plain"])?;
    refused(fangs().arg("convert").arg(&path).arg("-"), &["--to"])?;
    refused(fangs().arg("convert").arg(&path).arg(&path), &["the same file"])?;
    assert!(!at("four.qpbo").exists());
    let limit = at("limit.wcsp");
    fs::write(&limit, "l 1 2 2 5\n2\n1 0 3 0\n1 0 0 1 1 4\n")?;
    refused(fangs().arg("convert").arg(&limit).arg(at("limit.uai")), &["the limit on totals, 5", "--without-top"])?;
    let _ = fangs().args(["convert", "--without-top"]).arg(&limit).arg(at("limit.uai")).assert().success();
    Ok(())
}

#[test]
fn the_binary_form_is_read_and_written_as_any_other() -> Result {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    for name in ["grid.fangs", "grid.wcsp"] {
        let generate = ["generate", "grid", "--side", "5", "--d", "3", "--p2", "0.2", "-o"];
        let _ = fangs().args(generate).arg(at(name)).assert().success();
    }
    let text = text(fangs().arg("convert").arg(at("grid.fangs")).args(["-", "--to", "wcsp"]), 0)?;
    let body = |text: &str| text.split_once(' ').map(|(_name, body)| body.to_string());
    assert_eq!(body(&text), body(&fs::read_to_string(at("grid.wcsp"))?));
    let printed = fangs().arg("convert").arg(at("grid.wcsp")).args(["-", "--to", "fangs"]).assert().success();
    assert_eq!(printed.get_output().stdout, fs::read(at("grid.fangs"))?);
    let [solved, again] = ["grid.fangs", "grid.wcsp"].map(|name| {
        object(fangs().arg("solve").arg(at(name)).args(["--json", "-t", "30"]), 0).map(|all| all["cost"].clone())
    });
    assert_eq!(solved?, again?);
    let piped = fangs().args(["solve", "-", "--format", "fangs", "--json"]).pipe_stdin(at("grid.fangs"))?.assert();
    assert!(piped.get_output().status.success());
    let sums = ["grid.fangs", "grid.wcsp"]
        .map(|name| object(fangs().arg("marginals").arg(at(name)).args(["--temperature", "9", "--json"]), 0));
    let [sum, other] = sums;
    assert_eq!(sum?["ln_z"], other?["ln_z"]);
    fs::write(at("half.fangs"), &fs::read(at("grid.fangs"))?[..200])?;
    refused(fangs().arg("solve").arg(at("half.fangs")), &["damaged", "fangs convert"])
}

#[test]
fn entries_above_the_limit_on_totals_stay_no_solutions() -> Result {
    let text = "{problem: {name: t, mustbe: \"<5.0\"}, variables: {a: 2, b: 2},
        functions: {f: {scope: [a, b], costs: [4.5, 1.5, 7.5, 2.5]}, g: {scope: [b], costs: [0.0, 3.0]}}}";
    let (folder, path) = folder_with("limit.cfn", text)?;
    let wcsp = folder.path().join("limit.wcsp");
    let _ = fangs().arg("convert").arg(&path).arg(&wcsp).assert().success();
    assert_eq!(object(fangs().arg("solve").arg(&path).arg("--json"), 0)?["cost"], 4.5);
    assert_eq!(object(fangs().arg("solve").arg(&wcsp).arg("--json"), 0)?["cost"], 45);
    Ok(())
}

#[test]
fn logarithms_are_written_as_rounded_costs() -> Result {
    let (folder, path) = folder_with("two.uai", "MARKOV 2 2 2 2 1 0 2 0 1 2 0.5 4 4 1 0 0.25 3")?;
    let cfn = folder.path().join("two.cfn");
    let told = fangs().arg("convert").arg(&path).arg(&cfn).assert().success().get_output().stderr.clone();
    assert!(String::from_utf8_lossy(&told).contains("logarithms are rounded to 9 decimals"), "{told:?}");
    let cost = object(fangs().arg("solve").arg(&cfn).arg("--json"), 0)?["cost"].as_f64().ok_or("a cost")?;
    assert!((cost - 12f64.ln()).abs() < 1e-8, "{cost}");
    Ok(())
}

#[test]
fn an_option_states_the_values_of_spins() -> Result {
    let (_folder, path) = folder_with("spins.coo", "0 0 1.5\n0 1 -2\n")?;
    refused(fangs().arg("solve").arg(&path), &["--vartype binary or --vartype spin"])?;
    let solved = object(fangs().arg("solve").arg(&path).args(["--json", "--vartype", "spin"]), 0)?;
    assert_eq!(solved["cost"], -3.5);
    refused(fangs().arg("solve").arg(&path).args(["--vartype", "bits"]), &["known are binary and spin"])
}

#[test]
fn scaled_costs_are_told() -> Result {
    let (folder, path) = folder_with("cut.rud", "3 3\n1 2 1\n2 3 4\n1 3 -2\n")?;
    let cut = folder.path().join("cut.wcsp");
    let told = fangs().arg("convert").arg(&path).arg(&cut).assert().success().get_output().stderr.clone();
    assert!(String::from_utf8_lossy(&told).contains("costs are minus the value"), "{told:?}");
    assert_eq!(object(fangs().arg("solve").arg(&cut).arg("--json"), 0)?["cost"], -5);
    assert_eq!(object(fangs().arg("solve").arg(&path).arg("--json"), 0)?["cost"], 5);
    Ok(())
}

#[test]
fn costs_are_explained() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("good"), "0 1 0 1")?;
    fs::write(at("bad"), "0 0 0 1")?;
    let good = object(fangs().arg("explain").arg(&path).arg(at("good")).arg("--json"), 0)?;
    assert_eq!((&good["cost"], &good["solution"], &good["free"]), (&5.into(), &true.into(), &0.into()));
    let costs: Vec<i64> =
        good["functions"].as_array().ok_or("a list")?.iter().filter_map(|f| f["cost"].as_i64()).collect();
    assert!(costs.is_sorted_by(|a, b| a >= b) && costs.iter().sum::<i64>() == 5, "{costs:?}");
    assert_eq!(good["functions"][0]["share"].as_f64(), Some(costs[0] as f64 / 5.0));
    let bad = object(fangs().arg("explain").arg(&path).arg(at("bad")).arg("--json"), 0)?;
    let first = &bad["functions"][0];
    assert_eq!((&first["cost"], &first["function"], &bad["violated"]), (&Value::Null, &3.into(), &1.into()));
    let told = text(fangs().arg("explain").arg(&path).arg(at("bad")).args(["--limit", "1"]), 0)?;
    assert!(told.contains("forbidden") && told.contains("function 3: x1=0 x3=1") && told.contains("and 4"), "{told}");

    let diff = object(fangs().arg("diff").arg(&path).arg(at("good")).arg(at("bad")).arg("--json"), 0)?;
    assert_eq!((&diff["variables_differ"], &diff["variables"][0]["name"]), (&1.into(), &"x1".into()));
    assert_eq!((&diff["costs"][0], &diff["costs"][1]), (&5.into(), &Value::Null));
    assert_eq!(diff["functions"][0]["function"], 3, "a forbidden entry is the largest difference");
    let told = text(fangs().arg("diff").arg(&path).arg(at("good")).arg(at("bad")), 0)?;
    assert!(told.contains("x1: 1 and 0") && told.contains("cost 5 and forbidden"), "{told}");
    let same = text(fangs().arg("diff").arg(&path).arg(at("good")).arg(at("good")), 0)?;
    assert!(same.contains("0 variables with different values"), "{same}");
    refused(fangs().arg("diff").arg(&path).arg(at("good")), &["OTHER"])
}

#[test]
fn conflicts_are_found() -> Result {
    let (folder, path) = folder_with("none.wcsp", INFEASIBLE)?;
    let found = object(fangs().arg("explain").arg(&path).arg("--json"), 4)?;
    assert_eq!((&found["status"], &found["minimal"], &found["size"]), (&"infeasible".into(), &true.into(), &2.into()));
    let told = text(fangs().arg("explain").arg(&path), 4)?;
    assert!(told.contains("2 functions cannot hold together (each is needed)"), "{told}");
    let four = folder.path().join("four.wcsp");
    fs::write(&four, FOUR)?;
    let found = object(fangs().arg("explain").arg(&four).arg("--json"), 0)?;
    assert_eq!((&found["status"], &found["conflict"]), (&"feasible".into(), &serde_json::json!([])));
    Ok(())
}

#[test]
fn names_are_evidence() -> Result {
    let weather = fs::read_to_string("tests/corpus/rain.bif")?.replace("wet grass", "grass");
    let (folder, path) = folder_with("rain.bif", &weather)?;
    let evidence = folder.path().join("seen");
    for (seen, log) in [("rain=yes\n", 0.3f64 * 0.75), ("grass=dry rain=no", 0.7 * 0.7), ("0", 0.7 * 0.7)] {
        fs::write(&evidence, seen)?;
        let solved = object(fangs().arg("solve").arg(&path).arg("--evidence").arg(&evidence).arg("--json"), 0)?;
        assert!((solved["cost"].as_f64().ok_or("a value")? - log.ln()).abs() < 1e-9, "{seen}");
    }
    fs::write(&evidence, "rain=perhaps")?;
    refused(fangs().arg("solve").arg(&path).arg("--evidence").arg(&evidence), &["seen:1:1", "yes, no"])
}
