//! The formats `.uai` (`MARKOV` and `BAYES`) and `.LG`, which has natural logarithms of potentials instead of
//! potentials.
//!
//! A file has the kind, the number of variables, their domain sizes, the number of functions, and a line `arity
//! variables…` for each function. For each function, the number of its entries and the entries follow, the last
//! variable varying fastest.
//!
//! A potential p becomes the cost -ln p in units of 10^-decimals, rounded to the nearest; p = 0 is forbidden.

mod write;
mod writers;

pub(super) use write::{write, write_log};

use super::bayes::{Conditional, warn_of_sums};
use super::limits::Domains;
use super::options::ReadOptions;
use super::potential_costs::Parts;
use super::tokens::Tokens;
use crate::error::Error;
use crate::model::{Builder, Network, Notation, Numbers, Scale, Stated, Variable};
use crate::stop::Stop;
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use writers::{Reversed, warn_of_comments};

/// Reads a network of potentials.
pub(super) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    read_tables(tokens, options, Scale::Potentials)
}

/// Reads a network of logarithms of potentials. They are natural logarithms: the documentation of toulbar2, whose
/// format this is, says only "logarithm", but the optimum that it proves for its protein 1cb6 (132.406) is the plain
/// sum of the entries.
pub(super) fn read_log(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    read_tables(tokens, options, Scale::Logarithms)
}

/// Fixes variables to values. If the network has a witness with other values, its costs are recomputed from the file's
/// numbers with a witness that has these values.
///
/// # Errors
/// Returns an error if a variable or a value does not exist, or if numbers differ too much for 64-bit costs, and
/// [`Error::Stopped`] if `stop` is set.
pub fn observe(network: &mut Network, evidence: &[(u32, u32)], stop: &Stop) -> Result<(), Error> {
    if let Some(reading) = network.reading()
        && let Some(witness) = &reading.witness
        && evidence.iter().any(|&(variable, value)| witness.get(variable as usize).is_some_and(|&own| own != value))
    {
        let mut builder = Network::builder(network.name.clone());
        let _ = builder.notation(network.notation());
        for variable in network.variables() {
            let _ = builder.named_variable(variable.clone())?;
        }
        let functions = &network.functions()[..reading.functions.len()];
        let scopes = functions.iter().map(|function| function.scope[..].into()).collect();
        let (numbers, scale, precision) = (reading.functions.clone(), reading.scale, reading.precision);
        let parts = Parts { builder, scopes, numbers, scale, precision, fixed: evidence.into() };
        let mut again = parts.build(&network.name, stop)?;
        again.warn(network.warnings().iter().cloned());
        *network = again;
    }
    Ok(network.observe(evidence)?)
}

fn read_tables(tokens: &mut Tokens<'_>, options: &ReadOptions, scale: Scale) -> Result<Network, Error> {
    let parts = parse(tokens, scale)?;
    let (stop, file) = (tokens.stop(), tokens.file());
    Parts { precision: options.precision, ..parts }.build(file, stop)
}

/// Reads variables, scopes and numbers.
pub(super) fn parse(tokens: &mut Tokens<'_>, scale: Scale) -> Result<Parts, Error> {
    tokens.skip_comments();
    let is_bayes = read_kind(tokens)?;
    let mut builder = Network::builder(tokens.file());
    let _ = builder.notation(Notation::Mpe);
    let mut domains = Domains::default();
    let variables = tokens.count("the number of variables")?;
    for _ in 0..variables {
        let size = tokens.integer("a domain size")?;
        domains.declare(size, &mut builder, tokens)?;
    }
    let scopes = read_scopes(tokens, variables as u32)?;
    let mut reversed = Reversed::new(is_bayes && scale == Scale::Potentials);
    let mut distinct = Distinct::default();
    let mut numbers = Vec::new();
    let mut places = Vec::new();
    for (function, scope) in scopes.iter().enumerate() {
        let table = read_table(tokens, function, scope, &builder, scale)?;
        let last = scope.last().and_then(|&variable| builder.domain(variable));
        reversed.note(last.unwrap_or(1) as usize, table.doubles(), tokens.place());
        numbers.push(distinct.share(table));
        places.push(tokens.place());
    }
    warn_of_comments(tokens, &scopes);
    reversed.warn(tokens);
    if is_bayes && scale == Scale::Potentials && !reversed.is_certain() {
        let variables = builder.domains().iter().map(|&domain| Variable { domain, name: None, values: None });
        let variables: Vec<Variable> = variables.collect();
        let tables = scopes.iter().zip(&numbers).zip(places);
        let tables = tables.map(|((scope, numbers), place)| {
            let (scope, numbers) = (scope.clone(), numbers.clone());
            Conditional { scope, numbers, places: vec![place] }
        });
        warn_of_sums(&variables, tables, &mut |place, text| tokens.warn(place, text));
    }
    tokens.leave_rest(&format!("the last table (the file announces {})", scopes.len()))?;
    Ok(Parts { builder, scopes, numbers, scale, precision: None, fixed: Vec::new() })
}

/// The number of entries of a table that its hash covers.
const TOLD: usize = 16;

/// Tables by the hash of their first entries, so that equal ones are stored once. If different tables have one hash,
/// only the first is found.
#[derive(Default)]
struct Distinct(FxHashMap<u64, Arc<Numbers>>);

impl Distinct {
    fn share(&mut self, numbers: Numbers) -> Arc<Numbers> {
        let mut hasher = FxHasher::default();
        // the first entries distinguish most tables
        numbers.doubles().iter().take(TOLD).for_each(|double| double.to_bits().hash(&mut hasher));
        match self.0.entry(hasher.finish()) {
            Entry::Occupied(known) if **known.get() == numbers => known.get().clone(),
            Entry::Occupied(_) => numbers.into(),
            Entry::Vacant(new) => new.insert(numbers.into()).clone(),
        }
    }
}

/// Reads the kind. Returns whether the tables are conditional probabilities.
fn read_kind(tokens: &mut Tokens<'_>) -> Result<bool, Error> {
    let kind = tokens.word("MARKOV or BAYES")?.to_ascii_uppercase();
    match &kind[..] {
        b"MARKOV" | b"BAYES" => Ok(kind == b"BAYES"),
        b"ID" | b"LIMID" => Err(tokens.error_with("MARKOV or BAYES", "`fangs decide` solves influence diagrams")),
        _ => Err(tokens.error("MARKOV or BAYES")),
    }
}

pub(super) fn read_scopes(tokens: &mut Tokens<'_>, variables: u32) -> Result<Vec<Box<[u32]>>, Error> {
    let functions = tokens.count("the number of functions")?;
    let mut scopes = Vec::new();
    for _ in 0..functions {
        let arity = tokens.count("the arity of a function")?;
        if arity > variables as usize {
            return Err(tokens.error(format!("an arity of at most {variables}")));
        }
        let mut scope = Vec::new();
        for _ in 0..arity {
            let variable = tokens.index(variables, "a variable")?;
            // the builder checks long scopes, by sorting
            if arity <= 64 && scope.contains(&variable) {
                return Err(tokens.error("a variable that the function does not have yet"));
            }
            scope.push(variable);
        }
        scopes.push(scope.into());
    }
    Ok(scopes)
}

fn read_table(
    tokens: &mut Tokens<'_>,
    function: usize,
    scope: &[u32],
    builder: &Builder,
    scale: Scale,
) -> Result<Numbers, Error> {
    let sizes = scope.iter().filter_map(|&variable| builder.domain(variable));
    let combinations = sizes.fold(1u64, |n, size| n.saturating_mul(u64::from(size)));
    let entries = tokens.count("a number of entries")?;
    if entries as u64 != combinations {
        return Err(tokens.error(format!("{combinations} entries, as the scope of function {function} has it")));
    }
    // the number of entries is a mere claim of the file, so the table grows as its entries arrive
    let mut doubles = Vec::with_capacity(entries.min(1 << 12));
    let mut decimals = Vec::new();
    for place in 0..entries {
        match tokens.number("a potential")? {
            Stated::Double(double) if takes(scale, double) => doubles.push(double),
            Stated::Decimal(decimal) if scale == Scale::Potentials => {
                doubles.push(f64::NAN);
                decimals.push((place, decimal));
            }
            // too small to matter in a sum of logarithms
            Stated::Decimal(decimal) if decimal.exponent < 0 => doubles.push(0.0),
            _ => return Err(tokens.error(expected(scale))),
        }
    }
    Ok(Numbers::new(doubles, decimals))
}

/// Returns whether a table of this scale may contain the number.
fn takes(scale: Scale, double: f64) -> bool {
    match scale {
        Scale::Potentials => (0.0..f64::INFINITY).contains(&double),
        Scale::Logarithms => double < f64::INFINITY,
    }
}

fn expected(scale: Scale) -> &'static str {
    match scale {
        Scale::Potentials => "a finite potential of at least 0",
        Scale::Logarithms => "a log-potential: -inf, or a number in the range of doubles",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cost, FORBIDDEN, Number, Table, Units};
    use crate::stop::Stop;
    use crate::{Format, read_from};

    fn parse(text: &str, format: Format, precision: Option<u32>) -> Result<Network, Error> {
        let options = ReadOptions { precision, ..ReadOptions::default() };
        read_from(text.as_bytes(), "t.uai", format, &options, &Stop::new())
    }

    fn table(network: &Network, function: usize) -> Vec<Cost> {
        match &network.functions()[function].table {
            Table::Dense(costs) => costs.iter().collect(),
            Table::Sparse(_) => panic!("tables of potentials are dense"),
        }
    }

    #[test]
    fn potentials() {
        for kind in ["MARKOV", "BAYES", "bayes"] {
            let text = format!("{kind}\n2\n2 3\n3\n1 0\n2 0 1\n0\n\n2\n 0.5 5e-1\n\n6\n1 0 .25\n1 2 1e-300\n\n1 1.0\n");
            let network = parse(&text, Format::Uai, None).expect("a network");
            assert_eq!(network.domains(), &[2, 3]);
            assert_eq!(table(&network, 0), &[693_147_181; 2]);
            assert_eq!(table(&network, 1), &[0, FORBIDDEN, 1_386_294_361, 0, -693_147_181, 690_775_527_898]);
            assert_eq!(table(&network, 2), &[0]);
            assert_eq!(*network.units(), Units { decimals: 9, maximise: true, rounded: 3 });
        }
    }

    #[test]
    fn logarithms() {
        let network = parse("MARKOV 1 5 1 1 0 5 0 -0.0 -inf -1.531 2e-1", Format::Lg, Some(3)).expect("a network");
        assert_eq!(table(&network, 0), &[0, 0, FORBIDDEN, 1531, -200]);
        assert_eq!(*network.units(), Units { decimals: 3, maximise: true, rounded: 0 });
        let network = parse("MARKOV 1 1 1 1 0 1 -1.5316", Format::Lg, Some(3)).expect("a network");
        assert_eq!((table(&network, 0), network.units().rounded), (vec![1532], 2));
    }

    #[test]
    fn comments_and_what_follows_the_tables() {
        // as pyAgrum and merlin write it
        let text =
            "BAYES # a net\n2\n2 2\n2\n1 0   # rain\n2 0 1   # wet grass\n\n2\n  0.3 0.7 # P(rain)\n4\n 1 0 0.5 0.5\n";
        for format in [Format::Uai, Format::Lg] {
            let network = parse(text, format, None).expect("a network");
            assert_eq!((network.functions().len(), network.warnings()), (2, &[][..]));
        }
        let network = parse("MARKOV\n1\n2\n1\n1 0\n2\n1 2\n0\n2 0 1\n", Format::Uai, None).expect("a network");
        let warnings: Vec<String> = network.warnings().iter().map(ToString::to_string).collect();
        let told = "left unread after the last table (the file announces 1): 4 words, beginning with `0 2 0 1`";
        assert_eq!(warnings, [format!("t.uai:8:1: {told}")]);
    }

    #[test]
    fn orders_of_writers_that_differ_are_told() {
        let warnings = |text: &str| -> Vec<String> {
            let network = parse(text, Format::Uai, None).expect("a network");
            let warnings = network.warnings().iter().map(ToString::to_string);
            warnings.filter(|warning| !warning.contains("the probabilities of")).collect()
        };
        // as pgmpy writes P(x1 | x0) with the rows 0.1 0.2 0.7 and 0.5 0.25 0.25
        let reversed = warnings("BAYES\n2\n2 3\n2\n1 0\n2 0 1\n\n2\n0.3 0.7\n6\n0.1 0.5 0.2 0.25 0.7 0.25");
        assert!(reversed.len() == 1 && reversed[0].starts_with("t.uai:11:22: a BAYES table"), "{reversed:?}");
        assert!(warnings("BAYES 2 2 3 2 1 0 2 0 1 2 .3 .7 6 0.11 .2 .7 0 0 0").is_empty());
        assert!(warnings("BAYES 2 2 2 2 1 0 2 0 1 2 3 1 4 1 1 5 2").is_empty());
        assert!(warnings("MARKOV 1 2 1 1 0 2 3 7").is_empty());
        let ternary = "3\n2 2 1\n1\n3 0 1 2 # wet\n4\n.5 .5 .5 .5\n";
        let commented = warnings(&format!("MARKOV\n{ternary}"));
        assert!(commented.len() == 1 && commented[0].starts_with("t.uai:5:9: comments as pyAgrum"), "{commented:?}");
        assert!(warnings(&format!("MARKOV\n{}", ternary.replace("# wet", ""))).is_empty());
    }

    #[test]
    fn exact_tables_cost_no_precision() {
        let network = parse("MARKOV 1 2 1 1 0 2 0 1", Format::Uai, None).expect("a network");
        assert_eq!((network.units().rounded, network.units().precision_slack(None)), (0, 0.0));
    }

    #[test]
    fn digits_follow_the_range() {
        let decimals = |text: &str, asked| parse(text, Format::Lg, asked).expect("a network").units().decimals;
        assert_eq!(decimals("MARKOV 1 1 1 1 0 1 -1", Some(99)), 13);
        assert_eq!(decimals("MARKOV 1 1 1 1 0 1 -1e9", None), 4);
        assert_eq!(decimals("MARKOV 1 1 1 1 0 1 -300", None), 9);
        assert_eq!(decimals("MARKOV 1 1 1 1 0 1 -300", Some(0)), 0);
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("", "1:1: found the end of the file, expected MARKOV or BAYES"),
            ("LIMID 1", "1:1: found `LIMID`, expected MARKOV or BAYES (`fangs decide` solves"),
            ("MARKOV 1 0", "1:10: found `0`, expected a domain size of at least 1"),
            ("MARKOV 1 99999999999", "domains of at most"),
            ("MARKOV 99999999999 2 2", "found the end of the file"),
            ("MARKOV 1 2 99999999999 1 0", "found the end of the file"),
            ("MARKOV 1 2 1 99999999999 0", "expected an arity of at most 1"),
            ("MARKOV 2 2 2 1 2 1 1 4", "expected a variable that"),
            ("MARKOV 1 2 1 1 1 4", "expected a variable from 0 to 0"),
            ("MARKOV 1 2 1 1 0 99999999999 1", "found `99999999999`, expected 2 entries"),
            ("MARKOV 1 2 1 1 0 2 1", "found the end of the file, expected a potential"),
            ("MARKOV 1 2 1 1 0 2 1\n-1", "2:1: found `-1`, expected a finite potential"),
            ("MARKOV 1 2 1 1 0 2 1\nnan", "2:1: found `nan`"),
            ("MARKOV 1 2 1 1 0 2 1\ninf", "2:1: found `inf`"),
        ] {
            let error = parse(text, Format::Uai, None).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        for text in ["MARKOV 1 1 1 1 0 1 -1e-400", "MARKOV 1 1 1 1 0 1 -0.1"] {
            assert!(
                parse(text, Format::Uai, None).expect_err(text).to_string().contains("expected a finite potential")
            );
        }
        for word in ["inf", "-1e400", "1e400", "nan"] {
            let text = format!("MARKOV 1 1 1 1 0 1 {word}");
            assert!(parse(&text, Format::Lg, None).expect_err(word).to_string().contains("expected a log-potential"));
        }
    }

    #[test]
    fn potentials_out_of_the_range_of_doubles() {
        let text = "MARKOV 1 6 1 1 0 6 1e-400 5e-324 0 1e400 0e-500 12.5e-310";
        let network = parse(text, Format::Uai, None).expect("a network");
        let costs = [921_034_037_198, 744_428_132_218, FORBIDDEN, -921_034_037_198, FORBIDDEN, 711_275_650_184];
        assert_eq!(table(&network, 0), costs);
        crate::check::verify(&network).expect("what the file states");
        let network = parse("MARKOV 1 2 1 1 0 2 1e-400 -0.0", Format::Lg, None).expect("a network");
        assert_eq!((table(&network, 0), network.units().rounded), (vec![0, 0], 0));
    }

    /// The best assignment of x0, x1 is 1 1, of value -3.5; -1e20 means impossible.
    const FAR: &str = "MARKOV 2 2 2 2 1 0 2 0 1 2 -0.25 -2.5 4 -1e20 -1e20 -3 -1";

    #[test]
    fn entries_that_no_good_assignment_uses() {
        let network = parse(FAR, Format::Lg, None).expect("a network");
        assert_eq!(table(&network, 1), &[FORBIDDEN, FORBIDDEN, 3_000_000_000, 1_000_000_000]);
        assert_eq!(network.units().decimals, 9);
        assert_eq!(network.reading().and_then(|reading| reading.witness.as_deref()), Some(&[1, 1][..]));
        crate::check::verify(&network).expect("the witness says why");
        assert_eq!(
            crate::check::evaluate(&network, &[0, 1]).value(&network, &[0, 1]),
            Some(Number::Real(-1e20)),
            "the file forbids nothing"
        );
        for far in ["MARKOV 1 2 1 1 0 2 -1e20 1e20", "MARKOV 2 2 2 1 2 0 1 4 1e15 0.5 0.25 -1e15"] {
            let network = parse(far, Format::Lg, None);
            let kept = network.map(|network| network.units().decimals);
            assert!(kept.is_err(), "{far}: {kept:?}");
        }
        let network = parse("MARKOV 1 2 1 1 0 2 -123456789012345 0", Format::Lg, None).expect("exact");
        assert_eq!((table(&network, 0), network.units().rounded), (vec![FORBIDDEN, 0], 0));
    }

    #[test]
    fn evidence_leads_to_another_witness() {
        let mut network = parse(FAR, Format::Lg, None).expect("a network");
        let error = network.clone().observe(&[(0, 0)]).expect_err("far from the witness").to_string();
        assert!(error.contains("evidence 0 of variable 0"), "{error}");
        let all = network.clone();
        let refused = observe(&mut network, &[(0, 0)], &Stop::new()).expect_err("all of it is far").to_string();
        assert!(refused.contains("differ too much"), "{refused}");
        let mut network = all;
        observe(&mut network, &[(1, 0)], &Stop::new()).expect("near 1 0");
        assert_eq!(table(&network, 1)[2], 3_000_000_000);
        assert_eq!(network.functions().len(), 3);
        crate::check::verify(&network).expect("the witness says why");
    }

    #[test]
    fn costs_that_are_not_those_of_the_file_are_found() {
        let network =
            parse("MARKOV 2 2 2 2 1 0 2 0 1 2 0.25 0.5 4 0.1 0 1e-400 1", Format::Uai, None).expect("a network");
        let reading = network.reading().expect("a reading").clone();
        let with = |change: &dyn Fn(&mut Vec<Vec<Cost>>, &mut Units)| {
            let mut costs = vec![table(&network, 0), table(&network, 1)];
            let mut units = *network.units();
            change(&mut costs, &mut units);
            let mut builder = Network::builder("changed");
            for _ in 0..2 {
                let _ = builder.variable(2).expect("a variable");
            }
            for (function, costs) in network.functions().iter().zip(costs) {
                let _ = builder.dense(&function.scope, costs).expect("a table");
            }
            let _ = builder.units(units).reading(reading.clone());
            crate::check::verify(&builder.build())
        };
        with(&|_, _| ()).expect("nothing was changed");
        for (what, error) in [
            ("up", with(&|costs, _| costs[0][0] += 1)),
            ("down", with(&|costs, _| costs[1][0] -= 1)),
            ("allowed", with(&|costs, _| costs[1][1] = 0)),
            ("forbidden", with(&|costs, _| costs[1][2] = FORBIDDEN)),
            ("small", with(&|costs, _| costs[1][2] += 2)),
            ("slack", with(&|_, units| units.rounded = 2)),
        ] {
            let _ = error.expect_err(what);
        }
    }
}
