//! `fangs generate`: a subcommand for each entry of [`KINDS`].

use super::{Exit, help, output};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand};
use fangs::Error;
use fangs::formats::{self, Format};
use fangs::generate::{self, KINDS};
use fangs::record::ReplacedFile;
use fangs::stop::Stop;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct GenerateFlags {
    #[command(subcommand)]
    kind: KindFlags,
    /// Seed of every random choice; the same seed gives the same network
    #[arg(long, value_name = "N", default_value_t = 1, global = true)]
    seed: u64,
    /// Write the network to a .wcsp file [default: standard output]
    #[arg(short, long, value_name = "FILE", global = true)]
    output: Option<PathBuf>,
}

/// A kind of network and what the user says of its parameters.
#[derive(Debug)]
struct KindFlags {
    kind: String,
    parameters: Vec<(&'static str, String)>,
}

impl Subcommand for KindFlags {
    fn augment_subcommands(command: Command) -> Command {
        let kinds = KINDS.iter().map(|kind| {
            let parameters = kind.parameters.iter().map(|parameter| {
                let (least, largest) = parameter.range;
                Arg::new(parameter.name)
                    .long(parameter.name)
                    .value_name(if parameter.whole { "N" } else { "SHARE" })
                    .allow_negative_numbers(true)
                    .help(format!("{}, {least} to {largest} [default: {}]", parameter.about, parameter.default))
                    .help_heading("Network")
            });
            Command::new(kind.name)
                .about(format!("Generate {}", kind.about))
                .after_help(help::of_kind(kind))
                .args(parameters)
        });
        command.subcommands(kinds).subcommand_required(true).arg_required_else_help(true)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        KINDS.iter().any(|kind| kind.name == name)
    }
}

impl FromArgMatches for KindFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(missing)?;
        let given = |name: &'static str| Some((name, matches.get_one::<String>(name)?.clone()));
        let parameters = kind.parameters.iter().filter_map(|parameter| given(parameter.name)).collect();
        Ok(KindFlags { kind: kind.name.into(), parameters })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Writes a generated network.
pub fn run(flags: GenerateFlags) -> Result<Exit, Error> {
    let file = flags.output.as_deref().map(|path| output::as_usage(ReplacedFile::new(path))).transpose()?;
    let parameters: Vec<(&str, &str)> =
        flags.kind.parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let network = generate::generate(&flags.kind.kind, &parameters, flags.seed)?;
    let mut text = Vec::new();
    let cannot_write = |source| Error::Io { path: "<memory>".into(), action: "cannot write", source };
    formats::write(&network, Format::Wcsp, &mut text).map_err(cannot_write)?;
    match file {
        Some(mut file) => file.write_to_end(text, &Stop::new())?,
        None => output::print_raw(&String::from_utf8_lossy(&text))?,
    }
    Ok(Exit::Done)
}
