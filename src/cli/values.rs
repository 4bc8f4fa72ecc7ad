//! Parsers of durations, sizes, numbers and names on the command line.

use super::help;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command};
use fangs_base::Error;
use fangs_base::threads;
use fangs_bounds::bounds::{BoundChoice, BoundMethod, METHODS};
use fangs_model::model::Number;
use fangs_report::text::counted;
use fangs_report::{Console, Verbosity};
use fangs_search::{DriverChoice, MAX_THREADS, StopRule};
use std::ffi::OsStr;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

/// Parses a duration: bare seconds (`30`, `0.5`), or what `humantime` reads (`500ms`, `30s`, `1.5m`, `1h 30m`).
pub fn duration(text: &str) -> Result<Duration, String> {
    if is_negative(text) {
        return Err(format!("a duration must not be negative; {DURATIONS}"));
    }
    let read = match scaled(text, &[("", 1.0)]) {
        Some(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        None => humantime::parse_duration(text).map_err(|error| error.to_string()),
    };
    read.map_err(|error| format!("{error}; {DURATIONS}"))
}

const DURATIONS: &str = "expected a duration: seconds such as 30 or 0.5, or 500ms, 30s, 5m, 1h 30m";

/// Returns whether an argument is a number below zero, perhaps with a unit.
pub fn is_negative(text: &str) -> bool {
    text.trim().strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Parses a size in bytes: `1000000`, `512M`, `4G`, `1GiB` (powers of 1024), `4GB` (powers of 1000).
pub fn size(text: &str) -> Result<u64, String> {
    if is_negative(text) {
        return Err(format!("a size must not be negative; {SIZES}"));
    }
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

/// Parses a nonnegative number, times the first unit that the text ends with.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let (number, factor) = units.iter().find_map(|&(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let number = number.trim_end();
    // Rust also reads "inf", "nan" and signs
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    number.parse::<f64>().ok().filter(|_| plain).map(|number| number * factor)
}

/// Parses a count of at least 1.
pub fn positive<N: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number >= N::from(1));
    number.ok_or_else(|| "expected a whole number of at least 1".into())
}

/// Parses a count that may be 0.
pub fn whole<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "expected a whole number of at least 0".into())
}

/// Returns a parser of counts within limits.
pub fn within<N>(least: N, largest: N) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync
where
    N: FromStr + PartialOrd + Display + Clone + Send + Sync,
{
    move |text| {
        let number = text.parse().ok().filter(|number| (&least..=&largest).contains(&number));
        number.ok_or_else(|| format!("expected a whole number from {least} to {largest}"))
    }
}

/// Parses a number of CPU threads.
pub fn threads(text: &str) -> Result<usize, String> {
    within(1, MAX_THREADS)(text)
}

/// Parses a relative gap: a share of at most 1, or per cent.
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

/// A rule of `--stop`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stopping {
    /// A rule about the improvements of the run.
    Rule(StopRule),
    /// A relative gap, as with `--gap`.
    Gap(f64),
    /// A target cost, as with `--target`.
    Target(Number),
}

/// Parses a stop rule: `stall 30s`, `diminishing`, `gap 5%`, `target 120`; `=` or `:` may replace the blank.
pub fn stopping(text: &str) -> Result<Stopping, String> {
    let (name, rest) = text.trim().split_once([' ', '=', ':']).unwrap_or((text.trim(), ""));
    match (&*name.to_ascii_lowercase(), rest.trim()) {
        ("diminishing", "") => Ok(Stopping::Rule(StopRule::Diminishing)),
        ("stall", "") => Err("stall needs a duration, as in \"stall 30s\"".into()),
        ("gap", "") => Err("gap needs a share, as in \"gap 5%\"".into()),
        ("target", "") => Err("target needs a cost, as in \"target 120\"".into()),
        ("stall", time) => duration(time).map(|time| Stopping::Rule(StopRule::Stall(time))),
        ("gap", share) => relative(share).map(Stopping::Gap),
        ("target", cost) => cost_of(cost).map(Stopping::Target),
        _ => Err("expected \"stall 30s\", diminishing, \"gap 5%\" or \"target COST\"".into()),
    }
}

/// Parses a cost in the file's units.
pub fn cost_of(text: &str) -> Result<Number, String> {
    Number::parse(text).ok_or_else(|| "expected a number".into())
}

/// Parses a finite number.
pub fn finite(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(|| "expected a number".into())
}

/// Returns whether a text means a name: case is ignored, and hyphens may be missing or be underscores.
pub fn is_called(text: &str, name: &str) -> bool {
    let letters = |text: &str| {
        let plain = |letter: char| (!matches!(letter, '-' | '_')).then_some(letter.to_ascii_lowercase());
        text.chars().filter_map(plain).collect::<String>()
    };
    letters(text) == letters(name)
}

/// A clap parser that compares names by [`is_called`].
#[derive(Clone)]
struct Names(PossibleValuesParser);

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        let text = value.to_string_lossy();
        let names = self.0.possible_values().into_iter().flatten();
        let meant = names.map(|name| name.get_name().to_string()).find(|name| is_called(&text, name));
        self.0.parse_ref(command, arg, meant.as_ref().map_or(value, OsStr::new))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// Returns the choice with a name from a list.
pub fn choice<T: Copy>(text: &str, all: &[(&str, T)]) -> Result<T, String> {
    all.iter().find(|(name, _)| is_called(text, name)).map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Returns a clap parser of the names in a list; help, errors and completions show the names with their meaning.
pub fn named<T: Copy + Send + Sync + 'static>(
    all: impl IntoIterator<Item = (&'static str, T)>,
    words: &'static [(&'static str, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let all: Vec<(&'static str, T)> = all.into_iter().collect();
    let names: Vec<_> = all.iter().map(|(name, _)| help::possible_value(name, words)).collect();
    Names(PossibleValuesParser::new(names)).try_map(move |name| choice(&name, &all))
}

/// Returns a clap parser of bound methods; help shows the first name of each.
pub fn method(or_none: bool) -> impl TypedValueParser<Value = BoundChoice> {
    let methods = METHODS.iter().filter(move |method| or_none || method.choice != BoundChoice::None);
    let names = methods.flat_map(|BoundMethod { names, about, .. }| {
        let value = |(place, &name)| PossibleValue::new(name).help(*about).hide(place > 0);
        names.iter().enumerate().map(value)
    });
    Names(PossibleValuesParser::new(names)).try_map(|name| {
        let method = METHODS.iter().find(|method| method.names.contains(&&*name));
        method.map(|method| method.choice).ok_or("no such method")
    })
}

/// A driver, and the warning about a former name by which it was requested.
#[derive(Clone, Copy, Debug)]
pub struct Driver {
    pub choice: DriverChoice,
    pub renamed: Option<(&'static str, &'static str)>,
}

/// Returns a clap parser of drivers by their current and former names.
pub fn driver() -> impl TypedValueParser<Value = Driver> {
    let names = DriverChoice::all().map(|(choice, about)| PossibleValue::new(choice.name()).help(about));
    let old = help::OLD_DRIVERS.iter().map(|(name, ..)| PossibleValue::new(*name).hide(true));
    Names(PossibleValuesParser::new(names.chain(old))).try_map(|name| {
        let renamed = help::OLD_DRIVERS.iter().find(|(old, ..)| *old == name);
        let choice = DriverChoice::named(renamed.map_or(&name, |(_, new, _)| new));
        let choice = choice.ok_or_else(|| format!("there is no driver {name}"))?;
        Ok::<_, String>(Driver { choice, renamed: renamed.map(|&(old, _, now)| (old, now)) })
    })
}

/// Threads per processor above which a number of threads is more likely a mistake than a choice. Not measured: tests
/// and schedulers with a quota start up to two or three.
const MANY_THREADS: usize = 4;

/// Warns if there are far more threads than processors.
pub fn doubt_threads(threads: Option<usize>) {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    if let Some(threads) = threads.filter(|&threads| threads > MANY_THREADS * processors) {
        Console::new(Verbosity::Quiet).warn(&format!(
            "--threads {threads}: the process may use {}; more threads than processors make a run slower",
            counted(processors, "processor")
        ));
    }
}

/// Gives parallel work this number of threads, or one per processor; fewer if the system allows no more.
pub fn use_threads(threads: Option<usize>) -> Result<(), Error> {
    doubt_threads(threads);
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
        assert!(stopping("stall").is_err_and(|error| error.contains("stall 30s")));
    }

    #[test]
    fn names_are_compared_by_their_letters() {
        let all = [("max-sum", 1), ("dpop", 2)];
        for (text, found) in [("max-sum", 1), ("maxsum", 1), ("Max_Sum", 1), ("DPOP", 2)] {
            assert_eq!(choice(text, &all), Ok(found), "{text}");
        }
        assert!(choice("maxsums", &all).is_err_and(|error| error.contains("max-sum, dpop")));
    }

    #[test]
    fn what_is_negative_is_said_to_be() {
        for text in ["-5", "-5s", "-.5"] {
            assert!(duration(text).is_err_and(|error| error.contains("must not be negative")), "{text}");
        }
        assert!(size("-1G").is_err_and(|error| error.contains("must not be negative")));
        assert_eq!(within(0, 15)("16"), Err::<u32, _>("expected a whole number from 0 to 15".into()));
        assert_eq!((positive("1"), whole("0")), (Ok(1u32), Ok(0u64)));
        assert!(positive::<usize>("0").is_err() && whole::<u64>("-1").is_err());
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
