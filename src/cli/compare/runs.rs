//! The runs of a comparison, each in a process of its own, some at a time.

use super::external::{External, Replacement, Reported};
use super::setting::Setting;
use crate::cli::invocation::Invocation;
use fangs_base::Error;
use fangs_base::activity::Activity;
use fangs_base::stop::Stop;
use fangs_base::{terminal, threads};
use fangs_model::model::Number;
use fangs_report::compare::ComparedRun;
use fangs_report::{Console, Recorded, read_run};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval between two checks whether a process has ended or is to end.
const LOOK: Duration = Duration::from_millis(20);
/// Time that a run of `fangs` may take beyond its limit, and another solver, which may count reading apart.
const GRACE: Duration = Duration::from_secs(30);
const EXTERNAL_GRACE: Duration = Duration::from_secs(2);
/// Time from the request to end to the end by force.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of a line of another solver that are read.
const LONGEST_LINE: u64 = 1 << 16;

/// A program that is compared.
#[derive(Clone, Debug)]
pub enum Program {
    /// `fangs solve` with options.
    Fangs(Setting),
    /// Another solver.
    External(External),
}

impl Program {
    /// Returns the name in tables.
    pub fn name(&self) -> &str {
        match self {
            Program::Fangs(setting) => &setting.name,
            Program::External(external) => &external.name,
        }
    }
}

/// The runs of a comparison.
pub struct Plan {
    /// The networks and their names.
    pub files: Vec<(PathBuf, String)>,
    /// The programs in the order of the tables.
    pub programs: Vec<Program>,
    /// The number of seeds.
    pub seeds: u64,
    /// The time limit of a run.
    pub time: Duration,
    /// The number of runs at a time.
    pub jobs: usize,
    /// The folder that keeps the CSVs.
    pub kept: Option<PathBuf>,
}

/// One run.
#[derive(Clone, Copy)]
struct Task<'a> {
    file: &'a Path,
    instance: &'a str,
    program: &'a Program,
    seed: u64,
}

/// What a run needs besides its task.
struct Workshop<'a> {
    again: &'a (dyn Fn() -> Command + Sync),
    time: Duration,
    threads: usize,
    folder: &'a Path,
    kept: Option<&'a Path>,
    console: &'a Mutex<&'a Console>,
    stop: &'a Stop,
}

/// The outcome of a run: its curve, or a message.
type Outcome = Result<Recorded, String>;

impl Plan {
    /// Refuses files that cannot be read before any run begins.
    pub fn check(&self) -> Result<(), Error> {
        for (path, _) in &self.files {
            if path == Path::new("-") {
                return Err(Error::Usage("standard input is read once only: expected a file".into()));
            }
            drop(File::open(path).map_err(|source| Error::Unreadable { path: path.clone(), source })?);
        }
        Ok(())
    }

    /// Returns the number of runs.
    pub fn tasks(&self) -> usize {
        self.files.len() * self.programs.len() * self.seeds as usize
    }

    /// Runs all programs on all networks with all seeds. Programs alternate, so that other load affects all alike.
    /// After a stop, returns the runs that had ended.
    pub fn run(&self, activity: &Activity, console: &Console, stop: &Stop) -> Result<Vec<ComparedRun>, Error> {
        activity.step("comparing");
        let tasks: Vec<Task<'_>> = self.list();
        let scratch = tempfile::tempdir().map_err(|source| cannot(&std::env::temp_dir(), "cannot write", source))?;
        let again = Invocation::again()?;
        let workshop = Workshop {
            again: &again,
            time: self.time,
            threads: (std::thread::available_parallelism().map_or(1, usize::from) / self.jobs).max(1),
            folder: scratch.path(),
            kept: self.kept.as_deref(),
            console: &Mutex::new(console),
            stop,
        };
        let next = AtomicUsize::new(0);
        let outcomes: Vec<Mutex<Option<Outcome>>> = tasks.iter().map(|_| Mutex::new(None)).collect();
        let work = || loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(place).filter(|_| !stop.is_set()) else { return };
            let outcome = workshop.run(place, task);
            if !stop.is_set() {
                *outcomes[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.jobs.min(tasks.len()) {
                // with fewer threads, fewer runs are made at a time
                if threads::start_in(scope, "fangs compare", work).is_err() {
                    break;
                }
            }
            work();
        });
        let outcomes = outcomes.into_iter().map(|outcome| outcome.into_inner().unwrap_or_else(PoisonError::into_inner));
        let done = tasks.iter().zip(outcomes).filter_map(|(task, outcome)| Some((task, outcome?)));
        let mut runs: Vec<ComparedRun> = done.map(|(task, outcome)| compared(task, outcome)).collect();
        let order = |run: &ComparedRun| {
            let file = self.files.iter().position(|(_, name)| *name == run.instance);
            (file, self.programs.iter().position(|program| program.name() == run.setting))
        };
        runs.sort_by_key(order);
        Ok(runs)
    }

    fn list(&self) -> Vec<Task<'_>> {
        let mut tasks = Vec::with_capacity(self.tasks());
        for seed in 1..=self.seeds {
            for (file, instance) in &self.files {
                tasks.extend(self.programs.iter().map(|program| Task { file, instance, program, seed }));
            }
        }
        tasks
    }
}

fn compared(task: &Task<'_>, outcome: Outcome) -> ComparedRun {
    ComparedRun {
        instance: task.instance.into(),
        setting: task.program.name().into(),
        seed: task.seed.to_string(),
        failed: outcome.is_err(),
        recorded: outcome.unwrap_or_default(),
    }
}

fn cannot(path: &Path, action: &'static str, source: std::io::Error) -> Error {
    Error::Io { path: path.into(), action, source }
}

impl Workshop<'_> {
    /// Makes a run, and prints a warning if it fails.
    fn run(&self, place: usize, task: &Task<'_>) -> Outcome {
        let outcome = match task.program {
            Program::Fangs(setting) => self.own(place, task, setting),
            Program::External(external) => self.other(place, task, external),
        };
        if let Err(message) = &outcome
            && !self.stop.is_set()
        {
            self.warn(task, message);
        }
        outcome
    }

    fn warn(&self, task: &Task<'_>, message: &str) {
        let console = self.console.lock().unwrap_or_else(PoisonError::into_inner);
        console.warn(&format!("{}, {}, seed {}: {message}", task.instance, task.program.name(), task.seed));
    }

    /// Runs `fangs solve`.
    fn own(&self, place: usize, task: &Task<'_>, setting: &Setting) -> Outcome {
        let csv = match self.kept {
            Some(folder) => {
                let folder = folder.join(of_file_name(&setting.name));
                std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", terminal::path(&folder)))?;
                folder.join(format!("{}-{}.csv", of_file_name(task.instance), task.seed))
            }
            None => self.folder.join(format!("{place}.csv")),
        };
        let [out, err] = ["out", "err"].map(|what| self.folder.join(format!("{place}.{what}")));
        let mut command = (self.again)();
        let _ = command.arg("solve").arg(task.file).args(&setting.options).args(["--json", "--quiet", "--time"]);
        let _ = command.arg(format!("{}ms", self.time.as_millis())).arg("--csv").arg(&csv);
        let _ = command.arg("--seed").arg(task.seed.to_string());
        if !setting.has("--threads") {
            let _ = command.arg("--threads").arg(self.threads.to_string());
        }
        let file = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", terminal::path(path)));
        let command = command.stdin(Stdio::null()).stdout(file(&out)?).stderr(file(&err)?);
        let child = command.spawn().map_err(|error| format!("the process does not start: {error}"))?;
        let code = self.wait(child, Instant::now() + self.time + GRACE)?;
        let text = std::fs::read_to_string(&out).unwrap_or_default();
        let object: Value = serde_json::from_str(&text).map_err(|_| {
            let error = std::fs::read_to_string(&err).unwrap_or_default();
            let last = error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message").to_string();
            format!("exit code {}: {last}", code.map_or("none".into(), |code| code.to_string()))
        })?;
        let mut recorded = read_run(&csv, self.stop).map_err(|error| error.to_string())?;
        recorded.curve.optimal = matches!(object["status"].as_str(), Some("optimal" | "infeasible"));
        Ok(recorded)
    }

    /// Waits until a process ends, or makes it end at a time or after a stop. Returns its exit code, if it has one.
    fn wait(&self, mut child: Child, end: Instant) -> Result<Option<i32>, String> {
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status.code()),
                Ok(None) if self.stop.is_set() || Instant::now() >= end => {
                    finish(&mut child);
                    return Err("the process did not end in time".into());
                }
                Ok(None) => std::thread::sleep(LOOK),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// Runs another solver, whose lines count from the time at which they are written.
    fn other(&self, place: usize, task: &Task<'_>, external: &External) -> Outcome {
        let (file, solution) = (task.file.display().to_string(), self.folder.join(format!("{place}.sol")));
        let solution_name = solution.display().to_string();
        let time = self.time.as_secs_f64();
        let words = external.command(Replacement { file: &file, time, seed: task.seed, solution: &solution_name });
        let mut command = Command::new(&words[0]);
        let command = command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("no program is called {}", words[0]),
            _ => format!("{}: {error}", words[0]),
        })?;
        let mut recorded = Recorded::default();
        let (sender, lines) = channel();
        if let Some(out) = child.stdout.take() {
            let read = move || {
                let mut out = BufReader::new(out);
                let mut line = Vec::new();
                while (&mut out).take(LONGEST_LINE).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                    let sent = sender.send((Instant::now(), String::from_utf8_lossy(&line).into_owned()));
                    line.clear();
                    if sent.is_err() {
                        break;
                    }
                }
            };
            drop(threads::start("fangs compare reader", read).map_err(|error| error.to_string())?);
        }
        let limit = started + self.time + EXTERNAL_GRACE;
        loop {
            match lines.recv_timeout(LOOK) {
                Ok((at, line)) => {
                    let at = (at - started).as_secs_f64();
                    // what comes after the time limit does not count
                    if at <= time + LOOK.as_secs_f64() {
                        Reported::of(&line).add_to(&mut recorded, at);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.stop.is_set() || Instant::now() >= limit {
                finish(&mut child);
                break;
            }
        }
        let _ = self.wait(child, limit)?;
        if recorded.cost.is_none() {
            return Err("its output reports no solution".into());
        }
        if external.writes_solution() {
            self.recompute(task, &solution, &recorded)?;
        }
        Ok(recorded)
    }

    /// Compares the cost that a solver reported last with that of its solution file.
    fn recompute(&self, task: &Task<'_>, solution: &Path, recorded: &Recorded) -> Result<(), String> {
        let mut command = (self.again)();
        let command = command.arg("check").arg(task.file).arg(solution).arg("--json").stdin(Stdio::null());
        let output = command.output().map_err(|error| error.to_string())?;
        let object: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
            format!("its solution cannot be checked: {}", String::from_utf8_lossy(&output.stderr).trim())
        })?;
        let cost = Number::parse(&object["cost"].to_string());
        match cost.zip(recorded.cost) {
            Some((cost, reported)) if cost == reported => Ok(()),
            Some((cost, reported)) => Err(format!("it reported {reported}, but its solution costs {cost}")),
            None => Err("its solution is infeasible".into()),
        }
    }
}

/// Asks a process to end, and ends it by force if it does not.
fn finish(child: &mut Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process};
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Returns a text as a name of a file: other characters than letters, digits, dots and hyphens become hyphens.
fn of_file_name(text: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let name: String = text.trim_start_matches(['-', '.']).chars().map(plain).collect();
    if name.is_empty() { "run".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stay_in_their_folder() {
        assert_eq!(of_file_name("../a b/c.wcsp"), "-a-b-c.wcsp");
        assert_eq!((of_file_name("--driver tabu"), of_file_name("..")), ("driver-tabu".into(), "run".into()));
    }
}
