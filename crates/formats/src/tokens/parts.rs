//! Further functions of the tokenizer for some formats: other comments, words that are not separated by blanks, exact
//! real numbers, and the whole text.

use super::{COMMENT, Tokens};
use crate::decimal::Real;
use crate::encoding;
use crate::error::Error;
use crate::files::{LARGEST_TEXT, cannot_read, read_all};
use crate::lax_json::LaxJson;
use crate::text::Text;

/// The number of bytes at the beginning of a text that reveal its format.
const BEGINNING: usize = 1 << 14;

impl Tokens<'_> {
    /// From here on, quotes, colons and commas are blanks, each bracket is a word, and a comment extends from a `#` in
    /// the first column or from `//` to the end of its line. Must be called before anything is read.
    pub(crate) fn read_lax_json(&mut self) {
        let source = std::mem::replace(&mut self.source, Box::new(std::io::empty()));
        self.source = Box::new(LaxJson::new(source));
        self.brackets = true;
    }

    /// Returns whether the beginning of the text contains this piece, case-insensitively.
    pub(crate) fn has_ahead(&mut self, piece: &[u8]) -> Result<bool, Error> {
        let ahead = self.ahead(BEGINNING)?;
        Ok(ahead.text.windows(piece.len()).any(|window| window.eq_ignore_ascii_case(piece)))
    }

    /// Returns the whole text, of which no word may have been consumed, for formats that are parsed at once.
    pub(crate) fn text(&mut self) -> Result<Text, Error> {
        let bytes = read_all(&mut self.source, LARGEST_TEXT);
        let rest = bytes.map_err(|error| cannot_read(&self.file, error, self.stop))?;
        let bytes = [&self.buffer[self.next..self.end], &rest].concat();
        self.next = self.end;
        let (text, valid) = encoding::document(bytes);
        let text = Text { file: self.file.clone(), text };
        if let Some(valid) = valid {
            self.warn(text.place(valid), "a byte that is not UTF-8: the text is read as windows-1252".into());
        }
        Ok(text)
    }

    /// From here on, a word that begins with `#` is a comment up to the end of its line.
    pub(crate) fn skip_comments(&mut self) {
        self.skip_comments_after(COMMENT);
    }

    /// From here on, a word that begins with `mark` is a comment up to the end of its line.
    pub(crate) fn skip_comments_after(&mut self, mark: u8) {
        self.comments = Some(mark);
    }

    /// Consumes the beginning of the next word, of the number of bytes that `length` returns, but at least one.
    pub(crate) fn part(&mut self, expected: &str, length: impl Fn(&[u8]) -> usize) -> Result<&[u8], Error> {
        let end = self.find_word()?;
        if self.current == end {
            self.next = end;
            return Err(self.error(expected));
        }
        let taken = length(&self.buffer[self.current..end]).clamp(1, end - self.current);
        self.next = self.current + taken;
        Ok(&self.buffer[self.current..self.next])
    }

    /// Consumes a decimal number, exactly as written.
    pub(crate) fn real(&mut self, expected: &str) -> Result<Real, Error> {
        if let Some(value) = self.plain_integer() {
            return Ok(Real::integer(value));
        }
        let end = self.find_word()?;
        self.next = end;
        Real::parse(&self.buffer[self.current..end]).ok_or_else(|| self.error(expected))
    }
}
