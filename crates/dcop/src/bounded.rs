//! Exact DPOP with messages of limited size. If messages would be larger, values of *cut variables* are fixed, and the
//! agents below repeat their messages for each combination (Petcu and Faltings, "MB-DPOP: a new memory-bounded
//! algorithm for distributed optimization", 2007).
//!
//! Values that need no message are dropped before it is sent: costs are shifted between neighbours, and a value is
//! dropped if its lower bound reaches the incumbent's cost (Brito and Meseguer, "Improving DPOP with function
//! filtering", 2010; Gutierrez and Meseguer, "Including soft global constraints in DCOPs", 2012). The remaining values
//! have smaller messages. This is branch and bound along the tree, as in [`Branch`].

use super::run_levels;
use crate::bounds::{Begin, Branch, Search, Style};
use crate::elimination::cuda::Gpu;
use crate::elimination::{Limits, Plan, Progress};
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::order::PseudoTree;
use crate::stop::Stop;
use std::sync::Arc;

/// Work between two checks of the stop flag.
const SLICE: u64 = 1 << 24;

/// Entries of the messages of ADPOP that give a first upper bound before values are fixed: some hundredths of a second.
/// More entries help only if optimality is not proved in the end.
const FIRST: u64 = 1 << 16;

/// The result of DPOP with messages of limited size.
#[derive(Clone, Debug)]
pub struct BoundedFound {
    /// The lower bound on the optimum.
    pub lower: Cost,
    /// The incumbent with its cost; `None` if there is none below the limit or none was found in time.
    pub assignment: Option<(Cost, Vec<u32>)>,
    /// Whether the search is complete.
    pub complete: bool,
    /// The variables that were fixed, those near a root first.
    pub cut: Vec<u32>,
    /// The number of values of cut variables that were examined, each after values of earlier cut variables.
    pub contexts: u64,
    /// The number of these values that cost shifting alone pruned.
    pub pruned: u64,
    /// The number of these values for which agents sent messages.
    pub runs: u64,
    /// The number of UTIL messages beyond those of a single run.
    pub repeated_messages: u64,
    /// Entries of all messages.
    pub util_entries: u64,
    /// Entries of the largest message.
    pub largest_util_entries: u64,
}

/// Runs DPOP along a tree with messages of at most `message_limit` entries.
///
/// # Errors
/// Returns an error if there is no memory or if costs are too large for cost shifting; [`Error::Stopped`] if `stop` is
/// set before there is a result.
pub fn run_bounded(
    problem: &Arc<Problem>,
    tree: &PseudoTree,
    message_limit: u64,
    memory: u64,
    gpu: Option<&Arc<Gpu>>,
    stop: &Stop,
) -> Result<BoundedFound, Error> {
    let size = tree.size(&problem.domains);
    let fits = size.largest_util_entries <= u128::from(message_limit);
    let z = (!fits).then(|| most_variables(&problem.domains, message_limit.min(FIRST)));
    let limits = Limits { z, ub: Some(problem.top), ..Limits::new(memory) };
    let plan = Plan::until(problem, &tree.order, &limits, stop)?;
    let mut found = BoundedFound {
        lower: problem.constant.min(problem.top),
        assignment: None,
        complete: false,
        cut: Vec::new(),
        contexts: 0,
        pruned: 0,
        runs: 0,
        repeated_messages: 0,
        util_entries: 0,
        largest_util_entries: 0,
    };
    // the messages of a function alone may be too large
    if plan.largest_table <= message_limit {
        found.count(plan.steps.iter().filter(|step| !step.scope.is_empty()).map(|step| step.entries));
        found.complete = plan.exact;
        let first = run_levels(problem, plan, gpu, stop)?;
        let cost = problem.cost(&first.assignment);
        found.lower = first.lower.min(problem.top);
        found.assignment = (cost < problem.top).then_some((cost, first.assignment));
    }
    if found.complete {
        return Ok(found);
    }
    let upper = found.assignment.as_ref().map_or(problem.top, |(cost, _)| *cost);
    let begin = Begin { problem, ub: Some(upper), order: &tree.order, memory, journal: false, network: None };
    let Some(mut search) = Branch::new(begin, Style::Cut { message_entries: message_limit }, stop) else {
        stop.check()?;
        let what = "messages of limited size: the problem takes more than the memory, or its costs more than 48 bits \
                    (--precision N keeps fewer digits)";
        return Err(Error::Memory(what.into()));
    };
    while search.advance(SLICE, stop) == Progress::More && !stop.is_set() {}
    if let Some(values) = search.take_solution() {
        found.assignment = Some((problem.cost(&values), values));
    }
    found.complete = search.is_done();
    found.lower = found.lower.max(search.lower_bound());
    let (sent, edges) = (search.sent(), tree.parent.iter().flatten().count() as u64);
    found.cut = search.cut().collect();
    found.cut.sort_by_key(|&v| (tree.depth[v as usize], v));
    (found.contexts, found.pruned, found.runs) = (search.nodes(), search.pruned(), sent.runs);
    found.repeated_messages = sent.messages.saturating_sub(edges);
    found.util_entries = found.util_entries.saturating_add(sent.entries);
    found.largest_util_entries = found.largest_util_entries.max(sent.largest);
    Ok(found)
}

impl BoundedFound {
    fn count(&mut self, messages: impl Iterator<Item = u64>) {
        for entries in messages {
            self.util_entries = self.util_entries.saturating_add(entries);
            self.largest_util_entries = self.largest_util_entries.max(entries);
        }
    }
}

/// Returns the largest z, the number of variables of a mini-bucket, whose messages fit whatever their variables are.
fn most_variables(domains: &[u32], limit: u64) -> u32 {
    let mut sizes: Vec<u64> = domains.iter().map(|&domain| u64::from(domain)).filter(|&domain| domain > 1).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut entries = 1u64;
    let fits = |&size: &u64| {
        entries = entries.saturating_mul(size);
        entries <= limit.max(1)
    };
    sizes.into_iter().take_while(fits).count() as u32 + 1
}
