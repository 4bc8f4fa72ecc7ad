//! Turns of searches over values, between plans and join graphs.

use super::super::branch::{Branch, Style};
use super::{BEHIND, Climb, FIRST_TURN, SEARCH_MEMORY, Stage, is_behind, weight};
use crate::model::Cost;

/// The part of the work that the light search has before an exact plan and while join graphs grow.
const LIGHT_PART: u64 = 4;
/// A search that will end before it has taken so many times the work so far leads to a proof: only such a part of its own counts.
const ENDING: u64 = 8;

impl Climb {
    /// The turn of a search that has had no more work than the plans, all of them together with the next one; any, where there is
    /// none. Work of those that are not about to lead counts more here, too. Where a large plan had come before the turns of
    /// as much work, CELAR6-SUB2 waited for mini-buckets of z = 6 rather than for its proof.
    pub(super) fn search(&mut self, ub: Option<Cost>) -> Option<Stage> {
        let plans = self.pending.is_some();
        let slow = [&self.plain, &self.shifted].into_iter().flatten().all(|way| way.is_behind(self.best));
        let slow = slow && self.graphs.as_ref().is_none_or(|way| is_behind(way.reached, self.best));
        let planned = self.work.saturating_mul(if slow { BEHIND } else { 1 });
        let due = |weight: u64| !plans || weight <= planned;
        while let Some(style) = self.styles.pop() {
            let memory = self.ladder.memory() / SEARCH_MEMORY;
            if let Some(search) = Branch::new(&self.problem, ub, self.ladder.order()?, memory, style) {
                self.reserve(memory);
                let mut search = if self.journal { search.keep_forks() } else { search };
                if let Some(gpu) = &self.gpu {
                    search.board(gpu);
                }
                return Some(Stage::Branch(Box::new(search), FIRST_TURN));
            }
        }
        let weight = |at: usize| {
            let (search, gain) = &self.searches[at];
            match self.is_ending(search) {
                true => search.work_done() / ENDING,
                false => weight(search.work_done(), Some((search.lower_bound(), *gain)), self.best),
            }
        };
        let (weight, at) = (0..self.searches.len()).map(|at| (weight(at), at)).min()?;
        if !due(weight) {
            return None;
        }
        Some(self.turn(at, ub))
    }

    /// A turn of a search: as much again as before. Shorter ones, up to level with the plans, were worse (results/notes/shifting.md).
    fn turn(&mut self, at: usize, ub: Option<Cost>) -> Stage {
        let (mut search, _) = self.searches.swap_remove(at);
        if let Some(ub) = ub {
            search.tighten(ub);
        }
        let work = search.work_done().max(FIRST_TURN);
        Stage::Branch(Box::new(search), work)
    }

    /// The turn of the light search that it has before an exact plan and while join graphs grow: up to a part of the work, up to all of it
    /// where such a part will do for the rest. It proves small networks in less time than graphs take to grow.
    pub(super) fn light_search(&mut self, ub: Option<Cost>) -> Option<Stage> {
        if self.styles.last() == Some(&Style::Light) {
            return self.search(ub);
        }
        let at = self.searches.iter().position(|(search, _)| search.style() == Style::Light)?;
        let (search, part) = (&self.searches[at].0, self.work / LIGHT_PART);
        let (done, left) = (search.work_done(), search.work_left());
        (done < part || done < self.work && left < part).then(|| self.turn(at, ub))
    }

    /// Whether a search will have come to its end before it has taken [`ENDING`] times the work of all plans and its own so far, as far as it
    /// can tell. Its bound does not: that of CELAR6-SUB2 is a third of the optimum after half of the work.
    fn is_ending(&self, search: &Branch) -> bool {
        search.work_left() / ENDING <= self.work.saturating_add(search.work_done())
    }

    /// Whether a search is about to end.
    pub fn ends_soon(&self) -> bool {
        self.searches.iter().any(|(search, _)| self.is_ending(search))
    }

    /// A search has had its turn, which began with a bound of `before`.
    pub fn searched(&mut self, search: Box<Branch>, before: Cost) {
        let bound = search.lower_bound();
        self.best = self.best.max(bound);
        if !search.is_done() {
            self.searches.push((*search, bound - before));
        }
    }
}
