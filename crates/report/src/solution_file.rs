//! The best solution of a run in a file that is replaced as a whole.

use super::file::ReplacedFile;
use super::output::{Ending, Output, OutputKind, Recording};
use crate::error::Error;
use crate::search::EventKind;
use std::io;

/// The best solution, rewritten at each improvement.
pub(super) const KIND: OutputKind = OutputKind {
    name: "solution",
    what: "the solution file",
    open: |path, _| Ok(SolutionFile(ReplacedFile::new(path)?).into()),
};

#[derive(Debug)]
struct SolutionFile(ReplacedFile);

impl Output for SolutionFile {
    fn event(&mut self, recording: &Recording<'_>) -> io::Result<()> {
        match recording.solution() {
            Some(text) => self.0.write(text.into()),
            None if recording.event.kind == EventKind::Tick => self.0.retry(),
            None => Ok(()),
        }
    }

    fn end(&mut self, ending: &Ending<'_>) -> Result<(), Error> {
        self.0.finish(ending.stop)
    }
}
