//! The functions of a problem as tables for elimination.

use super::executor::Factors;
use super::plan::Source;
use super::table::{costs, lay_out};
use crate::algebra::{CostEntry, Counting, MinSum};
use crate::model::{Cost, FORBIDDEN, Problem};
use crate::tensor::storage::Storage;

/// Costs, up to the cap.
impl<E: CostEntry> Factors<MinSum<E>> for Problem {
    fn load(&self, source: Source, variables: &[u32], MinSum { cap }: MinSum<E>) -> Storage<E> {
        match source {
            Source::Function(f) => costs(&self.functions[f as usize], variables, &self.domains, cap.cost()),
            _ => {
                let costs = self.unary[variables[0] as usize].iter();
                costs.map(|&cost| E::from_cost(cost.min(cap.cost()))).collect()
            }
        }
    }
}

/// 1 for what is allowed, 0 for what is forbidden.
impl Factors<Counting> for Problem {
    fn load(&self, source: Source, variables: &[u32], semiring: Counting) -> Storage<u64> {
        let allowed = |cost: Cost| u64::from(cost < FORBIDDEN);
        match source {
            Source::Function(f) => lay_out(&self.functions[f as usize], variables, &self.domains, semiring, allowed),
            _ => self.unary[variables[0] as usize].iter().map(|&cost| allowed(cost)).collect(),
        }
    }
}
