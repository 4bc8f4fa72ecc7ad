//! A folder with every better solution of a run, one file each, and a list of them.

use super::file::{AppendedFile, ReplacedFile, insist};
use super::output::{Ending, Output, OutputKind, Recording};
use super::rows::RowWriter;
use super::text::seconds;
use crate::error::Error;
use crate::model::Number;
use crate::search::{Event, EventKind};
use serde::Serialize;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The name of the list in the folder.
pub const LIST: &str = "solutions.csv";

/// A row of the list.
#[derive(Serialize)]
struct Row<'a> {
    number: u64,
    time_s: f64,
    cost: Option<Number>,
    bound: Option<Number>,
    gap: Option<f64>,
    source: &'a str,
    file: &'a str,
}

/// Writes each better solution to a separate file: `000001.sol`, `000002.sol`, … A file is written before its row.
#[derive(Debug)]
pub struct SolutionsFolder {
    folder: PathBuf,
    list: RowWriter,
    written: u64,
    /// Files that could not be written yet, and their content.
    waiting: Vec<(PathBuf, Vec<u8>)>,
}

impl SolutionsFolder {
    /// Creates the folder if there is none. A folder that already has a list belongs to another run, unless that run is
    /// `resumed`: then the numbers continue.
    ///
    /// # Errors
    /// Fails if the folder cannot be created, read or written to, or belongs to another run.
    pub fn new(folder: &Path, resumed: bool) -> Result<Self, Error> {
        let path = folder.join(LIST);
        let cannot = |source| Error::Io { path: path.clone(), action: "cannot write", source };
        std::fs::create_dir_all(folder).map_err(cannot)?;
        let known = match std::fs::read_to_string(&path) {
            Ok(text) if resumed => text.lines().skip(1).filter(|line| !line.is_empty()).count() as u64,
            Ok(_) => {
                return Err(cannot(io::Error::new(ErrorKind::AlreadyExists, "it has the solutions of another run")));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(cannot(error)),
        };
        let file = AppendedFile::resume(&path).map_err(cannot)?;
        let mut list = RowWriter::new(file, false);
        if known == 0 {
            list.push(&["number", "time_s", "cost", "bound", "gap", "source", "file"]).map_err(cannot)?;
            list.begin().map_err(cannot)?;
        }
        Ok(SolutionsFolder { folder: folder.into(), list, written: known, waiting: Vec::new() })
    }

    /// Writes a solution and its row.
    ///
    /// # Errors
    /// Returns the system's error; what could not be written is kept for the next attempt.
    fn add(&mut self, event: &Event, text: &str) -> io::Result<()> {
        self.written += 1;
        let name = format!("{:06}.sol", self.written);
        self.waiting.push((self.folder.join(&name), text.into()));
        self.list.push(&Row {
            number: self.written,
            time_s: seconds(event.time_s),
            cost: event.cost,
            bound: event.bound,
            gap: event.gap,
            source: &event.source,
            file: &name,
        })?;
        self.retry()
    }

    /// Writes the remaining files and rows.
    ///
    /// # Errors
    /// Returns the errors of [`add`](Self::add).
    fn retry(&mut self) -> io::Result<()> {
        while let Some((path, content)) = self.waiting.first() {
            ReplacedFile::new(path).map_err(io::Error::other)?.write(content.clone())?;
            drop(self.waiting.remove(0));
        }
        self.list.flush()
    }
}

/// Every better solution, each in a separate file of a folder.
pub(super) const KIND: OutputKind = OutputKind {
    name: "solutions-dir",
    what: "the folder of solutions",
    open: |folder, context| Ok(SolutionsFolder::new(folder, context.resumed_s.is_some())?.into()),
};

impl Output for SolutionsFolder {
    fn event(&mut self, recording: &Recording<'_>) -> io::Result<()> {
        match recording.solution() {
            Some(text) => self.add(recording.event, text),
            None if recording.event.kind == EventKind::Tick => self.retry(),
            None => Ok(()),
        }
    }

    fn end(&mut self, ending: &Ending<'_>) -> Result<(), Error> {
        let result = insist(ending.stop, || self.retry());
        result.map_err(|source| Error::Io { path: self.folder.clone(), action: "cannot write", source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::Stop;

    fn ending(stop: &Stop) -> Ending<'_> {
        Ending { stop, incomplete: Vec::new(), summary: None }
    }

    fn event(cost: i64) -> Event {
        Event {
            kind: EventKind::Solution,
            time_s: 1.5,
            cost: Some(Number::Integer(cost)),
            bound: None,
            gap: None,
            maximise: Some(false),
            round: 0,
            moves: 0,
            ratings: 0,
            source: "anneal".into(),
            solution: None,
            message: None,
            facts: None,
        }
    }

    #[test]
    fn numbers_go_on_where_a_run_is_resumed() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("new/folder");
        SolutionsFolder::new(&path, false)?.add(&event(9), "0 1\n")?;
        assert!(SolutionsFolder::new(&path, false).is_err_and(|error| error.to_string().contains("another run")));
        let mut resumed = SolutionsFolder::new(&path, true)?;
        resumed.add(&event(8), "1 1\n")?;
        resumed.end(&ending(&Stop::new()))?;
        let rows =
            "number,time_s,cost,bound,gap,source,file\n1,1.5,9,,,anneal,000001.sol\n2,1.5,8,,,anneal,000002.sol\n";
        assert_eq!(std::fs::read_to_string(path.join(LIST))?, rows);
        assert_eq!(std::fs::read_to_string(path.join("000002.sol"))?, "1 1\n");
        assert_eq!(std::fs::read_dir(&path)?.count(), 3);
        Ok(())
    }

    #[test]
    fn a_file_that_cannot_be_written_waits() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let mut solutions = SolutionsFolder::new(folder.path(), false)?;
        // blocks the name of the first file
        std::fs::create_dir(folder.path().join("000001.sol"))?;
        assert!(solutions.add(&event(9), "0 1\n").is_err());
        std::fs::remove_dir(folder.path().join("000001.sol"))?;
        solutions.end(&ending(&Stop::new()))?;
        assert_eq!(std::fs::read_to_string(folder.path().join("000001.sol"))?, "0 1\n");
        assert_eq!(std::fs::read_to_string(folder.path().join(LIST))?.lines().count(), 2);
        Ok(())
    }
}
