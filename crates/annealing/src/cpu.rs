//! The population on the CPU: each thread makes children of its own, or all threads make one child together.

mod child;
mod growth;
mod shared_ratings;
mod states;

pub(crate) use self::states::CpuPopulation;

use self::child::{MakeChild, STORAGE, keeps_ratings};
use self::states::Child;
use super::generation::{Generation, Offspring, Population, Replacement, Tally};
use super::rating_cache::RatingCache;
use crate::core::context::SearchContext;
use crate::core::elite::Elite;
use crate::core::population::most_states;
use crate::device::DeviceError;
use crate::generation::Heat;
use crate::stop::Stop;
use crate::threads;
use crate::tuning::{FIRST_FOR_EACH, FIRST_STATES, GENERATION_WORK, GREEDY_SWEEPS, LARGE_POPULATION};
use rustc_hash::FxHashSet;
use std::ops::Range;

/// Returns whether a pool on the CPU has one state for each thread. This is so for the first pool on a large problem,
/// unless the user set the number of states or the run must be reproducible.
pub(crate) fn begins_with_few(context: &SearchContext, epoch: u32) -> bool {
    epoch == 0 && context.is_large() && !context.portable && context.population.is_none()
}

/// Returns the bytes of a state and its child.
pub fn state_bytes(context: &SearchContext) -> usize {
    let tables = &context.tables;
    let ratings = if keeps_ratings(context) { RatingCache::bytes(tables) } else { size_of::<RatingCache>() };
    2 * (size_of::<Elite>() + size_of::<u16>() * tables.variables() + ratings)
}

/// Returns the number of states that suits a reduced problem on the CPU.
pub(crate) fn suitable_states(context: &SearchContext, base_sweeps: u32, epoch: u32) -> usize {
    // a reproducible run does not depend on the number of threads
    let threads = if context.portable { 1 } else { rayon::current_num_threads() };
    if context.has_one_state() {
        return 1;
    }
    if context.is_large() {
        let least = if begins_with_few(context, epoch) { 1 } else { LARGE_POPULATION[usize::from(threads > 1)] };
        return threads.max(least);
    }
    let child_work = u64::from(base_sweeps + GREEDY_SWEEPS + 2) * context.sweep_work;
    let most = (GENERATION_WORK / child_work.max(1)).clamp(16, 256) as usize;
    (FIRST_STATES.max(FIRST_FOR_EACH * threads) << epoch.min(8)).min(most)
}

impl Population for CpuPopulation {
    fn suitable_states(&mut self, context: &SearchContext, base_sweeps: u32, epoch: u32) -> Result<usize, DeviceError> {
        Ok(suitable_states(context, base_sweeps, epoch))
    }

    fn is_together(&self, context: &SearchContext) -> bool {
        context.has_one_state()
    }

    fn most_states(&self, context: &SearchContext) -> Result<usize, DeviceError> {
        Ok(most_states(state_bytes(context)))
    }

    fn open(&mut self, context: &SearchContext, states: usize, seeds: &[Elite]) -> Result<(), DeviceError> {
        // computed here: a thread that computed them while it makes a child might be given another child, which would
        // wait for them for ever
        if !self.is_together(context) {
            let no_stop = Stop::new();
            let (layout, regions) = rayon::join(|| context.layout(&no_stop), || context.regions(&no_stop));
            let _ = (layout.expect("no stop is set"), regions.expect("no stop is set"));
        }
        self.growing = None;
        self.offspring.clear();
        self.elites = seeds.to_vec();
        self.elites.resize(states, Elite::none());
        self.ratings = vec![RatingCache::default(); states];
        (self.best, self.best_allowed) = (i64::MAX, i64::MAX);
        Ok(())
    }

    fn heat(&mut self, heat: Heat) -> Result<(), DeviceError> {
        self.heat = heat;
        Ok(())
    }

    fn make_offspring(
        &mut self,
        context: &SearchContext,
        generation: &Generation,
        slots: Range<usize>,
        stop: &Stop,
    ) -> Result<Offspring, DeviceError> {
        if self.is_together(context) {
            return Ok(self.grow(context, generation, slots.start, stop));
        }
        let population = &*self;
        let make = |slot| {
            // taken out, because a thread that waits for parts of an evaluation may be given another child
            let mut storage = STORAGE.take();
            let make = MakeChild { population, slot, generation, context, storage: &mut storage, stop };
            let child = pulp::Arch::new().dispatch(make);
            STORAGE.set(storage);
            child
        };
        let children: Vec<Child> = threads::map(slots, make).into_iter().map_while(|child| child).collect();
        let mut offspring = Offspring { made: children.len(), ..Offspring::default() };
        for child in &children {
            offspring.moves += child.moves;
            offspring.ratings += child.rated;
            if !generation.opens() {
                self.first_moves[child.plan.cold] = child.first_moves;
            }
        }
        offspring.best = self.better(children.iter().map(|child| &child.elite));
        self.offspring.extend(children);
        Ok(offspring)
    }

    fn replace(&mut self, context: &SearchContext, generation: &Generation) -> Result<Replacement, DeviceError> {
        let mut tally = Tally::default();
        // a child is new if it differs from all elites before and from the offspring of lower slots
        let mut hashes: FxHashSet<u64> = self.elites.iter().map(|elite| elite.hash).collect();
        for (slot, child) in std::mem::take(&mut self.offspring).into_iter().enumerate() {
            let Child { elite, ratings, plan, .. } = child;
            let parent = &mut self.elites[slot];
            let gain = parent.energy.total.saturating_sub(elite.energy.total);
            let new = hashes.insert(elite.hash);
            let accepted = gain >= 0 && (generation.opens() || new);
            if !generation.opens() {
                // on a large problem nearly every child gains a little, so the amount counts
                let won = match accepted && gain > 0 {
                    false => 0,
                    true if context.is_large() => gain as u64,
                    true => 1,
                };
                tally.note(plan, won);
            }
            if accepted {
                *parent = elite;
                self.ratings[slot] = ratings;
            }
        }
        let best = self.elites.iter().map(|elite| elite.energy.total).min().unwrap_or(i64::MAX);
        let at_best = self.elites.iter().filter(|elite| elite.energy.total == best).count();
        Ok(Replacement { tally, best, at_best })
    }

    fn adopt(&mut self, elite: &Elite) -> Result<(), DeviceError> {
        if let Some(nearest) = elite.nearest(self.elites.iter().map(|kept| &kept.values[..])) {
            self.elites[nearest] = elite.clone();
            self.ratings[nearest] = RatingCache::default();
        }
        Ok(())
    }

    fn top(&self, count: usize) -> Result<Vec<Elite>, DeviceError> {
        let mut known: Vec<&Elite> = self.elites.iter().filter(|elite| elite.is_known()).collect();
        known.sort_by_key(|elite| elite.energy.total);
        Ok(known.into_iter().take(count).cloned().collect())
    }

    fn best(&self, context: &SearchContext) -> Result<Option<Elite>, DeviceError> {
        let known = self.elites.iter().filter(|elite| elite.is_known());
        let best = known.min_by_key(|elite| (elite.energy.total, elite.hash));
        Ok(best.map(|elite| Elite::new(&context.tables, elite.values.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::generation::steps;
    use crate::rng::Rng;
    use fangs_testing::cores::price;
    use std::sync::Arc;

    fn generation(context: &SearchContext, draw: u64, subpopulation: u32, sweeps: u32) -> Generation {
        let shares = |arms: u32, arm: usize| u32::MAX / arms * (arm as u32 + 1);
        Generation {
            draw,
            subpopulation,
            sweeps,
            cold: std::array::from_fn(|arm| shares(8, arm)),
            region: std::array::from_fn(|arm| shares(4, arm)),
            tree: if context.forests(&Stop::new()).expect("no stop is set").is_empty() {
                [u32::MAX; 2]
            } else {
                [u32::MAX / 2, u32::MAX]
            },
            before: [u32::MAX; 2],
            starts: Generation::starts(),
        }
    }

    /// The problem has enough functions to be evaluated in parts, so a thread that waits for them may be given another
    /// child.
    #[test]
    fn a_thread_may_be_given_a_child_amid_another() {
        let network = generate("grid", &[("side", "96"), ("d", "2"), ("p2", "0.2")], 3).expect("a family");
        let problem = Arc::new(crate::reduce::Reducer::unreduced(&network, &Stop::new()).expect("no limit").1);
        let context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
        let workers = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
        workers.install(|| {
            let mut population = CpuPopulation::default();
            population.open(&context, 12, &[]).expect("the host works");
            population.heat(steps(context.schedule)).expect("the host works");
            for draw in 0..4 {
                let generation = generation(&context, draw, 0, 1);
                let offspring = population.make_offspring(&context, &generation, 0..12, &Stop::new());
                assert_eq!(offspring.expect("the host works").made, 12);
                let _ = population.replace(&context, &generation).expect("the host works");
            }
        });
    }

    #[test]
    fn elites_are_what_their_assignments_cost_and_the_best_is_told_whether_it_is_allowed() {
        let families: [(&str, &[(&str, &str)]); 3] = [
            ("grid", &[("side", "7"), ("d", "5"), ("p2", "0")]),
            ("random", &[("n", "40"), ("d", "3"), ("p2", "0.4")]),
            ("coloring", &[("n", "40"), ("k", "3")]),
        ];
        for (kind, settings) in families {
            let network = generate(kind, settings, 3).expect("a family");
            let reducer = crate::reduce::Reducer::new(&network, false, &Stop::new()).expect("no stop is set");
            let problem = Arc::new(reducer.problem(&Stop::new()).expect("no stop is set"));
            let context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
            let (mut population, mut rng, mut kept) = (CpuPopulation::default(), Rng::new(2), 0);
            population.open(&context, 24, &[]).expect("the host works");
            population.heat(steps(context.schedule)).expect("the host works");
            for round in 0..60 {
                let (subpopulation, sweeps) = if round == 0 { (0, 20) } else { (24, 2) };
                let generation = generation(&context, rng.draw(), subpopulation, sweeps);
                let offspring =
                    population.make_offspring(&context, &generation, 0..24, &Stop::new()).expect("the host works");
                assert!(offspring.best.iter().all(|elite| elite.energy == context.tables.energy(&elite.values)));
                let _ = population.replace(&context, &generation).expect("the host works");
                for (elite, ratings) in population.elites.iter().zip(&population.ratings) {
                    assert_eq!(elite.energy.total, context.tables.energy(&elite.values).total, "{kind}, {round}");
                    kept += usize::from(ratings.total.is_some());
                }
                let best = population.best(&context).expect("the host works").expect("an elite");
                assert_eq!(best.energy, context.tables.energy(&best.values));
            }
            assert!(kept > 200, "{kind}: {kept}");
        }
    }
}
