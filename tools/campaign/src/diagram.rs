//! Influence diagrams and processes of the campaign, solved by plain recursion.

use crate::call::File;
use crate::network::{happens, one_of};
use crate::task::Problem;
use fangs_base::rng::Rng;
use std::fmt::Write;

/// Number of equal parts of which the probabilities of a row consist: four digits write them exactly.
const PARTS: u32 = 16;

/// A function of some variables: 16ths if it is a probability of its last variable, otherwise utilities in quarters.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The variables.
    pub scope: Vec<usize>,
    /// One entry for each combination of values, the last variable running fastest.
    pub entries: Vec<i64>,
}

/// An influence diagram. Blocks alternate between observed and decided variables, in the order of time; the last block
/// is never observed. Blocks of observed variables may be empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagram {
    /// Whether decisions have limited memory: each observes only the block before its own.
    pub forgets: bool,
    /// The number of values of each variable; variables are numbered in the order of time.
    pub domains: Vec<u32>,
    /// The variables of each block: chance variables at even positions, decisions at odd ones.
    pub blocks: Vec<Vec<usize>>,
    /// The probabilities of each chance variable.
    pub probabilities: Vec<Table>,
    /// The utilities.
    pub utilities: Vec<Table>,
}

/// Returns a random row of parts that sum to `PARTS`.
pub(crate) fn row(rng: &mut Rng, values: u32, certain: u64) -> Vec<i64> {
    let mut row = vec![0; values as usize];
    let sure = happens(rng, certain).then(|| rng.index(values as usize));
    for _ in 0..PARTS {
        row[sure.unwrap_or_else(|| rng.index(values as usize))] += 1;
    }
    row
}

impl Table {
    fn at(&self, domains: &[u32], values: &[u32]) -> f64 {
        let index = self.scope.iter().fold(0, |index, &v| index * domains[v] as usize + values[v] as usize);
        self.entries[index] as f64
    }
}

impl Diagram {
    /// Makes a random diagram.
    pub fn random(rng: &mut Rng) -> Diagram {
        let (decisions, forgets) = (1 + rng.index(2), happens(rng, 50));
        let (mut blocks, mut domains) = (Vec::new(), Vec::new());
        for place in 0..2 * decisions + 1 {
            let most = if place % 2 == 0 { rng.index(3) } else { 1 };
            let begin = domains.len();
            domains.extend((0..most).map(|_| if happens(rng, 10) { 1 } else { 2 + rng.below(2) as u32 }));
            blocks.push((begin..domains.len()).collect::<Vec<_>>());
        }
        let certain = one_of(rng, &[0, 0, 30, 80]);
        let mut diagram = Diagram { forgets, domains, blocks, probabilities: Vec::new(), utilities: Vec::new() };
        let n = diagram.domains.len();
        for v in diagram.blocks.iter().step_by(2).flatten().copied().collect::<Vec<_>>() {
            let mut scope: Vec<usize> = (0..v).collect();
            rng.shuffle(&mut scope);
            scope.truncate(rng.index(3));
            let rows = diagram.combinations(&scope);
            scope.push(v);
            let entries = (0..rows).flat_map(|_| row(rng, diagram.domains[v], certain)).collect();
            diagram.probabilities.push(Table { scope, entries });
        }
        for _ in 0..1 + rng.index(3) {
            let mut scope: Vec<usize> = (0..n).collect();
            rng.shuffle(&mut scope);
            scope.truncate(1 + rng.index(3));
            let entries = (0..diagram.combinations(&scope)).map(|_| rng.below(80) as i64 - 20).collect();
            diagram.utilities.push(Table { scope, entries });
        }
        diagram
    }

    fn combinations(&self, scope: &[usize]) -> usize {
        scope.iter().map(|&v| self.domains[v] as usize).product()
    }

    /// Returns the largest expected utility.
    pub fn best(&self) -> f64 {
        if !self.forgets {
            return self.value(0, &mut vec![0; self.domains.len()], None);
        }
        let decisions: Vec<(usize, Vec<usize>)> = self.seen();
        let rows: Vec<usize> = decisions.iter().map(|(_, sees)| self.combinations(sees)).collect();
        let mut policy: Vec<Vec<u32>> = rows.iter().map(|&rows| vec![0; rows]).collect();
        let mut best = f64::NEG_INFINITY;
        'all: loop {
            best = best.max(self.value(0, &mut vec![0; self.domains.len()], Some(&policy)));
            for (choices, (decision, _)) in policy.iter_mut().zip(&decisions) {
                for choice in choices {
                    *choice += 1;
                    if *choice < self.domains[*decision] {
                        continue 'all;
                    }
                    *choice = 0;
                }
            }
            return best;
        }
    }

    /// Returns the number of policies with limited memory.
    pub fn policies(&self) -> f64 {
        let of = |(decision, sees): &(usize, Vec<usize>)| {
            f64::from(self.domains[*decision]).powi(self.combinations(sees) as i32)
        };
        self.seen().iter().map(of).product()
    }

    /// Returns an upper bound on the absolute utility of an assignment.
    pub fn scale(&self) -> f64 {
        let largest = |table: &Table| table.entries.iter().map(|entry| entry.abs()).max().unwrap_or(0) as f64 / 4.0;
        1.0 + self.utilities.iter().map(largest).sum::<f64>()
    }

    /// Returns the decisions, and the variables that each observes with limited memory.
    fn seen(&self) -> Vec<(usize, Vec<usize>)> {
        let places = (1..self.blocks.len()).step_by(2);
        places.flat_map(|place| self.blocks[place].iter().map(move |&v| (v, self.blocks[place - 1].clone()))).collect()
    }

    /// Returns the expected utility from variable `v` on, in the order of time: the sum over chance variables, the
    /// largest value over decisions without a policy.
    fn value(&self, v: usize, values: &mut Vec<u32>, policy: Option<&[Vec<u32>]>) -> f64 {
        let n = self.domains.len();
        if v == n {
            let parts = self.probabilities.iter().map(|table| table.at(&self.domains, values) / f64::from(PARTS));
            let utility: f64 = self.utilities.iter().map(|table| table.at(&self.domains, values) / 4.0).sum();
            return parts.product::<f64>() * utility;
        }
        let decision = self.seen().iter().position(|(decision, _)| *decision == v);
        let choice = decision.zip(policy).map(|(place, policy)| {
            let sees = &self.blocks[2 * place];
            let index = sees.iter().fold(0, |index, &s| index * self.domains[s] as usize + values[s] as usize);
            policy[place][index]
        });
        let mut each = |value: u32| {
            values[v] = value;
            self.value(v + 1, values, policy)
        };
        match (choice, decision) {
            (Some(choice), _) => each(choice),
            (None, Some(_)) => (0..self.domains[v]).map(each).fold(f64::NEG_INFINITY, f64::max),
            (None, None) => (0..self.domains[v]).map(each).sum(),
        }
    }
}

impl Problem for Diagram {
    fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut offer = |change: &dyn Fn(&mut Diagram)| {
            let mut diagram = self.clone();
            change(&mut diagram);
            if diagram != *self {
                all.push(diagram);
            }
        };
        if self.utilities.len() > 1 {
            (0..self.utilities.len()).for_each(|u| offer(&|diagram| drop(diagram.utilities.remove(u))));
        }
        for (u, table) in self.utilities.iter().enumerate() {
            for place in 0..table.entries.len() {
                for simpler in [0, 4, table.entries[place] / 8 * 4] {
                    offer(&|diagram| diagram.utilities[u].entries[place] = simpler);
                }
            }
        }
        for (p, table) in self.probabilities.iter().enumerate() {
            let domain = table.scope.last().map_or(1, |&v| self.domains[v] as usize);
            for begin in (0..table.entries.len()).step_by(domain) {
                offer(&|diagram| {
                    let row = &mut diagram.probabilities[p].entries[begin..begin + domain];
                    row.fill(0);
                    row[0] = PARTS.into();
                });
            }
        }
        all
    }

    fn files(&self) -> Vec<File> {
        let mut texts = [String::new(), String::new(), String::new()];
        self.write(&mut texts).expect("text is written to memory");
        let [uai, id, pvo] = texts;
        vec![File { ending: "uai", text: uai }, File { ending: "id", text: id }, File { ending: "pvo", text: pvo }]
    }
}

impl Diagram {
    fn write(&self, [uai, id, pvo]: &mut [String; 3]) -> std::fmt::Result {
        let words = |items: &[usize]| items.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        let domains: Vec<String> = self.domains.iter().map(u32::to_string).collect();
        let tables = || self.probabilities.iter().map(|table| (table, 16.0));
        let tables = || tables().chain(self.utilities.iter().map(|table| (table, 4.0)));
        writeln!(uai, "{}\n{}", if self.forgets { "LIMID" } else { "ID" }, domains.len())?;
        writeln!(uai, "{}\n{}", domains.join(" "), tables().count())?;
        for (table, _) in tables() {
            writeln!(uai, "{} {}", table.scope.len(), words(&table.scope))?;
        }
        for (table, unit) in tables() {
            let entries: Vec<String> = table.entries.iter().map(|&entry| (entry as f64 / unit).to_string()).collect();
            writeln!(uai, "{}\n{}", entries.len(), entries.join(" "))?;
        }
        let is_decision = |v: usize| self.blocks.iter().skip(1).step_by(2).any(|block| block.contains(&v));
        let kinds: Vec<&str> = (0..domains.len()).map(|v| if is_decision(v) { "D" } else { "C" }).collect();
        writeln!(id, "{}\n{}\n{}", kinds.len(), kinds.join(" "), tables().count())?;
        let kinds: Vec<&str> = tables().map(|(_, unit)| if unit == 16.0 { "P" } else { "U" }).collect();
        writeln!(id, "{}", kinds.join(" "))?;
        // from the last block in time to the first one, without empty blocks at the ends
        let used: Vec<usize> = (0..self.blocks.len()).filter(|&place| !self.blocks[place].is_empty()).collect();
        let blocks = &self.blocks[used.first().copied().unwrap_or(0)..used.last().map_or(0, |last| last + 1)];
        writeln!(pvo, "{};\n{};", domains.len(), blocks.len())?;
        blocks.iter().rev().try_for_each(|block| writeln!(pvo, "{};", words(block)))
    }
}
