//! The command `fangs dcop`.

use super::{FOUR, INFEASIBLE, Result, fangs, folder_with, object, refused};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Two lamps and a model: the optimum is 2.5 with a = 1, b = 1, m = high.
const LAMPS: &str = "name: lamps\nobjective: min\ndomains:\n  level: {values: [0, 1, 2]}\n  \
    light: {values: [low, high]}\n\
    variables:\n  a: {domain: level, cost_function: 1.5 * a}\n  \
    b: {domain: level, cost_function: b}\n  m: {domain: light}\n\
    constraints:\n  model: {type: intention, function: \"0 if (m == 'high') == (a + b >= 2) else 100\"}\n  \
    goal: {type: intention, function: \"0 if m == 'high' else 50\"}\n  \
    pair: {type: extensional, variables: [a, b], default: 0, values: {9: 0 2 | 2 0}}\n\
    agents: [x, y, z]\n";

fn run(path: &Path, more: &[&str], code: i32) -> Result<Value> {
    object(fangs().args(["dcop", "--json", "--device", "cpu"]).arg(path).args(more), code)
}

#[test]
fn an_optimum_by_names() -> Result {
    let (folder, path) = folder_with("lamps.yaml", LAMPS)?;
    let solution = folder.path().join("lamps.sol");
    let trace = folder.path().join("trace.csv");
    let more = [
        "--mode",
        "agents",
        "--latency",
        "1s",
        "--solution",
        &solution.to_string_lossy(),
        "--trace",
        &trace.to_string_lossy(),
    ];
    let found = run(&path, &more, 0)?;
    assert_eq!((&found["status"], &found["cost"], &found["bound"]), (&json!("optimal"), &json!(2.5), &json!(2.5)));
    assert_eq!(found["assignment"], json!({"a": 1, "b": 1, "m": "high"}));
    assert_eq!((&found["algorithm"], &found["z"], &found["agents"]), (&json!("dpop"), &Value::Null, &json!(3)));
    assert_eq!(found["messages"], json!({"util": 2, "value": 2, "tables": 2, "local": 0}));
    assert_eq!((&found["pseudo_tree"]["width"], &found["pseudo_tree"]["depth"]), (&json!(2), &json!(2)));
    assert_eq!((&found["util_entries"], &found["largest_util_entries"]), (&json!(12), &json!(9)));
    // two messages up and two down, one second each
    assert!(found["simulated_s"].as_f64().is_some_and(|s| (4.0..5.0).contains(&s)), "{found}");
    let rows = fs::read_to_string(&trace)?;
    assert_eq!(rows.lines().count(), 4);
    assert!(rows.starts_with("agent,variable,parent,depth,separator,inputs,join_entries,util_entries,tables,"));
    let checked = object(fangs().args(["check", "--json"]).arg(&path).arg(&solution), 0)?;
    assert_eq!(checked["cost"], json!(2.5));
    // the object itself is a solution, too
    fs::write(&solution, found.to_string())?;
    assert_eq!(object(fangs().args(["check", "--json"]).arg(&path).arg(&solution), 0)?["cost"], json!(2.5));
    assert_eq!(object(fangs().args(["solve", "--json"]).arg(&path), 0)?["cost"], json!(2.5));
    let info = object(fangs().args(["info", "--json"]).arg(&path), 0)?;
    assert_eq!(info["pseudo_trees"][0]["width"], json!(2));
    let larger = folder.path().join("larger.yml");
    fs::write(&larger, LAMPS.replace("objective: min", "objective: max"))?;
    let found = run(&larger, &[], 0)?;
    assert_eq!((&found["cost"], &found["status"]), (&json!(162.0), &json!("optimal")));
    Ok(())
}

#[test]
fn metrics_have_the_names_of_pydcop() -> Result {
    let (folder, path) = folder_with("lamps.yaml", LAMPS)?;
    let found = run(&path, &[], 0)?;
    assert_eq!((&found["violation"], &found["cycle"], &found["msg_count"]), (&json!(0), &json!(0), &json!(4)));
    // the values of the separators, of one and of two variables, beside the entries of UTIL messages
    assert_eq!(found["msg_size"], json!(found["util_entries"].as_u64().ok_or("a number")? + 3));
    assert_eq!(found["time"], found["wall_s"]);
    let file = folder.path().join("metrics.csv");
    for algorithm in ["dsa", "mgm", "max-sum"] {
        let more = ["--algorithm", algorithm, "--run-metrics", &file.to_string_lossy()];
        let found = run(&path, &more, 0)?;
        let text = fs::read_to_string(&file)?;
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(rows[0], ["cycle", "time", "cost", "violation", "msg_count", "msg_size", "status"]);
        let (last, cycles) = rows[1..].split_last().ok_or("rows")?;
        assert_eq!(Some(cycles.len() as u64), found["cycle"].as_u64(), "{algorithm}");
        for (number, row) in cycles.iter().enumerate() {
            assert_eq!((row[0], row[6]), (&*(number + 1).to_string(), "RUNNING"), "{algorithm}");
        }
        assert_eq!((last[6], last[3]), ("FINISHED", "0"), "{algorithm}");
        for (column, key) in [(0, "cycle"), (4, "msg_count"), (5, "msg_size")] {
            assert_eq!(last[column], found[key].to_string(), "{algorithm} {key}");
        }
        assert_eq!(last[2].parse::<f64>().ok(), found["cost"].as_f64(), "{algorithm}");
    }
    let mut command = fangs();
    let _ = command.args(["dcop", "--run-metrics", "m.csv"]).arg(&path);
    refused(&mut command, &["--run-metrics is of dsa, mgm and max-sum"])
}

#[test]
fn modes_threads_and_processes_do_not_change_results() -> Result {
    let (_folder, path) = folder_with("four.wcsp", FOUR)?;
    let clocks = ["simulated_s", "util_s", "value_s", "transfer_s", "wall_s", "load_s", "threads", "time"];
    let without = |mut found: Value| {
        clocks.iter().for_each(|clock| drop(found.as_object_mut().map(|object| object.remove(*clock))));
        found
    };
    for z in [&[][..], &["--z", "2"]] {
        let plain = without(run(&path, z, 0)?);
        for more in [
            &["--mode", "agents"][..],
            &["--threads", "1"],
            &["--agents-over", "tcp", "--processes", "1"],
            &["--agents-over", "tcp", "--processes", "3"],
        ] {
            assert_eq!(without(run(&path, &[z, more].concat(), 0)?), plain, "{more:?}");
        }
        assert_eq!(plain["cost"], json!(if z.is_empty() { 5 } else { plain["cost"].as_i64().unwrap_or(0) }));
    }
    let limited = run(&path, &["--message-limit", "1"], 0)?;
    assert_eq!((&limited["cost"], &limited["status"]), (&json!(5), &json!("optimal")));
    let cut = &limited["message_limit"];
    assert!(cut["contexts"].as_u64() > Some(1) && cut["runs"].as_u64() > Some(1), "{limited}");
    assert!(limited["messages"]["repeated"].is_u64() && cut["cut_variables"] == json!(["x1", "x3"]), "{limited}");
    for algorithm in ["dsa", "mgm", "max-sum"] {
        let found = run(&path, &["--algorithm", algorithm], 0)?;
        assert!(found["cost"].as_i64().is_some_and(|cost| cost >= 5) && found["cycles"].is_u64(), "{found}");
    }
    Ok(())
}

#[test]
fn there_may_be_no_solution() -> Result {
    let (_folder, path) = folder_with("none.wcsp", INFEASIBLE)?;
    for more in [&[][..], &["--mode", "agents"], &["--message-limit", "1"], &["--agents-over", "tcp"]] {
        let found = run(&path, more, 4)?;
        assert_eq!(
            (&found["status"], &found["cost"], &found["assignment"]),
            (&json!("infeasible"), &Value::Null, &Value::Null)
        );
    }
    Ok(())
}

#[test]
fn a_run_that_is_stopped_has_an_assignment_and_a_bound() -> Result {
    let (folder, path) = super::hard()?;
    let solution = folder.path().join("best.sol");
    for more in [&["--algorithm", "adpop"][..], &["--mode", "agents"], &["--agents-over", "tcp"]] {
        let limits = ["-t", "1s", "--bound-memory", "512M", "--solution", &solution.to_string_lossy()];
        let found = run(&path, &[&limits[..], more].concat(), 0)?;
        let (cost, bound) = (found["cost"].as_i64(), found["bound"].as_i64());
        assert!(found["status"] == json!("bounded") && bound.is_some() && bound < cost, "{found}");
        let checked = object(fangs().args(["check", "--json"]).arg(&path).arg(&solution), 0)?;
        assert_eq!(checked["cost"].as_i64(), cost);
    }
    // costs that exceed those of limited messages
    let path = folder.path().join("large.wcsp");
    let large = 1_i64 << 55;
    fs::write(
        &path,
        format!(
            "large 3 2 3 {}\n2 2 2\n2 0 1 {large} 1\n0 0 0\n2 1 2 1 1\n0 1 {large}\n2 0 2 2 1\n1 1 5\n",
            large << 2
        ),
    )?;
    let found = run(&path, &["--message-limit", "1"], 1)?;
    assert!(found["cost"].is_number() && found["assignment_from"].is_string(), "{found}");
    Ok(())
}

#[test]
fn mistakes_are_told() -> Result {
    let (folder, path) = folder_with("lamps.yaml", LAMPS)?;
    let tree = folder.path().join("tree");
    fs::write(&tree, "m\na m\nb m\n")?;
    let file = format!("file:{}", tree.to_string_lossy());
    let dcop = |more: &[&str]| {
        let mut command = fangs();
        let _ = command.arg("dcop").arg(&path).args(more);
        command
    };
    refused(&mut dcop(&["--pseudo-tree", &file]), &["do not lie on one branch", "function model (m, a, b)"])?;
    fs::write(&tree, "m\na m\nb a # below a\n")?;
    assert_eq!(run(&path, &["--pseudo-tree", &file], 0)?["cost"], json!(2.5));
    fs::write(&tree, "m\na m\n")?;
    refused(&mut dcop(&["--pseudo-tree", &file]), &["variable b is missing"])?;
    refused(&mut dcop(&["--root", "w"]), &["--root: no function reads a variable w"])?;
    refused(&mut dcop(&["--pseudo-tree", "order", "--root", "m"]), &["--root is of depth-first trees"])?;
    refused(&mut dcop(&["--algorithm", "dpop", "--z", "2"]), &["--z is of --algorithm adpop"])?;
    refused(&mut dcop(&["--algorithm", "dpop", "--bound-memory", "8"]), &["DPOP does not fit into 8 bytes"])?;
    refused(&mut dcop(&["--pseudo-tree", "best"]), &["expected one of dfs, "])?;
    assert_eq!(run(&path, &["--root", "b"], 0)?["cost"], json!(2.5));
    let wrong = folder.path().join("wrong.yaml");
    fs::write(&wrong, LAMPS.replace("1.5 * a", "1.5 * q"))?;
    refused(fangs().arg("dcop").arg(&wrong), &["wrong.yaml:7:43: found `q`, expected a variable"])?;
    Ok(())
}

/// Kills one of four processes while another is stopped, so that the run cannot end before.
#[cfg(target_os = "linux")]
#[test]
fn a_lost_agent_ends_the_run() -> Result {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("random.wcsp");
    let kind = ["generate", "random", "--n", "14", "--d", "60", "--p1", "0.25", "-o"];
    let _ = fangs().args(kind).arg(&path).assert().success();
    let mut run = Command::new(super::program());
    let _ =
        run.args(["dcop", "--agents-over", "tcp", "--processes", "4", "--algorithm", "adpop", "--z", "4"]).arg(&path);
    let child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let began = Instant::now();
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let agents = loop {
        let tasks = fs::read_dir(format!("/proc/{}/task", child.id()))?.flatten();
        let all: Vec<String> = tasks
            .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
            .flat_map(|text| text.split_whitespace().map(String::from).collect::<Vec<_>>())
            .collect();
        // a process that is not running the program yet would be stopped before it knows of the others
        let is_agent = |id: &String| {
            fs::read_to_string(format!("/proc/{id}/cmdline")).is_ok_and(|command| command.contains("dcop-agent"))
        };
        if all.len() == 4 && all.iter().all(is_agent) {
            break all;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "no agents in {children}");
    };
    let signal = |name: &str, agent: &String| Command::new("kill").args([name, agent]).status();
    assert!(signal("-STOP", &agents[3])?.success());
    assert!(signal("-KILL", &agents[1])?.success());
    let ended = child.wait_with_output()?;
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(ended.status.code(), Some(1));
    let message = String::from_utf8(ended.stderr)?;
    assert!(message.contains("agent process") && message.contains("was lost (signal: 9"), "{message}");
    assert!(ended.stdout.is_empty() && agents.iter().all(|agent| !Path::new("/proc").join(agent).join("exe").exists()));
    Ok(())
}

/// Starts an agent process that waits for the message of a child in another process; returns its port too.
#[cfg(target_os = "linux")]
fn waiting_agent() -> Result<(std::process::Child, u16)> {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};
    let mut agent =
        Command::new(super::program()).arg("dcop-agent").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut lengths = [0; 16];
    let output = agent.stdout.as_mut().expect("it is piped");
    output.read_exact(&mut lengths)?;
    let mut head = vec![0; usize::from(lengths[0])];
    output.read_exact(&mut head)?;
    let port = serde_json::from_slice::<Value>(&head)?["Port"].as_u64().and_then(|port| u16::try_from(port).ok());
    let child = json!({ "variable": 1, "process": 1, "separator": [0] });
    let node = json!({ "variables": [0], "domains": [2], "unary": [0, 0], "functions": [], "steps": [], "receives": [],
        "first_step": 0, "parent": null, "children": [child] });
    let setup = json!({ "Setup": { "token": "0123456789abcdef".repeat(2), "longest": { "head": 1000, "tables": 1000 },
        "threads": 1, "wide": true, "cap": 9, "top": 9, "ports": [port, 1], "own": 0, "nodes": [node] } });
    let text = setup.to_string();
    let input = agent.stdin.as_mut().expect("it is piped");
    input.write_all(&(text.len() as u128).to_le_bytes())?;
    input.write_all(text.as_bytes())?;
    Ok((agent, port.expect("a port")))
}

#[test]
#[cfg(target_os = "linux")]
fn connections_without_a_token_cost_an_agent_neither_memory_nor_threads() -> Result {
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpStream};
    let (mut agent, port) = waiting_agent()?;
    let status = |name: &str| -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", agent.id())).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(u64::MAX)
    };
    let (mut most_threads, mut most_kilobytes) = (0, 0);
    let (idle_kilobytes, mut open) = (status("VmPeak:"), Vec::new());
    for number in 0..100 {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        if number % 10 == 0 {
            // a header that announces 4 GiB; an agent may have closed the connection
            let _ = stream.write_all(&(1u128 << 32).to_le_bytes()).and_then(|()| stream.write_all(&[b' '; 1 << 16]));
        }
        open.push(stream);
        std::thread::sleep(std::time::Duration::from_millis(2));
        most_threads = most_threads.max(status("Threads:"));
        most_kilobytes = most_kilobytes.max(status("VmPeak:") - idle_kilobytes);
    }
    assert!(agent.try_wait()?.is_none(), "it goes on waiting");
    assert!(most_threads < 10 && most_kilobytes < 1 << 20, "{most_threads} threads, {most_kilobytes} kB");
    drop(agent.stdin.take());
    assert!(agent.wait()?.success());
    Ok(())
}

#[test]
fn names_are_no_formulas_in_csv_files() -> Result {
    let text = LAMPS.replace("[x, y, z]", "['=1+1', '+2*3', '@y']").replace("a: {", "'-a': {");
    let text = text
        .replace("1.5 * a", "1")
        .replace("(a + b", "(b")
        .replace("[a, b]", "['-a', m]")
        .replace("0 2 | 2 0", "0 low");
    let (folder, path) = folder_with("=lamps.yaml", &text)?;
    let (trace, rows) = (folder.path().join("trace.csv"), folder.path().join("rows.csv"));
    let traced = run(&path, &["--mode", "agents", "--trace", &trace.to_string_lossy()], 0)?;
    assert_eq!(traced["assignment"]["-a"], json!(0));
    let mut solve = fangs();
    let _ = solve.current_dir(folder.path()).args(["solve", "=lamps.yaml", "--json", "--device", "cpu", "--csv"]);
    assert_eq!(object(solve.arg(&rows), 0)?["status"], json!("optimal"));
    for (path, names) in [(&trace, &["'=1+1", "'+2*3", "'@y", "'-a"][..]), (&rows, &["'=lamps.yaml"])] {
        let text = fs::read_to_string(path)?;
        let fields: Vec<&str> = text.lines().flat_map(|line| line.split(',')).collect();
        assert!(names.iter().all(|name| fields.contains(name)), "{text}");
        let formula = |field: &&&str| field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err();
        assert_eq!(fields.iter().find(formula), None, "{text}");
    }
    Ok(())
}
