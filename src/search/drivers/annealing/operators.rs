//! What the children of the population annealing may choose, and what pays.

use super::generation::{COLD_SHARES, REGION_SHARES, Tally};
use super::temperature::ENDS;
use crate::search::scheduler::bandit::Arms;

/// Shares of the choices.
pub(crate) struct Choices {
    pub cold: Arms,
    pub region: Arms,
    pub tree: Arms,
    pub before: Arms,
    /// Of a whole generation.
    pub end: Arms,
}

impl Choices {
    /// All are as likely.
    pub fn new() -> Self {
        Choices {
            cold: Arms::new(COLD_SHARES.len(), 0.15),
            region: Arms::new(REGION_SHARES.len(), 0.2),
            tree: Arms::new(2, 0.2),
            before: Arms::new(2, 0.2),
            end: Arms::new(ENDS.len(), 0.2),
        }
    }

    /// A generation of this tally ended; a child with tree moves took `tree_factor` times the work noted, and all took the `end`-th temperatures.
    pub fn note(&mut self, tally: &Tally, tree_factor: f64, end: usize) {
        // every child is noted once with each kind of choice
        tally.before.iter().for_each(|&(gain, work)| self.end.note(end, gain as f64, work as f64));
        self.end.settle();
        let arms: [(&mut Arms, &[(u64, u64)]); 4] = [
            (&mut self.cold, &tally.cold),
            (&mut self.region, &tally.region),
            (&mut self.tree, &tally.tree),
            (&mut self.before, &tally.before),
        ];
        for (place, (arms, notes)) in arms.into_iter().enumerate() {
            for (arm, &(gain, work)) in notes.iter().enumerate() {
                let factor = if (place, arm) == (2, 1) { tree_factor } else { 1.0 };
                arms.note(arm, gain as f64, work as f64 * factor);
            }
            arms.settle();
        }
    }
}
