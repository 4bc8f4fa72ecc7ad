//! `fangs bound`: proves bounds by inference alone.

mod flags;
mod found;

use super::{Exit, Known, output, record_unloaded, signals, ticks, values, worker};
use fangs_base::Error;
use fangs_base::faults;
use fangs_base::stop::Cause;
use fangs_bounds::bounds::Proving;
use fangs_device::Opening;
use fangs_model::model::Network;
use fangs_report::{self as record, BoundReport, Console, OutputContext, Recorder, ReplacedFile};
use fangs_search::{Clock, EventKind};
pub use flags::{BoundFlags, Config};
use found::{Found, with};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Proves bounds on the optimum of a network.
pub fn run(config: Config, started: Instant) -> Result<Exit, Error> {
    let stop = signals::listen()?;
    let clock = Clock::start(started, Some(config.time), &stop);
    values::use_threads(config.threads)?;
    let device = Opening::start(config.device.clone());
    let certificate =
        config.output.certificate.as_deref().map(|path| output::as_usage(ReplacedFile::new(path))).transpose()?;
    config.activity.step("reading");
    let console = Console::new(config.verbosity).progress(&config.activity, started, Some(config.time));
    let context = OutputContext { instance: config.input.name(), ..OutputContext::default() };
    let recorder = Recorder::new(console).open(|name| config.output.output(name), &context);
    let mut recorder = output::as_usage(recorder)?;

    let mut report = nothing_known(&config);
    let load = {
        let (input, console, order) = (config.input.clone(), recorder.console().clone(), config.order.clone());
        let stop = stop.clone();
        move || {
            let (network, _) = input.load_by_all(&console, &stop)?;
            let ordering = order.resolve(network.variables().len(), &stop)?;
            Ok((network, ordering))
        }
    };
    let known = Known { maximise: config.input.maximises(), ..Known::default() };
    let (network, ordering) = match worker::run(&stop, load, ticks(&mut recorder, &clock, &known)) {
        Ok(loaded) => loaded,
        Err(error) if Error::is_stop(&error) => {
            report.time_s = record::seconds(clock.seconds());
            record_unloaded(&mut recorder, &error, &stop, report.time_s, &known);
            let _ = recorder.finish(&stop, None);
            output::print_report(&report, config.output.json)?;
            return Ok(Exit::NoSolution);
        }
        Err(error) => return Err(error),
    };
    // the process ends with the run: freeing a large network would only delay it
    let (network, config): (&Network, &Config) = (Box::leak(Box::new(network)), Box::leak(Box::new(config)));
    let options = config.proving(ordering, device);
    let mut found = Found::new(network, config, clock, recorder, report);
    found.tell(EventKind::Start);
    let found = Arc::new(Mutex::new(Some(found)));
    // work happens on a separate thread, so that a run ends on time even if a step does not read the stop flag
    let work = {
        let (stop, found) = (stop.clone(), found.clone());
        move || {
            faults::panic_at("bound");
            // never freed either, because the process ends
            let mut proving = ManuallyDrop::new(Proving::new(network, options));
            proving.run(&stop, &mut |proved, news| with(&found, |found| found.hear(proved, news)))
        }
    };
    let ended = worker::run(&stop, work, || drop(with(&found, Found::tick)));
    let found = found.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (ended, found) {
        (Err(Error::Stopped) | Ok(()), Some(found)) => {
            if stop.cause() == Some(Cause::Memory) {
                found.recorder.warn("out of memory: the run ends here");
            }
            found.finish(certificate, &stop)
        }
        (Err(error), found) => {
            // the files keep the results so far
            if let Some(mut found) = found {
                found.tell(EventKind::End);
                let _ = found.recorder.finish(&stop, None);
            }
            Err(config.hinted(error))
        }
        (Ok(()), None) => Err(Error::Internal("what was found is gone".into())),
    }
}

/// Returns the report of a run before it has read its network.
fn nothing_known(config: &Config) -> BoundReport {
    BoundReport {
        instance: config.input.name(),
        version: fangs_base::VERSION,
        method: "none".into(),
        z: None,
        order: Some(config.order.name()),
        induced_width: None,
        exact: false,
        bound: None,
        cost: None,
        precision_slack: 0.0,
        largest_table: 0,
        table_bytes: 0,
        joint_entries: 0,
        streamed: false,
        spilled_bytes: 0,
        slices: 1,
        time_s: 0.0,
        device: "cpu".into(),
        tuning: fangs_base::tuning::given(),
        maximise: false,
        objective: "cost",
        solution: None,
    }
}
