//! Local heuristics that steer the search on networks: what a value is worth, seen from its variable.
//!
//! [`INPUTS`] is what is known when a variable is visited. [`language`] has the heuristics that users write in files.

mod inputs;
pub mod language;

pub use inputs::{INPUTS, Input, Inputs, Kind, Needs};
