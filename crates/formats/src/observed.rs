//! Parses the argument of `--observe`.

use crate::error::Error;
use crate::model::Variable;
use crate::terminal::{among, line};
use crate::text::names;

/// Returns the variable and the value of `NAME=VALUE`: names, indices, or `x` with an index; names take precedence.
///
/// # Errors
/// Returns an error if the variable or the value does not exist.
pub fn observed(text: &str, variables: &[Variable]) -> Result<(u32, u32), Error> {
    let wrong = |what: String| Error::Usage(format!("--observe {}: {what}", line(text)));
    let known = |name: &&str| variables.iter().any(|own| own.name.as_deref() == Some(*name));
    let index = |name: &str| name.strip_prefix('x').unwrap_or(name).parse().ok();
    // names may contain equals signs too
    let splits = || text.match_indices('=').map(|(at, _)| (text[..at].trim(), text[at + 1..].trim()));
    let Some((first, _)) = splits().next() else { return Err(wrong("expected NAME=VALUE".into())) };
    let (name, value) = splits().find(|(name, _)| known(name)).or(splits().next()).unwrap_or_default();
    let named = variables.iter().position(|own| own.name.as_deref() == Some(name));
    let Some(variable) = named.or_else(|| index(name)).filter(|&variable| variable < variables.len()) else {
        let hint = names(variables.iter().filter_map(|own| own.name.as_deref()), first).1;
        let hint = hint.map_or_else(String::new, |hint| format!(" ({hint})"));
        let named = variables.iter().any(|own| own.name.is_some());
        let expected = if named { "a name".into() } else { format!("an index{}", among(variables.len())) };
        return Err(wrong(format!("there is no variable `{}`, expected {expected}{hint}", line(first))));
    };
    let own = &variables[variable];
    let position = own.values.iter().flatten().position(|name| **name == *value).map(|index| index as u32);
    let digits = value.strip_prefix('v').filter(|_| own.values.is_none()).unwrap_or(value);
    let found = position.or_else(|| digits.parse().ok()).filter(|&value| value < own.domain);
    found.map(|value| (variable as u32, value)).ok_or_else(|| {
        let (list, hint) = names(own.values.iter().flatten().map(|name| &**name), value);
        let hint = hint.map_or_else(String::new, |hint| format!(" ({hint})"));
        let expected = if list.is_empty() { format!("one{}", among(own.domain)) } else { format!("one of {list}") };
        wrong(format!("there is no value `{}`, expected {expected}{hint}", line(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_indices() {
        let values = Some(["yes".into(), "no".into()].into());
        let of = |name: &str| Variable { domain: 2, name: Some(name.into()), values: values.clone() };
        let variables = [of("rain"), of("a=b"), Variable { domain: 3, name: None, values: None }];
        for (text, pair) in [
            ("rain=no", (0, 1)),
            ("a=b=yes", (1, 0)),
            (" 1 = 1 ", (1, 1)),
            ("x0=yes", (0, 0)),
            ("x2=2", (2, 2)),
            ("2=v1", (2, 1)),
        ] {
            assert_eq!(observed(text, &variables).expect(text), pair, "{text}");
        }
        for (text, words) in [
            ("rain", "expected NAME=VALUE"),
            ("rian=no", "did you mean"),
            ("rain=maybe", "yes, no"),
            ("2=3", "expected one from 0 to 2"),
            ("7=0", "no variable `7`"),
            ("rain=-1", "no value `-1`"),
        ] {
            let error = observed(text, &variables).expect_err(text).to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
