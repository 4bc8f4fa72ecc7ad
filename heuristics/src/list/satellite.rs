//! Photographs of a satellite: photographs of more weight enter, those in conflict with them are left out.

use super::min_conflicts::as_min_conflicts;
use crate::device::Source;
use crate::model::{Cost, FORBIDDEN, Problem, add};
use crate::rng::Rng;
use crate::texts::HEURISTICS;
use crate::{Ejection, Neighbourhood, Start, ValueHeuristic, View};

/// Min-conflicts, with proposals that enter photographs by their weight relative to those in conflict with them.
#[derive(Clone, Copy, Debug)]
pub struct Satellite;

const CANDIDATES: usize = 4;

impl ValueHeuristic for Satellite {
    fn name(&self) -> &str {
        "satellite"
    }

    fn about(&self) -> &str {
        "\
photographs of a satellite: those worth more come in, those they clash with stay out
States begin without photographs and take in first those of much weight for their neighbours. Variables in conflict take
their cheapest values. Between passes some photographs that are left out are tried, each with a random camera: the one
with the most weight for the weight of those it clashes with comes in, and these take their cheapest values, which is
mostly to stay out. For networks in which half of the variables or more have a value with a unary cost."
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

    fn start(&self) -> Option<&dyn Start> {
        Some(&Heaviest)
    }
}

/// A start that leaves all photographs out and then enters those without conflicts, those of much weight for their
/// neighbours first; the best of several orders.
struct Heaviest;

/// Number of orders that are tried. Weights are divided in turn by 1, by the root of the number of neighbours, and by
/// that number: on some networks the first is best, on others the last. A random factor from 1 - SPREAD to 1 + SPREAD
/// varies them.
const ORDERS: usize = 12;
const POWERS: [f64; 3] = [0.0, 0.5, 1.0];
const SPREAD: f64 = 0.3;

impl Start for Heaviest {
    fn start(&self, view: &View<'_>, rng: &mut Rng, values: &mut [u16]) {
        let unary = |v: usize, value: usize| view.problem().unary[v][value].min(FORBIDDEN);
        let dearest = |v: usize| (0..view.domain(v)).max_by_key(|&value| unary(v, value)).unwrap_or(0) as u16;
        let out: Vec<u16> = (0..values.len()).map(dearest).collect();
        let (mut least, mut costs) = (Cost::MAX, Vec::new());
        for k in 0..ORDERS {
            let mut urgency = |v: usize| {
                let factor = 1.0 + SPREAD * (2.0 * rng.unit() - 1.0);
                let neighbours = 1.0 + view.neighbours(v).len() as f64;
                factor * unary(v, usize::from(out[v])) as f64 / neighbours.powf(POWERS[k % POWERS.len()])
            };
            let mut order: Vec<(f64, usize)> = (0..values.len()).map(|v| (urgency(v), v)).collect();
            order.sort_by(|a, b| b.0.total_cmp(&a.0));
            let (mut tried, mut left_out) = (out.clone(), 0);
            for (_, v) in order {
                view.with(&tried).costs(v, &mut costs);
                let cheapest = (0..costs.len()).min_by_key(|&value| costs[value]).unwrap_or(0);
                tried[v] = cheapest as u16;
                left_out = add(left_out, unary(v, cheapest));
            }
            if left_out < least {
                least = left_out;
                values.copy_from_slice(&tried);
            }
        }
    }
}

struct Insert;

impl Neighbourhood for Insert {
    fn cuda(&self) -> Option<Source> {
        Some(HEURISTICS.including("satellite.cuh").agrees("Groups::CANDIDATES", CANDIDATES as u32))
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
        if let Some((_, (variable, value))) = best {
            Ejection { breadth: 6, longest: 8 }.chain(view, variable, value, group);
        }
    }
}
