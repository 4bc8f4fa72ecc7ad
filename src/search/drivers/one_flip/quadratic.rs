//! Networks of binary variables and functions of two of them as a quadratic form.

use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Problem};
use crate::stop::Stop;

/// No flip changes the cost by as much: changes and their times share words of 64 bits ([`super::walk`]).
pub(super) const LARGEST: Cost = 1 << 29;

/// `sum over i of linear(i) x(i) + sum over pairs of weight(i, j) x(i) x(j)`, without the constant.
#[derive(Debug, Default)]
pub(super) struct Quadratic {
    linear: Vec<i32>,
    /// The first link of each variable, and the end.
    starts: Vec<u32>,
    /// The other variable of a pair and its weight; each pair stands at both of its variables.
    links: Vec<(u32, i32)>,
    /// Whether flipping all variables changes nothing, as the sides of a cut have no names.
    pub symmetric: bool,
}

impl Quadratic {
    /// The form of a problem; none where a variable has not two values, a function three variables or a forbidden
    /// entry, or costs are too large.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn of(problem: &Problem, stop: &Stop) -> Result<Option<Quadratic>, Error> {
        let n = problem.variables();
        let entries = 2 * problem.functions.len();
        if !is_binary(problem) || u32::try_from(entries).is_err() {
            return Ok(None);
        }
        let mut linear = Vec::with_capacity(n);
        for costs in stop.each(&problem.unary) {
            let costs = costs?;
            if costs.iter().any(|&cost| cost >= FORBIDDEN) {
                return Ok(None);
            }
            linear.push(costs[1] - costs[0]);
        }
        let mut starts = vec![0u32; n + 1];
        let mut weights = Vec::with_capacity(problem.functions.len());
        for function in stop.each(&problem.functions) {
            let function = function?;
            let (x, y) = (function.scope[0], function.scope[1]);
            let cost = |a: u32, b: u32| function.cost_at(&problem.domains, |v| if v == x { a } else { b });
            let [[none, second], [first, both]] = [0, 1].map(|a| [0, 1].map(|b| cost(a, b)));
            if [none, second, first, both].iter().any(|&cost| cost >= FORBIDDEN) {
                return Ok(None);
            }
            linear[x as usize] += first - none;
            linear[y as usize] += second - none;
            weights.push(none + both - first - second);
            starts[x as usize + 1] += 1;
            starts[y as usize + 1] += 1;
        }
        (1..=n).for_each(|v| starts[v] += starts[v - 1]);
        let mut free = starts.clone();
        let mut links = vec![(0, 0); entries];
        let (mut reach, mut total) = (linear.iter().map(|cost| cost.abs()).collect::<Vec<_>>(), vec![0; n]);
        for item in stop.each(problem.functions.iter().zip(&weights)) {
            let (function, &weight) = item?;
            for (v, other) in [(function.scope[0], function.scope[1]), (function.scope[1], function.scope[0])] {
                let v = v as usize;
                // one that is too large is refused below
                links[free[v] as usize] = (other, weight as i32);
                free[v] += 1;
                reach[v] += weight.abs();
                total[v] += weight;
            }
        }
        if reach.iter().any(|&reach| reach >= LARGEST) {
            return Ok(None);
        }
        let symmetric = linear.iter().zip(&total).all(|(cost, weights)| 2 * cost + weights == 0);
        let linear = linear.into_iter().map(|cost| cost as i32).collect();
        Ok(Some(Quadratic { linear, starts, links, symmetric }))
    }

    pub fn variables(&self) -> usize {
        self.linear.len()
    }

    /// Links of a variable, on average.
    pub fn degree(&self) -> usize {
        self.links.len() / self.variables().max(1)
    }

    pub fn links(&self, v: usize) -> &[(u32, i32)] {
        &self.links[self.starts[v] as usize..self.starts[v + 1] as usize]
    }

    /// What flipping `v` changes.
    pub fn change(&self, values: &[bool], v: usize) -> i32 {
        let linked = self.links(v).iter().filter(|(other, _)| values[*other as usize]);
        let slope = self.linear[v] + linked.map(|(_, weight)| weight).sum::<i32>();
        if values[v] { -slope } else { slope }
    }

    /// The value of the form.
    pub fn value(&self, values: &[bool]) -> Cost {
        let one = |v: usize| {
            let linked = self.links(v).iter().filter(|(other, _)| values[*other as usize]);
            2 * Cost::from(self.linear[v]) + linked.map(|(_, weight)| Cost::from(*weight)).sum::<Cost>()
        };
        (0..values.len()).filter(|&v| values[v]).map(one).sum::<Cost>() / 2
    }
}

/// Whether all variables have two values and all functions two variables.
pub(super) fn is_binary(problem: &Problem) -> bool {
    let has_pairs = || problem.functions.iter().all(|function| function.scope.len() == 2);
    problem.variables() > 0 && problem.domains.iter().all(|&domain| domain == 2) && has_pairs()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::{CostFunction, Table};
    use crate::rng::Rng;

    /// A random problem of binary variables in pairs, some of them several times.
    pub fn random(n: usize, rng: &mut Rng) -> Problem {
        let mut costs = |count: usize| (0..count).map(|_| rng.below(31) as Cost).collect::<Vec<_>>();
        let unary = (0..n).map(|_| costs(2)).collect();
        let tables: Vec<Table> = (0..3 * n).map(|_| Table::dense(costs(4))).collect();
        let pair = |table: Table| {
            let (x, y) = (rng.index(n) as u32, rng.index(n) as u32);
            (x != y).then(|| CostFunction { scope: [x, y].into(), table })
        };
        let functions = tables.into_iter().filter_map(pair).collect();
        Problem { domains: vec![2; n], unary, functions, constant: 0, top: FORBIDDEN }
    }

    fn cut() -> Problem {
        let edge = |pair: [u32; 2]| CostFunction { scope: pair.into(), table: Table::dense(vec![4, 0, 0, 4]) };
        let functions = [[0, 1], [1, 2], [0, 2]].map(edge).into();
        Problem { domains: vec![2; 3], unary: vec![vec![0, 0]; 3], functions, constant: 0, top: FORBIDDEN }
    }

    #[test]
    fn the_form_is_the_cost_but_for_a_constant() {
        let mut rng = Rng::new(5);
        for _ in 0..200 {
            let n = 1 + rng.index(9);
            let problem = random(n, &mut rng);
            let form = Quadratic::of(&problem, &Stop::new()).expect("no stop").expect("a quadratic form");
            let cost = |values: &[bool]| problem.cost(&values.iter().map(|&x| u32::from(x)).collect::<Vec<_>>());
            let mut values: Vec<bool> = (0..n).map(|_| rng.below(2) == 1).collect();
            let zero = cost(&vec![false; n]);
            assert_eq!(form.value(&values), cost(&values) - zero);
            for v in 0..n {
                let (before, change) = (form.value(&values), form.change(&values, v));
                values[v] = !values[v];
                assert_eq!(form.value(&values) - before, Cost::from(change));
            }
            let all_flipped: Vec<bool> = values.iter().map(|x| !x).collect();
            assert!(!form.symmetric || cost(&values) == cost(&all_flipped));
        }
    }

    #[test]
    fn a_cut_is_symmetric_and_other_networks_have_no_form() {
        let form = |problem: &Problem| Quadratic::of(problem, &Stop::new()).expect("no stop");
        assert!(form(&cut()).is_some_and(|form| form.symmetric));
        let mut sides = cut();
        sides.unary[0] = vec![0, 1];
        assert!(form(&sides).is_some_and(|form| !form.symmetric));
        let added = |scope: &[u32], costs: Vec<Cost>| {
            let mut problem = cut();
            problem.functions.push(CostFunction { scope: scope.into(), table: Table::dense(costs) });
            problem
        };
        let mut wide = cut();
        (wide.domains[2], wide.unary[2]) = (1, vec![0]);
        let large = added(&[0, 1], vec![0, LARGEST, 0, 0]);
        let hard = added(&[0, 1], vec![0, FORBIDDEN, 0, 0]);
        let three = added(&[0, 1, 2], vec![0, 1, 2, 3, 4, 5, 6, 7]);
        for problem in [large, hard, three, wide] {
            assert!(form(&problem).is_none());
        }
    }
}
