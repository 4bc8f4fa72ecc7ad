//! Settings of `fangs solve`: a name and options.

use super::super::Flags;
use clap::Parser;

/// A named list of options.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The name in tables.
    pub name: String,
    /// The options of `fangs solve`.
    pub options: Vec<String>,
}

impl Setting {
    /// Returns the setting without options.
    pub fn unchanged() -> Setting {
        Setting { name: "default".into(), options: Vec::new() }
    }

    /// Parses `NAME: OPTIONS`, options alone, or `default`. Quotes hold blanks together, as in a shell.
    pub fn parse(text: &str) -> Result<Setting, String> {
        if text.trim() == "default" {
            return Ok(Setting::unchanged());
        }
        let (name, options) = named(text).ok_or("expected \"NAME: OPTIONS\", such as \"tabu: --driver tabu\"")?;
        let options = shlex::split(options).ok_or("a quote has no end")?;
        let arguments = ["fangs", "solve", "FILE"].into_iter().map(String::from).chain(options.iter().cloned());
        match Flags::try_parse_from(arguments) {
            Ok(_) => Ok(Setting { name, options }),
            Err(error) => {
                let message = error.to_string();
                let first = message.lines().next().unwrap_or_default();
                Err(format!("fangs solve refuses it: {}", first.trim_start_matches("error: ")))
            }
        }
    }

    /// Returns whether an option is among these.
    pub fn has(&self, option: &str) -> bool {
        self.options
            .iter()
            .any(|own| own == option || own.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')))
    }
}

/// Splits `NAME: REST`; a text that begins with a hyphen is its own name. Returns `None` if there is no name.
pub fn named(text: &str) -> Option<(String, &str)> {
    let text = text.trim();
    if text.starts_with('-') {
        return Some((text.into(), text));
    }
    let (name, rest) = text.split_once(':')?;
    let name = name.trim();
    (!name.is_empty()).then(|| (name.into(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_names_and_options_that_solve_reads() {
        let setting = Setting::parse("tabu, few: --driver tabu --population '8'").expect("a setting");
        assert_eq!((setting.name.as_str(), setting.options.len()), ("tabu, few", 4));
        assert!(setting.has("--driver") && !setting.has("--threads"));
        assert!(Setting::parse("--threads=1").is_ok_and(|setting| setting.has("--threads")));
        assert!(Setting::parse("default").is_ok_and(|setting| setting.options.is_empty()));
        for (text, expected) in [
            ("tabu", "NAME: OPTIONS"),
            (": --driver tabu", "NAME: OPTIONS"),
            ("x: --driver nothing", "refuses"),
            ("x: --drivr tabu", "refuses"),
            ("x: other.wcsp", "refuses"),
            ("x: 'open", "quote"),
        ] {
            let error = Setting::parse(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
