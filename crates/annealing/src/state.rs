//! A state of the annealing: one assignment of the core with its random stream.

use crate::fang;
use crate::fang::Active;
use crate::rng::Rng;

/// One assignment, its active variables, its successor value, and what was done to it.
#[derive(Clone, Debug)]
pub(crate) struct AnnealState {
    pub values: Vec<u16>,
    pub active: Active,
    pub rng: Rng,
    pub moves: u64,
    pub ratings: u64,
}

impl AnnealState {
    /// All variables at value 0, none active.
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
