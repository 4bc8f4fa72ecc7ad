//! Certificates as text: one line of JSON, and a line with the SHA-256 of the first, so that no digit changes unnoticed.

use super::{Branch, Certificate, FORMAT, ReadAs, Solution};
use crate::error::Error;
use crate::model::{Cost, Network, Table};
use crate::stop::Stop;
use crate::{files, memory};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::Path;

/// What the second line begins with.
const SEAL: &str = "sha256 ";

impl Certificate {
    /// A certificate for a network.
    pub fn new(network: &Network, bound: Cost, solution: Option<Solution>, proof: Branch) -> Self {
        let (format, instance) = (FORMAT.into(), network.name.clone());
        Certificate { format, instance, network: digest(network), reading: ReadAs::of(network), bound, solution, proof }
    }

    /// The text of the file.
    ///
    /// # Errors
    /// None that is known: what serialising may say.
    pub fn to_text(&self) -> Result<String, Error> {
        let body = serde_json::to_string(self).map_err(|error| Error::Internal(format!("certificate: {error}")))?;
        Ok(seal(&body))
    }

    /// Understands the text of a file.
    ///
    /// # Errors
    /// What is missing, changed or not understood.
    pub fn from_text(text: &str) -> Result<Self, Error> {
        let refused = |what: String| Error::Refused(what);
        let body = text.lines().next().unwrap_or_default();
        if text != seal(body) {
            let what = "its first line does not have the SHA-256 that the second states: it was changed or cut short";
            return Err(refused(what.into()));
        }
        let certificate: Certificate =
            serde_json::from_str(body).map_err(|error| refused(format!("column {}: {error}", error.column())))?;
        if certificate.format != FORMAT {
            return Err(refused(format!("its format is {:?}, this program reads {FORMAT:?}", certificate.format)));
        }
        Ok(certificate)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read or takes more than a quarter of free memory, as what it says takes about as much
    /// again; [`Error::Refused`] with what is wrong with it; [`Error::Waiting`] where `stop` is set before a pipe has
    /// said all.
    pub fn read(path: &Path, stop: &Stop) -> Result<Self, Error> {
        Certificate::from_text(&files::read_text(path, memory::available() / 4, stop)?)
    }
}

/// The SHA-256 of a network as it was read: variables, tables, top and units. Neither names nor the way a file is compressed
/// or laid out matter.
pub fn digest(network: &Network) -> String {
    let mut hasher = Sha256::new();
    let mut number = |n: i64| hasher.update(n.to_le_bytes());
    let units = network.units();
    number(network.top());
    number(units.decimals.into());
    number(units.maximise.into());
    number(units.rounded as i64);
    number(network.domains().len() as i64);
    network.domains().iter().for_each(|&domain| number(domain.into()));
    number(network.functions().len() as i64);
    for function in network.functions() {
        number(function.scope.len() as i64);
        function.scope.iter().for_each(|&v| number(v.into()));
        match &function.table {
            Table::Dense(costs) => {
                number(0);
                costs.iter().for_each(|&cost| number(cost));
            }
            Table::Sparse(table) => {
                number(1);
                number(table.default_cost());
                number(table.len() as i64);
                table.tuples().iter().for_each(|&value| number(value.into()));
                table.costs().iter().for_each(|&cost| number(cost));
            }
        }
    }
    hex(hasher.finalize())
}

/// A first line and what comes after it.
pub(crate) fn seal(body: &str) -> String {
    format!("{body}\n{SEAL}{}\n", hex(Sha256::digest(body)))
}

fn hex(digest: impl AsRef<[u8]>) -> String {
    let mut text = String::new();
    for byte in digest.as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
