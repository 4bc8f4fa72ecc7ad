//! Plans whose messages the memory does not hold: the largest lie in files, and steps that read or make those go in slices.
//!
//! What goes where is decided beforehand ([`share()`]): as few messages as possible, the largest first, so that those that stay
//! take half of the memory and slices the rest. While a slice is computed the one before is written and the next is read. The
//! messages are those of other runs to the last bit. The files have no names ([`tempfile::tempfile_in`]): however the process
//! ends, nothing is left of them. They are read and written rather than mapped, so that a disk that fails is an error and not a
//! signal, and so that the memory is what it was said to be.

mod disk;
mod share;
mod spilling;
#[cfg(test)]
mod tests;

use super::plan::{Plan, Source, Width};
use super::run::Progress;
#[cfg(test)]
use super::run::Tables;
use super::slices::Cut;
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
pub(crate) use share::share;
use spilling::Spilling;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Combinations that could be looked at while a byte is written and read back: two cores at 10^9 a second, a disk at 1 GB/s.
const DISK_WORK: u64 = 4;

/// What of a plan lies in files.
#[derive(Debug)]
pub(crate) struct Spill {
    /// By step: whether its message does.
    pub files: Vec<bool>,
    /// By step: how it is cut, where it reads or makes such a message and does not fit as a whole.
    cuts: Vec<Option<Cut>>,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl Spill {
    /// The work of writing and reading it, in combinations.
    pub fn work(&self) -> u64 {
        self.bytes.saturating_mul(DISK_WORK)
    }

    /// Whether a step reads or makes a message that lies in a file.
    fn concerns(&self, plan: &Plan, index: usize) -> bool {
        self.files[index] || plan.steps[index].inputs.iter().any(|input| self.reads(input.source))
    }

    fn reads(&self, source: Source) -> bool {
        matches!(source, Source::Message(from) if self.files[from as usize])
    }
}

/// Bytes that tables may take in files: no more than `limit`, or half of what is free where there is none, and than is free in
/// the folder for temporary files. None where that folder cannot be used or lies in memory itself.
pub fn room(limit: Option<u64>) -> u64 {
    let free = disk::free(&folder()).unwrap_or(0);
    limit.map_or(free / 2, |limit| limit.min(free))
}

/// Where files for tables are made: what `TMPDIR` says.
pub fn folder() -> PathBuf {
    std::env::temp_dir()
}

/// A run with tables in files, of either entry type.
#[derive(Debug)]
pub(crate) enum Spilled {
    I32(Box<Spilling<i32>>),
    I64(Box<Spilling<i64>>),
}

impl Spilled {
    /// Prepares a run with files in a folder.
    ///
    /// # Errors
    /// A folder that has too little room by now.
    pub fn new(plan: &Plan, spill: &Arc<Spill>, folder: PathBuf) -> Result<Self, Error> {
        let free = disk::free(&folder).map_err(|source| failed(&folder, "cannot write", source))?;
        if free < spill.bytes {
            let source = io::Error::other(format!("{} bytes of tables, {free} are free", spill.bytes));
            return Err(failed(&folder, "cannot write", source));
        }
        Ok(match plan.width {
            Width::I32 => Spilled::I32(Box::new(Spilling::new(plan, spill.clone(), folder))),
            Width::I64 => Spilled::I64(Box::new(Spilling::new(plan, spill.clone(), folder))),
        })
    }

    /// Does about `work`, at least one slice.
    ///
    /// # Errors
    /// A file that cannot be made, written or read; the run is then over.
    pub fn advance(&mut self, problem: &Problem, plan: &Plan, work: u64, stop: &Stop) -> Result<Progress, Error> {
        match self {
            Spilled::I32(run) => run.advance(problem, plan, work, stop),
            Spilled::I64(run) => run.advance(problem, plan, work, stop),
        }
    }

    /// Work done, of [`Plan::work`].
    pub fn work_done(&self) -> u64 {
        match self {
            Spilled::I32(run) => run.work_done,
            Spilled::I64(run) => run.work_done,
        }
    }

    /// Steps that are finished.
    pub fn step(&self) -> usize {
        match self {
            Spilled::I32(run) => run.step,
            Spilled::I64(run) => run.step,
        }
    }

    /// The sum of the messages without variables.
    pub fn total(&self) -> Cost {
        match self {
            Spilled::I32(run) => run.store.total,
            Spilled::I64(run) => run.store.total,
        }
    }

    /// Single entries of messages, given as steps of the plan and indices.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn entries(&self, wanted: &[(u32, u64)]) -> Result<Vec<Cost>, Error> {
        match self {
            Spilled::I32(run) => run.entries(wanted),
            Spilled::I64(run) => run.entries(wanted),
        }
    }

    /// All messages, copied to memory.
    ///
    /// # Errors
    /// A file that cannot be read.
    #[cfg(test)]
    pub fn tables(self, plan: &Plan) -> Result<Tables, Error> {
        Ok(match self {
            Spilled::I32(run) => Tables::I32(run.read_all(plan)?),
            Spilled::I64(run) => Tables::I64(run.read_all(plan)?),
        })
    }
}

/// Nobody could see the files: what is named is their folder.
fn failed(folder: &Path, action: &'static str, source: io::Error) -> Error {
    Error::Io { path: folder.into(), action, source }
}
