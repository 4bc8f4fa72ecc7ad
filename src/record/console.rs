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

/// How often the progress line is drawn: often enough to show every second, and that the run is alive.
const FRAME: Duration = Duration::from_millis(200);
/// Columns of the spinner and the blank after it, and one that stays free: some terminals wrap after the last.
const SPINNER: usize = 3;

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

/// Standard error during a run.
#[derive(Clone, Debug)]
pub struct Console {
    line: Option<ProgressBar>,
    verbosity: Verbosity,
    state: Arc<Mutex<State>>,
    /// Time and moves at the last tick.
    last: (f64, u64),
}

/// The parts of the progress line from the last event.
#[derive(Clone, Debug, Default)]
struct State {
    sides: [String; 3],
    rate: Option<String>,
}

impl Console {
    /// Warnings, and the output that `verbosity` allows besides the progress line.
    pub fn new(verbosity: Verbosity) -> Self {
        Console { line: None, verbosity, state: Arc::default(), last: (0.0, 0) }
    }

    /// Shows a progress line if standard error is a terminal and the verbosity allows it. A separate thread draws it,
    /// so that the time advances while the run is busy.
    pub fn progress(mut self, activity: &Activity, started: Instant, budget: Option<Duration>) -> Self {
        if self.verbosity > Verbosity::Quiet && std::io::stderr().is_terminal() {
            let (activity, state) = (activity.clone(), self.state.clone());
            let shown = move |_: &ProgressState, out: &mut dyn fmt::Write| {
                let columns = usize::from(console::Term::stderr().size().1).saturating_sub(SPINNER);
                let state = state.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // text that cannot be formatted is not shown
                let doing = activity.to_string();
                let _ =
                    out.write_str(&fit(&clock(started.elapsed(), budget), &terminal::line(&doing), &state, columns));
            };
            let style = ProgressStyle::with_template("{spinner} {shown}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner()).with_key("shown", shown);
            let line = ProgressBar::new_spinner().with_style(style);
            // the library starts its thread and panics where it cannot
            if threads::any_left() {
                line.enable_steady_tick(FRAME);
            }
            self.line = Some(line);
        }
        self
    }

    /// Shows an event.
    pub fn show(&mut self, event: &Event) {
        let (time, moves) = self.last;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.sides = sides(event);
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

    /// Reports a problem, once.
    pub fn warn(&self, message: &str) {
        self.say(&format!("fangs: warning: {message}"));
    }

    /// Reports doubtful places of a file, a line each.
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

    /// Prints a note, if verbose.
    pub fn note(&self, message: &str) {
        if self.verbosity == Verbosity::Verbose {
            self.say(&format!("fangs: {message}"));
        }
    }

    /// Removes the progress line.
    pub fn finish(&mut self) {
        if let Some(line) = self.line.take() {
            line.finish_and_clear();
        }
    }

    fn say(&self, text: &str) {
        // a closed standard error cannot be reported
        let print = || drop(writeln!(std::io::stderr(), "{}", terminal::text(text)));
        match &self.line {
            Some(line) => line.suspend(print),
            None => print(),
        }
    }
}

impl Drop for Console {
    /// Also where an error ends the run: its message gets a line of its own.
    fn drop(&mut self) {
        self.finish();
    }
}

/// The best cost, the bound, and the gap.
fn sides(event: &Event) -> [String; 3] {
    let gap = event.gap.map_or("-".into(), per_cent);
    [format!("best {}", or_dash(event.cost)), format!("bound {}", or_dash(event.bound)), format!("gap {gap}")]
}

/// Seconds elapsed, of the budget: `7 / 60 s`.
fn clock(elapsed: Duration, budget: Option<Duration>) -> String {
    let elapsed = grouped(elapsed.as_secs());
    match budget {
        Some(budget) => format!("{elapsed} / {} s", grouped(budget.as_secs_f64())),
        None => format!("{elapsed} s"),
    }
}

/// The parts of the progress line that fit into `columns` columns, each as a whole: a cut number would be a different
/// one.
fn fit(clock: &str, activity: &str, state: &State, columns: usize) -> String {
    let [best, bound, gap] = &state.sides;
    let shown = [clock, best, bound, gap, state.rate.as_deref().unwrap_or(""), activity];
    let mut left = columns;
    let mut fits = [false; 6];
    for part in [0, 5, 1, 2, 3, 4] {
        let width = shown[part].chars().count() + if part == 0 { 0 } else { 2 };
        if !shown[part].is_empty() && width <= left {
            (fits[part], left) = (true, left - width);
        }
    }
    let parts: Vec<&str> = shown.into_iter().zip(fits).filter(|(_, fits)| *fits).map(|(part, _)| part).collect();
    parts.join("  ")
}

/// Three digits and a metric prefix.
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
    fn a_line_has_whole_parts_and_no_more_than_fit() {
        let state = State {
            sides: ["best 12,345", "bound 11,000", "gap 10.895 %"].map(String::from),
            rate: Some("1.5 M moves/s".into()),
        };
        let line = |columns| fit("7 / 60 s", "anneal, mini-buckets", &state, columns);
        let all = "7 / 60 s  best 12,345  bound 11,000  gap 10.895 %  1.5 M moves/s  anneal, mini-buckets";
        assert_eq!(line(200), all);
        assert_eq!(line(all.len() - 1), all.replace("  1.5 M moves/s", ""));
        assert_eq!(line(40), "7 / 60 s  anneal, mini-buckets");
        assert_eq!(line(10), "7 / 60 s");
        assert_eq!(line(0), "");
        for columns in 0..100 {
            assert!(line(columns).len() <= columns);
        }
        let bare = State { rate: None, ..state };
        assert!(!fit("7 / 60 s", "bucket elimination", &bare, 200).contains("moves/s"));
    }
}
