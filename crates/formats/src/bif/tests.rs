use crate::error::Error;
use crate::model::{Potentials, Scaled};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::{Format, read_from, read_potentials_from};

const RAIN: &str = r#"
network "a garden" { property author = nobody; }
// a comment { ;
variable rain { type discrete [ 2 ] { yes, no }; property position = (1, 2); }
variable "the sprinkler" { type discrete[3]{ "switched off", 1.5, x-y/z }; }
/* grass { may
   be */ variable wet { type discrete [ 2 ] { yes no } ; }
probability ( wet | rain, "the sprinkler" ) {
  (yes, x-y/z) 0.9, 0.1; // last first
  (yes, "switched   off") 0.8, 0.2;
  (no, 1.5) 1e-1 .9;
  default 0.5, 0.5;
}
probability ( rain ) { table 0.25, 0.75; }
probability ("the sprinkler"|rain) { table 0.2 0.3 0.3 0.3 0.5 0.4; }
"#;

fn read(text: &str) -> Result<Potentials, Error> {
    read_potentials_from(text.as_bytes(), "t.bif", Format::Bif, None, &Stop::new())
}

#[test]
fn names_comments_quotes_defaults_and_rows_in_any_order() {
    let rain = read(RAIN).expect("a network");
    assert_eq!(rain.domains, [2, 3, 2]);
    assert_eq!(rain.variables[1].name.as_deref(), Some("the sprinkler"));
    assert_eq!(crate::model::Names::new(&rain.variables).value(1, "x-y/z"), Ok(2));
    let value = |values: [u32; 3], expected: f64| assert_eq!(rain.value(&values), Scaled::new(expected), "{values:?}");
    value([0, 0, 0], 0.25 * 0.2 * 0.8);
    value([0, 2, 1], 0.25 * 0.5 * 0.1);
    value([0, 1, 1], 0.25 * 0.3 * 0.5);
    value([1, 1, 0], 0.75 * 0.3 * 0.1);
    value([1, 2, 0], 0.75 * 0.4 * 0.5);
    let network = read_from(RAIN.as_bytes(), "t.bif", Format::Bif, &Default::default(), &Stop::new());
    let network = network.expect("a network of costs");
    assert_eq!((network.variable_name(1).as_str(), network.functions().len()), ("the sprinkler", 3));
}

#[test]
fn misfits_have_their_place() {
    let two = "variable a { type discrete [ 2 ] { y, n }; }\nvariable b { type discrete [ 2 ] { y, n }; }\n";
    for (text, part) in [
        ("x", "t.bif:1:1: found `x`, expected network, variable or probability"),
        ("variable a { type discrete [ 2 ] { y }; }", "1:38: found `}`, expected 2 values in all, 1 are there"),
        ("variable a { type discrete [ 0 ] { }; }", "1:30: found `0`, expected a number of values"),
        ("variable a { type real; }", "1:19: found `real`, expected discrete"),
        ("variable a { }", "1:14: found `}`, expected the type"),
        ("variable a {", "1:13: found the end of the file"),
        ("/* never ends", "found the end of the file, expected `*/`"),
        ("network \"never ends", "found the end of the file, expected a quotation mark"),
        ("probability ( c ) { table 1; }", "1:15: found `c`, expected a variable declared above"),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    for (text, part) in [
        ("probability(a){table .5 .5;}", "3:29: found the end of the file, expected the probabilities of b"),
        ("probability(a){table .5 .5;}\nprobability(a){", "4:13: found `a`, expected a variable whose"),
        ("probability(a|b){(y) .5 .5;}", "3:28: found `}`, expected the row (n)"),
        ("probability(a|b){(y) .5 .5; (y) 1 0;}", "3:31: found `)`, expected a row that is not given yet"),
        ("probability(a|b){(z) .5 .5;}", "3:19: found `z`, expected a value of b"),
        ("probability(a|b){(y, y) .5 .5;}", "3:22: found `y`, expected `)`"),
        ("probability(a|b){(y) .5;}", "3:24: found `;`, expected a probability: 2 here, 1 are there"),
        ("probability(a|b){(y) .5 .25 .25;}", "3:29: found `.25`, expected `;`"),
        ("probability(a|b){(y) .5 -0.5;}", "3:25: found `-0.5`, expected a probability"),
        ("probability(a|b){(y) .5 nan;}", "3:25: found `nan`, expected a probability"),
        ("probability(a|a){}", "3:15: found `a`, expected a variable that is not there yet"),
        ("probability(){}", "3:13: found `)`, expected the name of a variable"),
        ("variable a {", "3:10: found `a`, expected a name that no other variable has"),
    ] {
        let text = format!("{two}{text}");
        let error = read(&text).expect_err(&text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn broken_files_are_errors_with_a_place_and_never_panics() {
    let mut rng = Rng::new(8);
    let mut refused = 0;
    for _ in 0..3000 {
        let mut text = RAIN.as_bytes().to_vec();
        for _ in 0..=rng.index(3) {
            let at = rng.index(text.len());
            match rng.below(4) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, *b"{}()[],;|\"/*.-e9 \n\xff".get(rng.index(19)).unwrap_or(&b' ')),
                2 => text.truncate(at + 1),
                _ => text[at] = (rng.draw() & 0x7f) as u8,
            }
        }
        let read = read_potentials_from(&text[..], "t.bif", Format::Bif, None, &Stop::new());
        if let Err(error) = read {
            assert!(matches!(error, Error::Parse(_)), "{error}");
            refused += 1;
        }
    }
    assert!(refused > 1000, "{refused}");
}
