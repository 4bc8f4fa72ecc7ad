//! How the tables of a bucket are joined, as plain data: the CPU and devices do the same, and count the same work.

use super::key::{Key, Projection, bits, width};
use crate::elimination::plan::{Plan, Step};
use crate::model::Cost;

/// What is known of an input before it is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand<'a> {
    /// Ascending positions, the eliminated one first.
    pub scope: &'a [u32],
    pub rows: usize,
    /// The least cost of a row.
    pub least: Cost,
}

/// The table with the most rows drives, each of the others extends its keys.
#[derive(Debug)]
pub(crate) struct JoinPlan<K> {
    /// Which operand drives.
    pub driver: usize,
    /// From the driver's keys to joint ones.
    pub lay: Projection<K>,
    pub stages: Vec<StagePlan<K>>,
    /// Fields of the message in a joint key.
    pub message: K,
    /// Whether stages extend keys.
    pub grows: bool,
    /// Sums from here on are left out.
    pub limit: Cost,
    /// Bits of the driver's keys but for the eliminated variable.
    pub others: u32,
}

/// A table that extends joint keys.
#[derive(Debug)]
pub(crate) struct StagePlan<K> {
    pub operand: usize,
    /// From the table's keys to what they share with the joint key, and to the fields that they add to it.
    pub of_table: Projection<K>,
    pub added: Projection<K>,
    /// From a joint key to what it shares with the table.
    pub shared: Projection<K>,
    /// Bits of that.
    pub bits: u32,
    /// Whether it adds fields. Otherwise one row at most agrees with a joint key.
    pub grows: bool,
    /// What the stages that follow cost at least.
    pub rest: Cost,
}

impl<K: Key> JoinPlan<K> {
    /// For a step of a plan, which has an operand at least. Only sums below `limit` count.
    pub fn of_step(plan: &Plan, step: &Step, operands: &[Operand<'_>], limit: Cost) -> Self {
        let domains = &plan.domains[..];
        let joint: Vec<u32> = [step.position].iter().chain(&step.scope).copied().collect();
        let driver = (0..operands.len()).max_by_key(|&k| (operands[k].rows, operands.len() - k)).unwrap_or(0);
        let mut waiting: Vec<usize> = (0..operands.len()).filter(|&k| k != driver).collect();
        let scope = operands[driver].scope;
        let mut known = scope.to_vec();
        let mut stages = Vec::new();
        // always the table that extends a key by the fewest rows
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
