//! The `.net` format of Hugin (its API manual, "The NET language"): `node NAME { states = ("v" ...); }` for each
//! variable, and `potential (NAME | PARENTS) { data = ((p ...) ...); }` for its probabilities, in which the variable
//! itself varies fastest and the first parent slowest. Other fields are skipped; `%` begins a comment.

use super::bayes::{Conditional, File};
use super::bif::words::{Word, Words};
use super::options::ReadOptions;
use super::potential_costs::Parts;
use super::tokens::Tokens;
use crate::error::Error;
use crate::model::{Network, Numbers};

/// Reads a network of costs.
pub(super) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let parts = parse(tokens)?;
    let (file, stop) = (tokens.file(), tokens.stop());
    Parts { precision: options.precision, ..parts }.build(file, stop)
}

/// Reads variables and conditional probability tables; the tables are in the order of the variables.
pub(super) fn parse(tokens: &mut Tokens<'_>) -> Result<Parts, Error> {
    tokens.skip_comments_after(b'%');
    let mut words = Words::new(tokens, b"{}()=;|")?;
    let mut file = File::default();
    if words.at_end() {
        return Err(words.error("net, node or potential"));
    }
    while !words.at_end() {
        match words.keyword().as_deref() {
            Some("net") => skip_block(&mut words)?,
            Some("discrete") => words.take()?,
            Some("node") => node(&mut file, &mut words)?,
            Some("potential") => potential(&mut file, &mut words)?,
            Some(kind @ ("class" | "continuous" | "decision" | "utility" | "function")) => {
                let what = format!("a Bayesian network of discrete variables, without `{kind}`");
                return Err(words.error(&what));
            }
            _ => return Err(words.error("net, node or potential")),
        }
    }
    match file.missing() {
        Some(name) => Err(words.error(&format!("the potential of {name}"))),
        None => file.parts(tokens),
    }
}

/// Consumes a word and the block after it.
fn skip_block(words: &mut Words<'_, '_>) -> Result<(), Error> {
    words.take()?;
    words.expect('{')?;
    words.skip_block()
}

fn node(file: &mut File, words: &mut Words<'_, '_>) -> Result<(), Error> {
    words.take()?;
    let name: Box<str> = words.name("the name of a variable")?.into();
    if file.indices.contains_key(&name) {
        return Err(words.error("a name that no other variable has"));
    }
    words.take()?;
    words.expect('{')?;
    let mut values: Vec<Box<str>> = Vec::new();
    while !words.is('}') {
        if !words.name("a field or `}`")?.eq_ignore_ascii_case("states") {
            words.skip_statement()?;
            continue;
        }
        words.take()?;
        words.expect('=')?;
        words.expect('(')?;
        while !words.is(')') {
            values.push(words.name("the name of a value")?.into());
            words.take()?;
        }
        words.take()?;
        words.expect(';')?;
    }
    if values.is_empty() {
        return Err(words.error("the states of the variable"));
    }
    words.take()?;
    file.declare(name, values.into());
    Ok(())
}

fn potential(file: &mut File, words: &mut Words<'_, '_>) -> Result<(), Error> {
    let place = words.place();
    words.take()?;
    words.expect('(')?;
    let mut scope: Vec<u32> = Vec::new();
    while !words.is(')') {
        let name = words.name("the name of a variable")?;
        let Some(&variable) = file.indices.get(name) else { return Err(words.error("a node declared above")) };
        if scope.contains(&variable) {
            return Err(words.error("a variable that is not there yet"));
        }
        if scope.is_empty() && file.tables[variable as usize].is_some() {
            return Err(words.error("a variable whose potential is not given yet"));
        }
        scope.push(variable);
        words.take()?;
        if scope.len() == 1 {
            words.skip('|')?;
        }
    }
    let Some(&own) = scope.first() else { return Err(words.error("the name of a variable")) };
    scope.rotate_left(1);
    words.take()?;
    words.expect('{')?;
    let mut numbers = None;
    while !words.is('}') {
        if !words.name("data, another field or `}`")?.eq_ignore_ascii_case("data") {
            words.skip_statement()?;
            continue;
        }
        words.take()?;
        words.expect('=')?;
        let (entries, mut data) = (file.entries(&scope), Vec::new());
        while !words.is(';') {
            match words.word() {
                Word::Mark('(' | ')') => words.take()?,
                _ if data.len() == entries => return Err(words.error(&format!("{entries} numbers, no more"))),
                _ => data.push(words.number(&format!("a probability: {entries} here, {} are there", data.len()))?),
            }
        }
        if data.len() < entries {
            return Err(words.error(&format!("a probability: {entries} here, {} are there", data.len())));
        }
        words.take()?;
        numbers = Some(Numbers::of(data));
    }
    let Some(numbers) = numbers else { return Err(words.error("the data of the potential")) };
    words.take()?;
    let (scope, numbers) = (scope.into(), numbers.into());
    file.tables[own as usize] = Some(Conditional { scope, numbers, places: vec![place] });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::Stop;
    use crate::{Format, read_from};

    fn parse(text: &str) -> Result<Network, Error> {
        read_from(text.as_bytes(), "t.net", Format::Net, &ReadOptions::default(), &Stop::new())
    }

    const RAIN: &str = "net { node_size = (80 40); }\n% made by hand\nnode rain\n{ label = \"does it rain\"; \
        states = (\"yes\" \"no\"); }\ndiscrete node grass { states = (\"dry\" \"damp\" \"wet\"); position = (1 2); }\n\
        potential (rain) { data = ( 0.3 0.7 ); }\npotential (grass | rain)\n{ data = ((0 0.25 0.75)  % yes\n (0.7 0.2 \
        0.1)); }\n";

    #[test]
    fn the_variable_runs_fastest() {
        let network = parse(RAIN).expect("a network");
        assert_eq!((network.variable_name(1), network.value_name(1, 2)), ("grass".into(), "wet".into()));
        let value = |assignment: [u32; 2]| {
            let evaluation = crate::check::evaluate(&network, &assignment);
            evaluation.value(&network, &assignment).map(|value| value.as_f64().exp())
        };
        for (assignment, p) in [([0, 1], 0.3 * 0.25), ([1, 0], 0.7 * 0.7), ([1, 2], 0.7 * 0.1)] {
            assert!((value(assignment).expect("possible") - p).abs() < 1e-12);
        }
        assert_eq!(value([0, 0]), None);
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("graph { }", "1:1: found `graph`, expected net, node or potential"),
            ("utility u { }", "without `utility`"),
            ("node a { }", "expected the states of the variable"),
            ("node a { states = (\"x\"); } node a { }", "expected a name that no other variable has"),
            ("node a { states = (\"x\"); }", "expected the potential of a"),
            ("potential (a) { }", "expected a node declared above"),
            ("node a { states = (x y); }\npotential (a) { data = (1); }", "2:27: found `;`, expected a probability: 2"),
            ("node a { states = (x); } potential (a) { data = (1 2); }", "found `2`, expected 1 numbers, no more"),
            ("node a { states = (x); } potential (a) { data = normal(1); }", "found `normal`"),
            ("node a { states = (x); } potential (a) { }", "expected the data of the potential"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
