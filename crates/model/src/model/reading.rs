//! The numbers of a file, where a network's costs are rounded logarithms of them.

use std::sync::Arc;

/// The origin of a network's costs, so that values can be computed from the file's own numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The kind of the numbers.
    pub scale: Scale,
    /// The entries of each function; later functions (evidence) have only their tables.
    pub functions: Vec<Arc<Numbers>>,
    /// The number of digits asked for.
    pub precision: Option<u32>,
    /// The witness, where the network forbids entries that the file allows: an assignment that is better than any with
    /// such an entry, whatever the other functions cost.
    pub witness: Option<Box<[u32]>>,
}

/// The kinds of a file's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Potentials p, costs -ln p.
    Potentials,
    /// Natural logarithms of potentials, costs their negatives.
    Logarithms,
}

/// The entries of a function in the order of its dense table.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    doubles: Box<[f64]>,
    /// The exact numbers where a double is infinite, or has lost digits to underflow.
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

/// A number of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stated {
    /// One that a double holds to its full precision, or an infinity that the file names.
    Double(f64),
    /// One that is too small or too large for a double.
    Decimal(Decimal),
}

impl Numbers {
    /// The entries of a function: doubles, and decimals (ascending) in place of some of them.
    pub fn new(doubles: Vec<f64>, decimals: Vec<(usize, Decimal)>) -> Self {
        Numbers { doubles: doubles.into(), decimals: decimals.into() }
    }

    /// The entries of a function as they are stated.
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

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.doubles.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.doubles.is_empty()
    }

    /// The entries as doubles; those replaced by decimals are meaningless.
    pub fn doubles(&self) -> &[f64] {
        &self.doubles
    }

    /// All entries as doubles, where none is out of their range.
    pub fn as_doubles(&self) -> Option<&[f64]> {
        self.decimals.is_empty().then_some(&self.doubles)
    }

    /// An entry.
    pub fn get(&self, index: usize) -> Stated {
        match self.decimals.binary_search_by_key(&index, |&(at, _)| at) {
            Ok(place) => Stated::Decimal(self.decimals[place].1),
            Err(_) => Stated::Double(self.doubles[index]),
        }
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = Stated> {
        let mut decimals = self.decimals.iter().peekable();
        self.doubles.iter().enumerate().map(move |(index, &double)| match decimals.next_if(|&&(at, _)| at == index) {
            Some(&(_, decimal)) => Stated::Decimal(decimal),
            None => Stated::Double(double),
        })
    }
}
