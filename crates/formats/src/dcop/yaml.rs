//! YAML documents as trees whose nodes know their positions.

use crate::error::Error;
use crate::text::{Text, Wrong};
use rustc_hash::{FxHashMap, FxHashSet};
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::ops::Range;
use std::rc::Rc;

/// The maximum nesting depth of a document.
const DEPTH: usize = 64;
/// The maximum number of nodes of a document after aliases are expanded.
const PARTS: usize = 50_000_000;

/// A node of a document.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub kind: Kind,
    /// The byte range of the node in the text.
    pub at: Range<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// A scalar, and whether it is unquoted.
    Scalar(Rc<str>, bool),
    List(Rc<Vec<Node>>),
    Map(Rc<Vec<(Node, Node)>>),
}

impl Node {
    /// Returns an error about this node.
    pub fn wrong(&self, expected: impl Into<String>) -> Wrong {
        let wrong = Wrong::new(self.at.clone(), expected);
        match self.kind {
            Kind::Scalar(..) => wrong,
            Kind::List(_) => wrong.found("a list"),
            Kind::Map(_) => wrong.found("a mapping"),
        }
    }

    /// Returns the text of a scalar; `expected` names it in the error.
    pub fn scalar(&self, expected: &str) -> Result<&str, Wrong> {
        match &self.kind {
            Kind::Scalar(text, _) => Ok(text),
            _ => Err(self.wrong(expected)),
        }
    }

    /// Returns the pairs of a mapping; empty if nothing is written.
    pub fn map(&self, expected: &str) -> Result<&[(Node, Node)], Wrong> {
        match &self.kind {
            Kind::Map(pairs) => Ok(pairs),
            _ if self.is_empty() => Ok(&[]),
            _ => Err(self.wrong(expected)),
        }
    }

    /// Returns the items of a list; any other node counts as a list of one item, and nothing as an empty list.
    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ if self.is_empty() => &[],
            _ => std::slice::from_ref(self),
        }
    }

    /// Returns whether the node is absent or null.
    pub fn is_empty(&self) -> bool {
        matches!(&self.kind, Kind::Scalar(text, true) if ["", "~", "null"].contains(&&**text))
    }

    /// Returns the value of a key of a mapping; `None` if there is none.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Kind::Map(pairs) = &self.kind else { return None };
        let is_key = |(node, _): &&(Node, Node)| matches!(&node.kind, Kind::Scalar(text, _) if **text == *key);
        pairs.iter().find(is_key).map(|(_, value)| value)
    }

    /// Returns the value of a key of a mapping, which must have it; `what` names the mapping in the error.
    pub fn must_get(&self, key: &str, what: &str) -> Result<&Node, Wrong> {
        let start = self.at.start..self.at.start;
        self.get(key).ok_or_else(|| Wrong::new(start, format!("`{key}` of {what}")).found("none"))
    }

    /// Returns the keys of a mapping that are not in `known`.
    pub fn other_keys(&self, known: &[&str], what: &str) -> Result<Vec<&Node>, Wrong> {
        let mut others = Vec::new();
        for (key, _) in self.map(what)? {
            if !known.contains(&key.scalar("a name")?) {
                others.push(key);
            }
        }
        Ok(others)
    }

    /// Returns the byte at which a scalar's text begins in the file; `None` if the file does not have it verbatim,
    /// because of escapes or line breaks.
    pub fn verbatim(&self, text: &Text) -> Option<usize> {
        let Kind::Scalar(own, plain) = &self.kind else { return None };
        let start = self.at.start + usize::from(!plain);
        text.text.get(start..)?.starts_with(&**own).then_some(start)
    }
}

/// Parses a text of one document; an empty one is an empty mapping.
pub(super) fn parse(text: &Text) -> Result<Node, Error> {
    tree(text).map_err(|wrong| text.error(wrong))
}

/// A list or mapping that is not complete.
struct Open {
    start: usize,
    /// The number by which aliases refer to it, or 0.
    anchor: usize,
    nodes: Vec<Node>,
    /// The number of nodes of its subtree.
    parts: usize,
}

fn tree(text: &Text) -> Result<Node, Wrong> {
    let places = Places::new(&text.text);
    let mut open: Vec<Open> = Vec::new();
    let mut anchors: FxHashMap<usize, (Node, usize)> = FxHashMap::default();
    let (mut root, mut total) = (None, 0usize);
    for event in Parser::new_from_str(&text.text) {
        let (event, span) = event.map_err(|error| {
            let at = places.byte(error.marker().index());
            Wrong::new(at..at, "YAML").hint(error.info().to_string())
        })?;
        let at = places.range(span);
        let (node, anchor, parts, new) = match event {
            Event::Scalar(.., Some(_)) | Event::SequenceStart(_, Some(_)) | Event::MappingStart(_, Some(_)) => {
                return Err(Wrong::new(at, "plain data without a tag"));
            }
            Event::Scalar(value, style, anchor, None) => {
                let kind = Kind::Scalar(Rc::from(&*value), style == ScalarStyle::Plain);
                (Node { kind, at }, anchor, 1, 1)
            }
            Event::Alias(number) => {
                let Some((node, parts)) = anchors.get(&number) else {
                    return Err(Wrong::new(at, "the name of a part that ends before"));
                };
                (node.clone(), 0, *parts, *parts)
            }
            Event::SequenceStart(anchor, None) | Event::MappingStart(anchor, None) => {
                if open.len() == DEPTH {
                    return Err(Wrong::new(at, format!("at most {DEPTH} levels")));
                }
                open.push(Open { start: at.start, anchor, nodes: Vec::new(), parts: 1 });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { start, anchor, nodes, parts }) = open.pop() else {
                    return Err(Wrong::new(at, "a list or a mapping"));
                };
                let is_list = matches!(event, Event::SequenceEnd);
                let kind = if is_list { Kind::List(Rc::new(nodes)) } else { Kind::Map(Rc::new(pairs(nodes)?)) };
                (Node { kind, at: start..at.end.max(start) }, anchor, parts, 1)
            }
            Event::DocumentStart(_) if root.is_some() => {
                return Err(Wrong::new(at, "one document in a file").found("a second document"));
            }
            _ => continue,
        };
        total = total.saturating_add(new);
        if total > PARTS {
            return Err(Wrong::new(node.at, format!("at most {PARTS} parts, aliases included")));
        }
        if anchor > 0 {
            let _ = anchors.insert(anchor, (node.clone(), parts));
        }
        match open.last_mut() {
            Some(parent) => {
                parent.parts = parent.parts.saturating_add(parts);
                parent.nodes.push(node);
            }
            None => root = Some(node),
        }
    }
    Ok(root.unwrap_or(Node { kind: Kind::Map(Rc::default()), at: 0..0 }))
}

/// Pairs up keys and values, which alternate, and checks that no key occurs twice.
fn pairs(nodes: Vec<Node>) -> Result<Vec<(Node, Node)>, Wrong> {
    let mut pairs = Vec::with_capacity(nodes.len() / 2);
    let mut known = FxHashSet::default();
    let mut nodes = nodes.into_iter();
    while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
        if let Kind::Scalar(text, _) = &key.kind
            && !known.insert(text.clone())
        {
            return Err(key.wrong("a key that is not there yet"));
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

/// Converts positions in characters to positions in bytes.
struct Places<'a> {
    text: &'a str,
    /// The byte offset of every [`STRIDE`]th character; empty if all characters are ASCII.
    marks: Vec<usize>,
}

const STRIDE: usize = 256;

impl<'a> Places<'a> {
    fn new(text: &'a str) -> Self {
        let marks = match text.is_ascii() {
            true => Vec::new(),
            false => text.char_indices().step_by(STRIDE).map(|(byte, _)| byte).collect(),
        };
        Places { text, marks }
    }

    fn byte(&self, character: usize) -> usize {
        if self.marks.is_empty() {
            return character.min(self.text.len());
        }
        let mark = self.marks.get(character / STRIDE).copied().unwrap_or(self.text.len());
        let rest = self.text[mark..].char_indices().nth(character % STRIDE);
        rest.map_or(self.text.len(), |(byte, _)| mark + byte)
    }

    fn range(&self, span: Span) -> Range<usize> {
        let start = self.byte(span.start.index());
        start..self.byte(span.end.index()).max(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Node, Error> {
        parse(&Text { file: "f".into(), text: text.into() })
    }

    #[test]
    fn parts_know_their_places() {
        let text = "é: [1, 'two']\nb: &x\n  c: 3\nd: *x\n";
        let root = read(text).expect("YAML");
        let items = root.get("é").expect("a key").items();
        assert_eq!(items.iter().map(|item| &text[item.at.clone()]).collect::<Vec<_>>(), ["1", "'two'"]);
        assert_eq!(items[1].scalar("a text").expect("a text"), "two");
        assert_eq!(root.get("d").and_then(|d| d.get("c")).expect("an alias").scalar("a number").expect("3"), "3");
        assert!(root.get("e").is_none() && read("").expect("nothing").map("a mapping").expect("empty").is_empty());
    }

    #[test]
    fn what_is_not_plain_data_is_refused() {
        let lols: String = (1..12).map(|k| format!("a{k}: &a{k} [{}]\n", format!("*a{},", k - 1).repeat(9))).collect();
        for (text, part) in [
            ("a: [1", "f:1:6: found the end of the text, expected YAML"),
            ("a: 1\na: 2", "f:2:1: found `a`, expected a key that is not there yet"),
            ("a: !!python/object 1", "expected plain data without a tag"),
            ("---\na: 1\n---\nb: 2", "expected one document in a file"),
            (&"[".repeat(100), "at most 64 levels"),
            (&format!("a0: &a0 1\n{lols}"), "parts, aliases included"),
            ("a: *b", "expected YAML"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
