//! `fangs heuristics`, and the `--heuristic` option.

use super::try_heuristics::{self, TryFlags};
use super::{Exit, output};
use clap::{Args, Subcommand};
use fangs::Error;
use fangs::heuristics::{self, ValueHeuristic, template};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct HeuristicsFlags {
    /// The heuristic to describe
    name: Option<String>,
    #[command(subcommand)]
    command: Option<HeuristicsCommand>,
}

#[derive(Debug, Subcommand)]
enum HeuristicsCommand {
    /// Compare heuristics on a network
    Try(TryFlags),
    /// Write the files of a new heuristic, with a body that works
    New(NewFlags),
}

#[derive(Args, Debug)]
struct NewFlags {
    /// Its name, such as my-own: lower-case letters, digits and hyphens
    name: String,
    /// The folder that has Fangs' sources
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
}

/// Reads `--heuristic`.
pub fn parse(text: &str) -> Result<Arc<dyn ValueHeuristic>, String> {
    if text.contains(['.', '/']) {
        return Err("heuristics in files are not there yet".into());
    }
    heuristics::find(text).ok_or_else(|| format!("expected one of {}", names()))
}

/// Lists the heuristics, describes one, compares some or writes a new one.
pub fn run(flags: HeuristicsFlags) -> Result<Exit, Error> {
    match (flags.command, flags.name.as_deref()) {
        (Some(HeuristicsCommand::Try(flags)), _) => return try_heuristics::run(flags),
        (Some(HeuristicsCommand::New(NewFlags { name, folder })), _) => {
            for written in template(&name, &folder)? {
                output::print(&format_args!("{written}\n"))?;
            }
        }
        (None, Some(name)) => match heuristics::find(name) {
            Some(heuristic) => {
                let (first, rest) = heuristic.about().split_once('\n').unwrap_or((heuristic.about(), ""));
                output::print(&format_args!("{name}: {first}\n\n{rest}\n"))?;
            }
            None => return Err(Error::Usage(format!("no heuristic is called {name}; expected one of {}", names()))),
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

fn names() -> String {
    let all = heuristics::all();
    all.iter().map(|heuristic| heuristic.name()).collect::<Vec<_>>().join(", ")
}
