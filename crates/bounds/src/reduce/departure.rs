//! The data that lift assignments: removed variables, and variables that stand for two others.

use std::sync::Arc;

/// A removed variable. Whatever removed it (one value, elimination, a functional pair), its best value is a function of
/// the variables with which it shared functions; that function is stored.
#[derive(Clone, Debug)]
pub(super) struct Departure {
    pub(super) variable: u32,
    /// The variables that decide, each with the values that it had then (values of the network, ascending).
    pub(super) scope: Vec<(u32, Arc<[u32]>)>,
    /// The value of the network for each combination of them, the last variable running fastest.
    pub(super) choice: Vec<u32>,
}

impl Departure {
    /// Sets the variable in an assignment that already has the scope's values.
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

/// A variable that replaces two tied ones.
#[derive(Clone, Debug)]
pub(super) struct Tie {
    pub(super) parts: [u32; 2],
    /// The values of both for each value of the new variable, ascending.
    pub(super) pairs: Arc<[(u32, u32)]>,
}

impl Tie {
    /// Returns the new variable's value for an assignment, or that of the first pair that has one of its two values;
    /// `None` if there is none.
    pub(super) fn value(&self, assignment: &[u32]) -> Option<u32> {
        let [first, second] = self.parts.map(|v| assignment[v as usize]);
        let place = match self.pairs.binary_search(&(first, second)) {
            Ok(place) => Some(place),
            Err(place) if self.pairs.get(place).is_some_and(|pair| pair.0 == first) => Some(place),
            Err(place) if place > 0 && self.pairs[place - 1].0 == first => Some(place - 1),
            Err(_) => self.pairs.iter().position(|pair| pair.1 == second),
        };
        place.map(|place| place as u32)
    }
}
