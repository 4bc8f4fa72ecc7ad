//! The task `marginals`: sums, posteriors and marginal MAP.

use crate::call::{Report, Runner, Settings};
use crate::network::{Form, Network, Shape, happens, one_of};
use crate::number::Wide;
use crate::task::{Case, Fault, Outcome, Task, Verdict, claim, run};
use fangs_base::rng::Rng;
use fangs_elimination::order::Method;
use std::collections::BTreeMap;

/// Sums over all assignments.
pub struct Sums;

/// Largest sums (marginal MAP).
pub struct LargestSums;

fn random(rng: &mut Rng, settings: &mut Settings) -> Network {
    let form = one_of(rng, &[Form::Uai, Form::Uai, Form::Lg]);
    let large = happens(rng, 20);
    let shape = Shape {
        form,
        variables: if large { 14 } else { 7 },
        assignments: if large { 20_000 } else { 600 },
        globals: false,
    };
    settings.maybe(rng, 50, "bound-memory", |rng| 1u64 << (2 + rng.below(18)));
    settings.set("time", one_of(rng, &["10ms", "50ms", "200ms"]));
    crate::network::network(rng, shape)
}

/// Checks the claims of a report about the logarithm of a sum.
fn check_sum(network: &Network, report: &Report, sum: Wide) -> Result<(), Fault> {
    let (ln, off) = (sum.ln(), own_error(network));
    let (lower, upper) = report.interval;
    claim(lower.is_none_or(|lower| lower <= ln + off), "lower bound", || format!("{lower:?} of {ln}"))?;
    claim(upper.is_none_or(|upper| upper >= ln - off), "upper bound", || format!("{upper:?} of {ln}"))?;
    claim(report.status != "impossible evidence" || sum.is_zero(), "impossible evidence", || format!("ln Z is {ln}"))?;
    let Some(found) = report.ln_z.filter(|_| !sum.is_zero() && report.status == "exact") else { return Ok(()) };
    claim((found - ln).abs() <= report.error + off, "sum", || {
        format!("{found} within {:e} is said to be the logarithm, {ln} is", report.error)
    })?;
    claim(report.error <= 1e-6, "error bound", || format!("{:e} of an exact sum", report.error))
}

/// Returns the largest error of the campaign's own logarithms: entries of `.LG` are exponentiated in doubles.
fn own_error(network: &Network) -> f64 {
    if network.form == Form::Lg {
        network.roundoff()
    } else {
        8.0 * f64::EPSILON * (1.0 + network.roundoff() / f64::EPSILON / 64.0)
    }
}

impl Task for Sums {
    type Problem = Network;

    fn random(rng: &mut Rng) -> Case<Network> {
        let mut settings = Settings::default();
        let problem = random(rng, &mut settings);
        let orders: Vec<_> = Method::ALL.iter().map(|(name, _)| *name).collect();
        settings.maybe(rng, 20, "order", |rng| one_of(rng, &orders));
        settings.maybe(rng, 40, "only-z", |_| "");
        settings.maybe(rng, 15, "soft", |rng| {
            let v = rng.index(problem.domains.len());
            let weights: Vec<String> = (0..problem.domains[v]).map(|_| weight(rng)).collect();
            format!("{v}={}", weights.join(":"))
        });
        Case { command: "marginals", problem, settings }
    }

    fn check(case: &Case<Network>, runner: &dyn Runner) -> Verdict {
        let network = &case.problem;
        let report = match run(runner, &case.call(), false)? {
            Outcome::Report(report) => report,
            Outcome::Nothing(why) => return nothing(case, why),
        };
        let weights = soft(&case.settings);
        let mut sum = Wide::ZERO;
        let mut parts: Vec<Vec<Wide>> = network.domains.iter().map(|&d| vec![Wide::ZERO; d as usize]).collect();
        network.for_each(|values| {
            let weight = weights.as_ref().map_or(Wide::ONE, |(v, weights)| weights[values[*v] as usize]);
            let product = network.product(values).times(weight);
            sum = sum.plus(product);
            for (parts, &value) in parts.iter_mut().zip(values) {
                parts[value as usize] = parts[value as usize].plus(product);
            }
        });
        check_sum(network, &report, sum)?;
        let off = report.posterior_error + 2.0 * own_error(network) + 4.0 * f64::EPSILON;
        for (v, (posterior, parts)) in report.posteriors.iter().zip(&parts).enumerate() {
            for (value, (&found, part)) in posterior.iter().flatten().zip(parts).enumerate() {
                let right = part.part_of(sum);
                claim((found - right).abs() <= off * right + f64::MIN_POSITIVE, "posterior", || {
                    format!("value {value} of variable {v}: {found}, right is {right} within {off:e}")
                })?;
            }
        }
        Ok(ended(&report))
    }
}

/// Bytes of tables with which a run with a time limit always returns an interval.
const ENOUGH: u64 = 1 << 16;

/// Returns the end of a call without a report; a fault if its memory suffices for an interval.
fn nothing(case: &Case<Network>, why: &'static str) -> Verdict {
    let memory = case.settings.number("bound-memory").unwrap_or(ENOUGH);
    claim(memory < ENOUGH || !case.settings.has("time"), "no interval", || why.into())?;
    Ok(why)
}

fn weight(rng: &mut Rng) -> String {
    one_of(rng, &["0", "1", "0.5", "2.375", "1e-300", "1e300"]).into()
}

/// Returns the variable and the weights of `--soft`.
fn soft(settings: &Settings) -> Option<(usize, Vec<Wide>)> {
    let (v, weights) = settings.get("soft")?.split_once('=')?;
    let weights = weights.split(':').map(|weight| Some(Wide::of(crate::number::Decimal::parse(weight)?)));
    Some((v.parse().ok()?, weights.collect::<Option<_>>()?))
}

fn ended(report: &Report) -> &'static str {
    match &report.status[..] {
        "exact" => "exact",
        "bounds" => "interval",
        _ => "impossible",
    }
}

impl Task for LargestSums {
    type Problem = Network;

    fn random(rng: &mut Rng) -> Case<Network> {
        let mut settings = Settings::default();
        let problem = random(rng, &mut settings);
        let chosen = (0..problem.domains.len()).filter(|_| happens(rng, 40)).map(|v| v.to_string());
        settings.set("maximize", chosen.collect::<Vec<_>>().join(","));
        Case { command: "marginals", problem, settings }
    }

    fn check(case: &Case<Network>, runner: &dyn Runner) -> Verdict {
        let network = &case.problem;
        let n = network.domains.len() as u32;
        let Some(maximised) = case.settings.numbers("maximize").filter(|all| all.iter().all(|&v| v < n)) else {
            return Ok("refused");
        };
        let report = match run(runner, &case.call(), false)? {
            Outcome::Report(report) => report,
            Outcome::Nothing(why) => return nothing(case, why),
        };
        let mut sums: BTreeMap<Vec<u32>, Wide> = BTreeMap::new();
        network.for_each(|values| {
            let own = maximised.iter().map(|&v| values[v as usize]).collect();
            let sum = sums.entry(own).or_insert(Wide::ZERO);
            *sum = sum.plus(network.product(values));
        });
        let most = sums.values().copied().max().unwrap_or(Wide::ZERO);
        check_sum(network, &report, most)?;
        if let Some(values) = &report.solution {
            let own = sums.get(values).copied().unwrap_or(Wide::ZERO).ln();
            let at_least = if report.status == "exact" { report.ln_z } else { report.interval.0 };
            let off = report.error + own_error(network);
            claim(at_least.is_none_or(|least| own >= least - off), "values", || {
                format!("{values:?} are said to have at least {at_least:?}, they have {own}")
            })?;
        }
        Ok(ended(&report))
    }
}
