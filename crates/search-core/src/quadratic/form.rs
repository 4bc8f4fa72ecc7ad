//! A quadratic form whose variables are in the order of sweeps, with color classes.

use super::any::AnyQuadratic;
use super::terms::Quadratic;
use super::weight::Weight;
use crate::error::Error;
use crate::graph::{by_degree, first_fit};
use crate::model::Network;
use crate::on_weights;
use crate::stop::Stop;
use std::sync::Arc;

/// Lanes of a warp: narrower color classes are not worth a block of threads.
pub const WARP: usize = 32;

/// A network as a quadratic form, with its variables in the order of sweeps.
#[derive(Debug)]
pub struct SweepForm {
    /// The form.
    pub quadratic: AnyQuadratic,
    /// The network's variable at each position.
    order: Vec<u32>,
    /// First position of each color class, and the number of variables. The variables of a class are not adjacent. If
    /// classes are narrow, one class contains all variables, which may be adjacent.
    pub classes: Vec<u32>,
    /// Whether color classes are wide enough to be used.
    pub has_classes: bool,
    /// The highest temperature at which anneals begin.
    pub hot: f64,
    /// The exponent of the unit of temperatures, which is two to the power of `shift`.
    pub shift: u32,
}

impl SweepForm {
    /// Returns the form of a network; `None` if it has none.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn of(network: &Network, stop: &Stop) -> Result<Option<SweepForm>, Error> {
        let Some(quadratic) = AnyQuadratic::of_network(network, stop)? else { return Ok(None) };
        on_weights!(quadratic, quadratic => SweepForm::in_order(Arc::unwrap_or_clone(quadratic), stop)).map(Some)
    }

    /// Sorts the variables of a form into the order of sweeps.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn in_order<W: Weight>(quadratic: Quadratic<W>, stop: &Stop) -> Result<SweepForm, Error>
    where
        AnyQuadratic: From<Arc<Quadratic<W>>>,
    {
        let n = quadratic.variables();
        let links = |v: u32| quadratic.links(v as usize).iter();
        let order = by_degree(n, |v| links(v).len());
        // narrow classes are not worth their order
        let classes = first_fit(&order, |v| links(v).map(|&(other, _)| other), usize::MAX, n / WARP, stop)?;
        let has_classes = classes.is_some();
        let (quadratic, order, ends) = match classes {
            Some(classes) => {
                let end = |end: &mut u32, class: &Vec<u32>| {
                    *end += class.len() as u32;
                    Some(*end)
                };
                let order = classes.concat();
                (quadratic.ordered(&order), order, classes.iter().scan(0, end).collect())
            }
            None => (quadratic, (0..n as u32).collect(), vec![n as u32]),
        };
        let quadratic = quadratic.with_rows(stop)?;
        let hot = (0..n).map(|v| spread(&quadratic, v)).sum::<f64>() / n as f64;
        let (quadratic, classes, shift) =
            (AnyQuadratic::from(Arc::new(quadratic)), [vec![0], ends].concat(), W::shift(hot));
        Ok(SweepForm { quadratic, order, classes, has_classes, hot, shift })
    }

    /// Returns the number of variables.
    pub fn variables(&self) -> usize {
        self.order.len()
    }

    /// Returns the network's variable at each position.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Returns the work of a flip, in nanoseconds, at one word each.
    pub fn move_work(&self) -> u64 {
        8 + self.quadratic.row_work()
    }

    /// Returns the work of computing the cost of an assignment of the network.
    pub fn count_work(&self) -> u64 {
        16 * on_weights!(&self.quadratic, form => form.arrays().1.len()) as u64
    }

    /// Returns the network's assignment for one in the order of sweeps.
    pub fn own(&self, values: &[bool]) -> Vec<u32> {
        let mut own = vec![0; self.order.len()];
        self.order.iter().zip(values).for_each(|(&v, &value)| own[v as usize] = u32::from(value));
        own
    }

    /// Returns the assignment in the order of sweeps for one of the network.
    pub fn ordered(&self, own: &[u32]) -> Vec<bool> {
        self.order.iter().map(|&v| own[v as usize] == 1).collect()
    }
}

/// Returns the spread of the change by a flip at random values of the other variables: the root mean square.
fn spread<W: Weight>(form: &Quadratic<W>, v: usize) -> f64 {
    let halves = |weight: W| weight.into() as f64 / 2.0;
    let mean = form.linear(v).into() as f64 + form.links(v).iter().map(|&(_, weight)| halves(weight)).sum::<f64>();
    (mean * mean + form.links(v).iter().map(|&(_, weight)| halves(weight).powi(2)).sum::<f64>()).sqrt()
}
