//! Networks in another format: written, read again and compared.

use crate::error::Error;
use crate::formats::{self, Format, ReadOptions};
use crate::model::{Cost, FORBIDDEN, Network, Number};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::{check, terminal};
use rayon::prelude::*;
use std::io::ErrorKind;
use std::path::Path;

/// Assignments at which the written network is compared with the one read, at most.
const COMPARED: u64 = 1000;

/// Functions that all of it looks at together, where there are fewer entries: some tenths of a second.
const LOOKS: u64 = 10_000_000;

/// A network in another format.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The text of the file.
    pub text: Vec<u8>,
    /// The network that it holds.
    pub again: Network,
    /// Its costs have so many digits more: integers in place of decimals.
    pub scale: u32,
}

/// Writes a network as `format`, reads that again and compares. `path` is its name in messages.
///
/// # Errors
/// A format that is not written or does not hold the network; [`Error::Stopped`].
pub fn convert(
    network: &Network,
    format: Format,
    options: &ReadOptions,
    path: &Path,
    stop: &Stop,
) -> Result<Converted, Error> {
    let name = format.info().name;
    let mut text = Vec::new();
    formats::write(network, format, &mut text).map_err(|error| match error.kind() {
        ErrorKind::InvalidInput => {
            Error::Usage(format!("{}: .{name} cannot hold {error}", terminal::path(Path::new(&network.name))))
        }
        ErrorKind::Unsupported => Error::Usage(error.to_string()),
        _ => Error::Io { path: path.into(), action: "cannot write", source: error },
    })?;
    let again = formats::read_from(&text[..], &path.to_string_lossy(), format, options, stop);
    let again = again.map_err(|error| match error {
        Error::Stopped => error,
        error => Error::Internal(format!("what was written cannot be read: {error}")),
    })?;
    let scale = if format == Format::Wcsp { network.units().decimals } else { 0 };
    compare(network, &again, scale).map_err(|what| Error::Internal(format!("written wrong: {what}")))?;
    Ok(Converted { text, again, scale })
}

/// Compares two networks at random assignments, half of them repaired, so that fewer functions are violated: of large
/// networks at so many that they look at functions as often as there are entries. The costs of the second one have
/// `scale` digits more.
fn compare(network: &Network, again: &Network, scale: u32) -> Result<(), String> {
    if network.domains() != again.domains() {
        return Err("it has other variables".into());
    }
    let (own, other) = (network.units(), again.units());
    let entries: u64 = network.functions().iter().map(|function| function.table.size() as u64).sum();
    let most = entries.max(LOOKS) / network.function_count().max(1) as u64;
    let compared = (0..COMPARED.min(most).max(2)).into_par_iter().map(|index| {
        let mut rng = Rng::new(index);
        let mut assignment: Vec<u32> =
            network.domains().iter().map(|&domain| rng.below(u64::from(domain)) as u32).collect();
        if index % 2 == 1 {
            repair(network, &mut assignment);
        }
        let [one, two] = [network, again].map(|network| {
            let evaluation = check::evaluate(network, &assignment);
            // what is no solution is forbidden, whatever it says that it costs
            let is_solution = evaluation.cost < network.top();
            let cost = if is_solution { evaluation.cost } else { FORBIDDEN };
            (cost, evaluation.value(network, &assignment).filter(|_| is_solution))
        });
        let sign = |maximise: bool| if maximise { -1.0 } else { 1.0 };
        let equal = match (one, two) {
            _ if scale > 0 || own.decimals == other.decimals && own.rounded + other.rounded == 0 => one.0 == two.0,
            ((FORBIDDEN.., None), (FORBIDDEN.., None)) => true,
            ((_, Some(a)), (_, Some(b))) => {
                let (a, b) = (a.as_f64() * sign(own.maximise), b.as_f64() * sign(other.maximise));
                let slack = network.units().precision_slack(None) + again.units().precision_slack(None);
                (a - b).abs() <= slack + a.abs().max(b.abs()) * (f64::EPSILON * 64.0)
            }
            _ => false,
        };
        let shown = |(cost, value): (Cost, Option<Number>)| {
            value.map_or_else(
                || if cost >= FORBIDDEN { "forbidden".into() } else { cost.to_string() },
                |v| v.to_string(),
            )
        };
        if equal { Ok(()) } else { Err(format!("an assignment had {} and now has {}", shown(one), shown(two))) }
    });
    compared.collect()
}

/// Changes a variable of each violated function, where that helps it.
fn repair(network: &Network, assignment: &mut [u32]) {
    let domains = network.domains();
    for function in network.all_functions() {
        if check::function_cost(function, domains, assignment) < FORBIDDEN {
            continue;
        }
        // a combination that the function allows, by one variable
        'function: for &v in function.scope() {
            let before = assignment[v as usize];
            for value in 0..domains[v as usize] {
                assignment[v as usize] = value;
                if check::function_cost(function, domains, assignment) < FORBIDDEN {
                    break 'function;
                }
            }
            assignment[v as usize] = before;
        }
    }
}
