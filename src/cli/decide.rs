//! `fangs decide`: influence diagrams and decision processes.

mod flags;
mod policy;
mod report;

use super::{Exit, output, signals, values, worker};
use fangs_base::Error;
use fangs_base::stop::Cause;
use fangs_decide::{Device, Solution, solve_diagram, solve_idid, solve_pomdp};
use fangs_device::Opening;
use fangs_formats::{Decision, read_decision};
use fangs_report::{Console, OutputContext, Recorder};
use fangs_search::{Clock, Event, EventKind};
pub use flags::{Config, DecideFlags};
use policy::PolicyOutput;
use report::Report;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Finds a policy with the largest expected utility.
pub fn run(config: Config, started: Instant) -> Result<Exit, Error> {
    let stop = signals::listen()?;
    let clock = Clock::start(started, Some(config.time), &stop);
    values::use_threads(config.threads)?;
    let policy = config.policy.as_deref().map(PolicyOutput::new).transpose()?;
    config.activity.step("reading");
    let console = Console::new(config.verbosity).progress(&config.activity, started, Some(config.time));
    let context = OutputContext { instance: config.source.to_string(), ..OutputContext::default() };
    let path = |name| config.csv.clone().filter(|_| name == "csv");
    let recorder = output::as_usage(Recorder::new(console.clone()).open(path, &context))?;
    let told = Told { clock, recorder, solution: None, load_s: 0.0, ticked: 0 };
    let told = Arc::new(Mutex::new(told));
    with(&told, |told| told.event(EventKind::Start));
    // a device that the user named opens while the file is read
    let choice = config.device.clone();
    let opening = if choice.is_named() { Opening::start(choice) } else { Opening::new(choice) };
    let warning = Console::new(config.verbosity);
    let device = Arc::new(Device::new(opening.clone(), move |text| warning.warn(text)));
    let work = {
        let device = device.clone();
        let (told, stop, console) = (told.clone(), stop.clone(), console.clone());
        let (source, format) = (config.source.clone(), config.format);
        let config = config.clone();
        move || {
            let (decision, warnings) = read_decision(&source, format, &stop)?;
            console.warn_of(&warnings);
            config.activity.step("deciding");
            with(&told, |told| told.load_s = told.clock.seconds());
            let mut options = config.options(&decision)?;
            options.device = device.clone();
            if config.device.is_named() {
                drop(opening.wait(&stop)?);
            }
            let mut tell = |solution: &Solution| with(&told, |told| told.take(solution.clone()));
            let solved = match &decision {
                Decision::Diagram(diagram) => solve_diagram(diagram, &options, &stop, &mut tell),
                Decision::Pomdp(pomdp) => solve_pomdp(pomdp, &options, &stop, &mut tell),
                Decision::Idid(idid) => solve_idid(idid, &options, &stop, &mut tell),
            };
            tell(&solved?);
            Ok(())
        }
    };
    let ended = worker::run(&stop, work, || with(&told, Told::tick));
    let mut held = told.lock().unwrap_or_else(PoisonError::into_inner);
    match ended {
        Err(error) if error.is_input() || !error.is_stop() && held.solution.is_none() => return Err(error),
        Err(error) if !error.is_stop() => console.warn(&format!("{error}: the run ends here")),
        _ => {}
    }
    if stop.cause() == Some(Cause::Memory) {
        console.warn("out of memory: the run ends here");
    }
    held.event(EventKind::End);
    let report = Report::new(&config, held.solution.as_ref(), device.name(), held.load_s, held.clock.seconds());
    let found = held.solution.as_ref().is_some_and(|solution| solution.meu.is_some() || solution.lower.is_some());
    let mut written = true;
    if let (Some(mut policy), Some(solution)) = (policy, held.solution.as_ref())
        && let Err(error) = policy.write(&config, solution, &stop)
    {
        if error.is_input() {
            return Err(error);
        }
        console.warn(&error.to_string());
        written = false;
    }
    written &= held.recorder.finish(&stop, None).is_complete();
    output::print_report(&report, config.json)?;
    Ok(if found { Exit::Done.written(written) } else { Exit::NoSolution })
}

/// The best solution so far, and the outputs of its rows.
struct Told {
    clock: Clock,
    recorder: Recorder,
    solution: Option<Solution>,
    load_s: f64,
    /// The second of the last tick.
    ticked: u64,
}

fn with<T>(told: &Arc<Mutex<Told>>, work: impl FnOnce(&mut Told) -> T) -> T {
    work(&mut told.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Told {
    /// Stores a solution, and writes rows for a changed value or bound.
    fn take(&mut self, solution: Solution) {
        let before = self.solution.as_ref().map(|known| (known.meu, known.bound));
        let (meu, bound) = (solution.meu, solution.bound);
        self.solution = Some(solution);
        if meu.is_some() && before.is_none_or(|(known, _)| known != meu) {
            self.event(EventKind::Solution);
        }
        if bound.is_some() && before.is_none_or(|(_, known)| known != bound) {
            self.event(EventKind::Bound);
        }
    }

    fn tick(&mut self) {
        let second = self.clock.seconds() as u64;
        if second > self.ticked {
            self.ticked = second;
            self.event(EventKind::Tick);
        }
    }

    fn event(&mut self, kind: EventKind) {
        let time_s = self.clock.seconds();
        let found = self.solution.as_ref();
        let number = |value: Option<f64>| value.map(fangs_model::model::Number::Real);
        let (meu, bound) = (found.and_then(|s| s.meu), found.and_then(|s| s.bound));
        let event = Event {
            kind,
            time_s,
            cost: number(meu),
            bound: number(bound),
            gap: report::gap(meu, bound),
            maximise: Some(true),
            round: 0,
            moves: 0,
            ratings: 0,
            source: found.map_or("load", |solution| solution.method.name()).into(),
            solution: None,
            message: None,
            facts: None,
        };
        self.recorder.observe(&event, |_| String::new());
    }
}
