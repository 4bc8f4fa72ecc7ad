//! Construction guided by mini-buckets: beams of partial assignments grow along the reverse elimination order.
//!
//! A possibility's rating is what it adds to f, the cost so far plus the mini-buckets' cost to go, which never
//! overestimates (see [`CostToGo`]); one with f at or above the incumbent has weight 0. A state without a possibility is
//! dead, and a live one of its beam is cloned in its place. Temperatures differ over a beam, from greedy up.

use super::annealing::heat_bath::{HeatBath, Least};
use super::annealing::state::{Elite, State};
use super::annealing::sweep::sweep;
use crate::elimination::{CostToGo, Outcome};
use crate::fang::boltzmann::Boltzmann;
use crate::fang::{LocalHeuristic, Scratch, assign_variable};
use crate::model::Cost;
use crate::rng::Rng;
use crate::search::scheduler::driver::{Driver, Effort, Field, Pool};
use crate::stop::Stop;
use rayon::prelude::*;
use std::sync::Arc;

/// Beams of a round; their number does not follow the threads, so that these do not change the result.
const BEAMS: usize = 8;
/// States of a beam.
const WIDTH: usize = 16;
/// A rating that cannot be picked.
const PRUNED: i32 = i32::MAX;

/// The construct driver.
#[derive(Debug)]
pub(crate) struct Construct {
    rng: Rng,
    outcome: Option<Arc<Outcome>>,
}

/// A partial assignment.
#[derive(Clone, Debug)]
struct Partial {
    values: Vec<u32>,
    /// f of what is assigned.
    f: Cost,
    alive: bool,
}

/// Rates the next variable of a partial assignment. Variables go by their positions in the elimination order.
struct Guided<'a> {
    guide: CostToGo<'a>,
    /// f from here on is of no interest.
    limit: Cost,
    shift: u32,
    boltzmann: Boltzmann,
}

impl Guided<'_> {
    fn rises(&self, partial: &Partial, position: usize) -> Vec<Cost> {
        let mut row = vec![0; self.guide.domain(position)];
        self.guide.rate(position, &partial.values, &mut row);
        row
    }

    fn rating(&self, partial: &Partial, rise: Cost) -> i32 {
        let pruned = partial.f.saturating_add(rise) >= self.limit;
        if pruned { PRUNED } else { (rise >> self.shift).min(1 << 28) as i32 }
    }
}

impl LocalHeuristic<Partial> for Guided<'_> {
    type Rating = i32;
    type Aggregate = Least;

    fn possibilities(&self, _: &Partial, position: usize) -> usize {
        self.guide.domain(position)
    }

    fn rate(&self, partial: &Partial, position: usize, possibility: usize) -> i32 {
        self.rating(partial, self.rises(partial, position)[possibility])
    }

    fn rate_all(&self, partial: &Partial, position: usize, ratings: &mut [i32]) {
        for (rating, rise) in ratings.iter_mut().zip(self.rises(partial, position)) {
            *rating = self.rating(partial, rise);
        }
    }

    fn accumulate(&self, aggregate: &mut Least, rating: i32) {
        aggregate.0 = aggregate.0.min(rating);
    }

    fn map(&self, rating: i32, aggregate: &Least) -> u32 {
        if rating == PRUNED { 0 } else { self.boltzmann.weight((rating - aggregate.0) as u32) }
    }

    fn assign(&self, partial: &mut Partial, position: usize, possibility: usize) {
        partial.f = partial.f.saturating_add(self.rises(partial, position)[possibility]);
        partial.values[self.guide.variable(position) as usize] = possibility as u32;
    }

    fn could_not_assign(&self, partial: &mut Partial, _: usize) {
        partial.alive = false;
    }
}

impl Construct {
    /// A driver that waits for messages.
    pub fn new(rng: Rng) -> Self {
        Construct { rng, outcome: None }
    }
}

/// Grows one beam; returns its complete assignments. `None` after a stop.
fn grow(field: &Field, guide: CostToGo<'_>, limit: Cost, rng: &mut Rng, stop: &Stop) -> Option<Vec<Vec<u16>>> {
    let start = Partial { values: vec![0; guide.positions()], f: guide.start(), alive: true };
    let mut beam = vec![start; WIDTH];
    // one stream a beam: its states are assigned in turn
    let temperatures: Vec<Boltzmann> = (0..WIDTH)
        .map(|k| match k {
            0 => Boltzmann::GREEDY,
            _ => Boltzmann::new(field.schedule.at(1.0 - 0.75 * rng.unit())),
        })
        .collect();
    let mut scratch = Scratch::default();
    for position in (0..guide.positions()).rev() {
        if stop.is_set() {
            return None;
        }
        for (partial, &boltzmann) in beam.iter_mut().zip(&temperatures) {
            let guided = Guided { guide, limit, shift: field.rows.shift, boltzmann };
            let _ = assign_variable(&guided, partial, position, rng.draw(), &mut scratch);
        }
        let live: Vec<usize> = (0..WIDTH).filter(|&k| beam[k].alive).collect();
        if live.is_empty() {
            return Some(Vec::new());
        }
        for k in 0..WIDTH {
            if !beam[k].alive {
                beam[k] = beam[live[rng.index(live.len())]].clone();
            }
        }
    }
    let narrow = |partial: Partial| partial.values.into_iter().map(|value| value as u16).collect();
    Some(beam.into_iter().map(narrow).collect())
}

impl Driver for Construct {
    fn name(&self) -> &'static str {
        "construct"
    }

    fn population(&self) -> usize {
        BEAMS * WIDTH
    }

    fn fits(&self, _: &Field, _: &Pool) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| outcome.cost_to_go().is_some())
    }

    fn round(&mut self, field: &Field, pool: &mut Pool, stop: &Stop) -> Effort {
        let Some(outcome) = &self.outcome else { return Effort { work: 1_000_000, ..Effort::default() } };
        let Some(guide) = outcome.cost_to_go() else { return Effort::default() };
        let problem = &field.rows.problem;
        let best = pool.elites().iter().find(|elite| elite.energy.violations == 0);
        let known = best.map_or(problem.top, |elite| problem.constant.saturating_add(elite.energy.total));
        let limit = known.min(problem.top);
        let streams: Vec<Rng> = (0..BEAMS).map(|_| self.rng.split()).collect();
        let finished: Vec<(Vec<Elite>, u64)> = streams
            .into_par_iter()
            .map(|mut rng| {
                let mut state = State::new(field.variables(), rng.clone());
                let mut elites = Vec::new();
                for values in grow(field, guide, limit, &mut rng, stop).unwrap_or_default() {
                    state.values = values;
                    // two greedy sweeps: what the mini-buckets could not see
                    for _ in 0..2 {
                        let draws = (rng.draw(), rng.draw());
                        let bath = HeatBath::greedy(&field.rows);
                        let _ = sweep(field, bath, draws, &mut state, &mut Scratch::default(), stop);
                    }
                    elites.push(Elite::new(&field.rows, state.values.clone()));
                }
                (elites, state.moves)
            })
            .collect();
        for elite in finished.iter().flat_map(|(elites, _)| elites) {
            pool.offer(elite);
        }
        let states = (BEAMS * WIDTH) as u64;
        let values: u64 = problem.domains.iter().map(|&domain| u64::from(domain)).sum();
        Effort {
            moves: finished.iter().map(|(_, moves)| moves).sum::<u64>() + states * field.variables() as u64,
            ratings: 3 * states * values,
            // rows of messages are read one entry at a time
            work: 8 * states * field.sweep_work,
            ..Effort::default()
        }
    }

    fn guide(&mut self, outcome: &Arc<Outcome>) {
        self.outcome = Some(outcome.clone());
    }

    fn rebase(&mut self, _: &Field, _: &(dyn Fn(&[u16]) -> Vec<u16> + Sync)) {
        self.outcome = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elimination::{Limits, Plan, Run};
    use crate::model::{FORBIDDEN, Problem};
    use crate::order::{Method, Order};
    use crate::search::testing::{for_all, price, random};

    fn outcome(problem: &Arc<Problem>, z: Option<u32>) -> Arc<Outcome> {
        let order = Order::greedy(problem, Method::MinFill, 1, &Stop::new());
        let plan = Plan::new(problem, &order, &Limits { z, ..Limits::new(1 << 30) });
        let mut run = Run::new(problem.clone(), plan);
        let _ = run.advance(u64::MAX, &Stop::new());
        Arc::new(run.finish().expect("the run is done"))
    }

    fn optimum(problem: &Problem) -> Option<Cost> {
        let mut best = FORBIDDEN;
        let variables: Vec<u32> = (0..problem.variables() as u32).collect();
        let count = for_all(problem, &vec![0; problem.variables()], &variables, |values| {
            let wide: Vec<u32> = values.iter().map(|&value| u32::from(value)).collect();
            best = best.min(problem.cost(&wide));
        });
        (count <= 20_000).then_some(best)
    }

    #[test]
    fn an_exact_guide_leads_the_greedy_state_to_an_optimum() {
        let mut rng = Rng::new(1);
        let stop = Stop::new();
        let (mut solved, mut none) = (0, 0);
        for case in 0..400 {
            let problem = Arc::new(random(&mut rng));
            let field = Field::new(&problem, price(&problem), None, &mut rng);
            let Some(optimum) = optimum(&problem).filter(|_| field.rows.shift == 0) else { continue };
            let outcome = outcome(&problem, None);
            let guide = outcome.cost_to_go().expect("messages are kept");
            let beam = grow(&field, guide, problem.top, &mut rng, &stop).expect("nobody stops");
            if optimum >= problem.top {
                assert!(beam.is_empty(), "case {case}: nothing is below top");
                none += 1;
                continue;
            }
            let cost = |values: &[u16]| problem.cost(&values.iter().map(|&value| u32::from(value)).collect::<Vec<_>>());
            assert_eq!(cost(&beam[0]), optimum, "case {case}");
            assert!(beam.iter().all(|values| cost(values) < problem.top), "case {case}: pruned too late");
            solved += 1;
        }
        assert!(solved > 100 && none > 10, "{solved} {none}");
    }

    #[test]
    fn what_is_offered_is_evaluated_right() {
        let mut rng = Rng::new(2);
        let stop = Stop::new();
        for _ in 0..100 {
            let problem = Arc::new(random(&mut rng));
            let field = Field::new(&problem, price(&problem), None, &mut rng);
            let mut construct = Construct::new(rng.split());
            let mut pool = Pool::default();
            assert!(construct.round(&field, &mut pool, &stop).work > 0 && pool.elites().is_empty());
            let z = [None, Some(1), Some(2)][rng.index(3)];
            construct.guide(&outcome(&problem, z));
            for _ in 0..2 {
                let _ = construct.round(&field, &mut pool, &stop);
            }
            for elite in pool.elites() {
                let wide: Vec<u32> = elite.values.iter().map(|&value| u32::from(value)).collect();
                assert_eq!(elite.energy, field.rows.energy(&elite.values));
                if elite.energy.violations == 0 {
                    assert_eq!(elite.energy.total + problem.constant, problem.cost(&wide));
                }
            }
            if let (None, 0, Some(optimum)) = (z, field.rows.shift, optimum(&problem)) {
                let found = pool.elites().iter().filter(|elite| elite.energy.violations == 0);
                let found = found.map(|elite| elite.energy.total + problem.constant).min();
                assert!(optimum >= problem.top || found == Some(optimum));
            }
        }
    }
}
