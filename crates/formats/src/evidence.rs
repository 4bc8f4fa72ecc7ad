//! Evidence files: observed variables and their values.

use super::input::{Source, read_text};
use super::tokens::Tokens;
use crate::error::{Error, Warning};
use crate::model::{Names, Observation, Observations, Unknown, Variable};
use crate::stop::Stop;
use std::path::Path;

/// The contents of an evidence file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Variables and their observed values, with file, line and column.
    pub observations: Observations,
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
    let (count, named) = words(text, &name, stop)?;
    let mut tokens = tokens(text, &name, stop);
    let names = Names::new(variables);
    let mut seen = Observations::default();
    if named {
        while !tokens.at_end()? {
            let word = String::from_utf8_lossy(tokens.word("NAME=VALUE")?).into_owned();
            // a comma or semicolon may end a word, but names may contain these characters too
            let found = names
                .observed(word.trim_end_matches([',', ';']))
                .or_else(|error| names.observed(&word).map_err(|_| error));
            let wrong = |error: Unknown| tokens.error_with("NAME=VALUE", error.to_string());
            add(&tokens, &names, found.map_err(wrong)?, &mut seen)?;
        }
        return Ok(Evidence { observations: seen, warnings: tokens.take_warnings() });
    }
    let mut pairs = tokens.count("a number of observed variables")?;
    if pairs == 0 {
        tokens.leave_rest("the 0, which is no evidence")?;
        return Ok(Evidence { observations: seen, warnings: tokens.take_warnings() });
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
        add(&tokens, &names, (variable, value), &mut seen)?;
    }
    tokens.finish(|| format!("{pairs} pairs are announced"))?;
    Ok(Evidence { observations: seen, warnings: tokens.take_warnings() })
}

fn tokens<'t>(text: &'t [u8], name: &str, stop: &'t Stop) -> Tokens<'t> {
    let mut tokens = Tokens::new(Box::new(text), name.into(), stop);
    tokens.skip_comments();
    tokens
}

/// Returns the number of words, and whether one of them has an equals sign.
fn words(text: &[u8], name: &str, stop: &Stop) -> Result<(usize, bool), Error> {
    let (mut counted, mut count, mut named) = (tokens(text, name, stop), 0, false);
    while !counted.at_end()? {
        named |= counted.word("a word")?.contains(&b'=');
        count += 1;
    }
    Ok((count, named))
}

/// Adds an observation, whose value is in the current word.
fn add(
    tokens: &Tokens<'_>,
    names: &Names<'_>,
    (variable, value): (u32, u32),
    seen: &mut Observations,
) -> Result<(), Error> {
    let (line, column) = tokens.place();
    let origin = format!("{}:{line}:{column}", tokens.file());
    seen.add(Observation { variable, value, origin }).map_err(|other| {
        let [own, known] = [value, other.value].map(|value| names.value_name(variable, value));
        let hint = format!("`{}` cannot be {own} and {known}, as observed at {}", names.name(variable), other.origin);
        tokens.error_with(format!("the value {known}"), hint)
    })
}

/// Reads a list of variables, such as those of marginal MAP: their number and their indices, or names and indices
/// without a number; `#` begins a comment.
///
/// # Errors
/// Returns an error if the file cannot be read, if the number of variables differs, or if a variable is unknown or
/// repeated, and [`Error::Waiting`] if `stop` is set before a pipe is at its end.
pub fn read_variables(path: &Path, variables: &[Variable], stop: &Stop) -> Result<Vec<u32>, Error> {
    let source = Source::new(path);
    let text = read_text(&source, stop)?;
    let name = source.to_string();
    let all = {
        let mut counted = tokens(&text, &name, stop);
        let mut all = Vec::new();
        while !counted.at_end()? {
            all.push(String::from_utf8_lossy(counted.word("a variable")?).into_owned());
        }
        all
    };
    let mut tokens = tokens(&text, &name, stop);
    let is_number = |word: &String| word.parse::<u64>().is_ok();
    let names = Names::new(variables);
    // numbers alone are the form of the UAI competitions; names follow a number only if it counts them
    let by_index = all.iter().all(is_number);
    let counted = by_index || all[0].parse().ok() == Some(all.len() - 1);
    let count = if counted { tokens.count("a number of variables")? } else { all.len() };
    let mut list = Vec::new();
    for _ in 0..count {
        let variable = match by_index {
            true => tokens.index(variables.len() as u32, "a variable")?,
            false => {
                let word = String::from_utf8_lossy(tokens.word("a variable")?).into_owned();
                names.variable(&word).map_err(|error| tokens.error_with("a variable", error.to_string()))?
            }
        };
        if list.contains(&variable) {
            return Err(tokens.error("a variable that is not there yet"));
        }
        list.push(variable);
    }
    tokens.finish(|| format!("{count} variables are announced"))?;
    Ok(list)
}

/// Returns the variables of a list of names and indices, an argument of `option`.
///
/// # Errors
/// Returns an error if a variable is unknown or repeated.
pub fn variables_named(option: &str, list: &[String], variables: &[Variable]) -> Result<Vec<u32>, Error> {
    let names = Names::new(variables);
    let mut found = Vec::new();
    for name in list {
        let variable = names.variable(name.trim()).map_err(|error| Error::Usage(format!("{option}: {error}")))?;
        if found.contains(&variable) {
            return Err(Error::Usage(format!("{option}: variable `{}` is there twice", names.name(variable))));
        }
        found.push(variable);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(u32, u32)>, Error> {
        parse_text(text).map(|evidence| evidence.observations.pairs())
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
            assert_eq!(evidence.observations.list(), []);
            let told = evidence.warnings[0].to_string();
            assert!(told.starts_with("e:2:1: left unread after the 0, which is no evidence: 2 words"), "{told}");
        }
        assert_eq!(parse_text("1 0 # 7").expect("evidence"), Evidence::default());
    }

    #[test]
    fn names_or_indices() {
        for text in ["smoke=no x2=v3", "# seen\nsmoke=no,\n2=3;", "0=1 2=3 smoke=no"] {
            assert_eq!(read(text).expect("evidence"), [(0, 1), (2, 3)], "{text}");
        }
        assert_eq!(read("a=b==1").expect("evidence"), [(1, 1)]);
        for (text, part) in [
            (
                "smoke=no snow=yes",
                "e:1:10: found `snow=yes`, expected NAME=VALUE (there is no variable `snow` (such as",
            ),
            ("smoke=maybe", "expected NAME=VALUE (`smoke` has no value `maybe` (its values are yes, no))"),
            ("x=2", "`x` has no value `2` (expected an index from 0 to 1)"),
            ("smok=no", "there is no variable `smok` (did you mean `smoke`?)"),
            ("smoke=yess;", "`smoke` has no value `yess` (did you mean `yes`?)"),
            (
                "smoke=no smoke=yes",
                "e:1:10: found `smoke=yes`, expected the value no (`smoke` cannot be yes and no, as observed at e:1:1)",
            ),
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
            (
                "2 0 1 0 0",
                "e:1:9: found `0`, expected the value no (`smoke` cannot be yes and no, as observed at e:1:5)",
            ),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn variables_by_name_and_index() {
        let variable = |name: &str| Variable { domain: 2, name: Some(name.into()), values: None };
        let variables = [variable("rain"), variable("grass"), variable("2")];
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("list.map");
        let read = |text: &str| {
            std::fs::write(&path, text).expect("a file");
            read_variables(&path, &variables, &Stop::new())
        };
        for (text, list) in [
            ("2 0 1", &[0, 1][..]),
            ("1\n2\n", &[2]),
            ("0", &[]),
            ("rain # first\ngrass", &[0, 1]),
            ("2 grass rain", &[1, 0]),
            ("grass 0", &[1, 0]),
        ] {
            assert_eq!(read(text).expect(text), list, "{text}");
        }
        for (text, part) in [
            ("", "found the end of the file, expected a number of variables"),
            ("rain gras", "list.map:1:6: found `gras`, expected a variable (there is no variable `gras` (did you mean"),
            ("rain 0", "list.map:1:6: found `0`, expected a variable that is not there yet"),
            ("3 rain grass", "list.map:1:1: found `3`, expected a variable (there is no variable `3` (such as rain"),
            ("2 0", "found the end of the file"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let named = |list: &[&str]| {
            let list: Vec<String> = list.iter().map(ToString::to_string).collect();
            variables_named("--maximize", &list, &variables)
        };
        assert_eq!(named(&["grass", "0"]).expect("variables"), [1, 0]);
        assert!(named(&["rain", "rain"]).is_err_and(|error| error.to_string().contains("twice")));
        assert!(named(&["rian"]).is_err_and(|error| error.to_string().contains("--maximize: there is no variable")));
    }
}
