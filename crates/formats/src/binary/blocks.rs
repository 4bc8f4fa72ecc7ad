//! Blocks of bytes: the length in 8 bytes and a CRC-32 in 4, both little-endian, then the contents.

use super::super::tokens::Tokens;
use crate::error::Error;
use std::io::{self, Write};

/// The number of bytes of a length and a checksum.
const FRAME: usize = 12;

/// The approximate number of bytes of the blocks that are in memory at a time.
const AHEAD: usize = 1 << 25;

/// Writes a block.
pub(super) fn write(contents: &[u8], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&(contents.len() as u64).to_le_bytes())?;
    out.write_all(&crc32fast::hash(contents).to_le_bytes())?;
    out.write_all(contents)
}

/// A block as stored in a file; its checksum is not yet verified.
pub(super) struct Framed {
    contents: Vec<u8>,
    checksum: u32,
    /// The index of the block in the file.
    number: u64,
}

impl Framed {
    /// Returns the contents of the block.
    ///
    /// # Errors
    /// Returns a message if the checksum does not match.
    pub fn contents(&self) -> Result<&[u8], String> {
        match crc32fast::hash(&self.contents) == self.checksum {
            true => Ok(&self.contents),
            false => Err(self.says("it has another checksum than when it was written")),
        }
    }

    /// Returns a message about the block.
    pub fn says(&self, what: &str) -> String {
        format!("block {}: {what}", self.number)
    }
}

/// Reads the blocks of a file.
pub(super) struct Blocks<'t, 'a> {
    pub tokens: &'t mut Tokens<'a>,
    number: u64,
}

impl<'t, 'a> Blocks<'t, 'a> {
    pub fn new(tokens: &'t mut Tokens<'a>) -> Self {
        Blocks { tokens, number: 0 }
    }

    /// Reads the next blocks; an empty list means the end of the file.
    pub fn next(&mut self) -> Result<Vec<Framed>, Error> {
        let (mut blocks, mut bytes) = (Vec::new(), 0);
        while bytes < AHEAD {
            let mut frame = Vec::new();
            self.tokens.bytes(FRAME as u64, &mut frame)?;
            if frame.is_empty() {
                break;
            }
            let (length, checksum) = frame.split_at(frame.len().min(8));
            let (Ok(length), Ok(checksum)) = (length.try_into(), checksum.try_into()) else {
                return Err(self.ends_early());
            };
            let (length, mut contents) = (u64::from_le_bytes(length), Vec::new());
            self.tokens.bytes(length, &mut contents)?;
            if (contents.len() as u64) < length {
                return Err(self.ends_early());
            }
            bytes += contents.len();
            blocks.push(Framed { contents, checksum: u32::from_le_bytes(checksum), number: self.number });
            self.number += 1;
        }
        Ok(blocks)
    }

    fn ends_early(&self) -> Error {
        damaged(self.tokens, &format!("it ends within block {}", self.number))
    }
}

/// Returns an error about a damaged file.
pub(super) fn damaged(tokens: &Tokens<'_>, what: &str) -> Error {
    let file = tokens.file();
    Error::Usage(format!("{file}: {what}; the file is damaged: write it again with `fangs convert NETWORK {file}`"))
}
