//! Helpers for tests of this crate and of crates above.

use super::{Outcome, Plan, Progress, Run};
use crate::model::Problem;
use crate::order::Order;
use crate::rng::Rng;
use crate::stop::Stop;
use std::sync::Arc;

/// Returns a random order.
pub fn shuffled(problem: &Problem, rng: &mut Rng) -> Order {
    let mut sequence: Vec<u32> = (0..problem.variables() as u32).collect();
    rng.shuffle(&mut sequence);
    Order::given(problem, &sequence, &Stop::new()).expect("a permutation")
}

/// Executes a plan to its end.
pub fn run(problem: &Arc<Problem>, plan: Plan) -> Outcome {
    let mut run = Run::new(problem.clone(), plan);
    assert_eq!(run.advance(u64::MAX, &Stop::new()), Progress::Done);
    run.finish().expect("the run is done")
}
