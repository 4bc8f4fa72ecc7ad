//! Distributed problems: the YAML of pyDCOP, the XML of FRODO.

mod draft;
mod pydcop;
mod python;
mod xcsp;
mod yaml;

pub(super) use pydcop::read as read_yaml;
pub(super) use xcsp::read as read_xml;
