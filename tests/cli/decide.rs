//! `fangs decide`, and `fangs check --policy`.

use super::{Result, Value, check_csv, fangs, object, refused};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const TIGER: &str = "discount: 0.95\nvalues: reward\nstates: left right\nactions: listen open-left open-right\n\
    observations: left right\nT: * uniform\nT: listen identity\nO: * uniform\nO: listen\n0.85 0.15\n0.15 0.85\n\
    R: listen : * : * : * -1\nR: open-left : left : * : * -100\nR: open-left : right : * : * 10\n\
    R: open-right : left : * : * 10\nR: open-right : right : * : * -100\n";

/// A coin is observed before a bet on its toss: 1.625 with the observation, 1.25 without.
const COIN: [(&str, &str); 3] = [
    ("uai", "ID\n3\n2 2 2\n3\n1 0\n2 0 2\n2 1 2\n\n2\n0.75 0.25\n\n4\n0.5 0.5 0 1\n\n4\n4 -1 0 2\n"),
    ("id", "3\nC D C\n3\nP P U\n"),
    ("pvo", "3;\n3;\n2;\n1;\n0;\n"),
];

pub fn folder() -> Result<(TempDir, PathBuf, PathBuf)> {
    let folder = tempfile::tempdir()?;
    for (extension, text) in COIN {
        fs::write(folder.path().join(format!("coin.{extension}")), text)?;
    }
    let tiger = folder.path().join("tiger.POMDP");
    fs::write(&tiger, TIGER)?;
    let coin = folder.path().join("coin.uai");
    Ok((folder, tiger, coin))
}

#[test]
fn a_process_is_decided_and_its_policy_checked() -> Result {
    let (folder, tiger, _) = folder()?;
    let (policy, csv) = (folder.path().join("p.json"), folder.path().join("run.csv"));
    let mut command = fangs();
    let command = command.args(["decide", "--horizon", "6", "--discount", "1", "--json", "--policy"]).arg(&policy);
    let found = object(command.arg("--csv").arg(&csv).arg(&tiger), 0)?;
    assert!((found["meu"].as_f64().ok_or("no value")? - 5.61881875).abs() < 1e-9, "{found}");
    assert_eq!((&found["exact"], &found["kind"], &found["horizon"]), (&true.into(), &"pomdp".into(), &6.into()));
    assert_eq!((&found["first_decision"]["action"], &found["device"]), (&"listen".into(), &"cpu".into()));
    assert_eq!((&found["bound"], &found["gap"]), (&found["meu"], &0.0.into()));
    let row = check_csv(&csv, true)?;
    assert_eq!(row[2].parse::<f64>().ok(), found["meu"].as_f64());
    let checked = object(fangs().args(["check", "--json", "--policy"]).arg(&policy).arg(&tiger), 0)?;
    assert!((checked["meu"].as_f64().ok_or("no value")? - 5.61881875).abs() < 1e-9, "{checked}");
    // a policy whose value is less than it claims
    let text = fs::read_to_string(&policy)?;
    let lies = [
        text.replacen("\"meu\": 5.", "\"meu\": 6.", 1),
        text.replacen("\"action\": 0", "\"action\": 1", 1),
        text.replace("\"discount\": 1.0", "\"discount\": 0.9"),
    ];
    for lie in lies {
        assert_ne!(lie, text);
        fs::write(&policy, lie)?;
        let output = fangs().args(["check", "--policy"]).arg(&policy).arg(&tiger).assert().code(1).get_output().clone();
        assert!(String::from_utf8(output.stderr)?.contains("refused"), "a lie is believed");
    }
    fs::write(&policy, "{}")?;
    refused(fangs().args(["check", "--policy"]).arg(&policy).arg(&tiger), &["p.json:1:", "a policy as JSON"])
}

#[test]
fn policies_are_drawn_and_listed() -> Result {
    let (folder, tiger, coin) = folder()?;
    let write = |problem: &Path, name: &str, more: &[&str]| -> Result<String> {
        let path = folder.path().join(name);
        let _ = fangs().arg("decide").args(more).arg("--policy").arg(&path).arg(problem).assert().code(0);
        Ok(fs::read_to_string(&path)?)
    };
    let picture = write(&tiger, "t.svg", &["--horizon", "4"])?;
    assert!(picture.contains("<svg") && picture.contains("open-left") && picture.contains("step 3"), "{picture}");
    let table = write(&tiger, "t.tsv", &["--horizon", "2", "--method", "alpha"])?;
    assert!(table.starts_with("node\tstep\taction\tleft\tright\n0\t0\tlisten\t"), "{table}");
    let table = write(&coin, "c.tsv", &[])?;
    assert_eq!(table, "decision\tsees\trow\tchoice\tcertain\n1\t0\t0\t0\ttrue\n1\t0\t1\t1\ttrue\n");
    let path = folder.path().join("c.svg");
    refused(fangs().args(["decide", "--policy"]).arg(&path).arg(&coin), &[".json or .tsv"])
}

#[test]
fn a_diagram_is_decided_and_its_policy_checked() -> Result {
    let (folder, _, coin) = folder()?;
    let policy = folder.path().join("p.json");
    let found = object(fangs().args(["decide", "--json", "--policy"]).arg(&policy).arg(&coin), 0)?;
    // with probability 0.75 the toss is fair, worth 1.5; with 0.25 it is known, worth 2
    assert_eq!((&found["meu"], &found["kind"]), (&1.625.into(), &"id".into()), "{found}");
    assert_eq!((&found["decisions"], &found["chance"], &found["utilities"]), (&1.into(), &2.into(), &1.into()));
    let checked = object(fangs().args(["check", "--json", "--policy"]).arg(&policy).arg(&coin), 0)?;
    assert_eq!((&checked["meu"], &checked["normaliser"]), (&1.625.into(), &1.0.into()));
    let found = object(fangs().args(["decide", "--json", "--observe", "0=1"]).arg(&coin), 0)?;
    assert_eq!(
        (&found["meu"], &found["normaliser"], &found["first_decision"]["1"]),
        (&2.0.into(), &0.25.into(), &"1".into())
    );
    // a decision that observes nothing
    fs::write(folder.path().join("coin.uai"), COIN[0].1.replace("ID", "LIMID"))?;
    fs::write(folder.path().join("coin.pvo"), "3;\n2;\n0 2;\n1;\n")?;
    let found = object(fangs().args(["decide", "--json"]).arg(&coin), 0)?;
    assert_eq!((&found["meu"], &found["kind"], &found["exact"]), (&1.25.into(), &"limid".into(), &true.into()));
    Ok(())
}

#[test]
fn two_agents_are_generated_decided_and_checked() -> Result {
    let (folder, ..) = folder()?;
    let (path, policy) = (folder.path().join("two.idid"), folder.path().join("p.json"));
    let mut command = fangs();
    let command = command.args(["generate", "idid-tiger", "--models", "50", "--t1", "3", "--t0", "6", "-o"]);
    let _ = command.arg(&path).assert().code(0);
    for method in ["auto", "eliminate"] {
        let found = object(fangs().args(["decide", "--json", "--method", method]).arg(&path), 0)?;
        assert!((found["meu"].as_f64().ok_or("no value")? - 2.2118).abs() < 1e-9, "{found}");
        assert_eq!(found["models_per_step"], serde_json::json!([50, 91, 131]));
    }
    let _ = fangs().args(["decide", "--policy"]).arg(&policy).arg(&path).assert().code(0);
    let checked = object(fangs().args(["check", "--json", "--policy"]).arg(&policy).arg(&path), 0)?;
    assert!((checked["meu"].as_f64().ok_or("no value")? - 2.2118).abs() < 1e-9, "{checked}");
    let text = fangs().args(["generate", "idid-uav", "--models", "2", "--t1", "2", "--t0", "2"]).output()?.stdout;
    let mut command = fangs();
    let found = object(command.args(["decide", "-", "--format", "idid", "--json"]).write_stdin(text), 0)?;
    assert_eq!((&found["kind"], &found["exact"]), (&"idid".into(), &true.into()));
    Ok(())
}

#[test]
fn little_room_or_time_gives_bounds_or_nothing() -> Result {
    let (folder, tiger, _) = folder()?;
    let csv = folder.path().join("run.csv");
    let mut command = fangs();
    let command = command.args(["decide", "--horizon", "9", "--nodes", "4", "--json", "--csv"]).arg(&csv);
    let found = object(command.arg(&tiger), 0)?;
    let (lower, upper) = (found["meu"].as_f64().ok_or("none")?, found["bound"].as_f64().ok_or("none")?);
    assert!(lower < 6.423648476097954 && 6.423648476097954 < upper && found["exact"] == false, "{found}");
    let _ = check_csv(&csv, true)?;
    let found = object(fangs().args(["decide", "--horizon", "9", "-t", "0", "--json"]).arg(&tiger), 3)?;
    assert!(found["meu"].is_null(), "{found}");
    // the tables of 40 steps never fit
    for method in ["eliminate", "alpha", "belief-tree"] {
        let mut command = fangs();
        let command = command.args(["decide", "--horizon", "40", "-t", "1s", "--json", "--method", method]);
        let found = object(command.arg(&tiger), 0)?;
        let lower = found["meu"].as_f64().or(found["lower"].as_f64()).ok_or("no value")?;
        assert!(found["bound"].as_f64().is_some_and(|bound| lower <= bound), "{found}");
        assert_eq!(found["lower"].is_null(), found["meu"].is_number(), "{found}");
    }
    Ok(())
}

#[test]
fn utilities_may_have_any_magnitude() -> Result {
    let (folder, _, coin) = folder()?;
    let policy = folder.path().join("coin.json");
    let plain = fs::read_to_string(&coin)?;
    for (unit, value) in [("e-310", 1.625e-310), ("e-12", 1.625e-12), ("e307", 1.625e307)] {
        fs::write(&coin, plain.replace("4 -1 0 2", &format!("4{unit} -1{unit} 0 2{unit}")))?;
        let found = object(fangs().args(["decide", "--json", "--policy"]).arg(&policy).arg(&coin), 0)?;
        let meu = found["meu"].as_f64().ok_or("no value")?;
        assert!((meu - value).abs() <= 1e-13 * value + 1e-323 && found["exact"] == true, "{found}");
        let _ = object(fangs().args(["check", "--json"]).arg(&coin).arg("--policy").arg(&policy), 0)?;
        let choices = serde_json::from_str::<Value>(&fs::read_to_string(&policy)?)?["decisions"][0]["choices"].clone();
        assert_eq!(choices, serde_json::json!([0, 1]), "{unit}");
    }
    fs::write(
        &coin,
        plain
            .replace("4 -1 0 2", "1.7e308 1.7e308 1.7e308 1.7e308\n\n4\n1.7e308 1.7e308 1.7e308 1.7e308")
            .replacen("\n3\n1 0", "\n4\n1 0", 1)
            .replace("2 1 2\n", "2 1 2\n2 1 2\n"),
    )?;
    fs::write(coin.with_extension("id"), "3\nC D C\n4\nP P U U\n")?;
    refused(fangs().arg("decide").arg(&coin), &["the utilities are too large"])
}

/// The observation has a probability of 1e-200, which must not make all choices equal.
#[test]
fn unlikely_observations_change_no_choice() -> Result {
    let folder = tempfile::tempdir()?;
    let (path, policy) = (folder.path().join("rare.uai"), folder.path().join("rare.json"));
    let scopes = "1 0\n2 0 1\n2 2 0\n";
    fs::write(&path, format!("LIMID\n3\n2 2 2\n3\n{scopes}\n2\n0.5 0.5\n\n4\n1 1e-200 1 1e-200\n\n4\n1 0 3 5\n"))?;
    fs::write(path.with_extension("id"), "3\nC C D\n3\nP P U\n")?;
    fs::write(path.with_extension("pvo"), "3;\n2;\n0 1;\n2;\n")?;
    let mut command = fangs();
    let command = command.args(["decide", "--json", "--observe", "1=1", "--policy"]).arg(&policy).arg(&path);
    let found = object(command, 0)?;
    assert!((found["meu"].as_f64().ok_or("none")? - 4.0).abs() < 1e-9 && found["exact"] == true, "{found}");
    assert!(found["error_bound"].as_f64().is_some_and(|error| error < 1e-9), "{found}");
    let _ = object(fangs().args(["check", "--json"]).arg(&path).arg("--policy").arg(&policy), 0)?;
    Ok(())
}

#[test]
fn text_shows_no_digits_beyond_the_error() -> Result {
    let (_folder, tiger, _) = folder()?;
    let decided = fangs().args(["decide", "--horizon", "3"]).arg(&tiger).assert().success();
    let text = String::from_utf8(decided.get_output().stdout.clone())?;
    assert!(text.contains("expected utility 2.3098, the best"), "{text}");
    let mut command = fangs();
    let decided = command.args(["decide", "--horizon", "9", "--nodes", "4"]).arg(&tiger).assert().success();
    let text = String::from_utf8(decided.get_output().stdout.clone())?;
    let numbers: Vec<&str> = text.split([' ', ',']).filter(|word| word.parse::<f64>().is_ok()).collect();
    assert!(numbers.len() > 3 && numbers.iter().all(|number| number.len() < 17), "{text}");
    Ok(())
}

/// An agent that models an agent that models it.
#[test]
fn diagrams_of_level_two_are_decided_and_checked() -> Result {
    let folder = tempfile::tempdir()?;
    let (path, policy) = (folder.path().join("two.idid"), folder.path().join("p.json"));
    let mut command = fangs();
    let command = command.args(["generate", "idid-tiger", "--level", "2", "--models", "4", "--t1", "3", "--t0", "3"]);
    let _ = command.arg("-o").arg(&path).assert().success();
    let mut command = fangs();
    let found = object(command.args(["decide", "--json", "--policy"]).arg(&policy).arg(&path), 0)?;
    assert_eq!((&found["kind"], &found["exact"]), (&"idid".into(), &true.into()));
    let flat = object(fangs().args(["decide", "--json", "--method", "eliminate"]).arg(&path), 0)?;
    let value = |found: &Value| found["meu"].as_f64().ok_or("no value");
    assert!((value(&found)? - value(&flat)?).abs() < 1e-9, "{found} {flat}");
    let checked = object(fangs().args(["check", "--json", "--policy"]).arg(&policy).arg(&path), 0)?;
    assert!((value(&checked)? - value(&found)?).abs() < 1e-9, "{checked}");
    Ok(())
}

#[test]
fn a_device_is_used_where_it_is_named() -> Result {
    if fangs_testing::gpu().is_none() {
        return Ok(());
    }
    let (_folder, tiger, coin) = folder()?;
    for (path, arguments) in
        [(&tiger, &["--horizon", "4"][..]), (&tiger, &["--horizon", "4", "--method", "eliminate"]), (&coin, &[])]
    {
        let on = |device: &str| {
            let mut command = fangs();
            let _ = command.args(["decide", "--json", "--device", device]).args(arguments).arg(path);
            command
        };
        let (host, device) = (object(&mut on("cpu"), 0)?, object(&mut on("cuda:0"), 0)?);
        assert_eq!((&host["device"], &device["device"]), (&"cpu".into(), &"cuda:0".into()));
        let number = |found: &Value, name: &str| found[name].as_f64().ok_or(format!("{name} is no number"));
        let error = number(&host, "error_bound")? + number(&device, "error_bound")?;
        assert!((number(&host, "meu")? - number(&device, "meu")?).abs() <= error, "{host} {device}");
        assert_eq!(host["first_decision"], device["first_decision"]);
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused() -> Result {
    let (folder, tiger, coin) = folder()?;
    let decide = |arguments: &[&str], file: &Path| {
        let mut command = fangs();
        let _ = command.arg("decide").args(arguments).arg(file);
        command
    };
    refused(&mut decide(&[], &tiger), &["--horizon"])?;
    refused(&mut decide(&["--horizon", "2", "--device", "cuda:4096"], &tiger), &["device cuda:4096: ", "auto"])?;
    refused(&mut decide(&["--device", "cuda:4096"], &coin), &["device cuda:4096: "])?;
    refused(&mut decide(&["--horizon", "2", "--belief", "0.5,0.6"], &tiger), &["--belief", "sum to 1"])?;
    refused(&mut decide(&["--horizon", "2", "--belief", "middle"], &tiger), &["--belief", "middle"])?;
    refused(&mut decide(&["--horizon", "2", "--observe", "0=1"], &tiger), &["--observe"])?;
    refused(&mut decide(&["--horizon", "2"], &coin), &["--horizon"])?;
    refused(&mut decide(&["--method", "alpha"], &coin), &["--method alpha"])?;
    refused(&mut decide(&["--observe", "0"], &coin), &["NAME=VALUE"])?;
    refused(&mut decide(&["--observe", "0=5"], &coin), &["0..2"])?;
    refused(&mut decide(&["--observe", "1=0"], &coin), &["is a decision"])?;
    refused(&mut decide(&[], &folder.path().join("net.wcsp")), &["net.wcsp", ".POMDP"])?;
    let policy = folder.path().join("p.txt").display().to_string();
    refused(&mut decide(&["--policy", &policy], &coin), &[".json, .tsv or .svg"])?;
    fs::write(folder.path().join("coin.pvo"), "3;\n3;\n2;\n1;\n1;\n")?;
    refused(&mut decide(&[], &coin), &["coin.pvo:5:1", "in no block yet"])?;
    fs::remove_file(folder.path().join("coin.pvo"))?;
    refused(&mut decide(&[], &coin), &["coin.pvo"])?;
    fs::write(&tiger, TIGER.replace("T: * uniform", "T: * uniformly"))?;
    refused(&mut decide(&["--horizon", "2"], &tiger), &["tiger.POMDP:6:6", "uniformly"])?;
    // a variable that is observed before a decision on which it depends
    fs::write(folder.path().join("coin.pvo"), "3;\n3;\n0;\n1;\n2;\n")?;
    let text = COIN[0].1.replace("2 0 2\n", "2 1 2\n");
    fs::write(folder.path().join("coin.uai"), text)?;
    refused(&mut decide(&[], &coin), &["not regular", "decision 1"])
}
