//! Graphs whose number of colors is not given.

use super::*;

/// Returns the text of a graph whose vertices are counted from 1.
fn col(vertices: u32, edge: impl Fn(u32, u32) -> bool) -> String {
    let pairs = (1..=vertices).flat_map(|v| (1..v).map(move |u| (u, v)));
    let edges: Vec<String> = pairs.filter(|&(u, v)| edge(u, v)).map(|(u, v)| format!("e {u} {v}\n")).collect();
    format!("p edge {vertices} {}\n{}", edges.len(), edges.concat())
}

fn queens(side: u32) -> String {
    col(side * side, |u, v| {
        let (u, v) = (u - 1, v - 1);
        let (x, y) = ((u % side).abs_diff(v % side), (u / side).abs_diff(v / side));
        x == 0 || y == 0 || x == y
    })
}

/// Returns a graph with about half of all edges, mixed so that no coloring is easy.
fn dense(vertices: u32) -> String {
    col(vertices, |u, v| (u * 7919 + v * 104_729 + u * v * 31) % 97 < 48)
}

fn petersen() -> String {
    col(10, |u, v| match (u <= 5, v <= 5) {
        (true, true) => v - u == 1 || v - u == 4,
        (false, false) => v - u == 2 || v - u == 3,
        _ => v == u + 5,
    })
}

#[test]
fn the_least_number_of_colors_is_found_and_proven() -> Result {
    for (text, least) in [
        (petersen(), 3),
        (queens(5), 5),
        (queens(6), 7),
        ("p edge 4 0\n".into(), 1),
        ("p edge 0 0\n".into(), 0),
        ("p col 5 4\ne 1 2\ne 2 3\ne 3 4\ne 4 5\n".into(), 2),
    ] {
        let (folder, path) = folder_with("graph.col", &text)?;
        let at = |name: &str| folder.path().join(name);
        let (csv, solution) = (at("run.csv"), at("run.sol"));
        let mut command = fangs();
        let _ = command.arg("solve").arg(&path).args(["--json", "--device", "cpu", "--csv"]).arg(&csv);
        let found = object(command.arg("--solution").arg(&solution), 0)?;
        assert_eq!((found["status"].as_str(), found["stopped_by"].as_str()), (Some("optimal"), Some("optimal")));
        for field in ["cost", "bound"] {
            assert_eq!(found[field].as_i64(), Some(least), "{field} of {text}");
        }
        assert_eq!(found["gap"].as_f64(), Some(0.0));
        let rows = fs::read_to_string(&csv)?;
        assert!(rows.lines().filter(|row| row.contains(",solution,")).count() > 0, "{rows}");
        same(&check_csv(&csv, false)?, &found, false);
        let checked = object(fangs().arg("check").arg(&path).arg(&solution).arg("--json"), 0)?;
        assert_eq!((checked["cost"].as_i64(), checked["solution"].as_bool()), (Some(least), Some(true)));
        assert_eq!(checked["monochromatic"].as_array().map(Vec::len), Some(0));
    }
    Ok(())
}

#[test]
fn budgets_are_for_all_numbers_of_colors_together() -> Result {
    let (folder, path) = folder_with("graph.col", &dense(70))?;
    let solve = |options: &[&str], code| {
        object(fangs().arg("solve").arg(&path).args(["--json", "--device", "cpu"]).args(options), code)
    };
    let rounds = |threads: &str| -> Result<Vec<Value>> {
        let found = solve(&["--rounds", "8", "--seed", "5", "--threads", threads], 0)?;
        let fields = ["status", "cost", "bound", "solution", "rounds", "moves", "ratings"];
        Ok(fields.iter().map(|&field| found[field].clone()).collect())
    };
    let found = rounds("1")?;
    assert_eq!(found, rounds("2")?);
    assert!(found[4].as_u64() <= Some(8));
    let most = found[1].as_i64().unwrap_or(0);
    let target = solve(&["--target", &(most + 1).to_string()], 0)?;
    assert!(target["cost"].as_i64() <= Some(most + 1) && target["stopped_by"] == "target", "{target}");
    let gap = solve(&["--gap", "0.9"], 0)?;
    assert_eq!((gap["stopped_by"].as_str(), gap["status"].as_str()), (Some("gap"), Some("feasible")));
    let none = solve(&["--time", "0"], 3)?;
    assert!(none["cost"].is_null() && none["stopped_by"] == "time");

    // a start is returned if no better coloring is sought
    let start = folder.path().join("start.sol");
    fs::write(
        &start,
        serde_json::from_value::<Vec<u32>>(found[3].clone())?
            .iter()
            .map(|color| format!("{color} "))
            .collect::<String>(),
    )?;
    let warm = solve(&["--rounds", "0", "--warm-start", start.to_str().unwrap_or_default()], 0)?;
    assert_eq!((&warm["cost"], &warm["solution"]), (&found[1], &found[3]));
    fs::write(&start, "0 ".repeat(70))?;
    let mut command = fangs();
    let _ = command.arg("solve").arg(&path).args(["--rounds", "2", "--warm-start"]).arg(&start);
    let output = command.assert().success().get_output().clone();
    assert!(String::from_utf8(output.stderr)?.contains("no solution"));
    fs::write(&start, "- ".repeat(70))?;
    refused(fangs().arg("solve").arg(&path).arg("--warm-start").arg(&start), &["colors every vertex"])
}

#[test]
fn a_signal_keeps_the_best_coloring() -> Result {
    let (folder, path) = folder_with("graph.col", &dense(250))?;
    let solution = folder.path().join("run.sol");
    let mut command = std::process::Command::new(program());
    let _ = command.arg("solve").arg(&path).args(["--json", "--device", "cpu", "--time", "100"]);
    let child = command.arg("--solution").arg(&solution).stdout(Stdio::piped()).spawn()?;
    wait_for(|| solution.exists());
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    assert!(kill.success());
    let output = ended(child)?;
    assert_eq!(output.status.code(), Some(130));
    let found: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!((found["status"].as_str(), found["stopped_by"].as_str()), (Some("feasible"), Some("signal")));
    let checked = object(fangs().arg("check").arg(&path).arg(&solution).arg("--json"), 0)?;
    assert_eq!(checked["cost"], found["cost"]);
    Ok(())
}

#[test]
fn check_counts_colors_and_lists_edges_of_one() -> Result {
    let (folder, path) = folder_with("graph.col", "p edge 4 3\ne 1 2\ne 2 3\ne 3 4\n")?;
    let solution = folder.path().join("colors");
    fs::write(&solution, "3 3 0 3")?;
    let found = object(fangs().arg("check").arg(&path).arg(&solution).arg("--json"), 4)?;
    assert_eq!((found["solution"].as_bool(), found["cost"].as_i64()), (Some(false), Some(2)));
    assert_eq!(found["monochromatic"], serde_json::json!([{ "edge": [1, 2], "color": 3 }]));
    let output = fangs().arg("check").arg(&path).arg(&solution).assert().code(4).get_output().stdout.clone();
    assert!(String::from_utf8(output)?.contains("edge 1 2: color 3"));
    for (content, place) in [("0 1 0", "colors:1:"), ("0 1 0 4", "colors:1:7"), ("0 1 0 1 0", "colors:1:")] {
        fs::write(&solution, content)?;
        refused(fangs().arg("check").arg(&path).arg(&solution), &[place])?;
        refused(fangs().arg("solve").arg(&path).arg("--warm-start").arg(&solution), &[place])?;
    }
    Ok(())
}

#[test]
fn info_describes_the_graph() -> Result {
    let (_folder, path) = folder_with("graph.col", &petersen())?;
    let found = object(fangs().arg("info").arg(&path).arg("--json"), 0)?;
    for (field, value) in [("vertices", 10), ("edges", 15), ("clique", 2), ("bound", 3), ("degeneracy", 3)] {
        assert_eq!(found[field].as_i64(), Some(value), "{field}");
    }
    assert!(found["greedy_colors"].as_i64() >= Some(3));
    let text = fangs().arg("info").arg(&path).assert().success().get_output().stdout.clone();
    assert!(String::from_utf8(text)?.contains("10 vertices, 15 edges"));
    Ok(())
}

#[test]
fn what_needs_a_number_of_colors_says_so() -> Result {
    let (folder, path) = folder_with("graph.col", &petersen())?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file.toml"), "")?;
    for (option, file) in [("--evidence", "file.toml"), ("--certificate", "cert"), ("--heuristic", "file.toml")] {
        refused(fangs().arg("solve").arg(&path).arg(option).arg(at(file)), &["--colors"])?;
    }
    refused(fangs().arg("check").arg(&path).arg("--certificate").arg(at("file.toml")), &["--colors"])?;
    refused(fangs().arg("bound").arg(&path), &["--colors"])?;
    fs::write(&path, "p edge 2 1\ne 1 3\n")?;
    refused(fangs().arg("solve").arg(&path), &["graph.col:2:5"])?;
    Ok(())
}
