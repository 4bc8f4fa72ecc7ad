//! The core-guided algorithm OLL (Andres, Kaufmann, Matheis, Schaub, "Unsatisfiability-based optimization in clasp",
//! 2012; Morgado, Dodaro, Marques-Silva, "Core-guided MaxSAT with soft cardinality constraints", 2014) with the
//! additions of RC2 (Ignatiev, Morgado, Marques-Silva, "RC2: an efficient MaxSAT solver", 2019). Cores are relaxed only
//! once no other core is left at their weight (Berg, Järvisalo, "Weight-aware core extraction in SAT-based MaxSAT
//! solving", 2017).
//!
//! The invariant is that a solution costs the bound plus the weights of the literals that are false in it. At least one
//! literal of a core is false. The least weight of the core's literals moves to the bound, and to new literals that
//! count how many more of them are false.

use super::counter::Counter;
use super::groups;
use super::solver::{Lit, Sat, Verdict};
use crate::model::Cost;
use crate::stop::Stop;
use crate::tuning::tuning;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// The bound of a core-guided search, and the state of the work that raises it.
#[derive(Debug)]
pub struct Descent {
    pub sat: Sat,
    /// Cost, in addition to the bound, of a false literal, by the literal's index.
    weights: Vec<Cost>,
    /// The literals that have a weight.
    softs: Vec<Lit>,
    /// Literals that state that at most a number of a sum's core literals are false, with the sum and the number.
    outputs: FxHashMap<Lit, (usize, usize)>,
    sums: Vec<Sum>,
    /// Cores that the bound includes but that are not relaxed yet.
    found: Vec<Core>,
    lower: Cost,
    upper: Cost,
    /// Weight from which literals are assumed.
    least: Cost,
    phase: Phase,
}

/// A relaxed core: a count of its false literals.
#[derive(Debug)]
struct Sum {
    counter: Counter,
    /// Number of its counted literals that must hold.
    bound: usize,
    weight: Cost,
}

/// Assumptions that contradict each other, and their least weight.
#[derive(Debug)]
struct Core {
    literals: Vec<Lit>,
    weight: Cost,
}

/// What the next call of the solver does.
#[derive(Debug, Default)]
enum Phase {
    /// Assumes all literals of the stratum.
    #[default]
    Assume,
    /// Trims a core by assuming its own literals; has done so this many times.
    Trim(Vec<Lit>, u32),
    /// Minimises a core by leaving out each literal once. Literals before the index are needed, or were not proved
    /// unneeded. The last number is the decisions left.
    Minimise(Vec<Lit>, usize, u64),
    /// Asks whether one more of the last sum's literals must hold.
    Exhaust,
    /// The bound is the optimum, or the limit because no solution is below it.
    Over,
}

impl Descent {
    /// Creates the search for clauses and soft literals, some of which may exclude each other. Solutions that cost
    /// `upper` or more are of no interest.
    pub fn new(sat: Sat, softs: &[(Lit, Cost)], constant: Cost, upper: Cost) -> Descent {
        let mut descent = Descent {
            sat,
            weights: Vec::new(),
            softs: Vec::new(),
            outputs: FxHashMap::default(),
            sums: Vec::new(),
            found: Vec::new(),
            lower: constant,
            upper,
            least: Cost::MAX,
            phase: Phase::Assume,
        };
        softs.iter().for_each(|&(literal, weight)| descent.soften(literal, weight));
        for at in 0..descent.softs.len() {
            let literal = descent.softs[at];
            // one literal of a complementary pair is false
            let both = descent.weight(literal).min(descent.weight(!literal));
            descent.charge(&[literal, !literal], both);
        }
        descent.next_stratum();
        descent
    }

    /// Takes groups of literals into account of which at most one can hold. Each pair in `pairs` has a literal that
    /// holds.
    pub fn group(&mut self, pairs: &[(Lit, Lit)], stop: &Stop) {
        let weight_of = |literal: Lit| self.weight(literal);
        for (mut group, weight) in groups::at_most_one(pairs, weight_of, stop) {
            // all literals but one are false, and the last one is false only if the new literal is
            group.iter().for_each(|&literal| self.charge(&[literal], weight));
            self.lower = self.lower.saturating_sub(weight);
            let one = self.sat.literal();
            group.push(!one);
            self.sat.add(&group);
            self.soften(one, weight);
        }
        self.least = Cost::MAX;
        self.next_stratum();
    }

    /// Returns the lower bound on the solutions below the limit.
    pub fn lower(&self) -> Cost {
        self.lower.min(self.upper)
    }

    /// Returns whether the bound is the optimum, or the limit because no solution is below it.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Restricts the search to solutions below `upper`.
    pub fn tighten(&mut self, upper: Cost) {
        if upper < self.upper {
            self.upper = upper;
            self.harden();
        }
    }

    /// Calls the solver once with at most `ticks` decisions. Returns whether it found a model; the caller then reports
    /// its cost by [`Descent::tighten`] and calls [`Descent::satisfied`].
    pub fn step(&mut self, ticks: u64, stop: &Stop) -> bool {
        if self.lower >= self.upper {
            self.phase = Phase::Over;
        }
        match std::mem::take(&mut self.phase) {
            Phase::Over => self.phase = Phase::Over,
            Phase::Assume => {
                let least = self.least;
                let mut assumed: Vec<Lit> = self.softs.clone();
                assumed.retain(|&literal| self.weight(literal) >= least);
                // literals of high weight first, which makes them more frequent in cores
                assumed.sort_by_key(|&literal| Reverse(self.weight(literal)));
                match self.sat.solve(&assumed, ticks, stop) {
                    Verdict::Satisfiable => return true,
                    Verdict::Unsatisfiable => self.phase = self.within(self.sat.core(), 0),
                    Verdict::Unknown => {}
                }
            }
            Phase::Trim(core, trims) => match self.sat.solve(&core, ticks.min(tuning().cores.trimming), stop) {
                Verdict::Unsatisfiable => {
                    let smaller = self.sat.core();
                    let trims = if smaller.len() < core.len() { trims + 1 } else { tuning().cores.trims };
                    self.phase = self.within(smaller, trims);
                }
                _ if stop.is_set() => self.phase = Phase::Trim(core, trims),
                _ => self.phase = self.within(core, tuning().cores.trims),
            },
            Phase::Minimise(core, at, left) => self.minimise(core, at, left, ticks, stop),
            Phase::Exhaust => self.exhaust(ticks, stop),
        }
        false
    }

    /// Continues after the cost of the last model has been reported.
    pub fn satisfied(&mut self) {
        if self.found.is_empty() {
            self.next_stratum();
        } else {
            self.relax();
        }
    }

    fn weight(&self, literal: Lit) -> Cost {
        self.weights.get(literal.idx() as usize).copied().unwrap_or(0)
    }

    fn soften(&mut self, literal: Lit, weight: Cost) {
        let at = literal.idx() as usize;
        if self.weights.len() <= at {
            self.weights.resize(at + 1, 0);
        }
        if self.weights[at] == 0 {
            self.softs.push(literal);
        }
        self.weights[at] = self.weights[at].saturating_add(weight);
    }

    /// Moves the weight of a core to the bound: one of its literals is false.
    fn charge(&mut self, core: &[Lit], weight: Cost) {
        self.lower = self.lower.saturating_add(weight);
        for literal in core.iter().filter(|_| weight > 0) {
            self.weights[literal.idx() as usize] -= weight;
        }
    }

    /// Lowers the stratum to literals of less weight, if there are any. If all were assumed, the model has cost the
    /// bound.
    fn next_stratum(&mut self) {
        let weights = &self.weights;
        self.softs.retain(|literal| weights[literal.idx() as usize] > 0);
        let mut sorted: Vec<Cost> = self.softs.iter().map(|&literal| self.weight(literal)).collect();
        sorted.sort_unstable_by_key(|&weight| Reverse(weight));
        let lighter = sorted.partition_point(|&weight| weight >= self.least);
        let narrow = sorted[lighter..].chunk_by(|a, b| a == b).count() / tuning().cores.strata;
        let (mut heavier, mut added) = (0, 0);
        for (different, equal) in (1..).zip(sorted.chunk_by(|a, b| a == b)) {
            heavier += equal.len();
            added += usize::from(equal[0] < self.least);
            let is_wide = added > narrow && heavier as f64 / different as f64 > tuning().cores.diversity;
            if is_wide || added > 0 && heavier == sorted.len() {
                self.least = equal[0];
                return;
            }
        }
    }

    /// Makes literals hard whose weight is the whole gap.
    fn harden(&mut self) {
        let gap = self.upper.saturating_sub(self.lower);
        for literal in std::mem::take(&mut self.softs) {
            match self.weight(literal) {
                0 => {}
                weight if weight >= gap => {
                    self.sat.add(&[literal]);
                    self.weights[literal.idx() as usize] = 0;
                }
                _ => self.softs.push(literal),
            }
        }
    }

    /// Returns what to do with a core. An empty core proves that no solution is below the limit.
    fn within(&mut self, mut core: Vec<Lit>, trims: u32) -> Phase {
        match core.len() {
            0 => {
                self.lower = self.upper;
                Phase::Over
            }
            2.. if trims < tuning().cores.trims => Phase::Trim(core, trims),
            2.. if core.len() <= tuning().cores.minimised => {
                // literals of low weight first: the remaining ones then have more weight
                core.sort_by_key(|&literal| (self.weight(literal), literal));
                Phase::Minimise(core, 0, tuning().cores.minimising)
            }
            _ => {
                self.take(core);
                Phase::Assume
            }
        }
    }

    fn minimise(&mut self, mut core: Vec<Lit>, mut at: usize, left: u64, ticks: u64, stop: &Stop) {
        if at == core.len() || core.len() < 2 || left == 0 {
            self.take(core);
            return;
        }
        let mut others = core.clone();
        let _ = others.remove(at);
        let before = self.sat.ticks();
        match self.sat.solve(&others, ticks.min(left), stop) {
            Verdict::Unsatisfiable => {
                let smaller = self.sat.core();
                if smaller.is_empty() {
                    self.phase = self.within(smaller, 0);
                    return;
                }
                at = core[..at].iter().filter(|&literal| smaller.contains(literal)).count();
                core.retain(|literal| smaller.contains(literal));
            }
            _ if stop.is_set() => {}
            _ => at += 1,
        }
        self.phase = Phase::Minimise(core, at, left.saturating_sub(self.sat.ticks() - before));
    }

    /// Raises the bound by a core, which is relaxed later.
    fn take(&mut self, core: Vec<Lit>) {
        let weight = core.iter().map(|&literal| self.weight(literal)).min().unwrap_or(0);
        self.charge(&core, weight);
        let clause: Vec<Lit> = core.iter().map(|&literal| !literal).collect();
        self.sat.add(&clause);
        self.found.push(Core { literals: core, weight });
        self.harden();
    }

    /// Relaxes the next core found: more than one of its literals may then be false, at the core's weight each.
    fn relax(&mut self) {
        while let Some(Core { literals, weight }) = self.found.pop() {
            for literal in &literals {
                if let Some((sum, bound)) = self.outputs.remove(literal) {
                    self.allow(sum, bound + 1);
                }
            }
            if literals.len() > 1 {
                let counter = Counter::new(literals.into_iter().map(|literal| !literal).collect());
                self.sums.push(Sum { counter, bound: 1, weight });
                self.phase = Phase::Exhaust;
                return;
            }
        }
    }

    /// Adds a literal so that more than `bound` true literals of a sum cost the sum's weight.
    fn allow(&mut self, sum: usize, bound: usize) {
        let Sum { counter, weight, .. } = &mut self.sums[sum];
        if bound < counter.size() {
            let (more, weight) = (counter.more_than(bound, &mut self.sat), *weight);
            let _ = self.outputs.insert(!more, (sum, bound));
            self.soften(!more, weight);
        }
    }

    /// Asks whether one more of the last sum's literals holds in any case, which raises the bound at once.
    fn exhaust(&mut self, ticks: u64, stop: &Stop) {
        let Some((last, Sum { counter, bound, weight })) = self.sums.len().checked_sub(1).zip(self.sums.last_mut())
        else {
            return;
        };
        if *bound == counter.size() {
            self.relax();
            return;
        }
        let more = counter.more_than(*bound, &mut self.sat);
        let (before, weight) = (*bound, *weight);
        match self.sat.solve(&[!more], ticks.min(tuning().cores.exhausting), stop) {
            Verdict::Unsatisfiable => {
                *bound += 1;
                self.sat.add(&[more]);
                self.lower = self.lower.saturating_add(weight);
                self.harden();
                self.phase = Phase::Exhaust;
            }
            _ if stop.is_set() => self.phase = Phase::Exhaust,
            _ => {
                self.allow(last, before);
                self.relax();
            }
        }
    }
}
