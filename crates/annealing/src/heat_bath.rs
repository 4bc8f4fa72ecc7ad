//! The local heuristic `boltzmann`: the evaluation of a value is the cost of the functions on its variable, and its
//! weight is exp(-cost / T). One pass of FANG's successor generation with it is a sweep of heat-bath (Gibbs) sampling
//! at temperature T.

use super::state::AnnealState;
use crate::fang::LocalHeuristic;
use crate::fang::boltzmann::{Boltzmann, Least, boltzmann_weights};
use crate::value_tables::ValueTables;

/// A heat bath over the values of one variable, whose evaluations come from `source`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeatBath<'a, R = AllFunctions> {
    pub tables: &'a ValueTables,
    pub boltzmann: Boltzmann,
    /// The minimum cost of a variable's present value at which the variable moves.
    pub least: i32,
    pub source: R,
}

/// A source of a variable's row of evaluations.
pub(crate) trait RatingSource {
    /// Evaluates every value of `variable`; padding entries get at least [`PADDING`](crate::value_tables::PADDING).
    fn fill(&self, tables: &ValueTables, state: &AnnealState, variable: usize, ratings: &mut [i32]);

    /// Returns the evaluation of a variable's present value.
    fn own(&self, tables: &ValueTables, state: &AnnealState, variable: usize) -> i32 {
        let mut row = vec![0; tables.width[variable] as usize];
        self.fill(tables, state, variable, &mut row);
        row[usize::from(state.values[variable])]
    }

    /// Updates the source before a variable changes to the value `_value`.
    #[inline(always)]
    fn moves(&self, _: &ValueTables, _: &AnnealState, _variable: usize, _value: u16) {}
}

/// Evaluations by all functions on the variable, given the values of the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllFunctions;

impl RatingSource for AllFunctions {
    #[inline(always)]
    fn fill(&self, tables: &ValueTables, state: &AnnealState, variable: usize, ratings: &mut [i32]) {
        tables.rate(variable, &state.values, ratings, |_| true);
    }
}

impl<R: RatingSource> HeatBath<'_, R> {
    /// Returns whether a variable may move: whether its present value costs at least [`least`](Self::least).
    #[inline(always)]
    pub fn may_move(&self, state: &AnnealState, variable: u32) -> bool {
        self.source.own(self.tables, state, variable as usize) >= self.least
    }
}

impl<R: RatingSource> LocalHeuristic<AnnealState> for HeatBath<'_, R> {
    type Rating = i32;
    type Aggregate = Least;

    /// The padded length of the row; entries beyond the domain have weight 0.
    #[inline(always)]
    fn possibilities(&self, _: &AnnealState, variable: usize) -> usize {
        self.tables.width[variable] as usize
    }

    fn rate(&self, state: &AnnealState, variable: usize, possibility: usize) -> i32 {
        let mut row = vec![0; self.tables.width[variable] as usize];
        self.source.fill(self.tables, state, variable, &mut row);
        row[possibility]
    }

    #[inline(always)]
    fn rate_all(&self, state: &AnnealState, variable: usize, ratings: &mut [i32]) {
        self.source.fill(self.tables, state, variable, ratings);
    }

    #[inline(always)]
    fn accumulate(&self, aggregate: &mut Least, rating: i32) {
        aggregate.0 = aggregate.0.min(rating);
    }

    #[inline(always)]
    fn map(&self, rating: i32, aggregate: &Least) -> u32 {
        self.boltzmann.weight(rating.wrapping_sub(aggregate.0) as u32)
    }

    #[inline(always)]
    fn map_all(&self, ratings: &[i32], aggregate: &Least, weights: &mut [u32]) -> u64 {
        boltzmann_weights(&self.boltzmann, ratings, *aggregate, weights)
    }

    #[inline(always)]
    fn assign(&self, state: &mut AnnealState, variable: usize, possibility: usize) {
        state.ratings += self.tables.domain(variable) as u64;
        if usize::from(state.values[variable]) != possibility {
            self.source.moves(self.tables, state, variable, possibility as u16);
            state.values[variable] = possibility as u16;
            state.moves += 1;
        }
    }
}
