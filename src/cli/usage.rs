//! Invalid arguments: the message, and a guess of the intended command.

use super::{leave, values};
use clap::error::ErrorKind;
use fangs_base::terminal;
use fangs_formats::{DecisionFormat, Format};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

/// Joins each negative number to the option before it, so that it is read as its value and not as an option.
pub fn joined(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(arguments.len());
    let mut options_end = false;
    for argument in arguments {
        let takes = |option: &OsString| {
            let option = option.to_string_lossy();
            option.starts_with('-') && option.len() > 1 && !option.contains('=') && !values::is_negative(&option)
        };
        options_end |= argument == "--";
        match joined.last_mut() {
            Some(option) if !options_end && values::is_negative(&argument.to_string_lossy()) && takes(option) => {
                option.push("=");
                option.push(argument);
            }
            _ => joined.push(argument),
        }
    }
    joined
}

/// Prints help or the version if asked for; otherwise reports the error, made safe for a terminal because it quotes
/// arguments. Ends the process.
pub fn refuse(error: &clap::Error, arguments: &[OsString]) -> ! {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    let wrong = matches!(error.kind(), ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument);
    let text = match without_command(arguments).filter(|_| wrong) {
        Some(message) => message,
        None => error.render().to_string(),
    };
    // removes clap's advice to pass the misspelled option as a value
    let lines = text.strip_prefix("error: ").unwrap_or(&text).split_inclusive('\n');
    let text: String = lines.filter(|line| !line.starts_with("  tip: to pass '")).collect();
    // a closed standard error cannot be reported
    drop(write!(std::io::stderr(), "fangs: {}", terminal::text(&text)));
    leave(2)
}

/// Returns the message about arguments without a command if one of them names a file.
fn without_command(arguments: &[OsString]) -> Option<String> {
    let arguments = arguments.get(1..)?;
    let first = arguments.first()?.to_string_lossy();
    // a first word that is neither an option nor a file is a misspelled command
    if !first.starts_with('-') && command_of(Path::new(&*first)).is_none() {
        return None;
    }
    let (file, command) = arguments.iter().find_map(|argument| Some((argument, command_of(Path::new(argument))?)))?;
    let words: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let file = file.to_string_lossy();
    Some(format!("{file} is a file, expected a command first; did you mean `fangs {command} {}`?\n", words.join(" ")))
}

/// Returns the command that reads a file of this name, by its extension.
fn command_of(path: &Path) -> Option<&'static str> {
    if Format::of_path(path).is_ok() {
        return Some("solve");
    }
    DecisionFormat::of_path(path).is_ok().then_some("decide")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn negative_numbers_belong_to_the_option_before() {
        for (given, read) in [
            ("fangs solve --time -5 a", "fangs solve --time=-5 a"),
            ("fangs solve -t -5s a", "fangs solve -t=-5s a"),
            ("fangs solve --target=1 -5", "fangs solve --target=1 -5"),
            ("fangs solve - -t 5", "fangs solve - -t 5"),
            ("fangs diff a -- -5 -6", "fangs diff a -- -5 -6"),
        ] {
            assert_eq!(joined(words(given)), words(read), "{given}");
        }
    }

    #[test]
    fn a_file_in_place_of_a_command() {
        for (given, meant) in [
            ("fangs net.wcsp", "`fangs solve net.wcsp`"),
            ("fangs -t 5 net.uai.gz", "`fangs solve -t 5 net.uai.gz`"),
            ("fangs tiger.POMDP", "`fangs decide tiger.POMDP`"),
        ] {
            assert!(without_command(&words(given)).is_some_and(|message| message.contains(meant)), "{given}");
        }
        for given in ["fangs solve net.wcsp", "fangs sovle net.wcsp", "fangs sovle", "fangs -x", "fangs"] {
            assert_eq!(without_command(&words(given)), None, "{given}");
        }
    }
}
