//! Solutions: value indices on one line, or the `MPE` form of `.uai`.

use super::tokens::Tokens;
use super::{Source, open};
use crate::error::Error;
use crate::model::Network;
use crate::stop::Stop;
use std::fmt::Write as _;
use std::path::Path;

/// How a solution is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolutionFormat {
    /// As the network's own format has it: `MPE` and a counted list for potentials, indices for the rest.
    Native,
    /// Value indices on one line.
    Indices,
}

impl SolutionFormat {
    /// All formats with the names they go by.
    pub const ALL: [(&'static str, SolutionFormat); 2] =
        [("native", SolutionFormat::Native), ("indices", SolutionFormat::Indices)];
}

/// A solution as text; one value a variable, in file order.
pub fn write_solution(network: &Network, assignment: &[u32], format: SolutionFormat) -> String {
    let mut text = String::with_capacity(3 * assignment.len() + 16);
    // of the formats read, those that maximise are the ones of potentials
    if format == SolutionFormat::Native && network.units().maximise {
        let _ = write!(text, "MPE\n{} ", assignment.len());
    }
    for (position, value) in assignment.iter().enumerate() {
        let blank = if position > 0 { " " } else { "" };
        let _ = write!(text, "{blank}{value}");
    }
    text.push('\n');
    text
}

/// Reads a solution, in the `MPE` form or as plain value indices, whatever the network's format is.
///
/// # Errors
/// What cannot be read, too few or too many values, and values that their variables do not have.
pub fn read_solution(path: &Path, network: &Network) -> Result<Vec<u32>, Error> {
    let stop = Stop::new();
    parse(&mut open(&Source::new(path), &stop)?, network.domains())
}

fn parse(tokens: &mut Tokens<'_>, domains: &[u32]) -> Result<Vec<u32>, Error> {
    if tokens.peek()?.eq_ignore_ascii_case(b"MPE") {
        let _ = tokens.word("MPE")?;
        if tokens.count("a number of values")? != domains.len() {
            return Err(tokens.error(format!("{}, the number of variables", domains.len())));
        }
    }
    let mut assignment = Vec::with_capacity(domains.len());
    for (variable, &domain) in domains.iter().enumerate() {
        if tokens.at_end()? {
            return Err(tokens.error(format!("{} values, not {variable}", domains.len())));
        }
        let value = tokens.index(domain, "a value");
        assignment.push(value.map_err(|error| with_variable(error, variable))?);
    }
    tokens.finish(|| format!("the network has {} variables", domains.len()))?;
    Ok(assignment)
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
    use crate::model::Units;

    fn network(units: Units) -> Network {
        let mut builder = Network::builder("t");
        for size in [2, 3, 4] {
            let _ = builder.variable(size).expect("a variable");
        }
        let _ = builder.units(units);
        builder.build()
    }

    fn read(text: &str) -> Result<Vec<u32>, Error> {
        let stop = Stop::new();
        let mut tokens = Tokens::new(Box::new(text.as_bytes()), "s".into(), &stop);
        parse(&mut tokens, network(Units::INTEGER).domains())
    }

    #[test]
    fn what_is_written_is_read() {
        let costs = network(Units::INTEGER);
        let potentials = network(Units { decimals: 9, maximise: true, rounded: 0 });
        assert_eq!(write_solution(&costs, &[1, 2, 3], SolutionFormat::Native), "1 2 3\n");
        assert_eq!(write_solution(&potentials, &[1, 2, 3], SolutionFormat::Indices), "1 2 3\n");
        assert_eq!(write_solution(&potentials, &[1, 2, 3], SolutionFormat::Native), "MPE\n3 1 2 3\n");
        for text in ["1 2 3\n", "1\r\n2\r\n3", "MPE\n3 1 2 3\n", "mpe 3 1 2 3"] {
            assert_eq!(read(text).expect("a solution"), [1, 2, 3], "{text}");
        }
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("", "s:1:1: found the end of the file, expected 3 values, not 0"),
            ("1 2", "s:1:4: found the end of the file, expected 3 values, not 2"),
            ("1 2 3 0", "s:1:7: found `0`, expected the end of the file (the network has 3 variables)"),
            ("1 3 3", "s:1:3: found `3`, expected a value in 0..3 (for variable 1)"),
            ("1 x 3", "s:1:3: found `x`"),
            ("MPE\n4 1 2 3 0", "s:2:1: found `4`, expected 3, the number of variables"),
            ("MPE", "s:1:4: found the end of the file, expected a number of values"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
