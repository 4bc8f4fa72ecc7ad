//! `.xdsl` of GeNIe and SMILE: a `cpt` for each variable with its `state`s, its `parents` and its `probabilities`, in
//! which the variable itself runs fastest and the first parent slowest.

use super::ReadOptions;
use super::bif::File;
use super::text::{Wrong, names, quote};
use super::tokens::Tokens;
use super::uai::Parts;
use super::xmlbif::{child, children, probabilities};
use crate::error::Error;
use crate::model::Network;
use roxmltree::{Node, ParsingOptions};

/// Reads a network of costs.
pub(super) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let parts = parse(tokens)?;
    let (file, stop) = (tokens.file(), tokens.stop());
    Parts { precision: options.precision, ..parts }.build(file, stop)
}

/// Reads variables and conditional probabilities, in the order of the variables.
pub(super) fn parse(tokens: &mut Tokens<'_>) -> Result<Parts, Error> {
    let text = tokens.text()?;
    let document = text.xml(ParsingOptions::default())?;
    let file = network(document.root_element()).map_err(|wrong| text.error(wrong))?;
    file.parts(&text.file)
}

fn network(root: Node<'_, '_>) -> Result<File, Wrong> {
    let nodes = child(root, "nodes")?;
    let mut file = File::default();
    for node in nodes.children().filter(Node::is_element) {
        let kind = node.tag_name().name();
        if kind != "cpt" {
            return Err(Wrong::new(node.range(), "a cpt, a discrete variable").found(quote(&format!("<{kind}>"))));
        }
        let name = id(node)?;
        if file.indices.contains_key(name) {
            return Err(Wrong::new(node.range(), "an id that no other cpt has").found(quote(name)));
        }
        let values = children(node, &["state"]).map(|state| Ok(id(state)?.into())).collect::<Result<Box<[_]>, _>>()?;
        if values.is_empty() {
            return Err(Wrong::new(node.range(), format!("a <state> of {name}")).found("the cpt"));
        }
        file.declare(name.into(), values);
    }
    for (own, node) in children(nodes, &["cpt"]).enumerate() {
        let mut scope = Vec::new();
        for parents in children(node, &["parents"]) {
            for parent in parents.text().unwrap_or_default().split_whitespace() {
                let Some(&variable) = file.indices.get(parent).filter(|&&v| v as usize != own) else {
                    let (_, hint) = names(file.variables.iter().filter_map(|own| own.name.as_deref()), parent);
                    let wrong = Wrong::new(parents.range(), "another variable of the network");
                    return Err(wrong.found(quote(parent)).hinted(hint));
                };
                if scope.contains(&variable) {
                    return Err(Wrong::new(parents.range(), "each parent once").found(quote(parent)));
                }
                scope.push(variable);
            }
        }
        scope.push(own as u32);
        let numbers = probabilities(child(node, "probabilities")?, file.entries(&scope))?;
        file.tables[own] = Some((scope.into(), numbers.into()));
    }
    Ok(file)
}

fn id<'a>(node: Node<'a, '_>) -> Result<&'a str, Wrong> {
    let named = node.attribute("id").filter(|id| !id.is_empty());
    let tag = node.tag_name().name();
    named.ok_or_else(|| Wrong::new(node.range(), "an id").found(quote(&format!("<{tag}>"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{Format, read_from};
    use crate::stop::Stop;

    fn parse(text: &str) -> Result<Network, Error> {
        read_from(text.as_bytes(), "t.xdsl", Format::Xdsl, &ReadOptions::default(), &Stop::new())
    }

    const RAIN: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="weather"><nodes>
<cpt id="rain"><state id="yes"/><state id="no"/><probabilities>0.3 0.7</probabilities></cpt>
<cpt id="grass"><state id="dry"/><state id="damp"/><state id="wet"/><parents>rain</parents>
<probabilities>0 0.25 0.75 0.7 0.2 0.1</probabilities></cpt>
</nodes><extensions><genie/></extensions></smile>
    "#;

    #[test]
    fn the_variable_runs_fastest() {
        let network = parse(RAIN).expect("a network");
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
        for (from, to, part) in [
            ("<nodes>", "<noodles>", "expected XML"),
            ("<cpt id=\"rain\">", "<cpt>", "3:1: found `<cpt>`, expected an id"),
            ("<cpt id=\"grass\">", "<cpt id=\"rain\">", "found `rain`, expected an id that no other cpt has"),
            ("0.7</", "0.7 1</", "found `1`, expected 2 numbers, no more"),
            ("0.3 0.7", "0.3", "found 1 numbers, expected 2 numbers"),
            ("0.25", "x", "5:19: found `x`, expected a probability"),
            (">rain<", ">Rain<", "found `Rain`, expected another variable of the network (did you mean `rain`?)"),
            (">rain<", ">grass<", "found `grass`, expected another variable"),
            (">rain<", ">rain rain<", "found `rain`, expected each parent once"),
            ("</nodes>", "<utility id=\"u\"/></nodes>", "found `<utility>`, expected a cpt"),
        ] {
            let error = parse(&RAIN.replacen(from, to, 1)).expect_err(to).to_string();
            assert!(error.contains(part), "{to}: {error}");
        }
    }
}
