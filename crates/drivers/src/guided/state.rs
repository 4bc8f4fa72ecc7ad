//! A state of the guided search: an assignment, the costs of its values, and a memory of its passes.

use super::round_context::RoundContext;
use crate::core::layout::{UNWATCHED, ValueMove};
use crate::core::picks::Picks;
use crate::fang;
use crate::fang::Active;
use crate::heuristics::Needs;
use crate::rng::Rng;

/// The number of the pass of an event that never happened.
const NEVER: u32 = u32::MAX;

/// The memory of a state, if the heuristic reads it; `left` and `taken` by variable and value, `visits` by variable.
#[derive(Clone, Debug, Default)]
struct Memory {
    left: Vec<u32>,
    taken: Vec<u32>,
    visits: Vec<u32>,
}

#[derive(Debug, Default)]
pub(crate) struct GuidedState {
    pub values: Vec<u16>,
    active: Active,
    rng: Option<Rng>,
    /// The cost of each value, given the values of the other variables, above the variable's floor; empty if it is not
    /// kept.
    costs: Vec<i32>,
    /// The number of functions that each value violates; empty if it is not needed.
    conflicts: Vec<i32>,
    /// A copy of the values in the form that mini-buckets read; empty if there are none.
    pub wide: Vec<u32>,
    memory: Memory,
    /// The sum of the rows' entries.
    pub energy: i64,
    /// The lowest energy of all trajectories.
    pub record: i64,
    /// The best assignment of this trajectory after its first move.
    best: Vec<u16>,
    pub best_energy: i64,
    moved: bool,
    /// Passes made.
    pub pass: u32,
    /// The value of `pass` at the last record.
    pub improved: u32,
    pub temperature: f64,
    pub picks: Picks,
    /// Changed values, including those of the final pass.
    pub moves: u64,
    /// A variable all of whose values had weight 0, and the value that it kept.
    pub weightless: Option<(usize, u16)>,
    pub senseless: Option<(u32, u16)>,
    pub fault: Option<String>,
}

impl Clone for GuidedState {
    fn clone(&self) -> Self {
        let mut clone = GuidedState::default();
        clone.clone_from(self);
        clone
    }

    /// Reuses the vectors' memory. The counters of a trajectory start again.
    fn clone_from(&mut self, source: &Self) {
        self.values.clone_from(&source.values);
        self.active.clone_from(&source.active);
        self.rng.clone_from(&source.rng);
        self.costs.clone_from(&source.costs);
        self.conflicts.clone_from(&source.conflicts);
        self.wide.clone_from(&source.wide);
        self.memory.left.clone_from(&source.memory.left);
        self.memory.taken.clone_from(&source.memory.taken);
        self.memory.visits.clone_from(&source.memory.visits);
        self.best.clone_from(&source.values);
        (self.energy, self.record) = (source.energy, source.record);
        (self.pass, self.improved) = (source.pass, source.improved);
        (self.best_energy, self.moved, self.temperature) = (i64::MAX, false, source.temperature);
        (self.picks, self.moves) = (Picks::default(), 0);
        (self.weightless, self.senseless, self.fault) = (None, None, None);
    }
}

impl fang::State for GuidedState {
    #[inline(always)]
    fn active(&mut self) -> &mut Active {
        &mut self.active
    }

    #[inline(always)]
    fn rng(&mut self) -> &mut Rng {
        self.rng.get_or_insert_with(|| Rng::new(0))
    }
}

impl GuidedState {
    /// Moves to an assignment and recomputes all data except the memory.
    pub fn begin(&mut self, round: &RoundContext<'_>, values: Vec<u16>) {
        let tables = &round.context.tables;
        let n = tables.variables();
        self.values = values;
        self.active = Active::new(n);
        self.energy = round.energy(&self.values);
        self.record = self.energy;
        let moves = round.layout.moves();
        let sized = |table: &mut Vec<u32>, wanted: bool, size: usize, empty: u32| {
            if table.is_empty() && wanted {
                table.resize(size, empty);
            }
        };
        sized(&mut self.memory.left, round.needs.any(Needs::AGE), moves, NEVER);
        sized(&mut self.memory.taken, round.needs.any(Needs::FREQUENCY), moves, 0);
        sized(&mut self.memory.visits, round.needs.any(Needs::FREQUENCY), n, 0);
        self.wide.clear();
        if round.guidance.is_some() {
            self.widen();
        }
        if round.keeps {
            self.costs.resize(moves, 0);
            (0..n).for_each(|v| round.rate(&self.values, v, &mut self.costs[round.layout.range(v)]));
            if round.counts_conflicts() {
                self.conflicts.resize(moves, 0);
                let rows = &mut self.conflicts;
                (0..n).for_each(|v| round.count_conflicts(&self.values, v, &mut rows[round.layout.range(v)]));
            }
        }
    }

    /// Makes the copy of the values in the form that mini-buckets read.
    pub fn widen(&mut self) {
        self.wide = self.values.iter().map(|&value| u32::from(value)).collect();
    }

    /// Writes the cost of each value of a variable, including padding.
    #[inline(always)]
    pub fn costs(&self, round: &RoundContext<'_>, v: usize, row: &mut [i32]) {
        if self.costs.is_empty() {
            round.rate(&self.values, v, row);
        } else {
            row.copy_from_slice(&self.costs[round.layout.range(v)]);
        }
    }

    /// Writes the number of functions that each value violates, including padding.
    pub fn conflicts(&self, round: &RoundContext<'_>, v: usize, row: &mut [i32]) {
        if self.conflicts.is_empty() {
            round.count_conflicts(&self.values, v, row);
        } else {
            row.copy_from_slice(&self.conflicts[round.layout.range(v)]);
        }
    }

    /// Returns the number of passes since the variable left the value of a move.
    #[inline]
    pub fn age(&self, place: usize) -> f64 {
        match self.memory.left[place] {
            NEVER => 1e9,
            pass => f64::from(self.pass.saturating_sub(pass)),
        }
    }

    /// Returns the part of the variable's visits after which it had the value of a move.
    #[inline]
    pub fn frequency(&self, v: usize, place: usize) -> f64 {
        f64::from(self.memory.taken[place]) / f64::from(self.memory.visits[v].max(1))
    }

    /// Records the end of a visit.
    #[inline(always)]
    pub fn visited(&mut self, round: &RoundContext<'_>, v: usize) {
        if let Some(visits) = self.memory.visits.get_mut(v) {
            *visits += 1;
            self.memory.taken[round.layout.range(v).start + usize::from(self.values[v])] += 1;
        }
    }

    /// Gives a variable another value, which increases the cost by `delta`.
    #[inline(always)]
    pub fn take(&mut self, round: &RoundContext<'_>, v: usize, value: u16, delta: i64) {
        // the best assignment is copied when it is left, so that a descent is not copied step by step
        if delta > 0 && self.moved && self.energy <= self.best_energy {
            self.keep_best();
        }
        self.moved = true;
        let tables = &round.context.tables;
        let moved = ValueMove { values: &self.values, variable: v, value };
        if round.keeps {
            let layout = round.layout;
            layout.update(tables, moved, &mut self.costs, |cost| cost, UNWATCHED);
            if !self.conflicts.is_empty() {
                let hard = tables.hard;
                layout.update(tables, moved, &mut self.conflicts, |cost| i32::from(cost >= hard), UNWATCHED);
            }
        }
        if let Some(wide) = self.wide.get_mut(v) {
            *wide = u32::from(value);
        }
        if !self.memory.left.is_empty() {
            self.memory.left[round.layout.range(v).start + usize::from(self.values[v])] = self.pass;
        }
        self.values[v] = value;
        self.energy += delta;
        if self.energy < self.record {
            self.record = self.energy;
            self.improved = self.pass;
            self.picks.improved += 1;
        }
    }

    /// Returns the change of the cost if the variable takes `value`.
    pub fn delta(&self, round: &RoundContext<'_>, v: usize, value: u16, row: &mut Vec<i32>) -> i64 {
        row.resize(round.layout.range(v).len(), 0);
        self.costs(round, v, row);
        i64::from(row[usize::from(value)]) - i64::from(row[usize::from(self.values[v])])
    }

    /// Returns the energy of the best assignment of this trajectory, or of the one before its first move.
    pub fn least(&self) -> i64 {
        self.energy.min(self.best_energy)
    }

    fn keep_best(&mut self) {
        self.best.copy_from_slice(&self.values);
        self.best_energy = self.energy;
    }

    /// Ends a trajectory: the state returns to its best assignment.
    pub fn return_to_best(&mut self, round: &RoundContext<'_>, row: &mut Vec<i32>) {
        if self.energy <= self.best_energy {
            self.keep_best();
            return;
        }
        for v in 0..self.values.len() {
            if self.values[v] != self.best[v] {
                let delta = self.delta(round, v, self.best[v], row);
                self.take(round, v, self.best[v], delta);
            }
        }
    }

    /// Takes over the memory of a child whose trajectory found nothing better.
    pub fn learn_from(&mut self, child: &mut GuidedState) {
        std::mem::swap(&mut self.memory, &mut child.memory);
        (self.pass, self.improved, self.record) = (child.pass, child.improved, child.record);
    }

    /// Compares the data kept up to date with recomputed ones.
    pub fn verify(&self, round: &RoundContext<'_>, v: usize) -> Result<(), String> {
        let mut row = vec![0; round.layout.range(v).len()];
        let mut fresh = row.clone();
        self.costs(round, v, &mut row);
        round.rate(&self.values, v, &mut fresh);
        if let Some(value) = (0..row.len()).find(|&value| row[value] != fresh[value]) {
            return Err(format!("value {value} costs {} as kept, {} recomputed", row[value], fresh[value]));
        }
        let energy = round.energy(&self.values);
        if self.energy != energy && round.exact() {
            return Err(format!("the state's cost is {} as kept, {energy} recomputed", self.energy));
        }
        Ok(())
    }

    pub fn bytes(&self) -> u64 {
        let words = self.costs.len() + self.conflicts.len() + self.wide.len();
        let memory = self.memory.left.len() + self.memory.taken.len() + self.memory.visits.len();
        (4 * (words + memory) + 2 * (self.values.len() + self.best.len())) as u64
    }
}
