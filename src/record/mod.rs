//! Outputs of a run: convergence rows, solution files, pictures, the progress line and the summary.
//!
//! Everything is written as it happens. A file that cannot be written is reported once and tried again at each tick and
//! at the end; the run goes on.

pub mod comparison;
#[cfg(feature = "cli")]
mod console;
mod csv;
mod file;
pub mod plot;
#[cfg(feature = "cli")]
mod recorder;
#[cfg(feature = "cli")]
mod report;
mod short_lines;
pub mod text;

#[cfg(feature = "cli")]
pub use console::{Console, Verbosity};
pub use csv::{CsvFile, HEADER, Recorded, Row, read_run};
pub use file::{AppendedFile, ReplacedFile, insist};
#[cfg(feature = "cli")]
pub use recorder::{Ended, Recorder};
#[cfg(feature = "cli")]
pub use report::{BoundReport, SolveReport};

/// Seconds to the microsecond, so that rows and summaries show the same short number.
pub fn seconds(exact: f64) -> f64 {
    (exact * 1e6).round() / 1e6
}
