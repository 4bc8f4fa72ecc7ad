//! The results of a run of `fangs bound`, and what receives them.

use super::Config;
use crate::cli::{Exit, output};
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_bounds::bounds::{News, Proved, follows_order, weaker};
use fangs_formats as formats;
use fangs_model::model::Network;
use fangs_report::{self as record, BoundReport, Recorder, ReplacedFile};
use fangs_search::{Clock, Event, EventKind, gap};
use std::sync::{Arc, Mutex, PoisonError};

/// The results so far, shared with the thread at work; `None` once the run has ended.
pub type Told = Arc<Mutex<Option<Found>>>;

/// Reads or changes the results. Returns [`Error::Stopped`] once the run has ended.
pub fn with<T>(told: &Told, work: impl FnOnce(&mut Found) -> T) -> Result<T, Error> {
    told.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(work).ok_or(Error::Stopped)
}

/// The results so far, and the recorder that receives them.
pub struct Found {
    network: &'static Network,
    config: &'static Config,
    clock: Clock,
    pub recorder: Recorder,
    pub report: BoundReport,
    proved: Proved,
    next_tick: f64,
}

impl Found {
    /// Starts with the sum of the functions' minima as the lower bound.
    pub fn new(
        network: &'static Network,
        config: &'static Config,
        clock: Clock,
        recorder: Recorder,
        mut report: BoundReport,
    ) -> Self {
        report.instance.clone_from(&network.name);
        report.maximise = network.units().maximise;
        report.objective = network.objective();
        Found {
            network,
            config,
            next_tick: clock.seconds().floor() + 1.0,
            clock,
            recorder,
            report,
            proved: Proved::new(network),
        }
    }

    /// Stores the current bound and solution, and sends an event if the news is a bound, a solution or a warning.
    pub fn hear(&mut self, proved: &Proved, news: News<'_>) {
        self.proved = proved.clone();
        match news {
            News::Bound => self.tell(EventKind::Bound),
            News::Solution => self.tell(EventKind::Solution),
            News::State => {}
            News::Warning(text) => self.recorder.warn(text),
        }
    }

    /// Sends a tick if a second has passed since the last one.
    pub fn tick(&mut self) {
        let now = self.clock.seconds();
        if now >= self.next_tick {
            self.next_tick = now.floor() + 1.0;
            self.tell(EventKind::Tick);
        }
    }

    /// Sends an event with the current results to the recorder.
    pub fn tell(&mut self, kind: EventKind) {
        let units = self.network.units();
        let time_s = self.clock.seconds();
        self.report.time_s = record::seconds(time_s);
        let Proved { known, source, .. } = &self.proved;
        let event = Event {
            kind,
            time_s,
            cost: known.incumbent().map(|best| best.value),
            bound: self.network.bound(known.bound().cost),
            gap: gap(self.network, known.costs(), known.bound().cost),
            maximise: Some(units.maximise),
            round: 0,
            moves: 0,
            ratings: 0,
            source: source.as_str().into(),
            solution: known.incumbent().map(|best| best.assignment.clone()),
            message: None,
            facts: None,
        };
        let format = self.config.output.solution_format;
        self.recorder.observe(&event, |solution| formats::write_solution(self.network, solution, format));
    }

    /// Sends the final event, writes the certificate, prints the summary and returns the exit code.
    pub fn finish(mut self, certificate: Option<ReplacedFile>, stop: &Stop) -> Result<Exit, Error> {
        self.tell(EventKind::End);
        let mut written = true;
        if let Some(file) = certificate {
            let known = &self.proved.known;
            let ((bound, proof), lower) = (known.proof(), known.bound().cost);
            let solution = known.incumbent().map(|best| &best.assignment[..]);
            if *bound < lower {
                self.recorder.warn(&weaker(self.network, *bound, lower));
            }
            if let Err(error) = output::certificate(file, self.network, *bound, solution, proof, stop) {
                written = false;
                self.recorder.warn(&error.to_string());
            }
        }
        let Found { network, config, mut report, mut recorder, proved, .. } = self;
        let Proved { known, exact, method, induced_width, order, tables, device, .. } = proved;
        let (lower, best) = (known.bound().cost, known.incumbent().cloned());
        let follows = follows_order(&method);
        // not freed, because the process ends here
        std::mem::forget(known);
        (report.exact, report.method, report.device) = (exact, method, device);
        report.induced_width = induced_width.filter(|_| follows);
        match order {
            _ if !follows => report.order = None,
            Some(order) => report.order = Some(order.name().into()),
            None => {}
        }
        if let Some(tables) = tables {
            report.z = Some(tables.z);
            report.largest_table = tables.largest_table;
            report.table_bytes = tables.table_bytes;
            report.joint_entries = tables.joint_entries;
            report.streamed = tables.streamed;
            report.spilled_bytes = tables.spilled_bytes;
            report.slices = tables.slices;
        }
        let ended = recorder.finish(stop, None);
        report.bound = network.bound(lower);
        report.cost = best.as_ref().map(|best| best.value);
        let proved = report.cost.zip(report.bound).filter(|_| report.exact);
        report.precision_slack = network.units().precision_slack(proved);
        report.solution = best.filter(|_| !ended.has_solution()).map(|best| best.assignment.to_vec());
        let format = config.output.solution_format;
        let lost = report.solution.as_deref().map(|lost| formats::write_solution(network, lost, format));
        output::print_run(&report, config.output.json, lost)?;
        let infeasible = report.cost.is_none() && lower >= network.top();
        let exit = if infeasible { Exit::Infeasible } else { Exit::Done };
        Ok(exit.written(written && ended.is_complete()))
    }
}
