//! What solutions with each value cost at least: the way back through the mini-buckets of a finished run.
//!
//! Messages say what a mini-bucket and all below it cost; the way back says what everything else costs, from the last
//! step to the first. Both together are the min-marginals of the relaxed network that mini-buckets solve, in which
//! every mini-bucket has variables of its own (Dechter, "Bucket elimination: a unifying framework for reasoning",
//! 1999, has the same for beliefs). A value whose min-marginal reaches the incumbent in one of the mini-buckets that
//! have its variable is in no better solution.

use super::plan::{Input, Plan, Source, Step};
use super::run::{Outcome, Tables};
use super::table;
use crate::algebra::CostEntry;
use crate::model::{Cost, FORBIDDEN, Odometer, Problem};
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use crate::tensor::strides;
use crate::tensor::tiles::{Shape, StrideMap, Tiles};
use rayon::prelude::*;

/// What a combination of the way back counts, if one of a run counts 1: five to ten times as much time was measured.
const WORK: u64 = 8;

impl Outcome {
    /// What a solution with each value of each variable costs at least, [`FORBIDDEN`] where none below the run's
    /// limit has it. Looks at every combination of every mini-bucket once more, and takes as much memory as the
    /// messages. `None` where the plan did not keep these, or `stop` is set.
    pub fn value_bounds(&self, stop: &Stop) -> Option<Vec<Vec<Cost>>> {
        match self.tables()? {
            Tables::I32(messages) => backward(&self.problem, &self.plan, messages, stop),
            Tables::I64(messages) => backward(&self.problem, &self.plan, messages, stop),
        }
    }

    /// The work that this takes, in the combinations of a run.
    pub fn value_bounds_work(&self) -> u64 {
        self.plan.joint_entries.saturating_mul(WORK)
    }
}

fn backward<E: CostEntry>(
    problem: &Problem,
    plan: &Plan,
    messages: &[Storage<E>],
    stop: &Stop,
) -> Option<Vec<Vec<Cost>>> {
    let mut bounds: Vec<Vec<Cost>> = problem.domains.iter().map(|&d| vec![Cost::MIN; d as usize]).collect();
    // what everything but a step and all below it costs, by the combinations of its message
    let mut outside: Vec<Storage<E>> = plan.steps.iter().map(|_| Storage::default()).collect();
    let cap = |cost: Cost| E::from_cost(cost.min(plan.costs.cap));
    let constant = |index: usize| messages[index].first().map_or(0, |entry| entry.cost());
    let roots = || (0..plan.steps.len()).filter(|&index| plan.steps[index].scope.is_empty());
    let total: Cost = roots().map(constant).sum();
    for (index, step) in plan.steps.iter().enumerate().rev() {
        if stop.is_set() {
            return None;
        }
        let message = &messages[index];
        let rest = if step.scope.is_empty() {
            std::iter::once(cap(total - constant(index))).collect()
        } else {
            std::mem::take(&mut outside[index])
        };
        // below a function too large for a table nothing is known
        if rest.len() != message.len() {
            continue;
        }
        let mut note = |position: u32, value: usize, cost: Cost| {
            let bound = &mut bounds[plan.sequence[position as usize] as usize][value];
            *bound = (*bound).max(cost);
        };
        note_message(plan, step, message, &rest, &mut note);
        // its entries are nowhere as one table
        if step.lowered {
            continue;
        }
        let slabs = slabs(problem, plan, step, messages, &rest);
        for (value, slice) in slabs.iter().enumerate() {
            note(step.position, value, slice.least.cost());
        }
        let mut parts: Vec<_> = slabs.into_iter().map(|slice| slice.outside.into_iter()).collect();
        for input in &step.inputs {
            if let Source::Message(from) = input.source {
                let own = &messages[from as usize];
                let all = parts.iter_mut().filter_map(Iterator::next).flatten();
                outside[from as usize] =
                    all.zip(own.iter()).map(|(all, own)| E::from_cost(all.cost() - own.cost())).collect();
            }
        }
    }
    let absolute =
        |bound: Cost| if bound >= plan.costs.cap { FORBIDDEN } else { bound.saturating_add(problem.constant) };
    bounds.iter_mut().flatten().for_each(|bound| *bound = absolute(*bound));
    Some(bounds)
}

/// The min-marginals of the positions of a message.
fn note_message<E: CostEntry>(
    plan: &Plan,
    step: &Step,
    message: &[E],
    rest: &[E],
    note: &mut impl FnMut(u32, usize, Cost),
) {
    let sizes: Vec<usize> = step.scope.iter().map(|&p| plan.domains[p as usize] as usize).collect();
    for ((&position, &size), stride) in step.scope.iter().zip(&sizes).zip(strides(&sizes)) {
        let mut least = vec![Cost::MAX; size];
        for (run, (message, rest)) in message.chunks(stride).zip(rest.chunks(stride)).enumerate() {
            let lowest = message.iter().zip(rest).map(|(message, rest)| message.cost() + rest.cost()).min();
            let least = &mut least[run % size];
            *least = (*least).min(lowest.unwrap_or(Cost::MAX));
        }
        least.into_iter().enumerate().for_each(|(value, least)| note(position, value, least));
    }
}

/// What one value of a step's variable comes to.
struct Slice<E> {
    /// The least of all combinations.
    least: E,
    /// For each message among the inputs, the least by its combinations.
    outside: Vec<Vec<E>>,
}

/// A table over some positions of a step's message, and how it lies along the blocks of that.
struct Operand<'a, E> {
    /// For the first value of the step's variable.
    table: &'a [E],
    /// From one value to the next.
    slice: usize,
    map: StrideMap,
    message: bool,
}

fn slabs<E: CostEntry>(
    problem: &Problem,
    plan: &Plan,
    step: &Step,
    messages: &[Storage<E>],
    rest: &[E],
) -> Vec<Slice<E>> {
    let variable = plan.sequence[step.position as usize] as usize;
    let lay_out = |input: &Input| -> Storage<E> {
        let scope: Vec<u32> = input.scope.iter().map(|&p| plan.sequence[p as usize]).collect();
        match input.source {
            Source::Unary => {
                problem.unary[variable].iter().map(|&cost| E::from_cost(cost.min(plan.costs.cap))).collect()
            }
            Source::Function(f) => {
                table::costs(&problem.functions[f as usize], &scope, &problem.domains, plan.costs.cap)
            }
            Source::Message(_) => Storage::default(),
        }
    };
    let loaded: Vec<Storage<E>> = step.inputs.iter().map(lay_out).collect();
    let sizes: Vec<usize> = step.scope.iter().map(|&p| plan.domains[p as usize] as usize).collect();
    let tiles = Tiles::new(&sizes);
    let operand = |positions: &[u32], table, slice, message| {
        let own: Vec<usize> = positions.iter().map(|&p| plan.domains[p as usize] as usize).collect();
        let places: Vec<_> = step.scope.iter().map(|p| positions.binary_search(p).ok()).collect();
        Operand { table, slice, map: tiles.map(&places, &own), message }
    };
    let domain = plan.domains[step.position as usize] as usize;
    let mut operands = vec![operand(&step.scope, rest, 0, false)];
    for (input, loaded) in step.inputs.iter().zip(&loaded) {
        let (table, message) = match input.source {
            Source::Message(from) => (&messages[from as usize][..], true),
            _ => (&loaded[..], false),
        };
        operands.push(operand(&input.scope[1..], table, table.len() / domain, message));
    }
    let cap = E::from_cost(plan.costs.cap);
    let slice = |value| slice(&operands, value, &tiles, cap);
    if step.joint < 1 << 16 {
        (0..domain).map(slice).collect()
    } else {
        (0..domain).into_par_iter().map(slice).collect()
    }
}

fn slice<E: CostEntry>(operands: &[Operand<'_, E>], value: usize, tiles: &Tiles, cap: E) -> Slice<E> {
    let messages = || operands.iter().filter(|operand| operand.message);
    let mut slice = Slice { least: cap, outside: messages().map(|message| vec![cap; message.slice]).collect() };
    let mut sums = vec![E::default(); tiles.size];
    let mut odometer = Odometer::new(tiles.outer.clone());
    loop {
        sums.fill(E::default());
        for operand in operands {
            let table = &operand.table[value * operand.slice + operand.map.base(&odometer.digits)..];
            // entries are at most the cap, so that two of them fit
            match operand.map.shape {
                Shape::Same => {
                    let entry = table[0];
                    sums.iter_mut().for_each(|sum| *sum = (*sum + entry).min(cap));
                }
                Shape::Row => {
                    sums.iter_mut().zip(table).for_each(|(sum, &entry)| *sum = (*sum + entry).min(cap));
                }
                Shape::Runs(_) => {
                    let entries = operand.map.offsets.iter().map(|&at| table[at as usize]);
                    sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum = (*sum + entry).min(cap));
                }
            }
        }
        let least = sums.iter().copied().min().unwrap_or(cap);
        slice.least = slice.least.min(least);
        for (message, outside) in messages().zip(&mut slice.outside) {
            let outside = &mut outside[message.map.base(&odometer.digits)..];
            match message.map.shape {
                Shape::Same => outside[0] = outside[0].min(least),
                Shape::Row => outside.iter_mut().zip(&sums).for_each(|(out, &sum)| *out = (*out).min(sum)),
                Shape::Runs(_) => {
                    for (&sum, &at) in sums.iter().zip(&message.map.offsets) {
                        let out = &mut outside[at as usize];
                        *out = (*out).min(sum);
                    }
                }
            }
        }
        if odometer.advance().is_none() {
            return slice;
        }
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

    /// Min-marginals by brute force; [`FORBIDDEN`] from `limit` on.
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
            // a function of more combinations than a block
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
