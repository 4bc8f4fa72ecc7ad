//! The results of `fangs dcop` under the names that pyDCOP gives them.

use super::case::Case;
use fangs_base::Error;
use fangs_base::stop::{Cause, Stop};
use fangs_check as check;
use fangs_dcop::Cycle;
use fangs_model::model::Number;
use fangs_report::seconds;
use serde::Serialize;
use std::time::Instant;

/// The keys of the JSON object that pyDCOP has besides `cost` and `status`.
#[derive(Clone, Default, Serialize)]
pub struct EndMetrics {
    /// Number of violated hard functions; null without an assignment.
    pub violation: Option<usize>,
    /// Number of cycles of local search; 0 for DPOP and ADPOP.
    pub cycle: u64,
    /// Number of messages between agents.
    pub msg_count: u64,
    /// Number of costs and values in these messages.
    pub msg_size: u64,
    /// Seconds since the start of the process.
    pub time: f64,
}

/// A row of `--run-metrics`; the columns are those that pyDCOP writes with `--collect_on cycle_change`.
#[derive(Serialize)]
pub struct CycleRow {
    cycle: u64,
    time: f64,
    /// The sum of all costs but those of violated functions.
    cost: Number,
    violation: usize,
    msg_count: u64,
    msg_size: u64,
    status: &'static str,
}

impl CycleRow {
    /// Creates the row of a cycle in the process that began at `started`. The checker computes the cost from the file's
    /// own tables.
    pub fn new(case: &Case, cycle: Cycle<'_>, started: Instant) -> Result<Self, Error> {
        let values = case.reducer.lift(cycle.values, &Stop::new())?;
        let evaluation = check::evaluate(&case.network, &values);
        Ok(CycleRow {
            cycle: cycle.number,
            time: seconds(started.elapsed().as_secs_f64()),
            cost: case.network.units().number(evaluation.soft),
            violation: evaluation.violated.len(),
            msg_count: cycle.messages,
            msg_size: cycle.message_entries,
            status: "RUNNING",
        })
    }

    /// Marks the row as that of the result: pyDCOP's word for how the run ended replaces `RUNNING`.
    pub fn last(self, stop: &Stop) -> Self {
        let status = match stop.cause() {
            None => "FINISHED",
            Some(Cause::Signal) => "STOPPED",
            Some(_) => "TIMEOUT",
        };
        CycleRow { status, ..self }
    }
}
