//! The user's numbers for variables and values: tables from CSV files, and groups.

use crate::error::{Error, ParseError};
use crate::files::{self, LARGEST_TEXT};
use crate::model::Variable;
use crate::stop::Stop;
use crate::terminal::among;
use crate::text::{Wrong, names, quote};
use rustc_hash::FxHashMap;
use std::path::Path;

/// The variables of a network by index and by name. Without a network, files are checked alone and nothing is looked
/// up.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables<'a> {
    all: Option<&'a [Variable]>,
    by_name: FxHashMap<&'a str, usize>,
}

impl<'a> Variables<'a> {
    pub fn of(all: &'a [Variable]) -> Self {
        let named = all.iter().enumerate().filter_map(|(index, variable)| Some((variable.name.as_deref()?, index)));
        Variables { all: Some(all), by_name: named.collect() }
    }

    pub fn count(&self) -> usize {
        self.all.map_or(0, <[Variable]>::len)
    }

    /// Returns the variable with a name or an index, or `None` without a network.
    fn find(&self, text: &str) -> Result<Option<usize>, Wrong> {
        let Some(all) = self.all else { return Ok(None) };
        let known = self.by_name.get(text).copied();
        let index = known.or_else(|| text.parse().ok().filter(|&index| index < all.len()));
        index.map(Some).ok_or_else(|| {
            let (_, hint) = names(self.by_name.keys().copied(), text);
            let by_name = if self.by_name.is_empty() { "" } else { " or the name of one" };
            Wrong::new(0..0, format!("a variable{}{by_name}", among(all.len()))).found(quote(text)).hinted(hint)
        })
    }

    /// Returns the value of a variable by its name or index.
    fn value(&self, variable: usize, text: &str) -> Result<usize, Wrong> {
        let Some(variable) = self.all.and_then(|all| all.get(variable)) else { return Ok(0) };
        let named = variable.values.as_deref().unwrap_or_default();
        let known = named.iter().position(|name| **name == *text);
        let index = known.or_else(|| text.parse().ok().filter(|&index| index < variable.domain as usize));
        index.ok_or_else(|| {
            let (_, hint) = names(named.iter().map(|name| &**name), text);
            let by_name = if named.is_empty() { "" } else { " or the name of one" };
            Wrong::new(0..0, format!("a value{}{by_name}", among(variable.domain))).found(quote(text)).hinted(hint)
        })
    }

    fn shown(&self, variable: usize) -> String {
        let name = self.all.and_then(|all| all.get(variable)?.name.as_deref());
        name.map_or_else(|| format!("variable {variable}"), |name| format!("variable {variable} ({name})"))
    }
}

pub(super) struct Group<'a> {
    pub number: usize,
    pub names: &'a [String],
    /// The number of each variable's group, -1 for none.
    pub of: &'a mut Vec<f64>,
}

impl Group<'_> {
    pub fn take(&mut self, text: &str, variables: &Variables<'_>) -> Result<(), Wrong> {
        let Some(variable) = variables.find(text)? else { return Ok(()) };
        let before = self.of[variable];
        if before >= 0.0 {
            let group = self.names.get(before as usize).map_or("this one", String::as_str);
            return Err(Wrong::new(0..0, format!("a variable of no group, as {text} is in {group} already")));
        }
        self.of[variable] = self.number as f64;
        Ok(())
    }
}

/// A table with a number for each variable, or for each value of each variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The index of each variable's first number, followed by the end of the last; empty if there is one number for
    /// each variable.
    starts: Vec<usize>,
    numbers: Vec<f64>,
    by_value: bool,
}

impl Table {
    pub(super) fn of_groups(numbers: Vec<f64>) -> Table {
        Table { numbers, ..Table::default() }
    }

    /// Returns whether there is a number for each value.
    pub fn by_value(&self) -> bool {
        self.by_value
    }

    /// Returns the number of a variable; NaN if there is no such variable.
    pub fn number(&self, variable: usize) -> f64 {
        self.numbers.get(variable).copied().unwrap_or(f64::NAN)
    }

    /// Returns the numbers of a variable's values; empty if there is no such variable.
    pub fn row(&self, variable: usize) -> &[f64] {
        let ends = self.starts.get(variable).zip(self.starts.get(variable + 1));
        ends.and_then(|(&start, &end)| self.numbers.get(start..end)).unwrap_or_default()
    }

    /// Reads rows of two fields (variable, number) or three (variable, value, number). The first row may be a heading.
    /// `here` makes an error about the line that names the file.
    pub(super) fn read(
        path: &Path,
        default: Option<f64>,
        variables: &Variables<'_>,
        stop: &Stop,
        here: impl Fn(Wrong) -> Error,
    ) -> Result<Table, Error> {
        let bytes = files::read(path, LARGEST_TEXT, stop).map_err(|error| match error {
            Error::Unreadable { path, source } => {
                here(Wrong::new(0..0, format!("a file that can be read, but {}: {source}", path.display())))
            }
            stopped => stopped,
        })?;
        let file = path.display().to_string();
        let rows = Rows::read(&bytes, &file)?;
        let by_value = rows.fields == 3;
        let mut table = Table { by_value, ..Table::default() };
        let Some(all) = variables.all else { return Ok(table) };
        if by_value {
            table.starts.push(0);
            for variable in all {
                table.starts.push(table.starts.last().unwrap_or(&0) + variable.domain as usize);
            }
        }
        let length = if by_value { table.starts.last().copied().unwrap_or(0) } else { all.len() };
        let mut given: Vec<Option<f64>> = vec![None; length];
        for row in &rows.rows {
            let at = |field: usize, wrong: Wrong| row.error(&file, field, wrong);
            let variable = variables.find(&row.fields[0]).map_err(|wrong| at(0, wrong))?.unwrap_or(0);
            let place = if by_value {
                let value = variables.value(variable, &row.fields[1]).map_err(|wrong| at(1, wrong))?;
                table.starts[variable] + value
            } else {
                variable
            };
            if given[place].replace(row.number).is_some() {
                let wrong = Wrong::new(0..0, "a row for each variable or value, not two");
                return Err(at(0, wrong.found(quote(&row.fields[..rows.fields - 1].join(",")))));
            }
        }
        for (place, number) in given.into_iter().enumerate() {
            let Some(number) = number.or(default) else {
                let variable = if by_value { table.starts.partition_point(|&start| start <= place) - 1 } else { place };
                let value =
                    if by_value { format!("value {} of ", place - table.starts[variable]) } else { String::new() };
                let expected = format!("a row for {value}{}", variables.shown(variable));
                let hint = "or a number for all that have none: { file = \"...\", default = NUMBER }";
                return Err(rows.missing(&file, expected, hint));
            };
            table.numbers.push(number);
        }
        Ok(table)
    }
}

struct Rows {
    fields: usize,
    rows: Vec<Row>,
    lines: u64,
}

struct Row {
    line: u64,
    fields: Vec<String>,
    number: f64,
}

impl Row {
    fn error(&self, file: &str, field: usize, wrong: Wrong) -> Error {
        let before: usize = self.fields[..field].iter().map(|field| field.chars().count() + 1).sum();
        let found = wrong.found.unwrap_or_else(|| self.fields.get(field).map(|text| quote(text)).unwrap_or_default());
        failed(file, self.line, before as u64 + 1, found, wrong.expected, wrong.hint)
    }
}

impl Rows {
    fn read(bytes: &[u8], file: &str) -> Result<Rows, Error> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(bytes);
        let mut rows =
            Rows { fields: 0, rows: Vec::new(), lines: bytes.iter().filter(|&&byte| byte == b'\n').count() as u64 };
        for (index, record) in reader.records().enumerate() {
            let record = record.map_err(|error| {
                let line = error.position().map_or(1, csv::Position::line);
                failed(file, line, 1, "bytes that are no text".into(), "CSV in UTF-8".into(), None)
            })?;
            let line = record.position().map_or(1, csv::Position::line);
            let fields: Vec<String> = record.iter().map(String::from).collect();
            let mut row = Row { line, fields, number: f64::NAN };
            let count = row.fields.len();
            let fits = if rows.fields == 0 { count == 2 || count == 3 } else { count == rows.fields };
            if !fits {
                let wanted = match rows.fields {
                    0 => "variable,number or variable,value,number".to_string(),
                    fields => format!("{fields} fields, as in the rows before"),
                };
                return Err(row.error(file, 0, Wrong::new(0..0, wanted).found(format!("{count} fields"))));
            }
            rows.fields = count;
            let number = row.fields[count - 1].parse::<f64>();
            match number {
                Ok(number) if number.is_finite() => row.number = number,
                Err(_) if index == 0 => continue,
                _ => return Err(row.error(file, count - 1, Wrong::new(0..0, "a finite number"))),
            }
            rows.rows.push(row);
        }
        if rows.rows.is_empty() {
            return Err(rows.missing(
                file,
                "rows variable,number or variable,value,number".into(),
                "is it the right file?",
            ));
        }
        Ok(rows)
    }

    fn missing(&self, file: &str, expected: String, hint: &str) -> Error {
        failed(file, self.lines + 1, 1, "the end of the file".into(), expected, Some(hint.into()))
    }
}

fn failed(file: &str, line: u64, column: u64, found: String, expected: String, hint: Option<String>) -> Error {
    Error::Parse(ParseError { file: file.into(), line, column, found, expected, hint })
}
