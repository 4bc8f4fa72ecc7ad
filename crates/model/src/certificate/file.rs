//! Certificates as text: one line of JSON, then the SHA-256 of that line, so that a changed digit is noticed.

use super::{Branch, Certificate, FORMAT, ReadAs, Solution};
use crate::error::Error;
use crate::model::{Cost, Network, Table};
use crate::stop::Stop;
use crate::{files, memory};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use std::path::Path;

impl Certificate {
    /// A certificate for a network.
    pub fn new(network: &Network, bound: Cost, solution: Option<Solution>, proof: Branch) -> Self {
        let (format, instance) = (FORMAT.into(), network.name.clone());
        Certificate { format, instance, network: digest(network), reading: ReadAs::of(network), bound, solution, proof }
    }

    /// Whether a network's bounds have certificates: what stands for global functions is not part of them.
    ///
    /// # Errors
    /// [`Error::Usage`] for networks with global cost functions.
    pub fn must_suit(network: &Network) -> Result<(), Error> {
        match network.globals().len() {
            0 => Ok(()),
            _ => Err(Error::Usage("there is no certificate of a network with global cost functions".into())),
        }
    }

    /// The text of the file.
    ///
    /// # Errors
    /// None is known, except what serialising may report.
    pub fn to_text(&self) -> Result<String, Error> {
        let body = serde_json::to_string(self).map_err(|error| Error::Internal(format!("certificate: {error}")))?;
        Ok(files::sealed(&body))
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// What is missing, changed or malformed.
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

    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read or takes more than a quarter of free memory, as its contents take about as much
    /// again; [`Error::Refused`] with the fault; [`Error::Waiting`] where `stop` is set before a pipe is at its end.
    pub fn read(path: &Path, stop: &Stop) -> Result<Self, Error> {
        Certificate::from_text(&files::read_text(path, memory::available() / 4, stop)?)
    }
}

/// The SHA-256 of a network as it was read: variables, tables, top and units. Neither names nor the way a file is
/// compressed or laid out matter. A table counts by its own SHA-256, so that one that functions share is read once.
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
