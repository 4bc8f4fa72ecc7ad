//! The order in which sweeps go through binary variables, and where it can be cut.

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

/// A network as a quadratic form, its variables in the order of sweeps.
#[derive(Debug)]
pub struct SweepForm {
    /// The form.
    pub quadratic: AnyQuadratic,
    /// The network's variable at each place.
    order: Vec<u32>,
    /// Where the color classes begin, and the end: variables of a class see none of each other. One class of all
    /// variables where classes are narrow, which does not have that.
    pub classes: Vec<u32>,
    /// Whether classes are wide enough for that.
    pub has_classes: bool,
    /// Where the hottest anneals begin.
    pub hot: f64,
    /// Temperatures are in units of two to the power of this.
    pub shift: u32,
}

impl SweepForm {
    /// The form of a network; none where it has none.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn of(network: &Network, stop: &Stop) -> Result<Option<SweepForm>, Error> {
        let Some(quadratic) = AnyQuadratic::of_network(network, stop)? else { return Ok(None) };
        on_weights!(quadratic, quadratic => SweepForm::in_order(Arc::unwrap_or_clone(quadratic), stop)).map(Some)
    }

    /// Puts the variables of a form in order.
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

    /// How many variables there are.
    pub fn variables(&self) -> usize {
        self.order.len()
    }

    /// The network's variable at each place.
    /// The network's variable at each place.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Work of a flip, where a word is one.
    pub fn move_work(&self) -> u64 {
        8 + self.quadratic.row_work()
    }

    /// Work of counting what an assignment of the network costs.
    pub fn count_work(&self) -> u64 {
        16 * on_weights!(&self.quadratic, form => form.arrays().1.len()) as u64
    }

    /// The network's assignment from one in the order of sweeps.
    pub fn own(&self, values: &[bool]) -> Vec<u32> {
        let mut own = vec![0; self.order.len()];
        self.order.iter().zip(values).for_each(|(&v, &value)| own[v as usize] = u32::from(value));
        own
    }

    /// The other way.
    pub fn ordered(&self, own: &[u32]) -> Vec<bool> {
        self.order.iter().map(|&v| own[v as usize] == 1).collect()
    }
}

/// How much a flip of a variable changes at random values of the others: the standard deviation, around the mean.
fn spread<W: Weight>(form: &Quadratic<W>, v: usize) -> f64 {
    let halves = |weight: W| weight.into() as f64 / 2.0;
    let mean = form.linear(v).into() as f64 + form.links(v).iter().map(|&(_, weight)| halves(weight)).sum::<f64>();
    (mean * mean + form.links(v).iter().map(|&(_, weight)| halves(weight).powi(2)).sum::<f64>()).sqrt()
}
