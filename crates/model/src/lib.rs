//! Networks, their global cost functions and constraint graphs, and certificates as plain data.

pub mod certificate;
pub mod coloring;
pub mod globals;
pub mod graph;
pub mod model;

// modules of other crates, under the names that they have in every crate
use fangs_base::{error, files, memory, rng, stop, terminal, text, threads};
use fangs_device as device;
