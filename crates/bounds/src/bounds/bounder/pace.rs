//! The progress of the bounds, which decides their share of a run.

use super::Bounder;

/// A stage that closes less than this part of the gap closes almost nothing of it.
const HARDLY_ANY: f64 = 0.02;

/// How well the bounds progress, according to the last stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// The stage closed almost nothing of the gap.
    Slow,
    /// The stage closed a part of the gap.
    #[default]
    Steady,
    /// A branch and bound estimates that it is about to end.
    Ending,
}

impl Bounder {
    /// Notes that a result has closed `part` of the gap. A branch and bound has several results before its stage ends.
    pub fn note_gap(&mut self, part: f64) {
        self.closed += part;
        if !self.is_at_work() {
            let slow = std::mem::take(&mut self.closed) < HARDLY_ANY;
            self.pace = match slow {
                _ if self.ends_soon() => Pace::Ending,
                true => Pace::Slow,
                false => Pace::Steady,
            };
        }
    }

    /// Returns how well the bounds progress, according to the last stage.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Returns whether the bounds should have most of the time or of the threads: for exact eliminations, in which all
    /// threads take part, and for branch and bound near its end.
    pub fn leads(&self) -> bool {
        self.is_exact() || self.pace == Pace::Ending
    }
}
