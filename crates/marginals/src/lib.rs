//! Sums over all assignments of a product of functions: the partition function, or the probability of the evidence, and
//! the posterior of each variable.
//!
//! Observed variables are sliced out of the tables, an elimination order is searched for, and messages go along its
//! bucket tree to the roots (collect) and back (distribute), as in Bistaffa, Bombieri and Farinelli, "An efficient
//! approach for accelerating bucket elimination on GPUs", 2017, section II-A3. Numbers are doubles with a common power
//! of two for each table. Nothing is subtracted, so no digits cancel; [`Marginals::error_bound`] bounds the rounding
//! error. If products could be below the range of doubles, the computation is repeated with a power of two for each
//! entry.
//!
//! If the tables do not fit, [`bound`] cuts the product into *parts*, the product with some variables fixed, and
//! computes or bounds the sum of each.
//!
//! ```
//! use fangs_marginals::{Evidence, Options, compute};
//! use fangs_model::model::{Potentials, Variable};
//! use fangs_base::stop::Stop;
//!
//! // rain, and grass that is wet by it
//! let mut garden = Potentials::new("garden");
//! for name in ["rain", "wet"] {
//!     let _ = garden.variable(Variable { domain: 2, name: Some(name.into()), values: None })?;
//! }
//! garden.function(&[0], &[0.75, 0.25])?;
//! garden.function(&[0, 1], &[0.75, 0.25, 0.25, 0.75])?;
//! let mut evidence = Evidence::default();
//! evidence.observe(&garden, "wet=1")?;
//! let found = compute(&garden, &evidence, &Options::default(), &Stop::new())?;
//! assert!((found.ln_z - 0.375f64.ln()).abs() < 1e-15);
//! assert_eq!(found.posteriors[0].as_deref(), Some(&[0.5, 0.5][..]));
//! # Ok::<(), fangs_base::Error>(())
//! ```

mod anytime;
mod bounds;
mod climb;
mod components;
mod conditioned;
#[cfg(test)]
mod device_tests;
mod evidence;
mod floor;
mod found;
#[cfg(test)]
mod hub_tests;
mod intervals;
mod levels;
mod many;
mod map;
mod measured;
mod near;
mod on_device;
mod options;
mod parts;
mod peeling;
mod prepared;
mod propagate;
mod rows;
mod run;
mod simplify;
#[cfg(test)]
mod slice_tests;
mod sliced;
#[cfg(test)]
mod tests;
mod tuning;
mod weighted;
mod within;

// The areas of other crates, by the names that they have in every crate.
use fangs_base::{error, memory, rng, stop, terminal, threads};
use fangs_check as check;
use fangs_device as device;
use fangs_elimination::{algebra, elimination, order, tensor};
use fangs_model::model;

pub use anytime::MapBounds;
pub use bounds::{bound, first_bound};
pub use evidence::Evidence;
pub use found::SumBounds;
pub use intervals::{Bounded, Interval};
pub use map::{MarginalMap, PreparedMap};
pub use options::{Options, Seek};
pub use prepared::{Marginals, Prepared, Tree, compute};
pub use sliced::Sliced;
pub use within::Sums;
