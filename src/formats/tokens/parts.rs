//! Words that a format writes without blanks between them, real numbers kept exactly, and the rest of a file.

use super::{Place, QUOTED, Tokens, quote};
use crate::error::{Error, ParseError};
use crate::formats::lax_json::LaxJson;
use crate::formats::real::{self, Real};

impl Tokens<'_> {
    /// From here on a word that begins with `mark` is a comment to the end of its line.
    pub(in crate::formats) fn skip_comments_after(&mut self, mark: u8) {
        self.comments = Some(mark);
    }

    /// Takes the beginning of the next word, as many bytes of it as `length` says, at least one.
    pub(in crate::formats) fn part(&mut self, expected: &str, length: impl Fn(&[u8]) -> usize) -> Result<&[u8], Error> {
        let end = self.find_word()?;
        if self.current == end {
            self.next = end;
            return Err(self.error(expected));
        }
        let taken = length(&self.buffer[self.current..end]).clamp(1, end - self.current);
        self.next = self.current + taken;
        Ok(&self.buffer[self.current..self.next])
    }

    /// Takes a decimal number, exactly as it is written.
    pub(in crate::formats) fn real(&mut self, expected: &str) -> Result<Real, Error> {
        let end = self.find_word()?;
        self.next = end;
        real::parse(&self.buffer[self.current..end]).ok_or_else(|| self.error(expected))
    }

    /// From here on quotes, colons and commas are blanks, each bracket is a word, and a comment goes from a `#` in the
    /// first column or from `//` to the end of its line. Nothing has been read before.
    pub(in crate::formats) fn read_lax_json(&mut self) {
        let source = std::mem::replace(&mut self.source, Box::new(std::io::empty()));
        self.source = Box::new(LaxJson::new(source));
        self.brackets = true;
    }

    /// Leaves the rest unread, with a warning that states its length and beginning; `after` names what precedes it.
    pub(in crate::formats) fn leave_rest(&mut self, after: &str) -> Result<(), Error> {
        if self.at_end()? {
            return Ok(());
        }
        let place = self.place();
        let (mut words, mut beginning) = (0u64, Vec::new());
        while !self.at_end()? {
            let word = self.word("a word")?;
            if beginning.len() <= 4 * QUOTED {
                beginning.extend_from_slice(word);
                beginning.push(b' ');
            }
            words += 1;
        }
        let s = if words == 1 { "" } else { "s" };
        let beginning = quote(beginning.trim_ascii_end());
        self.warn(place, format!("left unread after {after}: {words} word{s}, beginning with {beginning}"));
        Ok(())
    }

    /// An error about a word at an earlier place.
    pub(in crate::formats) fn error_at(
        &self,
        (line, column): Place,
        found: &str,
        expected: &str,
        hint: String,
    ) -> Error {
        let (found, expected) = (quote(found.as_bytes()), expected.into());
        Error::Parse(ParseError { file: self.file.clone(), line, column, found, expected, hint: Some(hint) })
    }
}
