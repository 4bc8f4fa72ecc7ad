//! Evidence files: observed variables and their values.

use super::input::{Source, read_text};
use super::tokens::Tokens;
use crate::error::{Error, Warning};
use crate::model::Variable;
use crate::stop::Stop;
use rustc_hash::FxHashMap;
use std::path::Path;

/// The contents of an evidence file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Variables and their observed values, each variable once, for
    /// [`Network::observe`](crate::model::Network::observe).
    pub pairs: Vec<(u32, u32)>,
    /// Warnings about suspicious input.
    pub warnings: Vec<Warning>,
}

/// Reads an evidence file.
///
/// A first number of 0 means no evidence, whatever follows. If there are 1 + 2k numbers, the first of which is k, they
/// are k pairs of variable and value. Otherwise the first number is the number of evidence sets, which must be 1, and k
/// and its pairs follow. Alternatively the file has any number of words such as `smoke=yes`, with names or indices. `#`
/// begins a comment.
///
/// # Errors
/// Returns an error if the file cannot be read, if a pair is out of range, or if a variable has two values, and
/// [`Error::Waiting`] if `stop` is set before a pipe is at its end.
pub fn read_evidence(path: &Path, variables: &[Variable], stop: &Stop) -> Result<Evidence, Error> {
    let source = Source::new(path);
    parse(&read_text(&source, stop)?, source.to_string(), variables, stop)
}

/// Parses evidence. The words are counted first, because only their number and form reveal the dialect.
fn parse(text: &[u8], name: String, variables: &[Variable], stop: &Stop) -> Result<Evidence, Error> {
    let words = || {
        let mut tokens = Tokens::new(Box::new(text), name.clone(), stop);
        tokens.skip_comments();
        tokens
    };
    let (mut counted, mut count, mut named) = (words(), 0, false);
    while !counted.at_end()? {
        named |= counted.word("a word")?.contains(&b'=');
        count += 1;
    }
    let mut tokens = words();
    let mut known = Known::default();
    if named {
        let indices = variables.iter().enumerate().map(|(index, own)| (name_of(own, index), index as u32)).collect();
        while !tokens.at_end()? {
            let (variable, value) = by_name(&mut tokens, variables, &indices)?;
            known.add(&tokens, variable, value)?;
        }
        return Ok(Evidence { pairs: known.pairs, warnings: tokens.take_warnings() });
    }
    let mut pairs = tokens.count("a number of observed variables")?;
    if pairs == 0 {
        tokens.leave_rest("the 0, which is no evidence")?;
        return Ok(Evidence { pairs: Vec::new(), warnings: tokens.take_warnings() });
    }
    if pairs.checked_mul(2) != Some(count - 1) {
        if pairs != 1 {
            let hint = format!("{} numbers follow", count - 1);
            return Err(tokens.error_with("the number of pairs that follow, or 1 set of evidence", hint));
        }
        pairs = tokens.count("a number of observed variables")?;
    }
    for _ in 0..pairs {
        let variable = tokens.index(variables.len() as u32, "a variable")?;
        let value = tokens.index(variables[variable as usize].domain, "a value")?;
        known.add(&tokens, variable, value)?;
    }
    tokens.finish(|| format!("{pairs} pairs are announced"))?;
    Ok(Evidence { pairs: known.pairs, warnings: tokens.take_warnings() })
}

/// The pairs read so far.
#[derive(Default)]
struct Known {
    pairs: Vec<(u32, u32)>,
    values: FxHashMap<u32, u32>,
}

impl Known {
    /// Adds a pair, whose value is the current word.
    fn add(&mut self, tokens: &Tokens<'_>, variable: u32, value: u32) -> Result<(), Error> {
        match self.values.insert(variable, value) {
            None => self.pairs.push((variable, value)),
            Some(other) if other == value => {}
            Some(other) => {
                return Err(tokens.error_with(format!("{other}"), format!("as said before of variable {variable}")));
            }
        }
        Ok(())
    }
}

fn name_of(variable: &Variable, index: usize) -> String {
    variable.name.as_ref().map_or_else(|| format!("x{index}"), ToString::to_string)
}

/// Consumes a word `NAME=VALUE`, which may end with a comma or semicolon. Names may contain these characters too.
fn by_name(
    tokens: &mut Tokens<'_>,
    variables: &[Variable],
    indices: &FxHashMap<String, u32>,
) -> Result<(u32, u32), Error> {
    let word = String::from_utf8_lossy(tokens.word("NAME=VALUE")?).into_owned();
    let text = word.trim_end_matches([',', ';']);
    let splits = || text.match_indices('=').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let number = |name: &str| name.parse().ok().filter(|&index: &u32| (index as usize) < variables.len());
    let index = |name: &str| indices.get(name).copied().or_else(|| number(name));
    let Some((variable, value)) = splits().find_map(|(name, value)| Some((index(name)?, value))) else {
        return Err(match splits().next() {
            Some((name, _)) => tokens.error_with("NAME=VALUE", format!("there is no variable {name}")),
            None => tokens.error("NAME=VALUE"),
        });
    };
    let own = &variables[variable as usize];
    let named = own.values.as_ref().and_then(|names| names.iter().position(|name| **name == *value));
    // values without names are `v0`, `v1` in .cfn
    let digits = value.strip_prefix('v').filter(|_| own.values.is_none()).unwrap_or(value);
    let number = || digits.parse().ok().filter(|&value: &u32| value < own.domain);
    match named.map(|value| value as u32).or_else(number) {
        Some(value) => Ok((variable, value)),
        None => {
            let some = own.values.iter().flat_map(|names| names.iter().take(NAMED)).map(|name| &**name);
            let some = some.collect::<Vec<_>>().join(", ");
            let known = if some.is_empty() { format!("0 to {}", own.domain - 1) } else { some };
            Err(tokens.error_with("a value of the variable", format!("such as {known}")))
        }
    }
}

/// The number of names of values in a message.
const NAMED: usize = 8;

/// Reads the list of MAP variables for marginal MAP: their number and their indices; `#` begins a comment.
///
/// # Errors
/// Returns an error if the file cannot be read, if the number of variables differs, or if a variable is unknown or
/// repeated, and [`Error::Waiting`] if `stop` is set before a pipe is at its end.
pub fn read_variables(path: &Path, variables: &[Variable], stop: &Stop) -> Result<Vec<u32>, Error> {
    let source = Source::new(path);
    let text = read_text(&source, stop)?;
    let mut tokens = Tokens::new(Box::new(&text[..]), source.to_string(), stop);
    tokens.skip_comments();
    let count = tokens.count("a number of variables")?;
    let mut list = Vec::new();
    for _ in 0..count {
        let variable = tokens.index(variables.len() as u32, "a variable")?;
        if list.contains(&variable) {
            return Err(tokens.error("a variable that is not there yet"));
        }
        list.push(variable);
    }
    tokens.finish(|| format!("{count} variables are announced"))?;
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(u32, u32)>, Error> {
        parse_text(text).map(|evidence| evidence.pairs)
    }

    fn parse_text(text: &str) -> Result<Evidence, Error> {
        let variable = |domain, name: &str, values: &[&str]| Variable {
            domain,
            name: Some(name.into()).filter(|_| !name.is_empty()),
            values: Some(values.iter().map(|&value| value.into()).collect()).filter(|_| !values.is_empty()),
        };
        let variables = [
            variable(2, "smoke", &["yes", "no"]),
            variable(3, "a=b", &["0", "=1", "2,"]),
            variable(4, "", &[]),
            variable(2, "x", &[]),
        ];
        parse(text.as_bytes(), "e".into(), &variables, &Stop::new())
    }

    #[test]
    fn dialects() {
        for text in ["0", " 0\n", "1 0", "1\n0\n"] {
            assert_eq!(read(text).expect("evidence"), [], "{text}");
        }
        for text in ["1 2 3", "1\n1 2 3", "1 1\r\n2 3\r\n"] {
            assert_eq!(read(text).expect("evidence"), [(2, 3)], "{text}");
        }
        for text in ["# seen\n1\n2 3 # the third", "1 # set\n1 2 3\n# end", "\u{feff}1 2 3"] {
            assert_eq!(read(text).expect("evidence"), [(2, 3)], "{text}");
        }
        for text in ["2 0 1 2 3", "1\n2 0 1 2 3", "3 0 1 2 3 0 1"] {
            assert_eq!(read(text).expect("evidence"), [(0, 1), (2, 3)], "{text}");
        }
    }

    #[test]
    fn what_follows_a_zero_is_told() {
        assert!(parse_text("0 # none\n").expect("evidence").warnings.is_empty());
        for text in ["0\n2 0\n", "0\n2 9\n"] {
            let evidence = parse_text(text).expect("evidence");
            assert_eq!(evidence.pairs, []);
            let told = evidence.warnings[0].to_string();
            assert!(told.starts_with("e:2:1: left unread after the 0, which is no evidence: 2 words"), "{told}");
        }
        assert_eq!(parse_text("1 0 # 7").expect("evidence"), Evidence { pairs: Vec::new(), warnings: Vec::new() });
    }

    #[test]
    fn names_or_indices() {
        for text in ["smoke=no x2=v3", "# seen\nsmoke=no,\n2=3;", "0=1 2=3 smoke=no"] {
            assert_eq!(read(text).expect("evidence"), [(0, 1), (2, 3)], "{text}");
        }
        assert_eq!(read("a=b==1").expect("evidence"), [(1, 1)]);
        for (text, part) in [
            ("smoke=no snow=yes", "e:1:10: found `snow=yes`, expected NAME=VALUE (there is no variable snow)"),
            ("smoke=maybe", "e:1:1: found `smoke=maybe`, expected a value of the variable (such as yes, no)"),
            ("x=2", "expected a value of the variable (such as 0 to 1)"),
            ("smoke=no smoke=yes", "e:1:10: found `smoke=yes`, expected 1 (as said before of variable 0)"),
            ("smoke=no 1", "e:1:10: found `1`, expected NAME=VALUE"),
            ("4=0 x=1", "e:1:1: found `4=0`"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("", "e:1:1: found the end of the file, expected a number of observed variables"),
            ("x", "e:1:1: found `x`"),
            ("2\n0", "e:1:1: found `2`, expected the number of pairs that follow, or 1 set of evidence"),
            ("2 0", "1 numbers follow"),
            ("# none", "e:1:7: found the end of the file"),
            ("99999999999999999999 1", "e:1:1"),
            ("1 4 0", "e:1:3: found `4`, expected a variable from 0 to 3"),
            ("1 0 2", "e:1:5: found `2`, expected a value from 0 to 1"),
            ("1 2 0 1", "e:1:8: found the end of the file"),
            ("1 1 0 1 7", "e:1:9: found `7`, expected the end of the file (1 pairs"),
            ("2 0 1 0 0", "e:1:9: found `0`, expected 1 (as said before of variable 0)"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
