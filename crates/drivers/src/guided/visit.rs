//! One visit: the inputs of a variable's values, the heuristic's weights, the sample.

use super::round_context::RoundContext;
use super::state::GuidedState;
use crate::fang::{Dispatch, select};
use crate::heuristics::{Inputs, Needs, ValueHeuristic, View};
use crate::model::Cost;
use crate::rng::below;

pub(crate) struct Visit<'a> {
    pub round: RoundContext<'a>,
    pub heuristic: &'a dyn ValueHeuristic,
}

/// The inputs and weights of the visited variable, one set for each thread.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub row: Vec<i32>,
    rises: Vec<Cost>,
    value: Vec<f64>,
    cost: Vec<f64>,
    delta: Vec<f64>,
    current: Vec<f64>,
    incumbent: Vec<f64>,
    age: Vec<f64>,
    frequency: Vec<f64>,
    h: Vec<f64>,
    reduced: Vec<f64>,
    conflicts: Vec<f64>,
    unary: Vec<f64>,
    weights: Vec<u32>,
}

struct Scalars {
    current_cost: f64,
    current_conflicts: f64,
    least: f64,
}

/// Returns 1 for the chosen value, 0 for others.
fn indicate(values: usize, chosen: Option<usize>) -> impl Iterator<Item = f64> {
    (0..values).map(move |value| if Some(value) == chosen { 1.0 } else { 0.0 })
}

impl Visit<'_> {
    #[inline(always)]
    fn look(&self, state: &GuidedState, v: usize, scratch: &mut Scratch) -> Scalars {
        let RoundContext { context, needs, layout, .. } = self.round;
        let tables = &context.tables;
        let domain = tables.domain(v);
        let held = usize::from(state.values[v]);
        scratch.row.resize(layout.range(v).len(), 0);
        state.costs(&self.round, v, &mut scratch.row);
        let costs = &scratch.row[..domain];
        let least = costs.iter().copied().min().unwrap_or(0);
        let current = costs[held];
        let mut scalars = Scalars { current_cost: f64::from(current), current_conflicts: 0.0, least: f64::from(least) };
        let fill = |column: &mut Vec<f64>, need: Needs, numbers: &mut dyn Iterator<Item = f64>| {
            column.clear();
            if needs.any(need) {
                column.extend(numbers);
            }
        };
        scratch.cost.clear();
        if needs.any(Needs::COST) {
            scratch.cost.extend(costs.iter().map(|&cost| f64::from(cost)));
        }
        fill(&mut scratch.delta, Needs::DELTA, &mut costs.iter().map(|&cost| f64::from(cost - current)));
        fill(&mut scratch.current, Needs::CURRENT, &mut indicate(domain, Some(held)));
        let best = self.round.incumbent.map(|values| usize::from(values[v]));
        fill(&mut scratch.incumbent, Needs::INCUMBENT, &mut indicate(domain, best));
        let place = layout.range(v).start;
        fill(&mut scratch.age, Needs::AGE, &mut (0..domain).map(|value| state.age(place + value)));
        fill(&mut scratch.frequency, Needs::FREQUENCY, &mut (0..domain).map(|value| state.frequency(v, place + value)));
        fill(&mut scratch.unary, Needs::UNARY, &mut tables.unary(v)[..domain].iter().map(|&cost| f64::from(cost)));
        let view = context.view(&state.values);
        fill(&mut scratch.value, Needs::VALUE, &mut (0..domain).map(|value| view.origin_value(v, value) as f64));
        if needs.any(Needs::REDUCED) {
            let known = self.round.reduced.map(|reduced| &reduced[v]);
            let reduced = |value: usize| known.map_or(0.0, |known| self.round.units(known[value]));
            fill(&mut scratch.reduced, Needs::REDUCED, &mut (0..domain).map(reduced));
        }
        if needs.any(Needs::H) {
            self.look_ahead(state, v, domain, scratch);
        }
        if self.round.counts_conflicts() {
            state.conflicts(&self.round, v, &mut scratch.row);
            scalars.current_conflicts = f64::from(scratch.row[held]);
            let counts = &mut scratch.row[..domain].iter().map(|&count| f64::from(count));
            fill(&mut scratch.conflicts, Needs::CONFLICTS, counts);
        }
        scalars
    }

    /// Computes the lower bounds that the mini-buckets give for each value.
    fn look_ahead(&self, state: &GuidedState, v: usize, domain: usize, scratch: &mut Scratch) {
        scratch.h.clear();
        match &self.round.guidance {
            Some(guidance) => {
                scratch.rises.resize(domain, 0);
                guidance.to_go.rate(guidance.positions[v] as usize, &state.wide, &mut scratch.rises);
                scratch.h.extend(scratch.rises.iter().map(|&rise| self.round.units(rise)));
            }
            None => scratch.h.resize(domain, 0.0),
        }
    }

    fn inputs<'a>(
        &self,
        view: &'a View<'a>,
        state: &GuidedState,
        v: usize,
        at: &Scalars,
        columns: &'a Scratch,
    ) -> Inputs<'a> {
        Inputs {
            view,
            variable: v,
            value: &columns.value,
            cost: &columns.cost,
            delta: &columns.delta,
            current: &columns.current,
            incumbent: &columns.incumbent,
            age: &columns.age,
            frequency: &columns.frequency,
            h: &columns.h,
            reduced: &columns.reduced,
            conflicts: &columns.conflicts,
            unary: &columns.unary,
            domain: view.domain(v) as f64,
            degree: self.round.context.tables.degree(v) as f64,
            temperature: state.temperature,
            round: f64::from(state.pass),
            since: f64::from(state.pass - state.improved),
            current_cost: at.current_cost,
            current_conflicts: at.current_conflicts,
            least: at.least,
            // groups belong to the expression file, which knows the variable
            group: -1.0,
        }
    }
}

impl Dispatch<GuidedState> for Visit<'_> {
    type Scratch = Scratch;

    #[inline(always)]
    fn assign(&self, state: &mut GuidedState, v: usize, draw: u64, scratch: &mut Scratch) -> Option<usize> {
        let scalars = self.look(state, v, scratch);
        let domain = self.round.context.tables.domain(v);
        let mut weights = std::mem::take(&mut scratch.weights);
        weights.clear();
        weights.resize(domain, 0);
        let view = self.round.context.view(&state.values);
        let inputs = self.inputs(&view, state, v, &scalars, scratch);
        let active = self.heuristic.active(&inputs);
        if active {
            self.heuristic.weigh(&inputs, &mut weights);
        }
        let picked = if active { self.draw(state, v, draw, &weights) } else { None };
        scratch.weights = weights;
        if let Some(value) = picked.filter(|&value| value != usize::from(state.values[v])) {
            state.picks.changed += 1;
            state.moves += 1;
            // the row may contain conflicts by now
            let delta = state.delta(&self.round, v, value as u16, &mut scratch.row);
            state.take(&self.round, v, value as u16, delta);
            if self.round.asserts {
                self.verify(state, v);
            }
        }
        state.visited(&self.round, v);
        picked
    }
}

impl Visit<'_> {
    #[inline(always)]
    fn draw(&self, state: &mut GuidedState, v: usize, draw: u64, weights: &[u32]) -> Option<usize> {
        state.picks.ratings += weights.len() as u64;
        let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        if total == 0 {
            let _ = state.weightless.get_or_insert((v, state.values[v]));
            return None;
        }
        state.picks.drawn += 1;
        Some(select(weights, below(draw, total)))
    }

    #[cold]
    pub fn verify(&self, state: &mut GuidedState, v: usize) {
        if let (Err(what), None) = (state.verify(&self.round, v), &state.fault) {
            let variable = self.round.context.view(&state.values).origin(v);
            state.fault =
                Some(format!("heuristic {}: after variable {variable} was assigned {what}", self.heuristic.name()));
        }
    }
}
