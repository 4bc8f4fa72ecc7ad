//! The parameters of a generation of offspring, and the interface of populations.
//!
//! A child is a function of the population before it, its slot and the parameters of the generation. Each of its random
//! decisions is mixed from the generation's draw, the slot and the number of the decision. Offspring can therefore be
//! made in any order and on any machine with equal results: `CpuPopulation` makes them on the CPU, and a device runs
//! the same program as a kernel.

use crate::core::context::SearchContext;
use crate::core::effort::LostDevice;
use crate::core::elite::Elite;
use crate::core::schedule::Schedule;
use crate::device::DeviceError;
use crate::device::shared::{constants, device_structs, table};
use crate::fang::boltzmann::Boltzmann;
use crate::rng::{below, mix};
use crate::stop::Stop;
use crate::tuning::{
    COLD_SHARES, GREEDY_SWEEPS, GROUP, REGION_SHARES, STEPS, TREE_EVERY, TREE_SWEEPS, VIOLATIONS_COLD, VIOLATIONS_HOT,
    VIOLATIONS_VALUES,
};
use crate::value_tables::ValueTables;
use std::ops::Range;

/// The numbers of a child's decisions. The random bits of a decision are [`mix`]ed from the child's key and its number.
pub(crate) mod decision {
    pub const COLD: u64 = 0;
    pub const REGION: u64 = 1;
    pub const TREE: u64 = 2;
    pub const BEFORE: u64 = 3;
    pub const SIZE: u64 = 5;
    pub const SHAPE: u64 = 6;
    /// Random values; mixed once more with the number of the variable.
    pub const VALUES: u64 = 7;
    /// Two numbers for each attempt.
    pub const SECOND_PARENT: u64 = 8;
    pub const TIES_BEFORE: u64 = 16;
    pub const TIES_AFTER: u64 = 17;
    /// Two numbers for each sweep: the draw of the sweep (or, with the key of the group, its order) and that of the
    /// tree move (or its forest).
    pub const PASSES: u64 = 64;
    /// Mixed with the generation's draw: the keys of groups are numbered from here on.
    pub const OF_GROUP: u64 = 1 << 40;
    /// Mixed with the generation's draw: the key of decisions that all offspring share.
    pub const OF_ALL: u64 = 1 << 41;
}

/// Returns the declarations of the constants that kernels use.
pub(super) fn declared() -> String {
    use decision::{
        BEFORE, COLD, OF_ALL, OF_GROUP, PASSES, REGION, SECOND_PARENT, SHAPE, SIZE, TIES_AFTER, TIES_BEFORE, TREE,
        VALUES,
    };
    let constants = constants! {
        i32: ALL_MOVE, COLD, REGION, TREE, BEFORE, SIZE, SHAPE, VALUES, SECOND_PARENT, TIES_BEFORE, TIES_AFTER, PASSES;
        u64: OF_GROUP, OF_ALL;
        u32: GROUP, STEPS, TREE_EVERY, GREEDY_SWEEPS;
    };
    constants + &table("REGION_SHARES", &REGION_SHARES)
}

device_structs! {
    /// The parameters that all offspring of a generation share.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Generation as "Generation" {
        pub draw: u64,
        /// The number of states of a subpopulation; these neighbouring slots take second parents from each other. It is
        /// 0 if offspring begin at random values.
        pub subpopulation: u32,
        /// Sweeps of a child, greedy ones not counted.
        pub sweeps: u32,
        /// Cumulative probabilities of the choices, in units of 2^-32.
        pub cold: [u32; 8],
        pub region: [u32; 4],
        pub tree: [u32; 2],
        pub before: [u32; 2],
        /// The step of the schedule at which offspring of each choice begin.
        pub starts: [u32; 8],
    }
}

/// The choices of a child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChildPlan {
    pub cold: usize,
    pub region: usize,
    pub tree: bool,
    pub before: bool,
}

impl Generation {
    /// Returns the steps of the schedule at which offspring may begin.
    pub fn starts() -> [u32; 8] {
        COLD_SHARES.map(|share| ((1.0 - share) * (STEPS - 1) as f64) as u32)
    }

    pub fn opens(&self) -> bool {
        self.subpopulation == 0
    }

    pub fn key(&self, slot: usize) -> u64 {
        mix(self.draw, slot as u64)
    }

    pub fn group_key(&self, slot: usize) -> u64 {
        mix(self.draw, decision::OF_GROUP + slot as u64 / GROUP)
    }

    /// Returns the choices of the child with `key`. Whether it makes tree moves is chosen for the whole generation: on
    /// a device all offspring begin together and the slowest ends the generation.
    pub fn plan(&self, key: u64) -> ChildPlan {
        if self.opens() {
            return ChildPlan::default();
        }
        let choose = |key, decision, shares: &[u32]| {
            let bits = (mix(key, decision) >> 32) as u32;
            shares.iter().take_while(|&&share| bits > share).count().min(shares.len() - 1)
        };
        let shared = mix(self.draw, decision::OF_ALL);
        ChildPlan {
            cold: choose(key, decision::COLD, &self.cold),
            region: choose(key, decision::REGION, &self.region),
            tree: choose(shared, decision::TREE, &self.tree) == 1,
            before: choose(key, decision::BEFORE, &self.before) == 1,
        }
    }

    pub fn step(&self, plan: ChildPlan, pass: u32) -> usize {
        let from = if self.opens() { 0 } else { self.starts[plan.cold] };
        let last = (self.sweeps - 1).max(1);
        (from + (u64::from(STEPS as u32 - 1 - from) * u64::from(pass) / u64::from(last)) as u32) as usize
    }

    /// Returns the number of variables that the child with `key` copies from its second parent.
    pub fn region_size(plan: ChildPlan, key: u64, variables: usize) -> usize {
        let part = (1 << 16) + (mix(key, decision::SIZE) >> 48);
        let share = (REGION_SHARES[plan.region] * part) >> 17;
        ((share * variables as u64) >> 16).max(1) as usize
    }

    /// Chooses a second parent from the subpopulation by tournaments of two, until it differs from the parent. Returns
    /// its slot and whether it differs.
    pub fn second_parent(
        &self,
        key: u64,
        slot: usize,
        states: usize,
        total: impl Fn(usize) -> i64,
        hash: impl Fn(usize) -> u64,
    ) -> (usize, bool) {
        let subpopulation = self.subpopulation.max(1) as usize;
        let first = slot / subpopulation * subpopulation;
        let members = subpopulation.min(states - first) as u64;
        let mut second_parent = slot;
        for attempt in 0..4 {
            let drawn = |k| first + below(mix(key, decision::SECOND_PARENT + 2 * attempt + k), members) as usize;
            let (a, b) = (drawn(0), drawn(1));
            second_parent = if total(b) < total(a) { b } else { a };
            if hash(second_parent) != hash(slot) {
                return (second_parent, true);
            }
        }
        (second_parent, false)
    }
}

/// The temperatures of an anneal, and the variables that move in it.
#[derive(Clone, Debug)]
pub(crate) struct Heat {
    /// The temperatures, from hot to cold.
    pub steps: Vec<Boltzmann>,
    /// The minimum cost of a variable's present value at which the variable moves: that of a violation, or
    /// [`ALL_MOVE`].
    pub least: i32,
}

impl Default for Heat {
    fn default() -> Heat {
        Heat { steps: Vec::new(), least: ALL_MOVE }
    }
}

/// A minimum cost below all evaluations, so that all variables move.
pub(crate) const ALL_MOVE: i32 = i32::MIN;

/// Returns the temperatures of a schedule, at which all variables move.
pub(crate) fn steps(schedule: Schedule) -> Heat {
    let at = |step| Boltzmann::new(schedule.at(step as f64 / (STEPS - 1) as f64));
    Heat { steps: (0..STEPS).map(at).collect(), least: ALL_MOVE }
}

/// Returns the temperatures at which violations appear and disappear and only variables in violated functions move.
/// They are relative to the price of a violation, and lower if variables have more values.
pub(crate) fn among_violations(tables: &ValueTables) -> Heat {
    let n = tables.variables().max(1);
    let values = (0..n).map(|v| tables.domain(v) as f64).sum::<f64>() / n as f64;
    let others = VIOLATIONS_VALUES * (values - 1.0).max(1.0).ln();
    let at = |exponent: f64| f64::from(tables.hard) / (exponent + others);
    let schedule = Schedule { hot: at(VIOLATIONS_HOT), cold: at(VIOLATIONS_COLD) };
    Heat { least: tables.hard, ..steps(schedule) }
}

device_structs! {
    /// The results of the choices of a generation: for each arm the gain and the work. A gain is an offspring better
    /// than its parent; on large problems it is the decrease in energy.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Tally as "Tally" {
        pub cold: [[u64; 2]; 8],
        pub region: [[u64; 2]; 4],
        pub tree: [[u64; 2]; 2],
        pub before: [[u64; 2]; 2],
    }
}

impl Tally {
    /// Counts a child with the choices of `plan` and the given gain.
    pub fn note(&mut self, plan: ChildPlan, won: u64) {
        let arms: [&mut [u64; 2]; 4] = [
            &mut self.cold[plan.cold],
            &mut self.region[plan.region],
            &mut self.tree[usize::from(plan.tree)],
            &mut self.before[usize::from(plan.before)],
        ];
        for arm in arms {
            *arm = [arm[0] + won, arm[1] + 1];
        }
    }
}

/// The offspring that a population made in one call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offspring {
    pub moves: u64,
    pub ratings: u64,
    /// The number of offspring made, which is less than requested after a stop.
    pub made: usize,
    /// The sweeps made in this call of a child in the making.
    pub sweeps: u32,
    /// The best child and the best child without violations, if they are better than all before.
    pub best: Vec<Elite>,
    /// The device that has failed, if the other devices continue without it.
    pub lost: Option<LostDevice>,
}

/// A population after replacement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replacement {
    pub tally: Tally,
    pub best: i64,
    /// The number of elites with the best energy.
    pub at_best: usize,
}

/// A population of states, and the place where its offspring are made.
pub(crate) trait Population: Send {
    /// Returns the number of states that suits the reduced problem in the `epoch`-th pool, if the user has not set one.
    /// `base_sweeps` are the sweeps of the first offspring.
    fn suitable_states(&mut self, context: &SearchContext, base_sweeps: u32, epoch: u32) -> Result<usize, DeviceError>;

    fn most_states(&self, context: &SearchContext) -> Result<usize, DeviceError>;

    /// Returns the number of sweeps that take as long as a tree move.
    fn tree_sweeps(&self, context: &SearchContext) -> f64 {
        let _ = context;
        TREE_SWEEPS
    }

    /// Returns the work that the population does while a core of the CPU does one unit.
    fn speed(&self, context: &SearchContext) -> u64 {
        let _ = context;
        1
    }

    /// Returns whether all threads, or a whole device, make one child together.
    fn is_together(&self, context: &SearchContext) -> bool {
        let _ = context;
        false
    }

    /// Returns whether all offspring of a generation take about as long as a few of them, so that they are made at
    /// once.
    fn at_once(&self) -> bool {
        false
    }

    /// Discards all states and allocates `states` new ones. `seeds`, at most that many, take the first slots.
    fn open(&mut self, context: &SearchContext, states: usize, seeds: &[Elite]) -> Result<(), DeviceError>;

    fn heat(&mut self, heat: Heat) -> Result<(), DeviceError>;

    /// Makes the offspring of a range of slots.
    fn make_offspring(
        &mut self,
        context: &SearchContext,
        generation: &Generation,
        slots: Range<usize>,
        stop: &Stop,
    ) -> Result<Offspring, DeviceError>;

    /// Lets offspring replace their parents if they are new and not worse. All offspring must have been made.
    fn replace(&mut self, context: &SearchContext, generation: &Generation) -> Result<Replacement, DeviceError>;

    /// Makes and replaces a whole generation of `states` offspring, for a population that makes them at once. The
    /// replacement is `None` if a stop came before the last child.
    fn make_generation(
        &mut self,
        context: &SearchContext,
        generation: &Generation,
        states: usize,
        stop: &Stop,
    ) -> Result<(Offspring, Option<Replacement>), DeviceError> {
        let offspring = self.make_offspring(context, generation, 0..states, stop)?;
        let replacement = if offspring.made == states { Some(self.replace(context, generation)?) } else { None };
        Ok((offspring, replacement))
    }

    /// Replaces the elite that differs least from `elite` (the first of equals) by it.
    fn adopt(&mut self, elite: &Elite) -> Result<(), DeviceError>;

    /// Returns up to `count` evaluated elites, best first, ties by slot. Their energies may lack the violations.
    fn top(&self, count: usize) -> Result<Vec<Elite>, DeviceError>;

    /// Returns the best elite, ties by hash, or `None` if there is no evaluated elite.
    fn best(&self, context: &SearchContext) -> Result<Option<Elite>, DeviceError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn second_parents_are_of_the_same_subpopulation_and_all_of_it_are_drawn() {
        let mut rng = Rng::new(6);
        for (states, subpopulation) in [(10, 4), (12, 3), (5, 1), (7, 7), (264, 17)] {
            let generation = Generation { subpopulation: subpopulation as u32, ..Generation::default() };
            let mut drawn = vec![false; states];
            for _ in 0..100 {
                for slot in 0..states {
                    // all alike but for their hashes: the first one drawn differs
                    let (second_parent, differs) =
                        generation.second_parent(rng.draw(), slot, states, |_| 0, |slot| slot as u64);
                    assert!(
                        second_parent / subpopulation == slot / subpopulation && differs == (second_parent != slot)
                    );
                    drawn[second_parent] |= differs;
                }
            }
            assert!(subpopulation == 1 || drawn.iter().all(|&drawn| drawn), "{states} {subpopulation}");
        }
    }
}
