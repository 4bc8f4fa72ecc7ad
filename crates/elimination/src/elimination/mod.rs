//! Bucket and mini-bucket elimination.
//!
//! An [`Order`](crate::order::Order) becomes a [`Plan`]: which tables are joined in which mini-bucket, and which memory
//! and work that takes. A [`Run`] executes the plan in slices of bounded work and ends in an [`Outcome`]: the bound and
//! the messages, from which an assignment is built ([`Outcome::assign`]) or lower bounds on the completions of partial
//! assignments are computed ([`CostToGo`]).
//!
//! Every bound is valid by construction. Entries are integers and are only ever lowered: to a cap that no solution of
//! interest reaches (`ub - constant`, or more than all finite costs together), by splitting a bucket, or by taking the
//! minimum over some variables of a function that is too large.

pub mod backward;
mod conditioned;
#[cfg(test)]
mod conformance;
mod costs;
pub mod cpu;
pub mod cuda;
mod cutset;
pub mod decode;
mod eliminate;
pub mod executor;
mod factors;
mod limit;
pub mod plan;
mod planner;
pub mod run;
mod sources;
pub(crate) mod sparse;
#[doc(hidden)]
pub mod speed;
pub(crate) mod spill;
mod start;
pub mod table;
pub mod terms;
#[doc(hidden)]
pub mod testing;
#[cfg(test)]
pub(crate) mod tests;
mod value_bounds;
mod vectors;

#[doc(hidden)]
pub use cuda::{Back, EMULATED, EmulatedMachine};
pub use cuda::{Chip, Content, DeviceTable, Expected, Machine, Made, Pairing, Program, Propagation, Running, Wanted};
pub use cuda::{Gpu, Measured, measure};
pub use cutset::{Cut, MOST_WORK, cuts, widest};
pub use decode::CostToGo;
pub use eliminate::{Count, count, eliminate};
pub use executor::{Factors, Progress};
pub use limit::cap;
pub use plan::Width;
pub use plan::{CostRange, Cutset, EliminationPlan, Input, Limits, Placement, Plan, RowLimits, Slices, Source, Step};
pub use run::{Outcome, Run};
pub use sources::sources;
pub use spill::{folder as spill_folder, room as spill_room};
pub use start::CostTable;
pub use table::{add_function, scatter};
pub use terms::{Entries, Term};
