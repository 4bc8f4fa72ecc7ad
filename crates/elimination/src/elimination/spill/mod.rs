//! Plans whose messages exceed the memory: the largest messages are stored in files, and steps that read or make those
//! run in slices.
//!
//! The placement is decided beforehand ([`share()`]): as few messages as possible go to files, the largest first, so
//! that the others take half of the memory and slices the rest. While a slice is computed, the one before is written
//! and the next is read. The messages equal those of other runs to the last bit. The files have no names
//! ([`tempfile::tempfile_in`]), so that none is left however the process ends. They are read and written rather than
//! mapped, so that a failing disk is an error and not a signal, and so that the memory stays within its limit.

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

/// Returns the bytes that tables may take in files: at most `limit`, or half of the free space if there is no limit,
/// and at most the free space of the folder for temporary files. Returns 0 if that folder cannot be used or is in
/// memory.
pub fn room(limit: Option<u64>) -> u64 {
    let free = disk::free(&folder()).unwrap_or(0);
    limit.map_or(free / 2, |limit| limit.min(free))
}

/// Returns the folder for files of tables, which `TMPDIR` sets.
pub fn folder() -> PathBuf {
    std::env::temp_dir()
}

/// Checks that the folder still has room for the files.
///
/// # Errors
/// Returns an error if the room is too small or the folder cannot be used.
pub(crate) fn has_room(spill: &Spill, folder: &Path) -> Result<(), Error> {
    let free = disk::free(folder).map_err(|source| failed(folder, "cannot write", source))?;
    if free < spill.bytes {
        let source = io::Error::other(format!("{} bytes of tables, {free} are free", spill.bytes));
        return Err(failed(folder, "cannot write", source));
    }
    Ok(())
}

/// Returns an error that names the folder, because the files have no names.
fn failed(folder: &Path, action: &'static str, source: io::Error) -> Error {
    Error::Io { path: folder.into(), action, source }
}
