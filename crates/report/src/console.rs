//! Standard error: the progress line on a terminal, a line for each event on request, warnings.

use super::text::{grouped, or_dash, per_cent};
use crate::activity::Activity;
use crate::error::Warning;
use crate::search::{Event, EventKind};
use crate::terminal;
use crate::threads;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::fmt;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval between two drawings of the progress line: short enough to show every second and that the run is alive.
const FRAME: Duration = Duration::from_millis(200);
/// Columns of the spinner and the blank after it, and a free one, because some terminals wrap after the last column.
const SPINNER: usize = 3;
/// Largest number of terminal rows of the progress line, on a narrow terminal.
const ROWS: usize = 3;

/// The progress line. A process has at most one, because its terminal has one; other output suspends it.
static LINE: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Prints while the progress line is hidden.
pub fn beside_progress<R>(print: impl FnOnce() -> R) -> R {
    let line = LINE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match line {
        Some(line) => line.suspend(print),
        None => print(),
    }
}

/// Ends the progress line, if there is one.
pub fn end_progress() {
    let line = LINE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(line) = line {
        line.finish_and_clear();
    }
}

/// The amount of output on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Warnings only.
    Quiet,
    /// A progress line on a terminal.
    Normal,
    /// Also a line for each solution and bound, and notes.
    Verbose,
}

/// Standard error during a run. Clones share the content of the progress line.
#[derive(Clone, Debug)]
pub struct Console {
    verbosity: Verbosity,
    state: Arc<Mutex<State>>,
    /// Time and moves at the last tick.
    last: (f64, u64),
}

/// The parts of the progress line that the last event determines.
#[derive(Clone, Debug, Default)]
struct State {
    sides: [String; 3],
    rate: Option<String>,
    /// The time at which the incumbent was found, in seconds.
    improved_s: Option<f64>,
}

impl Console {
    /// Creates a console that prints warnings and what `verbosity` allows, without a progress line.
    pub fn new(verbosity: Verbosity) -> Self {
        Console { verbosity, state: Arc::default(), last: (0.0, 0) }
    }

    /// Starts the progress line if standard error is a terminal and the verbosity allows it; [`end_progress`] ends it.
    /// A separate thread draws it, so that the time advances while the run is busy.
    pub fn progress(self, activity: &Activity, started: Instant, budget: Option<Duration>) -> Self {
        if self.verbosity > Verbosity::Quiet && std::io::stderr().is_terminal() {
            let (activity, state) = (activity.clone(), self.state.clone());
            let shown = move |_: &ProgressState, out: &mut dyn fmt::Write| {
                let columns = usize::from(console::Term::stderr().size().1).saturating_sub(SPINNER);
                let state = state.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let doing = activity.to_string();
                let parts = state.parts(clock(started.elapsed(), budget), terminal::line(&doing).into_owned());
                // text that cannot be formatted is not shown
                let _ = out.write_str(&wrapped(&parts, columns));
            };
            let style = ProgressStyle::with_template("{spinner} {shown}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner()).with_key("shown", shown);
            let line = ProgressBar::new_spinner().with_style(style);
            // the library starts a thread, and panics if it cannot
            if threads::any_left() {
                line.enable_steady_tick(FRAME);
            }
            *LINE.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
        }
        self
    }

    /// Shows an event, or prints its message: a warning, or a note.
    pub fn show(&mut self, event: &Event) {
        if let Some(message) = &event.message {
            return if event.kind == EventKind::Warning { self.warn(message) } else { self.note(message) };
        }
        let (time, moves) = self.last;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.sides = sides(event);
        if event.kind == EventKind::Solution {
            state.improved_s = Some(event.time_s);
        }
        if event.kind == EventKind::Tick && event.time_s > time {
            let rate = event.moves.saturating_sub(moves) as f64 / (event.time_s - time);
            state.rate = (rate >= 1.0).then(|| format!("{} moves/s", metric(rate)));
            self.last = (event.time_s, event.moves);
        }
        if self.verbosity == Verbosity::Verbose && matches!(event.kind, EventKind::Solution | EventKind::Bound) {
            let sides = state.sides.join("  ");
            drop(state);
            self.say(&format!("{:9.3} s  {sides}  {}", event.time_s, event.source));
        }
    }

    /// Prints a warning.
    pub fn warn(&self, message: &str) {
        self.say(&format!("fangs: warning: {message}"));
    }

    /// Prints the warnings about a file, one line each.
    pub fn warn_of(&self, warnings: &[Warning]) {
        for warning in warnings {
            self.warn(&warning.to_string());
        }
    }

    /// Prints a note, unless only warnings are wanted.
    pub fn tell(&self, message: &str) {
        if self.verbosity > Verbosity::Quiet {
            self.say(&format!("fangs: {message}"));
        }
    }

    /// Prints a note, if the verbosity is `Verbose`.
    pub fn note(&self, message: &str) {
        if self.verbosity == Verbosity::Verbose {
            self.say(&format!("fangs: {message}"));
        }
    }

    fn say(&self, text: &str) {
        // a closed standard error cannot be reported
        beside_progress(|| drop(writeln!(std::io::stderr(), "{}", terminal::text(text))));
    }
}

impl State {
    /// Returns the parts of the line in order; unknown parts are empty.
    fn parts(self, clock: String, doing: String) -> [String; 6] {
        let [mut best, bound, gap] = self.sides;
        if let Some(improved_s) = self.improved_s {
            best = format!("{best} at {} s", grouped(improved_s as u64));
        }
        [clock, best, bound, gap, self.rate.unwrap_or_default(), doing]
    }
}

/// Returns the incumbent's cost, the bound and the gap as text.
fn sides(event: &Event) -> [String; 3] {
    let gap = event.gap.map_or("-".into(), per_cent);
    [format!("best {}", or_dash(event.cost)), format!("bound {}", or_dash(event.bound)), format!("gap {gap}")]
}

/// Returns the elapsed seconds and the budget: `7 / 60 s`.
fn clock(elapsed: Duration, budget: Option<Duration>) -> String {
    let elapsed = grouped(elapsed.as_secs());
    match budget {
        Some(budget) => format!("{elapsed} / {} s", grouped(budget.as_secs_f64())),
        None => format!("{elapsed} s"),
    }
}

/// Arranges the parts of the progress line in rows of `columns` columns. A part is never cut, because a cut number
/// would be a different one; parts that do not fit are omitted.
fn wrapped(parts: &[String], columns: usize) -> String {
    let mut rows: Vec<String> = Vec::new();
    for part in parts.iter().filter(|part| !part.is_empty() && part.chars().count() <= columns) {
        match rows.last_mut() {
            Some(row) if row.chars().count() + 2 + part.chars().count() <= columns => {
                row.push_str("  ");
                row.push_str(part);
            }
            _ => rows.push(part.clone()),
        }
    }
    rows.truncate(ROWS);
    // aligned with the first part, not with the spinner
    rows.join("\n  ")
}

/// Returns a number with up to three digits and a metric prefix.
fn metric(number: f64) -> String {
    let prefixes = ["", " k", " M", " G", " T"];
    let step = if number < 1.0 { 0 } else { ((number.log10() / 3.0) as usize).min(prefixes.len() - 1) };
    let scaled = number / 1000f64.powi(step as i32);
    let digits = if step == 0 || scaled >= 100.0 { 0 } else { 1 };
    format!("{scaled:.digits$}{}", prefixes[step])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metric_prefixes() {
        let shown = [0.0, 7.0, 999.0, 1500.0, 123_456.0, 2.5e9, 1e15].map(metric);
        assert_eq!(shown, ["0", "7", "999", "1.5 k", "123 k", "2.5 G", "1000 T"]);
    }

    #[test]
    fn seconds_are_of_a_budget() {
        let shown =
            |seconds, budget: Option<f64>| clock(Duration::from_secs_f64(seconds), budget.map(Duration::from_secs_f64));
        assert_eq!(shown(7.9, Some(60.0)), "7 / 60 s");
        assert_eq!(shown(0.3, Some(0.5)), "0 / 0.5 s");
        assert_eq!(shown(1234.5, Some(3600.0)), "1,234 / 3,600 s");
        assert_eq!(shown(12.0, None), "12 s");
    }

    #[test]
    fn a_line_has_whole_parts_in_rows_that_fit() {
        let state = State {
            sides: ["best 12,345", "bound 11,000", "gap 10.895 %"].map(String::from),
            rate: Some("1.5 M moves/s".into()),
            improved_s: Some(5.9),
        };
        let parts = state.parts("7 / 60 s".into(), "anneal, mini-buckets".into());
        let line = |columns| wrapped(&parts, columns);
        let all = "7 / 60 s  best 12,345 at 5 s  bound 11,000  gap 10.895 %  1.5 M moves/s  anneal, mini-buckets";
        assert_eq!(line(200), all);
        assert_eq!(line(77), all.replace("moves/s  anneal", "moves/s\n  anneal"));
        assert_eq!(line(10), "7 / 60 s");
        assert_eq!(line(0), "");
        for columns in 0..100 {
            assert!(line(columns).lines().all(|row| row.trim_start().len() <= columns));
            assert!(line(columns).lines().count() <= ROWS);
        }
        let bare = State::default().parts("7 s".into(), "reading".into());
        assert_eq!(wrapped(&bare, 200), "7 s  reading");
    }
}
