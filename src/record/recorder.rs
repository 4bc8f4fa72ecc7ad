//! Sends the events of a run to where the user wants them.

use super::plot::{Curve, Point};
use super::{Console, CsvFile, ReplacedFile};
use crate::search::{Event, EventKind};
use std::path::Path;

/// Takes every event of a run: CSV row, curve for the picture, console.
///
/// A file that fails is reported once and given up; the run goes on.
#[derive(Debug)]
pub struct Recorder {
    console: Console,
    csv: Option<CsvFile>,
    solution: Option<ReplacedFile>,
    /// Kept where a picture is wanted.
    curve: Option<Curve>,
    solution_failed: bool,
}

impl Recorder {
    /// A recorder for these outputs; `curve` is its label where a curve is wanted from [`Recorder::finish`].
    pub fn new(console: Console, csv: Option<CsvFile>, solution: Option<ReplacedFile>, curve: Option<String>) -> Self {
        let curve = curve.map(|label| Curve { label, ..Curve::default() });
        Recorder { console, csv, solution, curve, solution_failed: false }
    }

    /// Records an event; `render` makes the text of a solution file.
    pub fn observe(&mut self, event: &Event, render: impl FnOnce(&[u32]) -> String) {
        if let Some(message) = &event.message {
            match event.kind {
                EventKind::Warning => self.console.warn(message),
                _ => self.console.note(message),
            }
            return;
        }
        if let Some(Err(error)) = self.csv.as_mut().map(|csv| csv.write(event)) {
            self.csv = None;
            self.console.warn(&format!("the CSV ends here: {error}"));
        }
        if let (Some(file), Some(solution), EventKind::Solution) = (&self.solution, &event.solution, event.kind)
            && let Err(error) = file.write(render(solution).as_bytes())
            && !self.solution_failed
        {
            // the next improvement tries again: space may be there by then
            self.solution_failed = true;
            self.console.warn(&format!("the solution file is not up to date: {error}"));
        }
        if let Some(curve) = &mut self.curve {
            let side = |number: Option<crate::model::Number>| number.map(|number| number.as_f64());
            curve.points.push(Point { time: event.time_s, found: side(event.cost), bound: side(event.bound) });
            curve.maximise = event.maximise;
        }
        self.console.show(event);
    }

    /// Standard error.
    pub fn console(&self) -> &Console {
        &self.console
    }

    /// The solution file, if it has the best solution for sure.
    pub fn solution_file(&self) -> Option<&Path> {
        self.solution.as_ref().filter(|_| !self.solution_failed).map(ReplacedFile::path)
    }

    /// Says something on standard error without disturbing the progress line.
    pub fn warn(&self, message: &str) {
        self.console.warn(message);
    }

    /// Ends the progress line and returns the curve.
    pub fn finish(mut self) -> Option<Curve> {
        self.console.finish();
        self.curve
    }
}
