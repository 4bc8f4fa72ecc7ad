//! Bucket elimination with tables that list only what a better solution may use.
//!
//! While the tables that wait cost at least `total` together, a row of a new message that costs its limit,
//! `cap - total + (the least costs of the tables it was made of)`, or more is part of no solution below the plan's limit: each
//! of the other tables adds its least cost at any rate. Such rows are left out. What is listed costs what dense tables say, to
//! the last unit; so the bound, where it is below the limit, and the assignment are those of dense tables.
//!
//! On a network as files have it most tables are full. On what a join graph left, whose constant is a good bound, the limit
//! is the gap and few rows stay: SPOT5 408b has 4e10 joint combinations, 1.5e7 rows are looked at after a graph of z = 5
//! (results/notes/sparse.md).
//!
//! How many rows stay is known only as elimination goes. So a plan has limits of memory and work; where they are passed, elimination
//! ends with what the tables that are left cost at least together, which is a bound as well.

mod join;
mod key;
mod load;

use super::plan::{Plan, Source};
use crate::model::{Cost, FORBIDDEN, Problem, add};
use crate::stop::Stop;
use join::{Join, Operand};
use key::Key;
use rayon::prelude::*;

/// A key and its cost.
pub(super) type Row<K> = (K, Cost);

/// What an elimination by rows may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLimits {
    /// Bytes of all tables alive at a time, about.
    pub bytes: u64,
    /// Work, as a run counts it.
    pub work: u64,
}

/// Combinations that a row looked at counts: it takes as long as so many of dense tables, 20 to 60 ns of one core.
const WORK: u64 = 32;
/// Parts between two looks at the stop flag.
const BATCH: usize = 64;

/// Bits of the widest joint key of a plan.
fn widest(plan: &Plan) -> u32 {
    let joint = |step: &super::plan::Step| {
        key::bits(plan.domains[step.position as usize]).saturating_add(key::width(&step.scope, &plan.domains))
    };
    plan.steps.iter().map(joint).max().unwrap_or(0)
}

/// Whether keys hold the joint scopes of a plan.
pub(super) fn fits(plan: &Plan) -> bool {
    widest(plan) <= <u128 as Key>::BITS
}

/// An elimination on its way, with keys as wide as the plan needs.
#[derive(Debug)]
pub(super) enum Sparse {
    Narrow(Elimination<u64>),
    Wide(Elimination<u128>),
}

macro_rules! of_any_width {
    ($self:expr, $elimination:ident => $result:expr) => {
        match $self {
            Sparse::Narrow($elimination) => $result,
            Sparse::Wide($elimination) => $result,
        }
    };
}

impl Sparse {
    /// Begins with a plan that has limits for rows.
    pub fn new(problem: &Problem, plan: &Plan, limits: RowLimits) -> Self {
        if widest(plan) <= <u64 as Key>::BITS {
            Sparse::Narrow(Elimination::new(problem, plan, limits))
        } else {
            Sparse::Wide(Elimination::new(problem, plan, limits))
        }
    }

    /// Does about so much work; whether all is done that will be.
    pub fn advance(&mut self, problem: &Problem, plan: &Plan, work: u64, stop: &Stop) -> bool {
        of_any_width!(self, elimination => elimination.advance(problem, plan, work, stop))
    }

    /// Work so far.
    pub fn work_done(&self) -> u64 {
        of_any_width!(self, elimination => elimination.work.saturating_mul(WORK))
    }

    /// What all tables that are left cost at least together; the plan's cap where there is no solution below its limit.
    pub fn total(&self) -> Cost {
        of_any_width!(self, elimination => elimination.total)
    }

    /// Whether it has ended, finished or not.
    pub fn has_ended(&self) -> bool {
        of_any_width!(self, elimination => elimination.end.is_some())
    }

    /// Whether it has come to the end of the plan, or to a message without rows.
    pub fn is_finished(&self) -> bool {
        of_any_width!(self, elimination => elimination.end == Some(End::Finished))
    }

    /// Rises of the values at a position as [`CostToGo::rate`](super::CostToGo::rate) has them. What is not listed is forbidden.
    pub fn rate(&self, problem: &Problem, plan: &Plan, position: usize, assignment: &[u32], row: &mut [Cost]) {
        of_any_width!(self, elimination => elimination.rate(problem, plan, position, assignment, row));
    }

    /// All entries of a message in the plan's layout, the cap where none is listed.
    pub fn message(&self, plan: &Plan, step: usize) -> Option<Vec<Cost>> {
        of_any_width!(self, elimination => elimination.message(plan, step))
    }

    /// Rows looked at, rows of the largest message that there is, and the bytes of all.
    pub fn taken(&self) -> (u64, u64, u64) {
        of_any_width!(self, elimination => {
            let most = elimination.messages.iter().map(Vec::len).max().unwrap_or(0);
            (elimination.work, most as u64, elimination.held)
        })
    }

    /// What entries of a message were left out from.
    #[cfg(test)]
    pub fn limit(&self, step: usize) -> Option<Cost> {
        of_any_width!(self, elimination => elimination.dropped.get(step).copied())
    }
}

/// How an elimination has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Finished,
    GaveUp,
}

/// An elimination with keys of one width.
#[derive(Debug)]
pub(super) struct Elimination<K> {
    limits: RowLimits,
    step: usize,
    /// By step, sorted by key; empty where not made yet.
    messages: Vec<Vec<Row<K>>>,
    /// The least cost of each message.
    least: Vec<Cost>,
    /// Where the entries that each message leaves out begin.
    #[cfg(test)]
    dropped: Vec<Cost>,
    /// What all tables that wait cost at least together.
    total: Cost,
    /// Bytes of the messages.
    held: u64,
    /// Rows looked at.
    work: u64,
    current: Option<Current<K>>,
    end: Option<End>,
}

/// A step at work.
#[derive(Debug)]
struct Current<K> {
    join: Join<K>,
    /// The driver's rows, where it is not a message.
    driver: Vec<Row<K>>,
    /// Parts made, and their rows.
    parts: usize,
    rows: Vec<Row<K>>,
    /// What the tables cost that take no part.
    rest: Cost,
    limit: Cost,
}

impl<K: Key> Elimination<K> {
    fn new(problem: &Problem, plan: &Plan, limits: RowLimits) -> Self {
        let least = |step: &super::plan::Step| {
            let inputs = step.inputs.iter().filter(|input| !matches!(input.source, Source::Message(_)));
            inputs.map(|input| load::least(problem, plan, step, input)).fold(0, add)
        };
        let steps = plan.steps.len();
        Elimination {
            limits,
            step: 0,
            messages: (0..steps).map(|_| Vec::new()).collect(),
            least: vec![0; steps],
            #[cfg(test)]
            dropped: Vec::new(),
            total: plan.steps.iter().map(least).fold(0, add).min(plan.cap),
            held: 0,
            work: 0,
            current: None,
            end: None,
        }
    }

    fn advance(&mut self, problem: &Problem, plan: &Plan, work: u64, stop: &Stop) -> bool {
        let until = self.work.saturating_add((work / WORK).max(1));
        while self.end.is_none() && self.work < until && !stop.is_set() {
            if self.step == plan.steps.len() || self.total >= plan.cap {
                self.end = Some(End::Finished);
            } else if self.slice(problem, plan).is_none() {
                self.current = None;
                self.end = Some(End::GaveUp);
            }
        }
        self.end.is_some()
    }

    /// Some parts of a message; `None` where that passes a limit.
    fn slice(&mut self, problem: &Problem, plan: &Plan) -> Option<()> {
        let mut current = match self.current.take() {
            Some(current) => current,
            None => self.begin(problem, plan)?,
        };
        let step = &plan.steps[self.step];
        let bytes = |rows: usize| (rows * size_of::<Row<K>>()) as u64;
        let used = self.held + bytes(current.driver.len()) + current.join.bytes();
        let most = self.limits.bytes.checked_sub(used + bytes(current.rows.len()))? / bytes(1);
        let most_work = (self.limits.work / WORK).checked_sub(self.work)?;
        let driver = match step.inputs.get(current.join.driver).map(|input| input.source) {
            Some(Source::Message(from)) => &self.messages[from as usize],
            _ => &current.driver,
        };
        let end = current.join.parts().min(current.parts + BATCH);
        let part = |number| current.join.part(number, driver, most as usize, most_work);
        let parts: Vec<_> = (current.parts..end).into_par_iter().map(part).collect();
        current.parts = end;
        self.work += parts.iter().map(|part| part.work).sum::<u64>();
        parts.iter().for_each(|part| current.rows.extend_from_slice(&part.rows));
        if used + bytes(current.rows.len()) > self.limits.bytes || self.work > self.limits.work / WORK {
            return None;
        }
        if end < current.join.parts() {
            self.current = Some(current);
        } else {
            self.finish_step(plan, current);
        }
        Some(())
    }

    /// Loads what the next step joins; `None` where that passes a limit.
    fn begin(&mut self, problem: &Problem, plan: &Plan) -> Option<Current<K>> {
        let step = &plan.steps[self.step];
        let least: Vec<Cost> = step
            .inputs
            .iter()
            .map(|input| match input.source {
                Source::Message(from) => self.least[from as usize],
                _ => load::least(problem, plan, step, input),
            })
            .collect();
        let own: Cost = least.iter().sum();
        // below the cap, so that nothing here overflows
        let rest = self.total - own;
        let limit = plan.cap - rest;
        let room = self.limits.bytes.checked_sub(self.held)? / size_of::<Row<K>>() as u64;
        let mut loaded: Vec<Vec<Row<K>>> = Vec::new();
        for (input, &least) in step.inputs.iter().zip(&least) {
            loaded.push(match input.source {
                Source::Message(_) => Vec::new(),
                // what the other inputs cost at least leaves so much
                _ => load::rows(problem, plan, step, input, limit - (own - least), room)?,
            });
        }
        if step.inputs.is_empty() {
            // a variable that nothing reads
            loaded.push(vec![(K::ZERO, 0)]);
        }
        let alone = [step.position];
        let mut operands: Vec<Operand<'_, K>> = Vec::new();
        for (k, rows) in loaded.iter().enumerate() {
            operands.push(match step.inputs.get(k) {
                Some(input) => {
                    let rows = match input.source {
                        Source::Message(from) => &self.messages[from as usize],
                        _ => rows,
                    };
                    Operand { scope: &input.scope, rows, least: least[k] }
                }
                None => Operand { scope: &alone, rows, least: 0 },
            });
        }
        if operands.iter().any(|operand| u32::try_from(operand.rows.len()).is_err()) {
            return None;
        }
        let joint: Vec<u32> = alone.iter().chain(&step.scope).copied().collect();
        let join = Join::new(&joint, &plan.domains, &operands, limit);
        self.work += operands.iter().map(|operand| operand.rows.len() as u64).sum::<u64>();
        let driver = std::mem::take(&mut loaded[join.driver]);
        Some(Current { join, driver, parts: 0, rows: Vec::new(), rest, limit })
    }

    fn finish_step(&mut self, plan: &Plan, current: Current<K>) {
        let Current { join, mut rows, rest, limit, .. } = current;
        if !join.sorted() {
            rows.par_sort_unstable();
        }
        rows.shrink_to_fit();
        #[cfg(test)]
        self.dropped.push(limit);
        // without a row there is no solution below the plan's limit
        let least = rows.iter().map(|row| row.1).min().unwrap_or(limit);
        self.total = rest + least;
        self.held += size_of_val(&rows[..]) as u64;
        self.least[self.step] = least;
        self.messages[self.step] = rows;
        if !plan.keep_messages {
            for input in &plan.steps[self.step].inputs {
                if let Source::Message(from) = input.source {
                    self.held -= size_of_val(&self.messages[from as usize][..]) as u64;
                    self.messages[from as usize] = Vec::new();
                }
            }
        }
        self.step += 1;
    }

    /// An entry, perhaps with another value of the position that it waits for.
    fn entry(&self, plan: &Plan, step: usize, assignment: &[u32], first: Option<u32>) -> Option<Cost> {
        let scope = &plan.steps[step].scope;
        let shifts = key::shifts(scope, &plan.domains);
        let own = |p: u32| assignment[plan.sequence[p as usize] as usize];
        let value = |place: usize, p: u32| first.filter(|_| place == 0).unwrap_or_else(|| own(p));
        let fields = scope.iter().zip(shifts).enumerate();
        let key = fields.fold(K::ZERO, |key, (place, (&p, shift))| key | K::value(value(place, p)) << shift);
        let rows = &self.messages[step];
        rows.binary_search_by_key(&key, |row| row.0).ok().map(|at| rows[at].1)
    }

    fn rate(&self, problem: &Problem, plan: &Plan, position: usize, assignment: &[u32], row: &mut [Cost]) {
        let variable = plan.sequence[position];
        row.copy_from_slice(&problem.unary[variable as usize]);
        let mut sent = 0;
        for (number, step) in (plan.first[position] as usize..).zip(plan.bucket(position)) {
            for input in &step.inputs {
                match input.source {
                    Source::Unary => {}
                    Source::Function(f) => {
                        let function = &problem.functions[f as usize];
                        super::assign::add_function(problem, function, variable, assignment, row);
                    }
                    Source::Message(from) => {
                        for (value, sum) in (0..).zip(row.iter_mut()) {
                            let entry = self.entry(plan, from as usize, assignment, Some(value));
                            *sum = add(*sum, entry.unwrap_or(FORBIDDEN));
                        }
                    }
                }
            }
            sent = add(sent, self.entry(plan, number, assignment, None).unwrap_or(FORBIDDEN));
        }
        for sum in row.iter_mut() {
            *sum = if *sum >= FORBIDDEN || sent >= FORBIDDEN { FORBIDDEN } else { *sum - sent };
        }
    }

    fn message(&self, plan: &Plan, step: usize) -> Option<Vec<Cost>> {
        let scope = &plan.steps.get(step)?.scope;
        let mut entries = vec![plan.cap; usize::try_from(plan.steps[step].entries).ok()?];
        let shifts = key::shifts(scope, &plan.domains);
        for &(key, cost) in &self.messages[step] {
            let index = scope.iter().zip(&shifts).fold(0, |index, (&p, &shift)| {
                let domain = plan.domains[p as usize];
                index * domain as usize + (key >> shift & K::ones(key::bits(domain))).place()
            });
            entries[index] = cost;
        }
        Some(entries)
    }
}

#[cfg(test)]
mod tests;
