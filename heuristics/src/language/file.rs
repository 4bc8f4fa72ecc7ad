//! The TOML file of a heuristic: its keys, and the position of each expression.

use super::names::{CONSTANTS, EXPRESSIONS, FUNCTIONS};
use super::syntax::{Expr, KEYWORDS, parse};
use super::tables::{Group, Table, Variables};
use crate::INPUTS;
use crate::error::Error;
use crate::files;
use crate::stop::Stop;
use crate::text::{Text, Wrong, names};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

type Value<'a> = Spanned<DeValue<'a>>;

const OTHERS: [&str; 4] = ["about", "let", "tables", "groups"];

/// Largest size of a file in bytes; files are written by hand.
const LARGEST: u64 = 1 << 20;

#[derive(Clone, Debug, Default)]
pub(super) struct File {
    pub text: Text,
    pub about: String,
    /// The expressions by name: those of [`EXPRESSIONS`], and the user's named ones.
    pub expressions: Vec<(String, Expr)>,
    pub tables: Vec<(String, Table)>,
    pub groups: Vec<String>,
    /// The number of each variable's group, -1 for none; empty if there are no groups.
    pub group_of: Vec<f64>,
}

impl File {
    /// Reads the file at `path` and the tables that it names.
    pub fn read(path: &Path, variables: &Variables<'_>, stop: &Stop) -> Result<File, Error> {
        let shown = path.display().to_string();
        let bytes = files::read(path, LARGEST, stop)?;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let text = Text { file: shown, text: String::from_utf8_lossy(error.as_bytes()).into_owned() };
                return Err(text.error(Wrong::new(at..at, "text in UTF-8").found("a byte that is none")));
            }
        };
        File::parse(Text { file: shown, text }, path.parent().unwrap_or(Path::new("")), variables, stop)
    }

    /// Parses a text whose tables are in `folder`.
    pub fn parse(text: Text, folder: &Path, variables: &Variables<'_>, stop: &Stop) -> Result<File, Error> {
        let mut file = File { text, ..File::default() };
        match file.fill(folder, variables, stop) {
            Ok(()) => Ok(file),
            Err(Stopped::Here(wrong)) => Err(file.text.error(*wrong)),
            Err(Stopped::Elsewhere(error)) => Err(error),
        }
    }

    fn fill(&mut self, folder: &Path, variables: &Variables<'_>, stop: &Stop) -> Result<(), Stopped> {
        let text = self.text.text.clone();
        let parsed = DeTable::parse(&text).map_err(|error| {
            let at = error.span().unwrap_or(text.len()..text.len());
            Wrong::new(at, "TOML").hint(error.message().lines().collect::<Vec<_>>().join(", "))
        })?;
        for (key, value) in in_order(parsed.get_ref()) {
            let (name, at) = (key.get_ref().as_ref(), key.span());
            match name {
                "about" => match value.get_ref() {
                    DeValue::String(about) => self.about = about.to_string(),
                    other => return Err(mistyped(value, other, "a line in quotes").into()),
                },
                "let" => {
                    for (key, value) in in_order(table(value, "[let] with lines `name = \"expression\"`")?) {
                        self.named(key.get_ref(), key.span())?;
                        self.expressions.push((key.get_ref().to_string(), self.expression(value)?));
                    }
                }
                "tables" => {
                    for (key, value) in in_order(table(value, "[tables] with lines `name = \"file.csv\"`")?) {
                        self.named(key.get_ref(), key.span())?;
                        let (file, default) = source(value)?;
                        let table = Table::read(&folder.join(file), default, variables, stop, |wrong| {
                            self.text.error(Wrong { at: value.span(), ..wrong })
                        });
                        self.tables.push((key.get_ref().to_string(), table.map_err(Stopped::Elsewhere)?));
                    }
                }
                "groups" => {
                    for (key, value) in in_order(table(value, "[groups] with lines `name = [variables]`")?) {
                        self.named(key.get_ref(), key.span())?;
                        self.members(value, variables)?;
                        self.groups.push(key.get_ref().to_string());
                    }
                }
                name if EXPRESSIONS.contains(&name) => {
                    self.expressions.push((name.to_string(), self.expression(value)?));
                }
                name => {
                    let (known, hint) = names(EXPRESSIONS.into_iter().chain(OTHERS), name);
                    return Err(Wrong::new(at, format!("one of {known}")).hinted(hint).into());
                }
            }
        }
        if self.expressions.iter().any(|(name, _)| name == "rating" || name == "weight") {
            return Ok(());
        }
        let end = text.len();
        Err(Wrong::new(
            end..end,
            "`rating = \"expression\"` or `weight = \"expression\"`, which say what values are worth",
        )
        .into())
    }

    /// Checks a name that the user defines.
    fn named(&self, name: &str, at: Range<usize>) -> Result<(), Wrong> {
        let mut characters = name.chars();
        let first = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        if !first || !characters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(Wrong::new(at, "a name of letters, digits and `_` that begins with no digit"));
        }
        let words = KEYWORDS.into_iter().chain(CONSTANTS.map(|(name, _)| name));
        let own = self.tables.iter().map(|(name, _)| name).chain(&self.groups);
        let own = own.chain(self.expressions.iter().map(|(name, _)| name)).map(String::as_str);
        let taken = INPUTS.iter().map(|input| input.name).chain(FUNCTIONS.map(|function| function.name));
        if taken.chain(EXPRESSIONS).chain(words).chain(own).any(|other| other == name) {
            return Err(Wrong::new(at, "a name that means nothing yet"));
        }
        Ok(())
    }

    /// Returns the expression in a string, parsed at its position: strings without escapes are their text.
    fn expression(&self, value: &Value<'_>) -> Result<Expr, Wrong> {
        let at = value.span();
        let DeValue::String(_) = value.get_ref() else {
            return Err(mistyped(value, value.get_ref(), "an expression in quotes"));
        };
        let raw = self.text.text.get(at.clone()).unwrap_or_default();
        let quotes = if raw.starts_with("\"\"\"") || raw.starts_with("'''") { 3 } else { 1 };
        parse(&self.text.text, at.start + quotes..at.end.saturating_sub(quotes))
    }

    /// Puts variables into the next group.
    fn members(&mut self, value: &Value<'_>, variables: &Variables<'_>) -> Result<(), Wrong> {
        let DeValue::Array(members) = value.get_ref() else {
            return Err(mistyped(value, value.get_ref(), "a list of variables, by index or by name"));
        };
        self.group_of.resize(variables.count(), -1.0);
        let mut group = Group { number: self.groups.len(), names: &self.groups, of: &mut self.group_of };
        for member in members.iter() {
            let text = match member.get_ref() {
                DeValue::Integer(index) => index.to_string(),
                DeValue::String(name) => name.to_string(),
                other => return Err(mistyped(member, other, "a variable, by index or by name")),
            };
            group.take(&text, variables).map_err(|wrong| Wrong { at: member.span(), ..wrong })?;
        }
        Ok(())
    }
}

/// Returns the files of tables that a file names, as far as it can be parsed; none if it is a pipe.
pub(super) fn tables_of(path: &Path) -> Vec<PathBuf> {
    if !std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return Vec::new();
    }
    let text = files::read_text(path, LARGEST, &Stop::new()).unwrap_or_default();
    let Ok(parsed) = DeTable::parse(&text) else { return Vec::new() };
    let Some(DeValue::Table(tables)) = parsed.get_ref().get("tables").map(Spanned::get_ref) else { return Vec::new() };
    let folder = path.parent().unwrap_or(Path::new(""));
    tables.values().filter_map(|table| Some(folder.join(source(table).ok()?.0))).collect()
}

#[derive(Debug)]
enum Stopped {
    Here(Box<Wrong>),
    Elsewhere(Error),
}

impl From<Wrong> for Stopped {
    fn from(wrong: Wrong) -> Self {
        Stopped::Here(Box::new(wrong))
    }
}

/// Returns the entries of a table in the order of the file.
fn in_order<'a, 'b>(table: &'a DeTable<'b>) -> Vec<(&'a Spanned<std::borrow::Cow<'b, str>>, &'a Value<'b>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn table<'a, 'b>(value: &'a Value<'b>, expected: &str) -> Result<&'a DeTable<'b>, Wrong> {
    match value.get_ref() {
        DeValue::Table(table) => Ok(table),
        other => Err(mistyped(value, other, expected)),
    }
}

fn mistyped(value: &Value<'_>, found: &DeValue<'_>, expected: &str) -> Wrong {
    let found = match found {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a truth value",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    Wrong::new(value.span(), expected).found(found)
}

fn finite(value: &Value<'_>, text: &str) -> Result<f64, Wrong> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| Wrong::new(value.span(), "a finite number in decimals"))
}

/// Returns a table's file, and the default number of variables or values without a row.
fn source<'a>(value: &'a Value<'_>) -> Result<(&'a str, Option<f64>), Wrong> {
    const EXPECTED: &str = "\"file.csv\" or { file = \"file.csv\", default = NUMBER }";
    let entries = match value.get_ref() {
        DeValue::String(file) => return Ok((file, None)),
        DeValue::Table(entries) => entries,
        other => return Err(mistyped(value, other, EXPECTED)),
    };
    let (mut file, mut default) = (None, None);
    for (key, value) in in_order(entries) {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("file", DeValue::String(name)) => file = Some(name.as_ref()),
            ("default", DeValue::Integer(number)) => default = Some(finite(value, &number.to_string())?),
            ("default", DeValue::Float(number)) => default = Some(finite(value, &number.to_string())?),
            ("file" | "default", other) => return Err(mistyped(value, other, EXPECTED)),
            _ => return Err(Wrong::new(key.span(), "one of file, default")),
        }
    }
    let file = file.ok_or_else(|| Wrong::new(value.span(), EXPECTED))?;
    Ok((file, default))
}
