//! A quadratic form with any type of weights.

use super::terms::{Outline, Quadratic};
use crate::error::Error;
use crate::model::{Cost, Network, Problem};
use crate::stop::Stop;
use std::sync::Arc;

/// A quadratic form with weights of the smallest type that suffices.
#[derive(Clone, Debug)]
pub enum AnyQuadratic {
    /// Weights of 32 bits.
    Narrow(Arc<Quadratic<i32>>),
    /// Weights of 64 bits.
    Wide(Arc<Quadratic<i64>>),
}

/// Evaluates an expression for a form, compiled for each type of weights.
#[macro_export]
macro_rules! on_weights {
    ($form:expr, $quadratic:ident => $body:expr) => {
        match $form {
            $crate::quadratic::AnyQuadratic::Narrow($quadratic) => $body,
            $crate::quadratic::AnyQuadratic::Wide($quadratic) => $body,
        }
    };
}

impl From<Arc<Quadratic<i32>>> for AnyQuadratic {
    fn from(form: Arc<Quadratic<i32>>) -> Self {
        AnyQuadratic::Narrow(form)
    }
}

impl From<Arc<Quadratic<i64>>> for AnyQuadratic {
    fn from(form: Arc<Quadratic<i64>>) -> Self {
        AnyQuadratic::Wide(form)
    }
}

impl AnyQuadratic {
    /// Returns the quadratic form of a problem; `None` if a variable does not have two values, a function has more than
    /// two variables or a forbidden entry, or costs are too large for 64 bits.
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
            return Ok(Some(Arc::new(narrow).into()));
        }
        Ok(outline.form::<i64>(stop)?.map(|wide| Arc::new(wide).into()))
    }

    /// Like [`Quadratic::with_rows`].
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn with_rows(self, stop: &Stop) -> Result<Self, Error> {
        Ok(on_weights!(self, form => Arc::new(Arc::unwrap_or_clone(form).with_rows(stop)?).into()))
    }

    /// Returns the number of variables.
    pub fn variables(&self) -> usize {
        on_weights!(self, form => form.variables())
    }

    /// Returns whether weights are stored for all pairs of variables.
    pub fn has_rows(&self) -> bool {
        on_weights!(self, form => form.has_rows())
    }

    /// Returns the approximate work of reading the weights of a variable, in nanoseconds.
    pub fn row_work(&self) -> u64 {
        on_weights!(self, form => form.row_work())
    }

    /// Returns the cost of the assignment of zeros.
    pub fn zero(&self) -> Cost {
        on_weights!(self, form => form.zero)
    }

    /// Returns the cost of an assignment minus [`AnyQuadratic::zero`].
    pub fn value(&self, values: &[bool]) -> Cost {
        on_weights!(self, form => form.value(values))
    }
}
