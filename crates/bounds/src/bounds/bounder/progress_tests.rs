//! Tests of the results that a stage reports while it is at work.

use super::{Bounder, BounderOptions, Step};
use crate::bounds::BoundChoice;
use crate::check;
use crate::generate::generate;
use crate::model::Cost;
use crate::reduce::{ReducedProblem, Reducer};
use crate::stop::Stop;

/// A warehouse location problem: passes are long, and the bound rises for hundreds of them.
#[test]
fn shifting_tells_its_bound_before_it_comes_to_an_end() {
    let stop = Stop::new();
    let settings = [("warehouses", "60"), ("stores", "600")];
    let network = generate("warehouse", &settings, 1).expect("a family");
    // all warehouses open, which is one value or the other, and one warehouse that serves all stores
    let cost = |open: u32| {
        let values = network.domains().iter().map(|&domain| if domain == 2 { open } else { 0 });
        check::evaluate(&network, &values.collect::<Vec<_>>()).cost
    };
    let upper = cost(0).min(cost(1));
    assert!(upper < network.top());
    let reduced = Reducer::new(&network, false, &stop).and_then(|reducer| ReducedProblem::new(reducer, &stop));
    let reduced = reduced.expect("no stop is set");
    let choice = BoundChoice::Shift;
    let mut bounder = Bounder::new(BounderOptions { choice, repeatable: true, ..BounderOptions::default() });
    let (mut told, mut last) = (Vec::new(), Cost::MIN);
    let is_enough = |told: &[(bool, String)]| told.iter().filter(|(at_work, _)| *at_work).count() > 2;
    while !is_enough(&told) {
        match bounder.step(&reduced, upper, &stop) {
            Step::More => {}
            Step::Result(result) => {
                assert!(result.lower > last && result.lower <= upper, "{last} {} {upper}", result.lower);
                last = result.lower;
                told.push((bounder.is_at_work(), result.source));
            }
            Step::Done => break,
        }
        let so_far = bounder.so_far(upper, Cost::MIN).map_or(last, |result| result.lower);
        // the bound is reported before it has risen by more than 2 % of the gap
        let known = last.max(reduced.problem.constant);
        assert!(so_far <= known + (upper - known) / 50, "{so_far} {known} {upper}");
    }
    assert!(is_enough(&told) && told.iter().all(|(_, source)| source == "shift"), "{told:?}");
}
