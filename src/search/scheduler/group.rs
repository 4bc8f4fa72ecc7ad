//! The drivers of a run. On few threads of the CPU they take turns. Beside a device those that it does not have go on
//! by themselves: in turn with it they kept it waiting a quarter of the time, and had little themselves
//! (results/notes/search-cuda.md). On many threads those do that leave most of them idle.

use super::background::BackgroundTask;
use super::driver::{Effort, Pool, SearchContext, Translate};
use super::portfolio::{Lost, Portfolio};
use super::threads::Threads;
use crate::device::Cuda;
use crate::elimination::Outcome;
use crate::rng::Rng;
use crate::search::options::Options;
use crate::search::run::goal::Meeting;
use crate::search::tuning::portfolio::PATIENCE;
use crate::stop::{Cause, Stop};
use crate::threads;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Drivers that take turns, and those that run beside them.
pub(crate) struct DriverGroup {
    pub turns: Portfolio,
    concurrent: Option<ConcurrentDrivers>,
    /// Told of what is found beside the rounds.
    meeting: Meeting,
    /// What ended by an internal error, and what that said.
    lost: Vec<Lost>,
}

impl DriverGroup {
    /// The drivers that the options name; with `threads` for them some of them work beside a device.
    pub fn new(
        options: &Options,
        device: Option<Arc<Cuda>>,
        threads: Option<Threads>,
        meeting: Meeting,
        rng: &mut Rng,
    ) -> Self {
        let turns = Portfolio::new(options, device, threads.is_some(), rng);
        let concurrent = threads.map(|threads| ConcurrentDrivers::new(Portfolio::concurrent(options, rng), threads));
        DriverGroup { turns, concurrent, meeting, lost: Vec::new() }
    }

    /// Those that need few threads go on by themselves from now on, on `threads`.
    pub fn split(&mut self, threads: Threads) {
        self.concurrent = Some(ConcurrentDrivers::new(self.turns.split(), threads));
    }

    /// Drivers of a device take over: what the others found is in the pool, what they were told is told again.
    pub fn hand_over(
        &mut self,
        options: &Options,
        device: Arc<Cuda>,
        threads: Option<Threads>,
        pool: &mut Pool,
        rng: &mut Rng,
    ) {
        let told = self.turns.told();
        drop(self.concurrent.take().and_then(|concurrent| concurrent.end(pool, &mut self.lost)));
        let lost = self.take_lost();
        *self = DriverGroup { lost, ..DriverGroup::new(options, Some(device), threads, self.meeting.clone(), rng) };
        if let Some(outcome) = told {
            self.guide(outcome);
        }
    }

    /// There is no device any more: all take turns.
    pub fn lose_device(&mut self, pool: &mut Pool) {
        if let Some(drivers) = self.concurrent.take().and_then(|concurrent| concurrent.end(pool, &mut self.lost)) {
            self.turns.join(drivers);
        }
    }

    /// Which drivers have ended by an internal error, told once.
    pub fn take_lost(&mut self) -> Vec<Lost> {
        self.lost.extend(self.turns.take_lost());
        if let Some(concurrent) = &mut self.concurrent {
            concurrent.collect_lost(&mut self.lost);
        }
        std::mem::take(&mut self.lost)
    }

    /// One round of one driver, and what others did meanwhile. Returns which driver found the best, or else made the
    /// round, and all that was done.
    pub fn round(&mut self, context: &Arc<SearchContext>, pool: &mut Pool, stop: &Stop) -> (&'static str, Effort) {
        let (mut source, mut effort) = self.turns.round(context, pool, stop);
        if let Some(concurrent) = &mut self.concurrent {
            let before = pool.best();
            let (other, more) = concurrent.exchange(context, pool, &self.meeting, stop);
            if pool.best() < before {
                source = other;
            }
            effort.add(&more);
        }
        (source, effort)
    }

    /// The run ends: waits for rounds under way, and says which driver found the best of what comes in.
    pub fn finish(&mut self, pool: &mut Pool) -> Option<&'static str> {
        let concurrent = self.concurrent.as_mut()?;
        let _ = concurrent.halt();
        Some(concurrent.collect(pool).0)
    }

    pub fn guide(&mut self, outcome: Arc<Outcome>) {
        if let Some(drivers) = self.concurrent.as_mut().and_then(ConcurrentDrivers::halt) {
            drivers.guide(outcome.clone());
        }
        self.turns.guide(outcome);
    }

    pub fn rebase(&mut self, context: &SearchContext, translate: &Translate<'_>) {
        if let Some(concurrent) = &mut self.concurrent {
            concurrent.rebase(context, translate);
        }
        self.turns.rebase(context, translate);
    }
}

struct ConcurrentDrivers {
    drivers: BackgroundTask<Portfolio, ()>,
    threads: Threads,
    found: Arc<Mutex<Found>>,
    over: Stop,
}

/// What both sides know, and what the drivers did since they were last asked.
#[derive(Default)]
struct Found {
    pool: Pool,
    effort: Effort,
    source: &'static str,
    lost: Vec<Lost>,
}

impl ConcurrentDrivers {
    fn new(drivers: Portfolio, threads: Threads) -> Self {
        ConcurrentDrivers { drivers: BackgroundTask::new(drivers), threads, found: Arc::default(), over: Stop::new() }
    }

    /// Lets both sides know what the other has found, and begins rounds where none are under way. Returns which driver
    /// found the best and what was done.
    fn exchange(
        &mut self,
        context: &Arc<SearchContext>,
        pool: &mut Pool,
        meeting: &Meeting,
        stop: &Stop,
    ) -> (&'static str, Effort) {
        let done = self.collect(pool);
        if self.drivers.here().is_some_and(|drivers| !drivers.is_empty()) && !pool.elites().is_empty() {
            self.over = stop.below();
            let (context, found, over) = (context.clone(), self.found.clone(), self.over.clone());
            let (threads, meeting) = (self.threads.clone(), meeting.clone());
            let own = threads.clone();
            let task =
                move |drivers: &mut Portfolio| threads.run(|| rounds(drivers, &context, &found, &meeting, &over));
            self.drivers.begin(&own, task);
        }
        done
    }

    fn collect(&mut self, pool: &mut Pool) -> (&'static str, Effort) {
        let mut found = lock(&self.found);
        found.pool.elites().iter().for_each(|elite| pool.offer(elite));
        found.pool.clone_from(pool);
        (found.source, std::mem::take(&mut found.effort))
    }

    /// Ends the rounds under way. What they found stays where it is.
    fn halt(&mut self) -> Option<&mut Portfolio> {
        self.over.set(Cause::Time);
        let _ = self.drivers.wait(PATIENCE);
        self.drivers.here()
    }

    fn end(mut self, pool: &mut Pool, lost: &mut Vec<Lost>) -> Option<Portfolio> {
        let _ = self.halt();
        let _ = self.collect(pool);
        self.collect_lost(lost);
        self.drivers.take()
    }

    fn collect_lost(&mut self, lost: &mut Vec<Lost>) {
        lost.append(&mut lock(&self.found).lost);
        lost.extend(self.drivers.take_lost().map(|what| Lost { source: "drivers", what }));
    }

    fn rebase(&mut self, context: &SearchContext, translate: &Translate<'_>) {
        if let Some(drivers) = self.halt() {
            drivers.rebase(context, translate);
        }
        lock(&self.found).pool.rebase(translate);
    }
}

fn rounds(drivers: &mut Portfolio, context: &SearchContext, found: &Mutex<Found>, meeting: &Meeting, over: &Stop) {
    let mut pool = lock(found).pool.clone();
    while !over.is_set() && !drivers.is_empty() {
        threads::panic_on_purpose("drivers");
        let (source, effort) = drivers.round(context, &mut pool, over);
        let mut found = lock(found);
        found.lost.append(&mut drivers.take_lost());
        if pool.best() < found.pool.best() {
            found.source = source;
        }
        found.effort.add(&effort);
        pool.elites().iter().for_each(|elite| found.pool.offer(elite));
        pool.clone_from(&found.pool);
        drop(found);
        if let Some(elite) = pool.allowed() {
            meeting.found(context.constant.saturating_add(elite.energy.total));
        }
    }
}

/// What was found is whole after each round, whatever became of a later one.
fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::model::FORBIDDEN;
    use crate::reduce::Reducer;
    use crate::search::drivers::annealing::state::Elite;
    use crate::search::scheduler::threads::ThreadSplit;
    use crate::search::testing::price;

    /// A grid of 36 variables with five values each.
    fn context(seed: u64) -> Arc<SearchContext> {
        field_of(&[("side", "6"), ("d", "5")], seed)
    }

    fn field_of(parameters: &[(&str, &str)], seed: u64) -> Arc<SearchContext> {
        let network = generate("grid", parameters, seed).expect("a family");
        let reducer = Reducer::new(&network, false, &Stop::new()).expect("no stop is set");
        let problem = Arc::new(reducer.problem());
        Arc::new(SearchContext::new(&problem, price(&problem), None, &mut Rng::new(seed)))
    }

    fn meeting() -> Meeting {
        Meeting::new(FORBIDDEN, &Stop::new())
    }

    /// A group as on a device, without one.
    fn group_of(threads: usize, rng: &mut Rng) -> DriverGroup {
        let workers = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let threads = workers.install(|| ThreadSplit::beside_device(true, false)).drivers;
        DriverGroup::new(&Options::default(), None, threads, meeting(), rng)
    }

    /// One whose drivers of the CPU are beside the others.
    fn group(rng: &mut Rng) -> DriverGroup {
        group_of(2, rng)
    }

    fn energies_are_those_of(context: &SearchContext, pool: &Pool) -> bool {
        !pool.elites().is_empty()
            && pool.elites().iter().all(|elite| elite.energy == context.tables.energy(&elite.values))
    }

    #[test]
    fn what_is_found_beside_comes_in_and_what_is_known_goes_out() {
        let (mut rng, stop) = (Rng::new(1), Stop::new());
        let context = field_of(&[("side", "6"), ("d", "5"), ("p2", "0")], 1);
        let (mut pool, mut concurrent) = (Pool::default(), group(&mut rng).concurrent.expect("drivers"));
        let meeting = meeting();
        let _ = concurrent.exchange(&context, &mut pool, &meeting, &stop);
        assert!(concurrent.drivers.here().is_some(), "nothing is known, so no round begins");
        let values = (0..context.variables()).map(|v| rng.index(context.tables.domain(v)) as u16).collect();
        pool.offer(&Elite::new(&context.tables, values));
        let (begin, mut work) = (pool.best(), 0);
        while pool.best() == begin {
            let (source, effort) = concurrent.exchange(&context, &mut pool, &meeting, &stop);
            assert!(pool.best() == begin || source == "lns");
            work += effort.work;
            std::thread::yield_now();
        }
        assert!(work > 0 && concurrent.halt().is_some());
        let _ = concurrent.collect(&mut pool);
        assert_eq!(lock(&concurrent.found).pool.best(), pool.best());
        assert!(energies_are_those_of(&context, &pool));
        // a caller that waits for a round hears that the bound is met
        let best = pool.allowed().expect("nothing is forbidden").energy.total;
        meeting.proved(context.constant + best);
        assert!(meeting.met().is_set());
    }

    #[test]
    fn another_core_ends_the_rounds_and_takes_what_was_found_along() {
        let (mut rng, stop) = (Rng::new(2), Stop::new());
        let (context, other) = (context(2), self::context(3));
        let (mut group, mut pool) = (group(&mut rng), Pool::default());
        let rounds = |group: &mut DriverGroup, context: &Arc<SearchContext>, pool: &mut Pool| {
            (0..3).for_each(|_| drop(group.round(context, pool, &stop)));
        };
        rounds(&mut group, &context, &mut pool);
        let same = |values: &[u16]| Some(Elite::new(&other.tables, values.to_vec()));
        pool.rebase(&same);
        group.rebase(&other, &same);
        rounds(&mut group, &other, &mut pool);
        assert!(group.finish(&mut pool).is_some());
        assert!(energies_are_those_of(&other, &pool));
    }

    #[test]
    fn a_run_of_one_thread_has_no_drivers_beside_it() {
        let mut rng = Rng::new(4);
        assert!(group_of(1, &mut rng).concurrent.is_none() && group_of(5, &mut rng).concurrent.is_some());
    }

    #[test]
    fn on_many_threads_those_part_that_need_few() {
        let (mut rng, stop) = (Rng::new(5), Stop::new());
        let (context, mut pool) = (context(6), Pool::new(true));
        let mut group = DriverGroup::new(&Options::default(), None, None, meeting(), &mut rng);
        let workers = rayon::ThreadPoolBuilder::new().num_threads(8).build().expect("threads");
        let _ = group.round(&context, &mut pool, &stop);
        let threads =
            workers.install(|| ThreadSplit::of_the_cpu(&context, &pool)).flatten().and_then(|parts| parts.drivers);
        group.split(threads.expect("there are enough"));
        let names = |drivers: &mut Portfolio, pool: &mut Pool| {
            let names = (0..200).map(|_| drivers.round(&context, pool, &stop).0);
            names.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        };
        let _ = group.round(&context, &mut pool, &stop);
        let parted = group.concurrent.take().and_then(|concurrent| concurrent.end(&mut pool, &mut Vec::new()));
        let mut parted = parted.expect("it comes back");
        assert_eq!(names(&mut group.turns, &mut pool), ["anneal", "tabu"]);
        assert_eq!(names(&mut parted, &mut pool), ["limited-discrepancy", "lns", "long-anneal"]);
        assert!(energies_are_those_of(&context, &pool));
    }

    #[test]
    fn without_the_device_all_take_turns() {
        let (mut rng, stop) = (Rng::new(3), Stop::new());
        let (context, mut group, mut pool) = (context(4), group(&mut rng), Pool::default());
        let _ = group.round(&context, &mut pool, &stop);
        group.lose_device(&mut pool);
        assert!(group.concurrent.is_none() && group.finish(&mut pool).is_none());
        let mut rounds = 0;
        while group.round(&context, &mut pool, &stop).0 != "lns" {
            rounds += 1;
            assert!(rounds < 10_000);
        }
        assert!(energies_are_those_of(&context, &pool));
    }
}
