//! The work on a stage in slices, and the results of what it reaches.

use super::{Attempt, Bounder, Stage};
use crate::bounds::search::Search;
use crate::bounds::shifting::Shifting;
use crate::bounds::step::{BoundResult, Notice, TableSizes, solved};
use crate::elimination::{Outcome, Progress, Run, spill_folder};
use crate::model::Cost;
use crate::reduce::ReducedProblem;
use crate::stop::Stop;
use crate::tuning::tuning;
use std::sync::Arc;

/// The stage at work, and the problem that it bounds.
#[derive(Debug)]
pub(super) struct Running {
    pub work: Work,
    pub reduced: ReducedProblem,
}

/// The work on a stage.
#[derive(Debug)]
pub(super) enum Work {
    Shift(Box<Shifting>),
    Run(Box<Attempt>, Box<Run>),
    Search(Turn),
}

/// The work that a search is granted.
#[derive(Debug)]
pub(super) struct Turn {
    pub search: Box<dyn Search>,
    /// Work of the search, in total, at which the grant ends.
    end: u64,
    /// Lower bound when the grant began.
    before: Cost,
    told: Cost,
}

impl Bounder {
    fn begin(&mut self, reduced: &ReducedProblem, upper: Cost, stop: &Stop) {
        let stage = self.choose(&reduced.problem, Some(upper), stop);
        self.start(stage, reduced);
    }

    fn start(&mut self, stage: Option<Stage>, reduced: &ReducedProblem) {
        (self.steady, self.done) = (stage.as_ref().and_then(Stage::steady), stage.is_none());
        self.activity.bounds(stage.as_ref().map_or("", Stage::doing));
        let (work, reduced) = match stage {
            Some(Stage::Shift(shift)) => (Work::Shift(shift), reduced.clone()),
            Some(Stage::Run(attempt, plan)) => {
                if let spilled @ 1.. = plan.spilled_bytes() {
                    let (name, all, folder) = (&attempt.name, plan.placement.table_bytes, spill_folder());
                    let text =
                        format!("{name}: tables of {all} bytes, {spilled} of them in files in {}", folder.display());
                    self.notices.push_back(Notice::Spilling(text));
                }
                let is_for_device = attempt.is_for_device(&plan, self.device_use);
                let run = attempt.run(if is_for_device { &self.gpus } else { &[] }, plan);
                (Work::Run(attempt, Box::new(run)), reduced.clone())
            }
            Some(Stage::Search(search, work)) => {
                let known = self.problems.iter().find(|known| Arc::ptr_eq(&known.problem, search.problem()));
                let of_search = search.reduced().or(known).unwrap_or(reduced).clone();
                if known.is_none() && search.reduced().is_none() {
                    self.problems.push(of_search.clone());
                }
                let (end, bound) = (search.work_done().saturating_add(work), search.lower_bound());
                (Work::Search(Turn { search, end, before: bound, told: bound }), of_search)
            }
            None => return,
        };
        self.running = Some(Running { work, reduced });
    }

    /// Works on a slice of the stage at work, or of the next one. Returns its result if it has one.
    pub(super) fn advance(&mut self, reduced: &ReducedProblem, upper: Cost, stop: &Stop) -> Option<BoundResult> {
        if self.running.is_none() {
            if self.network.is_none() {
                self.network = reduced.reducer.original().cloned();
            }
            let follows = self.plans.is_none() && self.orders.is_empty() && !self.is_vast(&reduced.problem);
            if let Some(result) = solved(reduced, upper) {
                // coarse chains may be solved while the sums that they replace are not
                let is_open = reduced.reducer.is_relaxed() && !reduced.reducer.infeasible();
                if !is_open || !std::mem::replace(&mut self.is_relaxation_solved, true) {
                    let is_new = !std::mem::replace(&mut self.done, !is_open);
                    return is_new.then_some(BoundResult { exact: !is_open, ..result });
                }
                let stage = self.early_search(upper, true, stop);
                self.start(stage, reduced);
            } else if let Some(stage) = follows.then(|| self.early_search(upper, false, stop)).flatten() {
                self.start(Some(stage), reduced);
            } else if follows && self.order(&reduced.problem, stop) {
                return None;
            } else {
                self.begin(reduced, upper, stop);
            }
        }
        match &mut self.running.as_mut()?.work {
            Work::Shift(shift) => {
                shift.below(upper);
                let before = shift.work_done();
                let progress = shift.advance(tuning().general.slice, stop);
                self.work += (shift.work_done() - before).max(1) * tuning().general.shift_work;
                match progress {
                    Progress::More => self.shifted_so_far(upper),
                    _ => self.finish_shift(upper, stop),
                }
            }
            Work::Search(turn) => {
                let before = turn.search.work_done();
                turn.search.tighten(upper);
                let progress = turn.search.advance(tuning().general.slice, stop);
                self.work += (turn.search.work_done() - before).max(1);
                let trouble = turn.search.take_trouble();
                let _ = self.lose_device(trouble);
                self.follow_turn(progress)
            }
            Work::Run(_, run) => {
                let before = run.work_done();
                let progress = run.advance(tuning().general.elimination_slice, stop);
                // the work of a device that fails is lost, so the counter may fall
                self.work += run.work_done().saturating_sub(before).max(1);
                let (trouble, failure) = (run.trouble().cloned(), run.take_failure());
                run.take_lost().into_iter().for_each(|(place, error)| self.lose(place, error));
                if self.lose_device(trouble) && (!self.gpus.is_empty() || self.exact_work() < u64::MAX) {
                    // the plan may be too large for the CPU
                    let orders = std::mem::take(&mut self.orders);
                    self.running = None;
                    self.rebase();
                    self.orders = orders;
                    return None;
                }
                match failure {
                    Some(error) => {
                        self.lose_plan(&error);
                        None
                    }
                    None if progress == Progress::More => None,
                    None => self.finish_run(upper, stop),
                }
            }
        }
    }

    /// Returns the current bound of running cost shifting; `None` if none runs or its bound is at most `above`.
    pub fn so_far(&self, upper: Cost, above: Cost) -> Option<BoundResult> {
        let Some(Running { work: Work::Shift(shift), reduced }) = &self.running else { return None };
        let lower = shift.lower_bound(upper.min(reduced.problem.top));
        let result = || BoundResult {
            proof: shift.proof(&reduced.reducer),
            ..BoundResult::new(reduced.clone(), lower, shift.name().into())
        };
        (lower > above).then(result)
    }

    /// Returns the current bound of running cost shifting if it has risen by a hundredth of the gap since the last
    /// report: a run may be over before long passes end.
    fn shifted_so_far(&mut self, upper: Cost) -> Option<BoundResult> {
        let Some(Running { reduced, .. }) = &self.running else { return None };
        let above = self.told.max(reduced.problem.constant);
        let result = self.so_far(upper, above.saturating_add((upper - above) / tuning().general.shift_steps))?;
        self.told = result.lower;
        Some(result)
    }

    fn finish_shift(&mut self, upper: Cost, stop: &Stop) -> Option<BoundResult> {
        let Some(Running { work: Work::Shift(mut shift), reduced }) = self.running.take() else { return None };
        let lower = shift.lower_bound(upper.min(reduced.problem.top));
        let (value_bounds, proof) = (shift.value_bounds(stop).ok(), shift.proof(&reduced.reducer));
        let result = BoundResult::new(reduced, lower, shift.name().into());
        let trouble = shift.take_trouble();
        let _ = self.lose_device(trouble);
        self.shifted(*shift, stop);
        Some(BoundResult { value_bounds, proof, ..result })
    }

    /// Returns the result of a slice of a search if it has news or the work granted is used up; the search then waits
    /// for its next grant.
    fn follow_turn(&mut self, progress: Progress) -> Option<BoundResult> {
        let Some(Running { work: Work::Search(turn), reduced }) = &mut self.running else { return None };
        let (lower, assignment) = (turn.search.lower_bound(), turn.search.take_solution());
        let news = lower > std::mem::replace(&mut turn.told, lower) || assignment.is_some();
        let over = progress == Progress::Done || turn.search.work_done() >= turn.end;
        if !news && !over {
            return None;
        }
        let result = BoundResult::new(reduced.clone(), lower, turn.search.name().into());
        let (value_bounds, proof) = (turn.search.take_value_bounds(), turn.search.proof(&reduced.reducer));
        let result = BoundResult { assignment, value_bounds, proof, ..result };
        if over && let Some(Running { work: Work::Search(turn), .. }) = self.running.take() {
            self.searched(turn.search, turn.before);
        }
        Some(result)
    }

    fn finish_run(&mut self, upper: Cost, stop: &Stop) -> Option<BoundResult> {
        let Some(Running { work: Work::Run(attempt, run), reduced }) = self.running.take() else { return None };
        let streamed = run.streamed();
        let outcome = Arc::new(run.finish()?);
        let lower = attempt.lower_bound(&outcome);
        // the size of dense tables does not describe sparse ones
        let tables = outcome.plan().placement.rows.is_none().then(|| TableSizes::new(&outcome, streamed));
        if let Some(tables) = &tables {
            self.best_z = Some(tables.z);
            self.highest = self.highest.max(tables.joint_entries);
        }
        let assignment = outcome.assign(stop);
        let value_bounds = self.eliminated(&attempt, &outcome, upper, stop);
        self.work += value_bounds.as_ref().map_or(0, |_| outcome.value_bounds_work());
        Some(BoundResult {
            lower,
            exact: outcome.exact(),
            assignment,
            proof: attempt.proof(&reduced.reducer, &outcome),
            reduced,
            outcome: attempt.is_plain().then_some(outcome),
            source: attempt.name,
            tables,
            value_bounds,
        })
    }

    /// Takes up the result of cost shifting, on which later stages work. Once `stop` is set, none do.
    pub fn shifted(&mut self, shifting: Shifting, stop: &Stop) {
        if let Some(plans) = &mut self.plans {
            plans.shifted(shifting, self.gpus.first(), self.device_use, stop);
        }
    }

    /// Takes up the outcome of an attempt. Returns for each variable and value a lower bound on the solutions with that
    /// value, unless the bounds are unlikely to exclude values below `upper` or take too much memory or work.
    pub fn eliminated(
        &mut self,
        attempt: &Attempt,
        outcome: &Outcome,
        upper: Cost,
        stop: &Stop,
    ) -> Option<Vec<Vec<Cost>>> {
        let plans = self.plans.as_mut()?;
        plans.note(attempt, attempt.lower_bound(outcome));
        plans.value_bounds(attempt, outcome, upper, stop)
    }
}
