//! Runs of plans, as a whole or one agent after the other.

use super::agent::{Agent, Place, Sent};
use crate::algebra::{MinSum, Semiring};
use crate::elimination::CostTable;
use crate::elimination::cuda::Gpu;
use crate::elimination::{Plan, Progress, Run, Width};
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use crate::tensor::Storage;
use std::sync::Arc;
use std::time::Instant;

/// Combinations between two checks of the progress.
const SLICE: u64 = 1 << 30;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Found {
    /// The lower bound on the optimum; the limit of the plan if no assignment costs less.
    pub lower: Cost,
    /// The values that the agents chose.
    pub assignment: Vec<u32>,
    /// The times of each agent, by variable; empty if the plan ran as a whole.
    pub spent: Vec<Spent>,
    /// Seconds of the UTIL phase.
    pub util_s: f64,
    /// Seconds of the VALUE phase.
    pub value_s: f64,
    /// Whether a device did the work.
    pub on_device: bool,
    /// The reason why the CPU took over from a device.
    pub trouble: Option<String>,
}

/// The times of a variable's agent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Seconds of computing in the UTIL phase.
    pub util_s: f64,
    /// Seconds of copies to and from a device.
    pub transfer_s: f64,
    /// Seconds of the VALUE phase.
    pub value_s: f64,
}

/// Runs a plan as a whole.
///
/// # Errors
/// Returns an error if there is no memory, and [`Error::Stopped`] if `stop` is set.
pub fn run_levels(problem: &Arc<Problem>, plan: Plan, gpu: Option<&Arc<Gpu>>, stop: &Stop) -> Result<Found, Error> {
    let started = Instant::now();
    let mut run = Run::on(gpu, problem.clone(), plan);
    while run.advance(SLICE, stop) == Progress::More {
        stop.check()?;
    }
    if let Some(error) = run.take_failure() {
        return Err(error);
    }
    let (on_device, trouble) = (run.on_device(), run.trouble().map(ToString::to_string));
    let outcome = run.finish().ok_or(Error::Stopped)?;
    let util_s = started.elapsed().as_secs_f64();
    let assignment = outcome.assign(stop).ok_or(Error::Stopped)?;
    let value_s = started.elapsed().as_secs_f64() - util_s;
    Ok(Found { lower: outcome.lower_bound(), assignment, spent: Vec::new(), util_s, value_s, on_device, trouble })
}

/// Runs a plan one agent after the other; each computes from its own functions and the messages of its children.
///
/// # Errors
/// Returns an error if there is no memory or a device fails, and [`Error::Stopped`] if `stop` is set.
pub fn run_agents(problem: &Problem, plan: &Plan, place: Place<'_>, stop: &Stop) -> Result<Found, Error> {
    match plan.costs.width {
        Width::I32 => typed::<i32>(problem, plan, place, stop),
        Width::I64 => typed::<i64>(problem, plan, place, stop),
    }
}

fn typed<E: CostTable>(problem: &Problem, plan: &Plan, place: Place<'_>, stop: &Stop) -> Result<Found, Error> {
    let started = Instant::now();
    let n = plan.sequence.len();
    let cap = E::from_cost(plan.costs.cap);
    let semiring = MinSum { cap };
    let mut agents: Vec<(Agent, Sent<E>)> = Vec::with_capacity(n);
    let mut spent = vec![Spent::default(); n];
    let mut total = semiring.one();
    for position in 0..n {
        stop.check()?;
        let agent = Agent::new(problem, plan, position);
        let sent = agent.util(&received(&agent, plan, &agents), cap, place, stop)?;
        total = semiring.settle(semiring.combine(total, sent.constant));
        let own = &mut spent[plan.sequence[position] as usize];
        (own.util_s, own.transfer_s) = (sent.compute_s, sent.transfer_s);
        agents.push((agent, sent));
    }
    let util_s = started.elapsed().as_secs_f64();
    let mut assignment = vec![0; n];
    for position in stop.each((0..n).rev()) {
        let position = position?;
        let begun = Instant::now();
        let agent = &agents[position].0;
        let values: Vec<u32> = agent.variables.iter().map(|&v| assignment[v as usize]).collect();
        let variable = plan.sequence[position] as usize;
        assignment[variable] = agent.value(&received(agent, plan, &agents), &values);
        spent[variable].value_s = begun.elapsed().as_secs_f64();
    }
    let value_s = started.elapsed().as_secs_f64() - util_s;
    let lower = lower_bound(problem.constant, plan, total.cost());
    let on_device = agents.iter().any(|(_, sent)| sent.on_device);
    Ok(Found { lower, assignment, spent, util_s, value_s, on_device, trouble: None })
}

/// Returns the lower bound from the sum of all constants.
pub fn lower_bound(constant: Cost, plan: &Plan, total: Cost) -> Cost {
    let limit = plan.costs.limit;
    if total >= plan.costs.cap { limit } else { (constant + total).min(limit) }
}

/// Returns the messages that an agent receives.
fn received<E: CostTable>(agent: &Agent, plan: &Plan, agents: &[(Agent, Sent<E>)]) -> Vec<Arc<Storage<E>>> {
    let table = |step: u32| {
        let (from, sent) = &agents[plan.steps[step as usize].position as usize];
        sent.tables[(step - from.first_step) as usize].clone()
    };
    agent.receives.iter().map(|message| table(message.step)).collect()
}
