//! Stops during any phase: the results so far are returned.

use super::{Result, fangs, hard, refused};
use serde_json::Value;

/// Methods that exceed the memory are refused; a run that ends before this is known returns a bound.
#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "needs --features fault-injection")]
fn out_of_time_is_no_error() -> Result {
    let (_folder, file) = hard()?;
    for (method, words) in [
        ("be", "bucket elimination does not fit"),
        ("branch", "branch and bound does not fit"),
        ("cores", "cores does not run: its clauses take"),
    ] {
        let bound = || {
            let mut command = fangs();
            let limits = ["--bound-memory", "100k", "--spill", "0", "--threads", "1", "--device", "cpu", "--json"];
            let _ = command.arg("bound").arg(&file).args(["--method", method]).args(limits);
            command
        };
        refused(&mut bound(), &[words])?;
        let (mut unloaded, mut bounded) = (0, 0);
        // the number of the read at which the flag is set
        let mut look = 1u64;
        loop {
            let output = bound().env("FANGS_WATCH_STOP", look.to_string()).output()?;
            match output.status.code() {
                Some(0) => {
                    let told: Value = serde_json::from_slice(&output.stdout)?;
                    assert!(told["exact"] == false && told["bound"].is_i64(), "{method}, look {look}: {told}");
                    bounded += 1;
                }
                Some(3) => unloaded += 1,
                Some(2) => break,
                other => panic!("{method}, look {look}: {other:?}, {}", String::from_utf8_lossy(&output.stderr)),
            }
            look = look * 3 / 2 + 1;
        }
        assert!(unloaded > 0 && bounded > 3, "{method}: {unloaded} before there is a network, {bounded} after");
    }
    Ok(())
}
