//! Long runs: stop rules, folders of solutions, checkpoints, exchange.

use super::*;

/// Returns a network too wide to be proved soon, and small enough for rounds of milliseconds.
fn middle() -> Result<(TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("potts.wcsp");
    let _ = fangs().args(["generate", "potts", "--side", "18", "--d", "6", "-o"]).arg(&path).assert().success();
    Ok((folder, path))
}

#[test]
fn rules_end_a_run_and_are_named() -> Result {
    let (_folder, path) = middle()?;
    let stopped = |rules: &[&str]| -> Result<Value> {
        let mut command = fangs();
        let _ = command.args(["solve", "--json", "--device", "cpu", "--time", "100", "--bound", "none"]);
        rules.iter().for_each(|rule| {
            let _ = command.args(["--stop", rule]);
        });
        object(command.arg(&path), 0)
    };
    let stalled = stopped(&["stall 700ms", "target -1000000"])?;
    assert_eq!(stalled["stopped_by"], "stall");
    let waited = stalled["time_s"].as_f64().zip(stalled["time_to_best_s"].as_f64()).map(|(end, best)| end - best);
    assert!(waited.is_some_and(|waited| (0.7..10.0).contains(&waited)), "{stalled}");
    assert_eq!(stopped(&["stall 50s", "gap 100%"])?["stopped_by"], "gap");
    assert_eq!(stopped(&["target 1000000", "diminishing"])?["stopped_by"], "target");
    let told = fangs()
        .args(["solve", "--time", "100", "--bound", "none", "--stop", "stall=300ms"])
        .arg(&path)
        .assert()
        .success();
    let told = String::from_utf8(told.get_output().stdout.clone())?;
    assert!(told.contains("no better solution for as long as --stop says"), "{told}");
    Ok(())
}

#[test]
fn each_better_solution_has_a_file_and_a_row() -> Result {
    let (folder, path) = middle()?;
    let at = |name: &str| folder.path().join(name);
    let mut command = fangs();
    let _ = command.args(["solve", "--json", "--rounds", "4", "--device", "cpu", "--csv"]).arg(at("run.csv"));
    let result = object(command.arg("--solutions-dir").arg(at("all")).arg(&path), 0)?;
    let list = fs::read_to_string(at("all/solutions.csv"))?;
    let rows: Vec<Vec<&str>> = list.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let events = fs::read_to_string(at("run.csv"))?;
    assert!(rows.len() > 2 && rows.len() == events.matches(",solution,").count(), "{list}");
    assert_eq!(fs::read_dir(at("all"))?.count(), rows.len() + 1);
    for row in &rows {
        let checked = object(fangs().args(["check", "--json"]).arg(&path).arg(at("all").join(row[6])), 0)?;
        assert_eq!(checked["cost"].to_string(), row[2], "{row:?}");
        assert!(events.lines().any(|line| line.starts_with(&format!("{},{},", row[1], row[2]))), "{row:?}");
    }
    assert_eq!(rows.last().map(|row| row[2].to_string()), Some(result["cost"].to_string()));
    refused(fangs().args(["solve", "--rounds", "1", "--solutions-dir"]).arg(at("all")).arg(&path), &["another run"])
}

/// Returns seconds, cost and bound of a checkpoint.
fn known(path: &Path) -> Result<(f64, f64, f64)> {
    let text = fs::read_to_string(path)?;
    let value: Value = serde_json::from_str(text.lines().next().ok_or("no line")?)?;
    let number = |value: &Value| value.as_f64().ok_or("no number");
    Ok((number(&value["time_s"])?, number(&value["solution"]["value"])?, number(&value["bound"]["value"])?))
}

/// Kills a process as `kill -9` does.
fn kill(mut child: Child) -> Result {
    child.kill()?;
    let _ = child.wait()?;
    Ok(())
}

/// Returns a text with a new seal, like a program that changes it on purpose.
fn sealed(line: &str) -> Result<String> {
    let mut child = std::process::Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    std::io::Write::write_all(&mut child.stdin.take().ok_or("no input")?, line.as_bytes())?;
    let output = String::from_utf8(child.wait_with_output()?.stdout)?;
    Ok(format!("{line}\nsha256 {}\n", output.split_whitespace().next().unwrap_or_default()))
}

#[cfg(unix)]
#[test]
fn a_killed_run_goes_on_from_its_checkpoint_and_loses_nothing_of_it() -> Result {
    let (folder, path) = middle()?;
    let at = |name: &str| folder.path().join(name);
    let solve = |resume: bool| {
        let mut command = std::process::Command::new(program());
        let _ = command.args(["solve", "--json", "--time", "60", "--checkpoint-every", "100ms", "--checkpoint"]);
        let _ = command.arg(at("run.ckpt")).arg("--csv").arg(at("run.csv")).arg(&path);
        if resume {
            let _ = command.arg("--resume").arg(at("run.ckpt"));
        }
        let _ = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let mut before: Option<(f64, f64, f64)> = None;
    // moments spread over the whole run, some before the first checkpoint of a process
    for (turn, moment) in [700u64, 30, 450, 90, 260, 1100].into_iter().enumerate() {
        // a run may resume with another number of threads
        let threads = ["1", "2"][turn % 2];
        let child = solve(turn > 0).args(["--threads", threads, "--device", "cpu"]).spawn()?;
        if turn == 0 {
            wait_for(|| at("run.ckpt").exists());
        }
        std::thread::sleep(Duration::from_millis(moment));
        kill(child)?;
        let now = known(&at("run.ckpt"))?;
        if let Some(before) = before {
            assert!(now.0 >= before.0 && now.1 <= before.1 && now.2 >= before.2, "{before:?} {now:?}");
        }
        before = Some(now);
    }
    let (time, cost, bound) = before.ok_or("no checkpoint")?;
    let mut last = fangs();
    let _ = last.args(["solve", "--json", "--time", "2", "--device", "cpu", "--resume"]).arg(at("run.ckpt"));
    let result = object(last.arg("--csv").arg(at("run.csv")).arg(&path), 0)?;
    assert!(
        result["cost"].as_f64() <= Some(cost) && result["bound"].as_f64() >= Some(bound),
        "{result} {cost} {bound}"
    );
    // the clock continues from the checkpoint, by two seconds unless a proof ends the run earlier
    let ends = time + if result["status"] == "optimal" { 0.0 } else { 1.0 };
    assert!(
        result["time_s"].as_f64() > Some(ends) && result["resumed_s"].as_f64() >= Some(time - 1e-6),
        "{result} {time}"
    );
    // one start for each process that began to write, and one end
    let text = fs::read_to_string(at("run.csv"))?;
    assert_eq!(text.matches(",end,").count(), 1, "{text}");
    let columns = |line: &str| -> [Option<f64>; 3] {
        let fields: Vec<&str> = line.split(',').collect();
        [0, 1, 2].map(|column| fields[column].parse().ok())
    };
    let rows: Vec<_> = text.lines().skip(1).map(columns).collect();
    for pair in rows.windows(2) {
        let [[time, upper, lower], [later, better, higher]] = [pair[0], pair[1]];
        assert!(time <= later && lower <= higher, "{pair:?}");
        assert!(upper.is_none() || better.is_some_and(|better| Some(better) <= upper), "{pair:?}");
    }
    let left = fs::read_dir(folder.path())?.count();
    assert!(left <= 3 + 6, "only temporary files of killed processes may be left: {left}");
    Ok(())
}

#[test]
fn a_resumed_run_of_rounds_is_the_same_each_time() -> Result {
    let (folder, path) = middle()?;
    let at = |name: &str| folder.path().join(name);
    let solve = |rounds: &str, threads: &str, more: &[&std::ffi::OsStr]| {
        let mut command = fangs();
        let _ = command.args(["solve", "--json", "--device", "cpu", "--rounds", rounds, "--threads", threads]);
        object(command.args(more).arg(&path), 0)
    };
    let checkpoint = at("run.ckpt");
    let plain = solve("3", "2", &[])?;
    let kept = solve("3", "1", &["--checkpoint".as_ref(), checkpoint.as_ref(), "--checkpoint-every=1ms".as_ref()])?;
    for field in ["cost", "bound", "rounds", "moves", "ratings", "solution"] {
        assert_eq!(plain[field], kept[field], "checkpoints change nothing: {field}");
    }
    let again: Vec<Value> = ["1", "2"]
        .iter()
        .map(|threads| solve("5", threads, &["--resume".as_ref(), checkpoint.as_ref()]))
        .collect::<Result<_>>()?;
    for field in ["cost", "bound", "rounds", "moves", "ratings", "solution"] {
        assert_eq!(again[0][field], again[1][field], "{field}");
    }
    assert_eq!(again[0]["rounds"], 5);
    assert!(again[0]["moves"].as_u64() > kept["moves"].as_u64() && again[0]["cost"].as_f64() <= kept["cost"].as_f64());
    // nothing remains to be done, and the results are kept
    let ended = solve("3", "1", &["--resume".as_ref(), checkpoint.as_ref()])?;
    assert_eq!((&ended["cost"], &ended["rounds"]), (&kept["cost"], &kept["rounds"]));
    Ok(())
}

#[test]
fn a_checkpoint_that_is_torn_foreign_or_wrong_is_refused() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    let mut command = fangs();
    let _ = command.args(["solve", "--time", "20", "--device", "cpu", "--checkpoint"]).arg(at("run.ckpt"));
    let _ = command.arg(&path).assert().success();
    let text = fs::read_to_string(at("run.ckpt"))?;
    let line = text.lines().next().ok_or("no line")?;
    let resume = |content: &str, network: &Path, words: &[&str]| -> Result {
        fs::write(at("other.ckpt"), content)?;
        let mut command = fangs();
        let _ = command.args(["solve", "--time", "20", "--device", "cpu", "--resume"]).arg(at("other.ckpt"));
        refused(command.arg(network), words)
    };
    for length in [0, 1, text.len() / 2, text.len() - 1] {
        resume(&text[..length], &path, &["other.ckpt", "changed or cut short"])?;
    }
    resume(&text.replacen("\"value\":5", "\"value\":4", 1), &path, &["changed or cut short"])?;
    resume(&sealed("{}")?, &path, &["no checkpoint"])?;
    resume(&sealed(&line.replacen("checkpoint 1", "checkpoint 2", 1))?, &path, &["fangs checkpoint 2", "reads"])?;
    resume(&sealed(&line.replacen("\"value\":5", "\"value\":4", 1))?, &path, &["solution of value 4", "has 5"])?;
    resume(&sealed(&line.replacen("\"bound\":{\"cost\":5", "\"bound\":{\"cost\":6", 1))?, &path, &["bound is above"])?;
    resume(&sealed(&line.replacen("[0,1,0,1]", "[0,1,0,7]", 1))?, &path, &["does not fit"])?;
    fs::write(at("another.wcsp"), FOUR.replacen("0 0 9", "0 0 8", 1))?;
    resume(&text, &at("another.wcsp"), &["other.ckpt", "another network"])?;
    // unchanged, the checkpoint is a proof that nothing remains to be done
    let mut command = fangs();
    let _ = command.args(["solve", "--json", "--device", "cpu", "--resume"]).arg(at("run.ckpt")).arg(&path);
    let result = object(&mut command, 0)?;
    assert_eq!((&result["status"], &result["cost"], &result["bound"]), (&"optimal".into(), &5.into(), &5.into()));
    Ok(())
}

/// The page of a run refers to nothing outside, except the name space of SVG.
#[test]
fn a_page_tells_a_run_and_needs_nothing_else() -> Result {
    let (folder, path) = middle()?;
    let at = |name: &str| folder.path().join(name);
    let mut command = fangs();
    let _ = command.args(["solve", "--json", "--device", "cpu", "--rounds", "3", "--seed", "3", "--report"]);
    let _ = command.arg(at("run page.html")).arg("--certificate").arg(at("run.cert"));
    let result = object(command.arg(&path), 0)?;
    let html = fs::read_to_string(at("run page.html"))?;
    let grouped = |number: &Value| -> String {
        let digits = number.to_string();
        let split = digits.len().saturating_sub(3);
        format!("{},{}", &digits[..split], &digits[split..])
    };
    let seal = fs::read_to_string(at("run.cert"))?;
    for word in [
        "Limit of rounds reached",
        &grouped(&result["cost"]),
        "Who improved what",
        "anneal",
        "324",
        "induced width",
        "a state of the population",
        "run page.html&#39;",
        seal.lines().last().unwrap_or_default(),
    ] {
        assert!(html.replace('\'', "&#39;").contains(word), "{word}: {html}");
    }
    // a run of less than half a second shows no speed
    let pictures = html.matches("<figure").count();
    assert!((2..=3).contains(&pictures) && html.matches("<svg").count() == pictures, "{html}");
    assert!(!html.contains("http-equiv=\"refresh\""), "it has ended");
    let plain = html.replace("http://www.w3.org/2000/svg", "");
    assert!(!plain.contains("http://") && !plain.contains("https://"), "{plain}");
    let data = plain.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next()).ok_or("no data")?;
    let data: Value = serde_json::from_str(data)?;
    let points = data["curves"]["lines"][0]["points"].as_array().ok_or("no points")?;
    assert_eq!(points.last().and_then(|point| point[1].as_f64()), result["cost"].as_f64());
    Ok(())
}

#[test]
fn runs_have_a_page_together() -> Result {
    let (folder, path) = middle()?;
    let at = |name: &str| folder.path().join(name);
    let mut plot = fangs();
    let _ = plot.arg("plot");
    for seed in ["1", "2", "3"] {
        let mut command = fangs();
        let _ = command.args(["solve", "--rounds", "2", "--device", "cpu", "--seed", seed, "--csv"]).arg(at(seed));
        let _ = command.arg(&path).assert().success();
        let _ = plot.arg(at(seed));
    }
    let _ = plot.args(["--title", "a <b>", "-o"]).arg(at("runs.html")).assert().success();
    let html = fs::read_to_string(at("runs.html"))?;
    for word in ["a &lt;b&gt;", "3 runs of 1 instance", "median value", "potts.wcsp"] {
        assert!(html.contains(word), "{word}: {html}");
    }
    assert_eq!((html.matches("<figure").count(), html.matches("<b>").count()), (1, 0));
    Ok(())
}

/// Processes that share a folder, some of which are killed and restarted: all end with the best solution that any of
/// them found, whatever other files are in the folder.
#[cfg(unix)]
#[test]
fn processes_share_what_they_know_and_survive_each_other() -> Result {
    let (folder, path) = middle()?;
    let at = |name: &str| folder.path().join(name);
    let shared = at("shared");
    fs::create_dir(&shared)?;
    fs::write(shared.join("torn.fangs"), "{\"format\":")?;
    fs::write(shared.join("notes.txt"), "mine")?;
    let begin = |place: usize, time: &str| {
        let mut command = std::process::Command::new(program());
        let _ = command.args(["solve", "--json", "--device", "cpu", "--threads", "1", "--time", time]);
        let _ = command.args(["--seed", &(place + 1).to_string(), "--exchange"]).arg(&shared);
        let _ = command.arg("--csv").arg(at(&format!("{place}.csv"))).arg(&path);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    };
    let mut running = vec![begin(0, "60")?, begin(1, "60")?];
    for turn in 0..4 {
        std::thread::sleep(Duration::from_millis(1700));
        kill(std::mem::replace(&mut running[turn % 2], begin(turn % 2, "60")?))?;
    }
    // the best of all completely written files
    let best = || -> Result<Option<(i64, String)>> {
        let mut best: Option<(i64, String)> = None;
        for entry in fs::read_dir(&shared)? {
            let (name, path) = {
                let entry = entry?;
                (entry.file_name(), entry.path())
            };
            let name = name.to_string_lossy().into_owned();
            if name.starts_with('.') || !name.ends_with(".fangs") || name == "torn.fangs" {
                continue;
            }
            let content = fs::read_to_string(path)?;
            let line = content.lines().next().unwrap_or_default();
            assert_eq!(content, sealed(line)?, "{name} is torn");
            let value: Value = serde_json::from_str(line)?;
            let found = &value["solution"];
            let found = found["value"].as_i64().map(|cost| (cost, text(&found["source"])));
            best = best.into_iter().chain(found).min();
        }
        Ok(best)
    };
    // greedy solutions are similar for all seeds
    wait_for(|| best().is_ok_and(|best| best.is_some_and(|(_, source)| !source.ends_with("greedy"))));
    let (known, _) = best()?.ok_or("nothing was shared")?;
    // a late process starts with all shared results
    let late = ended(begin(2, "6")?)?;
    let result: Value = serde_json::from_slice(&late.stdout)?;
    let told = String::from_utf8(late.stderr)?;
    assert!(result["cost"].as_i64() <= Some(known), "{result} {known} {told}");
    assert!(fs::read_to_string(at("2.csv"))?.contains(",exchange/"), "it takes what others have");
    for word in ["torn.fangs: not taken", "notes.txt: not taken"] {
        assert_eq!(told.matches(word).count(), 1, "{word}: {told}");
    }
    for child in running {
        let stop = format!("kill -TERM {}", child.id());
        assert!(std::process::Command::new("sh").args(["-c", &stop]).status()?.success());
        let result: Value = serde_json::from_slice(&ended(child)?.stdout)?;
        assert!(result["cost"].as_i64() <= Some(known), "{result} {known}");
    }
    Ok(())
}

/// A process with a false claim costs the others only a warning.
#[test]
fn a_bound_that_a_solution_refutes_is_refused() -> Result {
    let (folder, path) = middle()?;
    let (shared, csv) = (folder.path().join("shared"), folder.path().join("run.csv"));
    let solve = || {
        let mut command = fangs();
        let _ = command.args(["solve", "--json", "--device", "cpu", "--bound", "none", "--time", "3", "--exchange"]);
        let _ = command.arg(&shared).arg("--csv").arg(&csv).arg(&path);
        command
    };
    let result = object(&mut solve(), 0)?;
    let rows = fs::read_to_string(&csv)?;
    let fields = |row: &str| row.split(',').map(String::from).collect::<Vec<_>>();
    let greedy = rows.lines().map(fields).rfind(|row| row[4] == "solution" && row[8] == "greedy");
    let (greedy, best) = (greedy.ok_or("no first solution")?[1].parse::<i64>()?, result["cost"].as_i64());
    assert!(best < Some(greedy - 1), "{result}");
    // the run accepts the bound at first, and then finds a solution that refutes it
    let file = fs::read_dir(&shared)?.next().ok_or("no file")??.path();
    let mut value: Value = serde_json::from_str(fs::read_to_string(&file)?.lines().next().ok_or("no line")?)?;
    (value["solution"], value["elites"]) = (Value::Null, Value::Array(Vec::new()));
    (value["bound"]["cost"], value["bound"]["value"]) = ((greedy - 1).into(), (greedy - 1).into());
    fs::write(&file, sealed(&value.to_string())?)?;
    let assert = solve().assert().success();
    let told = String::from_utf8(assert.get_output().stderr.clone())?;
    let result: Value = serde_json::from_slice(&assert.get_output().stdout)?;
    assert_eq!(told.matches(&format!("the bound {} of another run", greedy - 1)).count(), 1, "{told}");
    assert!(
        result["cost"].as_i64() < Some(greedy - 1) && result["bound"].as_i64() < result["cost"].as_i64(),
        "{result}"
    );
    assert_eq!(result["status"], "feasible");
    assert!(fs::read_to_string(&csv)?.contains(",exchange/"), "it was taken at first");
    Ok(())
}

#[test]
fn exchange_needs_a_clock_and_a_network() -> Result {
    let (folder, path) = folder_with("four.wcsp", FOUR)?;
    let at = |name: &str| folder.path().join(name);
    let exchange = |file: &Path, more: &[&str], words: &[&str]| {
        refused(fangs().arg("solve").arg(file).arg("--exchange").arg(at("shared")).args(more), words)
    };
    exchange(&path, &["--rounds", "3"], &["--rounds", "--exchange"])?;
    fs::write(at("edge.col"), "p edge 2 1\ne 1 2\n")?;
    exchange(&at("edge.col"), &[], &["--exchange", "--colors"])?;
    fs::write(at("shared"), "a file is no folder")?;
    exchange(&path, &[], &["shared", "cannot exchange"])
}
