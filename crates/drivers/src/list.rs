//! The list of the drivers.

use crate::annealing::Annealing;
use crate::core::driver::Driver;
use crate::cycling::Cycling;
use crate::device::{Cuda, Source};
use crate::ejection::Ejection;
use crate::guided::Guided;
use crate::limited_discrepancy::LimitedDiscrepancy;
use crate::lns::Lns;
use crate::one_flip::OneFlip;
use crate::options::{Assertions, DriverChoice, Options};
use crate::rng::Rng;
use crate::spins::Spins;
use crate::sums::Sums;
use crate::tabu::Tabu;
use crate::weighting::Weighting;
use std::sync::Arc;

/// All drivers. Those of a portfolio draw their streams in this order.
const DRIVERS: &[Entry] = &[
    Entry {
        name: "anneal",
        about: "Simulated annealing of a population, with recombination",
        on_device: true,
        beside_device: false,
        kernels: crate::annealing::cuda::lanes::sources,
        make: |setup| Some(Box::new(Annealing::new(setup.stream(), setup.device.clone()))),
    },
    Entry {
        name: "tabu",
        about: "Tabu search, also from two parents with partition crossover",
        on_device: true,
        beside_device: false,
        kernels: crate::tabu::cuda::sources,
        make: |setup| Some(Box::new(Tabu::new(setup.stream(), setup.device.clone()))),
    },
    Entry {
        name: "lns",
        about: "Large-neighbourhood search with propagation",
        on_device: false,
        beside_device: true,
        kernels: Vec::new,
        make: |setup| Some(Box::new(Lns::new(setup.stream()))),
    },
    Entry {
        name: "weighting",
        about: "Local search that raises the weights of violated constraints",
        on_device: true,
        beside_device: true,
        kernels: crate::weighting::cuda::sources,
        make: |setup| Some(Box::new(Weighting::new(setup.stream(), setup.device.clone()))),
    },
    Entry {
        name: "limited-discrepancy",
        about: "Limited-discrepancy search",
        on_device: false,
        beside_device: true,
        kernels: Vec::new,
        make: |_| Some(Box::new(LimitedDiscrepancy::default())),
    },
    Entry {
        name: "long-anneal",
        about: "Annealing on the CPU, with few states and ever longer anneals",
        on_device: false,
        beside_device: true,
        kernels: Vec::new,
        make: |setup| Some(Box::new(Annealing::long(setup.stream()))),
    },
    Entry {
        name: "one-flip",
        about: "Tabu search and path relinking on binary variables in pairs",
        on_device: false,
        beside_device: true,
        kernels: Vec::new,
        make: |setup| Some(Box::new(OneFlip::new(setup.stream()))),
    },
    Entry {
        name: "ejection",
        about: "Ejection chains: a change, what hard functions then ask for, annealed as one move",
        on_device: false,
        beside_device: true,
        kernels: Vec::new,
        make: |setup| Some(Box::new(Ejection::new(setup.stream()))),
    },
    Entry {
        name: crate::sums::NAME,
        about: "Local search that keeps the sums of linear and counting functions",
        on_device: true,
        beside_device: true,
        kernels: crate::sums::cuda::sources,
        make: |setup| Some(Box::new(Sums::new(setup.stream(), setup.device.clone()))),
    },
    Entry {
        name: DriverChoice::GUIDED.0,
        about: "Trajectories that a local heuristic draws; needs --heuristic",
        on_device: true,
        beside_device: false,
        kernels: crate::guided::sources,
        make: |setup| {
            let heuristic = setup.options.heuristic.clone()?;
            let asserts = setup.options.assertions >= Assertions::Assignment;
            Some(Box::new(Guided::new(heuristic, asserts, setup.device.clone(), setup.stream())))
        },
    },
    Entry {
        name: "cycling",
        about: "Anneals from the best solution, warmed up again, of which the better parts are kept",
        on_device: false,
        beside_device: true,
        kernels: Vec::new,
        make: |setup| Some(Box::new(Cycling::new(setup.stream()))),
    },
    Entry {
        name: crate::spins::NAME,
        about: "The same for binary variables in pairs, on the network as it was read",
        on_device: true,
        beside_device: false,
        kernels: crate::spins::sources,
        make: |setup| Some(Box::new(Spins::new(setup.stream(), setup.device.clone()))),
    },
];

/// A driver as the command line and the portfolio know it.
pub struct Entry {
    /// Its name, also in the CSV's `source` column.
    pub name: &'static str,
    about: &'static str,
    /// Whether it works on a device where there is one, in turn with others.
    pub on_device: bool,
    /// Whether it works on the CPU beside a device. One that does neither is no part of the portfolio.
    pub beside_device: bool,
    /// Its kernels.
    kernels: fn() -> Vec<Source>,
    /// Makes it; nothing where it needs a heuristic and there is none.
    pub make: fn(&mut Setup<'_>) -> Option<Box<dyn Driver>>,
}

/// What drivers are made from.
pub struct Setup<'a> {
    /// What the caller asked for.
    pub options: &'a Options,
    /// The device to work on, where there is one.
    pub device: Option<Arc<Cuda>>,
    /// Where their streams come from.
    pub rng: &'a mut Rng,
}

impl Setup<'_> {
    fn stream(&mut self) -> Rng {
        Rng::new(self.rng.draw())
    }
}

impl DriverChoice {
    /// All choices, with a line about each.
    pub fn all() -> impl Iterator<Item = (DriverChoice, &'static str)> {
        let all = "All of the following but guided in turn, more time for those that improve the solution";
        let drivers = DRIVERS.iter().map(|driver| (DriverChoice(driver.name), driver.about));
        std::iter::once((DriverChoice::PORTFOLIO, all)).chain(drivers)
    }

    /// The choice of that name.
    pub fn named(name: &str) -> Option<DriverChoice> {
        DriverChoice::all().map(|(choice, _)| choice).find(|choice| choice.0 == name)
    }

    /// The drivers that it stands for.
    pub fn drivers(self) -> impl Iterator<Item = &'static Entry> {
        let takes_part = |driver: &Entry| driver.on_device || driver.beside_device;
        let is_all = self == DriverChoice::PORTFOLIO;
        DRIVERS.iter().filter(move |driver| if is_all { takes_part(driver) } else { driver.name == self.0 })
    }
}

/// Kernels of all drivers.
pub fn sources() -> Vec<Source> {
    DRIVERS.iter().flat_map(|driver| (driver.kernels)()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_is_found_by_its_name_and_stands_for_drivers() {
        let all: Vec<DriverChoice> = DriverChoice::all().map(|(choice, _)| choice).collect();
        for (place, choice) in all.iter().enumerate() {
            assert!(!all[..place].contains(choice) && DriverChoice::named(choice.name()) == Some(*choice));
            let count = choice.drivers().count();
            assert_eq!(count, if *choice == DriverChoice::PORTFOLIO { DRIVERS.len() } else { 1 }, "{}", choice.name());
        }
        assert!(all.contains(&DriverChoice::GUIDED) && DriverChoice::named("magic").is_none());
    }
}
