//! Reading and writing networks and solutions, reading evidence. `docs/formats.md` describes the formats.
//!
//! A new format is one file with a `read` function, perhaps a `write` function, and one line in [`FORMATS`].

mod bayes;
mod bif;
mod cfn;
mod clauses;
mod col;
mod cut;
mod dcop;
mod decimal;
mod decision;
mod encoding;
mod evidence;
mod genie;
mod global;
mod hugin;
mod id;
mod id_xml;
mod idid;
mod input;
mod lax_json;
mod limits;
#[cfg(test)]
mod list_tests;
mod names;
mod observed;
mod pedigree;
mod photographs;
mod pomdp;
mod potentials;
mod pseudo_boolean;
mod qaplib;
mod quadratic;
mod real;
mod repeated;
mod solution;
mod tables;
mod tokens;
#[cfg(test)]
mod tokens_tests;
mod uai;
mod warehouse;
mod wcsp;
mod writing;
mod xml;
mod xmlbif;

pub mod convert;

// other crates, by the names that their areas have everywhere
use fangs_base::{error, files, memory, rng, stop, terminal, text};
use fangs_check as check;
#[cfg(test)]
use fangs_generate as generate;
use fangs_model::{globals, model};

pub use decision::{Decision, DecisionFormat, read_decision, read_policy};
pub use evidence::{Evidence, read_evidence, read_variables};
pub use fangs_model::coloring::Graph;
pub use id::{Parts as DiagramParts, parse_diagram, read_diagram};
pub use idid::{parse_idid, read_idid};
pub use input::{Source, compressed_extensions};
pub use names::Named;
pub use observed::observed;
pub use pomdp::{parse_pomdp, read_pomdp};
pub use potentials::{potentials_of, read_potentials, read_potentials_from};
pub use solution::{SolutionFormat, read_solution, read_start, write_solution};
pub use uai::observe;
pub(crate) use writing::may_reach_top;

use crate::error::Error;
use crate::files::{LARGEST_TEXT, cannot_read, read_all};
use crate::model::Network;
use crate::stop::Stop;
use crate::terminal::path as shown;
use std::io::{self, Read, Write};
use std::path::Path;
use std::str::FromStr;
use tokens::Tokens;

/// A file format of networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Integer cost function networks.
    Wcsp,
    /// Markov and Bayesian networks.
    Uai,
    /// The same with natural logarithms in the tables.
    Lg,
    /// Graphs to color.
    Col,
    /// Cost function networks in toulbar2's JSON.
    Cfn,
    /// Bayesian networks with names.
    Bif,
    /// The same in XML.
    XmlBif,
    /// The same of Hugin.
    Net,
    /// The same of GeNIe.
    Xdsl,
    /// Weighted clauses (MaxSAT).
    Wcnf,
    /// Clauses.
    Cnf,
    /// Quadratic sums of binary variables or spins, of toulbar2.
    Qpbo,
    /// Quadratic sums of binary variables, as the upper triangle of a matrix.
    Sparse,
    /// Quadratic sums of binary variables or spins, of dimod.
    Coo,
    /// Weighted graphs to cut.
    Rud,
    /// Graphs to cut, as Matrix Market matrices.
    Mtx,
    /// Quadratic assignment, of QAPLIB.
    Dat,
    /// Warehouse location, of the OR-Library.
    Cap,
    /// Pseudo-Boolean optimisation.
    Opb,
    /// Soft pseudo-Boolean constraints.
    Wbo,
    /// Photographs of satellites.
    Bep,
    /// Pedigrees with genotypes.
    Pre,
    /// Distributed problems of pyDCOP.
    Yaml,
    /// Distributed problems of FRODO.
    Xml,
}

/// An entry of the list of formats.
pub struct FormatInfo {
    /// The format.
    pub format: Format,
    /// Its name, which is also its file extension. Upper and lower case are the same.
    pub name: &'static str,
    /// Its contents, in a few words.
    pub about: &'static str,
    /// Whether larger is better in such networks; `None` where each file says so itself.
    pub maximises: Option<bool>,
    read: Reader,
    write: Option<Writer>,
}

type Reader = fn(&mut Tokens<'_>, &ReadOptions) -> Result<Network, Error>;
type Writer = fn(&Network, &mut dyn Write) -> io::Result<()>;

impl FormatInfo {
    const fn new(format: Format, name: &'static str, about: &'static str, read: Reader) -> Self {
        FormatInfo { format, name, about, maximises: Some(false), read, write: None }
    }

    const fn maximises(self, maximises: Option<bool>) -> Self {
        FormatInfo { maximises, ..self }
    }

    const fn writes(self, write: Writer) -> Self {
        FormatInfo { write: Some(write), ..self }
    }

    /// Whether networks can be written in the format.
    pub fn is_written(&self) -> bool {
        self.write.is_some()
    }
}

/// Every format that is read, in the order of [`Format`].
pub static FORMATS: &[FormatInfo] = &[
    FormatInfo::new(Format::Wcsp, "wcsp", "weighted constraint network", wcsp::read).writes(wcsp::write),
    FormatInfo::new(Format::Uai, "uai", "Markov or Bayesian network", uai::read)
        .maximises(Some(true))
        .writes(uai::write),
    FormatInfo::new(Format::Lg, "LG", "the same with logarithms of potentials", uai::read_log)
        .maximises(Some(true))
        .writes(uai::write_log),
    FormatInfo::new(Format::Col, "col", "graph to color, with a number of colors", col::read),
    FormatInfo::new(Format::Cfn, "cfn", "weighted constraint network with names and decimals", cfn::read)
        .maximises(None)
        .writes(cfn::write),
    FormatInfo::new(Format::Bif, "bif", "Bayesian network with names", bif::read).maximises(Some(true)),
    FormatInfo::new(Format::XmlBif, "xmlbif", "Bayesian network in XML", xmlbif::read).maximises(Some(true)),
    FormatInfo::new(Format::Net, "net", "Bayesian network of Hugin", hugin::read).maximises(Some(true)),
    FormatInfo::new(Format::Xdsl, "xdsl", "Bayesian network of GeNIe", genie::read).maximises(Some(true)),
    FormatInfo::new(Format::Wcnf, "wcnf", "weighted clauses", clauses::read_weighted).writes(clauses::write),
    FormatInfo::new(Format::Cnf, "cnf", "clauses of weight 1", clauses::read),
    FormatInfo::new(Format::Qpbo, "qpbo", "quadratic sum of bits or spins", quadratic::read)
        .maximises(None)
        .writes(quadratic::write),
    FormatInfo::new(Format::Sparse, "sparse", "quadratic sum of bits", quadratic::read_sparse)
        .writes(quadratic::write_sparse),
    FormatInfo::new(Format::Coo, "coo", "quadratic sum of bits or spins, of dimod", quadratic::read_coordinates),
    FormatInfo::new(Format::Rud, "rud", "weighted graph to cut", cut::read).maximises(Some(true)),
    FormatInfo::new(Format::Mtx, "mtx", "matrix of a graph to cut", cut::read_matrix).maximises(Some(true)),
    FormatInfo::new(Format::Dat, "dat", "quadratic assignment of QAPLIB", qaplib::read),
    FormatInfo::new(Format::Cap, "cap", "warehouse location of the OR-Library (cap*.txt)", warehouse::read),
    FormatInfo::new(Format::Opb, "opb", "pseudo-Boolean optimisation", pseudo_boolean::read).maximises(None),
    FormatInfo::new(Format::Wbo, "wbo", "soft pseudo-Boolean constraints", pseudo_boolean::read_weighted),
    FormatInfo::new(Format::Bep, "bep", "photographs of satellites", photographs::read),
    FormatInfo::new(Format::Pre, "pre", "pedigree with genotypes", pedigree::read),
    FormatInfo::new(Format::Yaml, "yaml", "distributed problem of pyDCOP", dcop::read_yaml)
        .maximises(None)
        .writes(dcop::write_yaml),
    FormatInfo::new(Format::Xml, "xml", "distributed problem of FRODO: XDisCSP 1.0, XCSP 2.1", dcop::read_xml)
        .maximises(None),
];

/// Further endings of some formats.
const ALIASES: [(&str, Format); 2] = [("yml", Format::Yaml), ("bifxml", Format::XmlBif)];

/// Names that are no format of a network, and why.
const REFUSED: [(&str, &str); 9] = [
    ("qs", "is not read, as no description of it was found"),
    ("csv", "has rows of a run, which `fangs plot` reads"),
    ("sol", "has a solution, which follows the network: `fangs check NETWORK SOLUTION`"),
    ("cert", "has a certificate, which `fangs check NETWORK --certificate` reads"),
    ("evid", "has evidence, which --evidence names"),
    ("map", "has variables, which `fangs marginals NETWORK --maximize` reads"),
    ("toml", "has a heuristic, which `fangs heuristics` and --heuristic read"),
    ("cuh", "has a heuristic, which `fangs heuristics` and --heuristic read"),
    ("pvo", "has the order of an influence diagram, which `fangs decide` reads"),
];

impl Format {
    /// The line of the list that describes it.
    pub fn info(self) -> &'static FormatInfo {
        &FORMATS[self as usize]
    }

    /// The format of a file's name.
    ///
    /// # Errors
    /// No extension, or one of an unknown format: the message lists the known ones.
    pub fn of_path(path: &Path) -> Result<Self, Error> {
        let extension = |path: &Path| path.extension().map(|e| e.to_string_lossy().into_owned());
        let (mut name, mut inner) = (path.file_name().unwrap_or_default(), extension(path));
        if inner.as_deref().is_some_and(input::is_compressed_extension) {
            name = path.file_stem().unwrap_or_default();
            inner = extension(Path::new(name));
        }
        if name.to_string_lossy().to_ascii_lowercase().starts_with("cap")
            && inner.as_deref().is_some_and(|inner| inner.eq_ignore_ascii_case("txt"))
        {
            return Ok(Format::Cap); // the OR-Library names its files so
        }
        let unknown = match inner.as_deref().map(str::parse) {
            Some(Ok(format)) => return Ok(format),
            Some(Err(Error::Usage(error))) => error,
            Some(Err(error)) => error.to_string(),
            None => format!("no format extension; {}", known_formats()),
        };
        let missing = if path.exists() { "" } else { "no such file, and " };
        let hint = "--format NAME says it where the name does not";
        Err(Error::Usage(format!("{}: {missing}{unknown}; {hint}", shown(path))))
    }

    /// The format of the name of a file to be written.
    ///
    /// # Errors
    /// No extension, or one of a format that is not written: the message lists those that are.
    pub fn written_to(path: &Path) -> Result<Self, Error> {
        let known = Format::of_path(path).ok();
        known.filter(|format| format.info().is_written()).ok_or_else(|| {
            let (file, written) = (shown(path), written());
            let found = known
                .map_or("no format that is written".into(), |format| format!(".{} is not written", format.info().name));
            Error::Usage(format!("{file}: {found}; {written}; --to NAME says it where the name does not"))
        })
    }

    /// The format of a name that is to be written.
    ///
    /// # Errors
    /// A format that is not written: the message lists those that are.
    pub fn written_as(name: &str) -> Result<Self, Error> {
        let known = name.parse().ok().filter(|format: &Format| format.info().is_written());
        let unknown = || Error::Usage(format!("no format that is written: `{}`; {}", name.escape_debug(), written()));
        known.ok_or_else(unknown)
    }
}

impl Format {
    /// The format that the beginning of a text shows: `.bif` and `.xml` are also the endings of XMLBIF.
    fn of_text(self, tokens: &mut Tokens<'_>) -> Result<Self, Error> {
        let may_be = matches!(self, Format::Bif | Format::Xml);
        Ok(if may_be && tokens.has_ahead(b"<BIF")? { Format::XmlBif } else { self })
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
        let name = alias.map_or(name, |(_, format)| format.info().name);
        if let Some(info) = FORMATS.iter().find(|info| info.name.eq_ignore_ascii_case(name)) {
            return Ok(info.format);
        }
        let what = match REFUSED.iter().find(|(refused, _)| refused.eq_ignore_ascii_case(name)) {
            Some((refused, why)) => format!("the format {refused} {why}"),
            None if DecisionFormat::called(name).is_some() => {
                format!(
                    "the format {} has a problem of decision, which `fangs decide` reads",
                    name.to_ascii_lowercase()
                )
            }
            None => format!("unknown format `{}`", name.escape_debug()),
        };
        Err(Error::Usage(format!("{what}; {}", known_formats())))
    }
}

/// Names as endings of files.
fn endings<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!(".{name}")).collect::<Vec<_>>().join(" ")
}

fn known_formats() -> String {
    let formats = endings(FORMATS.iter().map(|info| info.name));
    format!("read are {formats}, each also with {}", endings(compressed_extensions()))
}

/// The formats that are written, for messages.
pub fn written() -> String {
    let written = FORMATS.iter().filter(|info| info.is_written());
    format!("written are {}", endings(written.map(|info| info.name)))
}

/// Options of some formats: `ReadOptions::default().with(|options| options.colors = Some(3))`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Decimal digits kept of real numbers; by their range where `None`.
    pub precision: Option<u32>,
    /// Colors of a `.col` graph.
    pub colors: Option<u32>,
    /// Values of the variables of a `.coo`; those that the file states where `None`.
    pub vartype: Option<Vartype>,
}

/// The values of the variables of a quadratic sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vartype {
    /// 0 and 1.
    Binary,
    /// -1 and +1.
    Spin,
}

impl FromStr for Vartype {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match &name.to_ascii_lowercase()[..] {
            "binary" => Ok(Vartype::Binary),
            "spin" => Ok(Vartype::Spin),
            _ => Err(Error::Usage(format!("unknown vartype `{}`; known are binary and spin", name.escape_debug()))),
        }
    }
}

impl ReadOptions {
    /// These with a change.
    pub fn with(mut self, change: impl FnOnce(&mut ReadOptions)) -> ReadOptions {
        change(&mut self);
        self
    }
}

/// Reads a network. The format follows from the file's name where `format` is `None`; standard input needs one.
/// [`Network::warnings`] has the doubtful places.
///
/// # Errors
/// A file that cannot be read or parsed, with file, line and column where there is one; [`Error::Stopped`] or
/// [`Error::Waiting`] once `stop` is set.
pub fn read(source: &Source, format: Option<Format>, options: &ReadOptions, stop: &Stop) -> Result<Network, Error> {
    read_as(format_of(source, format)?, open(source, stop)?, options)
}

/// The format asked for, or that of the file's name.
fn format_of(source: &Source, format: Option<Format>) -> Result<Format, Error> {
    match (format, source) {
        (Some(format), _) => Ok(format),
        (None, Source::File(path)) => Format::of_path(path),
        (None, Source::Stdin) => Err(Error::Usage(format!("standard input needs --format; {}", known_formats()))),
    }
}

/// Reads a network from a stream of bytes, compressed or not; `name` is its name in messages.
///
/// # Errors
/// As [`read`].
pub fn read_from(
    reader: impl Read,
    name: &str,
    format: Format,
    options: &ReadOptions,
    stop: &Stop,
) -> Result<Network, Error> {
    let source = input::decompress(Box::new(reader)).map_err(|error| cannot_read(name, error, stop))?;
    read_as(format, Tokens::new(source, name.to_string(), stop), options)
}

fn read_as(format: Format, mut tokens: Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let format = format.of_text(&mut tokens)?;
    let mut network = (format.info().read)(&mut tokens, options)?;
    network.warn(tokens.take_warnings());
    Ok(network)
}

/// Writes a network in a format, which may not hold all that the network has: then no file is complete without it.
///
/// # Errors
/// Errors of writing to `out`; [`io::ErrorKind::InvalidInput`] with the reason where the format cannot express the
/// network, [`io::ErrorKind::Unsupported`] where the format is not written.
pub fn write(network: &Network, format: Format, out: &mut dyn Write) -> io::Result<()> {
    match format.info().write {
        Some(write) => write(network, out),
        None => {
            let names: Vec<String> =
                FORMATS.iter().filter(|info| info.is_written()).map(|info| format!(".{}", info.name)).collect();
            let what = format!(".{} is not written; written are {}", format.info().name, names.join(" "));
            Err(io::Error::new(io::ErrorKind::Unsupported, what))
        }
    }
}

/// Reads a problem whose parts are in several YAML files, as pyDCOP takes them: each part in one of them.
///
/// # Errors
/// As [`read`]; a part that two files have.
pub fn read_parts(sources: &[Source], options: &ReadOptions, stop: &Stop) -> Result<Network, Error> {
    let [first, others @ ..] = sources else { return Err(Error::Usage("no file is named".into())) };
    let mut tokens = open(first, stop)?;
    let mut texts = vec![tokens.text()?];
    for source in others {
        texts.push(open(source, stop)?.text()?);
    }
    let mut network = dcop::read_yaml_parts(&texts, options, &mut tokens)?;
    network.warn(tokens.take_warnings());
    Ok(network)
}

/// Returns a network to be written, and its global functions as text: with tables in their place, and without text, if
/// one of them has no form in the format.
fn with_globals<'n>(
    network: &'n Network,
    style: impl FnOnce(&'n Network) -> global::Style<'n>,
) -> io::Result<(&'n Network, Vec<Vec<global::Written>>)> {
    match global::written(network, style(network)) {
        Some(written) => Ok((network, written)),
        None => Ok((as_tables(network)?, Vec::new())),
    }
}

/// The network with tables in place of its global functions, to be written.
fn as_tables(network: &Network) -> io::Result<&Network> {
    let tables = network.expanded();
    match network.globals().next() {
        Some(global) if tables.domains().len() > network.domains().len() => {
            let what = format!("global cost functions that are too large for tables, such as {}", global.keyword);
            Err(io::Error::new(io::ErrorKind::InvalidInput, what))
        }
        _ => Ok(tables),
    }
}

/// Reads a `.col` graph, to find its number of colors.
///
/// # Errors
/// As [`read`].
pub fn read_graph(source: &Source, stop: &Stop) -> Result<Graph, Error> {
    col::read_graph(&mut open(source, stop)?)
}

/// The whole text of a file that is parsed at once: evidence, a solution.
fn read_text(source: &Source, stop: &Stop) -> Result<Vec<u8>, Error> {
    let text = input::open(source, stop).and_then(|stream| read_all(stream, LARGEST_TEXT));
    text.map_err(|error| cannot_read(&source.to_string(), error, stop))
}

fn open<'a>(source: &Source, stop: &'a Stop) -> Result<Tokens<'a>, Error> {
    let name = source.to_string();
    let bytes = input::open(source, stop).map_err(|error| cannot_read(&name, error, stop))?;
    Ok(Tokens::new(bytes, name, stop))
}
