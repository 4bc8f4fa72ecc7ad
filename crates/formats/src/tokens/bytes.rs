//! Reading of raw bytes.

use super::Tokens;
use crate::error::Error;
use crate::files::cannot_read;
use crate::memory;
use std::io::Read;

/// The number of bytes that are read at a time, so that a mere claim of a file takes no memory.
const BYTES: u64 = 1 << 20;

impl Tokens<'_> {
    /// Appends the next `count` bytes to `taken`; fewer at the end of the file.
    pub(crate) fn bytes(&mut self, count: u64, taken: &mut Vec<u8>) -> Result<(), Error> {
        let held = &self.buffer[self.next..self.end];
        let held = &held[..usize::try_from(count).map_or(held.len(), |count| count.min(held.len()))];
        taken.extend_from_slice(held);
        let mut left = count - held.len() as u64;
        self.next += held.len();
        self.current = self.next;
        while left > 0 {
            self.stop.check()?;
            let some = left.min(BYTES);
            memory::reserve(taken, some as usize)?;
            match self.source.by_ref().take(some).read_to_end(taken) {
                Ok(0) => break,
                Ok(bytes) => left -= bytes as u64,
                Err(error) => return Err(cannot_read(&self.file, error, self.stop)),
            }
        }
        Ok(())
    }
}
