//! The task of all solutions: a call of the library that no command offers.

use super::claims::any_network;
use crate::call::{Runner, Settings};
use crate::network::Network;
use crate::task::{Case, Outcome, Task, Verdict, claim, run};
use fangs_base::rng::Rng;
use std::collections::BTreeSet;

/// Enumeration of solutions.
pub struct Solutions;

impl Task for Solutions {
    type Problem = Network;

    fn random(rng: &mut Rng) -> Case<Network> {
        let problem = loop {
            let network = any_network(rng);
            // a limit on the costs of products would have to allow for rounding
            if !network.form.is_product() {
                break network;
            }
        };
        let mut settings = Settings::default();
        settings.maybe(rng, 30, "of", |rng| {
            let chosen = (0..problem.domains.len()).filter(|_| rng.below(2) == 0).map(|v| v.to_string());
            chosen.collect::<Vec<_>>().join(",")
        });
        settings.maybe(rng, 40, "worst", |rng| {
            let best = problem.optimum().cost.unwrap_or(0);
            problem.number(best + i128::from(rng.below(4)))
        });
        settings.maybe(rng, 30, "bound-memory", |rng| 1u64 << (8 + rng.below(16)));
        Case { command: "solutions", problem, settings }
    }

    fn check(case: &Case<Network>, runner: &dyn Runner) -> Verdict {
        let report = match run(runner, &case.call(), case.problem.may_be_refused())? {
            Outcome::Report(report) => report,
            Outcome::Nothing(why) => return Ok(why),
        };
        let network = &case.problem;
        let all: Vec<u32> = (0..network.domains.len() as u32).collect();
        let of = case.settings.numbers("of").filter(|of| of.iter().all(|v| all.contains(v))).unwrap_or(all);
        let worst = case.settings.get("worst").and_then(crate::number::Decimal::parse);
        let worst = worst.and_then(|worst| network.units(worst)).unwrap_or(i128::MAX);
        let mut found = BTreeSet::new();
        network.for_each(|values| {
            if network.cost(values).is_some_and(|cost| cost <= worst) {
                let _ = found.insert(of.iter().map(|&v| values[v as usize]).collect::<Vec<_>>());
            }
        });
        let count = found.len() as u64;
        claim(report.status.is_empty(), "solution", || report.status.clone())?;
        claim(report.exact, "solutions", || "not all, though nothing stopped them".into())?;
        claim(report.count == count, "solutions", || format!("{} are told, {count} are there", report.count))?;
        Ok("counted")
    }
}
