//! Reading and writing of networks and solutions, and reading of evidence. `docs/formats.md` describes the formats.
//!
//! A new format needs a file with a `read` function, optionally a `write` function, and an entry in [`FORMATS`].

mod bayes;
mod bif;
mod binary;
mod cfn;
mod clauses;
mod col;
mod cost_units;
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
mod list;
mod names;
mod options;
mod pedigree;
mod photographs;
mod pomdp;
mod potential_costs;
mod potentials;
mod pseudo_boolean;
mod qaplib;
mod quadratic;
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

// modules of other crates, under the names that they have in every crate
use fangs_base::{error, files, memory, rng, stop, terminal, text};
use fangs_check as check;
#[cfg(test)]
use fangs_generate as generate;
use fangs_model::{globals, model};

pub use decision::{Decision, read_decision, read_policy};
pub use evidence::{Evidence, read_evidence, read_variables, variables_named};
pub use fangs_model::coloring::Graph;
pub use id::{Parts as DiagramParts, parse_diagram, read_diagram};
pub use idid::{parse_idid, read_idid};
pub use input::{Source, compressed_extensions};
pub use list::{DecisionFormat, FORMATS, Format, FormatInfo};
pub use list::{read, read_from, read_graph, read_parts, read_share, write, written};
pub use names::Named;
pub use options::{ReadOptions, Vartype};
pub use pomdp::{parse_pomdp, read_pomdp};
pub use potentials::{potentials_of, read_potentials, read_potentials_from};
pub use solution::{SolutionFormat, read_solution, read_start, write_solution};
pub use uai::observe;
pub(crate) use writing::may_reach_top;
