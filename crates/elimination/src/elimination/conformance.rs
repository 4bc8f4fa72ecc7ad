//! Compares every executor in every semiring with enumeration: one list of cases, one line for each executor.

use super::cpu::Dense;
use super::cuda::{DeviceSemiring, Execution, Gpu, Streamed};
use super::eliminate::advance;
use super::executor::{Executor, Factors, Task};
use super::spill::Spilled;
use super::tests::{assignments, random, shuffled};
use super::{EliminationPlan, Limits, Placement};
use crate::algebra::{Counting, MinSum, Semiring};
use crate::model::{Cost, FORBIDDEN, Problem};
use crate::rng::Rng;
use crate::stop::Stop;
use std::sync::Arc;

type Start<S> = dyn Fn(Task<'_, S>) -> Option<Box<dyn Executor<S>>>;

/// Returns the executors by name. A constructor returns `None` if the executor does not support the plan.
fn executors<S: DeviceSemiring>(gpu: Option<&Arc<Gpu>>) -> Vec<(&'static str, Box<Start<S>>)> {
    let spilled = |task: Task<'_, S>| -> Option<Box<dyn Executor<S>>> {
        let spill = task.placement.spill.clone()?;
        Some(Box::new(Spilled::new(task, spill, std::env::temp_dir()).expect("there is room")))
    };
    let mut all: Vec<(&'static str, Box<Start<S>>)> =
        vec![("dense", Box::new(|task| Some(Box::new(Dense::new(task))))), ("spilled", Box::new(spilled))];
    if let Some(gpu) = gpu.cloned() {
        let small = Gpu::limited(gpu.cuda().clone(), 40_000);
        let device = move |task: Task<'_, S>| -> Option<Box<dyn Executor<S>>> {
            let execution = Execution::new(gpu.clone(), task).expect("the device works");
            Some(Box::new(execution.expect("small tables")))
        };
        let streamed = move |task: Task<'_, S>| -> Option<Box<dyn Executor<S>>> {
            Some(Box::new(Streamed::new(&small, task).ok()?))
        };
        all.extend([("device", Box::new(device) as Box<Start<S>>), ("streamed", Box::new(streamed) as Box<Start<S>>)]);
    }
    all
}

/// Runs all executors on random problems and passes the problem, the plan, the semiring and the value to `check`.
/// Returns how often each executor ran.
fn conform<S: DeviceSemiring>(
    gpu: Option<&Arc<Gpu>>,
    semiring: impl Fn(&Problem) -> S,
    check: impl Fn(&Problem, &EliminationPlan, S, S::Entry),
) -> Vec<usize>
where
    Problem: Factors<S>,
{
    let executors = executors::<S>(gpu);
    let mut rng = Rng::new(77);
    let mut ran = vec![0; executors.len()];
    for case in 0..400 {
        let problem = random(&mut rng, 7);
        let order = shuffled(&problem, &mut rng);
        let bytes = size_of::<S::Entry>() as u64;
        let z = [None, None, Some(1), Some(2), Some(3)][rng.index(5)];
        let roomy = Limits { z, keep_messages: rng.below(2) == 0, ..Limits::new(1 << 30) };
        let plan = |limits: &Limits| {
            EliminationPlan::within(&problem, &order, limits, bytes, &Stop::new()).expect("not stopped")
        };
        let (_, Placement { peak_bytes, table_bytes, .. }) = plan(&roomy);
        let least = peak_bytes.saturating_sub(table_bytes);
        let limits = Limits { spill: 1 << 30, max_bytes: least + rng.below(table_bytes + 2), ..roomy };
        let (plan, placement) = plan(&limits);
        let semiring = semiring(&problem);
        for ((name, start), ran) in executors.iter().zip(&mut ran) {
            let task = Task { plan: &plan, placement: &placement, factors: &problem, semiring };
            let Some(executor) = start(task) else { continue };
            let value = advance(executor, task, &Stop::new()).unwrap_or_else(|e| panic!("{name}, case {case}: {e:?}"));
            check(&problem, &plan, semiring, value);
            *ran += 1;
        }
    }
    ran
}

/// Returns the costs of the assignments that no function forbids.
fn costs(problem: &Problem) -> Vec<Cost> {
    let mut unlimited = problem.clone();
    (unlimited.top, unlimited.constant) = (FORBIDDEN, 0);
    assignments(problem).map(|values| unlimited.cost(&values)).filter(|&cost| cost < FORBIDDEN).collect()
}

#[test]
fn every_executor_finds_the_least_cost_and_the_number_of_solutions() {
    let gpu = fangs_testing::gpu().map(Gpu::new);
    let all = |ran: Vec<usize>| assert!(ran.iter().all(|&ran| ran > 50), "{ran:?}");
    all(conform(
        gpu.as_ref(),
        |problem| MinSum { cap: super::cap(problem, FORBIDDEN, &Stop::new()).expect("no stop is set") as i32 },
        |problem, plan, semiring, value| {
            let optimum = costs(problem).into_iter().min().unwrap_or(FORBIDDEN);
            let least = optimum.min(semiring.cap.into());
            if plan.exact { assert_eq!(Cost::from(value), least) } else { assert!(Cost::from(value) <= least) }
        },
    ));
    for most in [u64::MAX, 5] {
        all(conform(
            gpu.as_ref(),
            |_| Counting { most },
            |problem, plan, semiring, value| {
                let count = semiring.settle(costs(problem).len() as u64);
                if plan.exact { assert_eq!(value, count) } else { assert!(value >= count) }
            },
        ));
    }
}
