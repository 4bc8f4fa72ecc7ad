//! Elimination in any semiring, at once.

use super::cpu::Dense;
use super::cuda::{DeviceSemiring, Execution, Gpu, Streamed};
use super::executor::{Executor, Factors, Failure, Progress, Task};
use super::plan::{EliminationPlan, Limits, Placement};
use super::spill::{Spilled, folder};
use crate::algebra::{Counting, Semiring};
use crate::error::Error;
use crate::model::Problem;
use crate::order::Order;
use crate::stop::Stop;
use std::sync::Arc;

/// Combinations between two looks at how far it is.
const SLICE: u64 = 1 << 30;

/// Combines all functions and folds over all variables, on all threads of the host. Where the plan is not exact,
/// buckets are folded in parts: what that says of the whole depends on the semiring.
///
/// # Errors
/// [`Error::Stopped`] once `stop` is set; no memory, or files that cannot be used.
pub fn eliminate<S: Semiring>(
    plan: &EliminationPlan,
    placement: &Placement,
    factors: &dyn Factors<S>,
    semiring: S,
    stop: &Stop,
) -> Result<S::Entry, Error> {
    let task = Task { plan, placement, factors, semiring };
    let executor: Box<dyn Executor<S>> = match &placement.spill {
        Some(spill) => Box::new(Spilled::new(task, spill.clone(), folder())?),
        None => Box::new(Dense::new(task)),
    };
    advance(executor, task, stop).map_err(|failure| match failure {
        Failure::Host(error) => error,
        Failure::Device(error) => Error::Internal(format!("no device was asked for: {error}")),
    })
}

/// The same on a device, where kernels know the semiring; on the host where the device fails.
pub(crate) fn eliminate_on<S: DeviceSemiring>(
    gpu: &Arc<Gpu>,
    plan: &EliminationPlan,
    placement: &Placement,
    factors: &dyn Factors<S>,
    semiring: S,
    stop: &Stop,
) -> Result<S::Entry, Error> {
    let task = Task { plan, placement, factors, semiring };
    let executor = match Execution::new(gpu.clone(), task) {
        Ok(Some(execution)) => Ok(Box::new(execution) as Box<dyn Executor<S>>),
        Ok(None) => Streamed::new(gpu, task).map(|streamed| Box::new(streamed) as Box<dyn Executor<S>>),
        Err(error) => Err(error),
    };
    match executor.map_err(Failure::Device).and_then(|executor| advance(executor, task, stop)) {
        Ok(value) => Ok(value),
        Err(Failure::Host(error)) => Err(error),
        Err(Failure::Device(_)) => eliminate(plan, placement, factors, semiring, stop),
    }
}

pub(super) fn advance<S: Semiring>(
    mut executor: Box<dyn Executor<S>>,
    task: Task<'_, S>,
    stop: &Stop,
) -> Result<S::Entry, Failure> {
    while executor.advance(task, SLICE, stop)? == Progress::More {
        stop.check()?;
    }
    Ok(executor.finish().0)
}

/// How many assignments no function forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// No more than so many; `u64::MAX` where there may be more than that.
    pub most: u64,
    /// Whether it is their number.
    pub exact: bool,
}

/// Counts the assignments that no function forbids; costs that are not forbidden do not matter. Within limits that
/// are too small for an exact plan it is an upper bound, as each mini-bucket counts on its own (Dechter and Rish,
/// "Mini-buckets", 2003, section 4).
///
/// ```
/// use fangs_elimination::elimination::{Limits, count};
/// use fangs_model::model::{FORBIDDEN, Network};
/// use fangs_elimination::order::{Method, Order};
/// use fangs_bounds::reduce::Reducer;
/// use fangs_base::stop::Stop;
///
/// // a path of three vertices in three colors
/// let mut network = Network::builder("path");
/// let v = [network.variable(3)?, network.variable(3)?, network.variable(3)?];
/// for pair in [[v[0], v[1]], [v[1], v[2]]] {
///     let _ = network.dense(&pair, (0..9).map(|k| if k % 4 == 0 { FORBIDDEN } else { 0 }).collect())?;
/// }
/// let stop = Stop::new();
/// let problem = Reducer::new(&network.build(), false, &stop)?.problem(&Stop::new())?;
/// let order = Order::greedy(&problem, Method::MinFill, 0, &stop);
/// let count = count(&problem, &order, &Limits::new(1 << 20), None, &stop)?;
/// assert!(count.exact && count.most == 12);
/// # Ok::<(), fangs_base::Error>(())
/// ```
///
/// # Errors
/// [`Error::Stopped`] once `stop` is set; no memory, or files that cannot be used.
pub fn count(
    problem: &Problem,
    order: &Order,
    limits: &Limits,
    gpu: Option<&Arc<Gpu>>,
    stop: &Stop,
) -> Result<Count, Error> {
    let limits = Limits { keep_messages: false, ..*limits };
    let (plan, placement) = EliminationPlan::within(problem, order, &limits, size_of::<u64>() as u64, stop)?;
    let semiring = Counting { most: u64::MAX };
    let most = match gpu {
        Some(gpu) => eliminate_on(gpu, &plan, &placement, problem, semiring, stop)?,
        None => eliminate(&plan, &placement, problem, semiring, stop)?,
    };
    Ok(Count { most, exact: plan.exact && most < u64::MAX })
}
