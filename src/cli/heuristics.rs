//! `fangs heuristics`: lists, checks, compares and creates heuristics.

use super::chosen::{Chosen, is_cuda, parse};
use super::output;
use super::try_heuristics::{self, TryFlags};
use super::{Exit, help};
use clap::{Args, Subcommand};
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_heuristics::language::Heuristic;
use fangs_heuristics::{self as heuristics, FromCuda, template};
use std::path::PathBuf;
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
    /// Create the files of a new heuristic, with a working body
    #[command(after_help = help::examples(&help::NEW))]
    New(NewFlags),
}

#[derive(Args, Debug)]
struct NewFlags {
    /// Name of the heuristic, such as my-own: lower-case letters, digits and hyphens
    name: String,
    /// Folder with the sources of Fangs
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
}

/// Lists the heuristics, describes or checks one, compares some or creates a new one.
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
