//! Successor generation over a double buffer of states (section 3.3).

use rayon::prelude::*;

use super::{Dispatch, Order, State, assign_active};
use crate::rng::Rng;
use crate::stop::Stop;

/// States and the buffer that their successors are made in.
///
/// Buffers, and through `clone_from` the states in them, keep their memory from one generation to the next. A
/// state whose `Clone` is derived allocates again in `clone_from`; write that method out where it matters.
#[derive(Clone, Debug)]
pub struct Population<S> {
    source: Vec<S>,
    target: Vec<S>,
    streams: Vec<Rng>,
    seeds: Rng,
}

impl<S: State + Clone + Send + Sync> Population<S> {
    /// A population of `states`. Successor values are split off `seeds`, those of the given states included.
    pub fn new(mut states: Vec<S>, mut seeds: Rng) -> Self {
        for state in &mut states {
            *state.rng() = seeds.split();
        }
        Population { source: states, target: Vec::new(), streams: Vec::new(), seeds }
    }

    /// The current states.
    pub fn states(&self) -> &[S] {
        &self.source
    }

    /// The current states, to select among them or to activate variables.
    pub fn states_mut(&mut self) -> &mut Vec<S> {
        &mut self.source
    }

    /// Replaces the states by their successors: each state is cloned `successors` times, each clone gets a stream of
    /// its own and has its active variables assigned. Successors of a state stand side by side.
    ///
    /// States are spread over the current rayon pool; its size does not change the result. Returns whether the
    /// generation was completed; after a stop the states are as they were.
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

/// [`assign_active`] compiled once for each vector instruction set, the machine's own taken at run time. (A
/// closure would do, but the shim through which it is called is not inlined, and only inlined code is vectorised.)
#[allow(missing_debug_implementations, reason = "lives for one call")]
pub struct Pass<'a, S, D: Dispatch<S>> {
    /// The domain's rules.
    pub dispatch: &'a D,
    /// The state.
    pub state: &'a mut S,
    /// The order of the variables.
    pub order: Order<'a>,
    /// Memory that visits use again.
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
