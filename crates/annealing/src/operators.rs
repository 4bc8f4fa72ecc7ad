//! Operator selection: the choices that offspring have, and how much each choice gains.

use super::generation::Tally;
use crate::core::bandit::Bandit;
use crate::core::tuning::schedule::ENDS;
use crate::tuning::{COLD_SHARES, LEAST_SHARES, REGION_SHARES};

pub(crate) struct OperatorSelection {
    pub cold: Bandit,
    pub region: Bandit,
    pub tree: Bandit,
    pub before: Bandit,
    /// The end of the temperatures, chosen for a whole generation.
    pub end: Bandit,
}

impl OperatorSelection {
    pub fn new() -> Self {
        let [least_cold, least] = LEAST_SHARES;
        OperatorSelection {
            cold: Bandit::new(COLD_SHARES.len(), least_cold),
            region: Bandit::new(REGION_SHARES.len(), least),
            tree: Bandit::new(2, least),
            before: Bandit::new(2, least),
            end: Bandit::new(ENDS.len(), least),
        }
    }

    /// Records the tally of a generation. A child with tree moves took `tree_factor` times the work noted, and all
    /// children annealed at the `end`-th temperatures.
    pub fn note(&mut self, tally: &Tally, tree_factor: f64, end: usize) {
        // every child is counted once for each kind of choice
        tally.before.iter().for_each(|&[gain, work]| self.end.note(end, gain as f64, work as f64));
        self.end.update();
        let bandits: [(&mut Bandit, &[[u64; 2]]); 4] = [
            (&mut self.cold, &tally.cold),
            (&mut self.region, &tally.region),
            (&mut self.tree, &tally.tree),
            (&mut self.before, &tally.before),
        ];
        for (place, (bandit, notes)) in bandits.into_iter().enumerate() {
            for (arm, &[gain, work]) in notes.iter().enumerate() {
                let factor = if (place, arm) == (2, 1) { tree_factor } else { 1.0 };
                bandit.note(arm, gain as f64, work as f64 * factor);
            }
            bandit.update();
        }
    }
}
