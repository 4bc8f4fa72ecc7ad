//! Conversion of networks to another format: they are written, read again and compared.

use crate as formats;
use crate::error::Error;
use crate::list::Format;
use crate::model::{Cost, CostFunction, FORBIDDEN, Network, Number, Units};
use crate::options::ReadOptions;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::{check, terminal};
use rayon::prelude::*;
use std::io::ErrorKind;
use std::path::Path;

/// The maximum number of assignments at which the written network is compared with the original.
const COMPARED: u64 = 1000;

/// The least number of function evaluations of these comparisons, and the number of entries up to which tables are
/// compared in full: some tenths of a second.
const LOOKS: u64 = 10_000_000;

/// A network converted to another format.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The contents of the file.
    pub text: Vec<u8>,
    /// The network that is read from these contents.
    pub again: Network,
    /// The number of decimal digits by which its costs are scaled up, if decimals became integers.
    pub scale: u32,
}

/// Converts a network to `format`, reads the result and compares both. `path` names the result in messages.
///
/// # Errors
/// Returns an error if the format cannot be written or cannot hold the network, and [`Error::Stopped`] if `stop` is
/// set.
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
    let cannot_hold = |why: &str| {
        let network = terminal::path(Path::new(&network.name));
        Error::Usage(format!("{network}: .{name} cannot hold its costs: {why}"))
    };
    let again = formats::read_from(&text[..], &path.to_string_lossy(), format, options, stop);
    let again = again.map_err(|error| match error {
        Error::Stopped => error,
        // the text is correct, but this format does not keep the numbers within 64 bits
        Error::Usage(why) => cannot_hold(&why),
        error => Error::Internal(format!("what was written cannot be read: {error}")),
    })?;
    let has_witness = |network: &Network| network.reading().is_some_and(|reading| reading.witness.is_some());
    if has_witness(&again) && !has_witness(network) {
        return Err(cannot_hold("they differ so much that the largest ones would be forbidden"));
    }
    let scale = if format == Format::Wcsp { network.units().decimals } else { 0 };
    compare(network, &again, scale).map_err(|what| Error::Internal(format!("written wrong: {what}")))?;
    Ok(Converted { text, again, scale })
}

/// Compares two networks, the second with costs of `scale` more digits. Tables are compared entry by entry, and costs
/// at random assignments, half of which are repaired so that fewer functions are violated. If the format changes
/// functions, for example to pairs of Boolean variables, only the assignments are compared: in large networks they
/// evaluate each entry eight times on average.
fn compare(network: &Network, again: &Network, scale: u32) -> Result<(), String> {
    if network.domains() != again.domains() {
        return Err("it has other variables".into());
    }
    let (own, other) = (network.units(), again.units());
    let is_exact = scale > 0 || own.decimals == other.decimals && other.rounded == 0;
    let entries: u64 = network.functions().iter().map(|function| function.table.size() as u64).sum();
    let most = COMPARED.min((8 * entries).max(LOOKS) / network.function_count().max(1) as u64).max(2);
    let (most, differing) = match compare_tables(network, again, is_exact) {
        Tables::Same => (2, Vec::new()),
        Tables::Differ(entry) => (most, entry),
        Tables::Others => (most, Vec::new()),
    };
    let compared = (0..most).into_par_iter().map(|index| {
        let mut rng = Rng::new(index);
        let mut assignment: Vec<u32> =
            network.domains().iter().map(|&domain| rng.below(u64::from(domain)) as u32).collect();
        if index % 2 == 1 {
            repair(network, &mut assignment);
        }
        if index % 4 < 2 {
            differing.iter().for_each(|&(variable, value)| assignment[variable as usize] = value);
        }
        let [one, two] = [network, again].map(|network| {
            let evaluation = check::evaluate(network, &assignment);
            // every infeasible assignment counts as forbidden, whatever its stated cost
            let is_solution = evaluation.cost < network.top();
            let cost = if is_solution { evaluation.cost } else { FORBIDDEN };
            (cost, evaluation.value(network, &assignment).filter(|_| is_solution))
        });
        let sign = |maximise: bool| if maximise { -1.0 } else { 1.0 };
        let equal = match (one, two) {
            _ if is_exact => one.0 == two.0,
            ((FORBIDDEN.., None), (FORBIDDEN.., None)) => true,
            ((_, Some(a)), (_, Some(b))) => {
                let (a, b) = (a.as_f64() * sign(own.maximise), b.as_f64() * sign(other.maximise));
                are_near(a, b, own.precision_slack(None) + other.precision_slack(None))
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

/// The result of comparing the tables of two networks.
#[derive(Debug, PartialEq, Eq)]
enum Tables {
    /// Scopes, their order, and entries are equal.
    Same,
    /// Scopes are equal and an entry differs; it is given by its variables and values. Another function may compensate
    /// for it.
    Differ(Vec<(u32, u32)>),
    /// The tables cannot be compared: scopes or limits differ, or there are global functions or very large tables.
    Others,
}

fn compare_tables(network: &Network, again: &Network, is_exact: bool) -> Tables {
    let both = |holds: fn(&Network) -> bool| holds(network) && holds(again);
    let same_limit = is_exact && network.top() == again.top() || both(|network| !formats::may_reach_top(network));
    let (ours, others, domains) = (network.functions(), again.functions(), network.domains());
    let pairs = || ours.par_iter().zip(others);
    let is_same =
        |one: &CostFunction, two: &CostFunction| is_exact && network.top() == again.top() && one.table == two.table;
    let is_listed = |function: &CostFunction| function.combinations(domains) <= LOOKS;
    if !same_limit
        || !both(|network| network.globals().len() == 0)
        || ours.len() != others.len()
        || !pairs().all(|(one, two)| one.scope == two.scope && (is_same(one, two) || is_listed(one)))
    {
        return Tables::Others;
    }
    // a rounded entry is off by half a unit at most
    let slack = |units: &Units| if units.rounded > 0 { 0.5 / units.scale() } else { 0.0 };
    let (own, other) = (network.units(), again.units());
    // entries that reach the limit are not forbidden if negative ones compensate for them
    let differ = |(one, two): (Cost, Cost)| match (one >= FORBIDDEN, two >= FORBIDDEN) {
        (false, false) if is_exact => one != two,
        (false, false) => !are_near(one as f64 / own.scale(), two as f64 / other.scale(), slack(own) + slack(other)),
        (one, two) => one != two,
    };
    let differing = pairs().filter(|(one, two)| !is_same(one, two)).find_map_first(|(one, two)| {
        let mut entries = one.entries(domains).zip(two.entries(domains));
        let mut number = entries.position(differ)?;
        let values = one.scope.iter().rev().map(|&variable| {
            let domain = domains[variable as usize] as usize;
            let value = number % domain;
            number /= domain;
            (variable, value as u32)
        });
        Some(values.collect())
    });
    differing.map_or(Tables::Same, Tables::Differ)
}

/// Returns whether two values are equal up to rounding.
fn are_near(a: f64, b: f64, slack: f64) -> bool {
    (a - b).abs() <= slack + a.abs().max(b.abs()) * (f64::EPSILON * 64.0)
}

/// Changes one variable of each violated function, if that satisfies the function.
fn repair(network: &Network, assignment: &mut [u32]) {
    let domains = network.domains();
    for function in network.all_functions() {
        if check::function_cost(function, domains, assignment) < FORBIDDEN {
            continue;
        }
        // change one variable so that the function is satisfied
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a network of four variables with ten values each, and a function of the first one and a function of all.
    fn network(single: impl Fn(usize) -> Cost, all: impl Fn(usize) -> Cost) -> Network {
        let mut builder = Network::builder("four");
        let variables: Vec<u32> = (0..4).map(|_| builder.variable(10).expect("values")).collect();
        let _ = builder.dense(&variables[..1], (0..10).map(single).collect()).expect("ten entries");
        let _ = builder.dense(&variables, (0..10_000).map(all).collect()).expect("ten thousand entries");
        builder.build()
    }

    /// One differing entry of ten thousand is found; costs for which another function compensates are no error.
    #[test]
    fn one_wrong_entry_is_found() {
        let cost = |entry: usize| if entry % 10 == 3 { FORBIDDEN } else { entry as Cost % 7 };
        let own = network(|value| value as Cost, cost);
        let at = vec![(3, 8), (2, 7), (1, 6), (0, 5)];
        let wrong = |entry, more| network(|value| value as Cost, move |e| if e == entry { more } else { cost(e) });
        for again in [wrong(5678, cost(5678) + 1), wrong(5678, FORBIDDEN)] {
            assert_eq!(compare_tables(&own, &again, true), Tables::Differ(at.clone()));
            assert!(compare(&own, &again, 0).unwrap_err().contains("an assignment had"));
        }
        assert!(compare(&own, &wrong(5673, 0), 0).is_err());
        assert_eq!(compare_tables(&own, &wrong(5678, cost(5678)), true), Tables::Same);
        assert_eq!(compare(&own, &wrong(5678, cost(5678)), 0), Ok(()));
        let moved = network(
            |value| if value == 5 { 0 } else { value as Cost },
            |e| if cost(e) < FORBIDDEN && e / 1000 == 5 { cost(e) + 5 } else { cost(e) },
        );
        assert!(matches!(compare_tables(&own, &moved, true), Tables::Differ(_)));
        assert_eq!(compare(&own, &moved, 0), Ok(()));
    }

    /// A table has a hundred million combinations, one of which is listed.
    #[test]
    fn tables_too_large_to_list_are_compared_as_they_are_stored() {
        let network = |cost| {
            let mut builder = Network::builder("large");
            let variables: Vec<u32> = (0..4).map(|_| builder.variable(100).expect("values")).collect();
            let _ = builder.sparse(&variables, 0, vec![1, 2, 3, 4], vec![cost]).expect("one entry");
            builder.build()
        };
        assert_eq!(compare_tables(&network(7), &network(7), true), Tables::Same);
        assert_eq!(compare_tables(&network(7), &network(8), true), Tables::Others);
        assert_eq!(compare(&network(7), &network(7), 0), Ok(()));
    }

    /// An entry above the limit is not forbidden if a negative entry always compensates for it.
    #[test]
    fn entries_that_pass_the_limit_keep_their_costs() {
        let options = ReadOptions::default();
        let text = "{{t <10.0} {2} { {[0] [12.0 3.0]} {[0] [-4.0 -4.0]} }}";
        let network = formats::read_from(text.as_bytes(), "t", Format::Cfn, &options, &Stop::new()).expect("a network");
        for format in [Format::Uai, Format::Lg] {
            let found = convert(&network, format, &options, Path::new("out"), &Stop::new()).expect("it fits");
            assert!(check::evaluate(&found.again, &[0]).is_solution(), "{format:?}");
        }
        let mut builder = Network::builder("forbidding");
        let v = builder.variable(2).expect("values");
        let _ = builder.dense(&[v], vec![120, FORBIDDEN]).expect("two entries");
        let _ = builder.dense(&[v], vec![-40, -40]).expect("two entries");
        let _ = builder.top(100);
        let (own, mut other) = (builder.clone().build(), Network::builder("other"));
        let v = other.variable(2).expect("values");
        let _ = other.dense(&[v], vec![FORBIDDEN, FORBIDDEN]).expect("two entries");
        let _ = other.dense(&[v], vec![-40, -40]).expect("two entries");
        let _ = other.top(100);
        assert!(compare(&own, &other.build(), 0).is_err());
    }

    /// In YAML, all costs that reach the limit share one key, and constants keep their digits or are refused.
    #[test]
    fn limits_and_long_numbers_in_yaml_and_clauses() {
        let found = |text: &str, format: Format, to: Format| {
            let options = ReadOptions::default();
            let network = formats::read_from(text.as_bytes(), "t", format, &options, &Stop::new()).expect(text);
            convert(&network, to, &options, Path::new("out"), &Stop::new())
        };
        let forbidding = "t 1 3 1 5\n3\n1 0 0 3\n0 7\n1 9\n2 8\n";
        let passing = "{{t <9.0} {3} { {[0] [2.0 9.5 11.0]} }}";
        assert!(found(forbidding, Format::Wcsp, Format::Yaml).is_ok());
        assert!(found(passing, Format::Cfn, Format::Yaml).is_ok());
        for (text, format, to, part) in [
            ("{{t <9.0} {3} { {[0] [2.0 9.5 11.0]} {[] [-1.0]} }}", Format::Cfn, Format::Yaml, "negative ones make up"),
            ("t 1 1 1 900000000000000000\n1\n0 140737488355328001 0\n", Format::Wcsp, Format::Yaml, "15 digits"),
            (
                "t 1 2 2 144115188075855900\n2\n1 0 0 1\n1 72057594037927936\n1 0 0 1\n1 72057594037927936\n",
                Format::Wcsp,
                Format::Wcnf,
                "weights that total 144115188075855872",
            ),
        ] {
            let error = found(text, format, to).expect_err(part);
            assert!(error.is_input() && error.to_string().contains(part), "{error}");
        }
    }

    /// Costs of 2^57 cannot have three decimal digits in 64 bits: this is a limit of the format and not a bug.
    #[test]
    fn costs_that_a_format_cannot_hold_are_refused() {
        let mut builder = Network::builder("large");
        let variable = builder.variable(2).expect("values");
        let _ = builder.dense(&[variable], vec![0, 1 << 57]).expect("two entries");
        let options = ReadOptions::default();
        let found = convert(&builder.build(), Format::Lg, &options, Path::new("large.LG"), &Stop::new());
        let error = found.expect_err("no room");
        assert!(error.is_input() && error.to_string().contains(".LG cannot hold its costs"), "{error}");
    }
}
