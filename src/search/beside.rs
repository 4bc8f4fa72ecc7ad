//! The bounds in turn with the search, or beside it: where a device searches, the CPU has nothing better to do than bounds.

use super::bounds::{Bounds, Core, Step};
use super::options::Options;
use crate::inference::Gpu;
use crate::model::Cost;
use crate::stop::Stop;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;
use std::thread::JoinHandle;

/// All threads but one.
fn threads() -> Option<Arc<ThreadPool>> {
    let count = (rayon::current_num_threads() - 1).max(1);
    ThreadPoolBuilder::new().num_threads(count).build().ok().map(Arc::new)
}

/// The bounds: here, or on a thread of their own with a slice of work.
pub(crate) struct Beside {
    bounds: Option<Bounds>,
    slice: Option<JoinHandle<(Bounds, Option<Step>)>>,
    /// The bounds' threads where a device searches: the search's own work on the host does not wait for a slice's.
    threads: Option<Arc<ThreadPool>>,
    /// The core has changed meanwhile.
    rebased: bool,
}

impl Beside {
    /// What the options allow; a device takes exact plans that pay there.
    pub fn new(options: &Options, gpu: Option<Arc<Gpu>>) -> Self {
        let threads = gpu.as_ref().and_then(|_| threads());
        Beside { bounds: Some(Bounds::new(options, gpu)), slice: None, threads, rebased: false }
    }

    /// From now on a device searches and takes exact plans that pay there; nothing is on its way.
    pub fn board(&mut self, gpu: Arc<Gpu>) {
        self.threads = threads();
        if let Some(bounds) = &mut self.bounds {
            bounds.board(gpu);
        }
    }

    /// The bounds, unless they are at work elsewhere.
    pub fn here(&mut self) -> Option<&mut Bounds> {
        self.bounds.as_mut()
    }

    /// Begins a slice on a thread of its own, unless one is on its way or there is nothing left to do.
    pub fn begin(&mut self, core: &Core, upper: Cost, seed: u64, stop: &Stop) {
        let Some(mut bounds) = self.bounds.take_if(|bounds| !bounds.is_done()) else { return };
        let (core, stop, threads) = (core.clone(), stop.clone(), self.threads.clone());
        self.slice = Some(std::thread::spawn(move || {
            let mut slice = || bounds.slice(&core, upper, seed, &stop);
            let step = if let Some(threads) = threads { threads.install(slice) } else { slice() };
            (bounds, step)
        }));
    }

    /// What a slice on its way came to, if it is there and finished a rung.
    pub fn finished(&mut self) -> Option<Step> {
        if self.slice.as_ref()?.is_finished() { self.collect() } else { None }
    }

    /// The core has changed: what has not begun is planned anew.
    pub fn rebase(&mut self) {
        match &mut self.bounds {
            Some(bounds) => bounds.rebase(),
            None => self.rebased = true,
        }
    }

    /// Waits for a slice on its way and returns the bounds.
    pub fn finish(mut self) -> Option<Bounds> {
        let _ = self.collect();
        self.bounds
    }

    fn collect(&mut self) -> Option<Step> {
        // a slice that ended abnormally takes the bounds with it: the search goes on with what was proven
        let (mut bounds, step) = self.slice.take()?.join().ok()?;
        if std::mem::take(&mut self.rebased) {
            bounds.rebase();
        }
        self.bounds = Some(bounds);
        step
    }
}
