//! The convergence CSV: written row by row, read back for charts.

use super::plot::{Curve, Point};
use super::seconds;
use crate::error::{Error, ParseError};
use crate::model::Number;
use crate::search::Event;
use serde::Serialize;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The columns, in their order. Further ones may follow.
pub const HEADER: [&str; 9] =
    ["time_s", "upper_bound", "lower_bound", "gap", "event", "round", "moves", "ratings", "source"];

/// One row, fields in the order of [`HEADER`].
#[derive(Serialize)]
struct Row<'a> {
    time_s: f64,
    upper_bound: Option<Number>,
    lower_bound: Option<Number>,
    gap: Option<f64>,
    event: &'static str,
    round: u64,
    moves: u64,
    ratings: u64,
    source: &'a str,
}

/// A CSV file that has every row on its way to the disk as soon as it is known.
#[derive(Debug)]
pub struct CsvFile(csv::Writer<File>);

impl CsvFile {
    /// Creates the file with its header.
    ///
    /// # Errors
    /// A path that cannot be written.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let io = |source| Error::Io { path: path.into(), action: "cannot write", source };
        let file = File::create(path).map_err(io)?;
        let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(file);
        writer.write_record(HEADER).map_err(|error| io(error.into()))?;
        writer.flush().map_err(io)?;
        Ok(CsvFile(writer))
    }

    /// Appends an event.
    ///
    /// # Errors
    /// What the system says, such as a full disk.
    pub fn write(&mut self, event: &Event) -> std::io::Result<()> {
        self.0.serialize(Row {
            time_s: seconds(event.time_s),
            upper_bound: event.upper(),
            lower_bound: event.lower(),
            gap: event.gap,
            event: event.kind.name(),
            round: event.round,
            moves: event.moves,
            ratings: event.ratings,
            source: &event.source,
        })?;
        self.0.flush()
    }
}

/// Reads the two curves of a convergence CSV. Only the columns `time_s`, `upper_bound` and `lower_bound` must be there,
/// in any order.
///
/// # Errors
/// A file that cannot be read or is no such CSV, with line and column.
pub fn read_curve(path: &Path, label: String) -> Result<Curve, Error> {
    let file = File::open(path).map_err(|source| Error::Io { path: path.into(), action: "cannot read", source })?;
    parse(file, path, label)
}

fn parse(input: impl Read, path: &Path, label: String) -> Result<Curve, Error> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(input);
    let headers = reader.headers().map_err(|error| broken(path, error))?.clone();
    let column = |name: &str| {
        headers.iter().position(|header| header.trim() == name).ok_or_else(|| {
            let found = if headers.is_empty() { "nothing".into() } else { format!("{:?}", headers.as_slice()) };
            misfit(path, 1, 1, found, format!("a header with the column {name}"))
        })
    };
    let columns = [column("time_s")?, column("upper_bound")?, column("lower_bound")?];
    let mut curve = Curve { label, points: Vec::new() };
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| broken(path, error))? {
        let line = record.position().map_or(0, csv::Position::line);
        let number = |index: usize| -> Result<Option<f64>, Error> {
            let before: usize = record.iter().take(index).map(|field| field.len() + 1).sum();
            let place = before as u64 + 1;
            let Some(field) = record.get(index) else {
                let expected = format!("{} columns", headers.len());
                return Err(misfit(path, line, place, format!("{} columns", record.len()), expected));
            };
            match field.trim() {
                "" => Ok(None),
                text => match text.parse::<f64>() {
                    Ok(number) if number.is_finite() => Ok(Some(number)),
                    _ => Err(misfit(path, line, place, format!("{text:?}"), "a number or nothing".into())),
                },
            }
        };
        let Some(time) = number(columns[0])? else {
            return Err(misfit(path, line, 1, "nothing".into(), "a time in seconds".into()));
        };
        if let Some(last) = curve.points.last().filter(|last: &&Point| last.time > time) {
            let expected = format!("a time of at least {}", last.time);
            return Err(misfit(path, line, 1, time.to_string(), expected));
        }
        curve.points.push(Point { time, upper: number(columns[1])?, lower: number(columns[2])? });
    }
    if curve.points.is_empty() {
        return Err(misfit(path, 2, 1, "the end of the file".into(), "a row".into()));
    }
    Ok(curve)
}

fn misfit(path: &Path, line: u64, column: u64, found: String, expected: String) -> Error {
    ParseError { file: path.display().to_string(), line, column, found, expected, hint: None }.into()
}

fn broken(path: &Path, error: csv::Error) -> Error {
    let line = error.position().map_or(1, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(source) => Error::Io { path: path.into(), action: "cannot read", source },
        csv::ErrorKind::Utf8 { .. } => misfit(path, line, 1, "bytes that are no UTF-8".into(), "text".into()),
        other => misfit(path, line, 1, format!("{other:?}"), "a row of CSV".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::EventKind;

    fn event(kind: EventKind, cost: Option<Number>, bound: Option<Number>, maximise: bool) -> Event {
        Event {
            kind,
            time_s: 1.234_567_89,
            cost,
            bound,
            gap: cost.and(bound).map(|_| 0.25),
            maximise,
            round: 3,
            moves: 40,
            ratings: 500,
            source: "mbe(8)".into(),
            solution: None,
            message: None,
        }
    }

    #[test]
    fn rows_are_on_disk_at_once_and_come_back() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("run.csv");
        let mut csv = CsvFile::create(&path)?;
        csv.write(&event(EventKind::Start, None, None, false))?;
        csv.write(&event(EventKind::Bound, Some(Number::Integer(20)), Some(Number::Integer(15)), false))?;
        let text = std::fs::read_to_string(&path)?;
        let expected = "time_s,upper_bound,lower_bound,gap,event,round,moves,ratings,source\n\
                        1.234568,,,,start,3,40,500,mbe(8)\n\
                        1.234568,20,15,0.25,bound,3,40,500,mbe(8)\n";
        assert_eq!(text, expected);
        let curve = read_curve(&path, "run".into())?;
        assert_eq!(curve.points[1], Point { time: 1.234568, upper: Some(20.0), lower: Some(15.0) });
        Ok(())
    }

    #[test]
    fn maximisation_swaps_the_sides() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("run.csv");
        let event = event(EventKind::End, Some(Number::Real(-20.5)), Some(Number::Real(-15.25)), true);
        CsvFile::create(&path)?.write(&event)?;
        let curve = read_curve(&path, String::new())?;
        assert_eq!((curve.points[0].upper, curve.points[0].lower), (Some(-15.25), Some(-20.5)));
        Ok(())
    }

    #[test]
    fn misfits_are_placed() {
        for (text, message) in [
            ("", "x.csv:1:1: found nothing, expected a header with the column time_s"),
            ("time_s,upper_bound\n", "expected a header with the column lower_bound"),
            ("time_s,upper_bound,lower_bound\n", "x.csv:2:1: found the end of the file, expected a row"),
            ("time_s,upper_bound,lower_bound\n1,2,1\n2,abc,1\n", "x.csv:3:3: found \"abc\", expected a number"),
            ("time_s,upper_bound,lower_bound\n1,2\n", "x.csv:2:5: found 2 columns, expected 3 columns"),
            ("time_s,upper_bound,lower_bound\n,2,1\n", "x.csv:2:1: found nothing, expected a time in seconds"),
            ("time_s,upper_bound,lower_bound\n2,2,1\n1,2,1\n", "x.csv:3:1: found 1, expected a time of at least 2"),
            ("time_s,upper_bound,lower_bound\n2,inf,1\n", "x.csv:2:3: found \"inf\""),
        ] {
            let error = parse(text.as_bytes(), Path::new("x.csv"), String::new()).expect_err(text).to_string();
            assert!(error.contains(message), "{error:?} for {text:?}");
        }
    }
}
