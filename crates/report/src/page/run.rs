//! The page of one run.

use super::{Figure, Line, Page};
use crate::ReplacedFile;
use crate::error::Error;
use crate::output::{Ending, Output, OutputKind, Recording, RunSummary};
use crate::plot::{Chart, Curve, Mark, Point, TimeScale};
use crate::reduce::Size;
use crate::search::{Event, EventKind, Facts};
use crate::text::{counted, grouped, or_dash, per_cent};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Interval at which the page of a running run is written.
const EVERY: Duration = Duration::from_secs(2);
const FOUND: &str = "#0072b2";
const BOUND: &str = "#d55e00";

/// Content of a page besides the events.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The file name of the network.
    pub instance: String,
    /// The command line, quoted for a shell.
    pub command: String,
    /// Names and values of the settings.
    pub rows: Vec<(String, String)>,
    /// Induced widths of the network and of the reduced problem, once they are computed.
    pub widths: Arc<OnceLock<[Option<u32>; 2]>>,
}

/// Improvements by a driver or a bound step.
#[derive(Clone, Debug, Default)]
struct Tally {
    solutions: u64,
    gain: f64,
    bounds: u64,
    raised: f64,
    last: f64,
}

/// A page about the run.
pub(in super::super) const KIND: OutputKind = OutputKind {
    name: "report",
    what: "the report",
    open: |path, context| Ok(RunPage::new(path, context.settings.clone())?.into()),
};

/// A page that is replaced as a whole while a run continues.
#[derive(Debug)]
struct RunPage {
    file: ReplacedFile,
    settings: Settings,
    written: Option<Instant>,
    events: Vec<Event>,
    tallies: BTreeMap<Arc<str>, Tally>,
    /// Notes and warnings, with their times in seconds.
    told: Vec<(f64, String)>,
    facts: Option<Arc<Facts>>,
}

impl RunPage {
    fn new(path: &Path, settings: Settings) -> Result<Self, Error> {
        let (file, tallies) = (ReplacedFile::new(path)?, BTreeMap::new());
        Ok(RunPage { file, settings, written: None, events: Vec::new(), tallies, told: Vec::new(), facts: None })
    }

    fn count(&mut self, event: &Event) {
        let before = self.events.last();
        let tally = match event.kind {
            EventKind::Solution | EventKind::Bound => self.tallies.entry(event.source.clone()).or_default(),
            _ => return,
        };
        tally.last = event.time_s;
        let change = |now: Option<f64>, then: Option<f64>| now.zip(then).map_or(0.0, |(now, then)| (now - then).abs());
        let number = |number: Option<crate::model::Number>| number.map(|number| number.as_f64());
        if event.kind == EventKind::Solution {
            tally.solutions += 1;
            tally.gain += change(number(event.cost), before.and_then(|event| number(event.cost)));
        } else {
            tally.bounds += 1;
            tally.raised += change(number(event.bound), before.and_then(|event| number(event.bound)));
        }
    }

    /// Returns the state of a running run in a sentence.
    fn running(&self) -> String {
        let Some(event) = self.events.last() else { return "The run begins.".into() };
        let gap = event.gap.map_or(String::new(), |gap| format!(", a gap of {}", per_cent(gap)));
        format!(
            "Running for {:.1} s: best value {}, bound {}{gap}.",
            event.time_s,
            or_dash(event.cost),
            or_dash(event.bound)
        )
    }

    fn html(&self, verdict: &str, rows: &[(String, String)], goes_on: bool) -> String {
        let mut page = Page::new(&format!("fangs: {}", self.settings.instance), goes_on);
        page.put(format_args!("<p class=\"verdict\">{}</p>", super::escaped(verdict)));
        self.curves(&mut page);
        self.sources(&mut page);
        self.network(&mut page);
        self.memory(&mut page);
        page.heading("Settings, and the command to repeat the run");
        page.put(format_args!("<pre>{}</pre>", super::escaped(&self.settings.command)));
        let rows = self.settings.rows.iter().chain(rows);
        page.table(&[], &rows.map(|(name, value)| vec![name.clone(), value.clone()]).collect::<Vec<_>>());
        if !self.told.is_empty() {
            page.heading("What the run told on the way");
            let told = self.told.iter().map(|(time, text)| vec![format!("{time:.2} s"), text.clone()]);
            page.table(&[], &told.collect::<Vec<_>>());
        }
        page.finish()
    }

    /// Adds the figures of cost and bound, of the gap, and of the speed.
    fn curves(&self, page: &mut Page) {
        let maximise = self.events.last().is_some_and(|event| event.maximise == Some(true));
        let side = |number: Option<crate::model::Number>| number.map(|number| number.as_f64());
        let point = |event: &Event| Point { time: event.time_s, found: side(event.cost), bound: side(event.bound) };
        let points: Vec<Point> = self.events.iter().map(point).collect();
        let optimal = self.events.last().is_some_and(|event| event.gap == Some(0.0));
        let mut curve = Curve { maximise, optimal, points, ..Curve::default() };
        for event in &self.events {
            let (is_found, value) = match event.kind {
                EventKind::Solution => (true, side(event.cost)),
                EventKind::Bound => (false, side(event.bound)),
                _ => continue,
            };
            let name = kind(&event.source);
            let source = curve.sources.iter().position(|known| known == name).unwrap_or_else(|| {
                curve.sources.push(name.into());
                curve.sources.len() - 1
            });
            curve.marks.extend(value.map(|cost| Mark { time: event.time_s, cost, is_found, source }));
        }
        let line = |name: &str, color, dashed, value: &dyn Fn(&Event) -> Option<f64>| {
            let sourced = |event: &Event| matches!(event.kind, EventKind::Solution | EventKind::Bound);
            let source = |event: &Event| sourced(event).then(|| event.source.to_string());
            let points = self.events.iter().filter_map(|event| Some((event.time_s, value(event)?, source(event))));
            Line::new(name.into(), color, dashed, points.collect())
        };
        let lines = vec![
            line("found", FOUND, false, &|event| side(event.cost)),
            line("bound", BOUND, true, &|event| side(event.bound)),
        ];
        let better = if maximise { "larger" } else { "smaller" };
        let caption = format!("Best value found and best bound proven over time; {better} is better");
        let chart = Chart { curves: vec![curve], ..Chart::default() };
        page.figure("curves", &chart.svg(), &caption, Figure { name: "value".into(), lines });

        page.put("<div class=\"pair\">");
        let gap = line("gap", FOUND, false, &|event| event.gap.map(|gap| 100.0 * gap));
        plain(page, "gap", "Gap between value and bound over time, as a part of the larger", "gap (%)", gap);
        let mut speeds: Vec<(f64, f64, Option<String>)> = Vec::new();
        let mut last: Option<&Event> = None;
        for event in self.events.iter().filter(|event| matches!(event.kind, EventKind::Tick | EventKind::End)) {
            // the last interval may be too short to measure a speed
            if let Some(last) = last.filter(|last| event.time_s > last.time_s + 0.5) {
                let moves = event.moves.saturating_sub(last.moves) as f64;
                speeds.push((event.time_s, moves / (event.time_s - last.time_s), None));
            }
            last = Some(event);
        }
        // a run that ends within its first second shows its mean speed
        let whole = self.events.first().zip(self.events.last()).filter(|(first, last)| last.time_s > first.time_s);
        if let Some((first, last)) = whole.filter(|_| speeds.is_empty()) {
            let speed = last.moves.saturating_sub(first.moves) as f64 / (last.time_s - first.time_s);
            speeds.extend([first.time_s, last.time_s].map(|time| (time, speed, None)));
        }
        let speed = Line::new("moves".into(), FOUND, false, speeds);
        plain(page, "speed", "Moves a second: assignments that changed a value", "moves/s", speed);
        page.put("</div>");
    }

    fn sources(&self, page: &mut Page) {
        page.heading("Who improved what");
        let mut all: Vec<(&Arc<str>, &Tally)> = self.tallies.iter().collect();
        all.sort_by(|(_, a), (_, b)| (b.gain + b.raised).total_cmp(&(a.gain + a.raised)));
        let number = |number: f64| grouped((number * 1e4).round() / 1e4);
        let row = |(source, tally): (&Arc<str>, &Tally)| {
            let Tally { solutions, gain, bounds, raised, last } = tally;
            vec![
                source.to_string(),
                grouped(solutions),
                number(*gain),
                grouped(bounds),
                number(*raised),
                format!("{last:.2} s"),
            ]
        };
        let head = ["source", "solutions", "gain in value", "bounds", "gain in bound", "last at"];
        page.table(&head, &all.into_iter().map(row).collect::<Vec<_>>());
        page.put("<p class=\"soft\">The first value and the first bound are no gain.</p>");
    }

    fn network(&self, page: &mut Page) {
        let Some(facts) = &self.facts else { return };
        page.heading("The network, before and after the exact reductions");
        let width = |width: Option<u32>| width.map_or("-".into(), grouped);
        let row = |name: &str, size: &Size, of: Option<u32>| {
            let by_arity = size.functions.iter().enumerate().filter(|(_, count)| **count > 0);
            let arities: Vec<String> = by_arity.map(|(arity, count)| format!("{count} of {arity}")).collect();
            vec![
                name.into(),
                grouped(size.variables),
                grouped(size.values),
                grouped(size.max_domain),
                grouped(size.functions()),
                arities.join(", "),
                grouped(size.entries),
                width(of),
            ]
        };
        let [before, after] = self.settings.widths.get().copied().unwrap_or_default();
        let rows = [row("before", &facts.reduction.before, before), row("after", &facts.reduction.after, after)];
        let head =
            ["", "variables", "values", "largest domain", "functions", "by arity", "table entries", "induced width"];
        page.table(&head, &rows);
        let parts = counted(facts.reduction.components, "connected component");
        page.put(format_args!("<p class=\"soft\">{parts}. Widths are of a min-fill order; - is not known.</p>"));
    }

    fn memory(&self, page: &mut Page) {
        let Some(facts) = &self.facts else { return };
        page.heading("Memory");
        let rows = [
            ("tables that the search reads", facts.table_bytes),
            ("a state of the population", facts.state_bytes),
            ("tables of bounds may take", facts.bound_bytes),
        ];
        page.table(&[], &rows.map(|(name, bytes)| vec![name.into(), bytes_of(bytes)]));
    }
}

impl Output for RunPage {
    fn event(&mut self, recording: &Recording<'_>) -> io::Result<()> {
        let event = recording.event;
        self.facts = event.facts.clone().or(self.facts.take());
        if let Some(message) = &event.message {
            self.told.push((event.time_s, message.to_string()));
        } else {
            self.count(event);
            self.events.push(Event { solution: None, ..event.clone() });
        }
        if self.written.is_some_and(|last| last.elapsed() < EVERY) || event.kind == EventKind::End {
            return Ok(());
        }
        self.written = Some(Instant::now());
        let verdict = self.running();
        let html = self.html(&verdict, &[], true);
        self.file.write(html.into_bytes())
    }

    fn end(&mut self, ending: &Ending<'_>) -> Result<(), Error> {
        let Some(RunSummary { verdict, rows, .. }) = ending.results() else { return Ok(()) };
        let html = self.html(&verdict, &rows, false);
        self.file.write_to_end(html.into_bytes(), ending.stop)
    }
}

/// Adds a chart of one line, unless it is empty.
fn plain(page: &mut Page, key: &str, caption: &str, quantity: &str, line: Line) {
    if line.points.is_empty() {
        return;
    }
    let points = line.points.iter().map(|&(time, value, _)| Point { time, found: Some(value), bound: None }).collect();
    let curves = vec![Curve { points, ..Curve::default() }];
    let chart = Chart { curves, quantity: Some(quantity.into()), time: TimeScale::Auto, ..Chart::default() };
    page.figure(key, &chart.svg(), caption, Figure { name: quantity.into(), lines: vec![line] });
}

/// Returns the name of a source without its size.
fn kind(source: &str) -> &str {
    source.split(['(', ',']).next().unwrap_or(source).trim_end()
}

/// Returns a number of bytes with a binary prefix.
fn bytes_of(bytes: u64) -> String {
    let prefixes = ["B", "KiB", "MiB", "GiB", "TiB"];
    let step = (bytes.max(1).ilog2() / 10).min(4);
    let digits = if step == 0 { 0 } else { 1 };
    format!("{:.digits$} {}", bytes as f64 / f64::from(1 << 10).powi(step as i32), prefixes[step as usize])
}
