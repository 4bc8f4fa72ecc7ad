//! Options of all commands that read a network.

use super::help;
use super::output::Files;
use clap::Args;
use fangs::Error;
use fangs::formats::{self, Evidence, Format, Graph, ReadOptions, Source, Vartype};
use fangs::model::Network;
use fangs::record::Console;
use fangs::stop::{Cause, Stop};
use fangs::terminal;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub struct InputFlags {
    /// The network, such as a .wcsp or .uai, also with .gz, .bz2, .xz or .zst; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Format of the network, one of those that `fangs --help` lists [default: by the file's name]
    #[arg(long, value_name = "NAME", help_heading = help::INPUT)]
    format: Option<Format>,
    /// Number of colors of a .col graph, which needs it [default: none]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..), help_heading = help::INPUT)]
    colors: Option<u32>,
    /// Decimal digits kept of real-valued tables, 0 to 15 [default: by their range]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=15), help_heading = help::INPUT)]
    precision: Option<u32>,
    /// Values of the variables of a .coo without a header: binary (0, 1) or spin (-1, +1) [default: by its header]
    #[arg(long, value_name = "KIND", help_heading = help::INPUT)]
    vartype: Option<Vartype>,
    /// Fix variables to the values that this file observes [default: none]
    #[arg(long, value_name = "EVID", help_heading = help::INPUT)]
    evidence: Option<PathBuf>,
}

impl InputFlags {
    /// The file that is named.
    pub fn path(&self) -> &Path {
        &self.file
    }
}

/// A network to read.
#[derive(Clone, Debug)]
pub struct Input {
    source: Source,
    /// Further files with parts of the same problem.
    parts: Vec<Source>,
    format: Format,
    options: ReadOptions,
    evidence: Option<PathBuf>,
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
    /// A network, or a graph whose number of colors is not given.
    pub fn or_graph(flags: InputFlags) -> Result<Self, Error> {
        let source = Source::new(&flags.file);
        let format = match (&source, flags.format) {
            (_, Some(format)) => format,
            (Source::File(path), None) => Format::of_path(path)?,
            (Source::Stdin, None) => return Err(Error::Usage("standard input needs --format".into())),
        };
        // checked before any output is created
        for path in [source_path(&source), flags.evidence.as_deref()].into_iter().flatten() {
            let cannot = |source| Error::Unreadable { path: path.into(), source };
            if std::fs::metadata(path).map_err(cannot)?.is_dir() {
                return Err(cannot(std::io::ErrorKind::IsADirectory.into()));
            }
        }
        let options = ReadOptions::default()
            .with(|options| (options.precision, options.colors) = (flags.precision, flags.colors))
            .with(|options| options.vartype = flags.vartype);
        let input = Input { source, parts: Vec::new(), format, options, evidence: flags.evidence };
        if input.is_graph() && input.evidence.is_some() {
            return Err(Error::Usage("--evidence of a .col graph needs --colors".into()));
        }
        Ok(input)
    }

    /// The same, with parts of the problem in further files.
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

    /// Whether it is a graph whose number of colors is not given.
    pub fn is_graph(&self) -> bool {
        self.format == Format::Col && self.options.colors.is_none()
    }

    /// Reads the graph, if it is one, and warns on `console`.
    pub fn graph(&self, console: &Console, stop: &Stop) -> Result<Option<Graph>, Error> {
        let graph = self.is_graph().then(|| formats::read_graph(&self.source, stop)).transpose()?;
        graph.iter().for_each(|graph| console.warn_of(&graph.warnings));
        Ok(graph)
    }

    /// Reads the network and applies the evidence; `console` gets warnings and the number of observed variables.
    /// [`Error::Stopped`] or [`Error::Waiting`] once `stop` is set.
    pub fn load(&self, console: &Console, stop: &Stop) -> Result<Network, Error> {
        Ok(self.load_observed(console, stop)?.0)
    }

    /// The same, with the number of variables observed where evidence is named.
    pub fn load_observed(&self, console: &Console, stop: &Stop) -> Result<(Network, Option<usize>), Error> {
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
        let Some(path) = &self.evidence else { return Ok((network, None)) };
        let Evidence { pairs, warnings } = formats::read_evidence(path, network.variables(), stop)?;
        console.warn_of(&warnings);
        formats::observe(&mut network, &pairs, stop)?;
        let observed = match pairs.len() {
            0 => "no evidence in it: no variable is observed".into(),
            1 => "evidence applied to 1 variable".into(),
            n => format!("evidence applied to {n} variables"),
        };
        console.tell(&format!("{}: {observed}", terminal::path(path)));
        Ok((network, Some(pairs.len())))
    }

    /// The same by all threads of the pool that [`use_threads`](super::values::use_threads) makes.
    pub fn load_by_all(&self, console: &Console, stop: &Stop) -> Result<(Network, Option<usize>), Error> {
        rayon::scope(|_| self.load_observed(console, stop))
    }

    /// Where it is read from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The file of evidence, if there is one.
    pub fn evidence(&self) -> Option<&Path> {
        self.evidence.as_deref()
    }

    /// The options of its format.
    pub fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// The format and form in which the network was read.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether larger is better in such networks, unless each file says so itself.
    pub fn maximises(&self) -> Option<bool> {
        self.format.info().maximises
    }

    /// The files read, and standard output: the other files of the command are compared with these.
    pub fn files(&self) -> Result<Files, Error> {
        let files = Files::default().stream("standard output", std::io::stdout(), true);
        let files = match &self.source {
            Source::Stdin => files.stream("standard input", std::io::stdin(), false),
            Source::File(path) => files.reads("the network", Some(path))?,
        };
        let parts = self.parts.iter().filter_map(source_path);
        let files =
            parts.into_iter().try_fold(files, |files, path| files.reads("a part of the problem", Some(path)))?;
        files.reads("--evidence", self.evidence.as_deref())
    }

    /// The file, unless it is standard input.
    pub fn path(&self) -> Option<&Path> {
        source_path(&self.source)
    }

    /// The file's name without its folder.
    pub fn file_name(&self) -> String {
        let name = self.path().and_then(Path::file_name);
        name.map_or_else(|| self.name(), |name| name.to_string_lossy().into_owned())
    }

    /// Its name in messages.
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
