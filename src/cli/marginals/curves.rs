//! Lower and upper bounds on a sum over time: the rows of a CSV, and the result of a run that is stopped.

use super::report::Assigned;
use fangs_base::stop::Stop;
use fangs_marginals::SumBounds;
use fangs_model::model::Number;
use fangs_report::Recorder;
use fangs_search::{Clock, Event, EventKind};
use std::sync::Arc;

/// The bounds so far, and the recorder that receives them.
pub struct Curves {
    recorder: Recorder,
    clock: Arc<Clock>,
    last: Option<SumBounds>,
    /// For marginal MAP, the values that have the lower bound.
    assignment: Option<Assigned>,
    next_tick: f64,
}

impl Curves {
    /// Starts the curves with an event.
    pub fn new(recorder: Recorder, clock: Arc<Clock>) -> Self {
        let mut curves = Curves { recorder, clock, last: None, assignment: None, next_tick: 1.0 };
        curves.tell(EventKind::Start, "load");
        curves
    }

    /// Returns the bounds so far; `None` before the first.
    pub fn last(&self) -> Option<SumBounds> {
        self.last
    }

    /// Returns the values that have the lower bound; `None` if there are none.
    pub fn assignment(&self) -> Option<&Assigned> {
        self.assignment.as_ref()
    }

    /// Intersects the bounds with new ones, and sends an event if they improve.
    pub fn step(&mut self, bounds: &SumBounds) {
        let bounds = &self.last.map_or(*bounds, |last| last.and(*bounds));
        let rises = |last: &SumBounds| bounds.lower > last.lower;
        let falls = self.last.as_ref().is_none_or(|last| bounds.upper < last.upper);
        let kind = match (self.last.as_ref().map_or(bounds.lower > f64::NEG_INFINITY, rises), falls) {
            (true, _) => EventKind::Solution,
            (false, true) => EventKind::Bound,
            (false, false) => return,
        };
        self.last = Some(*bounds);
        self.tell(kind, if bounds.exact_parts > 0 { "parts" } else { "mbe" });
    }

    /// Takes new bounds and the values that have the lower one.
    pub fn values(&mut self, bounds: &SumBounds, assignment: Option<Assigned>) {
        self.assignment = assignment;
        self.step(bounds);
    }

    /// Sends a tick if a second has passed since the last one.
    pub fn tick(&mut self) {
        let now = self.clock.seconds();
        if now >= self.next_tick {
            self.next_tick = now.floor() + 1.0;
            self.tell(EventKind::Tick, "parts");
        }
    }

    /// Ends the curves. Returns whether the CSV has all rows.
    pub fn finish(mut self, stop: &Stop) -> bool {
        self.tell(EventKind::End, "parts");
        self.recorder.finish(stop, None).is_complete()
    }

    fn tell(&mut self, kind: EventKind, source: &str) {
        let known = |bound: f64| bound.is_finite().then_some(Number::Real(bound));
        let (lower, upper) = self.last.map_or((None, None), |last| (known(last.lower), known(last.upper)));
        let gap = lower.zip(upper).map(|(lower, upper)| {
            let (lower, upper) = (lower.as_f64(), upper.as_f64());
            if lower == upper { 0.0 } else { (upper - lower) / lower.abs().max(upper.abs()) }
        });
        let event = Event {
            kind,
            time_s: self.clock.seconds(),
            cost: lower,
            bound: upper,
            gap,
            maximise: Some(true),
            round: 0,
            moves: 0,
            ratings: 0,
            source: source.into(),
            solution: None,
            message: None,
            facts: None,
        };
        self.recorder.observe(&event, |_| String::new());
    }
}
