//! Integer costs from the numbers of a `.uai` or `.LG` file: negated natural logarithms in units of 10^-decimals.

use crate::error::Error;
use crate::model::{self, Builder, Cost, Decimal, FORBIDDEN, Network, Numbers, Reach, Reading, Scale, Stated, Units};
use crate::stop::Stop;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::f64::consts::LN_10;
use std::sync::Arc;

/// The default number of decimal digits.
const DECIMALS: u32 = 9;

/// The maximum number of decimal digits: rounding a potential to a double then moves its logarithm by less than 2^-6
/// units.
const MOST_DECIMALS: u32 = 14;

/// The least number of decimal digits that costs must have. If a file does not permit them, entries that no good
/// assignment uses become forbidden.
const FEWEST_DECIMALS: u32 = 3;

/// The strict upper limit of the sum over the functions of their largest finite costs, so that no sum of costs comes
/// near [`FORBIDDEN`].
const LARGEST_SUM: f64 = (1u64 << 57) as f64;

/// The strict upper limit of finite costs of a function: the error of the logarithm and of its product with the scale,
/// two units in the last place of a double, is then below 2^-6 units (see [`rounded`]).
const LARGEST_COST: f64 = (1u64 << 46) as f64;

/// The difference of ln 10 and the double nearest to it.
const LN_10_REST: f64 = -2.170_756_223_382_249_4e-16;

/// A network before its costs are computed.
pub(crate) struct Parts {
    /// The builder, with the variables.
    pub builder: Builder,
    pub scopes: Vec<Box<[u32]>>,
    /// The entries of each function; functions with equal entries share them.
    pub numbers: Vec<Arc<Numbers>>,
    pub scale: Scale,
    /// The number of decimal digits requested; `None` for the default.
    pub precision: Option<u32>,
    /// Variables with their values in every assignment that counts (evidence).
    pub fixed: Vec<(u32, u32)>,
}

impl Parts {
    /// Computes the costs and builds the network.
    ///
    /// # Errors
    /// Returns an error if the numbers differ too much for 64-bit costs, and [`Error::Stopped`] if `stop` is set.
    pub fn build(self, file: &str, stop: &Stop) -> Result<Network, Error> {
        let fewest = self.precision.map_or(FEWEST_DECIMALS, |asked| asked.min(FEWEST_DECIMALS));
        let suits = |decimals: Option<u32>, reach: &Reach| {
            decimals.filter(|&decimals| decimals >= fewest || self.inexact(decimals, reach) == 0)
        };
        let mut reach = Reach::all(self.numbers.len());
        let mut decimals = suits(self.decimals(&reach), &reach);
        if decimals.is_none() {
            reach = self.near_a_witness(stop)?;
            decimals = suits(self.decimals(&reach), &reach);
        }
        let Some(decimals) = decimals else {
            let largest = self.numbers.iter().map(|own| self.scale.largest(own, f64::INFINITY)).fold(0.0, f64::max);
            return Err(Error::Usage(format!(
                "{file}: logarithms of up to {largest:e} differ too much for 64-bit costs with {fewest} decimals, \
                 and no assignment was found that shows the largest ones to be needless (write 0, or -inf in .LG, for \
                 what is impossible; --precision takes fewer decimals)"
            )));
        };
        self.with(decimals, reach, stop)
    }

    fn with(self, decimals: u32, reach: Reach, stop: &Stop) -> Result<Network, Error> {
        let rounded = rounded(self.inexact(decimals, &reach));
        let Parts { mut builder, scopes, numbers, scale, precision, .. } = self;
        let mut first = FxHashMap::default();
        for (own, (scope, &dear)) in numbers.iter().zip(scopes.iter().zip(&reach.dear)) {
            if stop.is_set() {
                return Err(Error::Stopped);
            }
            let sizes: Vec<_> = scope.iter().map(|&v| builder.domain(v)).collect();
            // functions with equal numbers are converted once
            match first.entry((Arc::as_ptr(own), sizes)) {
                Entry::Occupied(known) => drop(builder.shared(scope, *known.get())?),
                Entry::Vacant(new) => drop(new.insert(builder.dense(scope, scale.costs(own, decimals, dear))?)),
            }
        }
        let _ = builder.units(Units { decimals, maximise: true, rounded });
        let _ = builder.reading(Reading { scale, functions: numbers, precision, witness: reach.witness });
        Ok(builder.build())
    }

    /// Returns the number of decimal digits: the requested number, or fewer if 64 bits cannot hold the costs within
    /// reach. `None` if they cannot hold the costs at all.
    fn decimals(&self, reach: &Reach) -> Option<u32> {
        let largest = self.numbers.iter().zip(&reach.dear).map(|(own, &dear)| self.scale.largest(own, dear));
        let (sum, most) = largest.fold((0.0, 0.0f64), |(sum, most), largest| (sum + largest, most.max(largest)));
        let fits = |&decimals: &u32| {
            let scale = 10f64.powi(decimals as i32);
            sum * scale < LARGEST_SUM && most * scale < LARGEST_COST
        };
        (0..=self.precision.unwrap_or(DECIMALS).min(MOST_DECIMALS)).rev().find(fits)
    }

    /// Returns the number of functions with a cost within reach that is rounded.
    fn inexact(&self, decimals: u32, reach: &Reach) -> u64 {
        let scale = 10f64.powi(decimals as i32);
        let rounds = |(own, &dear): (&Arc<Numbers>, &f64)| {
            own.iter().any(|stated| !self.scale.is_exact(stated, scale) && self.scale.minus_log(stated) <= dear)
        };
        self.numbers.iter().zip(&reach.dear).filter(|&pair| rounds(pair)).count() as u64
    }

    fn near_a_witness(&self, stop: &Stop) -> Result<Reach, Error> {
        let logs = |own: &Arc<Numbers>| own.iter().map(|stated| self.scale.minus_log(stated)).collect();
        let tables: Vec<Vec<f64>> = self.numbers.iter().map(logs).collect();
        let scopes: Vec<&[u32]> = self.scopes.iter().map(|scope| &scope[..]).collect();
        model::near_a_witness(self.builder.domains(), &scopes, &tables, &self.fixed, stop)
    }
}

/// Returns how many functions to count as rounded: [`Units::bound`] subtracts half a unit for each. One in sixteen is
/// added because the computation in doubles before the rounding may itself be off by 1/32 of a unit.
fn rounded(inexact: u64) -> u64 {
    inexact + inexact.div_ceil(16)
}

/// Returns the natural logarithm of a decimal, accurate to the last place of a double.
fn ln(decimal: Decimal) -> f64 {
    let exponent = decimal.exponent as f64;
    let high = exponent * LN_10;
    let low = exponent.mul_add(LN_10, -high) + exponent * LN_10_REST;
    high + (low + (decimal.digits as f64).ln())
}

/// The conversion of a file's numbers to costs, by their scale.
pub(super) trait Costing {
    /// Returns the negated natural logarithm of a potential; infinity if the potential is 0.
    fn minus_log(self, stated: Stated) -> f64;

    /// Returns whether the cost is exact: it is forbidden, or a logarithm that needs no rounding.
    fn is_exact(&self, stated: Stated, units: f64) -> bool;

    /// Returns the largest absolute value of the finite logarithms of costs up to `dear`. If no entry is a decimal and
    /// `dear` is infinite, two logarithms suffice.
    fn largest(self, own: &Numbers, dear: f64) -> f64;

    /// Returns the table of integer costs; entries whose costs exceed `dear` are forbidden.
    fn costs(self, own: &Numbers, decimals: u32, dear: f64) -> Vec<Cost>;
}

impl Costing for Scale {
    fn minus_log(self, stated: Stated) -> f64 {
        match (self, stated) {
            (Scale::Potentials, Stated::Double(potential)) => -potential.ln(),
            (Scale::Potentials, Stated::Decimal(potential)) => -ln(potential),
            (Scale::Logarithms, Stated::Double(log)) => -log,
            // far below any unit; the reader refuses logarithms above all doubles
            (Scale::Logarithms, Stated::Decimal(_)) => 0.0,
        }
    }

    fn is_exact(&self, stated: Stated, units: f64) -> bool {
        match (self, stated) {
            (_, Stated::Decimal(_)) => false,
            (Scale::Potentials, Stated::Double(potential)) => potential == 0.0 || potential == 1.0,
            (Scale::Logarithms, Stated::Double(log)) => {
                log == f64::NEG_INFINITY || (log * units).round() / units == log
            }
        }
    }

    fn largest(self, own: &Numbers, dear: f64) -> f64 {
        let logs = |stated: &mut dyn Iterator<Item = Stated>| {
            let logs = stated.map(|stated| self.minus_log(stated));
            logs.filter(|log| log.is_finite() && *log <= dear).map(f64::abs).fold(0.0, f64::max)
        };
        match own.as_doubles() {
            Some(doubles) if dear == f64::INFINITY => {
                let impossible = if self == Scale::Potentials { 0.0 } else { f64::NEG_INFINITY };
                let possible = doubles.iter().copied().filter(|&entry| entry != impossible);
                let (least, most) = possible.fold((f64::INFINITY, impossible), |(l, g), e| (l.min(e), g.max(e)));
                logs(&mut [least, most].into_iter().map(Stated::Double))
            }
            _ => logs(&mut own.iter()),
        }
    }

    fn costs(self, own: &Numbers, decimals: u32, dear: f64) -> Vec<Cost> {
        let units = 10f64.powi(decimals as i32);
        let cost =
            |log: f64| if log == f64::INFINITY || log > dear { FORBIDDEN } else { (log * units).round() as Cost };
        match own.as_doubles() {
            Some(doubles) => {
                // adjacent entries are often equal, and a logarithm takes longer than a comparison
                let mut last = (f64::NAN, 0);
                let convert = |&entry: &f64| {
                    if entry != last.0 {
                        last = (entry, cost(self.minus_log(Stated::Double(entry))));
                    }
                    last.1
                };
                doubles.iter().map(convert).collect()
            }
            None => own.iter().map(|stated| cost(self.minus_log(stated))).collect(),
        }
    }
}
