//! Small inputs of kinds that public bug reports, other programs' writers and fuzzing have shown to matter, each with
//! the correct result. The texts are our own; the comments state what is unusual about them.

use super::*;

/// The correct result of `solve`.
enum Right {
    /// Optimal, with this cost.
    Optimal(f64),
    Infeasible,
}
use Right::{Infeasible, Optimal};

/// File name, content, further arguments, and correct result.
const CASES: &[(&str, &str, &[&str], Right)] = &[
    // costs above 2^53 that differ by one
    (
        "large.wcsp",
        "l 2 2 3 1000000000000000000 2 2 1 0 9007199254740993 1 1 9007199254740992 1 1 9007199254740993 1 0 \
         9007199254740997 2 0 1 0 1 1 1 3",
        &[],
        Optimal(18014398509481986.0),
    ),
    // byte order marks, and carriage returns alone
    ("mark.wcsp", "\u{feff}p 2 2 1 10\n2 2\n2 0 1 0 1\n1 1 3\n", &[], Optimal(0.0)),
    ("returns.wcsp", "p 2 2 1 10\r2 2\r2 0 1 0 1\r1 1 3\r", &[], Optimal(0.0)),
    ("mark.col", "\u{feff}p edge 3 3\ne 1 2\ne 2 3\ne 1 3\n", &["--colors", "3"], Optimal(0.0)),
    // a constant, domains of one value, no variables, no functions, a scope twice
    ("constant.uai", "MARKOV 1 2 2 0 1 0 1 0.5 2 0.25 0.75", &[], Optimal(-0.980829)),
    ("single.uai", "MARKOV 3 1 2 1 3 1 0 2 0 1 3 0 1 2 1 .25 2 .4 .6 2 2 3", &[], Optimal(-0.798508)),
    ("nothing.uai", "MARKOV\n0\n\n0\n", &[], Optimal(0.0)),
    ("nothing.wcsp", "p 0 0 0 10\n", &[], Optimal(0.0)),
    ("free.wcsp", "p 3 4 0 10\n4 3 1\n", &[], Optimal(0.0)),
    ("twice.uai", "MARKOV 2 2 2 3 2 0 1 2 1 0 2 0 1 4 1 2 3 4 4 8 1 1 1 4 1 1 1 1", &[], Optimal(2.079442)),
    // tables as people lay them out, a Bayesian network whose rows do not sum to 1, positive logarithms
    (
        "layout.uai",
        "MARKOV\n3\n2 2 3\n2\n2 0 1\n3 0 1 2\n\n4\n 4.000 2.400\n 1.000 0.000\n\n12\n 2.2500 3.2500 3.7500\n 0.0000 \
         0.0000 9.0000\n 1.8750 4.0000 3.3330\n 2.0000 2.0000 3.4000\n",
        &[],
        Optimal(3.072693),
    ),
    ("rows.uai", "BAYES 2 2 2 2 1 0 2 0 1 2 4 1 4 1 1 7 2", &[], Optimal(1.945910)),
    ("positive.LG", "MARKOV 2 2 2 2 1 0 2 0 1 2 5 300 4 1e3 -1e3 750 800", &[], Optimal(1100.0)),
    ("all-zero.uai", "MARKOV 2 2 2 2 1 0 2 0 1 2 0 0 4 1 1 1 1", &[], Infeasible),
    // minus infinity as a word, and as a number too large for 64-bit costs together with the others
    ("words.LG", "MARKOV 2 2 2 2 1 0 2 0 1 2 0 -Infinity 4 -3 -inf 0 -.5", &[], Optimal(-3.0)),
    ("far.LG", "MARKOV 2 2 2 2 1 0 2 0 1 2 0 -1e20 4 -3 -1e20 0 -.5", &[], Optimal(-3.0)),
    // potentials that doubles cannot represent, or only with fewer digits
    ("under.uai", "MARKOV 2 2 2 2 1 0 2 0 1 2 1e-450 1e-430 4 1 2 3 4", &[], Optimal(-988.725296)),
    ("under2.uai", "MARKOV 1 2 2 1 0 1 0 2 1e-330 1e-320 2 1 1e-25", &[], Optimal(-759.853081)),
    (
        "denormal.uai",
        "MARKOV 2 2 2 3 1 0 1 1 2 0 1 2 1e-300 1e-310 2 5e-324 1e-320 4 1e-200 1 1 1e-100",
        &[],
        Optimal(-1427.602758),
    ),
    ("over.uai", "MARKOV 1 2 1 1 0 2 1e350 1", &[], Optimal(805.904783)),
    // a gap of zero divided by zero
    ("certain.uai", "MARKOV 3 2 2 2 3 2 0 1 2 1 2 2 0 2 4 1 0 .2 .8 4 1 0 .3 .7 4 1 0 .4 .6", &[], Optimal(0.0)),
    // comments as pyAgrum writes them, and queries after the tables as in merlin's files
    (
        "comments.uai",
        "BAYES\n2 # nodes\n2 3 \n2\n1 0   # A\n2 0 1   # B\n\n2\n  0.3 0.7 \n6\n  0.1 0.2 0.7\n  0.5 0.25 0.25\n",
        &[],
        Optimal(-1.049822),
    ),
    ("queries.uai", "MARKOV\n2\n2 2\n1\n2 0 1\n4\n1 2 3 5\n0\n2 0 1\n0\n2 1 1\n", &[], Optimal(1.609438)),
    // a tuple with cost top is forbidden, whatever negative costs other functions have
    ("negative.wcsp", "n 2 1 2 10 1 1 2 0 1 0 1 0 0 10 1 0 0 1 0 -5", &[], Infeasible),
    ("negative2.wcsp", "n 2 2 3 100 2 2 2 0 1 0 1 0 0 100 1 0 0 2 0 -40 1 5 1 1 0 2 0 -70 1 45", &[], Optimal(-65.0)),
    ("negative3.wcsp", "n 2 2 3 10 2 2 2 0 1 9 2 0 0 10 0 1 7 1 0 0 2 0 -9 1 -1 1 1 0 1 0 -8", &[], Optimal(-2.0)),
    (
        "small-negative.wcsp",
        "r 3 2 4 1000 2 2 2 3 0 1 2 0 1 0 0 0 1000 1 0 0 1 0 -1 1 1 0 1 0 1 1 2 0 1 0 1",
        &[],
        Optimal(-1.0),
    ),
    // a `top` that exceeds 64 bits, of 0, of 1
    ("top-1e30.wcsp", "p 2 2 1 1000000000000000000000000000000 2 2 2 0 1 0 1 0 0 3", &[], Optimal(0.0)),
    ("top-u64.wcsp", "p 2 2 1 18446744073709551615 2 2 2 0 1 0 1 0 0 3", &[], Optimal(0.0)),
    ("top-0.wcsp", "z 1 2 1 0 2 1 0 0 1 1 5", &[], Infeasible),
    (
        "top-1.wcsp",
        "c 3 3 3 1 3 3 3 2 0 1 0 3 0 0 1 1 1 1 2 2 1 2 1 2 0 3 0 0 1 1 1 1 2 2 1 2 0 2 0 3 0 0 1 1 1 1 2 2 1",
        &[],
        Optimal(0.0),
    ),
    // shared tables, a name with a blank and an umlaut
    ("shared.wcsp", "s 4 2 3 1 2 2 2 2 -2 0 1 0 1 0 0 1 2 1 2 1 -1 2 2 3 1 -1", &[], Optimal(0.0)),
    ("näme with blank.wcsp", "p 2 2 1 10 2 2 2 0 1 0 1 0 0 3", &[], Optimal(0.0)),
    // an all-different of six variables of five values; domains of more than 16 bits
    ("salldiff.wcsp", "sad 6 5 1 1000 5 5 5 5 5 5 6 0 1 2 3 4 5 -1 salldiff var 1", &[], Optimal(1.0)),
    (
        "wide.wcsp",
        "p 2 90000 3 1000000 90000 90000 1 0 5 2 89999 1 7 0 1 1 9 1 89998 2 2 0 1 3 1 89999 89998 0",
        &[],
        Optimal(3.0),
    ),
    // graphs: edges in both directions, comments and blank lines anywhere, `p edges`, `p col`, tabs, lines of other
    // kinds
    ("both.col", "p edge 3 6\ne 1 2\ne 2 1\ne 2 3\ne 3 2\ne 1 3\ne 3 1\n", &["--colors", "2"], Optimal(1.0)),
    (
        "comments.col",
        "c by hand\nc\n\np edge 6 5\nc in the middle\ne 1 2\ne 2 3\ne 1 3\ne 4 5\n e 3 4 \n",
        &["--colors", "2"],
        Optimal(1.0),
    ),
    ("edges.col", "p edges 3 3\ne 1 2\ne 2 3\ne 1 3\n", &["--colors", "2"], Optimal(1.0)),
    ("kind.col", "p col 3 3\ne 1 2\ne 2 3\ne 1 3\n", &["--colors", "2"], Optimal(1.0)),
    ("tabs.col", "p\tedge\t3\t3\ne\t1\t2\ne\t2\t3\ne\t1\t3", &["--colors", "2"], Optimal(1.0)),
    (
        "others.col",
        "c x\np edge 4 4\nn 1 3\nd 2\nv 1.5\nx foo\ne 1 2\ne 2 3\ne 3 4\ne 4 1\n",
        &["--colors", "2"],
        Optimal(0.0),
    ),
];

#[test]
fn what_is_right_for_small_odd_files() -> Result {
    let folder = tempfile::tempdir()?;
    for (name, content, arguments, right) in CASES {
        let path = folder.path().join(name);
        fs::write(&path, content)?;
        let mut command = fangs();
        let _ = command.arg("solve").arg(&path).args(*arguments).args(["--json", "--device", "cpu", "--time", "60s"]);
        match right {
            Optimal(cost) => {
                let found = object(&mut command, 0)?;
                assert_eq!(found["status"], "optimal", "{name}: {found}");
                assert_eq!(found["gap"], 0.0, "{name}: {found}");
                let value = found["cost"].as_f64().ok_or(*name)?;
                assert!((value - cost).abs() < 2e-6, "{name}: {found}");
                let bound = found["bound"].as_f64().ok_or(*name)?;
                assert!((bound - value).abs() <= 1e-8, "{name}: {found}");
            }
            Infeasible => {
                let found = object(&mut command, 4)?;
                let nothing = ["cost", "bound", "gap", "solution"].map(|field| found[field].is_null());
                assert_eq!((found["status"].as_str(), nothing), (Some("infeasible"), [true; 4]), "{name}: {found}");
            }
        }
    }
    Ok(())
}

#[test]
fn costs_beyond_the_digits_of_a_double_are_exact() -> Result {
    let (_folder, path) = folder_with("large.wcsp", CASES[0].1)?;
    let found = object(fangs().arg("solve").arg(&path).args(["--json", "--device", "cpu"]), 0)?;
    assert_eq!(found["cost"].as_i64(), Some(18_014_398_509_481_986));
    Ok(())
}

#[test]
fn a_tuple_at_top_is_forbidden_for_check_too() -> Result {
    let (folder, path) = folder_with("n.wcsp", "n 2 1 2 10 1 1 2 0 1 0 1 0 0 10 1 0 0 1 0 -5")?;
    let solution = folder.path().join("n.sol");
    fs::write(&solution, "0 0\n")?;
    let found = object(fangs().arg("check").arg(&path).arg(&solution).arg("--json"), 4)?;
    assert_eq!((found["solution"].as_bool(), found["cost"].is_null()), (Some(false), true), "{found}");
    Ok(())
}

#[test]
fn solutions_and_evidence_in_the_forms_of_others() -> Result {
    let (folder, path) = folder_with("n.uai", "MARKOV 3 2 2 3 2 2 0 1 1 2 4 4 2 1 0 3 1 2 7")?;
    let solution = folder.path().join("n.sol");
    for text in [
        "MAP\n3 0 0 2\n",
        "MPE\n1\n3 0 0 2\n",
        "MPE\n1\n3 1 0 1\n-BEGIN-\n1\n3 0 0 2\n",
        "[0, 0, 2]",
        "{\"solution\":[0,0,2]}",
    ] {
        fs::write(&solution, text)?;
        let found = object(fangs().arg("check").arg(&path).arg(&solution).arg("--json"), 0)?;
        assert!((found["cost"].as_f64().ok_or(text)? - 28f64.ln()).abs() < 1e-9, "{text}: {found}");
    }
    let evidence = folder.path().join("n.evid");
    for (text, factor) in
        [("0\n2 1\n", 28.0), ("2 0 1 2 0", 1.0), ("1 1 0 1", 7.0), ("1\n2 0 1 # a comment\n 2 1\n", 2.0)]
    {
        fs::write(&evidence, text)?;
        let mut command = fangs();
        let _ = command.arg("solve").arg(&path).arg("--evidence").arg(&evidence).args(["--json", "--device", "cpu"]);
        let found = object(&mut command, 0)?;
        assert!((found["cost"].as_f64().ok_or(text)? - f64::ln(factor)).abs() < 1e-8, "{text}: {found}");
    }
    Ok(())
}
