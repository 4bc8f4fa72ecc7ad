//! One sweep of cost shifting over the functions of a network, in the order and from the tables in which they were
//! read. It gives the first bound of a large network, before any data structure of a better bound is built.
//!
//! A function collects the costs at its variables' values. The least cost of its entries for each value then returns to
//! the values in shares, as in sequential reweighted message passing: the more functions of a variable are still to
//! come, the larger its share. The function's remaining costs are not kept, and the bound loses them.

use super::tuning::WRITTEN_OUT;
use crate::error::Error;
use crate::memory;
use crate::model::{Cost, CostFunction, Entry, FORBIDDEN, Network, Table, add, on_entries};
use crate::stop::Stop;
use std::ops::Range;

/// Returns a lower bound of the network, in time linear in the entries of all tables.
///
/// # Errors
/// Returns [`Error::Memory`] if the costs of values do not fit, and [`Error::Stopped`] once `stop` is set.
pub(super) fn sweep(network: &Network, stop: &Stop) -> Result<Cost, Error> {
    let functions = network.expanded().functions();
    let mut sweep = Sweep::new(network.expanded(), stop)?;
    // functions of one variable first, so that larger functions collect their costs
    for one_by_one in [true, false] {
        for function in stop.each(functions) {
            let function = function?;
            if (function.scope.len() <= 1) == one_by_one {
                sweep.visit(function);
            }
        }
    }
    sweep.finish(stop)
}

/// Costs collected so far, none of them negative.
struct Sweep<'a> {
    domains: &'a [u32],
    variables: Vec<Variable>,
    /// Costs at the values of all variables, one variable after the other.
    collected: Vec<Cost>,
    constant: Cost,
    /// Entries of the function that is visited.
    entries: Vec<Cost>,
}

/// The data of a variable, in one place because on large networks a visit waits for memory.
struct Variable {
    /// Index of its first value in `Sweep::collected`.
    start: usize,
    size: u32,
    /// Number of its functions that are still to come.
    coming: u32,
}

impl Variable {
    fn values(&self) -> Range<usize> {
        self.start..self.start + self.size as usize
    }
}

impl<'a> Sweep<'a> {
    fn new(network: &'a Network, stop: &Stop) -> Result<Self, Error> {
        let domains = network.domains();
        let values: u64 = domains.iter().map(|&domain| u64::from(domain)).sum();
        let bytes = values * size_of::<Cost>() as u64 + (domains.len() * size_of::<Variable>()) as u64;
        memory::must_fit(bytes, || format!("{values} values of variables"))?;
        let variables = domains.iter().scan(0, |next, &size| {
            let start = *next;
            *next += size as usize;
            Some(Variable { start, size, coming: 0 })
        });
        let mut variables: Vec<Variable> = variables.collect();
        for function in stop.each(network.functions()) {
            let function = function?;
            if is_visited(function, domains) {
                function.scope.iter().for_each(|&v| variables[v as usize].coming += 1);
            }
        }
        Ok(Sweep { domains, variables, collected: vec![0; values as usize], constant: 0, entries: Vec::new() })
    }

    fn visit(&mut self, function: &CostFunction) {
        if !is_visited(function, self.domains) {
            self.constant = add(self.constant, function.min(self.domains));
            return;
        }
        self.entries.clear();
        match &function.table {
            Table::Dense(costs) => {
                on_entries!(costs, entries => self.entries.extend(entries.iter().map(|entry| entry.cost())));
            }
            Table::Sparse(_) => self.entries.extend(function.entries(self.domains)),
        }
        let lowest = least(&self.entries).min(0);
        if lowest < 0 {
            self.entries.iter_mut().for_each(|entry| *entry = less(*entry, lowest));
            self.constant = add(self.constant, lowest);
        }
        let (mut all_coming, mut run) = (0, 1);
        for &v in function.scope.iter().rev() {
            let variable = &mut self.variables[v as usize];
            let own = &mut self.collected[variable.values()];
            for block in self.entries.chunks_exact_mut(own.len() * run) {
                for (entries, &cost) in block.chunks_exact_mut(run).zip(&*own) {
                    entries.iter_mut().for_each(|entry| *entry = (*entry + cost).min(FORBIDDEN));
                }
            }
            run *= own.len();
            own.fill(0);
            variable.coming -= 1;
            all_coming += Cost::from(variable.coming);
        }
        run = 1;
        for &v in function.scope.iter().rev() {
            let variable = &self.variables[v as usize];
            let (coming, inner) = (Cost::from(variable.coming), run);
            run *= variable.size as usize;
            if coming == 0 {
                continue;
            }
            let own = &mut self.collected[variable.values()];
            own.fill(FORBIDDEN);
            for block in self.entries.chunks_exact(run) {
                for (entries, cost) in block.chunks_exact(inner).zip(&mut *own) {
                    *cost = least(entries).min(*cost);
                }
            }
            // the last variable with functions to come takes all that is left
            if coming == all_coming {
                return;
            }
            // in two parts, because the product of the whole cost may overflow
            let share = |cost: Cost| cost / all_coming * coming + cost % all_coming * coming / all_coming;
            own.iter_mut().filter(|cost| **cost < FORBIDDEN).for_each(|cost| *cost = share(*cost));
            for block in self.entries.chunks_exact_mut(run) {
                for (entries, &cost) in block.chunks_exact_mut(inner).zip(&*own) {
                    entries.iter_mut().for_each(|entry| *entry = less(*entry, cost));
                }
            }
            all_coming -= coming;
        }
        self.constant = add(self.constant, least(&self.entries));
    }

    /// Returns the lower bound after all functions have been visited.
    fn finish(&self, stop: &Stop) -> Result<Cost, Error> {
        let mut bound = self.constant;
        for variable in stop.each(&self.variables) {
            bound = add(bound, least(&self.collected[variable?.values()]));
        }
        Ok(bound)
    }
}

/// Returns whether a function takes part in the sweep; others add their least cost to the constant.
fn is_visited(function: &CostFunction, domains: &[u32]) -> bool {
    matches!(function.table, Table::Dense(_)) || function.combinations(domains) <= WRITTEN_OUT
}

fn least(costs: &[Cost]) -> Cost {
    costs.iter().copied().fold(FORBIDDEN, Cost::min)
}

/// Returns a cost less a part of it; a forbidden cost stays forbidden.
fn less(cost: Cost, part: Cost) -> Cost {
    if cost >= FORBIDDEN { FORBIDDEN } else { cost - part }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::generate::generate;
    use crate::rng::Rng;
    use fangs_testing::networks::{assignments, random};

    fn optimum(network: &Network) -> Cost {
        let costs = assignments(network).into_iter().map(|values| check::evaluate(network, &values).cost);
        costs.min().unwrap_or(FORBIDDEN).min(FORBIDDEN)
    }

    #[test]
    fn the_bound_is_at_most_the_optimum() {
        let (mut rng, stop) = (Rng::new(11), Stop::new());
        let (mut equal, mut above) = (0, 0);
        for _ in 0..400 {
            let network = random(&mut rng);
            let (bound, optimum) = (sweep(&network, &stop).expect("it fits"), optimum(&network));
            assert!(bound <= optimum, "{bound} {optimum}");
            equal += usize::from(bound == optimum);
            above += usize::from(bound > network.least());
        }
        assert!(equal > 40 && above > 100, "{equal} {above}");
    }

    #[test]
    fn a_chain_is_bounded_by_its_optimum() {
        let mut rng = Rng::new(12);
        let mut builder = Network::builder("chain");
        for _ in 0..8 {
            let _ = builder.variable(3).expect("a domain");
        }
        for v in 0..7 {
            let costs = (0..9).map(|_| rng.below(1000) as Cost - 300).collect();
            let _ = builder.dense(&[v + 1, v], costs).expect("a function");
        }
        let network = builder.build();
        assert_eq!(sweep(&network, &Stop::new()).expect("it fits"), optimum(&network));
    }

    #[test]
    fn it_is_far_above_the_constant() {
        let network = generate("large-sparse", &[("n", "2000"), ("d", "5"), ("functions", "6000")], 3).expect("a kind");
        let bound = sweep(&network, &Stop::new()).expect("it fits");
        assert!(bound > 3 * network.least(), "{bound} {}", network.least());
    }
}
