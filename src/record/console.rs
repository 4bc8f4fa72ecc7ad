//! Standard error: the progress line where it is a terminal, one line an event on request, warnings.

use crate::error::Warning;
use crate::model::Number;
use crate::search::{Event, EventKind};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};

/// How much goes to standard error.
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
#[derive(Debug)]
pub struct Console {
    line: Option<ProgressBar>,
    verbosity: Verbosity,
    /// Time and moves at the last tick.
    last: (f64, u64),
    moves_per_second: f64,
}

impl Console {
    /// Shows a progress line if standard error is a terminal and `verbosity` allows it.
    pub fn new(verbosity: Verbosity) -> Self {
        let line = (verbosity > Verbosity::Quiet && std::io::stderr().is_terminal()).then(|| {
            let style =
                ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new_spinner().with_style(style)
        });
        Console { line, verbosity, last: (0.0, 0), moves_per_second: 0.0 }
    }

    /// Shows an event.
    pub fn show(&mut self, event: &Event) {
        let (time, moves) = self.last;
        if event.kind == EventKind::Tick && event.time_s > time {
            self.moves_per_second = event.moves.saturating_sub(moves) as f64 / (event.time_s - time);
            self.last = (event.time_s, event.moves);
        }
        if self.verbosity == Verbosity::Verbose && matches!(event.kind, EventKind::Solution | EventKind::Bound) {
            self.say(&format!("{:9.3} s  {}  {}", event.time_s, sides(event), event.source));
        }
        if let Some(line) = &self.line {
            let rate = metric(self.moves_per_second);
            line.set_message(format!("{:.0} s  {}  {rate} moves/s  {}", event.time_s, sides(event), event.source));
            line.tick();
        }
    }

    /// Says what went wrong, once.
    pub fn warn(&self, message: &str) {
        self.say(&format!("fangs: warning: {message}"));
    }

    /// Says what is doubtful about a file, a line each.
    pub fn warn_of(&self, warnings: &[Warning]) {
        for warning in warnings {
            self.warn(&warning.to_string());
        }
    }

    /// Says something worth knowing, unless only warnings are wanted.
    pub fn tell(&self, message: &str) {
        if self.verbosity > Verbosity::Quiet {
            self.say(&format!("fangs: {message}"));
        }
    }

    /// Says something worth knowing, where that was asked for.
    pub fn note(&self, message: &str) {
        if self.verbosity == Verbosity::Verbose {
            self.say(&format!("fangs: {message}"));
        }
    }

    /// Takes the progress line away.
    pub fn finish(&mut self) {
        if let Some(line) = self.line.take() {
            line.finish_and_clear();
        }
    }

    fn say(&self, text: &str) {
        // nobody to tell where standard error is closed
        let print = || drop(writeln!(std::io::stderr(), "{text}"));
        match &self.line {
            Some(line) => line.suspend(print),
            None => print(),
        }
    }
}

fn sides(event: &Event) -> String {
    let side = |number: Option<Number>| number.map_or("-".into(), |number| number.to_string());
    let gap = event.gap.map_or("-".into(), |gap| format!("{:.2} %", 100.0 * gap));
    format!("upper {}  lower {}  gap {gap}", side(event.upper()), side(event.lower()))
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
    #[test]
    fn metric_prefixes() {
        let shown = [0.0, 7.0, 999.0, 1500.0, 123_456.0, 2.5e9, 1e15].map(super::metric);
        assert_eq!(shown, ["0", "7", "999", "1.5 k", "123 k", "2.5 G", "1000 T"]);
    }
}
