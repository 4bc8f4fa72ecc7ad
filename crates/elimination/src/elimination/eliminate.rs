//! Elimination in any semiring by one call.

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

/// Combinations between two checks of the stop flag.
const SLICE: u64 = 1 << 30;

/// Combines all functions and folds over all variables, on all threads of the host. If the plan is not exact, buckets
/// are split into mini-buckets; the semiring determines whether the result is then an upper or a lower bound.
///
/// # Errors
/// Returns [`Error::Stopped`] if `stop` is set, or an error if there is too little memory or files cannot be used.
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

/// Like [`eliminate`], but on a device whose kernels support the semiring. Runs on the host instead if the device
/// fails.
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

/// The number of feasible assignments, or an upper bound on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The number or the upper bound; `u64::MAX` if the number may be larger than that.
    pub most: u64,
    /// Whether `most` is the exact number.
    pub exact: bool,
}

/// Counts the assignments that no function forbids; finite costs do not matter. If the limits are too small for an
/// exact plan, the result is an upper bound, because each mini-bucket counts on its own (Dechter and Rish,
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
/// Returns [`Error::Stopped`] if `stop` is set, or an error if there is too little memory or files cannot be used.
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
