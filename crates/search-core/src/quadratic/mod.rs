//! Networks of binary variables and functions of at most two variables, as a quadratic form.

pub mod any;
pub mod form;
pub mod terms;
#[doc(hidden)]
pub mod testing;
mod weight;

pub use self::any::AnyQuadratic;
pub use self::terms::{Quadratic, Row, are_pairs, is_form};
pub use self::weight::Weight;
pub use crate::on_weights;
