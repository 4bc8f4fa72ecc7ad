//! The plan of the join of a bucket's tables, as plain data: the CPU and devices execute it alike and count equal work.

use super::key::{Key, Projection, bits, width};
use crate::elimination::plan::{Plan, Step};
use crate::model::Cost;

/// The properties of an input on which the plan of a join depends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand<'a> {
    /// Ascending positions, the eliminated one first.
    pub scope: &'a [u32],
    pub rows: usize,
    /// The least cost of a row.
    pub least: Cost,
}

/// The plan of a join: the table with the most rows drives, and each other table extends its keys.
#[derive(Debug)]
pub(crate) struct JoinPlan<K> {
    /// Index of the operand that drives.
    pub driver: usize,
    /// Projection of the driver's keys to joint keys.
    pub lay: Projection<K>,
    pub stages: Vec<StagePlan<K>>,
    /// Mask of the message's fields in a joint key.
    pub message: K,
    /// Whether any stage extends keys.
    pub grows: bool,
    /// Sums of this cost or more are omitted.
    pub limit: Cost,
    /// Number of bits of the driver's keys without the eliminated variable.
    pub others: u32,
}

/// A table that extends joint keys.
#[derive(Debug)]
pub(crate) struct StagePlan<K> {
    pub operand: usize,
    /// Projection of the table's keys to the positions that they share with the joint key. `added` is the projection to
    /// the new fields of the joint key.
    pub of_table: Projection<K>,
    pub added: Projection<K>,
    /// Projection of a joint key to the positions that it shares with the table.
    pub shared: Projection<K>,
    /// Number of bits of the shared positions.
    pub bits: u32,
    /// Whether the table adds fields. If not, at most one of its rows agrees with a joint key.
    pub grows: bool,
    /// The sum of the least costs of the stages that follow.
    pub rest: Cost,
}

impl<K: Key> JoinPlan<K> {
    /// Plans the join of a step that has at least one operand. Only sums below `limit` are made.
    pub fn of_step(plan: &Plan, step: &Step, operands: &[Operand<'_>], limit: Cost) -> Self {
        let domains = &plan.domains[..];
        let joint: Vec<u32> = [step.position].iter().chain(&step.scope).copied().collect();
        let driver = (0..operands.len()).max_by_key(|&k| (operands[k].rows, operands.len() - k)).unwrap_or(0);
        let mut waiting: Vec<usize> = (0..operands.len()).filter(|&k| k != driver).collect();
        let scope = operands[driver].scope;
        let mut known = scope.to_vec();
        let mut stages = Vec::new();
        // the next table is that which extends a key by the fewest rows
        let growth = |known: &[u32], k: usize| {
            let shared = operands[k].scope.iter().filter(|p| known.contains(p));
            let combinations: f64 = shared.map(|&p| f64::from(domains[p as usize])).product();
            operands[k].rows as f64 / combinations
        };
        while let Some(next) =
            (0..waiting.len()).min_by(|&a, &b| growth(&known, waiting[a]).total_cmp(&growth(&known, waiting[b])))
        {
            let operand = waiting.swap_remove(next);
            let scope = operands[operand].scope;
            let (shared, new): (Vec<u32>, Vec<u32>) = scope.iter().partition(|p| known.contains(p));
            stages.push(StagePlan {
                operand,
                of_table: Projection::new(scope, &shared, &shared, domains),
                added: Projection::new(scope, &joint, &new, domains),
                shared: Projection::new(&joint, &shared, &shared, domains),
                bits: width(&shared, domains),
                grows: new.iter().any(|&p| bits(domains[p as usize]) > 0),
                rest: waiting.iter().map(|&k| operands[k].least).sum(),
            });
            known.extend(new);
        }
        JoinPlan {
            driver,
            lay: Projection::new(scope, &joint, scope, domains),
            message: K::ones(width(&joint[1..], domains)),
            grows: stages.iter().any(|stage| stage.grows),
            stages,
            limit,
            others: width(&scope[1..], domains),
        }
    }
}
