//! Functions under partial assignments. For each state of a function's variables, free or at a value, a *residual* is
//! what is left of its table. Equal residuals of a function share a number, and name only the variables that they
//! depend on. Equal functions share their residuals.
//!
//! A function of many variables with one value and few zeros has too many states. It is replaced by *bans*: each
//! forbids one tuple of values.

use super::tuning::{BANNED_STATES, MOST_BANS};
use crate::error::Error;
use crate::model::{Factor, Odometer, Scaled};
use crate::sliced::Sliced;
use crate::stop::Stop;
use crate::tensor;
use rustc_hash::FxHashMap;

/// Marks a residual that rules out no value of a free variable.
const ALL: u32 = u32::MAX;

/// Added to the state of a ban for each assigned variable that differs from the forbidden tuple. The lower bits count
/// the variables that agree with it.
pub(super) const DIFFERS: u32 = 1 << 16;

/// A function under a partial assignment: `scale` times a table over the variables that it depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Residual {
    /// The number of its table: equal for equal tables of one function, from 0.
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
    /// The index of the residual in which all its variables are free; for a ban, the state without assigned variables.
    pub free: u32,
    /// Added to the numbers of its residuals, so that no two functions share a number.
    pub first_id: u32,
    /// The tuple that it forbids, if it is a ban.
    pub banned: Option<Box<[u32]>>,
    /// For each axis, the distance of residuals with adjacent values; empty for a ban.
    pub steps: Box<[u32]>,
}

/// An occurrence of a variable in a function with residuals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub function: u32,
    /// The position of the variable in the scope.
    pub axis: u32,
    /// The distance of residuals with adjacent values of the variable.
    pub step: u32,
}

/// An occurrence of a variable in a ban.
#[derive(Clone, Copy, Debug)]
pub(super) struct Banned {
    pub function: u32,
    /// The value of the variable in the forbidden tuple.
    pub value: u32,
}

/// A product whose functions have a residual for every state.
#[derive(Clone, Debug)]
pub(super) struct Network {
    pub domains: Vec<u32>,
    pub functions: Vec<Function>,
    /// For each variable, its functions that are no bans.
    pub on: Vec<Vec<Axis>>,
    /// For each variable, its bans.
    pub bans: Vec<Vec<Banned>>,
    /// Whether every function has one value besides 0.
    pub is_formula: bool,
    /// The product of the values of the functions that bans replace.
    pub constant: Scaled,
    residuals: Vec<Residual>,
    supports: Vec<u64>,
    next_id: u32,
}

/// The sizes of the axes, the bits of the entries, and the exponent of a function.
type Shape = (Vec<usize>, Vec<u64>, i64);

/// The residuals of equal functions.
#[derive(Clone, Copy, Debug)]
struct Shared {
    free: u32,
    ids: u32,
}

impl Network {
    /// Computes all residuals. Returns `None` if they have more than `most` entries, or if a function has more than 32
    /// variables or a domain more than 64 values.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn new(sliced: &Sliced, most: u64, stop: &Stop) -> Result<Option<Self>, Error> {
        let variables = sliced.domains.len();
        let mut network = Network {
            domains: sliced.domains.clone(),
            functions: Vec::new(),
            on: vec![Vec::new(); variables],
            bans: vec![Vec::new(); variables],
            is_formula: sliced.functions.iter().all(|factor| only_value(factor).is_some()),
            constant: Scaled::ONE,
            residuals: Vec::new(),
            supports: Vec::new(),
            next_id: 0,
        };
        let is_wide = sliced.functions.iter().any(|factor| factor.scope.len() > u32::BITS as usize);
        if is_wide || sliced.domains.iter().any(|&domain| domain > u64::BITS) {
            return Ok(None);
        }
        let (mut known, mut left) = (FxHashMap::default(), most);
        for factor in &sliced.functions {
            stop.check()?;
            let along = |own: u64| factor.scope.iter().map(move |&v| own * u64::from(sliced.domains[v as usize]));
            let states = along(1).fold(1, |all: u64, domain| all.saturating_mul(domain + 1));
            if states > BANNED_STATES && network.ban(factor) {
                continue;
            }
            let sizes: Vec<usize> = factor.scope.iter().map(|&v| network.domains[v as usize] as usize).collect();
            let bits = factor.table.iter().map(|entry| entry.to_bits()).collect();
            let shape: Shape = (sizes, bits, factor.exponent);
            let shared = match known.get(&shape) {
                Some(&shared) => shared,
                None => {
                    // over its states an axis has each of its entries twice: once when fixed, once when free
                    let entries = along(2).fold(1, u64::saturating_mul);
                    let Some(less) = left.checked_sub(entries) else { return Ok(None) };
                    left = less;
                    let shared = network.share(factor, &shape.0, stop)?;
                    let _ = known.insert(shape, shared);
                    shared
                }
            };
            network.add(factor, shared);
        }
        Ok(Some(network))
    }

    /// Replaces a function by bans if all its entries but a few zeros are equal. Returns whether it did.
    fn ban(&mut self, factor: &Factor) -> bool {
        let zeros = factor.table.iter().filter(|&&entry| entry == 0.0).count();
        let Some(value) = only_value(factor).filter(|_| zeros <= MOST_BANS) else { return false };
        self.constant = self.constant.times(Scaled::with(value, factor.exponent));
        let mut odometer = Odometer::new(factor.scope.iter().map(|&v| self.domains[v as usize] as usize).collect());
        for &entry in factor.table.iter() {
            if entry == 0.0 {
                let function = self.functions.len() as u32;
                let banned: Box<[u32]> = odometer.digits.iter().map(|&digit| digit as u32).collect();
                for (&v, &value) in factor.scope.iter().zip(&banned) {
                    self.bans[v as usize].push(Banned { function, value });
                }
                let (scope, first_id) = (factor.scope.clone(), self.next_id);
                self.functions.push(Function { scope, free: 0, first_id, banned: Some(banned), steps: Box::default() });
                self.next_id += 1;
            }
            let _ = odometer.advance();
        }
        true
    }

    /// Computes the residuals of a function in all states.
    fn share(&mut self, factor: &Factor, sizes: &[usize], stop: &Stop) -> Result<Shared, Error> {
        let states: Vec<usize> = sizes.iter().map(|size| size + 1).collect();
        let (strides, free, mut ids) = (tensor::strides(sizes), self.residuals.len() as u32, 0);
        let mut known = FxHashMap::default();
        let count = states.iter().product();
        // a digit is 0 if its axis is free, otherwise one more than the axis' value
        let mut odometer = Odometer::new(states);
        for state in stop.each(0..count) {
            let _: usize = state?;
            let residual = self.residual(factor, sizes, &strides, &odometer.digits, &mut known, &mut ids);
            self.residuals.push(residual);
            let _ = odometer.advance();
        }
        Ok(Shared { free, ids })
    }

    /// Adds a function with its residuals.
    fn add(&mut self, factor: &Factor, shared: Shared) {
        let states: Vec<usize> = factor.scope.iter().map(|&v| self.domains[v as usize] as usize + 1).collect();
        let (function, steps) = (self.functions.len() as u32, tensor::strides(&states));
        let steps: Box<[u32]> = steps.into_iter().map(|step| step as u32).collect();
        for ((axis, &v), &step) in (0..).zip(&factor.scope).zip(&steps) {
            self.on[v as usize].push(Axis { function, axis, step });
        }
        let (scope, free, first_id) = (factor.scope.clone(), shared.free, self.next_id);
        self.functions.push(Function { scope, free, first_id, banned: None, steps });
        self.next_id += shared.ids;
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
            *ids - 1
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

/// Returns the entry above 0 of a function if it has one value besides 0.
fn only_value(factor: &Factor) -> Option<f64> {
    let most = factor.table.iter().copied().fold(0.0, f64::max);
    (most > 0.0 && factor.table.iter().all(|&entry| entry == 0.0 || entry == most)).then_some(most)
}
