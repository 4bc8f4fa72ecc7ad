//! What drivers, the scheduler and the loop share: the prepared problem, the pool of solutions, and what a driver is.

pub(crate) mod bandit;
pub mod context;
pub(crate) mod cuda;
pub mod driver;
pub mod effort;
pub mod elite;
pub(crate) mod forest;
pub mod incumbent;
mod interchangeable;
pub(crate) mod layout;
mod lazy;
pub mod picks;
pub mod pool;
pub mod quadratic;
pub(crate) mod row_shape;
pub(crate) mod schedule;
pub mod size;
pub(crate) mod subproblem;
pub(crate) mod sum_space;
pub(crate) mod watch;
