//! Helpers for tests of drivers on quadratic forms.

use super::terms::{Outline, Quadratic};
use super::weight::Weight;
use crate::model::{Network, Problem};
use crate::stop::Stop;

/// Returns the form of a problem with weights of type `W`.
pub fn form<W: Weight>(problem: &Problem) -> Option<Quadratic<W>> {
    let outline = Outline::of(&problem.domains, &problem.unary, &problem.functions, &Stop::new());
    outline.expect("no stop").and_then(|outline| outline.form(&Stop::new()).expect("no stop"))
}

/// Returns the form of a network with weights of type `W`.
pub fn form_of<W: Weight>(network: &Network) -> Option<Quadratic<W>> {
    let outline = Outline::of(network.domains(), &[], network.functions(), &Stop::new());
    outline.expect("no stop").and_then(|outline| outline.form(&Stop::new()).expect("no stop"))
}
