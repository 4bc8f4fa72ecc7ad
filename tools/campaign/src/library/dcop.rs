//! The command `dcop`.

use super::{decimal, network, stop};
use crate::call::{Call, Report};
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_bounds::reduce::Reducer;
use fangs_check::evaluate;
use fangs_dcop::{LocalOptions, LocalSearch, Place, run_agents, run_bounded, run_levels, run_local};
use fangs_elimination::elimination::{Limits, Plan};
use fangs_elimination::order::{PseudoTree, Visit};
use fangs_model::model::Cost;
use std::sync::Arc;

/// Solves the problem of a call by messages between agents.
pub fn run(call: &Call) -> Result<Report, Error> {
    let (network, settings, stop) = (network(call)?, &call.settings, stop(call));
    if network.is_relaxed() {
        return Err(Error::Usage("a sum has too many values for the tables that agents send".into()));
    }
    let reducer = Reducer::new(&network, false, &stop)?;
    let problem = Arc::new(reducer.fitting_problem(&stop)?);
    let algorithm = settings.get("algorithm").unwrap_or("dpop");
    let local = [("dsa", LocalSearch::Dsa), ("mgm", LocalSearch::Mgm), ("max-sum", LocalSearch::MaxSum)];
    let local = local.into_iter().find(|(name, _)| *name == algorithm).map(|(_, local)| local);
    let (lower, values) = if let Some(local) = local {
        let (seed, cycles) = (settings.number("seed").unwrap_or(1), settings.number("cycles"));
        let options = LocalOptions { seed, cycles, ..LocalOptions::default() };
        let initial = vec![None; problem.variables()];
        let found = run_local(&problem, local, &initial, options, &stop)?;
        (Cost::MIN, Some(found.assignment))
    } else if reducer.infeasible() {
        (network.top(), None)
    } else {
        let tree = match settings.has("best-tree") {
            true => PseudoTree::best(&problem, None, &stop)?,
            false => PseudoTree::depth_first(&problem, Visit::MostNeighbours, None, &stop)?,
        };
        let memory = settings.number("bound-memory").unwrap_or(1 << 28);
        if let Some(limit) = settings.number("message-limit") {
            let found = run_bounded(&problem, &tree, limit, memory, None, &stop)?;
            (found.lower, found.assignment.map(|(_, values)| values))
        } else {
            let limits = Limits::new(memory).with(|limits| limits.z = settings.number("z"));
            let plan = Plan::until(&problem, &tree.order, &limits, &stop)?;
            let found = match settings.get("mode") {
                Some("agents") => run_agents(&problem, &plan, Place::Host, &stop)?,
                _ => run_levels(&problem, plan, None, &stop)?,
            };
            (found.lower, Some(found.assignment))
        }
    };
    let lower = lower.max(network.least());
    let values = values.map(|values| reducer.lift(&values, &Stop::new())).transpose()?;
    let solution = values.and_then(|values| {
        let evaluation = evaluate(&network, &values);
        let value = evaluation.value(&network, &values).filter(|_| evaluation.is_solution())?;
        Some((evaluation.cost, value, values))
    });
    let status = match &solution {
        Some((cost, ..)) if lower >= *cost => "optimal",
        Some(_) => "bounded",
        None if lower >= network.top() => "infeasible",
        None => "unknown",
    };
    Ok(Report {
        status: status.into(),
        bound: network.bound(lower).and_then(decimal),
        cost: solution.as_ref().and_then(|(_, value, _)| decimal(*value)),
        solution: solution.map(|(.., values)| values),
        ..Report::default()
    })
}
