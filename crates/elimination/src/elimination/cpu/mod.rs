//! Elimination on the threads of the host.

mod cursor;
mod dense;
mod expand;
mod join;
mod kernel;
mod shape;

pub use dense::{Dense, Store, fill, poll};
pub use join::Join;
pub use shape::Shape;
pub(crate) use shape::{THREADS, temporary};
