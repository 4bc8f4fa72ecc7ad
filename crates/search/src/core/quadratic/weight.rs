//! The types of a form's weights. Most forms fit 32 bits, which halves what a sweep or a step reads; real weights of
//! many digits and large integers take 64.

use crate::core::quadratic::{Outline, Quadratic};
use crate::error::Error;
use crate::model::{Cost, Network, Problem};
use crate::stop::Stop;
use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, BitAnd, BitXor, Neg, Shl, Shr};
use std::sync::Arc;

/// Bits of a temperature: as many as [`Boltzmann`](crate::fang::boltzmann::Boltzmann) has room for.
const TEMPERATURE_BITS: u32 = 23;

/// An integer that holds a weight, and what a flip changes with one bit to spare.
pub(crate) trait Weight:
    Copy
    + Debug
    + Default
    + Ord
    + Send
    + Sync
    + Sum
    + Add<Output = Self>
    + AddAssign
    + Neg<Output = Self>
    + BitAnd<Output = Self>
    + BitXor<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + From<bool>
    + Into<Cost>
    + 'static
{
    /// A type of half the size, for rows of small weights.
    type Half: Copy + Debug + Default + Into<Self> + Into<Cost> + Send + Sync + TryFrom<Self>;

    /// No flip changes the cost by as much.
    const LARGEST: Cost;
    /// The largest weight of all.
    const MAX: Self;

    /// The lowest bits of a cost.
    fn of(cost: Cost) -> Self;

    /// The bits of what a flip changes in forms in which it changes at most `reach`.
    fn bits(reach: Cost) -> u32;

    /// The unit of temperatures up to `hot`, which have 32 bits, as the power of two that it is.
    fn shift(hot: f64) -> u32;

    /// A form with weights of this type among those of all types.
    fn any(form: Arc<Quadratic<Self>>) -> AnyQuadratic;
}

impl Weight for i32 {
    type Half = i16;

    const LARGEST: Cost = 1 << 29;
    const MAX: i32 = i32::MAX;

    fn of(cost: Cost) -> i32 {
        cost as i32
    }

    fn bits(_: Cost) -> u32 {
        Self::LARGEST.ilog2()
    }

    fn shift(_: f64) -> u32 {
        0
    }

    fn any(form: Arc<Quadratic<i32>>) -> AnyQuadratic {
        AnyQuadratic::Narrow(form)
    }
}

impl Weight for i64 {
    type Half = i32;

    const LARGEST: Cost = 1 << 60;
    const MAX: i64 = i64::MAX;

    fn of(cost: Cost) -> i64 {
        cost
    }

    fn bits(reach: Cost) -> u32 {
        reach.max(1).ilog2() + 1
    }

    fn shift(hot: f64) -> u32 {
        (hot.max(1.0).log2() as u32 + 1).saturating_sub(TEMPERATURE_BITS)
    }

    fn any(form: Arc<Quadratic<i64>>) -> AnyQuadratic {
        AnyQuadratic::Wide(form)
    }
}

/// A quadratic form with weights of the smallest type that has room for them.
#[derive(Clone, Debug)]
pub(crate) enum AnyQuadratic {
    Narrow(Arc<Quadratic<i32>>),
    Wide(Arc<Quadratic<i64>>),
}

/// Evaluates an expression for a form, compiled for each type of weights.
macro_rules! on_weights {
    ($form:expr, $quadratic:ident => $body:expr) => {
        match $form {
            $crate::core::quadratic::AnyQuadratic::Narrow($quadratic) => $body,
            $crate::core::quadratic::AnyQuadratic::Wide($quadratic) => $body,
        }
    };
}
pub(crate) use on_weights;

impl AnyQuadratic {
    /// Returns the form of a problem; `None` if a variable has not two values, a function has three variables or a
    /// forbidden entry, or costs are too large for 64 bits.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn of(problem: &Problem, stop: &Stop) -> Result<Option<Self>, Error> {
        Self::made(Outline::of(&problem.domains, &problem.unary, &problem.functions, stop)?, stop)
    }

    /// Returns the form of a network as it was read, under the conditions of [`AnyQuadratic::of`].
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn of_network(network: &Network, stop: &Stop) -> Result<Option<Self>, Error> {
        if network.globals().len() > 0 {
            return Ok(None);
        }
        Self::made(Outline::of(network.domains(), &[], network.functions(), stop)?, stop)
    }

    fn made(outline: Option<Outline<'_>>, stop: &Stop) -> Result<Option<Self>, Error> {
        let Some(outline) = outline else { return Ok(None) };
        if let Some(narrow) = outline.form::<i32>(stop)? {
            return Ok(Some(i32::any(narrow.into())));
        }
        Ok(outline.form::<i64>(stop)?.map(|wide| i64::any(wide.into())))
    }

    /// Like [`Quadratic::with_rows`].
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn with_rows(self, stop: &Stop) -> Result<Self, Error> {
        Ok(on_weights!(self, form => Weight::any(Arc::unwrap_or_clone(form).with_rows(stop)?.into())))
    }

    pub fn variables(&self) -> usize {
        on_weights!(self, form => form.variables())
    }

    pub fn has_rows(&self) -> bool {
        on_weights!(self, form => form.has_rows())
    }

    pub fn row_work(&self) -> u64 {
        on_weights!(self, form => form.row_work())
    }

    pub fn zero(&self) -> Cost {
        on_weights!(self, form => form.zero)
    }

    pub fn value(&self, values: &[bool]) -> Cost {
        on_weights!(self, form => form.value(values))
    }
}
