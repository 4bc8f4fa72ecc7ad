//! Bad input and outputs that cannot be written: one clear message, nothing on standard output.

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
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
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
    let (tiger, net) = (folder.path().join("tiger.POMDP"), folder.path().join("net.uai"));
    fs::write(
        &tiger,
        "discount: 1\nstates: a b\nactions: l r\nobservations: o\nT: *\nidentity\nO: *\nuniform\n\
        R: l : a : * : * 10\nR: r : b : * : * 4\n",
    )?;
    fs::write(&net, "MARKOV\n2\n2 2\n1\n2 0 1\n4\n1 2 3 4\n")?;
    let policy = folder.path().join("policy.json");
    std::os::unix::fs::symlink("/dev/full", &policy)?;
    for (command, file, options) in [
        ("solve", &path, &["--csv", "/dev/full"][..]),
        ("solve", &path, &["--checkpoint", "/dev/full"]),
        ("bound", &path, &["--csv", "/dev/full"]),
        ("dcop", &path, &["--trace", "/dev/full"]),
        ("dcop", &path, &["--algorithm", "dsa", "--solution", "/dev/full"]),
        ("decide", &tiger, &["--horizon", "2", "--csv", "/dev/full"]),
        ("decide", &tiger, &["--horizon", "2", "--policy", &policy.to_string_lossy()]),
        ("marginals", &net, &["--time", "20", "--bounds-csv", "/dev/full"]),
        ("marginals", &net, &["--csv", "/dev/full"]),
    ] {
        let told = fangs().arg(command).arg(file).arg("--json").args(options).assert().code(1).get_output().clone();
        assert!(serde_json::from_slice::<Value>(&told.stdout)?.is_object(), "{command} {options:?}");
        assert!(String::from_utf8(told.stderr)?.contains("No space left on device"), "{command} {options:?}");
    }
    let full = fs::OpenOptions::new().write(true).open("/dev/full")?;
    let status =
        std::process::Command::new(program()).arg("solve").arg(&path).stdout(full).stderr(Stdio::null()).status()?;
    assert_eq!(status.code(), Some(1));
    Ok(())
}

/// Beginners' mistakes: the message says what was found, what was expected, and what was probably meant.
#[test]
fn what_was_meant_is_said() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    for (name, text) in [
        ("four.sol", "0 1 0 1"),
        ("tiger.POMDP", "discount: 1\n"),
        ("small.wcsp", "small 1 2 1 10\n2\n1 0 3 0\n"),
        ("run.csv", "time_s\n"),
        ("problem.xml", "<instance format=\"XCSP3\" type=\"COP\"/>"),
    ] {
        fs::write(at(name), text)?;
    }
    let small = at("small.wcsp");
    let (four, pomdp) = (path.display().to_string(), at("tiger.POMDP"));
    let (nothere, xml, csv, out) = (at("nothere"), at("problem.xml"), at("run.csv"), at("four.dimacs"));
    let solve = format!("did you mean `fangs solve {four}`");
    let decide = format!("did you mean `fangs decide {pomdp}`");
    let cases: [(&[&str], &[&str]); 36] = [
        (&["solve", &four, "--time", "-5"], &["--time", "must not be negative", "500ms"]),
        (&["solve", &four, "-t", "-5s"], &["--time", "must not be negative"]),
        (&["solve", &four, "--bound-memory", "-1G"], &["must not be negative", "512M"]),
        (&["solve", &four, "--seed", "-1"], &["--seed", "whole number of at least 0"]),
        (&["solve", &four, "--seed", "x"], &["--seed", "whole number of at least 0"]),
        (&["solve", &four, "--precision", "16"], &["whole number from 0 to 15"]),
        (&["solve", &four, "--z", "0"], &["whole number of at least 1"]),
        (&["solve", &pomdp], &["pomdp", "`fangs decide` reads"]),
        (&["marginals", &pomdp], &["pomdp", "`fangs decide` reads"]),
        (&["solve", &csv], &["csv", "`fangs plot` reads"]),
        (&["info", &at("four.sol")], &["`fangs check NETWORK SOLUTION`"]),
        (&["decide", &four, "--horizon", "2"], &["wcsp", "`fangs solve` reads", ".POMDP"]),
        (&[&four], &["expected a command", &solve]),
        (&[&pomdp], &["expected a command", &decide]),
        (&["-t", "5", &four], &["expected a command", "fangs solve -t 5"]),
        (&["sovle", &four], &["unrecognized subcommand", "'solve'"]),
        (&["convert", &four, &out], &["four.dimacs", "written are .wcsp .uai"]),
        (&["convert", &four, &at("four.bif")], &["written are .wcsp .uai"]),
        (&["convert", &four, "-", "--to", "dimacs"], &["`dimacs`", "written are .wcsp .uai"]),
        (&["info", &nothere], &["nothere", "no such file"]),
        (&["decide", &nothere], &["nothere", "no such file"]),
        (&["solve", &four, "--csv", "-"], &["--csv -", "/dev/stdout"]),
        (&["solve", &four, "--solution", "-"], &["--solution -", "/dev/stdout"]),
        (&["solve", &four, "--report", "-"], &["--report -", "/dev/stdout"]),
        (&["bound", &four, "--certificate", "-"], &["--certificate -", "/dev/stdout"]),
        (&["dcop", &four, "--trace", "-"], &["--trace -", "/dev/stdout"]),
        (&["solve", &four, "--stop", "stall"], &["stall needs a duration", "stall 30s"]),
        (&["solve", &four, "--stop", "gap"], &["gap needs a share"]),
        (&["solve", &four, "--observe", "x9=0"], &["x9", "expected"]),
        (&["solve", &four, "--observe", "0=5"], &["no value `5`"]),
        (&["solve", &four, "--observe", "0=1,0=0"], &["observed already"]),
        (&["info", &xml], &["problem.xml:1:1", "XCSP3 is not read"]),
        (&["solve", &four, "--tiem", "5"], &["--tiem", "--time"]),
        (&["bench", "search", &small, "--json"], &["nothing to measure"]),
        (&["solve"], &["<FILE>"]),
        (&["dcop", &four, "--algorithm", "magic"], &["max-sum"]),
    ];
    for (arguments, words) in cases {
        refused(fangs().args(arguments), words).map_err(|error| format!("{arguments:?}: {error}"))?;
        let told = fangs().args(arguments).output()?.stderr;
        let told = String::from_utf8_lossy(&told).into_owned();
        assert!(told.starts_with("fangs: ") && !told.contains("error:"), "{arguments:?}: {told}");
        assert!(!folder.path().join("-").exists() && !Path::new("-").exists(), "{arguments:?}");
    }
    Ok(())
}

#[test]
fn names_are_read_in_any_case() -> Result {
    let (_folder, path) = folder_with("four.wcsp", FOUR)?;
    for (command, option, name) in [
        ("dcop", "--algorithm", "DPOP"),
        ("dcop", "--algorithm", "maxsum"),
        ("dcop", "--pseudo-tree", "DFS_Best"),
        ("solve", "--driver", "Tabu"),
        ("solve", "--bound", "MBE"),
        ("solve", "--device", "CPU"),
        ("solve", "--heuristic", "Min-Conflicts"),
        ("bound", "--method", "BE"),
        ("bound", "--order", "Min_Fill"),
    ] {
        let _ = fangs().arg(command).arg(&path).args([option, name, "-t", "20"]).assert().success();
    }
    Ok(())
}

#[test]
fn a_number_of_threads_that_the_machine_is_far_from_is_doubted() -> Result {
    let (_folder, path) = folder_with("four.wcsp", FOUR)?;
    let output = fangs().arg("bound").arg(&path).args(["--threads", "1024"]).output()?;
    let told = String::from_utf8(output.stderr)?;
    let processors = std::thread::available_parallelism()?.get();
    assert_eq!(told.contains("fangs: warning: --threads 1024"), processors < 256, "{told}");
    Ok(())
}

/// `--observe` fixes variables in every command that reads a network.
#[test]
fn values_are_observed_on_the_command_line() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let solution = folder.path().join("four.sol");
    fs::write(&solution, "1 1 0 1")?;
    let observed = |command: &str, code: i32, more: &[&Path]| {
        let mut call = fangs();
        let _ = call.arg(command).arg(&path).args(more).args(["--observe", "x0=1", "--json"]);
        object(&mut call, code)
    };
    let fixed = fangs().args(["solve", "--json", "--observe", "0=1"]).arg(&path).output()?;
    let fixed: Value = serde_json::from_slice(&fixed.stdout)?;
    assert_eq!(fixed["solution"][0], 1, "{fixed}");
    assert_eq!(observed("solve", 0, &[])?["cost"], fixed["cost"]);
    assert_eq!(observed("bound", 0, &[])?["bound"], fixed["cost"]);
    assert_eq!(observed("info", 0, &[])?["observed"], 1);
    assert_eq!(observed("dcop", 0, &[])?["cost"], fixed["cost"]);
    assert_eq!(observed("check", 0, &[&solution])?["solution"], true);
    fs::write(&solution, "0 1 0 1")?;
    assert_eq!(observed("check", 4, &[&solution])?["solution"], false);
    let both = folder.path().join("both.wcsp");
    let _ = fangs().arg("convert").arg(&path).arg(&both).args(["--observe", "x0=1"]).assert().success();
    assert_eq!(object(fangs().args(["solve", "--json"]).arg(&both), 0)?["cost"], fixed["cost"]);
    Ok(())
}
