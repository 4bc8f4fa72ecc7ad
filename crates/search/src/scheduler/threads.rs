//! The division of a run's threads among concurrent work.

use crate::core::context::SearchContext;
use crate::core::pool::Pool;
use crate::threads;
use crate::tuning::tuning;
use rayon::ThreadPool;
use std::sync::Arc;

/// Threads for one purpose, so that no work waits for other work; by default the shared pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Threads(Option<Arc<ThreadPool>>);

impl Threads {
    /// Starts `count` separate threads, or as many as the system allows; `None` if it allows none.
    pub fn start(count: usize) -> Option<Threads> {
        threads::pool(count).ok().map(|pool| Threads(Some(Arc::new(pool))))
    }

    pub fn are_own(&self) -> bool {
        self.0.is_some()
    }

    pub fn begin(&self, work: impl FnOnce() + Send + 'static) {
        match &self.0 {
            Some(threads) => threads.spawn(work),
            None => rayon::spawn(work),
        }
    }

    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(threads) => threads.install(work),
            None => work(),
        }
    }
}

/// The threads of a run, divided by purpose.
#[derive(Clone, Debug)]
pub(crate) struct ThreadSplit {
    pub search: Threads,
    pub bounds: Threads,
    /// The threads of concurrent drivers; `None` if there are none.
    pub drivers: Option<Threads>,
}

impl ThreadSplit {
    /// Divides the threads beside a device that searches. All but one are for bounds and, if there are any, concurrent
    /// drivers, which have half of them on large problems with forbidden tuples. A run of one thread has bounds and no
    /// drivers.
    pub fn beside_device(drivers: bool, context: &SearchContext) -> ThreadSplit {
        let all = rayon::current_num_threads() - 1;
        let of_these = || match (context.is_large(), context.tables.forbidding.some) {
            (true, true) => all.div_ceil(tuning().threads.forbidding_part),
            (true, false) => 1,
            (false, _) => of_drivers(all),
        };
        let drivers = (drivers && all > 0).then(of_these);
        let bounds = Threads::start(all.saturating_sub(drivers.unwrap_or(0)).max(1)).unwrap_or_default();
        ThreadSplit { search: Threads::default(), bounds, drivers: drivers.and_then(Threads::start) }
    }

    /// Divides the threads of a run on the CPU, if there are enough. Most rounds, slices of bounds and drivers leave
    /// threads idle that others can use: an undivided run of 16 threads used five of them on SPOT5 414
    /// (results/scheduler/thread-split.csv). Returns `None` on large problems, which begin with a state for each
    /// thread, on colorings, and before a feasible assignment is known, when half of the time belongs to a driver that
    /// has a walk for each thread. Returns `Some(None)` if the system allows no further threads.
    pub fn of_the_cpu(context: &SearchContext, pool: &Pool) -> Option<Option<ThreadSplit>> {
        let all = rayon::current_num_threads();
        if context.is_vast() && all >= tuning().threads.part {
            // all other threads sweep one state
            let parts = || {
                let search = Threads::start(all - all / tuning().threads.part)?;
                Some(ThreadSplit { search, bounds: Threads::start(all / tuning().threads.part)?, drivers: None })
            };
            return Some(parts());
        }
        if all < tuning().threads.least || !pool.solved || context.is_large() || context.is_coloring() {
            return None;
        }
        let (bounds, drivers) = (all / tuning().threads.part, of_drivers(all));
        let parts = || {
            let search = Threads::start(all - bounds - drivers)?;
            Some(ThreadSplit { search, bounds: Threads::start(bounds)?, drivers: Some(Threads::start(drivers)?) })
        };
        Some(parts())
    }
}

fn of_drivers(all: usize) -> usize {
    (all / tuning().threads.part).clamp(1, tuning().threads.most_drivers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::reduce::Reducer;
    use crate::rng::Rng;
    use crate::stop::Stop;
    use fangs_testing::cores::price;
    use rayon::ThreadPoolBuilder;

    fn context(kind: &str, settings: &[(&str, &str)]) -> SearchContext {
        let network = generate(kind, settings, 1).expect("a family");
        let problem = Arc::new(
            Reducer::new(&network, false, &Stop::new())
                .expect("no stop is set")
                .problem(&Stop::new())
                .expect("no stop is set"),
        );
        SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1))
    }

    #[test]
    fn parts_come_to_all_threads_and_none_is_empty() {
        let count = |threads: &Threads| threads.0.as_ref().map_or(0, |threads| threads.current_num_threads());
        let (small, solved) = (context("grid", &[("side", "6")]), Pool::new(true));
        for all in 1..20 {
            let pool = ThreadPoolBuilder::new().num_threads(all).build().expect("threads");
            let parts = pool.install(|| ThreadSplit::of_the_cpu(&small, &solved));
            assert_eq!(parts.is_some(), all >= tuning().threads.least);
            if let Some(Some(ThreadSplit { search, bounds, drivers: Some(drivers) })) = parts {
                let each = [count(&search), count(&bounds), count(&drivers)];
                assert!(each.iter().sum::<usize>() == all && each.iter().all(|&part| part > 0), "{each:?}");
                assert!(each[0] >= each[1] && each[0] >= each[2], "{each:?}");
            }
            let parts = pool.install(|| ThreadSplit::beside_device(true, &small));
            let drivers = parts.drivers.as_ref().map_or(0, count);
            assert!(parts.drivers.is_some() == (all > 1) && count(&parts.bounds) == (all - 1 - drivers).max(1));
        }
    }

    #[test]
    fn drivers_have_half_of_the_threads_beside_a_device_on_large_cores_that_forbid_something() {
        let pool = ThreadPoolBuilder::new().num_threads(9).build().expect("threads");
        let of_drivers = |context: &SearchContext| {
            assert!(context.is_large());
            let parts = pool.install(|| ThreadSplit::beside_device(true, context));
            parts.drivers.and_then(|drivers| drivers.0).map(|threads| threads.current_num_threads())
        };
        assert_eq!(of_drivers(&context("sat", &[("n", "3000"), ("clauses", "12000")])), Some(4));
        assert_eq!(of_drivers(&context("grid", &[("side", "40"), ("d", "4"), ("p2", "0")])), Some(1));
    }

    #[test]
    fn a_run_has_no_parts_where_all_threads_are_for_one_driver() {
        let pool = ThreadPoolBuilder::new().num_threads(tuning().threads.least).build().expect("threads");
        let has = |context: &SearchContext, solved| {
            pool.install(|| ThreadSplit::of_the_cpu(context, &Pool::new(solved))).is_some()
        };
        let small = context("grid", &[("side", "6")]);
        assert!(has(&small, true) && !has(&small, false));
        assert!(!has(&context("grid", &[("side", "25"), ("d", "2")]), true));
        assert!(!has(&context("coloring", &[("n", "30"), ("k", "4")]), true));
    }
}
