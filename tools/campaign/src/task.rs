//! The interface of tasks. A new task is a file below `tasks` that implements [`Task`], and a line of
//! [`TASKS`](crate::tasks::TASKS).

use crate::call::{Call, Ended, File, Report, Runner, Settings};
use fangs_base::rng::Rng;

/// A problem that can be written to files and made smaller.
pub trait Problem: Clone + Send {
    /// Returns problems with one reduction each, those that lose most first.
    fn smaller(&self) -> Vec<Self>;

    /// Returns the files of the problem; the command line names the first one.
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
    /// Returns cases with one reduction each, those with fewer options first.
    pub fn smaller(&self) -> Vec<Self> {
        let settings = self.settings.smaller().map(|settings| Case { settings, ..self.clone() });
        let problems = self.problem.smaller().into_iter().map(|problem| Case { problem, ..self.clone() });
        settings.chain(problems).collect()
    }

    /// Returns the call of the case.
    pub fn call(&self) -> Call {
        self.call_with(self.settings.clone())
    }

    /// Returns the call of the case with other options.
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
    /// The kind of the fault, which shrinking preserves.
    pub kind: &'static str,
    /// The claim, and the truth.
    pub what: String,
}

/// The result of a check: the end of the call in a word, or a fault.
pub type Verdict = Result<&'static str, Fault>;

/// A task of the solver that is tested.
pub trait Task {
    /// The problems of the task.
    type Problem: Problem;

    /// Returns a random case.
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

/// Returns a fault if a claim is false.
pub fn claim(holds: bool, kind: &'static str, what: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { fault(kind, what()) }
}

/// The outcome of a call that did not fail.
pub enum Outcome {
    /// A report.
    Report(Box<Report>),
    /// There is no report, for the reason that the word states.
    Nothing(&'static str),
}

/// Runs a call. `may_refuse` says whether the documentation allows the solver to refuse the call.
///
/// # Errors
/// A failure, and a refusal without a reason.
pub fn run(runner: &dyn Runner, call: &Call, may_refuse: bool) -> Result<Outcome, Fault> {
    match runner.run(call) {
        Ended::Done(report) => Ok(Outcome::Report(report)),
        Ended::Limited(_) => Ok(Outcome::Nothing("limited")),
        Ended::Refused(_) if may_refuse => Ok(Outcome::Nothing("refused")),
        Ended::Refused(what) => fault("refused", what),
        Ended::Failed(what) => fault("failed", what),
    }
}
