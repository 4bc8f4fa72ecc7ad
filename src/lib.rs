//! Anytime optimization of weighted constraint networks: solutions come down, bounds come up.
//!
//! ```
//! use fangs::search::{Options, Status, solve};
//! use fangs::stop::Stop;
//!
//! // three variables of two values: neighbours should differ, and the first would rather be 1
//! let mut network = fangs::model::Network::builder("triangle");
//! let v = [network.variable(2)?, network.variable(2)?, network.variable(2)?];
//! for pair in [[v[0], v[1]], [v[1], v[2]], [v[0], v[2]]] {
//!     let _ = network.dense(&pair, vec![5, 0, 0, 5])?;
//! }
//! let _ = network.dense(&[v[0]], vec![1, 0])?;
//! let summary = solve(&network.build(), &Options::default(), &Stop::new(), &mut |event| {
//!     println!("{:.3} s  {:?} .. {:?}  {}", event.time_s, event.lower(), event.upper(), event.source);
//! })?;
//! assert_eq!(summary.status, Status::Optimal);
//! assert_eq!(summary.cost.map(|cost| cost.as_f64()), Some(5.0));
//! # Ok::<(), fangs::Error>(())
//! ```
//!
//! [`formats::read`] reads networks from files, [`model::Network::builder`] makes them. [`search::solve`] reports
//! events to a callback, [`search::start`] runs in the background and is an iterator. [`stop::Stop`] ends a run from
//! any thread. [`order`], [`elimination`] and [`bounds`] serve alone, as do the reductions in [`reduce`], successor
//! generation for states of any kind in [`fang`], and heuristics that users write in files in
//! [`heuristics::language`].

#[doc(hidden)]
pub mod all_kernels;

pub use fangs_base::{Error, VERSION, activity, error, rng, stop};
#[doc(hidden)]
pub use fangs_base::{files, memory, terminal, threads};
pub use fangs_bounds::{bounds, reduce};
pub use fangs_check as check;
pub use fangs_dcop as dcop;
pub use fangs_decide as decide;
pub use fangs_device as device;
#[doc(hidden)]
pub use fangs_elimination::tensor;
pub use fangs_elimination::{algebra, elimination, order};
pub use fangs_fang as fang;
pub use fangs_formats as formats;
pub use fangs_formats::convert;
pub use fangs_generate as generate;
pub use fangs_heuristics as heuristics;
pub use fangs_kernels as kernels;
pub use fangs_marginals as marginals;
pub use fangs_model::{certificate, globals, model};
#[cfg(feature = "plot")]
#[doc(hidden)]
pub use fangs_report as record;
pub use fangs_search as search;
pub use fangs_search::explain;
