//! Stages of cost shifting: between the functions of a problem, or between mini-buckets.

use super::cost_shifting::Shift;
use super::join_graph::JoinGraph;
use super::proof::Proof;
use crate::device::DeviceError;
use crate::elimination::Progress;
use crate::error::Error;
use crate::model::{Cost, FORBIDDEN};
use crate::reduce::Reducer;
use crate::stop::Stop;
use std::sync::Arc;

/// A stage of cost shifting with its name. It takes and returns costs of the unscaled problem.
#[derive(Debug)]
pub struct Shifting {
    pub(crate) name: String,
    pub(crate) between: Between,
}

/// The parts between which costs move.
#[derive(Debug)]
pub(crate) enum Between {
    Functions(Shift),
    /// The mini-buckets of a join graph on the scaled or shifted problem, and the shift that made this problem.
    MiniBuckets(JoinGraph, Arc<Shift>),
}

impl Shifting {
    /// Returns `shift`, or `jg(z)` or `mbe-mm(z)` with the number of variables of a mini-bucket.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether costs move between functions, not between mini-buckets.
    pub fn is_of_functions(&self) -> bool {
        matches!(self.between, Between::Functions(_))
    }

    /// Works on about `work` entries.
    pub fn advance(&mut self, work: u64, stop: &Stop) -> Progress {
        match &mut self.between {
            Between::Functions(shift) => shift.advance(work, stop),
            Between::MiniBuckets(graph, _) => graph.advance(work, stop),
        }
    }

    /// Returns whether a device would finish the stage soon.
    pub(crate) fn is_brief(&self) -> bool {
        matches!(&self.between, Between::MiniBuckets(graph, _) if graph.is_brief())
    }

    /// Returns the error of a device that has failed, once.
    pub fn take_trouble(&mut self) -> Option<DeviceError> {
        match &mut self.between {
            Between::Functions(shift) => shift.take_trouble(),
            Between::MiniBuckets(graph, _) => graph.take_trouble(),
        }
    }

    /// Returns the entries visited so far.
    pub fn work_done(&self) -> u64 {
        match &self.between {
            Between::Functions(shift) => shift.work_done(),
            Between::MiniBuckets(graph, _) => graph.work_done(),
        }
    }

    /// Takes up the cost of a better incumbent.
    pub fn below(&mut self, ub: Cost) {
        match &mut self.between {
            Between::Functions(shift) => shift.below(ub),
            Between::MiniBuckets(graph, shift) => graph.below(shift.scaled(ub)),
        }
    }

    /// Returns the lower bound, or `limit` if no solution costs less than `limit`.
    pub fn lower_bound(&self, limit: Cost) -> Cost {
        match &self.between {
            Between::Functions(shift) => shift.lower_bound(limit),
            Between::MiniBuckets(graph, shift) => match graph.lower_bound(FORBIDDEN) {
                FORBIDDEN => limit,
                bound => shift.bound(bound).min(limit),
            },
        }
    }

    /// Returns the proof of the bound, given the reductions that led to the problem; `None` if no log was kept.
    pub fn proof(&self, reducer: &Arc<Reducer>) -> Option<Proof> {
        let reduced = Proof::reductions(reducer)?;
        match &self.between {
            Between::Functions(shift) => reduced.shifted(shift),
            Between::MiniBuckets(graph, shift) => Some(reduced.shifted(shift)?.joined(graph.graphs())),
        }
    }

    /// Returns for each variable and value a lower bound on the solutions with that value; [`FORBIDDEN`] if none of
    /// them is below the limit.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub fn value_bounds(&mut self, stop: &Stop) -> Result<Vec<Vec<Cost>>, Error> {
        match &mut self.between {
            Between::Functions(shift) => shift.value_bounds(stop),
            Between::MiniBuckets(graph, shift) => shift.values(graph.value_bounds(stop)?, stop),
        }
    }
}

impl Shift {
    /// Converts value bounds of the shifted problem into those of the unscaled problem.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub(crate) fn values(&self, mut bounds: Vec<Vec<Cost>>, stop: &Stop) -> Result<Vec<Vec<Cost>>, Error> {
        for bounds in stop.each(&mut bounds) {
            let finite = bounds?.iter_mut().filter(|bound| **bound < FORBIDDEN);
            finite.for_each(|bound| *bound = self.bound(*bound));
        }
        Ok(bounds)
    }
}
