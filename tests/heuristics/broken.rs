//! Files that are wrong: each gets one message that names the place and what exists, and nothing panics.

use super::Setting;
use fangs::heuristics::INPUTS;
use fangs::heuristics::language::{FUNCTIONS, Heuristic, Scratch};
use fangs::model::Variable;
use fangs::rng::Rng;
use std::path::Path;
use tempfile::TempDir;

/// A file with everything in it.
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

/// What is said of a file; nothing where it is right.
fn said(folder: &Path, text: &[u8]) -> Option<String> {
    let path = folder.join("my.toml");
    std::fs::write(&path, text).expect("files can be made");
    let error = Heuristic::read(&path, &variables()).err()?;
    assert!(error.is_input(), "{error}");
    Some(error.to_string().replace(&format!("{}/", folder.display()), ""))
}

#[test]
fn the_whole_file_is_right() {
    let folder = folder(&[("wish.csv", WISHES), ("priority.csv", PRIORITIES), ("my.toml", WHOLE)]);
    let path = folder.path().join("my.toml");
    let heuristic = Heuristic::read(&path, &variables()).expect("nothing is wrong");
    Heuristic::check(&path).expect("nothing is wrong");
    assert_eq!(heuristic.about(), "tabu with a taste");
    let tables: Vec<_> = heuristic.tables().collect();
    assert_eq!(tables.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["wish", "priority", "group"]);
    assert_eq!((tables[0].1.row(2), tables[1].1.number(2), tables[1].1.number(0)), (&[-1.0, 0.5][..], 4.0, 0.0));
    assert_eq!([0, 1, 2].map(|variable| tables[2].1.number(variable)), [0.0, 0.0, 1.0]);
    let empty = Heuristic::parse("e", "rating = \"cost + group\"\n[groups]\nnobody = []", &variables());
    let empty = empty.expect("nothing is wrong");
    assert_eq!(empty.tables().map(|(name, table)| (name, table.number(2))).collect::<Vec<_>>(), [("group", -1.0)]);
}

/// Lines of a file and a part of what is said of them.
const LINES: &[(&str, &str)] = &[
    // the file
    ("", "my.toml:1:1: found the end of the text, expected `rating = \"expression\"` or `weight = \"expression\"`"),
    ("about = \"nothing\"", "expected `rating = "),
    ("rating", "my.toml:1:7: found the end of the text, expected TOML"),
    ("rating = cost", "my.toml:1:10: found `cost`, expected TOML"),
    ("rating = \"cost", "my.toml:1:15: found the end of the text, expected TOML"),
    ("rating = \"cost\"\nrating = \"cost\"", "my.toml:2:1: found `rating`, expected TOML (duplicate key"),
    ("rating = 3", "my.toml:1:10: found an integer, expected an expression in quotes"),
    ("rating = 3.5", "found a number, expected an expression in quotes"),
    ("rating = true", "found a truth value, expected an expression in quotes"),
    ("rating = [\"cost\"]", "found a list, expected an expression in quotes"),
    ("rating = 2020-01-01", "found a date"),
    ("rating.x = \"cost\"", "found a table, expected an expression in quotes"),
    ("about = 1\nrating = \"cost\"", "my.toml:1:9: found an integer, expected a line in quotes"),
    (
        "ratin = \"cost\"",
        "my.toml:1:1: found `ratin`, expected one of active, allowed, rating, weight, largest, about, let, tables, groups (did you mean `rating`?)",
    ),
    (
        "rating = \"cost\"\nwieght = \"1\"",
        "my.toml:2:1: found `wieght`, expected one of active, allowed, rating, weight, largest, about, let, tables, groups (did you mean `weight`?)",
    ),
    ("rating = \"cost\"\n[table]\nx = \"a.csv\"", "my.toml:2:2: found `table`"),
    // the grammar
    ("rating = \"\"", "my.toml:1:11: found the end of the expression, expected a number, a name, `(`, `-` or `not`"),
    ("rating = \"cost +\"", "my.toml:1:17: found the end of the expression, expected a number, a name"),
    ("rating = \"cost + * 2\"", "my.toml:1:18: found `*`, expected a number, a name"),
    (
        "rating = \"cost cost\"",
        "my.toml:1:16: found `cost`, expected an operator (+ - * / < <= > >= == != and or) or the end",
    ),
    ("rating = \"2cost\"", "my.toml:1:12: found `cost`, expected an operator"),
    (
        "rating = \"(cost\"",
        "my.toml:1:16: found the end of the expression, expected an operator (+ - * / < <= > >= == != and or) or `)`",
    ),
    ("rating = \"(cost]\"", "my.toml:1:16: found `]`, expected an operator (+ - * / < <= > >= == != and or) or `)`"),
    ("rating = \"cost)\"", "my.toml:1:15: found `)`, expected an operator (+ - * / < <= > >= == != and or) or the end"),
    ("rating = \"()\"", "my.toml:1:12: found `)`, expected a number, a name"),
    ("rating = \"min()\"", "my.toml:1:15: found `)`, expected a number, a name"),
    ("rating = \"min(cost,)\"", "my.toml:1:20: found `)`, expected a number, a name"),
    (
        "rating = \"min(cost;2)\"",
        "my.toml:1:19: found `;`, expected an operator (+ - * / < <= > >= == != and or) or `,` or `)`",
    ),
    (
        "rating = \"min(cost\"",
        "found the end of the expression, expected an operator (+ - * / < <= > >= == != and or) or `,` or `)`",
    ),
    (
        "rating = \"cost = 2\"",
        "my.toml:1:16: found `=`, expected an operator (+ - * / < <= > >= == != and or) or the end (equality is `==`)",
    ),
    (
        "rating = \"cost && 2\"",
        "found `&&`, expected an operator (+ - * / < <= > >= == != and or) or the end (write `and`)",
    ),
    ("rating = \"cost || 2\"", "(write `or`)"),
    ("rating = \"!cost\"", "my.toml:1:11: found `!`, expected a number, a name"),
    ("rating = \"cost ^ 2\"", "(powers are products: `x * x`)"),
    ("rating = \"cost ** 2\"", "my.toml:1:16: found `**`"),
    ("rating = \"cost % 2\"", "my.toml:1:16: found `%`"),
    ("rating = \"cost ? 1 : 2\"", "(write `if(condition, then, else)`)"),
    (
        "rating = \"1 < cost < 3\"",
        "my.toml:1:20: found `<`, expected an operator (+ - * / < <= > >= == != and or) or the end (comparisons do not chain",
    ),
    ("rating = \"1 < cost == 3\"", "comparisons do not chain"),
    (
        "rating = \"cost\\n+ 2\"",
        "my.toml:1:15: found `\\\\`, expected an operator (+ - * / < <= > >= == != and or) or the end (expressions need no escapes",
    ),
    ("rating = \"cost @ 2\"", "found `@`"),
    ("rating = \"größe\"", "my.toml:1:13: found `öße`, expected an operator"),
    ("rating = \"cost + grö\"", "my.toml:1:20: found `ö`"),
    ("rating = \"1e999 * cost\"", "my.toml:1:11: found `1e999`, expected a number below 1.8e308"),
    ("rating = \"1.2.3\"", "my.toml:1:14: found `.3`"),
    ("rating = \"1e\"", "my.toml:1:12: found `e`"),
    ("rating = \".\"", "my.toml:1:11: found `.`"),
    ("rating = \"not\"", "my.toml:1:14: found the end of the expression"),
    ("rating = \"and cost\"", "my.toml:1:11: found `and`"),
    ("rating = '''\ncost +\n  delta +'''", "my.toml:3:10: found the end of the expression"),
    (
        "rating = '''\ncost +\n  dalta'''",
        "my.toml:3:3: found `dalta`, expected one of the names value, cost, delta, current,",
    ),
    // names
    (
        "rating = \"costt\"",
        "my.toml:1:11: found `costt`, expected one of the names value, cost, delta, current, incumbent, age, frequency, h, reduced, conflicts, unary, domain, degree, temperature, round, since, current_cost, current_conflicts, least, group, rating, true, false, inf (did you mean `cost`?)",
    ),
    ("rating = \"Cost\"", "(did you mean `cost`?)"),
    ("rating = \"random\"", "found `random`"),
    ("rating = \"min\"", "(the function is min(x), min(x, y, ...))"),
    (
        "rating = \"cost(1)\"",
        "my.toml:1:11: found `cost`, expected one of the functions abs, floor, sqrt, exp, log, clamp, if, min, max, count, best",
    ),
    ("rating = \"ln(cost)\"", "found `ln`, expected one of the functions abs"),
    ("rating = \"sqr(cost)\"", "(did you mean `sqrt`?)"),
    ("rating = \"wieght\"", "found `wieght`"),
    ("rating = \"weight\"", "found `weight`, expected one of the names"),
    (
        "rating = \"rating + 1\"",
        "my.toml:1:11: found `rating`, expected a name that does not need itself (rating -> rating)",
    ),
    (
        "rating = \"a\"\n[let]\na = \"b + cost\"\nb = \"a\"",
        "my.toml:4:6: found `a`, expected a name that does not need itself (a -> b -> a)",
    ),
    ("rating = \"cost\"\n[let]\nunused = \"costs\"", "my.toml:3:11: found `costs`"),
    ("rating = \"cost\"\n[let]\ncost = \"1\"", "my.toml:3:1: found `cost`, expected a name that means nothing yet"),
    ("rating = \"cost\"\n[let]\nexp = \"1\"", "my.toml:3:1: found `exp`, expected a name that means nothing yet"),
    ("rating = \"cost\"\n[let]\nand = \"1\"", "expected a name that means nothing yet"),
    ("rating = \"cost\"\n[let]\ninf = \"1\"", "expected a name that means nothing yet"),
    ("rating = \"cost\"\n[let]\nrating = \"1\"", "expected a name that means nothing yet"),
    (
        "rating = \"cost\"\n[let]\n\"a b\" = \"1\"",
        "my.toml:3:1: found `\\\"a b\\\"`, expected a name of letters, digits and `_`",
    ),
    ("rating = \"cost\"\n[let]\n2x = \"1\"", "my.toml:3:1: found `2x`, expected a name of letters"),
    ("rating = \"cost\"\n[let]\na = 1", "my.toml:3:5: found an integer, expected an expression in quotes"),
    ("rating = \"cost\"\nlet = \"a\"", "my.toml:2:7: found a text, expected [let] with lines"),
    // types
    (
        "rating = \"cost\"\nactive = \"current_cost\"",
        "my.toml:2:11: found a number, expected true or false (compare it, as in `x > 0`)",
    ),
    (
        "rating = \"cost\"\nactive = \"cost > 0\"",
        "my.toml:2:11: found `cost`, expected what is known before the values are: numbers of the variable (such as domain, degree, ",
    ),
    ("rating = \"cost\"\nactive = \"min(cost) > 0\"", "my.toml:2:15: found `cost`, expected what is known before"),
    (
        "rating = \"cost\"\nactive = \"a > 0\"\n[let]\na = \"min(cost)\"",
        "my.toml:2:11: found `a`, expected what is known before",
    ),
    ("rating = \"cost\"\nactive = \"rating > 0\"", "found `rating`, expected what is known before"),
    ("rating = \"cost\"\nallowed = \"cost\"", "my.toml:2:12: found a number, expected true or false"),
    (
        "rating = \"cost\"\nallowed = \"best(cost) == cost\"",
        "my.toml:2:12: found `best`, expected an expression without `best`",
    ),
    ("rating = \"cost\"\nlargest = \"cost\"", "my.toml:2:12: found one number a value, expected one number a visit"),
    ("rating = \"domain\"", "my.toml:1:11: found one number a visit, expected one number a value, such as cost"),
    ("rating = \"min(domain) + cost\"", "my.toml:1:15: found one number a visit, expected one number a value"),
    ("rating = \"min(cost) + 1\"", "found one number a visit"),
    ("rating = \"min(min(cost)) + cost\"", "my.toml:1:15: found one number a visit"),
    ("rating = \"cost + count(cost)\"", "my.toml:1:24: found a number, expected true or false"),
    ("rating = \"cost + count(domain > 2)\"", "my.toml:1:24: found one number a visit"),
    ("rating = \"not cost\"", "my.toml:1:15: found a number, expected true or false"),
    ("rating = \"cost and delta > 0\"", "my.toml:1:11: found a number, expected true or false"),
    ("rating = \"cost > 0 or delta\"", "my.toml:1:23: found a number, expected true or false"),
    ("rating = \"if(cost, 1, 2)\"", "my.toml:1:14: found a number, expected true or false"),
    ("rating = \"if(cost > 0, 1)\"", "my.toml:1:11: found 2 arguments, expected if(condition, x, y)"),
    ("rating = \"exp(cost, 2)\"", "found 2 arguments, expected exp(x)"),
    ("rating = \"clamp(cost)\"", "found 1 arguments, expected clamp(x, low, high)"),
    ("rating = \"count(cost > 1, 2)\"", "found 2 arguments, expected count(condition)"),
    ("rating = \"best(cost, 2)\"", "found 2 arguments, expected best(x)"),
    // tables
    (
        "rating = \"cost\"\n[tables]\nt = \"none.csv\"",
        "my.toml:3:5: found `\\\"none.csv\\\"`, expected a file that can be read, but none.csv: ",
    ),
    ("rating = \"cost\"\n[tables]\nt = 3", "my.toml:3:5: found an integer, expected \"file.csv\" or { file ="),
    (
        "rating = \"cost\"\n[tables]\nt = { file = \"wish.csv\", defalt = 1 }",
        "my.toml:3:26: found `defalt`, expected one of file, default",
    ),
    ("rating = \"cost\"\n[tables]\nt = { file = \"wish.csv\", default = \"x\" }", "my.toml:3:36: found a text"),
    ("rating = \"cost\"\n[tables]\nt = { default = 1 }", "my.toml:3:5: found `{ default = 1 }`, expected \"file.csv\""),
    (
        "rating = \"cost\"\n[tables]\nt = \"priority.csv\"",
        "priority.csv:2:1: found the end of the file, expected a row for variable 0 (x0) (or a number for all that have none",
    ),
    (
        "rating = \"cost\"\n[tables]\nt = \"short.csv\"",
        "short.csv:4:1: found the end of the file, expected a row for value 1 of variable 1 (x1)",
    ),
    (
        "rating = \"cost\"\n[tables]\nt = \"twice.csv\"",
        "twice.csv:3:1: found `x0`, expected a row for each variable or value, not two",
    ),
    (
        "rating = \"cost\"\n[tables]\nt = \"empty.csv\"",
        "empty.csv:1:1: found the end of the file, expected rows variable,number or variable,value,number",
    ),
    (
        "rating = \"cost\"\n[tables]\nt = \"wide.csv\"",
        "wide.csv:1:1: found 4 fields, expected variable,number or variable,value,number",
    ),
    (
        "rating = \"cost\"\n[tables]\nt = \"ragged.csv\"",
        "ragged.csv:2:1: found 3 fields, expected 2 fields, as in the rows before",
    ),
    ("rating = \"cost\"\n[tables]\nt = \"words.csv\"", "words.csv:2:4: found `many`, expected a finite number"),
    ("rating = \"cost\"\n[tables]\nt = \"nan.csv\"", "nan.csv:1:3: found `NaN`, expected a finite number"),
    (
        "rating = \"cost\"\n[tables]\nt = \"stranger.csv\"",
        "stranger.csv:1:1: found `x9`, expected a variable in 0..3 or the name of one (did you mean",
    ),
    (
        "rating = \"cost\"\n[tables]\nt = \"beyond.csv\"",
        "beyond.csv:1:3: found `2`, expected a value in 0..2 or the name of one",
    ),
    ("rating = \"cost\"\n[tables]\nt = \"bytes.csv\"", "bytes.csv:1:1: found bytes that are no text"),
    (
        "rating = \"cost\"\n[tables]\ncost = \"wish.csv\"",
        "my.toml:3:1: found `cost`, expected a name that means nothing yet",
    ),
    (
        "rating = \"wish\"\n[tables]\nwisch = \"wish.csv\"",
        "my.toml:1:11: found `wish`, expected one of the names value",
    ),
    (
        "rating = \"t\"\n[tables]\nt = { file = \"priority.csv\", default = 0 }",
        "my.toml:1:11: found one number a visit",
    ),
    // groups
    ("rating = \"cost\"\n[groups]\na = 3", "my.toml:3:5: found an integer, expected a list of variables"),
    ("rating = \"cost\"\n[groups]\na = [3]", "my.toml:3:6: found `3`, expected a variable in 0..3 or the name of one"),
    ("rating = \"cost\"\n[groups]\na = [-1]", "my.toml:3:6: found `-1`"),
    ("rating = \"cost\"\n[groups]\na = [\"y\"]", "my.toml:3:6: found `y`, expected a variable"),
    ("rating = \"cost\"\n[groups]\na = [1.5]", "my.toml:3:6: found a number, expected a variable"),
    (
        "rating = \"cost\"\n[groups]\na = [1]\nb = [0, \"x1\"]",
        "my.toml:4:9: found `\\\"x1\\\"`, expected a variable of no group, as x1 is in a already",
    ),
    ("rating = \"cost\"\n[groups]\na = [1, 1]", "expected a variable of no group, as 1 is in this one already"),
];

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
    let error = Heuristic::check(&folder.path().join("absent.toml")).expect_err("there is no such file");
    assert!(error.is_input() && error.to_string().contains("absent.toml: cannot read"), "{error}");
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
        // parts of files stand beside a rating
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
    assert!(message.contains("at most 1048576 bytes"), "{message}");
}

/// Bytes that files get by accident.
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
