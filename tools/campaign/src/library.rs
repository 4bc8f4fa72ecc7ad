//! Calls of the library, in this process.

mod bounds;
mod dcop;
mod decide;
mod solve;
mod sums;

use crate::call::{Call, Ended, Report, Runner};
use crate::number::Decimal;
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_check::Replay;
use fangs_formats::convert;
use fangs_formats::{self as formats, Format, ReadOptions};
use fangs_model::certificate::Certificate;
use fangs_model::model::{Network, Number};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// The runner that calls the library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Library;

/// A command of the library.
type Command = fn(&Call) -> Result<Report, Error>;

/// The commands that the library runs.
const COMMANDS: &[(&str, Command)] = &[
    ("solve", solve::run),
    ("bound", bounds::run),
    ("solutions", bounds::solutions),
    ("check", check),
    ("convert", convert),
    ("marginals", sums::run),
    ("dcop", dcop::run),
    ("decide", decide::run),
];

impl Runner for Library {
    fn run(&self, call: &Call) -> Ended {
        let Some((_, command)) = COMMANDS.iter().find(|(name, _)| *name == call.command) else {
            return Ended::Failed(format!("there is no command {}", call.command));
        };
        match catch_unwind(AssertUnwindSafe(|| command(call))) {
            Ok(Ok(report)) => Ended::Done(Box::new(report)),
            Ok(Err(error)) if error.is_input() => Ended::Refused(error.to_string()),
            Ok(Err(error @ (Error::Memory(_) | Error::Stopped))) => Ended::Limited(error.to_string()),
            Ok(Err(error)) => Ended::Failed(error.to_string()),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
                Ended::Failed(format!("panic: {}", text.unwrap_or_default()))
            }
        }
    }
}

/// Reads the network of a call and applies its observations.
fn network(call: &Call) -> Result<Network, Error> {
    let file = &call.files[0];
    let format: Format = file.ending.parse()?;
    let mut network =
        formats::read_from(file.text.as_bytes(), "campaign", format, &ReadOptions::default(), &Stop::new())?;
    network.observe(&observed(call))?;
    Ok(network)
}

/// Returns the variables and values of `--observe`.
fn observed(call: &Call) -> Vec<(u32, u32)> {
    let pairs = call.settings.get("observe").into_iter().flat_map(|text| text.split(','));
    pairs.filter_map(|pair| pair.split_once('=').and_then(|(v, x)| Some((v.parse().ok()?, x.parse().ok()?)))).collect()
}

/// Returns the duration of `--time`.
fn time(call: &Call) -> Option<Duration> {
    let milliseconds = call.settings.get("time")?.strip_suffix("ms")?.parse().ok()?;
    Some(Duration::from_millis(milliseconds))
}

/// Returns a stop flag that is set once `--time` is over.
fn stop(call: &Call) -> Stop {
    let stop = Stop::new();
    time(call).into_iter().for_each(|time| stop.set_at(Instant::now() + time));
    stop
}

/// Returns a number as an exact decimal.
fn decimal(number: Number) -> Option<Decimal> {
    Decimal::parse(&number.to_string())
}

/// Verifies a certificate.
fn check(call: &Call) -> Result<Report, Error> {
    let network = network(call)?;
    let certificate = Certificate::from_text(call.settings.get("certificate").unwrap_or_default())?;
    let _ = Replay::new(&network, &certificate)?.run(1 << 30)?;
    let bound = network.bound(certificate.bound).and_then(decimal);
    Ok(Report { status: "followed".into(), bound, ..Report::default() })
}

/// Writes a network in another format.
fn convert(call: &Call) -> Result<Report, Error> {
    let format: Format = call.settings.get("to").unwrap_or_default().parse()?;
    let found =
        convert::convert(&network(call)?, format, &ReadOptions::default(), Path::new("converted"), &Stop::new())?;
    Ok(Report { status: "written".into(), written: found.text, ..Report::default() })
}
