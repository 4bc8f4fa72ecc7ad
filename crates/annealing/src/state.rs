//! A state of the annealing: one assignment of the reduced problem, with its random stream.

use crate::fang;
use crate::fang::Active;
use crate::rng::Rng;

/// An assignment, its active variables, its random stream, and counters of its moves and evaluations.
#[derive(Clone, Debug)]
pub(crate) struct AnnealState {
    pub values: Vec<u16>,
    pub active: Active,
    pub rng: Rng,
    pub moves: u64,
    pub ratings: u64,
}

impl AnnealState {
    /// Returns the state with all variables at value 0 and none active.
    pub fn new(variables: usize, rng: Rng) -> Self {
        AnnealState { values: vec![0; variables], active: Active::new(variables), rng, moves: 0, ratings: 0 }
    }
}

impl fang::State for AnnealState {
    #[inline(always)]
    fn active(&mut self) -> &mut Active {
        &mut self.active
    }

    #[inline(always)]
    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}
