//! FANG: generic successor generation guided by local heuristics (Köster, Groß, Krüger: "FANG: Fast and
//! Efficient Successor-State Generation for Heuristic Optimization on GPUs", sections 3.1 to 3.8).
//!
//! To add a domain:
//!
//! 1. Write the state. It holds an [`Active`] set and an [`Rng`](crate::rng::Rng) and returns them through [`State`].
//! 2. Write a [`LocalHeuristic`] over it: the number of possibilities of a variable, the rating of each, its weight,
//!    and the effect of taking it.
//! 3. Activate variables and call [`assign_active`], or let a [`Population`] make successors of many states.
//! 4. If speed matters, replace `rate_all` and the other `_all` functions by code that vectorises, and test it against
//!    the single forms. Mark it `#[inline(always)]`: [`Population::expand`] compiles what is inlined into it for the
//!    vector units of the machine.
//!
//! The module [`manhattan`] does all of this for points on a plane; [`cuda`] runs states on a device.

mod active;
pub mod boltzmann;
pub mod cuda;
mod dispatch;
mod engine;
mod local_heuristic;
pub mod manhattan;
mod order;
mod passes;
#[doc(hidden)]
pub mod speed;
mod successors;

// The areas of other crates, by the names that they have in every crate.
use fangs_base::{Error, rng, stop};
use fangs_device as device;
use fangs_kernels as kernels;

pub use active::Active;
pub use dispatch::{ByType, Dispatch, Heuristics, Uniform};
pub use engine::{Scratch, State, assign_variable, choose, select};
pub use local_heuristic::LocalHeuristic;
pub use order::Order;
pub use order::gcd;
pub use passes::{assign_active, assign_active_by};
pub use successors::Pass;
pub use successors::Population;
