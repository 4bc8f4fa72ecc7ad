//! The alternating drivers. Each round goes to one of them, with more work for those that improved the best solution
//! lately ([`Shares`]).

use super::shares::Shares;
use crate::activity::Activity;
use crate::core::context::SearchContext;
use crate::core::driver::{Driver, DriverState, Setup};
use crate::core::effort::Effort;
use crate::core::elite::Elite;
use crate::core::pool::{Pool, Translate};
use crate::device::{Cuda, Opened};
use crate::elimination::Outcome;
use crate::faults;
use crate::list::Entry;
use crate::options::DriverChoice;
use crate::options::Options;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::threads;
use crate::tuning::tuning;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The drivers of a run and their shares.
#[derive(Default)]
pub(crate) struct Portfolio {
    drivers: Vec<Member>,
    /// Where the driver of a round is reported.
    activity: Activity,
    /// Whether shares are of time and not of counted work; they are unless the run must be repeatable. Drivers' units
    /// differ by a factor of two on the CPU, and by more on a device (results/notes/cpu.md).
    timed: bool,
    /// The device, if drivers whose kernels are still being compiled are passed over.
    device: Option<Arc<Cuda>>,
    /// The guidance that drivers received last.
    guide: Option<Arc<Outcome>>,
    /// Whether other drivers work at the same time, so that these wait if none of them fits.
    is_beside: bool,
    /// Made with the first round, and again when the first feasible assignment is found.
    shares: Option<Shares>,
    solved: bool,
    /// The driver of the last round if it improved the pool; it may then have the next of the first rounds, too.
    winner: Option<usize>,
    rounds: u64,
    /// The time of the first rounds.
    opening: Duration,
    /// The value of `opening` at their last improvement.
    better: Duration,
    work: u64,
    lost: Vec<Lost>,
}

struct Member {
    name: &'static str,
    on_device: bool,
    driver: Box<dyn Driver>,
    begun: bool,
    /// The driver's work since the end of its first round.
    pace: Option<Pace>,
}

/// A driver's work since `since`.
#[derive(Clone, Copy)]
struct Pace {
    since: Instant,
    work: u64,
}

impl Pace {
    /// Returns the work that the driver does until `end` at its present pace, which includes rounds of others; `None`
    /// before it has done any.
    fn until(self, end: Instant) -> Option<u64> {
        let (now, before) = (Instant::now(), self.since.elapsed().as_secs_f64());
        let left = end.saturating_duration_since(now).as_secs_f64();
        (self.work > 0).then(|| (self.work as f64 * left / before.max(f64::MIN_POSITIVE)) as u64)
    }
}

/// A driver that ended by an internal error.
pub(crate) struct Lost {
    /// The driver's name, or `drivers` if it is not known which.
    pub source: &'static str,
    pub what: String,
}

impl Portfolio {
    /// Creates the drivers that the options select, each with its random streams. With `split`, those without a device
    /// version are omitted, because they run [concurrently](Self::concurrent).
    pub fn new(options: &Options, device: Option<Arc<Cuda>>, split: bool, rng: &mut Rng) -> Self {
        Self::from_setup(options, options.setup(device, rng), split)
    }

    /// Creates the drivers of the first of several devices, which may share its work.
    pub fn sharing(options: &Options, device: &Opened, split: bool, rng: &mut Rng) -> Self {
        let setup = Setup { partners: device.partners(), ..options.setup(device.cuda.clone(), rng) };
        Self::from_setup(options, setup, split)
    }

    fn from_setup(options: &Options, mut setup: Setup<'_>, split: bool) -> Self {
        let timed = options.rounds.is_none();
        let device = setup.device.clone();
        Portfolio {
            drivers: members(options.driver, &mut setup, |driver| !split || driver.on_device),
            activity: options.activity.clone(),
            timed,
            // a repeatable run waits for kernels
            device: device.filter(|_| timed),
            opening: if timed { Duration::ZERO } else { tuning().portfolio.first_time },
            ..Portfolio::default()
        }
    }

    /// Creates a portfolio of these drivers, each with its name and whether it has a device version, with equal work.
    #[cfg(test)]
    pub fn of(drivers: Vec<(&'static str, bool, Box<dyn Driver>)>) -> Self {
        let member = |(name, on_device, driver)| Member { name, on_device, driver, begun: false, pace: None };
        let drivers = drivers.into_iter().map(member).collect();
        let crate::tuning::PortfolioTuning { first: rounds, first_time: opening, .. } = tuning().portfolio;
        Portfolio { drivers, rounds, opening, ..Portfolio::default() }
    }

    /// Returns whether some drivers may run concurrently: not if a single driver is selected, nor in a repeatable run,
    /// in which all alternate.
    pub fn may_split(options: &Options) -> bool {
        options.driver == DriverChoice::PORTFOLIO && options.rounds.is_none()
    }

    /// Creates the drivers without a device version, to run concurrently with those of a device.
    pub fn concurrent(options: &Options, rng: &mut Rng) -> Self {
        Self::without_opening(members(options.driver, &mut options.setup(None, rng), |driver| driver.beside_device))
    }

    /// Creates a portfolio of concurrent drivers, which has no first rounds.
    fn without_opening(drivers: Vec<Member>) -> Self {
        let (rounds, opening, work) = (tuning().portfolio.first, tuning().portfolio.first_time, u64::MAX / 2);
        Portfolio { drivers, timed: true, is_beside: true, rounds, opening, work, ..Portfolio::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.drivers.is_empty()
    }

    /// Returns the drivers that have ended by an internal error, once.
    pub fn take_lost(&mut self) -> Vec<Lost> {
        std::mem::take(&mut self.lost)
    }

    fn lose(&mut self, turn: usize, what: String) -> (&'static str, Effort) {
        let (source, mut effort) = (self.drivers.remove(turn).name, Effort::default());
        (self.shares, self.winner) = (None, None);
        if self.drivers.is_empty() {
            effort.fault = Some(format!("the driver {source} ended ({what}), and there is no other one"));
        }
        self.lost.push(Lost { source, what });
        (source, effort)
    }

    pub fn is_opening(&self) -> bool {
        self.rounds < tuning().portfolio.first || self.opening < tuning().portfolio.first_time
    }

    /// Returns whether a driver works on all devices on this problem.
    pub fn shares_devices(&self, context: &SearchContext) -> bool {
        self.drivers.iter().any(|member| member.driver.shares_devices(context))
    }

    /// Returns whether a driver can make moves on a problem.
    pub fn can_move(&self, context: &SearchContext) -> bool {
        let is_alone = self.drivers.len() == 1;
        self.drivers
            .iter()
            .any(|Member { driver, .. }| may_help(&**driver, context, is_alone) && driver.can_move(context))
    }

    /// Makes one round of one driver. Returns its name and its effort.
    pub fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> (&'static str, Effort) {
        if let Some(opened) = self.open_run(context, pool, stop) {
            return opened;
        }
        if pool.solved != std::mem::replace(&mut self.solved, pool.solved) {
            self.shares = None;
        }
        match self.choose(context, pool) {
            Some(turn) => self.take_turn(turn, context, pool, stop),
            None => {
                std::thread::sleep(tuning().run.polling);
                (self.drivers[0].name, Effort::default())
            }
        }
    }

    /// Lets the first driver that can do so open the run from the present solution.
    fn open_run(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Option<(&'static str, Effort)> {
        if self.rounds > 0 || self.drivers.len() < 2 || pool.elites().is_empty() {
            return None;
        }
        for turn in 0..self.drivers.len() {
            let Member { name, driver, .. } = &mut self.drivers[turn];
            match threads::caught(|| driver.open_run(context, pool, stop)) {
                Ok(None) => {}
                Ok(Some(effort)) => {
                    self.rounds = 1;
                    self.work += effort.work;
                    return Some((*name, effort));
                }
                Err(what) => return Some(self.lose(turn, what)),
            }
        }
        None
    }

    /// Returns the index of the driver of the next round; `None` if there is nothing to do but to wait.
    fn choose(&mut self, context: &SearchContext, pool: &Pool) -> Option<usize> {
        let opens = self.is_opening();
        // no improvement for a third of the time before it
        let patience = tuning().portfolio.probing.max(self.better + self.better / 3);
        let stagnates = opens && self.timed && self.opening >= patience;
        let free: Vec<bool> = self.drivers.iter().map(|member| self.is_free(&*member.driver, context, pool)).collect();
        let may = |turn: usize| free[turn];
        let is_new = |&turn: &usize| {
            let Member { driver, begun, .. } = &self.drivers[turn];
            may(turn) && !begun && !driver.needs_few_threads()
        };
        let winner = self.winner.filter(|&turn| opens && may(turn));
        let other = (0..self.drivers.len()).rfind(is_new).filter(|_| stagnates);
        let drivers = &self.drivers;
        let shares = self.shares.get_or_insert_with(|| shares(drivers, context, pool));
        let turn = winner.or(other).or_else(|| if opens { shares.largest(may) } else { shares.next(may) });
        turn.or_else(|| {
            if self.is_beside {
                return None;
            }
            let first = &*self.drivers[0].driver;
            let waits = self.waits(first, context) || !may_help(first, context, self.drivers.len() == 1);
            (!waits).then_some(0)
        })
    }

    /// Returns whether a driver may have a round now.
    fn is_free(&self, driver: &dyn Driver, context: &SearchContext, pool: &Pool) -> bool {
        may_help(driver, context, self.drivers.len() == 1)
            && driver.fits(context, pool)
            && self.work >= driver.begins(context)
            && !self.waits(driver, context)
    }

    /// Returns whether a driver's kernels are being compiled.
    fn waits(&self, driver: &dyn Driver, context: &SearchContext) -> bool {
        let coming = |cuda: &Arc<Cuda>, source| matches!(cuda.poll(&source, Duration::ZERO), Ok(None));
        let kernels = || driver.kernels(context);
        self.device.as_ref().is_some_and(|cuda| kernels().is_some_and(|source| coming(cuda, source)))
    }

    /// Makes a round of a driver and updates the shares.
    fn take_turn(
        &mut self,
        turn: usize,
        context: &SearchContext,
        pool: &mut Pool,
        stop: &Stop,
    ) -> (&'static str, Effort) {
        let (opens, before) = (self.is_opening(), pool.best());
        let (Member { name, driver, begun, pace, .. }, began) = (&mut self.drivers[turn], Instant::now());
        let (name, is_first) = (*name, !std::mem::replace(begun, true));
        self.activity.step(name);
        let end = stop.end().filter(|_| self.timed);
        if let Some(left) = end.and_then(|end| (*pace)?.until(end)) {
            driver.ends_after(left);
        }
        let round = || {
            faults::panic_at(name);
            driver.round(context, pool, stop)
        };
        let effort = match threads::caught(round) {
            Ok(effort) => effort,
            Err(what) => return self.lose(turn, what),
        };
        let Pace { work, .. } = pace.get_or_insert_with(|| Pace { since: Instant::now(), work: 0 });
        *work += if is_first { 0 } else { effort.work };
        let spent = match began.elapsed().as_nanos() as u64 {
            // a first round includes compilation and allocation
            elapsed if self.timed && is_first => elapsed.min(effort.work),
            elapsed if self.timed => elapsed,
            _ => effort.work,
        };
        // gains of the first rounds are not comparable, because they start from nothing
        if opens {
            self.opening = self.opening.saturating_add(began.elapsed());
            if pool.best() < before {
                self.better = self.opening;
            }
        } else if let Some(shares) = &mut self.shares {
            let gain = before.saturating_sub(pool.best()).max(0);
            shares.note(turn, gain as f64, spent.max(tuning().portfolio.least_work) as f64);
        }
        self.winner = (pool.best() < before).then_some(turn);
        self.rounds += 1;
        self.work += effort.work;
        (name, effort)
    }

    pub fn guide(&mut self, outcome: Arc<Outcome>) {
        self.drivers.iter_mut().for_each(|member| member.driver.guide(&outcome));
        self.guide = Some(outcome);
    }

    /// Returns the guidance that drivers received last.
    pub fn told(&mut self) -> Option<Arc<Outcome>> {
        self.guide.take()
    }

    /// Splits off the drivers that need few threads, which run concurrently from now on.
    pub fn split(&mut self) -> Portfolio {
        let all = std::mem::take(&mut self.drivers).into_iter();
        let (few, many) = all.partition(|member| member.driver.needs_few_threads());
        (self.drivers, self.shares, self.winner) = (many, None, None);
        Self::without_opening(few)
    }

    /// Returns the drivers without a device version.
    pub fn without_device(mut self) -> Portfolio {
        self.drivers.retain(|member| !member.on_device);
        self
    }

    /// Takes drivers in again, which alternate from now on.
    pub fn join(&mut self, others: Portfolio) {
        self.drivers.extend(others.drivers);
        self.lost.extend(others.lost);
        self.shares = None;
    }

    pub fn rebase(&mut self, context: &SearchContext, translate: &Translate<'_>) {
        self.guide = None;
        self.drivers.iter_mut().for_each(|member| member.driver.rebase(context, translate));
    }

    /// Returns the states from which drivers can continue after a stop.
    pub fn states(&self) -> Vec<(&'static str, DriverState<Elite>)> {
        self.drivers.iter().filter_map(|member| Some((member.name, member.driver.state()?))).collect()
    }

    /// Restores the state of a driver.
    pub fn resume(&mut self, name: &str, context: &SearchContext, state: DriverState<Elite>) {
        if let Some(member) = self.drivers.iter_mut().find(|member| member.name == name) {
            member.driver.resume(context, state);
        }
    }

    pub fn population(&self) -> usize {
        self.drivers.first().map_or(0, |member| member.driver.population())
    }
}

/// Returns the initial shares of drivers.
fn shares(drivers: &[Member], context: &SearchContext, pool: &Pool) -> Shares {
    let of = |member: &Member| (member.driver.weight(context, pool), member.driver.floor(context, pool));
    Shares::new(drivers.iter().map(of).collect())
}

/// Returns whether a problem has what a driver reads, and is not of a kind that others search, unless it is alone.
fn may_help(driver: &dyn Driver, context: &SearchContext, is_alone: bool) -> bool {
    !driver.reads_tables() || context.is_for_tables() || is_alone && context.has_tables()
}

/// Creates the selected drivers for which `take_part` holds.
fn members(asked: DriverChoice, setup: &mut Setup<'_>, take_part: impl Fn(&Entry) -> bool) -> Vec<Member> {
    let named = asked.drivers().filter(|driver| take_part(driver));
    let member = |entry: &Entry| {
        let Entry { name, on_device, .. } = *entry;
        Some(Member { name, on_device, driver: (entry.make)(setup)?, begun: false, pace: None })
    };
    named.filter_map(member).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::heuristics::MinConflicts;
    use crate::reduce::Reducer;
    use fangs_testing::cores::{price, random_dense};

    #[test]
    fn half_of_the_time_is_the_two_parents_on_colorings_and_annealings_on_other_large_cores() {
        let family = |kind: &str, settings: &[(&str, &str)]| generate(kind, settings, 1).expect("a family");
        let coloring = family("coloring", &[("n", "900"), ("p", "0.012"), ("k", "4")]);
        let grid = family("grid", &[("side", "28"), ("d", "2")]);
        for (network, tabu, anneal) in [(coloring, 0.5, 0.0), (grid, 0.0, 0.5)] {
            let problem = Arc::new(
                Reducer::new(&network, false, &Stop::new())
                    .expect("no stop is set")
                    .problem(&Stop::new())
                    .expect("no stop is set"),
            );
            let context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
            let mut pool = Pool::default();
            pool.solved = true;
            assert!(context.is_large());
            let portfolio = Portfolio::new(&Options::default(), None, false, &mut Rng::new(1));
            for (name, floor) in [("tabu", tabu), ("anneal", anneal)] {
                let member = portfolio.drivers.iter().find(|member| member.name == name).expect("a driver");
                assert_eq!(member.driver.floor(&context, &pool), floor, "{name}");
            }
        }
    }

    #[test]
    fn where_the_first_rounds_stagnate_others_have_one() {
        let clauses = generate("sat", &[("n", "60"), ("clauses", "240")], 1).expect("a family");
        let problem = Arc::new(
            Reducer::new(&clauses, false, &Stop::new())
                .expect("no stop is set")
                .problem(&Stop::new())
                .expect("no stop is set"),
        );
        let mut rng = Rng::new(1);
        let context = SearchContext::new(&problem, price(&problem), None, &mut rng);
        let mut portfolio = Portfolio::new(&Options::default(), None, false, &mut rng);
        let mut pool = Pool::default();
        let mut round = |opening: Duration, found: bool| {
            (portfolio.opening, portfolio.better) = (opening, Duration::ZERO);
            portfolio.winner = portfolio.winner.filter(|_| found);
            let name = portfolio.round(&context, &mut pool, &Stop::new()).0;
            portfolio.winner = (0..portfolio.drivers.len()).find(|&turn| portfolio.drivers[turn].name == name);
            name
        };
        assert_eq!(round(Duration::ZERO, false), "anneal");
        let probing = tuning().portfolio.probing;
        assert_eq!(round(probing, true), "anneal");
        let others = [(); 3].map(|()| round(probing, false));
        assert_eq!(others, ["ejection", "weighting", "tabu"]);
        assert_eq!([round(probing, true), round(probing, false)], ["tabu", "anneal"]);
    }

    #[test]
    fn a_driver_s_pace_says_what_it_will_do_until_the_end() {
        let now = Instant::now();
        let Some(since) = now.checked_sub(Duration::from_secs(100)) else { return };
        let until = |work| Pace { since, work }.until(now + Duration::from_secs(50));
        assert_eq!(until(0), None);
        assert!(until(1000).is_some_and(|work| (490..=500).contains(&work)));
    }

    /// A driver that fits no problem.
    struct Misfit;

    impl Driver for Misfit {
        fn fits(&self, _: &SearchContext, _: &Pool) -> bool {
            false
        }

        fn population(&self) -> usize {
            0
        }

        fn round(&mut self, _: &SearchContext, _: &mut Pool, _: &Stop) -> Effort {
            Effort { moves: 1, ..Effort::default() }
        }

        fn rebase(&mut self, _: &SearchContext, _: &Translate<'_>) {}
    }

    #[test]
    fn a_driver_that_does_not_fit_has_rounds_only_where_nothing_else_is_done() {
        let mut rng = Rng::new(1);
        let problem = Arc::new(random_dense(&mut rng));
        let context = SearchContext::new(&problem, price(&problem), None, &mut rng);
        for is_beside in [false, true] {
            let portfolio = Portfolio::of(vec![("misfit", false, Box::new(Misfit))]);
            let mut portfolio = Portfolio { is_beside, ..portfolio };
            let (_, effort) = portfolio.round(&context, &mut Pool::default(), &Stop::new());
            assert_eq!(effort.moves, u64::from(!is_beside));
        }
    }

    #[test]
    fn a_plug_in_has_its_share_once_there_is_something_to_improve() {
        let mut rng = Rng::new(1);
        let problem = Arc::new(random_dense(&mut rng));
        let context = SearchContext::new(&problem, price(&problem), None, &mut rng);
        // shares of counted work, which do not depend on the machine's load
        let options = Options { heuristic: Some(Arc::new(MinConflicts)), rounds: Some(2000), ..Options::default() };
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
            let guided = portfolio.drivers.iter().find(|member| member.name == "guided").expect("a plug-in's driver");
            assert!(trajectories > 0 || began < 20 * guided.driver.begins(&context));
        }
        assert!(before >= tuning().portfolio.first as u32);
    }
}
