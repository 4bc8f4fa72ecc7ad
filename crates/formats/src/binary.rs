//! The `.fangs` format: networks in a compact binary form that keeps everything in a network, including names, shared
//! tables, global functions, agents and the file's own numbers. `docs/formats.md` describes it.

mod blocks;
mod read;
mod records;
mod share;
#[cfg(test)]
mod tests;
mod write;

pub(super) use read::read;
pub(super) use share::{originals, read_share};
pub(super) use write::write;

/// The first bytes of a file; their end reveals files that were converted as text.
const MAGIC: [u8; 8] = *b"fangs\r\n\x1a";

/// The version of the format.
const VERSION: u32 = 1;
