//! `fangs solve` for several solutions: all, their number, the best ones, some that differ.

use super::{Result, fangs, folder_with, object};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Returns the problem of placing `n` queens on a board of `n` rows such that none attacks another.
fn queens(n: usize) -> String {
    let (mut text, mut functions) = (String::new(), 0);
    for a in 0..n {
        for b in a + 1..n {
            let attacks = |&(x, y): &(usize, usize)| x == y || x.abs_diff(y) == b - a;
            let pairs: Vec<_> = (0..n * n).map(|k| (k / n, k % n)).filter(attacks).collect();
            let _ = writeln!(text, "2 {a} {b} 0 {}", pairs.len());
            for (x, y) in &pairs {
                let _ = writeln!(text, "{x} {y} 1");
            }
            functions += 1;
        }
    }
    let domains = vec![n.to_string(); n].join(" ");
    format!("queens {n} {n} {functions} 1\n{domains}\n{text}")
}

/// Returns a sudoku as binary functions; digits that are not given are 0.
fn sudoku(given: &str) -> String {
    let (mut text, mut functions) = (String::new(), 0);
    for a in 0..81 {
        for b in a + 1..81 {
            let block = |cell: usize| (cell / 27, cell % 9 / 3);
            if a / 9 == b / 9 || a % 9 == b % 9 || block(a) == block(b) {
                let _ = writeln!(text, "2 {a} {b} 0 9");
                for value in 0..9 {
                    let _ = writeln!(text, "{value} {value} 1");
                }
                functions += 1;
            }
        }
    }
    for (cell, digit) in given.chars().enumerate().filter(|&(_, digit)| digit != '0') {
        let _ = writeln!(text, "1 {cell} 1 1\n{} 0", digit as u32 - '1' as u32);
        functions += 1;
    }
    format!("sudoku 81 9 {functions} 1\n{}\n{text}", ["9"; 81].join(" "))
}

/// Three variables whose costs are their values, in hundredths, maximised; two of them may not be equal.
const MAXIMISED: &str = r#"{"problem": {"name": "max", "mustbe": ">-10.00"}, "variables":
{"a": ["x", "y", "z"], "b": ["x", "y", "z"], "free": 2}, "functions": {
"of_a": {"scope": ["a"], "costs": [-0.25, 0.50, 0.50]}, "of_b": {"scope": ["b"], "costs": [0.50, -1.00, 0.50]},
"differ": {"scope": ["a", "b"], "defaultcost": 0.00, "costs": ["x", "x", -20, "y", "y", -20, "z", "z", -20]}}}"#;

fn listed(result: &Value) -> BTreeSet<String> {
    result["solutions"].as_array().into_iter().flatten().map(|found| found["solution"].to_string()).collect()
}

#[test]
fn queens_and_sudokus_have_all_their_solutions() -> Result {
    let (_folder, path) = folder_with("queens.wcsp", &queens(8))?;
    let result = object(fangs().args(["solve", "--json", "--all"]).arg(&path), 0)?;
    assert_eq!((&result["count"], &result["complete"]), (&json!(92), &json!(true)));
    assert_eq!(listed(&result).len(), 92);
    let some = object(fangs().args(["solve", "--json", "--all", "--most", "5"]).arg(&path), 0)?;
    assert_eq!((&some["count"], &some["complete"]), (&json!(5), &json!(false)));
    assert!(listed(&some).is_subset(&listed(&result)));
    let counted = object(fangs().args(["solve", "--json", "--count"]).arg(&path), 0)?;
    assert_eq!((&counted["count"], &counted["complete"]), (&json!(92), &json!(true)));
    let observed = ["solve", "--json", "--count", "--observe", "0=0"];
    assert_eq!(object(fangs().args(observed).arg(&path), 0)?["count"], 4);

    let given = "530070000600195000098000060800060003400803001700020006060000280000419005000080079";
    let (_folder, path) = folder_with("sudoku.wcsp", &sudoku(given))?;
    let result = object(fangs().args(["solve", "--json", "--all"]).arg(&path), 0)?;
    assert_eq!((&result["count"], &result["complete"]), (&json!(1), &json!(true)));
    Ok(())
}

#[test]
fn numbers_have_all_digits() -> Result {
    let domains = ["2"; 100].join(" ");
    let (_folder, path) = folder_with("free.wcsp", &format!("free 100 2 1 9\n{domains}\n2 0 1 0 1\n1 1 3\n"))?;
    let text = |which: &str| -> Result<String> {
        Ok(String::from_utf8(fangs().args(["solve", "--json", which]).arg(&path).output()?.stdout)?)
    };
    assert!(text("--count=feasible")?.contains("\"count\":1267650600228229401496703205376,\"complete\":true"));
    assert!(text("--count")?.contains("\"count\":950737950171172051122527404032,\"complete\":true"));
    Ok(())
}

#[test]
fn maximised_decimals_are_ranked() -> Result {
    let (_folder, path) = folder_with("max.cfn", MAXIMISED)?;
    let result = object(fangs().args(["solve", "--json", "--all"]).arg(&path), 0)?;
    assert_eq!((&result["cost"], &result["count"]), (&json!(1.0), &json!(6)), "{result}");
    assert!(result["solutions"][0]["assignment"].is_object());
    let best = object(fangs().args(["solve", "--json", "--best", "7"]).arg(&path), 0)?;
    let costs: Vec<_> = (0..7).map(|at| best["solutions"][at]["cost"].as_f64()).collect();
    assert_eq!((costs[5], costs[6], &best["complete"]), (Some(1.0), Some(0.25), &json!(true)), "{best}");
    let all = object(fangs().args(["solve", "--json", "--best", "100"]).arg(&path), 0)?;
    assert_eq!((&all["count"], &all["complete"]), (&json!(12), &json!(true)));
    let feasible = object(fangs().args(["solve", "--json", "--all=feasible"]).arg(&path), 0)?;
    assert_eq!(listed(&feasible), listed(&all));
    Ok(())
}

#[test]
fn diverse_solutions_differ_enough() -> Result {
    let (_folder, path) = folder_with("max.cfn", MAXIMISED)?;
    let diverse = ["solve", "--json", "--diverse", "3", "--distance", "2", "--diverse-on", "a,b"];
    let result = object(fangs().args(diverse).arg(&path), 0)?;
    assert_eq!((&result["count"], &result["complete"]), (&json!(3), &json!(true)), "{result}");
    for found in &result["solutions"].as_array().ok_or("no list")?[1..] {
        assert!(found["distance"] == 2 && found["proven"] == true, "{found}");
    }
    let refused = fangs().args(["solve", "--diverse", "2", "--distance", "4"]).arg(&path).output()?;
    assert_eq!(refused.status.code(), Some(2));
    Ok(())
}

#[test]
fn infeasible_networks_have_none() -> Result {
    let (_folder, path) = folder_with("queens.wcsp", &queens(3))?;
    for option in ["--all", "--count", "--count=feasible", "--best=3"] {
        let result = object(fangs().args(["solve", "--json", option]).arg(&path), 4)?;
        assert_eq!((&result["count"], &result["complete"]), (&json!(0), &json!(true)), "{option}");
    }
    Ok(())
}

#[test]
fn lines_and_limits() -> Result {
    let (_folder, path) = folder_with("queens.wcsp", &queens(4))?;
    let text = String::from_utf8(fangs().args(["solve", "-q", "--all"]).arg(&path).output()?.stdout)?;
    assert!(text.starts_with("1 3 0 2\n2 0 3 1\n") || text.starts_with("2 0 3 1\n1 3 0 2\n"), "{text}");
    assert!(text.contains("\nsolutions   2, which are all\n"), "{text}");
    let (_folder, path) = folder_with("queens.wcsp", &queens(14))?;
    let stopped = object(fangs().args(["solve", "--json", "--time", "0.3", "--all"]).arg(&path), 0)?;
    assert_eq!((&stopped["complete"], &stopped["stopped_by"]), (&json!(false), &json!("time")), "{stopped}");
    for wrong in [&["--most", "3"][..], &["--distance", "2"], &["--all", "--count"], &["--diverse", "2"]] {
        assert_eq!(fangs().arg("solve").args(wrong).arg(&path).output()?.status.code(), Some(2), "{wrong:?}");
    }
    Ok(())
}
