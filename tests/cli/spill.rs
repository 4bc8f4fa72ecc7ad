//! Tables that exceed memory: files, and runs that cannot write them.

use super::{Result, fangs, object, program, refused};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// Returns a grid whose elimination takes about 4 MB of tables.
fn grid() -> Result<(TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("potts.wcsp");
    let _ = fangs().args(["generate", "potts", "--side", "9", "--d", "3", "-o"]).arg(&path).assert().success();
    Ok((folder, path))
}

const SMALL: &[&str] = &["--device", "cpu", "--no-reduce", "--bound-memory", "400k", "--json"];

#[test]
fn files_change_nothing_but_memory() -> Result {
    let (folder, file) = grid()?;
    let run = |more: &[&str]| object(fangs().arg("bound").arg(&file).args(SMALL).args(more), 0);
    let mut roomy = fangs();
    let _ = roomy.arg("bound").arg(&file).args(["--device", "cpu", "--no-reduce", "--method", "be", "--json"]);
    let roomy = object(&mut roomy, 0)?;
    assert_eq!((&roomy["spilled_bytes"], &roomy["exact"]), (&0.into(), &true.into()));
    for more in [&["--method", "be"][..], &["--method", "be", "--threads", "1"], &[]] {
        let spilled = run(more)?;
        for field in ["bound", "cost", "exact", "joint_entries", "table_bytes"] {
            assert_eq!(spilled[field], roomy[field], "{field} {more:?}");
        }
        let bytes = spilled["spilled_bytes"].as_u64().ok_or("a number")?;
        assert!(bytes > 1_000_000 && bytes < spilled["table_bytes"].as_u64().ok_or("a number")?, "{spilled}");
    }
    let mut solve = fangs();
    let _ = solve.env("TMPDIR", folder.path()).arg("solve").arg(&file).args(SMALL).args(["--bound", "be", "-v"]);
    let output = solve.assert().success().get_output().clone();
    let (result, told): (Value, _) = (serde_json::from_slice(&output.stdout)?, String::from_utf8(output.stderr)?);
    assert_eq!((&result["status"], &result["cost"]), (&"optimal".into(), &roomy["cost"]));
    assert!(told.contains("of them in files in") && told.contains(&*folder.path().to_string_lossy()), "{told}");
    Ok(())
}

#[test]
fn without_room_elimination_is_refused_and_auto_does_without() -> Result {
    let (folder, file) = grid()?;
    let nowhere = folder.path().join("nowhere");
    for (option, folder) in
        [(&["--spill", "0"][..], folder.path()), (&["--spill", "100k"], folder.path()), (&[], &nowhere)]
    {
        let bound = |method: &str| {
            let mut bound = fangs();
            let _ = bound.env("TMPDIR", folder).arg("bound").arg(&file).args(SMALL).args(option);
            let _ = bound.args(["--method", method]);
            bound
        };
        refused(&mut bound("be"), &["does not fit into 409600 bytes", "of files", "--spill"])?;
        let result = object(&mut bound("mbe"), 0)?;
        assert_eq!((&result["spilled_bytes"], &result["exact"]), (&0.into(), &false.into()));
    }
    Ok(())
}

/// A disk that becomes full during a run: one warning, and mini-buckets within memory.
#[cfg(unix)]
#[test]
fn a_full_disk_ends_no_run() -> Result {
    let (_folder, file) = grid()?;
    for (command, method) in [("bound", "--method"), ("solve", "--bound")] {
        let mut shell = Command::new("sh");
        // writes beyond the limit fail instead of ending the process
        let _ = shell.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""]).arg(program());
        let output = shell.arg(command).arg(&file).args(SMALL).args([method, "be", "--time", "5"]).output()?;
        let (result, told): (Value, _) = (serde_json::from_slice(&output.stdout)?, String::from_utf8(output.stderr)?);
        assert_eq!(told.matches("going on without tables in files").count(), 1, "{told}");
        assert!(told.contains("cannot write"), "{told}");
        assert!(result["bound"].as_f64() <= result["cost"].as_f64(), "{result}");
        assert!(result["bound"].as_f64() > Some(0.0), "{result}");
    }
    Ok(())
}
