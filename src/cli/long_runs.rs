//! Options of long runs: stop rules, checkpoints, exchange, and files written on the way.

use super::help;
use super::input::Input;
use super::invocation::Invocation;
use super::output::{self, Files};
use super::ranks::Ranks;
use super::values::{self, Stopping};
use clap::Args;
use fangs_base::Error;
use fangs_base::files::Identity;
use fangs_base::stop::Stop;
use fangs_base::terminal;
use fangs_base::threads;
use fangs_bounds::reduce::Reducer;
use fangs_elimination::order::{Method, Order};
use fangs_model::model::Network;
use fangs_report::page::Settings;
use fangs_report::{Keepers, LIST};
use fangs_search::Options;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Time limit on the computation of the widths that the page shows.
const WIDTHS: Duration = Duration::from_secs(10);
/// Induced widths of the network and of the reduced problem, each `None` if it took too long.
pub type Widths = Arc<OnceLock<[Option<u32>; 2]>>;

#[derive(Args, Debug)]
pub struct LongRunFlags {
    /// Stop by a rule, may be repeated: "stall 30s", diminishing, "gap 5%", "target COST" [default: none]
    ///
    /// The first rule that holds ends the run.
    ///
    /// stall: no better solution for this time. diminishing: the second half of the time since the first solution
    /// brought at most a thousandth of all improvement, so that as much time again is expected to bring no more; not
    /// before 20 seconds. gap and target work like --gap and --target.
    #[arg(long, value_name = "RULE", value_parser = values::stopping, help_heading = help::BUDGET)]
    stop: Vec<Stopping>,
    /// Write every better solution to a separate file in this folder, and a list with time, cost, bound and source
    #[arg(long, value_name = "DIR", help_heading = help::OUTPUT)]
    solutions_dir: Option<PathBuf>,
    /// Write the incumbent, the bound and the elite pool to a file regularly and at the end, for --resume
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    checkpoint: Option<PathBuf>,
    /// Time between two checkpoints
    #[arg(long, value_name = "DUR", default_value = "60s", value_parser = values::duration, requires = "checkpoint",
        help_heading = help::OUTPUT)]
    checkpoint_every: Duration,
    /// Resume from a checkpoint, on any device and any number of threads [default: none]
    ///
    /// Times continue from the checkpoint, and so does an existing --csv. --time counts from the start of this process.
    #[arg(long, value_name = "FILE", help_heading = help::INPUT)]
    resume: Option<PathBuf>,
    /// Share solutions and bounds with other processes through a folder [default: none]
    ///
    /// Each process writes one file there and reads those of the others, on this machine or on others. No process
    /// waits, and any may end or begin at any time. Solutions of others are evaluated again; their bounds are trusted
    /// if the network is the same.
    #[arg(long, value_name = "DIR", conflicts_with = "rounds", help_heading = help::SEARCH)]
    exchange: Option<PathBuf>,
    /// Write a page about the run, one file of HTML for any browser, replaced every two seconds
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    report: Option<PathBuf>,
}

impl LongRunFlags {
    /// Adds the stop rules and the needs of the page to the options.
    pub fn rules(&self, options: &mut Options) -> Result<(), Error> {
        options.facts = self.report.is_some();
        for rule in &self.stop {
            let before = match *rule {
                Stopping::Rule(rule) => {
                    options.stop.push(rule);
                    None
                }
                Stopping::Gap(gap) => options.gap.replace(gap).map(|_| "gap"),
                Stopping::Target(cost) => options.target.replace(cost).map(|_| "target"),
            };
            if let Some(name) = before {
                return Err(Error::Usage(format!("--stop {name}: there is a {name} already, a run has one")));
            }
        }
        Ok(())
    }

    /// Adds the files that are read and written.
    pub fn files(&self, files: Files) -> Result<Files, Error> {
        let list = self.solutions_dir.as_ref().map(|folder| folder.join(LIST));
        let files = files.writes("--solutions-dir", list.as_deref())?;
        let files = files.writes("--report", self.report.as_deref())?;
        let files = files.writes("--checkpoint", self.checkpoint.as_deref())?;
        // a run may resume from the file to which it writes its checkpoints
        let identity = |path: &Option<PathBuf>| path.as_deref().and_then(Identity::of);
        let other = self.resume.as_deref().filter(|_| identity(&self.resume) != identity(&self.checkpoint));
        files.reads("--resume", other)
    }

    /// Returns the options of a rank that writes no files: only the stop rules and `--resume` remain.
    pub fn without_files(self) -> LongRunFlags {
        let LongRunFlags { stop, checkpoint_every, resume, .. } = self;
        let (solutions_dir, checkpoint, exchange, report) = (None, None, None, None);
        LongRunFlags { stop, solutions_dir, checkpoint, checkpoint_every, resume, exchange, report }
    }

    /// Returns the name of a given option that a graph without `--colors` does not support.
    pub fn needs_colors(&self) -> Option<&'static str> {
        let named = [("--checkpoint", &self.checkpoint), ("--resume", &self.resume), ("--exchange", &self.exchange)];
        named.iter().find(|(_, path)| path.is_some()).map(|(name, _)| *name)
    }

    /// Reads the checkpoint to resume from, and prepares the files and exchanges of the run.
    pub fn keepers(&self, ranks: &Ranks, stop: &Stop) -> Result<Keepers, Error> {
        let mut keepers = Keepers::default();
        self.resume.iter().try_for_each(|path| keepers.resume(path, stop))?;
        let written = self.checkpoint.iter().try_for_each(|path| keepers.write(path, self.checkpoint_every));
        output::as_usage(written)?;
        ranks.keeper().into_iter().for_each(|keeper| keepers.keep(keeper));
        self.exchange.iter().for_each(|folder| keepers.exchange(folder));
        Ok(keepers)
    }

    /// Returns the settings that the page and the chart show; the page reads induced widths from `widths`.
    pub fn settings(&self, input: &Input, options: &Options, widths: &Widths) -> Settings {
        let or = |value: Option<String>, other: &str| value.unwrap_or_else(|| other.into());
        let rows = [
            ("program", format!("fangs {}", fangs_base::VERSION)),
            ("network", input.name()),
            ("seed", options.seed.to_string()),
            ("time limit", or(options.time.map(|time| humantime::format_duration(time).to_string()), "none")),
            ("limit of rounds", or(options.rounds.map(|rounds| rounds.to_string()), "none")),
            ("threads", options.threads().to_string()),
            ("driver", options.driver.name().into()),
            ("bounds", options.bound.name().into()),
            ("resumed from", or(self.resume.as_deref().map(terminal::path), "-")),
        ];
        Settings {
            instance: input.file_name(),
            command: command(),
            rows: rows.map(|(name, value)| (name.into(), value)).into(),
            widths: widths.clone(),
        }
    }

    /// Computes the induced widths that the page shows, on a separate thread.
    pub fn widths(&self, network: &Network, widths: &Widths) {
        if self.report.is_none() {
            return;
        }
        let (network, widths) = (network.clone(), widths.clone());
        let width = move |reduces: bool| {
            let stop = Stop::new();
            stop.set_at(Instant::now() + WIDTHS);
            let mut reducer = Reducer::new(&network, reduces, &stop).ok()?;
            if reduces {
                reducer.merge_ties(&stop);
            }
            let order = Order::greedy(&reducer.problem(&stop).ok()?, Method::MinFill, 1, &stop);
            (!stop.is_set()).then_some(order.width)
        };
        // if the thread cannot start, the page shows no widths
        let measure = move || {
            let _ = widths.set([width(false), width(true)]);
        };
        drop(threads::start("widths", measure));
    }

    /// Returns the path of an output of these options.
    pub fn output(&self, name: &str) -> Option<PathBuf> {
        match name {
            "solutions-dir" => self.solutions_dir.clone(),
            "report" => self.report.clone(),
            _ => None,
        }
    }
}

/// Returns the command line of this process, quoted for a shell.
fn command() -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=+./:,@%".contains(letter);
    let quoted = |word: String| match !word.is_empty() && word.chars().all(plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    let words = Invocation::arguments().into_iter().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    std::iter::once("fangs".to_string()).chain(words).collect::<Vec<_>>().join(" ")
}
