//! Large-neighbourhood search with propagation. A state frees a connected cluster of variables of a good assignment and
//! searches it depth first, pruned and guided by cost shifting (soft arc consistency), with limits on discrepancies and
//! work. Equal or better assignments are accepted. Clusters grow while searches are complete and shrink otherwise
//! (VNS/LDS+CP: Loudni, Boizumault, 2008; UDGVNS: Ouali, Allouche, de Givry, Loudni, Lebbah, Eckhardt, Loukil, 2017).
//!
//! Sometimes a state *fuses* its assignment with an elite: variables on which both agree are fixed, and the others may
//! take the values of both. The same search finds their best child, by elimination at once if that takes little work,
//! otherwise by fixing more first.
//!
//! A state's slice is a function of its state and of the pool before the round, and work is counted, so that the number
//! of threads does not change the result.

use super::constants::lns::{BEGINNINGS, DISCREPANCIES, SEARCH_WORK, TRIED, VARIABLE_WORK};
use crate::bounds::{Probe, Probed};
use crate::core::context::SearchContext;
use crate::core::driver::{Driver, Setup};
use crate::core::effort::Effort;
use crate::core::elite::Elite;
use crate::core::pool::{Pool, Translate};
use crate::core::subproblem::{Base, Choice, Subproblem, Whole};
use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Readers};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::threads;
use crate::tuning::tuning;

/// Makes the driver.
pub fn make(setup: &mut Setup<'_>) -> Option<Box<dyn Driver>> {
    Some(Box::new(Lns::new(setup.stream())))
}

pub(crate) struct Lns {
    rng: Rng,
    states: Vec<LnsState>,
    /// The functions of each variable.
    incidence: Readers,
}

/// A state of the search.
struct LnsState {
    rng: Rng,
    elite: Elite,
    discrepancies: usize,
    /// Number of variables of the next cluster.
    size: f64,
    /// Number of entries that a search may read.
    reach: u64,
    /// Number of searches since the last improvement.
    failed: u32,
    /// For each variable, its index in the present subproblem; `u32::MAX` outside it.
    places: Vec<u32>,
    /// For each variable, the number of its neighbours in the growing cluster.
    links: Vec<u32>,
}

impl Lns {
    pub fn new(rng: Rng) -> Self {
        Lns { rng, states: Vec::new(), incidence: Readers::default() }
    }

    fn open(&mut self, context: &SearchContext, stop: &Stop) -> Result<(), Error> {
        self.incidence = context.tables.problem.incidence(stop)?;
        let rng = &mut self.rng;
        self.states = DISCREPANCIES
            .map(|discrepancies| LnsState {
                rng: rng.split(),
                elite: Elite::none(),
                discrepancies,
                size: tuning().lns.least,
                reach: tuning().lns.least_reach,
                failed: 0,
                places: vec![u32::MAX; context.variables()],
                links: vec![0; context.variables()],
            })
            .into();
        Ok(())
    }

    /// Makes one round.
    fn search(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Result<Effort, Error> {
        if self.states.is_empty() {
            self.open(context, stop)?;
        }
        // made here: a thread that makes regions during a slice might be given another slice, which would wait for them
        // forever
        let _ = context.regions(stop)?;
        if pool.elites().is_empty() {
            let values = (0..context.variables()).map(|v| self.rng.index(context.tables.domain(v)) as u16).collect();
            pool.offer(&Elite::until(&context.tables, values, stop)?);
        }
        let elites = pool.elites();
        self.settle(elites);
        let whole = Whole { tables: &context.tables, incidence: &self.incidence };
        let turns: Vec<Effort> = threads::map(&mut self.states, |state| state.turn(context, &whole, elites, stop));
        for state in self.states.iter().filter(|state| state.elite.is_known()) {
            pool.offer(&state.elite);
        }
        let mut effort = Effort::default();
        turns.iter().for_each(|turn| effort.add(turn));
        Ok(effort)
    }

    /// Moves states that have no elite or stagnate to an elite. The first state follows the best elite.
    fn settle(&mut self, elites: &[Elite]) {
        for (k, state) in self.states.iter_mut().enumerate() {
            let next = match (k, state.elite.is_known()) {
                (0, _) if state.elite.energy.total > elites[0].energy.total => 0,
                (0, _) => continue,
                (_, true) if state.failed <= tuning().lns.patience => continue,
                _ => state.rng.index(elites.len()),
            };
            state.elite = elites[next].clone();
            (state.failed, state.reach) = (0, tuning().lns.least_reach);
        }
    }
}

impl LnsState {
    /// Searches until the work of a slice is done.
    fn turn(&mut self, context: &SearchContext, whole: &Whole, elites: &[Elite], stop: &Stop) -> Effort {
        let mut turn = Effort::default();
        let mut values = std::mem::take(&mut self.elite.values);
        let mut total = self.elite.energy.total;
        let forbidden = if self.elite.energy.violations == 0 { FORBIDDEN } else { context.tables.price() };
        while turn.work < tuning().lns.turn_work && !stop.is_set() {
            let fuses = elites.len() > 1 && self.rng.below(tuning().lns.fusion) == 0;
            let choices = if fuses {
                let other = self.rng.index(elites.len());
                let Ok(choices) = self.fusion(context, &values, &elites[other].values, stop) else { break };
                choices
            } else {
                self.cluster(context, &values)
            };
            turn.work += SEARCH_WORK + choices.len() as u64 * VARIABLE_WORK;
            let base = Base { values: &values, total, forbidden };
            let limits = Probe::new(self.reach, if fuses { usize::MAX } else { self.discrepancies });
            let Some((cost, better, short)) = improve(whole, base, choices, limits, &mut self.places, &mut turn, stop)
            else {
                continue;
            };
            if !fuses {
                let n = context.variables() as f64;
                let growth = if short {
                    -self.size * tuning().lns.shrinkage
                } else {
                    (self.size * tuning().lns.growth).max(0.5)
                };
                self.size = (self.size + growth).clamp(tuning().lns.least.min(n), n);
            }
            (self.failed, self.reach) = match self.failed + 1 {
                _ if cost < total => (0, tuning().lns.least_reach),
                failed if failed % tuning().lns.doubling == 0 => {
                    (failed, (2 * self.reach).min(tuning().lns.most_reach))
                }
                failed => (failed, self.reach),
            };
            if let Some(better) = better {
                turn.moves += 1;
                (values, total) = (better, cost);
            }
        }
        // an assignment that can no longer be evaluated is lost
        self.elite = Elite::until(&context.tables, values, stop).unwrap_or_else(|_| Elite::none());
        turn.work += context.variables() as u64 + 4 * context.tables.problem.functions.len() as u64;
        turn
    }

    /// Returns a connected cluster, around a variable of high cost or any other, with all values in random order,
    /// because the first of values of equal costs is tried first. With the values of the assignment first, scen07 was
    /// worse and others no better.
    fn cluster(&mut self, context: &SearchContext, values: &[u16]) -> Vec<Choice> {
        let n = context.variables();
        let rng = &mut self.rng;
        let mut begin = rng.index(n);
        if rng.below(2) == 0 {
            let mut row = Vec::new();
            let mut cost = |v: usize| {
                row.clear();
                row.resize(context.tables.width[v] as usize, 0);
                context.tables.rate(v, values, &mut row, |_| true);
                row[usize::from(values[v])]
            };
            begin = (0..BEGINNINGS).map(|_| rng.index(n)).max_by_key(|&v| cost(v)).unwrap_or(begin);
        }
        let wanted = (self.size as usize).clamp(1, n);
        let mut cluster: Vec<Choice> = Vec::with_capacity(wanted);
        let mut border = vec![begin as u32];
        let mut touched = border.clone();
        self.links[begin] = 1;
        while cluster.len() < wanted {
            if border.is_empty() {
                // continue in another component
                let mut v = rng.index(n);
                while self.links[v] > 0 {
                    v = (v + 1) % n;
                }
                self.links[v] = 1;
                border.push(v as u32);
                touched.push(v as u32);
            }
            let tried = (0..1 + rng.index(TRIED)).map(|_| rng.index(border.len()));
            let at = tried.max_by_key(|&at| self.links[border[at] as usize]).unwrap_or(0);
            let v = border.swap_remove(at);
            let mut all: Vec<u16> = (0..context.tables.domain(v as usize) as u16).collect();
            rng.shuffle(&mut all);
            cluster.push((v, all));
            for &u in context.graph.neighbours(v as usize) {
                if self.links[u as usize] == 0 {
                    border.push(u);
                    touched.push(u);
                }
                self.links[u as usize] += 1;
            }
        }
        for v in touched {
            self.links[v as usize] = 0;
        }
        cluster
    }

    /// Returns the variables in which two assignments differ, with the values of both; a connected part of them if they
    /// are more than the work of a slice.
    fn fusion(
        &mut self,
        context: &SearchContext,
        ours: &[u16],
        theirs: &[u16],
        stop: &Stop,
    ) -> Result<Vec<Choice>, Error> {
        let n = ours.len();
        let differing = |v: &u32| ours[*v as usize] != theirs[*v as usize];
        let mut chosen = Vec::new();
        for v in stop.each(0..n as u32) {
            chosen.extend(Some(v?).filter(differing));
        }
        let degree = |v: &u32| context.tables.degree(*v as usize);
        if chosen.iter().map(degree).sum::<usize>() > tuning().lns.fused {
            let regions = context.regions(stop)?;
            let region = &regions[self.rng.index(regions.len() / n) * n..][..n];
            let mut room = tuning().lns.fused;
            let fits = |v: &u32| {
                room = room.saturating_sub(degree(v));
                room > 0
            };
            let region = stop.each(region).map_while(|v| v.ok().copied());
            chosen = region.filter(differing).take_while(fits).collect();
            stop.check()?;
        }
        Ok(chosen.into_iter().map(|v| (v, vec![theirs[v as usize], ours[v as usize]])).collect())
    }
}

/// Searches for an assignment not worse than the base. Returns its cost, the assignment if it is another, and whether
/// the work was insufficient. Returns `None` if costs are too large for cost shifting.
fn improve(
    whole: &Whole,
    base: Base,
    choices: Vec<Choice>,
    limits: Probe,
    places: &mut [u32],
    turn: &mut Effort,
    stop: &Stop,
) -> Option<(Cost, Option<Vec<u16>>, bool)> {
    if choices.is_empty() {
        return None;
    }
    let ub = base.total.saturating_add(1);
    let part = Subproblem::new(whole, base, choices, ub, places);
    turn.work += part.work;
    let Probed { solution, short, work, .. } = limits.search(&part.problem, ub, stop)?;
    // an entry takes one and a half nanoseconds on SPOT5 and CELAR, twice that if tables are tiny
    turn.work += work / 2 * 3;
    turn.ratings += work;
    let Some(solution) = solution else { return Some((base.total, None, short)) };
    let mut values = base.values.to_vec();
    part.write(&solution, &mut values);
    let changed = values != base.values;
    Some((part.problem.cost(&solution), changed.then_some(values), short))
}

impl Driver for Lns {
    fn fits(&self, context: &SearchContext, _: &Pool) -> bool {
        // making its states takes longer than a round
        !context.is_vast()
    }

    fn begins(&self, _: &SearchContext) -> u64 {
        tuning().lns.begin
    }

    fn needs_few_threads(&self) -> bool {
        true
    }

    fn population(&self) -> usize {
        self.states.len()
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        self.search(context, pool, stop).unwrap_or_default()
    }

    fn rebase(&mut self, context: &SearchContext, translate: &Translate<'_>) {
        if self.states.is_empty() {
            return;
        }
        let old = std::mem::take(&mut self.states);
        if self.open(context, &Stop::new()).is_err() {
            return;
        }
        for (state, old) in self.states.iter_mut().zip(old) {
            if old.elite.is_known() {
                state.elite = translate(&old.elite.values).unwrap_or_else(Elite::none);
            }
            (state.size, state.reach, state.failed) = (old.size, old.reach, old.failed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CostFunction, Problem, Table};
    use fangs_testing::cores::{assignment, for_all, price, random};
    use std::sync::Arc;

    fn context(problem: &Problem, rng: &mut Rng) -> SearchContext {
        SearchContext::new(&Arc::new(problem.clone()), price(problem), None, rng)
    }

    /// Returns the result of `improve` without limits, and the lowest cost of all combinations of the choices.
    fn improved(context: &SearchContext, values: &[u16], choices: &[Choice], leaf: f64) -> Option<(Cost, Cost)> {
        let tables = &context.tables;
        let energy = tables.energy(values);
        let allowed = energy.violations == 0;
        let forbidden = if allowed { FORBIDDEN } else { tables.price() };
        let base = Base { values, total: energy.total, forbidden };
        let incidence = tables.problem.incidence(&Stop::new()).expect("no stop is set");
        let whole = Whole { tables, incidence: &incidence };
        let mut places = vec![u32::MAX; values.len()];
        let (limits, stop) = (Probe::new(u64::MAX, usize::MAX).leaves(leaf), Stop::new());
        let (cost, better, short) =
            improve(&whole, base, choices.to_vec(), limits, &mut places, &mut Effort::default(), &stop)?;
        assert!(!short);
        let made = tables.energy(better.as_deref().unwrap_or(values));
        assert_eq!(made.total, cost);
        assert!(!allowed || made.violations == 0);
        let mut least = energy.total;
        let free: Vec<u32> = choices.iter().map(|(v, _)| *v).collect();
        let count = for_all(&tables.problem, values, &free, |values| {
            let energy = tables.energy(values);
            let chosen = choices.iter().all(|(v, list)| list.contains(&values[*v as usize]));
            if chosen && (energy.violations == 0 || !allowed) {
                least = least.min(energy.total);
            }
        });
        (count <= 20_000).then_some((cost, least))
    }

    #[test]
    fn an_island_finds_what_brute_force_finds_in_its_cluster() {
        let mut rng = Rng::new(51);
        let (mut compared, mut better) = (0, 0);
        for case in 0..1500 {
            let problem = random(&mut rng);
            let context = context(&problem, &mut rng);
            let values = assignment(&problem, &mut rng);
            let mut lns = Lns::new(rng.split());
            lns.open(&context, &Stop::new()).expect("no stop is set");
            let state = &mut lns.states[0];
            state.size = 1.0 + rng.below(6) as f64;
            let cluster = state.cluster(&context, &values);
            assert_eq!(cluster.len(), (state.size as usize).min(problem.variables()));
            assert!(state.links.iter().all(|&links| links == 0));
            let leaf = [4.0, tuning().lns.least_reach as f64][rng.index(2)];
            let Some((cost, least)) = improved(&context, &values, &cluster, leaf) else { continue };
            assert_eq!(cost, least, "case {case}");
            compared += 1;
            better += u32::from(cost < context.tables.energy(&values).total);
        }
        assert!(compared > 800 && better > 300, "{compared} {better}");
    }

    #[test]
    fn fusion_is_the_best_over_the_values_of_both_parents() {
        let mut rng = Rng::new(52);
        let (mut compared, mut better) = (0, 0);
        for case in 0..1500 {
            let problem = random(&mut rng);
            let context = context(&problem, &mut rng);
            let (ours, theirs) = (assignment(&problem, &mut rng), assignment(&problem, &mut rng));
            let mut lns = Lns::new(rng.split());
            lns.open(&context, &Stop::new()).expect("no stop is set");
            let state = &mut lns.states[0];
            let leaf = [4.0, tuning().lns.least_reach as f64][rng.index(2)];
            let Some((cost, least)) = improved(
                &context,
                &ours,
                &state.fusion(&context, &ours, &theirs, &Stop::new()).expect("no stop is set"),
                leaf,
            ) else {
                continue;
            };
            assert_eq!(cost, least, "case {case}");
            compared += 1;
            let parents = [&ours, &theirs].map(|values| context.tables.energy(values));
            if parents[0].violations == parents[1].violations {
                assert!(parents.iter().all(|parent| cost <= parent.total), "case {case}");
                better += u32::from(parents.iter().all(|parent| cost < parent.total));
            }
        }
        assert!(compared > 800 && better > 50, "{compared} {better}");
    }

    #[test]
    fn a_fusion_of_more_than_a_turn_takes_is_a_connected_part_of_it() {
        let (n, mut rng) = (400, Rng::new(54));
        let problem = complete(n);
        let context = context(&problem, &mut rng);
        let mut lns = Lns::new(rng.split());
        lns.open(&context, &Stop::new()).expect("no stop is set");
        let (ours, theirs) = (vec![0; n], (0..n).map(|v| (v % 3 > 0) as u16).collect::<Vec<_>>());
        let chosen = lns.states[0].fusion(&context, &ours, &theirs, &Stop::new()).expect("no stop is set");
        assert!(
            chosen.len().abs_diff(tuning().lns.fused / (n - 1)) < 2 && tuning().lns.fused / (n - 1) < 2 * n / 3,
            "{}",
            chosen.len()
        );
        assert!(chosen.iter().all(|(v, values)| values[..] == [1, 0] && v % 3 > 0));
    }

    /// Returns a problem in which all pairs of `n` variables should differ.
    fn complete(n: usize) -> Problem {
        let table = Table::dense(vec![1, 0, 0, 1]);
        let pairs = (0..n as u32).flat_map(|a| (0..a).map(move |b| [b, a].into()));
        let functions = pairs.map(|scope| CostFunction { scope, table: table.clone() }).collect();
        Problem { domains: vec![2; n], unary: vec![vec![0; 2]; n], functions, constant: 0, top: FORBIDDEN }
    }

    #[test]
    fn the_pool_gets_no_worse_and_threads_change_nothing() {
        let mut rng = Rng::new(53);
        for _ in 0..3 {
            let problem = random(&mut rng);
            let context = context(&problem, &mut rng);
            let seed = rng.draw();
            let run = |threads: usize| {
                let workers = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                workers.install(|| {
                    let (mut pool, mut lns) = (Pool::default(), Lns::new(Rng::new(seed)));
                    let mut efforts = Vec::new();
                    for _ in 0..2 {
                        let before = pool.best();
                        let effort = lns.round(&context, &mut pool, &Stop::new());
                        assert!(pool.best() <= before && effort.work > 0);
                        efforts.push((effort.work, effort.moves));
                    }
                    let elites: Vec<_> = pool.elites().iter().map(|elite| elite.values.clone()).collect();
                    (elites, efforts)
                })
            };
            assert_eq!(run(1), run(3));
        }
    }
}
