//! Files of many cases, read one after the other: an object or a row for each case.

use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_base::terminal;
use fangs_marginals::Evidence;
use fangs_model::model::{Names, Potentials, Unknown};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A reader of cases, in the order of the file.
pub struct Cases {
    path: PathBuf,
    lines: Lines,
    /// Number of the line that was read last.
    line: u64,
}

enum Lines {
    Objects(Box<dyn BufRead>),
    Rows(Box<csv::Reader<Box<dyn BufRead>>>, Vec<u32>),
}

impl Cases {
    /// Opens a `.jsonl` or `.csv` file.
    pub fn open(path: &Path, potentials: &Potentials) -> Result<Self, Error> {
        let file = File::open(path).map_err(|source| Error::Unreadable { path: path.into(), source })?;
        let reader: Box<dyn BufRead> = Box::new(BufReader::new(file));
        let mut cases = Cases { path: path.into(), lines: Lines::Objects(Box::new(std::io::empty())), line: 0 };
        if path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("csv")) {
            cases.lines = Lines::Objects(reader);
            return Ok(cases);
        }
        let mut rows = csv::Reader::from_reader(reader);
        let header = rows.headers().map_err(|error| cases.wrong(1, error))?.clone();
        let names = Names::new(&potentials.variables);
        let known = |name: &str| names.variable(name.trim()).map_err(|error| cases.wrong(1, error));
        let columns = header.iter().map(known).collect::<Result<_, _>>()?;
        cases.lines = Lines::Rows(rows.into(), columns);
        Ok(cases)
    }

    fn wrong(&self, line: u64, what: impl std::fmt::Display) -> Error {
        Error::Usage(format!("{}:{line}: {what}", terminal::path(&self.path)))
    }

    /// Returns the next case with its line number; `None` at the end of the file.
    pub fn next(
        &mut self,
        potentials: &Potentials,
        names: &Names<'_>,
        stop: &Stop,
    ) -> Result<Option<(u64, Evidence)>, Error> {
        let mut text = String::new();
        loop {
            stop.check()?;
            match &mut self.lines {
                Lines::Objects(reader) => {
                    text.clear();
                    let read = reader.read_line(&mut text);
                    if read.map_err(|source| Error::Unreadable { path: self.path.clone(), source })? == 0 {
                        return Ok(None);
                    }
                    self.line += 1;
                    if text.trim().is_empty() {
                        continue;
                    }
                    let object = serde_json::from_str(&text).map_err(|error| self.wrong(self.line, error))?;
                    let evidence =
                        of_object(&object, potentials, names).map_err(|error| self.wrong(self.line, error))?;
                    return Ok(Some((self.line, evidence)));
                }
                Lines::Rows(rows, columns) => {
                    let mut record = csv::StringRecord::new();
                    let read = rows.read_record(&mut record);
                    let line = record.position().map_or(self.line + 1, csv::Position::line);
                    let columns = columns.clone();
                    if !read.map_err(|error| self.wrong(line, error))? {
                        return Ok(None);
                    }
                    self.line = line;
                    let mut evidence = Evidence::default();
                    for (&variable, value) in columns.iter().zip(&record) {
                        let value = value.trim();
                        if value.is_empty() {
                            continue;
                        }
                        let found = names.value(variable, value).map_err(|error| self.wrong(line, error))?;
                        evidence.values.push((variable, found));
                    }
                    return Ok(Some((line, evidence)));
                }
            }
        }
    }
}

/// Returns the evidence that an object states: names or indices of values, or lists of weights.
pub fn of_object(object: &Map<String, Value>, potentials: &Potentials, names: &Names<'_>) -> Result<Evidence, Error> {
    let mut evidence = Evidence::default();
    let observed = |name: &str, value: &str| {
        let variable = names.variable(name)?;
        Ok((variable, names.value(variable, value)?))
    };
    let wrong = |error: Unknown| Error::Usage(error.to_string());
    for (name, value) in object {
        match value {
            Value::String(value) => evidence.values.push(observed(name, value).map_err(wrong)?),
            Value::Number(value) => evidence.values.push(observed(name, &value.to_string()).map_err(wrong)?),
            Value::Array(weights) => {
                let words: Vec<String> = weights.iter().map(ToString::to_string).collect();
                evidence.weigh(potentials, &format!("{name}={}", words.join(":")))?;
            }
            other => {
                let what = "expected the name or the index of a value, or a list of weights";
                return Err(Error::Usage(format!("{name}: found {other}, {what}")));
            }
        }
    }
    Ok(evidence)
}
