//! A walk of thermal cycling: an assignment with the cost of every value, given the values of the other variables, kept
//! up to date. Sweeps read one row for each variable. Components of another assignment can be merged in.

use crate::core::layout::MoveLayout;
use crate::error::Error;
use crate::fang::boltzmann::Boltzmann;
use crate::fang::boltzmann::{Least, boltzmann_weights};
use crate::fang::select;
use crate::kept::Kept;
use crate::rng::{Rng, below};
use crate::stop::Stop;
use crate::value_tables::ValueTables;

/// The tables that a walk reads.
#[derive(Clone, Copy)]
pub(super) struct CyclingTables<'a> {
    pub tables: &'a ValueTables,
    pub layout: &'a MoveLayout,
}

/// The state of a walk.
#[derive(Clone, Debug)]
pub(super) struct CyclingWalk {
    pub kept: Kept,
    pub moves: u64,
    weights: Vec<u32>,
    /// For merging: whether each variable differs and was not reached yet.
    differs: Vec<bool>,
    /// For merging: the variables of a component.
    part: Vec<u32>,
    /// For merging: the values of the component's variables before.
    had: Vec<u16>,
}

impl CyclingWalk {
    /// # Errors
    /// [`Error::Stopped`].
    pub fn new(core: CyclingTables<'_>, values: Vec<u16>, stop: &Stop) -> Result<CyclingWalk, Error> {
        let kept = Kept::new(core.tables, core.layout, values, stop)?;
        let differs = vec![false; kept.values.len()];
        Ok(CyclingWalk { kept, moves: 0, weights: Vec::new(), differs, part: Vec::new(), had: Vec::new() })
    }

    #[inline(always)]
    fn set(&mut self, CyclingTables { tables, layout }: CyclingTables<'_>, v: usize, value: u16) {
        self.kept.set(tables, layout, v, value);
    }

    /// Assigns the variables of a range in their order at a temperature: variables of two values by the Metropolis
    /// rule, others by a heat bath.
    #[inline(always)]
    pub fn sweep(
        &mut self,
        core: CyclingTables<'_>,
        variables: std::ops::Range<usize>,
        boltzmann: Boltzmann,
        rng: &mut Rng,
    ) {
        let [limit, _] = boltzmann.numbers();
        let limit = limit as i32;
        for v in variables {
            let own = usize::from(self.kept.values[v]);
            let row = self.kept.costs_of(core.layout, v);
            let value = match core.tables.domain(v) {
                0 | 1 => continue,
                2 => {
                    let more = row[1 - own] - row[own];
                    if more > limit || (more > 0 && boltzmann.weight(more as u32) <= (rng.draw() >> 43) as u32) {
                        continue;
                    }
                    1 - own
                }
                _ => {
                    let most = row[own] + limit;
                    if row.iter().map(|&cost| i32::from(cost <= most)).sum::<i32>() < 2 {
                        continue;
                    }
                    let least = Least(row.iter().copied().fold(i32::MAX, i32::min));
                    self.weights.resize(row.len(), 0);
                    let sum = boltzmann_weights(&boltzmann, row, least, &mut self.weights);
                    select(&self.weights, below(rng.draw(), sum))
                }
            };
            if value != own {
                self.set(core, v, value as u16);
                self.moves += 1;
            }
        }
    }

    /// Assigns the variables of a range their best values.
    #[inline(always)]
    pub fn descend(&mut self, core: CyclingTables<'_>, variables: std::ops::Range<usize>) {
        for v in variables {
            let row = self.kept.costs_of(core.layout, v);
            let own = row[usize::from(self.kept.values[v])];
            let least = row.iter().copied().fold(i32::MAX, i32::min);
            if least < own {
                let best = row.iter().position(|&cost| cost == least).unwrap_or(0);
                self.set(core, v, best as u16);
                self.moves += 1;
            }
        }
    }

    /// Takes over the components of the differences from another assignment that lower the cost (the differing
    /// variables induce components of the constraint graph). Returns the number of differing variables, or fewer if
    /// `stop` is set, which leaves the remaining components as they are. Unlike [`PartitionCrossover`] it visits only
    /// the differences instead of all functions, and keeps the costs up to date.
    ///
    /// [`PartitionCrossover`]: crate::core::crossover::PartitionCrossover
    #[inline(always)]
    pub fn take_better(&mut self, core: CyclingTables<'_>, other: &[u16], stop: &Stop) -> usize {
        let mut variables = 0;
        for (differs, (own, other)) in self.differs.iter_mut().zip(self.kept.values.iter().zip(other)) {
            *differs = own != other;
        }
        for first in 0..other.len() {
            if !std::mem::take(&mut self.differs[first]) {
                continue;
            }
            if stop.is_set() {
                break;
            }
            self.part.clear();
            self.part.push(first as u32);
            self.had.clear();
            let before = self.kept.energy;
            let mut at = 0;
            while at < self.part.len() {
                let v = self.part[at] as usize;
                at += 1;
                self.had.push(self.kept.values[v]);
                self.set(core, v, other[v]);
                for row in core.layout.affected(v) {
                    let next = row.variable;
                    if std::mem::take(&mut self.differs[next as usize]) {
                        self.part.push(next);
                    }
                }
            }
            variables += at;
            if self.kept.energy >= before {
                for k in 0..at {
                    self.set(core, self.part[k] as usize, self.had[k]);
                }
            }
        }
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::crossover::PartitionCrossover;
    use fangs_testing::cores::{assignment, price, random_dense};
    use std::sync::Arc;

    #[test]
    fn kept_costs_are_what_is_computed_again() {
        let (mut rng, stop) = (Rng::new(3), Stop::new());
        let mut moved = 0;
        for case in 0..300 {
            let problem = Arc::new(random_dense(&mut rng));
            let tables = ValueTables::new(&problem, price(&problem));
            let layout = MoveLayout::new(&tables, &Stop::new()).expect("no stop is set");
            let core = CyclingTables { tables: &tables, layout: &layout };
            let n = problem.variables();
            let mut walk = CyclingWalk::new(core, assignment(&problem, &mut rng), &stop).expect("no stop is set");
            let other = assignment(&problem, &mut rng);
            for step in 0..4 {
                match step {
                    0 | 1 => walk.sweep(core, 0..n, Boltzmann::new(4.0), &mut rng),
                    2 => assert!(walk.take_better(core, &other, &stop) <= n),
                    _ => (0..100).for_each(|_| walk.descend(core, 0..n)),
                }
                let again = CyclingWalk::new(core, walk.kept.values.clone(), &stop).expect("no stop is set");
                assert_eq!(
                    (walk.kept.energy, &walk.kept.costs),
                    (again.kept.energy, &again.kept.costs),
                    "case {case}, step {step}"
                );
            }
            moved += walk.moves;
            for v in 0..n {
                let row = &walk.kept.costs[layout.range(v)];
                assert_eq!(row.iter().min(), Some(&row[usize::from(walk.kept.values[v])]), "case {case}");
            }
        }
        assert!(moved > 300, "{moved}");
    }

    #[test]
    fn takes_the_cheaper_parts() {
        let (mut rng, stop) = (Rng::new(4), Stop::new());
        let (mut merge, mut mixed) = (PartitionCrossover::default(), 0);
        for case in 0..1000 {
            let problem = Arc::new(random_dense(&mut rng));
            let tables = ValueTables::new(&problem, price(&problem));
            let layout = MoveLayout::new(&tables, &Stop::new()).expect("no stop is set");
            let core = CyclingTables { tables: &tables, layout: &layout };
            let (a, b) = (assignment(&problem, &mut rng), assignment(&problem, &mut rng));
            let mut walk = CyclingWalk::new(core, a.clone(), &stop).expect("no stop is set");
            let variables = walk.take_better(core, &b, &stop);
            assert_eq!(variables, (0..a.len()).filter(|&v| a[v] != b[v]).count(), "case {case}");
            let mut best = a.clone();
            merge.take_better(&tables, &mut best, &b, rng.draw(), &stop).expect("no stop is set");
            let best = CyclingWalk::new(core, best, &stop).expect("no stop is set");
            // the partition crossover compares costs before they are rounded by shifting
            assert!(walk.kept.energy == best.kept.energy || tables.shift > 0, "case {case}");
            mixed += u32::from(walk.kept.values != a && walk.kept.values != b);
        }
        assert!(mixed > 100, "{mixed}");
    }
}
