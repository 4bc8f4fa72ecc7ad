//! Bounds of a large network as it is, before reductions, elimination orders and plans are made, which take many times
//! as long as reading it: one sweep over its functions, then one pass of cost shifting along its variables.

use super::cost_shifting::Shift;
use super::shifting::{Between, Shifting};
use super::step::{BoundResult, BounderOptions};
use super::sweep::sweep;
use super::tuning;
use crate::error::Error;
use crate::model::{Cost, Network};
use crate::reduce::{ReducedProblem, Reducer};
use crate::stop::Stop;
use crate::threads;
use std::sync::Arc;

/// The name of what makes these bounds.
pub const SOURCE: &str = "shift";

/// Whether a network is so large, and the options so wide, that there are bounds before all others.
pub fn suits(network: &Network, options: &BounderOptions) -> bool {
    let expanded = network.expanded();
    let is_large = expanded.domains().len() + expanded.functions().len() >= tuning::LARGE;
    is_large && options.choice.strategies().part(options.part).shift
}

/// The first bound, in less than the time that reading the network takes; it has no proof.
pub fn first(network: &Network, stop: &Stop) -> Option<Cost> {
    sweep(network, stop).ok()
}

/// Returns the bound of one pass of cost shifting along the order of the variables, with its proof if it is to be
/// `certified`. The time is linear in the entries of all tables. Returns `None` if the options allow too little
/// memory, or `stop` is set before the pass begins.
pub fn bound(network: &Network, options: &BounderOptions, certified: bool, stop: &Stop) -> Option<BoundResult> {
    let reduced = unreduced(network, certified, stop).ok()?;
    let problem = &reduced.problem;
    if reduced.reducer.infeasible() || Shift::bytes(problem, stop).ok()?.0 > options.memory / 4 {
        return None;
    }
    let order: Vec<u32> = (0..problem.variables() as u32).collect();
    let mut shift = Shift::new(problem, None, &order, stop)?;
    if certified {
        shift.keep_journal();
    }
    let (_, _, pass) = shift.passes();
    let _ = shift.advance(pass, stop);
    let lower = shift.lower_bound(problem.top);
    let shifting = Shifting { name: SOURCE.into(), between: Between::Functions(shift) };
    let (proof, source) = (shifting.proof(&reduced.reducer), shifting.name.clone());
    threads::free(shifting, problem.variables());
    Some(BoundResult { proof, ..BoundResult::new(reduced, lower, source) })
}

/// The network without reductions; with a log of steps if the bound is to be certified.
fn unreduced(network: &Network, certified: bool, stop: &Stop) -> Result<ReducedProblem, Error> {
    if certified {
        return ReducedProblem::new(Reducer::logged(network, false, stop)?, stop);
    }
    let (reducer, problem) = Reducer::unreduced(network, stop)?;
    Ok(ReducedProblem { reducer: reducer.into(), problem: Arc::new(problem) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::{BoundChoice, constant_bound};
    use crate::check;
    use crate::generate::generate;

    fn sparse(n: &str, functions: &str) -> Network {
        generate("large-sparse", &[("n", n), ("d", "2"), ("functions", functions)], 3).expect("a family")
    }

    #[test]
    fn a_large_network_has_bounds_before_it_is_reduced() {
        let (network, stop) = (sparse("22000", "66000"), Stop::new());
        let options = |choice| BounderOptions { choice, ..BounderOptions::default() };
        let auto = options(BoundChoice::Auto);
        assert!(suits(&network, &auto));
        let first = first(&network, &stop).expect("it fits");
        let result = bound(&network, &auto, false, &stop).expect("it fits");
        let constant = constant_bound(&result.reduced.problem);
        assert!(constant < first && first < result.lower && !result.exact, "{constant} {first} {}", result.lower);
        let cost = check::evaluate(&network, &vec![0; network.domains().len()]).cost;
        assert!(result.lower <= cost, "{} {cost}", result.lower);
        let certified = bound(&network, &auto, true, &stop).expect("it fits");
        assert!(certified.lower <= cost && certified.proof.is_some());
        assert!(!suits(&network, &options(BoundChoice::Mbe)), "it shifts no costs");
        assert!(!suits(&sparse("1000", "3000"), &auto), "it is small");
    }
}
