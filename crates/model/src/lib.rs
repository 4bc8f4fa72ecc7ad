//! Networks, what they mean, and certificates as plain data.

pub mod certificate;
pub mod coloring;
pub mod globals;
pub mod graph;
pub mod model;

// other crates, by the names that their areas have everywhere
use fangs_base::{error, files, memory, rng, stop, threads};
use fangs_device as device;
