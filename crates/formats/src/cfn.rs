//! The `.cfn` format of toulbar2: JSON in which quotes, colons and commas are optional.
//!
//! It contains a problem (name and bound), variables (domain sizes or names of values) and functions (tables, tuples,
//! tables of later functions, global cost functions), either all with tags or all without. Costs are decimals with as
//! many digits as the bound.

mod write;

pub(super) use write::write;

use super::global::{self, Bound, Form, Names, closes, open, take};
use super::limits::{Domains, check_sums};
use super::options::ReadOptions;
use super::tables::Listed;
use super::tokens::{Place, Tokens};
use crate::error::Error;
use crate::globals::Decomposer;
use crate::model::{Builder, COST_LIMIT, Cost, FORBIDDEN, Network, Notation, Units, Variable};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::Ordering;

/// Reads a network.
pub(super) fn read(tokens: &mut Tokens<'_>, _: &ReadOptions) -> Result<Network, Error> {
    tokens.read_lax_json();
    let (network, _) = read_network(tokens)?;
    tokens.leave_rest("the network")?;
    Ok(network)
}

/// The maximum number of decimal digits: more leave no room for sums.
const MOST_DECIMALS: usize = 15;

/// Reads a network that other text may follow. Returns it with its number of decimal digits.
pub(super) fn read_network(tokens: &mut Tokens<'_>) -> Result<(Network, u32), Error> {
    open(tokens)?;
    let tagged = tokens.peek()? == b"problem";
    let mut builder = Network::builder(tokens.file());
    let (units, bound) = read_problem(tokens, tagged)?;
    let top = if bound > COST_LIMIT { FORBIDDEN } else { bound.max(-COST_LIMIT) };
    let bound = Bound { top: bound, passed: false.into() };
    let _ = builder.units(units).top(top).notation(Notation::Names);
    let names = read_variables(tokens, tagged, &mut builder)?;
    let Units { decimals, maximise, .. } = units;
    let form = Form::Cfn { tagged, decimals, maximise, names: &names, bound: &bound };
    let reader = Reader {
        tokens,
        builder,
        tagged,
        form,
        names: &names,
        decomposer: Decomposer::default(),
        waiting: FxHashMap::default(),
        defined: FxHashMap::default(),
    };
    Ok((reader.functions(&bound)?, decimals))
}

/// Consumes a tag if the file has tags.
fn tag(tokens: &mut Tokens<'_>, tagged: bool, tag: &str) -> Result<(), Error> {
    if tagged { take(tokens, tag) } else { Ok(()) }
}

/// Consumes the closing bracket of a list; it may be missing at the end of the file.
fn close(tokens: &mut Tokens<'_>) -> Result<(), Error> {
    if tokens.at_end()? || closes(tokens)? {
        return Ok(());
    }
    let _ = tokens.word("a closing bracket")?;
    Err(tokens.error("a closing bracket"))
}

/// Reads the problem: its sense, its decimal digits, and the strict upper limit of the costs of solutions.
fn read_problem(tokens: &mut Tokens<'_>, tagged: bool) -> Result<(Units, Cost), Error> {
    tag(tokens, tagged, "problem")?;
    open(tokens)?;
    tag(tokens, tagged, "name")?;
    let is_sense = |word: &[u8]| word.starts_with(b"<") || word.starts_with(b">");
    let is_unnamed = tokens.word("the name of the problem")? == b"mustbe" && is_sense(tokens.peek()?);
    if !is_unnamed {
        tag(tokens, tagged, "mustbe")?;
    }
    let expected = "`<` or `>` and a decimal number";
    let word = tokens.word(expected)?.to_vec();
    let maximise = word.first() == Some(&b'>');
    if !is_sense(&word) {
        return Err(tokens.error(expected));
    }
    let number = if word.len() > 1 { word[1..].to_vec() } else { tokens.word(expected)?.to_vec() };
    let decimals = number.iter().position(|&byte| byte == b'.').map_or(0, |point| number.len() - point - 1);
    if decimals > MOST_DECIMALS {
        return Err(tokens.error(format!("at most {MOST_DECIMALS} digits behind the point")));
    }
    let plain = Some(&number).filter(|number| !number.contains(&b'e'));
    let top = match plain.and_then(|number| super::decimal::fixed(number, decimals as u32)) {
        Some(bound) => {
            if maximise {
                -bound
            } else {
                bound
            }
        }
        None if number.eq_ignore_ascii_case(b"inf") => Cost::MAX,
        None => return Err(tokens.error_with(expected, "digits, perhaps with a point, without an exponent")),
    };
    close(tokens)?;
    let units = Units { decimals: decimals as u32, maximise, rounded: 0 };
    Ok((units, top))
}

fn read_variables(tokens: &mut Tokens<'_>, tagged: bool, builder: &mut Builder) -> Result<Names, Error> {
    tag(tokens, tagged, "variables")?;
    open(tokens)?;
    let (mut names, mut domains) = (Names::default(), Domains::default());
    while !closes(tokens)? {
        let is_number = |word: &[u8]| word.first().is_some_and(u8::is_ascii_digit);
        let is_open = |word: &[u8]| matches!(word, b"{" | b"[");
        let next = tokens.peek()?;
        let name = match is_number(next) || is_open(next) {
            true => None,
            false => Some(text(tokens.word("a variable")?)),
        };
        names.declare(name.as_deref(), tokens)?;
        let (domain, values) = if is_open(tokens.peek()?) {
            open(tokens)?;
            let mut values: Vec<Box<str>> = Vec::new();
            while !closes(tokens)? {
                let value = text(tokens.word("the name of a value")?);
                if value.starts_with(|first: char| first.is_ascii_digit()) {
                    return Err(tokens.error("the name of a value, which does not begin with a digit"));
                }
                names.declare_value(&value, values.len() as u32, tokens)?;
                values.push(value);
            }
            domains.count(values.len() as i64, tokens)?;
            (values.len() as u32, Some(values.into()))
        } else {
            let size = tokens.integer("a domain size, or names of values")?.saturating_abs();
            domains.count(size, tokens)?;
            (size as u32, None)
        };
        let _ = builder.named_variable(Variable { domain, name, values })?;
        names.set_domain(domain);
    }
    Ok(names)
}

fn text(word: &[u8]) -> Box<str> {
    super::encoding::word(word).into()
}

/// A function that uses the table of a function not read yet.
struct Waiting {
    name: Option<Box<str>>,
    scope: Vec<u32>,
    place: Place,
}

struct Reader<'r, 't, 'n> {
    tokens: &'r mut Tokens<'t>,
    builder: Builder,
    tagged: bool,
    form: Form<'n>,
    names: &'n Names,
    decomposer: Decomposer,
    /// Waiting functions, by the name of the function whose table they use.
    waiting: FxHashMap<Box<str>, Vec<Waiting>>,
    /// Functions with tables read so far, by name.
    defined: FxHashMap<Box<str>, u32>,
}

impl Reader<'_, '_, '_> {
    fn functions(mut self, bound: &Bound) -> Result<Network, Error> {
        tag(self.tokens, self.tagged, "functions")?;
        open(self.tokens)?;
        while !self.tokens.at_end()? && !closes(self.tokens)? {
            self.function()?;
        }
        close(self.tokens)?;
        if let Some((name, waiting)) = self.waiting.iter().find(|(_, waiting)| !waiting.is_empty()) {
            let hint = "no function with a table has this name".into();
            return Err(self.tokens.error_at(waiting[0].place, name, "the name of a function", hint));
        }
        // a bound above the largest cost is not kept, so no sum of costs may reach it
        check_sums(bound.top.max(-COST_LIMIT), &self.builder, &self.decomposer, self.tokens)?;
        // a cost above the largest one reaches the bound unless negative costs compensate for it
        let makes_up = self.builder.sums().below > COST_LIMIT.saturating_sub(bound.top.max(0));
        if makes_up && bound.passed.load(Ordering::Relaxed) {
            let hint = "negative costs could make up for costs that reach the bound of the problem";
            return Err(self.tokens.error_with("smaller costs, or inf", hint));
        }
        Ok(self.builder.build())
    }

    fn function(&mut self) -> Result<(), Error> {
        let name = match self.tokens.peek()? {
            b"{" | b"[" => None,
            _ => Some(text(self.tokens.word("the name of a function")?)),
        };
        open(self.tokens)?;
        tag(self.tokens, self.tagged, "scope")?;
        open(self.tokens)?;
        let mut scope = Vec::new();
        let mut known = FxHashSet::default();
        while !closes(self.tokens)? {
            let variable = self.names.variable(self.tokens)?;
            if !known.insert(variable) {
                return Err(self.tokens.error("a variable that the function does not have yet"));
            }
            scope.push(variable);
        }
        let before = self.builder.function_count();
        self.body(name.as_deref(), scope)?;
        close(self.tokens)?;
        if let Some(name) = name
            && self.builder.function_count() > before
        {
            let _ = self.builder.name_function(before, name);
        }
        Ok(())
    }

    /// Reads the costs of a function, after its scope.
    fn body(&mut self, name: Option<&str>, scope: Vec<u32>) -> Result<(), Error> {
        let is_open = matches!(self.tokens.peek()?, b"{" | b"[");
        if !self.tagged && is_open {
            return self.full(name, &scope);
        }
        let word = text(self.tokens.word("costs, defaultcost or type")?);
        let at = self.tokens.place();
        if !self.tagged {
            let first = word.as_bytes().first().copied().unwrap_or_default();
            let is_cost =
                word.eq_ignore_ascii_case("inf") || first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.');
            return if is_cost {
                let default = self.default_cost(&word)?;
                self.tuples(name, &scope, default)
            } else if matches!(self.tokens.peek()?, b"{" | b"[") {
                self.global(&word, at, &scope)
            } else {
                self.shared(&word, at, name, scope)
            };
        }
        match &*word {
            "costs" if matches!(self.tokens.peek()?, b"{" | b"[") => self.full(name, &scope),
            "costs" => {
                let other = text(self.tokens.word("costs, or the name of a function")?);
                let at = self.tokens.place();
                self.shared(&other, at, name, scope)
            }
            "defaultcost" => {
                let default = self.form.cost(self.tokens, "a default cost")?;
                take(self.tokens, "costs")?;
                self.tuples(name, &scope, default)
            }
            "type" => {
                let keyword = text(self.tokens.word("the kind of a global cost function")?);
                let at = self.tokens.place();
                self.global(&keyword, at, &scope)
            }
            _ => Err(self.tokens.error("costs, defaultcost or type")),
        }
    }

    /// Parses the current word as a default cost.
    fn default_cost(&mut self, word: &str) -> Result<Cost, Error> {
        let mut again = Tokens::new(Box::new(word.as_bytes()), String::new(), self.tokens.stop());
        let form = self.form;
        form.cost(&mut again, "a default cost").map_err(|_| self.tokens.error("a default cost"))
    }

    fn global(&mut self, keyword: &str, at: Place, scope: &[u32]) -> Result<(), Error> {
        let (tokens, form) = (&mut *self.tokens, self.form);
        let Reader { builder, decomposer, .. } = self;
        global::read(tokens, keyword, at, global::Place { form, scope, builder, decomposer, nested: read_network })
    }

    fn sizes(&self, scope: &[u32]) -> Vec<u32> {
        scope.iter().filter_map(|&variable| self.builder.domain(variable)).collect()
    }

    /// Reads a cost for each combination of values.
    fn full(&mut self, name: Option<&str>, scope: &[u32]) -> Result<(), Error> {
        open(self.tokens)?;
        let expected = self.sizes(scope).iter().fold(1u64, |n, &size| n.saturating_mul(size.into()));
        let mut costs = Vec::new();
        while !closes(self.tokens)? {
            if costs.len() as u64 == expected {
                let _ = self.tokens.word("a closing bracket")?;
                return Err(self.tokens.error(format!("the end of the list: the scope has {expected} combinations")));
            }
            costs.push(self.form.cost(self.tokens, "a cost")?);
        }
        if (costs.len() as u64) < expected {
            return Err(self.tokens.error(format!("{expected} costs, not {}", costs.len())));
        }
        let function = self.builder.dense(scope, costs);
        let function = function.map_err(|error| self.tokens.error_with("a table that fits", error.to_string()))?;
        self.define(name, function)
    }

    /// Reads tuples whose costs differ from the default.
    fn tuples(&mut self, name: Option<&str>, scope: &[u32], default: Cost) -> Result<(), Error> {
        open(self.tokens)?;
        let sizes = self.sizes(scope);
        let mut listed = Listed::new(&sizes, default);
        let mut known = FxHashSet::default();
        let (names, form) = (self.names, self.form);
        while !closes(self.tokens)? {
            let mut tuple: Vec<u32> = Vec::with_capacity(scope.len());
            let value = |tokens: &mut Tokens<'_>, _: u32, position: usize| {
                let value = names.value(scope[position], tokens)?;
                tuple.push(value);
                Ok(value)
            };
            listed.push(self.tokens, value, |tokens| form.cost(tokens, "a cost"))?;
            if !known.insert(tuple.into_boxed_slice()) {
                return Err(self.tokens.error("a tuple that is not listed yet"));
            }
        }
        drop(known);
        let function = self.builder.table(scope, &listed.table());
        let function = function.map_err(|error| self.tokens.error_with("a table that fits", error.to_string()))?;
        self.define(name, function)
    }

    /// Adds a function that uses the table of function `other`, which may be defined later. `place` is the position of
    /// that name.
    fn shared(&mut self, other: &str, place: Place, name: Option<&str>, scope: Vec<u32>) -> Result<(), Error> {
        let waiting = Waiting { name: name.map(Into::into), scope, place };
        if let Some(&original) = self.defined.get(other) {
            return self.share(waiting, original);
        }
        self.waiting.entry(other.into()).or_default().push(waiting);
        Ok(())
    }

    fn share(&mut self, Waiting { name, scope, place }: Waiting, original: u32) -> Result<(), Error> {
        let number = self.builder.function_count();
        if let Err(error) = self.builder.shared(&scope, original) {
            return Err(self.tokens.error_at(place, "costs", "a shared table that fits", error.to_string()));
        }
        if let Some(name) = name {
            let _ = self.builder.name_function(number, name);
        }
        Ok(())
    }

    /// Records a function with a table, and adds the functions that were waiting for it.
    fn define(&mut self, name: Option<&str>, function: u32) -> Result<(), Error> {
        let Some(name) = name else { return Ok(()) };
        let _ = self.defined.insert(name.into(), function);
        for waiting in self.waiting.remove(name).unwrap_or_default() {
            self.share(waiting, function)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
