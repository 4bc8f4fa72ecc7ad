//! Limits the length of lines.

use std::io::{self, ErrorKind, Read};

/// A stream that refuses lines of more than `most` bytes, so that a file without line ends is not kept in memory as one
/// line.
pub(super) struct ShortLines<R> {
    stream: R,
    most: usize,
    length: usize,
}

impl<R> ShortLines<R> {
    pub fn new(stream: R, most: usize) -> Self {
        ShortLines { stream, most, length: 0 }
    }
}

impl<R: Read> Read for ShortLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.stream.read(buffer)?;
        for line in buffer[..bytes].split_inclusive(|&byte| byte == b'\n') {
            self.length += line.len();
            if self.length > self.most {
                return Err(io::Error::new(
                    ErrorKind::InvalidData,
                    format!("it has a line of more than {} bytes", self.most),
                ));
            }
            if line.ends_with(b"\n") {
                self.length = 0;
            }
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_lines_are_refused() {
        let all = |text: &str| crate::files::read_all(ShortLines::new(text.as_bytes(), 3), 100);
        assert_eq!(all("ab\nab\n\nabc").expect("short lines"), b"ab\nab\n\nabc");
        assert!(all("ab\nabc\n").is_err_and(|error| error.to_string().contains("more than 3 bytes")));
        assert!(crate::files::read_all(ShortLines::new(io::repeat(0), 1000), 1 << 40).is_err());
    }
}
