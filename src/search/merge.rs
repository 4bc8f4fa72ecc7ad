//! Component-wise merge of two assignments ("partition crossover", ALGORITHMS M.2.5): where they differ, the constraint
//! graph falls into parts that do not see each other; of each part the cheaper version is taken.

use super::rows::Rows;
use crate::model::{Cost, FORBIDDEN};
use crate::rng::mix;

/// Scratch of the merge.
#[derive(Clone, Debug, Default)]
pub(crate) struct Merge {
    root: Vec<u32>,
    delta: Vec<Cost>,
}

impl Merge {
    /// Makes `ours` the best combination of both by components; a tie goes by a random bit.
    pub fn take_better(&mut self, rows: &Rows, ours: &mut [u16], theirs: &[u16], draw: u64) {
        let n = ours.len();
        self.root.clear();
        self.root.extend(0..n as u32);
        self.delta.clear();
        self.delta.resize(n, 0);
        let problem = &rows.problem;
        for function in &problem.functions {
            let mut differing = function.scope.iter().copied().filter(|&v| ours[v as usize] != theirs[v as usize]);
            if let Some(first) = differing.next() {
                for other in differing {
                    self.union(first, other);
                }
            }
        }
        let price = |cost: Cost| if cost >= FORBIDDEN { rows.price() } else { cost };
        for function in &problem.functions {
            let differing = function.scope.iter().copied().find(|&v| ours[v as usize] != theirs[v as usize]);
            if let Some(v) = differing {
                let root = self.find(v) as usize;
                self.delta[root] += price(rows.entry(function, theirs)) - price(rows.entry(function, ours));
            }
        }
        for v in 0..n {
            if ours[v] != theirs[v] {
                let root = self.find(v as u32) as usize;
                self.delta[root] +=
                    price(problem.unary[v][theirs[v] as usize]) - price(problem.unary[v][ours[v] as usize]);
            }
        }
        for v in 0..n {
            if ours[v] != theirs[v] {
                let root = self.find(v as u32) as usize;
                let delta = self.delta[root];
                if delta < 0 || (delta == 0 && mix(draw, root as u64) & 1 == 1) {
                    ours[v] = theirs[v];
                }
            }
        }
    }

    fn find(&mut self, mut v: u32) -> u32 {
        while self.root[v as usize] != v {
            let up = self.root[self.root[v as usize] as usize];
            self.root[v as usize] = up;
            v = up;
        }
        v
    }

    fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        // the smaller index is the root: the same components whatever the order of the functions
        if a != b {
            self.root[a.max(b) as usize] = a.min(b);
        }
    }
}
