//! Networks of binary variables and functions of two of them as a quadratic form.

use crate::error::Error;
use crate::memory;
use crate::model::{Cost, CostFunction, FORBIDDEN, Network, Problem};
use crate::search::run::passes;
use crate::search::tuning::core::DENSE;
use crate::stop::Stop;
use rayon::prelude::*;

/// Functions of a thread's turn, between two looks at the stop flag.
const TURN: usize = 1 << 12;

/// Rows are read where at least one in so many of their weights is there: eight lanes of a vector beside one link.
const SPARSE: usize = 8;

/// No flip changes the cost by as much: changes and their times share words of 64 bits ([`super::one_flip`]).
pub(super) const LARGEST: Cost = 1 << 29;

/// `sum over i of linear(i) x(i) + sum over pairs of weight(i, j) x(i) x(j)`, without the constant.
#[derive(Debug, Default)]
pub(crate) struct Quadratic {
    linear: Vec<i32>,
    /// The first link of each variable, and the end.
    starts: Vec<u32>,
    /// The other variable of a pair and its weight; each pair stands at both of its variables.
    links: Vec<(u32, i32)>,
    rows: Rows,
    /// What is left out: the cost where all variables are 0, but for a problem's constant.
    pub zero: Cost,
    /// Whether flipping all variables changes nothing, as the sides of a cut have no names.
    pub symmetric: bool,
}

/// The weights of all pairs, a row a variable, where links are so many that a row is read sooner.
#[derive(Debug, Default)]
enum Rows {
    #[default]
    None,
    Short(Vec<i16>),
    Long(Vec<i32>),
}

/// Of a variable, the weights of its pairs: by links, or with each other variable.
pub(crate) enum Row<'a> {
    Links(&'a [(u32, i32)]),
    Short(&'a [i16]),
    Long(&'a [i32]),
}

impl Quadratic {
    /// The form of a problem; none where a variable has not two values, a function three variables or a forbidden
    /// entry, or costs are too large.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn of(problem: &Problem, stop: &Stop) -> Result<Option<Quadratic>, Error> {
        Quadratic::made((&problem.domains, &problem.unary, &problem.functions), stop)
    }

    /// The form of a network as it was read, under the same conditions.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn of_network(network: &Network, stop: &Stop) -> Result<Option<Quadratic>, Error> {
        if network.globals().len() > 0 {
            return Ok(None);
        }
        Quadratic::made((network.domains(), &[], network.functions()), stop)
    }

    /// Of domains, costs of values by variable, if there are any, and functions.
    fn made(
        (domains, unary, functions): (&[u32], &[Vec<Cost>], &[CostFunction]),
        stop: &Stop,
    ) -> Result<Option<Quadratic>, Error> {
        let n = domains.len();
        if !are_pairs(domains, functions) || u32::try_from(2 * functions.len()).is_err() {
            return Ok(None);
        }
        let (mut linear, mut zero) = (vec![0; n], 0);
        for item in stop.each(linear.iter_mut().zip(unary)) {
            let (linear, costs) = item?;
            if costs.iter().any(|&cost| cost >= FORBIDDEN) {
                return Ok(None);
            }
            zero += costs[0];
            *linear = costs[1] - costs[0];
        }
        let of_part = |functions: &[CostFunction]| -> Result<Option<Cost>, Error> {
            stop.check()?;
            let is_allowed = |function: &CostFunction| function.table.costs().all(|cost| cost < FORBIDDEN);
            let least = |function: &CostFunction| function.cost_at(domains, |_| 0);
            Ok(functions.iter().all(is_allowed).then(|| functions.iter().map(least).sum()))
        };
        let parts: Result<Vec<Option<Cost>>, Error> = functions.par_chunks(TURN).map(of_part).collect();
        let Some(parts) = parts?.into_iter().collect::<Option<Vec<Cost>>>() else { return Ok(None) };
        zero += parts.iter().sum::<Cost>();
        // each thread looks at all functions for its part of the variables, so that links stand in the file's order
        let width = n.div_ceil(rayon::current_num_threads());
        let mut counts = vec![0u32; n];
        let of_variables = linear.par_chunks_mut(width).zip(counts.par_chunks_mut(width)).enumerate();
        of_variables.try_for_each(|(part, (linear, counts))| {
            let own_variables = linear.len();
            for function in stop.each(functions) {
                let function = function?;
                let places = function.scope.iter().map(|&v| (v as usize).wrapping_sub(part * width)).enumerate();
                for (place, own) in places.filter(|&(_, own)| own < own_variables) {
                    linear[own] += slope(function, domains, place);
                    counts[own] += u32::from(function.scope.len() == 2);
                }
            }
            Ok::<_, Error>(())
        })?;
        let mut starts = Vec::with_capacity(n + 1);
        starts.push(0);
        counts.iter().for_each(|count| starts.push(starts[starts.len() - 1] + count));
        let mut links = vec![(0, 0); starts[n] as usize];
        let (mut parts, mut rest) = (Vec::new(), &mut links[..]);
        for first in (0..n).step_by(width) {
            let own;
            let (begin, end) = (starts[first] as usize, starts[n.min(first + width)] as usize);
            (own, rest) = rest.split_at_mut(end - begin);
            parts.push((first..n.min(first + width), own));
        }
        let reach_and_total = parts.into_par_iter().map(|(variables, own)| {
            let begin = starts[variables.start];
            let mut free: Vec<u32> = starts[variables.clone()].iter().map(|start| start - begin).collect();
            let mut sums: Vec<(Cost, Cost)> = linear[variables.clone()].iter().map(|cost| (cost.abs(), 0)).collect();
            for function in stop.each(functions) {
                let function = function?;
                let [x, y] = function.scope[..] else { continue };
                for (v, other) in [(x, y), (y, x)] {
                    let at = (v as usize).wrapping_sub(variables.start);
                    if at < sums.len() {
                        let weight = weight(function, domains);
                        // one that is too large is refused below
                        own[free[at] as usize] = (other, weight as i32);
                        free[at] += 1;
                        sums[at].0 += weight.abs();
                        sums[at].1 += weight;
                    }
                }
            }
            Ok::<_, Error>(sums)
        });
        let sums = reach_and_total.collect::<Result<Vec<_>, Error>>()?.concat();
        if sums.iter().any(|&(reach, _)| reach >= LARGEST) {
            return Ok(None);
        }
        let symmetric = linear.iter().zip(&sums).all(|(cost, (_, weights))| 2 * cost + weights == 0);
        let linear = linear.into_iter().map(|cost| cost as i32).collect();
        Ok(Some(Quadratic { linear, starts, links, rows: Rows::None, zero, symmetric }))
    }

    /// The same form with its variables in another order: the first is what `order` begins with.
    pub fn ordered(&self, order: &[u32]) -> Quadratic {
        let mut place = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&v, at)| place[v as usize] = at);
        let mut ordered =
            Quadratic { zero: self.zero, symmetric: self.symmetric, starts: vec![0], ..Quadratic::default() };
        for &v in order {
            ordered.linear.push(self.linear[v as usize]);
            let links = self.links(v as usize).iter().map(|&(other, weight)| (place[other as usize], weight));
            ordered.links.extend(links);
            ordered.starts.push(ordered.links.len() as u32);
        }
        ordered
    }

    /// The same form, its weights also by rows where those are not mostly empty and fit memory.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn with_rows(self, stop: &Stop) -> Result<Quadratic, Error> {
        let n = self.variables();
        if SPARSE * self.degree() < n {
            return Ok(self);
        }
        let rows = match self.rows_of::<i16>(stop)? {
            Some(rows) => Rows::Short(rows),
            None => self.rows_of::<i32>(stop)?.map_or(Rows::None, Rows::Long),
        };
        Ok(Quadratic { rows, ..self })
    }

    /// None where a weight, or all of them, have no room.
    fn rows_of<W: TryFrom<i32> + Copy + Default + Send>(&self, stop: &Stop) -> Result<Option<Vec<W>>, Error> {
        let n = self.variables();
        let bytes = (n * n * size_of::<W>()) as u64;
        if memory::must_fit(bytes, || "rows of weights".into()).is_err() {
            return Ok(None);
        }
        let mut rows = vec![W::default(); n * n];
        let fill = |(v, row): (usize, &mut [W])| -> Result<bool, Error> {
            stop.check()?;
            let mut sums = vec![0; n];
            self.links(v).iter().for_each(|&(other, weight)| sums[other as usize] += weight);
            let places = row.iter_mut().zip(sums);
            Ok(places.map(|(own, sum)| W::try_from(sum).map(|sum| *own = sum).is_ok()).fold(true, |all, one| all & one))
        };
        let fits = rows.par_chunks_mut(n.max(1)).enumerate().map(fill).try_reduce(|| true, |a, b| Ok(a & b))?;
        Ok(fits.then_some(rows))
    }

    /// The weights of a variable's pairs in the form that is read soonest.
    #[inline(always)]
    pub fn row(&self, v: usize) -> Row<'_> {
        let n = self.variables();
        match &self.rows {
            Rows::None => Row::Links(self.links(v)),
            Rows::Short(rows) => Row::Short(&rows[v * n..(v + 1) * n]),
            Rows::Long(rows) => Row::Long(&rows[v * n..(v + 1) * n]),
        }
    }

    pub fn has_rows(&self) -> bool {
        !matches!(self.rows, Rows::None)
    }

    /// Work of reading them, in nanoseconds or so.
    pub fn row_work(&self) -> u64 {
        match self.rows {
            Rows::None => 4 * self.degree() as u64,
            Rows::Short(_) | Rows::Long(_) => self.variables() as u64 / 4,
        }
    }

    /// Where the links of each variable begin, and all links.
    pub fn arrays(&self) -> (&[u32], &[(u32, i32)]) {
        (&self.starts, &self.links)
    }

    pub fn linear(&self, v: usize) -> i32 {
        self.linear[v]
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
        let slope = self.slope(values, v);
        if values[v] { -slope } else { slope }
    }

    /// What the form is more where `v` is 1 and not 0.
    pub fn slope(&self, values: &[bool], v: usize) -> i32 {
        let linked = self.links(v).iter().filter(|(other, _)| values[*other as usize]);
        self.linear[v] + linked.map(|(_, weight)| weight).sum::<i32>()
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

/// What a function costs more where the variable at a place of its scope is 1, and the other is 0.
fn slope(function: &CostFunction, domains: &[u32], place: usize) -> Cost {
    let one = function.scope[place];
    function.cost_at(domains, |v| u32::from(v == one)) - function.cost_at(domains, |_| 0)
}

/// What it costs more than that for each where both are.
fn weight(function: &CostFunction, domains: &[u32]) -> Cost {
    let both = function.cost_at(domains, |_| 1) - function.cost_at(domains, |_| 0);
    both - slope(function, domains, 0) - slope(function, domains, 1)
}

/// Whether a network is a form of so many terms that it is searched as one, without tables.
pub(crate) fn is_dense(network: &Network) -> bool {
    network.functions().len() >= DENSE * network.domains().len() && passes::suits(network) && is_form(network)
}

/// Whether a network has variables of two values and functions of at most two variables alone.
pub(crate) fn is_form(network: &Network) -> bool {
    let is_pairs = network.globals().len() == 0 && network.largest_arity() <= 2;
    is_pairs && are_binary(network.domains())
}

/// Whether all variables have two values and no function more than two variables.
pub(crate) fn are_pairs(domains: &[u32], functions: &[CostFunction]) -> bool {
    are_binary(domains) && functions.iter().all(|function| function.scope.len() <= 2)
}

fn are_binary(domains: &[u32]) -> bool {
    !domains.is_empty() && domains.iter().all(|&domain| domain == 2)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::Table;
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
    fn rows_hold_what_links_add_up_to() {
        let mut rng = Rng::new(9);
        let mut seen = [0; 3];
        for (n, scale) in [1, 2, 9, 40, 80].into_iter().flat_map(|n| [(n, 1), (n, 9000)]) {
            let mut problem = random(n, &mut rng);
            problem.functions.iter_mut().for_each(|function| function.table = function.table.map(|cost| scale * cost));
            let form = Quadratic::of(&problem, &Stop::new()).expect("no stop").expect("a quadratic form");
            let form = form.with_rows(&Stop::new()).expect("no stop");
            for v in 0..n {
                let mut sums = vec![0; n];
                form.links(v).iter().for_each(|&(other, weight)| sums[other as usize] += weight);
                let (kind, row) = match form.row(v) {
                    Row::Links(_) => (0, sums.clone()),
                    Row::Short(row) => (1, row.iter().map(|&weight| weight.into()).collect()),
                    Row::Long(row) => (2, row.to_vec()),
                };
                assert_eq!(row, sums);
                seen[kind] += 1;
            }
        }
        assert!(seen.iter().all(|&rows| rows > 0), "{seen:?}");
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
            assert_eq!(form.zero + form.value(&values), cost(&values));
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
