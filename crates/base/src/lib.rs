//! The common basis of all crates: errors, the stop flag, memory limits, threads, files, random numbers.

pub mod activity;
pub mod error;
pub mod faults;
pub mod files;
pub mod memory;
pub mod rng;
pub mod stop;
pub mod terminal;
pub mod text;
pub mod threads;
pub mod tuning;

pub use error::Error;

/// The version of this package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
