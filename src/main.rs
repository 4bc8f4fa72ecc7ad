//! The `fangs` command.

mod cli;

use cli::{Command, Exit, Flags};
use fangs::Error;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let started = Instant::now();
    let flags = <Flags as clap::Parser>::parse();
    match run(flags.command, started) {
        Ok(exit) => exit.into(),
        Err(error) => cli::fail(&error),
    }
}

fn run(command: Command, started: Instant) -> Result<Exit, Error> {
    match command {
        Command::Solve(flags) => cli::solve::run(flags.try_into()?, started),
        Command::Bound(flags) => cli::bound::run(flags.try_into()?, started),
        Command::Info(flags) => cli::info::run(flags.try_into()?, started),
        Command::Check(flags) => cli::check::run(flags.try_into()?),
        Command::Generate(flags) => cli::generate::run(flags),
        Command::Plot(flags) => cli::plot::run(flags),
        Command::Heuristics(flags) => cli::heuristics::run(flags),
        Command::Devices(flags) => cli::devices::run(flags),
        Command::Bench(flags) => cli::bench::run(flags),
        Command::Convert(_) => cli::reserved("`fangs convert`"),
        Command::Explain(_) => cli::reserved("`fangs explain`"),
        Command::Diff(_) => cli::reserved("`fangs diff`"),
    }
}
