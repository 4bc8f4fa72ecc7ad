//! A second computation of partition functions and posteriors, by code that shares nothing with the first: its own
//! elimination order, loops over all combinations of a bucket, a power of two for each number, sums in two doubles, and
//! products without one factor instead of divisions.

use crate::error::Error;
use crate::memory;
use crate::model::{Potentials, ROUNDOFF, Scaled, scale};
use crate::stop::Stop;

/// The claimed results for a product of potentials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MarginalsClaim {
    /// Evidence: observed variables and their values.
    pub values: Vec<(u32, u32)>,
    /// Soft evidence: variables and weights of their values.
    pub weights: Vec<(u32, Vec<f64>)>,
    /// Natural logarithm of the partition function; `None` if the sum is claimed to be 0.
    pub ln_z: Option<f64>,
    /// Whether the sum is claimed only as a lower bound.
    pub at_least: bool,
    /// Claimed error bound of `ln_z`.
    pub error_bound: f64,
    /// Posterior marginals: variables and the probabilities of their values.
    pub posteriors: Vec<(u32, Vec<f64>)>,
    /// Claimed relative error bound of the posteriors.
    pub posterior_error: f64,
}

/// The results of a check that agrees with the claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarginalsCheck {
    /// Natural logarithm of the partition function; minus infinity if it is 0.
    pub ln_z: f64,
    /// Distance of the claimed logarithm from it.
    pub off: f64,
    /// Largest absolute difference of a posterior.
    pub posteriors_off: f64,
    /// Number of variables whose posteriors were compared.
    pub posteriors: usize,
}

/// Recomputes the partition function and the posteriors, and compares them with the claim.
///
/// # Errors
/// Returns [`Error::Refused`] with the first wrong claim, [`Error::Memory`] if tables would take more than half of the
/// free memory, and [`Error::Stopped`] once `stop` is set.
pub fn check_marginals(potentials: &Potentials, claim: &MarginalsClaim, stop: &Stop) -> Result<MarginalsCheck, Error> {
    let refused = |what: String| Err(Error::Refused(what));
    if claim.posterior_error.is_nan() || claim.error_bound.is_nan() || claim.error_bound < 0.0 {
        return refused("the error bounds are no numbers".into());
    }
    let mut buckets = Buckets::new(potentials, claim)?;
    let z = buckets.collect(stop)?;
    let Some(claimed) = claim.ln_z else {
        return match z.mantissa == 0.0 {
            true => Ok(MarginalsCheck { ln_z: f64::NEG_INFINITY, off: 0.0, posteriors_off: 0.0, posteriors: 0 }),
            false => refused(format!("the sum is said to be 0, its logarithm is {}", z.ln())),
        };
    };
    let (ln_z, own) = (z.ln(), buckets.rounding());
    let off = match claimed - ln_z {
        off if claim.at_least && off < 0.0 => 0.0,
        off => off.abs(),
    };
    if off.is_nan() || off > claim.error_bound + own + 4.0 * ROUNDOFF * (1.0 + ln_z.abs()) {
        let what = if claim.at_least { "at least " } else { "" };
        return refused(format!("ln Z is said to be {what}{claimed} within {}, it is {ln_z}", claim.error_bound));
    }
    let found = if claim.posteriors.is_empty() { Vec::new() } else { buckets.distribute(stop)? };
    let mut posteriors_off = 0.0f64;
    for (variable, posterior) in &claim.posteriors {
        let name = || potentials.variable_name(*variable as usize);
        let domain = potentials.domains.get(*variable as usize).map_or(0, |&domain| domain as usize);
        if posterior.len() != domain {
            return refused(format!("variable {variable} has {domain} values, {} are claimed", posterior.len()));
        }
        let exact: Vec<f64> = match claim.values.iter().find(|(observed, _)| observed == variable) {
            Some(&(_, value)) => (0..domain).map(|other| f64::from(u8::from(other == value as usize))).collect(),
            None => found[*variable as usize].clone(),
        };
        for (value, (&claimed, &exact)) in posterior.iter().zip(&exact).enumerate() {
            let off = (claimed - exact).abs();
            let allowed = exact * (claim.posterior_error + 2.0 * own) + f64::MIN_POSITIVE;
            if off.is_nan() || off > allowed {
                return refused(format!("value {value} of {} is said to have {claimed}, it has {exact}", name()));
            }
            posteriors_off = posteriors_off.max(off);
        }
    }
    Ok(MarginalsCheck { ln_z, off, posteriors_off, posteriors: claim.posteriors.len() })
}

/// A table of numbers over some variables, the last one running fastest.
#[derive(Clone, Debug)]
struct Table {
    scope: Vec<u32>,
    entries: Vec<Scaled>,
}

/// A sum in two doubles times a power of two.
#[derive(Clone, Copy, Debug)]
struct Sum {
    high: f64,
    low: f64,
    exponent: i64,
}

impl Sum {
    const ZERO: Sum = Sum { high: 0.0, low: 0.0, exponent: i64::MIN };

    fn add(&mut self, Scaled { mantissa, exponent }: Scaled) {
        if mantissa == 0.0 {
            return;
        }
        if exponent > self.exponent {
            let down = self.exponent.saturating_sub(exponent).max(-4000);
            (self.high, self.low, self.exponent) = (scale(self.high, down), scale(self.low, down), exponent);
        }
        let term = scale(mantissa, exponent - self.exponent);
        let sum = self.high + term;
        // the rounding error of the sum (Knuth, The Art of Computer Programming 2, 4.2.2)
        let back = sum - self.high;
        self.low += (self.high - (sum - back)) + (term - back);
        self.high = sum;
    }

    fn value(self) -> Scaled {
        if self.high == 0.0 { Scaled::ZERO } else { Scaled::with(self.high + self.low, self.exponent) }
    }
}

/// The bucket of a variable.
#[derive(Debug, Default)]
struct Bucket {
    /// Indices of its tables among all; those from the number of functions on are messages.
    tables: Vec<usize>,
    /// Variables of its message.
    scope: Vec<u32>,
}

/// Functions and messages, and the buckets in elimination order.
struct Buckets {
    domains: Vec<usize>,
    /// Functions, followed by the message of each bucket.
    tables: Vec<Table>,
    functions: usize,
    order: Vec<u32>,
    buckets: Vec<Bucket>,
    constant: Scaled,
    rounding: f64,
}

impl Buckets {
    fn new(potentials: &Potentials, claim: &MarginalsClaim) -> Result<Self, Error> {
        let refused = |what: String| Err(Error::Refused(what));
        let n = potentials.domains.len();
        let mut observed = vec![None; n];
        for &(variable, value) in &claim.values {
            match potentials.domains.get(variable as usize) {
                Some(&domain) if value < domain => {}
                _ => return refused(format!("value {value} of variable {variable} does not exist")),
            }
            // two values of one variable: no assignment is left
            if observed[variable as usize].is_some_and(|known| known != value) {
                return Ok(Buckets::contradicting());
            }
            observed[variable as usize] = Some(value);
        }
        let mut buckets = Buckets {
            domains: potentials.domains.iter().map(|&domain| domain as usize).collect(),
            rounding: potentials.rounding,
            constant: Scaled::ONE,
            ..Buckets::contradicting()
        };
        for function in &potentials.functions {
            buckets.add(&function.scope, &|index| function.entry(index), &observed);
        }
        for (variable, weights) in &claim.weights {
            if buckets.domains.get(*variable as usize) != Some(&weights.len()) {
                return refused(format!("the weights of variable {variable} do not fit it"));
            }
            buckets.add(&[*variable], &|index| Scaled::new(weights[index]), &observed);
        }
        buckets.functions = buckets.tables.len();
        buckets.plan(&observed)?;
        Ok(buckets)
    }

    /// Returns buckets whose sum is 0, because no assignment is left.
    fn contradicting() -> Self {
        Buckets {
            domains: Vec::new(),
            tables: Vec::new(),
            functions: 0,
            order: Vec::new(),
            buckets: Vec::new(),
            constant: Scaled::ZERO,
            rounding: 0.0,
        }
    }

    /// Adds the entries of a function that agree with the evidence.
    fn add(&mut self, scope: &[u32], entry: &dyn Fn(usize) -> Scaled, observed: &[Option<u32>]) {
        let (mut free, mut entries) = (scope.to_vec(), Vec::new());
        free.retain(|&v| observed[v as usize].is_none());
        let mut values: Vec<usize> = scope.iter().map(|&v| observed[v as usize].unwrap_or(0) as usize).collect();
        loop {
            let along = |index: usize, (&v, &value): (&u32, &usize)| index * self.domains[v as usize] + value;
            entries.push(entry(scope.iter().zip(&values).fold(0, along)));
            let mut axis = scope.len();
            loop {
                if axis == 0 {
                    self.rounding += ROUNDOFF;
                    if free.is_empty() {
                        self.constant = self.constant.times(entries[0]);
                    } else {
                        self.tables.push(Table { scope: free, entries });
                    }
                    return;
                }
                axis -= 1;
                if observed[scope[axis] as usize].is_some() {
                    continue;
                }
                values[axis] += 1;
                if values[axis] < self.domains[scope[axis] as usize] {
                    break;
                }
                values[axis] = 0;
            }
        }
    }

    /// Plans the elimination: the variable with the smallest message comes next, the last of equal ones first.
    fn plan(&mut self, observed: &[Option<u32>]) -> Result<(), Error> {
        let mut scopes: Vec<Option<Vec<u32>>> = self.tables.iter().map(|table| Some(table.scope.clone())).collect();
        let mut reading: Vec<Vec<usize>> = vec![Vec::new(); self.domains.len()];
        for (index, table) in self.tables.iter().enumerate() {
            table.scope.iter().for_each(|&v| reading[v as usize].push(index));
        }
        let union = |v: u32, reading: &[Vec<usize>], scopes: &[Option<Vec<u32>>]| {
            let all = reading[v as usize].iter().flat_map(|&index| scopes[index].iter().flatten().copied());
            let mut all: Vec<u32> = all.filter(|&u| u != v).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let size = |scope: &[u32]| scope.iter().map(|&v| self.domains[v as usize] as f64).product::<f64>();
        let mut open: Vec<(f64, u32)> = (0..self.domains.len() as u32)
            .filter(|&v| observed[v as usize].is_none())
            .map(|v| (size(&union(v, &reading, &scopes)), v))
            .collect();
        let mut bytes = 0.0;
        while !open.is_empty() {
            let best = (1..open.len()).fold(0, |best, next| if open[next].0 <= open[best].0 { next } else { best });
            let (entries, v) = open.swap_remove(best);
            bytes += entries * (size_of::<Scaled>() + size_of::<Sum>()) as f64;
            memory::must_fit(bytes as u64, || "the messages of the check".into())?;
            let scope = union(v, &reading, &scopes);
            let tables = std::mem::take(&mut reading[v as usize]);
            for &table in &tables {
                for u in scopes[table].take().unwrap_or_default() {
                    reading[u as usize].retain(|&known| known != table);
                }
            }
            scope.iter().for_each(|&u| reading[u as usize].push(scopes.len()));
            scopes.push(Some(scope.clone()));
            for (cost, u) in &mut open {
                if scope.binary_search(u).is_ok() {
                    *cost = size(&union(*u, &reading, &scopes));
                }
            }
            self.rounding += (tables.len() + 4) as f64 * ROUNDOFF;
            self.order.push(v);
            self.buckets.push(Bucket { tables, scope });
        }
        Ok(())
    }

    /// Returns the relative error bound of the functions and of this computation's products.
    fn rounding(&self) -> f64 {
        self.rounding
    }

    /// Visits all combinations of a bucket's variables with the indices into each table, the index into the message,
    /// and the value of the bucket's own variable.
    fn visit(&self, bucket: usize, stop: &Stop, visit: &mut dyn FnMut(&[usize], usize, usize)) -> Result<(), Error> {
        let Bucket { tables, scope } = &self.buckets[bucket];
        let own = self.order[bucket];
        let axes: Vec<u32> = scope.iter().copied().chain([own]).collect();
        let stride = |scope: &[u32], v: u32| {
            let place = scope.iter().position(|&u| u == v)?;
            Some(scope[place + 1..].iter().map(|&u| self.domains[u as usize]).product::<usize>())
        };
        let strides: Vec<Vec<usize>> = axes
            .iter()
            .map(|&v| tables.iter().map(|&table| stride(&self.tables[table].scope, v).unwrap_or(0)).collect())
            .collect();
        let mut digits = vec![0; axes.len()];
        let mut indices = vec![0; tables.len()];
        let (mut entry, mut count) = (0, 0u32);
        loop {
            if count.is_multiple_of(1 << 16) {
                stop.check()?;
            }
            count = count.wrapping_add(1);
            visit(&indices, entry, digits[axes.len() - 1]);
            let mut axis = axes.len();
            loop {
                if axis == 0 {
                    return Ok(());
                }
                axis -= 1;
                // entries of the message follow each other, and the bucket's own variable runs fastest within each
                entry += usize::from(axis + 2 == axes.len());
                digits[axis] += 1;
                indices.iter_mut().zip(&strides[axis]).for_each(|(index, &stride)| *index += stride);
                if digits[axis] < self.domains[axes[axis] as usize] {
                    break;
                }
                let size = self.domains[axes[axis] as usize];
                indices.iter_mut().zip(&strides[axis]).for_each(|(index, &stride)| *index -= stride * size);
                digits[axis] = 0;
            }
        }
    }

    /// Computes all messages, and returns the sum.
    fn collect(&mut self, stop: &Stop) -> Result<Scaled, Error> {
        let mut z = self.constant;
        for bucket in 0..self.buckets.len() {
            let Bucket { tables, scope } = &self.buckets[bucket];
            let entries: usize = scope.iter().map(|&v| self.domains[v as usize]).product();
            let mut sums = vec![Sum::ZERO; entries];
            self.visit(bucket, stop, &mut |indices, entry, _| {
                let each = tables.iter().zip(indices).map(|(&table, &index)| self.tables[table].entries[index]);
                sums[entry].add(each.fold(Scaled::ONE, Scaled::times));
            })?;
            let entries: Vec<Scaled> = sums.into_iter().map(Sum::value).collect();
            if scope.is_empty() {
                z = z.times(entries[0]);
            }
            self.tables.push(Table { scope: scope.clone(), entries });
        }
        Ok(z)
    }

    /// Returns the posteriors of all variables without evidence.
    fn distribute(&self, stop: &Stop) -> Result<Vec<Vec<f64>>, Error> {
        let mut posteriors = vec![Vec::new(); self.domains.len()];
        // by bucket, the product of everything outside of it
        let mut outside: Vec<Vec<Scaled>> = vec![Vec::new(); self.buckets.len()];
        for bucket in (0..self.buckets.len()).rev() {
            let Bucket { tables, scope } = &self.buckets[bucket];
            let rest = match scope.is_empty() {
                true => vec![Scaled::ONE],
                false => std::mem::take(&mut outside[bucket]),
            };
            let mut values = vec![Sum::ZERO; self.domains[self.order[bucket] as usize]];
            let mut sums: Vec<Vec<Sum>> = tables
                .iter()
                .map(|&table| if table < self.functions { 0 } else { self.tables[table].entries.len() })
                .map(|entries| vec![Sum::ZERO; entries])
                .collect();
            let mut after = vec![Scaled::ONE; tables.len() + 1];
            self.visit(bucket, stop, &mut |indices, entry, value| {
                for place in (0..tables.len()).rev() {
                    after[place] = after[place + 1].times(self.tables[tables[place]].entries[indices[place]]);
                }
                let mut before = rest[entry];
                values[value].add(before.times(after[0]));
                for (place, sums) in sums.iter_mut().enumerate() {
                    if !sums.is_empty() {
                        sums[indices[place]].add(before.times(after[place + 1]));
                    }
                    before = before.times(self.tables[tables[place]].entries[indices[place]]);
                }
            })?;
            for (&table, sums) in tables.iter().zip(sums) {
                if table >= self.functions {
                    outside[table - self.functions] = sums.into_iter().map(Sum::value).collect();
                }
            }
            let mut all = Sum::ZERO;
            values.iter().for_each(|value| all.add(value.value()));
            let all = all.value();
            let share = |value: &Sum| {
                let Scaled { mantissa, exponent } = value.value();
                scale(mantissa / all.mantissa, exponent - all.exponent)
            };
            posteriors[self.order[bucket] as usize] = values.iter().map(share).collect();
        }
        Ok(posteriors)
    }
}

#[cfg(test)]
#[path = "marginals_tests.rs"]
mod tests;
