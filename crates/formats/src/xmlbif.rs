//! XMLBIF 0.3 (the XML-based BayesNets interchange format; JavaBayes, Weka, pgmpy): a `VARIABLE` has a `NAME` and
//! `OUTCOME`s; a `DEFINITION` has `FOR`, `GIVEN`s and a `TABLE`, in which the variable itself varies fastest and the
//! first parent slowest.

use super::bayes::{Conditional, File};
use super::options::ReadOptions;
use super::potential_costs::Parts;
use super::tokens::{Place, Tokens};
use super::{decimal, text};
use crate::error::Error;
use crate::model::{Network, Numbers, Stated};
use crate::text::{Places, Wrong, names};
use roxmltree::{Node, ParsingOptions};

/// Reads a network of costs.
pub(super) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let parts = parse(tokens)?;
    let (file, stop) = (tokens.file(), tokens.stop());
    Parts { precision: options.precision, ..parts }.build(file, stop)
}

/// Reads variables and conditional probability tables; the tables are in the order of the variables.
pub(super) fn parse(tokens: &mut Tokens<'_>) -> Result<Parts, Error> {
    let text = tokens.text()?;
    // files contain the DTD of the format
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = crate::xml::xml(&text, options)?;
    let file = network(document.root_element(), Places::new(&text)).map_err(|wrong| text.error(wrong))?;
    file.parts(tokens)
}

fn network(root: Node<'_, '_>, mut places: Places<'_>) -> Result<File, Wrong> {
    let network = child(root, "NETWORK")?;
    let mut file = File::default();
    for node in children(network, &["VARIABLE"]) {
        variable(&mut file, node)?;
    }
    for node in children(network, &["DEFINITION", "PROBABILITY"]) {
        definition(&mut file, node, places.of(node.range().start))?;
    }
    match file.missing() {
        Some(name) => Err(Wrong::new(network.range(), format!("a definition of {name}")).found("the network")),
        None => Ok(file),
    }
}

pub(super) fn children<'a, 'i: 'a>(node: Node<'a, 'i>, tags: &'a [&str]) -> impl Iterator<Item = Node<'a, 'i>> + 'a {
    let is_one = |node: &Node<'_, '_>| tags.iter().any(|tag| node.tag_name().name().eq_ignore_ascii_case(tag));
    node.children().filter(Node::is_element).filter(is_one)
}

pub(super) fn child<'a, 'i: 'a>(node: Node<'a, 'i>, tag: &'static str) -> Result<Node<'a, 'i>, Wrong> {
    let found = node.children().find(|node| node.is_element() && node.tag_name().name().eq_ignore_ascii_case(tag));
    let name = node.tag_name().name().to_string();
    found.ok_or_else(|| Wrong::new(node.range(), format!("<{tag}> in it")).found(text::quote(&format!("<{name}>"))))
}

/// Returns the text of an element without comments, and its position.
fn content<'a>(node: Node<'a, '_>) -> (String, std::ops::Range<usize>) {
    let texts = node.children().filter(Node::is_text);
    let all: Vec<&str> = texts.clone().filter_map(|text| text.text()).collect();
    let place = texts.into_iter().next().map_or(node.range(), |text| text.range());
    (all.join(" ").trim().to_string(), place)
}

fn variable(file: &mut File, node: Node<'_, '_>) -> Result<(), Wrong> {
    if let Some(kind) = node.attribute("TYPE").filter(|kind| !kind.eq_ignore_ascii_case("nature")) {
        return Err(Wrong::new(node.range(), "variables of TYPE nature")
            .found(text::quote(kind))
            .hint("`fangs decide` reads influence diagrams as .bifxml"));
    }
    let (name, place) = content(child(node, "NAME")?);
    if name.is_empty() || file.indices.contains_key(&*name) {
        return Err(Wrong::new(place, "a name that no other variable has"));
    }
    let values: Box<[Box<str>]> = children(node, &["OUTCOME", "VALUE"]).map(|node| content(node).0.into()).collect();
    if values.is_empty() {
        return Err(Wrong::new(place, format!("an <OUTCOME> of {name}")));
    }
    file.declare(name.into(), values);
    Ok(())
}

fn definition(file: &mut File, node: Node<'_, '_>, place: Place) -> Result<(), Wrong> {
    let mut scope = Vec::new();
    for node in children(node, &["GIVEN"]).chain([child(node, "FOR")?]) {
        let (name, place) = content(node);
        let Some(&variable) = file.indices.get(&*name) else {
            let (_, hint) = names(file.variables.iter().filter_map(|own| own.name.as_deref()), &name);
            return Err(Wrong::new(place, "a variable of the network").hinted(hint));
        };
        if scope.contains(&variable) {
            return Err(Wrong::new(place, "a variable that is not there yet"));
        }
        scope.push(variable);
    }
    let own = scope.last().map_or(0, |&own| own as usize);
    if file.tables[own].is_some() {
        return Err(Wrong::new(node.range(), "one definition a variable").found("another definition"));
    }
    let numbers = probabilities(child(node, "TABLE")?, file.entries(&scope))?;
    let (scope, numbers) = (scope.into(), numbers.into());
    file.tables[own] = Some(Conditional { scope, numbers, places: vec![place] });
    Ok(())
}

/// Returns the `entries` numbers in an element.
pub(super) fn probabilities(node: Node<'_, '_>, entries: usize) -> Result<Numbers, Wrong> {
    let mut numbers = Vec::new();
    for part in node.children().filter(Node::is_text) {
        let source = part.text().unwrap_or_default();
        for word in source.split_whitespace() {
            let at = part.range().start + (word.as_ptr().addr() - source.as_ptr().addr());
            let place = at..at + word.len();
            match decimal::parse(word.as_bytes()) {
                _ if numbers.len() == entries => return Err(Wrong::new(place, format!("{entries} numbers, no more"))),
                Some(Stated::Double(double)) if !(0.0..f64::INFINITY).contains(&double) => {
                    return Err(Wrong::new(place, "a probability"));
                }
                Some(stated) => numbers.push(stated),
                None => return Err(Wrong::new(place, "a probability")),
            }
        }
    }
    if numbers.len() < entries {
        let end = node.range().end;
        let found = format!("{} numbers", numbers.len());
        return Err(Wrong::new(end..end, format!("{entries} numbers")).found(found));
    }
    Ok(Numbers::of(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::Stop;
    use crate::{Format, read_from};

    fn parse(text: &str) -> Result<Network, Error> {
        read_from(text.as_bytes(), "t.xmlbif", Format::XmlBif, &ReadOptions::default(), &Stop::new())
    }

    fn rain(table: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?>\n<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> ]>\n<BIF VERSION=\"0.3\">\n\
             <NETWORK>\n<NAME>weather</NAME>\n<VARIABLE TYPE=\"nature\"><NAME>rain</NAME><OUTCOME>yes</OUTCOME>\
             <OUTCOME>no</OUTCOME>\
             <PROPERTY>position = (0,0)</PROPERTY></VARIABLE>\n<VARIABLE TYPE=\"nature\"><NAME>grass</NAME>\
             <OUTCOME>dry</OUTCOME><OUTCOME>damp</OUTCOME><OUTCOME>wet</OUTCOME></VARIABLE>\n<DEFINITION><FOR>grass\
             </FOR><GIVEN>rain</GIVEN><TABLE>{table}</TABLE></DEFINITION>\n<DEFINITION><FOR>rain</FOR><TABLE>0.3 0.7\
             </TABLE></DEFINITION>\n</NETWORK>\n</BIF>\n"
        )
    }

    #[test]
    fn the_variable_runs_fastest() {
        let network = parse(&rain("\n 0 0.25 0.75 <!-- yes -->\n 0.7 0.2 1e-1\n")).expect("a network");
        assert_eq!((network.variable_name(1), network.value_name(1, 2)), ("grass".into(), "wet".into()));
        let value = |assignment: [u32; 2]| {
            let evaluation = crate::check::evaluate(&network, &assignment);
            evaluation.value(&network, &assignment).map(|value| value.as_f64().exp())
        };
        for (assignment, p) in [([0, 1], 0.3 * 0.25), ([1, 0], 0.7 * 0.7), ([1, 2], 0.7 * 0.1)] {
            assert!((value(assignment).expect("possible") - p).abs() < 1e-12);
        }
        assert_eq!(value([0, 0]), None);
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("<BIF>".to_string(), "expected XML"),
            ("<BIF></BIF>".into(), "t.xmlbif:1:1: found `<BIF>`, expected <NETWORK> in it"),
            (rain("1 2 3 4 5"), "found 5 numbers, expected 6 numbers"),
            (rain("1 2 3 4 5 6 7"), "found `7`, expected 6 numbers, no more"),
            (rain("1 2\n x 4 5 6"), "t.xmlbif:9:2: found `x`, expected a probability"),
            (rain("1 2 3 4 5 -6"), "found `-6`, expected a probability"),
            (rain("1 2 3 4 5 6").replace("<GIVEN>rain", "<GIVEN>Rain"), "found `Rain`, expected a variable of the"),
            (rain("1 2 3 4 5 6").replace("<FOR>rain", "<FOR>grass"), "expected one definition a variable"),
            (rain("1 2 3 4 5 6").replace("nature", "decision"), "found `decision`, expected variables of TYPE nature"),
        ] {
            let error = parse(&text).expect_err(&text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
