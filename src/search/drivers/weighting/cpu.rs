//! Where constraint-weighting walks live: on the CPU, a thread a walk; a device makes the same moves
//! ([`CudaWeightingWalks`](crate::search::cuda::CudaWeightingWalks)).

use super::walk::{IncidenceLists, LOOKED_AT, Limit, WalkInput, WalkProgress, WeightingWalk};
use crate::device::DeviceError;
use crate::search::context::value_tables::ValueTables;
use crate::search::scheduler::driver::SearchContext;
use crate::stop::Stop;
use rayon::prelude::*;

/// A walk that begins.
#[derive(Clone, Debug)]
pub(crate) struct WalkStart {
    pub progress: WalkProgress,
    pub values: Vec<u16>,
}

/// Walks side by side.
pub(crate) trait WeightingWalks: Send {
    /// How many suit the core.
    fn suitable(&mut self, context: &SearchContext) -> Result<usize, DeviceError>;

    /// Forgets all walks and begins others.
    fn open(&mut self, context: &SearchContext, walks: Vec<WalkStart>) -> Result<(), DeviceError>;

    /// When the walks of a round pause.
    fn limit(&self, context: &SearchContext) -> Limit;

    /// All walks go on. Returns how far each has come and the work of all.
    fn walk(
        &mut self,
        context: &SearchContext,
        limit: Limit,
        stop: &Stop,
    ) -> Result<(Vec<WalkProgress>, u64), DeviceError>;

    /// The best assignments of some.
    fn found(&self, slots: &[usize]) -> Result<Vec<Vec<u16>>, DeviceError>;
}

/// Walks on the CPU.
#[derive(Debug, Default)]
pub(crate) struct CpuWeightingWalks {
    incidences: IncidenceLists,
    walks: Vec<WeightingWalk>,
}

/// Walks, at least: one that remembers beside one that forgets.
pub(crate) const WALKS: usize = 2;
/// Work of a walk in a round: some ten milliseconds.
const ROUND_WORK: u64 = 5_000_000;

/// About the work of a step on the CPU.
fn step_work(tables: &ValueTables) -> u64 {
    let n = tables.variables().max(1);
    let of_all = |of: &dyn Fn(usize) -> usize| (0..n).map(of).sum::<usize>();
    let incidences = of_all(&|v| tables.degree(v)).max(1);
    let arity = incidences.div_ceil(tables.problem.functions.len().max(1));
    let width = 6 + of_all(&|v| tables.width[v] as usize) / n;
    (2 * (LOOKED_AT + incidences / n) * arity * width) as u64
}

/// When the walks of a round pause where a run must be the same on all devices, and what the work of all counts.
pub(crate) fn portable_round(tables: &ValueTables) -> (Limit, u64) {
    let step = step_work(tables);
    let steps = (ROUND_WORK / step).clamp(16, 20_000);
    (Limit { steps: steps as u32, work: u64::MAX }, WALKS as u64 * steps * step)
}

impl WeightingWalks for CpuWeightingWalks {
    fn suitable(&mut self, _: &SearchContext) -> Result<usize, DeviceError> {
        Ok(rayon::current_num_threads().max(WALKS))
    }

    fn open(&mut self, context: &SearchContext, walks: Vec<WalkStart>) -> Result<(), DeviceError> {
        self.incidences = IncidenceLists::new(&context.tables);
        let input = WalkInput { tables: &context.tables, incidences: &self.incidences };
        self.walks = walks
            .into_par_iter()
            .map(|WalkStart { progress, values }| WeightingWalk::new(input, values, progress))
            .collect();
        Ok(())
    }

    fn limit(&self, _: &SearchContext) -> Limit {
        Limit { steps: u32::MAX, work: ROUND_WORK }
    }

    fn walk(
        &mut self,
        context: &SearchContext,
        limit: Limit,
        stop: &Stop,
    ) -> Result<(Vec<WalkProgress>, u64), DeviceError> {
        let input = WalkInput { tables: &context.tables, incidences: &self.incidences };
        let work = self.walks.par_iter_mut().map(|walk| walk.walk(input, limit, stop)).sum();
        Ok((self.walks.iter().map(|walk| walk.progress().0).collect(), work))
    }

    fn found(&self, slots: &[usize]) -> Result<Vec<Vec<u16>>, DeviceError> {
        Ok(slots.iter().map(|&slot| self.walks[slot].progress().1.to_vec()).collect())
    }
}
