//! Domains of pyDCOP's files, with their values as used in expressions.

use super::super::draft::{VALUES, number, range};
use super::super::python::Value;
use super::super::yaml::{Kind, Node};
use crate::text::Wrong;
use rustc_hash::{FxHashMap, FxHashSet};

/// The values of a domain as used in expressions, and as written in the file.
pub(super) struct Domain {
    pub values: Vec<Typed>,
    pub labels: Vec<Box<str>>,
}

impl Domain {
    /// Returns the index of a value that is written like one of the domain, or that PyYAML reads as equal to one.
    pub fn place(&self, node: &Node) -> Result<usize, Wrong> {
        let label = node.scalar("a value")?;
        let typed = Typed::new(label, matches!(node.kind, Kind::Scalar(_, true)));
        let written = self.labels.iter().position(|known| **known == *label);
        let place = written.or_else(|| self.values.iter().position(|known| *known == typed));
        place.ok_or_else(|| node.wrong("a value of its domain"))
    }
}

/// A value as PyYAML reads it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Typed {
    Number(f64),
    Truth(bool),
    Text(Box<str>),
}

impl Typed {
    pub fn new(text: &str, plain: bool) -> Self {
        if !plain {
            return Typed::Text(text.into());
        }
        // YAML 1.1, like PyYAML
        match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Typed::Truth(true),
            "false" | "no" | "off" => Typed::Truth(false),
            _ => number(text).map_or_else(|| Typed::Text(text.into()), Typed::Number),
        }
    }

    pub fn value(&self) -> Value<'_> {
        match self {
            Typed::Number(number) => Value::Number(*number),
            Typed::Truth(truth) => Value::Truth(*truth),
            Typed::Text(text) => Value::Text(text),
        }
    }
}

/// Reads the domains, by name.
pub(super) fn domains(node: &Node) -> Result<FxHashMap<String, Domain>, Wrong> {
    let mut domains = FxHashMap::default();
    for (key, own) in node.map("a mapping of domains")? {
        let values = own.must_get("values", "the domain")?;
        let mut domain = Domain { values: Vec::new(), labels: Vec::new() };
        match values.items() {
            [single] if single.scalar("a value").is_ok_and(|text| text.contains("..")) => {
                let Some(labels) = range(single.scalar("a value")?) else {
                    return Err(single.wrong(format!("a range such as `0 .. 9`, of at most {VALUES} values")));
                };
                for label in labels {
                    domain.values.push(Typed::new(&label, true));
                    domain.labels.push(label);
                }
            }
            items => {
                let mut known = FxHashSet::default();
                for item in items {
                    let label = item.scalar("a value")?;
                    if !known.insert(label) {
                        return Err(item.wrong("each value once"));
                    }
                    let plain = matches!(item.kind, Kind::Scalar(_, true));
                    domain.values.push(Typed::new(label, plain));
                    domain.labels.push(label.into());
                }
            }
        }
        if domain.labels.is_empty() {
            return Err(values.wrong("a list of values, or a range such as `0 .. 9`"));
        }
        let _ = domains.insert(key.scalar("a name")?.to_string(), domain);
    }
    Ok(domains)
}
