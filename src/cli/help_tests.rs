use super::super::Flags;
use clap::{Arg, Command, CommandFactory};
use std::collections::BTreeMap;

/// Number of options that a command may have without headings.
const MANY: usize = 6;

/// Visits every command that help shows, with its path.
fn walk(command: &Command, path: &str, look: &mut dyn FnMut(&str, &Command)) {
    look(path, command);
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        walk(inner, &format!("{path} {}", inner.get_name()), look);
    }
}

fn every(look: &mut dyn FnMut(&str, &Command)) {
    let mut program = Flags::command();
    program.build();
    walk(&program, "fangs", look);
}

/// Returns the options and arguments of a command that help shows, without `--help` and `--version`.
fn own(command: &Command) -> impl Iterator<Item = &Arg> {
    let common = |arg: &Arg| matches!(arg.get_id().as_str(), "help" | "version");
    command.get_arguments().filter(move |arg| !arg.is_hide_set() && !common(arg))
}

/// Returns whether a line of help is an example call; the description of the format `fangs` is none.
fn is_call(line: &str) -> bool {
    line.strip_prefix("fangs ").is_some_and(|rest| !rest.starts_with(' '))
}

#[test]
fn every_command_says_what_it_does_and_shows_two_examples() {
    let mut seen = BTreeMap::new();
    every(&mut |path, command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(about.starts_with(|c: char| c.is_ascii_uppercase()) && about.contains(' '), "{path}: {about:?}");
        // a flattened group of options with a doc comment replaces the command's description
        assert_eq!(seen.insert(about.clone(), path.to_string()), None, "{path}: {about:?} is another's");
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let calls = examples.lines().filter(|line| is_call(line.trim_start())).count();
        assert_eq!(calls, 2, "{path}: {examples}");
    });
    assert!(seen.len() > 25, "{}", seen.len());
}

#[test]
fn every_option_says_what_it_is() {
    every(&mut |path, command| {
        let mut headings: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        for arg in own(command) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let name = arg.get_id();
            assert!(help.starts_with(|c: char| c.is_uppercase()) && help.contains(' '), "{path} {name}: {help:?}");
            assert!(!help.ends_with('.') && help.len() < 130, "{path} {name}: {help:?}");
            if !arg.is_positional() {
                *headings.entry(arg.get_help_heading()).or_default() += 1;
            }
            let says_default = !arg.get_default_values().is_empty() || help.contains("[default: ");
            let takes_one = arg.get_num_args().is_some_and(|range| range.takes_values());
            // an output that is written only if a file is named has no default
            let writes = ["Write ", "Draw "].iter().any(|verb| help.starts_with(verb));
            let told = says_default || writes || arg.is_required_set() || arg.is_positional();
            assert!(!takes_one || told, "{path} {name} does not say its default: {help:?}");
            for value in arg.get_possible_values().iter().filter(|value| !value.is_hide_set()) {
                let shell = name == "shell";
                assert!(
                    value.get_help().is_some() || !takes_one || shell,
                    "{path} {name}: {} is what?",
                    value.get_name()
                );
            }
        }
        let options: usize = headings.values().sum();
        let without = headings.get(&None).copied().unwrap_or(0);
        assert!(options <= MANY || without == 0, "{path}: {options} options, {without} under no heading");
    });
}

#[test]
fn examples_can_be_typed() {
    let mut calls = Vec::new();
    every(&mut |path, command| {
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = examples.lines().map(str::trim_start).filter(|line| is_call(line));
        calls.extend(lines.map(|line| (path.to_string(), line.to_string())));
    });
    for (path, line) in calls {
        for call in line.split(['|', '&']).map(str::trim).filter(|call| call.starts_with("fangs ")) {
            let call = call.split('>').next().unwrap_or(call);
            let parsed = Flags::command().try_get_matches_from(shlex::split(call).expect("quotes end"));
            let fine = parsed.as_ref().map_or_else(|error| !error.use_stderr(), |_| true);
            assert!(fine, "{path}: {call}: {:?}", parsed.err().map(|error| error.to_string()));
        }
        assert!(line.starts_with(&path) || path == "fangs", "{path} shows {line}");
    }
}
