//! The convergence CSV: written row by row, read back for charts.

use super::file::{AppendedFile, ReplacedFile, insist};
use super::output::{Ending, OpenedOutput, Output, OutputContext, OutputKind, Recording};
use super::plot::{Curve, Point};
use super::rows::RowWriter;
use super::rows::original;
use super::short_lines::ShortLines;
use super::text::seconds;
use crate::error::{Error, ParseError};
use crate::files::{self, cannot_read};
use crate::model::Number;
use crate::search::{Event, EventKind};
use crate::stop::Stop;
use serde::Serialize;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Largest number of bytes of a row that is read back. Written rows have a few hundred at most.
const LONGEST_ROW: usize = 1 << 20;

/// The columns, in their order. Files may have further columns.
#[rustfmt::skip]
pub const HEADER: [&str; 14] = [
    "time_s", "upper_bound", "lower_bound", "gap", "event", "round", "moves", "ratings", "source",
    "incumbent", "bound", "sense", "instance", "seed",
];
const MINIMISE: &str = "min";
const MAXIMISE: &str = "max";

/// A row of the convergence CSV, fields in the order of [`HEADER`].
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs, reason = "the fields are the columns, described in docs/output.md")]
pub struct Row<'a> {
    pub time_s: f64,
    pub upper_bound: Option<Number>,
    pub lower_bound: Option<Number>,
    pub gap: Option<f64>,
    pub event: &'static str,
    pub round: u64,
    pub moves: u64,
    pub ratings: u64,
    pub source: &'a str,
    pub incumbent: Option<Number>,
    pub bound: Option<Number>,
    pub sense: Option<&'static str>,
    pub instance: &'a str,
    pub seed: Option<u64>,
}

impl<'a> Row<'a> {
    /// Returns the row of an event; `seed` is `None` for runs without a seed.
    pub fn of(event: &'a Event, instance: &'a str, seed: Option<u64>) -> Self {
        Row {
            time_s: seconds(event.time_s),
            upper_bound: event.upper(),
            lower_bound: event.lower(),
            gap: event.gap,
            event: event.kind.name(),
            round: event.round,
            moves: event.moves,
            ratings: event.ratings,
            source: &event.source,
            incumbent: event.cost,
            bound: event.bound,
            sense: event.maximise.map(|maximise| if maximise { MAXIMISE } else { MINIMISE }),
            instance,
            seed,
        }
    }
}

/// A CSV file that writes every row to the disk immediately. Rows that cannot be written are kept for the next attempt.
#[derive(Debug)]
pub struct CsvFile {
    writer: RowWriter,
    instance: String,
    seed: Option<u64>,
}

impl CsvFile {
    /// Creates the file of a run on an instance, with its header; `seed` is `None` for runs without a seed.
    pub fn create(path: &Path, instance: String, seed: Option<u64>) -> Result<Self, Error> {
        let cannot = |source| Error::Io { path: path.into(), action: "cannot write", source };
        let file = AppendedFile::create(path).map_err(cannot)?;
        let mut writer = RowWriter::new(file, false);
        writer.push(&HEADER).map_err(cannot)?;
        writer.begin().map_err(cannot)?;
        Ok(CsvFile { writer, instance, seed })
    }

    /// Continues the file of a run that is resumed `time_s` seconds after its start. Removes later rows, because their
    /// results are lost, and the row of the end. Returns the number of later rows. Creates the file if there is none.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written, or is not a convergence CSV.
    pub fn resume(path: &Path, instance: String, seed: Option<u64>, time_s: f64) -> Result<(Self, usize), Error> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return CsvFile::create(path, instance, seed).map(|csv| (csv, 0));
            }
            Err(source) => return Err(Error::Unreadable { path: path.into(), source }),
        };
        let cannot = |source| Error::Io { path: path.into(), action: "cannot write", source };
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let mut kept = csv::WriterBuilder::new().from_writer(Vec::new());
        let mut lost = 0;
        for (line, record) in (1..).zip(reader.records()) {
            let record = record.map_err(|error| broken(path, error))?;
            let is_row = record.len() == HEADER.len();
            match (line, is_row) {
                (1, _) if record != HEADER[..] => {
                    let (found, expected) = (format!("{:?}", record.as_slice()), "the columns of a run".into());
                    return Err(misfit(path, 1, 1, found, expected));
                }
                // a row that was cut off when its process ended
                (_, false) => {}
                (1, true) => kept.write_record(&record).map_err(|error| cannot(error.into()))?,
                _ if record[4] == *EventKind::End.name() => {}
                _ if record[0].parse().is_ok_and(|time: f64| time <= seconds(time_s)) => {
                    kept.write_record(&record).map_err(|error| cannot(error.into()))?;
                }
                _ => lost += 1,
            }
        }
        let kept = kept.into_inner().map_err(|error| cannot(error.into_error()))?;
        ReplacedFile::new(path)?.write(kept).map_err(cannot)?;
        let file = AppendedFile::resume(path).map_err(cannot)?;
        let writer = RowWriter::new(file, false);
        Ok((CsvFile { writer, instance, seed }, lost))
    }

    /// Appends the row of an event.
    ///
    /// # Errors
    /// Returns the system's error, such as a full disk; the row is then written with the next one, or at the end.
    pub fn write(&mut self, event: &Event) -> std::io::Result<()> {
        self.writer.push(&Row::of(event, &self.instance, self.seed))?;
        self.writer.flush()
    }
}

/// The convergence rows.
pub(super) const KIND: OutputKind = OutputKind { name: "csv", what: "the CSV", open };

fn open(path: &Path, context: &OutputContext) -> Result<OpenedOutput, Error> {
    let (instance, seed) = (context.instance.clone(), context.seed);
    let Some(time_s) = context.resumed_s else { return CsvFile::create(path, instance, seed).map(Into::into) };
    let (csv, lost) = CsvFile::resume(path, instance, seed, time_s)?;
    let warning = (lost > 0)
        .then(|| format!("{lost} rows of the CSV came after the checkpoint, and are removed with what is lost"));
    Ok(OpenedOutput { warning, ..csv.into() })
}

impl Output for CsvFile {
    fn event(&mut self, recording: &Recording<'_>) -> io::Result<()> {
        if recording.event.is_row() { self.write(recording.event) } else { Ok(()) }
    }

    fn end(&mut self, ending: &Ending<'_>) -> Result<(), Error> {
        let result = insist(ending.stop, || self.writer.flush());
        result.map_err(|source| Error::Io { path: self.writer.path().into(), action: "cannot write", source })
    }
}

/// A run read from its CSV.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The instance, if the file names it.
    pub instance: Option<String>,
    /// The seed, if the file states it.
    pub seed: Option<String>,
    /// The exact cost of the last incumbent.
    pub cost: Option<Number>,
    /// The exact last bound.
    pub bound: Option<Number>,
    /// The curves, without a label.
    pub curve: Curve,
}

/// Reads a convergence CSV. Only the columns `time_s`, `upper_bound` and `lower_bound` are required, in any order.
/// Without the column `sense`, the sense follows from the sides on which solutions and bounds change.
///
/// # Errors
/// Fails if the file cannot be read or is not a convergence CSV, with line and column; returns [`Error::Waiting`] if
/// `stop` is set before a pipe is at its end.
pub fn read_run(path: &Path, stop: &Stop) -> Result<Recorded, Error> {
    let stream = files::open(path, stop).map_err(|error| cannot_read(&path.display().to_string(), error, stop))?;
    parse(ShortLines::new(stream, LONGEST_ROW), path).map_err(|error| match error {
        Error::Unreadable { source, .. } => cannot_read(&path.display().to_string(), source, stop),
        other => other,
    })
}

fn parse(input: impl Read, path: &Path) -> Result<Recorded, Error> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(input);
    let headers = reader.headers().map_err(|error| broken(path, error))?.clone();
    let place = |name: &str| headers.iter().position(|header| header.trim() == name);
    let column = |name: &str| {
        place(name).ok_or_else(|| {
            let found = if headers.is_empty() { "nothing".into() } else { format!("{:?}", headers.as_slice()) };
            misfit(path, 1, 1, found, format!("a header with the column {name}"))
        })
    };
    let columns = [column("time_s")?, column("upper_bound")?, column("lower_bound")?];
    let [gap, event, sense, instance, seed] = ["gap", "event", "sense", "instance", "seed"].map(place);
    let mut run = Recorded::default();
    let mut maximise = None;
    let mut record = csv::StringRecord::new();
    // `found` and `bound` hold the upper and the lower bound until the sense is known
    let points: &mut Vec<Point> = &mut run.curve.points;
    while reader.read_record(&mut record).map_err(|error| broken(path, error))? {
        let line = record.position().map_or(0, csv::Position::line);
        let column_of = |index: usize| record.iter().take(index).map(|field| field.len() as u64 + 1).sum::<u64>() + 1;
        let number = |index: usize| -> Result<Option<f64>, Error> {
            let Some(field) = record.get(index) else {
                let (found, expected) = (format!("{} columns", record.len()), format!("{} columns", headers.len()));
                return Err(misfit(path, line, column_of(index), found, expected));
            };
            match field.trim() {
                "" => Ok(None),
                text => match text.parse::<f64>() {
                    Ok(number) if number.is_finite() => Ok(Some(number)),
                    _ => Err(misfit(path, line, column_of(index), format!("{text:?}"), "a number or nothing".into())),
                },
            }
        };
        let Some(time) = number(columns[0])? else {
            return Err(misfit(path, line, 1, "nothing".into(), "a time in seconds".into()));
        };
        let last = points.last().copied();
        if let Some(last) = last.filter(|last| last.time > time) {
            let expected = format!("a time of at least {}", last.time);
            return Err(misfit(path, line, 1, time.to_string(), expected));
        }
        let point = Point { time, found: number(columns[1])?, bound: number(columns[2])? };
        let text = |index: Option<usize>| record.get(index?).map(str::trim).filter(|text| !text.is_empty());
        // `cost` and `bound` hold the upper and the lower bound, like the points
        let exact = |index: usize| text(Some(index)).and_then(Number::parse);
        (run.cost, run.bound) = (exact(columns[1]).or(run.cost), exact(columns[2]).or(run.bound));
        match (sense, text(sense)) {
            (_, Some(MINIMISE)) => maximise = Some(false),
            (_, Some(MAXIMISE)) => maximise = Some(true),
            (Some(index), Some(other)) => {
                let expected = format!("{MINIMISE} or {MAXIMISE}");
                return Err(misfit(path, line, column_of(index), format!("{other:?}"), expected));
            }
            _ => maximise = maximise.or_else(|| side(last?, point, text(event)?)),
        }
        run.instance = text(instance).map(|text| original(text).into()).or(run.instance);
        run.seed = text(seed).map(String::from).or(run.seed);
        // the last row determines it
        run.curve.optimal = text(gap).and_then(|gap| gap.parse().ok()) == Some(0.0);
        points.push(point);
    }
    if points.is_empty() {
        return Err(misfit(path, 2, 1, "the end of the file".into(), "a row".into()));
    }
    run.curve.maximise = maximise.unwrap_or(false);
    if run.curve.maximise {
        points.iter_mut().for_each(|point| std::mem::swap(&mut point.found, &mut point.bound));
        std::mem::swap(&mut run.cost, &mut run.bound);
    }
    Ok(run)
}

/// Returns whether larger is better, by what an event changes; `None` if it shows neither.
fn side(last: Point, Point { found: upper, bound: lower, .. }: Point, event: &str) -> Option<bool> {
    match (last.found != upper, last.bound != lower, event) {
        (true, false, "solution") | (false, true, "bound") => Some(false),
        (false, true, "solution") | (true, false, "bound") => Some(true),
        _ => None,
    }
}

fn misfit(path: &Path, line: u64, column: u64, found: String, expected: String) -> Error {
    ParseError { file: path.display().to_string(), line, column, found, expected, hint: None }.into()
}

fn broken(path: &Path, error: csv::Error) -> Error {
    let line = error.position().map_or(1, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(source) => Error::Unreadable { path: path.into(), source },
        csv::ErrorKind::Utf8 { .. } => misfit(path, line, 1, "bytes that are no UTF-8".into(), "text".into()),
        other => misfit(path, line, 1, format!("{other:?}"), "a row of CSV".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind, cost: Option<Number>, bound: Option<Number>, maximise: bool) -> Event {
        Event {
            kind,
            time_s: 1.234_567_89,
            cost,
            bound,
            gap: cost.and(bound).map(|_| 0.25),
            maximise: Some(maximise),
            round: 3,
            moves: 40,
            ratings: 500,
            source: "mbe(8)".into(),
            solution: None,
            message: None,
            facts: None,
        }
    }

    #[test]
    fn rows_are_on_disk_at_once_and_come_back() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("run.csv");
        let mut csv = CsvFile::create(&path, "my, \"own\".wcsp".into(), Some(7))?;
        csv.write(&event(EventKind::Start, None, None, false))?;
        csv.write(&event(EventKind::Bound, Some(Number::Integer(20)), Some(Number::Integer(15)), false))?;
        let text = std::fs::read_to_string(&path)?;
        let expected = "time_s,upper_bound,lower_bound,gap,event,round,moves,ratings,source,\
                        incumbent,bound,sense,instance,seed\n\
                        1.234568,,,,start,3,40,500,mbe(8),,,min,\"my, \"\"own\"\".wcsp\",7\n\
                        1.234568,20,15,0.25,bound,3,40,500,mbe(8),20,15,min,\"my, \"\"own\"\".wcsp\",7\n";
        assert_eq!(text, expected);
        assert_eq!(HEADER.join(","), text.lines().next().unwrap_or_default());
        let run = read_run(&path, &Stop::new())?;
        assert_eq!(run.curve.points[1], Point { time: 1.234568, found: Some(20.0), bound: Some(15.0) });
        assert_eq!((run.instance.as_deref(), run.seed.as_deref()), (Some("my, \"own\".wcsp"), Some("7")));
        assert!(!run.curve.maximise && !run.curve.optimal);
        Ok(())
    }

    #[test]
    fn a_resumed_run_goes_on_behind_its_checkpoint() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("run.csv");
        let at = |time_s, kind| Event { time_s, ..event(kind, Some(Number::Integer(9)), None, false) };
        let mut csv = CsvFile::create(&path, "a,b".into(), Some(7))?;
        for (time, kind) in [(0.5, EventKind::Start), (2.0, EventKind::Tick), (3.0, EventKind::Solution)] {
            csv.write(&at(time, kind))?;
        }
        csv.write(&at(2.0, EventKind::End))?;
        drop(csv);
        // cut off when the process ended
        let text = std::fs::read_to_string(&path)? + "4.0,9";
        std::fs::write(&path, &text)?;
        let (mut csv, lost) = CsvFile::resume(&path, "a,b".into(), Some(7), 2.5)?;
        csv.write(&at(2.5, EventKind::Start))?;
        let expected: Vec<&str> = text.lines().take(3).collect();
        let resumed = std::fs::read_to_string(&path)?;
        assert_eq!((lost, resumed.lines().take(3).collect::<Vec<_>>()), (1, expected), "{resumed}");
        assert!(resumed.lines().count() == 4 && resumed.contains("\n2.5,9,"), "{resumed}");
        let run = read_run(&path, &Stop::new())?;
        assert_eq!(run.curve.points.len(), 3);
        std::fs::write(&path, "time,cost\n1,2\n")?;
        assert!(CsvFile::resume(&path, "a".into(), None, 1.0).is_err_and(|error| error.is_input()));
        assert_eq!(CsvFile::resume(&folder.path().join("new.csv"), "a".into(), None, 1.0)?.1, 0);
        Ok(())
    }

    #[test]
    fn maximisation_swaps_the_sides() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("run.csv");
        let event = event(EventKind::End, Some(Number::Real(-20.5)), Some(Number::Real(-15.25)), true);
        CsvFile::create(&path, "x.uai".into(), None)?.write(&event)?;
        let text = std::fs::read_to_string(&path)?;
        assert!(text.contains("1.234568,-15.25,-20.5,") && text.ends_with(",-20.5,-15.25,max,x.uai,\n"), "{text}");
        let run = read_run(&path, &Stop::new())?;
        let point = run.curve.points[0];
        assert_eq!((run.curve.maximise, point.found, point.bound), (true, Some(-20.5), Some(-15.25)));
        Ok(())
    }

    /// Files from before the column `sense` existed are read, too.
    #[test]
    fn older_files_tell_the_sense_by_what_events_change() -> Result<(), Error> {
        for (rows, maximise, optimal) in [
            ("0,,1,,start\n1,9,1,0.9,solution\n2,9,9,0,end\n", false, true),
            ("0,,1,,start\n1,,2,,bound\n2,9,2,0.7,end\n", false, false),
            ("0,5,,,start\n1,5,1,0.8,solution\n", true, false),
            ("0,5,,,start\n1,4,,,bound\n", true, false),
            ("0,5,4,0.2,start\n1,5,4,0.2,end\n", false, false),
        ] {
            let text = format!("time_s,upper_bound,lower_bound,gap,event\n{rows}");
            let run = parse(text.as_bytes(), Path::new("x.csv"))?;
            assert_eq!((run.curve.maximise, run.curve.optimal), (maximise, optimal), "{rows}");
            assert_eq!((run.instance, run.seed), (None, None));
        }
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
            ("time_s,upper_bound,lower_bound,sense\n2,3,1,up\n", "x.csv:2:7: found \"up\", expected min or max"),
        ] {
            let error = parse(text.as_bytes(), Path::new("x.csv")).expect_err(text).to_string();
            assert!(error.contains(message), "{error:?} for {text:?}");
        }
    }
}
