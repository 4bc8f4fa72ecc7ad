//! What the search and the alternating bounds have spent, which decides what is next.

use crate::bounds::{Bounder, Pace};
use crate::tuning::tuning;
use std::time::Instant;

#[derive(Clone, Debug)]
pub(crate) struct TimeBudget {
    /// Whether spending is in nanoseconds; in a repeatable run it is in work. Counted work of a bound was found to take
    /// up to seven times its time, and the search's work is that of all threads.
    timed: bool,
    /// Spending of the search and of the alternating bounds.
    spent: [u64; 2],
    /// Spending of the last slice of bounds.
    slice: u64,
    /// Spending of all bounds, alternating or not; `None` until it is known.
    noted: Option<u64>,
    /// Work of the search.
    pub search_work: u64,
    /// Work of the plug-in heuristic, included in `search_work`.
    plugin_work: u64,
    /// Search work at the last better solution.
    improved: u64,
}

impl TimeBudget {
    /// Starts with nothing spent. `sweep` is the work of visiting all variables of the reduced problem once.
    pub fn new(timed: bool, sweep: u64) -> Self {
        let slice = sweep.saturating_mul(tuning().bounds.first_sweeps).min(tuning().bounds.first_slice);
        let slice = if timed { slice.max(sweep.saturating_mul(tuning().bounds.order_sweeps)) } else { slice };
        TimeBudget { timed, spent: [0; 2], slice, noted: Some(0), search_work: 0, plugin_work: 0, improved: 0 }
    }

    fn units(&self, began: Instant, work: u64) -> u64 {
        if self.timed { began.elapsed().as_nanos() as u64 } else { work }
    }

    pub fn note_round(&mut self, began: Instant, work: u64, is_plugin: bool) {
        let work = work.max(1);
        self.spent[0] += self.units(began, work);
        self.search_work += work;
        self.plugin_work += if is_plugin { work } else { 0 };
    }

    pub fn note_bounds(&mut self, units: u64) {
        let before = self.noted.replace(units).unwrap_or(units);
        if units > before {
            self.slice = units - before;
            self.spent[1] += self.slice;
        }
    }

    pub fn note_better(&mut self) {
        self.improved = self.search_work;
    }

    /// Makes bounds alternate from now on: earlier spending of either side does not count.
    pub fn begin_turns(&mut self) {
        (self.spent, self.noted) = ([0; 2], None);
    }

    /// Returns whether the next slice belongs to the bounds, given whether the search has stalled; the spending of the
    /// bounds counts `price` times. An affordable exact elimination has at least half, and its first second at once.
    pub fn bounds_are_due(&self, bounder: &Bounder, price: u64, stalled: bool) -> bool {
        let [search, own] = self.with_a_slice(price);
        if bounder.is_done() || search == 0 {
            return false;
        }
        let exact = bounder.is_exact();
        let even = if stalled { tuning().bounds.stalled_share } else { tuning().bounds.share };
        let share = match bounder.pace() {
            Pace::Slow => even * tuning().bounds.slow,
            Pace::Ending if stalled => tuning().bounds.ending_share,
            Pace::Steady | Pace::Ending => even,
        };
        let first = if exact { tuning().bounds.exact_first } else { 0 };
        own <= (search as f64 * if exact { share.max(1.0) } else { share }) as u64 + first
    }

    /// Returns whether slices of bounds alternate with the search even if they could run beside it: the first ones,
    /// which prove small networks, and those that [lead](Bounder::leads).
    pub fn bounds_take_turns(bounder: &Bounder) -> bool {
        bounder.spent() < tuning().run.early || bounder.leads()
    }

    /// Returns the spending of the search, and that of the bounds after another slice, multiplied by `price`.
    fn with_a_slice(&self, price: u64) -> [u64; 2] {
        [self.spent[0], (self.spent[1] + self.slice).saturating_mul(price)]
    }

    /// Returns whether the search has found nothing for as long as it took to find the incumbent.
    pub fn is_stalled(&self) -> bool {
        self.search_work > 2 * self.improved.max(tuning().run.early)
    }

    pub fn plugin_part(&self) -> f64 {
        self.plugin_work as f64 / self.search_work.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_due_once_there_is_room_for_one_like_the_last() {
        let mut budget = TimeBudget::new(false, 1 << 20);
        let now = Instant::now();
        budget.note_round(now, 10, false);
        assert_eq!(budget.with_a_slice(1), [10, tuning().bounds.first_slice]);
        assert_eq!(TimeBudget::new(true, 1 << 20).with_a_slice(1), [0, 256 << 20]);
        budget.note_bounds(70);
        assert_eq!(budget.with_a_slice(1), [10, 140]);
        budget.note_bounds(100);
        budget.note_bounds(100);
        assert_eq!(budget.with_a_slice(1), [10, 130]);
        budget.begin_turns();
        assert_eq!(budget.with_a_slice(1), [0, 30]);
        // spending beside a device does not count
        budget.note_bounds(1000);
        assert_eq!(budget.with_a_slice(1), [0, 30]);
        budget.note_bounds(1020);
        assert_eq!(budget.with_a_slice(1), [0, 40]);
    }

    #[test]
    fn a_search_stalls_once_it_has_begun() {
        let mut budget = TimeBudget::new(false, 5);
        let mut stalls = |work, better: bool| {
            budget.note_round(Instant::now(), work, true);
            if better {
                budget.note_better();
            }
            (budget.is_stalled(), budget.plugin_part())
        };
        assert_eq!(stalls(2 * tuning().run.early, false), (false, 1.0));
        assert!(stalls(1, false).0);
        assert!(!stalls(tuning().run.early, true).0 && !stalls(3 * tuning().run.early, false).0 && stalls(2, false).0);
    }
}
