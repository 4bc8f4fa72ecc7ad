//! A case: it is created, checked, and shrunk if it fails.

use crate::call::{Call, Runner};
use crate::task::{Case, Fault, Problem, Task};
use fangs_base::rng::Rng;
use std::time::{Duration, Instant};

/// Time limit of the shrinking of a failure.
pub const SHRINKING: Duration = Duration::from_secs(20);

/// A failure after shrinking.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The false claim of the shrunk case.
    pub fault: Fault,
    /// The call of the shrunk case.
    pub call: Call,
    /// The number of shrinking steps.
    pub steps: u32,
}

/// The result of a case.
#[derive(Clone, Debug)]
pub struct Played {
    /// The end of the case, in a word.
    pub ended: &'static str,
    /// The failure, if the case failed.
    pub failure: Option<Failure>,
}

/// Creates the case of a seed, checks it, and shrinks it if it fails.
pub fn play<T: Task>(seed: u64, runner: &dyn Runner) -> Played {
    let case = T::random(&mut Rng::new(seed));
    match T::check(&case, runner) {
        Ok(ended) => Played { ended, failure: None },
        Err(fault) => {
            let (case, fault, steps) = shrink::<T>(case, fault, runner, Instant::now() + SHRINKING);
            Played { ended: "failed", failure: Some(Failure { fault, call: case.call(), steps }) }
        }
    }
}

/// Returns the call of the case of a seed.
pub fn call<T: Task>(seed: u64) -> Call {
    T::random(&mut Rng::new(seed)).call()
}

/// Shrinks a failing case as long as it fails in the same way.
fn shrink<T: Task>(
    mut case: Case<T::Problem>,
    mut fault: Fault,
    runner: &dyn Runner,
    until: Instant,
) -> (Case<T::Problem>, Fault, u32)
where
    T::Problem: Problem,
{
    let mut steps = 0;
    'smaller: loop {
        for smaller in case.smaller() {
            if Instant::now() >= until {
                break 'smaller;
            }
            match T::check(&smaller, runner) {
                Err(found) if found.kind == fault.kind => {
                    (case, fault) = (smaller, found);
                    steps += 1;
                    continue 'smaller;
                }
                _ => {}
            }
        }
        break;
    }
    (case, fault, steps)
}
