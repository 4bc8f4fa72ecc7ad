//! Options of all commands that read a network.

use super::evidence::EvidenceFlags;
use super::output::Files;
use super::{help, values};
use clap::Args;
use fangs_base::Error;
use fangs_base::stop::{Cause, Stop};
use fangs_formats::{self as formats, Format, Graph, ReadOptions, Source, Vartype};
use fangs_model::model::{Network, Observations, Share};
use fangs_report::Console;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub struct InputFlags {
    /// The network, such as a .wcsp or .uai, also with .gz, .bz2, .xz or .zst; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Format of the network, one of those that `fangs --help` lists [default: by the file's name]
    #[arg(long, value_name = "NAME", help_heading = help::INPUT)]
    format: Option<Format>,
    /// Number of colors, required for a .col graph [default: none]
    #[arg(long, value_name = "K", value_parser = values::positive::<u32>, help_heading = help::INPUT)]
    colors: Option<u32>,
    /// Decimal digits kept of real-valued tables, 0 to 15 [default: by their range]
    #[arg(long, value_name = "N", value_parser = values::within::<u32>(0, 15), help_heading = help::INPUT)]
    precision: Option<u32>,
    /// Values of the variables of a .coo without a header: binary (0, 1) or spin (-1, +1) [default: by its header]
    #[arg(long, value_name = "KIND", help_heading = help::INPUT)]
    vartype: Option<Vartype>,
    #[command(flatten)]
    evidence: EvidenceFlags,
}

impl InputFlags {
    /// Returns the path of the network's file.
    pub fn path(&self) -> &Path {
        &self.file
    }
}

/// A network to read, with the evidence to apply.
#[derive(Clone, Debug)]
pub struct Input {
    source: Source,
    /// Further files with parts of the same problem.
    parts: Vec<Source>,
    format: Format,
    options: ReadOptions,
    evidence: EvidenceFlags,
}

impl TryFrom<InputFlags> for Input {
    type Error = Error;

    fn try_from(flags: InputFlags) -> Result<Self, Error> {
        let input = Input::or_graph(flags)?;
        match input.is_graph() {
            true => Err(Error::Usage("a .col graph needs --colors here".into())),
            false => Ok(input),
        }
    }
}

impl Input {
    /// Accepts a network, or a graph whose number of colors is not given.
    pub fn or_graph(flags: InputFlags) -> Result<Self, Error> {
        let source = Source::new(&flags.file);
        let format = match (&source, flags.format) {
            (_, Some(format)) => format,
            (Source::File(path), None) => Format::of_path(path)?,
            (Source::Stdin, None) => {
                return Err(Error::Usage("standard input needs --format, such as wcsp or uai".into()));
            }
        };
        // checked before any output is created
        for path in [source_path(&source), flags.evidence.path()].into_iter().flatten() {
            let cannot = |source| Error::Unreadable { path: path.into(), source };
            if std::fs::metadata(path).map_err(cannot)?.is_dir() {
                return Err(cannot(std::io::ErrorKind::IsADirectory.into()));
            }
        }
        let options = ReadOptions::default()
            .with(|options| (options.precision, options.colors) = (flags.precision, flags.colors))
            .with(|options| options.vartype = flags.vartype);
        let input = Input { source, parts: Vec::new(), format, options, evidence: flags.evidence };
        if input.is_graph() && !input.evidence.is_empty() {
            return Err(Error::Usage("--evidence and --observe of a .col graph need --colors".into()));
        }
        Ok(input)
    }

    /// Adds further files with parts of the same problem.
    pub fn with_parts(mut self, parts: Vec<PathBuf>) -> Result<Self, Error> {
        if !parts.is_empty() && self.format != Format::Yaml {
            return Err(Error::Usage("several files make one problem only in .yaml".into()));
        }
        for path in &parts {
            let _ = std::fs::metadata(path).map_err(|source| Error::Unreadable { path: path.clone(), source })?;
        }
        self.parts = parts.into_iter().map(Source::File).collect();
        Ok(self)
    }

    /// Returns whether the input is a graph whose number of colors is not given.
    pub fn is_graph(&self) -> bool {
        self.format == Format::Col && self.options.colors.is_none()
    }

    /// Reads the graph and prints its warnings on `console`; returns `None` if the input is not a graph without colors.
    pub fn graph(&self, console: &Console, stop: &Stop) -> Result<Option<Graph>, Error> {
        let graph = self.is_graph().then(|| formats::read_graph(&self.source, stop)).transpose()?;
        graph.iter().for_each(|graph| console.warn_of(&graph.warnings));
        Ok(graph)
    }

    /// Reads the network and applies the evidence; `console` gets warnings and the number of observed variables.
    /// Returns [`Error::Stopped`] or [`Error::Waiting`] once `stop` is set.
    pub fn load(&self, console: &Console, stop: &Stop) -> Result<Network, Error> {
        Ok(self.load_observed(console, stop)?.0)
    }

    /// Reads the part of the network that one of several processes holds.
    pub fn load_share(&self, share: Share, stop: &Stop) -> Result<Network, Error> {
        if !self.evidence.is_empty() {
            return Err(Error::Usage("a network is read in parts without --evidence and --observe".into()));
        }
        formats::read_share(&self.source, self.format, share, stop)
    }

    /// Reads the network and applies the evidence. Returns the observations too, or `None` if no evidence is given.
    pub fn load_observed(&self, console: &Console, stop: &Stop) -> Result<(Network, Option<Observations>), Error> {
        let read = match self.parts[..] {
            [] => formats::read(&self.source, Some(self.format), &self.options, stop),
            _ => {
                let all: Vec<Source> = std::iter::once(&self.source).chain(&self.parts).cloned().collect();
                formats::read_parts(&all, &self.options, stop)
            }
        };
        let mut network = read.map_err(|error| match error {
            Error::Stopped if stop.cause() == Some(Cause::Memory) => {
                Error::Memory(format!("{} could not be read to its end", self.source))
            }
            error => error,
        })?;
        console.warn_of(network.warnings());
        let seen = self.evidence.apply(&mut network, console, stop)?;
        Ok((network, seen))
    }

    /// Returns the evidence.
    pub fn evidence(&self) -> &EvidenceFlags {
        &self.evidence
    }

    /// Like [`load_observed`](Self::load_observed), but reads with all threads of the pool that
    /// [`use_threads`](super::values::use_threads) creates.
    pub fn load_by_all(&self, console: &Console, stop: &Stop) -> Result<(Network, Option<Observations>), Error> {
        rayon::scope(|_| self.load_observed(console, stop))
    }

    /// Returns where the network is read from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the options for reading the network's format.
    pub fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// Returns the format of the network.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns whether networks of this format are maximised; `None` if each file states it.
    pub fn maximises(&self) -> Option<bool> {
        self.format.info().maximises
    }

    /// Returns the files read and standard output, with which the other files of the command are compared.
    pub fn files(&self) -> Result<Files, Error> {
        let files = Files::default().stream("standard output", std::io::stdout(), true);
        let files = match &self.source {
            Source::Stdin => files.stream("standard input", std::io::stdin(), false),
            Source::File(path) => files.reads("the network", Some(path))?,
        };
        let parts = self.parts.iter().filter_map(source_path);
        let files =
            parts.into_iter().try_fold(files, |files, path| files.reads("a part of the problem", Some(path)))?;
        self.evidence.files(files)
    }

    /// Returns the path of the network's file; `None` for standard input.
    pub fn path(&self) -> Option<&Path> {
        source_path(&self.source)
    }

    /// Returns the file's name without its folder.
    pub fn file_name(&self) -> String {
        let name = self.path().and_then(Path::file_name);
        name.map_or_else(|| self.name(), |name| name.to_string_lossy().into_owned())
    }

    /// Returns the network's name in messages.
    pub fn name(&self) -> String {
        self.source.to_string()
    }
}

fn source_path(source: &Source) -> Option<&Path> {
    match source {
        Source::File(path) => Some(path),
        Source::Stdin => None,
    }
}
