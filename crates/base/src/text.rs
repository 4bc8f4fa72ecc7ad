//! A file's text, and errors that point into it.

use crate::error::{Error, ParseError};
use std::ops::Range;

/// Longest quotation of a text in a message.
const QUOTED: usize = 40;

/// A whole file in memory.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// The file as the user named it.
    pub file: String,
    /// The contents.
    pub text: String,
}

/// An error at a place in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrong {
    /// The place, in bytes.
    pub at: Range<usize>,
    /// What was found; the text itself where this is empty.
    pub found: Option<String>,
    /// What should stand there.
    pub expected: String,
    /// What else helps.
    pub hint: Option<String>,
}

impl Wrong {
    /// An unexpected text at a place.
    pub fn new(at: Range<usize>, expected: impl Into<String>) -> Self {
        Wrong { at, found: None, expected: expected.into(), hint: None }
    }

    /// Names what stands there.
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

/// Places of bytes of a text, found in linear time if their order is that of the text.
pub struct Places<'t> {
    text: &'t str,
    /// The beginning of the line found last, and its number.
    begin: usize,
    line: u64,
}

impl<'t> Places<'t> {
    /// From the beginning of a text.
    pub fn new(text: &'t Text) -> Self {
        Places { text: &text.text, begin: 0, line: 1 }
    }

    /// Line and column of a byte, from 1.
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
    /// Line and column of a byte, from 1.
    pub fn place(&self, at: usize) -> (u64, u64) {
        Places::new(self).of(at.min(self.text.len()))
    }

    /// The error with file, line and column.
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

/// A piece of text for a message: printable, short, one line.
pub fn quote(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let shown: String = first.chars().take(QUOTED).flat_map(char::escape_debug).collect();
    let more = if first.len() < text.len() || first.chars().count() > QUOTED { "…" } else { "" };
    format!("`{shown}{more}`")
}

/// The names that exist, for a message, and the one that was probably meant.
pub fn names<'a>(known: impl Iterator<Item = &'a str> + Clone, found: &str) -> (String, Option<String>) {
    let distance = |name: &&str| strsim::damerau_levenshtein(&name.to_lowercase(), &found.to_lowercase());
    let nearest = known.clone().min_by_key(distance).filter(|name| distance(name) <= 1 + found.chars().count() / 4);
    let hint = nearest.map(|name| format!("did you mean `{name}`?"));
    (known.collect::<Vec<_>>().join(", "), hint)
}
