//! The words of a `.bif` or `.net` file: names, numbers and marks, without comments.

use crate::error::{Error, ParseError};
use crate::model::Stated;
use crate::tokens::{Place, Tokens, quote};
use crate::{decimal, encoding};

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word<'w> {
    /// A name or number, without the quotation marks that it may stand in.
    Name(&'w str),
    /// What is a word of its own.
    Mark(char),
    /// No word is left.
    End,
}

/// Walks through the words of a file; errors are about the current one.
pub(crate) struct Words<'w, 'a> {
    tokens: &'w mut Tokens<'a>,
    marks: &'static [u8],
    /// Text between blanks, the place of its first byte, and how much of it was taken.
    text: Vec<u8>,
    text_at: Place,
    taken: usize,
    /// The current word, whether it is a name, and its place.
    word: String,
    is_name: bool,
    place: Place,
}

impl<'w, 'a> Words<'w, 'a> {
    /// The first word is the current one. Each of `marks` is a word of its own.
    pub fn new(tokens: &'w mut Tokens<'a>, marks: &'static [u8]) -> Result<Self, Error> {
        let (text, word) = (Vec::new(), String::new());
        let mut words = Words { tokens, marks, text, text_at: (1, 1), taken: 0, word, is_name: false, place: (1, 1) };
        words.take()?;
        Ok(words)
    }

    /// The file's name in messages.
    pub fn file(&self) -> &str {
        self.tokens.file()
    }

    /// The current word.
    pub fn word(&self) -> Word<'_> {
        match (self.is_name, self.word.chars().next()) {
            (true, _) => Word::Name(&self.word),
            (false, Some(mark)) => Word::Mark(mark),
            (false, None) => Word::End,
        }
    }

    /// The current word, if it is a name.
    pub fn text(&self) -> Option<&str> {
        self.is_name.then_some(&*self.word)
    }

    /// The current word in lower case, if it is a name: keywords may have either case.
    pub fn keyword(&self) -> Option<String> {
        self.text().map(str::to_ascii_lowercase)
    }

    /// The place of the current word.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Whether no word is left.
    pub fn at_end(&self) -> bool {
        self.word() == Word::End
    }

    /// Whether the current word is this mark.
    pub fn is(&self, mark: char) -> bool {
        self.word() == Word::Mark(mark)
    }

    /// The current word, which must be a name.
    pub fn name(&self, expected: &str) -> Result<&str, Error> {
        self.text().ok_or_else(|| self.error(expected))
    }

    /// Takes a number that fits.
    pub fn parsed(&mut self, expected: &str, fits: impl Fn(usize) -> bool) -> Result<usize, Error> {
        let number = self.name(expected)?.parse().ok().filter(|&number| fits(number));
        let number = number.ok_or_else(|| self.error(expected))?;
        self.take()?;
        Ok(number)
    }

    /// Takes a probability.
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

    /// Takes a mark.
    pub fn expect(&mut self, mark: char) -> Result<(), Error> {
        if self.is(mark) { self.take() } else { Err(self.error(&format!("`{mark}`"))) }
    }

    /// Takes a mark if it is there.
    pub fn skip(&mut self, mark: char) -> Result<(), Error> {
        if self.is(mark) { self.take() } else { Ok(()) }
    }

    /// Takes all words up to a semicolon.
    pub fn skip_statement(&mut self) -> Result<(), Error> {
        while !self.is(';') {
            if self.at_end() {
                return Err(self.error("`;`"));
            }
            self.take()?;
        }
        self.take()
    }

    /// Takes all words up to a closing brace.
    pub fn skip_block(&mut self) -> Result<(), Error> {
        while !self.is('}') {
            if self.at_end() {
                return Err(self.error("`}`"));
            }
            self.take()?;
        }
        self.take()
    }

    /// Takes the current word: the next one is current.
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

    /// Makes the text up to `end` the current word, with one blank for several, and goes on behind it.
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

    /// The next text between blanks.
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

    /// An error about the current word.
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
