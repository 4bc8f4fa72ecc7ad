//! The decisions of tabu walks, and the constants that they share with the kernels. Tenures are integers.

use crate::constants::tabu::{CALM, CONFLICTS, REMEMBERED};
use crate::constants::{tabu, walks::LOOK_EVERY};
use crate::device::shared::{constants, device_structs};
use crate::rng::{below, mix};
use crate::value_tables::PADDING;
use crate::walks::search::Progress;

/// The tabu limit of a variable's present value and of padding, which are always tabu: taking them changes nothing, and
/// aspiration requires a gain.
pub(crate) const HELD: u32 = u32::MAX;
/// A tenure of one step, in the unit of [`TabuProgress::tenure`].
pub(crate) const TENURE_ONE: u32 = 256;
const FIRST_TENURE: u32 = tabu::FIRST_TENURE * TENURE_ONE;
const LEAST_TENURE: u32 = tabu::LEAST_TENURE * TENURE_ONE;
/// Largest number of steps of a walk, because steps are counted in 32 bits.
const LONGEST: u32 = 1 << 30;

/// Returns the declarations of the constants for the kernels.
pub(super) fn declared() -> String {
    constants! {
        u32: HELD, TENURE_ONE, FIRST_TENURE, LEAST_TENURE, CALM, REMEMBERED, CONFLICTS, LOOK_EVERY;
        i32: PADDING;
    }
}

device_structs! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct TabuProgress as "WalkProgress" {
        /// The key of the walk; 0 before the first.
        pub key: u64,
        /// Sum of the tables' entries.
        pub energy: i64,
        pub best: i64,
        pub hash: u64,
        pub best_hash: u64,
        /// Moves of all walks in the slot.
        pub moves: u64,
        /// Steps of this walk. A step makes no move if all are tabu.
        pub step: u32,
        pub best_step: u32,
        /// The step at which the tenure last changed.
        pub changed: u32,
        /// How long the value that a variable leaves is tabu, in 256ths of a step; the actual number is drawn from half
        /// of it to one and a half of it.
        pub tenure: u32,
        pub conflicts: u32,
        /// Padding of the struct in the kernels.
        pub padding as "": u32,
    }
}

impl TabuProgress {
    /// Returns a walk that has not begun. `moves` are those of earlier walks in its slot.
    pub fn new(key: u64, moves: u64) -> TabuProgress {
        TabuProgress { key, moves, best: i64::MAX, ..TabuProgress::default() }
    }

    /// Returns the walk at its first assignment.
    pub fn at_begin(self, energy: i64, hash: u64, conflicts: u32) -> TabuProgress {
        let (best, best_hash, tenure) = (energy, hash, FIRST_TENURE);
        TabuProgress { energy, best, hash, best_hash, conflicts, tenure, ..self }
    }

    /// Returns whether the walk is over: there was no new best for `patience` steps, or there was no walk.
    pub fn is_over(&self, patience: u32) -> bool {
        self.key == 0 || self.step - self.best_step > patience || self.step > LONGEST
    }

    pub fn draw(&self) -> u64 {
        mix(self.key, u64::from(self.step))
    }

    /// Returns the difference below which a move leads to a new best.
    pub fn aspired(&self) -> i32 {
        (self.best - self.energy).clamp(i64::from(i32::MIN / 2), 0) as i32
    }

    /// Returns the step until which a value is tabu that is left in the next step: by the tenure, plus 0.6 steps for
    /// each variable in conflict, as in Galinier and Hao's tabu search for coloring.
    pub fn until(&self, variables: usize) -> u32 {
        let tenure = self.tenure / TENURE_ONE;
        let drawn = below(mix(self.draw(), 0), u64::from(tenure) + 1) as u32 + tenure / 2;
        self.step + 2 + drawn + self.conflicts.min(variables as u32 / CONFLICTS) * 3 / 5
    }

    /// Adapts the tenure: a repeated assignment lengthens it, and a long time without one shortens it (Battiti and
    /// Tecchiolli's reactive tabu search).
    pub fn react(&mut self, repeated: bool, variables: usize) {
        let longest = (variables as u32 * (TENURE_ONE / 2)).max(LEAST_TENURE);
        if repeated {
            self.tenure = (self.tenure + self.tenure / 10 + TENURE_ONE).min(longest);
        } else if self.step - self.changed > CALM {
            self.tenure = (self.tenure - self.tenure / 20).max(LEAST_TENURE);
        } else {
            return;
        }
        self.changed = self.step;
    }
}

impl Progress for TabuProgress {
    fn counted(&self) -> (u64, u64) {
        (self.moves, 0)
    }

    fn quality(&self) -> (u32, i64) {
        (0, self.best)
    }
}
