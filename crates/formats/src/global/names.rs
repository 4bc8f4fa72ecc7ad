//! The names of a file's variables and values.

use crate::encoding;
use crate::error::Error;
use crate::model::ValueCount;
use crate::terminal::among;
use crate::tokens::Tokens;
use rustc_hash::FxHashMap;

/// Variables and values by name.
#[derive(Default)]
pub(crate) struct Names {
    variables: FxHashMap<Box<str>, u32>,
    /// For each variable, its values by name; empty if they have the default names v0, v1 and so on.
    values: Vec<FxHashMap<Box<str>, u32>>,
    domains: Vec<u32>,
}

impl Names {
    /// Declares a variable whose name, if it has one, is the current word.
    pub fn declare(&mut self, name: Option<&str>, tokens: &Tokens<'_>) -> Result<(), Error> {
        let index = self.values.len();
        let name: Box<str> = name.map_or_else(|| format!("x{index}").into(), Into::into);
        if let Some(other) = self.variables.insert(name.clone(), index as u32) {
            return Err(tokens.error_with("another name", format!("variable {other} is called {name}")));
        }
        self.values.push(FxHashMap::default());
        Ok(())
    }

    /// Sets the name of a value of the last declared variable; the name is the current word.
    pub fn declare_value(&mut self, name: &str, value: u32, tokens: &Tokens<'_>) -> Result<(), Error> {
        let known = self.values.last_mut().and_then(|values| values.insert(name.into(), value));
        known.map_or(Ok(()), |_| Err(tokens.error("a name that the variable's values do not have yet")))
    }

    /// Sets the domain size of the last declared variable.
    pub fn set_domain(&mut self, domain: u32) {
        self.domains.push(domain);
    }

    /// Consumes a variable: its name or, if the first character is a digit, its index.
    pub fn variable(&self, tokens: &mut Tokens<'_>) -> Result<u32, Error> {
        let word = tokens.peek()?;
        if word.first().is_some_and(u8::is_ascii_digit) {
            return tokens.index(self.values.len() as u32, "a variable");
        }
        let word = tokens.word("a variable")?;
        let known = self.variables.get(&*encoding::word(word)).copied();
        known.ok_or_else(|| tokens.error("the name of a variable, or its index"))
    }

    /// Consumes a value of a variable: its name or, if the first character is a digit, its index.
    pub fn value(&self, variable: u32, tokens: &mut Tokens<'_>) -> Result<u32, Error> {
        let domain = self.domains[variable as usize];
        let word = tokens.peek()?;
        if word.first().is_some_and(u8::is_ascii_digit) {
            return tokens.index(domain, "a value");
        }
        let word = tokens.word("a value")?;
        let values = &self.values[variable as usize];
        let name = encoding::word(word);
        let known = match values.is_empty() {
            false => values.get(&*name).copied(),
            true => name.strip_prefix('v').and_then(|name| name.parse().ok()).filter(|&value| value < domain),
        };
        known.ok_or_else(|| {
            tokens.error(format!("the name of a value of variable {variable}, or an index{}", among(domain)))
        })
    }

    /// Returns, for each variable of a scope, the class of each value: values with equal names have equal classes.
    /// Translates the bounds to classes; the name of a bound's value is taken from the first variable that has a value
    /// of this index. Returns `None`, without a translation, if all names agree.
    pub fn classes(&self, scope: &[u32], sizes: &[u32], bounds: &mut [ValueCount]) -> Option<Vec<Vec<u32>>> {
        let mut numbers: FxHashMap<Box<str>, u32> = FxHashMap::default();
        let mut classes = Vec::with_capacity(scope.len());
        for (&variable, &size) in scope.iter().zip(sizes) {
            let values = &self.values[variable as usize];
            let mut own: Vec<Box<str>> = (0..size).map(|value| format!("v{value}").into()).collect();
            values.iter().for_each(|(name, &value)| own[value as usize] = name.clone());
            let number = |name: Box<str>| {
                let next = numbers.len() as u32;
                *numbers.entry(name).or_insert(next)
            };
            classes.push(own.into_iter().map(number).collect::<Vec<u32>>());
        }
        if classes.iter().all(|row| row.iter().copied().eq(0..row.len() as u32)) {
            return None;
        }
        let class = |value: u32| classes.iter().find_map(|row| row.get(value as usize).copied());
        // values that no variable has stay distinct from all classes
        let beyond = numbers.len() as u32;
        for bound in bounds {
            bound.value = class(bound.value).unwrap_or(beyond.saturating_add(bound.value));
        }
        Some(classes)
    }
}
