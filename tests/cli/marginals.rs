//! `fangs marginals`, and `fangs check --marginals`.

use super::*;

pub const RAIN: &str = "network garden { }
variable rain { type discrete [ 2 ] { yes, no }; }
variable sprinkler { type discrete [ 2 ] { on, off }; }
variable grass { type discrete [ 2 ] { wet, dry }; }
probability ( rain ) { table 0.25, 0.75; }
probability ( sprinkler | rain ) { (yes) 0.125, 0.875; (no) 0.5, 0.5; }
probability ( grass | rain, sprinkler ) {
  (yes, on) 1.0, 0.0;
  (yes, off) 0.75, 0.25;
  (no, on) 0.75, 0.25;
  (no, off) 0.0, 1.0;
}
";

/// P(wet grass), by hand: 0.25 * (0.125 + 0.875 * 0.75) + 0.75 * 0.5 * 0.75.
const WET: f64 = 0.4765625;

fn number(object: &Value, key: &str) -> f64 {
    object[key].as_f64().unwrap_or(f64::NAN)
}

fn near(found: &Value, expected: &[f64]) {
    let found: Vec<f64> = found.as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?} {expected:?}");
}

#[test]
fn posteriors_by_names_and_by_a_file_of_evidence() -> Result {
    let (folder, path) = folder_with("rain.bif", RAIN)?;
    let found = object(fangs().arg("marginals").arg(&path).args(["--observe", "grass=wet", "--json"]), 0)?;
    assert!((number(&found, "ln_z") - WET.ln()).abs() < 1e-15);
    assert!((number(&found, "log10_z") - WET.log10()).abs() < 1e-15);
    assert_eq!((&found["task"], &found["status"]), (&"MAR".into(), &"exact".into()));
    near(&found["marginals"]["rain"], &[0.1953125 / WET, 0.28125 / WET]);
    let names: Vec<&String> = found["marginals"].as_object().expect("a map").keys().collect();
    assert_eq!(names, ["rain", "sprinkler"]);
    let keys = [
        "instance",
        "version",
        "error_bound",
        "underflow",
        "order",
        "induced_width",
        "cliques",
        "largest_clique",
        "clique_entries",
        "messages_bytes",
        "device",
        "threads",
        "load_s",
        "order_s",
        "collect_s",
        "distribute_s",
        "transfer_s",
        "kernels_s",
        "time_s",
    ];
    assert!(keys.iter().all(|key| !found[key].is_null()), "{found}");
    let evid = folder.path().join("e.evid");
    fs::write(&evid, "1 2 0")?;
    let again = object(fangs().arg("marginals").arg(&path).arg("--evidence").arg(&evid).arg("--json"), 0)?;
    assert_eq!(again["marginals"], found["marginals"]);
    let soft = object(fangs().arg("marginals").arg(&path).args(["--soft", "grass=3:0", "--json"]), 0)?;
    assert!((number(&soft, "ln_z") - (3.0 * WET).ln()).abs() < 1e-15);
    near(&soft["marginals"]["grass"], &[1.0, 0.0]);
    let some = object(fangs().arg("marginals").arg(&path).args(["--variables", "2,rain", "--json"]), 0)?;
    assert_eq!(some["marginals"].as_object().map(|map| map.len()), Some(2));
    let only = object(fangs().arg("marginals").arg(&path).args(["--only-z", "--json"]), 0)?;
    assert_eq!((&only["task"], &only["marginals"]), (&"PR".into(), &Value::Null));
    let text = fangs().arg("marginals").arg(&path).args(["--observe", "grass=wet"]).assert().success();
    let text = String::from_utf8(text.get_output().stdout.clone())?;
    assert!(text.contains("rain  yes 0.409836  no 0.590164") && text.contains("ln Z        -0.741"), "{text}");
    Ok(())
}

#[test]
fn files_of_the_competitions() -> Result {
    let (folder, path) = folder_with("coins.uai", COINS)?;
    let prefix = folder.path().join("out");
    let _ = fangs().arg("marginals").arg(&path).args(["--observe", "0=1", "--uai"]).arg(&prefix).assert().success();
    let pr = fs::read_to_string(folder.path().join("out.PR"))?;
    let log10: f64 = pr.strip_prefix("PR\n").unwrap_or_default().trim().parse()?;
    assert!((log10 - 0.5f64.log10()).abs() < 1e-15, "{pr}");
    let mar = fs::read_to_string(folder.path().join("out.MAR"))?;
    let words: Vec<&str> = mar.split_whitespace().collect();
    assert_eq!(words[..5], ["MAR", "3", "2", "0", "1"]);
    assert!(words.len() == 11 && (words[7].parse::<f64>()? - 0.9).abs() < 1e-15, "{mar}");
    Ok(())
}

#[test]
fn impossible_evidence_and_too_little_memory_have_exit_codes_of_their_own() -> Result {
    let (_folder, path) = folder_with("rain.bif", RAIN)?;
    let impossible = "rain=no,sprinkler=off,grass=wet";
    let found = object(fangs().arg("marginals").arg(&path).args(["--observe", impossible, "--json"]), 4)?;
    assert_eq!((&found["status"], &found["ln_z"]), (&"impossible evidence".into(), &Value::Null));
    assert_eq!(found["marginals"], Value::Null);
    let mut little = fangs();
    let _ = little.arg("marginals").arg(&path).args(["--device", "cpu", "--bound-memory", "16", "--json"]);
    let found = object(&mut little, 3)?;
    assert_eq!((&found["status"], &found["ln_z"]), (&"memory".into(), &Value::Null));
    assert!(number(&found, "bytes") > 16.0);
    let told = String::from_utf8(little.assert().get_output().stderr.clone())?;
    assert!(told.contains(&format!("would take {} bytes", found["bytes"])), "{told}");
    Ok(())
}

/// Returns a torus of n by n spins with entries from 1 to 2; a third of the pairs prefer different spins.
fn torus(n: usize) -> String {
    let pairs: Vec<(usize, usize)> =
        (0..n * n).flat_map(|v| [(v, v / n * n + (v + 1) % n), (v, (v + n) % (n * n))]).collect();
    let mut text = format!("MARKOV\n{}\n{}\n{}\n", n * n, "2 ".repeat(n * n), pairs.len());
    pairs.iter().for_each(|(a, b)| text.push_str(&format!("2 {a} {b}\n")));
    for k in 0..pairs.len() {
        text += &if k % 3 == 0 { format!("4 1 1.{k} 1.{k} 1\n") } else { format!("4 1.{k} 1 1 1.{k}\n") };
    }
    text
}

#[test]
fn sums_whose_tables_do_not_fit_are_bounded_from_both_sides() -> Result {
    let folder = tempfile::tempdir()?;
    let (path, csv) = (folder.path().join("grid.uai"), folder.path().join("run.csv"));
    // tables would have 2^60 entries
    fs::write(&path, torus(30))?;
    let mut command = fangs();
    let _ = command.arg("marginals").arg(&path).args(["--device", "cpu", "--bound-memory", "4M", "-t", "4", "--json"]);
    let _ = command.arg("--bounds-csv").arg(&csv);
    let found = object(&mut command, 0)?;
    assert_eq!(found["status"], "bounds");
    let upper = number(&found, "ln_z_upper");
    // all entries are at least 1, and at most 2
    assert!((900.0 * 2f64.ln()..2700.0 * 2f64.ln()).contains(&upper), "{found}");
    assert!((0.0..=upper).contains(&number(&found, "ln_z_lower")), "{found}");
    let last = check_csv(&csv, true)?;
    assert!((last[1].parse::<f64>()? - upper).abs() < 1e-9, "{last:?}");
    // there is an interval whatever the limits are
    for (time, memory) in [("1ms", "64k"), ("10ms", "1G"), ("300ms", "1M")] {
        let mut command = fangs();
        let _ = command.arg("marginals").arg(&path).args(["-t", time, "--bound-memory", memory, "--json"]);
        let found = object(command.args(["--device", "cpu"]), 0)?;
        assert!((900.0 * 2f64.ln()..1e4).contains(&number(&found, "ln_z_upper")), "{time} {memory}: {found}");
    }
    Ok(())
}

#[test]
fn the_values_of_the_largest_sum() -> Result {
    let (folder, path) = folder_with("rain.bif", RAIN)?;
    let map = folder.path().join("rain.map");
    fs::write(&map, "# rain and sprinkler\n2 0 1\n")?;
    let mut command = fangs();
    let _ = command.arg("marginals").arg(&path).args(["--observe", "grass=wet", "--json", "--maximize"]).arg(&map);
    let found = object(&mut command, 0)?;
    assert!((number(&found, "ln_z") - 0.28125f64.ln()).abs() < 1e-15, "{found}");
    assert_eq!(found["assignment"], serde_json::json!({"rain": "no", "sprinkler": "on"}));
    let out = folder.path().join("out.json");
    fs::write(&out, found.to_string())?;
    let _ = fangs().arg("check").arg(&path).arg("--marginals").arg(&out).assert().success();
    fs::write(&map, "2 0 0")?;
    refused(fangs().arg("marginals").arg(&path).arg("--maximize").arg(&map), &["rain.map:1:5", "not there yet"])
}

/// Prepares a torus, a list of every other variable, and a command that maximises them with little memory.
fn little(folder: &Path, n: usize, options: &[&str]) -> Result<std::process::Command> {
    let (path, map) = (folder.join("grid.uai"), folder.join("grid.map"));
    fs::write(&path, torus(n))?;
    let half: Vec<String> = (0..n * n).step_by(2).map(|v| v.to_string()).collect();
    fs::write(&map, format!("{} {}", half.len(), half.join(" ")))?;
    let mut command = std::process::Command::new(program());
    let _ = command.arg("marginals").arg(&path).arg("--maximize").arg(&map).args(options);
    let _ = command.args(["--bounds-csv".as_ref(), folder.join("run.csv").as_os_str(), "--json".as_ref()]);
    Ok(command)
}

/// Checks the object of a run that was stopped.
fn bounded(folder: &Path, found: &Value, variables: usize) -> Result {
    assert_eq!((&found["task"], &found["status"]), (&"MMAP".into(), &"bounds".into()), "{found}");
    let (lower, upper) = (number(found, "ln_z_lower"), number(found, "ln_z_upper"));
    // four tables for each chosen variable, and one of two values for each other variable
    assert!(lower <= upper && upper < 5.0 * variables as f64 * 2f64.ln(), "{found}");
    assert_eq!(found["assignment"].as_object().map(serde_json::Map::len), Some(variables));
    let last = check_csv(&folder.join("run.csv"), true)?;
    assert!((last[1].parse::<f64>()? - upper).abs() < 1e-9, "{last:?}");
    assert!((last[2].parse::<f64>()? - lower).abs() < 1e-9, "{last:?}");
    let out = folder.join("out.json");
    let check = |object: &Value| -> Result<Command> {
        fs::write(&out, object.to_string())?;
        let mut command = fangs();
        let _ = command.arg("check").arg(folder.join("grid.uai")).arg("--marginals").arg(&out);
        Ok(command)
    };
    let _ = check(found)?.assert().success();
    let mut wrong = found.clone();
    wrong["ln_z_lower"] = Value::from(upper + 1.0);
    let told = check(&wrong)?.assert().code(1).get_output().clone();
    assert!(String::from_utf8(told.stderr)?.contains("at least"));
    Ok(())
}

#[test]
fn largest_sums_whose_tables_do_not_fit_have_bounds_and_values() -> Result {
    let folder = tempfile::tempdir()?;
    let options = ["-t", "4", "--bound-memory", "2M", "--threads", "2"];
    let output = little(folder.path(), 30, &options)?.output()?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    bounded(folder.path(), &serde_json::from_slice(&output.stdout)?, 450)?;
    // bounds that meet agree with exact tables
    let small = ["-t", "60", "--bound-memory", "8K"];
    let output = little(folder.path(), 4, &small)?.output()?;
    let met: Value = serde_json::from_slice(&output.stdout)?;
    let exact: Value = serde_json::from_slice(&little(folder.path(), 4, &["-t", "60"])?.output()?.stdout)?;
    assert_eq!((&met["status"], &met["open_parts"], &met["checked"]), (&"exact".into(), &0.into(), &true.into()));
    assert!(exact["status"] == "exact" && exact["ln_z_upper"].is_null(), "{exact}");
    assert!((number(&met, "ln_z") - number(&exact, "ln_z")).abs() < 1e-12, "{met} {exact}");
    Ok(())
}

#[test]
fn a_signal_keeps_the_values_and_both_bounds() -> Result {
    let folder = tempfile::tempdir()?;
    let options = ["-t", "60", "--bound-memory", "2M", "--threads", "2"];
    let child = little(folder.path(), 30, &options)?.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let has_both = |row: &str| row.split(',').skip(1).take(2).all(|bound| bound.parse::<f64>().is_ok());
    let rows = || fs::read_to_string(folder.path().join("run.csv")).unwrap_or_default();
    wait_for(|| rows().lines().any(has_both));
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    let began = Instant::now();
    let output = ended(child)?;
    let took = began.elapsed();
    assert!(
        kill.success() && took < Duration::from_secs(3) && output.status.code() == Some(130),
        "{took:?} {output:?}"
    );
    bounded(folder.path(), &serde_json::from_slice(&output.stdout)?, 450)
}

#[test]
fn costs_become_potentials_by_a_temperature() -> Result {
    let (_folder, path) = folder_with("four.wcsp", FOUR)?;
    refused(fangs().arg("marginals").arg(&path), &["--temperature"])?;
    let cold = object(fangs().arg("marginals").arg(&path).args(["--temperature", "0.01", "--json"]), 0)?;
    // the optimum is 5, the next assignment costs one more
    assert!((number(&cold, "ln_z") + 500.0).abs() < 1e-12, "{cold}");
    near(&cold["marginals"]["1"], &[0.0, 1.0]);
    Ok(())
}

#[test]
fn a_vartype_is_stated_for_files_without_one() -> Result {
    let (_folder, path) = folder_with("pair.coo", "0 0 1\n0 1 -2\n")?;
    let marginals = || {
        let mut command = fangs();
        let _ = command.arg("marginals").arg(&path).args(["--temperature", "1", "--json"]);
        command
    };
    refused(&mut marginals(), &["--vartype"])?;
    let sum = |costs: [f64; 4]| costs.iter().map(|cost| (-cost).exp()).sum::<f64>().ln();
    for (kind, costs) in [("binary", [0.0, 0.0, 1.0, -1.0]), ("SPIN", [-3.0, 1.0, 3.0, -1.0])] {
        let found = object(marginals().args(["--vartype", kind]), 0)?;
        assert!((number(&found, "ln_z") - sum(costs)).abs() < 1e-12, "{kind}: {found}");
    }
    Ok(())
}

#[test]
fn numbers_far_apart_are_summed_at_once() -> Result {
    let (folder, path) = folder_with("far.LG", "MARKOV 2 2 3 2 1 0 2 0 1 2 7e9 0 6 0 -1 -inf 2 2 2")?;
    let found = object(fangs().arg("marginals").arg(&path).arg("--json"), 0)?;
    assert!((number(&found, "ln_z") - 7e9 - (1.0 + (-1f64).exp()).ln()).abs() < 1e-5, "{found}");
    near(&found["marginals"]["0"], &[1.0, 0.0]);
    let other = object(fangs().arg("marginals").arg(&path).args(["--observe", "0=1", "--json"]), 0)?;
    assert!((number(&other, "ln_z") - 2.0 - 3f64.ln()).abs() < 1e-5, "{other}");
    let constant = folder.path().join("constant.LG");
    fs::write(&constant, "MARKOV 2 2 3 1 0 1 3e17")?;
    for command in ["solve", "info", "bound"] {
        refused(fangs().arg(command).arg(&constant), &["constant.LG", "64-bit costs"])?;
    }
    refused(fangs().arg("marginals").arg(&constant), &["constant.LG", "a logarithm of 3e17"])
}

#[test]
fn a_sum_of_nothing_is_no_matter_of_evidence() -> Result {
    let text = RAIN.replace("table 0.25, 0.75", "table 0, 0");
    let (_folder, path) = folder_with("none.bif", &text)?;
    let found = fangs().arg("marginals").arg(&path).output()?;
    let [out, told] = [&found.stdout, &found.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert_eq!(found.status.code(), Some(4));
    assert!(told.contains("the probabilities of rain are all 0"), "{told}");
    assert!(out.contains("the sum is 0") && !out.contains("evidence"), "{out}");
    Ok(())
}

#[test]
fn wrong_names_and_devices_are_refused() -> Result {
    let (folder, path) = folder_with("rain.bif", RAIN)?;
    for (options, words) in [
        (&["--observe", "snow=yes"][..], &["snow"][..]),
        (&["--observe", "rain=maybe"], &["maybe", "yes, no"]),
        (&["--observe", "rain"], &["NAME=VALUE"]),
        (&["--soft", "rain=1"], &["expected 2 numbers"]),
        (&["--variables", "snow"], &["snow"]),
        (&["--device", "cuda:4096"], &["device cuda:4096: ", "auto or cpu run without it"]),
        (&["--device", "cuda", "--maximize", "some.map"], &["--maximize runs on the CPU"]),
        (&["--temperature", "0"], &["above 0"]),
        (&["--order", "best,worst"], &["min-fill"]),
        (&["--only-z", "--variables", "rain"], &["cannot be used with"]),
    ] {
        refused(fangs().arg("marginals").arg(&path).args(options), words)?;
    }
    let cases = folder.path().join("cases.jsonl");
    for (line, words) in [
        ("{\"rain\": \"maybe\"}", &["cases.jsonl:1", "maybe"][..]),
        ("[1]", &["cases.jsonl:1"]),
        ("{\"rain\": true}", &["cases.jsonl:1", "true"]),
    ] {
        fs::write(&cases, line)?;
        refused(fangs().arg("marginals").arg(&path).arg("--cases").arg(&cases), words)?;
    }
    Ok(())
}

#[test]
fn a_device_is_used_where_it_is_named() -> Result {
    if fangs_testing::gpu().is_none() {
        return Ok(());
    }
    let (_folder, path) = folder_with("rain.bif", RAIN)?;
    let on = |device: &str| {
        let mut command = fangs();
        let _ = command.arg("marginals").arg(&path).args(["--observe", "grass=wet", "--json", "--device", device]);
        command
    };
    let (host, device) = (object(&mut on("cpu"), 0)?, object(&mut on("cuda:0"), 0)?);
    assert_eq!((&host["device"], &device["device"]), (&"cpu".into(), &"cuda:0".into()));
    assert!((number(&host, "ln_z") - number(&device, "ln_z")).abs() <= 2.0 * number(&host, "error_bound"));
    near(&device["marginals"]["rain"], &[0.1953125 / WET, 0.28125 / WET]);
    Ok(())
}

#[test]
fn many_cases_are_a_line_each() -> Result {
    let (folder, path) = folder_with("rain.bif", RAIN)?;
    let cases = folder.path().join("cases.jsonl");
    fs::write(
        &cases,
        "{}\n{\"grass\": \"wet\"}\n\n{\"grass\": 0, \"rain\": [0, 1]}\n\
         {\"rain\": \"no\", \"sprinkler\": 1, \"grass\": 0}\n",
    )?;
    let rows = folder.path().join("cases.csv");
    fs::write(&rows, "grass,rain\n,\nwet,\nwet,no\n")?;
    let lines_on = |device: &str, cases: &Path| -> Result<Vec<Value>> {
        let mut command = fangs();
        let output = command.arg("marginals").arg(&path).arg("--cases").arg(cases).args(["--device", device]);
        let text = String::from_utf8(output.assert().success().get_output().stdout.clone())?;
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    };
    let lines = |cases: &Path| lines_on("cpu", cases);
    let (objects, table) = (lines(&cases)?, lines(&rows)?);
    if fangs_testing::gpu().is_some() {
        for (object, other) in objects.iter().zip(lines_on("cuda:0", &cases)?) {
            assert_eq!((&object["case"], &object["status"]), (&other["case"], &other["status"]));
            if object["status"] == "exact" {
                assert_eq!(other["device"], "cuda:0");
                assert!((number(object, "ln_z") - number(&other, "ln_z")).abs() < 1e-14, "{other}");
                let own: Vec<f64> =
                    serde_json::from_value(object["marginals"]["sprinkler"].clone()).unwrap_or_default();
                if !own.is_empty() {
                    near(&other["marginals"]["sprinkler"], &own);
                }
            }
        }
    }
    assert_eq!(objects.iter().map(|line| number(line, "case")).collect::<Vec<_>>(), [1.0, 2.0, 4.0, 5.0]);
    assert_eq!(objects[3]["status"], "impossible evidence");
    for (object, row) in objects.iter().zip(&table) {
        assert!((number(object, "ln_z") - number(row, "ln_z")).abs() < 1e-15);
        assert_eq!(object["marginals"]["sprinkler"], row["marginals"]["sprinkler"]);
    }
    assert!((number(&table[2], "ln_z") - 0.28125f64.ln()).abs() < 1e-15);
    // the checker accepts all lines at once, or one object of `--json`
    let out = folder.path().join("out.json");
    fs::write(&out, objects.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    let checked = object(fangs().arg("check").arg(&path).arg("--marginals").arg(&out).arg("--json"), 0)?;
    assert_eq!(number(&checked, "checked"), 4.0);
    Ok(())
}

#[test]
fn wrong_marginals_are_refused_by_the_checker() -> Result {
    let (folder, path) = folder_with("rain.bif", RAIN)?;
    let found = object(fangs().arg("marginals").arg(&path).args(["--observe", "grass=wet", "--json"]), 0)?;
    let out = folder.path().join("out.json");
    let check = |object: &Value| -> Result<Command> {
        fs::write(&out, object.to_string())?;
        let mut command = fangs();
        let _ = command.arg("check").arg(&path).arg("--marginals").arg(&out);
        Ok(command)
    };
    let agrees = check(&found)?.assert().success();
    assert!(String::from_utf8(agrees.get_output().stdout.clone())?.contains("1 sum and 2 posteriors agree"));
    let changes: [fn(&mut Value); 5] = [
        |object| object["ln_z"] = Value::from(-0.7411),
        |object| object["marginals"]["rain"] = serde_json::json!([0.5, 0.5]),
        |object| object["evidence"] = serde_json::json!({}),
        |object| object["evidence"] = serde_json::json!({"grass": "dry"}),
        |object| object["status"] = "impossible evidence".into(),
    ];
    for change in changes {
        let mut wrong = found.clone();
        change(&mut wrong);
        let told = check(&wrong)?.assert().code(1).get_output().clone();
        assert!(String::from_utf8(told.stderr)?.contains("refused"), "{wrong}");
    }
    let evid = folder.path().join("other.evid");
    fs::write(&evid, "1 2 1")?;
    let _ = check(&found)?.arg("--evidence").arg(&evid).assert().code(1);
    fs::write(&out, "{\"status\": \"exact\"}")?;
    refused(fangs().arg("check").arg(&path).arg("--marginals").arg(&out), &["ln_z"])
}
