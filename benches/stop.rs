//! How soon runs end after the stop flag is set, on networks of a million variables and one thread: the longest work of
//! any thread between two reads of the flag in each command and method, and how late runs end whose time limit is
//! reached during any phase.
//!
//! `cargo bench --features fault-injection --bench stop -- [VARIABLES]`. Processor time is measured, so that a busy
//! machine changes little.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FANGS: &str = env!("CARGO_BIN_EXE_fangs");
/// Number of gaps shown for each run.
const SHOWN: usize = 5;
/// Time limit that suffices for all phases of a run of a million variables.
const LONG: &str = "120s";

fn main() {
    let variables = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1_000_000usize);
    let folder = tempfile::tempdir().expect("a folder");
    let network = folder.path().join("large.wcsp");
    let (n, functions) = (variables.to_string(), (2 * variables).to_string());
    let generate = ["generate", "large-sparse", "--n", &n, "--d", "5", "--functions", &functions, "-o"];
    assert!(Command::new(FANGS).args(generate).arg(&network).status().expect("fangs runs").success());
    let bounds = ["auto", "shift", "join-graph", "mbe", "mbe-mm", "be", "sparse-be", "branch", "cores"];
    let drivers = ["portfolio", "anneal", "long-anneal", "tabu", "lns", "weighting"];
    let of_bound = bounds.map(|method| ["bound", "--method", method]);
    let of_solve = drivers.map(|driver| ["solve", "--driver", driver]);
    for command in of_bound.into_iter().chain(of_solve) {
        gaps(&command, &network);
    }
    for command in [&["bound"][..], &["solve"]] {
        let whole = run(command, &network, LONG).1.min(Duration::from_secs(20));
        for part in 1..=20 {
            let time = whole * part / 20;
            let (_, wall) = run(command, &network, &format!("{}ms", time.as_millis()));
            let late = wall.saturating_sub(time);
            println!("{}: {:.2} s, {:.0} ms late", command.join(" "), time.as_secs_f64(), late.as_secs_f64() * 1e3);
        }
    }
}

/// Prints the longest gaps between two reads of the stop flag.
fn gaps(command: &[&str], network: &Path) {
    let (told, wall) = run(command, network, LONG);
    println!("{} ({:.1} s)", command.join(" "), wall.as_secs_f64());
    let gaps = told.lines().skip_while(|line| !line.ends_with("looks at the stop flag"));
    gaps.take(1 + SHOWN).for_each(|line| println!("  {line}"));
}

/// Returns standard error of a run, and its duration.
fn run(command: &[&str], network: &Path, time: &str) -> (String, Duration) {
    let began = Instant::now();
    let output = Command::new(FANGS)
        .args(command)
        .arg(network)
        .args(["--threads", "1", "--device", "cpu", "--quiet", "--time", time])
        .env("FANGS_WATCH_STOP", "all")
        .stdout(Stdio::null())
        .output()
        .expect("fangs runs");
    (String::from_utf8_lossy(&output.stderr).into_owned(), began.elapsed())
}
