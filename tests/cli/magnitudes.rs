//! Costs near the limits of 64 bits: exact results, certificates that are accepted, and refusals with a message.

use super::{Result, check_csv, fangs, folder_with, object, refused};
use serde_json::Value;
use std::fs;

/// Returns the text that a command prints.
fn printed(command: &mut assert_cmd::Command) -> Result<String> {
    Ok(String::from_utf8(command.output()?.stdout)?)
}

/// Two variables of three values; the optimum is less than the other totals by 1 or by 2.
const NEAR: &str = "near 2 3 2 4611686018427387904\n3 3\n1 0 0 3\n0 9007199254740993\n1 9007199254740995\n\
                    2 9007199254740994\n2 0 1 9007199254740993 3\n0 1 9007199254740994\n2 2 9007199254740991\n\
                    1 0 9007199254740993\n";

#[test]
fn the_best_of_totals_that_doubles_cannot_tell_apart_is_found_and_written_exactly() -> Result {
    let (folder, file) = folder_with("near.wcsp", NEAR)?;
    let csv = folder.path().join("run.csv");
    for more in [&["--rounds", "4"][..], &["--no-reduce"]] {
        let mut solve = fangs();
        let text = printed(solve.args(["solve", "--json", "--csv"]).args([&csv, &file]).args(more))?;
        assert!(text.contains(r#""cost":18014398509481985,"bound":18014398509481985,"gap":0.0"#), "{more:?}: {text}");
        let row = check_csv(&csv, false)?;
        assert_eq!(row[1..4], ["18014398509481985", "18014398509481985", "0.0"], "{more:?}");
    }
    let solutions = [("best", "2 2"), ("next", "0 0")].map(|(name, values)| (folder.path().join(name), values));
    for (path, values) in &solutions {
        fs::write(path, values)?;
    }
    let [best, next] = solutions.map(|(path, _)| path);
    for (command, expected) in [("check", "18014398509481986"), ("explain", "18014398509481986")] {
        let text = printed(fangs().args([command, "--json"]).args([&file, &next]))?;
        assert!(text.contains(expected), "{command}: {text}");
    }
    let text = printed(fangs().args(["diff", "--json"]).args([&file, &best, &next]))?;
    assert!(text.contains("18014398509481985") && text.contains("18014398509481986"), "{text}");
    // a target that the warm start misses by 1, and one that it reaches
    for target in ["18014398509481985", "18014398509481986"] {
        let mut solve = fangs();
        let _ = solve.args(["solve", "--json", "--bound", "none", "--rounds", "20", "--no-reduce", "--target", target]);
        let text = printed(solve.arg(&file).arg("--warm-start").arg(&next))?;
        assert!(text.contains(&format!(r#""cost":{target},"#)) && text.contains(r#""stopped_by":"target""#), "{text}");
    }
    Ok(())
}

#[test]
fn decimals_beyond_doubles_are_exact() -> Result {
    let text = r#"{ problem: { name: "d", mustbe: "<1000000000000000.00" }, variables: { a: ["x", "y"] },
                    functions: { f: { scope: ["a"], costs: [90071992547409.93, 90071992547409.92] },
                                 g: { scope: [], costs: [90071992547409.93] } } }"#;
    let (_folder, file) = folder_with("d.cfn", text)?;
    for command in ["solve", "bound"] {
        let text = printed(fangs().args([command, "--json"]).arg(&file))?;
        assert!(text.contains(r#""cost":180143985094819.85"#), "{command}: {text}");
        assert!(text.contains(r#""bound":180143985094819.85"#), "{command}: {text}");
    }
    Ok(())
}

/// Without its constant the network has small costs; scaled together with the constant, they would exceed the cost that
/// means forbidden.
#[test]
fn a_large_constant_is_no_proof_of_infeasibility() -> Result {
    let text = "n 3 2 4 4611686018427387904\n2 2 2\n1 0 6004799503160661 1\n0 6004799503160664\n\
                2 0 1 0 2\n0 0 4611686018427387904\n1 1 4611686018427387904\n2 1 2 1 1\n0 0 3\n1 2 2 1\n1 4\n";
    let (folder, file) = folder_with("constant.wcsp", text)?;
    for method in ["auto", "shift", "join-graph", "mbe", "mbe-mm", "be", "sparse-be", "branch"] {
        for more in [&["--no-reduce"][..], &[]] {
            let certificate = folder.path().join("c");
            let mut bound = fangs();
            let _ = bound.args(["bound", "--json", "--method", method, "--certificate"]).arg(&certificate);
            let proved = object(bound.args(more).arg(&file), 0)?;
            let bound = proved["bound"].as_i64().unwrap_or_default();
            assert!((6004799503160664..=6004799503160666).contains(&bound), "{method}: {proved}");
            let checked =
                object(fangs().args(["check", "--json"]).arg(&file).arg("--certificate").arg(&certificate), 0)?;
            assert_eq!(checked["certificate"]["bound"], proved["bound"], "{method}");
        }
    }
    Ok(())
}

#[test]
fn certificates_of_large_shares_are_accepted() -> Result {
    // the table is a sum of costs of its variables, whose difference is more than 2^58
    let text = "n 2 2 2 9223372036854775807\n2 2\n2 0 1 270000000000000000 3\n0 1 269999999999999999\n\
                1 0 -270000000000000000\n1 1 -270000000000000001\n1 0 0 1\n0 7\n";
    let (folder, file) = folder_with("shares.wcsp", text)?;
    for command in ["solve", "bound"] {
        let certificate = folder.path().join("c");
        let proved = object(fangs().args([command, "--json", "--certificate"]).args([&certificate, &file]), 0)?;
        assert_eq!(proved["bound"], -270000000000000001i64, "{command}");
        let checked = object(fangs().args(["check", "--json"]).arg(&file).arg("--certificate").arg(&certificate), 0)?;
        assert_eq!(checked["certificate"]["optimal"], true, "{command}: {checked}");
    }
    Ok(())
}

#[test]
fn costs_whose_differences_pass_64_bit_arithmetic_are_refused() -> Result {
    let function = "0 -280000000000000000\n1 280000000000000000\n";
    let text = format!("n 3 2 3 9223372036854775807\n2 2 2\n1 0 0 2\n{function}1 1 0 2\n{function}1 2 0 2\n{function}");
    let (_folder, file) = folder_with("apart.wcsp", &text)?;
    for command in ["solve", "bound", "check"] {
        refused(fangs().arg(command).arg(&file).args((command == "check").then_some(&file)), &["smaller costs"])?;
    }
    Ok(())
}

#[test]
fn what_is_forbidden_is_no_part_of_the_differences_of_costs() -> Result {
    // each variable has one feasible value: six cost 2^57, three cost -2^57
    let (top, cost) = (i64::MAX, 1i64 << 57);
    let functions: String =
        (0..9).map(|v| format!("1 {v} {top} 1\n0 {}\n", if v < 6 { cost } else { -cost })).collect();
    let (_folder, file) = folder_with("one.wcsp", &format!("n 9 2 9 {top}\n{}\n{functions}", "2 ".repeat(9)))?;
    for command in ["solve", "bound"] {
        assert_eq!(object(fangs().args([command, "--json"]).arg(&file), 0)?["bound"], 3 * cost, "{command}");
    }
    Ok(())
}

/// The least costs of global functions already add up to the top here.
#[test]
fn a_network_with_global_functions_has_no_certificate() -> Result {
    let text = "n 3 2 2 5\n2 2 2\n3 0 1 2 -1 salldiff var 4\n1 0 1 1\n1 2\n";
    let (folder, file) = folder_with("global.wcsp", text)?;
    let (solved, bounded) = (["solve", "-q"], ["bound", "--no-reduce"]);
    for words in [&solved, &bounded] {
        let certificate = folder.path().join("c");
        refused(fangs().args(words).arg("--certificate").args([&certificate, &file]), &["there is no certificate"])?;
        assert!(!certificate.exists(), "{words:?}");
    }
    Ok(())
}

#[test]
fn limits_of_counts_are_taken_at_any_size() -> Result {
    // a count must be at least 1 and at most -2^63: the squared distance exceeds every cost
    let most = i64::MIN;
    let text = format!(
        r#"{{ problem: {{ name: "a", mustbe: "<20.50" }}, variables: {{ a: 2, b: 3, c: 2 }}, functions: {{
           among: {{ scope: ["a" "b" "c"], type: "wamong",
                     params: {{ metric: "quad" cost: 0.25 values: [1] min: 1 max: {most} }} }} }} }}"#
    );
    let (folder, file) = folder_with("among.cfn", &text)?;
    assert_eq!(object(fangs().args(["solve", "--json"]).arg(&file), 4)?["status"], "infeasible");
    let free = folder.path().join("free.cfn");
    fs::write(&free, text.replace(&most.to_string(), &i64::MAX.to_string()))?;
    assert_eq!(object(fangs().args(["solve", "--json"]).arg(&free), 0)?["cost"], 0.0);
    Ok(())
}

#[test]
fn a_global_function_of_vast_domains_is_refused_at_once() -> Result {
    for parameters in ["salldiff var 10", "salldiff dec 10", "samong var 10 1 2 1 5", "wsum hard 10 <= 7", "MST"] {
        let text = format!("g 3 2 1 100\n100000000 3 3\n3 0 1 2 -1 {parameters}\n");
        let (_folder, file) = folder_with("vast.wcsp", &text)?;
        refused(fangs().args(["solve", "--bound-memory", "1M"]).arg(&file), &["100000006 values of variables"])?;
    }
    Ok(())
}

#[test]
fn bounds_name_what_proved_them() -> Result {
    let reduced = "r 2 2 2 100\n2 2\n1 0 1 1\n0 2\n2 0 1 0 1\n0 0 1\n";
    let (_folder, file) = folder_with("reduced.wcsp", reduced)?;
    let bound = object(fangs().args(["bound", "--json"]).arg(&file), 0)?;
    assert_eq!((&bound["order"], &bound["induced_width"]), (&Value::Null, &Value::Null), "{bound}");
    assert!(["reductions", "constant"].map(Value::from).contains(&bound["method"]), "{bound}");
    let text = printed(fangs().arg("bound").arg(&file))?;
    assert!(!text.contains("along") && !text.contains("width") && !text.contains("trivial"), "{text}");
    // three variables with two values should all differ, so that one pair violates it at cost 5
    let clique = "c 3 2 3 1000\n2 2 2\n2 0 1 0 2\n0 0 5\n1 1 5\n2 1 2 0 2\n0 0 5\n1 1 5\n2 0 2 0 2\n0 0 5\n1 1 5\n";
    let (_folder, file) = folder_with("clique.wcsp", clique)?;
    for (method, order) in [("cores", Value::Null), ("be", "min-fill".into())] {
        let bound = object(fangs().args(["bound", "--json", "--no-reduce", "--method", method]).arg(&file), 0)?;
        assert_eq!((&bound["method"], &bound["order"], &bound["bound"]), (&method.into(), &order, &5.into()));
    }
    Ok(())
}
