//! The effort and the notices of a driver's rounds.

use crate::device::DeviceError;
use crate::model::Cost;
use crate::picks::Picks;

/// The effort and the notices of one round, or of several together.
#[derive(Clone, Debug, Default)]
pub struct Effort {
    /// Changed values.
    pub moves: u64,
    /// Candidate values evaluated.
    pub ratings: u64,
    /// Work done, in the unit of the context's `sweep_work`; on a device, the work of the CPU in the same time.
    pub work: u64,
    /// A note for the user.
    pub note: Option<String>,
    /// The reason why there are fewer states than requested.
    pub clipped: Option<String>,
    /// The error of the device if it failed. The driver continues without it.
    pub lost: Option<DeviceError>,
    /// The further device that failed while it shared the driver's work. The driver continues without it.
    pub lost_partner: Option<LostDevice>,
    /// Counts of a plug-in heuristic's samples.
    pub picks: Picks,
    /// A description of invalid values of a plug-in heuristic.
    pub nonsense: Option<String>,
    /// A failed assertion, which ends the run.
    pub fault: Option<String>,
    /// A solution of the network that the pool need not contain.
    pub found: Option<Found>,
}

/// A device that has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostDevice {
    /// The number of the device.
    pub ordinal: usize,
    /// The error.
    pub error: DeviceError,
}

/// A solution that a driver found on the network, not on the reduced problem.
#[derive(Clone, Debug)]
pub struct Found {
    /// The driver's name.
    pub source: &'static str,
    /// The cost in the network's units.
    pub cost: Cost,
    /// The value of each variable.
    pub values: Vec<u32>,
}

impl Effort {
    /// Adds the effort of concurrent work, and its notices of each kind that has none here. Failed devices are not
    /// added, because their drivers report them.
    pub fn add(&mut self, other: &Effort) {
        self.moves += other.moves;
        self.ratings += other.ratings;
        self.work += other.work;
        self.picks.add(&other.picks);
        let first = |own: &mut Option<String>, other: &Option<String>| {
            if own.is_none() {
                own.clone_from(other);
            }
        };
        first(&mut self.note, &other.note);
        first(&mut self.clipped, &other.clipped);
        first(&mut self.nonsense, &other.nonsense);
        first(&mut self.fault, &other.fault);
        let found = other.found.as_ref().filter(|found| self.found.as_ref().is_none_or(|own| found.cost < own.cost));
        if let Some(found) = found {
            self.found = Some(found.clone());
        }
    }
}
