//! `.fangs`: networks in a compact binary form, with all that a network has: names, shared tables, global functions,
//! agents and the file's own numbers. `docs/formats.md` describes it.

mod blocks;
mod read;
mod records;
#[cfg(test)]
mod tests;
mod write;

pub(super) use read::read;
pub(super) use write::write;

/// What a file begins with; the last bytes show a file that was changed as if it were text.
const MAGIC: [u8; 8] = *b"fangs\r\n\x1a";

/// The version of what follows.
const VERSION: u32 = 1;
