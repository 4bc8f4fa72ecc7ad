//! Ratings kept from visit to visit. Most visits of a cool state change nothing (on grids and pedigrees 26 of 27, on frequency
//! assignment 4 of 5), and what a visit reads is in no cache: on a grid of 10000 variables that is three quarters of its time. So a
//! variable's row is made at its first visit of a child, and a move brings the rows of its neighbours up to date. Ratings are
//! the same integers either way.

use super::heat_bath::RatingSource;
use super::rows::Rows;
use super::state::State;
use super::walk::Layout;
use std::cell::RefCell;

/// The ratings of one state.
#[derive(Debug, Default)]
pub(crate) struct Ratings {
    /// A row for each variable. What stands in one that is not known makes no difference.
    sums: Vec<i32>,
    known: Vec<bool>,
}

impl Ratings {
    /// Nothing is known.
    pub fn forget(&mut self, layout: &Layout) {
        self.sums.resize(layout.moves(), 0);
        self.known.clear();
        self.known.resize(layout.floors.len(), false);
    }

    /// What moved otherwise, in any order: `old` becomes `new`.
    #[inline(always)]
    pub fn follow(&mut self, rows: &Rows, layout: &Layout, old: &mut [u16], new: &[u16]) {
        for v in 0..new.len() {
            if old[v] != new[v] {
                self.moves(rows, layout, old, v, new[v]);
                old[v] = new[v];
            }
        }
    }

    #[inline(always)]
    fn moves(&mut self, rows: &Rows, layout: &Layout, values: &[u16], v: usize, value: u16) {
        layout.update(rows, (values, v, value), &mut self.sums, |cost| cost, |_, _, _| {});
    }
}

/// All functions on a variable, from what is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept<'a> {
    pub layout: &'a Layout,
    pub ratings: &'a RefCell<Ratings>,
}

impl RatingSource for Kept<'_> {
    #[inline(always)]
    fn fill(&self, rows: &Rows, state: &State, variable: usize, ratings: &mut [i32]) {
        let Ratings { sums, known } = &mut *self.ratings.borrow_mut();
        let sums = &mut sums[self.layout.range(variable)];
        if std::mem::replace(&mut known[variable], true) {
            ratings.copy_from_slice(sums);
        } else {
            rows.rate(variable, &state.values, ratings, |_| true);
            sums.copy_from_slice(ratings);
        }
    }

    #[inline(always)]
    fn moves(&self, rows: &Rows, state: &State, variable: usize, value: u16) {
        self.ratings.borrow_mut().moves(rows, self.layout, &state.values, variable, value);
    }
}
