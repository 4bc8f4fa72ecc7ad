//! Children of problems with one state. All threads make one child together, a few sweeps in each call, and report
//! better states in between. A child begins with its parent's values, because a region of a second parent would be
//! joined to it at too many variables.

use super::shared_ratings::{SharedRatings, SharedSource};
use super::states::{Child, CpuPopulation, Growing, Kept};
use crate::core::context::SearchContext;
use crate::core::crossover::PartitionCrossover;
use crate::core::elite::Elite;
use crate::core::layout::MoveLayout;
use crate::error::Error;
use crate::fang::Scratch;
use crate::fang::boltzmann::Boltzmann;
use crate::generation::{ALL_MOVE, Generation, Offspring, decision};
use crate::heat_bath::{AllFunctions, HeatBath};
use crate::rating_cache::{CachedRatings, RatingCache};
use crate::rng::{Rng, below, mix};
use crate::state::AnnealState;
use crate::stop::Stop;
use crate::sweep::{SweepDraws, sweep, sweep_together};
use crate::tuning::{COOL, GREEDY_SWEEPS, REPORT_EVERY, TURN_SWEEPS};
use crate::value_tables::Energy;
use std::cell::RefCell;

impl Growing {
    /// Makes a sweep by all threads. Ratings are kept while the state is cool.
    fn sweep(
        &mut self,
        context: &SearchContext,
        boltzmann: Boltzmann,
        least: i32,
        draws: SweepDraws,
        picks: &mut Vec<u16>,
        stop: &Stop,
    ) -> Option<i64> {
        let tables = &context.tables;
        let is_cool = self.last_moves.saturating_mul(COOL as u64) < context.variables() as u64;
        let layout = if is_cool { context.layout(stop).ok()? } else { None };
        let Some(layout) = layout else {
            self.ratings = Kept::None;
            let bath = HeatBath { tables, boltzmann, least, source: AllFunctions };
            return sweep_together(context, bath, draws, &mut self.state, picks, stop);
        };
        let is_alone = rayon::current_num_threads() == 1;
        match self.ratings {
            Kept::None if is_alone => self.ratings = Kept::alone(layout, self.total),
            Kept::Shared(_) => {}
            Kept::Alone(_) if is_alone => {}
            Kept::None | Kept::Alone(_) => {
                self.ratings = Kept::Shared(SharedRatings::new(tables, layout, &self.state.values, stop).ok()?);
            }
        }
        match &mut self.ratings {
            Kept::Shared(ratings) => {
                let bath = HeatBath { tables, boltzmann, least, source: SharedSource { layout, ratings } };
                sweep_together(context, bath, draws, &mut self.state, picks, stop)
            }
            Kept::Alone(ratings) => {
                let before = ratings.total;
                let cell = RefCell::new(std::mem::take(ratings));
                let bath = HeatBath { tables, boltzmann, least, source: CachedRatings { layout, ratings: &cell } };
                let swept = pulp::Arch::new().dispatch(Alone { context, bath, draws, state: &mut self.state, stop });
                *ratings = cell.into_inner();
                swept.map(|()| before.zip(ratings.total).map_or(0, |(before, after)| after - before))
            }
            Kept::None => None,
        }
    }
}

impl Kept {
    /// Returns storage without known evaluations. `total` is the state's energy if nothing is rounded.
    fn alone(layout: &MoveLayout, total: Option<i64>) -> Kept {
        let mut ratings = RatingCache::default();
        ratings.forget(layout);
        ratings.total = total;
        Kept::Alone(ratings)
    }
}

/// The task of a sweep by one thread, compiled for the vector units of the machine.
struct Alone<'a> {
    context: &'a SearchContext,
    bath: HeatBath<'a, CachedRatings<'a>>,
    draws: SweepDraws,
    state: &'a mut AnnealState,
    stop: &'a Stop,
}

impl pulp::WithSimd for Alone<'_> {
    type Output = Option<()>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Option<()> {
        sweep(self.context, self.bath, self.draws, self.state, &mut Scratch::default(), self.stop)
    }
}

impl CpuPopulation {
    /// Continues the child of a slot, for one slice of sweeps at most.
    pub(super) fn grow(
        &mut self,
        context: &SearchContext,
        generation: &Generation,
        slot: usize,
        stop: &Stop,
    ) -> Offspring {
        let mut offspring = Offspring::default();
        let begun = self.growing.take().map(Ok).unwrap_or_else(|| self.begin(context, generation, slot, stop));
        let Ok(mut growing) = begun else { return offspring };
        let (key, group) = (generation.key(slot), generation.group_key(slot));
        let all = generation.sweeps + GREEDY_SWEEPS;
        let (moves, ratings) = (growing.state.moves, growing.state.ratings);
        let mut picks = Vec::new();
        let last = all.min(growing.sweeps + TURN_SWEEPS);
        while growing.sweeps < last {
            let pass = growing.sweeps;
            let greedy = pass >= generation.sweeps;
            let step = || self.heat.steps[generation.step(growing.plan, pass)];
            let boltzmann = if greedy { Boltzmann::GREEDY } else { step() };
            let number = decision::PASSES + 2 * u64::from(pass);
            let draws = SweepDraws { order: mix(group, number), values: mix(mix(key, number), 0) };
            let before = growing.state.moves;
            let swept = growing.sweep(context, boltzmann, self.heat.least, draws, &mut picks, stop);
            growing.last_moves = growing.state.moves - before;
            growing.total = swept.and_then(|change| Some(growing.total? + change));
            if swept.is_none() {
                break;
            }
            growing.sweeps += 1;
            offspring.sweeps += 1;
        }
        offspring.moves = growing.state.moves - moves;
        let is_focused = self.heat.least > ALL_MOVE;
        offspring.ratings = match is_focused {
            // each variable is checked, as on a device, but few are evaluated
            true => {
                let domains = context.tables.problem.domains.iter().map(|&domain| u64::from(domain)).sum::<u64>();
                domains * u64::from(offspring.sweeps)
            }
            false => growing.state.ratings - ratings,
        };
        if stop.is_set() {
            return offspring;
        }
        if growing.sweeps < all {
            self.untold = self.untold.saturating_add(offspring.sweeps);
            let reports = context.portable || !is_focused || self.untold >= REPORT_EVERY;
            if reports
                && growing.total.is_some_and(|total| total < self.best)
                && let Ok(elite) = Elite::until(&context.tables, growing.state.values.clone(), stop)
            {
                offspring.best = self.better([elite].iter());
                self.untold = 0;
            }
            self.growing = Some(growing);
            return offspring;
        }
        let Growing { plan, mut state, .. } = growing;
        if !generation.opens() {
            let (draw, theirs) = (mix(key, decision::TIES_AFTER), &self.elites[slot].values);
            let mut merge = PartitionCrossover::default();
            if merge.take_better(&context.tables, &mut state.values, theirs, draw, stop).is_err() {
                return offspring;
            }
        }
        let Ok(elite) = Elite::until(&context.tables, state.values, stop) else { return offspring };
        offspring.best = self.better([&elite].into_iter());
        self.untold = 0;
        offspring.made = 1;
        let (moves, rated) = (state.moves, state.ratings);
        let ratings = RatingCache::default();
        self.offspring.push(Child { elite, ratings, plan, first_moves: u64::MAX, moves, rated });
        offspring
    }

    fn begin(
        &mut self,
        context: &SearchContext,
        generation: &Generation,
        slot: usize,
        stop: &Stop,
    ) -> Result<Growing, Error> {
        let key = generation.key(slot);
        let mut state = AnnealState::new(context.variables(), Rng::new(0));
        let total = if generation.opens() {
            let draw = mix(key, decision::VALUES);
            for (v, value) in state.values.iter_mut().enumerate() {
                *value = below(mix(draw, v as u64), context.tables.domain(v) as u64) as u16;
            }
            context.tables.energy_until(&state.values, stop)?.total
        } else {
            let Elite { values, energy: Energy { total, violations }, .. } = &self.elites[slot];
            state.values.clone_from(values);
            // the parent's energy is already reported
            self.best = self.best.min(*total);
            if *violations == 0 {
                self.best_allowed = self.best_allowed.min(*total);
            }
            *total
        };
        let total = (context.tables.shift == 0).then_some(total);
        Ok(Growing { plan: generation.plan(key), state, sweeps: 0, total, ratings: Kept::None, last_moves: u64::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::generation::{Heat, Population, steps};
    use crate::reduce::Reducer;
    use fangs_testing::cores::price;
    use std::sync::Arc;

    fn vast() -> SearchContext {
        let settings = [("n", "2000"), ("d", "4"), ("functions", "6000")];
        let network = generate("large-sparse", &settings, 5).expect("a family");
        let problem = Arc::new(Reducer::unreduced(&network, &Stop::new()).expect("no limit").1);
        SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1)).into_vast()
    }

    #[test]
    fn one_thread_makes_the_child_that_several_make() {
        let context = vast();
        let made = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| {
                let (mut population, mut told) = (CpuPopulation::default(), Vec::new());
                population.open(&context, 1, &[]).expect("the host works");
                population.heat(steps(context.schedule)).expect("the host works");
                let generation = Generation { draw: 3, sweeps: 90, ..Generation::default() };
                loop {
                    let offspring = population.make_offspring(&context, &generation, 0..1, &Stop::new());
                    let offspring = offspring.expect("the host works");
                    told.extend(offspring.best.iter().map(|elite| elite.energy));
                    if offspring.made == 1 {
                        let _ = population.replace(&context, &generation).expect("the host works");
                        return (told, population.top(1).expect("the host works")[0].values.clone());
                    }
                }
            })
        });
        assert_eq!(made[0], made[1]);
        assert!(made[0].0.len() > 4, "it tells of better ones on the way");
    }

    #[test]
    fn evaluations_do_not_depend_on_which_variables_move() {
        let context = vast();
        let all: u64 = context.tables.problem.domains.iter().map(|&domain| u64::from(domain)).sum();
        for least in [ALL_MOVE, context.schedule.hot as i32] {
            let mut population = CpuPopulation::default();
            population.open(&context, 1, &[]).expect("the host works");
            population.heat(Heat { least, ..steps(context.schedule) }).expect("the host works");
            let generation = Generation { draw: 3, sweeps: 9, ..Generation::default() };
            let offspring = population.make_offspring(&context, &generation, 0..1, &Stop::new());
            let offspring = offspring.expect("the host works");
            assert_eq!(offspring.ratings, all * u64::from(offspring.sweeps));
        }
    }

    #[test]
    fn children_grow_turn_by_turn_and_none_is_worse_than_its_parent() {
        let context = vast();
        let (mut population, mut rng) = (CpuPopulation::default(), Rng::new(2));
        population.open(&context, 1, &[]).expect("the host works");
        population.heat(steps(context.schedule)).expect("the host works");
        let (mut best, mut told) = (i64::MAX, i64::MAX);
        for (round, sweeps) in [20, 4, 8, 16].into_iter().enumerate() {
            let subpopulation = u32::from(round > 0);
            let cold = [0, 0, u32::MAX, u32::MAX, u32::MAX, u32::MAX, u32::MAX, u32::MAX];
            let starts = Generation::starts();
            let draw = rng.draw();
            let generation = Generation { draw, subpopulation, sweeps, cold, starts, ..Generation::default() };
            let (mut made, mut turns, mut all) = (0, 0, 0);
            while made == 0 {
                let offspring = population.make_offspring(&context, &generation, 0..1, &Stop::new());
                let offspring = offspring.expect("the host works");
                for elite in &offspring.best {
                    assert_eq!(elite.energy, context.tables.energy(&elite.values));
                    assert!(elite.energy.total <= told);
                    told = elite.energy.total;
                }
                (made, turns, all) = (offspring.made, turns + 1, all + offspring.sweeps);
            }
            assert_eq!((turns, all), ((sweeps + GREEDY_SWEEPS).div_ceil(TURN_SWEEPS), sweeps + GREEDY_SWEEPS));
            let replacement = population.replace(&context, &generation).expect("the host works");
            assert!(replacement.best <= best && replacement.best >= told, "{round}");
            best = replacement.best;
        }
        assert!(best < 6000 * 40, "{best}");
    }
}
