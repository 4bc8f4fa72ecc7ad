//! Replaces the characters of `.cfn` that have no meaning by blanks, so that all words keep their positions.

use std::io::{BufRead, BufReader, Read, Result};

/// A text without its comments, quotes, colons and commas.
pub(super) struct LaxJson<R> {
    source: BufReader<R>,
    /// Whether the next byte is the first of its line.
    first: bool,
    in_comment: bool,
    /// Whether the last byte was a slash, which may begin a comment.
    slash: bool,
}

impl<R: Read> LaxJson<R> {
    pub fn new(source: R) -> Self {
        LaxJson { source: BufReader::new(source), first: true, in_comment: false, slash: false }
    }

    /// Returns what replaces a byte outside of comments.
    fn shown(byte: u8) -> u8 {
        if matches!(byte, b'"' | b':' | b',') { b' ' } else { byte }
    }
}

impl<R: Read> Read for LaxJson<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let (mut written, mut ended) = (0, buffer.is_empty());
        while written == 0 && !ended {
            let bytes = self.source.fill_buf()?;
            ended = bytes.is_empty();
            if ended && self.slash {
                (buffer[0], written, self.slash) = (b'/', 1, false);
            }
            let mut used = 0;
            while used < bytes.len() && written < buffer.len() {
                let byte = bytes[used];
                let shown = if std::mem::take(&mut self.slash) {
                    // the byte after the slash is processed again, inside or outside of a comment
                    self.in_comment = byte == b'/';
                    if self.in_comment { b' ' } else { b'/' }
                } else {
                    used += 1;
                    if byte == b'\n' {
                        (self.first, self.in_comment) = (true, false);
                        b'\n'
                    } else {
                        self.in_comment |= byte == b'#' && self.first;
                        self.first = false;
                        if byte == b'/' && !self.in_comment {
                            self.slash = true;
                            continue;
                        }
                        if self.in_comment { b' ' } else { Self::shown(byte) }
                    }
                };
                buffer[written] = shown;
                written += 1;
            }
            self.source.consume(used);
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::tests::Drip;

    #[test]
    fn places_stay() {
        let text = b"# a // b\n{\"x\": [1, 2,], // {\"\n #y a/b /\n//\n/";
        let expected = b"        \n{ x   [1  2 ]       \n #y a/b /\n  \n/";
        let mut whole = Vec::new();
        let _ = LaxJson::new(&text[..]).read_to_end(&mut whole).expect("memory");
        assert_eq!(String::from_utf8_lossy(&whole), String::from_utf8_lossy(expected));
        let mut dripped = Vec::new();
        let _ = LaxJson::new(Drip(text)).read_to_end(&mut dripped).expect("memory");
        assert_eq!(dripped, expected);
    }
}
