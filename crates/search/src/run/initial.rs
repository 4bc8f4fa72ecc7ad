//! The solutions that a run begins with, found before threads, reductions and tables are ready.

use super::reducing::Reducing;
use super::{greedy, passes};
use crate::check::{self, Evaluation};
use crate::core::size::{is_dense, opens_as_form, suits_passes};
use crate::ledger::Ledger;
use crate::model::{Cost, FORBIDDEN, Network};
use crate::options::Options;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::threads;
use crate::tuning::tuning;
use std::ops::ControlFlow;

/// The source of warm starts in events.
pub(crate) const WARM_START: &str = "warm-start";

/// Gives the solutions among the warm starts to the ledger, if there are some; otherwise solutions by greedy choices
/// until one costs at most `lower`. Returns the assignments that the search begins with: the warm starts, or one by
/// greedy choices; none in a run without rounds.
pub(crate) fn assignments(
    network: &Network,
    options: &Options,
    lower: Cost,
    ledger: &Ledger,
    stop: &Stop,
) -> Vec<Vec<u32>> {
    let known = options.keeping.resumed().and_then(|resumed| Some(&resumed.checkpoint.solution.as_ref()?.values));
    let mut is_known = known.is_some();
    let has_rounds = options.rounds != Some(0) && lower < network.top();
    let begins = options.warm_starts.is_empty() && known.is_none() && has_rounds;
    let has_room = || greedy::fits(network.expanded());
    if let Some((values, evaluation)) = (begins && has_room()).then(|| by_passes(network, options, stop)).flatten() {
        let _ = offer(network, ledger, &evaluation, &values, "greedy");
        return vec![values];
    }
    let mut found = |assignment: &[u32], source: &str| {
        // once the run is over one solution is enough
        let gives_up = || stop.is_set() && is_known;
        let evaluation = check::evaluate_unless(network, assignment, gives_up);
        let Some(evaluation) = evaluation else { return ControlFlow::Continue(()) };
        let _ = offer(network, ledger, &evaluation, assignment, source);
        let upper = ledger.upper();
        is_known = upper < FORBIDDEN;
        if upper > lower { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
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
    if let Some(values) = known.filter(|_| assignments.is_empty()) {
        assignments.push(values.clone());
    }
    if assignments.is_empty() && has_rounds && has_room() {
        assignments.push(choose(&[], "greedy", &mut found));
    }
    assignments
}

/// Gives an assignment that the independent evaluator has checked to the ledger. Returns whether it is a better
/// solution.
pub(crate) fn offer(
    network: &Network,
    ledger: &Ledger,
    evaluation: &Evaluation,
    assignment: &[u32],
    source: &str,
) -> bool {
    let value = evaluation.is_solution().then(|| evaluation.value(network, assignment)).flatten();
    value.is_some_and(|value| ledger.offer(evaluation.cost, value, assignment, source))
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
