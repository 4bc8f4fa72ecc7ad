//! The bounds in turn with the search, or beside it: where a device searches, the CPU has nothing better to do than bounds, and drivers that no device
//! has ([`Crew`](super::crew::Crew)).

use super::bounds::{Bounds, Core, Step};
use super::errand::Errand;
use super::options::Options;
use crate::inference::Gpu;
use crate::model::Cost;
use crate::stop::{Cause, Stop};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;

/// One thread in so many beside a device is the drivers', up to as many as there are islands; the others are the bounds'. On large cores it is one: annealing
/// takes in what islands find, and with three threads of them the pool was theirs too soon (results/notes/search-cuda.md).
const DRIVERS: usize = 4;

/// Threads for work beside the loop, so that nobody waits for somebody else's; by default those of everybody.
#[derive(Clone, Debug, Default)]
pub(crate) struct Threads(Option<Arc<ThreadPool>>);

impl Threads {
    /// Those of bounds and, where some are to be there, those of drivers: all but one. A run of one thread has bounds beside it, and no drivers.
    pub fn of_bounds_and_drivers(drivers: bool, is_large: bool) -> (Threads, Option<Threads>) {
        let all = rayon::current_num_threads() - 1;
        let most = if is_large { 1 } else { DRIVERS };
        let drivers = (drivers && all > 0).then(|| (all / DRIVERS).clamp(1, most));
        // those of everybody serve where no more can be started
        let start = |count| Threads(ThreadPoolBuilder::new().num_threads(count).build().ok().map(Arc::new));
        (start(all.saturating_sub(drivers.unwrap_or(0)).max(1)), drivers.map(start))
    }

    /// Does something on them.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(threads) => threads.install(work),
            None => work(),
        }
    }
}

/// The bounds: in turn with the search, or beside it with a slice of work.
pub(crate) struct BoundsBeside {
    errand: Errand<Bounds, Option<Step>>,
    /// Its own where a device searches.
    threads: Threads,
    /// The core has changed meanwhile.
    rebased: bool,
    /// Ends a slice on its way.
    over: Stop,
}

impl BoundsBeside {
    /// What the options allow; a device takes exact plans that pay there.
    pub fn new(options: &Options, device: Option<(Arc<Gpu>, Threads)>) -> Self {
        let (gpu, threads) = device.unzip();
        let (errand, threads) = (Errand::new(Bounds::new(options, gpu)), threads.unwrap_or_default());
        BoundsBeside { errand, threads, rebased: false, over: Stop::new() }
    }

    /// From now on a device searches and takes exact plans that pay there; nothing is on its way.
    pub fn board(&mut self, gpu: Arc<Gpu>, threads: Threads) {
        self.threads = threads;
        if let Some(bounds) = self.here() {
            bounds.board(gpu);
        }
    }

    /// The bounds, unless they are at work elsewhere.
    pub fn here(&mut self) -> Option<&mut Bounds> {
        self.errand.here()
    }

    /// Begins a slice on a thread of its own, unless one is on its way or there is nothing left to do.
    pub fn begin(&mut self, core: &Core, upper: Cost, seed: u64, stop: &Stop) {
        if self.here().is_none_or(|bounds| bounds.is_done()) {
            return;
        }
        self.over = stop.below();
        let (core, stop, threads) = (core.clone(), self.over.clone(), self.threads.clone());
        self.errand.begin(move |bounds| threads.run(|| bounds.slice(&core, upper, seed, &stop)));
    }

    /// What a slice on its way came to, if it is there and finished a rung.
    pub fn finished(&mut self) -> Option<Step> {
        let step = self.errand.back()?;
        if std::mem::take(&mut self.rebased) {
            self.rebase();
        }
        step
    }

    /// The core has changed: what has not begun is planned anew.
    pub fn rebase(&mut self) {
        match self.here() {
            Some(bounds) => bounds.rebase(),
            None => self.rebased = true,
        }
    }

    /// The run is over: ends a slice on its way.
    pub fn finish(&mut self) {
        self.over.set(Cause::Time);
        let _ = self.errand.wait();
    }
}
