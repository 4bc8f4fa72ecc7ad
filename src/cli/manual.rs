//! `fangs completions` and `fangs man`: shell completions and manual pages, from the description of the command line.

use super::{Exit, Flags, output};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use fangs_base::Error;
use fangs_base::terminal;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct CompletionsFlags {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Args, Debug)]
pub struct ManFlags {
    /// Write a page for each command into this folder [default: the program's page to standard output]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Prints a completion script.
pub fn completions(flags: CompletionsFlags) -> Result<Exit, Error> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Flags::command(), "fangs", &mut script);
    output::print_raw(&script)?;
    Ok(Exit::Done)
}

/// Prints the manual page of the program, or writes those of all commands.
pub fn man(flags: ManFlags) -> Result<Exit, Error> {
    match flags.folder {
        Some(folder) => clap_mangen::generate_to(Flags::command(), &folder)
            .map_err(|source| Error::Usage(format!("{}: cannot write: {source}", terminal::path(&folder))))?,
        None => {
            let mut page = Vec::new();
            let cannot = |source| Error::Io { path: "<memory>".into(), action: "cannot write", source };
            clap_mangen::Man::new(Flags::command()).render(&mut page).map_err(cannot)?;
            output::print_raw(&page)?;
        }
    }
    Ok(Exit::Done)
}
