//! The best solutions of a network, by branch and bound with the cost of the worst of them as the limit.

use super::enumerate::{Sizes, enumerate};
use super::setting::Setting;
use super::{Leaf, SolutionOptions, limit};
use crate::check::{self, Evaluation};
use crate::error::Error;
use crate::model::{Cost, Network};
use crate::stop::Stop;

/// The best solutions that were found.
#[derive(Clone, Debug, Default)]
pub struct Best {
    /// The solutions with their evaluations, by cost; solutions of equal cost by their values.
    pub solutions: Vec<(Vec<u32>, Evaluation)>,
    /// Whether it is proved that no other solution is better than one of these, and that there are no more if there are
    /// fewer than requested.
    pub complete: bool,
}

/// Finds the `most` best solutions that the options select; `of` is not used. `least` is a cost that no solution is
/// below, if one is proved. Of solutions that tie for the last places a deterministic choice is returned. Once `stop`
/// is set, the result is not complete.
///
/// # Errors
/// Returns [`Error::Memory`] if even the smallest tables do not fit.
pub fn best(
    network: &Network,
    options: &SolutionOptions,
    most: usize,
    least: Option<Cost>,
    stop: &Stop,
) -> Result<Best, Error> {
    let mut best = Best::default();
    match best.find(network, options, most, least, Sizes { by_cost: true, ..Sizes::DEFAULT }, stop) {
        Ok(()) => best.complete = true,
        Err(Error::Stopped) => {}
        Err(error) => return Err(error),
    }
    Ok(best)
}

impl Best {
    fn find(
        &mut self,
        network: &Network,
        options: &SolutionOptions,
        most: usize,
        least: Option<Cost>,
        sizes: Sizes,
        stop: &Stop,
    ) -> Result<(), Error> {
        if most == 0 {
            return Ok(());
        }
        let setting = Setting::new(network, None, stop)?;
        let ub = limit(network, &setting, options.worst);
        let units = network.units();
        let mut leaf = |core: &[u32], ub: &mut Cost| {
            let assignment = setting.reducer.lift(core, stop)?;
            let evaluation = check::evaluate(network, &assignment);
            let value = units.number(evaluation.cost);
            let is_worse = options.worst.is_some_and(|worst| units.is_better(worst, value));
            if !evaluation.is_solution() || is_worse || !self.take(assignment, evaluation, most) {
                return Ok(Leaf::Refused);
            }
            let Some((_, last)) = self.solutions.get(most - 1) else { return Ok(Leaf::Taken) };
            *ub = last.cost.min(*ub);
            Ok(if least.is_some_and(|least| last.cost <= least) { Leaf::Last } else { Leaf::Taken })
        };
        let sizes = Sizes { bytes: options.memory, ..sizes };
        enumerate(&setting, ub, sizes, stop, &mut leaf).map(|_| ())
    }

    /// Adds a solution unless it is known or `most` others are at least as good.
    fn take(&mut self, assignment: Vec<u32>, evaluation: Evaluation, most: usize) -> bool {
        let own = (assignment, evaluation);
        let Err(place) =
            self.solutions.binary_search_by(|known| known.1.cost.cmp(&own.1.cost).then_with(|| known.0.cmp(&own.0)))
        else {
            return false;
        };
        if self.solutions.len() == most && self.solutions.last().is_some_and(|last| last.1.cost <= own.1.cost) {
            return false;
        }
        self.solutions.insert(place, own);
        self.solutions.truncate(most);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use fangs_testing::networks::{assignments, random};

    #[test]
    fn the_best_are_those_of_enumeration() {
        let (mut rng, mut fewer, mut full) = (Rng::new(25), 0, 0);
        for case in 0..2000 {
            let network = if case % 2 == 0 { random(&mut rng) } else { fangs_testing::globals::network(&mut rng) };
            let every = assignments(&network).into_iter().map(|values| check::evaluate(&network, &values));
            let mut costs: Vec<Cost> = every.filter(Evaluation::is_solution).map(|found| found.cost).collect();
            costs.sort_unstable();
            let (most, options) = (1 + rng.index(12), SolutionOptions::default());
            let least = costs.first().copied().filter(|_| rng.below(2) == 0);
            let first_leaf = [1, 10, 1 << 14][rng.index(3)];
            let sizes = Sizes { by_cost: true, first_leaf, propagates: rng.below(3) > 0, ..Sizes::DEFAULT };
            let mut best = Best::default();
            best.find(&network, &options, most, least, sizes, &Stop::new()).expect("small tables");
            let found: Vec<Cost> = best.solutions.iter().map(|(_, evaluation)| evaluation.cost).collect();
            assert_eq!(found, costs[..costs.len().min(most)], "case {case}");
            let mut different: Vec<_> = best.solutions.iter().map(|(values, _)| values).collect();
            different.sort_unstable();
            different.dedup();
            assert_eq!(different.len(), found.len(), "case {case}");
            for (values, evaluation) in &best.solutions {
                assert_eq!(*evaluation, check::evaluate(&network, values));
            }
            if costs.len() < most { fewer += 1 } else { full += 1 }
        }
        assert!(fewer > 200 && full > 200, "{fewer} {full}");
    }
}
