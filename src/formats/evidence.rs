//! Evidence files: which variables are known to have which values.

use super::tokens::Tokens;
use super::{Source, cannot_read, input};
use crate::error::Error;
use crate::model::Network;
use crate::stop::Stop;
use rustc_hash::FxHashMap;
use std::io::Read;
use std::path::Path;

/// Evidence is kept as text before it is understood; no real file comes near this size.
const LARGEST_FILE: u64 = 1 << 26;

/// Reads evidence as pairs of a variable and its value, for [`Network::observe`].
///
/// `0` alone is none; t numbers with t = 1 + 2k, k being the first, are k pairs; otherwise the first is the number of
/// sets, which must be 1, and k and its pairs follow.
///
/// # Errors
/// What cannot be read, pairs that the network does not have, and a variable with two values.
pub fn read_evidence(path: &Path, network: &Network) -> Result<Vec<(u32, u32)>, Error> {
    let stop = Stop::new();
    let source = Source::new(path);
    let name = source.to_string();
    let mut text = Vec::new();
    let _ = input::open(&source, &stop)
        .and_then(|reader| reader.take(LARGEST_FILE).read_to_end(&mut text))
        .map_err(|error| cannot_read(&name, error, &stop))?;
    parse(&text, name, network, &stop)
}

/// Which dialect it is shows in the number of words alone, so they are counted first.
fn parse(text: &[u8], name: String, network: &Network, stop: &Stop) -> Result<Vec<(u32, u32)>, Error> {
    let words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
    let mut tokens = Tokens::new(Box::new(text), name, stop);
    let mut pairs = tokens.count("a number of observed variables")?;
    if pairs.checked_mul(2) != Some(words - 1) {
        if pairs != 1 {
            let hint = format!("{} numbers follow", words - 1);
            return Err(tokens.error_with("the number of pairs that follow, or 1 set of evidence", hint));
        }
        pairs = tokens.count("a number of observed variables")?;
    }
    let mut evidence = Vec::new();
    let mut known = FxHashMap::default();
    for _ in 0..pairs {
        let variable = tokens.index(network.domains().len() as u32, "a variable")?;
        let value = tokens.index(network.domains()[variable as usize], "a value")?;
        match known.insert(variable, value) {
            None => evidence.push((variable, value)),
            Some(other) if other == value => {}
            Some(other) => {
                return Err(tokens.error_with(format!("{other}"), format!("as said before of variable {variable}")));
            }
        }
    }
    tokens.finish(|| format!("{pairs} pairs are announced"))?;
    Ok(evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(u32, u32)>, Error> {
        let mut builder = Network::builder("t");
        for size in [2, 3, 4, 2] {
            let _ = builder.variable(size).expect("a variable");
        }
        parse(text.as_bytes(), "e".into(), &builder.build(), &Stop::new())
    }

    #[test]
    fn dialects() {
        for text in ["0", " 0\n", "1 0", "1\n0\n"] {
            assert_eq!(read(text).expect("evidence"), [], "{text}");
        }
        for text in ["1 2 3", "1\n1 2 3", "1 1\r\n2 3\r\n"] {
            assert_eq!(read(text).expect("evidence"), [(2, 3)], "{text}");
        }
        for text in ["2 0 1 2 3", "1\n2 0 1 2 3", "3 0 1 2 3 0 1"] {
            assert_eq!(read(text).expect("evidence"), [(0, 1), (2, 3)], "{text}");
        }
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("", "e:1:1: found the end of the file, expected a number of observed variables"),
            ("x", "e:1:1: found `x`"),
            ("2\n0", "e:1:1: found `2`, expected the number of pairs that follow, or 1 set of evidence"),
            ("0 0", "1 numbers follow"),
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
