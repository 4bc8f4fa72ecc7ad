//! Outputs of a run: convergence rows, solution files, charts, pages, the progress line and the summary.
//!
//! Everything is written as it happens. A file that cannot be written is reported once and tried again at each tick and
//! at the end; the run continues.

mod checkpoint;
pub mod compare;
pub mod comparison;
#[cfg(feature = "cli")]
mod console;
mod csv;
mod exchange;
mod file;
mod keepers;
mod output;
pub mod page;
#[cfg(feature = "mpi")]
mod part_ranks;
pub mod plot;
#[cfg(feature = "mpi")]
mod ranks;
#[cfg(feature = "cli")]
mod recorder;
#[cfg(feature = "cli")]
mod report;
mod rows;
mod short_lines;
mod solution_file;
mod solutions;
pub mod text;

// other crates, by the names that their areas have everywhere
#[cfg(feature = "cli")]
use fangs_base::{VERSION, activity};
use fangs_base::{error, files, stop, terminal, threads};
#[cfg(feature = "mpi")]
use fangs_bounds::bounds;
use fangs_bounds::reduce;
#[cfg(feature = "cli")]
use fangs_device as device;
#[cfg(feature = "cli")]
use fangs_elimination::elimination;
#[cfg(feature = "cli")]
use fangs_formats as formats;
#[cfg(test)]
use fangs_generate as generate;
use fangs_model::model;
use fangs_search as search;

pub use checkpoint::CheckpointFile;
#[cfg(feature = "cli")]
pub use console::{Console, Verbosity, beside_progress, end_progress};
pub use csv::{HEADER, Recorded, Row, read_run};
pub use exchange::ExchangeFolder;
pub use file::{AppendedFile, ReplacedFile, insist};
pub use keepers::Keepers;
pub use output::{Ending, OUTPUTS, OpenedOutput, Output, OutputContext, OutputKind, Recording, Results, RunSummary};
#[cfg(feature = "mpi")]
pub use part_ranks::PartRanks;
#[cfg(feature = "mpi")]
pub use ranks::Ranks;
#[cfg(feature = "cli")]
pub use recorder::{Ended, Recorder, has_solution};
#[cfg(feature = "cli")]
pub use report::{BoundReport, SolveReport};
pub use rows::RowWriter;
pub use solutions::LIST;
pub use text::seconds;
