//! The evaluations of a state that all threads sweep, kept from sweep to sweep as in [`RatingCache`]. A visit reads one
//! row, and after a color class all threads add the changes of its moves. The sums are integers, so they do not depend
//! on the order of the additions.
//!
//! [`RatingCache`]: crate::rating_cache::RatingCache

use crate::core::layout::{MoveLayout, ValueMove};
use crate::error::Error;
use crate::heat_bath::RatingSource;
use crate::state::AnnealState;
use crate::stop::Stop;
use crate::sweep::{TURN, TogetherSource};
use crate::threads;
use crate::value_tables::ValueTables;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// The evaluations of a state: a row for each variable.
#[derive(Debug)]
pub(super) struct SharedRatings {
    sums: Vec<AtomicI32>,
}

impl SharedRatings {
    /// Computes the rows of a state.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn new(tables: &ValueTables, layout: &MoveLayout, values: &[u16], stop: &Stop) -> Result<Self, Error> {
        let mut sums: Vec<AtomicI32> = Vec::new();
        sums.resize_with(layout.moves(), AtomicI32::default);
        let variables: Vec<usize> = (0..tables.variables()).collect();
        let (mut turns, mut rest) = (Vec::new(), &mut sums[..]);
        for variables in variables.chunks(TURN) {
            let width: u32 = variables.iter().map(|&v| tables.width[v]).sum();
            let own;
            (own, rest) = rest.split_at_mut(width as usize);
            turns.push((variables, own));
        }
        let _ = threads::try_map(turns, |(variables, mut own)| {
            stop.check()?;
            let mut row = Vec::new();
            for &v in variables {
                row.resize(tables.width[v] as usize, 0);
                tables.rate(v, values, &mut row, |_| true);
                let sums;
                (sums, own) = own.split_at_mut(row.len());
                sums.iter_mut().zip(&row).for_each(|(sum, &rating)| *sum.get_mut() = rating);
            }
            Ok::<(), Error>(())
        })?;
        Ok(SharedRatings { sums })
    }
}

/// Evaluations by all functions on a variable, read from rows that all threads share.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedSource<'a> {
    pub layout: &'a MoveLayout,
    pub ratings: &'a SharedRatings,
}

impl RatingSource for SharedSource<'_> {
    #[inline(always)]
    fn fill(&self, _: &ValueTables, _: &AnnealState, variable: usize, ratings: &mut [i32]) {
        let sums = &self.ratings.sums[self.layout.range(variable)];
        ratings.iter_mut().zip(sums).for_each(|(rating, sum)| *rating = sum.load(Relaxed));
    }

    #[inline(always)]
    fn own(&self, _: &ValueTables, state: &AnnealState, variable: usize) -> i32 {
        self.ratings.sums[self.layout.range(variable)][usize::from(state.values[variable])].load(Relaxed)
    }
}

impl TogetherSource for SharedSource<'_> {
    fn follow(&self, tables: &ValueTables, state: &AnnealState, class: &[u32], picks: &[u16]) {
        let add = |place: usize, change: i32| {
            let _ = self.ratings.sums[place].fetch_add(change, Relaxed);
        };
        let _ = threads::map(class.chunks(TURN).zip(picks.chunks(TURN)), |(class, picks)| {
            for (&variable, &value) in class.iter().zip(picks) {
                let variable = variable as usize;
                if state.values[variable] != value {
                    let moved = ValueMove { values: &state.values, variable, value };
                    self.layout.changes(tables, moved, add);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::context::SearchContext;
    use crate::fang::boltzmann::Boltzmann;
    use crate::generation::ALL_MOVE;
    use crate::heat_bath::{AllFunctions, HeatBath};
    use crate::rng::Rng;
    use crate::sweep::{SweepDraws, sweep_together};
    use fangs_testing::cores::{of_size, price};

    #[test]
    fn ratings_follow_all_moves_and_choose_the_same_values() {
        let stop = Stop::new();
        // pairs, triples, and long rows, which are sparse in the last problem
        for (n, d, functions, arity) in [(3000, 5, 9000, 2), (2000, 4, 3000, 3), (500, 20, 1500, 2), (40, 3, 20, 4)] {
            let problem = of_size(n, d, functions, arity, 7);
            let context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
            let layout = context.layout(&stop).expect("no stop is set").expect("all rows are copied");
            let tables = &context.tables;
            let mut rng = Rng::new(9);
            let mut fresh = AnnealState::new(context.variables(), Rng::new(0));
            fresh.values = problem.domains.iter().map(|&d| rng.index(d as usize) as u16).collect();
            let mut kept = fresh.clone();
            let ratings = SharedRatings::new(tables, layout, &kept.values, &stop).expect("no stop is set");
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
            let often = 3 * context.schedule.hot as i32;
            for (temperature, least) in [(context.schedule.hot, ALL_MOVE), (context.schedule.hot, often), (0.0, often)]
            {
                let boltzmann = if temperature > 0.0 { Boltzmann::new(temperature) } else { Boltzmann::GREEDY };
                let draws = SweepDraws { order: rng.draw(), values: rng.draw() };
                let mut picks = Vec::new();
                let bath = HeatBath { tables, boltzmann, least, source: AllFunctions };
                let change = sweep_together(&context, bath, draws, &mut fresh, &mut picks, &stop);
                let bath = HeatBath { tables, boltzmann, least, source: SharedSource { layout, ratings: &ratings } };
                let same = pool.install(|| sweep_together(&context, bath, draws, &mut kept, &mut picks, &stop));
                assert_eq!((change, &fresh.values, fresh.moves), (same, &kept.values, kept.moves));
                for v in 0..context.variables() {
                    let mut row = vec![0; tables.width[v] as usize];
                    tables.rate(v, &kept.values, &mut row, |_| true);
                    let sums: Vec<i32> = ratings.sums[layout.range(v)].iter().map(|sum| sum.load(Relaxed)).collect();
                    assert_eq!(sums, row, "{n} variables, variable {v}");
                }
            }
        }
    }
}
