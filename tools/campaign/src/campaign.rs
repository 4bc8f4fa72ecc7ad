//! The campaign: cases by number, on several threads, until a limit; failures are shrunk and saved.

use crate::call::{Call, Runner};
use crate::play::{Failure, SHRINKING};
use crate::task::Fault;
use crate::tasks::Entry;
use fangs_base::rng::mix;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The limits of a campaign.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The seed.
    pub seed: u64,
    /// The number of the first case.
    pub first: u64,
    /// The number of cases.
    pub cases: u64,
    /// The time at which the campaign ends.
    pub until: Instant,
    /// The number of threads.
    pub threads: usize,
    /// The time limit of a case.
    pub patience: Duration,
}

/// The results of a campaign so far.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number of cases for each task and kind of end.
    pub counts: BTreeMap<(&'static str, &'static str), u64>,
    /// The number of failures.
    pub failures: u64,
    /// The longest time that a case took, and its number.
    pub slowest: (Duration, u64),
}

/// Receives each failure: the task, the number of the case, and the failure.
pub type Tell<'a> = &'a (dyn Fn(&Entry, u64, &Failure) + Sync);

/// Returns the seed of a case.
pub fn seed_of(seed: u64, case: u64) -> u64 {
    mix(seed, case)
}

/// Plays cases, alternating between the tasks, until a limit is reached. A case that exceeds the patience ends the
/// process, because its thread cannot be stopped.
pub fn run(tasks: &[&Entry], limits: Limits, runner: &dyn Runner, tell: Tell<'_>) -> Tally {
    let (next, tally) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    let begun: Vec<Mutex<Option<(Instant, u64)>>> = (0..limits.threads).map(|_| Mutex::new(None)).collect();
    let set = |place: usize, now| *begun[place].lock().unwrap_or_else(PoisonError::into_inner) = now;
    let over = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for place in 0..limits.threads {
            let (next, tally, over, set) = (&next, &tally, &over, &set);
            let _ = scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= limits.cases || Instant::now() >= limits.until {
                        break;
                    }
                    let case = limits.first + index;
                    let entry = tasks[(case % tasks.len() as u64) as usize];
                    set(place, Some((Instant::now(), case)));
                    let before = Instant::now();
                    let played = (entry.play)(seed_of(limits.seed, case), runner);
                    let taken = (before.elapsed(), case);
                    set(place, None);
                    if let Some(failure) = &played.failure {
                        tell(entry, case, failure);
                    }
                    let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                    *tally.counts.entry((entry.name, played.ended)).or_insert(0) += 1;
                    tally.failures += u64::from(played.failure.is_some());
                    if played.failure.is_none() {
                        tally.slowest = tally.slowest.max(taken);
                    }
                }
                let _ = over.fetch_add(1, Ordering::Relaxed);
            });
        }
        while over.load(Ordering::Relaxed) < limits.threads as u64 {
            std::thread::sleep(Duration::from_millis(20));
            for begun in &begun {
                let begun = *begun.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((_, case)) = begun.filter(|(begun, _)| begun.elapsed() > limits.patience + SHRINKING) {
                    let entry = tasks[(case % tasks.len() as u64) as usize];
                    let call = (entry.call)(seed_of(limits.seed, case));
                    let fault = Fault { kind: "endless", what: format!("no end after {:?}", limits.patience) };
                    tell(entry, case, &Failure { fault, call, steps: 0 });
                    std::process::exit(1);
                }
            }
        }
    });
    tally.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Writes the files of a failure to a folder, with the command line in a separate file; returns the command line.
///
/// # Errors
/// Errors of the system.
pub fn save(failure: &Failure, folder: &Path, stem: &str) -> io::Result<String> {
    let command = save_call(&failure.call, folder, stem)?;
    let text = format!("{command}\n{}: {}\n", failure.fault.kind, failure.fault.what);
    std::fs::write(folder.join(format!("{stem}.txt")), text)?;
    Ok(command)
}

/// Writes the files of a call to a folder; returns its command line.
///
/// # Errors
/// Errors of the system.
pub fn save_call(call: &Call, folder: &Path, stem: &str) -> io::Result<String> {
    std::fs::create_dir_all(folder)?;
    let line = call.command_line(folder, stem);
    for (path, text) in &line.files {
        std::fs::write(path, text)?;
    }
    let quoted = |word: &String| if word.contains([' ', ';', '<', '>']) { format!("'{word}'") } else { word.clone() };
    let words: Vec<String> = line.words.iter().map(quoted).collect();
    Ok(format!("fangs {}", words.join(" ")))
}
