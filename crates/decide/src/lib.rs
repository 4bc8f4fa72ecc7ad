//! Decisions under uncertainty: influence diagrams, POMDPs and interactive dynamic influence diagrams of two agents.
//!
//! Influence diagrams are eliminated on pairs (`pairs`) of probabilities and utilities. Processes are solved along the
//! reachable beliefs (`tree`), by linear functions of beliefs (`alpha`), or as a flat influence diagram (`flat`). In an
//! interactive diagram, all models of the other agent are solved first and become a part of the state (`idid`). If no
//! exact method has room, a policy gives a lower bound on the value and a relaxation an upper bound.

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

// The areas of other crates, by the names that they have in every crate.
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
