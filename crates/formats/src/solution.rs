//! Solutions: value indices on one line, the `MPE` form of `.uai`, names, and the forms of other programs.

use super::input::{Source, read_text};
use super::names;
use super::tokens::{BYTE_ORDER_MARK, Tokens};
use crate::error::Error;
use crate::model::{Network, Notation};
use crate::stop::Stop;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fmt::Write as _;
use std::path::Path;

/// How a solution is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolutionFormat {
    /// The network's own notation.
    Native,
    /// Value indices on one line.
    Indices,
}

impl SolutionFormat {
    /// All formats with their names.
    pub const ALL: [(&'static str, SolutionFormat); 2] =
        [("native", SolutionFormat::Native), ("indices", SolutionFormat::Indices)];
}

/// Returns a solution as text, with one value for each variable, in file order.
pub fn write_solution(network: &Network, assignment: &[u32], format: SolutionFormat) -> String {
    let mut text = String::with_capacity(3 * assignment.len() + 16);
    match (format, network.notation()) {
        (SolutionFormat::Native, Notation::Names) => {
            let names = names::Named { network, assignment };
            return serde_json::to_string_pretty(&names).expect("names are text") + "\n";
        }
        (SolutionFormat::Native, Notation::Mpe) => drop(write!(text, "MPE\n{} ", assignment.len())),
        _ => {}
    }
    for (position, value) in assignment.iter().enumerate() {
        let blank = if position > 0 { " " } else { "" };
        let _ = write!(text, "{blank}{value}");
    }
    text.push('\n');
    text
}

/// Reads a solution, whatever the network's format is. It may be plain value indices, optionally in brackets and with
/// commas; the `MPE` form, whose header is `MAP` in other programs and which may contain a number of samples; a JSON
/// object of names; or the JSON output of `fangs solve`. If there are several solutions, each after a `-BEGIN-`, the
/// last one counts.
///
/// # Errors
/// Returns an error if the file cannot be read, if there are too few or too many values, or if a value is out of range,
/// and [`Error::Waiting`] if `stop` is set before a pipe is at its end.
pub fn read_solution(path: &Path, network: &Network, stop: &Stop) -> Result<Vec<u32>, Error> {
    let assignment = read(path, network, false, stop)?;
    match assignment.iter().position(Option::is_none) {
        None => Ok(assignment.into_iter().flatten().collect()),
        Some(variable) => Err(Error::Usage(format!(
            "{}: it gives no value to {}, one of {} variables",
            Source::new(path),
            network.variable_name(variable),
            network.domains().len()
        ))),
    }
}

/// Reads a complete or partial solution as a starting point. It may have all forms that [`read_solution`] accepts. In
/// addition, an object of names may omit variables, and `-` stands for a missing value.
///
/// # Errors
/// Returns an error if the file cannot be read, if there are too few or too many values, or if a value is out of range,
/// and [`Error::Waiting`] if `stop` is set before a pipe is at its end.
pub fn read_start(path: &Path, network: &Network, stop: &Stop) -> Result<Vec<Option<u32>>, Error> {
    read(path, network, true, stop)
}

fn read(path: &Path, network: &Network, partial: bool, stop: &Stop) -> Result<Vec<Option<u32>>, Error> {
    let source = Source::new(path);
    let (text, name) = (read_text(&source, stop)?, source.to_string());
    match names::read(&text, &name, network)? {
        Some(assignment) => Ok(assignment),
        None => parse(text, name, network.domains(), partial),
    }
}

/// The word that stands for a missing value.
const OPEN: &[u8] = b"-";

/// The separator of solutions in the `MPE` form.
const BLOCK: &[u8] = b"-BEGIN-";

fn parse(mut text: Vec<u8>, name: String, domains: &[u32], partial: bool) -> Result<Vec<Option<u32>>, Error> {
    let stop = Stop::new();
    leave_array(&mut text, &name, &stop)?;
    let mut tokens = Tokens::new(Box::new(&text[..]), name, &stop);
    read_head(&mut tokens, &text, domains.len())?;
    let mut assignment = Vec::with_capacity(domains.len());
    for (variable, &domain) in domains.iter().enumerate() {
        if tokens.at_end()? {
            return Err(tokens.error(format!("{} values, not {variable}", domains.len())));
        }
        if partial && tokens.peek()? == OPEN {
            let _ = tokens.word("a value")?;
            assignment.push(None);
            continue;
        }
        let value = tokens.index(domain, "a value");
        assignment.push(Some(value.map_err(|error| with_variable(error, variable))?));
    }
    tokens.finish(|| format!("the network has {} variables", domains.len()))?;
    Ok(assignment)
}

/// Consumes the words before the values in the `MPE` form; there are none before plain values.
fn read_head(tokens: &mut Tokens<'_>, text: &[u8], variables: usize) -> Result<(), Error> {
    let is_block = |word: &[u8]| word.eq_ignore_ascii_case(BLOCK);
    let is_task = |word: &[u8]| word.first().is_some_and(u8::is_ascii_alphabetic);
    let words = || text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let blocks = words().filter(|word| is_block(word)).count();
    if blocks == 0 && !is_task(tokens.peek()?) {
        return Ok(());
    }
    // the task precedes the first solution or, in some files, each solution
    for block in 0..=blocks {
        if is_task(tokens.peek()?) && ![&b"MPE"[..], b"MAP"].contains(&&*tokens.word("MPE")?.to_ascii_uppercase()) {
            return Err(tokens.error("MPE, MAP or value indices"));
        }
        while block < blocks && !is_block(tokens.word("-BEGIN-")?) {}
    }
    let numbers = words().rev().take_while(|word| !is_block(word) && !is_task(word)).count();
    let mut values = tokens.count("a number of values")?;
    if values == 1 && numbers == variables + 2 {
        values = tokens.count("a number of values")?; // the first number was that of samples
    }
    if values != variables {
        return Err(tokens.error(format!("{variables}, the number of variables")));
    }
    Ok(())
}

/// Keeps only the values of a JSON array, or of the array `solution` of a JSON object. Everything else becomes blank,
/// so the values keep their positions. Other texts are not changed.
fn leave_array(text: &mut [u8], name: &str, stop: &Stop) -> Result<(), Error> {
    let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let body = text[mark..].trim_ascii();
    let array = if body.starts_with(b"{") {
        let mut tokens = Tokens::new(Box::new(&*text), name.into(), stop);
        let _ = tokens.word("an object")?;
        let object: Object<'_> = serde_json::from_slice(body)
            .map_err(|error| tokens.error_with("a JSON object with an array `solution`", error.to_string()))?;
        let solution = object.solution.map(RawValue::get).filter(|value| value.starts_with('['));
        solution.ok_or_else(|| tokens.error("a JSON object with an array `solution`"))?.as_bytes()
    } else if body.starts_with(b"[") && body.ends_with(b"]") {
        body
    } else {
        return Ok(());
    };
    let start = array.as_ptr() as usize - text.as_ptr() as usize;
    let kept = start..start + array.len();
    for (at, byte) in text.iter_mut().enumerate().skip(mark) {
        if !kept.contains(&at) && *byte != b'\n' || matches!(byte, b'[' | b']' | b',') {
            *byte = b' ';
        }
    }
    Ok(())
}

/// The field that is read from the output of `fangs solve --json`.
#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    solution: Option<&'a RawValue>,
}

fn with_variable(error: Error, variable: usize) -> Error {
    match error {
        Error::Parse(mut error) => {
            error.hint = Some(format!("for variable {variable}"));
            Error::Parse(error)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(notation: Notation) -> Network {
        let mut builder = Network::builder("t");
        for size in [2, 3, 4] {
            let _ = builder.variable(size).expect("a variable");
        }
        let _ = builder.notation(notation);
        builder.build()
    }

    fn read(text: &str) -> Result<Vec<u32>, Error> {
        let read = parse(text.into(), "s".into(), network(Notation::Indices).domains(), false)?;
        Ok(read.into_iter().flatten().collect())
    }

    #[test]
    fn what_is_written_is_read() {
        let costs = network(Notation::Indices);
        let potentials = network(Notation::Mpe);
        assert_eq!(write_solution(&costs, &[1, 2, 3], SolutionFormat::Native), "1 2 3\n");
        assert_eq!(write_solution(&potentials, &[1, 2, 3], SolutionFormat::Indices), "1 2 3\n");
        assert_eq!(write_solution(&potentials, &[1, 2, 3], SolutionFormat::Native), "MPE\n3 1 2 3\n");
        for text in ["1 2 3\n", "1\r\n2\r\n3", "MPE\n3 1 2 3\n", "mpe 3 1 2 3"] {
            assert_eq!(read(text).expect("a solution"), [1, 2, 3], "{text}");
        }
    }

    #[test]
    fn forms_of_other_programs() {
        for text in [
            "MAP\n3 1 2 3\n",
            "MPE\n1\n3 1 2 3\n",
            "map 1 3 1 2 3",
            "MPE\n3 0 0 0\n-BEGIN-\n3 1 2 3\n",
            "MPE\n-BEGIN-\n1\n3 0 0 0\n-BEGIN-\n1\n3 0\n-begin-\n1\n3 1 2 3\n",
            "-BEGIN-\nMPE\n3 0 0 0\n-BEGIN-\nMPE\n3 1 2 3\n",
            "[1, 2, 3]\n",
            "\u{feff} [1,\n 2,\n 3]",
            "[1 2 3]",
            r#"{"instance": "[0]", "cost": null, "solution": [1, 2,3], "time_s": 0.5}"#,
            "\u{feff}{\"solution\": [\n  1,\n  2,\n  3\n ]\n}\n",
        ] {
            assert_eq!(read(text).expect(text), [1, 2, 3], "{text}");
        }
        let one = |text: &str| parse(text.into(), "s".into(), &[3], false).expect(text);
        assert_eq!(["1", "MPE 1 1", "MPE\n1\n1 1", "[1]"].map(one), [[Some(1)]; 4]);
        let none = |text: &str| parse(text.into(), "s".into(), &[], false).expect(text).len();
        assert_eq!(["", "MPE 0", "MPE\n1\n0", "[]", r#"{"solution": []}"#].map(none), [0; 5]);
    }

    #[test]
    fn parts_of_solutions() {
        let part = |text: &str, partial| parse(text.into(), "s".into(), &[2, 3, 4], partial);
        for text in ["- 2 -", "MPE\n3 - 2 -\n", "[-, 2, -]"] {
            assert_eq!(part(text, true).expect(text), [None, Some(2), None], "{text}");
            let error = part(text, false).expect_err("a solution is whole").to_string();
            assert!(error.contains("found `-`, expected a value"), "{error}");
        }
        assert!(part("- 2", true).is_err() && part("- -1 0", true).is_err());
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("", "s:1:1: found the end of the file, expected 3 values, not 0"),
            ("1 2", "s:1:4: found the end of the file, expected 3 values, not 2"),
            ("1 2 3 0", "s:1:7: found `0`, expected the end of the file (the network has 3 variables)"),
            ("1 3 3", "s:1:3: found `3`, expected a value from 0 to 2 (for variable 1)"),
            ("1 x 3", "s:1:3: found `x`"),
            ("MPE\n4 1 2 3 0", "s:2:1: found `4`, expected 3, the number of variables"),
            ("MPE", "s:1:4: found the end of the file, expected a number of values"),
            ("MPE\n2\n3 1 2 3\n3 1 2 3", "s:2:1: found `2`, expected 3, the number of variables"),
            ("MAR\n3 1 2 3", "s:1:1: found `MAR`, expected MPE, MAP or value indices"),
            ("MPE\n3 1 2 3\n-BEGIN-\n", "s:4:1: found the end of the file, expected a number of values"),
            ("MAR\n3 1 2 3\n-BEGIN-\n3 1 2 3", "s:1:1: found `MAR`"),
            ("[1, 2, 3", "s:1:1: found `[1,`, expected a value"),
            ("[1,\n 3, 3]", "s:2:2: found `3`, expected a value from 0 to 2 (for variable 1)"),
            ("[1, -2, 3]", "s:1:5: found `-2`"),
            ("\u{feff}[1, x, 3]", "s:1:5: found `x`"),
            ("[1, 2]", "expected 3 values, not 2"),
            (
                "{\"cost\": 1,\n \"solution\": [1, 3, 3]}",
                "s:2:18: found `3`, expected a value from 0 to 2 (for variable 1)",
            ),
            ("{\"solution\": null}", "expected a JSON object with an array `solution`"),
            ("{\"cost\": 1}", "expected a JSON object with an array `solution`"),
            ("{\"solution\": {}}", "expected a JSON object with an array `solution`"),
            ("{\"solution\": [1, 2", "expected a JSON object with an array `solution` (EOF"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
