//! `fangs heuristics`, and the `--heuristic` option.

use super::{Exit, output, reserved};
use clap::Args;
use fangs::Error;

#[derive(Args, Debug)]
pub struct HeuristicsFlags {
    /// The heuristic to describe
    name: Option<String>,
}

/// What the list says of a heuristic.
struct Heuristic {
    name: &'static str,
    drivers: &'static str,
    about: &'static str,
    description: &'static str,
}

/// Every local heuristic that networks can be searched with.
const HEURISTICS: [Heuristic; 1] = [Heuristic {
    name: "boltzmann",
    drivers: "anneal",
    about: "heat bath: values weighted by exp(-cost / temperature)",
    description: "\
The possibilities of a variable are its values. A value's rating is what it costs given the values of the variable's
neighbours; the aggregate is the least of these; the weight is exp(-(rating - least) / temperature) through an integer
table, so that every machine draws the same value. The temperature falls along a geometric schedule whose ends come
from the cost tables.",
}];

/// Reads `--heuristic`.
pub fn parse(text: &str) -> Result<&'static str, String> {
    let known = HEURISTICS.iter().find(|heuristic| heuristic.name == text);
    known.map(|heuristic| heuristic.name).ok_or_else(|| format!("expected one of {}", names()))
}

/// Lists the heuristics or describes one.
pub fn run(flags: HeuristicsFlags) -> Result<Exit, Error> {
    match flags.name.as_deref() {
        None => {
            for Heuristic { name, drivers, about, .. } in &HEURISTICS {
                output::print(&format_args!("{name:<12} {about} (driver {drivers})\n"))?;
            }
        }
        Some(name @ ("new" | "try")) => return reserved(&format!("`fangs heuristics {name}`")),
        Some(name) => match HEURISTICS.iter().find(|heuristic| heuristic.name == name) {
            Some(Heuristic { drivers, about, description, .. }) => {
                output::print(&format_args!("{name}: {about}\nused by the driver {drivers}\n\n{description}\n"))?;
            }
            None => return Err(Error::Usage(format!("no heuristic is called {name}; expected one of {}", names()))),
        },
    }
    Ok(Exit::Done)
}

fn names() -> String {
    HEURISTICS.map(|heuristic| heuristic.name).join(", ")
}
