//! Successor generation over a double buffer of states (section 3.3).

use rayon::prelude::*;

use super::{Dispatch, Order, State, assign_active};
use crate::rng::Rng;
use crate::stop::Stop;

/// States, and a second buffer for their successors.
///
/// Buffers, and through `clone_from` the states in them, keep their memory from one generation to the next. A state
/// with a derived `Clone` allocates again in `clone_from`; write that method out if it matters.
#[derive(Clone, Debug)]
pub struct Population<S> {
    source: Vec<S>,
    target: Vec<S>,
    streams: Vec<Rng>,
    seeds: Rng,
}

impl<S: State + Clone + Send + Sync> Population<S> {
    /// Returns a population of `states`. The random streams of the states and of all successors are split off `seeds`.
    pub fn new(mut states: Vec<S>, mut seeds: Rng) -> Self {
        for state in &mut states {
            *state.rng() = seeds.split();
        }
        Population { source: states, target: Vec::new(), streams: Vec::new(), seeds }
    }

    /// Returns the current states.
    pub fn states(&self) -> &[S] {
        &self.source
    }

    /// Returns the current states, to select among them or to activate variables.
    pub fn states_mut(&mut self) -> &mut Vec<S> {
        &mut self.source
    }

    /// Replaces the states by their successors: each state is cloned `successors` times, each clone gets its own stream
    /// and has its active variables assigned. Successors of a state are adjacent.
    ///
    /// States are spread over the current rayon pool; its size does not change the result. Returns whether the
    /// generation was completed; after a stop the states are unchanged.
    #[must_use]
    pub fn expand<D: Dispatch<S> + Sync>(
        &mut self,
        dispatch: &D,
        successors: usize,
        order: Order,
        stop: &Stop,
    ) -> bool {
        let count = self.source.len() * successors;
        let source = &self.source;
        self.target.truncate(count);
        self.target.extend((self.target.len()..count).map(|clone| source[clone / successors].clone()));
        self.streams.clear();
        self.streams.extend(std::iter::repeat_with(|| self.seeds.split()).take(count));

        let arch = pulp::Arch::new();
        let completed = self
            .target
            .par_iter_mut()
            .zip(&self.streams)
            .enumerate()
            .map_init(D::Scratch::default, |scratch, (clone, (state, stream))| {
                state.clone_from(&source[clone / successors]);
                state.rng().clone_from(stream);
                arch.dispatch(Pass { dispatch, state, order, scratch, stop })
            })
            .all(|completed| completed);
        if completed {
            std::mem::swap(&mut self.source, &mut self.target);
        }
        completed
    }
}

/// Compiles [`assign_active`] once for each vector instruction set, of which the machine's own is selected at run time.
/// (A closure would do, but the shim through which it is called is not inlined, and only inlined code is vectorised.)
#[allow(missing_debug_implementations, reason = "lives for one call")]
pub struct Pass<'a, S, D: Dispatch<S>> {
    /// The domain's heuristics.
    pub dispatch: &'a D,
    /// The state.
    pub state: &'a mut S,
    /// The order of the variables.
    pub order: Order<'a>,
    /// Memory that assignments reuse.
    pub scratch: &'a mut D::Scratch,
    /// Ends the generation early.
    pub stop: &'a Stop,
}

impl<S: State, D: Dispatch<S>> pulp::WithSimd for Pass<'_, S, D> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<V: pulp::Simd>(self, _: V) -> bool {
        assign_active(self.dispatch, self.state, self.order, self.scratch, self.stop)
    }
}
