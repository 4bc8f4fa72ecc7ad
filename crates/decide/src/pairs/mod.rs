//! Elimination on pairs of probabilities and utilities.
//!
//! There are two sets of functions: probabilities, and utilities, which are expectations and not multiplied by
//! probabilities. A chance variable v turns its probabilities into phi = sum over v of their product, and each group of
//! its utilities into (sum over v of product times utility) / phi. Because expectations are linear, utilities that
//! share v stay separate if that is cheaper than their sum. A decision takes the largest sum of its utilities.
//!
//! Adoe, Chen, Doshi, section 2.1, and Jensen, Jensen, Dittmer, "From influence diagrams to junction trees", 1994, use
//! the same division. A plan orders the axes of each table by position in the elimination order, the eliminated
//! variable first. `walk` takes the steps and tracks rounding errors. The host makes the tables in the kernel of bucket
//! elimination, or a device makes them as a program of few launches.

mod cuda;
mod host;
mod plan;
#[doc(hidden)]
pub mod testing;
#[cfg(test)]
mod tests;
pub mod walk;

pub use plan::{Group, Plan, Step, plan};
pub use walk::{Maker, Outcome, Picks, Sums, Table, begin, finish, walk};

use super::device::Device;
use crate::elimination::executor::Failure;
use crate::error::Error;
use crate::model::Potential;
use crate::stop::Stop;
use host::Host;

/// Functions over variables, and the order of blocks in which they are eliminated.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// Domain sizes.
    pub domains: Vec<u32>,
    /// Probabilities.
    pub probabilities: Vec<Potential>,
    /// Utilities.
    pub utilities: Vec<Potential>,
    /// Blocks of variables in the order of elimination, each with whether its variables are decisions, which are
    /// maximised. Variables in no block are not eliminated.
    pub blocks: Vec<(bool, Vec<u32>)>,
}

/// The device and the memory for tables.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The device, or the CPU.
    pub device: &'a Device,
    /// Bytes of host memory for tables.
    pub memory: f64,
}

/// Executes a plan. Returns `None` if its tables have no room.
///
/// # Errors
/// Returns an error if probabilities depend on a decision by more than `irregular`, relatively, or if there is no
/// memory, and [`Error::Stopped`] if `stop` is set.
pub fn execute(
    pairs: &Pairs,
    plan: &Plan,
    irregular: f64,
    place: Place<'_>,
    stop: &Stop,
) -> Result<Option<Outcome>, Error> {
    let fits = plan.peak_bytes <= place.memory;
    if let Some(gpu) = place.device.gpu(plan.joint_entries, !fits, stop)? {
        let begun = begin(pairs, plan)?;
        match cuda::execute(&gpu, plan, &begun, irregular, stop) {
            Ok(Ok(outcome)) => {
                place.device.served(&gpu);
                return Ok(Some(outcome));
            }
            Ok(Err(bytes)) => place.device.no_room(&gpu, bytes),
            Err(Failure::Host(error)) => return Err(error),
            Err(Failure::Device(error)) => place.device.lose(&gpu, &error),
        }
    }
    if !fits {
        return Ok(None);
    }
    let mut begun = begin(pairs, plan)?;
    let functions = (std::mem::take(&mut begun.probabilities), std::mem::take(&mut begun.utilities));
    let mut host = Host::new(plan, stop);
    let left = walk(plan, &mut host, functions, irregular, stop)?;
    finish(plan, &begun, &left, host.exponent, host.picks, stop).map(Some)
}
