//! Partition crossover of two assignments. The variables in which they differ induce components of the constraint
//! graph; for each component the version of lower cost is taken.

use crate::error::Error;
use crate::forest::find;
use crate::model::{Cost, FORBIDDEN};
use crate::rng::mix;
use crate::stop::Stop;
use crate::value_tables::ValueTables;

/// The scratch memory of a crossover.
#[derive(Clone, Debug, Default)]
pub struct PartitionCrossover {
    root: Vec<u32>,
    delta: Vec<Cost>,
}

impl PartitionCrossover {
    /// Replaces `ours` by the best combination of both assignments by components. A random bit decides ties.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn take_better(
        &mut self,
        tables: &ValueTables,
        ours: &mut [u16],
        theirs: &[u16],
        draw: u64,
        stop: &Stop,
    ) -> Result<(), Error> {
        let n = ours.len();
        self.root.clear();
        self.root.extend(0..n as u32);
        self.delta.clear();
        self.delta.resize(n, 0);
        let problem = &tables.problem;
        for function in stop.finish(&problem.functions) {
            let function = function?;
            let mut differing = function.scope.iter().copied().filter(|&v| ours[v as usize] != theirs[v as usize]);
            if let Some(first) = differing.next() {
                for other in differing {
                    self.union(first, other);
                }
            }
        }
        let price = |cost: Cost| if cost >= FORBIDDEN { tables.price() } else { cost };
        for function in stop.finish(&problem.functions) {
            let function = function?;
            let differing = function.scope.iter().copied().find(|&v| ours[v as usize] != theirs[v as usize]);
            if let Some(v) = differing {
                let root = self.find(v) as usize;
                self.delta[root] += price(tables.entry(function, theirs)) - price(tables.entry(function, ours));
            }
        }
        for v in stop.finish(0..n) {
            let v = v?;
            if ours[v] != theirs[v] {
                let root = self.find(v as u32) as usize;
                self.delta[root] +=
                    price(problem.unary[v][theirs[v] as usize]) - price(problem.unary[v][ours[v] as usize]);
            }
        }
        for v in stop.finish(0..n) {
            let v = v?;
            if ours[v] != theirs[v] {
                let root = self.find(v as u32) as usize;
                let delta = self.delta[root];
                if delta < 0 || (delta == 0 && mix(draw, root as u64) & 1 == 1) {
                    ours[v] = theirs[v];
                }
            }
        }
        Ok(())
    }

    fn find(&mut self, v: u32) -> u32 {
        find(&mut self.root, v)
    }

    fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        // the smaller index is the root, so that the components do not depend on the order of the functions
        if a != b {
            self.root[a.max(b) as usize] = a.min(b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use fangs_testing::cores::{assignment, price, random};
    use std::sync::Arc;

    /// Returns the components of the differing variables, by repeated flooding over shared functions.
    fn parts(tables: &ValueTables, a: &[u16], b: &[u16]) -> Vec<Vec<usize>> {
        let mut label: Vec<usize> = (0..a.len()).collect();
        for _ in 0..a.len() {
            for function in &tables.problem.functions {
                let inside = || function.scope.iter().map(|&v| v as usize).filter(|&v| a[v] != b[v]);
                let least = inside().map(|v| label[v]).min().unwrap_or(0);
                inside().for_each(|v| label[v] = least);
            }
        }
        let of = |l: usize| (0..a.len()).filter(|&v| a[v] != b[v] && label[v] == l).collect::<Vec<_>>();
        (0..a.len()).map(of).filter(|part| !part.is_empty()).collect()
    }

    #[test]
    fn takes_the_best_combination_of_components() {
        let mut rng = Rng::new(1);
        let mut merge = PartitionCrossover::default();
        let mut several = 0;
        for case in 0..2000 {
            let problem = Arc::new(random(&mut rng));
            let tables = ValueTables::new(&problem, price(&problem));
            let (a, b) = (assignment(&problem, &mut rng), assignment(&problem, &mut rng));
            let parts = parts(&tables, &a, &b);
            several += u32::from(parts.len() > 1);
            let combined = |choice: usize| {
                let mut values = a.clone();
                for (k, part) in parts.iter().enumerate() {
                    if choice >> k & 1 == 1 {
                        part.iter().for_each(|&v| values[v] = b[v]);
                    }
                }
                tables.energy(&values).total
            };
            let best = (0..1 << parts.len()).map(combined).min();
            let mut merged = a.clone();
            merge.take_better(&tables, &mut merged, &b, rng.draw(), &Stop::new()).expect("no stop is set");
            assert_eq!(Some(tables.energy(&merged).total), best, "case {case}");
            assert!(merged.iter().zip(a.iter().zip(&b)).all(|(m, (a, b))| m == a || m == b));
        }
        assert!(several > 300, "{several}");
    }
}
