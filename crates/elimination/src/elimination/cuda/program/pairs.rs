//! Steps on pairs of probabilities and utilities: sums of products, expectations of sums, and largest sums.

use super::{Content, Pair, Program, Room, Task};
use crate::elimination::cuda::shape::{Chip, INPUTS};
use crate::elimination::cuda::variant::Role;
use crate::elimination::plan::Source;
use crate::model::Scope;

/// Largest number of utilities that a step adds up; if there are more, steps before it add them up.
const SUMS: usize = 4;
/// Largest number of probabilities that a step multiplies, because it also writes one table.
const PRODUCTS: usize = INPUTS - SUMS - 1;

/// A program that is built step by step. Scopes are ascending positions; tables are identified by their indices.
#[derive(Debug)]
pub struct Pairing {
    program: Program,
    tasks: Vec<Task>,
}

/// Utilities of which a chance variable takes the expectation.
#[derive(Clone, Debug)]
pub struct Expected<'a> {
    /// Tables that are added up.
    pub tables: Vec<usize>,
    /// The positions that the sum of the tables reads.
    pub scope: &'a [u32],
    /// The positions that the expectation reads.
    pub output: &'a [u32],
}

impl Pairing {
    /// Creates an empty program for variables of the given domain sizes, by position, in `entries` entries of device
    /// memory.
    pub fn new(domains: &[u32], entries: u64) -> Self {
        let room = Room { keep_messages: false, bytes: size_of::<f64>() as u64, entries };
        let program = Program { room, domains: domains.to_vec(), ..Program::default() };
        Pairing { program, tasks: Vec::new() }
    }

    /// Adds the table of a function, which the host fills, and returns it.
    pub fn function(&mut self, number: u32, scope: &[u32]) -> usize {
        self.program.table(scope.into(), Content::Source(Source::Function(number)), 0)
    }

    /// Eliminates a chance variable. Returns the table of the sum of the product of probabilities with the index of its
    /// range, if there are probabilities, and the tables of the expectations.
    pub fn sum(
        &mut self,
        position: u32,
        probabilities: &[usize],
        output: &[u32],
        expected: Vec<Expected<'_>>,
    ) -> (Option<(usize, usize)>, Vec<usize>) {
        let folded = || Scope::from([position]);
        let domain = self.program.size(&[position]);
        let work = |program: &Program, scope: &[u32]| program.size(scope).saturating_mul(domain);
        let joint = work(&self.program, output);
        let all = expected.iter().map(|group| work(&self.program, group.output)).fold(joint, u64::max);
        let products = self.program.pre_join(probabilities.to_vec(), PRODUCTS, all, &mut self.tasks);
        let mut sum = None;
        let mut made = Vec::new();
        for Expected { tables, scope, output: wide } in expected {
            let sums = self.added(tables, scope);
            let inputs = products.iter().chain(&sums).copied().collect();
            let work = work(&self.program, wide);
            // the first expectation over the same variables also makes the sum
            let also = wide == output && sum.is_none() && !products.is_empty();
            let pair = Pair { role: Role::Expect, sums: sums.len() as u32, also, tie: 0.0, margin: 0.0 };
            let (table, second) = self.pair(wide.into(), inputs, folded(), work, pair);
            made.push(table);
            sum = sum.or(second);
        }
        if !products.is_empty() && sum.is_none() {
            sum = Some(self.program.task(output.into(), products, folded(), joint, &mut self.tasks));
        }
        (sum.map(|table| (table, self.program.settle_later(table, None))), made)
    }

    /// Adds a step whose product of probabilities must not depend on a variable. Returns the table of the product at
    /// the first value, and the index of the range of the differences between values, relative to the largest product.
    pub fn constant(&mut self, position: u32, probabilities: &[usize], output: &[u32]) -> (usize, usize) {
        let work = self.program.size(output).saturating_mul(self.program.size(&[position]));
        let products = self.program.pre_join(probabilities.to_vec(), PRODUCTS, work, &mut self.tasks);
        let pair = Pair { role: Role::Constant, sums: 0, also: true, tie: 0.0, margin: 0.0 };
        let (table, second) = self.pair(output.into(), products, [position].into(), work, pair);
        (table, self.program.settle_later(second.unwrap_or(table), None))
    }

    /// Adds a step that maximises a sum of utilities. Returns the table of the largest sums, and the table of the
    /// choices: the bits of an entry are twice the number of the chosen value, plus 1 if the choice is certain.
    pub fn largest(&mut self, position: u32, expected: Expected<'_>, tie: f64, margin: f64) -> (usize, usize) {
        let Expected { tables, scope, output } = expected;
        let sums = self.added(tables, scope);
        let work = self.program.size(output).saturating_mul(self.program.size(&[position]));
        let pair = Pair { role: Role::Largest, sums: sums.len() as u32, also: true, tie, margin };
        let (table, second) = self.pair(output.into(), sums, [position].into(), work, pair);
        let chosen = second.unwrap_or(table);
        self.keep(chosen);
        (table, chosen)
    }

    /// Keeps a table after the run, for [`Program::whole`].
    pub fn keep(&mut self, table: usize) {
        self.program.results.push(table);
    }

    /// Places all tables and describes all steps.
    ///
    /// # Errors
    /// Returns the number of entries of device memory that the program takes, if there are fewer.
    pub fn complete(self, chip: &Chip) -> Result<Program, u64> {
        self.program.complete(self.tasks, chip)
    }

    /// Adds a step on pairs. Returns its table and, if it makes two, the second.
    fn pair(
        &mut self,
        scope: Scope,
        inputs: Vec<usize>,
        folded: Scope,
        work: u64,
        pair: Pair,
    ) -> (usize, Option<usize>) {
        let table = self.program.task(scope.clone(), inputs, folded, work, &mut self.tasks);
        let level = self.program.tables[table].made;
        let second = pair.also.then(|| self.program.table(scope, Content::Made, level));
        if let Some(task) = self.tasks.last_mut() {
            task.pair = Some(pair);
            task.inputs.extend(second);
        }
        (table, second)
    }

    /// Adds steps that reduce the utilities to the number that one step adds up.
    fn added(&mut self, mut tables: Vec<usize>, scope: &[u32]) -> Vec<usize> {
        while tables.len() > SUMS {
            // small tables are added up first
            tables.sort_by_key(|&table| self.program.tables[table].entries);
            let some: Vec<usize> = tables.drain(..tables.len().min(INPUTS)).collect();
            let read = |p: &u32| some.iter().any(|&table| self.program.tables[table].scope.contains(p));
            let own: Scope = scope.iter().copied().filter(read).collect();
            let sums = some.len() as u32;
            let pair = Pair { role: Role::Expect, sums, also: false, tie: 0.0, margin: 0.0 };
            let (table, _) = self.pair(own, some, Scope::default(), 0, pair);
            tables.push(table);
        }
        tables
    }
}

impl Program {
    /// Returns a table that is kept, out of the entries that are kept.
    pub fn whole(&self, table: usize, kept: &[f64]) -> crate::tensor::storage::Storage<f64> {
        self.tables[table].whole(kept)
    }
}
