//! `fangs compare`: runs of settings and of other solvers, tables in all notations, earlier runs, bad input.

use super::*;

/// Writes the network of four variables under two names.
fn networks(folder: &Path) -> Result<[PathBuf; 2]> {
    let paths = ["a_1.wcsp", "b.wcsp"].map(|name| folder.join(name));
    for path in &paths {
        fs::write(path, FOUR)?;
    }
    Ok(paths)
}

#[test]
fn settings_are_compared_in_every_notation_and_again_from_their_csvs() -> Result {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let mut command = fangs();
    let _ = command.arg("compare").args(networks(folder.path())?);
    let _ = command.args(["--with", "default", "no bounds: --bound none --rounds 3", "--seeds", "2", "--jobs", "2"]);
    let _ = command.args(["--time", "2", "--json", "--runs"]).arg(at("runs")).arg("--csv").arg(at("rows.csv"));
    let _ = command.arg("--table").arg(at("t.md")).arg("--table").arg(at("t.tex"));
    let result = object(command.arg("--plot").arg(at("p.svg")).arg("--report").arg(at("r.html")), 0)?;
    let settings = result["settings"].as_array().ok_or("no settings")?;
    assert_eq!(
        settings.iter().map(|own| own["setting"].as_str()).collect::<Vec<_>>(),
        [Some("default"), Some("no bounds")]
    );
    for own in settings {
        assert_eq!([&own["runs"], &own["solved"], &own["failed"], &own["wins"]], [4, 4, 0, 2], "{own}");
    }
    for instance in result["instances"].as_array().ok_or("no instances")? {
        assert_eq!((&instance["best"], &instance["sense"]), (&5.into(), &"min".into()));
        assert_eq!(instance["settings"][0]["cost"]["median"], 5);
        assert_eq!(instance["settings"][0]["proved"], 2);
    }
    assert_eq!(fs::read_to_string(at("rows.csv"))?.lines().count(), 9);
    assert!(fs::read_to_string(at("t.tex"))?.contains("a\\_1.wcsp & no bounds & 2 of 2"));
    assert!(fs::read_to_string(at("t.md"))?.contains("| b.wcsp | default | 2 of 2 | 2 | 5 | 5 to 5 |"));
    assert!(fs::read_to_string(at("p.svg"))?.contains("share of runs"));
    assert!(fs::read_to_string(at("r.html"))?.contains("8 runs of 2 settings on 2 instances"));
    let kept = ["default/a_1.wcsp-1.csv", "default/a_1.wcsp-2.csv", "no-bounds/a_1.wcsp-1.csv"];
    let kept = kept.map(|name| at("runs").join(name));
    let again = object(fangs().args(["compare", "--json"]).args(&kept), 0)?;
    assert_eq!([&again["settings"][0]["runs"], &again["settings"][1]["runs"]], [2, 1]);
    assert_eq!(again["settings"][1]["setting"], "no-bounds");
    let text = String::from_utf8(fangs().arg("compare").args(&kept).assert().success().get_output().stdout.clone())?;
    assert!(text.contains("median cost") && text.contains("reference"), "{text}");
    Ok(())
}

#[test]
#[cfg(unix)]
fn another_solver_takes_part_and_its_solution_is_checked() -> Result {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let [network, _] = networks(folder.path())?;
    let script = "echo 'New solution: 9 (1 backtracks)'; echo 'Optimality gap: [2, 9] 70 % (1 backtracks)'\n\
        echo \"$2\" > \"$1\"; echo 'Optimum: 5 in 3 backtracks'\n";
    fs::write(at("solver.sh"), script)?;
    let solver = |name: &str, solution: &str| {
        format!("{name}: sh {} {{solution}} '{solution}' {{file}} {{time}} {{seed}}", at("solver.sh").display())
    };
    let mut command = fangs();
    let _ = command.args(["compare", "--json", "--seeds", "1", "--time", "1"]).arg(&network);
    let _ = command.args(["--external", &solver("right", "0 1 0 1"), "--external", &solver("wrong", "0 0 0 0")]);
    let _ = command.args(["--external", "missing: no-such-solver {file}"]);
    let assert = command.assert().success();
    let result: Value = serde_json::from_slice(&assert.get_output().stdout)?;
    let cells = result["instances"][0]["settings"].as_array().ok_or("no settings")?;
    let told: Vec<[&Value; 4]> =
        cells.iter().map(|cell| ["setting", "solved", "proved", "failed"].map(|key| &cell[key])).collect();
    assert_eq!(told[1], [&Value::from("right"), &1.into(), &1.into(), &0.into()], "{result}");
    assert_eq!(told[2], [&Value::from("wrong"), &0.into(), &0.into(), &1.into()], "{result}");
    assert_eq!(told[3], [&Value::from("missing"), &0.into(), &0.into(), &1.into()], "{result}");
    let warnings = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    for text in ["wrong, seed 1: it reported 5, but its solution costs 26", "no program is called no-such-solver"] {
        assert!(warnings.contains(text), "{warnings}");
    }
    Ok(())
}

#[test]
fn a_run_that_fails_is_a_warning_and_no_solution_is_exit_3() -> Result {
    let folder = tempfile::tempdir()?;
    let broken = folder.path().join("broken.wcsp");
    fs::write(&broken, "broken 1")?;
    let assert = fangs().args(["compare", "--seeds", "1", "--time", "1"]).arg(&broken).assert().code(3);
    let warnings = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(warnings.contains("broken.wcsp, default, seed 1: exit code 2"), "{warnings}");
    Ok(())
}

#[test]
fn what_cannot_be_compared_is_refused_before_any_run() -> Result {
    let folder = tempfile::tempdir()?;
    let [network, _] = networks(folder.path())?;
    let network = network.display().to_string();
    let csv = folder.path().join("run.csv").display().to_string();
    let _ = fangs().args(["solve", "-q", "--time", "1", "--csv", &csv, &network]).assert().success();
    for (arguments, expected) in [
        (vec![network.as_str(), &csv], "found both"),
        (vec![&csv, "--with", "default"], "not for CSVs"),
        (vec![&csv, &csv], "another file has the run"),
        (vec![&network, &network], "named twice"),
        (vec![&network, "--with", "x: --driver nothing"], "fangs solve refuses it"),
        (vec![&network, "--with", "x: --bound mbe", "x: --bound be"], "two settings are called x"),
        (vec![&network, "--external", "x: solver"], "has no {file}"),
        (vec![&network, "--table", "t.txt"], "a table is .md or .tex"),
        (vec![&network, "--report", "r.pdf"], "a page is .html"),
        (vec![&network, "--csv", &network], "the same file"),
        (vec!["no-such-file.wcsp"], "no-such-file.wcsp"),
        (vec!["-"], "expected a file"),
    ] {
        let assert = fangs().arg("compare").args(&arguments).assert().code(2);
        let message = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert!(assert.get_output().stdout.is_empty());
    }
    Ok(())
}
