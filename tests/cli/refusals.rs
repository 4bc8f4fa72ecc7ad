//! Bad input and what cannot be written: one clear message, nothing on standard output.

use super::*;

#[test]
fn bad_solutions_and_evidence_are_refused() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    for (content, words) in [
        ("0 1 0", &["file:1:"][..]),
        ("0 1 0 2", &["file:1:7", "2"]),
        ("0 1 x 0", &["file:1:5"]),
        ("0 0 0 0 0", &["file"]),
    ] {
        fs::write(at("file"), content)?;
        refused(fangs().arg("check").arg(&path).arg(at("file")), words)?;
        refused(fangs().arg("solve").arg(&path).arg("--warm-start").arg(at("file")), words)?;
    }
    fs::write(at("file"), "1 9 0")?;
    refused(fangs().arg("solve").arg(&path).arg("--evidence").arg(at("file")), &["file:1:3", "9"])?;
    refused(fangs().arg("bound").arg(&path).arg("--order").arg(format!("file:{}", at("file").display())), &["9"])?;
    refused(fangs().arg("check").arg(&path).arg(at("missing")), &["missing", "cannot read"])
}

#[test]
fn bad_networks_are_refused() -> Result {
    let (folder, path) = folder_with("bad.wcsp", "bad 2 2 1 10\n2 2\n2 0 5 0 0\n")?;
    let at = |name: &str| folder.path().join(name);
    refused(fangs().arg("solve").arg(&path), &["bad.wcsp:3:5"])?;
    refused(fangs().arg("solve").arg(at("missing.wcsp")), &["missing.wcsp", "cannot read"])?;
    refused(fangs().args(["solve", "--format", "wcsp"]).arg(folder.path()), &["directory"])?;
    refused(fangs().arg("info").arg(at("net.xyz")), &["xyz", ".wcsp", ".uai"])?;
    refused(fangs().arg("solve").arg("-"), &["--format"])?;
    fs::write(at("graph.col"), "p edge 2 1\ne 1 2\n")?;
    refused(fangs().arg("bound").arg(at("graph.col")), &["--colors"])?;
    refused(fangs().args(["solve", "--colors", "0"]).arg(at("graph.col")), &["--colors"])?;
    let _ = fangs().args(["solve", "--colors", "2", "-t", "20"]).arg(at("graph.col")).assert().success();
    fs::write(at("cut.wcsp.xz"), [0xfd, b'7', b'z', b'X', b'Z', 0, 0, 4, 0xe6, 0xd6])?;
    refused(fangs().arg("solve").arg(at("cut.wcsp.xz")), &["cut.wcsp.xz"])?;
    fs::write(at("noise.wcsp"), [0u8, 255, 254, 1, 2, 3, 128])?;
    refused(fangs().arg("solve").arg(at("noise.wcsp")), &["noise.wcsp"])
}

#[test]
fn bad_options_are_refused() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    for (options, words) in [
        (&["--time", "soon"][..], &["soon", "duration"][..]),
        (&["--time", "-1"], &["-1"]),
        (&["--seed", "x"], &["--seed"]),
        (&["--threads", "0"], &["--threads", "from 1 to 1024"]),
        (&["--population", "0"], &["--population"]),
        (&["--driver", "magic"], &["portfolio", "tabu"]),
        (&["--bound", "magic"], &["auto", "mbe"]),
        (&["--bound-memory", "lots"], &["512M"]),
        (&["--gap", "-1"], &["--gap"]),
        (&["--threads", "1025"], &["--threads", "from 1 to 1024"]),
        (&["--target", "nan"], &["--target"]),
        (&["--z", "0"], &["--z"]),
        (&["--device", "cuda:4096"], &["device cuda:4096: ", "auto or cpu run without it"]),
        (&["--device", "cuda:x"], &["auto, cpu, cuda or cuda:I"]),
        (&["--device", "abacus"], &["auto, cpu, cuda or cuda:I"]),
        (&["--heuristic", "magic"], &["boltzmann", "my.toml"]),
        (&["--checkpoint", "/no/such/x"], &["/no/such/x"]),
        (&["--checkpoint-every", "5s"], &["--checkpoint"]),
        (&["--resume", "/no/such/x"], &["/no/such/x"]),
        (&["--stop", "whim"], &["--stop", "stall 30s"]),
        (&["--stop", "gap 1%", "--gap", "2%"], &["--stop gap", "a run has one"]),
        (&["--plot", "x.gif"], &[".svg"]),
        (&["--csv", "/no/such/folder/run.csv"], &["/no/such/folder/run.csv"]),
        (&["--solution", "/no/such/folder/best.sol"], &["/no/such/folder/best.sol"]),
        (&["-q", "-v"], &["--quiet"]),
    ] {
        refused(fangs().arg("solve").args(options).arg(&path), words)?;
    }
    refused(fangs().args(["heuristics", "try"]), &["--heuristic"])?;
    refused(fangs().args(["heuristics", "new", "boltzmann"]), &["boltzmann", "there is such a heuristic"])?;
    refused(fangs().args(["heuristics", "new", "My"]), &["My", "lower-case"])?;
    refused(fangs().args(["heuristics", "new", "mine", "--folder", "/no/such"]), &["/no/such", "--folder"])?;
    refused(fangs().args(["solve", "--driver", "guided"]).arg(&path), &["guided", "fangs heuristics"])?;
    refused(
        fangs().args(["solve", "--driver", "tabu", "--heuristic", "frequency"]).arg(&path),
        &["tabu", "frequency", "portfolio"],
    )?;
    refused(fangs().args(["solve", "--no-reduce", "--heuristic", "coloring"]).arg(&path), &["coloring", "function"])?;
    refused(fangs().args(["solve", "--heuristic", "my.toml"]).arg(&path), &["my.toml"])?;
    refused(fangs().args(["heuristics", "my.toml"]), &["my.toml"])?;
    refused(fangs().args(["heuristics", "magic"]), &["boltzmann"])?;
    refused(fangs().args(["bound", "--method", "be", "--z", "2"]).arg(&path), &["--z"])?;
    refused(fangs().arg("solve").arg(&path).arg("--csv").arg(&path), &["overwrite"])?;
    let twice = folder.path().join("out.svg");
    refused(fangs().arg("solve").arg(&path).arg("--solution").arg(&twice).arg("--plot").arg(&twice), &["overwrite"])
}

#[test]
fn too_wide_for_bucket_elimination_says_so() -> Result {
    let (_folder, path) = hard()?;
    let mut command = fangs();
    let _ = command.args(["bound", "--method", "be", "--bound-memory", "1M"]).arg(&path);
    refused(&mut command, &["induced width", "--bound-memory"])
}

#[cfg(target_os = "linux")]
#[test]
fn full_disks_do_not_end_a_run() -> Result {
    let (_folder, path) = folder_with("four.wcsp", FOUR)?;
    for command in ["solve", "bound"] {
        let run = |more: &[&str]| {
            let mut full = fangs();
            let _ = full.args([command, "--time", "20", "--solution", "/dev/full"]).args(more).arg(&path);
            full.assert().code(1).get_output().clone()
        };
        let object: Value = serde_json::from_slice(&run(&["--json"]).stdout)?;
        assert_eq!((&object["cost"], &object["solution"]), (&5.into(), &serde_json::json!([0, 1, 0, 1])));
        let output = run(&[]);
        assert!(String::from_utf8(output.stdout)?.lines().any(|line| line == "0 1 0 1"), "{command}");
        let told = String::from_utf8(output.stderr)?;
        assert!(told.contains("/dev/full: cannot write") && told.contains("on standard output"), "{told}");
        let mut plain = fangs();
        let certified = plain.args([command, "--time", "20", "--certificate", "/dev/full"]).arg(&path).assert().code(1);
        assert!(String::from_utf8(certified.get_output().stderr.clone())?.contains("/dev/full: cannot write"));
    }
    let plotted = tempfile::tempdir()?.path().join("gone").join("run.svg");
    refused(fangs().args(["solve", "--plot"]).arg(plotted).arg(&path), &["run.svg", "cannot write"])?;
    refused(fangs().args(["solve", "--csv", "/dev/full"]).arg(&path), &["/dev/full"])?;
    let full = fs::OpenOptions::new().write(true).open("/dev/full")?;
    let status =
        std::process::Command::new(program()).arg("solve").arg(&path).stdout(full).stderr(Stdio::null()).status()?;
    assert_eq!(status.code(), Some(1));
    Ok(())
}
