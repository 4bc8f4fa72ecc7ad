//! Heuristics in files, in the form that drivers use.

use super::language::{Heuristic, Scratch, Table};
use super::{Inputs, Needs, ValueHeuristic};
use crate::device::Source;
use crate::error::Error;
use crate::model::Network;
use crate::stop::Stop;
use crate::texts::HEURISTICS;
use std::cell::RefCell;
use std::path::Path;
use std::sync::OnceLock;

/// A heuristic that a user wrote in a file ([`language`](super::language)).
#[derive(Debug)]
pub struct FromFile {
    heuristic: Heuristic,
    /// A message about the first weight that was not a number.
    nonsense: OnceLock<String>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl FromFile {
    /// Reads a file for a network, whose variables and values its tables and groups name.
    ///
    /// # Errors
    /// Returns the error in the file or in one of its tables, with line and column and the names that exist;
    /// [`Error::Waiting`] if `stop` is set before a pipe is at its end.
    pub fn read(path: &Path, network: &Network, stop: &Stop) -> Result<FromFile, Error> {
        Ok(FromFile { heuristic: Heuristic::read(path, network.variables(), stop)?, nonsense: OnceLock::new() })
    }

    /// Parses a text that messages call `file`; tables are searched in the working directory.
    ///
    /// # Errors
    /// Returns the error in the text or in one of its tables, with line and column and the names that exist.
    pub fn parse(file: &str, text: &str, network: &Network) -> Result<FromFile, Error> {
        Ok(FromFile { heuristic: Heuristic::parse(file, text, network.variables())?, nonsense: OnceLock::new() })
    }
}

impl ValueHeuristic for FromFile {
    fn name(&self) -> &str {
        self.heuristic.file()
    }

    fn about(&self) -> &str {
        self.heuristic.about()
    }

    fn needs(&self) -> Needs {
        self.heuristic.needs()
    }

    fn active(&self, inputs: &Inputs<'_>) -> bool {
        let variable = inputs.view.origin(inputs.variable);
        SCRATCH.with_borrow_mut(|scratch| self.heuristic.active(variable, inputs, scratch))
    }

    fn condition(&self) -> (&str, Needs) {
        self.heuristic.condition()
    }

    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]) {
        let variable = inputs.view.origin(inputs.variable);
        let weighed = SCRATCH.with_borrow_mut(|scratch| self.heuristic.weigh(variable, inputs, scratch, weights));
        if let Some(value) = weighed.nonsense {
            let _ = self.nonsense.get_or_init(|| self.heuristic.explain(variable, inputs, value));
        }
    }

    fn cuda(&self) -> Option<Source> {
        Some(HEURISTICS.own(self.heuristic.file(), self.heuristic.cuda("Heuristic")))
    }

    fn tables(&self) -> Vec<&Table> {
        self.heuristic.tables().map(|(_, table)| table).collect()
    }

    fn nonsense(&self) -> Option<&str> {
        self.nonsense.get().map(String::as_str)
    }
}
