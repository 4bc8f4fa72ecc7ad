//! Checks of claims about solutions and bounds against the optimum by enumeration.

use crate::call::{Report, Runner};
use crate::network::{Costs, Form, Network, Shape, happens, one_of};
use crate::number::{Decimal, Wide};
use crate::task::{Case, Fault, Outcome, claim, fault, run};
use fangs_base::rng::Rng;

/// Returns a random network of any format that is small enough for enumeration.
pub fn any_network(rng: &mut Rng) -> Network {
    let cfn = Form::Cfn { decimals: one_of(rng, &[0, 0, 1, 3, 9]), maximise: happens(rng, 50) };
    let form = one_of(rng, &[Form::Wcsp, Form::Wcsp, Form::Wcsp, cfn, cfn, Form::Uai, Form::Lg]);
    let shape = Shape { form, variables: 7, assignments: 1500, globals: form == Form::Wcsp && happens(rng, 30) };
    crate::network::network(rng, shape)
}

/// Returns whether the documentation allows the solver to refuse a call: because of the network's magnitudes, because
/// the heuristic does not support the network, because the result would have no certificate, or because linear
/// programming finds no sum that can be violated.
pub fn may_refuse(case: &Case<Network>) -> bool {
    let settings = &case.settings;
    let has_globals = case.problem.functions.iter().any(|function| matches!(function.costs, Costs::Global(_)));
    let method = settings.get("bound").or(settings.get("method"));
    let is_uncertified = settings.has("certificate") && (has_globals || method == Some("cores"));
    let needs_sums = method == Some("linear");
    settings.has("heuristic") || is_uncertified || needs_sums || case.problem.may_be_refused()
}

/// Checks the claims of a report about a network's optimum.
///
/// # Errors
/// The first false claim.
pub fn check(network: &Network, report: &Report) -> Result<(), Fault> {
    if network.form.is_product() { check_product(network, report) } else { check_costs(network, report) }
}

fn check_costs(network: &Network, report: &Report) -> Result<(), Fault> {
    let best = network.optimum().cost;
    let shown = |cost: Option<i128>| cost.map_or("no solution".into(), |cost| network.number(cost).to_string());
    let units = |number: Decimal, kind| match network.units(number) {
        Some(units) => Ok(units),
        None => fault(kind, format!("{number} is no whole number of units")),
    };
    let cost = report.cost.map(|cost| units(cost, "cost")).transpose()?;
    claim(report.slack == 0.0, "slack", || format!("{}, but the costs are exact", report.slack))?;
    if let Some(cost) = cost {
        let Some(solution) = &report.solution else { return fault("solution", "a cost without a solution") };
        claim(solution.len() == network.domains.len(), "solution", || format!("{solution:?}"))?;
        let own = network.cost(solution);
        claim(own == Some(cost), "cost", || {
            format!("{solution:?} is said to cost {}, right is {}", shown(Some(cost)), shown(own))
        })?;
    }
    for &bound in &report.bounds {
        let bound = units(bound, "bound")?;
        claim(best.is_none_or(|best| bound <= best), "bound", || {
            format!("{} is beyond the optimum {}", shown(Some(bound)), shown(best))
        })?;
    }
    let proved = report.status == "optimal" || report.exact && report.status != "infeasible";
    if proved {
        claim(report.exact || cost.is_some(), "optimal", || "without a solution".into())?;
        claim(cost.is_none() || cost == best, "optimal", || {
            format!("{} is said to be optimal, {} is", shown(cost), shown(best))
        })?;
        let bound = report.bound.map(|bound| units(bound, "bound")).transpose()?;
        claim(bound == best || best.is_none(), "exact", || {
            format!("the bound {} is said to be the optimum {}", shown(bound), shown(best))
        })?;
    }
    claim(report.status != "infeasible" || best.is_none(), "infeasible", || format!("{} is there", shown(best)))
}

fn check_product(network: &Network, report: &Report) -> Result<(), Fault> {
    let mut most = Wide::ZERO;
    network.for_each(|values| most = most.max(network.product(values)));
    let (best, off) = (most.ln(), network.roundoff());
    if let Some(cost) = report.cost {
        let Some(solution) = &report.solution else { return fault("solution", "a value without a solution") };
        let (own, cost) = (network.product(solution).ln(), cost.as_f64());
        claim((own - cost).abs() <= off, "cost", || format!("{solution:?} is said to have {cost}, right is {own}"))?;
    }
    for bound in report.bounds.iter().map(|bound| bound.as_f64()) {
        claim(bound >= best - off, "bound", || format!("{bound} is below the optimum {best}"))?;
    }
    if report.status == "optimal" {
        let cost = report.cost.map_or(f64::NEG_INFINITY, Decimal::as_f64);
        claim(cost >= best - report.slack - off, "optimal", || {
            format!("{cost} is said to be optimal within {}, {best} is", report.slack)
        })?;
    }
    claim(report.status != "infeasible" || most.is_zero(), "infeasible", || format!("{best} is there"))
}

/// Verifies the certificate of a report, if there is one, and checks its claim.
///
/// # Errors
/// A certificate that is refused, or whose bound exceeds the optimum.
pub fn check_certificate(case: &Case<Network>, report: &Report, runner: &dyn Runner) -> Result<(), Fault> {
    let Some(text) = &report.text else { return Ok(()) };
    let mut call = case.call_of("check");
    call.settings.set("certificate", text);
    match run(runner, &call, false) {
        Ok(Outcome::Report(found)) => {
            let found = Report { bounds: found.bound.into_iter().collect(), ..Report::default() };
            check(&case.problem, &found).map_err(|fault| Fault { kind: "certificate proves too much", ..fault })
        }
        Ok(Outcome::Nothing(_)) => Ok(()),
        Err(Fault { what, .. }) => fault("certificate refused", what),
    }
}
