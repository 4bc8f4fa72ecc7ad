//! Devices of the machine, and requests for missing ones. Holds with and without a GPU.

use super::*;

/// Returns the output of `fangs devices`, and whether a GPU is usable.
fn seen() -> Result<(Value, bool)> {
    let seen = object(fangs().args(["devices", "--json"]), 0)?;
    let usable = seen["cuda"]["devices"].as_array().is_some_and(|list| list.iter().any(|one| one["usable"] == true));
    Ok((seen, usable))
}

#[test]
fn devices_are_honest() -> Result {
    let (seen, usable) = seen()?;
    assert!(seen["cpu"]["threads"].as_u64().is_some_and(|threads| threads > 0));
    let text = String::from_utf8(fangs().arg("devices").assert().success().get_output().stdout.clone())?;
    assert!(text.contains("cpu     ") && text.contains(" thread") && text.contains("auto "), "{text}");
    let there = seen["cuda"]["devices"].as_array().map_or(0, Vec::len);
    assert!(seen["all"].is_null() == (there == 0) && text.contains("\nall     cuda:0") == (there > 0), "{seen} {text}");
    let reason = &seen["cuda"]["reason"];
    if usable {
        assert!(seen["auto"].as_str().is_some_and(|auto| auto.starts_with("cuda:")), "{seen}");
        assert!(reason.is_null() && seen["cuda"]["driver"].is_string(), "{seen}");
    } else {
        assert_eq!(seen["auto"], "cpu");
        let reasons = seen["cuda"]["devices"].as_array().into_iter().flatten().map(|one| &one["reason"]);
        let reason = reasons.chain([reason]).find_map(Value::as_str).ok_or("no reason")?;
        assert!(text.contains(reason) && !reason.contains('\n'), "{reason:?} in {text:?}");
    }
    let _ = fangs().args(["heuristics", "boltzmann"]).assert().success();
    Ok(())
}

#[test]
fn auto_says_where_it_runs() -> Result {
    let (seen, usable) = seen()?;
    let (_folder, path) = folder_with("four.wcsp", FOUR)?;
    let output = fangs().args(["solve", "--json", "-v", "--time", "20"]).arg(&path).assert().success();
    let (stdout, stderr) = (&output.get_output().stdout, String::from_utf8(output.get_output().stderr.clone())?);
    let device = &serde_json::from_slice::<Value>(stdout)?["device"];
    // such a network is solved before a GPU is open
    assert!(*device == seen["auto"] || device == "cpu" && usable, "{device}");
    let place = if device == "cpu" { "fangs: on the CPU: " } else { "fangs: on cuda:" };
    assert_eq!(stderr.matches(place).count(), 1, "{stderr}");
    for command in ["solve", "bound"] {
        let result = object(fangs().args([command, "--json", "--time", "20", "--device", "cpu"]).arg(&path), 0)?;
        assert_eq!(result["device"], "cpu");
    }
    Ok(())
}

#[test]
fn a_device_that_is_missing_is_refused() -> Result {
    let (_, usable) = seen()?;
    let (_folder, path) = folder_with("four.wcsp", FOUR)?;
    for command in ["solve", "bound"] {
        refused(fangs().args([command, "--device", "cuda:4096"]).arg(&path), &["fangs: device cuda:4096: ", "auto"])?;
        if !usable {
            refused(fangs().args([command, "--device", "cuda"]).arg(&path), &["fangs: device cuda:0: "])?;
        }
    }
    Ok(())
}

#[test]
fn lists_of_devices_that_are_none_are_refused() -> Result {
    let (seen, usable) = seen()?;
    let (_folder, path) = folder_with("four.wcsp", FOUR)?;
    // the message names existing devices, or the reason why there is none
    let there = match seen["cuda"]["devices"].as_array().map_or(0, Vec::len) {
        0 => seen["cuda"]["reason"].as_str().ok_or("no reason")?,
        1 => "the only one is cuda:0",
        _ => "there are cuda:0,1",
    };
    let solve = |device: &str, expected: &[&str]| {
        refused(fangs().args(["solve", "--time", "20", "--device", device]).arg(&path), expected)
    };
    solve("cuda:0,0", &["cuda:0 is named twice", there])?;
    solve("cuda:", &["no device is named", there])?;
    solve("cuda:0,4096", &["fangs: device cuda:0,4096: ", there])?;
    solve("cuda:0,", &["cuda:0,1", "cuda:all"])?;
    if !usable {
        solve("cuda:all", &["fangs: device cuda:all: ", "auto"])?;
    }
    refused(fangs().args(["bound", "--device", "cuda:0,4096"]).arg(&path), &["device cuda:0,4096: ", there])?;
    for command in ["marginals", "dcop", "decide"] {
        for device in ["cuda:0,1", "cuda:all"] {
            refused(fangs().args([command, "--device", device]).arg(&path), &["one device", "`fangs solve`"])?;
        }
    }
    Ok(())
}
