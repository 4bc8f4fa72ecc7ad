//! Evidence files: observed variables and their values.

use super::tokens::Tokens;
use super::{Source, read_text};
use crate::error::{Error, Warning};
use crate::stop::Stop;
use rustc_hash::FxHashMap;
use std::path::Path;

/// The contents of an evidence file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Variables and their values, each variable once, for [`Network::observe`](crate::model::Network::observe).
    pub pairs: Vec<(u32, u32)>,
    /// Doubtful places of the file.
    pub warnings: Vec<Warning>,
}

/// Reads evidence.
///
/// `0` is none, whatever follows; t numbers with t = 1 + 2k, k being the first, are k pairs; otherwise the first is the
/// number of sets, which must be 1, and k and its pairs follow. `#` begins a comment.
///
/// # Errors
/// A file that cannot be read, pairs beyond the variables or their domains, and a variable with two values; [`Error::Waiting`]
/// where `stop` is set before a pipe is at its end.
pub fn read_evidence(path: &Path, domains: &[u32], stop: &Stop) -> Result<Evidence, Error> {
    let source = Source::new(path);
    parse(&read_text(&source, stop)?, source.to_string(), domains, stop)
}

/// Only the number of words shows the dialect, so they are counted first.
fn parse(text: &[u8], name: String, domains: &[u32], stop: &Stop) -> Result<Evidence, Error> {
    let words = || {
        let mut tokens = Tokens::new(Box::new(text), name.clone(), stop);
        tokens.skip_comments();
        tokens
    };
    let (mut counted, mut count) = (words(), 0);
    while !counted.at_end()? {
        let _ = counted.word("a word")?;
        count += 1;
    }
    let mut tokens = words();
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
    let mut evidence = Vec::new();
    let mut known = FxHashMap::default();
    for _ in 0..pairs {
        let variable = tokens.index(domains.len() as u32, "a variable")?;
        let value = tokens.index(domains[variable as usize], "a value")?;
        match known.insert(variable, value) {
            None => evidence.push((variable, value)),
            Some(other) if other == value => {}
            Some(other) => {
                return Err(tokens.error_with(format!("{other}"), format!("as said before of variable {variable}")));
            }
        }
    }
    tokens.finish(|| format!("{pairs} pairs are announced"))?;
    Ok(Evidence { pairs: evidence, warnings: tokens.take_warnings() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(u32, u32)>, Error> {
        parse_text(text).map(|evidence| evidence.pairs)
    }

    fn parse_text(text: &str) -> Result<Evidence, Error> {
        parse(text.as_bytes(), "e".into(), &[2, 3, 4, 2], &Stop::new())
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
    fn misfits() {
        for (text, part) in [
            ("", "e:1:1: found the end of the file, expected a number of observed variables"),
            ("x", "e:1:1: found `x`"),
            ("2\n0", "e:1:1: found `2`, expected the number of pairs that follow, or 1 set of evidence"),
            ("2 0", "1 numbers follow"),
            ("# none", "e:1:7: found the end of the file"),
            ("99999999999999999999 1", "e:1:1"),
            ("1 4 0", "e:1:3: found `4`, expected a variable in 0..4"),
            ("1 0 2", "e:1:5: found `2`, expected a value in 0..2"),
            ("1 2 0 1", "e:1:8: found the end of the file"),
            ("1 1 0 1 7", "e:1:9: found `7`, expected the end of the file (1 pairs"),
            ("2 0 1 0 0", "e:1:9: found `0`, expected 1 (as said before of variable 0)"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
