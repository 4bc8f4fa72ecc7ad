//! The drivers side by side: each round goes to one of them, more work to those that improved the best solution lately
//! ([`Shares`]).

use super::driver::{Driver, Effort, Pool, SearchContext};
use super::shares::Shares;
use crate::activity::Activity;
use crate::device::Cuda;
use crate::elimination::Outcome;
use crate::rng::Rng;
use crate::search::drivers::annealing::Annealing;
use crate::search::drivers::guided::Guided;
use crate::search::drivers::limited_discrepancy::LimitedDiscrepancy;
use crate::search::drivers::lns::Lns;
use crate::search::drivers::tabu::Tabu;
use crate::search::drivers::weighting::Weighting;
use crate::search::options::{Assertions, DriverChoice, Options};
use crate::stop::Stop;
use crate::threads;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first rounds are those of the driver with the largest share: it shows a solution soonest and fills the pool for
/// the others. Annealing's, they took 1.1 s on DSJC1000.1, whose conflicts tabu walks then brought from 62 to 27 in a
/// quarter of a second.
const FIRST: u64 = 4;
/// How long they take at least where a run need not be repeated. On one core 20, 40 and 80 ms are level, on 16 threads
/// of a slower machine SPOT5 414 wants 80 or more (results/first-seconds).
const FIRST_TIME: Duration = Duration::from_millis(120);
/// After so much of it the others that want all threads have a short round each where nothing better is found, and
/// another one if they find something: SPOT5 5 has its best by constraint-weighting walks.
const PROBING: Duration = Duration::from_millis(20);
/// Work that a round counts at least: one that does nothing must not be due again for ever.
const LEAST_WORK: u64 = 1_000_000;
/// How long a round is in which kernels are waited for: what others find meanwhile is looked at between rounds.
const POLLING: Duration = Duration::from_millis(5);

/// The drivers of a run and what they earn.
pub(crate) struct Portfolio {
    drivers: Vec<Box<dyn Driver>>,
    /// Where the driver of a round is told.
    activity: Activity,
    /// Whether shares are of time and not of counted work: where a run need not be repeated. Drivers' units differ by a
    /// factor of two on the CPU, and by more on a device (results/notes/cpu.md).
    timed: bool,
    /// Whose kernels drivers need not wait for.
    device: Option<Arc<Cuda>>,
    /// Whether each has made a round.
    begun: Vec<bool>,
    /// What drivers were last told to build on.
    guide: Option<Arc<Outcome>>,
    /// Begun with the first round, and again once an allowed assignment is known.
    shares: Option<Shares>,
    solved: bool,
    /// Whose round the last one was, if it found something better: the next of the first ones is his, too.
    winner: Option<usize>,
    rounds: u64,
    /// What the first ones took.
    opening: Duration,
    /// And until they last found something better.
    better: Duration,
    /// Of all rounds.
    work: u64,
    lost: Vec<Lost>,
}

/// Who has ended by an internal error.
pub(crate) struct Lost {
    /// The driver, or `drivers` where it is not known which.
    pub source: &'static str,
    /// What the error said.
    pub what: String,
}

impl Portfolio {
    /// The drivers that the options name; each has streams of its own. Those that no device has are left out where they
    /// work [beside](Self::beside) one.
    pub fn new(options: &Options, device: Option<Arc<Cuda>>, split: bool, rng: &mut Rng) -> Self {
        let mut stream = || Rng::new(rng.draw());
        let asserts = options.assertions >= Assertions::Assignment;
        let guided =
            |device, rng| options.heuristic.clone().map(|heuristic| Guided::new(heuristic, asserts, device, rng));
        let drivers: Vec<Box<dyn Driver>> = match options.driver {
            DriverChoice::Portfolio => {
                let mut drivers: Vec<Box<dyn Driver>> = vec![
                    Box::new(Annealing::new(stream(), device.clone())),
                    Box::new(Tabu::new(stream(), device.clone())),
                ];
                match split {
                    // walks on the device, besides those on the CPU
                    true => drivers.push(Box::new(Weighting::new(stream(), device.clone()))),
                    false => drivers.extend(Self::of_the_cpu(&mut stream)),
                }
                // the last one: without it all others draw what they always did
                if options.heuristic.is_some() {
                    drivers.extend(guided(device.clone(), stream()).map(|driver| Box::new(driver) as Box<dyn Driver>));
                }
                drivers
            }
            DriverChoice::Guided => {
                guided(device.clone(), stream()).map(|driver| Box::new(driver) as Box<dyn Driver>).into_iter().collect()
            }
            DriverChoice::Anneal => vec![Box::new(Annealing::new(stream(), device.clone()))],
            DriverChoice::LongAnneal => vec![Box::new(Annealing::long(stream()))],
            DriverChoice::Tabu => vec![Box::new(Tabu::new(stream(), device.clone()))],
            DriverChoice::Lns => vec![Box::new(Lns::new(stream()))],
            DriverChoice::LimitedDiscrepancy => vec![Box::new(LimitedDiscrepancy::default())],
            DriverChoice::Weighting => vec![Box::new(Weighting::new(stream(), device.clone()))],
        };
        // kernels of a run that is to be repeated are waited for
        let device = device.filter(|_| options.rounds.is_none());
        let activity = options.activity.clone();
        Portfolio { device, activity, ..Portfolio::of(drivers, options.rounds.is_none()) }
    }

    /// Whether drivers that no device has may work by themselves: not where they are not asked for, nor where all take
    /// turns so that a run can be repeated.
    pub fn may_split(options: &Options) -> bool {
        options.driver == DriverChoice::Portfolio && options.rounds.is_none()
    }

    /// The drivers that no device has, to work beside those that are on one.
    pub fn concurrent(rng: &mut Rng) -> Self {
        Self::without_opening(Self::of_the_cpu(&mut || Rng::new(rng.draw())))
    }

    /// Drivers that have threads of their own wait for no others.
    fn without_opening(drivers: Vec<Box<dyn Driver>>) -> Self {
        Portfolio { rounds: FIRST, opening: FIRST_TIME, work: u64::MAX / 2, ..Portfolio::of(drivers, true) }
    }

    fn of_the_cpu(stream: &mut dyn FnMut() -> Rng) -> Vec<Box<dyn Driver>> {
        vec![
            Box::new(Lns::new(stream())),
            Box::new(Weighting::new(stream(), None)),
            Box::new(LimitedDiscrepancy::default()),
            Box::new(Annealing::long(stream())),
        ]
    }

    fn of(drivers: Vec<Box<dyn Driver>>, timed: bool) -> Self {
        let begun = vec![false; drivers.len()];
        let opening = if timed { Duration::ZERO } else { FIRST_TIME };
        let (device, guide, shares, winner, better) = (None, None, None, None, Duration::ZERO);
        let (solved, rounds, work, activity, lost) = (false, 0, 0, Activity::default(), Vec::new());
        Portfolio {
            timed,
            device,
            begun,
            guide,
            shares,
            solved,
            winner,
            drivers,
            activity,
            rounds,
            opening,
            better,
            work,
            lost,
        }
    }

    /// Whether no driver is left.
    pub fn is_empty(&self) -> bool {
        self.drivers.is_empty()
    }

    /// Who has ended by an internal error, told once.
    pub fn take_lost(&mut self) -> Vec<Lost> {
        std::mem::take(&mut self.lost)
    }

    /// Goes on without a driver that ended by an internal error.
    fn lose(&mut self, turn: usize, what: String) -> (&'static str, Effort) {
        let (driver, _) = (self.drivers.remove(turn), self.begun.remove(turn));
        (self.shares, self.winner) = (None, None);
        let (source, mut effort) = (driver.name(), Effort::default());
        if self.drivers.is_empty() {
            effort.fault = Some(format!("the driver {source} ended ({what}), and there is no other one"));
        }
        self.lost.push(Lost { source, what });
        (source, effort)
    }

    /// Whether the first rounds are not over yet.
    pub fn is_opening(&self) -> bool {
        self.rounds < FIRST || self.opening < FIRST_TIME
    }

    /// One round of one driver; returns its name and what it did.
    pub fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> (&'static str, Effort) {
        if self.rounds == 0 && self.drivers.len() > 1 && !pool.elites().is_empty() {
            for turn in 0..self.drivers.len() {
                let driver = &mut self.drivers[turn];
                match threads::caught(|| driver.open_run(context, pool, stop)) {
                    Ok(None) => {}
                    Ok(Some(effort)) => {
                        self.rounds = 1;
                        self.work += effort.work;
                        return (driver.name(), effort);
                    }
                    Err(what) => return self.lose(turn, what),
                }
            }
        }
        if pool.solved != std::mem::replace(&mut self.solved, pool.solved) {
            self.shares = None;
        }
        let begin = || {
            let of_driver =
                self.drivers.iter().map(|driver| (driver.weight(context, pool), driver.floor(context, pool)));
            Shares::new(of_driver.collect())
        };
        let opens = self.is_opening();
        // nothing better for a third of the time before
        let stagnates = opens && self.timed && self.opening >= PROBING.max(self.better + self.better / 3);
        let shares = self.shares.get_or_insert_with(begin);
        let due =
            |turn: usize| self.drivers[turn].fits(context, pool) && self.work >= self.drivers[turn].begins(context);
        let waits = |turn: usize| {
            let coming = |cuda: &Arc<Cuda>, source| matches!(cuda.poll(&source, Duration::ZERO), Ok(None));
            let kernels = || self.drivers[turn].kernels(context);
            self.device.as_ref().is_some_and(|cuda| kernels().is_some_and(|source| coming(cuda, source)))
        };
        let free: Vec<bool> = (0..self.drivers.len()).map(|turn| due(turn) && !waits(turn)).collect();
        let may = |turn: usize| free[turn];
        let is_new = |&turn: &usize| may(turn) && !self.begun[turn] && !self.drivers[turn].needs_few_threads();
        let winner = self.winner.filter(|&turn| opens && may(turn));
        let other = (0..self.drivers.len()).rfind(is_new).filter(|_| stagnates);
        let turn = match winner.or(other).or_else(|| if opens { shares.largest(may) } else { shares.next(may) }) {
            None if waits(0) => {
                std::thread::sleep(POLLING);
                return (self.drivers[0].name(), Effort::default());
            }
            turn => turn.unwrap_or(0),
        };
        let before = pool.best();
        let (driver, began) = (&mut self.drivers[turn], Instant::now());
        let name = driver.name();
        self.activity.step(name);
        let round = || {
            threads::panic_on_purpose(name);
            driver.round(context, pool, stop)
        };
        let effort = match threads::caught(round) {
            Ok(effort) => effort,
            Err(what) => return self.lose(turn, what),
        };
        let spent = match began.elapsed().as_nanos() as u64 {
            // a first round compiles kernels and makes room
            elapsed if self.timed && !self.begun[turn] => elapsed.min(effort.work),
            elapsed if self.timed => elapsed,
            _ => effort.work,
        };
        // what the first rounds are better by than nothing says nothing
        if opens {
            self.opening = self.opening.saturating_add(began.elapsed());
            if pool.best() < before {
                self.better = self.opening;
            }
        } else {
            let gain = before.saturating_sub(pool.best()).max(0);
            shares.note(turn, gain as f64, spent.max(LEAST_WORK) as f64);
        }
        self.winner = (pool.best() < before).then_some(turn);
        self.begun[turn] = true;
        self.rounds += 1;
        self.work += effort.work;
        (name, effort)
    }

    /// Hands the messages of a bound step to drivers that use them.
    pub fn guide(&mut self, outcome: Arc<Outcome>) {
        for driver in &mut self.drivers {
            driver.guide(&outcome);
        }
        self.guide = Some(outcome);
    }

    /// What drivers were last told to build on.
    pub fn told(&mut self) -> Option<Arc<Outcome>> {
        self.guide.take()
    }

    /// ThreadSplit with the drivers that need few threads, which go on beside the others from now on.
    pub fn split(&mut self) -> Portfolio {
        let all = std::mem::take(&mut self.drivers).into_iter().zip(std::mem::take(&mut self.begun));
        let (few, many): (Vec<_>, Vec<_>) = all.partition(|(driver, _)| driver.needs_few_threads());
        (self.drivers, self.begun) = many.into_iter().unzip();
        (self.shares, self.winner) = (None, None);
        Self::without_opening(few.into_iter().map(|(driver, _)| driver).collect())
    }

    /// Takes drivers in again: from now on all take turns.
    pub fn join(&mut self, others: Portfolio) {
        self.begun.extend(others.begun);
        self.drivers.extend(others.drivers);
        self.lost.extend(others.lost);
        self.shares = None;
    }

    /// Moves every driver to another core.
    pub fn rebase(&mut self, context: &SearchContext, translate: &(dyn Fn(&[u16]) -> Vec<u16> + Sync)) {
        self.guide = None;
        for driver in &mut self.drivers {
            driver.rebase(context, translate);
        }
    }

    /// States kept by the first driver.
    pub fn population(&self) -> usize {
        self.drivers.first().map_or(0, |driver| driver.population())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::heuristics::MinConflicts;
    use crate::reduce::Reducer;
    use crate::search::testing::{price, random_dense};

    #[test]
    fn half_of_the_time_is_the_two_parents_on_colorings_and_annealings_on_other_large_cores() {
        let family = |kind: &str, settings: &[(&str, &str)]| generate(kind, settings, 1).expect("a family");
        let coloring = family("coloring", &[("n", "900"), ("p", "0.012"), ("k", "4")]);
        let grid = family("grid", &[("side", "28"), ("d", "2")]);
        for (network, tabu, anneal) in [(coloring, 0.5, 0.0), (grid, 0.0, 0.5)] {
            let problem = Arc::new(Reducer::new(&network, false, &Stop::new()).expect("no stop is set").problem());
            let context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
            let mut pool = Pool::default();
            pool.solved = true;
            assert!(context.is_large());
            assert_eq!(Tabu::new(Rng::new(1), None).floor(&context, &pool), tabu);
            assert_eq!(Annealing::new(Rng::new(1), None).floor(&context, &pool), anneal);
        }
    }

    #[test]
    fn where_the_first_rounds_stagnate_others_have_one() {
        let clauses = generate("sat", &[("n", "60"), ("clauses", "240")], 1).expect("a family");
        let problem = Arc::new(Reducer::new(&clauses, false, &Stop::new()).expect("no stop is set").problem());
        let mut rng = Rng::new(1);
        let context = SearchContext::new(&problem, price(&problem), None, &mut rng);
        let mut portfolio = Portfolio::new(&Options::default(), None, false, &mut rng);
        let mut pool = Pool::default();
        let mut round = |opening: Duration, found: bool| {
            (portfolio.opening, portfolio.better) = (opening, Duration::ZERO);
            portfolio.winner = portfolio.winner.filter(|_| found);
            let name = portfolio.round(&context, &mut pool, &Stop::new()).0;
            portfolio.winner = (0..portfolio.drivers.len()).find(|&turn| portfolio.drivers[turn].name() == name);
            name
        };
        assert_eq!(round(Duration::ZERO, false), "anneal");
        assert_eq!(
            [round(PROBING, true), round(PROBING, false), round(PROBING, false)],
            ["anneal", "weighting", "tabu"]
        );
        assert_eq!([round(PROBING, true), round(PROBING, false)], ["tabu", "anneal"]);
    }

    #[test]
    fn a_plug_in_has_its_share_once_there_is_something_to_improve() {
        let mut rng = Rng::new(1);
        let problem = Arc::new(random_dense(&mut rng));
        let context = SearchContext::new(&problem, price(&problem), None, &mut rng);
        let options = Options { heuristic: Some(Arc::new(MinConflicts)), ..Options::default() };
        let mut portfolio = Portfolio::new(&options, None, false, &mut rng);
        let mut pool = Pool::default();
        let (mut before, mut trajectories) = (0, 0);
        while trajectories < 3 {
            let began = portfolio.work;
            match portfolio.round(&context, &mut pool, &Stop::new()).0 {
                "guided" => trajectories += 1,
                _ => before += u32::from(trajectories == 0),
            }
            assert!(trajectories == 0 || portfolio.rounds < 2000);
            assert!(trajectories > 0 || began < 20 * portfolio.drivers[6].begins(&context));
        }
        assert!(before >= FIRST as u32);
    }
}
