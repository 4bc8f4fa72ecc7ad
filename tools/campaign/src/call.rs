//! Calls of the solver and their results: plain data for the library and the command alike.

use crate::number::Decimal;
use fangs_base::rng::Rng;
use std::path::{Path, PathBuf};

/// Options of a call, with their names on the command line; a switch has an empty value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(Vec<(&'static str, String)>);

impl Settings {
    /// Returns the value of an option, or `None` if it is not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| *own == name).map(|(_, value)| &value[..])
    }

    /// Returns the value of an option as a number.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name)?.parse().ok()
    }

    /// Returns the value of an option as a list of numbers, separated by commas.
    pub fn numbers(&self, name: &str) -> Option<Vec<u32>> {
        self.get(name)?.split(',').filter(|word| !word.is_empty()).map(|word| word.parse().ok()).collect()
    }

    /// Returns whether an option is set.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets an option.
    pub fn set(&mut self, name: &'static str, value: impl ToString) {
        self.0.retain(|(own, _)| *own != name);
        self.0.push((name, value.to_string()));
    }

    /// Sets an option in `percent` of all calls, to a value that `make` returns.
    pub fn maybe<T: ToString>(
        &mut self,
        rng: &mut Rng,
        percent: u64,
        name: &'static str,
        make: impl FnOnce(&mut Rng) -> T,
    ) {
        if rng.below(100) < percent {
            self.set(name, make(rng));
        }
    }

    /// Returns the settings with another option.
    pub fn with(&self, name: &'static str, value: impl ToString) -> Settings {
        let mut settings = self.clone();
        settings.set(name, value);
        settings
    }

    /// Returns the settings without an option.
    pub fn without(&self, name: &str) -> Settings {
        Settings(self.0.iter().filter(|(own, _)| *own != name).cloned().collect())
    }

    /// Returns all settings with one option less.
    pub fn smaller(&self) -> impl Iterator<Item = Settings> {
        self.0.iter().map(|(name, _)| self.without(name))
    }

    /// Returns the names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, &value[..]))
    }
}

/// The text of a file, and the extension of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The extension, without a dot.
    pub ending: &'static str,
    /// The contents.
    pub text: String,
}

/// A call: a command, its problem and its options.
#[derive(Clone, Debug)]
pub struct Call {
    /// The command, such as `solve`.
    pub command: &'static str,
    /// The problem; the first file is the one that is named.
    pub files: Vec<File>,
    /// The options of the call.
    pub settings: Settings,
}

/// A command line, and the files that it names.
#[derive(Clone, Debug)]
pub struct CommandLine {
    /// Paths and contents.
    pub files: Vec<(PathBuf, String)>,
    /// The words after the name of the program.
    pub words: Vec<String>,
}

impl Call {
    /// Returns the call as a command line whose files are in a folder and have a common stem.
    pub fn command_line(&self, folder: &Path, stem: &str) -> CommandLine {
        let path = |ending: &str| folder.join(format!("{stem}.{ending}"));
        let mut files: Vec<_> = self.files.iter().map(|file| (path(file.ending), file.text.clone())).collect();
        let name = |path: &Path| path.display().to_string();
        let mut words: Vec<String> = vec![self.command.into()];
        words.extend(files.first().map(|(path, _)| name(path)));
        for (option, value) in self.settings.iter() {
            let numbers = || self.settings.numbers(option).unwrap_or_default();
            let spaced = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            let file = match option {
                "maximize" => Some(("map", format!("{} {}\n", numbers().len(), spaced(&numbers())))),
                "warm-start" => Some(("start", format!("{}\n", spaced(&numbers())))),
                "certificate" if self.command == "check" => Some(("cert", value.into())),
                _ => None,
            };
            words.push(format!("--{option}"));
            match file {
                Some((ending, text)) => {
                    words.push(name(&path(ending)));
                    files.push((path(ending), text));
                }
                None if option == "certificate" => words.push(name(&path("cert"))),
                None if value.is_empty() => {}
                None => words.push(value.into()),
            }
        }
        CommandLine { files, words }
    }
}

/// The results of a call; those that a command does not report are absent.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The status, as the command prints it.
    pub status: String,
    /// The value found, in the file's units.
    pub cost: Option<Decimal>,
    /// The bound on the value.
    pub bound: Option<Decimal>,
    /// All bounds that were reported during the run, including the last one.
    pub bounds: Vec<Decimal>,
    /// Largest error of value and bound by rounding.
    pub slack: f64,
    /// Whether the bound is the optimum, or the value is that of an optimal policy.
    pub exact: bool,
    /// The solution.
    pub solution: Option<Vec<u32>>,
    /// The rounds and moves of a search.
    pub work: (u64, u64),
    /// The logarithm of a sum.
    pub ln_z: Option<f64>,
    /// Largest error of the logarithm, or of an expected utility.
    pub error: f64,
    /// Bounds on the logarithm of a sum, or on an expected utility.
    pub interval: (Option<f64>, Option<f64>),
    /// The posteriors of the variables.
    pub posteriors: Vec<Option<Vec<f64>>>,
    /// Largest relative error of the posteriors.
    pub posterior_error: f64,
    /// The text of a certificate.
    pub text: Option<String>,
    /// The network in another format.
    pub written: Vec<u8>,
    /// The number of solutions.
    pub count: u64,
}

/// The end of a call.
#[derive(Clone, Debug)]
pub enum Ended {
    /// The call returned a report.
    Done(Box<Report>),
    /// The input or an option was refused, with a message.
    Refused(String),
    /// Memory or time did not suffice, with a message.
    Limited(String),
    /// The call ended with an internal error, a panic or a signal.
    Failed(String),
}

/// A runner of calls: the library, the command, or a test.
pub trait Runner: Sync {
    /// Makes a call.
    fn run(&self, call: &Call) -> Ended;
}
