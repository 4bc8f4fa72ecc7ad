//! Tables and pictures of `fangs marginals`: posteriors, cases and bounds.

use super::*;

/// Three variables with names: c equals the exclusive or of a and b in most cases.
const NET: &str = "network n { }
variable a { type discrete [ 2 ] { no, yes }; }
variable b { type discrete [ 3 ] { low, middle, high }; }
variable c { type discrete [ 2 ] { =off, on }; }
probability ( a ) { table 0.3, 0.7; }
probability ( b | a ) { (no) 0.5, 0.25, 0.25; (yes) 0.125, 0.25, 0.625; }
probability ( c | a, b ) {
  (no, low) 0.9, 0.1; (no, middle) 0.4, 0.6; (no, high) 0.2, 0.8;
  (yes, low) 0.1, 0.9; (yes, middle) 0.5, 0.5; (yes, high) 1.0, 0.0;
}
";
const DOMAINS: [usize; 3] = [2, 3, 2];
const VARIABLES: [(&str, &[&str]); 3] =
    [("a", &["no", "yes"]), ("b", &["low", "middle", "high"]), ("c", &["'=off", "on"])];

fn product([a, b, c]: [usize; 3]) -> f64 {
    let off = [[0.9, 0.4, 0.2], [0.1, 0.5, 1.0]][a][b];
    [0.3, 0.7][a] * [[0.5, 0.25, 0.25], [0.125, 0.25, 0.625]][a][b] * [off, 1.0 - off][c]
}

/// Returns the sum over all assignments that agree with the evidence, by enumeration.
fn sum(evidence: &[(usize, usize)]) -> f64 {
    let all = (0..12).map(|code| [code % 2, code / 2 % 3, code / 6]);
    all.filter(|values| evidence.iter().all(|&(v, value)| values[v] == value)).map(product).sum()
}

/// Returns the rows of a table, as maps from columns to fields.
fn rows(path: &Path) -> Result<Vec<std::collections::HashMap<String, String>>> {
    let mut reader = csv::Reader::from_path(path)?;
    let header = ["case", "status", "ln_z", "log10_z", "ln_z_lower", "ln_z_upper", "variable", "value", "probability"];
    assert_eq!(reader.headers()?.iter().collect::<Vec<_>>(), [&header[..], &["lower", "upper"]].concat());
    Ok(reader.deserialize().collect::<std::result::Result<_, _>>()?)
}

fn field(row: &std::collections::HashMap<String, String>, key: &str) -> f64 {
    row[key].parse().unwrap_or(f64::NAN)
}

/// Checks the rows of a sum against enumeration.
fn check(rows: &[std::collections::HashMap<String, String>], evidence: &[(usize, usize)]) {
    let z = sum(evidence);
    let hidden: Vec<usize> = (0..3).filter(|v| evidence.iter().all(|(seen, _)| seen != v)).collect();
    let expected: Vec<(usize, usize)> =
        hidden.iter().flat_map(|&v| (0..DOMAINS[v]).map(move |value| (v, value))).collect();
    assert_eq!(rows.len(), expected.len(), "{rows:?}");
    for (row, (v, value)) in rows.iter().zip(expected) {
        assert_eq!(
            (&row["status"][..], &row["variable"][..], &row["value"][..]),
            ("exact", VARIABLES[v].0, VARIABLES[v].1[value])
        );
        let own = [evidence, &[(v, value)]].concat();
        let (p, expected) = (field(row, "probability"), sum(&own) / z);
        assert!((p - expected).abs() < 1e-14, "{row:?} {expected}");
        assert!(field(row, "lower") <= expected + 1e-16 && expected <= field(row, "upper") + 1e-16, "{row:?}");
        assert!((field(row, "ln_z") - z.ln()).abs() < 1e-14 && (field(row, "log10_z") - z.log10()).abs() < 1e-14);
        assert!(field(row, "ln_z_lower") <= z.ln() && z.ln() <= field(row, "ln_z_upper"), "{row:?}");
    }
}

#[test]
fn posteriors_of_a_table_are_those_of_enumeration() -> Result {
    let (folder, path) = folder_with("n.bif", NET)?;
    let table = folder.path().join("n.csv");
    for (text, evidence) in [("", &[][..]), ("c=on", &[(2, 1)]), ("a=no,b=high", &[(0, 0), (1, 2)])] {
        let observe = ["--observe", text];
        let observe = if text.is_empty() { &[][..] } else { &observe };
        let _ = fangs().arg("marginals").arg(&path).args(observe).arg("--csv").arg(&table).assert().success();
        let all = rows(&table)?;
        assert!(all.iter().all(|row| row["case"].is_empty()));
        check(&all, evidence);
    }
    let only = ["--only-z", "--observe", "c=on", "--csv"];
    let _ = fangs().arg("marginals").arg(&path).args(only).arg(&table).assert().success();
    let all = rows(&table)?;
    assert_eq!((all.len(), &all[0]["variable"][..], &all[0]["probability"][..]), (1, "", ""));
    assert!((field(&all[0], "ln_z") - sum(&[(2, 1)]).ln()).abs() < 1e-14);
    // evidence of probability 0 has a row without numbers
    let zero = ["--observe", "a=yes,b=high,c=on", "--csv"];
    let _ = fangs().arg("marginals").arg(&path).args(zero).arg(&table).assert().code(4);
    let all = rows(&table)?;
    assert_eq!((all.len(), &all[0]["status"][..], &all[0]["ln_z"][..]), (1, "impossible evidence", ""));
    // values of marginal MAP
    let map = ["--maximize", "b,a", "--csv"];
    let _ = fangs().arg("marginals").arg(&path).args(map).arg(&table).assert().success();
    let all = rows(&table)?;
    let values: Vec<_> = all.iter().map(|row| (&row["variable"][..], &row["value"][..])).collect();
    assert_eq!(values, [("b", "high"), ("a", "yes")]);
    assert!((field(&all[0], "ln_z") - sum(&[(0, 1), (1, 2)]).ln()).abs() < 1e-14);
    Ok(())
}

#[test]
fn cases_have_rows_with_their_lines() -> Result {
    let (folder, path) = folder_with("n.bif", NET)?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("cases.csv"), "a,c\nyes,on\n,=off\nno,\n")?;
    let mut command = fangs();
    let _ = command.arg("marginals").arg(&path).arg("--cases").arg(at("cases.csv")).arg("--csv").arg(at("n.csv"));
    let _ = command.assert().success();
    let all = rows(&at("n.csv"))?;
    for (line, evidence) in [("2", &[(0, 1), (2, 1)][..]), ("3", &[(2, 0)]), ("4", &[(0, 0)])] {
        let own: Vec<_> = all.iter().filter(|row| row["case"] == line).cloned().collect();
        check(&own, evidence);
    }
    fs::write(at("cases.csv"), "a,d\nyes,on\n")?;
    refused(
        fangs().arg("marginals").arg(&path).arg("--cases").arg(at("cases.csv")),
        &["cases.csv:1: there is no variable `d`"],
    )?;
    fs::write(at("cases.csv"), "a\nyess\n")?;
    let words = ["cases.csv:2: `a` has no value `yess`", "did you mean `yes`?"];
    refused(fangs().arg("marginals").arg(&path).arg("--cases").arg(at("cases.csv")), &words)
}

#[test]
fn bounds_are_intervals_that_hold() -> Result {
    // a ring of nine spins, summed by enumeration; too little memory for its tables
    let pairs: Vec<(usize, usize)> = (0..9).flat_map(|v| [(v, (v + 1) % 9), (v, (v + 4) % 9)]).collect();
    let mut text = format!("MARKOV\n9\n{}\n{}\n", "2 ".repeat(9), pairs.len());
    pairs.iter().for_each(|(a, b)| text.push_str(&format!("2 {a} {b}\n")));
    pairs.iter().for_each(|_| text.push_str("4 1 2 2 3\n"));
    let (folder, path) = folder_with("ring.uai", &text)?;
    let table = folder.path().join("ring.csv");
    let entry = |code: usize, a: usize, b: usize| [1.0, 2.0, 2.0, 3.0][2 * (code >> a & 1) + (code >> b & 1)];
    let weights: Vec<f64> =
        (0..512).map(|code| pairs.iter().map(|&(a, b)| entry(code, a, b)).product::<f64>()).collect();
    let z: f64 = weights.iter().sum();
    let mut command = fangs();
    let _ =
        command.arg("marginals").arg(&path).args(["-t", "300ms", "--bound-memory", "128", "--device", "cpu", "--csv"]);
    let _ = command.arg(&table).assert().success();
    let all = rows(&table)?;
    assert!(!all.is_empty());
    for row in &all {
        let slack = 1e-9;
        assert!(
            field(row, "ln_z_lower") <= z.ln() + slack && z.ln() <= field(row, "ln_z_upper") + slack,
            "{row:?} {z}"
        );
        if row["variable"].is_empty() {
            continue;
        }
        let (v, value): (usize, usize) = (row["variable"].trim_start_matches('x').parse()?, row["value"].parse()?);
        let own = (0..512).filter(|code| code >> v & 1 == value).map(|code| weights[code]).sum::<f64>() / z;
        assert!(field(row, "lower") <= own + slack && own <= field(row, "upper") + slack, "{row:?} {own}");
    }
    Ok(())
}

#[test]
fn posteriors_are_drawn_as_bars() -> Result {
    let (folder, path) = folder_with("n.bif", NET)?;
    let at = |name: &str| folder.path().join(name);
    for picture in ["n.svg", "n.png", "n.pdf"] {
        let _ = fangs().arg("marginals").arg(&path).arg("--plot").arg(at(picture)).assert().success();
    }
    let svg = fs::read_to_string(at("n.svg"))?;
    let p = format!(">{:.3}<", sum(&[(1, 1)]));
    for text in [">a<", ">high<", ">=off<", &p] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    assert!(fs::read(at("n.png"))?.starts_with(b"\x89PNG") && fs::read(at("n.pdf"))?.starts_with(b"%PDF"));
    let _ =
        fangs().arg("marginals").arg(&path).args(["--variables", "b", "--plot"]).arg(at("b.svg")).assert().success();
    let only = fs::read_to_string(at("b.svg"))?;
    assert!(only.contains(">middle<") && !only.contains(">a<"), "{only}");
    refused(fangs().arg("marginals").arg(&path).arg("--plot").arg(at("n.jpg")), &[".svg, .png or .pdf"])?;
    refused(fangs().arg("marginals").arg(&path).args(["--only-z", "--plot"]).arg(at("n.svg")), &["--only-z"])?;
    // nothing to draw
    let zero = ["--observe", "a=yes,b=high,c=on", "--plot"];
    let _ = fangs().arg("marginals").arg(&path).args(zero).arg(at("none.svg")).assert().code(4);
    assert!(!at("none.svg").exists());
    let many = format!("MARKOV\n501\n{}\n0\n", "2 ".repeat(501));
    fs::write(at("many.uai"), many)?;
    let words = ["--plot: the variables have 1002 values", "at most 1000", "--variables"];
    refused(fangs().arg("marginals").arg(at("many.uai")).arg("--plot").arg(at("many.svg")), &words)
}
