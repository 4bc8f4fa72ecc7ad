//! Core-guided lower bounds: the problem as clauses, and a SAT solver that finds costs that contradict each other.
//!
//! A set of costs that cannot all be avoided raises the bound. Once none is left, the solver's model is an optimal
//! assignment. If soft functions contradict each other in groups, as in MaxSAT, covering and scheduling, this proves
//! what neither cost shifting nor mini-buckets prove.

mod counter;
mod descent;
mod encoding;
mod groups;
mod solver;
#[cfg(test)]
mod tests;

use super::search::{Begin, Search, Searcher, Steady};
use super::tuning::cores::{LEAST_TICKS, TICK_WORK};
use crate::elimination::Progress;
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use descent::Descent;
use encoding::Encoding;
use solver::Sat;
use std::sync::Arc;

/// A core-guided search.
#[derive(Debug)]
pub struct Cores {
    problem: Arc<Problem>,
    encoding: Encoding,
    descent: Descent,
    ub: Cost,
    /// The best solution found since it was last taken.
    solution: Option<Vec<u32>>,
    /// Work before the first call of the solver.
    begun: u64,
    memory: u64,
    /// Whether the memory is used up.
    is_full: bool,
}

impl Cores {
    /// The entry of the list of searches.
    pub(crate) const SEARCHER: &'static Searcher = &Searcher {
        name: "cores",
        steady: Some(Steady::Cores),
        begin: |begin, stop| Ok(Box::new(Cores::new(begin, stop)?)),
    };

    /// Creates a search for solutions better than the incumbent and the problem's top.
    ///
    /// # Errors
    /// Returns [`Error::Memory`] if the clauses would take half of the memory or are too many to be sensible,
    /// [`Error::Usage`] if a certificate is wanted, which cannot express cores, and [`Error::Stopped`] once `stop` is
    /// set.
    pub fn new(begin: Begin<'_>, stop: &Stop) -> Result<Cores, Error> {
        let Begin { problem, ub, memory, journal, .. } = begin;
        if journal {
            return Err(Error::Usage("cores has no certificate of its bounds (--certificate): it does not run".into()));
        }
        let bytes = encoding::bytes(problem, stop)?;
        if bytes > memory / 2 {
            let room = memory / 2;
            return Err(Error::Memory(format!(
                "cores does not run: its clauses take {bytes} bytes, it may have {room}"
            )));
        }
        let ub = ub.unwrap_or(problem.top).min(problem.top);
        let mut sat = Sat::new();
        let encoding = Encoding::new(problem, ub, &mut sat, stop)?;
        let mut descent = Descent::new(sat, &encoding.softs, encoding.constant, ub);
        descent.group(&encoding.pairs, stop);
        stop.check()?;
        let problem = problem.clone();
        Ok(Cores { problem, encoding, descent, ub, solution: None, begun: bytes, memory, is_full: false })
    }

    /// Takes up a model; the problem's own tables give its cost.
    fn found(&mut self) {
        let assignment = self.encoding.assignment(&self.descent.sat);
        let cost = self.problem.cost(&assignment);
        if cost < self.ub {
            self.tighten(cost);
            self.solution = Some(assignment);
        }
        self.descent.satisfied();
    }
}

impl Search for Cores {
    fn name(&self) -> &'static str {
        Cores::SEARCHER.name
    }

    fn doing(&self) -> &'static str {
        "core-guided search"
    }

    fn steady(&self) -> Option<Steady> {
        Cores::SEARCHER.steady
    }

    fn problem(&self) -> &Arc<Problem> {
        &self.problem
    }

    fn advance(&mut self, work: u64, stop: &Stop) -> Progress {
        let end = self.work_done().saturating_add(work);
        while !self.is_done() {
            let left = end.saturating_sub(self.work_done());
            if left == 0 || stop.is_set() {
                return Progress::More;
            }
            if self.descent.step((left / TICK_WORK).max(LEAST_TICKS), stop) {
                self.found();
            }
            self.is_full = self.descent.sat.bytes() > self.memory;
        }
        Progress::Done
    }

    fn lower_bound(&self) -> Cost {
        self.descent.lower().min(self.ub)
    }

    fn work_done(&self) -> u64 {
        self.begun + self.descent.sat.work()
    }

    fn is_done(&self) -> bool {
        self.is_full || self.descent.is_over()
    }

    fn tighten(&mut self, ub: Cost) {
        if ub < self.ub {
            self.ub = ub;
            self.descent.tighten(ub);
        }
    }

    fn take_solution(&mut self) -> Option<Vec<u32>> {
        self.solution.take()
    }
}
