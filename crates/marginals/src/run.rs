//! Sums of prepared products: on a device or the CPU, at once, or in slices if tables do not fit.

use super::conditioned::{Allowed, Conditioned, Each, limited};
use super::on_device::{self, OnDevice};
use super::prepared::{Marginals, Prepared, Tabled};
use super::propagate::{Planned, Posteriors, Propagated, Trouble};
use super::sliced::Sliced;
use crate::algebra::{OfNumbers, SumMax, SumProduct, WideSumProduct};
use crate::elimination::Gpu;
use crate::error::Error;
use crate::model::{ROUNDOFF, Scaled};
use crate::stop::Stop;
use std::sync::Arc;
use std::time::Duration;

/// The reason why a device has no result.
enum NotThere {
    /// The run was stopped.
    Stopped(Error),
    /// The CPU takes over.
    Trouble(String),
}

impl Prepared {
    /// Computes the sum and the posteriors, on the device if one is selected, otherwise in the bytes that
    /// [`Self::tree`] returns. If products could be below the range of doubles, it takes twice the bytes, as far as the
    /// memory limit allows. If tables do not fit, some variables take each of their values in turn: always on a device,
    /// on the CPU only after [`Self::end_at`].
    ///
    /// # Errors
    /// Returns [`Error::Memory`] if the tables exceed the memory limit, and [`Error::Stopped`] if `stop` is set.
    pub fn run(&self, stop: &Stop) -> Result<Marginals, Error> {
        let Some(tree) = &self.tree else { return Ok(self.impossible()) };
        let mut trouble = None;
        if let Some(gpu) = &self.gpu {
            match self.run_on(tree, gpu, stop) {
                Ok(found) => return Ok(found),
                Err(NotThere::Stopped(error)) => return Err(error),
                Err(NotThere::Trouble(why)) => trouble = Some(why),
            }
        }
        // the semiring of marginal MAP, because another type would compile all of elimination twice more
        let found = match self.run_here(tree, SumMax { numbers: SumProduct, max: false }, stop) {
            Err(Trouble::Narrow) => self.run_here(tree, SumMax { numbers: WideSumProduct, max: false }, stop)?,
            done => done?,
        };
        Ok(Marginals { trouble, ..self.result(tree, found) })
    }

    /// Computes the sum and the posteriors on the CPU, with one kind of numbers.
    fn run_here<S: OfNumbers>(&self, tree: &Tabled, semiring: S, stop: &Stop) -> Result<Propagated, Trouble> {
        // the plan counts the bytes of doubles
        let wide = size_of::<S::Entry>().div_ceil(size_of::<f64>()) as u64;
        let bytes = |tree: &Tabled| tree.sizes(self.only_z).bytes.saturating_mul(wide);
        if bytes(tree) <= self.memory {
            return tree.planned().propagate(semiring, &self.asked_of(tree), stop);
        }
        let mut each = |planned: Planned<'_>, asked: &[bool], share: Option<Duration>| {
            planned.propagate(semiring, asked, &limited(share, stop))
        };
        let sliced = match self.until {
            Some(_) => self.run_slices(tree, &|slice, _| bytes(slice) <= self.memory, &mut each, stop)?,
            None => None,
        };
        let (bytes, allowed) = (bytes(tree), self.memory);
        let which = if wide > 1 { "products are below the range of doubles, and wider " } else { "" };
        let why = || Error::Memory(format!("{which}tables would take {bytes} bytes, {allowed} are allowed"));
        sliced.ok_or_else(|| why().into())
    }

    /// Computes the sum and the posteriors on a device.
    fn run_on(&self, tree: &Tabled, gpu: &Arc<Gpu>, stop: &Stop) -> Result<Marginals, NotThere> {
        let (label, asked) = (gpu.cuda().label(), self.asked_of(tree));
        let (mut transfer_s, mut kernels_s) = (0.0, 0.0);
        let mut propagate = |planned: Planned<'_>, asked: &[bool], share: Option<Duration>| {
            let done = on_device::propagate(gpu, planned, asked, &[], share, stop)?;
            let found = done.map(|OnDevice { found, transfer_s: own_transfer_s, kernels_s: own_kernels_s }| {
                transfer_s += own_transfer_s;
                kernels_s += own_kernels_s;
                found
            });
            found.ok_or(Trouble::Full)
        };
        let room = |slice: &Tabled, asked: &[bool]| {
            let bytes = on_device::bytes(slice.planned(), asked, &[]);
            bytes.is_some_and(|bytes| gpu.budget().is_ok_and(|free| bytes <= free))
        };
        let found = match propagate(tree.planned(), &asked, None) {
            Err(Trouble::Full) => {
                let sliced = self.run_slices(tree, &room, &mut propagate, stop);
                sliced.and_then(|found| found.ok_or(Trouble::Full))
            }
            found => found,
        };
        match found {
            Ok(found) => {
                let found = self.result(tree, found);
                Ok(Marginals { device: Some(label), transfer_s, kernels_s, ..found })
            }
            Err(Trouble::Full) => {
                let bytes = on_device::bytes(tree.planned(), &asked, &[]);
                Err(NotThere::Trouble(on_device::refused(gpu, bytes)))
            }
            Err(Trouble::Failed(error)) => Err(NotThere::Stopped(error)),
            Err(Trouble::Narrow) => {
                let why = "products are below the range of doubles; going on on the CPU with wider numbers";
                Err(NotThere::Trouble(format!("{label}: {why}")))
            }
            Err(Trouble::Device(error)) => Err(NotThere::Trouble(format!("{label}: {error}; going on on the CPU"))),
        }
    }

    /// Computes the sum and the posteriors by slices that fit. Returns `None` if they would take too long.
    fn run_slices(
        &self,
        tree: &Tabled,
        fits: &dyn Fn(&Tabled, &[bool]) -> bool,
        each: Each<'_>,
        stop: &Stop,
    ) -> Result<Option<Propagated>, Trouble> {
        let (asked, allowed) = (self.asked_of(tree), Allowed::new(tree, self.until));
        match Conditioned::new(tree, &asked, allowed, fits, stop)? {
            Some(slices) => slices.run(tree, &asked, allowed, each, stop),
            None => Ok(None),
        }
    }

    /// Returns the result of a propagation.
    pub(super) fn result(&self, tree: &Tabled, found: Propagated) -> Marginals {
        let Propagated { z, error, posteriors, posterior_error, collect_s, distribute_s } = found;
        let mut marginals = Marginals { collect_s, distribute_s, ..self.result_of(&tree.sliced, z, error) };
        if z.mantissa > 0.0 && !self.only_z {
            self.put_posteriors(tree, &mut marginals, posteriors, posterior_error);
        }
        marginals
    }

    /// Returns the result for a sum, with the posteriors of observed variables only.
    pub(super) fn result_of(&self, sliced: &Sliced, z: Scaled, error: f64) -> Marginals {
        if z.mantissa == 0.0 {
            return self.impossible();
        }
        let ln_z = z.ln();
        Marginals {
            ln_z,
            // the logarithm is rounded too
            error_bound: sliced.rounding + error + (2.0 + 2.0 * ln_z.abs()) * ROUNDOFF,
            posteriors: self.observed_posteriors(),
            ..self.impossible()
        }
    }

    fn put_posteriors(&self, tree: &Tabled, marginals: &mut Marginals, posteriors: Posteriors, error: f64) {
        for (&v, own) in tree.sliced.variables.iter().zip(posteriors) {
            marginals.posteriors[v as usize] = own;
        }
        let added = f64::from(tree.sliced.complete(&self.domains, &mut marginals.posteriors)) * ROUNDOFF;
        for (posterior, _) in marginals.posteriors.iter_mut().zip(&self.asked).filter(|(_, asked)| !**asked) {
            *posterior = None;
        }
        marginals.posterior_error = 2.0 * tree.sliced.rounding + error + added;
        marginals.underflow = tree.sliced.is_near;
    }

    /// Returns the result if no assignment has a product above 0.
    pub(super) fn impossible(&self) -> Marginals {
        Marginals {
            ln_z: f64::NEG_INFINITY,
            error_bound: 0.0,
            posterior_error: 0.0,
            underflow: false,
            posteriors: vec![None; self.domains.len()],
            collect_s: 0.0,
            distribute_s: 0.0,
            device: None,
            trouble: None,
            transfer_s: 0.0,
            kernels_s: 0.0,
        }
    }

    /// Returns posteriors of 0 and 1 for the observed variables.
    fn observed_posteriors(&self) -> Vec<Option<Box<[f64]>>> {
        let certain = |variable: usize| {
            let value = self.observed[variable].filter(|_| self.asked[variable])?;
            Some((0..self.domains[variable]).map(|other| f64::from(u8::from(other == value))).collect())
        };
        (0..self.domains.len()).map(certain).collect()
    }
}
