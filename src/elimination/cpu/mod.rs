//! Elimination on the threads of the host.

mod cursor;
mod dense;
mod expand;
pub(crate) mod kernel;

pub(crate) use dense::{Dense, Store, fill, poll};
