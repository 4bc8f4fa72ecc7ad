//! The words of a `.bif` or `.net` file: names, numbers and marks, without comments.

use crate::error::{Error, ParseError};
use crate::model::Stated;
use crate::tokens::{Place, Tokens, quote};
use crate::{decimal, encoding};

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word<'w> {
    /// A name or number, without its quotation marks.
    Name(&'w str),
    /// A character that is a word by itself, such as a bracket.
    Mark(char),
    /// The end of the file.
    End,
}

/// Iterates over the words of a file; errors refer to the current word.
pub(crate) struct Words<'w, 'a> {
    tokens: &'w mut Tokens<'a>,
    marks: &'static [u8],
    /// Text between blanks, the position of its first byte, and the number of bytes already consumed.
    text: Vec<u8>,
    text_at: Place,
    taken: usize,
    /// The current word, whether it is a name, and its position.
    word: String,
    is_name: bool,
    place: Place,
}

impl<'w, 'a> Words<'w, 'a> {
    /// Starts at the first word. Each character of `marks` is a word by itself.
    pub fn new(tokens: &'w mut Tokens<'a>, marks: &'static [u8]) -> Result<Self, Error> {
        let (text, word) = (Vec::new(), String::new());
        let mut words = Words { tokens, marks, text, text_at: (1, 1), taken: 0, word, is_name: false, place: (1, 1) };
        words.take()?;
        Ok(words)
    }

    /// Returns the file's name for messages.
    pub fn file(&self) -> &str {
        self.tokens.file()
    }

    /// Returns the current word.
    pub fn word(&self) -> Word<'_> {
        match (self.is_name, self.word.chars().next()) {
            (true, _) => Word::Name(&self.word),
            (false, Some(mark)) => Word::Mark(mark),
            (false, None) => Word::End,
        }
    }

    /// Returns the current word if it is a name.
    pub fn text(&self) -> Option<&str> {
        self.is_name.then_some(&*self.word)
    }

    /// Returns the current word in lower case if it is a name: keywords are case-insensitive.
    pub fn keyword(&self) -> Option<String> {
        self.text().map(str::to_ascii_lowercase)
    }

    /// Returns the position of the current word.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Returns whether there are no more words.
    pub fn at_end(&self) -> bool {
        self.word() == Word::End
    }

    /// Returns whether the current word is this mark.
    pub fn is(&self, mark: char) -> bool {
        self.word() == Word::Mark(mark)
    }

    /// Returns the current word, which must be a name.
    pub fn name(&self, expected: &str) -> Result<&str, Error> {
        self.text().ok_or_else(|| self.error(expected))
    }

    /// Consumes a number that satisfies `fits`.
    pub fn parsed(&mut self, expected: &str, fits: impl Fn(usize) -> bool) -> Result<usize, Error> {
        let number = self.name(expected)?.parse().ok().filter(|&number| fits(number));
        let number = number.ok_or_else(|| self.error(expected))?;
        self.take()?;
        Ok(number)
    }

    /// Consumes a nonnegative number.
    pub fn number(&mut self, expected: &str) -> Result<Stated, Error> {
        let stated = decimal::parse(self.name(expected)?.as_bytes());
        let stated = stated.filter(|stated| match stated {
            Stated::Double(double) => (0.0..f64::INFINITY).contains(double),
            Stated::Decimal(_) => true,
        });
        let stated = stated.ok_or_else(|| self.error(expected))?;
        self.take()?;
        Ok(stated)
    }

    /// Consumes this mark, which must be the current word.
    pub fn expect(&mut self, mark: char) -> Result<(), Error> {
        if self.is(mark) { self.take() } else { Err(self.error(&format!("`{mark}`"))) }
    }

    /// Consumes this mark if it is the current word.
    pub fn skip(&mut self, mark: char) -> Result<(), Error> {
        if self.is(mark) { self.take() } else { Ok(()) }
    }

    /// Consumes all words up to and including a semicolon.
    pub fn skip_statement(&mut self) -> Result<(), Error> {
        while !self.is(';') {
            if self.at_end() {
                return Err(self.error("`;`"));
            }
            self.take()?;
        }
        self.take()
    }

    /// Consumes all words up to and including a closing brace.
    pub fn skip_block(&mut self) -> Result<(), Error> {
        while !self.is('}') {
            if self.at_end() {
                return Err(self.error("`}`"));
            }
            self.take()?;
        }
        self.take()
    }

    /// Advances to the next word.
    pub fn take(&mut self) -> Result<(), Error> {
        self.word.clear();
        self.is_name = false;
        loop {
            if self.taken == self.text.len() && !self.more()? {
                self.place = self.tokens.place();
                return Ok(());
            }
            let rest = &self.text[self.taken..];
            self.place = (self.text_at.0, self.text_at.1 + self.taken as u64);
            if rest.starts_with(b"//") {
                self.taken = self.text.len();
                self.tokens.skip_line()?;
            } else if rest.starts_with(b"/*") {
                self.taken += 2;
                self.until(b"*/", "`*/`, the end of the comment")?;
                self.word.clear();
            } else if rest[0] == b'"' {
                self.taken += 1;
                self.until(b"\"", "a quotation mark, the end of the name")?;
                self.is_name = true;
                return Ok(());
            } else if self.marks.contains(&rest[0]) {
                self.word.push(rest[0].into());
                self.taken += 1;
                return Ok(());
            } else {
                let ends = |at: &usize| {
                    self.marks.contains(&rest[*at])
                        || rest[*at] == b'"'
                        || matches!(&rest[*at..], [b'/', b'/' | b'*', ..])
                };
                let length = (1..rest.len()).find(ends).unwrap_or(rest.len());
                self.word.push_str(&encoding::word(&rest[..length]));
                self.is_name = true;
                self.taken += length;
                return Ok(());
            }
        }
    }

    /// Makes the text up to `end` the current word, with each run of blanks replaced by one blank, and continues after
    /// `end`.
    fn until(&mut self, end: &[u8], expected: &str) -> Result<(), Error> {
        loop {
            let rest = &self.text[self.taken..];
            if let Some(at) = rest.windows(end.len()).position(|window| window == end) {
                self.word.push_str(&encoding::word(&rest[..at]));
                self.taken += at + end.len();
                return Ok(());
            }
            self.word.push_str(&encoding::word(rest));
            self.word.push(' ');
            if !self.more()? {
                self.word.clear();
                self.place = self.tokens.place();
                return Err(self.error(expected));
            }
        }
    }

    /// Reads the next text between blanks. Returns false at the end of the file.
    fn more(&mut self) -> Result<bool, Error> {
        self.taken = 0;
        self.text.clear();
        if self.tokens.at_end()? {
            return Ok(false);
        }
        self.text.extend_from_slice(self.tokens.word("a word")?);
        self.text_at = self.tokens.place();
        Ok(true)
    }

    /// Returns an error about the current word.
    #[cold]
    pub fn error(&self, expected: &str) -> Error {
        let found = match self.word() {
            Word::End => "the end of the file".into(),
            _ => quote(self.word.as_bytes()),
        };
        let ((line, column), file) = (self.place, self.file().into());
        Error::Parse(ParseError { file, line, column, found, expected: expected.into(), hint: None })
    }
}
