//! The numbers of a file whose network has rounded logarithms of them as costs.

use std::sync::Arc;

/// The origin of a network's costs, so that the value of an assignment can be computed from the file's own numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The kind of the file's numbers.
    pub scale: Scale,
    /// The entries of each function; functions added later (evidence) have only their tables.
    pub functions: Vec<Arc<Numbers>>,
    /// The requested number of decimal digits; `None` if none was requested.
    pub precision: Option<u32>,
    /// An assignment that is better than every assignment with an entry that the file allows and the network forbids,
    /// whatever the other functions cost; `None` if the network forbids no such entry.
    pub witness: Option<Box<[u32]>>,
}

/// The kind of a file's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Potentials p, with costs -ln p.
    Potentials,
    /// Natural logarithms of potentials, whose negatives are the costs.
    Logarithms,
}

/// The entries of a function in the order of its dense table.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    doubles: Box<[f64]>,
    /// The exact numbers at indices whose double would overflow or lose digits to underflow.
    decimals: Box<[(usize, Decimal)]>,
}

/// A positive number: `digits` times ten to the power of `exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// The leading digits, not 0; at most 19 are kept.
    pub digits: u64,
    /// The power of ten.
    pub exponent: i64,
}

/// A number as a file states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stated {
    /// A number that a double holds to its full precision, or an infinity that the file names.
    Double(f64),
    /// A number that is too small or too large for a double.
    Decimal(Decimal),
}

impl Numbers {
    /// Makes the entries of a function from doubles and decimals (ascending) that replace some of them.
    pub fn new(doubles: Vec<f64>, decimals: Vec<(usize, Decimal)>) -> Self {
        Numbers { doubles: doubles.into(), decimals: decimals.into() }
    }

    /// Makes the entries of a function from its numbers as stated.
    pub fn of(stated: impl IntoIterator<Item = Stated>) -> Self {
        let (mut doubles, mut decimals) = (Vec::new(), Vec::new());
        for (index, stated) in stated.into_iter().enumerate() {
            match stated {
                Stated::Double(double) => doubles.push(double),
                Stated::Decimal(decimal) => {
                    doubles.push(f64::NAN);
                    decimals.push((index, decimal));
                }
            }
        }
        Numbers::new(doubles, decimals)
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.doubles.len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.doubles.is_empty()
    }

    /// Returns the entries as doubles; those replaced by decimals are meaningless.
    pub fn doubles(&self) -> &[f64] {
        &self.doubles
    }

    /// Returns all entries as doubles; `None` if one is outside their range.
    pub fn as_doubles(&self) -> Option<&[f64]> {
        self.decimals.is_empty().then_some(&self.doubles)
    }

    /// Returns an entry.
    pub fn get(&self, index: usize) -> Stated {
        match self.decimals.binary_search_by_key(&index, |&(at, _)| at) {
            Ok(place) => Stated::Decimal(self.decimals[place].1),
            Err(_) => Stated::Double(self.doubles[index]),
        }
    }

    /// Iterates over all entries.
    pub fn iter(&self) -> impl Iterator<Item = Stated> {
        let mut decimals = self.decimals.iter().peekable();
        self.doubles.iter().enumerate().map(move |(index, &double)| match decimals.next_if(|&&(at, _)| at == index) {
            Some(&(_, decimal)) => Stated::Decimal(decimal),
            None => Stated::Double(double),
        })
    }
}
