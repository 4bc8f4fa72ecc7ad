//! Words of a text in which a colon is a word by itself and `#` begins a comment up to the end of the line.

use crate::error::{Error, ParseError};
use crate::text::quote;

/// A word with its line and column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub text: &'a str,
    pub line: u64,
    pub column: u64,
}

impl Word<'_> {
    /// Returns whether the word begins like a number.
    pub fn is_number(&self) -> bool {
        self.text.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+'))
    }
}

/// The words of a text.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    file: &'a str,
    text: &'a str,
    at: usize,
    line: u64,
    line_start: usize,
}

impl<'a> Words<'a> {
    /// Starts at the beginning of a text; `file` names it in messages.
    pub fn new(text: &'a str, file: &'a str) -> Self {
        Words { file, text: text.strip_prefix('\u{feff}').unwrap_or(text), at: 0, line: 1, line_start: 0 }
    }

    /// Returns the word `ahead` words after the next one, without consuming any.
    pub fn peek(&self, ahead: usize) -> Option<Word<'a>> {
        let mut words = self.clone();
        (0..ahead).try_for_each(|_| words.take().map(drop))?;
        words.take()
    }

    /// Returns whether the word `ahead` words after the next one equals `text`.
    pub fn is(&self, ahead: usize, text: &str) -> bool {
        self.peek(ahead).is_some_and(|word| word.text == text)
    }

    /// Consumes the next word; `None` at the end.
    pub fn take(&mut self) -> Option<Word<'a>> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b'\n' => {
                    self.line += 1;
                    self.line_start = self.at + 1;
                    self.at += 1;
                }
                b'#' => self.at += bytes[self.at..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - self.at),
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => break,
            }
        }
        let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b':' | b'#');
        let length = match bytes[self.at] {
            b':' => 1,
            _ => bytes[self.at..].iter().position(ends).unwrap_or(bytes.len() - self.at),
        };
        let column = self.text[self.line_start..self.at].chars().count() as u64 + 1;
        let word = Word { text: &self.text[self.at..self.at + length], line: self.line, column };
        self.at += length;
        Some(word)
    }

    /// Consumes the next word, which must exist.
    pub fn expect(&mut self, expected: &str) -> Result<Word<'a>, Error> {
        self.take().ok_or_else(|| self.error(None, expected, None))
    }

    /// Consumes a colon.
    pub fn colon(&mut self) -> Result<(), Error> {
        match self.take() {
            Some(Word { text: ":", .. }) => Ok(()),
            other => Err(self.error(other, "a colon", None)),
        }
    }

    /// Consumes a colon if it comes next. Returns whether it did.
    pub fn takes_colon(&mut self) -> bool {
        self.is(0, ":") && self.take().is_some()
    }

    /// Consumes a finite number.
    pub fn number(&mut self, expected: &str) -> Result<f64, Error> {
        let word = self.expect(expected)?;
        let number = word.text.parse::<f64>().ok().filter(|number| number.is_finite() && word.is_number());
        number.ok_or_else(|| self.error(Some(word), expected, None))
    }

    /// Returns an error about a word, or about the end of the file if `word` is `None`.
    pub fn error(&self, word: Option<Word<'_>>, expected: impl Into<String>, hint: Option<String>) -> Error {
        let (found, line, column) = match word {
            Some(word) => (quote(word.text), word.line, word.column),
            None => {
                let column = self.text[self.line_start..].chars().count() as u64 + 1;
                ("the end of the file".into(), self.line, column)
            }
        };
        ParseError { file: self.file.into(), line, column, found, expected: expected.into(), hint }.into()
    }
}
