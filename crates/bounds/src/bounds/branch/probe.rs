//! Depth-first branch and bound on a small problem with limited work, for large-neighbourhood search.

use super::depth_first::{Dive, Found, Node, Style};
use super::leaf::Budget;
use super::residual::State;
use super::static_data::StaticData;
use crate::bounds::tuning::branch::{PROBE_MEMORY, PROBE_PASSES, SET_UP};
use crate::model::{Cost, Problem};
use crate::order::{Method, Order};
use crate::stop::Stop;
use crate::tuning::tuning;
use std::sync::Arc;

/// A branch and bound search with limited work.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Entries to visit before the search ends.
    pub work: u64,
    /// Discrepancies of a path: the child of rank k, 0 for the best, uses k of them.
    pub discrepancies: usize,
    /// Combinations up to which a node is eliminated instead of searched.
    leaf: f64,
}

/// The result of a [`Probe`].
#[derive(Clone, Debug)]
pub struct Probed {
    /// The best assignment found below the limit, if there is one.
    pub solution: Option<Vec<u32>>,
    /// Whether the search was exhaustive, so that no better assignment exists.
    pub complete: bool,
    /// Whether the work limit ended the search.
    pub short: bool,
    /// Entries visited and combinations eliminated.
    pub work: u64,
}

impl Probe {
    /// Creates a search with these limits of work and discrepancies.
    pub fn new(work: u64, discrepancies: usize) -> Probe {
        Probe { work, discrepancies, leaf: tuning().branch.leaf }
    }

    /// Sets the combinations up to which nodes are eliminated, for tests with small networks.
    #[doc(hidden)]
    pub fn leaves(self, leaf: f64) -> Probe {
        Probe { leaf, ..self }
    }

    /// Searches for the best assignment that costs less than `ub`. Returns `None` if costs are too large for sums of 64
    /// bits.
    pub fn search(&self, problem: &Arc<Problem>, ub: Cost, stop: &Stop) -> Option<Probed> {
        let (order, steps) = Order::within(problem, Method::MinFill, 1, self.work, stop);
        // without the stop flag: the problem is small, and `None` would mean that its costs never fit
        let data = StaticData::new(problem, ub, &order.sequence, &Stop::new())?;
        let mut state = State::new(&data, data.limit(ub.min(problem.top)));
        let set_up = SET_UP * (problem.variables() + problem.functions.len()) as u64;
        let entries = StaticData::bytes(problem, &Stop::new()).ok()?.0 / size_of::<Cost>() as u64;
        let mut probed = Probed { solution: None, complete: true, short: false, work: set_up + entries + steps };
        if state.limit > 0 && state.propagate(&data, PROBE_PASSES, stop) {
            let dive = Dive {
                data: &data,
                style: Style::Light,
                work: self.work,
                descent: 0,
                discrepancies: self.discrepancies,
                failures: None,
                budget: Budget { joint_entries: self.leaf, bytes: PROBE_MEMORY, message_entries: None, gpu: None },
            };
            probed.work += state.work;
            let root = Node { bound: state.constant, part: 1.0, depth: 0, serial: 0, path: None };
            let Found { solution, open, cut, work, .. } = dive.search(&mut state, root, stop);
            probed.solution = solution;
            probed.short = !open.is_empty();
            probed.complete = !cut && open.is_empty();
            probed.work += work;
        } else {
            probed.work += state.work;
        }
        probed.complete &= !stop.is_set();
        Some(probed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use fangs_testing::band as wide;
    use fangs_testing::problems::{assignments, random};

    #[test]
    fn a_complete_search_has_the_optimum_and_any_search_what_it_says() {
        let mut rng = Rng::new(43);
        let (mut found, mut complete, mut cut, mut short) = (0, 0, 0, 0);
        for case in 0..4000 {
            let problem = Arc::new(if case % 20 == 0 { wide(&mut rng, 8, 3, 6) } else { random(&mut rng, 4) });
            let optimum = assignments(&problem).map(|values| problem.cost(&values)).min().unwrap_or(problem.top);
            let ub = optimum.saturating_add(rng.below(30) as Cost - 5).min(problem.top);
            let work = if rng.below(2) == 0 { u64::MAX } else { rng.below(400) };
            let discrepancies = [0, 1, 3, usize::MAX][rng.index(4)];
            let probe = Probe::new(work, discrepancies).leaves(4.0);
            let probed = probe.search(&problem, ub, &Stop::new()).expect("small costs");
            let cost = probed.solution.map(|values| problem.cost(&values));
            assert!(cost.is_none_or(|cost| optimum <= cost && cost < ub), "case {case}");
            if probed.complete {
                assert_eq!(cost, (optimum < ub).then_some(optimum), "case {case}");
                complete += 1;
            } else if probed.short {
                short += 1;
            } else {
                assert!(discrepancies < usize::MAX, "case {case}");
                cut += 1;
            }
            found += u32::from(cost.is_some());
            if work == u64::MAX && discrepancies == usize::MAX {
                assert!(probed.complete, "case {case}");
            }
        }
        assert!(found > 1000 && complete > 1000 && cut > 20 && short > 20, "{found} {complete} {cut} {short}");
    }
}
