//! The list of formats: how the format of a file is found, and how networks are read and written in it.

use super::input::{self, Source, compressed_extensions, read_tokens};
use super::options::ReadOptions;
use super::tokens::Tokens;
use super::{
    bif, binary, cfn, clauses, col, cut, dcop, genie, hugin, pedigree, photographs, pseudo_boolean, qaplib, quadratic,
    uai, warehouse, wcsp, xmlbif,
};
use crate::error::Error;
use crate::files::cannot_read;
use crate::model::{Network, Share};
use crate::stop::Stop;
use crate::terminal::path as shown;
use fangs_model::coloring::Graph;
use std::io::{self, Read, Write};
use std::path::Path;
use std::str::FromStr;

/// A file format of networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Cost function networks with integer costs.
    Wcsp,
    /// Markov and Bayesian networks.
    Uai,
    /// Markov and Bayesian networks whose tables are natural logarithms.
    Lg,
    /// Graphs to color.
    Col,
    /// Cost function networks in toulbar2's JSON.
    Cfn,
    /// Bayesian networks with names.
    Bif,
    /// Bayesian networks in XML.
    XmlBif,
    /// Bayesian networks of Hugin.
    Net,
    /// Bayesian networks of GeNIe.
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
    /// Weighted graphs for maximum cut.
    Rud,
    /// Graphs for maximum cut, as Matrix Market matrices.
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
    /// Networks in a compact binary form.
    Fangs,
}

/// An entry of the list of formats.
pub struct FormatInfo {
    /// The format.
    pub format: Format,
    /// The format's name, which is also its file extension, case-insensitive.
    pub name: &'static str,
    /// The format's contents, in a few words.
    pub about: &'static str,
    /// Whether networks of the format are maximised; `None` if each file states it.
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

    /// Returns whether networks can be written in the format.
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
    FormatInfo::new(Format::Fangs, "fangs", "any network, in a compact binary form", binary::read)
        .maximises(None)
        .writes(binary::write),
];

/// Alternative file extensions of some formats.
const ALIASES: [(&str, Format); 2] = [("yml", Format::Yaml), ("bifxml", Format::XmlBif)];

/// Names that are not network formats, with the reason.
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
    /// Returns the format's entry in the list of formats.
    pub fn info(self) -> &'static FormatInfo {
        &FORMATS[self as usize]
    }

    /// Returns the format of a file by its name.
    ///
    /// # Errors
    /// Returns an error if there is no extension, or one of an unknown format; the message lists the known ones.
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
            return Ok(Format::Cap); // the OR-Library uses such names
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

    /// Returns the format of a file to be written by its name.
    ///
    /// # Errors
    /// Returns an error if there is no extension, or one of a format that cannot be written; the message lists those
    /// that can.
    pub fn written_to(path: &Path) -> Result<Self, Error> {
        let known = Format::of_path(path).ok();
        known.filter(|format| format.info().is_written()).ok_or_else(|| {
            let (file, written) = (shown(path), written());
            let found = known
                .map_or("no format that is written".into(), |format| format!(".{} is not written", format.info().name));
            Error::Usage(format!("{file}: {found}; {written}; --to NAME says it where the name does not"))
        })
    }

    /// Returns the format with this name, which must be one that can be written.
    ///
    /// # Errors
    /// Returns an error if the format is unknown or cannot be written; the message lists those that can.
    pub fn written_as(name: &str) -> Result<Self, Error> {
        let known = name.parse().ok().filter(|format: &Format| format.info().is_written());
        let unknown = || Error::Usage(format!("no format that is written: `{}`; {}", name.escape_debug(), written()));
        known.ok_or_else(unknown)
    }
}

impl Format {
    /// Returns the format revealed by the beginning of a text: `.bif` and `.xml` are also extensions of XMLBIF.
    pub(super) fn of_text(self, tokens: &mut Tokens<'_>) -> Result<Self, Error> {
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

/// Returns names as file extensions, separated by blanks.
fn endings<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!(".{name}")).collect::<Vec<_>>().join(" ")
}

fn known_formats() -> String {
    let formats = endings(FORMATS.iter().map(|info| info.name));
    format!("read are {formats}, each also with {}", endings(compressed_extensions()))
}

/// Returns a list of the formats that can be written, for messages.
pub fn written() -> String {
    let written = FORMATS.iter().filter(|info| info.is_written());
    format!("written are {}", endings(written.map(|info| info.name)))
}

/// A file format of decision problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionFormat {
    /// Influence diagrams as `.uai` with `.id` and `.pvo` files.
    Diagram,
    /// Influence diagrams as `.bifxml` of pyAgrum.
    Bifxml,
    /// Influence diagrams as `.xdsl` of GeNIe.
    Xdsl,
    /// POMDPs as `.POMDP` and `.dpomdp`.
    Pomdp,
    /// Interactive dynamic influence diagrams as `.idid`.
    Idid,
}

/// Every file extension of decision problems, case-insensitive.
const DECISIONS: [(&str, DecisionFormat); 7] = [
    ("uai", DecisionFormat::Diagram),
    ("id", DecisionFormat::Diagram),
    ("bifxml", DecisionFormat::Bifxml),
    ("xdsl", DecisionFormat::Xdsl),
    ("pomdp", DecisionFormat::Pomdp),
    ("dpomdp", DecisionFormat::Pomdp),
    ("idid", DecisionFormat::Idid),
];

impl DecisionFormat {
    /// Returns the format of a file by its name.
    ///
    /// # Errors
    /// Returns an error if there is no extension, or an unknown one; the message lists the known ones.
    pub fn of_path(path: &Path) -> Result<Self, Error> {
        let extension = |path: &Path| path.extension().map(|e| e.to_string_lossy().into_owned());
        let mut inner = extension(path);
        if inner.as_deref().is_some_and(input::is_compressed_extension) {
            inner = extension(Path::new(path.file_stem().unwrap_or_default()));
        }
        inner.unwrap_or_default().parse().map_err(|error: Error| {
            let missing = if path.exists() { "" } else { "no such file, and " };
            let hint = "--format NAME says it where the name does not";
            Error::Usage(format!("{}: {missing}{error}; {hint}", shown(path)))
        })
    }

    /// Returns the format with this extension; `None` if it is unknown.
    fn called(name: &str) -> Option<Self> {
        DECISIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|&(_, format)| format)
    }
}

impl FromStr for DecisionFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        DecisionFormat::called(name).ok_or_else(|| {
            let what = match name.parse::<Format>() {
                Ok(format) => format!("the format {} has a network, which `fangs solve` reads", format.info().name),
                Err(_) if name.is_empty() => "no format extension".into(),
                Err(_) => format!("unknown format `{}`", name.escape_debug()),
            };
            let list = ".uai (with .id and .pvo), .bifxml, .xdsl, .POMDP, .dpomdp, .idid";
            Error::Usage(format!("{what}; decided are {list}"))
        })
    }
}

/// Reads a network. If `format` is `None`, the format follows from the file's name; standard input needs a format.
/// [`Network::warnings`] reports suspicious input.
///
/// # Errors
/// Returns an error if the file cannot be read or parsed, with file, line and column if they are known, and
/// [`Error::Stopped`] or [`Error::Waiting`] if `stop` is set.
pub fn read(source: &Source, format: Option<Format>, options: &ReadOptions, stop: &Stop) -> Result<Network, Error> {
    read_as(format_of(source, format)?, read_tokens(source, stop)?, options)
}

/// Reads the part of a network in binary form that one of several processes holds: all variables, and the functions of
/// the part. The file is read twice, so that no process ever holds the tables of another part.
///
/// # Errors
/// As [`read`]; [`Error::Usage`] for other formats and for networks with global functions or numbers of their own.
pub fn read_share(source: &Source, format: Format, share: Share, stop: &Stop) -> Result<Network, Error> {
    match (format, source) {
        (Format::Fangs, Source::File(_)) => {
            let originals = binary::originals(&mut read_tokens(source, stop)?)?;
            binary::read_share(&mut read_tokens(source, stop)?, share, originals)
        }
        _ => Err(Error::Usage(format!(
            "{source}: a network is read in parts from a .fangs file; `fangs convert` writes one"
        ))),
    }
}

/// Returns `format` or, if it is `None`, the format of the file's name.
pub(super) fn format_of(source: &Source, format: Option<Format>) -> Result<Format, Error> {
    match (format, source) {
        (Some(format), _) => Ok(format),
        (None, Source::File(path)) => Format::of_path(path),
        (None, Source::Stdin) => Err(Error::Usage(format!("standard input needs --format; {}", known_formats()))),
    }
}

/// Reads a network from a stream of bytes, compressed or not; `name` names it in messages.
///
/// # Errors
/// Returns an error if the stream cannot be read or parsed, and [`Error::Stopped`] or [`Error::Waiting`] if `stop` is
/// set.
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

pub(super) fn read_as(format: Format, mut tokens: Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let format = format.of_text(&mut tokens)?;
    let mut network = (format.info().read)(&mut tokens, options)?;
    network.warn(tokens.take_warnings());
    Ok(network)
}

/// Writes a network in a format. Parts that do not affect costs, such as names and agents, are lost if the format
/// cannot hold them. On an error, `out` may hold an incomplete file.
///
/// # Errors
/// Returns errors of writing to `out`, [`io::ErrorKind::InvalidInput`] with the reason if the format cannot express the
/// network, and [`io::ErrorKind::Unsupported`] if the format cannot be written.
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

/// Reads a problem whose sections are in several YAML files, as in pyDCOP: each section in one of them.
///
/// # Errors
/// Returns an error if a file cannot be read or parsed, if two files have the same section, or if `stop` is set.
pub fn read_parts(sources: &[Source], options: &ReadOptions, stop: &Stop) -> Result<Network, Error> {
    let [first, others @ ..] = sources else { return Err(Error::Usage("no file is named".into())) };
    let mut tokens = read_tokens(first, stop)?;
    let mut texts = vec![tokens.text()?];
    for source in others {
        texts.push(read_tokens(source, stop)?.text()?);
    }
    let mut network = dcop::read_yaml_parts(&texts, options, &mut tokens)?;
    network.warn(tokens.take_warnings());
    Ok(network)
}

/// Reads a `.col` graph, to find its chromatic number.
///
/// # Errors
/// Returns an error if the file cannot be read or parsed, and [`Error::Stopped`] or [`Error::Waiting`] if `stop` is
/// set.
pub fn read_graph(source: &Source, stop: &Stop) -> Result<Graph, Error> {
    col::read_graph(&mut read_tokens(source, stop)?)
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
