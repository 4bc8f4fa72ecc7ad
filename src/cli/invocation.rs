//! The words that the process was started with, and those that start it again. They differ in the Python package,
//! where an interpreter runs the command.

use fangs_base::Error;
use std::ffi::OsString;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

/// A call of the `fangs` command.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The program's name and its arguments.
    pub arguments: Vec<OsString>,
    /// A program, and its arguments before those of `fangs`, that runs the command in another process.
    pub program: Vec<OsString>,
}

static CURRENT: OnceLock<Invocation> = OnceLock::new();

impl Invocation {
    /// Returns the invocation of a process whose program is `fangs`.
    pub fn of_process() -> Invocation {
        let program = std::env::current_exe().map(|program| vec![program.into()]);
        Invocation { arguments: std::env::args_os().collect(), program: program.unwrap_or_default() }
    }

    /// Runs the command and ends the process with its exit code. To be called once, by the main thread, before another
    /// thread of this process uses the library.
    pub fn run(self) -> ! {
        let started = Instant::now();
        let _ = CURRENT.set(self);
        super::main(started)
    }

    /// Returns the program's name and its arguments.
    pub(super) fn arguments() -> Vec<OsString> {
        CURRENT.get().map(|current| current.arguments.clone()).unwrap_or_default()
    }

    /// Returns a process, not yet started, that runs another call of the command.
    ///
    /// # Errors
    /// [`Error::Agent`] if the program is not known.
    pub(super) fn again() -> Result<impl Fn() -> Command, Error> {
        let program = CURRENT.get().map(|current| &current.program[..]).unwrap_or_default();
        let Some((first, others)) = program.split_first() else {
            return Err(Error::Agent("the program of agent processes is not found".into()));
        };
        Ok(move || {
            let mut command = Command::new(first);
            let _ = command.args(others);
            command
        })
    }
}
