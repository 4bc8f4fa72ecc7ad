//! Certificates as text files: one line of JSON, then the SHA-256 of that line, which reveals any change.

use super::{Branch, Certificate, FORMAT, ReadAs, Solution};
use crate::error::Error;
use crate::model::{Cost, Network, Table};
use crate::stop::Stop;
use crate::{files, memory};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use std::path::Path;

impl Certificate {
    /// Returns a certificate of `bound` for a network.
    pub fn new(network: &Network, bound: Cost, solution: Option<Solution>, proof: Branch) -> Self {
        let (format, instance) = (FORMAT.into(), network.name.clone());
        Certificate { format, instance, network: digest(network), reading: ReadAs::of(network), bound, solution, proof }
    }

    /// Checks that certificates can be written for a network. Global cost functions cannot be certified, because a
    /// certificate does not contain the tables that stand for them.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] for networks with global cost functions.
    pub fn must_suit(network: &Network) -> Result<(), Error> {
        match network.globals().len() {
            0 => Ok(()),
            _ => Err(Error::Usage("there is no certificate of a network with global cost functions".into())),
        }
    }

    /// Returns the text of the certificate's file.
    ///
    /// # Errors
    /// Returns [`Error::Internal`] if serialising fails.
    pub fn to_text(&self) -> Result<String, Error> {
        let body = serde_json::to_string(self).map_err(|error| Error::Internal(format!("certificate: {error}")))?;
        Ok(files::sealed(&body))
    }

    /// Parses the text of a certificate file.
    ///
    /// # Errors
    /// Returns [`Error::Refused`] with what is missing, changed or malformed.
    pub fn from_text(text: &str) -> Result<Self, Error> {
        let refused = |what: String| Error::Refused(what);
        let body = files::unsealed(text).map_err(|what| refused(what.into()))?;
        let certificate: Certificate =
            serde_json::from_str(body).map_err(|error| refused(format!("column {}: {error}", error.column())))?;
        if certificate.format != FORMAT {
            return Err(refused(format!("its format is {:?}, this program reads {FORMAT:?}", certificate.format)));
        }
        Ok(certificate)
    }

    /// Reads and parses a certificate file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or takes more than a quarter of free memory (its parsed contents
    /// take about as much again), [`Error::Refused`] with the fault if it is not a certificate, and [`Error::Waiting`]
    /// if `stop` is set before a pipe is at its end.
    pub fn read(path: &Path, stop: &Stop) -> Result<Self, Error> {
        Certificate::from_text(&files::read_text(path, memory::available() / 4, stop)?)
    }
}

/// Returns the SHA-256 of a network as read: variables, tables, top and units. Names and the compression or layout of
/// the file do not matter. A table enters by its own SHA-256, so a table that several functions share is hashed once.
pub fn digest(network: &Network) -> String {
    let mut hasher = Sha256::new();
    let units = network.units();
    let domains = network.domains();
    let numbers = [network.top(), units.decimals.into(), units.maximise.into(), units.rounded as i64];
    numbers.into_iter().for_each(|n| add(&mut hasher, n));
    add(&mut hasher, domains.len() as i64);
    domains.iter().for_each(|&domain| add(&mut hasher, domain.into()));
    add(&mut hasher, network.functions().len() as i64);
    let mut tables = FxHashMap::default();
    for function in network.functions() {
        add(&mut hasher, function.scope.len() as i64);
        function.scope.iter().for_each(|&v| add(&mut hasher, v.into()));
        hasher.update(tables.entry(function.table.address()).or_insert_with(|| digest_of_table(&function.table)));
    }
    files::hex(hasher.finalize())
}

fn digest_of_table(table: &Table) -> [u8; 32] {
    let mut hasher = Sha256::new();
    match table {
        Table::Dense(costs) => {
            add(&mut hasher, 0);
            costs.iter().for_each(|cost| add(&mut hasher, cost));
        }
        Table::Sparse(table) => {
            add(&mut hasher, 1);
            add(&mut hasher, table.default_cost());
            add(&mut hasher, table.len() as i64);
            table.tuples().iter().for_each(|&value| add(&mut hasher, value.into()));
            table.costs().iter().for_each(|&cost| add(&mut hasher, cost));
        }
    }
    hasher.finalize().into()
}

fn add(hasher: &mut Sha256, number: i64) {
    hasher.update(number.to_le_bytes());
}
