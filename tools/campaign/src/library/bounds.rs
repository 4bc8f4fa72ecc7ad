//! The command `bound`, and the enumeration of all solutions, which only the library offers.

use super::solve::{certificate, method};
use super::{decimal, network, stop};
use crate::call::{Call, Report};
use fangs_base::Error;
use fangs_bounds::bounds::{Proving, ProvingOptions, SolutionOptions};
use fangs_device::Choice;
use fangs_elimination::order::{Method, Ordering};
use std::ops::ControlFlow;

/// Proves bounds on the network of a call.
pub fn run(call: &Call) -> Result<Report, Error> {
    let (network, settings) = (network(call)?, &call.settings);
    let options = ProvingOptions::default().with(|options| {
        options.device = Choice::Cpu.into();
        options.reduce = !settings.has("no-reduce");
        options.bounder.certified = settings.has("certificate");
        options.bounder.memory = settings.number("bound-memory").unwrap_or(1 << 28);
        options.bounder.z = settings.number("z");
        settings.get("method").and_then(method).into_iter().for_each(|method| options.bounder.choice = method);
        let order = settings.get("order").and_then(|name| Method::ALL.into_iter().find(|(own, _)| *own == name));
        order.into_iter().for_each(|(_, method)| options.order = Ordering::Rule(method));
    });
    let (mut report, mut proving) = (Report::default(), Proving::new(&network, options));
    let ended = proving.run(&stop(call), &mut |proved, _| {
        report.bounds.extend(network.bound(proved.lower()).and_then(decimal));
        Ok(())
    });
    match ended {
        Err(error) if !error.is_stop() => return Err(error),
        _ => {}
    }
    let proved = proving.proved();
    let best = proved.known.incumbent();
    let is_infeasible = best.is_none() && proved.lower() >= network.top();
    report.status = if is_infeasible { "infeasible" } else { "bounded" }.into();
    report.exact = proved.exact;
    report.bound = network.bound(proved.lower()).and_then(decimal);
    report.bounds.extend(report.bound);
    report.cost = best.and_then(|best| decimal(best.value));
    report.solution = best.map(|best| best.assignment.to_vec());
    let shown = best.map(|best| best.value).zip(network.bound(proved.lower())).filter(|_| proved.exact);
    report.slack = network.units().precision_slack(shown);
    if settings.has("certificate") {
        let (bound, proof) = proved.known.proof();
        report.text = certificate(&network, *bound, report.solution.as_deref(), proof);
    }
    Ok(report)
}

/// Counts the solutions of the network of a call.
pub fn solutions(call: &Call) -> Result<Report, Error> {
    let (network, settings) = (network(call)?, &call.settings);
    let options = SolutionOptions::default().with(|options| {
        options.of = settings.numbers("of");
        options.memory = settings.number("bound-memory").unwrap_or(1 << 28);
        options.worst = settings.get("worst").and_then(fangs_model::model::Number::parse);
    });
    let mut report = Report::default();
    let all = fangs_bounds::bounds::solutions(&network, &options, &stop(call), &mut |_, evaluation| {
        report.count += 1;
        if !evaluation.is_solution() {
            report.status = "no solution".into();
        }
        ControlFlow::Continue(())
    })?;
    report.exact = all;
    Ok(report)
}
