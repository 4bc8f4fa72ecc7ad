//! A file's text, and errors that refer to positions in it.

use crate::error::{Error, ParseError};
use std::ops::Range;

/// The maximum number of characters of a text quoted in a message.
const QUOTED: usize = 40;

/// A whole file in memory.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// The file as the user named it.
    pub file: String,
    /// The contents of the file.
    pub text: String,
}

/// An error at a position in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrong {
    /// The byte range of the error.
    pub at: Range<usize>,
    /// What was found; `None` stands for the text at the position.
    pub found: Option<String>,
    /// What was expected.
    pub expected: String,
    /// A hint for correcting the text.
    pub hint: Option<String>,
}

impl Wrong {
    /// Returns an error about unexpected text at a position.
    pub fn new(at: Range<usize>, expected: impl Into<String>) -> Self {
        Wrong { at, found: None, expected: expected.into(), hint: None }
    }

    /// Sets what was found.
    pub fn found(self, found: impl Into<String>) -> Self {
        Wrong { found: Some(found.into()), ..self }
    }

    /// Adds a hint.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Wrong { hint: Some(hint.into()), ..self }
    }

    /// Sets or removes the hint.
    pub fn hinted(self, hint: Option<String>) -> Self {
        Wrong { hint, ..self }
    }
}

/// Converts byte offsets to lines and columns, in linear time if the offsets ascend.
pub struct Places<'t> {
    text: &'t str,
    /// The beginning of the line found last, and its number.
    begin: usize,
    line: u64,
}

impl<'t> Places<'t> {
    /// Starts at the beginning of a text.
    pub fn new(text: &'t Text) -> Self {
        Places { text: &text.text, begin: 0, line: 1 }
    }

    /// Returns line and column of a byte, from 1.
    pub fn of(&mut self, at: usize) -> (u64, u64) {
        if at < self.begin {
            (self.begin, self.line) = (0, 1);
        }
        let Some(passed) = self.text.get(self.begin..at) else { return (self.line, 1) };
        self.line += memchr::memchr_iter(b'\n', passed.as_bytes()).count() as u64;
        self.begin += memchr::memrchr(b'\n', passed.as_bytes()).map_or(0, |newline| newline + 1);
        (self.line, self.text[self.begin..at].chars().count() as u64 + 1)
    }
}

impl Text {
    /// Returns line and column of a byte, from 1.
    pub fn place(&self, at: usize) -> (u64, u64) {
        Places::new(self).of(at.min(self.text.len()))
    }

    /// Returns the error with file, line and column.
    pub fn error(&self, wrong: Wrong) -> Error {
        let (line, column) = self.place(wrong.at.start);
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

/// Returns a piece of text for a message: printable, short, on one line.
pub fn quote(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let shown: String = first.chars().take(QUOTED).flat_map(char::escape_debug).collect();
    let more = if first.len() < text.len() || first.chars().count() > QUOTED { "…" } else { "" };
    format!("`{shown}{more}`")
}

/// Returns a list of the existing names for a message, and a hint with the name that was probably meant.
pub fn names<'a>(known: impl Iterator<Item = &'a str> + Clone, found: &str) -> (String, Option<String>) {
    let hint = nearest(known.clone(), found).map(|name| format!("did you mean `{name}`?"));
    (known.collect::<Vec<_>>().join(", "), hint)
}

/// Returns the name that was probably meant; `None` if no name is near to what was found.
pub fn nearest<'a>(known: impl Iterator<Item = &'a str>, found: &str) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &found.to_lowercase());
    let nearest = known.map(|name| (distance(name), name)).min_by_key(|(distance, _)| *distance);
    // a name that shares no character with what was found was not meant
    let letters = found.chars().count();
    nearest.filter(|(distance, _)| *distance <= 1 + letters / 4 && *distance < letters).map(|(_, name)| name)
}
