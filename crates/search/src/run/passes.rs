//! A first assignment of a very large network, for which visiting one variable after the other mostly waits for memory.
//! All threads make passes over the functions in their order. A pass adds up the cost of each value of each variable,
//! given the values of the others (their average in the first pass). Then each variable that gains more than its
//! neighbours takes its best value (maximum gain messages; Maheswaran, Pearce, Tambe, "Distributed algorithms for
//! DCOP", 2004), so that no pass increases the cost. Sums of integers do not depend on the order, so the number of
//! threads does not change the result.

use crate::error::Error;
use crate::model::{Cost, CostFunction, Entry, Network, Table, on_entries};
use crate::rng::mix;
use crate::stop::Stop;
use crate::threads;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// The cost that a forbidden entry counts.
const FORBIDS: Cost = 1 << 50;
/// The largest absolute cost that an entry counts.
const DEAREST: Cost = 1 << 46;

/// Functions or variables of one task, between two checks of the stop flag.
const TURN: usize = 1 << 12;

/// Returns an assignment that, after some passes, no move of a few variables improves much. It may contain forbidden
/// tuples.
///
/// # Errors
/// [`Error::Stopped`].
pub(crate) fn assignment(network: &Network, passes: usize, stop: &Stop) -> Result<Vec<u32>, Error> {
    let domains = network.domains();
    let (mut starts, mut all) = (Vec::with_capacity(domains.len()), 0);
    for &domain in domains {
        starts.push(all);
        all += domain as usize;
    }
    let mut sums = ValueSums { network, starts, costs: Vec::new() };
    sums.costs.resize_with(all, AtomicI64::default);
    sums.pass(stop, |sums, function| sums.add_means(function))?;
    let mut values: Vec<u32> = each(domains.len(), stop, |v| sums.best(v, None).0)?;
    let claims: Vec<AtomicU64> = std::iter::repeat_with(AtomicU64::default).take(domains.len()).collect();
    let _ = threads::try_map(sums.costs.chunks_mut(TURN), |costs| {
        costs.iter_mut().for_each(|cost| *cost.get_mut() = 0);
        stop.check()
    })?;
    let mut before = None;
    for _ in 0..passes {
        sums.pass(stop, |sums, function| sums.add_rows(function, before.as_deref(), &values))?;
        let wishes = each(domains.len(), stop, |v| sums.best(v, Some(values[v])))?;
        let urgency = |v: usize| urgency(v as u32, wishes[v].1);
        let _ = threads::try_map(claims.chunks(TURN).enumerate(), |(turn, claims)| {
            let claim = |(v, claim): (usize, &AtomicU64)| claim.store(urgency(turn * TURN + v), Ordering::Relaxed);
            claims.iter().enumerate().for_each(claim);
            stop.check()
        })?;
        sums.pass(stop, |_, function| {
            let most = function.scope.iter().map(|&v| urgency(v as usize)).max().unwrap_or(0);
            for &v in function.scope.iter().filter(|_| most > 0) {
                let _ = claims[v as usize].fetch_max(most, Ordering::Relaxed);
            }
        })?;
        let moves = |v: usize| wishes[v].1 > 0 && claims[v].load(Ordering::Relaxed) == urgency(v);
        let moved = each(domains.len(), stop, |v| if moves(v) { wishes[v].0 } else { values[v] })?;
        before = Some(std::mem::replace(&mut values, moved));
    }
    Ok(values)
}

/// Returns a gain as a number to compare: its size to about one part in 16, then the variable's number, shuffled; 0 if
/// there is no gain.
fn urgency(variable: u32, gain: Cost) -> u64 {
    if gain <= 0 {
        return 0;
    }
    let bits = gain.ilog2();
    let size = u64::from(bits) << 4 | (((gain as u128) << 4 >> bits) & 15) as u64;
    // a bijection of 32 bits, so that no two variables are equally urgent
    (size + 1) << 32 | u64::from(variable.wrapping_mul(0x9e37_79b1))
}

fn each<T: Send>(count: usize, stop: &Stop, make: impl Fn(usize) -> T + Send + Sync) -> Result<Vec<T>, Error> {
    let mut all = Vec::with_capacity(count);
    // a thread that has all tasks checks between two of them
    let turns = threads::try_map(0..count.div_ceil(TURN), |turn| {
        stop.check()?;
        Ok::<_, Error>((turn * TURN..count.min((turn + 1) * TURN)).map(&make).collect::<Vec<T>>())
    })?;
    for turn in stop.each(turns) {
        all.extend(turn?);
    }
    Ok(all)
}

/// The cost of each value of each variable.
struct ValueSums<'a> {
    network: &'a Network,
    starts: Vec<usize>,
    costs: Vec<AtomicI64>,
}

impl ValueSums<'_> {
    fn pass(&self, stop: &Stop, look: impl Fn(&Self, &CostFunction) + Sync) -> Result<(), Error> {
        let looked = threads::try_map(self.network.functions().chunks(TURN), |functions| {
            stop.check()?;
            functions.iter().for_each(|function| look(self, function));
            Ok(())
        });
        looked.map(drop)
    }

    fn add(&self, variable: u32, value: usize, cost: Cost) {
        let _ = self.costs[self.starts[variable as usize] + value].fetch_add(cost, Ordering::Relaxed);
    }

    fn price(&self, cost: Cost) -> Cost {
        if cost >= self.network.top() { FORBIDS } else { cost.clamp(-DEAREST, DEAREST) }
    }

    /// Adds the average costs of the values of a function's variables; for a sparse table, the listed costs above the
    /// default.
    fn add_means(&self, function: &CostFunction) {
        let domains = self.network.domains();
        let domain = |v: u32| domains[v as usize] as usize;
        match &function.table {
            Table::Dense(costs) => on_entries!(costs, entries => self.add_means_of(function, entries)),
            Table::Sparse(table) => {
                let combinations = function.scope.iter().fold(1.0, |all, &v| all * f64::from(domains[v as usize]));
                for (tuple, cost) in table.iter() {
                    for (&v, &value) in function.scope.iter().zip(tuple) {
                        let others = (combinations / domain(v) as f64).min(FORBIDS as f64) as Cost;
                        let more = self.price(cost) - self.price(table.default_cost());
                        self.add(v, value as usize, more / others.max(1));
                    }
                }
            }
        }
    }

    fn add_means_of<T: Entry>(&self, function: &CostFunction, entries: &[T]) {
        let mut inner = 1;
        for &v in function.scope.iter().rev() {
            let domain = self.network.domains()[v as usize] as usize;
            let others = (entries.len() / domain).max(1) as f64;
            for value in 0..domain {
                let runs = entries.chunks_exact(inner).skip(value).step_by(domain);
                let sum: f64 = runs.flatten().map(|entry| self.price(entry.cost()) as f64).sum();
                self.add(v, value, (sum / others) as Cost);
            }
            inner *= domain;
        }
    }

    /// Adds the costs of the values of a function's variables, given the values of the others, minus their costs
    /// `before`.
    fn add_rows(&self, function: &CostFunction, before: Option<&[u32]>, values: &[u32]) {
        let domains = self.network.domains();
        let has_moved = |v: u32| before.is_none_or(|before| before[v as usize] != values[v as usize]);
        let moved = function.scope.iter().filter(|&&v| has_moved(v)).count();
        if moved == 0 {
            return;
        }
        let domain = |v: u32| domains[v as usize] as usize;
        // indices into dense tables; those of sparse tables may overflow
        let next = |index: usize, domain: usize, value: usize| index.wrapping_mul(domain).wrapping_add(value);
        let place = |values: &[u32]| {
            function.scope.iter().fold(0, |index, &v| next(index, domain(v), values[v as usize] as usize))
        };
        let (old, new) = (before.map(|before| (before, place(before))), place(values));
        let mut stride = 1usize;
        for &v in function.scope.iter().rev() {
            let own = stride;
            stride = next(stride, domain(v), 0);
            // a row depends only on the values of the other variables
            if before.is_some() && moved == usize::from(has_moved(v)) {
                continue;
            }
            let cost = |(values, place): (&[u32], usize), value: usize| match &function.table {
                Table::Dense(costs) => costs.get(place - own * values[v as usize] as usize + own * value),
                Table::Sparse(_) => {
                    function.cost_at(domains, |u| if u == v { value as u32 } else { values[u as usize] })
                }
            };
            for value in 0..domain(v) {
                let less = old.map_or(0, |old| self.price(cost(old, value)));
                self.add(v, value, self.price(cost((values, new), value)) - less);
            }
        }
    }

    /// Returns the best value of a variable and its gain over the present one. The present value wins ties. Without a
    /// present value ties are broken at random, because on colorings all values are equal at first.
    fn best(&self, variable: usize, present: Option<u32>) -> (u32, Cost) {
        let start = self.starts[variable];
        let own = &self.costs[start..start + self.network.domains()[variable] as usize];
        let cost = |value: u32| own[value as usize].load(Ordering::Relaxed);
        let chance = |value: u32| if present.is_none() { mix(variable as u64, u64::from(value)) } else { 0 };
        let key = |&value: &u32| (cost(value), present != Some(value), chance(value));
        let best = (0..own.len() as u32).min_by_key(key).unwrap_or(0);
        (best, present.map_or(0, |present| cost(present).saturating_sub(cost(best))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::generate::generate;
    use crate::tuning::tuning;

    #[test]
    fn passes_come_close_to_where_no_variable_wants_another_value_on_any_number_of_threads() {
        // upper limits of the cost relative to random assignments, in tenths: on dense graphs few variables move in a
        // pass
        let families = [
            ("large-sparse", &[("n", "3000"), ("d", "5"), ("functions", "9000")][..], 7),
            ("grid", &[("side", "40"), ("d", "4"), ("p2", "0")], 7),
            ("coloring", &[("n", "900"), ("k", "5")], 10),
        ];
        for (family, parameters, tenths) in families {
            let network = generate(family, parameters, 3).expect("a family");
            let by = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                pool.install(|| assignment(&network, tuning().run.passes, &Stop::new())).expect("no stop is set")
            };
            let values = by(1);
            assert_eq!(values, by(3), "{family}");
            let price = |values: &[u32]| {
                let evaluation = check::evaluate(&network, values);
                (evaluation.violated.len(), evaluation.soft)
            };
            let chance: Vec<u32> =
                (0..).zip(network.domains()).map(|(v, &d)| (mix(1, v) % u64::from(d)) as u32).collect();
            let (found, random) = (price(&values), price(&chance));
            assert!(found.0 <= random.0 && found.1 <= random.1 * tenths / 10, "{family}: {found:?} of {random:?}");
        }
    }

    #[test]
    fn larger_gains_are_more_urgent_and_no_two_variables_are_equally() {
        let gains = [1, 2, 3, 5, 8, 16, 40, 1000, 1 << 20, 1 << 40, FORBIDS];
        assert!(gains.windows(2).all(|pair| urgency(9, pair[0]) >> 32 < urgency(3, pair[1]) >> 32));
        assert!(urgency(1, 0) == 0 && urgency(1, -4) == 0 && urgency(1, 7) != urgency(2, 7));
    }
}
