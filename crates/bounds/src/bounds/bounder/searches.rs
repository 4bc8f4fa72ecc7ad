//! The share of searches in the work, between plans and join graphs.

use super::plans::{Plans, is_behind, weight};
use super::{Bounder, Stage};
use crate::bounds::methods::BoundChoice;
use crate::bounds::search::{Begin, Search, Searcher, Steady};
use crate::bounds::step::Notice;
use crate::model::{Cost, Problem};
use crate::order::Order;
use crate::stop::Stop;
use crate::tuning::tuning;
use std::sync::Arc;

/// What searches with a guaranteed share of the time have taken, and all other stages: nanoseconds, or work if runs
/// must be repeatable. Work is no measure of time: a join graph's was found to take six times as long as a search's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    steady: [u64; 3],
    others: u64,
}

impl Spent {
    /// Adds the time or work of a stage, or of a slice of one.
    pub fn note(&mut self, whose: Option<Steady>, units: u64) {
        let of = whose.map_or(&mut self.others, |whose| &mut self.steady[whose as usize]);
        *of = of.saturating_add(units);
    }

    /// Returns the sum over all stages.
    pub fn total(&self) -> u64 {
        self.steady.iter().fold(self.others, |total, &own| total.saturating_add(own))
    }

    /// Returns whether a search has had less than one in `parts` units of the total.
    fn owes(&self, whose: Steady, parts: u64) -> bool {
        self.steady[whose as usize].saturating_mul(parts) < self.total()
    }
}

impl Bounder {
    /// Returns a stage of a search that has had less than its share of the time: strategies that lead, or seem to,
    /// would keep it from its proof. Nor may it keep them from theirs: on SPOT5 42b light branch and bound estimates
    /// forever that it is half done (results/notes/branch.md).
    pub(super) fn owed(&mut self, plans: &Plans, ub: Option<Cost>) -> Option<Stage> {
        let owed = |whose| self.waiting(whose).filter(|&at| self.spent.owes(whose, self.parts(plans, whose, at)));
        let at = owed(Steady::Linear).or_else(|| owed(Steady::Light)).or_else(|| owed(Steady::Cores))?;
        Some(self.turn(at, ub))
    }

    /// Returns the number of parts of the time of which a search has one.
    fn parts(&self, plans: &Plans, whose: Steady, at: usize) -> u64 {
        let (search, gain) = &self.searches[at];
        let (done, left) = (search.work_done(), search.work_left());
        let hopeless = match whose {
            Steady::Light => done > tuning().schedule.tried && left / tuning().schedule.hopeless > done,
            Steady::Cores => is_behind(Some((search.lower_bound(), *gain)), plans.best),
            Steady::Linear => left > 0 && is_behind(Some((search.lower_bound(), *gain)), plans.best),
        };
        match whose {
            // nothing else takes so little time for such a bound
            Steady::Linear if left == 0 => 1,
            _ if hopeless || !self.gpus.is_empty() => tuning().schedule.less_time,
            Steady::Linear => tuning().linear.time,
            Steady::Light if left <= done => tuning().schedule.more_time,
            _ => tuning().schedule.light_time,
        }
    }

    /// Returns a stage of a search that has had no more work than all plans together with the next one; of any search
    /// if there is no plan. The work of strategies that are far from the lead counts more here, too. When a large plan
    /// came before searches of as much work, CELAR6-SUB2 waited for mini-buckets of z = 6 instead of its proof.
    pub(super) fn search(&mut self, plans: &mut Plans, ub: Option<Cost>, stop: &Stop) -> Option<Stage> {
        let are_planned = plans.pending.is_some();
        let slow = [&plans.plain, &plans.shifted]
            .into_iter()
            .flatten()
            .all(|strategy| is_behind(strategy.reached, plans.best));
        let slow = slow && plans.graphs.as_ref().is_none_or(|strategy| is_behind(strategy.reached, plans.best));
        let planned = plans.work.saturating_mul(if slow { tuning().schedule.behind } else { 1 });
        while !plans.searchers.is_empty() {
            if let Some(stage) = self.begin_search(plans, ub, stop) {
                return Some(stage);
            }
            if stop.is_set() {
                return None;
            }
        }
        let weight = |at: usize| {
            let (search, gain) = &self.searches[at];
            match is_ending(plans, &**search) {
                true => search.work_done() / tuning().schedule.ending,
                false => weight(search.work_done(), Some((search.lower_bound(), *gain)), plans.best),
            }
        };
        let (weight, at) = (0..self.searches.len()).map(|at| (weight(at), at)).min()?;
        (!are_planned || weight <= planned).then(|| self.turn(at, ub))
    }

    /// Returns a stage of linear programming, which needs no elimination order, if it has had less than its share of
    /// the time or is `alone`.
    pub(super) fn early_search(&mut self, ub: Cost, alone: bool, stop: &Stop) -> Option<Stage> {
        if let Some(at) = self.waiting(Steady::Linear) {
            let parts = if self.searches[at].0.work_left() == 0 { 1 } else { tuning().linear.time };
            let is_next = alone || self.spent.owes(Steady::Linear, parts);
            return is_next.then(|| self.turn(at, Some(ub)));
        }
        let network = self.network.as_ref().filter(|_| !self.is_linear_tried)?;
        let searches = self.strategies().searches;
        let searcher = searches.iter().find(|searcher| searcher.steady == Some(Steady::Linear))?;
        let problem =
            Arc::new(Problem { domains: Vec::new(), unary: Vec::new(), functions: Vec::new(), constant: 0, top: ub });
        let order = Order { sequence: Vec::new(), method: None, width: 0, joint_entries: 0.0, largest: 0.0 };
        let memory = self.options.memory / tuning().schedule.search_memory;
        let (journal, network) = (self.options.certified, Some(network));
        let begin = Begin { problem: &problem, ub: Some(ub), order: &order, memory, journal, network };
        let begun = (searcher.begin)(begin, stop);
        self.is_linear_tried = !stop.is_set();
        begun.ok().map(|search| Stage::Search(search, tuning().schedule.first_turn))
    }

    /// Begins the next search. Returns `None` if it cannot run or `stop` is set.
    pub(super) fn begin_search(&mut self, plans: &mut Plans, ub: Option<Cost>, stop: &Stop) -> Option<Stage> {
        let searcher = plans.searchers.pop()?;
        let (memory, journal) = (plans.sizes.memory() / tuning().schedule.search_memory, plans.journal);
        let (problem, order, network) = (&plans.problem, plans.sizes.order()?, self.network.as_ref());
        self.is_linear_tried |= searcher.steady == Some(Steady::Linear);
        match (searcher.begin)(Begin { problem, ub, order, memory, journal, network }, stop) {
            Ok(mut search) => {
                plans.reserve(memory);
                self.gpus.first().into_iter().for_each(|gpu| search.use_device(gpu));
                return Some(Stage::Search(search, tuning().schedule.first_turn));
            }
            // if all methods may run, it is not worth a notice that one does not
            Err(_) if stop.is_set() || self.options.choice == BoundChoice::Auto => {}
            Err(refusal) => {
                self.notices.retain(|notice| !matches!(notice, Notice::Refused(_)));
                self.notices.push_back(Notice::Refused(refusal));
            }
        }
        None
    }

    /// Returns a stage that grants a search as much work as it has done. Smaller grants, up to equality with the plans,
    /// were worse (results/notes/shifting.md).
    fn turn(&mut self, at: usize, ub: Option<Cost>) -> Stage {
        let (mut search, _) = self.searches.swap_remove(at);
        if let Some(ub) = ub {
            search.tighten(ub);
        }
        let work = search.work_done().max(tuning().schedule.first_turn);
        Stage::Search(search, work)
    }

    /// Returns the stage of light branch and bound that comes before an exact plan and while join graphs grow: up to a
    /// part of the work, or up to all of it if that part suffices for the rest. It proves small networks in less time
    /// than graphs take to grow. While graphs grow, core-guided search may begin here as well; later it has its share
    /// of the time.
    pub(super) fn light_search(&mut self, plans: &mut Plans, ub: Option<Cost>, stop: &Stop) -> Option<Stage> {
        let grow = matches!(plans.pending, Some(Stage::Shift(_)));
        let begins = |searcher: &&Searcher| match searcher.steady {
            Some(Steady::Light) => true,
            Some(Steady::Cores) => grow,
            Some(Steady::Linear) | None => false,
        };
        if plans.searchers.last().is_some_and(begins) {
            return self.search(plans, ub, stop);
        }
        let at = self.waiting(Steady::Light)?;
        let search = &self.searches[at].0;
        let (done, left, part) = (search.work_done(), search.work_left(), plans.work / tuning().schedule.light_part);
        (done < part || done < plans.work && left < part).then(|| self.turn(at, ub))
    }

    /// Returns the index of a search that is not at work.
    fn waiting(&self, whose: Steady) -> Option<usize> {
        self.searches.iter().position(|(search, _)| search.steady() == Some(whose))
    }

    /// Returns whether a search is about to end.
    pub(super) fn ends_soon(&self) -> bool {
        let Some(plans) = &self.plans else { return false };
        self.searches.iter().any(|(search, _)| is_ending(plans, &**search))
    }

    /// Takes back a search after a stage that began with the bound `before`.
    pub fn searched(&mut self, search: Box<dyn Search>, before: Cost) {
        let bound = search.lower_bound();
        match &mut self.plans {
            Some(plans) => {
                plans.reached(bound, search.steady() == Some(Steady::Cores));
                if !search.is_done() {
                    self.searches.push((search, bound - before));
                }
            }
            None if search.is_done() => {}
            None => self.searches.push((search, 0)),
        }
    }
}

/// Returns whether a search estimates that it needs at most [`ENDING`] times the work of all plans and its own so far.
/// Its bound is no indicator: that of CELAR6-SUB2 is a third of the optimum after half of the work.
fn is_ending(plans: &Plans, search: &dyn Search) -> bool {
    search.work_left() / tuning().schedule.ending <= plans.work.saturating_add(search.work_done())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::BounderOptions;
    use crate::elimination::Progress;
    use crate::elimination::testing::run;
    use crate::model::Problem;
    use crate::order::{Method, best_orders};
    use crate::stop::Stop;
    use std::sync::Arc;

    #[test]
    fn the_light_search_has_its_part_of_the_time() {
        let network = crate::generate::generate("random", &[("n", "40"), ("d", "6"), ("p2", "0")], 3).expect("a kind");
        let stop = Stop::new();
        let reducer = crate::reduce::Reducer::new(&network, false, &stop).expect("no limit");
        let problem: Arc<Problem> = Arc::new(reducer.problem(&Stop::new()).expect("no stop is set"));
        let orders = best_orders(&problem, &[Method::MinFill], 1, 2, 1, &stop);
        let mut bounder = Bounder::new(BounderOptions { memory: 1 << 28, ..BounderOptions::default() });
        bounder.follow(orders);
        let mut owed = 0;
        for _ in 0..40 {
            let waits = bounder.waiting(Steady::Light).is_some();
            let owes = waits && bounder.spent.owes(Steady::Light, tuning().schedule.light_time);
            let Some(stage) = bounder.choose(&problem, None, &stop) else { break };
            let is_light = stage.steady() == Some(Steady::Light);
            assert!(is_light || !owes, "{stage:?}");
            owed += u32::from(owes);
            // other stages take three times as long
            bounder.charge(stage.steady(), if is_light { 1 } else { 3 });
            match stage {
                Stage::Shift(mut shifting) => {
                    assert_eq!(shifting.advance(u64::MAX, &stop), Progress::Done);
                    bounder.shifted(*shifting, &stop);
                }
                Stage::Run(attempt, plan) => {
                    let _ = bounder.eliminated(&attempt, &run(attempt.problem(), plan), problem.top, &stop);
                }
                // the stage may end early
                Stage::Search(mut search, _) => {
                    let before = search.lower_bound();
                    let _ = search.advance(1, &stop);
                    bounder.searched(search, before);
                }
            }
        }
        assert!(owed > 5, "{owed}");
    }
}
