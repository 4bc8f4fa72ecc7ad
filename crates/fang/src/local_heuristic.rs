//! The interface of a heuristic for one type of variable.

/// A heuristic that rates the possibilities of one variable of a state independently of each other.
///
/// One implementation serves one type of variable. Only [`rate`](Self::rate), [`map`](Self::map) and the definition of
/// the domain ([`possibilities`](Self::possibilities), [`assign`](Self::assign)) must be written. The `_all` forms
/// exist to be replaced by vector code and must agree with the single forms bit for bit.
pub trait LocalHeuristic<S: ?Sized> {
    /// The rating of a possibility; opaque to the engine.
    type Rating: Copy + Default;
    /// A summary of all ratings of a variable.
    type Aggregate: Default;

    /// Returns the number of possibilities of `variable` in `state`.
    fn possibilities(&self, state: &S, variable: usize) -> usize;

    /// Rates one possibility.
    fn rate(&self, state: &S, variable: usize, possibility: usize) -> Self::Rating;

    /// Adds a rating to the aggregate. The result must not depend on the order of the ratings.
    fn accumulate(&self, aggregate: &mut Self::Aggregate, rating: Self::Rating) {
        let _ = (aggregate, rating);
    }

    /// Returns the weight of a rating; 0 excludes the possibility.
    fn map(&self, rating: Self::Rating, aggregate: &Self::Aggregate) -> u32;

    /// Applies the selected possibility.
    fn assign(&self, state: &mut S, variable: usize, possibility: usize);

    /// Reacts to a variable all of whose possibilities have weight 0.
    fn could_not_assign(&self, state: &mut S, variable: usize) {
        let _ = (state, variable);
    }

    /// Rates possibilities `0..ratings.len()`.
    #[inline(always)]
    fn rate_all(&self, state: &S, variable: usize, ratings: &mut [Self::Rating]) {
        for (possibility, rating) in ratings.iter_mut().enumerate() {
            *rating = self.rate(state, variable, possibility);
        }
    }

    /// Aggregates all ratings.
    #[inline(always)]
    fn aggregate_all(&self, ratings: &[Self::Rating]) -> Self::Aggregate {
        let mut aggregate = Self::Aggregate::default();
        for &rating in ratings {
            self.accumulate(&mut aggregate, rating);
        }
        aggregate
    }

    /// Maps all ratings to weights and returns their sum.
    #[inline(always)]
    fn map_all(&self, ratings: &[Self::Rating], aggregate: &Self::Aggregate, weights: &mut [u32]) -> u64 {
        let mut total = 0u64;
        for (weight, &rating) in weights.iter_mut().zip(ratings) {
            *weight = self.map(rating, aggregate);
            total += u64::from(*weight);
        }
        total
    }
}
