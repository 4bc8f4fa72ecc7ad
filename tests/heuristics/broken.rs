//! Invalid files: each gets one message with the position and the alternatives, and nothing panics.

use super::Setting;
use super::lines::LINES;
use assert_cmd::Command;
use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_heuristics::INPUTS;
use fangs_heuristics::language::{FUNCTIONS, Heuristic, Scratch};
use fangs_model::model::Variable;
use std::path::Path;
use tempfile::TempDir;

/// A file with all features.
const WHOLE: &str = r#"about = "tabu with a taste"
active = "current_conflicts > 0 and group != night"
allowed = "age > tenure or cost < least + 1"
rating = "delta + 2 * (frequency - half) - wish"
weight = '''
if(rating == best(rating), 1,
   exp((best(rating) - rating) / max(temperature, 1e-3)))'''
largest = "1"

[let]
tenure = "clamp(floor(domain / 3), 2, 10)"
half = "0.5"

[tables]
wish = "wish.csv"
priority = { file = "priority.csv", default = 0 }

[groups]
night = [0, "x1"]
day = [2]
"#;

fn variables() -> Vec<Variable> {
    let named = |index: usize, domain: u32| {
        let values = (0..domain).map(|value| format!("v{value}").into()).collect();
        Variable { domain, name: Some(format!("x{index}").into()), values: Some(values) }
    };
    vec![named(0, 2), named(1, 3), named(2, 2)]
}

const WISHES: &str =
    "variable,value,wish\nx0,v0,1\n0,1,2\n# by index or by name\nx1,0,0\nx1,1,1\nx1,2,2\n2,0,-1\n2,v1,5e-1\n";
const PRIORITIES: &str = "x2,4\n";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("there is room for a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("files can be made");
    }
    folder
}

/// Returns the message about a file; `None` if it is valid.
fn said(folder: &Path, text: &[u8]) -> Option<String> {
    let path = folder.join("my.toml");
    std::fs::write(&path, text).expect("files can be made");
    let error = Heuristic::read(&path, &variables(), &Stop::new()).err()?;
    assert!(error.is_input(), "{error}");
    Some(error.to_string().replace(&format!("{}/", folder.display()), ""))
}

#[test]
fn the_whole_file_is_right() {
    let folder = folder(&[("wish.csv", WISHES), ("priority.csv", PRIORITIES), ("my.toml", WHOLE)]);
    let path = folder.path().join("my.toml");
    let heuristic = Heuristic::read(&path, &variables(), &Stop::new()).expect("nothing is wrong");
    Heuristic::check(&path, &Stop::new()).expect("nothing is wrong");
    assert_eq!(heuristic.about(), "tabu with a taste");
    let tables: Vec<_> = heuristic.tables().collect();
    assert_eq!(tables.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["wish", "priority", "group"]);
    assert_eq!((tables[0].1.row(2), tables[1].1.number(2), tables[1].1.number(0)), (&[-1.0, 0.5][..], 4.0, 0.0));
    assert_eq!([0, 1, 2].map(|variable| tables[2].1.number(variable)), [0.0, 0.0, 1.0]);
    let empty = Heuristic::parse("e", "rating = \"cost + group\"\n[groups]\nnobody = []", &variables());
    let empty = empty.expect("nothing is wrong");
    assert_eq!(empty.tables().map(|(name, table)| (name, table.number(2))).collect::<Vec<_>>(), [("group", -1.0)]);
}

#[test]
fn messages_name_the_place_and_what_exists() {
    let files = [
        ("wish.csv", WISHES),
        ("priority.csv", PRIORITIES),
        ("short.csv", "0,0,1\n0,1,1\nx1,v0,1\n"),
        ("twice.csv", "0,1\n1,2\nx0,3\n"),
        ("empty.csv", ""),
        ("wide.csv", "a,b,c,d\n"),
        ("ragged.csv", "0,1\n1,2,3\n"),
        ("words.csv", "variable,number\nx0,many\n"),
        ("nan.csv", "0,NaN\n"),
        ("stranger.csv", "x9,1\n"),
        ("beyond.csv", "0,2,1\n"),
    ];
    let folder = folder(&files);
    std::fs::write(folder.path().join("bytes.csv"), b"0,\xFF\xFE\n").expect("files can be made");
    let mut failures = Vec::new();
    for (lines, part) in LINES {
        let message = said(folder.path(), lines.as_bytes()).unwrap_or_else(|| "nothing".into());
        if !message.contains(part) || message.contains('\n') {
            failures.push(format!("{lines}\n    said {message}\n  wanted {part}"));
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), LINES.len(), failures.join("\n"));
    let message = said(folder.path(), b"rating = \"cost\xFF\"").expect("this is no text");
    assert!(message.starts_with("my.toml:1:15: found a byte that is none, expected text in UTF-8"), "{message}");
    let error = Heuristic::check(&folder.path().join("absent.toml"), &Stop::new()).expect_err("there is no such file");
    assert!(error.is_input() && error.to_string().contains("absent.toml: cannot read"), "{error}");
}

/// Runs with invalid files exit with code 2, nothing on standard output, and one line that names the file.
#[test]
fn runs_with_broken_files_do_not_begin() {
    let folder = folder(&[("wish.csv", WISHES), ("priority.csv", PRIORITIES)]);
    let network = folder.path().join("three.wcsp");
    std::fs::write(&network, "three 3 3 1 9\n2 3 2\n2 0 1 0 1\n0 0 5\n").expect("files can be made");
    let file = folder.path().join("my.toml");
    assert!(LINES.len() >= 200, "{}", LINES.len());
    for (lines, _) in LINES {
        std::fs::write(&file, lines).expect("files can be made");
        let mut solved = Command::cargo_bin("fangs").expect("the program is built");
        let _ = solved.args(["solve", "--device", "cpu", "--rounds", "1", "--heuristic"]).arg(&file).arg(&network);
        let refused = solved.assert().code(2).stdout("");
        let told = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert!(told.lines().count() == 1 && told.contains(&*folder.path().to_string_lossy()), "{lines}\n{told}");
    }
}

#[test]
fn the_reference_has_every_name_and_its_listings_are_right() {
    let text = include_str!("../../docs/heuristics-language.md");
    for name in INPUTS.iter().map(|input| input.name).chain(FUNCTIONS.map(|function| function.name)) {
        assert!(text.contains(&format!("`{name}`")) || text.contains(&format!("`{name}(")), "{name} is not explained");
    }
    let listings: Vec<&str> = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let folder = folder(&[("wish.csv", WISHES), ("priority.csv", "0,1\n1,2\n2,3\n")]);
    for listing in &listings {
        // listings without a rating are parts of files
        let own = listing.contains("rating =");
        let whole = format!("{}{listing}", if own { "" } else { "rating = \"cost\"\n" });
        let whole = whole.replace("[0, 1, \"x17\"]", "[0, \"x1\"]").replace("[2, 3]", "[2]");
        assert_eq!(said(folder.path(), whole.as_bytes()), None, "{listing}");
    }
    assert_eq!(listings.len(), 3);
}

#[test]
fn nothing_is_too_deep_or_too_long() {
    let folder = folder(&[]);
    let long = |open: &str, close: &str, n: usize| format!("rating = \"{}cost{}\"", open.repeat(n), close.repeat(n));
    for text in [
        long("(", ")", 50_000),
        long("-", "", 50_000),
        long("not ", "", 50_000),
        long("abs(", ")", 50_000),
        long("cost + ", "", 50_000),
        long("", " * cost", 50_000),
        long("if(cost > 1, 1, ", ")", 5_000),
    ] {
        let message = said(folder.path(), text.as_bytes()).expect("that is too much");
        assert!(message.contains("expected an expression of at most 100 levels (give its parts names"), "{message}");
    }
    let chain = |n: usize| (1..=n).map(|i| format!("a{i} = \"a{} + 1\"\n", i - 1)).collect::<String>();
    let text = |n: usize| format!("rating = \"a{n}\"\n[let]\na0 = \"cost\"\n{}", chain(n));
    assert_eq!(said(folder.path(), text(100).as_bytes()), None);
    let message = said(folder.path(), text(20_000).as_bytes()).expect("that is too much");
    assert!(message.contains("names that lead at most 400 levels deep"), "{message}");
    let message = said(folder.path(), "#".repeat(2 << 20).as_bytes()).expect("that is too much");
    assert!(message.contains("more than 1048576 bytes"), "{message}");
}

/// Bytes that mutations insert.
const STRAY: &[u8] = b" \"'()[]{}=+-*/<>!,.#_\n\\\0\xC3ab09";

#[test]
fn mutations_are_right_or_get_one_line() {
    let folder = folder(&[("wish.csv", WISHES), ("priority.csv", PRIORITIES)]);
    let mut rng = Rng::new(8);
    let pieces: Vec<&str> = WHOLE.split_inclusive(|c: char| !c.is_alphanumeric()).collect();
    let (mut refused, mut accepted) = (0, 0);
    while refused < 1000 {
        let mut bytes = WHOLE.as_bytes().to_vec();
        for _ in 0..1 + rng.below(2) {
            let at = rng.index(bytes.len());
            match rng.below(5) {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, STRAY[rng.index(STRAY.len())]),
                2 => bytes.truncate(at.max(1)),
                3 => {
                    let piece = pieces[rng.index(pieces.len())].bytes();
                    drop(bytes.splice(at..at, piece));
                }
                _ => {
                    let end = (at + rng.index(8)).min(bytes.len());
                    drop(bytes.drain(at..end));
                }
            }
        }
        match said(folder.path(), &bytes) {
            None => accepted += 1,
            Some(message) => {
                let mut parts = message.splitn(4, ':');
                let _file = parts.next();
                let place = [parts.next(), parts.next()].map(|part| part.and_then(|part| part.parse::<u64>().ok()));
                let rest = parts.next().unwrap_or_default();
                let told = place.iter().all(Option::is_some) && rest.contains("found ") && rest.contains(", expected ");
                assert!(told && !message.contains('\n'), "{message}\n{}", String::from_utf8_lossy(&bytes));
                refused += 1;
            }
        }
    }
    assert!(accepted > 20, "{accepted} were right");
}

#[test]
fn what_is_no_number_is_told_and_goes_on() {
    let mut rng = Rng::new(9);
    let setting = Setting::new(&mut rng);
    let mut visit = setting.visit(&mut rng, 4);
    visit.set("cost", &[1.0, f64::INFINITY, 2.0, f64::INFINITY, f64::NAN, 3.0, 4.0]);
    let heuristic = Heuristic::parse("my.toml", "rating = \"cost\"\nweight = \"rating - rating\"", &setting.variables);
    let heuristic = heuristic.expect("nothing is wrong");
    let mut weights = vec![7; 7];
    let weighed = heuristic.weigh(4, &visit, &mut Scratch::default(), &mut weights);
    assert_eq!((weighed.sum, weighed.nonsense, weights), (0, Some(1), vec![0; 7]));
    let message = heuristic.explain(4, &visit, 1);
    assert!(
        message.starts_with("my.toml: the weight of value 1 of variable 4 is no number where cost = inf"),
        "{message}"
    );
}
