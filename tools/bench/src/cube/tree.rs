//! The junction tree of an elimination: the maximal cliques of its buckets, each with the functions of its buckets.

use crate::algebra::SumProduct;
use crate::elimination::{EliminationPlan, Factors, Source};
use crate::marginals::Sliced;
use crate::model::{Scaled, Scope, scale};
use crate::tensor;
use rayon::prelude::*;

/// A clique. Its positions are those of the elimination order.
#[derive(Debug, Default)]
pub(super) struct Clique {
    /// The positions of the clique, ascending.
    pub scope: Vec<u32>,
    /// The number of entries of the clique's table.
    pub entries: u64,
    /// The functions of the clique, and their positions.
    pub functions: Vec<(Source, Scope)>,
    /// The clique that receives the message in collect, and the positions of their separator; `None` for a root.
    pub parent: Option<(usize, Scope)>,
}

/// The cliques, each before the one that it sends its message to.
#[derive(Debug)]
pub(super) struct JunctionTree<'a> {
    sliced: &'a Sliced,
    plan: &'a EliminationPlan,
    pub cliques: Vec<Clique>,
}

impl<'a> JunctionTree<'a> {
    /// Builds the tree. A bucket is merged with the bucket of an input message if that message has all of its
    /// variables.
    pub fn new(sliced: &'a Sliced, plan: &'a EliminationPlan) -> Self {
        let mut to = vec![None; plan.steps.len()];
        let mut cliques: Vec<Clique> = Vec::new();
        // the clique of each step, and the last step of each clique
        let (mut of_step, mut last) = (Vec::with_capacity(plan.steps.len()), Vec::new());
        for (index, step) in plan.steps.iter().enumerate() {
            let scope = plan.scope(index);
            let mut own = None;
            for input in &step.inputs {
                if let Source::Message(from) = input.source {
                    to[from as usize] = Some(index);
                    if input.scope.len() == scope.len() {
                        own = Some(of_step[from as usize]);
                    }
                }
            }
            let own = own.unwrap_or_else(|| {
                cliques.push(Clique { entries: entries(plan, &scope), scope, ..Clique::default() });
                last.push(index);
                cliques.len() - 1
            });
            last[own] = index;
            let functions = step.inputs.iter().filter(|input| matches!(input.source, Source::Function(_)));
            cliques[own].functions.extend(functions.map(|input| (input.source, input.scope.clone())));
            of_step.push(own);
        }
        let mut sequence: Vec<usize> = (0..cliques.len()).collect();
        sequence.sort_by_key(|&clique| last[clique]);
        let mut place = vec![0; cliques.len()];
        sequence.iter().enumerate().for_each(|(at, &clique)| place[clique] = at);
        let sorted = sequence.into_iter().map(|clique| {
            let parent = to[last[clique]].map(|step| (place[of_step[step]], plan.steps[last[clique]].scope.clone()));
            Clique { parent, ..std::mem::take(&mut cliques[clique]) }
        });
        JunctionTree { sliced, plan, cliques: sorted.collect() }
    }

    /// Returns the product of a clique's functions, its positions ascending, and the multiplications of an entry.
    pub fn table(&self, clique: usize) -> (Vec<f64>, usize) {
        let Clique { scope, entries, functions, .. } = &self.cliques[clique];
        let sizes: Vec<usize> = scope.iter().map(|&p| self.size(p)).collect();
        let mut table = vec![1.0; *entries as usize];
        let mut exponent = 0;
        for (source, own) in functions {
            let Source::Function(function) = *source else { continue };
            exponent += self.sliced.functions[function as usize].exponent;
            let variables: Vec<u32> = own.iter().map(|&p| self.plan.sequence[p as usize]).collect();
            multiply(&mut table, &sizes, &self.sliced.load(*source, &variables, SumProduct), &self.steps(own, scope));
        }
        if exponent != 0 {
            table.par_iter_mut().for_each(|entry| *entry = scale(*entry, exponent));
        }
        (table, functions.len() + 1)
    }

    /// Returns the stride of each position of `scope` in a table over `own`; 0 if the table does not have the position.
    fn steps(&self, own: &[u32], scope: &[u32]) -> Vec<usize> {
        let strides = tensor::strides(&own.iter().map(|&p| self.size(p)).collect::<Vec<_>>());
        let step = |position: &u32| own.binary_search(position).map_or(0, |axis| strides[axis]);
        scope.iter().map(step).collect()
    }

    /// Returns the number of values at a position.
    pub fn size(&self, position: u32) -> usize {
        self.plan.domains[position as usize] as usize
    }

    /// Returns the number of entries of a table of some positions.
    pub fn entries(&self, scope: &[u32]) -> u64 {
        entries(self.plan, scope)
    }

    /// Returns the number of values at each position.
    pub fn domains(&self) -> &[u32] {
        &self.plan.domains
    }

    /// Returns the variable at a position, as its index in the file.
    pub fn variable(&self, position: u32) -> u32 {
        self.sliced.variables[self.plan.sequence[position as usize] as usize]
    }

    /// Returns the constant factor of the product.
    pub fn constant(&self) -> Scaled {
        self.sliced.constant
    }
}

fn entries(plan: &EliminationPlan, scope: &[u32]) -> u64 {
    scope.iter().fold(1, |entries, &p| entries.saturating_mul(u64::from(plan.domains[p as usize])))
}

/// Multiplies the entries of a table of the given sizes by those of a function, whose strides along the axes are
/// `steps`.
fn multiply(table: &mut [f64], sizes: &[usize], function: &[f64], steps: &[usize]) {
    let (Some((&run, outer)), Some((&step, steps))) = (sizes.split_last(), steps.split_last()) else { return };
    let rows = tensor::strides(outer);
    table.par_chunks_exact_mut(run).enumerate().for_each(|(row, entries)| {
        let axes = rows.iter().zip(outer).zip(steps);
        let base: usize = axes.map(|((stride, size), step)| row / stride % size * step).sum();
        entries.iter_mut().enumerate().for_each(|(value, entry)| *entry *= function[base + value * step]);
    });
}
