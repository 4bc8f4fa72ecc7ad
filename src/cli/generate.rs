//! `fangs generate`: a subcommand for each entry of [`KINDS`] and [`DIAGRAMS`].

use super::worker::{self, Session};
use super::{Exit, help, output, values};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand};
use fangs_base::Error;
use fangs_formats::{self as formats, Format};
use fangs_generate::{self as generate, DIAGRAMS, KINDS, Kind, Parameter};
use fangs_report::ReplacedFile;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Args, Debug)]
pub struct GenerateFlags {
    #[command(subcommand)]
    kind: KindFlags,
    /// Seed of every random choice; the same seed gives the same network
    #[arg(long, value_name = "N", default_value_t = 1, global = true, value_parser = values::whole::<u64>,
        help_heading = help::OUTPUT)]
    seed: u64,
    /// Write to a file: a network in the format of its extension, otherwise .wcsp; a diagram as .idid [default:
    /// standard output]
    #[arg(short, long, value_name = "FILE", global = true, help_heading = super::help::OUTPUT)]
    output: Option<PathBuf>,
}

/// A kind of network, and the parameters that the user gives it.
#[derive(Debug)]
struct KindFlags {
    kind: String,
    parameters: Vec<(&'static str, String)>,
}

/// Returns the subcommand that generates a kind.
fn of_kind<M>(kind: &'static Kind<M>, examples: String) -> Command {
    let parameters = kind.parameters.iter().map(|parameter| {
        let (least, largest) = parameter.range;
        Arg::new(parameter.name)
            .long(parameter.name)
            .value_name(if parameter.whole { "N" } else { "SHARE" })
            .allow_negative_numbers(true)
            .help(format!("{}, {least} to {largest} [default: {}]", parameter.about, parameter.default))
            .help_heading("Network")
    });
    Command::new(kind.name).about(format!("Generate {}", kind.about)).after_help(examples).args(parameters)
}

/// Returns the parameters of a kind of network or diagram; `None` if there is no kind of this name.
fn parameters_of(name: &str) -> Option<&'static [Parameter]> {
    let network = KINDS.iter().find(|kind| kind.name == name).map(|kind| kind.parameters);
    network.or_else(|| Some(DIAGRAMS.iter().find(|kind| kind.name == name)?.parameters))
}

impl Subcommand for KindFlags {
    fn augment_subcommands(command: Command) -> Command {
        let networks = KINDS.iter().map(|kind| of_kind(kind, help::of_network(kind)));
        let diagrams = DIAGRAMS.iter().map(|kind| of_kind(kind, help::of_diagram(kind)));
        command.subcommands(networks.chain(diagrams)).subcommand_required(true).arg_required_else_help(true)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        parameters_of(name).is_some()
    }
}

impl FromArgMatches for KindFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let known = parameters_of(name).ok_or_else(missing)?;
        let given = |name: &'static str| Some((name, matches.get_one::<String>(name)?.clone()));
        let parameters = known.iter().filter_map(|parameter| given(parameter.name)).collect();
        Ok(KindFlags { kind: name.into(), parameters })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Generates a network or diagram and writes it.
pub fn run(flags: GenerateFlags, started: Instant) -> Result<Exit, Error> {
    worker::command(started, None, move |session| draw(&flags, session))
}

fn draw(flags: &GenerateFlags, session: &Session) -> Result<Exit, Error> {
    session.activity.step("drawing");
    let output = flags.output.as_deref().filter(|path| *path != Path::new("-"));
    let file = output.map(|path| output::as_usage(ReplacedFile::new(path))).transpose()?;
    let parameters: Vec<(&str, &str)> =
        flags.kind.parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let kind = &flags.kind.kind;
    let text = if DIAGRAMS.iter().any(|known| known.name == kind) {
        generate::generate_diagram(kind, &parameters, flags.seed)?.into_bytes()
    } else {
        let network = generate::generate(kind, &parameters, flags.seed)?;
        session.stop.check()?;
        session.activity.step("writing");
        let mut text = Vec::new();
        let cannot_write = |source| Error::Io { path: "<memory>".into(), action: "cannot write", source };
        let format = output.and_then(|path| Format::written_to(path).ok()).unwrap_or(Format::Wcsp);
        formats::write(&network, format, &mut text).map_err(cannot_write)?;
        text
    };
    match file {
        Some(mut file) => file.write_to_end(text, &session.stop)?,
        None => output::print_raw(&text)?,
    }
    Ok(Exit::Done)
}
