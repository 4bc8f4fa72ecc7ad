//! What drivers, the scheduler and the loop share: the prepared problem, the pool of solutions, and what a driver is.

pub(crate) mod bandit;
pub(crate) mod context;
pub(crate) mod cuda;
pub(crate) mod driver;
pub(crate) mod effort;
pub(crate) mod elite;
pub(crate) mod forest;
pub(crate) mod incumbent;
mod interchangeable;
pub(crate) mod layout;
mod lazy;
pub(crate) mod pool;
pub(crate) mod quadratic;
pub(crate) mod row_shape;
pub(crate) mod schedule;
pub(crate) mod size;
pub(crate) mod subproblem;
pub(crate) mod sum_space;
pub(crate) mod watch;
