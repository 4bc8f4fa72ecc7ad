//! `fangs-campaign`, the program that runs a campaign; the library describes it.

use clap::Parser;
use fangs_campaign::call::{Call, Ended, Runner};
use fangs_campaign::campaign::{Limits, run, save, save_call, seed_of};
use fangs_campaign::command::Program;
use fangs_campaign::library::Library;
use fangs_campaign::tasks::{Entry, TASKS, find};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One of this number of calls goes to the command, if there is one: a process takes a hundred times as long as a call.
const COMMAND_SHARE: u64 = 50;

/// Checks Fangs with random problems against enumeration
#[derive(Debug, Parser)]
#[command(name = "fangs-campaign", version)]
struct Flags {
    /// Seed of all cases [default: by the date]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Number of the first case
    #[arg(long, value_name = "N", default_value_t = 0)]
    first: u64,
    /// End after this many seconds
    #[arg(long, value_name = "N", default_value_t = 60.0)]
    seconds: f64,
    /// End after this many cases [default: no limit]
    #[arg(long, value_name = "N")]
    cases: Option<u64>,
    /// Run only this task; may be repeated [default: all]
    #[arg(long, value_name = "NAME", value_parser = task)]
    task: Vec<&'static Entry>,
    /// Number of cases that run at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    threads: u64,
    /// Folder for the files of failures
    #[arg(long, value_name = "DIR", default_value = "campaign-failures")]
    out: PathBuf,
    /// Send a part of the calls to this program instead of the library
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Only write the files of the given cases, and print their command lines
    #[arg(long)]
    show: bool,
    /// Time limit in seconds beyond which a case is a failure
    #[arg(long, value_name = "N", default_value_t = 120.0)]
    patience: f64,
}

fn task(name: &str) -> Result<&'static Entry, String> {
    let names: Vec<&str> = TASKS.iter().map(|entry| entry.name).collect();
    find(name).ok_or_else(|| format!("expected one of {}", names.join(", ")))
}

/// A runner that sends most calls to the library and a part of them to the command.
struct Both {
    program: Option<Program>,
    calls: AtomicU64,
}

impl Runner for Both {
    fn run(&self, call: &Call) -> Ended {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        match &self.program {
            // the command cannot enumerate all solutions
            Some(program) if number.is_multiple_of(COMMAND_SHARE) && call.command != "solutions" => program.run(call),
            _ => Library.run(call),
        }
    }
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    // a panic is a failure, reported with its case
    std::panic::set_hook(Box::new(|_| ()));
    let today = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86_400);
    let seed = flags.seed.unwrap_or_else(today);
    println!("seed {seed}");
    let program = match flags.binary.map(Program::new).transpose() {
        Ok(program) => program,
        Err(error) => {
            eprintln!("fangs-campaign: no folder for the files of calls: {error}");
            return ExitCode::from(2);
        }
    };
    let tasks: Vec<&Entry> = if flags.task.is_empty() { TASKS.iter().collect() } else { flags.task };
    if flags.show {
        for case in flags.first..flags.first.saturating_add(flags.cases.unwrap_or(1)) {
            let entry = tasks[(case % tasks.len() as u64) as usize];
            let call = (entry.call)(seed_of(seed, case));
            match save_call(&call, &flags.out, &format!("{}-{seed}-{case}", entry.name)) {
                Ok(line) => println!("{line}"),
                Err(error) => println!("case {case} is not saved: {error}"),
            }
        }
        return ExitCode::SUCCESS;
    }
    let begun = Instant::now();
    let limits = Limits {
        seed,
        first: flags.first,
        cases: flags.cases.unwrap_or(u64::MAX),
        until: begun + Duration::from_secs_f64(flags.seconds),
        threads: flags.threads as usize,
        patience: Duration::from_secs_f64(flags.patience),
    };
    let names: String =
        tasks.iter().filter(|_| tasks.len() < TASKS.len()).map(|t| format!(" --task {}", t.name)).collect();
    let runner = Both { program, calls: AtomicU64::new(0) };
    let tally = run(&tasks, limits, &runner, &|entry, case, failure| {
        let stem = format!("{}-{seed}-{case}", entry.name);
        let saved = save(failure, &flags.out, &stem);
        let saved = saved.unwrap_or_else(|error| format!("(not saved: {error})"));
        println!("FAILED {}: {}: {}", entry.name, failure.fault.kind, failure.fault.what);
        println!("  {saved}");
        println!("  again: --seed {seed} --first {case} --cases 1{names}");
    });
    let mut all = 0;
    for entry in &tasks {
        let own: Vec<_> = tally.counts.iter().filter(|((name, _), _)| *name == entry.name).collect();
        let sum: u64 = own.iter().map(|(_, count)| **count).sum();
        let ends: Vec<String> = own.iter().map(|((_, ended), count)| format!("{count} {ended}")).collect();
        println!("{:10} {sum:8} cases: {}", entry.name, ends.join(", "));
        all += sum;
    }
    println!("{all} cases in {:.1} s, {} failures", begun.elapsed().as_secs_f64(), tally.failures);
    let (time, case) = tally.slowest;
    println!("slowest: case {case}, {:.1} s", time.as_secs_f64());
    ExitCode::from(u8::from(tally.failures > 0))
}
