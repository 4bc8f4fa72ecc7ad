//! The network as a problem without any reduction, with which a search begins if reductions take long. Its tables are
//! those of the network, so it takes little time and memory, and all threads make it.

use super::report::{Reduction, Size};
use super::tuning::VALUE_BYTES;
use super::{Reducer, table};
use crate::Error;
use crate::memory;
use crate::model::{Cost, CostFunction, FORBIDDEN, Network, Problem, Scope, Table, add};
use crate::stop::Stop;
use crate::threads;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Functions that a thread processes between two checks of the stop flag.
const TURN: usize = 1 << 12;

impl Reducer {
    /// Returns the network in the form of [`Problem`], and a reducer that maps assignments. The reducer has none of the
    /// functions, so it cannot reduce further.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set, and [`Error::Memory`] if the values do not fit.
    pub fn unreduced(network: &Network, stop: &Stop) -> Result<(Self, Problem), Error> {
        let expanded = network.expanded();
        let domains = expanded.domains().to_vec();
        let count = domains.iter().map(|&domain| u64::from(domain)).sum::<u64>();
        memory::must_fit(count * VALUE_BYTES, || format!("{count} values of variables"))?;
        let mut identities: FxHashMap<u32, Arc<[u32]>> = FxHashMap::default();
        let mut identity = |d: u32| identities.entry(d).or_insert_with(|| (0..d).collect()).clone();
        let reducer = Reducer {
            top: network.top(),
            values: domains.iter().map(|&domain| identity(domain)).collect(),
            present: vec![true; domains.len()],
            core: (0..domains.len() as u32).collect(),
            original: (network.globals().len() > 0).then(|| network.clone().into()),
            report: Reduction { before: Size::of(network), ..Reduction::default() },
            domains: domains.clone(),
            ..Reducer::default()
        };
        let parts = threads::try_map(expanded.functions().chunks(TURN), |own| Part::of(own, expanded, stop))?;
        let zeros = |domains: &[u32]| domains.iter().map(|&domain| vec![0; domain as usize]).collect::<Vec<_>>();
        let mut problem = Problem {
            unary: threads::map(domains.chunks(TURN), zeros).into_iter().flatten().collect(),
            domains,
            functions: Vec::with_capacity(parts.iter().map(|part| part.functions.len()).sum()),
            constant: 0,
            top: network.top(),
        };
        for Part { functions, unary, constant } in parts {
            stop.check()?;
            problem.functions.extend(functions);
            problem.constant = add(problem.constant, constant);
            for (v, costs) in unary {
                problem.unary[v as usize].iter_mut().zip(costs).for_each(|(own, cost)| *own = add(*own, cost));
            }
        }
        let least = |costs: &mut Vec<Cost>| {
            let least = costs.iter().copied().min().unwrap_or(0);
            let shift = if least < FORBIDDEN { least } else { 0 };
            costs.iter_mut().filter(|cost| **cost < FORBIDDEN).for_each(|cost| *cost -= shift);
            shift
        };
        let shifts = threads::map(problem.unary.chunks_mut(TURN), |own| own.iter_mut().map(least).sum::<Cost>());
        problem.constant = add(problem.constant, shifts.iter().sum());
        merge_equal_scopes(&mut problem, stop)?;
        super::fits(&problem, stop)?;
        Ok((reducer, problem))
    }

    /// Returns whether the reducer comes from [`Reducer::unreduced`], or has nothing to reduce.
    pub fn is_unreduced(&self) -> bool {
        !self.reduce && self.functions.is_empty()
    }
}

/// The contribution of some functions to a problem.
#[derive(Default)]
struct Part {
    functions: Vec<CostFunction>,
    unary: Vec<(u32, Vec<Cost>)>,
    constant: Cost,
}

impl Part {
    fn of(functions: &[CostFunction], network: &Network, stop: &Stop) -> Result<Self, Error> {
        stop.check()?;
        let mut part = Part::default();
        for function in functions {
            let sizes: Vec<usize> = function.scope.iter().map(|&v| network.domains()[v as usize] as usize).collect();
            match &function.scope[..] {
                [] => part.constant = add(part.constant, function.min(network.domains())),
                &[v] => part.unary.push((v, table::dense(&function.table, &sizes).iter().collect())),
                scope => part.take(scope, &function.table, &sizes),
            }
        }
        Ok(part)
    }

    /// Adds a function of several variables; its table stays unless its order or a negative cost changes it.
    fn take(&mut self, scope: &[u32], table: &Table, sizes: &[usize]) {
        let (mut scope, mut table): (Scope, _) = (scope.into(), table::densify_small(table.clone(), sizes));
        if !scope.is_sorted() {
            let mut order: Vec<usize> = (0..scope.len()).collect();
            order.sort_unstable_by_key(|&k| scope[k]);
            table = table::reorder(&table, sizes, &order);
            scope = order.iter().map(|&k| scope[k]).collect();
        }
        let least = table.costs().min().unwrap_or(0);
        if least < 0 {
            table = table.map(|cost| if cost >= FORBIDDEN { FORBIDDEN } else { cost - least });
            self.constant = add(self.constant, least);
        }
        self.functions.push(CostFunction { scope, table });
    }
}

/// Adds functions of equal scope to the first of them.
fn merge_equal_scopes(problem: &mut Problem, stop: &Stop) -> Result<(), Error> {
    // functions with the same first variable are few
    let n = problem.variables();
    let mut starts = vec![0u32; n + 1];
    for function in &problem.functions {
        starts[function.scope[0] as usize + 1] += 1;
    }
    stop.check()?;
    (0..n).for_each(|v| starts[v + 1] += starts[v]);
    let (mut free, mut by_first) = (starts.clone(), vec![0u32; problem.functions.len()]);
    for (f, function) in (0..).zip(&problem.functions) {
        let place = &mut free[function.scope[0] as usize];
        by_first[*place as usize] = f;
        *place += 1;
    }
    stop.check()?;
    let functions = &problem.functions;
    let scope = |f: u32| &functions[f as usize].scope;
    let of_first = |v: usize| {
        let mut own = by_first[starts[v] as usize..starts[v + 1] as usize].to_vec();
        own.sort_unstable_by(|&a, &b| scope(a).cmp(scope(b)).then(a.cmp(&b)));
        let of_one = own.chunk_by(|&a, &b| scope(a) == scope(b)).filter(|of_one| of_one.len() > 1);
        of_one.map(<[u32]>::to_vec).collect::<Vec<_>>()
    };
    let turns = (0..n).step_by(TURN).map(|first| first..n.min(first + TURN));
    let equal = threads::map(turns, |turn| turn.flat_map(of_first).collect::<Vec<_>>()).concat();
    if equal.is_empty() {
        return Ok(());
    }
    let mut goes = vec![false; problem.functions.len()];
    for of_one in equal {
        let (first, others) = of_one.split_first().expect("two functions at least");
        let first = *first as usize;
        let sizes: Vec<usize> =
            problem.functions[first].scope.iter().map(|&v| problem.domains[v as usize] as usize).collect();
        for &other in others {
            let other = other as usize;
            let merged = table::merge(&problem.functions[first].table, &problem.functions[other].table, &sizes);
            problem.functions[first].table = table::densify_small(merged, &sizes);
            goes[other] = true;
        }
    }
    let mut goes = goes.into_iter();
    problem.functions.retain(|_| !goes.next().unwrap_or(false));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::generate::generate;
    use crate::reduce::ReducedProblem;
    use crate::rng::Rng;

    #[test]
    fn assignments_cost_the_same_and_come_back_as_they_went() {
        let mut rng = Rng::new(5);
        let mut networks: Vec<Network> = [
            ("random", vec![("n", "30"), ("d", "4"), ("p2", "0.2")]),
            ("large-sparse", vec![("n", "20"), ("d", "3"), ("functions", "150")]),
            ("permutation", vec![]),
        ]
        .into_iter()
        .map(|(family, parameters)| generate(family, &parameters, 2).expect("a family"))
        .collect();
        // scopes out of order, equal ones, negative costs, constants
        let mut builder = Network::builder("mixed");
        let [u, v, w] = [2, 3, 2].map(|domain| builder.variable(domain).expect("a variable"));
        let table =
            |seed: Cost| (0..12).map(|k| if k == 3 { FORBIDDEN } else { (k * seed) % 7 - 2 }).collect::<Vec<_>>();
        for (scope, seed) in [([w, v, u], 5), ([u, v, w], 3), ([v, u, w], 4)] {
            let _ = builder.dense(&scope, table(seed)).expect("a table");
        }
        let _ = builder.dense(&[], vec![-4]).expect("a constant");
        for costs in [vec![5, 2, 9], vec![-1, FORBIDDEN, 0]] {
            let _ = builder.dense(&[v], costs).expect("a unary function");
        }
        networks.push(builder.build());
        for network in networks {
            let (reducer, problem) = Reducer::unreduced(&network, &Stop::new()).expect("no limit");
            let scopes: std::collections::BTreeSet<_> = problem.functions.iter().map(|f| f.scope.clone()).collect();
            assert_eq!(scopes.len(), problem.functions.len(), "{}", network.name);
            assert!(problem.functions.iter().all(|f| f.scope.len() > 1 && f.scope.is_sorted()));
            assert!(problem.functions.iter().all(|f| f.table.costs().all(|cost| cost >= 0)));
            for _ in 0..200 {
                let own = network.domains().iter().map(|&d| rng.index(d as usize) as u32);
                let values: Vec<u32> = own.collect();
                let core = reducer.project(&values, &Stop::new()).expect("no stop is set");
                assert_eq!(reducer.lift(&core, &Stop::new()).expect("no stop is set"), values);
                let evaluation = check::evaluate(&network, &values);
                if network.globals().len() == 0 {
                    assert_eq!(problem.cost(&core), evaluation.cost, "{}", network.name);
                }
            }
            let (functions, variables) = (problem.functions.len(), problem.variables());
            let report = ReducedProblem { reducer: reducer.into(), problem: problem.into() }.report();
            assert_eq!((report.after.functions(), report.after.variables), (functions, variables), "{}", network.name);
            assert!(report.components < variables, "{}", network.name);
        }
    }
}
