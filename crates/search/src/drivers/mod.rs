//! The drivers: each looks for better solutions in its own way, a round of bounded work at a time.
//!
//! To add one: write its file, with a type that implements [`Driver`], and its line in [`DRIVERS`]. The choice by name,
//! help and the portfolio follow from that.

pub(crate) mod annealing;
pub(crate) mod cycling;
pub(crate) mod ejection;
pub(crate) mod guided;
pub(crate) mod kept;
pub(crate) mod limited_discrepancy;
pub(crate) mod lns;
pub(crate) mod one_flip;
pub(crate) mod spins;
pub(crate) mod sums;
pub(crate) mod tabu;
pub(crate) mod tuning;
pub(crate) mod walks;
pub(crate) mod weighting;

use self::annealing::Annealing;
use self::cycling::Cycling;
use self::ejection::Ejection;
use self::guided::Guided;
use self::limited_discrepancy::LimitedDiscrepancy;
use self::lns::Lns;
use self::one_flip::OneFlip;
use self::spins::Spins;
use self::sums::Sums;
use self::tabu::Tabu;
use self::weighting::Weighting;
use super::options::{Assertions, DriverChoice, Options};
use crate::core::driver::Driver;
use crate::device::{Cuda, Source};
use crate::rng::Rng;
use std::sync::Arc;

/// All drivers. Those of a portfolio draw their streams in this order.
const DRIVERS: &[Entry] = &[
    Entry {
        name: "anneal",
        about: "Simulated annealing of a population, with recombination",
        on_device: true,
        beside_device: false,
        kernels: annealing::cuda::lanes::sources,
        make: |setup| Some(Box::new(Annealing::new(setup.stream(), setup.device.clone()))),
    },
    Entry {
        name: "tabu",
        about: "Tabu search, also from two parents with partition crossover",
        on_device: true,
        beside_device: false,
        kernels: tabu::cuda::sources,
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
        kernels: weighting::cuda::sources,
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
        name: sums::NAME,
        about: "Local search that keeps the sums of linear and counting functions",
        on_device: true,
        beside_device: true,
        kernels: sums::cuda::sources,
        make: |setup| Some(Box::new(Sums::new(setup.stream(), setup.device.clone()))),
    },
    Entry {
        name: DriverChoice::GUIDED.0,
        about: "Trajectories that a local heuristic draws; needs --heuristic",
        on_device: true,
        beside_device: false,
        kernels: guided::sources,
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
        name: spins::NAME,
        about: "The same for binary variables in pairs, on the network as it was read",
        on_device: true,
        beside_device: false,
        kernels: spins::sources,
        make: |setup| Some(Box::new(Spins::new(setup.stream(), setup.device.clone()))),
    },
];

/// A driver as the command line and the portfolio know it.
pub(crate) struct Entry {
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
pub(crate) struct Setup<'a> {
    pub options: &'a Options,
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
    pub(crate) fn drivers(self) -> impl Iterator<Item = &'static Entry> {
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
