//! Decisions under uncertainty: influence diagrams, POMDPs and interactive dynamic influence diagrams of two agents.
//!
//! Diagrams are eliminated on pairs (`pairs`) of probabilities and utilities; processes are solved along the beliefs
//! that can be reached (`tree`), by linear functions of beliefs (`alpha`), or as the diagram that they stand for
//! (`flat`). The other agent of an interactive diagram is solved first, all its models at once, and becomes a part of
//! the state (`idid`). Where nothing of that has room, a policy gives a value from below and a relaxation one from
//! above.

mod alpha;
mod beliefs;
mod device;
#[cfg(test)]
mod device_tests;
mod diagram;
mod first;
#[cfg(test)]
mod first_tests;
mod flat;
mod front;
mod idid;
#[cfg(test)]
mod level_tests;
mod limid;
mod magnitude;
#[cfg(test)]
mod observation_tests;
mod options;
pub mod pairs;
mod process;
mod solution;
mod solve;
mod team;
#[cfg(test)]
pub(crate) mod tests;
mod tree;
mod tuning;

// other crates, by the names that their areas have everywhere
use fangs_base::{error, memory, rng, stop};
use fangs_check as check;
use fangs_elimination::{algebra, elimination, tensor};
#[cfg(test)]
use fangs_formats as formats;
#[cfg(test)]
use fangs_generate as generate;
use fangs_kernels as kernels;
use fangs_model::model;

pub use beliefs::sources;
pub use device::Device;
pub use diagram::pairs_of;
pub use diagram::solve_diagram;
pub use flat::{flat_idid, flat_pomdp};
pub use options::{Method, Options};
pub use solution::Solution;
pub use solve::{solve_idid, solve_pomdp};
