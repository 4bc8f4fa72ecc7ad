//! Exact numbers of solutions: the parts of the search are counted by elimination with pairs of a least cost and the
//! number of assignments that have it, and enumerated if that is not enough.

use super::enumerate::{Sizes, search};
use super::primes::{Remainder, primes};
use super::setting::Setting;
use super::tree::{Flow, Part, Tree, Visit};
use super::walk::{Walk, eliminated};
use super::{Leaf, SolutionOptions, all, limit};
use crate::algebra::LeastCount;
use crate::bounds::tuning::solutions::FIRST_COUNTED;
use crate::elimination::{EliminationPlan, Limits, Placement, cap, eliminate};
use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Function, Network, Problem};
use crate::order::Order;
use crate::stop::Stop;
use num_bigint::BigUint;
use std::ops::ControlFlow;

/// A number of solutions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The number of solutions; if the count is not complete, there are at least this many.
    pub number: BigUint,
    /// Whether all solutions were counted.
    pub complete: bool,
}

/// Counts the solutions that the options select, exactly. Once `stop` is set, the count is not complete.
///
/// ```
/// use fangs_bounds::bounds::{SolutionOptions, count};
///
/// let network = fangs_generate::generate("coloring", &[("n", "100"), ("p", "0"), ("k", "2")], 1)?;
/// let counted = count(&network, &SolutionOptions::default(), &fangs_base::stop::Stop::new())?;
/// assert!(counted.complete && counted.number.to_string() == "1267650600228229401496703205376");
/// # Ok::<(), fangs_base::Error>(())
/// ```
///
/// # Errors
/// Returns [`Error::Memory`] if even the smallest tables do not fit, and an error if a variable does not exist.
pub fn count(network: &Network, options: &SolutionOptions, stop: &Stop) -> Result<Counted, Error> {
    let mut counter = Counter { bytes: options.memory, ..Counter::default() };
    match counter.count(network, options, FIRST_COUNTED, stop) {
        Ok(()) => Ok(Counted { number: counter.number, complete: true }),
        Err(Error::Stopped) => Ok(Counted { number: counter.number.max(counter.before), complete: false }),
        Err(error) => Err(error),
    }
}

/// The state of a count.
#[derive(Debug, Default)]
struct Counter {
    ub: Cost,
    bytes: u64,
    number: BigUint,
    /// The largest number that a search counted before it began again.
    before: BigUint,
}

impl Counter {
    fn count(&mut self, network: &Network, options: &SolutionOptions, leaf: u64, stop: &Stop) -> Result<(), Error> {
        let mut setting = Setting::new(network, options.of.as_deref(), stop)?;
        if !setting.asks_all || !is_exact(network, stop)? {
            drop(setting);
            let mut tell = |_: &[u32], _: &_| {
                self.number += 1u32;
                ControlFlow::Continue(())
            };
            let complete = all(network, options, Sizes::DEFAULT, stop, &mut tell)?;
            return if complete { Ok(()) } else { Err(Error::Stopped) };
        }
        self.ub = limit(network, &setting, options.worst);
        let units = network.units();
        while options.worst.is_some_and(|worst| units.is_better(worst, units.number(self.ub.saturating_sub(1)))) {
            self.ub = self.ub.saturating_sub(1);
        }
        if setting.all_below(self.ub, stop)? {
            setting.forget_costs();
            self.ub = FORBIDDEN;
        }
        match Tree::new(&setting, self.ub, self.bytes / 2, stop)? {
            Some(tree) => drop(search(tree, self, leaf, stop)?),
            None => {
                let whole = Table { problem: &setting.problem, order: &setting.order, first: setting.first };
                self.number = self.of_table(&whole, self.ub, stop)?;
            }
        }
        Ok(())
    }

    /// Returns the number of assignments of a problem that cost less than `ub`.
    fn of_table(&mut self, table: &Table<'_>, ub: Cost, stop: &Stop) -> Result<BigUint, Error> {
        let Table { problem, order, first } = table;
        if let Some((least, number)) = least_count(problem, order, ub, self.bytes / 2, stop)? {
            if least >= ub {
                return Ok(BigUint::ZERO);
            }
            // finite costs are 0 if there is no limit
            if least == ub - 1 || ub >= FORBIDDEN {
                return Ok(number);
            }
        }
        let mut number = 0u64;
        let mut leaf = |_: &[u32], _: &mut Cost| {
            number += 1;
            Ok(Leaf::Taken)
        };
        let problem = (*problem).clone();
        let ub = ub.min(problem.constant.saturating_add(cap(&problem, ub, stop)?));
        let outcome = eliminated(&problem, order, self.bytes / 2, ub, stop)?;
        let guide = outcome.cost_to_go().ok_or_else(|| Error::Memory("messages of mini-buckets".into()))?;
        let searched = Walk::new(&problem, ub, *first, false).search(&guide, u64::MAX, stop, &mut leaf);
        if searched.is_err() {
            // what was counted before a stop is a lower bound
            self.number += number;
        }
        searched.map(|_| number.into())
    }
}

/// A problem with its elimination order.
struct Table<'a> {
    problem: &'a std::sync::Arc<Problem>,
    order: &'a Order,
    /// Position of the first requested variable.
    first: usize,
}

impl Visit for Counter {
    fn begin(&mut self) {
        let number = std::mem::take(&mut self.number);
        self.before = number.max(std::mem::take(&mut self.before));
    }

    fn ub(&self) -> Cost {
        self.ub
    }

    fn may_begin_again(&self) -> bool {
        true
    }

    fn part(&mut self, part: &Part<'_>, stop: &Stop) -> Result<Flow, Error> {
        let top = part.problem.top;
        let number = match part.problem.variables() {
            0 => BigUint::from(u32::from(part.problem.constant < top)),
            _ => {
                let Part { problem, order, first, .. } = part;
                self.of_table(&Table { problem, order, first: *first }, top, stop)?
            }
        };
        let flow = if number == BigUint::ZERO { Flow::Nothing } else { Flow::Found };
        self.number += number;
        Ok(flow)
    }
}

/// Returns whether the tables of a network are exact for each cost: none is relaxed, and no global function reaches its
/// limit by the sum of several tables.
fn is_exact(network: &Network, stop: &Stop) -> Result<bool, Error> {
    if network.is_relaxed() {
        return Ok(false);
    }
    if network.globals().len() == 0 {
        return Ok(true);
    }
    let is_hard = |cost: Cost| cost == 0 || cost >= FORBIDDEN;
    for number in stop.each(0..network.function_count()) {
        let number = number?;
        let is_global = matches!(network.function(number), Some(Function::Global(_)));
        let several = is_global && network.parts(number).nth(1).is_some();
        if several && !network.parts(number).all(|part| part.table.costs().all(is_hard)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the least cost below `ub` and the number of assignments that have it; `ub` and 0 if there are none. Returns
/// `None` if the tables do not fit into `bytes` bytes.
fn least_count(
    problem: &Problem,
    order: &Order,
    ub: Cost,
    bytes: u64,
    stop: &Stop,
) -> Result<Option<(Cost, BigUint)>, Error> {
    let limits = Limits { keep_messages: false, ..Limits::new(bytes) };
    let (plan, placement): (EliminationPlan, Placement) =
        EliminationPlan::within(problem, order, &limits, size_of::<[u64; 2]>() as u64, stop)?;
    if !plan.exact {
        return Ok(None);
    }
    let limit = cap(problem, ub, stop)?;
    let of = |modulus| {
        let semiring = LeastCount { cap: limit as u64, modulus };
        eliminate(&plan, &placement, problem, semiring, stop)
    };
    let [least, number] = of(0)?;
    if least >= limit as u64 {
        return Ok(Some((ub, BigUint::ZERO)));
    }
    let cost = problem.constant.saturating_add(least as Cost);
    if number < u64::MAX {
        return Ok(Some((cost, number.into())));
    }
    let most: BigUint = problem.domains.iter().map(|&domain| BigUint::from(domain)).product();
    let mut remainder = Remainder::new();
    for prime in primes() {
        if remainder.modulus > most {
            break;
        }
        let [_, number] = of(prime)?;
        remainder.add(number, prime);
    }
    Ok(Some((cost, remainder.number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::rng::Rng;
    use fangs_testing::networks::{assignments, random};

    #[test]
    fn numbers_are_those_of_enumeration() {
        let (mut rng, mut several, mut incomplete) = (Rng::new(15), 0, 0);
        for case in 0..2000 {
            let network = if case % 2 == 0 { random(&mut rng) } else { fangs_testing::globals::network(&mut rng) };
            let every = assignments(&network).into_iter().map(|values| check::evaluate(&network, &values));
            let costs: Vec<Cost> = every.filter(check::Evaluation::is_solution).map(|found| found.cost).collect();
            let worst = match rng.below(3) {
                0 => None,
                1 => costs.iter().min().copied(),
                _ => costs.get(rng.index(costs.len().max(1))).copied(),
            };
            let wanted = costs.iter().filter(|&&cost| worst.is_none_or(|worst| cost <= worst)).count();
            let worst = worst.map(|cost| network.units().number(cost));
            let options = SolutionOptions::default().with(|options| options.worst = worst);
            let mut counter = Counter { bytes: options.memory, ..Counter::default() };
            let leaf = [1, 10, 1 << 16][rng.index(3)];
            counter.count(&network, &options, leaf, &Stop::new()).expect("small tables");
            assert_eq!(counter.number, BigUint::from(wanted), "case {case}");
            several += u32::from(wanted > 1);
            let stop = Stop::new();
            stop.set(crate::stop::Cause::Signal);
            let stopped = count(&network, &options, &stop).expect("no error");
            assert!(!stopped.complete && stopped.number <= BigUint::from(wanted));
            incomplete += 1;
        }
        assert!(several > 500 && incomplete > 500, "{several} {incomplete}");
    }

    #[test]
    fn numbers_have_any_size() {
        // a cycle of n vertices in k colors has (k - 1)^n + (-1)^n (k - 1) colorings; optimal ones may be counted too
        let (n, k) = (201u32, 5);
        let mut builder = Network::builder("cycle");
        (0..n).for_each(|_| drop(builder.variable(k)));
        for v in 0..n {
            let differ = (0..k * k).map(|entry| if entry % (k + 1) == 0 { FORBIDDEN } else { 3 }).collect();
            let _ = builder.dense(&[v, (v + 1) % n], differ).expect("a table");
        }
        let network = builder.build();
        let wanted = BigUint::from(k - 1).pow(n) - (k - 1);
        for worst in [None, Some(crate::model::Number::Integer(3 * Cost::from(n)))] {
            let options = SolutionOptions::default().with(|options| options.worst = worst);
            let counted = count(&network, &options, &Stop::new()).expect("small tables");
            assert_eq!(counted, Counted { number: wanted.clone(), complete: true });
        }
    }
}
