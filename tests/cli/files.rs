//! Files that are missing for a while, pipes without another end, outputs that are inputs, and text with control
//! characters.

use super::*;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::process::Child;

fn pipe(path: &Path) -> Result {
    assert!(std::process::Command::new("mkfifo").arg(path).status()?.success());
    Ok(())
}

/// Returns the writing end of a pipe, once a process reads it.
fn writer_of(pipe: &Path) -> Option<File> {
    File::options().write(true).custom_flags(libc::O_NONBLOCK).open(pipe).ok()
}

fn signal(child: &Child, name: &str) -> Result {
    let kill = format!("kill -{name} {}", child.id());
    assert!(std::process::Command::new("sh").args(["-c", &kill]).status()?.success());
    Ok(())
}

/// The folder is missing while all solutions are found, and exists again at the end.
#[test]
fn a_solution_that_could_not_be_written_is_written_later() -> Result {
    let (folder, path) = hard()?;
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("inner"))?;
    let mut child = std::process::Command::new(program())
        .args(["solve", "-", "--format", "wcsp", "--json", "--time", "100", "--device", "cpu", "--csv"])
        .arg(at("run.csv"))
        .arg("--solution")
        .arg(at("inner/best.sol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    wait_for(|| at("run.csv").exists());
    fs::remove_dir(at("inner"))?;
    child.stdin.take().ok_or("no input")?.write_all(&fs::read(&path)?)?;
    wait_for(|| fs::read_to_string(at("run.csv")).is_ok_and(|text| text.contains(",solution,")));
    fs::create_dir(at("inner"))?;
    signal(&child, "TERM")?;
    let output = ended(child)?;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout)?;
    let checked = object(fangs().args(["check", "--json"]).arg(&path).arg(at("inner/best.sol")), 0)?;
    assert_eq!(checked["cost"], result["cost"]);
    Ok(())
}

/// A limit on file sizes acts as a disk that is full for the CSV alone.
#[test]
fn a_csv_that_is_not_complete_is_told() -> Result {
    let (folder, path) = hard()?;
    let at = |name: &str| folder.path().join(name);
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
    let child = std::process::Command::new("sh")
        .args(["-c", limited, "sh"])
        .arg(program())
        .args(["solve", "--time", "1000", "--device", "cpu", "--csv"])
        .arg(at("run.csv"))
        .arg(&path)
        .stdout(Stdio::null())
        .stderr(File::create(at("told"))?)
        .spawn()?;
    let told = || fs::read_to_string(at("told")).unwrap_or_default();
    wait_for(|| told().contains("the CSV is not up to date"));
    signal(&child, "TERM")?;
    assert_eq!(ended(child)?.status.code(), Some(1), "{}", told());
    assert!(told().contains("run.csv: cannot write"), "{}", told());
    let rows = fs::read_to_string(at("run.csv"))?;
    let fields = |row: &str| row.matches(',').count();
    let whole = rows.lines().all(|row| Some(fields(row)) == rows.lines().next().map(fields));
    assert!(rows.ends_with('\n') && whole, "{rows}");
    Ok(())
}

#[test]
fn inputs_that_no_process_writes_end_with_the_time() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let pipes = ["pipe.wcsp", "pipe.toml", "pipe.cuh"].map(|name| folder.path().join(name));
    for pipe_path in &pipes {
        pipe(pipe_path)?;
    }
    let [plain, toml, cuda] = pipes.map(|path| path.display().to_string());
    let order = format!("file:{plain}");
    for (command, options) in [
        ("solve", [&*plain, "-q"]),
        ("solve", ["--evidence", &plain]),
        ("solve", ["--warm-start", &plain]),
        ("solve", ["--heuristic", &toml]),
        ("solve", ["--heuristic", &cuda]),
        ("bound", ["--evidence", &plain]),
        ("bound", ["--order", &order]),
    ] {
        let mut waiting = fangs();
        let _ = waiting.args([command, "--json", "--time", "300ms", "--device", "cpu"]).args(options);
        if options[0] != plain {
            let _ = waiting.arg(&path);
        }
        let output = waiting.assert().code(3).get_output().clone();
        let result: Value = serde_json::from_slice(&output.stdout)?;
        assert!(result["cost"].is_null(), "{options:?}: {result}");
        let told = String::from_utf8(output.stderr)?;
        assert!(told.contains("/pipe.") && told.contains("waiting"), "{options:?}: {told}");
    }
    Ok(())
}

#[test]
fn one_signal_ends_the_waiting() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    pipe(&at("pipe"))?;
    for (command, option, code) in
        [("solve", "--evidence", 3), ("bound", "--evidence", 3), ("solve", "--csv", 1), ("bound", "--solution", 1)]
    {
        // an input is waited for once it is open, an output once the other output is written
        let other = if option == "--csv" { "--solution" } else { "--csv" };
        let child = std::process::Command::new(program())
            .args([command, "--json", "--time", "1000", "--device", "cpu", option])
            .arg(at("pipe"))
            .arg(other)
            .arg(at("there"))
            .arg(&path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut writer = None;
        wait_for(|| match option {
            "--evidence" => {
                writer = writer_of(&at("pipe"));
                writer.is_some()
            }
            // a solution that cannot be written must be found first
            "--solution" => fs::read_to_string(at("there")).is_ok_and(|rows| rows.contains(",solution,")),
            _ => at("there").exists(),
        });
        signal(&child, "TERM")?;
        let output = ended(child)?;
        let told = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(code), "{command} {option}: {told}");
        assert!(told.contains(&at("pipe").display().to_string()), "{told}");
        let _: Value = serde_json::from_slice(&output.stdout)?;
        fs::remove_file(at("there"))?;
        drop(writer);
    }
    Ok(())
}

#[test]
fn outputs_that_no_process_reads_end_with_the_time() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    for name in ["pipe", "pipe.svg"] {
        pipe(&at(name))?;
    }
    for (command, option, name) in [
        ("solve", "--csv", "pipe"),
        ("solve", "--solution", "pipe"),
        ("solve", "--certificate", "pipe"),
        ("solve", "--plot", "pipe.svg"),
        ("bound", "--csv", "pipe"),
        ("bound", "--solution", "pipe"),
        ("bound", "--certificate", "pipe"),
    ] {
        let mut waiting = fangs();
        let _ =
            waiting.args([command, "--json", "--time", "500ms", "--device", "cpu", option]).arg(at(name)).arg(&path);
        let output = waiting.assert().code(1).get_output().clone();
        let result: Value = serde_json::from_slice(&output.stdout)?;
        assert_eq!(result["cost"], 5);
        if option == "--solution" {
            assert_eq!(result["solution"], serde_json::json!([0, 1, 0, 1]));
        }
        let told = String::from_utf8(output.stderr)?;
        assert!(told.contains("pipe") && told.contains("no process reads it"), "{option}: {told}");
    }
    Ok(())
}

/// All rows and the solution are written, although the network is solved before anything is read.
#[test]
fn a_late_reader_gets_everything() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    for name in ["csv", "solution", "certificate", "plot.svg"] {
        pipe(&at(name))?;
    }
    let child = std::process::Command::new(program())
        .args(["solve", "--json", "--time", "100", "--device", "cpu", "--csv"])
        .arg(at("csv"))
        .arg("--solution")
        .arg(at("solution"))
        .arg("--certificate")
        .arg(at("certificate"))
        .arg("--plot")
        .arg(at("plot.svg"))
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()?;
    let read = |name: &str| {
        let path = at(name);
        std::thread::spawn(move || fs::read_to_string(path))
    };
    std::thread::sleep(Duration::from_millis(300));
    let readers = ["csv", "solution", "certificate", "plot.svg"].map(read);
    assert_eq!(ended(child)?.status.code(), Some(0));
    let mut texts = Vec::new();
    for reader in readers {
        texts.push(reader.join().map_err(|_| "a panic")??);
    }
    fs::write(at("run.csv"), &texts[0])?;
    let last = check_csv(&at("run.csv"), false)?;
    assert_eq!((last[4].as_str(), texts[1].lines().last()), ("end", Some("0 1 0 1")));
    fs::write(at("cert"), &texts[2])?;
    let _ = fangs().arg("check").arg(&path).arg("--certificate").arg(at("cert")).assert().success();
    assert!(texts[3].ends_with("</svg>\n"));
    Ok(())
}

#[test]
fn outputs_never_overwrite_inputs() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    let heuristic = "rating = \"cost + mine\"\n[tables]\nmine = { file = \"table.csv\", default = 0 }\n";
    for (name, content) in [
        ("ev", "1 0 0\n"),
        ("start", "0 1 0 1\n"),
        ("order", "0 1 2 3\n"),
        ("h.toml", heuristic),
        ("table.csv", "0,1\n"),
        ("run.csv", "time_s,upper_bound,lower_bound\n0,1,1\n"),
    ] {
        fs::write(at(name), content)?;
    }
    fs::hard_link(&path, at("hard"))?;
    fs::hard_link(at("run.csv"), at("run.svg"))?;
    symlink(at("ev"), at("soft"))?;
    symlink("new", at("dangling"))?;
    let name = |name: &str| at(name).display().to_string();
    let order = format!("file:{}", name("order"));
    let whole = || -> Result<Vec<String>> {
        let names = ["four.wcsp", "ev", "start", "order", "h.toml", "table.csv", "run.csv"];
        names.iter().map(|name| Ok(fs::read_to_string(at(name))?)).collect()
    };
    let before = whole()?;
    let outputs = ["--csv", "--solution", "--certificate"];
    for output in outputs {
        for (command, [option, input], written) in [
            ("solve", ["--evidence", &name("ev")], "ev"),
            ("bound", ["--evidence", &name("ev")], "soft"),
            ("solve", ["--evidence", &name("soft")], "ev"),
            ("solve", ["--warm-start", &name("start")], "start"),
            ("solve", ["--heuristic", &name("h.toml")], "h.toml"),
            ("solve", ["--heuristic", &name("h.toml")], "table.csv"),
            ("bound", ["--order", &order], "order"),
            ("solve", ["--seed", "1"], "four.wcsp"),
            ("bound", ["--z", "2"], "hard"),
        ] {
            let mut run = fangs();
            let _ = run.args([command, option, input, output]).arg(at(written)).arg(&path);
            let first = if ["--seed", "--z"].contains(&option) { "the network" } else { option };
            refused(&mut run, &[first, output, &name(written), "overwrite"])?;
        }
        // neither name exists yet
        let other = if output == "--csv" { "--solution" } else { "--csv" };
        let mut run = fangs();
        let _ = run.args(["solve", output]).arg(at("dangling")).arg(other).arg(at("new")).arg(&path);
        refused(&mut run, &[output, other, "dangling", "overwrite"])?;
        let mut run = std::process::Command::new(program());
        let _ = run.args(["solve", "-", "--format", "wcsp", output]).arg(&path).stdin(File::open(&path)?);
        let refusal = run.output()?;
        assert_eq!(refusal.status.code(), Some(2));
        assert!(String::from_utf8(refusal.stderr)?.starts_with("fangs: standard input and --"));
    }
    refused(fangs().arg("plot").arg(at("run.csv")).arg("-o").arg(at("run.svg")), &["run.csv", "run.svg", "overwrite"])?;
    let mut run = fangs();
    let _ = run.args(["heuristics", "try", "--csv"]).arg(at("h.toml")).arg("--heuristic").arg(at("h.toml")).arg(&path);
    refused(&mut run, &["--heuristic", "--csv", "overwrite"])?;
    let mut run = fangs();
    let _ = run.args(["bench", "search", "--csv"]).arg(at("hard")).arg(&path);
    refused(&mut run, &["the network", "--csv", "overwrite"])?;
    assert_eq!(whole()?, before);
    let _ = fangs().args(["solve", "--csv", "/dev/null", "--solution", "/dev/null"]).arg(&path).assert().success();
    Ok(())
}

/// Checks that no output has a control character except line breaks.
fn is_plain(command: &mut Command, code: i32, words: &[&str]) -> Result {
    let output = command.assert().code(code).get_output().clone();
    let text = String::from_utf8([output.stdout, output.stderr].concat())?;
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in {text:?}");
    }
    Ok(())
}

#[test]
fn what_a_terminal_would_obey_is_shown() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    let evil = at("a\u{1b}]0;x\u{7}\n\u{9b}b.wcsp");
    fs::write(&evil, FOUR)?;
    let shown = "a\\u{1b}]0;x\\u{7}\\n\\u{9b}b";
    fs::write(at("sol"), "0 0 0 1\n")?;
    for command in ["solve", "bound", "info"] {
        is_plain(fangs().arg(command).arg(&evil), 0, &[shown])?;
    }
    is_plain(fangs().arg("check").arg(&evil).arg(at("sol")), 4, &[shown])?;
    is_plain(fangs().args(["solve", "--json"]).arg(&evil), 0, &["a\\u001b]0;x\\u0007\\n\\u009bb"])?;
    let result = object(fangs().args(["solve", "--json"]).arg(&evil), 0)?;
    assert!(result["instance"].as_str().is_some_and(|name| name.contains("a\u{1b}]0;x\u{7}\n\u{9b}b")), "{result}");
    is_plain(fangs().arg("check").arg(&path).arg(&evil), 2, &[shown])?;
    is_plain(fangs().arg("solve").arg(at("no\u{1b}.wcsp")), 2, &["no\\u{1b}.wcsp", "cannot read"])?;
    is_plain(fangs().arg("solve").arg(at("no.\u{1b}")), 2, &["no.\\u{1b}"])?;
    is_plain(fangs().args(["solve", "--csv"]).arg(&evil).arg(&evil), 2, &[shown])?;
    is_plain(fangs().args(["solve", "--time", "\u{1b}[31m"]).arg(&path), 2, &["--time"])?;
    is_plain(fangs().args(["heuristics", "\u{1b}[31m"]), 2, &["\\u{1b}[31m"])?;
    fs::write(at("salldiff.wcsp"), "t 2 2 1 9\n2 2\n2 0 1 -1 salldiff\u{1b}]0;PWNED\u{7}\u{1b}[31m var 10\n")?;
    is_plain(fangs().arg("solve").arg(at("salldiff.wcsp")), 2, &["salldiff\\u{1b}]0;PWNED\\u{7}\\u{1b}[31m"])?;
    // an unknown field of a certificate with a valid seal
    let body = "{\"format\":\"fangs certificate 1\",\"\\u001b[31mEVIL\":1}";
    let seal = "f685435ab7d646c8b42bd497df4fc8b755f95aef6aba84a0b78ca841ce043bdf";
    fs::write(at("cert"), format!("{body}\nsha256 {seal}\n"))?;
    is_plain(fangs().arg("check").arg(&path).arg("--certificate").arg(at("cert")), 1, &["refused"])?;
    fs::write(at("run\u{1b}.csv"), "time_s,upper_bound,lower_bound\n0,2,1\n1,1,1\n")?;
    for picture in ["run.svg", "run.png"] {
        is_plain(fangs().arg("plot").arg(at("run\u{1b}.csv")).arg("-o").arg(at(picture)), 0, &[])?;
    }
    Ok(())
}

#[test]
fn modes_of_files_that_are_replaced_are_kept() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let file = folder.path().join("best.sol");
    fs::write(&file, "old")?;
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600))?;
    let _ = fangs().arg("solve").arg("--solution").arg(&file).arg(&path).assert().success();
    assert_eq!(fs::read_to_string(&file)?, "0 1 0 1\n");
    assert_eq!(fs::metadata(&file)?.permissions().mode() & 0o777, 0o600);
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn endless_files_are_refused() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let picture = folder.path().join("x.svg");
    refused(fangs().args(["plot", "/dev/zero", "-o"]).arg(picture), &["/dev/zero", "line of more than"])?;
    for (command, option, file) in [
        ("solve", "--evidence", "/dev/zero"),
        ("solve", "--warm-start", "/dev/zero"),
        ("solve", "--heuristic", "/dev/zero"),
        ("bound", "--order", "file:/dev/zero"),
    ] {
        refused(fangs().args([command, "--time", "60", option, file]).arg(&path), &["/dev/zero"])?;
    }
    Ok(())
}
