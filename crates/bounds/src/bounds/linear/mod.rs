//! Lower bounds of networks with weighted sums by linear programming, and branch and bound on them.
//!
//! The network becomes an integer program (`program`) in which weighted sums and counts are rows. A simplex method
//! (`simplex`, `lp`) finds a multiplier for each row, the bound of these multipliers is evaluated in integers
//! (`exact`), and a tree search closes the gap (`tree`). Tables that decompose a sum are not read, so the bound does
//! not depend on how coarse they are.

mod ascent;
mod covers;
mod domains;
mod exact;
mod lp;
mod program;
mod simplex;
mod sparse;
#[cfg(test)]
mod tests;
mod tree;

use super::search::{Begin, Search, Searcher, Steady};
use crate::check;
use crate::elimination::Progress;
use crate::error::Error;
use crate::model::{Cost, Network, Problem};
use crate::reduce::{ReducedProblem, Reducer};
use crate::stop::Stop;
use crate::tuning::tuning;
use program::Program;
use std::sync::Arc;
use tree::Tree;

/// A search with bounds by linear programming.
#[derive(Debug)]
pub struct LinearSearch {
    network: Network,
    /// The network as a problem, by which solutions are reported.
    reduced: ReducedProblem,
    tree: Tree,
    solution: Option<Vec<u32>>,
}

impl LinearSearch {
    /// The entry of the list of searches.
    pub(crate) const SEARCHER: &'static Searcher = &Searcher {
        name: "linear",
        steady: Some(Steady::Linear),
        begin: |begin, stop| Ok(Box::new(LinearSearch::new(begin, stop)?)),
    };

    /// Creates a search for solutions of the network better than the incumbent.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the network has no weighted sums or a certificate is wanted, [`Error::Memory`] if
    /// the linear program does not fit, and [`Error::Stopped`] once `stop` is set.
    pub fn new(begin: Begin<'_>, stop: &Stop) -> Result<LinearSearch, Error> {
        let Begin { ub, memory, journal, network, .. } = begin;
        if journal {
            return Err(Error::Usage(
                "linear has no certificate of its bounds (--certificate): it does not run".into(),
            ));
        }
        let Some(network) = network else {
            return Err(Error::Usage(
                "linear needs functions that are weighted sums or counts: it does not run".into(),
            ));
        };
        let program = Program::new(network, stop)?;
        let bytes = program.bytes();
        if bytes > memory / 2 {
            let room = memory / 2;
            return Err(Error::Memory(format!(
                "linear does not run: its linear program takes {bytes} bytes, it may have {room}"
            )));
        }
        let (reducer, problem) = Reducer::unreduced(network, stop)?;
        let reduced = ReducedProblem { reducer: reducer.into(), problem: problem.into() };
        let ub = ub.unwrap_or(network.top()).min(network.top());
        let tree = Tree::new(program, network.least().min(ub), ub, memory / 4);
        Ok(LinearSearch { network: network.clone(), reduced, tree, solution: None })
    }

    /// Returns the number of nodes visited.
    #[cfg(test)]
    pub fn nodes(&self) -> u64 {
        self.tree.nodes
    }

    /// Evaluates a candidate by the network itself; takes it up if it is a better solution.
    fn found(&mut self, values: Vec<u32>, stop: &Stop) {
        let evaluation = check::evaluate(&self.network, &values);
        if evaluation.is_solution() && evaluation.cost < self.tree.ub {
            // the leaf is done, so the bound must not pass its cost even if the solution cannot be reported
            self.tree.ub = evaluation.cost;
            self.solution = self.reduced.reducer.project(&values, stop).ok().or(self.solution.take());
        }
    }
}

impl Search for LinearSearch {
    fn name(&self) -> &'static str {
        LinearSearch::SEARCHER.name
    }

    fn doing(&self) -> &'static str {
        "linear programming"
    }

    fn steady(&self) -> Option<Steady> {
        LinearSearch::SEARCHER.steady
    }

    fn problem(&self) -> &Arc<Problem> {
        &self.reduced.problem
    }

    fn reduced(&self) -> Option<&ReducedProblem> {
        Some(&self.reduced)
    }

    fn advance(&mut self, work: u64, stop: &Stop) -> Progress {
        let end = self.tree.work_done().saturating_add(work);
        loop {
            self.tree.advance(end, stop);
            match self.tree.candidate.take() {
                Some(values) => self.found(values, &stop.unheeded()),
                None if self.tree.is_done() => return Progress::Done,
                None => return Progress::More,
            }
        }
    }

    fn lower_bound(&self) -> Cost {
        self.tree.lower_bound()
    }

    fn work_done(&self) -> u64 {
        self.tree.work_done()
    }

    fn is_done(&self) -> bool {
        self.tree.is_done()
    }

    /// Returns an estimate only until the first linear program is solved, which is worth waiting for a while.
    fn work_left(&self) -> u64 {
        let is_waited_for = !self.tree.is_rooted() && self.work_done() < tuning().linear.root;
        if is_waited_for { 0 } else { u64::MAX }
    }

    fn tighten(&mut self, ub: Cost) {
        self.tree.ub = self.tree.ub.min(ub);
    }

    fn take_solution(&mut self) -> Option<Vec<u32>> {
        self.solution.take()
    }

    /// Returns the bounds of the values unless the network is relaxed: the reductions then work on costs below those of
    /// the sums, and mixing both could remove all optimal solutions.
    fn take_value_bounds(&mut self) -> Option<Vec<Vec<Cost>>> {
        self.tree.value_bounds.take().filter(|_| !self.network.is_relaxed())
    }
}
