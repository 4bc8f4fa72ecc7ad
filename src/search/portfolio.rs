//! The drivers side by side: each round goes to one of them, more often to those that improved the best solution lately.

use super::anneal::Anneal;
use super::arms::Arms;
use super::construct::Construct;
use super::driver::{Driver, Effort, Field, Pool};
use super::guided::Guided;
use super::islands::Islands;
use super::options::{Assertions, DriverChoice, Options};
use super::tabu::Tabu;
use crate::device::Cuda;
use crate::inference::Outcome;
use crate::rng::Rng;
use crate::stop::Stop;
use std::sync::Arc;

/// Rounds after which the shares of the drivers are drawn anew.
const PERIOD: u64 = 16;
/// The first rounds are the first driver's: it shows a solution soonest and fills the pool for the others.
const FIRST: u64 = 4;
/// Threads from which on a search on a device has islands beside it.
const FREE: usize = 4;
/// Share of the rounds that is dealt out evenly.
const FLOOR: f64 = 0.15;

/// The drivers of a run and what they earn.
pub(crate) struct Portfolio {
    drivers: Vec<Box<dyn Driver>>,
    /// Works on the CPU while the others' rounds are on a device.
    beside: Option<Box<Islands>>,
    arms: Arms,
    rng: Rng,
    rounds: u64,
    /// Whether the last driver is a plug-in heuristic's.
    plugin: bool,
}

impl Portfolio {
    /// The drivers that the options name; each has streams of its own.
    pub fn new(options: &Options, device: Option<Arc<Cuda>>, rng: &mut Rng) -> Self {
        let mut stream = || Rng::new(rng.draw());
        // a run that must be repeated elsewhere takes turns; so do all where no threads are free
        let alone = device.is_none() || options.rounds.is_some() || rayon::current_num_threads() < FREE;
        let beside = (options.driver == DriverChoice::Portfolio && !alone).then(|| Box::new(Islands::new(stream())));
        let asserts = options.assertions >= Assertions::Assignment;
        let guided =
            |device, rng| options.heuristic.clone().map(|heuristic| Guided::new(heuristic, asserts, device, rng));
        let drivers: Vec<Box<dyn Driver>> = match options.driver {
            DriverChoice::Portfolio => {
                let mut drivers: Vec<Box<dyn Driver>> = vec![
                    Box::new(Anneal::new(stream(), device.clone())),
                    Box::new(Tabu::new(stream(), device.clone())),
                    Box::new(Construct::new(stream())),
                ];
                if beside.is_none() {
                    drivers.push(Box::new(Islands::new(stream())));
                }
                // the last one: without it all others draw what they always did
                if options.heuristic.is_some() {
                    drivers.extend(guided(device, stream()).map(|driver| Box::new(driver) as Box<dyn Driver>));
                }
                drivers
            }
            DriverChoice::Guided => {
                guided(device, stream()).map(|driver| Box::new(driver) as Box<dyn Driver>).into_iter().collect()
            }
            DriverChoice::Anneal => vec![Box::new(Anneal::new(stream(), device))],
            DriverChoice::Tabu => vec![Box::new(Tabu::new(stream(), device))],
            DriverChoice::Construct => vec![Box::new(Construct::new(stream()))],
            DriverChoice::Islands => vec![Box::new(Islands::new(stream()))],
        };
        Portfolio {
            arms: Arms::new(drivers.len(), FLOOR),
            drivers,
            beside,
            rng: stream(),
            rounds: 0,
            plugin: options.heuristic.is_some(),
        }
    }

    /// One round of one driver, and of who works beside; returns the name of who found the best, and what was done.
    pub fn round(&mut self, field: &Field, pool: &mut Pool, stop: &Stop) -> (&'static str, Effort) {
        // a heuristic that somebody asked for takes turns with the first driver: on a large core these rounds may be all there is
        let turn = match self.rounds < FIRST {
            true if self.plugin && self.rounds % 2 == 1 => self.drivers.len() - 1,
            true => 0,
            false => self.arms.choose(self.rng.unit()),
        };
        let before = pool.best();
        let driver = &mut self.drivers[turn];
        let name = driver.name();
        let mut others = Pool::default();
        let (mut effort, beside) = match &mut self.beside {
            Some(islands) if !pool.elites().is_empty() => {
                others = pool.clone();
                rayon::join(|| driver.round(field, pool, stop), || islands.round(field, &mut others, stop))
            }
            _ => (driver.round(field, pool, stop), Effort::default()),
        };
        let gained = pool.best() < before;
        self.arms.note(turn, if gained { 1.0 } else { 0.0 }, effort.work as f64);
        let name = if others.best() < pool.best() { "islands" } else { name };
        for elite in others.elites() {
            pool.offer(elite);
        }
        // what is done beside takes no time
        (effort.moves, effort.ratings) = (effort.moves + beside.moves, effort.ratings + beside.ratings);
        self.rounds += 1;
        if self.rounds.is_multiple_of(PERIOD) {
            self.arms.settle();
        }
        (name, effort)
    }

    /// Hands the messages of a bound step to whoever builds on them.
    pub fn guide(&mut self, outcome: Arc<Outcome>) {
        for driver in &mut self.drivers {
            driver.guide(&outcome);
        }
    }

    /// Moves every driver to another core.
    pub fn rebase(&mut self, field: &Field, translate: &(dyn Fn(&[u16]) -> Vec<u16> + Sync)) {
        for driver in &mut self.drivers {
            driver.rebase(field, translate);
        }
        if let Some(islands) = &mut self.beside {
            islands.rebase(field, translate);
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
    use crate::heuristics::MinConflicts;
    use crate::search::testing::{price, random_dense};

    #[test]
    fn a_plug_in_takes_turns_from_the_beginning() {
        let mut rng = Rng::new(1);
        let problem = Arc::new(random_dense(&mut rng));
        let field = Field::new(&problem, price(&problem), None, &mut rng);
        let options = Options { heuristic: Some(Arc::new(MinConflicts)), ..Options::default() };
        let mut portfolio = Portfolio::new(&options, None, &mut rng);
        let mut pool = Pool::default();
        let mut name = || portfolio.round(&field, &mut pool, &Stop::new()).0;
        assert_eq!([name(), name(), name(), name()], ["anneal", "guided", "anneal", "guided"]);
    }

    #[test]
    fn islands_beside_add_to_the_pool() {
        let mut rng = Rng::new(2);
        for _ in 0..3 {
            let problem = Arc::new(random_dense(&mut rng));
            let field = Field::new(&problem, price(&problem), None, &mut rng);
            let mut portfolio = Portfolio::new(&Options::default(), None, &mut rng);
            portfolio.beside = Some(Box::new(Islands::new(rng.split())));
            let mut pool = Pool::default();
            let _ = portfolio.round(&field, &mut pool, &Stop::new());
            let best = pool.best();
            let alone = pool.elites().to_vec();
            let (name, effort) = portfolio.round(&field, &mut pool, &Stop::new());
            assert!(pool.best() <= best && effort.work > 0);
            assert!(name == "anneal" || pool.best() < best);
            // nothing that was among the best is lost
            assert!(pool.elites().iter().zip(&alone).all(|(now, before)| now.energy.total <= before.energy.total));
        }
    }
}
