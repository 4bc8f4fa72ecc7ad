//! Distributed constraint optimization by dynamic programming: DPOP, which is bucket elimination along a pseudo-tree,
//! and ADPOP(z), which is mini-bucket elimination with at most z variables in a mini-bucket (Fioretto, Pontelli, Yeoh
//! and Dechter, "Accelerating exact and approximate inference for (distributed) discrete optimization with GPUs",
//! Constraints 23, 2018, section 3).
//!
//! A [`PseudoTree`](crate::order::PseudoTree) has an elimination order, which determines a [`Plan`]: the tables that
//! each agent joins and sends. [`Traffic`] counts them. The plan runs as a whole ([`run_levels`]), agent after agent,
//! each of which knows only its own functions and the messages of its children ([`run_agents`]), or in separate
//! processes ([`run_processes`]); the tables are equal to the last bit. [`Clocks`] simulate the time of agents with a
//! machine each.

mod agent;
mod bounded;
mod clocks;
mod cycles;
mod local;
mod max_sum;
mod run;
mod tcp;
#[cfg(test)]
mod tests;
mod traffic;

// The areas of other crates, by the names that they have in every crate.
use fangs_base::{error, memory, rng, stop, threads};
use fangs_bounds::bounds;
#[cfg(test)]
use fangs_bounds::reduce;
use fangs_elimination::{algebra, elimination, order, tensor};
#[cfg(test)]
use fangs_generate as generate;
use fangs_model::{graph, model};

pub use agent::Place;
pub use bounded::{BoundedFound, run_bounded};
pub use clocks::{Clocks, Latency};
pub use cycles::{CYCLES, Cycle, LocalFound, LocalOptions};
pub use local::{LocalSearch, run_local, watch_local};
pub use run::lower_bound;
pub use run::{Found, Spent, run_agents, run_levels};
pub use tcp::{Processes, run_processes, serve};
pub use traffic::{AgentTraffic, Traffic};

#[cfg(doc)]
use crate::elimination::Plan;
