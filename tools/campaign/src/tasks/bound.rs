//! The task `bound`.

use super::claims::{any_network, check, check_certificate, may_refuse};
use crate::call::{Runner, Settings};
use crate::network::{Network, one_of};
use crate::task::{Case, Outcome, Task, Verdict, run};
use fangs_base::rng::Rng;
use fangs_bounds::bounds::BoundChoice;
use fangs_elimination::order::Method;

/// Bounds by inference alone.
pub struct Bound;

impl Task for Bound {
    type Problem = Network;

    fn random(rng: &mut Rng) -> Case<Network> {
        let problem = any_network(rng);
        let mut settings = Settings::default();
        let methods: Vec<_> = BoundChoice::all().map(|(name, _)| name).filter(|name| *name != "none").collect();
        settings.maybe(rng, 85, "method", |rng| one_of(rng, &methods));
        let orders: Vec<_> = Method::ALL.iter().map(|(name, _)| *name).collect();
        settings.maybe(rng, 40, "order", |rng| one_of(rng, &orders));
        let chosen = BoundChoice::all().find(|(name, _)| settings.get("method") == Some(name));
        if chosen.is_none_or(|(_, method)| method.strategies().have_z()) {
            settings.maybe(rng, 50, "z", |rng| 1 + rng.below(5));
        }
        settings.maybe(rng, 30, "bound-memory", |rng| 1u64 << (6 + rng.below(18)));
        settings.maybe(rng, 50, "no-reduce", |_| "");
        settings.maybe(rng, 40, "certificate", |_| "");
        settings.set("time", one_of(rng, &["10ms", "100ms", "1000ms"]));
        Case { command: "bound", problem, settings }
    }

    fn check(case: &Case<Network>, runner: &dyn Runner) -> Verdict {
        let report = match run(runner, &case.call(), may_refuse(case))? {
            Outcome::Report(report) => report,
            Outcome::Nothing(why) => return Ok(why),
        };
        check(&case.problem, &report)?;
        check_certificate(case, &report, runner)?;
        Ok(if report.exact { "exact" } else { "bounded" })
    }
}
