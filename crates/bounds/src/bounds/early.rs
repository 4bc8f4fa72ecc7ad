//! A lower bound of a large network before it is reduced. Reductions, elimination orders and plans of such a network
//! take many times as long as reading it.

use super::cost_shifting::Shift;
use super::proof::Proof;
use super::shifting::{Between, Shifting};
use super::step::BounderOptions;
use super::sweep::sweep;
use crate::model::{Cost, Network};
use crate::reduce::{ReducedProblem, Reducer};
use crate::stop::Stop;
use crate::threads;
use crate::tuning::tuning;

/// The name by which results refer to the source of an early bound.
pub const SOURCE: &str = "shift";

/// A lower bound, with its proof if one was requested.
#[derive(Debug)]
pub struct EarlyBound {
    /// The lower bound: no assignment costs less.
    pub lower: Cost,
    /// The proof of `lower`; `None` if none was requested.
    pub proof: Option<Proof>,
}

/// Returns a bound by one pass of cost shifting: over the functions in their order, which takes less time than reading
/// them; or, for a certificate, along the variables with a journal. Returns `None` if the network is not large, the
/// options exclude cost shifting or allow too little memory, or `stop` is set.
pub fn bound(network: &Network, options: &BounderOptions, stop: &Stop) -> Option<EarlyBound> {
    let expanded = network.expanded();
    let is_large = expanded.domains().len() + expanded.functions().len() >= tuning().general.large;
    if !is_large || !options.choice.strategies().part(options.part).shift {
        return None;
    }
    match options.certified {
        true => certified_bound(network, options, stop),
        false => Some(EarlyBound { lower: sweep(network, stop).ok()?.min(network.top()), proof: None }),
    }
}

fn certified_bound(network: &Network, options: &BounderOptions, stop: &Stop) -> Option<EarlyBound> {
    let reduced = ReducedProblem::new(Reducer::logged(network, false, stop).ok()?, stop).ok()?;
    let problem = &reduced.problem;
    if reduced.reducer.infeasible() || Shift::bytes(problem, stop).ok()?.0 > options.memory / 4 {
        return None;
    }
    let order: Vec<u32> = (0..problem.variables() as u32).collect();
    let mut shift = Shift::new(problem, None, &order, stop)?;
    shift.keep_journal();
    let (_, _, pass) = shift.passes();
    let _ = shift.advance(pass, stop);
    let lower = shift.lower_bound(problem.top);
    let shifting = Shifting { name: SOURCE.into(), between: Between::Functions(shift) };
    let proof = shifting.proof(&reduced.reducer);
    let variables = problem.variables();
    threads::free((shifting, reduced), variables);
    Some(EarlyBound { lower, proof })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::BoundChoice;
    use crate::check;
    use crate::generate::generate;

    fn sparse(n: &str, functions: &str) -> Network {
        generate("large-sparse", &[("n", n), ("d", "2"), ("functions", functions)], 3).expect("a family")
    }

    #[test]
    fn a_large_network_has_a_bound_before_it_is_reduced() {
        let (network, stop) = (sparse("22000", "66000"), Stop::new());
        let of = |network: &Network, choice, certified| {
            let options = BounderOptions { choice, certified, ..BounderOptions::default() };
            bound(network, &options, &stop)
        };
        let cost = check::evaluate(&network, &vec![0; network.domains().len()]).cost;
        for certified in [false, true] {
            let EarlyBound { lower, proof } = of(&network, BoundChoice::Auto, certified).expect("it is large");
            assert!(lower > network.least() && lower <= cost, "{lower} {cost}");
            assert_eq!(proof.is_some(), certified);
        }
        assert!(of(&network, BoundChoice::Mbe, false).is_none(), "it shifts no costs");
        assert!(of(&sparse("1000", "3000"), BoundChoice::Auto, false).is_none(), "it is small");
    }
}
