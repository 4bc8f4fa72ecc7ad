//! Many cases on a device at once: an additional variable, eliminated last, has the cases as its values.
//!
//! An observation of a case becomes a function of the observed variable and the case. All tables then have an axis of
//! cases, whose entries are adjacent. The sum for each value of the additional variable is the sum of a case.

use super::evidence::Evidence;
use super::on_device::{self, OnDevice};
use super::prepared::{Marginals, Prepared, Tabled};
use super::propagate::{Planned, Trouble};
use super::simplify::Keep;
use super::sliced::Sliced;
use crate::algebra::SumProduct;
use crate::elimination::{EliminationPlan, Gpu};
use crate::error::Error;
use crate::model::{Factor, Potentials, ROUNDOFF, Scaled};
use crate::order::Order;
use crate::stop::Stop;
use std::sync::Arc;

/// The reason why a device has no results for some cases.
enum Left {
    /// There is no room; fewer cases at a time may fit.
    Full(String),
    /// No device can do it.
    Trouble(String),
    /// The run was stopped, or evidence does not fit.
    Failed(Error),
}

impl From<Error> for Left {
    fn from(error: Error) -> Self {
        Left::Failed(error)
    }
}

impl Prepared {
    /// Computes sums and posteriors of many cases on the device, as many at a time as fit there. All cases share
    /// `evidence`. Returns the results that are done, in the order of the cases, and the reason why the other cases are
    /// left to the CPU.
    ///
    /// # Errors
    /// Returns an error if evidence does not fit, and [`Error::Stopped`] if `stop` is set.
    pub fn run_cases(
        &self,
        potentials: &Potentials,
        evidence: &Evidence,
        cases: &[Evidence],
        stop: &Stop,
    ) -> Result<(Vec<Marginals>, Option<String>), Error> {
        let mut done = Vec::new();
        let Some(gpu) = &self.gpu else { return Ok((done, None)) };
        let Some(sliced) = Sliced::new(potentials, evidence, |_| true, Keep::All, stop)? else {
            return Ok((vec![self.impossible(); cases.len()], None));
        };
        if sliced.is_near {
            let why = "the potentials differ too much for tables of all cases; going on on the CPU";
            return Ok((done, Some(why.into())));
        }
        let tabled = Tabled::new(sliced, &self.choice, true, stop)?;
        let mut most = cases.len();
        while done.len() < cases.len() {
            let left = &cases[done.len()..];
            let many = Many { prepared: self, potentials, evidence, tabled: &tabled };
            match many.run(gpu, &left[..most.min(left.len())], stop) {
                Ok(found) => done.extend(found),
                Err(Left::Full(_)) if most > 1 => most = most.div_ceil(2),
                Err(Left::Failed(error)) => return Err(error),
                Err(Left::Full(why) | Left::Trouble(why)) => return Ok((done, Some(why))),
            }
        }
        Ok((done, None))
    }
}

/// The product that cases have in common.
struct Many<'a> {
    prepared: &'a Prepared,
    potentials: &'a Potentials,
    evidence: &'a Evidence,
    tabled: &'a Tabled,
}

impl Many<'_> {
    /// Computes some cases at once.
    fn run(&self, gpu: &Arc<Gpu>, cases: &[Evidence], stop: &Stop) -> Result<Vec<Marginals>, Left> {
        let (sliced, possible) = self.with_cases(cases)?;
        let structure = sliced.structure();
        let last = sliced.variables.len() as u32 - 1;
        let sequence: Vec<u32> = self.tabled.order.sequence.iter().copied().chain([last]).collect();
        let order = Order::given(&structure, &sequence, stop)?;
        let (plan, placement) = EliminationPlan::exact(&structure, &order, true, size_of::<f64>() as u64, stop)?;
        let planned = Planned { sliced: &sliced, plan: &plan, placement: &placement };
        let asked = |&v: &u32| self.prepared.asked.get(v as usize).copied().unwrap_or(true);
        let asked: Vec<bool> = sliced.variables.iter().map(asked).collect();
        let (label, kept) = (gpu.cuda().label(), [sequence.len() as u32 - 1]);
        let trouble = |why: &dyn std::fmt::Display| Left::Trouble(format!("{label}: {why}; going on on the CPU"));
        match on_device::propagate(gpu, planned, &asked, &kept, None, stop) {
            Ok(Some(done)) => Ok(self.marginals(&sliced, &done, &possible, &label)),
            Ok(None) | Err(Trouble::Full) => {
                Err(Left::Full(on_device::refused(gpu, on_device::bytes(planned, &asked, &kept))))
            }
            Err(Trouble::Failed(error)) => Err(Left::Failed(error)),
            Err(Trouble::Narrow) => Err(trouble(&"products of many cases are below the range of doubles")),
            Err(Trouble::Device(error)) => Err(trouble(&error)),
        }
    }

    /// Returns the product with the variable of the cases, and for each case whether its observations agree with each
    /// other and with the common evidence.
    fn with_cases(&self, cases: &[Evidence]) -> Result<(Sliced, Vec<bool>), Error> {
        let mut sliced = self.tabled.sliced.clone();
        let (last, count) = (sliced.variables.len() as u32, cases.len());
        let mut place = vec![None; self.potentials.domains.len()];
        (0..).zip(&sliced.variables).for_each(|(own, &v)| place[v as usize] = Some(own));
        let mut tables: Vec<Vec<f64>> = sliced.domains.iter().map(|&d| vec![1.0; d as usize * count]).collect();
        let mut alone = vec![1.0; count];
        let mut possible = Vec::with_capacity(count);
        let mut weights = 0;
        for (number, case) in cases.iter().enumerate() {
            let mut all = case.clone();
            all.values.extend_from_slice(&self.evidence.values);
            possible.push(all.by_variable(self.potentials)?.is_some());
            if !possible[number] {
                continue;
            }
            for &(v, value) in &case.values {
                let Some(own) = place[v as usize] else { continue };
                let column = tables[own as usize].iter_mut().skip(number).step_by(count);
                (0..).zip(column).filter(|(other, _)| *other != value).for_each(|(_, entry)| *entry = 0.0);
            }
            for (v, own_weights) in &case.weights {
                let observed = self.evidence.values.iter().find(|(seen, _)| seen == v).map(|(_, value)| *value);
                match (place[*v as usize], observed) {
                    (Some(own), _) => {
                        let column = tables[own as usize].iter_mut().skip(number).step_by(count);
                        column.zip(own_weights).for_each(|(entry, weight)| *entry *= weight);
                    }
                    (None, Some(value)) => {
                        // the weight of a value that all cases observe
                        alone[number] *= own_weights[value as usize];
                    }
                    (None, None) => {}
                }
            }
            weights = weights.max(case.weights.len());
        }
        sliced.rounding += 2.0 * weights as f64 * ROUNDOFF;
        let tables = (0..).zip(tables).map(|(own, table)| (vec![own, last], table));
        for (scope, table) in tables.chain([(vec![last], alone)]) {
            for factor in Factor::of(&scope, table.len(), |index| Scaled::new(table[index])) {
                sliced.least.push(SumProduct.least(&factor.table));
                sliced.functions.push(factor);
            }
        }
        sliced.variables.push(u32::MAX);
        sliced.domains.push(count as u32);
        Ok((sliced, possible))
    }

    /// Returns the result of each case from the tables of all cases.
    fn marginals(&self, sliced: &Sliced, done: &OnDevice, possible: &[bool], label: &str) -> Vec<Marginals> {
        let OnDevice { found, transfer_s, kernels_s } = done;
        let count = possible.len();
        let share = 1.0 / count as f64;
        let parts = found.posteriors.last().and_then(Option::as_deref).unwrap_or_default();
        let each = possible.iter().enumerate().map(|(case, &possible)| {
            let part = if possible { parts.get(case).copied().unwrap_or(0.0) } else { 0.0 };
            let z = found.z.times(Scaled::new(part));
            let mut marginals = self.prepared.result_of(sliced, z, found.error + found.posterior_error);
            marginals.device = Some(label.into());
            marginals.collect_s = found.collect_s * share;
            marginals.distribute_s = found.distribute_s * share;
            (marginals.transfer_s, marginals.kernels_s) = (transfer_s * share, kernels_s * share);
            if z.mantissa > 0.0 && !self.prepared.only_z {
                marginals.posterior_error = 2.0 * sliced.rounding + found.posterior_error;
                for (&v, own) in sliced.variables.iter().zip(&found.posteriors) {
                    let Some(own) = own.as_deref().filter(|_| v != u32::MAX) else { continue };
                    let column = own.iter().skip(case).step_by(count);
                    let sum: f64 = column.clone().sum();
                    marginals.posteriors[v as usize] = Some(column.map(|entry| entry / sum).collect());
                }
            }
            marginals
        });
        each.collect()
    }
}
