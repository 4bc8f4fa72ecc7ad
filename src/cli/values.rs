//! Durations, sizes and names on the command line.

use fangs::Error;
use fangs::search::MAX_THREADS;
use std::time::Duration;

/// `30`, `30s`, `5m`, `1h`, `500ms`; decimals are fine.
pub fn duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    let seconds = scaled(text, &units).ok_or("expected a duration such as 30, 30s, 5m, 1h or 500ms")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
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
    bytes.map(|bytes| bytes as u64).ok_or_else(|| "expected a size such as 512M, 4G or 1GiB".into())
}

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

/// A relative gap.
pub fn relative(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a number of at least 0, such as 0.01 for one percent".into())
}

/// A finite number.
pub fn finite(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(|| "expected a number".into())
}

/// The choice of that name in a list of names and choices.
pub fn choice<T: Copy>(text: &str, all: &[(&str, T)], later: &[&str]) -> Result<T, String> {
    match all.iter().find(|(name, _)| *name == text) {
        Some((_, choice)) => Ok(*choice),
        None if later.contains(&text) => Err("reserved for a later version".into()),
        None => {
            let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            Err(format!("expected one of {}", names.join(", ")))
        }
    }
}

/// Makes everything that works in parallel use so many threads.
pub fn use_threads(threads: Option<usize>) -> Result<(), Error> {
    let Some(threads) = threads else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    pool.map_err(|error| Error::Usage(format!("--threads {threads}: {error}")))
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
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "-1", "1d", "inf", "nan", "1e400", "1 2", "99999999999999999999999h"] {
            assert!(duration(text).is_err(), "{text}");
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
