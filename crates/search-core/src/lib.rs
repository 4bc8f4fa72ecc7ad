//! What drivers, the scheduler and the loop share: the prepared problem, the pool of solutions, and the trait of
//! drivers.

pub mod bandit;
pub mod context;
pub mod crossover;
pub mod cuda;
pub mod driver;
pub mod effort;
pub mod elite;
pub mod forest;
pub mod gap_watch;
mod interchangeable;
pub mod layout;
mod lazy;
pub mod picks;
pub mod pool;
pub mod population;
pub mod quadratic;
pub mod row_shape;
pub mod schedule;
pub mod size;
pub mod subproblem;
pub mod sum_space;
#[cfg(test)]
mod tests;
pub mod tuning;
pub mod watch;

// the areas of other crates, under the names that they have everywhere in the workspace
use fangs_base::{error, memory, rng, stop, threads};
use fangs_bounds::reduce;
use fangs_device as device;
use fangs_elimination::{elimination, value_tables};
use fangs_fang as fang;
#[cfg(test)]
use fangs_generate as generate;
use fangs_heuristics as heuristics;
use fangs_model::{globals, graph, model};
