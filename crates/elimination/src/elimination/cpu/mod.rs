//! Elimination on the threads of the host.

mod cursor;
mod dense;
mod expand;
pub mod kernel;

pub use dense::{Dense, Store, fill, poll};
