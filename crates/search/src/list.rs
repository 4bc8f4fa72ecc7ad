//! The list of the drivers.

use crate::annealing;
use crate::core::driver::{Driver, Setup};
use crate::device::Source;
use crate::drivers::{ejection, guided, limited_discrepancy, lns, one_flip, spins, sums, tabu, weighting};
use crate::options::DriverChoice;
use crate::tuning::{DriversTuning, tuning};

/// All drivers. The drivers of a portfolio draw their random streams in this order.
const DRIVERS: &[Entry] = &[
    Entry {
        name: "anneal",
        about: "Simulated annealing of a population, with recombination",
        on_device: true,
        beside_device: false,
        kernels: annealing::sources,
        make: annealing::make,
        enabled: |drivers| drivers.anneal,
    },
    Entry {
        name: "tabu",
        about: "Tabu search, also from two parents with partition crossover",
        on_device: true,
        beside_device: false,
        kernels: tabu::sources,
        make: tabu::make,
        enabled: |drivers| drivers.tabu,
    },
    Entry {
        name: "lns",
        about: "Large-neighbourhood search with propagation",
        on_device: false,
        beside_device: true,
        kernels: Vec::new,
        make: lns::make,
        enabled: |drivers| drivers.lns,
    },
    Entry {
        name: "weighting",
        about: "Local search that raises the weights of violated constraints",
        on_device: true,
        beside_device: true,
        kernels: weighting::sources,
        make: weighting::make,
        enabled: |drivers| drivers.weighting,
    },
    Entry {
        name: "limited-discrepancy",
        about: "Limited-discrepancy search",
        on_device: false,
        beside_device: true,
        kernels: Vec::new,
        make: limited_discrepancy::make,
        enabled: |drivers| drivers.limited_discrepancy,
    },
    Entry {
        name: "long-anneal",
        about: "Annealing on the CPU, with few states and ever longer anneals",
        on_device: false,
        beside_device: true,
        kernels: Vec::new,
        make: annealing::make_long,
        enabled: |drivers| drivers.long_anneal,
    },
    Entry {
        name: "one-flip",
        about: "Tabu search and path relinking on binary variables in pairs",
        on_device: false,
        beside_device: true,
        kernels: Vec::new,
        make: one_flip::make,
        enabled: |drivers| drivers.one_flip,
    },
    Entry {
        name: "ejection",
        about: "Ejection chains: a change, what hard functions then ask for, annealed as one move",
        on_device: false,
        beside_device: true,
        kernels: Vec::new,
        make: ejection::make,
        enabled: |drivers| drivers.ejection,
    },
    Entry {
        name: sums::NAME,
        about: "Local search that keeps the sums of linear and counting functions",
        on_device: true,
        beside_device: true,
        kernels: sums::sources,
        make: sums::make,
        enabled: |drivers| drivers.sums,
    },
    Entry {
        name: DriverChoice::GUIDED.0,
        about: "Trajectories that a local heuristic draws; needs --heuristic",
        on_device: true,
        beside_device: false,
        kernels: guided::sources,
        make: guided::make,
        enabled: |drivers| drivers.guided,
    },
    Entry {
        name: spins::NAME,
        about: "Thermal cycling for binary variables and functions of two variables, on the network as it was read",
        on_device: true,
        beside_device: false,
        kernels: spins::sources,
        make: spins::make,
        enabled: |drivers| drivers.spins,
    },
];

/// A driver's entry in the list, as the command line and the portfolio use it.
pub struct Entry {
    /// The name, also used in the CSV's `source` column.
    pub name: &'static str,
    about: &'static str,
    /// Whether the driver works on a device, if there is one, alternating with others.
    pub on_device: bool,
    /// Whether the driver works on the CPU beside a device. A driver with neither is not part of the portfolio.
    pub beside_device: bool,
    /// Returns the driver's kernel sources.
    kernels: fn() -> Vec<Source>,
    /// Makes the driver; returns `None` if it needs a heuristic and there is none.
    pub make: fn(&mut Setup<'_>) -> Option<Box<dyn Driver>>,
    /// Returns whether the driver takes part in a portfolio.
    enabled: fn(&DriversTuning) -> bool,
}

impl DriverChoice {
    /// Iterates over all choices, each with its one-line description.
    pub fn all() -> impl Iterator<Item = (DriverChoice, &'static str)> {
        let all = "All of the following but guided in turn, more time for those that improve the solution";
        let drivers = DRIVERS.iter().map(|driver| (DriverChoice(driver.name), driver.about));
        std::iter::once((DriverChoice::PORTFOLIO, all)).chain(drivers)
    }

    /// Returns the choice of that name; `None` if there is no such driver.
    pub fn named(name: &str) -> Option<DriverChoice> {
        DriverChoice::all().map(|(choice, _)| choice).find(|choice| choice.0 == name)
    }

    /// Iterates over the drivers of this choice.
    pub fn drivers(self) -> impl Iterator<Item = &'static Entry> {
        let switches = &tuning().drivers;
        let takes_part = |driver: &Entry| (driver.on_device || driver.beside_device) && (driver.enabled)(switches);
        let is_all = self == DriverChoice::PORTFOLIO;
        DRIVERS.iter().filter(move |driver| if is_all { takes_part(driver) } else { driver.name == self.0 })
    }
}

/// Returns the kernel sources of all drivers.
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
