//! Bucket and mini-bucket elimination.
//!
//! An [`Order`](crate::order::Order) becomes a [`Plan`]: which tables are joined in which mini-bucket, what that
//! takes in memory and work. A [`Run`] executes the plan in slices of bounded work and ends in an [`Outcome`]: the
//! bound and the messages, from which an assignment is built ([`Outcome::assign`]) or partial assignments are rated
//! ([`CostToGo`]).
//!
//! Every bound is valid by construction. Entries are integers and only ever lowered: to a cap that no solution worth
//! finding reaches (`ub - constant`, or more than all finite costs together), by splitting a bucket, or by taking the
//! minimum over some variables of a function that is too large.

pub(crate) mod backward;
mod conditioned;
#[cfg(test)]
mod conformance;
pub(crate) mod cpu;
pub(crate) mod cuda;
mod cutset;
pub(crate) mod decode;
mod eliminate;
pub(crate) mod executor;
mod factors;
mod limit;
pub(crate) mod plan;
pub(crate) mod run;
pub(crate) mod slices;
pub(crate) mod sparse;
pub(crate) mod spill;
pub(crate) mod table;
pub(crate) mod terms;
#[cfg(test)]
pub(crate) mod tests;
mod value_bounds;

#[cfg(test)]
pub(crate) use cuda::{Back, EMULATED, EmulatedMachine};
pub(crate) use cuda::{
    Chip, Content, DeviceTable, Expected, Machine, Made, Pairing, Program, Propagation, Running, Wanted,
};
pub use cuda::{Gpu, Measured, measure, sources};
pub(crate) use cutset::{Cut, MOST_WORK, cuts, widest};
pub use cutset::{Cutset, Slices};
pub use decode::CostToGo;
pub use eliminate::{Count, count, eliminate};
pub use executor::{Factors, Progress};
pub(crate) use limit::cap;
pub use plan::{CostRange, EliminationPlan, Input, Limits, Placement, Plan, Source, Step, Width};
pub use run::{Outcome, Run};
pub use sparse::RowLimits;
pub use spill::{folder as spill_folder, room as spill_room};
pub(crate) use table::scatter;
pub(crate) use terms::{Entries, Term};
