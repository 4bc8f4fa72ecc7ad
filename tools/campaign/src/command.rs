//! Calls of the command, each in a separate process.

use crate::call::{Call, Ended, Report, Runner};
use crate::number::Decimal;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// Parts of messages about too little memory; the last one is for a method that needs more.
const LIMITS: [&str; 3] = ["out of memory", "does not fit into", "--bound-memory raises the limit"];

/// The command: a program, and a folder for the files of its calls.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    folder: tempfile::TempDir,
    calls: AtomicU64,
}

/// The part of the commands' `--json` output that is checked.
#[derive(Deserialize)]
struct Printed<'a> {
    #[serde(default)]
    status: Option<String>,
    #[serde(borrow, default)]
    cost: Option<&'a RawValue>,
    #[serde(borrow, default)]
    bound: Option<&'a RawValue>,
    #[serde(default)]
    precision_slack: Option<f64>,
    #[serde(default)]
    exact: bool,
    #[serde(default)]
    solution: Option<Vec<u32>>,
    #[serde(default)]
    rounds: u64,
    #[serde(default)]
    moves: u64,
    #[serde(default)]
    ln_z: Option<f64>,
    #[serde(default)]
    error_bound: Option<f64>,
    #[serde(default)]
    posterior_error: Option<f64>,
    #[serde(default)]
    ln_z_lower: Option<f64>,
    #[serde(default)]
    ln_z_upper: Option<f64>,
    #[serde(default)]
    meu: Option<f64>,
    #[serde(default)]
    certificate: Option<Proven<'a>>,
    /// For agents: the values of variables named `x0`, `x1` and so on, which are indices or `v` and an index.
    #[serde(default)]
    assignment: Option<BTreeMap<String, serde_json::Value>>,
}

/// The bound that a certificate proves.
#[derive(Deserialize)]
struct Proven<'a> {
    #[serde(borrow, default)]
    bound: Option<&'a RawValue>,
}

impl Program {
    /// Returns the command whose program is at a path.
    ///
    /// # Errors
    /// Errors of the system when the folder is created.
    pub fn new(path: PathBuf) -> std::io::Result<Self> {
        Ok(Program { path, folder: tempfile::tempdir()?, calls: AtomicU64::new(0) })
    }

    fn call(&self, call: &Call) -> Result<Ended, String> {
        let failed = |error: &dyn std::fmt::Display| error.to_string();
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let line = call.command_line(self.folder.path(), &format!("call{number}"));
        for (path, text) in &line.files {
            std::fs::write(path, text).map_err(|error| failed(&error))?;
        }
        let certificate = self.folder.path().join(format!("call{number}.cert"));
        let solution = self.folder.path().join(format!("call{number}.sol"));
        let mut command = Command::new(&self.path);
        let _ = command.args(&line.words);
        if call.command == "bound" {
            let _ = command.arg("--solution").arg(&solution).args(["--solution-format", "indices"]);
        }
        if call.command != "convert" {
            let _ = command.arg("--json");
        } else {
            let _ = command.arg("-");
        }
        let output = command.output().map_err(|error| failed(&error))?;
        let message = || String::from_utf8_lossy(&output.stderr).trim().to_string();
        let ended = match output.status.code() {
            Some(0 | 4) if call.command == "convert" => {
                Ended::Done(Box::new(Report { written: output.stdout, ..Report::default() }))
            }
            Some(0 | 3 | 4) => match report(&output.stdout) {
                Ok(mut report) => {
                    report.text = std::fs::read_to_string(&certificate).ok();
                    let written = std::fs::read_to_string(&solution).ok();
                    let written =
                        written.and_then(|text| text.split_whitespace().map(|word| word.parse().ok()).collect());
                    report.solution = report.solution.or(written);
                    Ended::Done(Box::new(report))
                }
                Err(error) => Ended::Failed(format!("{error}: {}", String::from_utf8_lossy(&output.stdout))),
            },
            Some(1 | 2) if LIMITS.iter().any(|limit| message().contains(limit)) => Ended::Limited(message()),
            Some(2) => Ended::Refused(message()),
            code => Ended::Failed(format!("exit code {code:?}: {}", message())),
        };
        for path in line.files.into_iter().map(|(path, _)| path).chain([certificate, solution]) {
            // not all of the files exist
            let _ = std::fs::remove_file(path);
        }
        Ok(ended)
    }
}

impl Runner for Program {
    fn run(&self, call: &Call) -> Ended {
        self.call(call).unwrap_or_else(Ended::Failed)
    }
}

fn report(text: &[u8]) -> Result<Report, serde_json::Error> {
    let printed: Printed<'_> = serde_json::from_slice(text)?;
    let decimal = |raw: Option<&RawValue>| raw.and_then(|raw| Decimal::parse(raw.get()));
    let bound = decimal(printed.bound.or(printed.certificate.and_then(|proven| proven.bound)));
    let utility = printed.meu.is_some().then(|| bound.map(Decimal::as_f64)).flatten();
    Ok(Report {
        status: printed.status.unwrap_or_default(),
        cost: decimal(printed.cost),
        bound,
        bounds: bound.into_iter().collect(),
        slack: printed.precision_slack.unwrap_or(0.0),
        exact: printed.exact,
        solution: printed.solution.or(printed.assignment.as_ref().and_then(values)),
        work: (printed.rounds, printed.moves),
        ln_z: printed.ln_z,
        error: printed.error_bound.unwrap_or(0.0),
        interval: (printed.ln_z_lower.or(printed.meu), printed.ln_z_upper.or(utility)),
        posterior_error: printed.posterior_error.unwrap_or(0.0),
        ..Report::default()
    })
}

/// Returns the values of all variables, if names and values have the form of the campaign's networks.
fn values(assignment: &BTreeMap<String, serde_json::Value>) -> Option<Vec<u32>> {
    let index = |text: &str| text.trim_start_matches(['x', 'v']).parse::<u32>().ok();
    let value = |v: usize| {
        let value = assignment.get(&format!("x{v}"))?;
        value.as_u64().map(|value| value as u32).or_else(|| index(value.as_str()?))
    };
    (!assignment.is_empty()).then(|| (0..assignment.len()).map(value).collect())?
}
