//! Lower bounds on the cost of solutions with each value, by the backward pass through the mini-buckets of a finished
//! run.
//!
//! A message and its outside aggregate together are min-marginals of the relaxed network that mini-buckets solve, in
//! which every mini-bucket has its own copies of the variables. A value whose min-marginal reaches the incumbent's cost
//! in one of the mini-buckets that contain its variable is in no better solution.

use super::backward::{Fold, WayBack, backward};
use super::costs::Tables;
use super::plan::Plan;
use super::run::Outcome;
use super::start::task;
use crate::algebra::{CostEntry, MinSum};
use crate::model::{Cost, FORBIDDEN, Problem};
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use crate::tensor::strides;

/// Work of a combination of the backward pass, in combinations of a run: it was measured to take five to ten times as
/// long.
const WORK: u64 = 8;

impl Outcome {
    /// Returns a lower bound on the cost of a solution with each value of each variable, or [`FORBIDDEN`] if no
    /// solution below the run's limit has the value. Visits every combination of every mini-bucket once more, and takes
    /// as much memory as the messages. `None` if the plan did not keep the messages, or if `stop` is set.
    pub fn value_bounds(&self, stop: &Stop) -> Option<Vec<Vec<Cost>>> {
        match self.tables()? {
            Tables::I32(messages) => bounds(&self.problem, &self.plan, messages, stop),
            Tables::I64(messages) => bounds(&self.problem, &self.plan, messages, stop),
        }
    }

    /// Returns the work of [`Outcome::value_bounds`], in combinations of a run.
    pub fn value_bounds_work(&self) -> u64 {
        self.plan.joint_entries.saturating_mul(WORK)
    }
}

fn bounds<E: CostEntry>(
    problem: &Problem,
    plan: &Plan,
    messages: &[Storage<E>],
    stop: &Stop,
) -> Option<Vec<Vec<Cost>>> {
    let constant = |index: usize| messages[index].first().map_or(0, |entry| entry.cost());
    let roots = (0..plan.steps.len()).filter(|&index| plan.steps[index].scope.is_empty());
    let total = roots.map(constant).sum();
    let bounds = problem.domains.iter().map(|&d| vec![Cost::MIN; d as usize]).collect();
    let mut way = Bounds { plan, messages, total, bounds };
    backward(task(problem, plan), messages, &mut way, stop).ok()?;
    let absolute =
        |bound: Cost| if bound >= plan.costs.cap { FORBIDDEN } else { bound.saturating_add(problem.constant) };
    let mut bounds = way.bounds;
    bounds.iter_mut().flatten().for_each(|bound| *bound = absolute(*bound));
    Some(bounds)
}

/// The best bound of each value over all mini-buckets.
struct Bounds<'a, E> {
    plan: &'a Plan,
    messages: &'a [Storage<E>],
    /// The sum of the messages without variables.
    total: Cost,
    bounds: Vec<Vec<Cost>>,
}

impl<E: CostEntry> Bounds<'_, E> {
    fn note(&mut self, position: u32, values: impl Iterator<Item = Cost>) {
        let bounds = &mut self.bounds[self.plan.sequence[position as usize] as usize];
        bounds.iter_mut().zip(values).for_each(|(bound, cost)| *bound = (*bound).max(cost));
    }
}

impl<E: CostEntry> WayBack<MinSum<E>> for Bounds<'_, E> {
    fn root(&mut self, step: usize) -> E {
        let own = self.messages[step].first().map_or(0, |entry| entry.cost());
        E::from_cost((self.total - own).min(self.plan.costs.cap))
    }

    /// Notes the min-marginals of the positions of a message.
    fn message(&mut self, step: usize, rest: &[E]) {
        let plan = self.plan;
        let scope = &plan.steps[step].scope;
        let sizes: Vec<usize> = scope.iter().map(|&p| plan.domains[p as usize] as usize).collect();
        for ((&position, &size), stride) in scope.iter().zip(&sizes).zip(strides(&sizes)) {
            let mut least = vec![Cost::MAX; size];
            for (run, (message, rest)) in self.messages[step].chunks(stride).zip(rest.chunks(stride)).enumerate() {
                let lowest = message.iter().zip(rest).map(|(message, rest)| message.cost() + rest.cost()).min();
                let least = &mut least[run % size];
                *least = (*least).min(lowest.unwrap_or(Cost::MAX));
            }
            self.note(position, least.into_iter());
        }
    }

    fn values(&mut self, fold: Fold, values: &[E]) {
        self.note(self.plan.steps[fold.step].position, values.iter().map(|value| value.cost()));
    }
}

#[cfg(test)]
mod tests {
    use crate::elimination::tests::{assignments, random, run, shuffled};
    use crate::elimination::{Limits, Plan};
    use crate::model::{Cost, FORBIDDEN};
    use crate::rng::Rng;
    use crate::stop::Stop;
    use std::sync::Arc;

    /// Returns the min-marginals by enumeration; [`FORBIDDEN`] for costs of `limit` or more.
    fn marginals(problem: &crate::model::Problem, limit: Cost) -> Vec<Vec<Cost>> {
        let mut least: Vec<Vec<Cost>> = problem.domains.iter().map(|&d| vec![FORBIDDEN; d as usize]).collect();
        for values in assignments(problem) {
            let cost = problem.cost(&values);
            if cost < limit {
                for (least, &value) in least.iter_mut().zip(&values) {
                    least[value as usize] = least[value as usize].min(cost);
                }
            }
        }
        least
    }

    #[test]
    fn values_cost_what_elimination_says_and_no_less_than_mini_buckets_say() {
        let mut rng = Rng::new(31);
        let (mut split, mut forbidden) = (0, 0);
        for case in 0..2500 {
            let problem = Arc::new(random(&mut rng, 7));
            let order = shuffled(&problem, &mut rng);
            let optimum = assignments(&problem).map(|values| problem.cost(&values)).min().unwrap_or(FORBIDDEN);
            let ub = if optimum < FORBIDDEN { optimum + rng.below(30) as Cost } else { problem.top };
            for (z, bytes) in [(None, 1 << 30), (Some(1), 1 << 30), (Some(2), 1 << 30), (Some(3), 1 << 30), (None, 300)]
            {
                let limits = Limits { z, ub: Some(ub), ..Limits::new(bytes) };
                let outcome = run(&problem, Plan::new(&problem, &order, &limits));
                let limit = ub.min(problem.top);
                let exact = marginals(&problem, limit);
                let bounds = outcome.value_bounds(&Stop::new()).expect("messages are kept");
                for (bounds, exact) in bounds.iter().flatten().zip(exact.iter().flatten()) {
                    assert!(bounds <= exact, "case {case}, z {z:?}: {bounds} above {exact}");
                    if outcome.exact() {
                        assert_eq!(bounds, exact, "case {case}, z {z:?}");
                    } else {
                        split += 1;
                        forbidden += u32::from(*bounds >= limit);
                    }
                }
            }
        }
        assert!(split > 10_000 && forbidden > 1000, "{split} {forbidden}");
    }

    #[test]
    fn large_tables_go_by_blocks() {
        let mut rng = Rng::new(32);
        for _ in 0..20 {
            let mut problem = random(&mut rng, 7);
            // a function of more combinations than a tile has
            let domains = vec![7, 6, 7, 3, 5];
            problem.unary = domains.iter().map(|&d| (0..d).map(|_| rng.below(9) as Cost).collect()).collect();
            problem.functions = [[0u32, 1, 2], [1, 2, 3], [2, 3, 4]]
                .map(|scope| {
                    let entries: u32 = scope.iter().map(|&v| domains[v as usize]).product();
                    let costs = (0..entries).map(|_| rng.below(50) as Cost).collect();
                    crate::model::CostFunction { scope: scope.into(), table: crate::model::Table::dense(costs) }
                })
                .to_vec();
            problem.domains = domains;
            problem.top = FORBIDDEN;
            let problem = Arc::new(problem);
            let order = shuffled(&problem, &mut rng);
            let outcome = run(&problem, Plan::new(&problem, &order, &Limits::new(1 << 30)));
            assert!(outcome.exact());
            assert_eq!(outcome.value_bounds(&Stop::new()), Some(marginals(&problem, FORBIDDEN)));
        }
    }
}
