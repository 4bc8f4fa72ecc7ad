//! Durations, sizes and names on the command line.

use super::help;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fangs::Error;
use fangs::bounds::{BoundChoice, BoundMethod, METHODS};
use fangs::model::Number;
use fangs::search::{DriverChoice, MAX_THREADS, StopRule};
use fangs::threads;
use std::time::Duration;

/// Bare seconds (`30`, `0.5`), or what `humantime` reads (`500ms`, `30s`, `1.5m`, `1h 30m`).
pub fn duration(text: &str) -> Result<Duration, String> {
    let read = match scaled(text, &[("", 1.0)]) {
        Some(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        None => humantime::parse_duration(text).map_err(|error| error.to_string()),
    };
    read.map_err(|error| format!("{error}; expected a duration: seconds such as 30 or 0.5, or 500ms, 30s, 5m, 1h 30m"))
}

/// `1000000`, `512M`, `4G`, `1GiB` (powers of 1024), `4GB` (powers of 1000).
pub fn size(text: &str) -> Result<u64, String> {
    let units = [
        ("kib", 2f64.powi(10)),
        ("mib", 2f64.powi(20)),
        ("gib", 2f64.powi(30)),
        ("tib", 2f64.powi(40)),
        ("kb", 1e3),
        ("mb", 1e6),
        ("gb", 1e9),
        ("tb", 1e12),
        ("k", 2f64.powi(10)),
        ("m", 2f64.powi(20)),
        ("g", 2f64.powi(30)),
        ("t", 2f64.powi(40)),
        ("b", 1.0),
        ("", 1.0),
    ];
    let bytes = scaled(text, &units).filter(|&bytes| bytes < 2f64.powi(63));
    bytes.map(|bytes| bytes as u64).ok_or_else(|| SIZES.into())
}

const SIZES: &str = "expected bytes, or a size such as 512M, 4G or 1GiB (powers of 1024), 4GB (powers of 1000)";

/// A number that is not negative, times the first unit that the text ends with.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let (number, factor) = units.iter().find_map(|&(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let number = number.trim_end();
    // Rust also reads "inf", "nan" and signs
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    number.parse::<f64>().ok().filter(|_| plain).map(|number| number * factor)
}

/// A count of at least 1.
pub fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "expected a number of at least 1".into())
}

/// A number of CPU threads.
pub fn threads(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MAX_THREADS).contains(number));
    number.ok_or_else(|| format!("expected a number from 1 to {MAX_THREADS}"))
}

/// A relative gap: a share of at most 1, or per cent.
pub fn relative(text: &str) -> Result<f64, String> {
    let per_cent = text.strip_suffix('%');
    let number = per_cent.map_or(text, str::trim_end).parse::<f64>().ok();
    match number.filter(|number| number.is_finite() && *number >= 0.0) {
        None => Err("expected a share such as 0.05, or per cent such as 5%".into()),
        Some(number) if per_cent.is_some() => Ok(number / 100.0),
        Some(number) if number > 1.0 => Err(format!("as a share that is above 1; {number}% is {}", number / 100.0)),
        Some(number) => Ok(number),
    }
}

/// What `--stop` says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stopping {
    /// By the record of the run.
    Rule(StopRule),
    /// The same as `--gap`.
    Gap(f64),
    /// The same as `--target`.
    Target(Number),
}

/// A rule: `stall 30s`, `diminishing`, `gap 5%`, `target 120`; `=` or `:` may stand for the blank.
pub fn stopping(text: &str) -> Result<Stopping, String> {
    let (name, rest) = text.trim().split_once([' ', '=', ':']).unwrap_or((text.trim(), ""));
    match (name, rest.trim()) {
        ("diminishing", "") => Ok(Stopping::Rule(StopRule::Diminishing)),
        ("stall", time) => duration(time).map(|time| Stopping::Rule(StopRule::Stall(time))),
        ("gap", share) => relative(share).map(Stopping::Gap),
        ("target", cost) => cost_of(cost).map(Stopping::Target),
        _ => Err("expected \"stall 30s\", diminishing, \"gap 5%\" or \"target COST\"".into()),
    }
}

/// A cost in the file's convention.
pub fn cost_of(text: &str) -> Result<Number, String> {
    Number::parse(text).ok_or_else(|| "expected a number".into())
}

/// A finite number.
pub fn finite(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(|| "expected a number".into())
}

/// The choice of that name in a list.
pub fn choice<T: Copy>(text: &str, all: &[(&str, T)]) -> Result<T, String> {
    all.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// The same for clap, whose help, errors and completions then list the names with their meaning.
pub fn named<T: Copy + Send + Sync + 'static>(
    all: impl IntoIterator<Item = (&'static str, T)>,
    words: &'static [(&'static str, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let all: Vec<(&'static str, T)> = all.into_iter().collect();
    let names: Vec<_> = all.iter().map(|(name, _)| help::possible_value(name, words)).collect();
    PossibleValuesParser::new(names).try_map(move |name| choice(&name, &all))
}

/// A bound method by its names, of which help shows the first.
pub fn method(or_none: bool) -> impl TypedValueParser<Value = BoundChoice> {
    let methods = METHODS.iter().filter(move |method| or_none || method.choice != BoundChoice::None);
    let names = methods.flat_map(|BoundMethod { names, about, .. }| {
        let value = |(place, &name)| PossibleValue::new(name).help(*about).hide(place > 0);
        names.iter().enumerate().map(value)
    });
    PossibleValuesParser::new(names).try_map(|name| {
        let method = METHODS.iter().find(|method| method.names.contains(&&*name));
        method.map(|method| method.choice).ok_or("no such method")
    })
}

/// A driver, and what to say of the old name by which it was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Driver {
    pub choice: DriverChoice,
    pub renamed: Option<(&'static str, &'static str)>,
}

/// Drivers by their names, old ones too.
pub fn driver() -> impl TypedValueParser<Value = Driver> {
    let names = DriverChoice::all().map(|(choice, about)| PossibleValue::new(choice.name()).help(about));
    let old = help::OLD_DRIVERS.iter().map(|(name, ..)| PossibleValue::new(*name).hide(true));
    PossibleValuesParser::new(names.chain(old)).try_map(|name| {
        let renamed = help::OLD_DRIVERS.iter().find(|(old, ..)| *old == name);
        let choice = DriverChoice::named(renamed.map_or(&name, |(_, new, _)| new));
        let choice = choice.ok_or_else(|| format!("there is no driver {name}"))?;
        Ok::<_, String>(Driver { choice, renamed: renamed.map(|&(old, _, now)| (old, now)) })
    })
}

/// Gives parallel work this number of threads, or one for each processor; fewer where the system allows no more.
pub fn use_threads(threads: Option<usize>) -> Result<(), Error> {
    threads::share(threads).map_err(|error| Error::Usage(format!("--threads: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, milliseconds) in [
            ("30", 30_000),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h", 3_600_000),
            ("500ms", 500),
            ("0.25", 250),
            ("0", 0),
            ("1.5s", 1_500),
            ("2min", 120_000),
            ("1h 30m", 5_400_000),
            ("1h30m", 5_400_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "-1", "5 parsecs", "inf", "nan", "1e400", "1 2", "99999999999999999999999h"] {
            assert!(duration(text).is_err_and(|error| error.contains("1h 30m")), "{text}");
        }
    }

    #[test]
    fn gaps() {
        for (text, share) in [("0", 0.0), ("0.05", 0.05), ("5%", 0.05), ("2.5 %", 0.025), ("1", 1.0), ("150%", 1.5)] {
            assert_eq!(relative(text), Ok(share), "{text}");
        }
        for (text, hint) in [("5", "5% is 0.05"), ("1.5", "1.5% is 0.015"), ("-1", "5%"), ("x%", "5%"), ("inf", "5%")] {
            assert!(relative(text).is_err_and(|error| error.contains(hint)), "{text}");
        }
    }

    #[test]
    fn rules_that_end_a_run() {
        let stall = Stopping::Rule(StopRule::Stall(Duration::from_millis(1500)));
        for (text, rule) in [
            ("stall 1.5s", stall),
            ("stall=1500ms", stall),
            (" diminishing ", Stopping::Rule(StopRule::Diminishing)),
            ("gap 5%", Stopping::Gap(0.05)),
            ("target:-12.5", Stopping::Target(Number::Real(-12.5))),
        ] {
            assert_eq!(stopping(text), Ok(rule), "{text}");
        }
        for text in ["", "stall", "stall soon", "diminishing 3", "gap 5", "target", "whim"] {
            assert!(stopping(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [("7", 7), ("512M", 512 << 20), ("4g", 4 << 30), ("1GiB", 1 << 30), ("2 kB", 2000)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "G", "-1G", "1X", "99999999T"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
