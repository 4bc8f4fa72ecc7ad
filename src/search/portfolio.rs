//! The drivers side by side: each round goes to one of them, more work to those that improved the best solution lately ([`Shares`]).

use super::anneal::Anneal;
use super::construct::Construct;
use super::driver::{Driver, Effort, Field, Pool};
use super::guided::Guided;
use super::islands::Islands;
use super::options::{Assertions, DriverChoice, Options};
use super::shares::Shares;
use super::tabu::Tabu;
use crate::device::Cuda;
use crate::inference::Outcome;
use crate::model::Cost;
use crate::rng::Rng;
use crate::stop::Stop;
use std::sync::Arc;

/// The first rounds are the first driver's: it shows a solution soonest and fills the pool for the others.
const FIRST: u64 = 4;
/// Work that a round counts at least: one that does nothing must not be due again for ever.
const LEAST_WORK: u64 = 1_000_000;

/// The drivers of a run and what they earn.
pub(crate) struct Portfolio {
    drivers: Vec<Box<dyn Driver>>,
    /// Begun with the first round.
    shares: Option<Shares>,
    rounds: u64,
    /// Of all rounds.
    work: u64,
    /// Whether the last driver is a plug-in heuristic's.
    plugin: bool,
}

impl Portfolio {
    /// The drivers that the options name; each has streams of its own.
    pub fn new(options: &Options, device: Option<Arc<Cuda>>, rng: &mut Rng) -> Self {
        let mut stream = || Rng::new(rng.draw());
        let asserts = options.assertions >= Assertions::Assignment;
        let guided =
            |device, rng| options.heuristic.clone().map(|heuristic| Guided::new(heuristic, asserts, device, rng));
        let drivers: Vec<Box<dyn Driver>> = match options.driver {
            DriverChoice::Portfolio => {
                let mut drivers: Vec<Box<dyn Driver>> = vec![
                    Box::new(Anneal::new(stream(), device.clone())),
                    Box::new(Tabu::new(stream(), device.clone())),
                    Box::new(Construct::new(stream())),
                    Box::new(Islands::new(stream())),
                ];
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
        Portfolio { shares: None, drivers, rounds: 0, work: 0, plugin: options.heuristic.is_some() }
    }

    /// One round of one driver; returns its name and what it did.
    pub fn round(&mut self, field: &Field, pool: &mut Pool, stop: &Stop) -> (&'static str, Effort) {
        let weights = || self.drivers.iter().map(|driver| driver.weight(field)).collect();
        let shares = self.shares.get_or_insert_with(|| Shares::new(weights()));
        // a heuristic that somebody asked for takes turns with the first driver: on a large core these rounds may be all there is
        let turn = match self.rounds < FIRST {
            true if self.plugin && self.rounds % 2 == 1 => self.drivers.len() - 1,
            true => 0,
            false => {
                let may = |turn: usize| self.drivers[turn].fits(field) && self.work >= self.drivers[turn].begins(field);
                shares.next(may).unwrap_or(0)
            }
        };
        let before = pool.best();
        let driver = &mut self.drivers[turn];
        let effort = driver.round(field, pool, stop);
        // what the first solutions are better than nothing by says nothing
        let gain = if before == Cost::MAX { 0 } else { before.saturating_sub(pool.best()).max(0) };
        shares.note(turn, gain as f64, effort.work.max(LEAST_WORK) as f64);
        self.rounds += 1;
        self.work += effort.work;
        (driver.name(), effort)
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
}
