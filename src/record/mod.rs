//! Outputs of a run: convergence rows, solution files, pictures, the progress line and the summary.
//!
//! Everything is written as it happens. A file that cannot be written is reported once and tried again at each tick and
//! at the end; the run goes on.

pub mod comparison;
mod console;
mod csv;
mod file;
pub mod plot;
mod recorder;
mod report;
pub mod text;

pub use console::{Console, Verbosity};
pub use csv::{CsvFile, HEADER, Recorded, read_run};
pub use file::{AppendedFile, ReplacedFile, insist};
pub use recorder::{Ended, Recorder};
pub use report::{BoundReport, SolveReport};

/// Seconds to the microsecond, so that rows and summaries show the same short number.
pub fn seconds(exact: f64) -> f64 {
    (exact * 1e6).round() / 1e6
}
