//! What a task is. A new task is one file below `tasks` that implements [`Task`], and one line of
//! [`TASKS`](crate::tasks::TASKS).

use crate::call::{Call, Ended, File, Report, Runner, Settings};
use fangs_base::rng::Rng;

/// A problem that can be written to files and made smaller.
pub trait Problem: Clone + Send {
    /// Returns problems that are smaller by one thing each, those that lose most first.
    fn smaller(&self) -> Vec<Self>;

    /// Returns its files, the one that is named first.
    fn files(&self) -> Vec<File>;

    /// Adds the options that belong to the problem.
    fn complete(&self, _settings: &mut Settings) {}
}

/// A problem and the options of a call.
#[derive(Clone, Debug)]
pub struct Case<P> {
    /// The command.
    pub command: &'static str,
    /// The problem.
    pub problem: P,
    /// The options.
    pub settings: Settings,
}

impl<P: Problem> Case<P> {
    /// Returns cases that are smaller by one thing each, those with fewer options first.
    pub fn smaller(&self) -> Vec<Self> {
        let settings = self.settings.smaller().map(|settings| Case { settings, ..self.clone() });
        let problems = self.problem.smaller().into_iter().map(|problem| Case { problem, ..self.clone() });
        settings.chain(problems).collect()
    }

    /// Returns its call.
    pub fn call(&self) -> Call {
        self.call_with(self.settings.clone())
    }

    /// Returns its call with other options.
    pub fn call_with(&self, mut settings: Settings) -> Call {
        self.problem.complete(&mut settings);
        Call { command: self.command, files: self.problem.files(), settings }
    }

    /// Returns the call of another command on the same problem, without the case's options.
    pub fn call_of(&self, command: &'static str) -> Call {
        Call { command, ..self.call_with(Settings::default()) }
    }
}

/// A false claim or a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its kind: shrinking keeps it.
    pub kind: &'static str,
    /// What was claimed, and what is true.
    pub what: String,
}

/// What a check came to: how the call ended, in a word, or a fault.
pub type Verdict = Result<&'static str, Fault>;

/// A task of the solver, under test.
pub trait Task {
    /// What it is about.
    type Problem: Problem;

    /// Makes a random case.
    fn random(rng: &mut Rng) -> Case<Self::Problem>;

    /// Runs a case and checks every claim against enumeration or a second method.
    ///
    /// # Errors
    /// The first false claim.
    fn check(case: &Case<Self::Problem>, runner: &dyn Runner) -> Verdict;
}

/// Returns a fault.
pub fn fault<T>(kind: &'static str, what: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { kind, what: what.into() })
}

/// Returns a fault unless a claim holds.
pub fn claim(holds: bool, kind: &'static str, what: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { fault(kind, what()) }
}

/// What a call came to that ended without a failure.
pub enum Outcome {
    /// A report.
    Report(Box<Report>),
    /// None, for the reason that the word says.
    Nothing(&'static str),
}

/// Makes a call. `may_refuse` says whether the documentation lets the call be refused.
///
/// # Errors
/// A failure, and a refusal that has no reason.
pub fn run(runner: &dyn Runner, call: &Call, may_refuse: bool) -> Result<Outcome, Fault> {
    match runner.run(call) {
        Ended::Done(report) => Ok(Outcome::Report(report)),
        Ended::Limited(_) => Ok(Outcome::Nothing("limited")),
        Ended::Refused(_) if may_refuse => Ok(Outcome::Nothing("refused")),
        Ended::Refused(what) => fault("refused", what),
        Ended::Failed(what) => fault("failed", what),
    }
}
