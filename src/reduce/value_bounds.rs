//! What solutions with a value cost at least, and what that forbids.

use super::Reducer;
use crate::model::{Cost, FORBIDDEN};

/// A lower bound for each value of a network: on what solutions with that value cost. Bounds of cores are kept by the values
/// of the network, so that they serve all later cores, and each better incumbent may forbid more by them.
#[derive(Clone, Debug)]
pub struct ValueBounds {
    /// By variable and value of the network.
    least: Vec<Vec<Cost>>,
    /// Values of the core that bounds began with.
    begun: usize,
}

impl ValueBounds {
    /// Nothing is known yet of the network that a reducer has, and its core as it is now is what shares are stated of.
    pub fn new(reducer: &Reducer) -> Self {
        // values are ascending, and all of the network's were there in the beginning
        let most = |values: &[u32]| values.last().map_or(0, |&value| value as usize + 1);
        let least = reducer.values.iter().map(|values| vec![Cost::MIN; most(values)]).collect();
        ValueBounds { least, begun: reducer.core.iter().map(|&v| reducer.domains[v as usize] as usize).sum() }
    }

    /// Learns what holds for the values of a core, in the core's numbering. A core that came later by tightening has the same
    /// solutions or some of them, so what holds for a value goes on to hold.
    pub fn learn(&mut self, reducer: &Reducer, core: &[Vec<Cost>]) {
        for (&v, costs) in reducer.core.iter().zip(core) {
            for (&value, &cost) in reducer.values[v as usize].iter().zip(costs) {
                if let Some(least) = self.least[v as usize].get_mut(value as usize) {
                    *least = (*least).max(cost);
                }
            }
        }
    }

    /// How many values of the core that bounds began with no solution below `upper` has, by these bounds; and how many values
    /// that core had.
    pub fn forbidden(&self, upper: Cost) -> (usize, usize) {
        (self.least.iter().flatten().filter(|&&least| least >= upper).count(), self.begun)
    }

    /// How many values of a core as it is they forbid below `upper`, none where nothing is reduced or a log is kept, and how many
    /// it has.
    pub fn removable(&self, reducer: &Reducer, upper: Cost) -> (usize, usize) {
        let of = |&v: &u32| self.values(reducer, v).filter(|&least| least >= upper).count();
        let size = reducer.core.iter().map(|&v| reducer.domains[v as usize] as usize).sum();
        (if reducer.may_forbid() { reducer.core.iter().map(of).sum() } else { 0 }, size)
    }

    /// For each value of a core how much more solutions with it cost at least than with the variable's best value.
    pub fn reduced(&self, reducer: &Reducer) -> Vec<Vec<Cost>> {
        let of = |&v: &u32| {
            let least = self.values(reducer, v).min().unwrap_or(Cost::MIN);
            self.values(reducer, v).map(|bound| bound.saturating_sub(least).clamp(0, FORBIDDEN)).collect()
        };
        reducer.core.iter().map(of).collect()
    }

    /// The bounds of the values that a variable has left.
    fn values<'a>(&'a self, reducer: &'a Reducer, v: u32) -> impl Iterator<Item = Cost> + 'a {
        let known = &self.least[v as usize];
        reducer.values[v as usize].iter().map(|&value| known.get(value as usize).copied().unwrap_or(Cost::MIN))
    }
}

impl Reducer {
    /// Whether values may be forbidden by bounds. A log would have to tell how those came about.
    fn may_forbid(&self) -> bool {
        self.reduce && self.log.is_none()
    }

    /// Forbids the values of the core that only solutions at or above `top` have; the reductions then remove them.
    pub(super) fn forbid(&mut self, bounds: &ValueBounds) {
        if !self.may_forbid() {
            return;
        }
        for v in self.core.clone() {
            let dear: Vec<bool> = bounds.values(self, v).map(|least| least >= self.top).collect();
            if dear.contains(&true) {
                let costs = self.unary[v as usize].iter_mut().zip(dear);
                costs.filter(|&(_, dear)| dear).for_each(|(cost, _)| *cost = FORBIDDEN);
                self.pending.moved.push(v);
                self.pending.checks.push(v);
            }
        }
    }
}
