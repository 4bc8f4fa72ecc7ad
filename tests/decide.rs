//! Published diagrams, if their folder is present, and texts that are not diagrams.

use fangs_base::Error;
use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_check::worth_in_diagram;
use fangs_decide::{Method, Options, solve_diagram};
use fangs_formats::{DiagramParts, parse_diagram, read_diagram};
use fangs_model::model::{Diagram, DiagramKind, Policy};
use std::path::PathBuf;

fn published() -> Option<PathBuf> {
    let folder = std::env::var_os("FANGS_INSTANCES").map_or_else(|| "../shared/instances".into(), PathBuf::from);
    folder.join("MANIFEST.tsv").is_file().then(|| folder.join("influence_diagram"))
}

/// Solves a diagram, and recomputes the value of its policy.
fn value(diagram: &Diagram, method: Method) -> Result<(f64, f64), Error> {
    let options = Options { method, ..Options::default() };
    let solution = solve_diagram(diagram, &options, &Stop::new(), &mut |_| ())?;
    assert!(solution.exact && solution.bound == solution.meu, "{}", diagram.name);
    let found = solution.meu.expect("a value");
    let Some(Policy::Rules(rules)) = &solution.policy else { panic!("rules") };
    let (worth, _) = worth_in_diagram(diagram, rules, &[], &Stop::new())?;
    assert!((worth - found).abs() < 1e-9 * found.abs(), "{}: the policy is worth {worth}, not {found}", diagram.name);
    Ok((found, solution.error_bound))
}

/// Values computed by pyAgrum 3.3.1 and by a separate elimination in another language (the last value only by the
/// latter).
#[test]
fn published_diagrams_have_their_values() -> Result<(), Error> {
    let Some(folder) = published() else { return Ok(()) };
    let mut seen = 0;
    for (name, recall, expected) in [
        ("mdp1-4_2_2_5", None, 3.695057019301272),
        ("rand-c30d3o1-01", None, 222.005448683),
        ("rand-c20d2o1-01_limid", None, 107.763829496),
        ("rand-c20d2o1-01_limid", Some(DiagramKind::Recall), 112.665208218),
        ("ID_from_BN_78_w19d3", None, 17.5685306463475),
        ("sysadmin_inst_mdp_1_s=10_t=6", None, 53.3314197113337),
    ] {
        let (mut diagram, _) = read_diagram(&folder.join(format!("{name}.uai.xz")), &Stop::new())?;
        diagram.kind = recall.unwrap_or(diagram.kind);
        let (found, error) = value(&diagram, Method::Auto)?;
        assert!((found - expected).abs() <= 1e-9 + error, "{name}: {found}, not {expected} ({error:e})");
        seen += 1;
    }
    assert_eq!(seen, 6);
    Ok(())
}

const TEXTS: [&str; 3] = [
    "ID # a coin and a bet\n3\n2 2 2\n3\n1 0\n2 0 2\n2 1 2\n\n2\n0.75 0.25\n\n4\n0.5 0.5 0 1\n\n4\n3 -1 0 2\n",
    "3\nC D C\n3\nP P U\n",
    "3;\n3;\n2;\n1;\n0;\n",
];

fn parse(texts: [&str; 3]) -> Result<Diagram, Error> {
    let [uai, id, pvo] = texts.map(str::as_bytes);
    let parts = DiagramParts { uai: ("t.uai", uai), id: ("t.id", id), pvo: ("t.pvo", pvo) };
    Ok(parse_diagram(&parts, &Stop::new())?.0)
}

#[test]
fn three_texts_are_a_diagram() -> Result<(), Error> {
    let diagram = parse(TEXTS)?;
    assert_eq!((diagram.kind, &diagram.blocks), (DiagramKind::Recall, &vec![vec![2], vec![1], vec![0]]));
    assert_eq!((diagram.probabilities.len(), diagram.utilities.len()), (2, 1));
    assert_eq!(diagram.decisions(), [(1, vec![0])]);
    let limited = parse([&TEXTS[0].replace("ID", "limid"), TEXTS[1], "3; 2; 0 2; 1;"])?;
    assert_eq!((limited.kind, limited.decisions()), (DiagramKind::Limited, vec![(1, vec![])]));
    Ok(())
}

/// The second decision observes the block before its own, which is empty, and not the first decision's block.
#[test]
fn a_limited_decision_with_an_empty_block_before_it_sees_nothing() -> Result<(), Error> {
    // one of two bets wins 8 if the second decision agrees with a fair coin that only the first one observed
    let uai = "LIMID\n3\n2 2 2\n2\n1 0\n2 0 2\n\n2\n0.5 0.5\n\n4\n8 0 0 8\n";
    let id = "3\nC D D\n2\nP U\n";
    for (pvo, seen, value) in [
        ("3;\n4;\n2;\n;\n1;\n0;\n", vec![], 4.0),
        ("3;\n6;\n;\n2;\n;\n1;\n0;\n;\n", vec![], 4.0),
        ("3;\n3;\n2;\n0;\n1;\n", vec![0], 8.0),
    ] {
        let diagram = parse([uai, id, pvo])?;
        assert!(diagram.decisions().contains(&(2, seen)), "{:?}", diagram.decisions());
        let found = solve_diagram(&diagram, &Options::default(), &Stop::new(), &mut |_| ())?;
        assert_eq!((found.meu, found.exact), (Some(value), true), "{pvo}");
    }
    Ok(())
}

#[test]
fn errors_have_places() {
    for (file, from, to, message) in [
        (0, "ID", "BAYES", "t.uai:1:1: found `BAYES`, expected ID or LIMID"),
        (0, "0.75", "-0.75", "t.uai:10:1: found `-0.75`, expected a probability of at least 0"),
        (0, "3 -1", "x -1", "expected a utility"),
        (0, "4\n3", "5\n3", "expected 4 entries, as the scope of function 2 has it"),
        (1, "C D C", "C D X", "t.id:2:5: found `X`, expected C or D"),
        (1, "P P U", "P P", "t.id:5:1: found the end of the file, expected P or U"),
        (1, "3\nC", "4\nC", "expected 3 (the .uai file has 3 variables)"),
        (2, "2;\n1", "2 1;\n", "t.pvo:3:3: found `1;`, expected a variable of the same kind"),
        (2, "0;", "3;", "t.pvo:5:1: found `3;`, expected a variable from 0 to 2"),
        (2, "0;", "", "2 blocks (3 blocks are announced)"),
        (2, "3;\n3", "4;\n3", "the .uai file has 3 variables"),
        (2, "2;", "a;", "expected numbers and semicolons"),
    ] {
        let mut texts = TEXTS.map(String::from);
        assert!(texts[file].contains(from));
        texts[file] = texts[file].replacen(from, to, 1);
        let error = parse([&texts[0], &texts[1], &texts[2]]).expect_err(to).to_string();
        assert!(error.contains(message), "{error} for {to}");
    }
}

/// Any text is solved or refused.
#[test]
fn mutated_texts_are_no_panic() {
    let mut rng = Rng::new(12);
    let mut solved = 0;
    for _ in 0..4000 {
        let mut texts =
            TEXTS.map(|text| text.split_inclusive(char::is_whitespace).map(String::from).collect::<Vec<_>>());
        let words = &mut texts[rng.index(3)];
        let (at, other) = (rng.index(words.len()), rng.index(words.len()));
        match rng.index(4) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[other].clone()),
            2 => words.swap(at, other),
            _ => words[at] = ["0 ", "1; ", "99999999999 ", "-3 ", "1e400 ", "é ", "; "][rng.index(7)].into(),
        }
        let [uai, id, pvo] = texts.map(|words| words.concat());
        let solution = parse([&uai, &id, &pvo])
            .and_then(|diagram| solve_diagram(&diagram, &Options::default(), &Stop::new(), &mut |_| ()));
        match solution {
            Ok(_) => solved += 1,
            Err(error) => assert!(error.is_input(), "{error}"),
        }
    }
    assert!(solved > 100, "{solved}");
}
