//! Photographs of a satellite: what is worth more comes in, what clashes with it stays out.

use super::min_conflicts::as_min_conflicts;
use super::{Ejection, Neighbourhood, ValueHeuristic, View};
use crate::device::Source;
use crate::model::{Cost, FORBIDDEN, Problem, add};
use crate::rng::Rng;

/// Min-conflicts, and photographs that come in by their weight over that of what they clash with.
#[derive(Clone, Copy, Debug)]
pub struct Satellite;

/// Photographs looked at for a proposal.
const CANDIDATES: usize = 4;

impl ValueHeuristic for Satellite {
    fn name(&self) -> &str {
        "satellite"
    }

    fn about(&self) -> &str {
        "\
photographs of a satellite: those worth more come in, those they clash with stay out
Variables in conflict take their cheapest values. Between passes some photographs that are left out are looked at, each with a random camera: the one with the most weight for the
weight of those it clashes with comes in, and these take their cheapest values, which is mostly to stay out. For networks in
which half of the variables or more have a value that costs something by itself."
    }

    as_min_conflicts!();

    fn fits(&self, problem: &Problem) -> Result<(), String> {
        let weighted =
            problem.unary.iter().filter(|costs| costs.iter().any(|&cost| cost > 0 && cost < FORBIDDEN)).count();
        match weighted * 2 >= problem.variables() {
            true => Ok(()),
            false => Err(format!("{weighted} of {} variables have values of any weight", problem.variables())),
        }
    }

    fn neighbourhood(&self) -> Option<&dyn Neighbourhood> {
        Some(&Insert)
    }
}

/// Takes in one photograph.
struct Insert;

impl Neighbourhood for Insert {
    fn cuda(&self) -> Option<Source> {
        Some(Source::including("satellite.cuh"))
    }

    fn propose(&self, view: &View<'_>, rng: &mut Rng, group: &mut Vec<(u32, u16)>) {
        let unary = |v: usize, value: usize| view.problem().unary[v][value].min(FORBIDDEN);
        let weight = |v: usize| (0..view.domain(v)).map(|value| unary(v, value)).fold(0, Cost::max);
        let mut best = None;
        let mut clashes = Vec::new();
        for _ in 0..CANDIDATES {
            let v = rng.index(view.variables());
            let value = rng.index(view.domain(v));
            let gain = unary(v, view.value(v)) - unary(v, value);
            if gain <= 0 {
                continue;
            }
            view.clashes(v, value, &mut clashes);
            let lost = clashes.iter().fold(0, |lost, &u| add(lost, weight(u as usize)));
            let worth = gain as f64 / (1.0 + lost as f64);
            if best.is_none_or(|(known, _)| worth > known) {
                best = Some((worth, (v, value)));
            }
        }
        if let Some((_, insertion)) = best {
            Ejection { breadth: 6, longest: 8 }.chain(view, insertion, group);
        }
    }
}
