//! The functions of a problem as tables for elimination.

use super::executor::Factors;
use super::plan::Source;
use super::table::lay_out;
use crate::algebra::OfCosts;
use crate::model::Problem;
use crate::tensor::storage::Storage;

impl<S: OfCosts> Factors<S> for Problem {
    fn load(&self, source: Source, variables: &[u32], semiring: S) -> Storage<S::Entry> {
        match source {
            Source::Function(f) => lay_out(&self.functions[f as usize], variables, &self.domains, semiring),
            _ => self.unary[variables[0] as usize].iter().map(|&cost| semiring.of_cost(cost)).collect(),
        }
    }
}
