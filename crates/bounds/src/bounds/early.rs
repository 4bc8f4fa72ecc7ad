//! One pass of cost shifting over a large network as it is: its bound is there before reductions, elimination orders
//! and plans are made, which take many times as long as reading the network.

use super::shifting::{Between, Shifting};
use super::{BoundResult, BounderOptions, Shift, tuning};
use crate::error::Error;
use crate::model::Network;
use crate::reduce::{ReducedProblem, Reducer};
use crate::stop::Stop;
use crate::threads;
use std::sync::Arc;

/// Returns the bound of one pass of cost shifting along the order of the variables, with its proof if it is to be
/// `certified`. The time is linear in the entries of all tables. Returns `None` if the network is not large, the
/// options exclude cost shifting or allow too little memory, or `stop` is set before the pass begins.
pub fn bound(network: &Network, options: &BounderOptions, certified: bool, stop: &Stop) -> Option<BoundResult> {
    let expanded = network.expanded();
    let is_large = expanded.domains().len() + expanded.functions().len() >= tuning::LARGE;
    if !is_large || !options.choice.strategies().part(options.part).shift {
        return None;
    }
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
    let shifting = Shifting { name: "shift".into(), between: Between::Functions(shift) };
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
    fn a_large_network_has_a_bound_before_it_is_reduced() {
        let (network, stop) = (sparse("22000", "66000"), Stop::new());
        let of = |choice, certified| {
            let options = BounderOptions { choice, ..BounderOptions::default() };
            bound(&network, &options, certified, &stop)
        };
        let result = of(BoundChoice::Auto, false).expect("it is large");
        assert!(result.lower > constant_bound(&result.reduced.problem) && !result.exact);
        let cost = check::evaluate(&network, &vec![0; network.domains().len()]).cost;
        assert!(result.lower <= cost, "{} {cost}", result.lower);
        let certified = of(BoundChoice::Auto, true).expect("it is large");
        assert!(certified.lower <= cost && certified.proof.is_some());
        assert!(of(BoundChoice::Mbe, false).is_none(), "it shifts no costs");
        let small = sparse("1000", "3000");
        assert!(bound(&small, &BounderOptions::default(), false, &stop).is_none());
    }
}
