//! What raises the bound next: elimination where it is exact at once, else cost shifting, then mini-buckets of growing z on the
//! network as it is and as it was shifted, and searches over values in between. Shifting doubles the bound on satellite
//! schedules and lowers it on frequency assignment (results/notes/shifting.md), which only searches prove
//! (results/notes/branch.md), so all of them climb; those that are not about to lead by smaller steps.

use super::branch::{Branch, Style};
use super::ladder::{Ladder, Rung};
use super::plan::Plan;
use super::run::Outcome;
use super::shift::Shift;
use crate::model::{Cost, Problem};
use std::sync::Arc;

/// How many times as much its work counts for a way that another rung like the last would not bring into the lead. Such a way
/// was given up at first: on SPOT5 505 plain mini-buckets pass the shifted ones at z = 16.
const BEHIND: u64 = 4;
/// Work of the first turn of a search: a tenth of a second. Each turn doubles the search's work.
const FIRST_TURN: u64 = 1 << 26;
/// The part of the memory that a search may take.
const SEARCH_MEMORY: u64 = 8;

/// Which ways are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    /// Mini-buckets of the network as it is.
    pub plain: bool,
    /// Cost shifting.
    pub shift: bool,
    /// Mini-buckets of the shifted network.
    pub shifted: bool,
    /// Searches over values.
    pub branch: bool,
}

/// The ways to a better bound on one network.
#[derive(Debug)]
pub struct Climb {
    problem: Arc<Problem>,
    ladder: Ladder,
    means: Means,
    begun: bool,
    plain: Option<Way>,
    shifted: Option<Way>,
    /// Searches not begun; those that wait for their turn, with what their last one gained.
    styles: Vec<Style>,
    searches: Vec<(Branch, Cost)>,
    /// The plan that comes next once searches have had their turns.
    pending: Option<(Attempt, Plan)>,
    /// Combinations of all plans so far, the next one included.
    work: u64,
    best: Cost,
}

/// A network and the plans for it.
#[derive(Debug)]
struct Way {
    problem: Arc<Problem>,
    shift: Option<Arc<Shift>>,
    ladder: Ladder,
    /// The best bound, and what the last rungs gained; nothing is known before the first.
    reached: Option<(Cost, Cost)>,
}

impl Way {
    /// The work of the last rung, as it counts.
    fn weight(&self, best: Cost) -> u64 {
        self.ladder.work().saturating_mul(if self.is_behind(best) { BEHIND } else { 1 })
    }

    /// Whether another rung like the last would not lead.
    fn is_behind(&self, best: Cost) -> bool {
        self.reached.is_some_and(|(bound, gain)| bound.saturating_add(gain) < best)
    }
}

/// What to do next.
#[derive(Debug)]
pub enum Stage {
    /// To shift costs ([`Shift::advance`]), then [`Climb::shifted`].
    Shift(Box<Shift>),
    /// To run a plan on the attempt's network, then [`Climb::note`].
    Run(Attempt, Plan),
    /// To search for so much work ([`Branch::advance`]), then [`Climb::searched`].
    Branch(Box<Branch>, u64),
}

/// A plan that is run, by what it is known.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The plan's name, after `shift+` where it is for the shifted network.
    pub name: String,
    /// Combinations it looks at.
    pub work: u64,
    /// What the plan was made for.
    pub problem: Arc<Problem>,
    shift: Option<Arc<Shift>>,
}

impl Attempt {
    /// The bound on the network as it is.
    pub fn lower_bound(&self, outcome: &Outcome) -> Cost {
        let bound = outcome.lower_bound();
        self.shift.as_ref().map_or(bound, |shift| shift.bound(bound))
    }

    /// Whether it is for the network as it is: only its messages speak of that network's costs.
    pub fn is_plain(&self) -> bool {
        self.shift.is_none()
    }
}

impl Climb {
    /// Ways for `problem`, plans by copies of `ladder`. Shifting and the shifted network may each take a quarter of its memory,
    /// which the plans then have less.
    pub fn new(problem: &Arc<Problem>, ladder: Ladder, means: Means) -> Climb {
        let way = || Way { problem: problem.clone(), shift: None, ladder: ladder.clone(), reached: None };
        let plain = means.plain.then(way);
        // taken from the end
        let styles = if means.branch { Style::ALL.into_iter().rev().collect() } else { Vec::new() };
        let searches = Vec::new();
        let problem = problem.clone();
        Climb {
            problem,
            ladder,
            means,
            begun: false,
            plain,
            shifted: None,
            styles,
            searches,
            pending: None,
            work: 0,
            best: Cost::MIN,
        }
    }

    /// Goes on with searches that another climb began, perhaps on a network whose solutions include all better ones of this.
    pub fn resume(&mut self, searches: Vec<Branch>) {
        for search in searches {
            self.styles.retain(|&style| style != search.style());
            self.reserve(self.ladder.memory() / SEARCH_MEMORY);
            self.searches.push((search, 0));
        }
    }

    /// The searches that are not at work.
    pub fn into_searches(self) -> Vec<Branch> {
        self.searches.into_iter().map(|(search, _)| search).collect()
    }

    /// Leaves bytes to others than the plans.
    fn reserve(&mut self, bytes: u64) {
        self.ladder.reserve(bytes);
        for way in [&mut self.plain, &mut self.shifted].into_iter().flatten() {
            way.ladder.reserve(bytes);
        }
    }

    /// The next stage; `None` once there is none. `ub` is the cost of the best solution known.
    pub fn next(&mut self, ub: Option<Cost>) -> Option<Stage> {
        if !std::mem::replace(&mut self.begun, true) && self.shifts() {
            let order: Vec<u32> = (0..self.problem.variables() as u32).collect();
            if let Some(shift) = Shift::new(&self.problem, ub, &order) {
                return Some(Stage::Shift(Box::new(shift)));
            }
        }
        if self.pending.is_none() {
            self.pending = self.rung(ub);
        }
        // an exact plan that takes little comes first
        let exact = self.ladder.affordable() && self.pending.as_ref().is_some_and(|(_, plan)| plan.exact);
        if !exact && let Some(stage) = self.search(ub) {
            return Some(stage);
        }
        self.pending.take().map(|(attempt, plan)| Stage::Run(attempt, plan))
    }

    /// The next plan of the way that is next.
    fn rung(&mut self, ub: Option<Cost>) -> Option<(Attempt, Plan)> {
        loop {
            let weight = |way: &Option<Way>| way.as_ref().map(|way| way.weight(self.best));
            let slot = match (weight(&self.shifted), weight(&self.plain)) {
                (None, None) => return None,
                (Some(shifted), Some(plain)) if plain < shifted => &mut self.plain,
                (Some(_), _) => &mut self.shifted,
                (None, Some(_)) => &mut self.plain,
            };
            let way = slot.as_mut()?;
            let limit = match (&way.shift, ub) {
                (Some(shift), Some(ub)) => Some(shift.scaled(ub)),
                (_, ub) => ub,
            };
            match way.ladder.next(&way.problem, limit) {
                Some(Rung { name, work, plan, .. }) => {
                    self.work = self.work.saturating_add(work);
                    let name = if way.shift.is_some() { format!("shift+{name}") } else { name };
                    let attempt = Attempt { name, work, problem: way.problem.clone(), shift: way.shift.clone() };
                    return Some((attempt, plan));
                }
                None => *slot = None,
            }
        }
    }

    /// The turn of a search that has had no more work than the plans, all of them together with the next one; any, where there is
    /// none. Work of those that are not about to lead counts more here, too. Where a large plan had come before the turns of
    /// as much work, CELAR6-SUB2 waited for mini-buckets of z = 6 rather than for its proof.
    fn search(&mut self, ub: Option<Cost>) -> Option<Stage> {
        let plans = self.pending.is_some();
        let slow = [&self.plain, &self.shifted].into_iter().flatten().all(|way| way.is_behind(self.best));
        let planned = self.work.saturating_mul(if slow { BEHIND } else { 1 });
        let due = |weight: u64| !plans || weight <= planned;
        while let Some(style) = self.styles.pop() {
            let memory = self.ladder.memory() / SEARCH_MEMORY;
            if let Some(search) = Branch::new(&self.problem, ub, self.ladder.order()?, memory, style) {
                self.reserve(memory);
                return Some(Stage::Branch(Box::new(search), FIRST_TURN));
            }
        }
        let weight = |at: usize| {
            let (search, gain) = &self.searches[at];
            let behind = search.lower_bound().saturating_add(*gain) < self.best;
            search.work_done().saturating_mul(if behind { BEHIND } else { 1 })
        };
        let (weight, at) = (0..self.searches.len()).map(|at| (weight(at), at)).min()?;
        if !due(weight) {
            return None;
        }
        let (mut search, _) = self.searches.swap_remove(at);
        if let Some(ub) = ub {
            search.tighten(ub);
        }
        let work = search.work_done().max(FIRST_TURN);
        Some(Stage::Branch(Box::new(search), work))
    }

    /// A search has had its turn, which began with a bound of `before`.
    pub fn searched(&mut self, search: Box<Branch>, before: Cost) {
        let bound = search.lower_bound();
        self.best = self.best.max(bound);
        if !search.is_done() {
            self.searches.push((*search, bound - before));
        }
    }

    /// Whether shifting comes first: not where elimination is exact at once, nor where its tables take too much.
    fn shifts(&self) -> bool {
        let exact = self.means.plain && self.ladder.affordable();
        self.means.shift && !exact && Shift::bytes(&self.problem).0 <= self.ladder.memory() / 4
    }

    /// Costs are shifted.
    pub fn shifted(&mut self, shift: Shift) {
        let (own, shifted) = Shift::bytes(&self.problem);
        if !self.means.shifted || shifted > self.ladder.memory() / 4 {
            return;
        }
        self.reserve(own + shifted);
        let problem = Arc::new(shift.problem());
        let ladder = self.ladder.clone();
        self.shifted = Some(Way { problem, shift: Some(Arc::new(shift)), ladder, reached: None });
    }

    /// An attempt has come to a bound.
    pub fn note(&mut self, attempt: &Attempt, bound: Cost) {
        let way = if attempt.is_plain() { &mut self.plain } else { &mut self.shifted };
        if let Some(way) = way {
            // of several orders at one z the best counts
            let (before, gain) = way.reached.unwrap_or((self.problem.constant, 0));
            way.reached = Some((before.max(bound), (bound - before).max(gain / 2)));
        }
        self.best = self.best.max(bound);
    }
}
