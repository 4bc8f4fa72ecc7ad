//! Sums of products of two binary variables: `.qpbo` (of toulbar2), `.sparse` (of the Boolean least squares and BQP
//! collections) and `.coo` (the coordinate text of dimod).

mod write;

pub(super) use write::{write, write_sparse};

use super::cost_units::{Range, Unit};
use super::decimal::Real;
use super::limits::ANNOUNCED;
use super::options::{ReadOptions, Vartype};
use super::tokens::{Reach, Tokens};
use crate::error::Error;
use crate::model::{Builder, Network, Variable};
use rustc_hash::FxHashMap;

/// The meaning of the values 0 and 1 of the variables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Values 0 and 1.
    Binary,
    /// Spins +1, then -1.
    Spins,
    /// Spins -1, then +1.
    Ascending,
}

/// A quadratic sum before it becomes a network.
struct Quadratic {
    kind: Kind,
    maximise: bool,
    variables: usize,
    /// The terms of consecutive parts of the text.
    parts: Vec<Terms>,
}

/// Terms, and the distinct numbers in them, which are far fewer in most files.
#[derive(Default)]
struct Terms {
    /// Pairs of variables, with the same variable twice for a linear term, and the index of the coefficient in
    /// `values`.
    terms: Vec<([u32; 2], u32)>,
    values: Vec<Real>,
    places: FxHashMap<Real, u32>,
}

impl Terms {
    fn add(&mut self, pair: [u32; 2], value: Real) {
        let place = *self.places.entry(value).or_insert(self.values.len() as u32);
        if place as usize == self.values.len() {
            self.values.push(value);
        }
        self.terms.push((pair, place));
    }
}

/// Reads a `.qpbo` file: `n m`, then |m| triples `i j q` from 1. A negative n means spins, a negative m maximisation.
/// An entry off the diagonal counts twice, as in the symmetric matrix; one on the diagonal is linear.
pub(super) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let variables = tokens.integer("the number of variables")?;
    let count = tokens.integer("the number of entries")?;
    let kind = if variables < 0 { Kind::Spins } else { Kind::Binary };
    let variables = variables.unsigned_abs() as usize;
    let parts = read_entries(tokens, variables, count.unsigned_abs(), |_, _| true)?;
    Quadratic { kind, maximise: count < 0, variables, parts }.network(tokens, options)
}

/// Reads a `.sparse` file: `n m`, then m triples `i j q` from 1 with i <= j, the upper triangle of a symmetric matrix.
pub(super) fn read_sparse(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let variables = tokens.count("the number of variables")?;
    let count = tokens.count("the number of entries")? as u64;
    let parts = read_entries(tokens, variables, count, |i, j| i <= j)?;
    Quadratic { kind: Kind::Binary, maximise: false, variables, parts }.network(tokens, options)
}

fn read_entries(
    tokens: &mut Tokens<'_>,
    variables: usize,
    count: u64,
    fits: impl Fn(u32, u32) -> bool + Sync,
) -> Result<Vec<Terms>, Error> {
    let limit = u32::try_from(variables).unwrap_or(u32::MAX);
    let entry = |tokens: &mut Tokens<'_>, terms: &mut Terms| {
        let pair = [vertex(tokens, limit)?, vertex(tokens, limit)?];
        if !fits(pair[0], pair[1]) {
            return Err(tokens.error_with("a column of at least the row", "the upper triangle of the matrix"));
        }
        let value = tokens.real("a number")?;
        terms.add(pair, if pair[0] == pair[1] { value } else { value.times(2) });
        Ok(())
    };
    let (parts, read) = tokens.items(count, Reach::of_threads(), entry)?;
    if read < count {
        let _ = vertex(tokens, limit)?;
    }
    tokens.finish(|| format!("the first line announces {count} entries"))?;
    Ok(parts)
}

/// Consumes a number counted from 1, and returns it counted from 0.
pub(super) fn vertex(tokens: &mut Tokens<'_>, limit: u32) -> Result<u32, Error> {
    match tokens.integer("a variable")? {
        v if v >= 1 && v <= i64::from(limit) => Ok(v as u32 - 1),
        _ => Err(tokens.error(format!("a variable from 1 to {limit}"))),
    }
}

/// Reads a `.coo` file: triples `i j q` from 0, each of which counts once. A comment at the beginning states
/// `vartype=SPIN` or `vartype=BINARY`, unless an option does.
pub(super) fn read_coordinates(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let kind = match options.vartype {
        None => read_vartype(tokens)?,
        Some(Vartype::Binary) => Kind::Binary,
        Some(Vartype::Spin) => Kind::Ascending,
    };
    tokens.skip_comments();
    let (parts, _) = tokens.items(u64::MAX, Reach::of_threads(), |tokens, terms: &mut Terms| {
        let pair = [tokens.index(u32::MAX, "a variable")?, tokens.index(u32::MAX, "a variable")?];
        terms.add(pair, tokens.real("a number")?);
        Ok(())
    })?;
    let named = parts.iter().flat_map(|part| &part.terms).flat_map(|(pair, _)| pair);
    let variables = named.map(|&v| v as usize + 1).max().unwrap_or(0);
    Quadratic { kind, maximise: false, variables, parts }.network(tokens, options)
}

fn read_vartype(tokens: &mut Tokens<'_>) -> Result<Kind, Error> {
    let expected = "`# vartype=BINARY` or `# vartype=SPIN`";
    while tokens.peek()?.starts_with(b"#") {
        loop {
            let word = tokens.word(expected)?.to_ascii_uppercase();
            match word.strip_prefix(b"#").unwrap_or(&word) {
                b"VARTYPE=BINARY" => return Ok(Kind::Binary),
                b"VARTYPE=SPIN" => return Ok(Kind::Ascending),
                _ if tokens.at_line_end()? => break,
                _ => {}
            }
        }
    }
    let _ = tokens.word(expected)?;
    Err(tokens.error_with(expected, "--vartype binary or --vartype spin states the values of the variables otherwise"))
}

impl Quadratic {
    fn network(self, tokens: &Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
        let most = ANNOUNCED.max(2 * self.parts.iter().map(|part| part.terms.len()).sum::<usize>());
        if self.variables > most {
            let hint = format!("there are {}", self.variables);
            return Err(tokens.error_with(format!("at most {most} variables"), hint));
        }
        let mut range = Range::default();
        for Terms { terms, values, .. } in &self.parts {
            range.add_all(values, terms.iter().map(|&(_, place)| place as usize));
        }
        let mut unit = range.unit(tokens, options)?;
        let mut builder = Network::builder(tokens.file());
        for _ in 0..self.variables {
            let _ = builder.named_variable(Variable { domain: 2, name: None, values: self.kind.names() })?;
        }
        let mut known: [FxHashMap<Real, (u32, u64)>; 2] = Default::default();
        for Terms { terms, values, .. } in &self.parts {
            let mut of_part = vec![[None; 2]; values.len()];
            for term in tokens.stop().each(terms) {
                let &([i, j], place) = term?;
                let (value, kind) = (values[place as usize], usize::from(i == j));
                let first = &mut of_part[place as usize][kind];
                *first = first.or_else(|| known[kind].get(&value).copied());
                if let Some((first, rounded)) = *first {
                    unit.rounded += rounded;
                    let _ = builder.shared(&[i, j][kind..], first)?;
                    continue;
                }
                let before = unit.rounded;
                let added = (self.add(&mut builder, &mut unit, [i, j], value)?, unit.rounded - before);
                *first = Some(added);
                let _ = known[kind].insert(value, added);
            }
        }
        let _ = builder.units(unit.units(self.maximise));
        Ok(builder.build())
    }

    fn add(&self, builder: &mut Builder, unit: &mut Unit, [i, j]: [u32; 2], value: Real) -> Result<u32, Error> {
        let value = if self.maximise { value.times(-1) } else { value };
        let (zero, minus) = (Real::default(), value.times(-1));
        let function = match (self.kind, i == j) {
            (Kind::Binary, true) => builder.dense(&[i], unit.costs([zero, value]).into())?,
            (Kind::Spins, true) => builder.dense(&[i], unit.costs([value, minus]).into())?,
            (Kind::Ascending, true) => builder.dense(&[i], unit.costs([minus, value]).into())?,
            (Kind::Binary, false) => builder.dense(&[i, j], unit.costs([zero, zero, zero, value]).into())?,
            (_, false) => builder.dense(&[i, j], unit.costs([value, minus, minus, value]).into())?,
        };
        Ok(function)
    }
}

impl Kind {
    /// Returns the names of the values; `None` if they are their indices.
    fn names(self) -> Option<Box<[Box<str>]>> {
        match self {
            Kind::Binary => None,
            Kind::Spins => Some(["+1".into(), "-1".into()].into()),
            Kind::Ascending => Some(["-1".into(), "+1".into()].into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Units;
    use crate::stop::Stop;
    use crate::{Format, read_from};

    fn parse(text: &str, format: Format) -> Result<Network, Error> {
        read_from(text.as_bytes(), "t", format, &ReadOptions::default(), &Stop::new())
    }

    /// Returns the values of all assignments in the file's convention, the first variable varying fastest.
    fn values(network: &Network) -> Vec<f64> {
        let n = network.domains().len();
        let value = |bits: u32| {
            let assignment: Vec<u32> = (0..n).map(|v| bits >> v & 1).collect();
            let cost = network.functions().iter().map(|f| f.cost(network.domains(), &assignment)).sum();
            network.units().number(cost).as_f64()
        };
        (0..1 << n).map(value).collect()
    }

    #[test]
    fn signs_choose_values_and_sense() {
        let entries = "1 1 3\n1 2 -2\n2 1 1\n2 2 5\n";
        let binary = [0.0, 3.0, 5.0, 3.0 + 5.0 - 4.0 + 2.0];
        // spins in the order ++, -+, +-, --
        let spins = [8.0 - 2.0, 2.0 + 2.0, -2.0 + 2.0, -8.0 - 2.0];
        for (head, expected, maximise) in
            [("2 4", binary, false), ("2 -4", binary, true), ("-2 4", spins, false), ("-2 -4", spins, true)]
        {
            let network = parse(&format!("{head}\n{entries}"), Format::Qpbo).expect("a sum");
            assert_eq!(values(&network), expected, "{head}");
            assert_eq!(*network.units(), Units { decimals: 0, maximise, rounded: 0 });
        }
        let none = parse("0 0\n", Format::Qpbo).expect("an empty sum");
        assert_eq!(none.domains().len(), 0);
    }

    #[test]
    fn real_entries_are_exact_decimals() {
        let network = parse("2 3\n1 1 -0.125\n1 2 1e-2\n2 2 2.5", Format::Sparse).expect("a sum");
        assert_eq!(values(&network), [0.0, -0.125, 2.5, 2.395]);
        assert_eq!(*network.units(), Units { decimals: 3, maximise: false, rounded: 0 });
        let rounded = parse("1 2\n1 1 1e15\n1 1 0.12345", Format::Sparse).expect("a sum");
        assert_eq!(*rounded.units(), Units { decimals: 2, maximise: false, rounded: 1 });
        assert!(parse("1 1\n1 1 1e30", Format::Sparse).expect_err("too large").to_string().contains("64-bit"));
    }

    #[test]
    fn coordinates() {
        let binary = parse("# vartype=BINARY\n0 0 1.5\n0 1 -2\n", Format::Coo).expect("a sum");
        assert_eq!(values(&binary), [0.0, 1.5, 0.0, -0.5]);
        let spins = parse("# a model\n# vartype=SPIN\n0 0 1.5\n1 0 -2\n", Format::Coo).expect("a sum");
        assert_eq!(values(&spins), [-3.5, 3.5, 0.5, -0.5]);
        assert_eq!(spins.variables()[0].values.as_deref().map(|names| &*names[1]), Some("+1"));
    }

    #[test]
    fn an_option_states_the_values() {
        let text = "# a model\n0 0 1.5\n1 0 -2\n";
        let read = |vartype| {
            let options = ReadOptions::default().with(|options| options.vartype = vartype);
            read_from(text.as_bytes(), "t", Format::Coo, &options, &Stop::new())
        };
        assert_eq!(values(&read(Some(Vartype::Binary)).expect("a sum")), [0.0, 1.5, 0.0, -0.5]);
        assert_eq!(values(&read(Some(Vartype::Spin)).expect("a sum")), [-3.5, 3.5, 0.5, -0.5]);
        assert!(read(None).expect_err("no values").to_string().contains("--vartype spin"));
    }

    #[test]
    fn misfits() {
        for (text, format, part) in [
            ("2 1\n2 1 4", Format::Sparse, "2:3: found `1`, expected a column of at least the row"),
            ("2 1\n0 1 4", Format::Sparse, "2:1: found `0`, expected a variable from 1 to 2"),
            ("2 2\n1 1 4", Format::Sparse, "found the end of the file, expected a variable"),
            ("2 1\n1 1 4 1", Format::Qpbo, "2:7: found `1`, expected the end of the file (the first line"),
            ("-2 1\n1 3 4", Format::Qpbo, "2:3: found `3`, expected a variable from 1 to 2"),
            ("2 1\n1 1 x", Format::Qpbo, "2:5: found `x`, expected a number"),
            ("-9223372036854775808 0\n", Format::Qpbo, "expected at most 4194304 variables"),
            ("0 0 1\n", Format::Coo, "1:1: found `0`, expected `# vartype=BINARY`"),
            ("# vartype=SPIN\n0 -1 1\n", Format::Coo, "2:3: found `-1`"),
            ("# vartype=SPIN\n4000000000 0 1\n", Format::Coo, "expected at most 4194304 variables"),
        ] {
            let error = parse(text, format).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
