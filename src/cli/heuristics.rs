//! `fangs heuristics`, and the `--heuristic` option.

use super::output::{self, Files};
use super::try_heuristics::{self, TryFlags};
use super::{Exit, help};
use clap::{Args, Subcommand};
use fangs::Error;
use fangs::heuristics::language::Heuristic;
use fangs::heuristics::{self, FromCuda, FromFile, ValueHeuristic, template};
use fangs::model::Network;
use fangs::stop::Stop;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct HeuristicsFlags {
    /// A heuristic to describe, or a file to check [default: lists all]
    name: Option<String>,
    #[command(subcommand)]
    command: Option<HeuristicsCommand>,
}

#[derive(Debug, Subcommand)]
enum HeuristicsCommand {
    /// Compare heuristics on a network by repeated runs
    #[command(after_help = help::examples(&help::TRY))]
    Try(TryFlags),
    /// Create the files of a new heuristic, with a body that works
    #[command(after_help = help::examples(&help::NEW))]
    New(NewFlags),
}

#[derive(Args, Debug)]
struct NewFlags {
    /// Name of the heuristic, such as my-own: lower-case letters, digits and hyphens
    name: String,
    /// Folder that has the sources of Fangs
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
}

/// What `--heuristic` names.
#[derive(Clone, Debug)]
pub enum Chosen {
    /// A built-in one.
    Known(Arc<dyn ValueHeuristic>),
    /// One in a file.
    File(PathBuf),
}

impl Chosen {
    /// The heuristic, for a network.
    pub fn of(&self, network: &Network, stop: &Stop) -> Result<Arc<dyn ValueHeuristic>, Error> {
        match self {
            Chosen::Known(heuristic) => Ok(heuristic.clone()),
            Chosen::File(path) if is_cuda(path) => Ok(Arc::new(FromCuda::read(path, stop)?)),
            Chosen::File(path) => Ok(Arc::new(FromFile::read(path, network, stop)?)),
        }
    }

    /// Its name.
    pub fn name(&self) -> String {
        match self {
            Chosen::Known(heuristic) => heuristic.name().into(),
            Chosen::File(path) => path.display().to_string(),
        }
    }
}

/// Adds the files of heuristics, and the tables that they name.
pub fn reads<'a>(mut files: Files, chosen: impl Iterator<Item = &'a Chosen>) -> Result<Files, Error> {
    for chosen in chosen {
        if let Chosen::File(path) = chosen {
            files = files.reads("--heuristic", Some(path))?;
            for table in Heuristic::tables_of(path) {
                files = files.reads("a table of --heuristic", Some(&table))?;
            }
        }
    }
    Ok(files)
}

/// Whether a file is a heuristic in CUDA.
fn is_cuda(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "cuh")
}

/// Reads `--heuristic`.
pub fn parse(text: &str) -> Result<Chosen, String> {
    match heuristics::all().iter().find(|heuristic| heuristic.name().eq_ignore_ascii_case(text)).cloned() {
        Some(heuristic) => Ok(Chosen::Known(heuristic)),
        None if text.contains(['.', '/']) => Ok(Chosen::File(text.into())),
        None => {
            let (names, hint) = heuristics::meant(text);
            let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
            Err(format!("expected a file such as my.toml or my.cuh, or one of {names}{hint}"))
        }
    }
}

/// Lists the heuristics, describes one, compares some or writes a new one.
pub fn run(flags: HeuristicsFlags, started: Instant) -> Result<Exit, Error> {
    match (flags.command, flags.name.as_deref()) {
        (Some(HeuristicsCommand::Try(flags)), _) => return try_heuristics::run(flags, started),
        (Some(HeuristicsCommand::New(NewFlags { name, folder })), _) => {
            for written in template(&name, &folder)? {
                output::print(&format_args!("{written}\n"))?;
            }
        }
        (None, Some(name)) => match parse(name) {
            Ok(Chosen::File(path)) => {
                if is_cuda(&path) {
                    FromCuda::read(&path, &Stop::new())?.check().map_err(|error| Error::Usage(error.to_string()))?;
                } else {
                    Heuristic::check(&path, &Stop::new())?;
                }
                output::print(&format_args!("{name}: no fault found\n"))?;
            }
            Ok(Chosen::Known(heuristic)) => {
                let (first, rest) = heuristic.about().split_once('\n').unwrap_or((heuristic.about(), ""));
                output::print(&format_args!("{name}: {first}\n\n{rest}\n"))?;
            }
            Err(expected) => return Err(Error::Usage(format!("no heuristic is called {name}; {expected}"))),
        },
        (None, None) => {
            for heuristic in heuristics::all() {
                let first = heuristic.about().lines().next().unwrap_or_default();
                output::print(&format_args!("{:<14} {first}\n", heuristic.name()))?;
            }
        }
    }
    Ok(Exit::Done)
}
