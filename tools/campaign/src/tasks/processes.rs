//! The task `decide` for processes.

use super::diagrams::check_utility;
use crate::call::{Runner, Settings};
use crate::network::one_of;
use crate::process::Process;
use crate::task::{Case, Outcome, Task, Verdict, run};
use fangs_base::rng::Rng;

/// Partially observable processes.
pub struct Processes;

impl Task for Processes {
    type Problem = Process;

    fn random(rng: &mut Rng) -> Case<Process> {
        let mut settings = Settings::default();
        settings.maybe(rng, 70, "method", |rng| one_of(rng, &["auto", "belief-tree", "alpha", "eliminate"]));
        settings.maybe(rng, 20, "nodes", |rng| 1 + rng.below(8));
        settings.maybe(rng, 15, "bound-memory", |rng| 1u64 << (8 + rng.below(12)));
        settings.set("time", "2000ms");
        Case { command: "decide", problem: Process::random(rng), settings }
    }

    fn check(case: &Case<Process>, runner: &dyn Runner) -> Verdict {
        let report = match run(runner, &case.call(), false)? {
            Outcome::Report(report) => report,
            Outcome::Nothing(why) => return Ok(why),
        };
        check_utility(&report, case.problem.best(), 40.0)?;
        Ok(if report.exact { "exact" } else { "bounded" })
    }
}
