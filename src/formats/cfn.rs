//! The `.cfn` format of toulbar2: JSON whose quotes, colons and commas do not matter.
//!
//! A problem (name and bound), variables (domain sizes or names of values) and functions (tables, tuples, tables of
//! later functions, global cost functions), all with tags or all without. Costs are decimals with as many digits as the
//! bound has.

mod names;
mod write;

pub(super) use names::Names;
pub(super) use write::write;

use super::ReadOptions;
use super::global::{self, Form, closes, open, take};
use super::limits::{Domains, Sums};
use super::tables::{Listed, range};
use super::tokens::{Place, Tokens};
use crate::error::Error;
use crate::globals::Decomposer;
use crate::model::{Builder, COST_LIMIT, Cost, FORBIDDEN, Network, Notation, Units, Variable};
use rustc_hash::{FxHashMap, FxHashSet};

/// Reads a network.
pub(super) fn read(tokens: &mut Tokens<'_>, _: &ReadOptions) -> Result<Network, Error> {
    tokens.read_lax_json();
    let (network, _) = read_network(tokens)?;
    tokens.leave_rest("the network")?;
    Ok(network)
}

/// Digits behind the point, at most: more leave no room for sums.
const MOST_DECIMALS: usize = 15;

/// Reads a network that other text may follow; with the number of digits behind the point.
pub(super) fn read_network(tokens: &mut Tokens<'_>) -> Result<(Network, u32), Error> {
    open(tokens)?;
    let tagged = tokens.peek()? == b"problem";
    let mut builder = Network::builder(tokens.file());
    let (units, top) = read_problem(tokens, tagged)?;
    let _ = builder.units(units).top(top).notation(Notation::Names);
    let names = read_variables(tokens, tagged, &mut builder)?;
    let Units { decimals, maximise, .. } = units;
    let form = Form::Cfn { tagged, decimals, maximise, names: &names };
    let reader = Reader {
        tokens,
        builder,
        tagged,
        form,
        names: &names,
        sums: Sums::default(),
        decomposer: Decomposer::default(),
        waiting: FxHashMap::default(),
        defined: FxHashMap::default(),
    };
    Ok((reader.functions(top)?, decimals))
}

/// The tags of a file that has them.
fn tag(tokens: &mut Tokens<'_>, tagged: bool, tag: &str) -> Result<(), Error> {
    if tagged { take(tokens, tag) } else { Ok(()) }
}

/// Takes the closing bracket of a list; at the end of the file it may be missing.
fn close(tokens: &mut Tokens<'_>) -> Result<(), Error> {
    if tokens.at_end()? || closes(tokens)? {
        return Ok(());
    }
    let _ = tokens.word("a closing bracket")?;
    Err(tokens.error("a closing bracket"))
}

/// The sense and the digits of a problem, and the total that solutions stay below.
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
    let top = match super::decimal::fixed(&number, decimals as u32) {
        Some(bound) => {
            if maximise {
                -bound
            } else {
                bound
            }
        }
        None if number == b"inf" => FORBIDDEN,
        None => return Err(tokens.error_with(expected, "digits, perhaps with a point, without an exponent")),
    };
    close(tokens)?;
    let units = Units { decimals: decimals as u32, maximise, rounded: 0 };
    Ok((units, if top > COST_LIMIT { FORBIDDEN } else { top.max(-COST_LIMIT) }))
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
    String::from_utf8_lossy(word).into()
}

/// A function that takes the table of another one.
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
    sums: Sums,
    decomposer: Decomposer,
    /// By the name of the function with the table.
    waiting: FxHashMap<Box<str>, Vec<Waiting>>,
    /// Functions with tables so far, by name, each with its range of costs.
    defined: FxHashMap<Box<str>, (u32, (Cost, Cost))>,
}

impl Reader<'_, '_, '_> {
    fn functions(mut self, top: Cost) -> Result<Network, Error> {
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
        self.sums.check(top, &self.decomposer, self.tokens)?;
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

    /// What a function costs, after its scope.
    fn body(&mut self, name: Option<&str>, scope: Vec<u32>) -> Result<(), Error> {
        let is_open = matches!(self.tokens.peek()?, b"{" | b"[");
        if !self.tagged && is_open {
            return self.full(name, &scope);
        }
        let word = text(self.tokens.word("costs, defaultcost or type")?);
        let at = self.tokens.place();
        if !self.tagged {
            let first = word.as_bytes().first().copied().unwrap_or_default();
            let is_cost = &*word == "inf" || first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.');
            return if is_cost {
                let default = self.default_cost(&word)?;
                self.tuples(name, &scope, default)
            } else if matches!(self.tokens.peek()?, b"{" | b"[") {
                self.global((&word, at), &scope)
            } else {
                self.shared((&word, at), name, scope)
            };
        }
        match &*word {
            "costs" if matches!(self.tokens.peek()?, b"{" | b"[") => self.full(name, &scope),
            "costs" => {
                let other = text(self.tokens.word("costs, or the name of a function")?);
                let at = self.tokens.place();
                self.shared((&other, at), name, scope)
            }
            "defaultcost" => {
                let default = self.form.cost(self.tokens, "a default cost")?;
                take(self.tokens, "costs")?;
                self.tuples(name, &scope, default)
            }
            "type" => {
                let keyword = text(self.tokens.word("the kind of a global cost function")?);
                let at = self.tokens.place();
                self.global((&keyword, at), &scope)
            }
            _ => Err(self.tokens.error("costs, defaultcost or type")),
        }
    }

    /// The default cost that the current word is.
    fn default_cost(&mut self, word: &str) -> Result<Cost, Error> {
        let mut again = Tokens::new(Box::new(word.as_bytes()), String::new(), self.tokens.stop());
        let form = self.form;
        form.cost(&mut again, "a default cost").map_err(|_| self.tokens.error("a default cost"))
    }

    fn global(&mut self, keyword: (&str, Place), scope: &[u32]) -> Result<(), Error> {
        let (tokens, form) = (&mut *self.tokens, self.form);
        let Reader { builder, decomposer, .. } = self;
        global::read(tokens, keyword, global::Place { form, scope, builder, decomposer })
    }

    fn sizes(&self, scope: &[u32]) -> Vec<u32> {
        scope.iter().filter_map(|&variable| self.builder.domain(variable)).collect()
    }

    /// A cost for every combination of values.
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
        let range = range(0, &costs);
        let function = self.builder.dense(scope, costs);
        let function = function.map_err(|error| self.tokens.error_with("a table that fits", error.to_string()))?;
        self.define(name, function, range)
    }

    /// A default cost, and tuples that have another one.
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
        let range = listed.range();
        let function = self.builder.table(scope, &listed.table());
        let function = function.map_err(|error| self.tokens.error_with("a table that fits", error.to_string()))?;
        self.define(name, function, range)
    }

    /// The table of another function: an earlier one, or the next of that name.
    fn shared(&mut self, (other, place): (&str, Place), name: Option<&str>, scope: Vec<u32>) -> Result<(), Error> {
        let waiting = Waiting { name: name.map(Into::into), scope, place };
        if let Some(&(original, range)) = self.defined.get(other) {
            return self.share(waiting, original, range);
        }
        self.waiting.entry(other.into()).or_default().push(waiting);
        Ok(())
    }

    fn share(
        &mut self,
        Waiting { name, scope, place }: Waiting,
        original: u32,
        range: (Cost, Cost),
    ) -> Result<(), Error> {
        self.sums.add(range);
        let number = self.builder.function_count();
        if let Err(error) = self.builder.shared(&scope, original) {
            return Err(self.tokens.error_at(place, "costs", "a shared table that fits", error.to_string()));
        }
        if let Some(name) = name {
            let _ = self.builder.name_function(number, name);
        }
        Ok(())
    }

    /// Keeps a function with a table for others, and gives it to those that wait for it.
    fn define(&mut self, name: Option<&str>, function: u32, range: (Cost, Cost)) -> Result<(), Error> {
        self.sums.add(range);
        let Some(name) = name else { return Ok(()) };
        let _ = self.defined.insert(name.into(), (function, range));
        for waiting in self.waiting.remove(name).unwrap_or_default() {
            self.share(waiting, function, range)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::evaluate;
    use crate::formats::{Format, read_from, write};
    use crate::model::Number;
    use crate::stop::Stop;

    fn parse(text: &str) -> Result<Network, Error> {
        read_from(text.as_bytes(), "t.cfn", Format::Cfn, &ReadOptions::default(), &Stop::new())
    }

    fn value(network: &Network, assignment: &[u32]) -> Option<f64> {
        evaluate(network, assignment).value(network, assignment).map(Number::as_f64)
    }

    const SMALL: &str = include_str!("../../tests/corpus/small.cfn");
    const MOST: &str = include_str!("../../tests/corpus/most.cfn");

    #[test]
    fn tags_names_and_decimals() {
        let network = parse(SMALL).expect("a network");
        assert_eq!(network.domains(), [2, 3, 3, 2]);
        assert_eq!((network.top(), network.units().decimals, network.units().maximise), (2050, 2, false));
        let names: Vec<String> = (0..4).map(|v| network.variable_name(v)).collect();
        assert_eq!(names, ["rain", "umbrella", "x2", "n"]);
        assert_eq!([network.value_name(1, 2), network.value_name(3, 1)], ["lost", "v1"]);
        assert_eq!(network.value_index(3, "v1"), Some(1));
        let functions: Vec<Option<&str>> = (0..6).map(|f| network.function_name(f)).collect();
        assert_eq!(functions[0], Some("here"));
        // -1.25 + 0.5 + 2 * table(no, v0) + 3.99, none or one value of 1
        assert_eq!(value(&network, &[0, 0, 1, 0]), Some(-1.25 + 0.5 + 2.0 + 3.99 + 0.25));
        assert_eq!(value(&network, &[1, 1, 0, 0]), Some(-1.25 + 1.0 + 6.0 - 0.75 + 0.25));
        assert_eq!(value(&network, &[1, 2, 2, 0]), None);
    }

    #[test]
    fn places_in_place_of_tags_and_maximisation() {
        let network = parse(MOST).expect("a network");
        assert_eq!((network.top(), network.units().decimals, network.units().maximise), (35, 1, true));
        assert_eq!(value(&network, &[0, 0]), Some(1.0 + 0.5 + 0.5 + 3.0));
        assert_eq!(value(&network, &[0, 1]), Some(-2.5 + 1.5 + 0.5 + 1.5 - 1.0));
        assert_eq!(value(&network, &[1, 0]), None);
        assert!(evaluate(&network, &[0, 1]).is_solution());
        for (text, top) in
            [("<-0.5", -5), ("< 3", 3), (">0", 0), ("<inf", FORBIDDEN), ("<99999999999999999999", FORBIDDEN)]
        {
            assert_eq!(parse(&format!("{{ {{t {text}}} {{}} {{}} }}")).expect(text).top(), top, "{text}");
        }
    }

    #[test]
    fn totals_are_bounded_and_entries_are_not() {
        let network = parse("{{t <10.0} {2} { {[0] [10 3]} {[0] 0 [0 -5]} }}").expect("a network");
        assert_eq!(evaluate(&network, &[0]).cost, 50);
        assert!(evaluate(&network, &[0]).is_solution());
    }

    #[test]
    fn alldiff_compares_names() {
        let network = parse("{{t <9} {a [p q] b [q p]} { {[a b] alldiff [[] []]} }}").expect("a network");
        assert_eq!([[0, 0], [0, 1], [1, 0]].map(|x| value(&network, &x)), [Some(0.0), None, None]);
        let network = parse("{{t <9} {a [p q] b [q p]} { {[a b] alldiff [[0] []]} }}").expect("a network");
        assert_eq!([[0, 0], [0, 1], [1, 0]].map(|x| value(&network, &x)), [Some(0.0), Some(0.0), None]);
    }

    #[test]
    fn what_is_written_is_read() {
        for text in [SMALL, MOST] {
            let network = parse(text).expect("a network");
            let mut written = Vec::new();
            write(&network, Format::Cfn, &mut written).expect("to memory");
            let written = String::from_utf8(written).expect("text");
            let again = parse(&written).expect(&written);
            assert_eq!((again.top(), again.units()), (network.top(), network.units()));
            let names = |network: &Network| -> Vec<String> {
                (0..network.domains().len()).map(|v| network.variable_name(v)).collect()
            };
            assert_eq!(names(&again), names(&network));
            let mut odometer = crate::model::Odometer::new(network.domains().iter().map(|&d| d as usize).collect());
            loop {
                let x: Vec<u32> = odometer.digits.iter().map(|&value| value as u32).collect();
                assert_eq!(value(&again, &x), value(&network, &x), "{x:?}");
                if odometer.advance().is_none() {
                    break;
                }
            }
        }
    }

    #[test]
    fn misfits() {
        let message = |text: &str| parse(text).expect_err(text).to_string();
        for (text, part) in [
            ("", "t.cfn:1:1: found the end of the file, expected an opening bracket"),
            ("{ problem: {name: x, must: <3} }", "1:22: found `must`, expected `mustbe`"),
            ("{ problem: {name mustbe: 3} }", "expected `mustbe`"),
            ("{{x 3}", "1:5: found `3`, expected `<` or `>`"),
            ("{{x <1e3}", "found `<1e3`, expected `<` or `>` and a decimal number (digits"),
            ("{{x <3.0000000000000001}", "at most 15 digits"),
            ("{{x <3} {a []}", "a domain size of at least 1"),
            ("{{x <3} {a 0}", "a domain size of at least 1"),
            ("{{x <3} {a [p p]}", "a name that the variable's values do not have yet"),
            ("{{x <3} {a [1 2]}", "which does not begin with a digit"),
            ("{{x <3} {a 2 a 2}", "found `a`, expected another name (variable 0 is called a)"),
            ("{{x <3} {2 x0 2}", "variable 0 is called x0"),
            ("{{x <3} {a 2}\n{ {[b] [1 2]}", "2:5: found `b`, expected the name of a variable"),
            ("{{x <3} {a 2} { {[7] [1 2]}", "found `7`, expected a variable from 0 to 0"),
            ("{{x <3} {a 2} { {[a a] [1 2]}", "a variable that the function does not have yet"),
            ("{{x <3} {a 2} { {[a] [1", "found the end of the file, expected a cost"),
            ("{{x <3} {a 2} { {[a] [1]}}}", "found `]`, expected 2 costs, not 1"),
            ("{{x <3} {a 2} { {[a] [1 2 3]}", "found `3`, expected the end of the list: the scope has 2 combinations"),
            ("{{x <3} {a 2} { {[a] [1 -inf]}", "found `-inf`, expected a cost: digits"),
            ("{{x <3} {a 2} { {[a] [1 1e3]}", "found `1e3`, expected a cost: digits"),
            ("{{x <3} {a 2} { {[a] 0 [0 1 0 2]}", "a tuple that is not listed yet"),
            (
                "{{x <3} {a 2} { {[a] 0 [v2 1]}",
                "found `v2`, expected the name of a value of variable 0, or an index from 0 to 1",
            ),
            ("{{x <3} {a 2} {\n {[a] later} }}", "2:7: found `later`, expected the name of a function"),
            ("{{x <3} {a 2 b 3} { {[a] f} f {[b] [1 2 3]} }}", "expected a shared table that fits"),
            ("{{x <3} {a 2 b 2} { {[a b] sdiff [1]} }}", "found `sdiff`, expected another global cost function"),
            (
                "{{x <3} {a 2 b 2} { {[a b] knapsackp [1]} }}",
                "a global cost function, knapsackp; those read are salldiff",
            ),
            ("{{x >3} {a 2 b 2} { {[a b] wsum [lin 2 < 3]} }}", "expected a cost of at most 0, or inf"),
            ("{{x <3.0} {a 2 b 2} { {[a b] >= [1 2]} }}", "a network of integers that minimises"),
            ("{{x <3} {a 2 b 2} { {[a b] knapsack [1 [2]]} }}", "2 items, one for each variable"),
            ("{{x <3} {a 2 b 2} { {[a b] wsum [lin 2 < 3 4]} }}", "found `4`, expected a closing bracket"),
        ] {
            assert!(message(text).contains(part), "{text}: {}", message(text));
        }
    }
}
