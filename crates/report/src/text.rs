//! Words and numbers of the text form.

use crate::model::Number;
use crate::search::{Status, StoppedBy};
use std::fmt::Display;
use std::path::Path;

/// Returns a number with its digits in groups of three: `-1,234,567.25`.
pub fn grouped(number: impl Display) -> String {
    let text = number.to_string();
    let sign = usize::from(text.starts_with('-'));
    let end = text[sign..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |digits| sign + digits);
    let mut shown = String::with_capacity(text.len() + end / 3);
    for (place, character) in text.char_indices() {
        if (sign + 1..end).contains(&place) && (end - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(character);
    }
    shown
}

/// Returns a number, or a dash if it is unknown.
pub fn or_dash(number: Option<impl Display>) -> String {
    number.map_or("-".into(), grouped)
}

/// Returns a count and its noun, in the plural unless the count is one.
pub fn counted(count: usize, one: &str) -> String {
    format!("{} {one}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Returns a relative gap in per cent; a positive gap is never shown as 0.
pub fn per_cent(gap: f64) -> String {
    match gap {
        0.0 => "0 %".into(),
        _ if gap < 1e-5 => "under 0.001 %".into(),
        _ => format!("{:.3} %", 100.0 * gap),
    }
}

/// Returns the sense of the objective in words.
pub fn sense(maximise: bool) -> &'static str {
    if maximise { "larger is better" } else { "smaller is better" }
}

/// Returns how a run ended, and why.
pub fn ended(status: Status, stopped_by: StoppedBy) -> String {
    let why = match stopped_by {
        StoppedBy::Optimal | StoppedBy::Infeasible => "proved",
        StoppedBy::Time => "time limit reached",
        StoppedBy::Rounds => "limit of rounds reached",
        StoppedBy::Target => "target cost reached",
        StoppedBy::Gap => "target gap reached",
        StoppedBy::Signal => "interrupted",
        StoppedBy::Memory => "out of memory",
        StoppedBy::Stall => "no better solution for as long as --stop says",
        StoppedBy::Diminishing => "diminishing returns",
    };
    match status {
        Status::Optimal => "proved optimal".into(),
        Status::Infeasible => "proved infeasible: there is no solution".into(),
        Status::Feasible => format!("{why}; the best solution is not proved optimal"),
        Status::Unknown => format!("{why} before a solution was found"),
    }
}

/// Returns a number without the digits that an absolute error leaves unknown; all digits if the error is 0.
pub fn certain_digits(number: f64, error: f64) -> String {
    let place = |number: f64| number.abs().log10().floor();
    let digits = place(number) - place(error);
    match (number.is_finite() && error > 0.0, digits < 0.0) {
        (false, _) => number.to_string(),
        (true, true) => "0".into(),
        // a double has at most 17 significant digits
        (true, false) => {
            let rounded = format!("{number:.*e}", digits.min(16.0) as usize);
            rounded.parse::<f64>().map_or(rounded, |rounded| rounded.to_string())
        }
    }
}

/// Returns the objective's value with the digits that a rounding of `slack` leaves certain, or a dash if it is unknown.
pub fn objective(value: Option<Number>, slack: f64) -> String {
    match value {
        Some(Number::Real(real)) => grouped(certain_digits(real, slack)),
        value => or_dash(value),
    }
}

/// Returns the field's term for a method that proves bounds, from its name in options and JSON.
pub fn method(name: &str) -> String {
    let (kind, rest) = name.split_at(name.find('(').unwrap_or(name.len()));
    let term = match kind {
        "constant" => "sum of the least costs",
        "shift" => "cost shifting",
        "join-graph" => "join-graph cost shifting",
        "mbe" => "mini-bucket elimination",
        "mbe-mm" => "mini-bucket elimination with moment matching",
        "be" => "bucket elimination",
        "sparse-be" => "sparse bucket elimination",
        "branch" => "branch and bound",
        "cores" => "unsatisfiable cores",
        _ => return name.into(),
    };
    match rest.trim_matches(['(', ')']) {
        "" => term.into(),
        z => format!("{term}, z = {z}"),
    }
}

/// Largest number of characters of an assignment of value indices that is shown: with its label it fits a line of 80.
const SHORT: usize = 66;
/// Largest number of characters of an assignment by names that is shown.
const SHORT_NAMED: usize = 400;

/// Returns the assignment if it is short, otherwise its file or how to get it.
pub fn assignment(values: &[u32], file: Option<&Path>) -> String {
    // a value takes at least a digit and a blank
    if values.len() <= SHORT.div_ceil(2) {
        let shown = values.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        if shown.len() <= SHORT {
            return shown;
        }
    }
    elsewhere(values.len(), file)
}

/// Returns the assignment of variables to values by their names if it is short, otherwise its file or how to get it.
pub fn named_assignment(pairs: &[(String, String)], file: Option<&Path>) -> String {
    let shown = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
    if shown.len() <= SHORT_NAMED { crate::terminal::line(&shown).to_string() } else { elsewhere(pairs.len(), file) }
}

/// Returns where the values are that are not shown.
fn elsewhere(count: usize, file: Option<&Path>) -> String {
    let count = counted(count, "value");
    match file {
        Some(file) => format!("{count} in {}", crate::terminal::path(file)),
        None => format!("{count}; --solution FILE writes them, --json prints them"),
    }
}

/// Rounds seconds to the microsecond, so that rows and summaries show the same short number.
pub fn seconds(exact: f64) -> f64 {
    (exact * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_in_groups() {
        for (number, shown) in [(0, "0"), (999, "999"), (-999, "-999"), (1000, "1,000"), (-1_234_567, "-1,234,567")] {
            assert_eq!(grouped(Number::Integer(number)), shown);
        }
        assert_eq!(grouped(Number::Real(-1234.56789)), "-1,234.56789");
        assert_eq!(grouped(i64::MIN), "-9,223,372,036,854,775,808");
        assert_eq!([or_dash(Some(12_345)), or_dash(None::<u8>)], ["12,345", "-"]);
        assert_eq!([counted(1, "move"), counted(2000, "move")], ["1 move", "2,000 moves"]);
    }

    #[test]
    fn a_gap_that_is_left_is_not_shown_as_none() {
        assert_eq!([0.0, 1e-9, 0.05, 1.5].map(per_cent), ["0 %", "under 0.001 %", "5.000 %", "150.000 %"]);
    }

    #[test]
    fn assignments_are_shown_or_found() {
        assert_eq!(assignment(&[], None), "");
        assert_eq!(assignment(&[0, 1, 12], Some(Path::new("a.sol"))), "0 1 12");
        assert_eq!(assignment(&[1; 33], None).len(), 65);
        assert_eq!(assignment(&[1; 34], Some(Path::new("a.sol"))), "34 values in a.sol");
        let told = assignment(&[1000; 2000], None);
        assert!(told.starts_with("2,000 values; ") && told.contains("--solution") && told.len() <= SHORT, "{told}");
    }

    #[test]
    fn digits_beyond_the_error_are_left_out() {
        for (number, error, text) in [
            (-1.1102230246251565e-16, 5.6e-15, "0"),
            (2.421249999999998, 2e-14, "2.42125"),
            (-2.421249999999998, 1e-3, "-2.421"),
            (std::f64::consts::LN_2, 1.6e-15, "0.693147180559945"),
            (123_456_789.0, 250.0, "123456800"),
            (0.1, 0.0, "0.1"),
            (0.0, 1e-9, "0"),
            (1.0, f64::INFINITY, "0"),
            (f64::NEG_INFINITY, 0.0, "-inf"),
        ] {
            assert_eq!(certain_digits(number, error), text, "{number} {error}");
        }
    }

    #[test]
    fn numbers_keep_the_digits_that_are_certain() {
        let real = |number| Some(Number::Real(number));
        assert_eq!(objective(real(-0.713_349_887_877), 1.9e-9), "-0.713349888");
        assert_eq!(objective(real(-0.713_349_887_877), 0.0), "-0.713349887877");
        assert_eq!([objective(Some(Number::Integer(12_345)), 0.5), objective(None, 0.1)], ["12,345", "-"]);
    }

    #[test]
    fn methods_and_assignments_are_in_words() {
        let methods = ["cores", "mbe(3)", "reductions"].map(method);
        assert_eq!(methods, ["unsatisfiable cores", "mini-bucket elimination, z = 3", "reductions"]);
        let pairs = [("rain", "yes"), ("grass", "wet")].map(|(name, value)| (name.to_string(), value.to_string()));
        assert_eq!(named_assignment(&pairs, None), "rain=yes grass=wet");
        assert_eq!(named_assignment(&vec![pairs[0].clone(); 100], Some(Path::new("a.sol"))), "100 values in a.sol");
    }
}
