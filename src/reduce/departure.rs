//! The inverse of the reductions: the value of a removed variable, given the variables removed after it or kept.

use std::sync::Arc;

/// A removed variable. Whatever removed it (one value, elimination, a functional pair), its
/// best value is a function of the variables it shared functions with, and that function is stored.
#[derive(Clone, Debug)]
pub(super) struct Departure {
    pub(super) variable: u32,
    /// The variables that decide, each with the values it had then (ascending values of the network).
    pub(super) scope: Vec<(u32, Arc<[u32]>)>,
    /// The value of the network for each combination, the last variable of the scope running fastest.
    pub(super) choice: Vec<u32>,
}

impl Departure {
    /// Sets the variable in an assignment that has the scope's values already.
    pub(super) fn undo(&self, assignment: &mut [u32]) {
        let index = self.scope.iter().fold(0, |index, (variable, values)| {
            let value = values
                .binary_search(&assignment[*variable as usize])
                .expect("a variable's values only become fewer, so a later value was there before");
            index * values.len() + value
        });
        assignment[self.variable as usize] = self.choice[index];
    }
}
