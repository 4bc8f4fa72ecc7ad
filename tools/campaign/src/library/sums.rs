//! The command `marginals`.

use super::{observed, stop, time};
use crate::call::{Call, Report};
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_elimination::order::{Method, Ordering};
use fangs_formats::read_potentials_from;
use fangs_marginals::{Evidence, Marginals, Options, Prepared, PreparedMap, SumBounds, Sums, first_bound};
use fangs_search::seek;
use std::time::Instant;

/// Sums the product of potentials of a call.
pub fn run(call: &Call) -> Result<Report, Error> {
    let (file, settings) = (&call.files[0], &call.settings);
    let potentials = read_potentials_from(file.text.as_bytes(), "campaign", file.ending.parse()?, None, &Stop::new())?;
    let mut evidence = Evidence { values: observed(call), ..Evidence::default() };
    settings.get("soft").into_iter().try_for_each(|text| evidence.weigh(&potentials, text))?;
    let options = Options::default().with(|options| {
        options.seek = time(call).map(seek);
        options.memory = Some(settings.number("bound-memory").unwrap_or(1 << 28));
        options.variables = settings.numbers("variables");
        if settings.has("only-z") {
            options.variables = Some(Vec::new());
        }
        let order = settings.get("order").and_then(|name| Method::ALL.into_iter().find(|(own, _)| *own == name));
        order.into_iter().for_each(|(_, method)| options.order = Ordering::Rule(method));
    });
    let maximised = settings.numbers("maximize");
    // as in the command, values of marginal MAP come with its lower bound
    let seek = options.seek.filter(|_| maximised.is_none());
    let quick = options.clone().with(|options| options.seek = seek);
    // the first bound may take longer than the limit
    let first = time(call).map(|_| first_bound(&potentials, &evidence, &quick, &Stop::new())).transpose()?;
    let stop = stop(call);
    if let Some(maximised) = maximised {
        let prepared = match PreparedMap::new(&potentials, &evidence, &maximised, &options, &stop) {
            Err(Error::Stopped) if first.is_some() => return Ok(first.map_or_else(Report::default, bounded)),
            prepared => prepared?,
        };
        return match prepared.run(&stop) {
            Err(Error::Stopped) if first.is_some() => Ok(first.map_or_else(Report::default, bounded)),
            Ok(found) => {
                let mut report = exact(found.ln_value, found.error_bound);
                report.solution = (found.ln_value > f64::NEG_INFINITY).then_some(found.values);
                Ok(report)
            }
            Err(Error::Memory(_)) if time(call).is_some() => {
                let found = match prepared.bound(&stop, &mut |_| ()) {
                    Err(Error::Stopped) => return Ok(first.map_or_else(Report::default, bounded)),
                    found => found?,
                };
                let mut report = bounded(first.map_or(found.bounds, |first| first.and(found.bounds)));
                report.solution = (!found.values.is_empty()).then_some(found.values);
                Ok(report)
            }
            Err(error) => Err(error),
        };
    }
    let prepared = Prepared::new(&potentials, &evidence, &options, &stop);
    let until = time(call).map(|time| Instant::now() + time);
    let run = |mut prepared: Prepared| {
        until.into_iter().for_each(|until| prepared.end_at(until));
        prepared.run_within(&potentials, &evidence, &options, &stop, &mut |_| ())
    };
    match prepared.and_then(run) {
        Err(Error::Stopped) if first.is_some() => Ok(first.map_or_else(Report::default, bounded)),
        Ok(Sums::Exact(Marginals { ln_z, error_bound, posteriors, posterior_error, .. })) => {
            let posteriors = posteriors.into_iter().map(|own| own.map(Vec::from)).collect();
            Ok(Report { posteriors, posterior_error, ..exact(ln_z, error_bound) })
        }
        Ok(Sums::Bounds(last)) => Ok(bounded(first.map_or(last.bounds, |first| first.and(last.bounds)))),
        Err(error) => Err(error),
    }
}

fn exact(ln_z: f64, error: f64) -> Report {
    let status = if ln_z == f64::NEG_INFINITY { "impossible evidence" } else { "exact" };
    Report { status: status.into(), ln_z: Some(ln_z), error, ..Report::default() }
}

fn bounded(bounds: SumBounds) -> Report {
    let SumBounds { lower, upper, open_parts, .. } = bounds;
    let status = match (upper == f64::NEG_INFINITY, open_parts) {
        (true, _) => "impossible evidence",
        (_, 0) => "exact",
        _ => "bounds",
    };
    let mut report = Report { status: status.into(), interval: (Some(lower), Some(upper)), ..Report::default() };
    if status == "exact" {
        (report.ln_z, report.error) = (Some(lower / 2.0 + upper / 2.0), upper - lower);
    }
    report
}
