//! One case: it is made, checked, and shrunk if it fails.

use crate::call::{Call, Runner};
use crate::task::{Case, Fault, Problem, Task};
use fangs_base::rng::Rng;
use std::time::{Duration, Instant};

/// How long a failure is shrunk.
pub const SHRINKING: Duration = Duration::from_secs(20);

/// A failure, shrunk.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The false claim of the shrunk case.
    pub fault: Fault,
    /// Its call.
    pub call: Call,
    /// How many times it became smaller.
    pub steps: u32,
}

/// What a case came to.
#[derive(Clone, Debug)]
pub struct Played {
    /// How it ended, in a word.
    pub ended: &'static str,
    /// Its failure, if it has one.
    pub failure: Option<Failure>,
}

/// Plays the case of a seed: makes it, checks it, and shrinks it if it fails.
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

/// Makes a failing case smaller as long as it fails in the same way.
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
