//! A file's text, and errors that point into it.

use crate::error::{Error, ParseError};
use std::ops::Range;

/// What a message quotes of a text.
const QUOTED: usize = 40;

/// A text and what messages call it.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    /// The file as the user named it.
    pub file: String,
    /// What stands there.
    pub text: String,
}

/// A place in a text and what is wrong there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wrong {
    /// The place, in bytes.
    pub at: Range<usize>,
    /// What stands there; the text itself where this says nothing.
    pub found: Option<String>,
    /// What should.
    pub expected: String,
    /// What may help.
    pub hint: Option<String>,
}

impl Wrong {
    /// The text at a place is not what it should be.
    pub fn new(at: Range<usize>, expected: impl Into<String>) -> Self {
        Wrong { at, found: None, expected: expected.into(), hint: None }
    }

    /// With other words for what stands there.
    pub fn found(self, found: impl Into<String>) -> Self {
        Wrong { found: Some(found.into()), ..self }
    }

    /// With what may help.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Wrong { hint: Some(hint.into()), ..self }
    }

    /// With what may help, if anything does.
    pub fn hinted(self, hint: Option<String>) -> Self {
        Wrong { hint, ..self }
    }
}

impl Text {
    /// The error of what is wrong at a place of this text.
    pub fn error(&self, wrong: Wrong) -> Error {
        let before = self.text.get(..wrong.at.start).unwrap_or(&self.text);
        let line = before.matches('\n').count() as u64 + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
        let after = self.text.get(wrong.at.start..).and_then(|rest| rest.chars().next());
        let found = wrong.found.unwrap_or_else(|| match (self.text.get(wrong.at), after) {
            (None, _) | (_, None) => "the end of the text".into(),
            (Some(""), Some('\n')) => "the end of the line".into(),
            (Some(""), Some(next)) => quote(&next.to_string()),
            (Some(text), _) => quote(text),
        });
        let (file, expected, hint) = (self.file.clone(), wrong.expected, wrong.hint);
        Error::Parse(ParseError { file, line, column, found, expected, hint })
    }
}

/// A piece of text as a message shows it: printable, short, one line.
pub(super) fn quote(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let shown: String = first.chars().take(QUOTED).flat_map(char::escape_debug).collect();
    let more = if first.len() < text.len() || first.chars().count() > QUOTED { "…" } else { "" };
    format!("`{shown}{more}`")
}

/// The names that exist, as a message lists them, and the one that was meant, if one is near.
pub(in crate::heuristics) fn names<'a>(
    known: impl Iterator<Item = &'a str> + Clone,
    found: &str,
) -> (String, Option<String>) {
    let distance = |name: &&str| strsim::damerau_levenshtein(&name.to_lowercase(), &found.to_lowercase());
    let nearest = known.clone().min_by_key(distance).filter(|name| distance(name) <= 1 + found.chars().count() / 4);
    let hint = nearest.map(|name| format!("did you mean `{name}`?"));
    (known.collect::<Vec<_>>().join(", "), hint)
}
