//! The decisions of walks on sums, their progress, and where the next ones begin.

use crate::constants::sums::{CHAIN, COLD, TRIED};
use crate::constants::walks::LOOK_EVERY;
use crate::core::sum_space::SumSpace;
use crate::device::shared::{constants, device_structs};
use crate::rng::{below, mix};
use crate::tuning::tuning;
use crate::walks::search::Progress;
use std::f64::consts::LN_2;
use std::sync::Arc;

/// The position of a sum that is not violated.
pub(super) const NOWHERE: u32 = u32::MAX;
/// A flag: the walk begins at the end of the previous one in its slot.
pub(super) const VALUES: u32 = 1;
/// A flag: the walk takes over the prices of the previous one in its slot.
pub(super) const PRICES: u32 = 2;
/// The lowest price; the limits keep all sums of prices finite.
pub(super) const LEAST_PRICE: f64 = 1e-100;
/// The highest price; the limits keep all sums of prices finite.
pub(super) const LARGEST_PRICE: f64 = 1e100;
/// Largest number of moves of a walk.
const LONGEST: u64 = 1 << 40;

/// The numbers of a step's decisions. The random bits of a decision are mixed from the step's draw and its number.
pub(super) mod decision {
    /// A variable.
    pub const ANY: u64 = 0;
    /// Whether the variable is one of a violated sum.
    pub const OF_BROKEN: u64 = 1;
    /// Which violated sum.
    pub const BROKEN: u64 = 2;
    /// Which variable of the sum.
    pub const READER: u64 = 3;
    /// Whether the move is accepted.
    pub const ACCEPT: u64 = 4;
    /// The first variable tried for each repair.
    pub const ANSWERS: u64 = 1 << 4;
    /// Other variables, of which one that violates a function is taken.
    pub const OTHERS: u64 = 1 << 8;
    /// The values of a variable that are tried, for the first one and for those tried in each repair.
    pub const CHOICES: u64 = 1 << 16;
    /// The number of the step to which the decisions at the beginning of a walk belong.
    pub const BEGINNING: u64 = 0;
    /// The initial temperature of a walk.
    pub const WARMTH: u64 = 0;
    /// Whether a walk continues where the last one ended.
    pub const GOES_ON: u64 = 1;
}

/// Returns the declarations of the constants for the kernels.
pub(super) fn declared() -> String {
    use decision::{ACCEPT, ANSWERS, ANY, BROKEN, CHOICES, OF_BROKEN, OTHERS, READER};
    constants! {
        u32: NOWHERE, VALUES, PRICES, LOOK_EVERY, CHAIN, TRIED, FRACTIONS;
        u64: ANY, OF_BROKEN, BROKEN, READER, ACCEPT, ANSWERS, OTHERS, CHOICES;
    }
}

/// Number of fractions between a half and one whose logarithms are tabulated.
const FRACTIONS: usize = 1 << 10;

/// The tables that walks read.
#[derive(Debug)]
pub(crate) struct Ground {
    pub space: Arc<SumSpace>,
    /// The logarithms of the fractions, negated.
    pub logarithms: Vec<f64>,
}

impl Ground {
    pub fn new(space: Arc<SumSpace>) -> Self {
        let logarithm = |k: usize| -(((FRACTIONS + k) as f64 + 0.5) / (2 * FRACTIONS) as f64).ln();
        Ground { space, logarithms: (0..FRACTIONS).map(logarithm).collect() }
    }

    /// Returns the negated logarithm of a number drawn uniformly from 0 to 1.
    pub fn threshold(&self, bits: u64) -> f64 {
        let bits = bits | 1;
        let halvings = bits.leading_zeros();
        let fraction = (bits << halvings) >> 53;
        f64::from(halvings) * LN_2 + self.logarithms[fraction as usize % FRACTIONS]
    }
}

/// Returns the window of a variable's values that are tried: the first index and the number, cyclically; the present
/// value may be among them. There are at least two values.
pub(super) fn window(who: u64, values: usize) -> (usize, usize) {
    if values == 2 {
        return (0, 2);
    }
    let doublings = below(mix(who, 0), u64::from((values - 1).ilog2()) + 1);
    (below(who, values as u64) as usize, ((1 << doublings) + 1).min(values))
}

device_structs! {
    /// The progress of a walk: all of it except its tables.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub(crate) struct SumProgress as "WalkProgress" {
        /// The key of the walk; 0 before the first.
        pub key: u64,
        /// Sum of the tables' entries.
        pub(super) energy: i64,
        /// Cost of the sums that are not violated.
        pub(super) charged: i64,
        /// The lowest cost without a violated sum.
        pub best: i64,
        /// The value of `best` at the first assignment.
        pub(super) begun: i64,
        /// The present temperature.
        pub(super) temperature: f64,
        /// The factor of the temperature with each move.
        pub(super) cooling: f64,
        /// Average cost of moves of earlier walks.
        climb: f64,
        /// Sum of the cost increases of moves, accepted or not.
        pub(super) climbs: f64,
        /// Number of the moves in `climbs`.
        pub(super) climbed: u64,
        /// Moves of this walk so far.
        pub(super) step: u64,
        /// Moves of this walk in all.
        pub(super) length: u64,
        /// Moves of all walks in the slot.
        pub(super) moves: u64,
        /// Values evaluated in all walks of the slot.
        pub(super) ratings: u64,
        /// Number of moves until prices change.
        pub(super) left: u32,
        /// Number of sums that are violated.
        pub broken: u32,
        /// The flags of what the walk takes over.
        pub(super) kept: u32,
        /// Padding of the struct in the kernels.
        padding as "": u32,
    }
}

impl SumProgress {
    /// Returns the next walk in the slot, at other values or where this one ended. `climb` is the average cost of a
    /// move.
    pub fn next(&self, key: u64, goes_on: bool, climb: f64, space: &SumSpace) -> SumProgress {
        let length = self.next_length(space);
        let warmth = climb
            / f64::from(1u32 << below(mix(mix(key, decision::BEGINNING), decision::WARMTH), tuning().sums.cooler));
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

    /// Returns the average cost of moves that increase the cost, in this walk if there were any.
    pub fn climb(&self) -> f64 {
        if self.climbed > 0 { self.climbs / self.climbed as f64 } else { self.climb }
    }

    /// Returns the number of moves of the next walk.
    fn next_length(&self, space: &SumSpace) -> u64 {
        match self.key {
            0 => tuning().sums.first_length * space.free.len() as u64,
            _ if self.best < self.begun => self.length,
            _ => (2 * self.length).min(LONGEST),
        }
    }

    /// Returns the number of moves that remain, or those of the next walk if this one is over.
    pub fn remaining(&self, space: &SumSpace) -> u64 {
        if self.is_over() { self.next_length(space) } else { self.length - self.step }
    }
}

impl Progress for SumProgress {
    fn counted(&self) -> (u64, u64) {
        (self.moves, self.ratings)
    }

    /// Returns the lowest cost; slots without a walk come last.
    fn quality(&self) -> (u32, i64) {
        if self.key == 0 { (1, i64::MAX) } else { (0, self.best) }
    }
}
