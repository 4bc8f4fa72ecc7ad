//! Variables and values by name or index, and observations of them.

use super::Variable;
use crate::error::Error;
use crate::terminal::{among, line};
use crate::text::nearest;
use rustc_hash::FxHashMap;
use std::fmt;

/// The number of names that a message lists.
const LISTED: usize = 8;

/// The variables of a network, found by name or index.
#[derive(Clone, Debug)]
pub struct Names<'v> {
    variables: &'v [Variable],
    places: FxHashMap<&'v str, u32>,
}

/// A name or an index that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// What does not exist, as a sentence.
    pub what: String,
    /// Which names or indices exist, and which one was probably meant.
    pub hint: String,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.hint)
    }
}

impl<'v> Names<'v> {
    /// Collects the names of variables. If several variables have a name, it stands for the first of them.
    pub fn new(variables: &'v [Variable]) -> Self {
        let mut places = FxHashMap::default();
        for (place, own) in (0..).zip(variables) {
            if let Some(name) = &own.name {
                let _ = places.entry(&**name).or_insert(place);
            }
        }
        Names { variables, places }
    }

    /// Returns the variable with this name or, if there is none, with this index, which `x` may precede.
    ///
    /// # Errors
    /// Returns an error with the nearest name if the variable does not exist.
    pub fn variable(&self, name: &str) -> Result<u32, Unknown> {
        let index = || name.strip_prefix('x').unwrap_or(name).parse().ok();
        let known = |&index: &u32| (index as usize) < self.variables.len();
        self.places.get(name).copied().or_else(index).filter(known).ok_or_else(|| self.no_variable(name))
    }

    fn no_variable(&self, name: &str) -> Unknown {
        let names = || self.variables.iter().filter_map(|own| own.name.as_deref());
        let hint = nearest(names(), name).map(|name| format!("did you mean `{}`?", line(name)));
        let hint = hint.unwrap_or_else(|| match names().next() {
            Some(_) => format!("such as {}", listed(names())),
            None => format!("expected an index{}", among(self.variables.len())),
        });
        Unknown { what: format!("there is no variable `{}`", line(name)), hint }
    }

    /// Returns the value of a variable with this name or, if there is none, with this index, which `v` may precede if
    /// the values have no names.
    ///
    /// # Errors
    /// Returns an error with the nearest name if the value does not exist.
    pub fn value(&self, variable: u32, name: &str) -> Result<u32, Unknown> {
        let Variable { domain, values, .. } = &self.variables[variable as usize];
        let named = values.iter().flatten().position(|own| **own == *name).map(|index| index as u32);
        let digits = name.strip_prefix('v').filter(|_| values.is_none()).unwrap_or(name);
        let found = named.or_else(|| digits.parse().ok()).filter(|value| value < domain);
        found.ok_or_else(|| {
            let names = || values.iter().flatten().map(|own| &**own);
            let hint = nearest(names(), name).map(|name| format!("did you mean `{}`?", line(name)));
            let hint = hint.unwrap_or_else(|| match values {
                Some(_) => format!("its values are {}", listed(names())),
                None => format!("expected an index{}", among(*domain)),
            });
            let own = self.name(variable);
            Unknown { what: format!("`{}` has no value `{}`", line(&own), line(name)), hint }
        })
    }

    /// Splits `NAME=REST` into the variable and the rest. Names may contain equals signs; blanks around both sides are
    /// ignored.
    ///
    /// # Errors
    /// Returns an error if there is no equals sign, or if the variable does not exist.
    pub fn assigned<'t>(&self, text: &'t str) -> Result<(u32, &'t str), Unknown> {
        let splits = || text.match_indices('=').map(|(at, _)| (text[..at].trim(), text[at + 1..].trim()));
        let Some((first, rest)) = splits().next() else {
            let what = format!("`{}` has no equals sign", line(text));
            return Err(Unknown { what, hint: "expected NAME=VALUE".into() });
        };
        match splits().find_map(|(name, rest)| Some((*self.places.get(name)?, rest))) {
            Some(found) => Ok(found),
            None => Ok((self.variable(first)?, rest)),
        }
    }

    /// Returns the variable and the value of `NAME=VALUE`.
    ///
    /// # Errors
    /// Returns an error if there is no equals sign, or if the variable or the value does not exist.
    pub fn observed(&self, text: &str) -> Result<(u32, u32), Unknown> {
        let (variable, value) = self.assigned(text)?;
        Ok((variable, self.value(variable, value)?))
    }

    /// Returns the number of values of a variable.
    pub fn domain(&self, variable: u32) -> u32 {
        self.variables[variable as usize].domain
    }

    /// Returns the name of a variable: the file's, or `x` and its index.
    pub fn name(&self, variable: u32) -> String {
        let own = &self.variables[variable as usize];
        own.name.as_ref().map_or_else(|| format!("x{variable}"), ToString::to_string)
    }

    /// Returns the name of a value: the file's, or its index.
    pub fn value_name(&self, variable: u32, value: u32) -> String {
        let values = self.variables[variable as usize].values.as_ref();
        values.and_then(|names| names.get(value as usize)).map_or_else(|| value.to_string(), ToString::to_string)
    }
}

/// Returns the first names of a list.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names = names.map(line);
    let first: Vec<_> = names.by_ref().take(LISTED).collect();
    let more = if names.next().is_some() { ", …" } else { "" };
    format!("{}{more}", first.join(", "))
}

/// A variable, its observed value, and the origin of the observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The index of the variable.
    pub variable: u32,
    /// The index of the observed value.
    pub value: u32,
    /// The origin, such as a file, line and column, for messages.
    pub origin: String,
}

/// Observations, at most one of each variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    list: Vec<Observation>,
    places: FxHashMap<u32, usize>,
}

impl Observations {
    /// Adds an observation. An equal one may be known already.
    ///
    /// # Errors
    /// Returns the observation that contradicts it.
    pub fn add(&mut self, observation: Observation) -> Result<(), &Observation> {
        match self.places.get(&observation.variable) {
            Some(&place) if self.list[place].value == observation.value => Ok(()),
            Some(&place) => Err(&self.list[place]),
            None => {
                let _ = self.places.insert(observation.variable, self.list.len());
                self.list.push(observation);
                Ok(())
            }
        }
    }

    /// Adds `NAME=VALUE`, an argument of the option `--observe`.
    ///
    /// # Errors
    /// Returns an error if the variable or the value does not exist, or if another value of the variable is observed.
    pub fn observe(&mut self, names: &Names<'_>, text: &str) -> Result<(), Error> {
        let origin = format!("--observe {}", line(text));
        let (variable, value) = names.observed(text).map_err(|error| Error::Usage(format!("{origin}: {error}")))?;
        self.add(Observation { variable, value, origin: origin.clone() }).map_err(|other| {
            let own = names.name(variable);
            let known = names.value_name(variable, other.value);
            Error::Usage(format!(
                "{origin}: {} is observed already, {}={} at {}",
                line(&own),
                line(&own),
                line(&known),
                other.origin
            ))
        })
    }

    /// Returns the observations, in the order in which they were added.
    pub fn list(&self) -> &[Observation] {
        &self.list
    }

    /// Returns variables and their observed values.
    pub fn pairs(&self) -> Vec<(u32, u32)> {
        self.list.iter().map(|own| (own.variable, own.value)).collect()
    }

    /// Returns the observation of a variable; `None` if it is not observed.
    pub fn of(&self, variable: u32) -> Option<&Observation> {
        self.places.get(&variable).map(|&place| &self.list[place])
    }

    /// Returns the observed value of a variable; `None` if it is not observed.
    pub fn value(&self, variable: u32) -> Option<u32> {
        self.of(variable).map(|own| own.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Vec<Variable> {
        let values = Some(["yes".into(), "no".into()].into());
        let of = |name: &str| Variable { domain: 2, name: Some(name.into()), values: values.clone() };
        vec![of("rain"), of("a=b"), Variable { domain: 3, name: None, values: None }]
    }

    #[test]
    fn names_and_indices() {
        let variables = variables();
        let names = Names::new(&variables);
        for (text, pair) in [
            ("rain=no", (0, 1)),
            ("a=b=yes", (1, 0)),
            (" 1 = 1 ", (1, 1)),
            ("x0=yes", (0, 0)),
            ("x2=2", (2, 2)),
            ("2=v1", (2, 1)),
        ] {
            assert_eq!(names.observed(text), Ok(pair), "{text}");
        }
        for (text, message) in [
            ("rain", "`rain` has no equals sign (expected NAME=VALUE)"),
            ("rian=no", "there is no variable `rian` (did you mean `rain`?)"),
            ("snowfall=no", "there is no variable `snowfall` (such as rain, a=b)"),
            ("rain=maybe", "`rain` has no value `maybe` (its values are yes, no)"),
            ("rain=yess", "`rain` has no value `yess` (did you mean `yes`?)"),
            ("2=3", "`x2` has no value `3` (expected an index from 0 to 2)"),
            ("7=0", "there is no variable `7` (such as rain, a=b)"),
            ("rain=-1", "`rain` has no value `-1` (its values are yes, no)"),
            ("rain=v1", "`rain` has no value `v1`"),
        ] {
            let error = names.observed(text).expect_err(text).to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
        let unnamed = [Variable { domain: 2, name: None, values: None }];
        let error = Names::new(&unnamed).variable("y").expect_err("no variable");
        assert_eq!(error.to_string(), "there is no variable `y` (expected an index from 0 to 0)");
    }

    #[test]
    fn contradictions_name_both_observations() {
        let variables = variables();
        let names = Names::new(&variables);
        let mut seen = Observations::default();
        for text in ["rain=no", "x2=1", "0=1"] {
            seen.observe(&names, text).expect(text);
        }
        assert_eq!((seen.pairs(), seen.value(2), seen.value(1)), (vec![(0, 1), (2, 1)], Some(1), None));
        let error = seen.observe(&names, "rain=yes").expect_err("a contradiction").to_string();
        assert_eq!(error, "--observe rain=yes: rain is observed already, rain=no at --observe rain=no");
    }
}
