//! Outputs of a run. Each of them receives every event; the failure of one is reported once and touches no other.
//!
//! To add an output:
//!
//! 1. Write a file with a type that implements [`Output`]: two methods, `event` and `end`.
//! 2. Give it a `KIND: OutputKind`, whose `open` creates it from the path that the user names.
//! 3. Add the `mod` line, and the kind to [`OUTPUTS`].

use super::page::{self, Settings};
use super::{csv, plot, solution_file, solutions};
use crate::error::Error;
use crate::search::{Event, EventKind};
use crate::stop::Stop;
use std::cell::OnceCell;
use std::fmt::Debug;
use std::io;
use std::path::Path;

/// All outputs that are files. They end in this order; the page is last, because it names the files that are complete.
pub static OUTPUTS: [OutputKind; 5] = [csv::KIND, solutions::KIND, solution_file::KIND, plot::KIND, page::KIND];

/// An output of a run.
pub trait Output: Debug + Send {
    /// Takes an event. Content that cannot be written is kept and tried again at each tick.
    ///
    /// # Errors
    /// Returns the system's error. The first one is reported; a pipe's reader that has not come yet
    /// ([`io::ErrorKind::WouldBlock`]) only from the next tick on.
    fn event(&mut self, event: &Recording<'_>) -> io::Result<()>;

    /// Writes the rest at the end of the run. Waits for the readers of pipes until the stop flag is set.
    ///
    /// # Errors
    /// Fails if the output is incomplete, and states why.
    fn end(&mut self, ending: &Ending<'_>) -> Result<(), Error>;
}

/// A kind of output.
#[derive(Clone, Copy, Debug)]
pub struct OutputKind {
    /// The name of the command's option, without dashes.
    pub name: &'static str,
    /// The subject of the warning that the output is not up to date.
    pub what: &'static str,
    /// Opens the output at a path, so that an unusable path is reported before any work is done.
    pub open: fn(&Path, &OutputContext) -> Result<OpenedOutput, Error>,
}

impl OutputKind {
    /// Returns the kind with a name.
    pub fn named(name: &str) -> Option<&'static OutputKind> {
        OUTPUTS.iter().find(|kind| kind.name == name)
    }
}

/// An output that was opened.
#[derive(Debug)]
pub struct OpenedOutput {
    /// The output.
    pub output: Box<dyn Output>,
    /// A warning about its previous content.
    pub warning: Option<String>,
}

impl<T: Output + 'static> From<T> for OpenedOutput {
    fn from(output: T) -> Self {
        OpenedOutput { output: Box::new(output), warning: None }
    }
}

/// Properties of a run that outputs need when they open.
#[derive(Clone, Debug, Default)]
pub struct OutputContext {
    /// The name of the network in rows.
    pub instance: String,
    /// The seed; `None` for runs without one.
    pub seed: Option<u64>,
    /// The time in seconds of the checkpoint from which the run resumes; `None` if it starts anew.
    pub resumed_s: Option<f64>,
    /// The settings that pages and charts show.
    pub settings: Settings,
}

/// An event, and the text of its solution.
pub struct Recording<'a> {
    /// The event.
    pub event: &'a Event,
    text: OnceCell<Option<String>>,
    render: &'a dyn Fn(&[u32]) -> String,
}

impl<'a> Recording<'a> {
    /// Creates a recording; `render` returns the text of a solution file.
    pub fn new(event: &'a Event, render: &'a dyn Fn(&[u32]) -> String) -> Self {
        Recording { event, text: OnceCell::new(), render }
    }

    /// Returns the text of the solution file, if the event is a new solution. It is rendered once for all outputs.
    pub fn solution(&self) -> Option<&str> {
        let is_new = self.event.kind == EventKind::Solution && self.event.message.is_none();
        let solution = self.event.solution.as_deref().filter(|_| is_new);
        self.text.get_or_init(|| solution.map(self.render)).as_deref()
    }
}

/// The results of a run, for outputs that show them at the end.
#[derive(Clone, Debug, Default)]
pub struct RunSummary {
    /// Whether the last solution is optimal.
    pub optimal: bool,
    /// The result in a sentence.
    pub verdict: String,
    /// Names and values of the results.
    pub rows: Vec<(String, String)>,
}

/// A function that returns the results of a run, given the names of incomplete outputs.
pub type Results<'a> = dyn Fn(&[&'static str]) -> RunSummary + 'a;

/// The end of a run.
pub struct Ending<'a> {
    /// The stop flag.
    pub stop: &'a Stop,
    /// The names of outputs that ended before this one and are incomplete.
    pub incomplete: Vec<&'static str>,
    /// The results; `None` if the run failed or nothing shows them.
    pub summary: Option<&'a Results<'a>>,
}

impl Ending<'_> {
    /// Returns the results of the run; `None` if the run failed.
    pub fn results(&self) -> Option<RunSummary> {
        self.summary.map(|summary| summary(&self.incomplete))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (index, kind) in OUTPUTS.iter().enumerate() {
            assert!(OUTPUTS[..index].iter().all(|other| other.name != kind.name), "{}", kind.name);
            assert!(OutputKind::named(kind.name).is_some_and(|named| named.what == kind.what));
        }
    }
}
