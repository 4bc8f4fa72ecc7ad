//! Cost shifting of either kind as a stage: between the functions of a network, or between mini-buckets.

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

/// Cost shifting at work, with its name. All costs that go in and out are those of the original network.
#[derive(Debug)]
pub struct Shifting {
    pub(crate) name: String,
    pub(crate) between: Between,
}

/// What costs move between.
#[derive(Debug)]
pub(crate) enum Between {
    Functions(Shift),
    /// The mini-buckets of a plan for the network that was scaled or shifted before.
    MiniBuckets(JoinGraph, Arc<Shift>),
}

impl Shifting {
    /// `shift`, or `jg(z)` and `mbe-mm(z)`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether costs move between functions alone, not between mini-buckets.
    pub fn is_of_functions(&self) -> bool {
        matches!(self.between, Between::Functions(_))
    }

    /// Works on about so many entries.
    pub fn advance(&mut self, work: u64, stop: &Stop) -> Progress {
        match &mut self.between {
            Between::Functions(shift) => shift.advance(work, stop),
            Between::MiniBuckets(graph, _) => graph.advance(work, stop),
        }
    }

    /// Whether a device is soon done with it.
    pub(crate) fn is_brief(&self) -> bool {
        matches!(&self.between, Between::MiniBuckets(graph, _) if graph.is_brief())
    }

    /// Why a device that was meant to does nothing any more, told once.
    pub fn take_trouble(&mut self) -> Option<DeviceError> {
        match &mut self.between {
            Between::Functions(shift) => shift.take_trouble(),
            Between::MiniBuckets(graph, _) => graph.take_trouble(),
        }
    }

    /// Entries looked at so far.
    pub fn work_done(&self) -> u64 {
        match &self.between {
            Between::Functions(shift) => shift.work_done(),
            Between::MiniBuckets(graph, _) => graph.work_done(),
        }
    }

    /// A better solution is known.
    pub fn below(&mut self, ub: Cost) {
        match &mut self.between {
            Between::Functions(shift) => shift.below(ub),
            Between::MiniBuckets(graph, shift) => graph.below(shift.scaled(ub)),
        }
    }

    /// No solution costs less; `limit` where there is none below.
    pub fn lower_bound(&self, limit: Cost) -> Cost {
        match &self.between {
            Between::Functions(shift) => shift.lower_bound(limit),
            Between::MiniBuckets(graph, shift) => match graph.lower_bound(FORBIDDEN) {
                FORBIDDEN => limit,
                bound => shift.bound(bound).min(limit),
            },
        }
    }

    /// Why the bound is one, given the reductions that led to the network; `None` where no log was kept.
    pub fn proof(&self, reducer: &Arc<Reducer>) -> Option<Proof> {
        let reduced = Proof::reductions(reducer)?;
        match &self.between {
            Between::Functions(shift) => reduced.shifted(shift),
            Between::MiniBuckets(graph, shift) => Some(reduced.shifted(shift)?.joined(graph.graphs())),
        }
    }

    /// What a solution with each value costs at least; [`FORBIDDEN`] where none of interest has it.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn value_bounds(&mut self, stop: &Stop) -> Result<Vec<Vec<Cost>>, Error> {
        match &mut self.between {
            Between::Functions(shift) => shift.value_bounds(stop),
            Between::MiniBuckets(graph, shift) => shift.values(graph.value_bounds(stop)?, stop),
        }
    }
}

impl Shift {
    /// Bounds for the values of the shifted network as those of the original network.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub(crate) fn values(&self, mut bounds: Vec<Vec<Cost>>, stop: &Stop) -> Result<Vec<Vec<Cost>>, Error> {
        for bounds in stop.each(&mut bounds) {
            let finite = bounds?.iter_mut().filter(|bound| **bound < FORBIDDEN);
            finite.for_each(|bound| *bound = self.bound(*bound));
        }
        Ok(bounds)
    }
}
