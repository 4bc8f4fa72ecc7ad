//! The bounds, alternating with the search or concurrent with it. While a device searches, the CPU works on bounds and
//! on the drivers that have no device version ([`DriverGroup`](super::group::DriverGroup)).

use super::background::BackgroundTask;
use super::threads::{ThreadSplit, Threads};
use crate::bounds::{BoundResult, Bounder, DeviceUse, Step};
use crate::elimination::Gpu;
use crate::faults;
use crate::ledger::Ledger;
use crate::options::Options;
use crate::reduce::ReducedProblem;
use crate::stop::{Cause, Stop};
use crate::tuning::bounds::PATIENCE;
use crate::tuning::tuning;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The bounds, alternating or concurrent with the search.
pub(crate) struct ConcurrentBounds {
    task: BackgroundTask<Bounder, ()>,
    /// The threads of the bounds, if they have separate ones.
    threads: Threads,
    /// The threads of the search, which the bounds use instead of theirs while they lead; only on the CPU.
    leading: Option<Threads>,
    /// Changes of the bounder that wait for the end of a slice.
    changes: Vec<Change>,
    /// The last result of [`Self::widths`].
    widths: (Option<u32>, Option<u32>),
    /// The flag that ends a slice that is running.
    over: Stop,
    shared: Arc<Shared>,
    ledger: Ledger,
}

/// A change of the bounder between two slices.
type Change = Box<dyn FnOnce(&mut Bounder) + Send>;

/// State shared by the search and the concurrent bounds.
#[derive(Default)]
struct Shared {
    /// Whether no further slice must begin after the present one.
    recalled: AtomicBool,
    /// Whether the bounds and the search have exchanged their threads.
    lead: AtomicBool,
    /// Whether the bounds are using a device.
    device: AtomicBool,
    /// Results that the search has not handled yet.
    steps: Mutex<VecDeque<BoundResult>>,
}

impl Shared {
    fn steps(&self) -> MutexGuard<'_, VecDeque<BoundResult>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConcurrentBounds {
    /// Creates the bounds that the options select. A device computes the exact plans that are faster there.
    pub fn new(options: &Options, device: Option<(Arc<Gpu>, Threads)>, ledger: Ledger) -> Self {
        let mut bounder = Bounder::new(options.bounder()).telling(&options.activity);
        let (gpu, threads) = device.unzip();
        gpu.into_iter().for_each(|gpu| bounder.use_devices(vec![gpu], DeviceUse::Shared));
        ConcurrentBounds {
            task: BackgroundTask::new(bounder),
            threads: threads.unwrap_or_default(),
            leading: None,
            changes: Vec::new(),
            widths: (None, None),
            over: Stop::new(),
            shared: Arc::default(),
            ledger,
        }
    }

    /// Makes the bounds concurrent with the search on the CPU, on separate threads, or on those of the search's rounds
    /// while they lead.
    pub fn part(&mut self, parts: &ThreadSplit) {
        (self.threads, self.leading) = (parts.bounds.clone(), Some(parts.search.clone()));
    }

    /// Returns whether the bounds are concurrent with the search on the CPU.
    pub fn are_parted(&self) -> bool {
        self.leading.is_some()
    }

    /// Leaves a device that the bounds are using to them for as long as the search had it, because the search's
    /// generations come before their nodes.
    pub fn have_device(&self, as_long_as: Duration) {
        if self.shared.device.load(Ordering::Relaxed) {
            std::thread::sleep(as_long_as.min(tuning().bounds.longest_turn));
        }
    }

    /// Returns the threads of the search's next round.
    pub fn for_search(&self) -> Threads {
        match &self.leading {
            Some(_) if self.shared.lead.load(Ordering::Relaxed) => self.threads.clone(),
            Some(threads) => threads.clone(),
            None => Threads::default(),
        }
    }

    /// Changes the bounder once no slice is running: no further slice begins before.
    pub fn change(&mut self, change: impl FnOnce(&mut Bounder) + Send + 'static) {
        match self.here() {
            Some(bounder) => change(bounder),
            None => {
                self.recall();
                self.changes.push(Box::new(change));
            }
        }
    }

    /// Lets the bounds use a device that also searches, which computes the exact plans that are faster there, and the
    /// threads beside it; the present ones if these are `None`.
    pub fn use_device(&mut self, gpu: Arc<Gpu>, threads: Option<Threads>) {
        self.threads = threads.unwrap_or_else(|| self.threads.clone());
        self.leading = None;
        self.change(|bounder| bounder.use_devices(vec![gpu], DeviceUse::Shared));
    }

    /// Returns the bounder, unless a concurrent task has it.
    pub fn here(&mut self) -> Option<&mut Bounder> {
        self.task.here()
    }

    /// Begins slices on a separate thread, unless some are running or nothing is left to do. They continue until they
    /// are recalled or there is a notice, because one slice per round left threads idle beside device rounds of two
    /// seconds. `one` limits them to one slice on large problems, on which the search made a tenth fewer moves
    /// otherwise.
    pub fn begin(&mut self, core: &ReducedProblem, one: bool, stop: &Stop) {
        if self.here().is_none_or(|bounder| bounder.is_done()) {
            return;
        }
        let _ = self.widths();
        self.over = stop.below();
        self.shared.recalled.store(one, Ordering::Relaxed);
        let (core, stop) = (core.clone(), self.over.clone());
        let (threads, leading) = (self.threads.clone(), self.leading.clone());
        let (shared, ledger) = (self.shared.clone(), self.ledger.clone());
        let own = threads.clone();
        let slices = move |bounder: &mut Bounder| {
            loop {
                faults::panic_at("bounds-beside");
                let upper = ledger.limit();
                let many = leading.as_ref().filter(|_| bounder.leads());
                shared.lead.store(many.is_some(), Ordering::Relaxed);
                shared.device.store(bounder.is_on_device(), Ordering::Relaxed);
                let step = many.unwrap_or(&threads).run(|| bounder.step(&core, upper, &stop));
                if let Step::Result(step) = step {
                    if let Some(assignment) = step.assignment.as_ref().filter(|_| !step.reduced.reducer.is_relaxed()) {
                        ledger.gap().found(step.reduced.problem.cost(assignment));
                    }
                    // the bound holds for solutions better than the incumbent of that time
                    ledger.gap().proved(step.lower.min(upper));
                    shared.steps().push_back(*step);
                }
                if shared.recalled.load(Ordering::Relaxed)
                    || stop.is_set()
                    || bounder.is_done()
                    || bounder.has_notices()
                {
                    break;
                }
            }
            shared.lead.store(false, Ordering::Relaxed);
            shared.device.store(false, Ordering::Relaxed);
        };
        self.task.begin(&own, slices);
    }

    /// Loses the bounds after an internal error.
    pub fn lose(&mut self, what: String) {
        self.task.lose(what);
    }

    /// Returns why the bounds were lost, once.
    pub fn take_lost(&mut self) -> Option<String> {
        let lost = self.task.take_lost();
        if lost.is_some() {
            // the threads and the device that they used are free
            self.shared.lead.store(false, Ordering::Relaxed);
            self.shared.device.store(false, Ordering::Relaxed);
        }
        lost
    }

    /// Returns the next result of concurrent slices.
    pub fn finished(&mut self) -> Option<BoundResult> {
        if self.task.back().is_some()
            && let Some(bounder) = self.task.here()
        {
            std::mem::take(&mut self.changes).into_iter().for_each(|change| change(bounder));
        }
        self.shared.steps().pop_front()
    }

    /// Ends concurrent slices after the present one.
    pub fn recall(&self) {
        self.shared.recalled.store(true, Ordering::Relaxed);
    }

    /// Handles the loss of the device, which the bounder notices itself: slices use the shared threads again.
    pub fn lose_device(&mut self) {
        self.recall();
        (self.threads, self.leading) = (Threads::default(), None);
    }

    /// Ends a running slice at the end of the run. A slice that does not react is abandoned.
    pub fn finish(&mut self) {
        self.over.set(Cause::Time);
        let _ = self.task.wait_for(PATIENCE);
    }

    /// Returns the best z of a finished step and the induced width of the best order, as far as they are known.
    pub fn widths(&mut self) -> (Option<u32>, Option<u32>) {
        if let Some(bounder) = self.task.here() {
            self.widths = (bounder.best_z(), bounder.induced_width());
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

    /// Returns all results after one start, up to the one that decides the run.
    fn steps(ledger: &Ledger, core: &ReducedProblem, stop: &Stop) -> Vec<BoundResult> {
        let mut bounds = ConcurrentBounds::new(&Options::default(), None, ledger.clone());
        bounds.begin(core, false, stop);
        let (mut steps, begin) = (Vec::new(), Instant::now());
        loop {
            assert!(begin.elapsed() < Duration::from_secs(600));
            let is_decided = ledger.gap().closed().is_set();
            if is_decided {
                bounds.recall();
            }
            let ended = is_decided || bounds.here().is_none_or(|bounder| bounder.is_done());
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
        let open = Ledger::of(&network, &stop);
        let found = steps(&open, &core, &stop);
        let best = found.iter().map(|step| step.lower).max().expect("elimination is exact");
        // an exact elimination returns an assignment of that cost
        let is_found = found.iter().any(|step| step.assignment.as_ref().is_some_and(|a| core.problem.cost(a) == best));
        assert!(best < network.top() && is_found && open.gap().closed().is_set(), "{best}");

        let closed = Ledger::of(&network, &stop);
        assert!(closed.offer(best, network.units().number(best), &[], "test"));
        assert!(!steps(&closed, &core, &stop).is_empty());
        assert!(closed.gap().closed().is_set() && !stop.is_set());
    }

    #[test]
    fn who_is_recalled_comes_back_for_another_core() {
        let stop = Stop::new();
        let network = generate("random", &[("n", "60"), ("d", "8"), ("p2", "0")], 1).expect("a family");
        let reducer = Arc::new(Reducer::new(&network, true, &stop).expect("no limit"));
        let core = ReducedProblem { problem: Arc::new(reducer.problem(&stop).expect("no stop is set")), reducer };
        let mut bounds = ConcurrentBounds::new(&Options::default(), None, Ledger::of(&network, &stop));
        bounds.begin(&core, false, &stop);
        bounds.change(Bounder::rebase);
        while bounds.here().is_none() {
            let _ = bounds.finished();
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(bounds.changes.is_empty() && bounds.here().is_some_and(|bounder| !bounder.is_done()));
    }
}
