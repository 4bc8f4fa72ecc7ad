//! What a round of a driver did.

use crate::device::DeviceError;
use crate::model::Cost;
use crate::picks::Picks;

/// What a round did, or several together.
#[derive(Clone, Debug, Default)]
pub struct Effort {
    /// Assignments that changed a value.
    pub moves: u64,
    /// Candidate values rated.
    pub ratings: u64,
    /// Work done, in the unit of the context's `sweep_work`; on a device as much as the CPU does in the same time.
    pub work: u64,
    /// What the user may want to know.
    pub note: Option<String>,
    /// There are fewer states than were asked for: why.
    pub clipped: Option<String>,
    /// The device failed: why. The driver goes on without it.
    pub lost: Option<DeviceError>,
    /// The further device that failed while it shared the driver's work. The driver continues without it.
    pub lost_partner: Option<LostDevice>,
    /// What came of a plug-in heuristic.
    pub picks: Picks,
    /// What of that makes no sense.
    pub nonsense: Option<String>,
    /// What an assertion found: the run ends.
    pub fault: Option<String>,
    /// A solution of the network that the pool need not have.
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

/// A solution that a driver found on the network, not on the core.
#[derive(Clone, Debug)]
pub struct Found {
    /// The driver's name.
    pub source: &'static str,
    /// Its cost in the network's units.
    pub cost: Cost,
    /// The value of each variable.
    pub values: Vec<u32>,
}

impl Effort {
    /// Adds what others did meanwhile; of what there is to say, one of a kind. What was lost is theirs to tell.
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
