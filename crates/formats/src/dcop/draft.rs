//! What files of distributed problems have in common: variables with names, costs as real numbers, agents.

use crate::error::Error;
use crate::memory;
use crate::model::{Agents, Builder, Cost, FORBIDDEN, Network, Notation, Units, Variable};
use crate::stop::Stop;
use rustc_hash::FxHashMap;

/// Entries of all tables of a file together, and values of all its variables.
pub(super) const ENTRIES: u64 = 100_000_000;
pub(super) const VALUES: u64 = 1 << 24;

/// Digits behind the point where numbers need more than any, and most that are kept on request.
const DECIMALS: u32 = 9;
const MOST_DECIMALS: u32 = 15;

/// The largest costs of all functions together stay below this, far from [`FORBIDDEN`].
const LARGEST_SUM: f64 = (1u64 << 57) as f64;

/// A decimal is what a double stands for that differs from it by less than this part of it or of 1: what the arithmetic
/// of expressions leaves (`0.7 * 3` is 2.0999999999999996), and far less than the last digit that is kept.
const ARITHMETIC: f64 = 1.0 / (1u64 << 44) as f64;
/// What arithmetic leaves is less than this part of a unit: otherwise nothing tells it from digits.
const MOST_OFF: f64 = 0.25;
/// A double determines a decimal whose digits, read as an integer, are below this: one of 15 digits.
const DIGITS: f64 = 1e15;
/// Doubles hold all integers below this.
const LARGEST: f64 = (1u64 << 53) as f64;

/// A network on its way.
pub(super) struct Draft {
    pub variables: Vec<Variable>,
    /// The place of each name among the variables.
    pub places: FxHashMap<Box<str>, u32>,
    pub maximise: bool,
    /// What totals must stay below, or above where larger is better.
    pub limit: Option<f64>,
    functions: Vec<DraftFunction>,
    values: u64,
    entries: u64,
}

/// A function on its way.
struct DraftFunction {
    name: Box<str>,
    scope: Box<[u32]>,
    numbers: Numbers,
}

/// A table of numbers; an infinite one forbids.
enum Numbers {
    Dense(Vec<f64>),
    Listed { default: f64, tuples: Vec<u32>, numbers: Vec<f64> },
}

impl Draft {
    pub fn new(maximise: bool) -> Self {
        let (variables, functions) = (Vec::new(), Vec::new());
        Draft { variables, places: FxHashMap::default(), maximise, limit: None, functions, values: 0, entries: 0 }
    }

    /// The number that forbids.
    pub fn forbidden(&self) -> f64 {
        if self.maximise { f64::NEG_INFINITY } else { f64::INFINITY }
    }

    /// Whether a number can be a cost; otherwise what it should be.
    pub fn admits(&self, number: f64) -> Result<(), String> {
        if number.is_finite() || number == self.forbidden() {
            return Ok(());
        }
        let infinite = if self.maximise { "-infinity" } else { "infinity" };
        Err(format!("a number, or {infinite} for what is forbidden"))
    }

    /// Adds a variable; `None` where there is one of that name, or there are too many values.
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

    /// The number of a variable's value, by its name in the file.
    pub fn value(&self, variable: u32, name: &str) -> Option<u32> {
        let values = self.variables[variable as usize].values.as_deref()?;
        let exact = values.iter().position(|known| &**known == name);
        // 1 and 1.0 are one value
        let number = || name.parse::<f64>().ok();
        let equal = || number().and_then(|n| values.iter().position(|known| known.parse::<f64>() == Ok(n)));
        exact.or_else(equal).map(|place| place as u32)
    }

    /// Combinations of the values of a scope, where a table of them is not too much.
    pub fn room(&mut self, scope: &[u32]) -> Option<usize> {
        let sizes = scope.iter().map(|&v| u64::from(self.variables[v as usize].domain));
        let entries = sizes.fold(1u64, u64::saturating_mul);
        self.has_room(entries).then_some(entries as usize)
    }

    /// Whether so many entries more are not too much.
    pub fn has_room(&mut self, entries: u64) -> bool {
        self.entries = self.entries.saturating_add(entries);
        self.entries <= ENTRIES
    }

    fn function(&mut self, name: &str, scope: Vec<u32>, numbers: Numbers) {
        self.functions.push(DraftFunction { name: name.into(), scope: scope.into(), numbers });
    }

    /// Adds a function with a number for each combination of values, the last variable running fastest.
    pub fn dense(&mut self, name: &str, scope: Vec<u32>, numbers: Vec<f64>) {
        self.function(name, scope, Numbers::Dense(numbers));
    }

    /// Adds a function by the combinations that differ from a default number; of several numbers of a combination the
    /// last one counts.
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
        // as a table, where that is hardly larger
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

    /// The network, with costs in units of the least power of ten that all numbers have.
    ///
    /// # Errors
    /// Numbers too large for 64 bits; [`Error::Stopped`].
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
            // a total that reaches it is forbidden; rounded up, as what is allowed must stay so
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

    /// The digits to keep, and the number of functions with an entry that needs more.
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
                // digits that its double does not tell would be made up
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

/// Digits behind the point at most.
fn most_digits(precision: Option<u32>) -> u32 {
    precision.unwrap_or(DECIMALS).min(MOST_DECIMALS)
}

/// The digits behind the point that a number has, as its double tells them, or else those that arithmetic leaves it;
/// `most` and one where it has neither.
fn digits(number: f64, most: u32) -> u32 {
    let least = |holds: fn(f64, u32) -> bool| (0..=most).find(|&decimals| holds(number, decimals));
    least(is_exact).or_else(|| least(is_near)).unwrap_or(most + 1)
}

/// A number in units of 10^-`decimals`: exactly, where it has no more digits than that.
fn units(number: f64, decimals: u32, most: u32) -> Cost {
    let own = digits(number, most).min(decimals);
    (number * 10f64.powi(own as i32)).round_ties_even() as Cost * 10i64.pow(decimals - own)
}

/// Whether a number is an integer, or a decimal of at most 15 digits with `decimals` of them behind the point.
fn is_exact(number: f64, decimals: u32) -> bool {
    let scale = 10f64.powi(decimals as i32);
    let units = (number * scale).round();
    (decimals == 0 || units.abs() < DIGITS) && units / scale == number
}

/// Whether a number is a decimal with `decimals` digits behind the point but for the error that arithmetic leaves.
fn is_near(number: f64, decimals: u32) -> bool {
    let scale = 10f64.powi(decimals as i32);
    let units = number * scale;
    let off = ARITHMETIC * (units.abs() + scale);
    off < MOST_OFF && (units - units.round()).abs() <= off
}

/// A number of a file: also `inf`, `.inf` and `infinity`, with a sign.
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

/// The values of `a .. b`; `None` where a text is no such range, or one of too many values.
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
            // 15 digits, with more of them behind the point elsewhere
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
