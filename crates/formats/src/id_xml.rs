//! Influence diagrams with names: `.bifxml` of pyAgrum, in which decisions observe only their parents (limited memory),
//! and `.xdsl` of GeNIe, with perfect recall.

use super::bayes::warn_of_sums_of;
use super::encoding;
use super::genie::noisy;
use super::input::{Source, read_text};
use super::tokens::Place;
use crate::error::{Error, ParseError, Warning};
use crate::model::{Diagram, DiagramKind, Node, Potential};
use crate::stop::Stop;
use crate::text::Wrong;
use roxmltree::{Document, Node as Element};
use rustc_hash::FxHashMap;

/// Reads a diagram in the `.bifxml` format of pyAgrum.
///
/// # Errors
/// Returns an error if the file cannot be read or parsed, with line and column, and [`Error::Stopped`] if `stop` is
/// set.
pub fn read_bifxml(source: &Source, stop: &Stop) -> Result<(Diagram, Vec<Warning>), Error> {
    let text = read_text(source, stop)?;
    parse_bifxml(&encoding::document(text).0, &source.to_string())
}

/// Reads a diagram in the `.xdsl` format of GeNIe.
///
/// # Errors
/// Returns an error if the file cannot be read or parsed, with line and column, and [`Error::Stopped`] if `stop` is
/// set.
pub fn read_xdsl(source: &Source, stop: &Stop) -> Result<(Diagram, Vec<Warning>), Error> {
    let text = read_text(source, stop)?;
    parse_xdsl(&encoding::document(text).0, &source.to_string())
}

/// The meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Variable(u32),
    /// A utility, with its weight.
    Utility(f64),
}

/// A diagram while its file is read.
struct Reader<'a> {
    document: &'a Document<'a>,
    file: &'a str,
    nodes: Vec<Node>,
    known: FxHashMap<String, Kind>,
    probabilities: Vec<Potential>,
    /// The position of the definition of each probability table.
    places: Vec<Place>,
    utilities: Vec<Potential>,
    /// Decisions and the variables that each observes.
    informed: Vec<(u32, Vec<u32>)>,
}

fn parse_bifxml(text: &str, file: &str) -> Result<(Diagram, Vec<Warning>), Error> {
    // some of pyAgrum's comments begin and end with one dash, which is not XML; blanks keep the positions unchanged
    let mut text = text.to_string();
    while let Some(begin) = text.match_indices("<!-").map(|(at, _)| at).find(|&at| !text[at..].starts_with("<!--")) {
        let end = text[begin..].find("->").map_or(text.len(), |length| begin + length + 2);
        let blank: String =
            text[begin..end].chars().map(|c| if c == '\n' { "\n".into() } else { " ".repeat(c.len_utf8()) }).collect();
        text.replace_range(begin..end, &blank);
    }
    let document = parse_xml(&text, file)?;
    let mut reader = Reader::new(&document, file);
    let root = document.root_element();
    let all = |name: &'static str| root.descendants().filter(move |element| element.has_tag_name(name));
    for variable in all("VARIABLE") {
        let name = reader.text(variable, "NAME")?;
        let values = variable.children().filter(|c| c.has_tag_name("OUTCOME")).filter_map(|c| c.text());
        let values: Vec<String> = values.map(|value| value.trim().to_string()).collect();
        match variable.attribute("TYPE").unwrap_or("nature") {
            "utility" => reader.utility(variable, name)?,
            "decision" => reader.variable(variable, name, values, true)?,
            "nature" => reader.variable(variable, name, values, false)?,
            _ => return Err(reader.error(variable, "a variable of TYPE nature, decision or utility")),
        }
    }
    for definition in all("DEFINITION") {
        let name = reader.text(definition, "FOR")?;
        let given = definition.children().filter(|c| c.has_tag_name("GIVEN")).filter_map(|c| c.text());
        let given: Vec<&str> = given.map(str::trim).collect();
        let table = definition.children().find(|c| c.has_tag_name("TABLE")).and_then(|c| c.text());
        reader.define(definition, &name, &given, table.unwrap_or_default())?;
    }
    reader.finish(DiagramKind::Limited)
}

fn parse_xdsl(text: &str, file: &str) -> Result<(Diagram, Vec<Warning>), Error> {
    let document = parse_xml(text, file)?;
    let mut reader = Reader::new(&document, file);
    if let Some(dynamic) = document.root_element().children().find(|c| c.has_tag_name("dynamic")) {
        return Err(
            reader.error(dynamic, "a diagram without time slices (GeNIe's command \"Unroll\" writes such a one)")
        );
    }
    let nodes = document.root_element().children().find(|c| c.has_tag_name("nodes"));
    let Some(nodes) = nodes else { return Err(reader.error(document.root_element(), "a network with <nodes>")) };
    let elements: Vec<Element<'_, '_>> = nodes.children().filter(Element::is_element).collect();
    let name = |element: &Element<'_, '_>| element.attribute("id").unwrap_or_default().to_string();
    for &element in &elements {
        let states = element.children().filter(|c| c.has_tag_name("state"));
        let values = states.filter_map(|c| c.attribute("id")).map(String::from).collect();
        match element.tag_name().name() {
            "cpt" | "deterministic" | "noisymax" => reader.variable(element, name(&element), values, false)?,
            "decision" => reader.variable(element, name(&element), values, true)?,
            "utility" => reader.utility(element, name(&element))?,
            "mau" => {}
            _ => return Err(reader.error(element, "a cpt, deterministic, noisymax, decision, utility or mau")),
        }
    }
    // weights of sums come first, because they change utilities
    for &element in elements.iter().filter(|element| element.has_tag_name("mau")) {
        let (parents, weights) = (words(element, "parents"), words(element, "weights"));
        let mut weights = weights.split_whitespace().map(str::parse::<f64>);
        for parent in parents.split_whitespace() {
            let weight = weights.next().unwrap_or(Ok(1.0)).ok().filter(|weight| weight.is_finite());
            match (reader.known.get_mut(parent), weight) {
                (Some(Kind::Utility(own)), Some(weight)) => *own *= weight,
                _ => return Err(reader.error(element, "a weighted sum of utilities")),
            }
        }
        if element.children().any(|c| c.has_tag_name("expression")) {
            return Err(reader.error(element, "a weighted sum of utilities, not an expression"));
        }
    }
    for &element in &elements {
        let parents = words(element, "parents");
        let given: Vec<&str> = parents.split_whitespace().collect();
        if element.has_tag_name("mau") {
            continue;
        }
        let table = reader.table(element, &given)?;
        reader.define(element, &name(&element), &given, &table)?;
    }
    reader.finish(DiagramKind::Recall)
}

/// Returns the text of a child element; empty if there is none.
fn words(element: Element<'_, '_>, tag: &str) -> String {
    let child = element.children().find(|c| c.has_tag_name(tag));
    child.and_then(|c| c.text()).unwrap_or_default().to_string()
}

fn parse_xml<'a>(text: &'a str, file: &str) -> Result<Document<'a>, Error> {
    Document::parse(text).map_err(|error| {
        let at = error.pos();
        let (line, column, hint) = (u64::from(at.row), u64::from(at.col), Some(error.to_string()));
        let (file, found, expected) = (file.into(), "other text".into(), "XML".into());
        ParseError { file, line, column, found, expected, hint }.into()
    })
}

impl<'a> Reader<'a> {
    fn new(document: &'a Document<'a>, file: &'a str) -> Self {
        Reader {
            document,
            file,
            nodes: Vec::new(),
            known: FxHashMap::default(),
            probabilities: Vec::new(),
            places: Vec::new(),
            utilities: Vec::new(),
            informed: Vec::new(),
        }
    }

    fn error(&self, element: Element<'_, '_>, expected: impl Into<String>) -> Error {
        let at = self.document.text_pos_at(element.range().start);
        let found = format!("<{}>", element.tag_name().name());
        let (line, column) = (u64::from(at.row), u64::from(at.col));
        ParseError { file: self.file.into(), line, column, found, expected: expected.into(), hint: None }.into()
    }

    fn wrong(&self, wrong: Wrong) -> Error {
        let at = self.document.text_pos_at(wrong.at.start);
        let (line, column) = (u64::from(at.row), u64::from(at.col));
        let found = wrong.found.unwrap_or_else(|| "other text".into());
        let (file, expected, hint) = (self.file.into(), wrong.expected, wrong.hint);
        ParseError { file, line, column, found, expected, hint }.into()
    }

    /// Returns the table of a GeNIe node as text.
    fn table(&self, element: Element<'_, '_>, given: &[&str]) -> Result<String, Error> {
        let own = element.attribute("id").unwrap_or_default();
        Ok(match element.tag_name().name() {
            "utility" => words(element, "utilities"),
            "deterministic" => {
                let states = words(element, "resultingstates");
                let values: Vec<&str> =
                    element.children().filter(|c| c.has_tag_name("state")).filter_map(|c| c.attribute("id")).collect();
                if let Some(other) = states.split_whitespace().find(|state| !values.contains(state)) {
                    return Err(self.error(element, format!("states of {}, not `{other}`", own)));
                }
                let row = |state: &str| {
                    let share = |value: &&str| if *value == state { "1" } else { "0" };
                    values.iter().map(share).collect::<Vec<_>>().join(" ")
                };
                states.split_whitespace().map(row).collect::<Vec<_>>().join(" ")
            }
            "noisymax" => {
                let size = |name: &&str| match self.known.get(*name) {
                    Some(Kind::Variable(v)) => self.nodes[*v as usize].domain as usize,
                    _ => 1,
                };
                let sizes: Vec<usize> = given.iter().chain([&own]).map(size).collect();
                let table = noisy::probabilities(&sizes, element).map_err(|wrong| self.wrong(wrong))?;
                table.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
            }
            _ => words(element, "probabilities"),
        })
    }

    fn text(&self, element: Element<'_, '_>, tag: &str) -> Result<String, Error> {
        let child = element.children().find(|c| c.has_tag_name(tag)).and_then(|c| c.text());
        child.map(|text| text.trim().to_string()).ok_or_else(|| self.error(element, format!("a <{tag}> in it")))
    }

    fn name(&mut self, element: Element<'_, '_>, name: String, kind: Kind) -> Result<(), Error> {
        if name.is_empty() || self.known.insert(name, kind).is_some() {
            return Err(self.error(element, "a name of its own"));
        }
        Ok(())
    }

    fn utility(&mut self, element: Element<'_, '_>, name: String) -> Result<(), Error> {
        self.name(element, name, Kind::Utility(1.0))
    }

    fn variable(
        &mut self,
        element: Element<'_, '_>,
        name: String,
        values: Vec<String>,
        decision: bool,
    ) -> Result<(), Error> {
        if values.is_empty() {
            return Err(self.error(element, "a variable with values"));
        }
        self.name(element, name.clone(), Kind::Variable(self.nodes.len() as u32))?;
        self.nodes.push(Node { name, domain: values.len() as u32, values, decision });
        Ok(())
    }

    /// Adds the parents of a variable or utility and its table, in which the variable varies fastest and then the last
    /// parent.
    fn define(&mut self, element: Element<'_, '_>, name: &str, given: &[&str], table: &str) -> Result<(), Error> {
        let kind = self.known.get(name).copied();
        let kind = kind.ok_or_else(|| self.error(element, "a table of a known variable"))?;
        let mut scope = Vec::new();
        for parent in given {
            match self.known.get(*parent) {
                Some(Kind::Variable(v)) if !scope.contains(v) => scope.push(*v),
                _ => return Err(self.error(element, format!("parents that are variables, not `{parent}`"))),
            }
        }
        if let Kind::Variable(v) = kind {
            if scope.contains(&v) {
                return Err(self.error(element, "parents besides itself"));
            }
            if self.nodes[v as usize].decision {
                self.informed.push((v, scope));
                return Ok(());
            }
            scope.push(v);
        }
        let entries = scope.iter().fold(1usize, |n, &v| n.saturating_mul(self.nodes[v as usize].domain as usize));
        let utility = matches!(kind, Kind::Utility(_));
        let number = |word: &str| word.parse::<f64>().ok().filter(|p| p.is_finite() && (utility || *p >= 0.0));
        let numbers: Option<Vec<f64>> = table.split_whitespace().map(number).collect();
        let Some(mut numbers) = numbers.filter(|numbers| numbers.len() == entries) else {
            let what = if utility { "utilities" } else { "probabilities" };
            return Err(self.error(element, format!("a table of {entries} {what}")));
        };
        match kind {
            Kind::Utility(weight) => {
                numbers.iter_mut().for_each(|number| *number *= weight);
                self.utilities.push(Potential { scope: scope.into(), table: numbers.into() });
            }
            Kind::Variable(_) => {
                self.probabilities.push(Potential { scope: scope.into(), table: numbers.into() });
                let at = self.document.text_pos_at(element.range().start);
                self.places.push((u64::from(at.row), u64::from(at.col)));
            }
        }
        Ok(())
    }

    /// Sorts the variables in temporal order, each decision after all variables on which it or its observations depend,
    /// and returns the diagram.
    fn finish(self, kind: DiagramKind) -> Result<(Diagram, Vec<Warning>), Error> {
        let root = self.document.root_element();
        let n = self.nodes.len();
        let mut parents: Vec<Option<Vec<u32>>> = vec![None; n];
        let tables = self.probabilities.iter().filter_map(|function| function.scope.split_last());
        let all = tables.map(|(v, own)| (*v, own.to_vec())).chain(self.informed.iter().cloned());
        for (v, own) in all {
            if parents[v as usize].replace(own).is_some() {
                return Err(self.error(root, format!("one table of {}", self.nodes[v as usize].name)));
            }
        }
        let missing = (0..n).find(|&v| parents[v].is_none() && !self.nodes[v].decision);
        if let Some(v) = missing {
            return Err(self.error(root, format!("a table of {}", self.nodes[v].name)));
        }
        // variables follow their parents
        let parents: Vec<Vec<u32>> = parents.into_iter().map(Option::unwrap_or_default).collect();
        let (mut placed, mut order) = (vec![false; n], Vec::new());
        while order.len() < n {
            let ready = |&v: &usize| !placed[v] && parents[v].iter().all(|&p| placed[p as usize]);
            // chance variables first, so that a decision comes as late as possible
            let next = (0..n).filter(ready).min_by_key(|&v| self.nodes[v].decision);
            let Some(v) = next else { return Err(self.error(root, "a diagram without cycles")) };
            placed[v] = true;
            order.push(v as u32);
        }
        let (mut blocks, mut seen) = (Vec::new(), vec![false; n]);
        for &decision in order.iter().filter(|&&v| self.nodes[v as usize].decision) {
            let fresh = |v: &&u32| !seen[**v as usize] && !self.nodes[**v as usize].decision;
            let observed: Vec<u32> = parents[decision as usize].iter().filter(fresh).copied().collect();
            observed.iter().for_each(|&v| seen[v as usize] = true);
            blocks.extend([observed, vec![decision]]);
        }
        blocks.push((0..n as u32).filter(|&v| !seen[v as usize] && !self.nodes[v as usize].decision).collect());
        blocks.reverse();
        let informed = order.iter().filter(|&&v| self.nodes[v as usize].decision).map(|&v| {
            let mut sees = parents[v as usize].clone();
            sees.sort_unstable();
            (v, sees)
        });
        let diagram = Diagram {
            name: self.file.into(),
            kind,
            informed: informed.collect(),
            nodes: self.nodes,
            probabilities: self.probabilities,
            utilities: self.utilities,
            blocks: blocks.into_iter().filter(|block: &Vec<u32>| !block.is_empty()).collect(),
        };
        let mut warnings = Vec::new();
        warn_of_sums_of(&diagram, &self.places, &mut |(line, column), message| {
            warnings.push(Warning { file: self.file.into(), line, column, message });
        });
        Ok((diagram, warnings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file as pyAgrum 2.2 writes it, with its malformed comments; its own solver returns 10.8.
    const BIFXML: &str = r#"<?xml version="1.0" ?>
<BIF VERSION="0.3"><NETWORK>
<VARIABLE TYPE="nature"><NAME>coin</NAME>
<!- OUTCOME are not used ->
<OUTCOME>fair</OUTCOME><OUTCOME>loaded</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>toss</NAME><OUTCOME>h</OUTCOME><OUTCOME>t</OUTCOME><OUTCOME>e</OUTCOME></VARIABLE>
<VARIABLE TYPE="decision"><NAME>bet</NAME><OUTCOME>a</OUTCOME><OUTCOME>b</OUTCOME></VARIABLE>
<VARIABLE TYPE="utility"><NAME>u</NAME><OUTCOME>0</OUTCOME></VARIABLE>
<!-- Probability distributions -->
<DEFINITION><FOR>coin</FOR><TABLE>0.75 0.25 </TABLE></DEFINITION>
<DEFINITION><FOR>toss</FOR><GIVEN>coin</GIVEN><TABLE>0.5 0.3 0.2 0 0.9 0.1 </TABLE></DEFINITION>
<DEFINITION><FOR>bet</FOR><GIVEN>coin</GIVEN></DEFINITION>
<DEFINITION><FOR>u</FOR><GIVEN>toss</GIVEN><GIVEN>bet</GIVEN><TABLE>0 10 1 11 7 12 </TABLE></DEFINITION>
</NETWORK></BIF>
"#;

    const XDSL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="venture"><nodes>
<cpt id="success"><state id="yes" /><state id="no" /><probabilities>0.2 0.8</probabilities></cpt>
<cpt id="forecast"><state id="good" /><state id="poor" /><parents>success</parents>
<probabilities>0.4 0.6 0.1 0.9</probabilities></cpt>
<deterministic id="copy"><state id="good" /><state id="poor" /><parents>forecast</parents>
<resultingstates>good poor</resultingstates></deterministic>
<decision id="invest"><state id="do" /><state id="not" /><parents>copy</parents></decision>
<utility id="gain"><parents>success invest</parents><utilities>10000 500 -5000 500</utilities></utility>
<utility id="fee"><utilities>3</utilities></utility>
<mau id="sum"><parents>gain fee</parents><weights>1 2</weights></mau>
</nodes></smile>
"#;

    #[test]
    fn diagrams_of_both_kinds_are_read() {
        let (coin, warnings) = parse_bifxml(BIFXML, "t").expect("a diagram");
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!((coin.kind, &coin.informed), (DiagramKind::Limited, &vec![(2, vec![0])]));
        assert_eq!(coin.blocks, [vec![1], vec![2], vec![0]]);
        assert_eq!((&*coin.utilities[0].scope, coin.nodes[2].value_name(1)), (&[1, 2][..], "b".to_string()));
        let (venture, warnings) = parse_xdsl(XDSL, "t").expect("a diagram");
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!((venture.kind, venture.decisions()), (DiagramKind::Recall, vec![(3, vec![2])]));
        assert_eq!(*venture.probabilities[2].table, [1.0, 0.0, 0.0, 1.0]);
        assert_eq!((*venture.utilities[1].table).to_vec(), [6.0]);
    }

    #[test]
    fn rows_that_are_no_distributions_are_named() {
        let xdsl = XDSL.replace("0.4 0.6 0.1 0.9", "0.4 0.5 0 0");
        let (_, warnings) = parse_xdsl(&xdsl, "t").expect("a diagram");
        let told: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 2);
        assert_eq!(told[0], "t:4:1: row (yes) of the probabilities of forecast sums to 0.9, not 1; used as written");
        assert_eq!(told[1], "t:4:1: row (no) of the probabilities of forecast is all 0");
        let (_, warnings) = parse_bifxml(&BIFXML.replace("0.75 0.25", "0.75 0.75"), "t").expect("a diagram");
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].to_string().contains("the probabilities of coin sum to 1.5, not 1"), "{warnings:?}");
    }

    #[test]
    fn canonical_nodes_of_genie_are_read_beside_decisions() {
        let text = |node: &str| {
            format!(
                "<smile><nodes><cpt id=\"a\"><state id=\"y\"/><state id=\"n\"/><probabilities>0.25 0.75\
                 </probabilities></cpt>{node}<decision id=\"d\"><state id=\"go\"/><state id=\"stay\"/></decision>\
                 <utility id=\"u\"><parents>b d</parents><utilities>8 1 0 1</utilities></utility></nodes></smile>"
            )
        };
        let parents = "<state id=\"t\"/><state id=\"f\"/><parents>a</parents>";
        let table = |node: &str| {
            let (diagram, _) = parse_xdsl(&text(node), "t").expect(node);
            let own = diagram.probabilities.iter().find(|function| function.scope.len() == 2).expect("a table");
            own.table.iter().map(|p| (p * 1e12).round() / 1e12).collect::<Vec<f64>>()
        };
        let noisy = format!(
            "<noisymax id=\"b\">{parents}<strengths>0 1</strengths>\
             <parameters>0.6 0.4 0 1 0.5 0.5</parameters></noisymax>"
        );
        assert_eq!(table(&noisy), [0.8, 0.2, 0.5, 0.5]);
        let fixed = |states: &str| {
            format!("<deterministic id=\"b\">{parents}<resultingstates>{states}</resultingstates></deterministic>")
        };
        assert_eq!(table(&fixed("f t")), [0.0, 1.0, 1.0, 0.0]);
        for (node, part) in [
            (fixed("f s"), "states of b, not `s`"),
            (noisy.replace("0 1</strengths>", "0 2</strengths>"), "each state of a parent"),
            (noisy.replace("noisymax", "noisyadder"), "found <noisyadder>, expected a cpt, deterministic, noisymax"),
        ] {
            let error = parse_xdsl(&text(&node), "t").expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn errors_have_places() {
        for (from, to, message) in [
            ("</NETWORK>", "", "t:14:1: found other text, expected XML"),
            ("TYPE=\"utility\"", "TYPE=\"cost\"", "t:8:1: found <VARIABLE>, expected a variable of TYPE"),
            ("<TABLE>0.75 0.25", "<TABLE>0.75", "t:10:1: found <DEFINITION>, expected a table of 2 probabilities"),
            ("<GIVEN>toss", "<GIVEN>tos", "expected parents that are variables, not `tos`"),
            ("<FOR>coin</FOR>", "<FOR>coin</FOR><GIVEN>toss</GIVEN>", "a table of 6 probabilities"),
            ("<NAME>toss", "<NAME>coin", "expected a name of its own"),
        ] {
            assert!(BIFXML.contains(from));
            let error = parse_bifxml(&BIFXML.replacen(from, to, 1), "t").expect_err(to).to_string();
            assert!(error.contains(message), "{error} for {to}");
        }
        let error = parse_xdsl(&XDSL.replace("fee</parents>", "invest</parents>"), "t").expect_err("a sum").to_string();
        assert!(error.contains("t:11:1: found <mau>, expected a weighted sum of utilities"), "{error}");
    }
}
