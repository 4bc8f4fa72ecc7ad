//! Limits of memory: a run continues with less, and at worst ends with a message.

use super::{Result, fangs, folder_with, object, program};
use assert_cmd::Command;
use serde_json::Value;
use std::fs;
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

/// Returns a network that no bound closes at once, and on which drivers and bounds soon run side by side.
pub fn grid() -> Result<(tempfile::TempDir, std::path::PathBuf)> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("grid.wcsp");
    let _ = fangs().args(["generate", "potts", "--side", "14", "--d", "5", "-o"]).arg(&path).assert().success();
    Ok((folder, path))
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
