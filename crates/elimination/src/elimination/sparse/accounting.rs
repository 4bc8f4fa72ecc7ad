//! What an elimination by rows counts: which step is next, what tables cost at least, memory and work.

use super::key::{Key, Row};
use super::loader;
use crate::elimination::plan::{Input, Plan, RowLimits, Source};
use crate::error::Error;
use crate::model::{Cost, Problem, add};
use crate::stop::Stop;

/// Combinations that a row looked at counts: it takes as long as so many of dense tables, 20 to 60 ns of one core.
const WORK: u64 = 32;

/// How an elimination has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Finished,
    GaveUp,
}

/// The accounts of an elimination.
#[derive(Debug, Default)]
pub(crate) struct Accounting {
    limits: RowLimits,
    step: usize,
    /// The least cost, and rows, of each message.
    least: Vec<Cost>,
    rows: Vec<u64>,
    /// What all tables that wait cost at least together.
    total: Cost,
    /// Bytes of the messages.
    held: u64,
    /// Rows looked at.
    work: u64,
    end: Option<End>,
    /// Whether the total counts all functions.
    begun: bool,
    /// Where the entries that each message leaves out begin.
    #[cfg(test)]
    pub(crate) dropped: Vec<Cost>,
}

/// What a step begins with.
#[derive(Debug)]
pub(crate) struct Open {
    /// What each input costs at least.
    pub least: Vec<Cost>,
    /// What the tables cost that take no part.
    rest: Cost,
    /// Sums from here on are part of no solution below the plan's limit.
    pub limit: Cost,
}

impl Open {
    /// Where the entries of an input begin that are of no use: the other inputs cost something at least, too.
    pub fn limit_of(&self, input: usize) -> Cost {
        self.limit - (self.least.iter().sum::<Cost>() - self.least[input])
    }
}

impl Accounting {
    pub fn new(plan: &Plan, limits: RowLimits) -> Self {
        Accounting {
            limits,
            step: 0,
            least: vec![0; plan.steps.len()],
            rows: vec![0; plan.steps.len()],
            total: 0,
            held: 0,
            work: 0,
            end: None,
            begun: false,
            #[cfg(test)]
            dropped: Vec::new(),
        }
    }

    /// Counts what all functions cost at least, once, before the first step.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn begin(&mut self, problem: &Problem, plan: &Plan, stop: &Stop) -> Result<(), Error> {
        if self.begun {
            return Ok(());
        }
        let mut total = 0;
        for step in stop.each(&plan.steps) {
            let step = step?;
            let inputs = step.inputs.iter().filter(|input| !matches!(input.source, Source::Message(_)));
            total = inputs.map(|input| loader::least(problem, plan, step, input)).fold(total, add);
        }
        (self.total, self.begun) = (total.min(plan.costs.cap), true);
        Ok(())
    }

    /// The step that is next.
    pub fn step(&self) -> usize {
        self.step
    }

    /// Rows looked at once so much more work is done.
    pub fn after(&self, work: u64) -> u64 {
        self.work.saturating_add((work / WORK).max(1))
    }

    /// Whether there is something to do before `until`; notes the end of the plan, and a message without rows.
    pub fn goes_on(&mut self, plan: &Plan, until: u64) -> bool {
        if self.end.is_none() && (self.step == plan.steps.len() || self.total >= plan.costs.cap) {
            self.end = Some(End::Finished);
        }
        self.end.is_none() && self.work < until
    }

    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Whether it has come to the end of the plan, or to a message without rows.
    pub fn is_finished(&self) -> bool {
        self.end == Some(End::Finished)
    }

    /// A limit has been passed.
    pub fn give_up(&mut self) {
        self.end = Some(End::GaveUp);
    }

    /// Work so far.
    pub fn work_done(&self) -> u64 {
        self.work.saturating_mul(WORK)
    }

    /// Rows have been looked at.
    pub fn spend(&mut self, rows: u64) {
        self.work += rows;
    }

    /// Whether the limits allow so many more rows to be looked at.
    pub fn allows(&self, rows: u64) -> bool {
        self.work.saturating_add(rows) <= self.limits.work / WORK
    }

    /// Rows that may still be looked at.
    pub fn left(&self) -> u64 {
        (self.limits.work / WORK).saturating_sub(self.work)
    }

    /// Rows that there is memory for beside the messages.
    pub fn room<K>(&self) -> u64 {
        self.limits.bytes.saturating_sub(self.held) / size_of::<Row<K>>() as u64
    }

    /// What all tables that are left cost at least together; the plan's cap where there is no solution below its limit.
    pub fn total(&self) -> Cost {
        self.total
    }

    /// Rows looked at, rows of the largest message, and the bytes of all.
    pub fn taken(&self) -> (u64, u64, u64) {
        (self.work, self.rows.iter().copied().max().unwrap_or(0), self.held)
    }

    /// What the next step begins with.
    pub fn open(&self, problem: &Problem, plan: &Plan) -> Open {
        let step = &plan.steps[self.step];
        let of_input = |input: &Input| match input.source {
            Source::Message(from) => self.least[from as usize],
            _ => loader::least(problem, plan, step, input),
        };
        let least: Vec<Cost> = step.inputs.iter().map(of_input).collect();
        // both below the cap, so that nothing here overflows
        let rest = self.total - least.iter().sum::<Cost>();
        Open { least, rest, limit: plan.costs.cap - rest }
    }

    /// The step's message has so many rows; `None` is the least cost of none.
    pub fn close<K: Key>(&mut self, plan: &Plan, open: &Open, rows: u64, least: Option<Cost>) {
        #[cfg(test)]
        self.dropped.push(open.limit);
        // without a row there is no solution below the plan's limit
        let least = least.unwrap_or(open.limit);
        self.total = open.rest + least;
        self.least[self.step] = least;
        self.rows[self.step] = rows;
        let bytes = |rows: u64| rows * size_of::<Row<K>>() as u64;
        self.held += bytes(rows);
        if !plan.placement.keep_messages {
            for input in &plan.steps[self.step].inputs {
                if let Source::Message(from) = input.source {
                    self.held -= bytes(self.rows[from as usize]);
                }
            }
        }
        self.step += 1;
    }
}
