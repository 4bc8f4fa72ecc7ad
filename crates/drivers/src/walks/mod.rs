//! A driver of walks: local searches that each change one assignment move by move, in parallel on the CPU or on a
//! device. The moves of a walk, its beginning and the results that are offered are defined by a [`LocalSearch`].
//!
//! To add a local search, implement [`search::Walk`] for its walk on the CPU, which also specifies its kernel,
//! [`LocalSearch`], and [`DeviceSearch`] for the kernel. A walk is a function of its first assignment and its key
//! alone: all its decisions are mixed from the key and the step, so that CPU and device make equal walks, move by move.

pub(crate) mod cpu;
pub(crate) mod cuda;
pub(crate) mod search;

use self::cpu::CpuWalks;
use self::cuda::{CudaWalks, DeviceSearch};
use self::search::{LocalSearch, Progress, Turn, Walks};
use crate::core::context::SearchContext;
use crate::core::driver::{Driver, shorter};
use crate::core::effort::Effort;
use crate::core::pool::{Pool, Translate};
use crate::device::{Cuda, DeviceError, Source};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::tuning::tuning;
use std::cell::OnceCell;
use std::sync::Arc;

pub(crate) struct WalkDriver<S: LocalSearch> {
    rng: Rng,
    device: Option<Arc<Cuda>>,
    search: S,
    /// The walks; `None` before the first round on a problem.
    open: Option<Open<S>>,
    rounds: u32,
    /// The kernel source for the problem, made when it is first needed.
    kernels: OnceCell<Source>,
}

/// Walks on a problem.
struct Open<S: LocalSearch> {
    walks: Box<dyn Walks<S::Progress>>,
    layout: Arc<S::Layout>,
    progress: Vec<S::Progress>,
    on_device: bool,
}

impl<S: LocalSearch> Open<S> {
    fn turn<'a>(&'a self, context: &'a SearchContext, pool: &'a Pool, shorter: u32, stop: &'a Stop) -> Turn<'a, S> {
        let (layout, progress, on_device) = (&*self.layout, &self.progress[..], self.on_device);
        Turn { context, layout, progress, pool, on_device, shorter, stop }
    }
}

impl<S: DeviceSearch> WalkDriver<S> {
    pub fn new(rng: Rng, device: Option<Arc<Cuda>>) -> Self {
        WalkDriver { rng, device, search: S::default(), open: None, rounds: 0, kernels: OnceCell::new() }
    }

    /// Returns the device, if it supports the problem.
    fn device(&self, context: &SearchContext) -> Option<&Arc<Cuda>> {
        self.device.as_ref().filter(|_| S::fits_device(context))
    }

    /// Creates walks on a problem, on the device if that supports it; `None` once the flag is set.
    fn open(&mut self, context: &SearchContext, stop: &Stop) -> Result<Option<Open<S>>, DeviceError> {
        let Ok(layout) = self.search.layout(context, stop) else { return Ok(None) };
        let device = self.device(context);
        let on_device = device.is_some() && !context.portable;
        let count = |room| self.search.count(context, on_device.then_some(room));
        let walks: Box<dyn Walks<S::Progress>> = match device {
            Some(cuda) => Box::new(CudaWalks::<S>::open(cuda, context, &layout, count)?),
            None => Box::new(CpuWalks::<S>::new(layout.clone(), count(0))),
        };
        Ok(Some(Open { progress: vec![S::Progress::default(); walks.count()], walks, layout, on_device }))
    }

    /// Makes slices of the walks until a round's work is done or something better was found.
    fn advance(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Result<Effort, DeviceError> {
        let open = match self.open.take() {
            Some(open) => Some(open),
            None => self.open(context, stop)?,
        };
        let Some(mut open) = open else { return Ok(Effort::default()) };
        let (mut effort, best) = (Effort::default(), pool.best());
        loop {
            effort.add(&self.turn(&mut open, context, pool, stop)?);
            if effort.work >= S::ROUND_WORK >> shorter(self.rounds) || pool.best() < best || stop.is_set() {
                self.rounds += 1;
                self.open = Some(open);
                return Ok(effort);
            }
        }
    }

    /// Makes one slice of the walks and offers their results to the pool.
    fn turn(
        &mut self,
        open: &mut Open<S>,
        context: &SearchContext,
        pool: &mut Pool,
        stop: &Stop,
    ) -> Result<Effort, DeviceError> {
        let shorter = shorter(self.rounds);
        let turn = open.turn(context, pool, shorter, stop);
        let limit = self.search.limit(&turn);
        let begin = self.search.begin(&turn, &mut self.rng, &*open.walks)?;
        for start in &begin {
            open.progress[start.slot] = start.progress;
        }
        let (after, work) = open.walks.walk(context, &begin, limit, stop)?;
        let before = std::mem::replace(&mut open.progress, after);
        let turn = open.turn(context, pool, shorter, stop);
        let is_better = |&slot: &usize| turn.progress[slot].quality() < before[slot].quality();
        let slots = self.search.choose(&turn, (0..before.len()).filter(is_better).collect());
        let mut bests: Vec<(usize, Vec<u16>)> = slots.iter().copied().zip(open.walks.bests(&slots)?).collect();
        // a walk that was stopped before it began has no best
        bests.retain(|best| !best.1.is_empty());
        let shown = self.search.show(&turn, bests);
        let mut effort = Effort { work, ..Effort::default() };
        for (after, before) in turn.progress.iter().zip(&before).map(|(a, b)| (a.counted(), b.counted())) {
            effort.moves += after.0 - before.0;
            effort.ratings += after.1 - before.1;
        }
        self.search.account(&turn, limit.steps, begin.len(), &mut effort);
        let shown = shown?;
        shown.elites.iter().for_each(|elite| pool.offer(elite));
        Ok(Effort { found: shown.found, ..effort })
    }
}

impl<S: DeviceSearch> Driver for WalkDriver<S> {
    fn population(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.progress.len())
    }

    fn weight(&self, context: &SearchContext, pool: &Pool) -> f64 {
        self.search.share(context, pool).0
    }

    fn floor(&self, context: &SearchContext, pool: &Pool) -> f64 {
        self.search.share(context, pool).1
    }

    fn begins(&self, context: &SearchContext) -> u64 {
        // if other drivers cannot search there is nothing to wait for
        let is_alone = S::KEEPS_SUMS && context.is_for_sums();
        if self.device.is_some() && !context.portable && !is_alone { tuning().walks.begin } else { 0 }
    }

    fn fits(&self, context: &SearchContext, pool: &Pool) -> bool {
        // what no device supports is searched on the CPU, beside the device
        let here = self.device.is_none() || S::fits_device(context);
        here && self.search.can_walk(context) && self.search.pays(context, pool)
    }

    fn can_move(&self, context: &SearchContext) -> bool {
        self.search.can_walk(context)
    }

    fn reads_tables(&self) -> bool {
        !S::KEEPS_SUMS
    }

    fn kernels(&self, context: &SearchContext) -> Option<Source> {
        let cuda = self.device(context).filter(|_| self.open.is_none() && self.search.can_walk(context))?;
        Some(self.kernels.get_or_init(|| S::source(&cuda.info, context)).clone())
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        if !self.search.can_walk(context) {
            return Effort { work: 1_000_000, ..Effort::default() };
        }
        self.advance(context, pool, stop).unwrap_or_else(|error| {
            // the pool has the results of the walks, and new walks begin on the CPU
            self.device = None;
            Effort { lost: Some(error), ..Effort::default() }
        })
    }

    fn rebase(&mut self, _: &SearchContext, _: &Translate<'_>) {
        // the shared pool carries over the results of the walks
        let open = self.open.take();
        self.search.rebase(open.as_ref().map_or(&[], |open| &open.progress));
        self.kernels = OnceCell::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tabu::Tabu;
    use fangs_testing::cores::{price, random_dense};

    #[test]
    fn rounds_offer_what_the_walks_found() {
        let mut rng = Rng::new(3);
        let stop = Stop::new();
        for _ in 0..4 {
            let problem = Arc::new(random_dense(&mut rng));
            let context = SearchContext::new(&problem, price(&problem), None, &mut rng);
            let mut tabu = Tabu::new(rng.split(), None);
            let mut pool = Pool::default();
            let effort = tabu.round(&context, &mut pool, &stop);
            assert!(effort.work > 0 && tabu.population() > 0);
            let all: Vec<usize> = (0..tabu.population()).collect();
            let bests = tabu.open.expect("walks have begun").walks.bests(&all).expect("the host works");
            let best = bests.iter().map(|values| context.tables.energy(values).total).min();
            assert!(best.is_some_and(|best| pool.best() <= best));
        }
    }
}
