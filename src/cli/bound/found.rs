//! The results of a run, and their listeners.

use super::Config;
use crate::cli::{Exit, output};
use fangs::bounds::{Proof, weaker};
use fangs::check::Evaluation;
use fangs::model::{Cost, Network, Number};
use fangs::record::{BoundReport, Recorder, ReplacedFile};
use fangs::search::{Clock, Event, EventKind, gap};
use fangs::stop::Stop;
use fangs::{Error, formats, record};
use std::sync::{Arc, Mutex, PoisonError};

/// The results so far, until the run ends.
pub type Told = Arc<Mutex<Option<Found>>>;

/// Reads or changes the results. [`Error::Stopped`] once the run has ended.
pub fn with<T>(told: &Told, work: impl FnOnce(&mut Found) -> T) -> Result<T, Error> {
    told.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(work).ok_or(Error::Stopped)
}

/// The results so far, and their listeners.
pub struct Found {
    network: &'static Network,
    config: &'static Config,
    clock: Clock,
    pub recorder: Recorder,
    pub report: BoundReport,
    pub lower: Cost,
    /// The best bound that has a proof, and the proof.
    pub proof: (Cost, Proof),
    pub best: Option<(Cost, Number, Vec<u32>)>,
    source: String,
    next_tick: f64,
}

impl Found {
    /// Begins with the bound of the functions' minima.
    pub fn new(
        network: &'static Network,
        config: &'static Config,
        clock: Clock,
        recorder: Recorder,
        mut report: BoundReport,
    ) -> Self {
        let lower = network.least();
        report.instance.clone_from(&network.name);
        report.method = "trivial".into();
        report.exact = lower >= network.top();
        report.maximise = network.units().maximise;
        report.objective = network.objective();
        Found {
            network,
            config,
            next_tick: clock.seconds().floor() + 1.0,
            clock,
            recorder,
            report,
            lower,
            proof: (lower, Proof::default()),
            best: None,
            source: "trivial".into(),
        }
    }

    /// The cost that a better solution must stay below.
    pub fn upper(&self) -> Cost {
        self.best.as_ref().map_or(self.network.top(), |(cost, ..)| *cost)
    }

    /// Keeps an assignment if it is a solution and better.
    pub fn offer(&mut self, evaluation: Evaluation, assignment: Vec<u32>, name: &str) {
        if evaluation.is_solution()
            && evaluation.cost < self.upper()
            && let Some(value) = evaluation.value(self.network, &assignment)
        {
            self.report.exact |= self.lower >= evaluation.cost;
            self.best = Some((evaluation.cost, value, assignment));
            self.source = name.into();
            self.tell(EventKind::Solution);
        }
    }

    /// A bound, with its proof where there is one that is wanted.
    pub fn raise(&mut self, bound: Cost, name: &str, proof: Option<Proof>) -> Result<(), Error> {
        // without a solution, a bound can at most prove infeasibility
        let (upper, bound) = (self.upper(), bound.min(self.network.top()));
        if bound > upper {
            return Err(Error::Internal(format!("{name}: the bound {bound} is above {upper}")));
        }
        if bound > self.lower || self.report.exact {
            self.report.method = name.into();
            self.source = name.into();
        }
        if bound > self.lower {
            self.lower = bound;
            self.tell(EventKind::Bound);
        }
        // also where more is known that has no proof
        if let Some(proof) = proof.filter(|_| bound > self.proof.0) {
            self.proof = (bound, proof);
        }
        self.report.exact |= self.lower >= upper;
        Ok(())
    }

    /// Sends a tick where one is due.
    pub fn tick(&mut self) {
        let now = self.clock.seconds();
        if now >= self.next_tick {
            self.next_tick = now.floor() + 1.0;
            self.tell(EventKind::Tick);
        }
    }

    /// Sends an event.
    pub fn tell(&mut self, kind: EventKind) {
        let units = self.network.units();
        let time_s = self.clock.seconds();
        self.report.time_s = record::seconds(time_s);
        let event = Event {
            kind,
            time_s,
            cost: self.best.as_ref().map(|(_, value, _)| *value),
            bound: self.network.bound(self.lower),
            gap: gap(self.network, self.best.as_ref().map(|(cost, value, _)| (*cost, *value)), self.lower),
            maximise: Some(units.maximise),
            round: 0,
            moves: 0,
            ratings: 0,
            source: self.source.as_str().into(),
            solution: self.best.as_ref().map(|(.., solution)| solution[..].into()),
            message: None,
            facts: None,
        };
        let format = self.config.output.solution_format;
        self.recorder.observe(&event, |solution| formats::write_solution(self.network, solution, format));
    }

    /// Sends the end, writes the certificate, and returns the summary.
    pub fn finish(mut self, certificate: Option<ReplacedFile>, stop: &Stop) -> Result<Exit, Error> {
        self.tell(EventKind::End);
        let mut written = true;
        if let Some(file) = certificate {
            let solution = self.best.as_ref().map(|(.., solution)| &solution[..]);
            let (bound, proof) = &self.proof;
            if *bound < self.lower {
                self.recorder.warn(&weaker(self.network, *bound, self.lower));
            }
            if let Err(error) = output::certificate(file, self.network, *bound, solution, proof, stop) {
                written = false;
                self.recorder.warn(&error.to_string());
            }
        }
        let Found { network, config, mut report, recorder, lower, best, proof, .. } = self;
        // the process ends here
        std::mem::forget(proof);
        let ended = recorder.finish(stop);
        report.bound = network.bound(lower);
        report.cost = best.as_ref().map(|(_, value, _)| *value);
        let proved = report.cost.zip(report.bound).filter(|_| report.exact);
        report.precision_slack = network.units().precision_slack(proved);
        report.solution = best.filter(|_| !ended.has_solution).map(|(.., solution)| solution);
        let format = config.output.solution_format;
        let lost = report.solution.as_deref().map(|lost| formats::write_solution(network, lost, format));
        output::print_run(&report, config.output.json, lost)?;
        let infeasible = report.cost.is_none() && lower >= network.top();
        let exit = if infeasible { Exit::Infeasible } else { Exit::Done };
        Ok(exit.written(written && ended.has_solution && ended.has_rows))
    }
}
