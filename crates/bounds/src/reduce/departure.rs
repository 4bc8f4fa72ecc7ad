//! The way back: variables that left, and those that stand for two others.

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

/// A variable in the place of two.
#[derive(Clone, Debug)]
pub(super) struct Tie {
    pub(super) parts: [u32; 2],
    /// The values of both, for each value of the new variable; ascending.
    pub(super) pairs: Arc<[(u32, u32)]>,
}

impl Tie {
    /// The value for an assignment with values of both, or of the first pair that has one of them; `None` if there is
    /// none.
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
