//! Networks of the campaign: plain data, evaluated by enumeration in 128 bits or as [`Wide`] products. Files are
//! written from them, so that the library's readers are tested, too.

mod random;
mod smaller;
mod text;

pub use random::{Shape, network};
pub(crate) use random::{happens, one_of};

use crate::number::{Decimal, Wide};

/// The format of a network's file, which also determines the meaning of its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `.wcsp`: integer costs.
    Wcsp,
    /// `.cfn`: costs in units of 10^-`decimals`, negated in the file if it maximises.
    Cfn {
        /// Digits after the decimal point.
        decimals: u32,
        /// Whether larger totals are better in the file.
        maximise: bool,
    },
    /// `.uai`: potentials.
    Uai,
    /// `.LG`: natural logarithms of potentials.
    Lg,
}

impl Form {
    /// Returns the extension of the format's files.
    pub fn ending(self) -> &'static str {
        match self {
            Form::Wcsp => "wcsp",
            Form::Cfn { .. } => "cfn",
            Form::Uai => "uai",
            Form::Lg => "LG",
        }
    }

    /// Returns whether totals are products of potentials, not sums of costs.
    pub fn is_product(self) -> bool {
        matches!(self, Form::Uai | Form::Lg)
    }
}

/// An entry of a table: a cost in units, a potential, or its logarithm. `None` is forbidden.
pub type Entry = Option<Decimal>;

/// The costs of a function.
#[derive(Clone, Debug, PartialEq)]
pub enum Costs {
    /// One entry for each combination of values, the last variable running fastest.
    Table(Vec<Entry>),
    /// A global cost function of a `.wcsp`.
    Global(Global),
}

/// A global cost function; costs of at least the network's `top` are forbidden.
#[derive(Clone, Debug, PartialEq)]
pub enum Global {
    /// `salldiff var`: `cost` times the number of variables minus the number of different values.
    Different {
        /// The cost.
        cost: i64,
    },
    /// `samong var`: `cost` times the distance of the number of variables with certain values from an interval.
    Among {
        /// The cost.
        cost: i64,
        /// The least and the largest number.
        range: (i64, i64),
        /// The values that count.
        values: Vec<u32>,
    },
    /// `knapsack`: forbidden unless the weights of the variables with value 1 total at least `capacity`.
    Knapsack {
        /// The least total.
        capacity: i64,
        /// The weight of each variable.
        weights: Vec<i64>,
    },
}

impl Costs {
    /// Returns the finite costs that a function with this arity may have, or some that bound them.
    fn finite(&self, arity: usize) -> Vec<i128> {
        match self {
            Costs::Table(table) => table.iter().flatten().map(|entry| entry.digits).collect(),
            Costs::Global(Global::Different { cost } | Global::Among { cost, .. }) => {
                (0..=arity as i128).map(|times| times * i128::from(*cost)).collect()
            }
            Costs::Global(Global::Knapsack { .. }) => vec![0],
        }
    }
}

/// A function of some variables.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The variables.
    pub scope: Vec<usize>,
    /// The costs.
    pub costs: Costs,
}

/// A network.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The format of its file.
    pub form: Form,
    /// The number of values of each variable.
    pub domains: Vec<u32>,
    /// The functions.
    pub functions: Vec<Function>,
    /// The limit in units that totals of solutions must stay below. Products have no limit.
    pub top: i128,
    /// Observed variables and their values: no other value is part of a solution.
    pub observed: Vec<(usize, u32)>,
}

/// The optimum and the number of solutions of a network of costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// The least total in units; `None` if there is no solution.
    pub cost: Option<i128>,
    /// The number of solutions.
    pub solutions: u64,
}

impl Network {
    /// Returns the number of assignments, ignoring observations; saturates.
    pub fn assignments(&self) -> u64 {
        self.domains.iter().fold(1, |n: u64, &domain| n.saturating_mul(domain.into()))
    }

    /// Calls `each` with every assignment that agrees with the observations.
    pub fn for_each(&self, mut each: impl FnMut(&[u32])) {
        let mut values = vec![0; self.domains.len()];
        'all: loop {
            if self.observed.iter().all(|&(v, value)| values[v] == value) {
                each(&values);
            }
            for place in (0..values.len()).rev() {
                values[place] += 1;
                if values[place] < self.domains[place] {
                    continue 'all;
                }
                values[place] = 0;
            }
            return;
        }
    }

    /// Returns the entry of a table under an assignment of all variables.
    fn entry<'t>(&self, scope: &[usize], table: &'t [Entry], values: &[u32]) -> &'t Entry {
        &table[scope.iter().fold(0, |index, &v| index * self.domains[v] as usize + values[v] as usize)]
    }

    /// Returns the cost of a function in units, or `None` if it is forbidden.
    fn cost_of(&self, function: &Function, values: &[u32]) -> Option<i128> {
        let own = function.scope.iter().map(|&v| values[v]);
        let cost = match &function.costs {
            Costs::Table(table) => (*self.entry(&function.scope, table, values))?.digits,
            Costs::Global(Global::Different { cost }) => {
                let mut all: Vec<u32> = own.collect();
                let count = all.len();
                all.sort_unstable();
                all.dedup();
                i128::from(*cost) * (count - all.len()) as i128
            }
            Costs::Global(Global::Among { cost, range: (low, high), values }) => {
                let count = own.filter(|value| values.contains(value)).count() as i64;
                i128::from(*cost) * i128::from((low - count).max(count - high).max(0))
            }
            Costs::Global(Global::Knapsack { capacity, weights }) => {
                let taken = own.zip(weights).filter(|(value, _)| *value == 1);
                let total: i128 = taken.map(|(_, &weight)| i128::from(weight)).sum();
                return (total >= i128::from(*capacity)).then_some(0);
            }
        };
        // in a .cfn only `inf` forbids a tuple; the limit applies to totals
        (cost < self.top || self.form != Form::Wcsp).then_some(cost)
    }

    /// Returns the total of an assignment in units, or `None` if it is infeasible.
    pub fn cost(&self, values: &[u32]) -> Option<i128> {
        let fits = self.observed.iter().all(|&(v, value)| values.get(v) == Some(&value));
        let mut total = 0;
        for function in &self.functions {
            total += self.cost_of(function, values)?;
        }
        (fits && total < self.top).then_some(total)
    }

    /// Returns the product of the potentials of an assignment.
    pub fn product(&self, values: &[u32]) -> Wide {
        let mut product = Wide::ONE;
        for function in &self.functions {
            let Costs::Table(table) = &function.costs else { continue };
            let factor = match (self.form, *self.entry(&function.scope, table, values)) {
                (_, None) => Wide::ZERO,
                (Form::Lg, Some(logarithm)) => Wide::exp(logarithm.as_f64()),
                (_, Some(potential)) => Wide::of(potential),
            };
            product = product.times(factor);
        }
        product
    }

    /// Returns the optimum of a network of costs.
    pub fn optimum(&self) -> Optimum {
        let mut found = Optimum { cost: None, solutions: 0 };
        self.for_each(|values| {
            if let Some(cost) = self.cost(values) {
                found.solutions += 1;
                found.cost = Some(found.cost.map_or(cost, |best| best.min(cost)));
            }
        });
        found
    }

    /// Returns the largest error of logarithms of products because entries and their sums are rounded to doubles.
    pub fn roundoff(&self) -> f64 {
        let largest = |function: &Function| {
            let Costs::Table(table) = &function.costs else { return 0.0 };
            let ln = |entry: &Decimal| match self.form {
                Form::Lg => entry.as_f64().abs(),
                _ => Wide::of(*entry).ln().abs(),
            };
            table.iter().flatten().map(ln).filter(|ln| ln.is_finite()).fold(0.0, f64::max)
        };
        let sum: f64 = self.functions.iter().map(largest).sum();
        (8.0 + 4.0 * sum) * f64::EPSILON
    }

    /// Returns a cost in the file's units.
    pub fn number(&self, cost: i128) -> Decimal {
        match self.form {
            Form::Cfn { decimals, maximise } => {
                Decimal { digits: if maximise { -cost } else { cost }, exponent: -(decimals as i32) }
            }
            _ => Decimal::integer(cost),
        }
    }

    /// Returns the cost in units for a number of the file, or `None` if it is not a whole number of units.
    pub fn units(&self, number: Decimal) -> Option<i128> {
        match self.form {
            Form::Cfn { decimals, maximise } => {
                number.in_units(decimals).map(|units| if maximise { -units } else { units })
            }
            _ => number.in_units(0),
        }
    }

    /// Returns whether the documentation allows a reader to refuse the file because of its magnitudes.
    pub fn may_be_refused(&self) -> bool {
        let (mut largest, mut raised, mut huge, mut least) = (0i128, 0i128, false, 0i128);
        for function in &self.functions {
            let costs = function.costs.finite(function.scope.len());
            let finite = || costs.iter().copied().filter(|&cost| cost < self.top || self.form != Form::Wcsp);
            let (low, high) = (finite().min().unwrap_or(0), finite().max().unwrap_or(0));
            huge |= low <= -(1 << 58) || high >= 1 << 58;
            largest += high.max(0).max(-low);
            raised += high - low.min(0);
            least += low.min(0);
        }
        let has_globals = self.functions.iter().any(|function| matches!(function.costs, Costs::Global(_)));
        let limit = 1 << 60;
        // a limit on totals beyond that of single costs is not kept, so totals must stay below it
        huge |= self.top > 1 << 58 && largest >= self.top;
        huge || largest >= limit || raised >= limit || self.top.abs() >= limit || has_globals && least < 0
    }
}
