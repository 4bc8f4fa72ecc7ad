//! The recorder, which sends the events of a run to its outputs.

use super::console::{Console, end_progress};
use super::csv::CsvFile;
use super::file::ReplacedFile;
use super::page::RunPage;
use super::plot::Curve;
use super::solutions::SolutionsFolder;
use crate::error::Error;
use crate::search::{Event, EventKind};
use crate::stop::Stop;
use std::io;

/// Sends every event of a run to the CSV, the curve of the picture, the page and the console.
///
/// A file that fails is reported once and tried again at each tick and at the end; the run continues.
#[derive(Debug)]
pub struct Recorder {
    console: Console,
    csv: Option<CsvFile>,
    solution: Option<ReplacedFile>,
    solutions: Option<SolutionsFolder>,
    page: Option<RunPage>,
    /// The curve; `None` if no picture is wanted.
    curve: Option<Curve>,
    /// Whether the failure of each file has been reported.
    csv_behind: bool,
    solution_behind: bool,
    solutions_behind: bool,
    page_behind: bool,
}

/// The state of the outputs at the end.
#[derive(Debug, Default)]
pub struct Ended {
    /// The curve, if one was wanted.
    pub curve: Option<Curve>,
    /// The page, if one was wanted; its last version is still to be written.
    pub page: Option<RunPage>,
    /// Whether the CSV, if one was wanted, has all rows.
    pub has_rows: bool,
    /// Whether the solution file, if one was wanted, has the best solution.
    pub has_solution: bool,
}

impl Recorder {
    /// Creates a recorder for these outputs; `curve` is the label of the curve that [`Recorder::finish`] returns, if
    /// one is wanted.
    pub fn new(console: Console, csv: Option<CsvFile>, solution: Option<ReplacedFile>, curve: Option<String>) -> Self {
        let curve = curve.map(|label| Curve { label, ..Curve::default() });
        Recorder {
            console,
            csv,
            solution,
            solutions: None,
            page: None,
            curve,
            csv_behind: false,
            solution_behind: false,
            solutions_behind: false,
            page_behind: false,
        }
    }

    /// Adds a page.
    pub fn page(mut self, page: Option<RunPage>) -> Self {
        self.page = page;
        self
    }

    /// Adds a folder for every better solution.
    pub fn solutions(mut self, folder: Option<SolutionsFolder>) -> Self {
        self.solutions = folder;
        self
    }

    /// Records an event; `render` returns the text of a solution file.
    pub fn observe(&mut self, event: &Event, render: impl FnOnce(&[u32]) -> String) {
        if let Some(page) = &mut self.page
            && let Err(error) = page.observe(event)
            && is_news(&mut self.page_behind, event, &error)
        {
            self.console.warn(&format!("the report is not up to date: {error}"));
        }
        if let Some(message) = &event.message {
            match event.kind {
                EventKind::Warning => {
                    self.console.warn(message);
                    self.write_row(event);
                }
                _ => self.console.note(message),
            }
            return;
        }
        self.write_row(event);
        let is_new = event.kind == EventKind::Solution && (self.solution.is_some() || self.solutions.is_some());
        let text = event.solution.as_deref().filter(|_| is_new).map(render);
        if let Some(folder) = &mut self.solutions {
            let written = match (&text, event.kind) {
                (Some(text), _) => folder.add(event, text),
                (None, EventKind::Tick) => folder.retry(),
                _ => Ok(()),
            };
            if let Err(error) = written
                && is_news(&mut self.solutions_behind, event, &error)
            {
                self.console.warn(&format!("the folder of solutions is not up to date: {error}"));
            }
        }
        if let Some(file) = &mut self.solution {
            let written = match (text, event.kind) {
                (Some(text), _) => file.write(text.into_bytes()),
                (_, EventKind::Tick) => file.retry(),
                _ => Ok(()),
            };
            if let Err(error) = written
                && is_news(&mut self.solution_behind, event, &error)
            {
                self.console.warn(&format!("the solution file is not up to date: {error}"));
            }
        }
        if let Some(curve) = &mut self.curve {
            curve.push(event);
        }
        self.console.show(event);
    }

    /// Returns the console.
    pub fn console(&self) -> &Console {
        &self.console
    }

    fn write_row(&mut self, event: &Event) {
        if let Some(csv) = &mut self.csv
            && let Err(error) = csv.write(event)
            && is_news(&mut self.csv_behind, event, &error)
        {
            self.console.warn(&format!("the CSV is not up to date: {error}"));
        }
    }

    /// Prints a warning on standard error without disturbing the progress line.
    pub fn warn(&self, message: &str) {
        self.console.warn(message);
    }

    /// Writes the rest and ends the progress line. Waits for the readers of pipes until the stop flag is set; reports
    /// incomplete outputs.
    pub fn finish(mut self, stop: &Stop) -> Ended {
        end_progress();
        let told = |result: Option<Result<(), Error>>| match result {
            Some(Err(error)) => {
                self.console.warn(&error.to_string());
                false
            }
            _ => true,
        };
        let has_solution = told(self.solution.as_mut().map(|file| file.finish(stop)));
        let has_solution = told(self.solutions.as_mut().map(|folder| folder.finish(stop))) && has_solution;
        let has_rows = told(self.csv.as_mut().map(|csv| csv.finish(stop)));
        Ended { curve: self.curve, page: self.page, has_rows, has_solution }
    }
}

/// Returns whether to report a failure: the first one, unless a pipe's reader may still come.
fn is_news(behind: &mut bool, event: &Event, error: &io::Error) -> bool {
    let early = error.kind() == io::ErrorKind::WouldBlock && event.kind != EventKind::Tick;
    !early && !std::mem::replace(behind, true)
}
