//! Alternating and concurrent drivers.

use super::*;
use crate::core::driver::Driver;
use crate::core::elite::Elite;
use crate::generate::generate;
use crate::model::FORBIDDEN;
use crate::reduce::Reducer;
use crate::scheduler::threads::ThreadSplit;
use fangs_testing::cores::price;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Returns a grid of 36 variables with five values each.
fn context(seed: u64) -> Arc<SearchContext> {
    field_of(&[("side", "6"), ("d", "5")], seed)
}

fn field_of(parameters: &[(&str, &str)], seed: u64) -> Arc<SearchContext> {
    let network = generate("grid", parameters, seed).expect("a family");
    let reducer = Reducer::new(&network, false, &Stop::new()).expect("no stop is set");
    let problem = Arc::new(reducer.problem(&Stop::new()).expect("no stop is set"));
    Arc::new(SearchContext::new(&problem, price(&problem), None, &mut Rng::new(seed)))
}

fn watch() -> GapWatch {
    GapWatch::new(FORBIDDEN, &Stop::new())
}

/// Returns a group as on a device, without one.
fn group_of(threads: usize, rng: &mut Rng) -> DriverGroup {
    let workers = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let threads = workers.install(|| ThreadSplit::beside_device(true, &context(1))).drivers;
    DriverGroup::new(&Options::default(), &Opened::default(), threads, watch(), rng)
}

/// Returns a group whose CPU drivers are concurrent.
fn group(rng: &mut Rng) -> DriverGroup {
    group_of(2, rng)
}

fn energies_are_those_of(context: &SearchContext, pool: &Pool) -> bool {
    !pool.elites().is_empty() && pool.elites().iter().all(|elite| elite.energy == context.tables.energy(&elite.values))
}

#[test]
fn what_is_found_beside_comes_in_and_what_is_known_goes_out() {
    let (mut rng, stop) = (Rng::new(1), Stop::new());
    let context = field_of(&[("side", "6"), ("d", "5"), ("p2", "0")], 1);
    let (mut pool, mut concurrent) = (Pool::default(), group(&mut rng).concurrent.expect("drivers"));
    let gap = watch();
    concurrent.begin(&context, &pool, &gap, &stop);
    assert!(concurrent.is_here(), "nothing is known, so no round begins");
    let values = (0..context.variables()).map(|v| rng.index(context.tables.domain(v)) as u16).collect();
    pool.offer(&Elite::new(&context.tables, values));
    let (begin, mut work) = (pool.best(), 0);
    while pool.best() == begin {
        concurrent.begin(&context, &pool, &gap, &stop);
        let (source, effort) = concurrent.collect(&mut pool);
        assert!(pool.best() == begin || source == "lns");
        work += effort.work;
        std::thread::yield_now();
    }
    assert!(work > 0 && concurrent.halt().is_some());
    let _ = concurrent.collect(&mut pool);
    assert!(energies_are_those_of(&context, &pool));
    // a caller that waits for a round learns that the gap is closed
    let best = pool.allowed().expect("nothing is forbidden").energy.total;
    gap.proved(context.constant + best);
    assert!(gap.closed().is_set());
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
    assert!(group.finish(&mut pool).0.is_some());
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
    let mut group = DriverGroup::new(&Options::default(), &Opened::default(), None, watch(), &mut rng);
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
    let parted = group.concurrent.take().and_then(|concurrent| concurrent.end(&mut pool).drivers);
    let mut parted = parted.expect("it comes back");
    assert_eq!(names(&mut group.turns, &mut pool), ["anneal", "ejection", "tabu"]);
    assert_eq!(names(&mut parted, &mut pool), ["limited-discrepancy", "lns", "long-anneal"]);
    assert!(energies_are_those_of(&context, &pool));
}

#[test]
fn without_the_device_all_take_turns() {
    let (mut rng, stop) = (Rng::new(3), Stop::new());
    let (context, mut group, mut pool) = (context(4), group(&mut rng), Pool::default());
    let _ = group.round(&context, &mut pool, &stop);
    assert!(group.lose_device(&mut pool).is_none());
    assert!(group.concurrent.is_none() && group.finish(&mut pool).0.is_none());
    let mut rounds = 0;
    while group.round(&context, &mut pool, &stop).0 != "lns" {
        rounds += 1;
        assert!(rounds < 10_000);
    }
    assert!(energies_are_those_of(&context, &pool));
}

/// A driver that finds the assignment of all `value` in each round, and whose device fails in round `fails`.
struct Finds {
    value: u16,
    fails: usize,
    takes: Duration,
}

impl Driver for Finds {
    fn population(&self) -> usize {
        1
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, _: &Stop) -> Effort {
        std::thread::sleep(self.takes);
        pool.offer(&Elite::new(&context.tables, vec![self.value; context.variables()]));
        self.fails = self.fails.saturating_sub(1);
        let lost = (self.fails == 0).then(|| DeviceError::Unusable(format!("{} broke", self.value)));
        Effort { moves: 1, work: 1 << u64::from(self.value), lost, ..Effort::default() }
    }

    fn rebase(&mut self, _: &SearchContext, _: &Translate<'_>) {}
}

fn finds(value: u16, fails: usize, takes: Duration) -> Portfolio {
    let other = Finds { value: 4, fails: usize::MAX, takes: Duration::ZERO };
    let mut drivers: Vec<(&'static str, bool, Box<dyn Driver>)> =
        vec![("finds", true, Box::new(Finds { value, fails, takes }))];
    if value == 0 {
        drivers.push(("other", false, Box::new(other)));
    }
    Portfolio::of(drivers)
}

/// Returns a group of three devices that fail in these rounds.
fn three(fails: [usize; 3], pace: Pace, takes: Duration) -> DriverGroup {
    let mut group = DriverGroup {
        turns: finds(0, fails[0], Duration::ZERO),
        concurrent: None,
        others: Vec::new(),
        ordinals: vec![Some(1), Some(2)],
        failed: Vec::new(),
        gap: watch(),
        lost: Vec::new(),
        done: Effort::default(),
    };
    let other = |value: u16| ConcurrentDrivers::of_device(finds(value, fails[usize::from(value)], takes), 1, pace);
    group.others = vec![other(1), other(2)];
    group
}

const NEVER: usize = usize::MAX;

/// A driver that works on all devices until device 2 fails.
struct Shares(usize);

impl Driver for Shares {
    fn population(&self) -> usize {
        1
    }

    fn shares_devices(&self, _: &SearchContext) -> bool {
        self.0 > 0
    }

    fn round(&mut self, _: &SearchContext, _: &mut Pool, _: &Stop) -> Effort {
        self.0 -= 1;
        let error = DeviceError::Unusable("2 broke".into());
        let lost_partner = (self.0 == 0).then_some(LostDevice { ordinal: 2, error });
        Effort { moves: 10, lost_partner, ..Effort::default() }
    }

    fn rebase(&mut self, _: &SearchContext, _: &Translate<'_>) {}
}

#[test]
fn devices_that_share_a_driver_s_work_have_no_rounds_of_their_own_and_one_that_fails_is_told_once() {
    let (context, mut pool) = (context(7), Pool::default());
    let mut group = three([NEVER; 3], Pace::InStep, Duration::ZERO);
    group.turns = Portfolio::of(vec![("shares", true, Box::new(Shares(3)))]);
    let round = |group: &mut DriverGroup, pool: &mut Pool| group.round(&context, pool, &Stop::new()).1.moves;
    for _ in 0..2 {
        assert_eq!(round(&mut group, &mut pool), 10);
        assert!(group.take_failed(&mut pool).is_none());
    }
    assert_eq!(round(&mut group, &mut pool), 10);
    assert_eq!(group.take_failed(&mut pool), Some((1, DeviceError::Unusable("2 broke".into()))));
    assert!(group.take_failed(&mut pool).is_none() && group.others.len() == 1);
}

#[test]
fn what_devices_find_in_a_round_is_known_after_it_however_long_they_take() {
    let context = context(7);
    for takes in [Duration::ZERO, Duration::from_millis(20)] {
        let (mut group, mut pool) = (three([NEVER; 3], Pace::InStep, takes), Pool::default());
        for round in 1..4 {
            let (_, effort) = group.round(&context, &mut pool, &Stop::new());
            // the alternating driver contributes two of the assignments, one per round
            let known = pool.elites().iter().map(|elite| elite.values[0]).collect::<std::collections::BTreeSet<_>>();
            assert!(known.is_superset(&[1, 2].into()) && known.len() == 2 + round.min(2), "{known:?}");
            assert_eq!((effort.moves, group.population()), (3, 3));
            // concurrent rounds take as long as the longest: that of 4 or of 2
            assert!(effort.work == 16 || effort.work == 4, "{}", effort.work);
        }
        assert!(energies_are_those_of(&context, &pool));
    }
}

#[test]
fn a_further_device_that_fails_leaves_the_others_at_work() {
    let context = context(8);
    for pace in [Pace::InStep, Pace::Free] {
        let (mut group, mut pool) = (three([NEVER, 3, NEVER], pace, Duration::from_millis(1)), Pool::default());
        let mut rounds = 0;
        let failed = loop {
            let _ = group.round(&context, &mut pool, &Stop::new());
            rounds += 1;
            assert!(rounds < 100_000);
            if let Some(failed) = group.take_failed(&mut pool) {
                break failed;
            }
        };
        assert_eq!(failed, (0, DeviceError::Unusable("1 broke".into())));
        assert!(pace == Pace::Free || rounds == 3);
        assert!(group.take_failed(&mut pool).is_none() && group.others.len() == 1);
        // the last device still reports its elites
        let mut pool = Pool::default();
        while !pool.elites().iter().any(|elite| elite.values[0] == 2) {
            let _ = group.round(&context, &mut pool, &Stop::new());
        }
        let _ = group.finish(&mut pool);
    }
}

#[test]
fn the_next_device_takes_the_place_of_the_first() {
    let context = context(9);
    for pace in [Pace::InStep, Pace::Free] {
        let (mut group, mut pool) = (three([1, NEVER, NEVER], pace, Duration::ZERO), Pool::default());
        let lost = group.round(&context, &mut pool, &Stop::new()).1.lost;
        assert_eq!(lost, Some(DeviceError::Unusable("0 broke".into())));
        assert_eq!((group.lose_device(&mut pool), group.others.len()), (None, 1));
        let mut sources: Vec<&str> = (0..40).map(|_| group.turns.round(&context, &mut pool, &Stop::new()).0).collect();
        sources.sort_unstable();
        sources.dedup();
        assert_eq!(sources, ["finds", "other"], "what no device has goes on, too");
        assert!(group.lose_device(&mut pool).is_none());
        // the effort of lost drivers is reported with the next round
        let moves = [(); 2].map(|()| group.round(&context, &mut pool, &Stop::new()).1.moves);
        assert!(group.others.is_empty() && moves[0] >= 1 && moves[1] == 1, "{moves:?}");
    }
}

#[test]
fn two_that_fail_at_once_are_both_told_of() {
    let context = context(9);
    let (mut group, mut pool) = (three([1, 1, NEVER], Pace::InStep, Duration::ZERO), Pool::default());
    let (_, effort) = group.round(&context, &mut pool, &Stop::new());
    assert!(effort.lost.is_some() && effort.moves == 3);
    let next = group.lose_device(&mut pool);
    assert_eq!((next, group.others.len()), (Some(DeviceError::Unusable("1 broke".into())), 1));
    assert_eq!((group.lose_device(&mut pool), group.others.len()), (None, 0));
}

#[test]
fn a_group_that_is_dropped_ends_its_rounds() {
    struct Tells(Sender<()>);
    impl Driver for Tells {
        fn population(&self) -> usize {
            1
        }

        fn round(&mut self, _: &SearchContext, _: &mut Pool, _: &Stop) -> Effort {
            let _ = self.0.send(());
            Effort::default()
        }

        fn rebase(&mut self, _: &SearchContext, _: &Translate<'_>) {}
    }
    let (sender, told) = channel();
    let drivers = Portfolio::of(vec![("tells", true, Box::new(Tells(sender)))]);
    let mut drivers = ConcurrentDrivers::of_device(drivers, 1, Pace::Free);
    drivers.begin(&context(1), &Pool::default(), &watch(), &Stop::new());
    told.recv().expect("it makes rounds");
    drop(drivers);
    // the channel closes with the thread that has the driver
    let end = std::iter::repeat_with(|| told.recv_timeout(Duration::from_secs(60))).find_map(Result::err);
    assert_eq!(end, Some(RecvTimeoutError::Disconnected));
}
