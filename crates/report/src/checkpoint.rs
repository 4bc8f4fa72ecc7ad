//! Checkpoints in a file that is replaced as a whole.

use super::file::ReplacedFile;
use crate::error::Error;
use crate::search::{Checkpoint, Extent, Keeper};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Divisor of the time between two checkpoints: creating one may take 1/200 of it; with writing it, under a hundredth.
const SHARE: u32 = 200;

/// Writes a checkpoint at regular intervals, and one at the end.
#[derive(Debug)]
pub struct CheckpointFile {
    every: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: ReplacedFile,
    last: Instant,
    /// Whether the newest checkpoint could not be written.
    behind: bool,
}

impl CheckpointFile {
    /// Prepares to write `path`; the file is unchanged until the first checkpoint.
    ///
    /// # Errors
    /// Fails if the path cannot be written.
    pub fn new(path: &Path, every: Duration) -> Result<Self, Error> {
        let state = State { file: ReplacedFile::new(path)?.synced(), last: Instant::now(), behind: false };
        Ok(CheckpointFile { every, state: Mutex::new(state) })
    }

    /// Returns whether the file has the newest checkpoint, or there was none.
    pub fn is_written(&self) -> bool {
        !self.state().behind
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeper for CheckpointFile {
    fn extent(&self) -> Extent {
        Extent { elites: usize::MAX, drivers: true, time: self.every / SHARE }
    }

    fn is_due(&self) -> bool {
        self.state().last.elapsed() >= self.every
    }

    fn keep(&self, checkpoint: Checkpoint, _: bool) -> Result<(), String> {
        let mut state = self.state();
        state.last = Instant::now();
        let text = checkpoint.to_text().map_err(|error| error.to_string())?;
        let path = crate::terminal::path(state.file.path());
        let written = state.file.write(text.into_bytes());
        state.behind = written.is_err();
        written.map_err(|error| format!("the checkpoint {path} cannot be written: {error}"))
    }
}
