//! Anytime optimization of weighted constraint networks: solutions come down, bounds come up.

pub mod check;
pub mod error;
pub mod fang;
pub mod formats;
pub mod generate;
pub mod inference;
pub mod memory;
pub mod model;
pub mod order;
pub mod record;
pub mod reduce;
pub mod rng;
pub mod search;
pub mod stop;

pub use error::Error;

/// The version of this package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
