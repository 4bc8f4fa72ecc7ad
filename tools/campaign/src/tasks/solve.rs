//! The task `solve`.

use super::claims::{any_network, check, check_certificate, may_refuse};
use crate::call::{Report, Runner, Settings};
use crate::network::{Network, one_of};
use crate::task::{Case, Outcome, Task, Verdict, claim, fault, run};
use fangs_base::rng::Rng;
use fangs_bounds::bounds::BoundChoice;
use fangs_heuristics as heuristics;
use fangs_search::DriverChoice;

/// The search for solutions.
pub struct Solve;

impl Task for Solve {
    type Problem = Network;

    fn random(rng: &mut Rng) -> Case<Network> {
        let problem = any_network(rng);
        let mut settings = Settings::default();
        if rng.below(100) < 80 {
            settings.set("rounds", one_of(rng, &[1, 1, 2, 3, 8]));
            settings.maybe(rng, 25, "threads", |_| 2);
        } else {
            settings.set("time", one_of(rng, &["10ms", "20ms", "40ms"]));
            settings.maybe(rng, 30, "threads", |_| 2);
        }
        settings.maybe(rng, 30, "seed", |rng| rng.below(1000));
        let drivers: Vec<_> = DriverChoice::all().map(|(driver, _)| driver.name()).collect();
        settings.maybe(rng, 70, "driver", |rng| one_of(rng, &drivers));
        // each round of this driver takes longer than the previous one
        if settings.get("driver") == Some("long-anneal") && settings.has("rounds") {
            settings.set("rounds", 1);
        }
        let takes_heuristic = settings.get("driver").is_none_or(|driver| driver == "portfolio");
        if settings.get("driver") == Some("guided") || takes_heuristic && rng.below(10) == 0 {
            let names: Vec<_> = heuristics::all().iter().map(|heuristic| heuristic.name().to_string()).collect();
            settings.set("heuristic", &names[rng.index(names.len())]);
        }
        let methods: Vec<_> = BoundChoice::all().map(|(name, _)| name).collect();
        settings.maybe(rng, 60, "bound", |rng| one_of(rng, &methods));
        let chosen = BoundChoice::all().find(|(name, _)| settings.get("bound") == Some(name));
        if chosen.is_none_or(|(_, method)| method.strategies().have_z()) {
            settings.maybe(rng, 20, "z", |rng| 1 + rng.below(5));
        }
        settings.maybe(rng, 20, "bound-memory", |rng| 1u64 << (6 + rng.below(18)));
        settings.maybe(rng, 30, "no-reduce", |_| "");
        settings.maybe(rng, 10, "population", |rng| 1 + rng.below(20));
        settings.maybe(rng, 10, "gap", |rng| one_of(rng, &["0.01", "0.3"]));
        settings.maybe(rng, 30, "certificate", |_| "");
        settings.maybe(rng, 20, "assert", |_| "");
        let start = |rng: &mut Rng| {
            let values = problem.domains.iter().map(|&domain| rng.below(domain.into()).to_string());
            values.collect::<Vec<_>>().join(",")
        };
        settings.maybe(rng, 15, "warm-start", start);
        Case { command: "solve", problem, settings }
    }

    fn check(case: &Case<Network>, runner: &dyn Runner) -> Verdict {
        let call = case.call();
        let report = match run(runner, &call, may_refuse(case))? {
            Outcome::Report(report) => report,
            Outcome::Nothing(why) => return Ok(why),
        };
        check(&case.problem, &report)?;
        check_start(case, &report)?;
        check_certificate(case, &report, runner)?;
        if case.settings.has("rounds") {
            let other = if case.settings.has("threads") { "1" } else { "2" };
            let again = case.call_with(case.settings.with("threads", other));
            let Outcome::Report(again) = run(runner, &again, false)? else {
                return fault("equal runs", format!("none with {other} threads"));
            };
            let of = |report: &Report| {
                (report.status.clone(), report.cost, report.bound, report.solution.clone(), report.work)
            };
            claim(of(&report) == of(&again), "equal runs", || {
                format!("{:?}; with {other} threads {:?}", of(&report), of(&again))
            })?;
        }
        Ok(match &report.status[..] {
            "optimal" => "optimal",
            "feasible" => "feasible",
            "infeasible" => "infeasible",
            _ => "unknown",
        })
    }
}

/// Checks that the result is not worse than the warm start.
fn check_start(case: &Case<Network>, report: &Report) -> Result<(), crate::task::Fault> {
    let network = &case.problem;
    let start = case.settings.numbers("warm-start");
    let Some(start) = start.filter(|start| start.len() == network.domains.len() && !network.form.is_product()) else {
        return Ok(());
    };
    let fits = start.iter().zip(&network.domains).all(|(value, domain)| value < domain);
    let Some(cost) = fits.then(|| network.cost(&start)).flatten() else { return Ok(()) };
    let found = report.cost.and_then(|found| network.units(found));
    claim(found.is_some_and(|found| found <= cost), "warm start", || format!("{found:?} is worse than {cost}"))
}
