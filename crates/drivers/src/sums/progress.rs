//! What walks on sums decide by, how far they have come, and where the next ones begin.

use crate::core::sum_space::SumSpace;
use crate::device::shared::{constants, device_structs};
use crate::rng::{below, mix};
use crate::tuning::sums::{CHAIN, COLD, COOLER, FIRST_LENGTH, TRIED};
use crate::tuning::walks::LOOK_EVERY;
use crate::walks::search::Progress;
use std::f64::consts::LN_2;
use std::sync::Arc;

/// Not among the violated ones.
pub(super) const NOWHERE: u32 = u32::MAX;
/// What a walk has of the one before in its slot: where that ended, and its prices.
pub(super) const VALUES: u32 = 1;
pub(super) const PRICES: u32 = 2;
/// Prices stay within, so that all sums of them are numbers.
pub(super) const LEAST_PRICE: f64 = 1e-100;
pub(super) const LARGEST_PRICE: f64 = 1e100;
/// No walk is longer.
const LONGEST: u64 = 1 << 40;

/// What a step decides, numbered: its bits are mixed from the step's draw and this.
pub(super) mod decision {
    /// A variable.
    pub const ANY: u64 = 0;
    /// Whether it is one of a violated sum, of which sum, and which.
    pub const OF_BROKEN: u64 = 1;
    pub const BROKEN: u64 = 2;
    pub const READER: u64 = 3;
    /// Whether the move is taken.
    pub const ACCEPT: u64 = 4;
    /// Where to look for each answer.
    pub const ANSWERS: u64 = 1 << 4;
    /// Other variables, of which one that violates is taken.
    pub const OTHERS: u64 = 1 << 8;
    /// Which values of a variable are tried: of the first one, and of those that are looked at for each answer.
    pub const CHOICES: u64 = 1 << 16;
    /// The beginning of a walk decides as a step of this number, how warm it is and whether it goes on.
    pub const BEGINNING: u64 = 0;
    pub const WARMTH: u64 = 0;
    pub const GOES_ON: u64 = 1;
}

/// The constants as kernels have them.
pub(super) fn declared() -> String {
    use decision::{ACCEPT, ANSWERS, ANY, BROKEN, CHOICES, OF_BROKEN, OTHERS, READER};
    constants! {
        u32: NOWHERE, VALUES, PRICES, LOOK_EVERY, CHAIN, TRIED, FRACTIONS;
        u64: ANY, OF_BROKEN, BROKEN, READER, ACCEPT, ANSWERS, OTHERS, CHOICES;
    }
}

/// Fractions between a half and one, of which logarithms are kept.
const FRACTIONS: usize = 1 << 10;

/// What walks read.
#[derive(Debug)]
pub(crate) struct Ground {
    pub space: Arc<SumSpace>,
    /// How far below 0 the logarithms of the fractions are.
    pub logarithms: Vec<f64>,
}

impl Ground {
    pub fn new(space: Arc<SumSpace>) -> Self {
        let logarithm = |k: usize| -(((FRACTIONS + k) as f64 + 0.5) / (2 * FRACTIONS) as f64).ln();
        Ground { space, logarithms: (0..FRACTIONS).map(logarithm).collect() }
    }

    /// How far below 0 the logarithm of a number is that was drawn evenly from 0 to 1.
    pub fn threshold(&self, bits: u64) -> f64 {
        let bits = bits | 1;
        let halvings = bits.leading_zeros();
        let fraction = (bits << halvings) >> 53;
        f64::from(halvings) * LN_2 + self.logarithms[fraction as usize % FRACTIONS]
    }
}

/// Which of a variable's values are tried, one after the other around the list: the first and how many, its own one
/// among them or not. There are at least two.
pub(super) fn window(who: u64, values: usize) -> (usize, usize) {
    if values == 2 {
        return (0, 2);
    }
    let doublings = below(mix(who, 0), u64::from((values - 1).ilog2()) + 1);
    (below(who, values as u64) as usize, ((1 << doublings) + 1).min(values))
}

device_structs! {
    /// How far a walk has come: all but its tables.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub(crate) struct SumProgress as "WalkProgress" {
        /// Of the walk; 0 before the first.
        pub key: u64,
        /// Sum of the tables' entries, and what the sums that are not violated cost.
        pub(super) energy: i64,
        pub(super) charged: i64,
        /// The least cost without a violated sum, and that of the first assignment.
        pub best: i64,
        pub(super) begun: i64,
        /// By how much the temperature falls with each move.
        pub(super) temperature: f64,
        pub(super) cooling: f64,
        /// What moves of earlier walks cost on average.
        climb: f64,
        /// Sum and number of what moves would have cost.
        pub(super) climbs: f64,
        pub(super) climbed: u64,
        /// Moves of this walk, and how many it makes.
        pub(super) step: u64,
        pub(super) length: u64,
        /// Moves of all walks in the slot, and values looked at.
        pub(super) moves: u64,
        pub(super) ratings: u64,
        /// Moves until prices change.
        pub(super) left: u32,
        /// Sums that are violated.
        pub broken: u32,
        /// What it begins with.
        pub(super) kept: u32,
        /// The kernels have padding there.
        padding as "": u32,
    }
}

impl SumProgress {
    /// The walk after this one in its slot: at other values, or where this one ended. `climb` is what moves cost.
    pub fn next(&self, key: u64, goes_on: bool, climb: f64, space: &SumSpace) -> SumProgress {
        let length = self.next_length(space);
        let warmth = climb / f64::from(1u32 << below(mix(mix(key, decision::BEGINNING), decision::WARMTH), COOLER));
        let prices = if self.key == 0 { 0 } else { PRICES };
        SumProgress {
            key,
            best: i64::MAX,
            begun: i64::MAX,
            temperature: warmth,
            cooling: (-COLD.ln() / length as f64).exp(),
            climb,
            length,
            moves: self.moves,
            ratings: self.ratings,
            kept: prices | if goes_on { VALUES } else { 0 },
            ..SumProgress::default()
        }
    }

    pub fn is_over(&self) -> bool {
        self.step >= self.length
    }

    /// What moves that cost something cost on average, in this walk if there were any.
    pub fn climb(&self) -> f64 {
        if self.climbed > 0 { self.climbs / self.climbed as f64 } else { self.climb }
    }

    /// Moves of the walk after it.
    fn next_length(&self, space: &SumSpace) -> u64 {
        match self.key {
            0 => FIRST_LENGTH * space.free.len() as u64,
            _ if self.best < self.begun => self.length,
            _ => (2 * self.length).min(LONGEST),
        }
    }

    /// Moves that are left, of the walk after it where it is over.
    pub fn remaining(&self, space: &SumSpace) -> u64 {
        if self.is_over() { self.next_length(space) } else { self.length - self.step }
    }
}

impl Progress for SumProgress {
    fn counted(&self) -> (u64, u64) {
        (self.moves, self.ratings)
    }

    /// The least cost, after all where there never was a walk.
    fn quality(&self) -> (u32, i64) {
        if self.key == 0 { (1, i64::MAX) } else { (0, self.best) }
    }
}
