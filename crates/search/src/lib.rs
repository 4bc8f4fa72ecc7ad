//! The search for solutions. One loop owns time, stopping and recording; drivers work in bounded rounds.

pub mod checkpoint;
mod coloring;
mod diverse;
mod divided;
mod event;
pub mod explain;
mod ledger;
mod list;
#[cfg(test)]
mod list_tests;
pub mod measure;
pub mod options;
mod run;
mod scheduler;
#[cfg(test)]
mod sums_tests;
#[cfg(test)]
mod top_tests;
pub mod tuning;

// the areas of other crates, under the names that they have everywhere in the workspace
use fangs_annealing as annealing;
use fangs_base::{VERSION, activity, error, faults, files, memory, rng, stop, terminal, threads};
use fangs_bounds::{bounds, reduce};
use fangs_check as check;
use fangs_device as device;
use fangs_drivers as drivers;
use fangs_elimination::elimination;
#[cfg(test)]
use fangs_formats as formats;
#[cfg(test)]
use fangs_generate as generate;
use fangs_heuristics as heuristics;
use fangs_marginals as marginals;
use fangs_model::{certificate, graph, model};
use fangs_search_core as core;

pub use crate::bounds::BoundChoice;
pub use annealing::divided::{Peers, ThreadPeers, sums};
pub use checkpoint::{Checkpoint, Extent, Found, Keeper, Keeping, Proved};
pub use coloring::{Colors, color, color_by, greedy_colors};
pub use core::driver::DriverState;
pub use core::picks::Picks;
pub use diverse::{Diverse, Member, diverse};
pub use divided::{solve_in_parts, solve_part};
pub use event::{Event, EventKind, Facts, Status, StoppedBy, Summary, gap};
pub use list::sources;
pub use options::{Assertions, DriverChoice, MAX_THREADS, Options, StopRule};
pub use run::clock::Clock;
pub use run::session::{Session, start};
pub use run::solve::{seek, solve, solve_by};
