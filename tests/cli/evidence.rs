//! `--evidence` and `--observe` in all commands that read a network, and the probability of a solution given them.

use super::*;
use serde_json::json;

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

/// Returns the probability of an assignment of [`RAIN`].
fn product([rain, sprinkler, grass]: [usize; 3]) -> f64 {
    let sprinklers = [[0.125, 0.875], [0.5, 0.5]];
    let wet = [[1.0, 0.75], [0.75, 0.0]][rain][sprinkler];
    [0.25, 0.75][rain] * sprinklers[rain][sprinkler] * [wet, 1.0 - wet][grass]
}

/// Returns the most probable assignment of [`RAIN`] that agrees with the evidence, and its probability given the
/// evidence, by enumeration.
fn most_probable(evidence: &[(usize, usize)]) -> ([usize; 3], f64) {
    let all = (0..8).map(|code| [code & 1, code >> 1 & 1, code >> 2 & 1]);
    let agree = all.filter(|values| evidence.iter().all(|&(v, value)| values[v] == value));
    let (mut best, mut sum) = (([0; 3], 0.0), 0.0);
    for values in agree {
        let own = product(values);
        sum += own;
        if own > best.1 {
            best = (values, own);
        }
    }
    (best.0, best.1 / sum)
}

fn number(object: &Value, key: &str) -> f64 {
    object[key].as_f64().unwrap_or(f64::NAN)
}

#[test]
fn the_probability_of_a_solution_is_that_of_enumeration() -> Result {
    let (folder, path) = folder_with("rain.bif", RAIN)?;
    let evid = folder.path().join("e.evid");
    fs::write(&evid, "grass=wet # seen\n")?;
    for (text, evidence) in [
        ("", &[][..]),
        ("grass=wet", &[(2, 0)]),
        ("grass=dry,rain=no", &[(2, 1), (0, 1)]),
        ("2=wet,sprinkler=1", &[(2, 0), (1, 1)]),
        ("rain=yes,sprinkler=on,grass=wet", &[(0, 0), (1, 0), (2, 0)]),
    ] {
        let mut command = fangs();
        let _ = command.arg("solve").arg(&path).args(["--json", "--rounds", "50", "--device", "cpu"]);
        let observe = ["--observe", text];
        let found = object(command.args(if text.is_empty() { &[][..] } else { &observe }), 0)?;
        let (values, probability) = most_probable(evidence);
        assert_eq!(found["solution"], json!(values), "{text}");
        let (ln, error) = (number(&found, "ln_probability"), number(&found, "probability_error"));
        assert!((ln - probability.ln()).abs() <= error && error < 1e-13, "{text}: {found}");
        assert!((number(&found, "log10_probability") - probability.log10()).abs() < 1e-13, "{text}: {found}");
        assert_eq!(found["evidence"].as_object().map_or(0, serde_json::Map::len), evidence.len(), "{found}");
    }
    let mut command = fangs();
    let _ = command.arg("solve").arg(&path).args(["--rounds", "50", "--device", "cpu", "--evidence"]).arg(&evid);
    let text = String::from_utf8(command.assert().success().get_output().stdout.clone())?;
    let (_, probability) = most_probable(&[(2, 0)]);
    assert!((probability - 0.590163934).abs() < 1e-8);
    assert!(text.contains("evidence    grass=wet\nprobability 0.590164 (ln -0.527354"), "{text}");
    Ok(())
}

#[test]
fn the_probability_in_a_markov_network_is_that_of_enumeration() -> Result {
    let text = "MARKOV 3 2 3 2 3 2 0 1 2 1 2 1 2 6 4 2 1 0.5 3 9 6 1 2 3 0 5 0.25 2 7 3\n";
    let tables = [[4.0, 2.0, 1.0], [0.5, 3.0, 9.0]];
    let second = [[1.0, 2.0], [3.0, 0.0], [5.0, 0.25]];
    let (_folder, path) = folder_with("net.uai", text)?;
    let (mut sum, mut best) = (0.0, 0.0f64);
    for (a, b, c) in (0..12).map(|code| (code % 2, code / 2 % 3, code / 6)) {
        let own = tables[a][b] * second[b][c] * [7.0, 3.0][c];
        (sum, best) = (sum + own, best.max(own));
    }
    let found = object(fangs().arg("solve").arg(&path).args(["--json", "--rounds", "50", "--device", "cpu"]), 0)?;
    let probability = f64::ln(best / sum);
    assert!((number(&found, "ln_probability") - probability).abs() < 1e-13, "{found}");
    // costs without a temperature have no probability
    let (_folder, path) = folder_with("four.wcsp", FOUR)?;
    let found = object(fangs().arg("solve").arg(&path).args(["--json", "--rounds", "50", "--device", "cpu"]), 0)?;
    assert!(found.get("ln_probability").is_none(), "{found}");
    Ok(())
}

/// The commands that take evidence, with their arguments after the file.
const COMMANDS: [(&str, &[&str]); 5] = [
    ("solve", &["--rounds", "20", "--device", "cpu"]),
    ("bound", &["--method", "be", "--device", "cpu"]),
    ("marginals", &["--device", "cpu"]),
    ("info", &[]),
    ("check", &["SOLUTION"]),
];

/// Returns a command with the file, its arguments and JSON output.
fn command(name: &str, arguments: &[&str], folder: &Path) -> Command {
    let mut command = fangs();
    let _ = command.arg(name).arg(folder.join("rain.bif")).current_dir(folder).arg("--json");
    let _ = command.args(arguments.iter().map(|word| if *word == "SOLUTION" { "rain.sol" } else { word }));
    command
}

#[test]
fn evidence_is_the_same_in_every_command() -> Result {
    let (folder, _) = folder_with("rain.bif", RAIN)?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("rain.sol"), "1 0 0")?;
    for (name, text) in [("indices.evid", "1 2 0"), ("names.evid", "grass=wet"), ("both.evid", "grass=wet;\n2=0\n")] {
        fs::write(at(name), text)?;
    }
    for (name, arguments) in COMMANDS {
        let mut results = Vec::new();
        for evidence in [
            &["--observe", "grass=wet"][..],
            &["--observe", "2=0", "--observe", "x2=wet"],
            &["--evidence", "indices.evid"],
            &["--evidence", "names.evid"],
            &["--evidence", "both.evid", "--observe", "grass=wet"],
        ] {
            let found = object(command(name, arguments, folder.path()).args(evidence), 0)?;
            let keys = ["cost", "bound", "ln_z", "marginals", "observed", "evidence", "solution"];
            results.push(keys.map(|key| found[key].clone()));
        }
        assert!(results.iter().all(|own| *own == results[0]), "{name}: {results:?}");
        for (evidence, words) in [
            ("gras=wet", &["--observe gras=wet: there is no variable `gras`", "did you mean `grass`?"][..]),
            ("grass=wett", &["`grass` has no value `wett`", "did you mean `wet`?"]),
            ("grass=snow", &["`grass` has no value `snow`", "its values are wet, dry"]),
            ("grass=2", &["`grass` has no value `2`"]),
            ("grass", &["NAME=VALUE"]),
            ("rain=no,rain=yes", &["--observe rain=yes: rain is observed already", "rain=no at --observe rain=no"]),
        ] {
            refused(command(name, arguments, folder.path()).args(["--observe", evidence]), words)?;
        }
        for (text, words) in [
            ("rain=no\ngrass=wett\n", &["bad.evid:2:1: found `grass=wett`", "did you mean `wet`?"][..]),
            ("rain=no rain=yes", &["bad.evid:1:9: found `rain=yes`", "as observed at bad.evid:1:1"]),
            ("2 0 1 0 0", &["bad.evid:1:9", "`rain` cannot be yes and no", "bad.evid:1:5"]),
            ("snow=no", &["bad.evid:1:1", "there is no variable `snow`", "such as rain, sprinkler, grass"]),
            ("1 3 0", &["bad.evid:1:3: found `3`, expected a variable from 0 to 2"]),
        ] {
            fs::write(at("bad.evid"), text)?;
            refused(command(name, arguments, folder.path()).args(["--evidence", "bad.evid"]), words)?;
        }
        fs::write(at("bad.evid"), "rain=yes")?;
        let words = ["--observe rain=no: rain is observed already", "rain=yes at bad.evid:1:1"];
        refused(
            command(name, arguments, folder.path()).args(["--evidence", "bad.evid", "--observe", "rain=no"]),
            &words,
        )?;
        refused(command(name, arguments, folder.path()).args(["--evidence", "none.evid"]), &["none.evid"])?;
    }
    Ok(())
}

#[test]
fn evidence_of_probability_0_names_the_observations() -> Result {
    let (folder, _) = folder_with("rain.bif", RAIN)?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("rain.sol"), "1 1 0")?;
    fs::write(at("zero.evid"), "rain=no\nsprinkler=off\ngrass=wet\n")?;
    for (name, arguments) in COMMANDS {
        let code = if name == "info" { 0 } else { 4 };
        let mut own = command(name, arguments, folder.path());
        let output = own.args(["--evidence", "zero.evid"]).assert().code(code).get_output().clone();
        let told = String::from_utf8(output.stderr)?;
        let words = "zero.evid:3:1: impossible evidence: function 2 excludes rain=no, sprinkler=off, grass=wet";
        assert!(told.contains(words), "{name}: {told}");
        let found: Value = serde_json::from_slice(&output.stdout)?;
        match name {
            "marginals" => assert_eq!(found["status"], "impossible evidence"),
            "info" => assert_eq!((&found["infeasible"], &found["observed"]), (&json!(true), &json!(3))),
            "check" => assert_eq!(found["solution"], json!(false)),
            _ => assert!(found["cost"].is_null() && found.get("ln_probability").is_none(), "{found}"),
        }
    }
    Ok(())
}

#[test]
fn maximised_variables_have_names() -> Result {
    let (folder, path) = folder_with("rain.bif", RAIN)?;
    let map = folder.path().join("rain.map");
    fs::write(&map, "sprinkler rain # names\n")?;
    // the largest sum over grass, by enumeration
    let sum = |rain: usize, sprinkler: usize| (0..2).map(|grass| product([rain, sprinkler, grass])).sum::<f64>();
    let largest = (0..4).map(|code| sum(code & 1, code >> 1)).fold(0.0, f64::max);
    for list in ["rain,sprinkler", "sprinkler,0", "x1, rain", &map.display().to_string()] {
        let found = object(fangs().arg("marginals").arg(&path).args(["--json", "--maximize", list]), 0)?;
        assert!((number(&found, "ln_z") - largest.ln()).abs() < 1e-14, "{list}: {found}");
        assert_eq!(found["assignment"].as_object().map(serde_json::Map::len), Some(2));
    }
    for (list, words) in [
        ("rian,sprinkler", &["--maximize: there is no variable `rian`", "did you mean `rain`?"][..]),
        ("none.map", &["no variable `none.map`", "nor is there a file `none.map`"]),
        ("rain,0", &["variable `rain` is there twice"]),
    ] {
        refused(fangs().arg("marginals").arg(&path).args(["--maximize", list]), words)?;
    }
    fs::write(&map, "rain gras")?;
    let words = ["rain.map:1:6: found `gras`", "did you mean `grass`?"];
    refused(fangs().arg("marginals").arg(&path).arg("--maximize").arg(&map), &words)
}
