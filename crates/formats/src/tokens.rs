//! Blank-separated words from a stream, with a fixed buffer, positions for messages, and a stop flag that is checked at
//! every refill.

mod ahead;
mod bytes;
mod parts;

pub(super) use ahead::{Part, Reach};

use super::decimal;
use crate::error::{Error, ParseError, Warning};
use crate::files::cannot_read;
use crate::model::Stated;
use crate::stop::Stop;
use std::io::Read;

/// The size of the buffer in bytes. A word that does not fit is an error, so that no file makes the buffer grow.
const BUFFER: usize = 1 << 16;

/// The number of digits that always fit 64 bits.
const MOST_DIGITS: usize = 18;

/// The maximum number of characters of a word quoted in a message.
const QUOTED: usize = 40;

/// The byte order mark that some editors write before UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The first character of a comment, in formats with such comments.
const COMMENT: u8 = b'#';

/// A tokenizer. The *current* word is the one returned last; errors refer to it unless stated otherwise.
pub(super) struct Tokens<'a> {
    source: Box<dyn Read + 'a>,
    file: String,
    stop: &'a Stop,
    buffer: Box<[u8]>,
    /// The start of the current word in the buffer; valid until the next word is consumed.
    current: usize,
    /// The index of the next unconsumed byte in the buffer.
    next: usize,
    /// The end of the valid bytes in the buffer.
    end: usize,
    line: u64,
    /// The start of the line, relative to the buffer; negative once it has been shifted out.
    line_start: i64,
    /// Whether nothing has been read yet.
    unread: bool,
    /// The character that begins a comment up to the end of its line; `None` if there are no comments.
    comments: Option<u8>,
    /// Whether each bracket is a word by itself.
    brackets: bool,
    /// The position of the first comment skipped so far.
    pub(super) commented: Option<Place>,
    warnings: Vec<Warning>,
}

/// A position in a file: line and column, from 1.
pub(super) type Place = (u64, u64);

impl<'a> Tokens<'a> {
    /// Starts at the beginning of `source`; `file` names it in messages.
    pub(super) fn new(source: Box<dyn Read + 'a>, file: String, stop: &'a Stop) -> Self {
        Tokens::with_buffer(source, file, stop, vec![0; BUFFER].into())
    }

    fn with_buffer(source: Box<dyn Read + 'a>, file: String, stop: &'a Stop, buffer: Box<[u8]>) -> Self {
        Tokens {
            source,
            file,
            stop,
            buffer,
            current: 0,
            next: 0,
            end: 0,
            line: 1,
            line_start: 0,
            unread: true,
            comments: None,
            brackets: false,
            commented: None,
            warnings: Vec::new(),
        }
    }

    /// Returns the file's name for messages.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// Returns the stop flag that ends the reading.
    pub(super) fn stop(&self) -> &'a Stop {
        self.stop
    }

    /// Returns whether no word is left.
    pub(super) fn at_end(&mut self) -> Result<bool, Error> {
        Ok(self.find_word()? == self.next)
    }

    /// Returns the next word without consuming it; empty at the end.
    pub(super) fn peek(&mut self) -> Result<&[u8], Error> {
        let end = self.find_word()?;
        Ok(&self.buffer[self.next..end])
    }

    /// Consumes a word.
    pub(super) fn word(&mut self, expected: &str) -> Result<&[u8], Error> {
        let end = self.find_word()?;
        self.next = end;
        if self.current == end {
            return Err(self.error(expected));
        }
        Ok(&self.buffer[self.current..end])
    }

    /// Consumes an integer. One too large for 64 bits saturates, because files write such numbers for infinity.
    ///
    /// The number ends before a `-` inside the word: `29-1` is read as two numbers, as by the stream readers of C++,
    /// because some files rely on that.
    #[inline]
    pub(super) fn integer(&mut self, expected: &str) -> Result<i64, Error> {
        if let Some(value) = self.plain_integer() {
            return Ok(value);
        }
        let end = self.find_word()?;
        let word = &self.buffer[self.current..end];
        let sign = usize::from(matches!(word.first(), Some(b'-' | b'+')));
        let mut value = 0i64;
        let mut length = sign;
        for &byte in &word[sign..] {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.saturating_mul(10).saturating_add(i64::from(digit));
            length += 1;
        }
        if length == sign || !matches!(word.get(length), None | Some(b'-')) {
            self.next = end;
            return Err(self.error(expected));
        }
        let negative = word[0] == b'-';
        self.next = self.current + length;
        Ok(if negative { -value } else { value })
    }

    /// Consumes at most one blank, an optional minus, digits, and checks for a blank, all within the buffer. This
    /// covers most of a file in one pass instead of two. Returns `None`, without consuming anything, in other cases.
    #[inline]
    fn plain_integer(&mut self) -> Option<i64> {
        let bytes = &self.buffer[self.next..self.end];
        let first = *bytes.first()?;
        let begin = usize::from(matches!(first, b' ' | b'\n'));
        let negative = *bytes.get(begin)? == b'-';
        let digits = begin + usize::from(negative);
        let mut value = 0i64;
        let mut at = digits;
        loop {
            let byte = *bytes.get(at)?;
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                if at == digits || !byte.is_ascii_whitespace() {
                    return None;
                }
                break;
            }
            if at == digits + MOST_DIGITS {
                return None;
            }
            value = value * 10 + i64::from(digit);
            at += 1;
        }
        self.current = self.next + begin;
        if first == b'\n' {
            self.line += 1;
            self.line_start = self.current as i64;
        }
        self.next += at;
        Some(if negative { -value } else { value })
    }

    /// Consumes a count. It is merely a claim of the file, so memory must be allocated only as the items arrive.
    pub(super) fn count(&mut self, expected: &str) -> Result<usize, Error> {
        let value = self.integer(expected)?;
        usize::try_from(value).map_err(|_| self.error(format!("{expected}, at least 0")))
    }

    /// Consumes an index below `limit`; `what` names its kind.
    #[inline]
    pub(super) fn index(&mut self, limit: u32, what: &str) -> Result<u32, Error> {
        let value = self.integer(what)?;
        if value < 0 || value >= i64::from(limit) {
            return Err(self.outside(limit, what));
        }
        Ok(value as u32)
    }

    /// Consumes a number of any magnitude.
    #[inline]
    pub(super) fn number(&mut self, expected: &str) -> Result<Stated, Error> {
        let end = self.find_word()?;
        self.next = end;
        decimal::parse(&self.buffer[self.current..end]).ok_or_else(|| self.error(expected))
    }

    /// Skips the rest of the line.
    pub(super) fn skip_line(&mut self) -> Result<(), Error> {
        loop {
            match self.buffer[self.next..self.end].iter().position(|&byte| byte == b'\n') {
                Some(offset) => {
                    self.next += offset; // the newline itself is counted with the blanks
                    return Ok(());
                }
                None => self.next = self.end,
            }
            if !self.refill()? {
                return Ok(());
            }
        }
    }

    /// Returns whether no word is left on the line of the current word.
    pub(super) fn at_line_end(&mut self) -> Result<bool, Error> {
        let line = self.line;
        Ok(self.at_end()? || self.line > line)
    }

    /// Ignores the rest of the text, with a warning that states its length and beginning; `after` names what precedes
    /// it.
    pub(super) fn leave_rest(&mut self, after: &str) -> Result<(), Error> {
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

    /// Returns the position of the current word.
    pub(super) fn place(&self) -> Place {
        (self.line, (self.current as i64 - self.line_start + 1) as u64)
    }

    /// Adds a warning about a position of the text.
    pub(super) fn warn(&mut self, (line, column): Place, message: String) {
        self.warnings.push(Warning { file: self.file.clone(), line, column, message });
    }

    /// Removes and returns the warnings so far.
    pub(super) fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// Checks that no word is left; `hint` explains the error.
    pub(super) fn finish(&mut self, hint: impl FnOnce() -> String) -> Result<(), Error> {
        if self.at_end()? {
            return Ok(());
        }
        let _ = self.word("a word")?;
        Err(self.error_with("the end of the file", hint()))
    }

    /// Returns an error about the current word.
    #[cold]
    pub(super) fn error(&self, expected: impl Into<String>) -> Error {
        self.parse_error(expected.into(), None)
    }

    /// Returns an error about the current word, with a hint.
    #[cold]
    pub(super) fn error_with(&self, expected: impl Into<String>, hint: impl Into<String>) -> Error {
        self.parse_error(expected.into(), Some(hint.into()))
    }

    /// Returns an error about a word at an earlier position.
    pub(super) fn error_at(&self, (line, column): Place, found: &str, expected: &str, hint: String) -> Error {
        let (found, expected) = (quote(found.as_bytes()), expected.into());
        Error::Parse(ParseError { file: self.file.clone(), line, column, found, expected, hint: Some(hint) })
    }

    #[cold]
    fn outside(&self, limit: u32, what: &str) -> Error {
        self.error(format!("{what}{}", crate::terminal::among(limit)))
    }

    fn parse_error(&self, expected: String, hint: Option<String>) -> Error {
        let word = &self.buffer[self.current..self.next];
        let found = if word.is_empty() { "the end of the file".to_string() } else { quote(word) };
        let (line, column) = self.place();
        Error::Parse(ParseError { file: self.file.clone(), line, column, found, expected, hint })
    }

    /// Makes the next word the current one, with all of its bytes in the buffer. Returns its end, which equals its
    /// start at the end of the file.
    #[inline]
    fn find_word(&mut self) -> Result<usize, Error> {
        loop {
            while self.next < self.end && self.buffer[self.next].is_ascii_whitespace() {
                if self.buffer[self.next] == b'\n' {
                    self.line += 1;
                    self.line_start = self.next as i64 + 1;
                }
                self.next += 1;
            }
            self.current = self.next;
            if self.next < self.end {
                if self.comments == Some(self.buffer[self.next]) {
                    let place = self.place();
                    let _ = self.commented.get_or_insert(place);
                    self.skip_line()?;
                    continue;
                }
                break;
            }
            if !self.refill()? {
                return Ok(self.next);
            }
        }
        let mut length = 0;
        loop {
            let rest = &self.buffer[self.next + length..self.end];
            let ends = |byte: &u8| byte.is_ascii_whitespace() || self.brackets && is_bracket(*byte);
            if let Some(offset) = rest.iter().position(ends) {
                let end = self.next + length + offset;
                return Ok(end + usize::from(end == self.next)); // a bracket
            }
            length = self.end - self.next;
            if !self.refill()? {
                return Ok(self.next + length);
            }
        }
    }

    /// Moves unconsumed bytes to the front of the buffer and reads more. Returns false at the end of the file.
    #[cold]
    fn refill(&mut self) -> Result<bool, Error> {
        if self.stop.is_set() {
            return Err(Error::Stopped);
        }
        if self.next > 0 {
            self.buffer.copy_within(self.next..self.end, 0);
        }
        self.line_start -= self.next as i64;
        self.end -= self.next;
        (self.next, self.current) = (0, 0);
        if self.end == self.buffer.len() {
            self.next = self.end; // makes the message quote the word
            return Err(self.error_with("a shorter word", "is this a text file of the format?"));
        }
        let before = self.end;
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(bytes) => {
                    self.end += bytes;
                    if self.unread {
                        let start = &self.buffer[..self.end];
                        if bytes > 0 && self.end < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(start) {
                            continue; // it may become a byte order mark
                        }
                        self.unread = false;
                        if start.starts_with(BYTE_ORDER_MARK) {
                            (self.next, self.current) = (BYTE_ORDER_MARK.len(), BYTE_ORDER_MARK.len());
                            self.line_start = BYTE_ORDER_MARK.len() as i64;
                        }
                    }
                    return Ok(self.end > before);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(cannot_read(&self.file, error, self.stop)),
            }
        }
    }
}

fn is_bracket(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']')
}

/// Returns a word for a message: printable and short.
pub(super) fn quote(word: &[u8]) -> String {
    let text = String::from_utf8_lossy(&word[..word.len().min(4 * QUOTED)]);
    let shown: String = text.chars().take(QUOTED).flat_map(char::escape_debug).collect();
    let more = if text.chars().count() > QUOTED { "…" } else { "" };
    format!("`{shown}{more}`")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns one byte for each read, so that every word crosses the end of the buffer.
    pub(crate) struct Drip<'a>(pub(crate) &'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let bytes = self.0.len().min(1).min(buffer.len());
            buffer[..bytes].copy_from_slice(&self.0[..bytes]);
            self.0 = &self.0[bytes..];
            Ok(bytes)
        }
    }

    pub(crate) fn message(result: Result<impl std::fmt::Debug, Error>) -> String {
        result.expect_err("this is wrong on purpose").to_string()
    }

    #[test]
    fn words_numbers_and_positions() {
        let stop = Stop::new();
        for drip in [false, true] {
            let text: &[u8] = b" name 12\r\n-3 +4  29-1\n\n 1.5e-3 99999999999999999999 end";
            let source: Box<dyn Read> = if drip { Box::new(Drip(text)) } else { Box::new(text) };
            let mut tokens = Tokens::new(source, "f".into(), &stop);
            assert_eq!(tokens.peek().expect("a token"), b"name");
            assert_eq!(tokens.word("a name").expect("a word"), b"name");
            for expected in [12, -3, 4, 29, -1] {
                assert_eq!(tokens.integer("a number").expect("a token"), expected);
            }
            assert_eq!(tokens.number("a real").expect("a token"), Stated::Double(1.5e-3));
            assert_eq!(tokens.integer("a number").expect("a token"), i64::MAX);
            assert_eq!(message(tokens.integer("a number")), "f:4:30: found `end`, expected a number");
            assert!(tokens.at_end().expect("readable text"));
            assert_eq!(message(tokens.integer("more")), "f:4:33: found the end of the file, expected more");
        }
    }

    #[test]
    fn plain_integers_keep_positions() {
        let stop = Stop::new();
        for drip in [false, true] {
            let text: &[u8] = b"5\n6 7\n 123456789012345678 1234567890123456789 98765432109876543210\n8\nx";
            let source: Box<dyn Read> = if drip { Box::new(Drip(text)) } else { Box::new(text) };
            let mut tokens = Tokens::new(source, "f".into(), &stop);
            for expected in [5, 6, 7, 123_456_789_012_345_678, 1_234_567_890_123_456_789, i64::MAX] {
                assert_eq!(tokens.integer("a number").expect("a token"), expected);
            }
            assert_eq!(message(tokens.index(8, "a value")), "f:4:1: found `8`, expected a value from 0 to 7");
            assert_eq!(message(tokens.integer("a number")), "f:5:1: found `x`, expected a number");
        }
    }

    #[test]
    fn bad_words() {
        let stop = Stop::new();
        let read = |text: &'static str| Tokens::new(Box::new(text.as_bytes()), "f".into(), &stop);
        for text in ["-", "+", "--1", "1x", "0x10", "1.0", "é"] {
            assert!(message(read(text).integer("n")).contains(&format!("found `{text}`")), "{text}");
        }
        assert_eq!(message(read("7").index(7, "a value")), "f:1:1: found `7`, expected a value from 0 to 6");
        assert_eq!(message(read("-1").index(7, "a value")), "f:1:1: found `-1`, expected a value from 0 to 6");
        assert_eq!(message(read("-1").count("a count")), "f:1:1: found `-1`, expected a count, at least 0");
        assert!(message(read("1..2").number("a real")).contains("`1..2`"));
    }

    #[test]
    fn what_is_no_text() {
        let stop = Stop::new();
        let zeros = vec![0u8; 3 * BUFFER];
        let mut tokens = Tokens::new(Box::new(&zeros[..]), "f".into(), &stop);
        assert!(message(tokens.word("a name")).contains("a shorter word"));
        let mut tokens = Tokens::new(Box::new(&b"\xff\xfe\x01"[..]), "f".into(), &stop);
        let error = message(tokens.integer("a number"));
        assert!(error.chars().all(|c| !c.is_control()), "{error}");
    }

    #[test]
    fn long_blanks_and_lines_keep_positions() {
        let stop = Stop::new();
        let mut text = vec![b' '; 2 * BUFFER + 10];
        text.extend_from_slice(b"x\nc ");
        text.extend(vec![b'y'; 2 * BUFFER]);
        text.extend_from_slice(b"\n z");
        let mut tokens = Tokens::new(Box::new(&text[..]), "f".into(), &stop);
        let column = 2 * BUFFER + 11;
        assert!(message(tokens.integer("n")).starts_with(&format!("f:1:{column}: found `x`")));
        assert_eq!(tokens.word("c").expect("a token"), b"c");
        tokens.skip_line().expect("a line");
        assert!(message(tokens.integer("n")).starts_with("f:3:2: found `z`"));
    }

    #[test]
    fn the_stop_flag_ends_reading() {
        let stop = Stop::new();
        stop.set(crate::stop::Cause::Time);
        let mut tokens = Tokens::new(Box::new(&b"1"[..]), "f".into(), &stop);
        assert!(matches!(tokens.integer("n"), Err(Error::Stopped)));
    }
}
