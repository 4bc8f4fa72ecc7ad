//! The task `decide` for influence diagrams.

use crate::call::{Report, Runner, Settings};
use crate::diagram::Diagram;
use crate::network::one_of;
use crate::task::{Case, Fault, Outcome, Task, Verdict, claim, run};
use fangs_base::rng::Rng;

/// Influence diagrams.
pub struct Diagrams;

/// Checks the claims about the largest expected utility: the policy's value, the bound, and whether they are equal.
///
/// # Errors
/// The first false claim.
pub fn check_utility(report: &Report, best: f64, scale: f64) -> Result<(), Fault> {
    let off = report.error + 1e-9 * scale;
    let (found, bound) = report.interval;
    claim(found.is_none_or(|found| found <= best + off), "utility", || {
        format!("{found:?}, no policy has more than {best}")
    })?;
    claim(bound.is_none_or(|bound| bound >= best - off), "bound", || format!("{bound:?} is below {best}"))?;
    claim(!report.exact || found.is_some_and(|found| found >= best - off), "exact", || {
        format!("{found:?} is said to be the best, {best} is")
    })?;
    let worth = report.ln_z.zip(found);
    claim(worth.is_none_or(|(worth, found)| (worth - found).abs() <= off), "policy", || format!("{worth:?}"))
}

impl Task for Diagrams {
    type Problem = Diagram;

    fn random(rng: &mut Rng) -> Case<Diagram> {
        let problem = loop {
            let diagram = Diagram::random(rng);
            if !diagram.forgets || diagram.policies() <= 3000.0 {
                break diagram;
            }
        };
        let mut settings = Settings::default();
        let methods = if problem.forgets { ["auto", "spu"] } else { ["auto", "eliminate"] };
        settings.maybe(rng, 50, "method", |rng| one_of(rng, &methods));
        settings.maybe(rng, 20, "bound-memory", |rng| 1u64 << (6 + rng.below(10)));
        settings.maybe(rng, 20, "exact-limit", |_| 1);
        settings.set("time", "2000ms");
        Case { command: "decide", problem, settings }
    }

    fn check(case: &Case<Diagram>, runner: &dyn Runner) -> Verdict {
        let report = match run(runner, &case.call(), false)? {
            Outcome::Report(report) => report,
            Outcome::Nothing(why) => return Ok(why),
        };
        check_utility(&report, case.problem.best(), case.problem.scale())?;
        Ok(if report.exact { "exact" } else { "bounded" })
    }
}
