//! Anytime optimization of weighted constraint networks: the incumbent's cost falls and the lower bound rises.
//!
//! ```
//! use fangs::search::{Options, Status, solve};
//! use fangs::stop::Stop;
//!
//! // three variables with two values: neighbours should differ, and the first variable prefers value 1
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
//! The items of this crate are kept stable. The crates below (`fangs-search`, `fangs-elimination`, …) offer more, but
//! may change.

#[cfg(feature = "cli")]
mod cli;

/// The `fangs` command, which the program and the Python package run.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod command {
    pub use crate::cli::guard::Allocator;
    pub use crate::cli::invocation::Invocation;
}

pub use fangs_base::{Error, VERSION};

/// The stop flag, which any thread sets and every long call reads.
pub mod stop {
    #[doc(inline)]
    pub use fangs_base::stop::{Cause, Stop};
}

/// The seeded generator of random numbers that all searches draw from.
pub mod rng {
    #[doc(inline)]
    pub use fangs_base::rng::Rng;
}

/// Networks: variables with finite domains, and cost functions or potentials on them.
pub mod model {
    #[doc(inline)]
    pub use fangs_model::model::{Builder, Cost, FORBIDDEN, Network, Number, Potentials, Table, Variable};
}

/// Reading and writing of networks; the file's name or an option determines the format.
///
/// ```
/// use fangs::formats::{Format, ReadOptions, Source, read};
/// use fangs::stop::Stop;
///
/// let network = read(&Source::new("examples/potts-20x20.wcsp"), None, &ReadOptions::default(), &Stop::new())?;
/// assert_eq!(network.domains().len(), 400);
/// let mut copy = Vec::new();
/// fangs::formats::write(&network, Format::Uai, &mut copy).expect("memory suffices");
/// # Ok::<(), fangs::Error>(())
/// ```
pub mod formats {
    #[doc(inline)]
    pub use fangs_formats::{Format, ReadOptions, Source, read, read_potentials, write};
}

/// The search for solutions and bounds: [`solve`](search::solve) reports events to a callback, and
/// [`start`](search::start) returns a background session that is an iterator over events.
pub mod search {
    #[doc(inline)]
    pub use fangs_search::{
        BoundChoice, DriverChoice, Event, EventKind, Options, Session, Status, StopRule, Summary, solve, start,
    };
}

/// Evaluation of solutions, with code that shares nothing with the search.
///
/// ```
/// let mut network = fangs::model::Network::builder("pair");
/// let pair = [network.variable(2)?, network.variable(3)?];
/// let _ = network.dense(&pair, vec![4, 1, 5, 9, 2, 6])?;
/// let found = fangs::check::evaluate(&network.build(), &[1, 1]);
/// assert!(found.is_solution() && found.cost == 2);
/// # Ok::<(), fangs::Error>(())
/// ```
pub mod check {
    #[doc(inline)]
    pub use fangs_check::{Evaluation, evaluate};
}

/// Sums over all assignments: the partition function, and the posterior of each variable.
///
/// ```
/// use fangs::marginals::{Evidence, Options, compute};
/// use fangs::model::{Potentials, Variable};
///
/// // rain, and grass that rain makes wet
/// let mut garden = Potentials::new("garden");
/// for name in ["rain", "wet"] {
///     let _ = garden.variable(Variable { domain: 2, name: Some(name.into()), values: None })?;
/// }
/// garden.function(&[0], &[0.75, 0.25])?;
/// garden.function(&[0, 1], &[0.75, 0.25, 0.25, 0.75])?;
/// let mut evidence = Evidence::default();
/// evidence.observe(&garden, "wet=1")?;
/// let found = compute(&garden, &evidence, &Options::default(), &fangs::stop::Stop::new())?;
/// assert_eq!(found.posteriors[0].as_deref(), Some(&[0.5, 0.5][..]));
/// # Ok::<(), fangs::Error>(())
/// ```
pub mod marginals {
    #[doc(inline)]
    pub use fangs_marginals::{Evidence, Marginals, Options, compute};
}

/// Heuristics of your own, in Rust; `examples/talks.rs` defines one.
pub mod heuristics {
    #[doc(inline)]
    pub use fangs_heuristics::{Exchange, Inputs, Needs, Neighbourhood, ValueHeuristic, Weights};
}

/// FANG's successor generator for states of any kind, guided by local heuristics; `examples/manhattan.rs` moves points
/// on a plane.
pub mod fang {
    #[doc(inline)]
    pub use fangs_fang::{Active, LocalHeuristic, Order, Population, State, Uniform, manhattan};
}
