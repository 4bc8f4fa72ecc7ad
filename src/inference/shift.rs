//! Cost shifting: a network with the same cost for every assignment and a larger constant.
//!
//! What a function costs at least for a value of one of its variables moves to that value's unary cost, and unary costs move
//! to functions; what every value of a variable costs is what every assignment costs. Passes go along an order of the
//! variables, there and back: a variable collects from all its functions and gives most of it on to those that have
//! variables to come, as in sequential reweighted message passing (Kolmogorov, "A new look at reweighted message passing",
//! 2015; TRW-S for functions of two variables). No entry ever becomes negative, so the sum that has become constant is a
//! bound at any time, and it never falls.
//!
//! Everything is in integers. Costs are multiplied by a power of two before, so that shares can be smaller than the
//! network's unit; what a division leaves over stays where it was.

use super::blocks::NEVER;
use super::cap;
use super::journal::{Entry, Journal};
use super::run::Progress;
use crate::model::{Cost, CostFunction, FORBIDDEN, Odometer, Problem, Table};
use crate::stop::Stop;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// A scaled cost of a solution stays below this: tables of 32 bits take it, five of them summed (see `Plan::new`).
const SHORT: Cost = 1 << 28;
/// The same where the unscaled ones need 64 bits already.
const LONG: Cost = 1 << 48;
/// Parts of the network's unit, as a power of two: more than a few hundred gained nothing on SPOT5.
const MOST_BITS: u32 = 8;
/// Entries of a sparse function that is written out for shifting.
const WRITTEN_OUT: u64 = 1 << 16;
/// Passes there and back, at most.
const PASSES: u32 = 200;

/// A network on its way to a larger constant.
#[derive(Debug)]
pub struct Shift {
    problem: Arc<Problem>,
    /// Costs are multiplied by 2^bits.
    bits: u32,
    functions: Vec<Shifted>,
    /// For each variable its functions and its place in their scopes.
    incidence: Vec<Vec<(u32, u32)>>,
    unary: Vec<Vec<Cost>>,
    /// Scaled, and without the network's own constant.
    constant: Cost,
    /// Scaled: with the constant, no solution costs as much.
    range: Cost,
    order: Vec<u32>,
    /// How many variables of the pass at work are done, and how many passes are.
    at: usize,
    passes: u32,
    /// `constant` when this pass began.
    before: Cost,
    infeasible: bool,
    /// What was done, so that it can be checked; only where somebody wants to.
    journal: Option<Journal>,
    work: u64,
}

/// A function and what has been taken from it.
#[derive(Debug)]
struct Shifted {
    /// Scaled; `None` where it is too large to be written out, and keeps its entries.
    entries: Option<Arc<[Cost]>>,
    sizes: Vec<usize>,
    /// By place in the scope and value. Negative where more was given.
    taken: Vec<Vec<Cost>>,
    /// The place of the scope's first and last variable in the order.
    first: u32,
    last: u32,
}

impl Shift {
    /// Nothing is shifted yet. Costs from `ub` on need not be told apart; passes follow `order`. `None` where costs are too
    /// large for sums of 64 bits.
    pub fn new(problem: &Arc<Problem>, ub: Option<Cost>, order: &[u32]) -> Option<Shift> {
        let range = cap(problem, ub.unwrap_or(problem.top).min(problem.top)).max(1);
        if range >= LONG {
            return None;
        }
        let room = if range < SHORT { SHORT } else { LONG };
        let bits = (0..=MOST_BITS).take_while(|&bits| range < room >> bits).last().unwrap_or(0);
        let scaled = |cost: Cost| if cost >= range { NEVER } else { cost << bits };
        let mut place = vec![0u32; problem.variables()];
        for (at, &v) in order.iter().enumerate() {
            place[v as usize] = at as u32;
        }
        // equal tables are kept once, as the problem does
        let mut known: FxHashMap<*const Cost, Arc<[Cost]>> = FxHashMap::default();
        let mut constant: Cost = 0;
        let mut incidence = vec![Vec::new(); problem.variables()];
        let mut functions = Vec::with_capacity(problem.functions.len());
        for (index, function) in problem.functions.iter().enumerate() {
            let entries = match &function.table {
                Table::Dense(costs) => Some(
                    known
                        .entry(costs.as_ptr())
                        .or_insert_with(|| costs.iter().map(|&cost| scaled(cost)).collect())
                        .clone(),
                ),
                Table::Sparse(_) if function.combinations(&problem.domains) <= WRITTEN_OUT => {
                    Some(function.entries(&problem.domains).map(scaled).collect())
                }
                Table::Sparse(_) => None,
            };
            if entries.is_some() {
                for (at, &v) in function.scope.iter().enumerate() {
                    incidence[v as usize].push((index as u32, at as u32));
                }
            } else {
                constant = constant.saturating_add(scaled(function.min(&problem.domains)));
            }
            let places = || function.scope.iter().map(|&v| place[v as usize]);
            let sizes: Vec<usize> = function.scope.iter().map(|&v| problem.domains[v as usize] as usize).collect();
            functions.push(Shifted {
                entries,
                taken: sizes.iter().map(|&size| vec![0; size]).collect(),
                sizes,
                first: places().min().unwrap_or(0),
                last: places().max().unwrap_or(0),
            });
        }
        let unary = problem.unary.iter().map(|costs| costs.iter().map(|&cost| scaled(cost)).collect()).collect();
        Some(Shift {
            problem: problem.clone(),
            bits,
            functions,
            incidence,
            unary,
            constant,
            range: range << bits,
            order: order.to_vec(),
            at: 0,
            passes: 0,
            before: 0,
            infeasible: constant >= NEVER,
            journal: None,
            work: 0,
        })
    }

    /// From now on, which is before the first pass, keeps what [`Shift::entries`] tells.
    pub fn keep_journal(&mut self) {
        self.journal = Some(Journal::new(&self.problem));
    }

    /// The power of two that costs are multiplied by.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// All moves and lost values so far that lead from the network to the shifted one, where a journal was kept.
    pub fn entries(&self) -> Option<Vec<Entry>> {
        let taken = |function: u32, place: u32| &self.functions[function as usize].taken[place as usize][..];
        Some(self.journal.as_ref()?.complete(taken))
    }

    /// Bytes that shifting a problem takes, and those of the shifted problem.
    pub fn bytes(problem: &Problem) -> (u64, u64) {
        let mut known: FxHashSet<*const Cost> = FxHashSet::default();
        let (mut own, mut shifted) = (0u64, 0u64);
        for function in &problem.functions {
            let entries = function.combinations(&problem.domains);
            let new = match &function.table {
                Table::Dense(costs) => known.insert(costs.as_ptr()),
                Table::Sparse(_) if entries > WRITTEN_OUT => continue,
                Table::Sparse(_) => true,
            };
            let bytes = entries.saturating_mul(size_of::<Cost>() as u64);
            own = own.saturating_add(if new { bytes } else { 0 });
            shifted = shifted.saturating_add(bytes);
        }
        (own, shifted)
    }

    /// Does passes for about `work` entries. Done once a pass there and back gains less than a thousandth.
    pub fn advance(&mut self, work: u64, stop: &Stop) -> Progress {
        let mut left = work;
        let n = self.order.len();
        if n == 0 {
            return Progress::Done;
        }
        while !self.infeasible && self.passes < PASSES {
            if left == 0 || stop.is_set() {
                return Progress::More;
            }
            let forward = self.passes.is_multiple_of(2);
            let work = self.visit(forward) + 1;
            self.work += work;
            left = left.saturating_sub(work);
            self.at += 1;
            if self.at < n {
                continue;
            }
            self.at = 0;
            self.passes += 1;
            if !forward {
                if self.constant - self.before <= self.constant / 1000 {
                    self.passes = PASSES;
                }
                self.before = self.constant;
            }
        }
        Progress::Done
    }

    /// Collects what the next variable's functions cost for each of its values, keeps what all of them cost, and gives most of
    /// the rest on. Returns the entries looked at.
    fn visit(&mut self, forward: bool) -> u64 {
        let own = if forward { self.at } else { self.order.len() - 1 - self.at };
        let v = self.order[own] as usize;
        let own = own as u32;
        let ends = |function: &Shifted| {
            if forward { (function.first, function.last) } else { (function.last, function.first) }
        };
        let mut sum = std::mem::take(&mut self.unary[v]);
        let mut least = vec![0; sum.len()];
        let (mut work, mut onward, mut back) = (0, 0, 0);
        for &(index, at) in &self.incidence[v] {
            let function = &mut self.functions[index as usize];
            work += function.least(at as usize, &mut least);
            for ((sum, &least), taken) in sum.iter_mut().zip(&least).zip(&mut function.taken[at as usize]) {
                if least.max(*sum) >= NEVER / 2 {
                    *sum = NEVER;
                } else {
                    *sum += least;
                    *taken += least;
                }
            }
            let (from, to) = ends(function);
            onward += Cost::from(to != own);
            back += Cost::from(from != own);
        }
        let lowest = sum.iter().copied().min().unwrap_or(0);
        self.constant += lowest;
        if self.constant >= self.range {
            self.infeasible = true;
        }
        for sum in &mut sum {
            *sum -= lowest;
            // every solution with this value costs as much
            if *sum + self.constant >= self.range {
                *sum = NEVER;
            }
        }
        if let Some(journal) = &mut self.journal {
            let taken = |function: u32, place: u32| &self.functions[function as usize].taken[place as usize][..];
            journal.visited(v as u32, sum.iter().map(|&sum| sum == NEVER), taken);
        }
        let parts = onward.max(back).max(1);
        for (value, sum) in sum.iter_mut().enumerate() {
            let share = *sum / parts;
            if share == 0 {
                continue;
            }
            for &(index, at) in &self.incidence[v] {
                let function = &mut self.functions[index as usize];
                let (_, to) = ends(function);
                let taken = &mut function.taken[at as usize][value];
                if *sum == NEVER {
                    // all its entries look forbidden from now on
                    *taken = -NEVER;
                } else if to != own {
                    *taken -= share;
                }
            }
            if *sum < NEVER {
                *sum -= share * onward;
            }
        }
        self.unary[v] = sum;
        work
    }

    /// No solution costs less; `limit` or more where there is none below.
    pub fn lower_bound(&self, limit: Cost) -> Cost {
        if self.infeasible {
            return limit;
        }
        self.unscaled(self.constant).saturating_add(self.problem.constant).min(limit)
    }

    /// Entries looked at so far.
    pub fn work_done(&self) -> u64 {
        self.work
    }

    /// A better solution is known: what costs as much need not be told apart any more.
    pub fn below(&mut self, ub: Cost) {
        let room = ub.saturating_sub(self.problem.constant).max(1);
        if room < self.range >> self.bits {
            self.range = room << self.bits;
            self.infeasible |= self.constant >= self.range;
        }
    }

    /// What a solution with each value costs at least: the constant, the value's own cost and what each of its functions takes
    /// for it, shares of one sum as all that is moved. [`FORBIDDEN`] where no solution below the limit has the value.
    pub fn value_bounds(&self) -> Vec<Vec<Cost>> {
        let bounds = |v: usize| {
            let mut sum = self.unary[v].clone();
            let mut least = vec![0; sum.len()];
            for &(index, at) in &self.incidence[v] {
                let _ = self.functions[index as usize].least(at as usize, &mut least);
                sum.iter_mut().zip(&least).for_each(|(sum, &least)| *sum = (*sum + least).min(NEVER));
            }
            let total = |&sum: &Cost| match sum + self.constant {
                total if self.infeasible || total >= self.range => FORBIDDEN,
                total => self.unscaled(total) + self.problem.constant,
            };
            sum.iter().map(total).collect()
        };
        (0..self.unary.len()).into_par_iter().map(bounds).collect()
    }

    /// The cost that a scaled one stands for at least.
    fn unscaled(&self, scaled: Cost) -> Cost {
        // rounded up: costs are integers
        scaled.saturating_add((1 << self.bits) - 1) >> self.bits
    }

    /// The same for a bound on the shifted network.
    pub fn bound(&self, scaled: Cost) -> Cost {
        self.unscaled(scaled.saturating_sub(self.problem.constant << self.bits)).saturating_add(self.problem.constant)
    }

    /// A cost of the network as one of the shifted network.
    pub fn scaled(&self, cost: Cost) -> Cost {
        if cost >= FORBIDDEN >> self.bits { FORBIDDEN } else { cost << self.bits }
    }

    /// What no solution of interest of the shifted network costs.
    pub fn limit(&self) -> Cost {
        (self.problem.constant << self.bits).saturating_add(self.range)
    }

    /// The shifted network: an assignment costs 2^bits times what it did, or is forbidden where it cost the limit or more.
    pub fn problem(&self) -> Problem {
        let top = self.scaled(self.problem.top);
        let back = |scaled: Cost| if scaled >= NEVER / 2 { FORBIDDEN } else { scaled };
        let functions = self.problem.functions.iter().zip(&self.functions).map(|(function, shifted)| {
            let table = match (&shifted.entries, &function.table) {
                (None, Table::Sparse(table)) => {
                    let least = function.min(&self.problem.domains);
                    let scaled = |cost: Cost| if cost >= FORBIDDEN { FORBIDDEN } else { self.scaled(cost - least) };
                    Table::Sparse(Arc::new(table.map(scaled)))
                }
                _ => Table::dense(shifted.all().map(back).collect()),
            };
            CostFunction { scope: function.scope.clone(), table }
        });
        Problem {
            domains: self.problem.domains.clone(),
            unary: self.unary.iter().map(|costs| costs.iter().map(|&cost| back(cost)).collect()).collect(),
            functions: functions.collect(),
            constant: if self.infeasible { top } else { (self.problem.constant << self.bits) + self.constant },
            top,
        }
    }
}

impl Shifted {
    /// The least entry for each value of the variable at a place; [`NEVER`] or about that where none is allowed. Returns how
    /// many entries were looked at.
    fn least(&self, at: usize, least: &mut [Cost]) -> u64 {
        let Some(entries) = &self.entries else { return 0 };
        let last = self.sizes.len() - 1;
        least.fill(NEVER);
        let own = &self.taken[last];
        let mut outer_values = Odometer::new(self.sizes[..last].to_vec());
        for row in entries.chunks_exact(self.sizes[last]) {
            let digits = &outer_values.digits;
            let outer: Cost = digits.iter().zip(&self.taken).map(|(&digit, taken)| taken[digit]).sum();
            if at == last {
                for ((least, &entry), &own) in least.iter_mut().zip(row).zip(own) {
                    *least = (*least).min(entry - outer - own);
                }
            } else {
                let lowest = row.iter().zip(own).map(|(&entry, &own)| entry - own).min().unwrap_or(NEVER);
                let least = &mut least[digits[at]];
                *least = (*least).min(lowest - outer);
            }
            let _ = outer_values.advance();
        }
        entries.len() as u64
    }

    /// All entries less what was taken.
    fn all(&self) -> impl Iterator<Item = Cost> {
        let mut values = Odometer::new(self.sizes.clone());
        self.entries.iter().flat_map(|entries| entries.iter()).map(move |&entry| {
            let taken: Cost = values.digits.iter().zip(&self.taken).map(|(&digit, taken)| taken[digit]).sum();
            let _ = values.advance();
            entry - taken
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::tests::random;
    use crate::rng::Rng;

    /// All assignments, the last variable running fastest.
    fn assignments(problem: &Problem) -> Vec<Vec<u32>> {
        let mut all = vec![vec![]];
        for &domain in &problem.domains {
            all = all.into_iter().flat_map(|head| (0..domain).map(move |v| [&head[..], &[v]].concat())).collect();
        }
        all
    }

    #[test]
    fn shifting_keeps_every_cost_and_bounds_never_fall_nor_pass_the_optimum() {
        let mut rng = Rng::new(7);
        let stop = Stop::new();
        let mut positive = 0;
        for case in 0..2000 {
            let mut problem = random(&mut rng, 4);
            let all = assignments(&problem);
            let optimum = all.iter().map(|values| problem.cost(values)).min().expect("an assignment");
            if case % 3 == 0 {
                // as with an incumbent: nothing from here on is wanted
                problem.top = problem.top.min(optimum.saturating_add(rng.below(20) as Cost)).max(1);
            }
            let limit = problem.top;
            let problem = Arc::new(problem);
            let mut order: Vec<u32> = (0..problem.variables() as u32).collect();
            rng.shuffle(&mut order);
            let mut shift = Shift::new(&problem, None, &order).expect("small costs");
            let mut before = Cost::MIN;
            loop {
                let progress = shift.advance(1 + rng.below(50), &stop);
                let bound = shift.lower_bound(limit);
                assert!(
                    bound >= before && bound <= optimum.min(limit),
                    "case {case}: {before} {bound} {optimum} {limit}"
                );
                before = bound;
                if progress == Progress::Done {
                    break;
                }
            }
            positive += u32::from(before > problem.constant);
            let bounds = shift.value_bounds();
            let shifted = shift.problem();
            assert!(shifted.functions.iter().all(|f| f.min(&shifted.domains) >= 0), "case {case}");
            assert!(shifted.unary.iter().flatten().all(|&cost| cost >= 0), "case {case}");
            for values in &all {
                let (ours, theirs) = (problem.cost(values), shifted.cost(values));
                if ours < limit && ours < FORBIDDEN {
                    assert!(
                        bounds.iter().zip(values).all(|(bounds, &value)| bounds[value as usize] <= ours),
                        "case {case}"
                    );
                    assert_eq!(theirs, shift.scaled(ours), "case {case}: {values:?}");
                } else {
                    assert!(theirs >= shift.scaled(limit), "case {case}: {values:?}: {theirs}");
                }
            }
        }
        assert!(positive > 1000, "{positive}");
    }
}
