//! Reads the XML of FRODO (its user manual, "File formats"): XDisCSP 1.0, and XCSP 2.1 with agents.

use super::draft::{Draft, VALUES, number, range};
use crate::error::Error;
use crate::model::{Agents, Network};
use crate::options::ReadOptions;
use crate::stop::Stop;
use crate::text::{Text, Wrong, names, quote};
use crate::tokens::Tokens;
use roxmltree::{Node, ParsingOptions};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Reads a problem.
pub(crate) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let text = tokens.text()?;
    let document = crate::xml::xml(&text, ParsingOptions::default())?;
    let root = document.root_element();
    let mut reader = Reader { draft: Draft::new(false), relations: FxHashMap::default(), stop: tokens.stop() };
    let agents = reader.instance(root).map_err(|trouble| trouble.of(&text))?;
    reader.draft.build(&text.file, agents, options.precision, tokens.stop())
}

/// An error at a position of the file, or another error.
enum Trouble {
    Wrong(Wrong),
    Error(Error),
}

impl Trouble {
    fn of(self, text: &Text) -> Error {
        match self {
            Trouble::Wrong(wrong) => text.error(wrong),
            Trouble::Error(error) => error,
        }
    }
}

impl From<Wrong> for Trouble {
    fn from(wrong: Wrong) -> Self {
        Trouble::Wrong(wrong)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Error(error)
    }
}

/// A relation: tuples with their costs, by the names of values, because variables may have different domains.
struct Relation<'a> {
    arity: usize,
    default: f64,
    tuples: Vec<&'a str>,
    costs: Vec<f64>,
    /// The element; positions of tuples are searched in it only for errors.
    node: Node<'a, 'a>,
}

struct Reader<'a, 's> {
    draft: Draft,
    relations: FxHashMap<&'a str, Relation<'a>>,
    stop: &'s Stop,
}

impl<'a> Reader<'a, '_> {
    fn instance(&mut self, root: Node<'a, 'a>) -> Result<Agents, Trouble> {
        if root.tag_name().name() != "instance" {
            return Err(tag(root, "<instance>").into());
        }
        if root.attribute("format").is_some_and(|format| format.to_ascii_uppercase().starts_with("XCSP3")) {
            let hint = "XCSP3 is not read; write the problem as .wcsp or .cfn, as toulbar2 does with -z=FILE.cfn";
            return Err(tag(root, "XCSP 2.1 or XDisCSP 1.0").hint(hint).into());
        }
        let known = ["presentation", "agents", "domains", "variables", "relations", "constraints", "GuiPresentation"];
        for part in elements(root) {
            let name = part.tag_name().name();
            if !known.contains(&name) {
                let hint = "intensional, global and stochastic constraints are not read";
                return Err(tag(part, &format!("one of {}", known.join(", "))).hint(hint).into());
            }
        }
        let part = |name: &'static str| elements(root).find(|part| part.tag_name().name() == name);
        let must = |name: &'static str| part(name).ok_or_else(|| tag(root, &format!("<{name}> in it")));
        if let Some(node) = part("presentation").and_then(|node| node.attribute_node("maximize")) {
            self.draft.maximise = match node.value().trim() {
                "true" => true,
                "false" => false,
                _ => return Err(Wrong::new(node.range_value(), "true or false").into()),
            };
        }
        let mut agents: Vec<Box<str>> = Vec::new();
        for agent in part("agents").into_iter().flat_map(elements) {
            let name = attribute(agent, "name")?;
            if agents.iter().any(|known| **known == *name) {
                return Err(value(agent, "name", "a name that no other agent has").into());
            }
            agents.push(name.into());
        }
        let owners = self.variables(must("domains")?, must("variables")?, &agents)?;
        for relation in part("relations").into_iter().flat_map(elements) {
            self.relation(relation)?;
        }
        self.constraints(must("constraints")?)?;
        let hosts = (0..).zip(&owners).filter_map(|(variable, owner)| Some(((*owner)?, variable))).collect();
        let names: Vec<_> = self.draft.variables.iter().filter_map(|variable| variable.name.clone()).collect();
        Ok(Agents { hosts, ..Agents::complete(agents, owners, &names) })
    }

    /// Reads domains and variables. Returns the owner of each variable, if the file states one.
    fn variables(
        &mut self,
        domains: Node<'a, 'a>,
        variables: Node<'a, 'a>,
        agents: &[Box<str>],
    ) -> Result<Vec<Option<u32>>, Trouble> {
        let mut known: FxHashMap<&str, Vec<Box<str>>> = FxHashMap::default();
        for domain in elements(domains) {
            let values = values(domain)?;
            if known.insert(attribute(domain, "name")?, values).is_some() {
                return Err(value(domain, "name", "a name that no other domain has").into());
            }
        }
        let places: FxHashMap<&str, u32> = agents.iter().map(|name| &**name).zip(0..).collect();
        let mut owners = Vec::new();
        for variable in self.stop.each(elements(variables)) {
            let variable = variable?;
            if variable.attribute("type").is_some_and(|kind| kind != "decision") {
                let wrong = value(variable, "type", "decision");
                return Err(wrong.hint("stochastic problems with random variables are not read").into());
            }
            let (name, domain) = (attribute(variable, "name")?, attribute(variable, "domain")?);
            let Some(values) = known.get(domain) else {
                return Err(named(variable, "domain", "the name of a domain", known.keys().copied()).into());
            };
            if self.draft.variable(name, values.clone().into()).is_none() {
                let expected = format!("a name that no other variable has, and {VALUES} values in all at most");
                return Err(value(variable, "name", &expected).into());
            }
            owners.push(match variable.attribute("agent") {
                Some(agent) => Some(*places.get(agent).ok_or_else(|| {
                    named(variable, "agent", "the name of an agent", agents.iter().map(|name| &**name))
                })?),
                None => None,
            });
        }
        Ok(owners)
    }

    fn relation(&mut self, node: Node<'a, 'a>) -> Result<(), Trouble> {
        let name = attribute(node, "name")?;
        let arity = attribute(node, "arity")?.trim().parse::<usize>();
        let arity = arity.map_err(|_| value(node, "arity", "a number of variables"))?;
        let forbidden = self.draft.forbidden();
        let soft = match attribute(node, "semantics")?.trim() {
            "soft" => None,
            "supports" => Some((forbidden, 0.0)),
            "conflicts" => Some((0.0, forbidden)),
            _ => return Err(value(node, "semantics", "soft, supports or conflicts").into()),
        };
        let default = match (soft, node.attribute("defaultCost")) {
            (Some((default, _)), _) => default,
            (None, None) => 0.0,
            (None, Some(text)) => self.cost(text).map_err(|expected| value(node, "defaultCost", &expected))?,
        };
        let mut relation = Relation { arity, default, tuples: Vec::new(), costs: Vec::new(), node };
        // a cost applies until the next one
        let mut cost = soft.map(|(_, cost)| cost);
        for child in node.children().filter(Node::is_text) {
            for part in self.stop.each(child.text().unwrap_or_default().split('|')) {
                let part = part?;
                let tuple = match (soft, part.split_once(':')) {
                    (None, Some((number, tuple))) => {
                        cost = Some(self.cost(number).map_err(|expected| within(child, number, &expected))?);
                        tuple
                    }
                    _ => part,
                };
                let tuple = tuple.trim();
                if tuple.is_empty() && (arity > 0 || part.trim().is_empty()) {
                    continue;
                }
                let Some(cost) = cost else {
                    return Err(within(child, tuple, "a cost and `:` before the first tuple").into());
                };
                if tuple.split_whitespace().count() != arity {
                    return Err(within(child, tuple, &format!("{arity} values")).into());
                }
                relation.tuples.push(tuple);
                relation.costs.push(cost);
            }
        }
        if self.relations.insert(name, relation).is_some() {
            return Err(value(node, "name", "a name that no other relation has").into());
        }
        Ok(())
    }

    /// Parses a cost; on failure returns what is expected.
    fn cost(&self, text: &str) -> Result<f64, String> {
        let cost = number(text.trim()).unwrap_or(f64::NAN);
        self.draft.admits(cost).map(|()| cost)
    }

    fn constraints(&mut self, constraints: Node<'a, 'a>) -> Result<(), Trouble> {
        for (name, sense) in [("initialCost", "a constant cost"), ("maximalCost", "the cost of what is forbidden")] {
            let Some(text) = constraints.attribute(name) else { continue };
            let cost = number(text.trim()).ok_or_else(|| value(constraints, name, sense))?;
            match name {
                "initialCost" if cost != 0.0 => {
                    self.draft.admits(cost).map_err(|expected| value(constraints, name, &expected))?;
                    self.draft.dense(name, Vec::new(), vec![cost]);
                }
                "maximalCost" if cost.is_finite() => self.draft.limit = Some(cost),
                _ => {}
            }
        }
        for node in self.stop.each(elements(constraints)) {
            let node = node?;
            let reference = attribute(node, "reference")?;
            let Some(relation) = self.relations.get(reference) else {
                let hint = match reference.starts_with("global:") {
                    true => Some("global constraints are not read".to_string()),
                    false => names(self.relations.keys().copied(), reference).1,
                };
                return Err(value(node, "reference", "the name of a relation").hinted(hint).into());
            };
            let mut scope = Vec::new();
            for name in attribute(node, "scope")?.split_whitespace() {
                let Some(&variable) = self.draft.places.get(name) else {
                    let all = self.draft.places.keys().map(|name| &**name);
                    let (_, hint) = names(all, name);
                    let expected = "names of variables";
                    return Err(value(node, "scope", expected).found(quote(name)).hinted(hint).into());
                };
                if scope.contains(&variable) {
                    return Err(value(node, "scope", "each variable once").into());
                }
                scope.push(variable);
            }
            if scope.len() != relation.arity {
                let expected = format!("{} variables, as many as {reference} has", relation.arity);
                return Err(value(node, "scope", &expected).into());
            }
            if !self.draft.has_room(relation.tuples.len() as u64) {
                return Err(tag(node, "functions of at most 10^8 tuples in all").into());
            }
            let mut tuples = Vec::with_capacity(relation.tuples.len() * relation.arity);
            for tuple in &relation.tuples {
                for (&variable, label) in scope.iter().zip(tuple.split_whitespace()) {
                    tuples.push(self.draft.value(variable, label).ok_or_else(|| {
                        let name = self.draft.variables[variable as usize].name.as_deref().unwrap_or_default();
                        let text = relation.node.children().find(|child| child.is_text() && holds(*child, label));
                        let expected = format!("a value of {name}");
                        within(text.unwrap_or(relation.node), label, &expected)
                    })?);
                }
            }
            let (default, costs) = (relation.default, relation.costs.clone());
            self.draft.listed(node.attribute("name").unwrap_or(reference), scope, default, tuples, costs)?;
        }
        Ok(())
    }
}

fn elements<'a>(node: Node<'a, 'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(Node::is_element)
}

/// Returns the byte range of the name in an element's opening tag.
fn start(node: Node<'_, '_>) -> Range<usize> {
    let start = node.range().start;
    start..start + 1 + node.tag_name().name().len()
}

fn tag(node: Node<'_, '_>, expected: &str) -> Wrong {
    Wrong::new(start(node), expected)
}

fn attribute<'a>(node: Node<'a, 'a>, name: &str) -> Result<&'a str, Wrong> {
    node.attribute(name).ok_or_else(|| tag(node, &format!("{name}=\"…\" in it")))
}

/// Returns an error about an attribute's value.
fn value(node: Node<'_, '_>, name: &str, expected: &str) -> Wrong {
    let at = node.attribute_node(name).map_or(start(node), |attribute| attribute.range_value());
    Wrong::new(at, expected)
}

fn named<'n>(node: Node<'_, '_>, attribute: &str, expected: &str, all: impl Iterator<Item = &'n str> + Clone) -> Wrong {
    let (_, hint) = names(all, node.attribute(attribute).unwrap_or_default());
    value(node, attribute, expected).hinted(hint)
}

/// Returns whether a text contains a word.
fn holds(node: Node<'_, '_>, word: &str) -> bool {
    node.text().is_some_and(|text| text.split([' ', '|', ':', '\n', '\r', '\t']).any(|found| found == word))
}

/// Returns an error about a part of an element's text, whose position is searched in the file.
fn within(node: Node<'_, '_>, part: &str, expected: &str) -> Wrong {
    let range = node.range();
    let text = node.document().input_text().get(range.clone()).unwrap_or_default();
    let word = part.trim();
    let is_apart = |at: &usize| {
        let before = text[..*at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        before && text[at + word.len()..].chars().next().is_none_or(|c| !c.is_alphanumeric())
    };
    let place = text.match_indices(word).map(|(at, _)| at).find(is_apart).unwrap_or(0);
    let start = range.start + place;
    Wrong::new(start..start + word.len(), expected).found(quote(word))
}

/// Returns the values of a domain: a list of ranges and single values.
fn values(domain: Node<'_, '_>) -> Result<Vec<Box<str>>, Wrong> {
    let mut values: Vec<Box<str>> = Vec::new();
    for word in domain.text().unwrap_or_default().split_whitespace() {
        match range(word) {
            Some(all) => values.extend(all),
            None if word.contains("..") => return Err(within(domain, word, "a range such as 1..3")),
            None => values.push(word.into()),
        }
        if values.len() as u64 > VALUES {
            return Err(within(domain, word, &format!("at most {VALUES} values")));
        }
    }
    let mut sorted: Vec<&str> = values.iter().map(|value| &**value).collect();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(within(domain, pair[0], "each value once"));
    }
    if values.is_empty() {
        return Err(tag(domain, "values, such as 1..3"));
    }
    Ok(values)
}
