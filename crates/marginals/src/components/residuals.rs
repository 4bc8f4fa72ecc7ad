//! Functions under partial assignments. For each state of a function's variables, free or at a value, a *residual* is
//! what is left of its table. Equal residuals of a function share a number, and name only the variables that they
//! depend on.

use crate::error::Error;
use crate::model::{Factor, Odometer, Scaled};
use crate::sliced::Sliced;
use crate::stop::Stop;
use crate::tensor;
use rustc_hash::FxHashMap;

/// Marks a residual that rules out no value of a free variable.
const ALL: u32 = u32::MAX;

/// A function under a partial assignment: `scale` times a table over the variables that it depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Residual {
    /// The number of its table: equal for equal tables of one function, and higher than the numbers of earlier
    /// functions.
    pub id: u32,
    /// The axes that it depends on, a bit each.
    pub depends: u32,
    /// A power of two if it depends on any variable; otherwise its value.
    pub scale: Scaled,
    /// The index of its supports, which give for each axis the values with an entry above 0; [`ALL`] if all values have
    /// one.
    supports: u32,
}

/// A function of the product.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub scope: Box<[u32]>,
    /// The index of the residual in which all its variables are free.
    pub free: u32,
}

/// A product whose functions have a residual for every state.
#[derive(Clone, Debug)]
pub(super) struct Network {
    pub domains: Vec<u32>,
    pub functions: Vec<Function>,
    /// For each variable, its functions: the function, the variable's axis there, and the distance of residuals with
    /// adjacent values.
    pub on: Vec<Vec<(u32, u32, u32)>>,
    residuals: Vec<Residual>,
    supports: Vec<u64>,
}

impl Network {
    /// Computes all residuals. Returns `None` if they have more than `most` entries or a domain has more than 64
    /// values.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn new(sliced: &Sliced, most: u64, stop: &Stop) -> Result<Option<Self>, Error> {
        let mut network = Network {
            domains: sliced.domains.clone(),
            functions: Vec::new(),
            on: vec![Vec::new(); sliced.domains.len()],
            residuals: Vec::new(),
            supports: Vec::new(),
        };
        // over its states an axis has each of its entries twice: once when fixed, once when free
        let entries = |factor: &Factor| {
            let own = factor.scope.iter().map(|&v| 2 * u64::from(sliced.domains[v as usize]));
            own.fold(1, u64::saturating_mul)
        };
        let all = sliced.functions.iter().map(entries).fold(0, u64::saturating_add);
        if all > most || sliced.domains.iter().any(|&domain| domain > u64::BITS) {
            return Ok(None);
        }
        let mut ids = 0;
        for factor in &sliced.functions {
            network.add(factor, &mut ids, stop)?;
        }
        Ok(Some(network))
    }

    fn add(&mut self, factor: &Factor, ids: &mut u32, stop: &Stop) -> Result<(), Error> {
        let sizes: Vec<usize> = factor.scope.iter().map(|&v| self.domains[v as usize] as usize).collect();
        let states: Vec<usize> = sizes.iter().map(|size| size + 1).collect();
        let (strides, steps) = (tensor::strides(&sizes), tensor::strides(&states));
        let (function, free) = (self.functions.len() as u32, self.residuals.len() as u32);
        for ((axis, &v), &step) in (0..).zip(&factor.scope).zip(&steps) {
            self.on[v as usize].push((function, axis, step as u32));
        }
        self.functions.push(Function { scope: factor.scope.clone(), free });
        let mut known = FxHashMap::default();
        let count = states.iter().product();
        // a digit is 0 if its axis is free, otherwise one more than the axis' value
        let mut odometer = Odometer::new(states);
        for state in stop.each(0..count) {
            let _: usize = state?;
            let residual = self.residual(factor, &sizes, &strides, &odometer.digits, &mut known, ids);
            self.residuals.push(residual);
            let _ = odometer.advance();
        }
        Ok(())
    }

    fn residual(
        &mut self,
        factor: &Factor,
        sizes: &[usize],
        strides: &[usize],
        digits: &[usize],
        known: &mut FxHashMap<(u32, Vec<u64>), u32>,
        ids: &mut u32,
    ) -> Residual {
        let free: Vec<usize> = (0..digits.len()).filter(|&axis| digits[axis] == 0).collect();
        let base: usize = (0..digits.len()).map(|axis| digits[axis].saturating_sub(1) * strides[axis]).sum();
        let shape: Vec<usize> = free.iter().map(|&axis| sizes[axis]).collect();
        let places = free.iter().fold(vec![base], |places, &axis| {
            let along = |at| (0..sizes[axis]).map(move |value| at + value * strides[axis]);
            places.into_iter().flat_map(along).collect()
        });
        let entries: Vec<f64> = places.iter().map(|&at| factor.table[at]).collect();
        let mut supports = vec![u64::MAX; digits.len()];
        let (mut depends, mut kept) = (0u32, entries.clone());
        let mut inner = entries.len();
        // `kept` has the axes before `inner` on which the entries depend, and all axes after it
        for (&axis, &size) in free.iter().zip(&shape) {
            inner /= size;
            supports[axis] = supported(&entries, size, inner);
            let is_alike =
                kept.chunks_exact(size * inner).all(|slab| slab.chunks_exact(inner).all(|row| *row == slab[..inner]));
            if is_alike {
                kept = kept.chunks_exact(size * inner).flat_map(|slab| slab[..inner].to_vec()).collect();
            } else {
                depends |= 1 << axis;
            }
        }
        let most = Scaled::new(kept.iter().copied().fold(0.0, f64::max));
        let scale = match (depends, most.mantissa > 0.0) {
            (0, _) => Scaled::with(kept[0], factor.exponent),
            (_, true) => Scaled { mantissa: 0.5, exponent: most.exponent + 1 + factor.exponent },
            (_, false) => Scaled::ZERO,
        };
        let bits = kept.iter().map(|&entry| Scaled::with(entry, -most.exponent).double().to_bits()).collect();
        let id = *known.entry((depends, if depends == 0 { Vec::new() } else { bits })).or_insert_with(|| {
            *ids += 1;
            *ids
        });
        let full = |axis: usize| supports[axis] & low(sizes[axis]) == low(sizes[axis]);
        let supports = match free.iter().all(|&axis| full(axis)) {
            true => ALL,
            false => {
                self.supports.extend_from_slice(&supports);
                (self.supports.len() - supports.len()) as u32
            }
        };
        Residual { id, depends, scale, supports }
    }

    #[inline]
    pub fn residual_of(&self, state: u32) -> Residual {
        self.residuals[state as usize]
    }

    /// Returns the values of each axis of a function that have an entry above 0, or an empty slice if no value is ruled
    /// out.
    #[inline]
    pub fn supports(&self, function: &Function, residual: Residual) -> &[u64] {
        match residual.supports {
            ALL => &[],
            at => &self.supports[at as usize..][..function.scope.len()],
        }
    }
}

/// Returns a number whose lowest `bits` bits are set.
pub(super) fn low(bits: usize) -> u64 {
    u64::MAX >> (u64::BITS as usize - bits)
}

/// Returns the values of an axis that have an entry above 0, a bit each.
fn supported(entries: &[f64], size: usize, inner: usize) -> u64 {
    let has = |value: &usize| {
        entries.chunks_exact(size * inner).any(|slab| slab[value * inner..][..inner].iter().any(|&entry| entry > 0.0))
    };
    (0..size).filter(has).fold(0, |mask, value| mask | 1 << value)
}
