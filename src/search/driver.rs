//! What a driver is, and what all drivers see.
//!
//! To add a driver: write a file with a type that implements [`Driver`], and add it to the list in `portfolio.rs`. A
//! driver makes bounded rounds; it never reads the clock, prints, or writes files.

use super::forest::Forest;
use super::graph::Graph;
use super::rows::Rows;
use super::schedule::Schedule;
use super::state::Elite;
use crate::inference::Outcome;
use crate::model::{Cost, Problem};
use crate::rng::Rng;
use crate::stop::Stop;
use std::sync::Arc;

/// A core prepared for local search.
#[derive(Debug)]
pub(crate) struct Field {
    /// The core's tables by variable.
    pub rows: Rows,
    /// Who shares a function with whom.
    pub graph: Graph,
    /// Color classes, where a core is so large that whole classes are assigned in a step.
    pub classes: Option<Vec<Vec<u32>>>,
    /// Random induced forests for tree moves; none where they would hold next to nothing.
    pub forests: Vec<Forest>,
    /// Temperatures.
    pub schedule: Schedule,
    /// About what visiting every variable once costs, in units of one nanosecond or so.
    pub sweep_work: u64,
    /// States wanted, where the caller said so.
    pub population: Option<usize>,
}

/// Above this many variables a state's color classes are assigned together and children are merged with their parents
/// by components (ALGORITHMS.md M.2.5).
const LARGE: usize = 600;

impl Field {
    /// Prepares a core. A forbidden entry costs `price` in the core's units.
    pub fn new(problem: &Arc<Problem>, price: Cost, population: Option<usize>, rng: &mut Rng, stop: &Stop) -> Field {
        let rows = Rows::new(problem, price);
        let graph = Graph::new(problem);
        let n = problem.variables();
        let classes = (n > LARGE).then(|| graph.classes());
        let wanted = (1_000_000 / n.max(1)).clamp(8, 128);
        let mut forests = Vec::new();
        for _ in 0..wanted {
            if stop.is_set() {
                break;
            }
            let forest = Forest::random(&rows, rng);
            // alone, a forest of few edges is a sweep that costs more
            if forest.edges() * 10 < n {
                break;
            }
            forests.push(forest);
        }
        let schedule = Schedule::of(&rows);
        let sweep_work = (0..n).map(|v| 30 + rows.degree(v) as u64 * (2 + u64::from(rows.width[v]) / 4)).sum();
        Field { rows, graph, classes, forests, schedule, sweep_work, population }
    }

    /// Number of variables.
    pub fn variables(&self) -> usize {
        self.rows.variables()
    }

    /// Whether the core is so large that components are merged.
    pub fn is_large(&self) -> bool {
        self.classes.is_some()
    }
}

/// What a round did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effort {
    /// Assignments that changed a value.
    pub moves: u64,
    /// Possibilities rated.
    pub ratings: u64,
    /// Work done, in the unit of [`Field::sweep_work`].
    pub work: u64,
}

/// Improves solutions in bounded rounds.
pub(crate) trait Driver: Send {
    /// The name in the CSV's `source` column.
    fn name(&self) -> &'static str;

    /// States it keeps.
    fn population(&self) -> usize;

    /// One round of some ten milliseconds. Whatever is worth keeping goes into `pool`. After a stop the rest of the round
    /// is dropped.
    fn round(&mut self, field: &Field, pool: &mut Pool, stop: &Stop) -> Effort;

    /// A bound step has left messages that rate partial assignments.
    fn guide(&mut self, outcome: &Arc<Outcome>) {
        let _ = outcome;
    }

    /// The core has changed: `translate` turns an assignment of the old one into one of the new.
    fn rebase(&mut self, field: &Field, translate: &dyn Fn(&[u16]) -> Vec<u16>);
}

/// The best different assignments that any driver found, best first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    elites: Vec<Elite>,
}

/// Elites kept for all drivers.
const POOL: usize = 32;

impl Pool {
    /// Best first.
    pub fn elites(&self) -> &[Elite] {
        &self.elites
    }

    /// Energy of the best, larger than any where there is none.
    pub fn best(&self) -> Cost {
        self.elites.first().map_or(Cost::MAX, |elite| elite.energy.total)
    }

    /// The same assignments on another core.
    pub fn rebase(&mut self, field: &Field, translate: &dyn Fn(&[u16]) -> Vec<u16>) {
        for elite in std::mem::take(&mut self.elites) {
            self.offer(&Elite::new(&field.rows, translate(&elite.values)));
        }
    }

    /// Keeps an assignment if it is new and among the best.
    pub fn offer(&mut self, elite: &Elite) {
        let key = |elite: &Elite| (elite.energy.total, elite.hash);
        let at = self.elites.partition_point(|kept| key(kept) < key(elite));
        if at < POOL && self.elites.get(at).is_none_or(|kept| kept.hash != elite.hash) {
            self.elites.insert(at, elite.clone());
            self.elites.truncate(POOL);
        }
    }
}
