//! The task `dcop`.

use super::claims::{any_network, check};
use crate::call::{Runner, Settings};
use crate::network::{Network, one_of};
use crate::task::{Case, Outcome, Task, Verdict, claim, run};
use fangs_base::rng::Rng;

/// Distributed problems, solved by agents.
pub struct Dcop;

impl Task for Dcop {
    type Problem = Network;

    fn random(rng: &mut Rng) -> Case<Network> {
        let problem = any_network(rng);
        let mut settings = Settings::default();
        let algorithm = one_of(rng, &["dpop", "dpop", "adpop", "dsa", "mgm", "max-sum"]);
        settings.set("algorithm", algorithm);
        match algorithm {
            "adpop" => settings.maybe(rng, 80, "z", |rng| 1 + rng.below(4)),
            "dpop" => settings.maybe(rng, 40, "message-limit", |rng| 1 + rng.below(20)),
            _ => settings.maybe(rng, 50, "cycles", |rng| 1 + rng.below(30)),
        }
        settings.maybe(rng, 30, "seed", |rng| rng.below(1000));
        if algorithm == "adpop" || algorithm == "dpop" && !settings.has("message-limit") {
            settings.maybe(rng, 30, "mode", |_| "agents");
        }
        Case { command: "dcop", problem, settings }
    }

    fn check(case: &Case<Network>, runner: &dyn Runner) -> Verdict {
        let network = &case.problem;
        let report = match run(runner, &case.call(), network.may_be_refused())? {
            Outcome::Report(report) => report,
            Outcome::Nothing(why) => return Ok(why),
        };
        check(network, &report)?;
        let settings = &case.settings;
        let is_exact = settings.get("algorithm").is_none_or(|name| name == "dpop") && !settings.has("z");
        // rounded logarithms may make several assignments equally good
        if is_exact && !network.form.is_product() {
            // messages of limited size support costs of 48 bits; for larger costs the result is `unknown`
            let limited = settings.has("message-limit") && report.status == "unknown";
            let ended = limited || report.status == "optimal" || report.status == "infeasible";
            claim(ended, "dpop", || format!("the exact algorithm ends with {}", report.status))?;
        }
        Ok(match &report.status[..] {
            "optimal" => "optimal",
            "bounded" => "bounded",
            "infeasible" => "infeasible",
            _ => "unknown",
        })
    }
}
