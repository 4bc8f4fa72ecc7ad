//! Texts for people: the summaries, the help, the shells' completions and the manual.

use super::*;

/// Returns the text that a command prints.
pub(super) fn text(command: &mut Command, code: i32) -> Result<String> {
    Ok(String::from_utf8(command.assert().code(code).get_output().stdout.clone())?)
}

#[test]
fn a_summary_says_how_the_run_ended_and_what_it_found() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let told = text(fangs().args(["solve", "--time", "20"]).arg(&path), 0)?;
    assert!(told.contains("four.wcsp: proved optimal\n"), "{told}");
    for line in ["cost        5 (smaller is better)", "gap         0 %", "assignment  0 1 0 1"] {
        assert!(told.lines().any(|told| told == line), "{line:?} in {told}");
    }
    let bound = text(fangs().args(["bound", "--time", "20"]).arg(&path), 0)?;
    assert!(bound.contains("four.wcsp: the bound is the optimum\n"), "{bound}");
    assert!(bound.contains("bound       5 (no assignment costs less)\n"), "{bound}");

    let coins = folder.path().join("coins.uai");
    fs::write(&coins, COINS)?;
    let told = text(fangs().args(["solve", "--time", "20"]).arg(&coins), 0)?;
    assert!(
        told.lines().any(|line| line.starts_with("log value   -0.9") && line.ends_with("(larger is better)")),
        "{told}"
    );

    let none = folder.path().join("none.wcsp");
    fs::write(&none, INFEASIBLE)?;
    for command in ["solve", "bound"] {
        let told = text(fangs().args([command, "--time", "20"]).arg(&none), 4)?;
        assert!(told.contains("none.wcsp: proved infeasible: there is no solution\n"), "{told}");
        assert!(!told.contains("\nassignment "), "{told}");
    }
    Ok(())
}

#[test]
fn a_summary_says_why_a_run_stopped_and_where_the_solution_is() -> Result {
    let (folder, path) = hard()?;
    let solution = folder.path().join("best.sol");
    let run = |options: &[&str], code| text(fangs().arg("solve").args(options).arg(&path), code);
    let told = run(&["--rounds", "1"], 0)?;
    assert!(told.contains(": limit of rounds reached; the best solution is not proved optimal\n"), "{told}");
    assert!(told.contains("\nassignment  1,600 values; --solution FILE writes them, --json prints them\n"), "{told}");
    let named = solution.display().to_string();
    let told = run(&["--rounds", "1", "--solution", &named], 0)?;
    assert!(told.contains(&format!("\nassignment  1,600 values in {named}\n")), "{told}");
    let told = run(&["--rounds", "0"], 3)?;
    assert!(told.contains(": limit of rounds reached before a solution was found\n"), "{told}");
    assert!(told.contains("\ncost        - (smaller is better)\n") && told.contains("\ngap         -\n"), "{told}");
    let told = run(&["--target", "1e9", "--time", "20"], 0)?;
    assert!(told.contains(": target cost reached; the best solution is not proved optimal\n"), "{told}");
    Ok(())
}

#[test]
fn check_and_info_count_in_words() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let (good, bad) = (folder.path().join("good"), folder.path().join("bad"));
    fs::write(&good, "0 1 0 1")?;
    fs::write(&bad, "0 0 0 1")?;
    let told = text(fangs().arg("check").arg(&path).arg(&good), 0)?;
    assert!(told.ends_with("four.wcsp: a solution, cost 5, below top 100\n"), "{told}");
    let told = text(fangs().arg("check").arg(&path).arg(&bad), 4)?;
    assert!(told.contains("1 function violated, ") && told.contains(" x1=0 x3=1\n"), "{told}");
    let (_folder, potts) = hard()?;
    let told = text(fangs().arg("info").arg(&potts), 0)?;
    assert!(told.contains("cost, smaller is better") && told.contains("network: 1,600 variables"), "{told}");
    Ok(())
}

#[test]
fn shells_and_the_manual_know_every_command() -> Result {
    let commands = [
        "solve",
        "bound",
        "info",
        "check",
        "convert",
        "explain",
        "diff",
        "generate",
        "plot",
        "heuristics",
        "devices",
        "bench",
    ];
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = text(fangs().args(["completions", shell]), 0)?;
        for word in commands.iter().chain(&["bound-memory", "portfolio", "queens"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    refused(fangs().args(["completions", "dos"]), &["bash", "zsh"])?;
    let page = text(fangs().arg("man"), 0)?;
    assert!(page.contains(".TH fangs 1") && commands.iter().all(|command| page.contains(command)), "{page}");
    let folder = tempfile::tempdir()?;
    let _ = fangs().args(["man", "--folder"]).arg(folder.path()).assert().success();
    for name in ["fangs.1", "fangs-solve.1", "fangs-generate-queens.1", "fangs-bench-mbe.1"] {
        let page = fs::read_to_string(folder.path().join(name))?;
        assert!(page.contains("Examples:"), "{name}: {page}");
    }
    refused(fangs().args(["man", "--folder", "/no/such"]), &["/no/such"])
}

#[test]
fn budgets_and_formats_explain_themselves() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    for (options, words) in [
        (["--gap", "5"], &["5% is 0.05"][..]),
        (["--gap", "much"], &["5%"]),
        (["--time", "5 parsecs"], &["parsecs", "1h 30m"]),
        (["--bound-memory", "4 XB"], &["512M", "powers of 1024"]),
        (["--driver", "tabo"], &["tabu"]),
    ] {
        refused(fangs().arg("solve").args(options).arg(&path), words)?;
    }
    let unknown = folder.path().join("four.txt");
    let _ = fs::copy(&path, &unknown)?;
    refused(fangs().arg("solve").arg(&unknown), &["four.txt", "--format", ".wcsp"])?;
    let options = ["solve", "--json", "--format", "wcsp", "--time", "1m 20s", "--gap", "5%"];
    let result = object(fangs().args(options).arg(&unknown), 0)?;
    assert_eq!(result["cost"], 5);
    Ok(())
}

#[test]
fn old_names_of_drivers_run_what_took_their_place_and_say_so() -> Result {
    let (_folder, path) = folder_with("four.wcsp", FOUR)?;
    for (old, new) in [
        ("deep", "long-anneal"),
        ("islands", "lns"),
        ("dives", "limited-discrepancy"),
        ("weights", "weighting"),
        ("construct", "portfolio"),
    ] {
        let run = fangs().args(["solve", "--rounds", "1", "--json", "--driver", old]).arg(&path).assert().code(0);
        let report: Value = serde_json::from_slice(&run.get_output().stdout)?;
        assert_eq!(report["driver"], new);
        let told = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
        assert!(told.contains(&format!("warning: --driver {old}: it ")), "{told}");
    }
    let help = text(fangs().args(["solve", "--help"]), 0)?;
    assert!(help.contains("- lns:") && !help.contains("islands") && !help.contains("construct"), "{help}");
    Ok(())
}
