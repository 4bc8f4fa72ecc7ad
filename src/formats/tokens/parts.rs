//! Words that a format writes without blanks between them, and real numbers kept exactly.

use super::Tokens;
use crate::error::Error;
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
}
