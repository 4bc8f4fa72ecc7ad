//! Bucket elimination with tables that list only entries that a better solution may use.
//!
//! Let `total` be the sum of the least costs of the tables that wait to be joined. A row of a new message is part of no
//! solution below the plan's limit if its cost is `cap - total + (the least costs of the tables from which it was
//! made)` or more, because each other table adds at least its least cost. Such rows are omitted. Costs of listed rows
//! equal those of dense tables. So the bound, if it is below the limit, and the assignment are those of dense tables.
//!
//! In a network from a file most tables have few entries to omit. After join graphs have been applied, whose constant
//! is a good bound, the limit is the optimality gap and few rows stay: SPOT5 408b has 4e10 joint combinations, of which
//! 1.5e7 rows are visited after a join graph of z = 5 (results/notes/sparse.md).
//!
//! The number of rows becomes known only during elimination. So a plan has limits of memory and work. If they are
//! exceeded, elimination ends with the sum of the least costs of the remaining tables, which is a lower bound, too.

mod accounting;
mod cuda;
mod join;
mod join_plan;
mod key;
mod loader;

use crate::device::DeviceError;
use crate::elimination::costs::{CostExecutor, CostMessages, Rows};
use crate::elimination::cuda::Gpu;
use crate::elimination::executor::{Failure, Progress};
use crate::elimination::plan::{Plan, RowLimits, Source, Step};
use crate::elimination::table::add_function;
use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Problem, add};
use crate::stop::Stop;
use crate::threads::{self, Large};
use accounting::{Accounting, Open};
pub(crate) use cuda::DeviceRows;
use join::{Join, Limits};
use join_plan::{JoinPlan, Operand};
use key::{Key, Row};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Number of parts between two checks of the stop flag.
const BATCH: usize = 64;

/// Returns the number of bits of the widest joint key of a plan.
fn widest(plan: &Plan) -> u32 {
    let joint = |step: &Step| {
        key::bits(plan.domains[step.position as usize]).saturating_add(key::width(&step.scope, &plan.domains))
    };
    plan.steps.iter().map(joint).max().unwrap_or(0)
}

/// Returns whether keys have enough bits for the joint scopes of a plan.
pub(crate) fn fits(plan: &Plan) -> bool {
    widest(plan) <= <u128 as Key>::BITS
}

/// An elimination by rows, on the host or on a device.
#[derive(Debug)]
pub(crate) enum Sparse {
    Host(Box<Listed>),
    Device(Box<DeviceRows>),
}

/// An elimination by rows on the host, with keys as wide as the plan needs.
#[derive(Debug)]
pub(crate) enum Listed {
    Narrow(Elimination<u64>),
    Wide(Elimination<u128>),
}

impl Sparse {
    /// Prepares the execution on the host of a plan with limits for rows.
    pub fn new(plan: &Plan, limits: RowLimits) -> Self {
        let accounting = Accounting::new(plan, limits);
        let narrow = widest(plan) <= <u64 as Key>::BITS;
        Sparse::Host(Box::new(if narrow {
            Listed::Narrow(Elimination::new(accounting, plan))
        } else {
            Listed::Wide(Elimination::new(accounting, plan))
        }))
    }

    /// Prepares the execution on a device; `None` if keys are too wide for it.
    pub fn on(gpu: &Arc<Gpu>, plan: &Plan, limits: RowLimits) -> Result<Option<Self>, DeviceError> {
        if !DeviceRows::fits(widest(plan)) {
            return Ok(None);
        }
        let rows = DeviceRows::new(gpu.clone(), Accounting::new(plan, limits), plan.steps.len())?;
        Ok(Some(Sparse::Device(Box::new(rows))))
    }
}

impl Sparse {
    /// Returns the accounts.
    fn accounting(&self) -> &Accounting {
        match self {
            Sparse::Host(rows) => rows.accounting(),
            Sparse::Device(rows) => &rows.accounting,
        }
    }

    fn accounting_mut(&mut self) -> &mut Accounting {
        match self {
            Sparse::Device(rows) => &mut rows.accounting,
            Sparse::Host(rows) => match &mut **rows {
                Listed::Narrow(elimination) => &mut elimination.accounting,
                Listed::Wide(elimination) => &mut elimination.accounting,
            },
        }
    }
}

impl CostExecutor for Sparse {
    /// Does about `work` combinations. A device's messages are copied to the host at the end.
    fn advance(&mut self, problem: &Problem, plan: &Plan, work: u64, stop: &Stop) -> Result<Progress, Failure> {
        let progress = |ended| if ended { Progress::Done } else { Progress::More };
        if self.accounting_mut().begin(problem, plan, stop).is_err() {
            return Ok(Progress::More);
        }
        let rows = match self {
            Sparse::Host(rows) => return Ok(progress(rows.advance(problem, plan, work, stop))),
            Sparse::Device(rows) => rows,
        };
        let ended = rows.advance(problem, plan, work, stop)?;
        if ended {
            let solved = rows.accounting.is_finished() && rows.accounting.total() < plan.costs.cap;
            let mut messages = if solved && plan.placement.keep_messages { rows.messages()? } else { Vec::new() };
            messages.iter_mut().for_each(|rows| rows.par_sort_unstable());
            let accounting = std::mem::take(&mut rows.accounting);
            *self = Sparse::Host(Box::new(Listed::Narrow(Elimination {
                accounting,
                messages: messages.into(),
                current: None,
            })));
        }
        Ok(progress(ended))
    }

    fn work_done(&self) -> u64 {
        self.accounting().work_done()
    }

    fn on_device(&self) -> bool {
        matches!(self, Sparse::Device(_))
    }

    fn finish(self: Box<Self>, plan: &mut Plan) -> (Cost, Box<dyn CostMessages>) {
        let accounting = self.accounting();
        let total = accounting.total();
        plan.exact = accounting.is_finished();
        // if no solution is below the limit, some messages were never made
        plan.placement.keep_messages &= accounting.is_finished() && total < plan.costs.cap;
        // sizes of the rows, not of dense tables
        (plan.joint_entries, plan.largest_table, plan.placement.table_bytes) = accounting.taken();
        (total, Box::new(*self))
    }
}

impl CostMessages for Sparse {
    fn rows(&self) -> Option<&dyn Rows> {
        if let Sparse::Host(rows) = self { Some(&**rows) } else { None }
    }

    fn entries(&self, _: &[(u32, u64)]) -> Result<Vec<Cost>, Failure> {
        Err(Error::Internal("rows are looked up by value, not by index".into()).into())
    }
}

impl Listed {
    fn advance(&mut self, problem: &Problem, plan: &Plan, work: u64, stop: &Stop) -> bool {
        match self {
            Listed::Narrow(elimination) => elimination.advance(problem, plan, work, stop),
            Listed::Wide(elimination) => elimination.advance(problem, plan, work, stop),
        }
    }

    /// Returns the accounts.
    pub fn accounting(&self) -> &Accounting {
        match self {
            Listed::Narrow(elimination) => &elimination.accounting,
            Listed::Wide(elimination) => &elimination.accounting,
        }
    }
}

impl Rows for Listed {
    fn rate(&self, problem: &Problem, plan: &Plan, position: usize, assignment: &[u32], row: &mut [Cost]) {
        match self {
            Listed::Narrow(elimination) => elimination.rate(problem, plan, position, assignment, row),
            Listed::Wide(elimination) => elimination.rate(problem, plan, position, assignment, row),
        }
    }

    fn message(&self, plan: &Plan, step: usize) -> Option<Vec<Cost>> {
        match self {
            Listed::Narrow(elimination) => elimination.message(plan, step),
            Listed::Wide(elimination) => elimination.message(plan, step),
        }
    }
}

/// An elimination by rows with keys of one type.
#[derive(Debug)]
pub(crate) struct Elimination<K: Key> {
    accounting: Accounting,
    /// The messages by step, sorted by key; empty if not made yet.
    messages: Large<Vec<Row<K>>>,
    current: Option<Current<K>>,
}

/// The step in progress.
#[derive(Debug)]
struct Current<K> {
    join: Join<K>,
    /// The driver's rows, if the driver is not a message.
    driver: Vec<Row<K>>,
    /// Number of parts made; `rows` has their rows.
    parts: usize,
    rows: Vec<Row<K>>,
    open: Open,
}

impl<K: Key> Elimination<K> {
    fn new(accounting: Accounting, plan: &Plan) -> Self {
        Elimination { accounting, messages: plan.steps.iter().map(|_| Vec::new()).collect(), current: None }
    }

    fn advance(&mut self, problem: &Problem, plan: &Plan, work: u64, stop: &Stop) -> bool {
        let until = self.accounting.after(work);
        while self.accounting.goes_on(plan, until) && !stop.is_set() {
            if self.slice(problem, plan, stop).is_none() {
                self.current = None;
                self.accounting.give_up();
            }
        }
        self.accounting.has_ended()
    }

    /// Makes some parts of a message; `None` if a limit is exceeded.
    fn slice(&mut self, problem: &Problem, plan: &Plan, stop: &Stop) -> Option<()> {
        let mut current = match self.current.take() {
            Some(current) => current,
            None => self.begin(problem, plan)?,
        };
        let step = &plan.steps[self.accounting.step()];
        let driver = match step.inputs.get(current.join.join_plan.driver).map(|input| input.source) {
            Some(Source::Message(from)) => &self.messages[from as usize],
            _ => &current.driver,
        };
        let beside = current.join.bytes() / size_of::<Row<K>>() as u64 + current.driver.len() as u64;
        let room = self.accounting.room::<K>().checked_sub(beside)?;
        let (most, work) = (room.checked_sub(current.rows.len() as u64)? as usize, self.accounting.left());
        let limits = Limits { rows: AtomicUsize::new(0), most, work, stop };
        let end = current.join.parts().min(current.parts + BATCH);
        let part = |number| current.join.part(number, driver, &limits);
        let parts = threads::map(current.parts..end, part);
        if stop.is_set() {
            // some parts may have ended early
            self.current = Some(current);
            return Some(());
        }
        current.parts = end;
        parts.iter().for_each(|part| current.rows.extend_from_slice(&part.rows));
        self.accounting.spend(parts.iter().map(|part| part.work).sum());
        let over = parts.iter().any(|part| part.over) || current.rows.len() as u64 > room;
        if over || !self.accounting.allows(0) {
            return None;
        }
        if end < current.join.parts() {
            self.current = Some(current);
        } else {
            self.finish_step(plan, current);
        }
        Some(())
    }

    /// Loads the tables of the next step; `None` if a limit is exceeded.
    fn begin(&mut self, problem: &Problem, plan: &Plan) -> Option<Current<K>> {
        let step = &plan.steps[self.accounting.step()];
        let open = self.accounting.open(problem, plan);
        let room = self.accounting.room::<K>();
        let mut loaded: Vec<Vec<Row<K>>> = Vec::new();
        for (number, input) in step.inputs.iter().enumerate() {
            loaded.push(match input.source {
                Source::Message(_) => Vec::new(),
                _ => loader::rows(problem, plan, step, input, open.limit_of(number), room)?,
            });
        }
        if step.inputs.is_empty() {
            // a variable that nothing reads
            loaded.push(vec![(K::ZERO, 0)]);
        }
        let table = |k: usize| match step.inputs.get(k).map(|input| input.source) {
            Some(Source::Message(from)) => &self.messages[from as usize][..],
            _ => &loaded[k][..],
        };
        let tables: Vec<&[Row<K>]> = (0..loaded.len()).map(table).collect();
        if tables.iter().any(|rows| u32::try_from(rows.len()).is_err()) {
            return None;
        }
        let alone = [step.position];
        let operand = |k: usize| Operand {
            scope: step.inputs.get(k).map_or(&alone[..], |input| &input.scope),
            rows: tables[k].len(),
            least: open.least.get(k).copied().unwrap_or(0),
        };
        let operands: Vec<Operand<'_>> = (0..tables.len()).map(operand).collect();
        let join_plan = JoinPlan::of_step(plan, step, &operands, open.limit);
        let join = Join::new(join_plan, plan.domains[step.position as usize], &tables);
        self.accounting.spend(tables.iter().map(|rows| rows.len() as u64).sum());
        let driver = std::mem::take(&mut loaded[join.join_plan.driver]);
        Some(Current { join, driver, parts: 0, rows: Vec::new(), open })
    }

    fn finish_step(&mut self, plan: &Plan, current: Current<K>) {
        let Current { join, mut rows, open, .. } = current;
        if !join.sorted() {
            rows.par_sort_unstable();
        }
        rows.shrink_to_fit();
        let step = self.accounting.step();
        self.accounting.close::<K>(plan, &open, rows.len() as u64, rows.iter().map(|row| row.1).min());
        self.messages[step] = rows;
        if !plan.placement.keep_messages {
            for input in &plan.steps[step].inputs {
                if let Source::Message(from) = input.source {
                    self.messages[from as usize] = Vec::new();
                }
            }
        }
    }

    /// Returns an entry of a message under an assignment, with the value `first` of its first position if given. `None`
    /// if the entry is not listed.
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
                        add_function(problem, function, variable, assignment, row);
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
        let mut entries = vec![plan.costs.cap; usize::try_from(plan.steps[step].entries).ok()?];
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
