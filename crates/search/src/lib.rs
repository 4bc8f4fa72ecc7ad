//! The search: one loop owns time, stopping and recording; drivers make bounded rounds.

mod coloring;
mod event;
pub mod explain;
#[cfg(test)]
mod list_tests;
pub mod measure;
mod run;
mod scheduler;
#[cfg(test)]
mod sums_tests;
#[cfg(test)]
mod top_tests;
pub(crate) mod tuning;

// other crates, by the names that their areas have everywhere
use fangs_base::{activity, error, memory, rng, stop, terminal, threads};
use fangs_bounds::{bounds, reduce};
use fangs_check as check;
use fangs_device as device;
use fangs_drivers::{self as drivers, checkpoint, core, options};
use fangs_elimination::elimination;
#[cfg(test)]
use fangs_formats as formats;
#[cfg(test)]
use fangs_generate as generate;
use fangs_heuristics as heuristics;
use fangs_marginals as marginals;
use fangs_model::{certificate, graph, model};

pub use crate::bounds::BoundChoice;
pub use checkpoint::{Checkpoint, DriverState, Extent, Found, Keeper, Keeping, Proved};
pub use coloring::{Colors, color, color_by, greedy_colors};
pub use core::picks::Picks;
pub use drivers::sources;
pub use event::{Event, EventKind, Facts, Status, StoppedBy, Summary, gap};
pub use options::{Assertions, DriverChoice, MAX_THREADS, Options, StopRule};
pub use run::clock::Clock;
pub use run::session::{Session, start};
pub use run::solve::{seek, solve, solve_by};
