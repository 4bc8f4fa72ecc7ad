//! Networks of binary variables and functions of two of them as a quadratic form.

pub(crate) mod any;
pub mod form;
pub(crate) mod terms;
mod weight;

pub(crate) use self::any::{AnyQuadratic, on_weights};
pub(crate) use self::terms::{Quadratic, Row, are_pairs, is_form};
pub(crate) use self::weight::Weight;
