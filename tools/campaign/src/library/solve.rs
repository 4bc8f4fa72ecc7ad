//! The command `solve`.

use super::{decimal, network, time};
use crate::call::{Call, Report};
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_bounds::bounds::BoundChoice;
use fangs_check::evaluate;
use fangs_device::Choice;
use fangs_heuristics as heuristics;
use fangs_model::model::{Network, Number};
use fangs_search::{Assertions, DriverChoice, Options, solve};

/// Solves the network of a call.
pub fn run(call: &Call) -> Result<Report, Error> {
    let network = network(call)?;
    let options = options(call);
    let mut report = Report::default();
    let mut last: Option<Number> = None;
    let summary = solve(&network, &options, &Stop::new(), &mut |event| {
        if let Some(bound) = event.bound.filter(|bound| last.is_none_or(|last| last.distance(*bound) != 0.0)) {
            last = Some(bound);
            report.bounds.extend(decimal(bound));
        }
    })?;
    report.bounds.extend(summary.bound.and_then(decimal));
    report.status = summary.status.name().into();
    (report.cost, report.bound) = (summary.cost.and_then(decimal), summary.bound.and_then(decimal));
    report.slack = summary.precision_slack;
    report.work = (summary.rounds, summary.moves);
    if options.certificate {
        let (bound, proof) = &summary.proof;
        report.text = certificate(&network, *bound, summary.least.as_deref(), proof);
    }
    report.solution = summary.solution;
    Ok(report)
}

/// Returns the text of a certificate.
pub fn certificate(
    network: &Network,
    bound: i64,
    solution: Option<&[u32]>,
    proof: &fangs_bounds::bounds::Proof,
) -> Option<String> {
    let solution = solution.map(|values| (evaluate(network, values).cost, values));
    proof.certificate(network, bound, solution).to_text().ok()
}

fn options(call: &Call) -> Options {
    let settings = &call.settings;
    let mut options = Options {
        device: Choice::Cpu.into(),
        time: time(call),
        rounds: settings.number("rounds"),
        seed: settings.number("seed").unwrap_or(1),
        threads: Some(settings.number("threads").unwrap_or(1)),
        population: settings.number("population"),
        z: settings.number("z"),
        bound_memory: settings.number("bound-memory"),
        gap: settings.number("gap"),
        target: settings.get("target").and_then(Number::parse),
        reduce: !settings.has("no-reduce"),
        certificate: settings.has("certificate"),
        ..Options::default()
    };
    if settings.has("assert") {
        options.assertions = Assertions::Assignment;
    }
    options.heuristic = settings.get("heuristic").and_then(heuristics::find);
    if let Some(driver) = settings.get("driver").and_then(DriverChoice::named) {
        options.driver = driver;
    }
    if let Some(method) = settings.get("bound").and_then(method) {
        options.bound = method;
    }
    if let Some(start) = settings.numbers("warm-start") {
        options.warm_starts = vec![start.into_iter().map(Some).collect()];
    }
    options
}

/// Returns the bound method with a name.
pub fn method(name: &str) -> Option<BoundChoice> {
    BoundChoice::all().find(|(own, _)| *own == name).map(|(_, choice)| choice)
}
