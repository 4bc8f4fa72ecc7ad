//! Elimination on pairs of probabilities and utilities.
//!
//! Two sets of functions are kept: probabilities, and utilities, which are expectations and not multiplied by
//! probabilities. A chance variable v takes its probabilities to phi = sum over v of their product, and each group of
//! its utilities to (sum over v of product times utility) / phi. As expectations are linear, utilities that share v
//! stay apart where that is cheaper than to add them up. A decision takes the largest sum of its utilities.
//!
//! (Adoe, Chen, Doshi, section 2.1, have the same division; Jensen, Jensen, Dittmer, "From influence diagrams to
//! junction trees", 1994.) Tables are laid out by plans: by positions in the elimination order, the
//! eliminated first. `walk` takes the steps and counts roundings; the tables are made by the host, in the
//! kernel of bucket elimination, or on a device, as a program of few launches.

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
    /// Variables in the order of elimination, and whether they are decisions, over which the largest is taken. What is
    /// in no block is left.
    pub blocks: Vec<(bool, Vec<u32>)>,
}

/// Where tables may be made.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The device, or the CPU.
    pub device: &'a Device,
    /// Bytes of the host that they may take.
    pub memory: f64,
}

/// Executes a plan; nothing where its tables have no room. A decision on which probabilities depend by more than
/// `irregular`, relatively, is an error.
///
/// # Errors
/// [`Error::Stopped`], no memory, a diagram that is not regular.
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
