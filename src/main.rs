//! The `fangs` command.

mod cli;

use cli::{Command, Exit, Flags};
use fangs_base::Error;
use fangs_base::threads;
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: cli::guard::Allocator = cli::guard::Allocator;

fn main() {
    let started = Instant::now();
    cli::guard::prepare();
    #[allow(unsafe_code, reason = "a setting of the driver")]
    // SAFETY: no other thread runs yet.
    unsafe {
        fangs_device::want_few_queues();
    }
    let code = match threads::caught(|| run(cli::flags(), started)) {
        Ok(Ok(exit)) => exit.code(),
        Ok(Err(error)) => cli::fail(&error),
        // already reported by the panic hook
        Err(_) => 1,
    };
    cli::end(code)
}

fn run(flags: Flags, started: Instant) -> Result<Exit, Error> {
    if cli::tune::apply(&flags.tune)? {
        return Ok(Exit::Done);
    }
    match flags.command {
        Command::Solve(flags) => cli::solve::run(flags.try_into()?, started),
        Command::Bound(flags) => cli::bound::run(flags.try_into()?, started),
        Command::Info(flags) => cli::info::run(flags.try_into()?, started),
        Command::Check(flags) => cli::check::run(flags.try_into()?, started),
        Command::Convert(flags) => cli::convert::run(flags.try_into()?, started),
        Command::Explain(flags) => cli::explain::run(flags.try_into()?, started),
        Command::Diff(flags) => cli::diff::run(flags.try_into()?, started),
        Command::Marginals(flags) => cli::marginals::run((*flags).try_into()?, started),
        Command::Decide(flags) => cli::decide::run(flags.try_into()?, started),
        Command::Generate(flags) => cli::generate::run(flags, started),
        Command::Plot(flags) => cli::plot::run(flags),
        Command::Heuristics(flags) => cli::heuristics::run(flags, started),
        Command::Dcop(flags) => cli::dcop::run(flags.try_into()?, started),
        Command::DcopAgent => cli::dcop::serve(),
        Command::Devices(flags) => cli::devices::run(flags),
        Command::Bench(flags) => cli::bench::run(flags, started),
        Command::Completions(flags) => cli::manual::completions(flags),
        Command::Man(flags) => cli::manual::man(flags),
    }
}
