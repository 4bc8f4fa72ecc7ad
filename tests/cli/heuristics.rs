//! Plug-in heuristics through the command.

use super::*;

const NAMES: [&str; 8] =
    ["min-conflicts", "boltzmann", "mini-bucket", "frequency", "coloring", "radio", "satellite", "swap"];

fn graph() -> Result<(TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("graph.wcsp");
    let _ = fangs()
        .args(["generate", "coloring", "--n", "60", "--p", "0.3", "--k", "6", "-o"])
        .arg(&path)
        .assert()
        .success();
    Ok((folder, path))
}

#[test]
fn all_are_listed_and_described() -> Result {
    let listed = String::from_utf8(fangs().arg("heuristics").assert().success().get_output().stdout.clone())?;
    assert!(listed.lines().map(|line| line.split(' ').next().unwrap_or_default()).eq(NAMES), "{listed}");
    for name in NAMES {
        let told =
            String::from_utf8(fangs().args(["heuristics", name]).assert().success().get_output().stdout.clone())?;
        assert!(told.starts_with(&format!("{name}: ")) && told.lines().count() > 3, "{told}");
    }
    Ok(())
}

#[test]
fn rounds_do_the_same_on_any_number_of_threads() -> Result {
    let (_folder, path) = graph()?;
    for (driver, rounds) in [("guided", "6"), ("portfolio", "60")] {
        let run = |threads| {
            let options =
                ["--driver", driver, "--heuristic", "coloring", "--rounds", rounds, "--assert", "--bound", "none"];
            object(
                fangs().arg("solve").args(options).args(["--json", "--device", "cpu", "--threads", threads]).arg(&path),
                0,
            )
        };
        let (one, four) = (run("1")?, run("4")?);
        for key in ["cost", "solution", "moves", "ratings", "heuristic", "picks"] {
            assert_eq!(one[key], four[key], "{driver}: {key}");
        }
        assert_eq!(one["heuristic"], "coloring");
        assert!(one["picks"]["drawn"].as_u64().is_some_and(|drawn| drawn > 0), "{one}");
        assert!(one["picks"]["taken"].as_u64().is_some_and(|taken| taken > 0), "{one}");
        adds_up(&one, driver == "guided");
    }
    Ok(())
}

/// Checks that counters of subsets do not exceed those of their supersets.
fn adds_up(run: &Value, alone: bool) {
    let count = |name: &str| run["picks"][name].as_u64().unwrap_or(u64::MAX);
    for (whole, part) in [
        ("drawn", "changed"),
        ("changed", "improved"),
        ("proposed", "taken"),
        ("taken", "taken_improved"),
        ("taken_changed", "taken"),
    ] {
        assert!(count(part) <= count(whole), "{part} of {whole}: {run}");
    }
    for name in ["rounds", "ratings"] {
        assert!(count(name) <= run[name].as_u64().unwrap_or(0), "{name}: {run}");
    }
    let moves = count("changed") + count("taken_changed") + count("settled");
    let all = run["moves"].as_u64().unwrap_or(0);
    assert!(moves == all || !alone && moves <= all, "{moves} moves: {run}");
}

/// The condition never holds: no tuple of the network is forbidden.
#[test]
fn a_heuristic_that_never_acts_is_told() -> Result {
    let (folder, path) = graph()?;
    let file = folder.path().join("never.toml");
    let csv = folder.path().join("run.csv");
    std::fs::write(&file, "active = \"current_conflicts > 0\"\nweight = \"1\"\n")?;
    for driver in ["guided", "portfolio"] {
        let options = ["--driver", driver, "--rounds", "6", "--bound", "none", "--json", "--csv"];
        let mut command = fangs();
        let run = command.arg("solve").args(options).arg(&csv).arg("--heuristic").arg(&file).arg(&path).assert();
        let output = run.success().get_output().clone();
        let told = String::from_utf8(output.stderr)?;
        assert_eq!(told.matches("warning").count(), 1, "{driver}: {told}");
        for part in
            ["never.toml", "`current_conflicts > 0` held at no visit", "current_conflicts was always 0", "forbidden"]
        {
            assert!(told.contains(part), "{driver}: {part} is missing in {told}");
        }
        let object: Value = serde_json::from_slice(&output.stdout)?;
        assert_eq!(object["picks"]["drawn"], 0);
        let _ = check_csv(&csv, false)?;
    }
    let wanted = ["--heuristic", "default", "--time", "0.2", "--seeds", "2", "--heuristic"];
    let run = fangs().args(["heuristics", "try"]).arg(&path).args(wanted).arg(&file).assert().success();
    assert_eq!(String::from_utf8(run.get_output().stderr.clone())?.matches("no pick").count(), 1);
    Ok(())
}

#[test]
fn names_that_are_nearly_right_are_hinted_at() -> Result {
    let (_folder, path) = graph()?;
    let hint = ["did you mean `min-conflicts`?"];
    refused(fangs().args(["heuristics", "min-conflict"]), &hint)?;
    refused(fangs().arg("solve").args(["--heuristic", "minconflicts"]).arg(&path), &hint)?;
    refused(fangs().args(["heuristics", "try", "--heuristic", "min-conflcits"]).arg(&path), &hint)?;
    refused(fangs().args(["heuristics", "magic"]), &["magic", "boltzmann"])
}

#[test]
fn try_compares() -> Result {
    let (folder, path) = graph()?;
    let (rows, picture) = (folder.path().join("rows.csv"), folder.path().join("try.svg"));
    let wanted = ["--heuristic", "default", "--heuristic", "min-conflicts", "--time", "0.3", "--seeds", "2"];
    let compared = object(
        fangs()
            .args(["heuristics", "try", "--json"])
            .arg(&path)
            .args(wanted)
            .arg("--csv")
            .arg(&rows)
            .arg("--plot")
            .arg(&picture),
        0,
    )?;
    let lines = compared["heuristics"].as_array().ok_or("no lines")?;
    assert_eq!(
        (lines.len(), &lines[0]["heuristic"], &lines[1]["heuristic"]),
        (2, &"default".into(), &"min-conflicts".into())
    );
    assert_eq!((&lines[0]["difference"], &lines[1]["runs"]), (&0.0.into(), &2.into()));
    assert_eq!(std::fs::read_to_string(&rows)?.lines().count(), 5);
    assert!(std::fs::read_to_string(&picture)?.contains("min-conflicts"));
    let table = fangs().args(["heuristics", "try", "--alone"]).arg(&path).args(wanted).assert().success();
    assert_eq!(String::from_utf8(table.get_output().stdout.clone())?.lines().count(), 3);
    Ok(())
}

#[test]
fn new_writes_into_the_sources() -> Result {
    let folder = tempfile::tempdir()?;
    for file in ["heuristics/src/list.rs", "heuristics/src/list/swap.rs", "kernels/network.cuh"] {
        let target = folder.path().join(file);
        std::fs::create_dir_all(target.parent().ok_or("no folder")?)?;
        let _ = std::fs::copy(format!("{}/{file}", env!("CARGO_MANIFEST_DIR")), target)?;
    }
    let told = fangs().args(["heuristics", "new", "my-own", "--folder"]).arg(folder.path()).assert().success();
    assert!(String::from_utf8(told.get_output().stdout.clone())?.contains("heuristics try FILE"));
    assert!(std::fs::read_to_string(folder.path().join("heuristics/src/list/my_own.rs"))?.contains("\"my-own\""));
    assert!(folder.path().join("heuristics/my_own.cuh").is_file());
    Ok(())
}

/// Returns the listings of docs/heuristics.md, and built-in heuristics as files.
fn files() -> Vec<String> {
    let listings = include_str!("../../docs/heuristics.md").split("```toml\n").skip(1);
    let listings = listings.filter_map(|rest| rest.split("```").next());
    let along = [include_str!("../../heuristics/boltzmann.toml"), include_str!("../../heuristics/min_conflicts.toml")];
    listings.chain(along).map(String::from).collect()
}

#[test]
fn files_steer_runs() -> Result {
    let (folder, path) = graph()?;
    let files = files();
    assert!(files.len() >= 4 && files.iter().all(|text| text.lines().count() < 15));
    for text in files {
        steers(&folder, &path, &text)?;
    }
    Ok(())
}

/// Generates the network for a page's file name.
fn generated(folder: &tempfile::TempDir, file: &str) -> Result<PathBuf> {
    let parameters: &[&str] = match file {
        "graph.wcsp" => &["coloring", "--n", "40", "--p", "0.3", "--k", "5"],
        "grid.wcsp" | "links.wcsp" => &["grid", "--side", "6", "--p2", "0.2"],
        "photographs.wcsp" => &["potts", "--side", "9", "--d", "5"],
        "queens.wcsp" => &["queens", "--n", "8"],
        other => return Err(format!("{other}: no network is called so").into()),
    };
    let path = folder.path().join(file);
    let _ = fangs().arg("generate").args(parameters).arg("-o").arg(&path).assert().success();
    Ok(path)
}

#[test]
fn every_heuristic_has_a_section_whose_listing_runs() -> Result {
    let folder = tempfile::tempdir()?;
    let page = include_str!("../../docs/heuristics.md");
    for name in NAMES {
        let section = page.split(&format!("\n### {name}\n")).nth(1).ok_or(format!("{name}: no section"))?;
        let section = section.split("\n### ").next().unwrap_or_default();
        let listing = section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).ok_or("no listing")?;
        let words: Vec<&str> = listing.split_whitespace().collect();
        let [_, command, file, heuristic @ ..] = &words[..] else { return Err(listing.into()) };
        assert_eq!((*command, heuristic), ("solve", &["--heuristic", name][..]), "{listing}");
        let path = generated(&folder, file)?;
        let options = ["--driver", "guided", "--rounds", "4", "--assert", "--bound", "none", "--json"];
        let solved = object(fangs().arg(command).arg(path).args(heuristic).args(options), 0)?;
        assert!(solved["picks"]["drawn"].as_u64().is_some_and(|drawn| drawn > 0), "{name}: {solved}");
    }
    Ok(())
}

/// Checks that a file's run is equal on any number of threads.
fn steers(folder: &tempfile::TempDir, path: &std::path::Path, text: &str) -> Result {
    let file = folder.path().join("my.toml");
    std::fs::write(&file, text)?;
    let _ = fangs().arg("heuristics").arg(&file).assert().success();
    let run = |threads| {
        let options =
            ["--driver", "guided", "--rounds", "6", "--assert", "--bound", "none", "--json", "--threads", threads];
        object(fangs().arg("solve").args(options).args(["--device", "cpu"]).arg("--heuristic").arg(&file).arg(path), 0)
    };
    let (one, four) = (run("1")?, run("4")?);
    for key in ["cost", "solution", "moves", "ratings", "heuristic", "picks"] {
        assert_eq!(one[key], four[key], "{key}");
    }
    assert_eq!(one["heuristic"], file.display().to_string());
    assert!(one["picks"]["drawn"].as_u64().is_some_and(|drawn| drawn > 0), "{one}");
    Ok(())
}

#[test]
fn a_file_in_cuda_is_compiled_and_wants_a_device() -> Result {
    let (folder, path) = graph()?;
    let file = folder.path().join("my.cuh");
    let page = include_str!("../../docs/heuristics.md");
    let text = page.split("```cuda\n").nth(1).and_then(|rest| rest.split("```").next()).ok_or("no listing")?;
    std::fs::write(&file, text)?;
    let refused = fangs()
        .args(["solve", "--device", "cpu", "--driver", "guided", "--heuristic"])
        .arg(&file)
        .arg(&path)
        .assert()
        .code(2);
    let told = String::from_utf8(refused.get_output().stderr.clone())?;
    assert!(told.contains("my.cuh") && told.contains("needs a device"), "{told}");
    if fangs_testing::nvrtc().is_none() {
        return Ok(());
    }
    let listings: Vec<&str> = page.split("```cuda\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(listings.len() == 2 && listings[1].contains("struct Groups"));
    for listing in listings {
        std::fs::write(&file, listing)?;
        let _ = fangs().arg("heuristics").arg(&file).assert().success();
    }
    std::fs::write(&file, text.replace("in.cost", "in.costt"))?;
    let wrong = fangs().arg("heuristics").arg(&file).assert().code(2);
    let told = String::from_utf8(wrong.get_output().stderr.clone())?;
    let line = 1 + text.lines().position(|line| line.contains("in.cost")).ok_or("no such line")?;
    assert!(told.contains(&format!("my.cuh({line})")) && told.contains("costt"), "{told}");
    Ok(())
}

#[test]
fn a_file_that_is_wrong_or_talks_nonsense_is_told() -> Result {
    let (folder, path) = graph()?;
    let file = folder.path().join("my.toml");
    let solve = |text: &str| -> Result<_> {
        std::fs::write(&file, text)?;
        let options = ["--driver", "guided", "--rounds", "4", "--bound", "none"];
        Ok(fangs().arg("solve").args(options).arg("--heuristic").arg(&file).arg(&path).assert())
    };
    let wrong = solve("weight = \"costt\"\n")?.code(2).stdout("");
    let told = String::from_utf8(wrong.get_output().stderr.clone())?;
    assert!(told.contains("my.toml:1:11") && told.contains("did you mean `cost`"), "{told}");
    let nonsense = solve("weight = \"log(0 - 1 - value)\"\n")?.success();
    let told = String::from_utf8(nonsense.get_output().stderr.clone())?;
    assert_eq!(told.matches("is no number").count(), 1, "{told}");
    assert!(told.contains("my.toml") && told.contains("variable"), "{told}");
    Ok(())
}
