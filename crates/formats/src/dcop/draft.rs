//! The common part of the formats of distributed problems: named variables, costs as real numbers, agents.

use crate::error::Error;
use crate::memory;
use crate::model::{Agents, Builder, Cost, FORBIDDEN, Network, Notation, Units, Variable};
use crate::stop::Stop;
use rustc_hash::FxHashMap;

/// The maximum number of entries of all tables of a file together.
pub(super) const ENTRIES: u64 = 100_000_000;
/// The maximum number of values of all variables of a file together.
pub(super) const VALUES: u64 = 1 << 24;

/// The default maximum number of decimal digits of costs.
const DECIMALS: u32 = 9;
/// The largest maximum number of decimal digits that can be requested.
const MOST_DECIMALS: u32 = 15;

/// The strict upper limit of the sum over the functions of their largest absolute costs, far below [`FORBIDDEN`].
const LARGEST_SUM: f64 = (1u64 << 57) as f64;

/// The relative tolerance (absolute below 1) within which a double counts as a decimal. It covers the rounding errors
/// of expressions (`0.7 * 3` is 2.0999999999999996) and is far below the last digit that is kept.
const ARITHMETIC: f64 = 1.0 / (1u64 << 44) as f64;
/// The largest rounding error, in units of the last digit, that can be distinguished from a digit.
const MOST_OFF: f64 = 0.25;
/// The number below which the digits of a decimal, read as an integer, are determined by its double: 15 digits.
const DIGITS: f64 = 1e15;
/// The number below which doubles hold all integers.
const LARGEST: f64 = (1u64 << 53) as f64;

/// A network while its file is read.
pub(super) struct Draft {
    pub variables: Vec<Variable>,
    /// The index of each variable, by name.
    pub places: FxHashMap<Box<str>, u32>,
    pub maximise: bool,
    /// The strict limit on the value of solutions: an upper limit, or a lower limit if the problem is maximised.
    pub limit: Option<f64>,
    functions: Vec<DraftFunction>,
    values: u64,
    entries: u64,
}

/// A function while its file is read.
struct DraftFunction {
    name: Box<str>,
    scope: Box<[u32]>,
    numbers: Numbers,
}

/// A table of numbers; an infinite number forbids its combination.
enum Numbers {
    Dense(Vec<f64>),
    Listed { default: f64, tuples: Vec<u32>, numbers: Vec<f64> },
}

impl Draft {
    pub fn new(maximise: bool) -> Self {
        let (variables, functions) = (Vec::new(), Vec::new());
        Draft { variables, places: FxHashMap::default(), maximise, limit: None, functions, values: 0, entries: 0 }
    }

    /// Returns the number that forbids a combination.
    pub fn forbidden(&self) -> f64 {
        if self.maximise { f64::NEG_INFINITY } else { f64::INFINITY }
    }

    /// Checks that a number can be a cost; otherwise returns what is expected.
    pub fn admits(&self, number: f64) -> Result<(), String> {
        if number.is_finite() || number == self.forbidden() {
            return Ok(());
        }
        let infinite = if self.maximise { "-infinity" } else { "infinity" };
        Err(format!("a number, or {infinite} for what is forbidden"))
    }

    /// Adds a variable. Returns its index, or `None` if its name is taken or there are too many values.
    pub fn variable(&mut self, name: &str, values: Box<[Box<str>]>) -> Option<u32> {
        let index = self.variables.len() as u32;
        self.values += values.len() as u64;
        if self.values > VALUES || self.places.contains_key(name) {
            return None;
        }
        let _ = self.places.insert(name.into(), index);
        self.variables.push(Variable { domain: values.len() as u32, name: Some(name.into()), values: Some(values) });
        Some(index)
    }

    /// Returns the index of a variable's value by its name in the file.
    pub fn value(&self, variable: u32, name: &str) -> Option<u32> {
        let values = self.variables[variable as usize].values.as_deref()?;
        let exact = values.iter().position(|known| &**known == name);
        // 1 and 1.0 are equal values
        let number = || name.parse::<f64>().ok();
        let equal = || number().and_then(|n| values.iter().position(|known| known.parse::<f64>() == Ok(n)));
        exact.or_else(equal).map(|place| place as u32)
    }

    /// Returns the number of combinations of a scope's values and counts them as entries; `None` if there are too many
    /// entries.
    pub fn room(&mut self, scope: &[u32]) -> Option<usize> {
        let sizes = scope.iter().map(|&v| u64::from(self.variables[v as usize].domain));
        let entries = sizes.fold(1u64, u64::saturating_mul);
        self.has_room(entries).then_some(entries as usize)
    }

    /// Counts `entries` more entries. Returns whether the total is within the limit.
    pub fn has_room(&mut self, entries: u64) -> bool {
        self.entries = self.entries.saturating_add(entries);
        self.entries <= ENTRIES
    }

    fn function(&mut self, name: &str, scope: Vec<u32>, numbers: Numbers) {
        self.functions.push(DraftFunction { name: name.into(), scope: scope.into(), numbers });
    }

    /// Adds a function with a number for each combination of values, the last variable varying fastest.
    pub fn dense(&mut self, name: &str, scope: Vec<u32>, numbers: Vec<f64>) {
        self.function(name, scope, Numbers::Dense(numbers));
    }

    /// Adds a function given by a default number and the combinations that differ from it; if a combination occurs
    /// several times, its last number counts.
    pub fn listed(
        &mut self,
        name: &str,
        scope: Vec<u32>,
        default: f64,
        tuples: Vec<u32>,
        numbers: Vec<f64>,
    ) -> Result<(), Error> {
        let sizes: Vec<usize> = scope.iter().map(|&v| self.variables[v as usize].domain as usize).collect();
        let entries = sizes.iter().fold(1usize, |product, &size| product.saturating_mul(size));
        // use a dense table if it is not much larger
        if entries > 64 && entries / 4 > numbers.len() {
            self.function(name, scope, Numbers::Listed { default, tuples, numbers });
            return Ok(());
        }
        let mut table = Vec::new();
        memory::reserve(&mut table, entries)?;
        table.resize(entries, default);
        for (tuple, &number) in tuples.chunks(scope.len().max(1)).zip(&numbers) {
            table[tuple.iter().zip(&sizes).fold(0, |index, (&value, &size)| index * size + value as usize)] = number;
        }
        self.dense(name, scope, table);
        Ok(())
    }

    /// Returns the network, with costs in units of the least power of ten that all numbers need.
    ///
    /// # Errors
    /// Returns an error if numbers are too large for 64 bits, and [`Error::Stopped`] if `stop` is set.
    pub fn build(self, name: &str, agents: Agents, precision: Option<u32>, stop: &Stop) -> Result<Network, Error> {
        let (decimals, rounded) = self.decimals(name, precision, stop)?;
        let mut builder = Network::builder(name);
        for variable in stop.each(self.variables) {
            let _ = builder.named_variable(variable?)?;
        }
        let most = most_digits(precision);
        let sign = if self.maximise { -1.0 } else { 1.0 };
        let cost = |number: f64| if number.is_finite() { units(number * sign, decimals, most) } else { FORBIDDEN };
        for function in stop.each(self.functions) {
            add(&mut builder, function?, cost)?;
        }
        if let Some(limit) = self.limit {
            // an assignment that reaches the limit is infeasible; round up, so that feasible ones remain feasible
            let scaled = (limit * sign * 10f64.powi(decimals as i32)).clamp(-LARGEST_SUM, LARGEST_SUM);
            let is_exact = rounded == 0 && scaled.abs() < LARGEST_SUM && digits(limit, most) <= decimals;
            let exact = || units(limit * sign, decimals, most);
            let _ = builder.top(if is_exact { exact() } else { scaled.ceil() as Cost + rounded as Cost });
        }
        let _ = builder
            .units(Units { decimals, maximise: self.maximise, rounded })
            .agents(agents)
            .notation(Notation::Names);
        Ok(builder.build())
    }

    /// Returns the number of decimal digits to keep, and the number of functions with an entry that needs more.
    fn decimals(&self, name: &str, precision: Option<u32>, stop: &Stop) -> Result<(u32, u64), Error> {
        let most = most_digits(precision);
        let (mut needed, mut told, mut sum) = (Vec::with_capacity(self.functions.len()), most, 0.0);
        for function in stop.each(&self.functions) {
            let (mut largest, mut digits_of_all) = (0f64, 0);
            for number in stop.each(function?.numbers.finite()) {
                let number: f64 = number?;
                largest = largest.max(number.abs());
                let own = digits(number, most);
                digits_of_all = digits_of_all.max(own);
                // do not keep digits that the double does not determine
                while own > most && told > 0 && number.abs() * 10f64.powi(told as i32) >= DIGITS {
                    told -= 1;
                }
            }
            sum += largest;
            needed.push(digits_of_all);
            if largest >= LARGEST {
                return Err(Error::Usage(format!(
                    "{name}: a cost of {largest:e}: numbers of this format are doubles, which hold integers below 2^53"
                )));
            }
        }
        let fits = |decimals: u32| sum * 10f64.powi(decimals as i32) < LARGEST_SUM;
        if !fits(0) {
            return Err(Error::Usage(format!("{name}: costs of up to {sum:e} together are too large for 64 bits")));
        }
        let mut decimals = needed.iter().copied().max().unwrap_or(0).min(told);
        while !fits(decimals) {
            decimals -= 1;
        }
        Ok((decimals, needed.iter().filter(|&&own| own > decimals).count() as u64))
    }
}

fn add(builder: &mut Builder, function: DraftFunction, cost: impl Fn(f64) -> Cost) -> Result<(), Error> {
    let DraftFunction { name, scope, numbers } = function;
    let function = match numbers {
        Numbers::Dense(numbers) => builder.dense(&scope, numbers.into_iter().map(cost).collect())?,
        Numbers::Listed { default, tuples, numbers } => {
            builder.sparse(&scope, cost(default), tuples, numbers.into_iter().map(cost).collect())?
        }
    };
    let _ = builder.name_function(function, name);
    Ok(())
}

impl Numbers {
    fn finite(&self) -> impl Iterator<Item = f64> + '_ {
        let (numbers, default) = match self {
            Numbers::Dense(numbers) => (numbers, None),
            Numbers::Listed { default, numbers, .. } => (numbers, Some(*default)),
        };
        numbers.iter().copied().chain(default).filter(|number| number.is_finite())
    }
}

/// Returns the maximum number of decimal digits to keep.
fn most_digits(precision: Option<u32>) -> u32 {
    precision.unwrap_or(DECIMALS).min(MOST_DECIMALS)
}

/// Returns the number of decimal digits of a number: of the decimal that its double represents exactly, or else
/// approximately; `most + 1` if there is none with at most `most` digits.
fn digits(number: f64, most: u32) -> u32 {
    let least = |holds: fn(f64, u32) -> bool| (0..=most).find(|&decimals| holds(number, decimals));
    least(is_exact).or_else(|| least(is_near)).unwrap_or(most + 1)
}

/// Converts a number to units of 10^-`decimals`, exactly if it has no more digits.
fn units(number: f64, decimals: u32, most: u32) -> Cost {
    let own = digits(number, most).min(decimals);
    (number * 10f64.powi(own as i32)).round_ties_even() as Cost * 10i64.pow(decimals - own)
}

/// Returns whether a number is an integer, or a decimal of at most 15 digits, `decimals` of them after the point.
fn is_exact(number: f64, decimals: u32) -> bool {
    let scale = 10f64.powi(decimals as i32);
    let units = (number * scale).round();
    (decimals == 0 || units.abs() < DIGITS) && units / scale == number
}

/// Returns whether a number is a decimal with `decimals` digits after the point, up to rounding errors.
fn is_near(number: f64, decimals: u32) -> bool {
    let scale = 10f64.powi(decimals as i32);
    let units = number * scale;
    let off = ARITHMETIC * (units.abs() + scale);
    off < MOST_OFF && (units - units.round()).abs() <= off
}

/// Parses a number of a file; `inf`, `.inf` and `infinity`, with an optional sign, are numbers too.
pub(super) fn number(text: &str) -> Option<f64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if ["inf", ".inf", "infinity"].iter().any(|name| rest.eq_ignore_ascii_case(name)) {
        return Some(sign * f64::INFINITY);
    }
    let begins = rest.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    rest.parse::<f64>().ok().filter(|number| begins && number.is_finite()).map(|number| sign * number)
}

/// Returns the values of a range `a .. b`; `None` if the text is not a range, or has too many values.
pub(super) fn range(text: &str) -> Option<impl Iterator<Item = Box<str>>> {
    let (first, last) = text.split_once("..")?;
    let (first, last): (i64, i64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let values = u64::try_from(last.checked_sub(first)?).ok()?;
    (values < VALUES).then(|| (first..=last).map(|value| value.to_string().into_boxed_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(numbers: &[f64], maximise: bool) -> Draft {
        let mut draft = Draft::new(maximise);
        let values = (0..numbers.len()).map(|value| value.to_string().into()).collect();
        let _ = draft.variable("a", values).expect("a variable");
        draft.dense("f", vec![0], numbers.to_vec());
        draft
    }

    fn built(numbers: &[f64], maximise: bool, precision: Option<u32>) -> Network {
        let agents = Agents::of_variables(["a".to_string()].into_iter());
        draft(numbers, maximise).build("t", agents, precision, &Stop::new()).expect("costs that fit")
    }

    #[test]
    fn decimals_are_those_of_the_numbers() {
        for (numbers, decimals, rounded) in [
            (&[1.0, 2.0][..], 0, 0),
            (&[0.7 * 3.0, 0.1 + 0.2], 1, 0),
            (&[0.25, 1000.0], 2, 0),
            (&[1.0 / 3.0], 9, 1),
            (&[f64::INFINITY, 0.5], 1, 0),
            (&[1e15, 1.0 / 3.0], 2, 1),
            // a number of 15 digits, with more decimals in another entry
            (&[14073748835532.8, 0.25], 2, 0),
            (&[1000000000000.04], 2, 0),
            (&[900719925474099.3], 0, 1),
        ] {
            let network = built(numbers, false, None);
            assert_eq!(*network.units(), Units { decimals, maximise: false, rounded }, "{numbers:?}");
        }
        assert_eq!(built(&[0.25], false, Some(1)).units().rounded, 1);
        let network = built(&[14073748835532.8, 0.25], false, None);
        assert_eq!(network.functions()[0].entries(network.domains()).collect::<Vec<_>>(), [1407374883553280, 25]);
        let doubtful = draft(&[9007199254740993.0], false).build("t", Agents::default(), None, &Stop::new());
        assert!(doubtful.expect_err("the double is another integer").to_string().contains("2^53"));
        let network = built(&[1.5, f64::NEG_INFINITY], true, None);
        assert_eq!(network.functions()[0].entries(network.domains()).collect::<Vec<_>>(), [-15, FORBIDDEN]);
        let agents = Agents::default();
        assert!(draft(&[1e300], false).build("t", agents, None, &Stop::new()).is_err_and(|error| error.is_input()));
    }

    #[test]
    fn values_have_names_and_numbers() {
        let mut draft = Draft::new(false);
        let v = draft.variable("v", ["1", "2.50", "R"].map(Into::into).into()).expect("new");
        assert_eq!(draft.variable("v", ["1"].map(Into::into).into()), None);
        let found = ["1", "1.0", "2.5", "R", "r", "3"].map(|name| draft.value(v, name));
        assert_eq!(found, [Some(0), Some(0), Some(1), Some(2), None, None]);
        let all = |text: &str| range(text).map(|values| values.map(String::from).collect::<Vec<_>>().join(" "));
        assert_eq!(all("-1 .. 2").as_deref(), Some("-1 0 1 2"));
        assert_eq!(["3..1", "a..b", "1", "0..99999999999"].map(all), [const { None::<String> }; 4]);
        for (text, expected) in [
            ("-.inf", Some(f64::NEG_INFINITY)),
            ("Infinity", Some(f64::INFINITY)),
            ("1e3", Some(1000.0)),
            ("nan", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
