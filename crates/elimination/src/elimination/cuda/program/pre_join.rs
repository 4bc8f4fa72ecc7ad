//! Pre-joins: products of inputs that are made before a step.

use super::{Program, Task};
use crate::elimination::cuda::shape::INPUTS;
use crate::model::Scope;
use std::collections::BTreeMap;

/// A pre-join pays if its table is smaller than the step's combinations by this factor,
const SMALLER: u64 = 32;
/// and the step has at least this number of combinations.
const WORTHWHILE: u64 = 1 << 22;
/// Number of clusters among which pairs are compared.
const CANDIDATES: usize = 32;

impl Program {
    /// Adds pre-joins until at most `most` inputs are left, and further ones if they make a large step faster. Returns
    /// the remaining inputs.
    pub(super) fn pre_join(
        &mut self,
        inputs: Vec<usize>,
        most: usize,
        joint: u64,
        tasks: &mut Vec<Task>,
    ) -> Vec<usize> {
        if inputs.len() <= most && joint < WORTHWHILE {
            return inputs;
        }
        // clusters of inputs and the positions that they cover; inputs of equal scope are one cluster from the start
        let mut clusters: BTreeMap<Scope, Vec<usize>> = BTreeMap::new();
        for input in inputs {
            clusters.entry(self.tables[input].scope.clone()).or_default().push(input);
        }
        let mut clusters: Vec<(u64, Scope, Vec<usize>)> =
            clusters.into_iter().map(|(scope, inputs)| (self.size(&scope), scope, inputs)).collect();
        loop {
            clusters.sort_by_key(|(size, ..)| *size);
            let mut best: Option<(u64, usize, usize, Scope)> = None;
            for (b, (_, scope, _)) in clusters.iter().enumerate().take(CANDIDATES) {
                for (a, (_, other, _)) in clusters.iter().enumerate().take(b) {
                    let union = union(scope, other);
                    let size = self.size(&union);
                    if best.as_ref().is_none_or(|(least, ..)| size < *least) {
                        best = Some((size, a, b, union));
                    }
                }
            }
            let Some((size, a, b, union)) = best else { break };
            let pays = joint >= WORTHWHILE && size.saturating_mul(SMALLER) <= joint;
            if clusters.len() <= most && !pays {
                break;
            }
            let (.., inputs) = clusters.remove(b);
            clusters[a].0 = size;
            clusters[a].1 = union;
            clusters[a].2.extend(inputs);
        }
        let few = clusters.iter().map(|(.., inputs)| inputs.len()).sum::<usize>() <= most;
        let mut joined = Vec::new();
        for (size, scope, mut inputs) in clusters {
            let pays = joint >= WORTHWHILE && size.saturating_mul(SMALLER) <= joint;
            if few && !pays {
                joined.extend(inputs);
                continue;
            }
            while inputs.len() > 1 {
                // small tables are added up first, so that large sums are made late
                inputs.sort_by_key(|&input| self.tables[input].entries);
                let last = inputs.len() <= INPUTS;
                let mut sums = Vec::new();
                for part in inputs.chunks(INPUTS) {
                    let scope = match last {
                        true => scope.clone(),
                        false => part
                            .iter()
                            .fold(Scope::default(), |all: Scope, &input| union(&all, &self.tables[input].scope)),
                    };
                    sums.push((part.to_vec(), scope));
                }
                inputs = sums
                    .into_iter()
                    .map(|(part, scope)| match part[..] {
                        [alone] => alone,
                        _ => self.task(scope, part, Scope::default(), 0, tasks),
                    })
                    .collect();
            }
            joined.extend(inputs);
        }
        joined
    }
}

/// Returns the union of two ascending lists, ascending.
fn union(a: &[u32], b: &[u32]) -> Scope {
    let mut all: Vec<u32> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    all.dedup();
    all.into()
}
