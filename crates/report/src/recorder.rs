//! The recorder, which sends the events of a run to its outputs.

use super::console::{Console, end_progress};
use super::output::{Ending, OUTPUTS, Output, OutputContext, OutputKind, Recording, Results};
use super::{solution_file, solutions};
use crate::error::Error;
use crate::search::{Event, EventKind};
use crate::stop::Stop;
use crate::threads;
use std::io;
use std::path::PathBuf;

/// Sends every event of a run to all outputs and to the console.
///
/// An output that fails is reported once; it tries again at each tick and at the end, and the run continues.
#[derive(Debug)]
pub struct Recorder {
    console: Console,
    outputs: Vec<Member>,
}

/// An output of the recorder.
#[derive(Debug)]
struct Member {
    kind: &'static OutputKind,
    /// The output; `None` after an internal error.
    output: Option<Box<dyn Output>>,
    /// Whether a failure has been reported.
    reported: bool,
}

/// The outputs that are incomplete at the end of a run.
#[derive(Debug, Default)]
pub struct Ended {
    incomplete: Vec<&'static str>,
}

impl Ended {
    /// Returns whether all outputs are complete.
    pub fn is_complete(&self) -> bool {
        self.incomplete.is_empty()
    }

    /// Returns whether the outputs that were to have the best solution have it.
    pub fn has_solution(&self) -> bool {
        has_solution(&self.incomplete)
    }
}

/// Returns whether no incomplete output was to have the best solution.
pub fn has_solution(incomplete: &[&'static str]) -> bool {
    !incomplete.iter().any(|name| [solution_file::KIND.name, solutions::KIND.name].contains(name))
}

impl Recorder {
    /// Creates a recorder whose only output is the console.
    pub fn new(console: Console) -> Self {
        Recorder { console, outputs: Vec::new() }
    }

    /// Opens the outputs for which `path` returns a path, given their names.
    ///
    /// # Errors
    /// Fails if an output cannot be opened.
    pub fn open(
        mut self,
        path: impl Fn(&'static str) -> Option<PathBuf>,
        context: &OutputContext,
    ) -> Result<Self, Error> {
        for kind in &OUTPUTS {
            let Some(path) = path(kind.name) else { continue };
            let opened = (kind.open)(&path, context)?;
            opened.warning.iter().for_each(|warning| self.console.warn(warning));
            self.outputs.push(Member { kind, output: Some(opened.output), reported: false });
        }
        Ok(self)
    }

    /// Records an event; `render` returns the text of a solution file.
    pub fn observe(&mut self, event: &Event, render: impl Fn(&[u32]) -> String) {
        let recording = Recording::new(event, &render);
        let Recorder { console, outputs } = self;
        for Member { kind, output, reported } in outputs {
            let Some(open) = output else { continue };
            match threads::caught(|| open.event(&recording)) {
                Ok(Ok(())) => {}
                Ok(Err(error)) if !is_news(event, &error) => {}
                Ok(Err(error)) => {
                    if !std::mem::replace(reported, true) {
                        console.warn(&format!("{} is not up to date: {error}", kind.what));
                    }
                }
                Err(panic) => {
                    *output = None;
                    console.warn(&format!("{} ended by an internal error ({panic})", kind.what));
                }
            }
        }
        console.show(event);
    }

    /// Returns the console.
    pub fn console(&self) -> &Console {
        &self.console
    }

    /// Prints a warning on standard error without disturbing the progress line.
    pub fn warn(&self, message: &str) {
        self.console.warn(message);
    }

    /// Writes the rest and ends the progress line. Waits for the readers of pipes until the stop flag is set; reports
    /// incomplete outputs. `summary` returns the results for outputs that show them, given the names of the outputs
    /// that are incomplete; `None` if the run failed.
    pub fn finish(&mut self, stop: &Stop, summary: Option<&Results<'_>>) -> Ended {
        end_progress();
        let mut ending = Ending { stop, incomplete: Vec::new(), summary };
        for Member { kind, output, .. } in self.outputs.drain(..) {
            let ended = output.map(|mut output| threads::caught(|| output.end(&ending)));
            let cause = match ended {
                Some(Ok(Ok(()))) => continue,
                Some(Ok(Err(error))) => Some(error.to_string()),
                Some(Err(panic)) => Some(format!("{} ended by an internal error ({panic})", kind.what)),
                None => None,
            };
            cause.iter().for_each(|cause| self.console.warn(cause));
            ending.incomplete.push(kind.name);
        }
        Ended { incomplete: ending.incomplete }
    }
}

/// Returns whether to report a failure. A pipe's reader may come until the next tick.
fn is_news(event: &Event, error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::WouldBlock || event.kind == EventKind::Tick
}

#[cfg(test)]
mod tests;
