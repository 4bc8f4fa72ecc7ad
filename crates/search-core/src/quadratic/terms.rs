//! A quadratic form, with its terms by variable and by pair.

use super::weight::Weight;
use crate::error::Error;
use crate::memory;
use crate::model::{Cost, CostFunction, FORBIDDEN, Network};
use crate::stop::Stop;
use crate::threads;
use std::ops::Range;

/// Functions of one task, between two checks of the stop flag.
const TURN: usize = 1 << 12;

/// Rows are stored if at least one in this number of their weights is not 0: eight lanes of a vector against one link.
const SPARSE: usize = 8;

/// The function `sum over i of linear(i) x(i) + sum over pairs of weight(i, j) x(i) x(j)`, without the constant.
#[derive(Clone, Debug, Default)]
pub struct Quadratic<W: Weight> {
    linear: Vec<W>,
    /// Index of the first link of each variable, and the number of links.
    starts: Vec<u32>,
    /// The other variable of a pair and its weight. Each pair is listed at both of its variables.
    links: Vec<(u32, W)>,
    rows: Rows<W>,
    /// Every change of the cost by a flip is below two to the power of `bits`.
    bits: u32,
    /// The omitted constant: the cost if all variables are 0, without the problem's constant.
    pub zero: Cost,
    /// Whether flipping all variables changes no cost, as in a cut, whose sides have no names.
    pub symmetric: bool,
}

/// The weights of all pairs, one row for each variable, if there are enough links for reading a row to be faster.
#[derive(Clone, Debug, Default)]
enum Rows<W: Weight> {
    #[default]
    None,
    Short(Vec<W::Half>),
    Long(Vec<W>),
}

/// The weights of a variable's pairs: by links, or with each other variable.
pub enum Row<'a, W: Weight> {
    /// The variable and the weight of each pair.
    Links(&'a [(u32, W)]),
    /// The weights with all variables, in half of the bits.
    Short(&'a [W::Half]),
    /// The weights with all variables.
    Long(&'a [W]),
}

/// The part of a problem's form that does not depend on the type of weights.
pub(super) struct Outline<'a> {
    domains: &'a [u32],
    functions: &'a [CostFunction],
    linear: Vec<Cost>,
    starts: Vec<u32>,
    zero: Cost,
}

/// The sum of the absolute weights of a variable, and the sum of its weights.
#[derive(Clone, Copy, Debug, Default)]
struct LinkSums {
    reach: Cost,
    total: Cost,
}

impl<'a> Outline<'a> {
    /// Builds the outline from domains, unary costs by variable (if there are any) and functions. Returns `None` if
    /// they are not a quadratic form.
    pub fn of(
        domains: &'a [u32],
        unary: &[Vec<Cost>],
        functions: &'a [CostFunction],
        stop: &Stop,
    ) -> Result<Option<Self>, Error> {
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
        for part in threads::try_map(functions.chunks(TURN), of_part)? {
            let Some(part) = part else { return Ok(None) };
            zero += part;
        }
        // each thread reads all functions for its part of the variables, so that links are in the file's order
        let width = part_width(n);
        let mut counts = vec![0u32; n];
        let of_variables = linear.chunks_mut(width).zip(counts.chunks_mut(width)).enumerate();
        let _ = threads::try_map(of_variables, |(part, (linear, counts))| {
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
        Ok(Some(Outline { domains, functions, linear, starts, zero }))
    }

    /// Returns the form with weights of type `W`; `None` if a flip may change more than the type can represent.
    pub fn form<W: Weight>(&self, stop: &Stop) -> Result<Option<Quadratic<W>>, Error> {
        let (n, starts) = (self.linear.len(), &self.starts);
        let width = part_width(n);
        let mut links = vec![(0, W::default()); starts[n] as usize];
        let (mut parts, mut rest) = (Vec::new(), &mut links[..]);
        for first in (0..n).step_by(width) {
            let own;
            let (begin, end) = (starts[first] as usize, starts[n.min(first + width)] as usize);
            (own, rest) = rest.split_at_mut(end - begin);
            parts.push((first..n.min(first + width), own));
        }
        let mut sums = Vec::with_capacity(n);
        for part in threads::try_map(parts, |(variables, own)| self.fill(variables, own, stop))? {
            let Some(part) = part else { return Ok(None) };
            sums.extend(part);
        }
        let reach = sums.iter().map(|sums| sums.reach).max().unwrap_or(0);
        // twice the value of the form must fit into 64 bits, too
        let all = sums.iter().map(|sums| i128::from(sums.reach)).sum::<i128>();
        if reach >= W::LARGEST || all >= 1 << 61 {
            return Ok(None);
        }
        let symmetric = self.linear.iter().zip(&sums).all(|(cost, sums)| 2 * cost + sums.total == 0);
        let linear = self.linear.iter().map(|&cost| W::of(cost)).collect();
        let (starts, zero, bits) = (starts.clone(), self.zero, W::bits(reach));
        Ok(Some(Quadratic { linear, starts, links, rows: Rows::None, bits, zero, symmetric }))
    }

    /// Fills in the links of some variables. Returns the sums of their weights; `None` if one is too large.
    fn fill<W: Weight>(
        &self,
        variables: Range<usize>,
        own: &mut [(u32, W)],
        stop: &Stop,
    ) -> Result<Option<Vec<LinkSums>>, Error> {
        let begin = self.starts[variables.start];
        let mut free: Vec<u32> = self.starts[variables.clone()].iter().map(|start| start - begin).collect();
        let of_variable = |cost: &Cost| LinkSums { reach: cost.saturating_abs(), total: 0 };
        let mut sums: Vec<LinkSums> = self.linear[variables.clone()].iter().map(of_variable).collect();
        for function in stop.each(self.functions) {
            let function = function?;
            let [x, y] = function.scope[..] else { continue };
            for (v, other) in [(x, y), (y, x)] {
                let at = (v as usize).wrapping_sub(variables.start);
                if at < sums.len() {
                    let weight = weight(function, self.domains);
                    own[free[at] as usize] = (other, W::of(weight));
                    free[at] += 1;
                    sums[at].reach = sums[at].reach.saturating_add(weight.saturating_abs());
                    if sums[at].reach >= W::LARGEST {
                        return Ok(None);
                    }
                    sums[at].total += weight;
                }
            }
        }
        Ok(Some(sums))
    }
}

/// Returns the number of variables whose links a thread fills in.
fn part_width(variables: usize) -> usize {
    variables.div_ceil(rayon::current_num_threads())
}

impl<W: Weight> Quadratic<W> {
    /// Returns the form with its variables in another order, given by their present indices.
    pub fn ordered(&self, order: &[u32]) -> Quadratic<W> {
        let mut place = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&v, at)| place[v as usize] = at);
        let (zero, symmetric, bits) = (self.zero, self.symmetric, self.bits);
        let mut ordered = Quadratic { zero, symmetric, bits, starts: vec![0], ..Quadratic::default() };
        for &v in order {
            ordered.linear.push(self.linear[v as usize]);
            let links = self.links(v as usize).iter().map(|&(other, weight)| (place[other as usize], weight));
            ordered.links.extend(links);
            ordered.starts.push(ordered.links.len() as u32);
        }
        ordered
    }

    /// Returns the form with its weights also by rows, if these are not mostly zeros and fit into memory.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn with_rows(self, stop: &Stop) -> Result<Quadratic<W>, Error> {
        let n = self.variables();
        if SPARSE * self.degree() < n {
            return Ok(self);
        }
        let rows = match self.rows_of::<W::Half>(stop)? {
            Some(rows) => Rows::Short(rows),
            None => self.rows_of::<W>(stop)?.map_or(Rows::None, Rows::Long),
        };
        Ok(Quadratic { rows, ..self })
    }

    /// Returns the rows with entries of type `R`; `None` if a weight does not fit, or all do not fit into memory.
    fn rows_of<R: TryFrom<W> + Copy + Default + Send>(&self, stop: &Stop) -> Result<Option<Vec<R>>, Error> {
        let n = self.variables();
        let bytes = (n * n * size_of::<R>()) as u64;
        if memory::must_fit(bytes, || "rows of weights".into()).is_err() {
            return Ok(None);
        }
        let mut rows = vec![R::default(); n * n];
        let fill = |(v, row): (usize, &mut [R])| -> Result<bool, Error> {
            stop.check()?;
            let mut sums = vec![W::default(); n];
            self.links(v).iter().for_each(|&(other, weight)| sums[other as usize] += weight);
            let places = row.iter_mut().zip(sums);
            Ok(places.map(|(own, sum)| R::try_from(sum).map(|sum| *own = sum).is_ok()).fold(true, |all, one| all & one))
        };
        let fit = threads::try_map(rows.chunks_mut(n.max(1)).enumerate(), fill)?;
        Ok(fit.iter().all(|&fits| fits).then_some(rows))
    }

    /// Returns the weights of a variable's pairs in the form that is read fastest.
    #[inline(always)]
    pub fn row(&self, v: usize) -> Row<'_, W> {
        let n = self.variables();
        match &self.rows {
            Rows::None => Row::Links(self.links(v)),
            Rows::Short(rows) => Row::Short(&rows[v * n..(v + 1) * n]),
            Rows::Long(rows) => Row::Long(&rows[v * n..(v + 1) * n]),
        }
    }

    /// Returns whether weights are stored for all pairs of variables.
    pub fn has_rows(&self) -> bool {
        !matches!(self.rows, Rows::None)
    }

    /// Returns the approximate work of reading the weights of a variable, in nanoseconds.
    pub fn row_work(&self) -> u64 {
        match self.rows {
            Rows::None => 4 * self.degree() as u64,
            Rows::Short(_) | Rows::Long(_) => self.variables() as u64 / 4,
        }
    }

    /// Returns the index of the first link of each variable, and all links.
    pub fn arrays(&self) -> (&[u32], &[(u32, W)]) {
        (&self.starts, &self.links)
    }

    /// Returns the linear weight of a variable.
    pub fn linear(&self, v: usize) -> W {
        self.linear[v]
    }

    /// Returns the number of variables.
    pub fn variables(&self) -> usize {
        self.linear.len()
    }

    /// Returns the number of bits of the change by a flip, without its sign.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns the average number of links of a variable.
    pub fn degree(&self) -> usize {
        self.links.len() / self.variables().max(1)
    }

    /// Returns the pairs of a variable: the other variable, and the weight.
    pub fn links(&self, v: usize) -> &[(u32, W)] {
        &self.links[self.starts[v] as usize..self.starts[v + 1] as usize]
    }

    /// Returns the change of the form if `v` flips.
    pub fn change(&self, values: &[bool], v: usize) -> W {
        let slope = self.slope(values, v);
        if values[v] { -slope } else { slope }
    }

    /// Returns the value of the form with `v` = 1 minus that with `v` = 0.
    pub fn slope(&self, values: &[bool], v: usize) -> W {
        let linked = self.links(v).iter().filter(|(other, _)| values[*other as usize]);
        linked.fold(self.linear[v], |slope, &(_, weight)| slope + weight)
    }

    /// Returns the value of the form.
    pub fn value(&self, values: &[bool]) -> Cost {
        let one = |v: usize| {
            let linked = self.links(v).iter().filter(|(other, _)| values[*other as usize]);
            2 * self.linear[v].into() + linked.map(|&(_, weight)| weight.into()).sum::<Cost>()
        };
        (0..values.len()).filter(|&v| values[v]).map(one).sum::<Cost>() / 2
    }
}

/// Returns the extra cost of a function if the variable at a position of its scope is 1 and the other is 0.
fn slope(function: &CostFunction, domains: &[u32], place: usize) -> Cost {
    let one = function.scope[place];
    function.cost_at(domains, |v| u32::from(v == one)) - function.cost_at(domains, |_| 0)
}

/// Returns the extra cost of a function if both variables are 1, beyond the extra costs of each alone.
fn weight(function: &CostFunction, domains: &[u32]) -> Cost {
    let both = function.cost_at(domains, |_| 1) - function.cost_at(domains, |_| 0);
    both - slope(function, domains, 0) - slope(function, domains, 1)
}

/// Returns whether a network has only variables of two values and functions of at most two variables.
pub fn is_form(network: &Network) -> bool {
    let is_pairs = network.globals().len() == 0 && network.largest_arity() <= 2;
    is_pairs && are_binary(network.domains())
}

/// Returns whether all variables have two values and every function has at most two variables.
pub fn are_pairs(domains: &[u32], functions: &[CostFunction]) -> bool {
    are_binary(domains) && functions.iter().all(|function| function.scope.len() <= 2)
}

fn are_binary(domains: &[u32]) -> bool {
    !domains.is_empty() && domains.iter().all(|&domain| domain == 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Problem, Table};
    use crate::quadratic::testing::form;
    use crate::quadratic::{AnyQuadratic, on_weights};
    use crate::rng::Rng;
    use fangs_testing::cores::{pairs as random, scaled};

    const LARGEST: Cost = <i32 as Weight>::LARGEST;

    fn cut() -> Problem {
        let edge = |pair: [u32; 2]| CostFunction { scope: pair.into(), table: Table::dense(vec![4, 0, 0, 4]) };
        let functions = [[0, 1], [1, 2], [0, 2]].map(edge).into();
        Problem { domains: vec![2; 3], unary: vec![vec![0, 0]; 3], functions, constant: 0, top: FORBIDDEN }
    }

    #[test]
    fn rows_hold_what_links_add_up_to() {
        fn compare<W: Weight>(factor: Cost) {
            let mut rng = Rng::new(9);
            let mut seen = [0; 3];
            for (n, scale) in [1, 2, 9, 40, 80].into_iter().flat_map(|n| [(n, 1), (n, factor)]) {
                let form = form::<W>(&scaled(&random(n, &mut rng), scale)).expect("a quadratic form");
                let form = form.with_rows(&Stop::new()).expect("no stop");
                for v in 0..n {
                    let mut sums = vec![W::default(); n];
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
        compare::<i32>(9000);
        compare::<i64>(1 << 40);
    }

    #[test]
    fn weights_have_64_bits_where_32_are_too_few() {
        let problem = random(20, &mut Rng::new(4));
        let form = |factor: Cost| AnyQuadratic::of(&scaled(&problem, factor), &Stop::new()).expect("no stop");
        assert!(matches!(form(1), Some(AnyQuadratic::Narrow(_))));
        for factor in [1 << 30, 1 << 40, 1 << 47] {
            let Some(AnyQuadratic::Wide(wide)) = form(factor) else { panic!("it has a form of 64 bits") };
            let narrow = self::form::<i32>(&problem).expect("a quadratic form");
            let values: Vec<bool> = (0..20).map(|v| v % 3 == 0).collect();
            assert_eq!(wide.value(&values), factor * narrow.value(&values));
            assert!(wide.bits() > LARGEST.ilog2() && wide.bits() <= i64::LARGEST.ilog2());
        }
    }

    #[test]
    fn the_form_is_the_cost_but_for_a_constant() {
        let mut rng = Rng::new(5);
        for _ in 0..200 {
            let n = 1 + rng.index(9);
            let problem = scaled(&random(n, &mut rng), [1, 1 << 40][rng.index(2)]);
            let form = AnyQuadratic::of(&problem, &Stop::new()).expect("no stop").expect("a quadratic form");
            let cost = |values: &[bool]| problem.cost(&values.iter().map(|&x| u32::from(x)).collect::<Vec<_>>());
            let mut values: Vec<bool> = (0..n).map(|_| rng.below(2) == 1).collect();
            assert_eq!(form.zero() + form.value(&values), cost(&values));
            for v in 0..n {
                let (before, change) =
                    (form.value(&values), on_weights!(&form, of => Cost::from(of.change(&values, v))));
                values[v] = !values[v];
                assert_eq!(form.value(&values) - before, change);
            }
            let all_flipped: Vec<bool> = values.iter().map(|x| !x).collect();
            assert!(!on_weights!(&form, of => of.symmetric) || cost(&values) == cost(&all_flipped));
        }
    }

    #[test]
    fn a_cut_is_symmetric_and_other_networks_have_no_form() {
        let form = form::<i64>;
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
        let large = added(&[0, 1], vec![0, i64::LARGEST / 2, i64::LARGEST / 2, 0]);
        let hard = added(&[0, 1], vec![0, FORBIDDEN, 0, 0]);
        let three = added(&[0, 1, 2], vec![0, 1, 2, 3, 4, 5, 6, 7]);
        for problem in [large, hard, three, wide] {
            assert!(form(&problem).is_none());
        }
    }
}
