//! Rows of a CSV file in the form of all commands: on disk immediately, and without formulas.
//!
//! Spreadsheets evaluate a field that begins with `=`, `+`, `-`, `@`, a tab or a carriage return, and names of
//! variables, agents and files may do so. Such a text gets a leading apostrophe (OWASP, "CSV Injection"); numbers are
//! unchanged.

use super::file::AppendedFile;
use serde::Serialize;
use std::borrow::Cow;
use std::io;
use std::path::Path;

/// First characters of a field that spreadsheets take for a formula.
const FORMULAS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];
/// The character that precedes a text that begins like a formula.
const TEXT: char = '\'';

/// Returns a field that no spreadsheet evaluates.
fn inert(field: &str) -> Cow<'_, str> {
    match field.starts_with(FORMULAS) && field.parse::<f64>().is_err() {
        true => format!("{TEXT}{field}").into(),
        false => field.into(),
    }
}

/// Returns the text from which [`RowWriter`] made a field.
pub(super) fn original(field: &str) -> &str {
    field.strip_prefix(TEXT).filter(|text| text.starts_with(FORMULAS)).unwrap_or(field)
}

/// Writes rows to a file. Rows that cannot be written are kept for the next attempt.
#[derive(Debug)]
pub struct RowWriter {
    writer: csv::Writer<AppendedFile>,
    /// Whether the names of the next row's fields precede it.
    header: bool,
}

impl RowWriter {
    /// Creates a writer. With `header`, the names of the first row's fields are the header.
    pub fn new(file: AppendedFile, header: bool) -> Self {
        RowWriter { writer: csv::WriterBuilder::new().has_headers(false).from_writer(file), header }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// Returns the system's error, such as a full disk; fails if the row has nested rows.
    pub fn push(&mut self, row: &impl Serialize) -> io::Result<()> {
        let mut fields = csv::WriterBuilder::new().has_headers(self.header).from_writer(Vec::new());
        fields.serialize(row)?;
        let text = fields.into_inner().map_err(|error| error.into_error())?;
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&text[..]);
        self.header = false;
        for record in reader.records() {
            self.writer.write_record(record?.iter().map(|field| inert(field).into_owned().into_bytes()))?;
        }
        Ok(())
    }

    /// Writes the kept rows to the file.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// Writes the header if that is possible before a run begins: a pipe may get a reader later, and a full disk more
    /// space.
    ///
    /// # Errors
    /// Returns the system's other errors.
    pub fn begin(&mut self) -> io::Result<()> {
        use io::ErrorKind::{QuotaExceeded, StorageFull, WouldBlock};
        match self.writer.flush() {
            Err(error) if !matches!(error.kind(), WouldBlock | StorageFull | QuotaExceeded) => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.writer.get_ref().path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Number;

    #[derive(Serialize)]
    struct Row<'a> {
        name: &'a str,
        cost: Option<Number>,
        time: f64,
    }

    #[test]
    fn no_text_is_a_formula_and_numbers_stay() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("rows.csv");
        let mut rows = RowWriter::new(AppendedFile::create(&path)?, true);
        let names = ["=1+1", "+a", "-1+1", "@sum", "\t=1", "\r=1", "a=1", "", "-7", "'=1", "a\"b,c", "-1e999"];
        for name in names {
            let cost = Some(Number::Decimal { units: -(1 << 60), decimals: 3 });
            rows.push(&Row { name, cost, time: -0.5 })?;
        }
        rows.flush()?;
        let expected = ["'=1+1", "'+a", "'-1+1", "'@sum", "'\t=1", "'\r=1", "a=1", "", "-7", "'=1", "a\"b,c", "-1e999"];
        let mut reader = csv::Reader::from_path(&path)?;
        assert_eq!(reader.headers()?, vec!["name", "cost", "time"]);
        let records = reader.records().collect::<Result<Vec<_>, _>>()?;
        assert_eq!(records.iter().map(|record| &record[0]).collect::<Vec<_>>(), expected);
        assert!(records.iter().all(|record| record[1] == *"-1152921504606846.976" && record[2] == *"-0.5"));
        let read: Vec<&str> = records.iter().map(|record| original(&record[0])).collect();
        assert_eq!(read, names.map(|name| if name == "'=1" { "=1" } else { name }));
        Ok(())
    }
}
