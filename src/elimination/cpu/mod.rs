//! Elimination on the threads of the host.

mod cursor;
mod expand;
pub(crate) mod kernel;
