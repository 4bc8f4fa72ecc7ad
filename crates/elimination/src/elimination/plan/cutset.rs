//! The cutset of a plan, and the problem that is left in a slice.

use crate::model::{CostFunction, Problem, SparseTable, Table, add};
use crate::tensor::places;
use std::sync::Arc;

/// A cutset: variables that are fixed in turn to each combination of their values. Each combination is a *slice*.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cutset {
    /// The variables.
    pub variables: Vec<u32>,
    /// Domain sizes of the variables.
    pub domains: Vec<u32>,
    /// Bytes that tables of a slice may take.
    pub bytes: u64,
}

impl Cutset {
    /// Returns the number of slices, saturating.
    pub fn slices(&self) -> u64 {
        self.domains.iter().fold(1, |product, &domain| product.saturating_mul(u64::from(domain)))
    }

    /// Returns the pairs of variable and value in a slice.
    pub(crate) fn values(&self, slice: u64) -> impl Iterator<Item = (u32, u32)> {
        let mut rest = slice;
        self.variables.iter().zip(&self.domains).map(move |(&variable, &domain)| {
            let value = (rest % u64::from(domain)) as u32;
            rest /= u64::from(domain);
            (variable, value)
        })
    }

    /// Returns the problem that is left in a slice, with the same variables and functions. Variables of the cutset have
    /// one value, functions do not read them, and functions that read no other variables are part of the constant.
    pub(crate) fn condition(&self, problem: &Problem, slice: u64) -> Problem {
        let mut fixed = vec![None; problem.variables()];
        self.values(slice).for_each(|(variable, value)| fixed[variable as usize] = Some(value));
        let (mut domains, mut unary, mut constant) = (problem.domains.clone(), problem.unary.clone(), problem.constant);
        for (variable, value) in self.values(slice) {
            let own = &mut unary[variable as usize];
            constant = add(constant, own[value as usize]);
            (*own, domains[variable as usize]) = (vec![0], 1);
        }
        let functions = problem.functions.iter().map(|function| {
            let own = restrict(function, &problem.domains, &fixed);
            if !own.scope.is_empty() {
                return own;
            }
            constant = add(constant, own.min(&domains));
            CostFunction { table: Table::dense(vec![0]), ..own }
        });
        let functions = functions.collect();
        Problem { domains, unary, functions, constant, top: problem.top }
    }
}

/// Returns a function over those of its variables that are not fixed; a constant is a dense table.
fn restrict(function: &CostFunction, domains: &[u32], fixed: &[Option<u32>]) -> CostFunction {
    let is_fixed = |&v: &u32| fixed[v as usize];
    if function.scope.iter().all(|v| is_fixed(v).is_none()) {
        return function.clone();
    }
    let scope = function.scope.iter().copied().filter(|v| is_fixed(v).is_none()).collect();
    let left: Vec<usize> = (0..function.scope.len()).filter(|&at| is_fixed(&function.scope[at]).is_none()).collect();
    let table = match &function.table {
        Table::Dense(costs) => {
            let places = places(function.scope.iter().map(|v| (domains[*v as usize] as usize, is_fixed(v))));
            Table::dense(places.into_iter().map(|place| costs.get(place)).collect())
        }
        Table::Sparse(sparse) => {
            let agrees = |values: &[u32]| {
                function.scope.iter().zip(values).all(|(v, &value)| is_fixed(v).is_none_or(|own| own == value))
            };
            let (mut tuples, mut costs) = (Vec::new(), Vec::new());
            for (values, cost) in sparse.iter().filter(|(values, _)| agrees(values)) {
                tuples.extend(left.iter().map(|&at| values[at]));
                costs.push(cost);
            }
            match left.is_empty() {
                true => Table::dense(vec![costs.first().copied().unwrap_or(sparse.default_cost())]),
                false => Table::Sparse(Arc::new(SparseTable::new(left.len(), sparse.default_cost(), tuples, costs))),
            }
        }
    };
    CostFunction { scope, table }
}
