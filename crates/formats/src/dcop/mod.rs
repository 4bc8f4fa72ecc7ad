//! Formats of distributed problems: the YAML of pyDCOP and the XML of FRODO.

mod draft;
mod pydcop;
mod python;
#[cfg(test)]
mod tests;
mod write;
mod xcsp;
mod yaml;

pub(super) use pydcop::{read as read_yaml, read_parts as read_yaml_parts};
pub(super) use write::write as write_yaml;
pub(super) use xcsp::read as read_xml;
