//! Evaluations that are kept from sweep to sweep. Most visits of a cool state change nothing (on grids and pedigrees 26
//! of 27, on frequency assignment 4 of 5), and the data that a visit reads is in no cache: on a grid of 10000 variables
//! that takes three quarters of the time. Therefore a variable's row is computed at its first visit, and a move updates
//! the rows of its neighbours. The integers are the same with and without the cache. On small problems a child begins
//! with the rows of its parent, because three sweeps would not pay for computing them.

use super::heat_bath::RatingSource;
use super::state::AnnealState;
use crate::core::layout::{MoveLayout, UNWATCHED, ValueMove};
use crate::error::Error;
use crate::stop::Stop;
use crate::value_tables::ValueTables;
use std::cell::RefCell;

/// The evaluations of one state.
#[derive(Clone, Debug, Default)]
pub(crate) struct RatingCache {
    /// A row for each variable; the entries of rows that are not known are meaningless.
    sums: Vec<i32>,
    /// Whether each variable's row is known; empty if there are no rows.
    pub known: Vec<bool>,
    /// The sum of the state's entries; `None` once a variable has moved whose row was unknown.
    pub total: Option<i64>,
}

impl RatingCache {
    /// Returns the bytes of the evaluations of one state.
    pub fn bytes(tables: &ValueTables) -> usize {
        size_of::<RatingCache>() + tables.moves() * size_of::<i32>() + tables.variables()
    }

    /// Allocates the rows and marks all of them as unknown.
    pub fn forget(&mut self, layout: &MoveLayout) {
        self.sums.resize(layout.moves(), 0);
        self.known.clear();
        self.known.resize(layout.floors.len(), false);
        self.total = None;
    }

    /// Becomes a copy of `other` with the given sum of entries; reuses its own storage.
    pub fn copy(&mut self, other: &RatingCache, total: Option<i64>) {
        self.sums.clone_from(&other.sums);
        self.known.clone_from(&other.known);
        self.total = total;
    }

    /// Updates the rows for all variables whose values differ between `old` and `new`, and makes `old` equal to `new`.
    /// The rows are useless once `stop` is set.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    #[inline(always)]
    pub fn follow(
        &mut self,
        tables: &ValueTables,
        layout: &MoveLayout,
        old: &mut [u16],
        new: &[u16],
        stop: &Stop,
    ) -> Result<(), Error> {
        for v in stop.finish(0..new.len()) {
            let v = v?;
            if old[v] != new[v] {
                self.moves(tables, layout, old, v, new[v]);
                old[v] = new[v];
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn moves(&mut self, tables: &ValueTables, layout: &MoveLayout, values: &[u16], v: usize, value: u16) {
        let row = &self.sums[layout.range(v)];
        let change = i64::from(row[usize::from(value)]) - i64::from(row[usize::from(values[v])]);
        self.total = self.total.filter(|_| self.known[v]).map(|total| total + change);
        layout.update(tables, ValueMove { values, variable: v, value }, &mut self.sums, |cost| cost, UNWATCHED);
    }
}

/// Evaluations by all functions on a variable, read from a cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachedRatings<'a> {
    pub layout: &'a MoveLayout,
    pub ratings: &'a RefCell<RatingCache>,
}

impl RatingSource for CachedRatings<'_> {
    #[inline(always)]
    fn fill(&self, tables: &ValueTables, state: &AnnealState, variable: usize, ratings: &mut [i32]) {
        let RatingCache { sums, known, .. } = &mut *self.ratings.borrow_mut();
        let sums = &mut sums[self.layout.range(variable)];
        if std::mem::replace(&mut known[variable], true) {
            // a copy whose length the compiler does not know becomes a call
            match ratings.len() {
                4 => ratings[..4].copy_from_slice(&sums[..4]),
                8 => ratings[..8].copy_from_slice(&sums[..8]),
                16 => ratings[..16].copy_from_slice(&sums[..16]),
                _ => ratings.copy_from_slice(sums),
            }
        } else {
            tables.rate(variable, &state.values, ratings, |_| true);
            sums.copy_from_slice(ratings);
        }
    }

    #[inline(always)]
    fn own(&self, tables: &ValueTables, state: &AnnealState, variable: usize) -> i32 {
        if !self.ratings.borrow().known[variable] {
            self.fill(tables, state, variable, &mut vec![0; tables.width[variable] as usize]);
        }
        self.ratings.borrow().sums[self.layout.range(variable)][usize::from(state.values[variable])]
    }

    #[inline(always)]
    fn moves(&self, tables: &ValueTables, state: &AnnealState, variable: usize, value: u16) {
        self.ratings.borrow_mut().moves(tables, self.layout, &state.values, variable, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use fangs_testing::cores::{assignment, price, random_dense};
    use std::sync::Arc;

    #[test]
    fn rows_and_totals_that_follow_are_those_made_again() {
        let (mut rng, mut exact) = (Rng::new(1), 0);
        for _ in 0..500 {
            let problem = Arc::new(random_dense(&mut rng));
            let tables = ValueTables::new(&problem, price(&problem));
            let layout = MoveLayout::new(&tables, &Stop::new()).expect("no stop is set");
            let mut state = AnnealState::new(tables.variables(), Rng::new(0));
            state.values = assignment(&problem, &mut rng);
            let (mut own, mut other) = (RatingCache::default(), RatingCache::default());
            own.forget(&layout);
            assert!(!own.known.is_empty() && own.total.is_none() && other.known.is_empty());
            let mut row = vec![0; tables.width.iter().copied().max().unwrap_or(0) as usize];
            let mut rate = |ratings: &mut RatingCache, state: &AnnealState, v: usize| {
                let kept = CachedRatings { layout: &layout, ratings: &RefCell::new(std::mem::take(ratings)) };
                let row = &mut row[..tables.width[v] as usize];
                kept.fill(&tables, state, v, row);
                let mut fresh = vec![0; row.len()];
                tables.rate(v, &state.values, &mut fresh, |_| true);
                assert_eq!(row[..tables.domain(v)], fresh[..tables.domain(v)]);
                *ratings = kept.ratings.take();
            };
            (0..tables.variables()).for_each(|v| rate(&mut own, &state, v));
            let energy = |state: &AnnealState| tables.energy(&state.values).total;
            let known = (tables.shift == 0).then(|| energy(&state));
            for _ in 0..8 {
                other.copy(&own, known.map(|_| energy(&state)));
                let (mut old, new) = (state.values.clone(), assignment(&problem, &mut rng));
                other.follow(&tables, &layout, &mut old, &new, &Stop::new()).expect("no stop is set");
                state.values = new;
                assert_eq!(other.total, known.map(|_| energy(&state)));
                exact += usize::from(other.total.is_some());
                (0..tables.variables()).for_each(|v| rate(&mut other, &state, v));
                std::mem::swap(&mut own, &mut other);
            }
            // of a move away from a row that is not known the gain is not known
            other.copy(&own, Some(0));
            other.known[0] = false;
            let mut old = state.values.clone();
            let moved: Vec<u16> = (0..old.len()).map(|v| (old[v] + 1) % tables.domain(v) as u16).collect();
            other.follow(&tables, &layout, &mut old, &moved, &Stop::new()).expect("no stop is set");
            assert!(other.total.is_none() || tables.domain(0) == 1);
        }
        assert!(exact > 2000, "{exact}");
    }
}
