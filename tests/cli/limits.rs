//! Limits of memory and threads, and internal errors: a run continues with less, and at worst ends with a message.

use super::{COINS, FOUR, Result, fangs, folder_with, object, program};
use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Returns the command with a limited address space.
#[cfg(target_os = "linux")]
fn within(kilobytes: u32) -> Command {
    let mut command = Command::new("sh");
    let _ = command.timeout(Duration::from_secs(120));
    let _ = command.args(["-c", "ulimit -v \"$0\" && exec \"$@\""]).arg(kilobytes.to_string()).arg(program());
    command
}

/// Returns the exit code and standard error, which must have no message of Rust's own.
fn ended(command: &mut Command, codes: &[i32]) -> Result<(i32, String)> {
    let output = command.output()?;
    let told = String::from_utf8(output.stderr)?;
    let code = output.status.code().filter(|code| codes.contains(code));
    let code = code.unwrap_or_else(|| panic!("{:?}: {told}", output.status));
    for word in ["panicked", "memory allocation of", "RUST_BACKTRACE"] {
        assert!(!told.contains(word), "{told}");
    }
    Ok((code, told))
}

/// Returns standard error.
fn told(command: &mut Command, codes: &[i32]) -> Result<String> {
    ended(command, codes).map(|(_, told)| told)
}

#[cfg(target_os = "linux")]
#[test]
fn a_small_address_space_is_enough_or_a_message() -> Result {
    let (folder, file) = super::hard()?;
    let csv = folder.path().join("run.csv");
    for (kilobytes, codes) in [(300_000, &[0][..]), (100_000, &[0, 1, 2, 3]), (80_000, &[0, 1, 2, 3])] {
        for command in ["solve", "bound", "info"] {
            let mut limited = within(kilobytes);
            let _ = limited.arg(command).arg(&file);
            if command != "info" {
                let _ = limited.args(["--time", "2s", "--csv"]).arg(&csv);
            }
            let (code, told) = ended(&mut limited, codes)?;
            assert!(code == 0 || told.contains("fangs: "), "{kilobytes} {command}: {told}");
        }
    }
    Ok(())
}

#[test]
fn threads_that_cannot_start_are_done_without() -> Result {
    let (folder, file) = folder_with("four.wcsp", FOUR)?;
    let (coins, certificate) = (folder.path().join("coins.uai"), folder.path().join("four.certificate"));
    fs::write(&coins, COINS)?;
    for most in 0..9 {
        let limited = |arguments: &[&str], file: &Path| {
            let mut command = fangs();
            let _ = command.env("FANGS_MOST_THREADS", most.to_string()).args(arguments).arg(file);
            command
        };
        let mut solve = limited(&["solve", "--json", "--threads", "4", "--time", "60s", "--certificate"], &certificate);
        let solved = object(solve.arg(&file), 0)?;
        assert_eq!((&solved["status"], &solved["cost"]), (&"optimal".into(), &5.into()), "{most}");
        let threads = solved["threads"].as_u64().ok_or("a number")?;
        assert!((1..=4).contains(&threads) && (most < 8 || threads == 4), "{most}: {threads}");
        assert_eq!(object(&mut limited(&["bound", "--json", "--threads", "4"], &file), 0)?["bound"], 5);
        let checked = object(limited(&["check", "--json", "--certificate"], &certificate).arg(&file), 0)?;
        assert_eq!(checked["certificate"]["optimal"], true, "{most}: {checked}");
        for arguments in [&["info", "--json"][..], &["devices", "--json"]] {
            let mut command = fangs();
            let _ = command.env("FANGS_MOST_THREADS", most.to_string()).args(arguments);
            let _ = object(if arguments[0] == "info" { command.arg(&coins) } else { &mut command }, 0)?;
        }
    }
    Ok(())
}

#[test]
fn without_a_thread_for_the_clock_a_run_ends_on_time_and_tells_of_it() -> Result {
    let (folder, file) = super::hard()?;
    let csv = folder.path().join("run.csv");
    let mut limited = fangs();
    let _ = limited
        .env("FANGS_MOST_THREADS", "0")
        .args(["solve", "--time", "3s", "--bound", "none", "--json", "--csv"])
        .arg(&csv);
    let solved = object(limited.arg(&file), 0)?;
    assert_eq!((&solved["stopped_by"], &solved["threads"]), (&"time".into(), &1.into()));
    assert!(fs::read_to_string(&csv)?.contains(",warning,"));
    let _ = super::check_csv(&csv, false)?;
    Ok(())
}

/// Returns a network that no bound closes at once, and on which drivers and bounds soon run side by side.
fn grid() -> Result<(tempfile::TempDir, std::path::PathBuf)> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("grid.wcsp");
    let _ = fangs().args(["generate", "potts", "--side", "14", "--d", "5", "-o"]).arg(&path).assert().success();
    Ok((folder, path))
}

#[test]
fn what_ends_by_an_internal_error_is_told_and_the_rest_goes_on() -> Result {
    let (folder, _) = grid()?;
    // its best solution is found at once, and its bounds never close the gap
    let file = folder.path().join("random.wcsp");
    let kind = ["generate", "random", "--n", "45", "--d", "6", "--p1", "0.5", "--p2", "0", "-o"];
    let _ = fangs().args(kind).arg(&file).assert().success();
    let (csv, solution) = (folder.path().join("run.csv"), folder.path().join("best.sol"));
    let beside: &[&str] = &["--threads", "8"];
    for (place, source, options) in [
        ("bounds", "bounds", &["--threads", "1"][..]),
        ("bounds-beside", "bounds", beside),
        ("drivers", "drivers", beside),
        ("anneal", "anneal", &["--threads", "1"]),
    ] {
        // drivers and bounds run side by side after some rounds, whose duration depends on the machine
        let is_told = [4, 16, 64].iter().any(|seconds| {
            let mut broken = fangs();
            let _ =
                broken.env("FANGS_PANIC", place).args(["solve", "--json", "--time", &format!("{seconds}s"), "--csv"]);
            let _ = broken.arg(&csv).arg("--solution").arg(&solution).args(options).arg(&file);
            let output = broken.assert().success().get_output().clone();
            let solved: Value = serde_json::from_slice(&output.stdout).expect("an object");
            assert!(
                solved["cost"].is_number() && solved["time_s"].as_f64() < Some(f64::from(*seconds) + 5.0),
                "{solved}"
            );
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            let rows = super::check_csv(&csv, false).and_then(|_| Ok(fs::read_to_string(&csv)?)).expect("rows");
            let row = rows.lines().any(|row| row.contains(",warning,") && row.split(',').nth(8) == Some(source));
            assert_eq!(row, told.contains(&format!("{source} ended by an internal error (FANGS_PANIC is {place})")));
            row
        });
        assert!(is_told, "{place} was not lost");
        let _ = fangs().arg("check").arg(&file).arg(&solution).assert().success();
    }
    Ok(())
}

#[test]
fn an_internal_error_of_the_run_itself_keeps_what_was_found() -> Result {
    let (folder, file) = grid()?;
    let (csv, solution) = (folder.path().join("run.csv"), folder.path().join("best.sol"));
    for (command, place, options) in
        [("solve", "loop", &[][..]), ("solve", "tabu", &["--driver", "tabu"]), ("bound", "bound", &[])]
    {
        let mut broken = fangs();
        let _ = broken.env("FANGS_PANIC", place).args([command, "--json", "--time", "60s"]).args(options).arg("--csv");
        let _ = broken.arg(&csv).arg("--solution").arg(&solution).arg(&file);
        let output = broken.assert().code(1).get_output().clone();
        let told = String::from_utf8(output.stderr)?;
        assert!(output.stdout.is_empty() && told.contains("internal error") && told.contains(place), "{told}");
        assert!(!told.contains("panicked") && !told.contains("RUST_BACKTRACE"), "{told}");
        assert!(fs::read_to_string(&csv)?.lines().last().is_some_and(|row| row.contains(",end,")));
        if command == "solve" {
            let _ = fangs().arg("check").arg(&file).arg(&solution).assert().success();
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_population_is_as_large_as_memory_takes() -> Result {
    let (_folder, file) = grid()?;
    for population in ["1000000000", "1000000000000", "1000000000000000000"] {
        let mut large = within(1_000_000);
        let _ = large.args(["solve", "--driver", "anneal", "--bound", "none", "--rounds", "1", "--time", "60s"]);
        let told = told(large.args(["--population", population]).arg(&file), &[0])?;
        assert!(told.contains(&format!("a population of {population} was asked for: there is memory for ")), "{told}");
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn domains_take_memory_for_values_that_functions_name() -> Result {
    let text =
        "p 2 100000 3 1000000\n100000 100000\n1 0 5 2\n99999 1\n7 0\n1 1 9 1\n99998 2\n2 0 1 3 1\n99999 99998 0\n";
    let (folder, file) = folder_with("long.wcsp", text)?;
    for command in ["solve", "bound"] {
        let solved = object(within(300_000).args([command, "--json"]).arg(&file), 0)?;
        assert_eq!((&solved["cost"], &solved["bound"]), (&3.into(), &3.into()), "{command}");
    }
    let huge = folder.path().join("huge.wcsp");
    fs::write(&huge, "t 2 60000000 1 100\n60000000 60000000\n2 0 1 0 1\n5 5 3\n")?;
    for command in ["solve", "bound", "info"] {
        let _ = object(within(300_000).args([command, "--json"]).arg(&huge), 0)?;
    }
    // a certificate covers all values
    let mut certified = within(1_000_000);
    let _ = certified.args(["bound", "--certificate"]).arg(folder.path().join("c")).arg(&huge);
    assert!(told(&mut certified, &[1])?.contains("120000000 values of variables would take 5760000000 bytes"));
    Ok(())
}

/// All values of a domain are named and distinct: local search cannot store them, bounds can.
#[test]
fn bounds_work_alone_where_search_has_no_room() -> Result {
    let mut text = String::from("t 2 65600 2 1000000\n65600 65600\n2 0 1 0 65600\n");
    (0..65600).for_each(|value| text += &format!("{value} {} {}\n", (value * 7) % 65600, 1 + value % 5));
    text += "2 1 0 7 65600\n";
    (0..65600).for_each(|value| text += &format!("{value} {value} {}\n", value % 3));
    let (_folder, file) = folder_with("long.wcsp", &text)?;
    let mut solve = fangs();
    let _ = solve.args(["solve", "--json", "--no-reduce", "--time", "20s"]).arg(&file);
    let output = solve.output()?;
    let told = String::from_utf8(output.stderr)?;
    assert!(told.contains("longer than the 65535 values that local search has room for"), "{told}");
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    let solved: Value = serde_json::from_slice(&output.stdout)?;
    assert!(solved["bound"].is_number(), "{solved}");
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_function_over_very_many_variables_is_refused_with_the_figure() -> Result {
    let n = 20_000;
    let list = |text: &dyn Fn(usize) -> String| (0..n).map(text).collect::<Vec<_>>().join(" ");
    let mut text = format!("s {n} 2 1 100\n{}\n", list(&|_| "2".into()));
    text += &format!("{n} {} 0 1\n{} 5\n", list(&|v| v.to_string()), list(&|_| "0".into()));
    let (_folder, file) = folder_with("wide.wcsp", &text)?;
    let told = told(within(1_000_000).args(["bound", "--time", "60s"]).arg(&file), &[1])?;
    assert!(told.contains("20000 in the largest one") && told.contains("would take 3200000000 bytes"), "{told}");
    Ok(())
}
