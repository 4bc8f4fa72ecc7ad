//! The solutions that a run begins with, found before threads, reductions and tables are ready.

use super::messages::{Message, Totals};
use super::reducing::Reducing;
use super::{greedy, passes};
use crate::check::{self, Evaluation};
use crate::core::size::{is_dense, opens_as_form, suits_passes};
use crate::model::{Cost, FORBIDDEN, Network, Number};
use crate::options::Options;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::threads;
use crate::tuning::tuning;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

/// The source of warm starts in events.
pub(crate) const WARM_START: &str = "warm-start";

pub(crate) struct InitialSolution {
    /// The warm starts, or one assignment by greedy choices; empty in a run without rounds.
    pub assignments: Vec<Vec<u32>>,
    /// The least cost of a reported solution in the network's units; [`FORBIDDEN`] without one.
    pub upper: Cost,
    /// The best reported value, in the file's convention.
    pub value: Option<Number>,
    /// The lower bound before the run, in the network's units.
    pub lower: Cost,
    /// The cell for a better bound, which another thread is computing.
    pub early: Option<Arc<OnceLock<Cost>>>,
}

impl InitialSolution {
    /// Reports the solutions among the warm starts, if there are some; otherwise solutions by greedy choices until one
    /// costs at most `lower`.
    pub fn new(network: &Network, options: &Options, lower: Cost, stop: &Stop, tell: &mut dyn FnMut(Message)) -> Self {
        let totals = Totals::resumed(options);
        let known = options.keeping.resumed().and_then(|resumed| {
            let found = resumed.checkpoint.solution.as_ref()?;
            Some((resumed.upper?, found.value, &found.values))
        });
        let (upper, value) = known.map_or((FORBIDDEN, None), |(upper, value, _)| (upper, Some(value)));
        let mut first = InitialSolution { assignments: Vec::new(), upper, value, lower: network.least(), early: None };
        let mut is_known = known.is_some();
        let has_rounds = options.rounds != Some(0) && lower < network.top();
        let begins = options.warm_starts.is_empty() && known.is_none() && has_rounds;
        let has_room = || greedy::fits(network.expanded());
        if let Some((values, evaluation)) = (begins && has_room()).then(|| by_passes(network, options, stop)).flatten()
        {
            let _ = first.hear(network, &evaluation, &values, "greedy", totals, tell);
            first.assignments.push(values);
            return first;
        }
        let mut found = |assignment: &[u32], source: &str| {
            // once the run is over one solution is enough
            let gives_up = || stop.is_set() && is_known;
            let evaluation = check::evaluate_unless(network, assignment, gives_up);
            let Some(evaluation) = evaluation else { return ControlFlow::Continue(()) };
            let _ = first.hear(network, &evaluation, assignment, source, totals, tell);
            is_known = first.value.is_some();
            if first.upper > lower { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let own = network.domains().len();
        let choose = |given: &[Option<u32>], source: &str, found: &mut dyn FnMut(&[u32], &str) -> ControlFlow<()>| {
            let rng = &mut Rng::new(options.seed);
            let mut found = |values: &[u32]| found(&values[..own], source);
            let mut assignment = greedy::assignments(network.expanded(), given, rng, stop, &mut found);
            assignment.truncate(own);
            assignment
        };
        let mut assignments = Vec::new();
        for start in &options.warm_starts {
            let is_whole = start.iter().all(Option::is_some);
            assignments.push(match is_whole || !has_room() {
                true => {
                    let assignment: Vec<u32> = start.iter().map(|value| value.unwrap_or(0)).collect();
                    let _ = found(&assignment, WARM_START);
                    assignment
                }
                false => choose(start, WARM_START, &mut found),
            });
        }
        if let Some((.., values)) = known.filter(|_| assignments.is_empty()) {
            assignments.push(values.clone());
        }
        if assignments.is_empty() && has_rounds && has_room() {
            assignments.push(choose(&[], "greedy", &mut found));
        }
        InitialSolution { assignments, ..first }
    }

    /// Reports a solution if it is better than the incumbent, and returns whether it is.
    pub fn hear(
        &mut self,
        network: &Network,
        evaluation: &Evaluation,
        assignment: &[u32],
        source: &str,
        totals: Totals,
        tell: &mut dyn FnMut(Message),
    ) -> bool {
        if !evaluation.is_solution() || evaluation.cost >= self.upper {
            return false;
        }
        let Some(value) = evaluation.value(network, assignment) else { return false };
        self.upper = evaluation.cost;
        if self.value.is_none_or(|best| network.units().is_better(value, best)) {
            self.value = Some(value);
        }
        let (solution, source) = (assignment.into(), source.to_string());
        tell(Message::Solution { cost: self.upper, value, solution, source, totals });
        true
    }

    /// Returns the least cost in the network's units and the best value; `None` without a solution.
    pub fn found(&self) -> Option<(Cost, Number)> {
        self.value.map(|value| (self.upper, value))
    }
}

/// Returns a solution by passes over all functions, if the network is large enough and they find one. The pool of
/// threads takes less than a millisecond; later steps start another one.
fn by_passes(network: &Network, options: &Options, stop: &Stop) -> Option<(Vec<u32>, Evaluation)> {
    let workers = if suits_passes(network) { threads::pool(options.threads()).ok()? } else { return None };
    let found = workers.install(|| {
        // the start of a search on a form, or of one without tables, finds better solutions in the time of a pass
        let is_begun = opens_as_form(network, options.threads()) || is_dense(network);
        let passes = if Reducing::suits(network, options) && is_begun { 0 } else { tuning().run.passes };
        let values = passes::assignment(network, passes, stop).ok()?;
        let evaluation = check::evaluate_unless(network, &values, || stop.is_set())?;
        Some((values, evaluation))
    });
    found.filter(|(_, evaluation)| evaluation.is_solution())
}
