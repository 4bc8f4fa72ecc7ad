//! Lower bounds by bucket and mini-bucket elimination, in integers.
//!
//! An [`Order`](crate::order::Order) becomes a [`Plan`]: which tables are joined in which mini-bucket, what
//! that takes in memory and work. A [`Run`] executes the plan in slices of bounded work and ends in an
//! [`Outcome`]: the bound and the messages, from which an assignment is built ([`Outcome::assign`]) or
//! partial assignments are rated ([`CostToGo`]). [`Shift`] moves costs between functions so that mini-buckets lose less. A
//! [`Ladder`] says which plan to run next. A [`Branch`] searches over values with both in its nodes. A [`Climb`] says which of all
//! that is next.
//!
//! Every bound is valid by construction. Entries are integers and only ever lowered: to a cap that no
//! solution worth finding reaches (`ub - constant`, or more than all finite costs together), by splitting
//! a bucket, or by taking the minimum over some variables of a function that is too large. Plans by rows
//! ([`Plan::by_rows`]) leave out entries that no solution below the limit uses: their bound is at most the limit.

mod assign;
mod blocks;
mod branch;
mod climb;
mod cuda;
mod expand;
mod graphs;
mod joingraph;
mod journal;
mod kernel;
mod ladder;
mod marginals;
mod passes;
mod plan;
mod run;
mod schedule;
mod shift;
mod shifting;
mod slices;
mod sparse;
mod spill;
mod storage;
mod table;
mod tables;
mod terms;

pub use assign::CostToGo;
pub use branch::{Branch, Fork, Forks, Style};
pub(crate) use branch::{Probe, Probed};
pub use climb::{Attempt, Climb, Means, Spent, Stage, what_fails};
pub use cuda::{Gpu, Measured, measure, sources};
pub use graphs::{DeviceGraphs, Graphs};
pub use joingraph::{JoinGraph, Patience};
pub use journal::Entry;
pub use ladder::{Ladder, Rung};
pub use passes::{MiniBucket, Passes};
pub use plan::{Input, Limits, Plan, Source, Step, Width};
pub use run::{Outcome, Progress, Run};
pub use shift::Shift;
pub use shifting::Shifting;
pub use sparse::RowLimits;
pub use spill::{folder as spill_folder, room as spill_room};
pub(crate) use terms::{Entries, Term};

use crate::model::{Cost, FORBIDDEN, Problem, add};

/// The bound that is there at once: the constant and the least entry of every function.
pub fn trivial_bound(problem: &Problem) -> Cost {
    let mut bound = problem.constant;
    for unary in &problem.unary {
        bound = add(bound, unary.iter().copied().min().unwrap_or(0));
    }
    for function in &problem.functions {
        bound = add(bound, function.min(&problem.domains));
    }
    bound.min(problem.top)
}

/// The largest entry that makes a difference. Sums from here on mean that there is no solution below the
/// limit, either because they reach it or because they are beyond all finite costs together.
///
/// Clamping entries to it from above lowers them, hence is always valid; and where the clamped sum stays
/// below it, nothing was clamped on the way.
pub(crate) fn cap(problem: &Problem, limit: Cost) -> Cost {
    let mut finite: Cost = 1;
    let mut include = |costs: &mut dyn Iterator<Item = Cost>| {
        finite = add(finite, costs.filter(|&cost| cost < FORBIDDEN).max().unwrap_or(0));
    };
    for unary in &problem.unary {
        include(&mut unary.iter().copied());
    }
    for function in &problem.functions {
        match &function.table {
            crate::model::Table::Dense(costs) => include(&mut costs.iter().copied()),
            crate::model::Table::Sparse(table) => {
                include(&mut table.iter().map(|(_, cost)| cost).chain([table.default_cost()]));
            }
        }
    }
    if limit >= FORBIDDEN { finite } else { finite.min(limit.saturating_sub(problem.constant).max(0)) }
}

#[cfg(test)]
mod climb_tests;
#[cfg(test)]
pub(crate) mod tests;
