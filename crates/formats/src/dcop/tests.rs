//! Tests with correct, wrong and mutated files of distributed problems.

use crate as formats;
use crate::check::evaluate;
use crate::error::Error;
use crate::model::{FORBIDDEN, Network, Number};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::{Format, ReadOptions, read_from, write};

fn read(text: &str, format: Format) -> Result<Network, Error> {
    read_from(text.as_bytes(), "f", format, &ReadOptions::default(), &Stop::new())
}

const LAMPS: &str = "\
name: lamps
objective: min
domains:
  level:
    values: ['0 .. 3']
    type: light
  colour: {values: [R, 'G', yes]}
variables:
  a: {domain: level, cost_function: 0.5 * a}
  b:
    domain: level
    initial_value: 2
    noise_level: 0.1
  c: {domain: colour}
external_variables:
  sun: {domain: level, initial_value: 1}
constraints:
  sum:
    type: intention
    function: 0 if a + b + sun == 4 else 10
  match:
    type: extensional
    variables: [b, c]
    default: 1
    values:
      0.25: 1 R | 2 G
      .inf: 3 yes
  one: {type: extensional, variables: c, values: {3: R, 4: G | yes}}
  dark: {type: extensional, variables: [sun, a], values: {7: 1 0 | 0 1}}
  flag: {type: intention, function: c == 'G'}
agents: {x: {capacity: 9}, y: {}}
distribution_hints: {must_host: {y: [a, sum]}}
";

const RADIO: &str = "<instance>\r
<presentation name=\"r\" maximize=\"false\" format=\"XCSP 2.1_FRODO\"/>\r
<agents nbAgents=\"2\"><agent name=\"p\"/><agent name=\"q\"/></agents>\r
<domains><domain name=\"D\" nbValues=\"3\">1..2 5</domain></domains>\r
<variables><variable name=\"u\" domain=\"D\" agent=\"q\"/><variable name=\"v\" domain=\"D\" agent=\"q\"/>\
<variable name=\"w\" domain=\"D\" agent=\"p\"/></variables>\r
<relations>
<relation name=\"S\" arity=\"2\" nbTuples=\"4\" semantics=\"soft\" defaultCost=\"infinity\">\
3: 1 1|1 2|0.5: 5 5| 2 5</relation>
<relation name=\"C\" arity=\"2\" nbTuples=\"2\" semantics=\"conflicts\">1 1|2 2</relation>
<relation name=\"P\" arity=\"1\" nbTuples=\"1\" semantics=\"supports\">5</relation>
</relations>
<constraints initialCost=\"2\" maximalCost=\"100\"><constraint name=\"k\" arity=\"2\" scope=\"u v\" reference=\"S\"/>\
<constraint name=\"l\" arity=\"2\" scope=\"v w\" reference=\"C\"/><constraint name=\"m\" arity=\"1\" scope=\"w\" \
reference=\"P\"/></constraints>
</instance>";

fn value(network: &Network, assignment: &[u32]) -> Option<f64> {
    let found = evaluate(network, assignment);
    found.is_solution().then(|| network.units().number(found.cost).as_f64())
}

#[test]
fn truth_values_are_the_same_however_they_are_written() {
    let text = "objective: max\ndomains: {switch: {values: [true, false]}, level: {values: [1, 2]}}\n\
        external_variables: {night: {domain: switch, initial_value: False}}\n\
        variables: {on: {domain: switch, initial_value: No}, high: {domain: level, initial_value: 2.0}}\n\
        constraints: {dark: {type: intention, function: high if night == on else 5}}\n";
    let network = read(text, Format::Yaml).expect("a problem");
    assert_eq!(network.agents().map(|agents| agents.initial.clone()), Some(vec![Some(1), Some(1)]));
    assert_eq!([[0, 0], [1, 0], [1, 1]].map(|values| value(&network, &values)), [Some(5.0), Some(1.0), Some(2.0)]);
    for (old, new, expected) in [
        ("initial_value: False", "initial_value: 'False'", "expected a value of its domain"),
        ("high if", "if", "f:5:49: found `if`, expected a number, a name"),
        ("high if", "if", "statements end with `return`"),
    ] {
        let error = read(&text.replace(old, new), Format::Yaml).expect_err("wrong").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn keys_without_a_meaning_are_read_past_with_a_warning() {
    let text = LAMPS
        .replace("domain: level, cost_function", "domain: level, weight: 3, initial: 2, cost_function")
        .replace("c: {domain: colour}", "c: {domain: colour, weight: [1, 2]}")
        .replace("type: intention, function: c ==", "type: intention, comment: dusk, function: c ==")
        .replace("sun: {", "sun: {height: high, ");
    let network = read(&text, Format::Yaml).expect("a problem");
    assert_eq!(value(&network, &[1, 2, 1]), Some(5.75));
    let warnings: Vec<String> = network.warnings().iter().map(ToString::to_string).collect();
    for part in [
        "f:9:22: `weight` of a variable is left unread",
        "`initial` of a variable is left unread",
        "`height` of an external variable is left unread",
        "`comment` of a constraint by intention is left unread, its keys are type, function, variables",
    ] {
        assert_eq!(warnings.iter().filter(|warning| warning.contains(part)).count(), 1, "{part}: {warnings:?}");
    }
}

#[test]
fn functions_of_several_lines() {
    let function = "function: |\n        d = abs(a - 1)  # how far\n        if c == 'G':\n            d += b\n        \
        elif c == 'R' and (a ==\n          0): return 100\n        return d\n";
    let text = LAMPS
        .replace("flag: {type: intention, function: c == 'G'}", &format!("flag:\n    type: intention\n    {function}"));
    let network = read(&text, Format::Yaml).expect("a problem");
    // 4.75 and 11 without the function
    assert_eq!(value(&network, &[1, 2, 1]), Some(4.75 + 2.0));
    assert_eq!(value(&network, &[0, 3, 0]), Some(11.0 + 100.0));
}

#[test]
fn yaml_is_read_as_it_is_meant() {
    let network = read(LAMPS, Format::Yaml).expect("a problem");
    assert_eq!((network.domains(), network.units().decimals), (&[4, 4, 3][..], 2));
    // a = 1, b = 2, c = G: 0.5 + 0 + 0.25 + 4 + 0 + 1
    assert_eq!(value(&network, &[1, 2, 1]), Some(5.75));
    // a = 0, b = 3, c = R: 0 + 0 + 1 + 3 + 7 + 0
    assert_eq!(value(&network, &[0, 3, 0]), Some(11.0));
    assert_eq!(value(&network, &[0, 3, 2]), None);
    let names = |v: usize| (0..network.domains()[v]).map(|value| network.value_name(v, value)).collect::<Vec<_>>();
    assert_eq!(
        (names(0), names(2)),
        (vec!["0".into(), "1".into(), "2".into(), "3".into()], vec!["R".to_string(), "G".into(), "yes".into()])
    );
    let agents = network.agents().expect("agents");
    assert_eq!((&agents.owner[..], &agents.hosts[..], agents.names.len()), (&[1, 0, 2][..], &[(1, 0)][..], 3));
    assert_eq!(agents.initial, [None, Some(2), None]);
    let warning = &network.warnings()[0];
    assert!(warning.message.contains("noise_level") && warning.line == 13, "{warning}");
    assert_eq!(network.function_name(1), Some("sum"));
    let larger = read(&LAMPS.replace("min", "max").replace(".inf", "-.inf"), Format::Yaml).expect("a problem");
    assert_eq!(value(&larger, &[1, 2, 1]), Some(5.75));
    assert!(larger.units().maximise && evaluate(&larger, &[0, 3, 2]).cost == FORBIDDEN);
}

#[test]
fn xml_is_read_as_it_is_meant() {
    let network = read(RADIO, Format::Xml).expect("a problem");
    assert_eq!((network.domains(), network.top()), (&[3, 3, 3][..], 1000));
    // a cost applies until the next one: (5, 5) and (2, 5) cost 0.5
    assert_eq!(value(&network, &[2, 2, 2]), Some(2.5));
    assert_eq!(value(&network, &[1, 2, 2]), Some(2.5));
    assert_eq!(value(&network, &[0, 1, 2]), Some(5.0));
    assert_eq!(value(&network, &[1, 1, 2]), None);
    assert_eq!(value(&network, &[2, 2, 0]), None);
    assert_eq!(network.value_name(0, 2), "5");
    assert_eq!(network.agents().expect("agents").owner, [1, 1, 0]);
    let larger = RADIO.replace("maximize=\"false\"", "maximize=\"true\"").replace("infinity", "-infinity");
    let larger = read(&larger.replace(" maximalCost=\"100\"", ""), Format::Xml).expect("a problem");
    assert_eq!(value(&larger, &[0, 1, 2]), Some(5.0));
    assert_eq!(value(&larger, &[2, 2, 0]), None);
}

#[test]
fn what_is_written_is_read_again() {
    for (text, format) in [(LAMPS, Format::Yaml), (RADIO, Format::Xml)] {
        let network = read(text, format).expect("a problem");
        let mut written = Vec::new();
        let limited = network.top() < FORBIDDEN;
        write(&network, Format::Yaml, &mut written).expect("memory");
        let again = read(std::str::from_utf8(&written).expect("text"), Format::Yaml).expect("YAML");
        assert_eq!(
            (network.domains(), network.agents().map(|a| &a.owner)),
            (again.domains(), again.agents().map(|a| &a.owner))
        );
        for a in 0..network.domains()[0] {
            for b in 0..network.domains()[1] {
                for c in 0..3 {
                    assert_eq!(value(&network, &[a, b, c]), value(&again, &[a, b, c]), "{limited}");
                }
            }
        }
    }
    let mut builder = Network::builder("limited");
    let v = builder.variable(2).expect("a variable");
    let _ = builder.dense(&[v], vec![3, 5]).expect("a function");
    let _ = builder.dense(&[v], vec![3, 5]).expect("a function");
    let _ = builder.top(8);
    let error = write(&builder.build(), Format::Yaml, &mut Vec::new()).expect_err("10 is above 8");
    assert!(error.to_string().contains("forbidden"), "{error}");
}

#[test]
fn several_files_make_one_problem() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = LAMPS.find("agents:").expect("agents");
    let parts = [("a.yaml", &LAMPS[..at]), ("b.yml", &LAMPS[at..])];
    let sources: Vec<formats::Source> = parts
        .iter()
        .map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            formats::Source::new(path)
        })
        .collect();
    let read = |sources: &[formats::Source]| formats::read_parts(sources, &ReadOptions::default(), &Stop::new());
    assert_eq!(read(&sources).expect("a problem").agents().expect("agents").owner, [1, 0, 2]);
    let twice = [sources[0].clone(), sources[0].clone()];
    assert!(read(&twice).is_err_and(|error| error.to_string().contains("a part that no other file has")));
}

#[test]
fn mistakes_are_told_with_their_places() {
    let mut wrong = Vec::new();
    let change = |from: &str, to: &str| {
        assert!(LAMPS.contains(from), "{from}");
        read(&LAMPS.replacen(from, to, 1), Format::Yaml).expect_err(to).to_string()
    };
    for (from, to, part) in [
        ("objective: min", "objective: best", "f:2:12: found `best`, expected min or max"),
        (
            "domain: level, cost",
            "domain: levl, cost",
            "f:9:15: found `levl`, expected the name of a domain (did you mean `level`?)",
        ),
        ("a + b + sun", "a + d + sun", "f:20:24: found `d`, expected a variable"),
        ("a + b + sun == 4", "a + b + sun = 4", "f:20:32: found `=`, expected `else` (equality is `==`)"),
        ("else 10", "else [10]", "f:20:42: found `[`"),
        ("type: intention", "type: intensional", "f:19:11: found `intensional`, expected intention or extensional"),
        ("1 R | 2 G", "1 R | 2 G R", "f:26:13: found `2 G R`, expected 2 values"),
        ("1 R | 2 G", "1 R | 2 B", "f:26:13: found `B`, expected a value of c"),
        ("0.25:", "cheap:", "f:26:7: found `cheap`, expected a cost"),
        (".inf:", "-.inf:", "expected a number, or infinity for what is forbidden"),
        ("variables: [b, c]", "variables: [b, b]", "expected each variable once"),
        ("y: [a, sum]", "z: [a]", "expected the name of an agent"),
        ("y: [a, sum]", "y: [a, e]", "expected the name of a variable or a constraint"),
        ("initial_value: 2", "initial_value: 9", "f:12:20: found `9`, expected a value of its domain"),
        ("'0 .. 3'", "'3 .. 0'", "expected a range such as"),
        ("default: 1", "defualt: 1", "did you mean `default`?"),
        ("0.5 * a", "1 / a", "f:9:37: found a division by 0"),
    ] {
        let error = change(from, to);
        if !error.contains(part) {
            wrong.push(format!("{to}: {error}, not {part}"));
        }
    }
    let change = |from: &str, to: &str| {
        assert!(RADIO.contains(from), "{from}");
        read(&RADIO.replacen(from, to, 1), Format::Xml).expect_err(to).to_string()
    };
    for (from, to, part) in [
        ("<relations>", "<predicates/><relations>", "found `<predicates`"),
        ("reference=\"S\"", "reference=\"global:allDifferent\"", "global constraints are not read"),
        ("name=\"u\"", "name=\"u\" type=\"random\"", "found `random`, expected decision (stochastic"),
        ("scope=\"u v\"", "scope=\"u x\"", "found `x`, expected names of variables"),
        ("scope=\"u v\"", "scope=\"u\"", "expected 2 variables"),
        ("3: 1 1|1 2", "3: 1 1|1 9", "f:7:92: found `9`, expected a value of v"),
        ("3: 1 1|1 2", "3: 1 1|1", "found `1`, expected 2 values"),
        ("3: 1 1", "x: 1 1", "found `x`, expected a number, or infinity"),
        ("3: 1 1", "1 1", "expected a cost and `:` before the first tuple"),
        ("defaultCost=\"infinity\"", "defaultCost=\"-infinity\"", "found `-infinity`"),
        ("semantics=\"soft\"", "semantics=\"hard\"", "found `hard`, expected soft, supports or conflicts"),
        ("agent=\"p\"", "agent=\"r\"", "found `r`, expected the name of an agent"),
        ("1..2 5", "2..1 5", "found `2..1`, expected a range"),
        ("</instance>", "", "expected XML"),
    ] {
        let error = change(from, to);
        if !error.contains(part) {
            wrong.push(format!("{to}: {error}, not {part}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// No text crashes the readers, and every problem that they accept has a cost for its first assignment.
#[test]
fn mutated_files_are_read_or_refused() {
    let mut rng = Rng::new(41);
    let mut seen = [0, 0];
    for case in 0..6000 {
        let (text, format) = if case % 2 == 0 { (LAMPS, Format::Yaml) } else { (RADIO, Format::Xml) };
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..1 + rng.below(3) {
            let at = rng.index(bytes.len());
            match rng.below(5) {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, b" \n:|[]{}<>&*!'\"#-0.,\xe9"[rng.index(21)]),
                2 => bytes.truncate(at.max(1)),
                3 => {
                    let other = (at + 7) % bytes.len();
                    bytes.swap(at, other);
                }
                _ => {
                    let end = (at + 1 + rng.index(12)).min(bytes.len());
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part).for_each(drop);
                }
            }
        }
        match read_from(&bytes[..], "f", format, &ReadOptions::default(), &Stop::new()) {
            Ok(network) => {
                let found = evaluate(&network, &vec![0; network.domains().len()]);
                assert!(matches!(network.units().number(found.soft), Number::Integer(_) | Number::Decimal { .. }));
                seen[0] += 1;
            }
            Err(error) => {
                assert!(error.is_input(), "{error}");
                seen[1] += 1;
            }
        }
    }
    assert!(seen[0] > 300 && seen[1] > 1000, "{seen:?}");
    for deep in ["[".repeat(100_000), "{a: ".repeat(100_000), "- ".repeat(100_000), "<a>".repeat(100_000)] {
        let format = if deep.starts_with('<') { Format::Xml } else { Format::Yaml };
        assert!(read(&deep, format).is_err_and(|error| error.is_input()));
    }
}
