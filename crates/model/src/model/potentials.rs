//! Products of nonnegative functions: Bayesian and Markov networks in the numbers of their files.

use super::Variable;
use super::scaled::{ROUNDOFF, Scaled, scale};
use crate::error::{ModelError, Warning};
use std::sync::Arc;

/// The exponent of the least nonzero entries of a table: they are at least half of two to this power.
pub const LEAST_EXPONENT: i64 = -1000;

/// The maximum sum over the functions of their largest absolute powers of two, so that no product overflows.
pub const MOST_EXPONENTS: i64 = 1 << 60;

/// A nonnegative function of some variables. An entry is `table` times two to the power of `exponent`, and times two to
/// the power of its entry in `depths` if `depths` is present.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// The variables that the function reads, all different; empty for a constant.
    pub scope: Box<[u32]>,
    /// One entry for each combination of values, the last variable of the scope varying fastest. The largest is in
    /// [1/2, 1), unless all are 0; every nonzero entry is at least half of two to the power of [`LEAST_EXPONENT`].
    pub table: Arc<[f64]>,
    /// The power of two factored out of the table.
    pub exponent: i64,
    /// The remaining power of two of each entry, at most 0, if the entries differ too much for a table of doubles; all
    /// nonzero entries of `table` are in [1/2, 1) then.
    pub depths: Option<Arc<[i64]>>,
}

impl Factor {
    /// Makes a function without variables.
    pub fn constant(value: Scaled) -> Self {
        Factor { scope: Box::default(), table: [value.mantissa].into(), exponent: value.exponent, depths: None }
    }

    /// Makes one factor with these entries, of whatever range.
    pub fn whole(scope: &[u32], entries: usize, entry: impl Fn(usize) -> Scaled) -> Factor {
        let (most, least) = range(entries, &entry);
        if least - most >= LEAST_EXPONENT {
            return Factor::first(scope, entries, entry, most);
        }
        let table = (0..entries).map(|index| entry(index).mantissa).collect();
        let depths = (0..entries).map(|index| (entry(index).exponent - most).min(0)).collect();
        Factor { scope: scope.into(), table, exponent: most, depths: Some(depths) }
    }

    /// Makes factors whose product has these entries. It is a single factor, or several with equal scopes if the
    /// entries differ too much for a table of doubles.
    pub fn of(scope: &[u32], entries: usize, entry: impl Fn(usize) -> Scaled) -> Vec<Factor> {
        let (most, least) = range(entries, &entry);
        let mut factors = vec![Factor::first(scope, entries, &entry, most)];
        let mut taken = LEAST_EXPONENT;
        while least - most < taken {
            // the rest of each exponent; 1 if there is none
            let rest = (0..entries).map(|index| match entry(index) {
                Scaled { mantissa, exponent } if mantissa > 0.0 => {
                    scale(0.5, (exponent - most - taken).clamp(LEAST_EXPONENT, 0))
                }
                _ => 0.5,
            });
            factors.push(Factor { scope: scope.into(), table: rest.collect(), exponent: 1, depths: None });
            taken += LEAST_EXPONENT;
        }
        factors
    }

    /// Returns how many factors [`Factor::of`] makes for entries between these powers of two.
    pub fn tables(most: i64, least: i64) -> usize {
        (most.saturating_sub(least).max(1) as u64).div_ceil(LEAST_EXPONENT.unsigned_abs()) as usize
    }

    /// Makes a factor of the part of the entries that a table of doubles holds, relative to the largest entry's power
    /// of two.
    fn first(scope: &[u32], entries: usize, entry: impl Fn(usize) -> Scaled, most: i64) -> Factor {
        let table = (0..entries).map(|index| {
            let Scaled { mantissa, exponent } = entry(index);
            scale(mantissa, (exponent - most).max(LEAST_EXPONENT))
        });
        Factor { scope: scope.into(), table: table.collect(), exponent: most, depths: None }
    }

    /// Returns the powers of two of the largest and of the least nonzero entry; 0 and 0 if all entries are 0.
    pub fn range(&self) -> (i64, i64) {
        range(self.table.len(), &|index| self.entry(index))
    }

    /// Returns an entry.
    pub fn entry(&self, index: usize) -> Scaled {
        let depth = self.depths.as_ref().map_or(0, |depths| depths[index]);
        Scaled::with(self.table[index], self.exponent + depth)
    }
}

fn range(entries: usize, entry: &impl Fn(usize) -> Scaled) -> (i64, i64) {
    let exponents = (0..entries).map(entry).filter(|entry| entry.mantissa > 0.0).map(|entry| entry.exponent);
    let wider = |range: Option<(i64, i64)>, own: i64| {
        Some(range.map_or((own, own), |(most, least)| (most.max(own), least.min(own))))
    };
    exponents.fold(None, wider).unwrap_or((0, 0))
}

/// A product of nonnegative functions, in the numbers that its file states.
#[derive(Clone, Debug, Default)]
pub struct Potentials {
    /// The product's origin, for messages and reports.
    pub name: String,
    /// The variables in file order, with their names if the file has them.
    pub variables: Vec<Variable>,
    /// Domain sizes in file order.
    pub domains: Vec<u32>,
    /// The functions; equal ones share their tables. Their powers of two total at most [`MOST_EXPONENTS`].
    pub functions: Vec<Factor>,
    /// A bound on the relative error of the product of one entry of each function, compared with the numbers as
    /// written.
    pub rounding: f64,
    /// Warnings about suspicious input.
    pub warnings: Vec<Warning>,
}

impl Potentials {
    /// Makes a product without functions.
    pub fn new(name: impl Into<String>) -> Self {
        Potentials { name: name.into(), ..Potentials::default() }
    }

    /// Adds a variable and returns its index.
    ///
    /// # Errors
    /// Returns an error if the variable has no values.
    pub fn variable(&mut self, variable: Variable) -> Result<u32, ModelError> {
        let index = self.variables.len();
        if variable.domain == 0 {
            return Err(ModelError::EmptyDomain { variable: index });
        }
        self.domains.push(variable.domain);
        self.variables.push(variable);
        Ok(index as u32)
    }

    /// Adds a function whose entries are doubles.
    ///
    /// # Errors
    /// Returns an error if the scope has an unknown or repeated variable, if the table does not fit the scope, or if an
    /// entry is negative or not finite.
    pub fn function(&mut self, scope: &[u32], table: &[f64]) -> Result<(), ModelError> {
        let function = self.functions.len();
        let variables = self.variables.len();
        let mut expected = 1u64;
        for (place, &variable) in scope.iter().enumerate() {
            let Some(&domain) = self.domains.get(variable as usize) else {
                return Err(ModelError::UnknownVariable { function, variable, variables });
            };
            if scope[..place].contains(&variable) {
                return Err(ModelError::RepeatedVariable { function, variable });
            }
            expected = expected.saturating_mul(u64::from(domain));
        }
        if table.len() as u64 != expected {
            return Err(ModelError::TableSize { function, found: table.len(), expected });
        }
        if let Some(entry) = table.iter().position(|entry| !(0.0..f64::INFINITY).contains(entry)) {
            return Err(ModelError::NoPotential { function, entry });
        }
        self.functions.push(Factor::whole(scope, table.len(), |index| Scaled::new(table[index])));
        self.rounding += ROUNDOFF;
        Ok(())
    }

    /// Returns the name of a variable: the file's, or `x` and its index.
    pub fn variable_name(&self, variable: usize) -> String {
        match &self.variables[variable].name {
            Some(name) => name.to_string(),
            None => format!("x{variable}"),
        }
    }

    /// Returns the product of all functions at an assignment.
    pub fn value(&self, assignment: &[u32]) -> Scaled {
        self.functions.iter().fold(Scaled::ONE, |product, function| {
            let along =
                |index: usize, &v: &u32| index * self.domains[v as usize] as usize + assignment[v as usize] as usize;
            product.times(function.entry(function.scope.iter().fold(0, along)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Decimal, Stated};

    #[test]
    fn tables_are_scaled_and_keep_what_doubles_do_not_hold() {
        let decimal = |exponent| Scaled::of(Stated::Decimal(Decimal { digits: 1, exponent }));
        let entries = [decimal(-1000), Scaled::ZERO, decimal(10), decimal(-320), Scaled::new(3.0), decimal(-400)];
        let factors = Factor::of(&[0], entries.len(), |index| entries[index]);
        assert!(factors.len() > 2, "{}", factors.len());
        for factor in &factors {
            let most = factor.table.iter().copied().fold(0.0, f64::max);
            assert!((0.5..1.0).contains(&most));
            assert!(factor.table.iter().all(|&entry| entry == 0.0 || entry >= 2f64.powi(LEAST_EXPONENT as i32 - 1)));
        }
        for (index, &entry) in entries.iter().enumerate() {
            let product = factors.iter().fold(Scaled::ONE, |product, factor| product.times(factor.entry(index)));
            assert_eq!(product, entry, "{index}");
        }
        let whole = Factor::whole(&[0], entries.len(), |index| entries[index]);
        assert!(whole.depths.is_some());
        entries.iter().enumerate().for_each(|(index, entry)| assert_eq!(whole.entry(index), *entry));
        assert_eq!(whole.range(), (34, -3321));
        let near = Factor::whole(&[0], 2, |index| entries[2 * index + 2]);
        assert_eq!(near.depths, None);
        let zero = Factor::of(&[0], 2, |_| Scaled::ZERO);
        assert_eq!((zero.len(), &zero[0].table[..]), (1, &[0.0, 0.0][..]));
    }

    #[test]
    fn variables_and_values_by_name_and_index() {
        let mut potentials = Potentials::new("t");
        let values = Some(["1".into(), "0".into()].into());
        let named = Variable { domain: 2, name: Some("x1".into()), values };
        assert_eq!(potentials.variable(named), Ok(0));
        assert_eq!(potentials.variable(Variable { domain: 3, name: None, values: None }), Ok(1));
        let names = crate::model::Names::new(&potentials.variables);
        assert_eq!(
            ["x1", "1", "x0", "0", "2", "y"].map(|name| names.variable(name).ok()),
            [Some(0), Some(1), Some(0), Some(0), None, None]
        );
        assert_eq!(["1", "0", "2"].map(|value| names.value(0, value).ok()), [Some(0), Some(1), None]);
        assert_eq!(["1", "2", "3"].map(|value| names.value(1, value).ok()), [Some(1), Some(2), None]);
        assert!(potentials.function(&[0, 1], &[0.5; 6]).is_ok());
        assert!(potentials.function(&[0, 2], &[0.5; 6]).is_err() && potentials.function(&[1], &[0.5; 6]).is_err());
        assert!(potentials.function(&[0], &[0.5, -1.0]).is_err() && potentials.function(&[0, 0], &[0.5; 4]).is_err());
        assert_eq!(potentials.value(&[1, 2]).double(), 0.5);
    }
}
