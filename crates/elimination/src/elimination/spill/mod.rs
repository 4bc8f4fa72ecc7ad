//! Plans whose messages the memory does not hold: the largest lie in files, and steps that read or make those go in
//! slices.
//!
//! What goes where is decided beforehand ([`share()`]): as few messages as possible, the largest first, so that those
//! that stay take half of the memory and slices the rest. While a slice is computed the one before is written and the
//! next is read. The messages are those of other runs to the last bit. The files have no names
//! ([`tempfile::tempfile_in`]): however the process ends, nothing is left of them. They are read and written rather
//! than mapped, so that a disk that fails is an error and not a signal, and so that the memory is what it was said to
//! be.

mod disk;
mod share;
mod spilling;
#[cfg(test)]
mod tests;

use super::plan::Spill;
use crate::error::Error;
pub(crate) use share::share;
pub(crate) use spilling::Spilled;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes that tables may take in files: no more than `limit`, or half of what is free where there is none, and than
/// is free in the folder for temporary files. None where that folder cannot be used or lies in memory itself.
pub fn room(limit: Option<u64>) -> u64 {
    let free = disk::free(&folder()).unwrap_or(0);
    limit.map_or(free / 2, |limit| limit.min(free))
}

/// Where files for tables are made: what `TMPDIR` says.
pub fn folder() -> PathBuf {
    std::env::temp_dir()
}

/// Whether the folder has room for the files by now.
///
/// # Errors
/// That it has not, or cannot be used.
pub(crate) fn has_room(spill: &Spill, folder: &Path) -> Result<(), Error> {
    let free = disk::free(folder).map_err(|source| failed(folder, "cannot write", source))?;
    if free < spill.bytes {
        let source = io::Error::other(format!("{} bytes of tables, {free} are free", spill.bytes));
        return Err(failed(folder, "cannot write", source));
    }
    Ok(())
}

/// The files have no names: what is told is their folder.
fn failed(folder: &Path, action: &'static str, source: io::Error) -> Error {
    Error::Io { path: folder.into(), action, source }
}
