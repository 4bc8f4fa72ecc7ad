//! Accounts of an elimination by rows: the next step, lower bounds of the tables, memory and work.

use super::key::{Key, Row};
use super::loader;
use crate::elimination::plan::{Input, Plan, RowLimits, Source};
use crate::error::Error;
use crate::model::{Cost, Problem, add};
use crate::stop::Stop;

/// Combinations for which a visited row counts: a row takes as long as this number of combinations of dense tables, 20
/// to 60 ns of one core.
const WORK: u64 = 32;

/// The way in which an elimination has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Finished,
    GaveUp,
}

/// The accounts of an elimination by rows.
#[derive(Debug, Default)]
pub(crate) struct Accounting {
    limits: RowLimits,
    step: usize,
    /// The least cost and the number of rows of each message.
    least: Vec<Cost>,
    rows: Vec<u64>,
    /// The sum of the least costs of all tables that wait to be joined.
    total: Cost,
    /// Bytes of the messages.
    held: u64,
    /// Number of rows visited.
    work: u64,
    end: Option<End>,
    /// Whether `total` includes all functions.
    begun: bool,
    /// For each message, the cost from which on its entries are omitted.
    #[cfg(test)]
    pub(crate) dropped: Vec<Cost>,
}

/// The bounds with which a step begins.
#[derive(Debug)]
pub(crate) struct Open {
    /// The least cost of each input.
    pub least: Vec<Cost>,
    /// The sum of the least costs of the tables that the step does not join.
    rest: Cost,
    /// Sums of this cost or more are part of no solution below the plan's limit.
    pub limit: Cost,
}

impl Open {
    /// Returns the cost from which on entries of an input are useless, because the other inputs have least costs, too.
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

    /// Adds up the least costs of all functions. Only the first call, before the first step, does anything.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
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

    /// Returns the index of the next step.
    pub fn step(&self) -> usize {
        self.step
    }

    /// Returns the number of visited rows at which `work` more combinations will have been counted.
    pub fn after(&self, work: u64) -> u64 {
        self.work.saturating_add((work / WORK).max(1))
    }

    /// Returns whether the elimination has not ended and fewer than `until` rows have been visited. Also notes an end:
    /// after the last step, or if a message has no rows.
    pub fn goes_on(&mut self, plan: &Plan, until: u64) -> bool {
        if self.end.is_none() && (self.step == plan.steps.len() || self.total >= plan.costs.cap) {
            self.end = Some(End::Finished);
        }
        self.end.is_none() && self.work < until
    }

    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Returns whether the elimination has reached the end of the plan, or a message without rows.
    pub fn is_finished(&self) -> bool {
        self.end == Some(End::Finished)
    }

    /// Notes that a limit was exceeded.
    pub fn give_up(&mut self) {
        self.end = Some(End::GaveUp);
    }

    /// Returns the work done so far, in combinations.
    pub fn work_done(&self) -> u64 {
        self.work.saturating_mul(WORK)
    }

    /// Adds visited rows.
    pub fn spend(&mut self, rows: u64) {
        self.work += rows;
    }

    /// Returns whether the limits permit `rows` more visited rows.
    pub fn allows(&self, rows: u64) -> bool {
        self.work.saturating_add(rows) <= self.limits.work / WORK
    }

    /// Returns the number of rows that may still be visited.
    pub fn left(&self) -> u64 {
        (self.limits.work / WORK).saturating_sub(self.work)
    }

    /// Returns the number of rows for which there is memory beside the messages.
    pub fn room<K>(&self) -> u64 {
        self.limits.bytes.saturating_sub(self.held) / size_of::<Row<K>>() as u64
    }

    /// Returns the sum of the least costs of all remaining tables, which is the plan's cap if no solution is below its
    /// limit.
    pub fn total(&self) -> Cost {
        self.total
    }

    /// Returns the number of visited rows, the rows of the largest message, and the bytes of all messages.
    pub fn taken(&self) -> (u64, u64, u64) {
        (self.work, self.rows.iter().copied().max().unwrap_or(0), self.held)
    }

    /// Returns the bounds with which the next step begins.
    pub fn open(&self, problem: &Problem, plan: &Plan) -> Open {
        let step = &plan.steps[self.step];
        let of_input = |input: &Input| match input.source {
            Source::Message(from) => self.least[from as usize],
            _ => loader::least(problem, plan, step, input),
        };
        let least: Vec<Cost> = step.inputs.iter().map(of_input).collect();
        // both are below the cap, so nothing overflows
        let rest = self.total - least.iter().sum::<Cost>();
        Open { least, rest, limit: plan.costs.cap - rest }
    }

    /// Notes the message of the current step, which has `rows` rows and the given least cost; `None` if it has no rows.
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
