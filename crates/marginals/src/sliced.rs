//! A product after variables are observed: smaller tables over fewer variables, with one function for each scope.

use super::evidence::Evidence;
use super::near::near;
use super::simplify::{Keep, LeftOut, Simplifier, strides};
use crate::algebra::{OfNumbers, SumProduct};
use crate::elimination::{Factors, Source, scatter};
use crate::error::Error;
use crate::model::{
    Cost, CostFunction, FORBIDDEN, Factor, Network, Potentials, Problem, ROUNDOFF, Scaled, SparseTable, Table, Variable,
};
use crate::stop::Stop;
use crate::tensor::{places, storage::Storage};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A product over the variables that are not observed.
#[derive(Clone, Debug)]
pub struct Sliced {
    /// The variables that are left, by their indices in the whole.
    pub variables: Vec<u32>,
    /// The domain sizes of the variables that are left.
    pub domains: Vec<u32>,
    /// The functions that are left, over indices into `variables`. None is a constant, and no two have the same
    /// variables unless their product does not fit doubles.
    pub functions: Vec<Factor>,
    /// For each function, the exponent of the smallest entry above 0 of its table.
    pub least: Vec<i64>,
    /// The other variables left out, each in terms of later ones and of those that are left, by their indices in the
    /// whole.
    pub left_out: Vec<LeftOut>,
    /// The product of the constants.
    pub constant: Scaled,
    /// The relative error of the product of constants and entries, against that of the file's numbers.
    pub rounding: f64,
    /// Whether entries were dropped that matter for other observations only.
    pub is_near: bool,
}

impl Sliced {
    /// Slices the tables by the observed values. Barren leaves of a Bayesian network are removed repeatedly: variables
    /// that are not `asked` for and that only one function reads, together with that function if it sums to 1 over
    /// them. Variables that follow from others are substituted ([`Simplifier`]), except those to `keep`. Returns `None`
    /// if the observations contradict each other.
    ///
    /// # Errors
    /// Returns an error if the evidence does not fit, and [`Error::Stopped`] if `stop` is set.
    pub(super) fn new(
        potentials: &Potentials,
        evidence: &Evidence,
        asked: impl Fn(u32) -> bool,
        keep: Keep<'_>,
        stop: &Stop,
    ) -> Result<Option<Self>, Error> {
        let Some(observed) = evidence.by_variable(potentials)? else { return Ok(None) };
        let mut sliced = Sliced {
            variables: (0..potentials.domains.len() as u32).filter(|&v| observed[v as usize].is_none()).collect(),
            domains: Vec::new(),
            functions: Vec::new(),
            least: Vec::new(),
            left_out: Vec::new(),
            constant: Scaled::ONE,
            rounding: potentials.rounding,
            is_near: false,
        };
        let weights = evidence
            .weights
            .iter()
            .map(|(variable, weights)| Factor::whole(&[*variable], weights.len(), |index| Scaled::new(weights[index])));
        let weights: Vec<Factor> = weights.collect();
        sliced.rounding += weights.len() as f64 * ROUNDOFF;
        let all = stop.each(potentials.functions.iter().chain(&weights));
        let mut functions = Functions::default();
        for function in all {
            let factor = slice(function?, &potentials.domains, &observed);
            sliced.add(&mut functions, factor, &potentials.domains);
        }
        if functions.list.iter().any(|factor| factor.depths.is_some()) {
            (functions.list, sliced.is_near) = near(functions.list, &potentials.domains, &potentials.name, stop)?;
            sliced.rounding += ROUNDOFF;
        }
        sliced.functions = functions.list;
        sliced.prune(&potentials.domains, &asked, stop)?;
        if let Keep::These(kept) = keep {
            while sliced.simplify(&potentials.domains, kept, stop)? {
                sliced.prune(&potentials.domains, &asked, stop)?;
            }
        }
        sliced.renumber(&potentials.domains);
        Ok(Some(sliced))
    }

    /// Adds a function, or multiplies it into the one of the same variables.
    fn add(&mut self, functions: &mut Functions, factor: Factor, domains: &[u32]) {
        if factor.scope.is_empty() {
            self.constant = self.constant.times(factor.entry(0));
            self.rounding += ROUNDOFF;
            return;
        }
        let mut sorted = factor.scope.clone();
        sorted.sort_unstable();
        if let Some(&known) = functions.places.get(&sorted) {
            let other = &functions.list[known];
            let is_deep = factor.depths.is_some() || other.depths.is_some();
            // functions with depths are multiplied only if their axes have the same order
            if !is_deep || factor.scope == other.scope {
                let own = arrange(&factor, &other.scope, domains);
                let entry = |index: usize| other.entry(index).times(own.entry(index));
                let product = Factor::whole(&other.scope, own.table.len(), entry);
                // if the product does not fit doubles, both functions stay
                if is_deep || product.depths.is_none() {
                    functions.list[known] = product;
                    self.rounding += ROUNDOFF;
                    return;
                }
            }
        }
        let _ = functions.places.insert(sorted, functions.list.len());
        functions.list.push(factor);
    }

    /// Removes barren variables with their functions.
    fn prune(&mut self, domains: &[u32], asked: impl Fn(u32) -> bool, stop: &Stop) -> Result<(), Error> {
        let mut reading: Vec<Vec<usize>> = vec![Vec::new(); domains.len()];
        for (index, function) in self.functions.iter().enumerate() {
            function.scope.iter().for_each(|&v| reading[v as usize].push(index));
        }
        let mut dropped = vec![false; self.functions.len()];
        let mut barren = vec![false; domains.len()];
        let mut open: Vec<u32> = self.variables.iter().copied().filter(|&v| !asked(v)).collect();
        while let Some(variable) = open.pop() {
            stop.check()?;
            let [function] = reading[variable as usize][..] else { continue };
            let own = &self.functions[function];
            if dropped[function] || !sums_to_one(own, variable, domains) {
                continue;
            }
            // each sum is 1 up to the rounding of its terms
            self.rounding += 2.0 * f64::from(domains[variable as usize]) * ROUNDOFF;
            (dropped[function], barren[variable as usize]) = (true, true);
            for &other in &own.scope {
                reading[other as usize].retain(|&known| known != function);
                if other != variable && !asked(other) {
                    open.push(other);
                }
            }
        }
        self.variables.retain(|&v| !barren[v as usize]);
        let mut kept = dropped.iter().map(|dropped| !dropped);
        self.functions.retain(|_| kept.next().unwrap_or(true));
        Ok(())
    }

    /// Leaves out variables that follow from others. Returns whether anything changed, so that more may follow.
    fn simplify(&mut self, domains: &[u32], keeps: &dyn Fn(u32) -> bool, stop: &Stop) -> Result<bool, Error> {
        let count = self.functions.len();
        let mut simplifier = Simplifier::new(std::mem::take(&mut self.functions), domains, keeps);
        if !simplifier.run(stop)? {
            self.constant = Scaled::ZERO;
            return Ok(false);
        }
        let Simplifier { functions: simpler, left_out, .. } = simplifier;
        let mut functions = Functions::default();
        simpler.into_iter().for_each(|function| self.add(&mut functions, function, domains));
        self.functions = functions.list;
        let mut out = vec![false; domains.len()];
        left_out.iter().for_each(|own| out[own.variable as usize] = true);
        self.variables.retain(|&v| !out[v as usize]);
        let is_simpler = self.functions.len() < count || !left_out.is_empty();
        self.left_out.extend(left_out);
        Ok(is_simpler)
    }

    /// Renumbers the variables that are left.
    pub(super) fn renumber(&mut self, domains: &[u32]) {
        let mut places = vec![u32::MAX; domains.len()];
        (0..).zip(&self.variables).for_each(|(place, &v)| places[v as usize] = place);
        for function in &mut self.functions {
            function.scope.iter_mut().for_each(|v| *v = places[*v as usize]);
        }
        self.least = self.functions.iter().map(|function| SumProduct.least(&function.table)).collect();
        self.domains = self.variables.iter().map(|&v| domains[v as usize]).collect();
    }

    /// Returns whether a product may be above 0, as far as each function alone shows.
    pub fn is_possible(&self) -> bool {
        let some = |function: &Factor| function.table.iter().any(|&entry| entry > 0.0);
        self.constant.mantissa > 0.0 && self.functions.iter().all(some)
    }

    /// Returns the requested variables together with those from which they follow.
    pub fn needed(&self, asked: &[bool]) -> Vec<bool> {
        let mut needed = asked.to_vec();
        for LeftOut { variable, by, .. } in &self.left_out {
            by.iter().for_each(|&by| needed[by as usize] |= needed[*variable as usize]);
        }
        needed
    }

    /// Returns the value of a variable that was left out because it has only one.
    pub fn fixed(&self, variable: u32) -> Option<u32> {
        self.left_out.iter().find(|own| own.variable == variable)?.fixed()
    }

    /// Computes the posteriors of variables that were left out from those of the others. Returns the largest number of
    /// terms of a posterior.
    pub fn complete(&self, domains: &[u32], posteriors: &mut [Option<Box<[f64]>>]) -> u32 {
        let mut most = 0;
        for LeftOut { variable, by, values } in self.left_out.iter().rev() {
            let of = by.map_or(Some(&[1.0][..]), |by| posteriors[by as usize].as_deref());
            let Some(parts) = of else { continue };
            let mut own = vec![0.0; domains[*variable as usize] as usize];
            values.iter().zip(parts).for_each(|(&value, part)| own[value as usize] += part);
            most = most.max(values.len() as u32);
            posteriors[*variable as usize] = Some(own.into());
        }
        most
    }

    /// Returns the constants times the powers of two of all functions.
    pub fn taken_out(&self) -> Scaled {
        let exponents: i64 = self.functions.iter().map(|function| function.exponent).sum();
        Scaled { exponent: self.constant.exponent + exponents, ..self.constant }
    }

    /// Returns this product as potentials of their own, over indices into `variables`.
    pub fn potentials(&self) -> Potentials {
        let constant = Factor::constant(self.constant);
        let variable = |&domain: &u32| Variable { domain, name: None, values: None };
        Potentials {
            variables: self.domains.iter().map(variable).collect(),
            domains: self.domains.clone(),
            functions: self.functions.iter().cloned().chain([constant]).collect(),
            rounding: self.rounding,
            ..Potentials::default()
        }
    }

    /// Returns a network whose costs are negative logarithms of the product, in thousandths.
    ///
    /// # Errors
    /// Returns an error if a table is too large for a network.
    pub fn network(&self) -> Result<Network, Error> {
        let cost = |&entry: &f64| if entry > 0.0 { (-entry.ln() * 1e3).round().max(0.0) as Cost } else { FORBIDDEN };
        let mut network = Network::builder("product");
        for &domain in &self.domains {
            let _ = network.variable(domain)?;
        }
        for function in &self.functions {
            let _ = network.dense(&function.scope, function.table.iter().map(cost).collect())?;
        }
        Ok(network.build())
    }

    /// Returns the product at values of all variables, and its relative error.
    pub fn product(&self, values: &[u32]) -> (Scaled, f64) {
        let entry = |function: &Factor| {
            let own = function.scope.iter();
            let place =
                own.fold(0, |place, &v| place * self.domains[v as usize] as usize + values[v as usize] as usize);
            Scaled::with(function.table[place], function.exponent)
        };
        let product = self.functions.iter().fold(self.constant, |product, function| product.times(entry(function)));
        (product, self.rounding + (self.functions.len() + 2) as f64 * ROUNDOFF)
    }

    /// Returns the scopes as a problem without costs, for orders and plans.
    pub fn structure(&self) -> Problem {
        let table = |arity| Table::Sparse(Arc::new(SparseTable::new(arity, 0, Vec::new(), Vec::<Cost>::new())));
        let function = |own: &Factor| CostFunction { scope: own.scope[..].into(), table: table(own.scope.len()) };
        Problem {
            domains: self.domains.clone(),
            unary: vec![Vec::new(); self.domains.len()],
            functions: self.functions.iter().map(function).collect(),
            constant: 0,
            top: FORBIDDEN,
        }
    }
}

/// Functions by their variables in ascending order.
#[derive(Default)]
struct Functions {
    list: Vec<Factor>,
    places: FxHashMap<Box<[u32]>, usize>,
}

/// Returns a function over the variables that are not observed.
pub(super) fn slice(function: &Factor, domains: &[u32], observed: &[Option<u32>]) -> Factor {
    if function.scope.iter().all(|&v| observed[v as usize].is_none()) {
        return function.clone();
    }
    let scope: Vec<u32> = function.scope.iter().copied().filter(|&v| observed[v as usize].is_none()).collect();
    let places = places(function.scope.iter().map(|&v| (domains[v as usize] as usize, observed[v as usize])));
    Factor::whole(&scope, places.len(), |index| function.entry(places[index]))
}

/// Returns a function with its variables in another order.
fn arrange(function: &Factor, scope: &[u32], domains: &[u32]) -> Factor {
    if *function.scope == *scope {
        return function.clone();
    }
    let table = scatter(&function.table, &function.scope, scope, domains, SumProduct, |entry| entry);
    Factor { scope: scope.into(), table: table.to_vec().into(), exponent: function.exponent, depths: None }
}

/// Returns whether all sums over a variable are 1, up to the rounding of their terms.
fn sums_to_one(function: &Factor, variable: u32, domains: &[u32]) -> bool {
    let off = 2.0 * f64::from(domains[variable as usize]) * ROUNDOFF;
    // an exponent may exceed the range of doubles, so the sum is scaled before it is compared
    let is_one = |sum: f64| (Scaled::with(sum, function.exponent).double() - 1.0).abs() <= off;
    sums_over(function, variable, domains).all(is_one)
}

/// Returns the sums over one of a function's variables, by the values of the others.
pub(super) fn sums_over(function: &Factor, variable: u32, domains: &[u32]) -> impl Iterator<Item = f64> {
    let axis = function.scope.iter().position(|&v| v == variable).unwrap_or(0);
    let inner = strides(function, domains)[axis];
    let slabs = function.table.chunks_exact(inner * domains[variable as usize] as usize);
    slabs.flat_map(move |slab| (0..inner).map(move |column| slab[column..].iter().step_by(inner).sum()))
}

impl<S: OfNumbers> Factors<S> for Sliced {
    fn load(&self, source: Source, variables: &[u32], semiring: S) -> Storage<S::Entry> {
        match source {
            Source::Function(f) => {
                let Factor { scope, table, .. } = &self.functions[f as usize];
                scatter(table, scope, variables, &self.domains, semiring, |entry| semiring.of_double(entry))
            }
            // the structure has no unary costs
            _ => variables.iter().flat_map(|&v| 0..self.domains[v as usize]).map(|_| semiring.one()).collect(),
        }
    }
}
