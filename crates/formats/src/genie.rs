//! The `.xdsl` format of GeNIe and SMILE: a node for each variable with its `state`s and its `parents`. A `cpt` has
//! `probabilities`, in which the variable itself varies fastest and the first parent slowest; a `deterministic` node
//! has `resultingstates`; a `noisymax` node has the parameters of each parent.

pub(super) mod noisy;

use super::bayes::{Conditional, File};
use super::options::ReadOptions;
use super::potential_costs::Parts;
use super::tokens::Tokens;
use super::xmlbif::{child, children, probabilities};
use crate::error::Error;
use crate::model::{Network, Numbers, Stated};
use crate::text::{Places, Wrong, names, quote};
use roxmltree::{Node, ParsingOptions};

/// The kinds of nodes that are read.
const KINDS: [&str; 3] = ["cpt", "deterministic", "noisymax"];

/// Reads a network of costs.
pub(super) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let parts = parse(tokens)?;
    let (file, stop) = (tokens.file(), tokens.stop());
    Parts { precision: options.precision, ..parts }.build(file, stop)
}

/// Reads variables and conditional probability tables; the tables are in the order of the variables.
pub(super) fn parse(tokens: &mut Tokens<'_>) -> Result<Parts, Error> {
    let text = tokens.text()?;
    let document = crate::xml::xml(&text, ParsingOptions::default())?;
    let file = network(document.root_element(), Places::new(&text)).map_err(|wrong| text.error(wrong))?;
    file.parts(tokens)
}

fn network(root: Node<'_, '_>, mut places: Places<'_>) -> Result<File, Wrong> {
    refuse_dynamic(root)?;
    let nodes = child(root, "nodes")?;
    let mut file = File::default();
    for node in nodes.children().filter(Node::is_element) {
        let kind = node.tag_name().name();
        if !KINDS.contains(&kind) {
            let wrong = Wrong::new(node.range(), format!("a discrete variable, one of {}", KINDS.join(", ")));
            let is_decided = matches!(kind, "decision" | "utility" | "mau");
            let hint = is_decided.then(|| "`fangs decide` solves influence diagrams".to_string());
            return Err(wrong.found(quote(&format!("<{kind}>"))).hinted(hint));
        }
        let name = id(node)?;
        if file.indices.contains_key(name) {
            return Err(Wrong::new(node.range(), "an id that no other node has").found(quote(name)));
        }
        let values = children(node, &["state"]).map(|state| Ok(id(state)?.into())).collect::<Result<Box<[_]>, _>>()?;
        if values.is_empty() {
            return Err(Wrong::new(node.range(), format!("a <state> of {name}")).found(format!("the {kind}")));
        }
        file.declare(name.into(), values);
    }
    for (own, node) in children(nodes, &KINDS).enumerate() {
        let scope = scope(&file, own as u32, node)?;
        let numbers = match node.tag_name().name() {
            "deterministic" => determined(&file, &scope, node)?,
            "noisymax" => {
                let sizes: Vec<usize> = scope.iter().map(|&v| file.variables[v as usize].domain as usize).collect();
                Numbers::of(noisy::probabilities(&sizes, node)?.into_iter().map(Stated::Double))
            }
            _ => probabilities(child(node, "probabilities")?, file.entries(&scope))?,
        };
        let (scope, numbers, places) = (scope.into(), numbers.into(), vec![places.of(node.range().start)]);
        file.tables[own] = Some(Conditional { scope, numbers, places });
    }
    Ok(file)
}

/// Refuses dynamic networks, because they would be different networks without the arcs between their time slices.
pub(super) fn refuse_dynamic(root: Node<'_, '_>) -> Result<(), Wrong> {
    match root.children().find(|node| node.has_tag_name("dynamic")) {
        None => Ok(()),
        Some(node) => Err(Wrong::new(node.range(), "a network without time slices")
            .found("`<dynamic>`")
            .hint("GeNIe's command \"Unroll\" writes a dynamic network as a plain one")),
    }
}

/// Returns the parents of a variable, then the variable itself.
fn scope(file: &File, own: u32, node: Node<'_, '_>) -> Result<Vec<u32>, Wrong> {
    let mut scope = Vec::new();
    for parents in children(node, &["parents"]) {
        for parent in parents.text().unwrap_or_default().split_whitespace() {
            let Some(&variable) = file.indices.get(parent).filter(|&&v| v != own) else {
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
    scope.push(own);
    Ok(scope)
}

/// Returns the table of a deterministic node: the file names the variable's value in each row.
fn determined(file: &File, scope: &[u32], node: Node<'_, '_>) -> Result<Numbers, Wrong> {
    let states = child(node, "resultingstates")?;
    let own = &file.variables[scope[scope.len() - 1] as usize];
    let (size, rows) = (own.domain as usize, file.entries(&scope[..scope.len() - 1]));
    let mut table = Vec::new();
    for state in states.text().unwrap_or_default().split_whitespace() {
        let value = own.values.iter().flatten().position(|value| **value == *state);
        let Some(value) = value else {
            let known: Vec<&str> = own.values.iter().flatten().map(|value| &**value).collect();
            let wrong = Wrong::new(states.range(), format!("one of the states {}", known.join(", ")));
            return Err(wrong.found(quote(state)));
        };
        table.extend((0..size).map(|other| Stated::Double(f64::from(u8::from(other == value)))));
    }
    match table.len() / size {
        count if count == rows => Ok(Numbers::of(table)),
        count => Err(Wrong::new(states.range(), format!("{rows} states")).found(format!("{count} states"))),
    }
}

fn id<'a>(node: Node<'a, '_>) -> Result<&'a str, Wrong> {
    let named = node.attribute("id").filter(|id| !id.is_empty());
    let tag = node.tag_name().name();
    named.ok_or_else(|| Wrong::new(node.range(), "an id").found(quote(&format!("<{tag}>"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::Stop;
    use crate::{Format, read_from, read_potentials_from};

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

    /// Returns the table of the last variable.
    fn last_table(text: &str) -> Vec<f64> {
        let read = read_potentials_from(text.as_bytes(), "t.xdsl", Format::Xdsl, None, &Stop::new());
        let potentials = read.expect("a network");
        let factor = &potentials.functions[potentials.functions.len() - 1];
        let scale = (factor.exponent as f64).exp2();
        factor.table.iter().map(|entry| (entry * scale * 1e12).round() / 1e12).collect()
    }

    #[test]
    fn parents_determine_values() {
        let node = "<deterministic id=\"d\"><state id=\"a\"/><state id=\"b\"/><parents>rain</parents>\
            <resultingstates>b a</resultingstates></deterministic></nodes>";
        let text = RAIN.replace("</nodes>", node);
        assert_eq!(last_table(&text), [0.0, 1.0, 1.0, 0.0]);
        for (states, part) in [("b", "found 1 states, expected 2 states"), ("b c", "found `c`, expected one of")] {
            let error = parse(&text.replace(">b a<", &format!(">{states}<"))).expect_err(states).to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn noisy_max_takes_the_largest_draw() {
        // P(at most s) is the product over both parents and the leak
        let node = |strengths: &str, of_rain: &str| {
            let node = format!(
                "<noisymax id=\"m\"><state id=\"hi\"/><state id=\"lo\"/><state id=\"no\"/><parents>rain grass</parents>\
                 <strengths>{strengths} 2 1 0</strengths>\
                 <parameters>{of_rain} 0 0 1 0.1 0.2 0.7 0.5 0.5 0 0.1 0.1 0.8</parameters></noisymax></nodes>"
            );
            RAIN.replace("</nodes>", &node)
        };
        let table = last_table(&node("0 1", "0.3 0.3 0.4 0 0 1"));
        // rain, grass wet: at most lo 0.7 * 0.5 * 0.9, none 0.4 * 0 * 0.8
        assert_eq!(table[6..9], [0.685, 0.315, 0.0]);
        // no rain, grass damp: at most lo 1 * 0.9 * 0.9, none 1 * 0.7 * 0.8
        assert_eq!(table[12..15], [0.19, 0.25, 0.56]);
        let turned = last_table(&node("1 0", "0 0 1 0.3 0.3 0.4"));
        assert_eq!((&turned[..9], &turned[9..]), (&table[9..], &table[..9]), "columns follow the states");
        let error = parse(&node("0 2", "0.3 0.3 0.4 0 0 1")).expect_err("no such state").to_string();
        assert!(error.contains("found `2`, expected each state of a parent of 2 states once"), "{error}");
    }

    #[test]
    fn time_slices_are_refused() {
        let text = RAIN.replace("<extensions>", "<dynamic numslices=\"3\"></dynamic><extensions>");
        let error = parse(&text).expect_err("slices").to_string();
        assert!(error.contains("6:9: found `<dynamic>`, expected a network without time slices"), "{error}");
    }

    #[test]
    fn other_encodings_are_read() {
        let text = RAIN.replace("UTF-8", "ISO-8859-1").replace("\"wet\"", "\"m\u{fc}de\"");
        let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
        let declared = format!("\u{feff}{}", text.replace("ISO-8859-1", "UTF-16"));
        let utf16: Vec<u8> = declared.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in [latin, utf16] {
            let network = read_from(&bytes[..], "t.xdsl", Format::Xdsl, &ReadOptions::default(), &Stop::new());
            assert_eq!(network.expect("a network").value_name(1, 2), "m\u{fc}de");
        }
    }

    #[test]
    fn misfits() {
        for (from, to, part) in [
            ("<nodes>", "<noodles>", "expected XML"),
            ("<cpt id=\"rain\">", "<cpt>", "3:1: found `<cpt>`, expected an id"),
            ("<cpt id=\"grass\">", "<cpt id=\"rain\">", "found `rain`, expected an id that no other node has"),
            ("0.7</", "0.7 1</", "found `1`, expected 2 numbers, no more"),
            ("0.3 0.7", "0.3", "found 1 numbers, expected 2 numbers"),
            ("0.25", "x", "5:18: found `x`, expected a probability"),
            (">rain<", ">Rain<", "found `Rain`, expected another variable of the network (did you mean `rain`?)"),
            (">rain<", ">grass<", "found `grass`, expected another variable"),
            (">rain<", ">rain rain<", "found `rain`, expected each parent once"),
            (
                "</nodes>",
                "<utility id=\"u\"/></nodes>",
                "found `<utility>`, expected a discrete variable, one of cpt, deterministic, noisymax (`fangs decide`",
            ),
        ] {
            let error = parse(&RAIN.replacen(from, to, 1)).expect_err(to).to_string();
            assert!(error.contains(part), "{to}: {error}");
        }
    }
}
