//! A reduced problem with the reductions that led to it.

use super::Reducer;
use crate::Error;
use crate::model::Problem;
use crate::stop::Stop;
use std::sync::Arc;

/// A reduced problem and how it came from the network. One that is reduced further does not make bounds of this one
/// wrong, and assignments go back by their own reductions. Clones share both.
#[derive(Clone, Debug)]
pub struct ReducedProblem {
    /// The reductions that led to it.
    pub reducer: Arc<Reducer>,
    /// The problem that they left.
    pub problem: Arc<Problem>,
}

impl ReducedProblem {
    /// What the reductions left.
    ///
    /// # Errors
    /// [`Error::Memory`] where search and bounds have no room for it, [`Error::Stopped`] once `stop` is set.
    pub fn new(reducer: impl Into<Arc<Reducer>>, stop: &Stop) -> Result<Self, Error> {
        let reducer = reducer.into();
        let problem = Arc::new(reducer.fitting_problem(stop)?);
        Ok(ReducedProblem { reducer, problem })
    }
}
