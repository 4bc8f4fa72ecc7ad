//! The bounds in turn with the search, or concurrently: while a device searches, the CPU works on bounds and on the
//! drivers that no device has ([`DriverGroup`](super::group::DriverGroup)).

use super::background::BackgroundTask;
use super::bounds::Bounds;
use super::threads::{ThreadSplit, Threads};
use crate::bounds::BoundResult;
use crate::core::incumbent::SharedIncumbent;
use crate::elimination::Gpu;
use crate::model::Cost;
use crate::options::Options;
use crate::reduce::ReducedProblem;
use crate::stop::{Cause, Stop};
use crate::threads;
use crate::tuning::bounds::{LONGEST_TURN, PATIENCE};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The bounds: in turn with the search, or beside it.
pub(crate) struct ConcurrentBounds {
    task: BackgroundTask<Bounds, ()>,
    /// Their own where they have some.
    threads: Threads,
    /// The search's, which they have instead of theirs while they lead; nowhere but on the CPU.
    leading: Option<Threads>,
    /// The core has changed meanwhile, or the device has come.
    rebased: bool,
    boards: Option<Arc<Gpu>>,
    /// What [`Self::widths`] said last.
    widths: (Option<u32>, Option<u32>),
    /// Ends a slice on its way.
    over: Stop,
    shared: Arc<Shared>,
    /// Told of what steps beside the search have found and proven.
    incumbent: SharedIncumbent,
}

/// Between the search and the bounds beside it.
#[derive(Default)]
struct Shared {
    /// The best total that the search knows.
    upper: AtomicI64,
    /// No further slice after this one.
    recalled: AtomicBool,
    /// Whether bounds have the search's threads, and the search theirs.
    lead: AtomicBool,
    /// Whether they have a device at work.
    device: AtomicBool,
    /// Steps that the search has not followed yet.
    steps: Mutex<VecDeque<BoundResult>>,
}

impl Shared {
    fn steps(&self) -> MutexGuard<'_, VecDeque<BoundResult>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConcurrentBounds {
    /// What the options allow; a device takes exact plans that pay there.
    pub fn new(options: &Options, device: Option<(Arc<Gpu>, Threads)>, incumbent: SharedIncumbent) -> Self {
        let (gpu, threads) = device.unzip();
        let (task, threads) = (BackgroundTask::new(Bounds::new(options, gpu)), threads.unwrap_or_default());
        ConcurrentBounds {
            task,
            threads,
            leading: None,
            rebased: false,
            boards: None,
            widths: (None, None),
            over: Stop::new(),
            shared: Arc::default(),
            incumbent,
        }
    }

    /// From now on they go on beside the search on the CPU, on threads of their own, or on those of the search's rounds
    /// while they lead.
    pub fn part(&mut self, parts: &ThreadSplit) {
        (self.threads, self.leading) = (parts.bounds.clone(), Some(parts.search.clone()));
    }

    /// Whether they go on beside the search on the CPU.
    pub fn are_parted(&self) -> bool {
        self.leading.is_some()
    }

    /// Where they have a device at work the search leaves it to them for as long as it had it: its generations come
    /// before their nodes.
    pub fn have_device(&self, as_long_as: Duration) {
        if self.shared.device.load(Ordering::Relaxed) {
            std::thread::sleep(as_long_as.min(LONGEST_TURN));
        }
    }

    /// The threads of the search's next round.
    pub fn for_search(&self) -> Threads {
        match &self.leading {
            Some(_) if self.shared.lead.load(Ordering::Relaxed) => self.threads.clone(),
            Some(threads) => threads.clone(),
            None => Threads::default(),
        }
    }

    /// From now on a device searches and takes exact plans that pay there.
    pub fn board(&mut self, gpu: Arc<Gpu>, threads: Threads) {
        (self.threads, self.leading) = (threads, None);
        match self.here() {
            Some(bounds) => bounds.board(gpu),
            None => {
                self.recall();
                self.boards = Some(gpu);
            }
        }
    }

    /// Another device takes the place of the one that has failed.
    pub fn change_device(&mut self, gpu: Arc<Gpu>) {
        self.board(gpu, self.threads.clone());
    }

    /// The bounds, unless they are at work elsewhere.
    pub fn here(&mut self) -> Option<&mut Bounds> {
        self.task.here()
    }

    /// Begins slices on a thread of their own, unless they are on their way or nothing is left. They go on until
    /// recalled or a notice: one slice a round left threads idle beside device rounds of two seconds. `one` is for
    /// large problems, where the search made a tenth fewer moves otherwise.
    pub fn begin(&mut self, core: &ReducedProblem, upper: Cost, one: bool, stop: &Stop) {
        self.shared.upper.store(upper, Ordering::Relaxed);
        if self.here().is_none_or(|bounds| bounds.bounder.is_done()) {
            return;
        }
        let _ = self.widths();
        self.over = stop.below();
        self.shared.recalled.store(one, Ordering::Relaxed);
        let (core, stop) = (core.clone(), self.over.clone());
        let (threads, leading) = (self.threads.clone(), self.leading.clone());
        let (shared, incumbent) = (self.shared.clone(), self.incumbent.clone());
        let own = threads.clone();
        let slices = move |bounds: &mut Bounds| {
            loop {
                threads::panic_on_purpose("bounds-beside");
                let upper = shared.upper.load(Ordering::Relaxed);
                let many = leading.as_ref().filter(|_| bounds.lead());
                shared.lead.store(many.is_some(), Ordering::Relaxed);
                shared.device.store(bounds.bounder.is_on_device(), Ordering::Relaxed);
                let step = many.unwrap_or(&threads).run(|| bounds.slice(&core, upper, &stop));
                if let Some(step) = step {
                    if let Some(assignment) = step.assignment.as_ref().filter(|_| !step.reduced.reducer.is_relaxed()) {
                        incumbent.found(step.reduced.problem.cost(assignment));
                    }
                    // it speaks of what is better than the best total then known
                    incumbent.proved(step.lower.min(upper));
                    shared.steps().push_back(step);
                }
                if shared.recalled.load(Ordering::Relaxed)
                    || stop.is_set()
                    || bounds.bounder.is_done()
                    || bounds.bounder.has_notices()
                {
                    break;
                }
            }
            shared.lead.store(false, Ordering::Relaxed);
            shared.device.store(false, Ordering::Relaxed);
        };
        self.task.begin(&own, slices);
    }

    /// They have ended by an internal error: there are none any more.
    pub fn lose(&mut self, what: String) {
        self.task.lose(what);
    }

    /// Why they are gone for good, told once.
    pub fn take_lost(&mut self) -> Option<String> {
        let lost = self.task.take_lost();
        if lost.is_some() {
            // what they had at work is free
            self.shared.lead.store(false, Ordering::Relaxed);
            self.shared.device.store(false, Ordering::Relaxed);
        }
        lost
    }

    /// The next step of slices beside the search.
    pub fn finished(&mut self) -> Option<BoundResult> {
        if self.task.back().is_some() {
            if std::mem::take(&mut self.rebased) {
                self.rebase();
            }
            if let (Some(gpu), Some(bounds)) = (self.boards.take(), self.task.here()) {
                bounds.board(gpu);
            }
        }
        self.shared.steps().pop_front()
    }

    /// Slices beside the search end with the one at work.
    pub fn recall(&self) {
        self.shared.recalled.store(true, Ordering::Relaxed);
    }

    /// There is no device any more: slices are for everybody's threads again.
    pub fn lose_device(&mut self) {
        self.recall();
        (self.threads, self.leading, self.boards) = (Threads::default(), None, None);
    }

    /// The core has changed: what has not begun is planned again.
    pub fn rebase(&mut self) {
        self.recall();
        match self.here() {
            Some(bounds) => bounds.bounder.rebase(),
            None => self.rebased = true,
        }
    }

    /// The run is over: ends a slice on its way. One that does not hear of it is left alone.
    pub fn finish(&mut self) {
        self.over.set(Cause::Time);
        let _ = self.task.wait_for(PATIENCE);
    }

    /// The best z of a finished step and the induced width of the best order, as far as they have come back.
    pub fn widths(&mut self) -> (Option<u32>, Option<u32>) {
        if let Some(bounds) = self.task.here() {
            self.widths = (bounds.bounder.best_z(), bounds.bounder.induced_width());
        }
        self.widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::reduce::Reducer;
    use std::time::Instant;

    /// All steps that follow from one beginning, up to the one that decides.
    fn steps(incumbent: &SharedIncumbent, core: &ReducedProblem, upper: Cost, stop: &Stop) -> Vec<BoundResult> {
        let mut bounds = ConcurrentBounds::new(&Options::default(), None, incumbent.clone());
        bounds.begin(core, upper, false, stop);
        let (mut steps, begin) = (Vec::new(), Instant::now());
        loop {
            assert!(begin.elapsed() < Duration::from_secs(600));
            let is_decided = incumbent.closed().is_set();
            if is_decided {
                bounds.recall();
            }
            let ended = is_decided || bounds.here().is_none_or(|bounds| bounds.bounder.is_done());
            match bounds.finished() {
                Some(step) => steps.push(step),
                None if ended && bounds.here().is_some() => return steps,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    #[test]
    fn slices_go_on_by_themselves_and_decide_a_run() {
        let stop = Stop::new();
        let network = generate("grid", &[("side", "8"), ("d", "4"), ("p2", "0")], 1).expect("a family");
        let reducer = Arc::new(Reducer::new(&network, true, &stop).expect("no limit"));
        let core = ReducedProblem { problem: Arc::new(reducer.problem(&stop).expect("no stop is set")), reducer };
        let open = SharedIncumbent::new(network.top(), &stop);
        let found = steps(&open, &core, network.top(), &stop);
        let best = found.iter().map(|step| step.lower).max().expect("elimination is exact");
        // an exact elimination comes with an assignment that meets it
        let is_found = found.iter().any(|step| step.assignment.as_ref().is_some_and(|a| core.problem.cost(a) == best));
        assert!(best < network.top() && is_found && open.closed().is_set(), "{best}");

        let closed = SharedIncumbent::new(best, &stop);
        assert!(!steps(&closed, &core, best, &stop).is_empty());
        assert!(closed.closed().is_set() && !stop.is_set());
    }

    #[test]
    fn who_is_recalled_comes_back_for_another_core() {
        let stop = Stop::new();
        let network = generate("random", &[("n", "60"), ("d", "8"), ("p2", "0")], 1).expect("a family");
        let reducer = Arc::new(Reducer::new(&network, true, &stop).expect("no limit"));
        let core = ReducedProblem { problem: Arc::new(reducer.problem(&stop).expect("no stop is set")), reducer };
        let mut bounds = ConcurrentBounds::new(&Options::default(), None, SharedIncumbent::new(network.top(), &stop));
        bounds.begin(&core, network.top(), false, &stop);
        bounds.rebase();
        while bounds.here().is_none() {
            let _ = bounds.finished();
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!bounds.rebased && bounds.here().is_some_and(|bounds| !bounds.bounder.is_done()));
    }
}
