//! An elimination order and its size.

use crate::error::Error;

/// Rules for the next variable to eliminate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Fewest edges to add between its neighbours.
    MinFill,
    /// Fewest edges to add, an edge counting the product of its ends' domain sizes.
    WeightedMinFill,
    /// Fewest neighbours.
    MinDegree,
    /// Sweep: the neighbour of the eliminated ones that adds the fewest others.
    Sweep,
}

impl Method {
    /// All methods with their names.
    pub const ALL: [(&'static str, Method); 4] = [
        ("min-fill", Method::MinFill),
        ("weighted-min-fill", Method::WeightedMinFill),
        ("min-degree", Method::MinDegree),
        ("sweep", Method::Sweep),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

/// An elimination order and the size of bucket elimination along it.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The variables, the first eliminated first.
    pub sequence: Vec<u32>,
    /// The rule that made it, if any.
    pub method: Option<Method>,
    /// Induced width: most neighbours that a variable has when it is eliminated. Only an upper bound
    /// where `joint_entries` is infinite.
    pub width: u32,
    /// Sum over all buckets of the number of value combinations of the variable and its neighbours.
    /// Infinite where counting was given up because the graph fills in beyond any use.
    pub joint_entries: f64,
    /// Entries of the largest message: value combinations of the neighbours of one variable.
    pub largest: f64,
}

impl Order {
    /// Reads the variable indices of an order file: separated by blanks, `#` starts a comment.
    ///
    /// # Errors
    /// A word that is not a variable index.
    pub fn parse_sequence(text: &str) -> Result<Vec<u32>, Error> {
        let words = text.lines().flat_map(|line| line.split('#').next().unwrap_or("").split_whitespace());
        words
            .enumerate()
            .map(|(place, word)| {
                let message = |_| {
                    Error::Usage(format!("order: entry {} is {word:?}, expected the index of a variable", place + 1))
                };
                word.parse::<u32>().map_err(message)
            })
            .collect()
    }

    /// The given sequence, or an arbitrary one, without its size: the result once the flag is set.
    pub(super) fn uncounted(sequence: Option<&[u32]>, variables: usize) -> Order {
        Order {
            sequence: sequence.map_or_else(|| (0..variables as u32).collect(), <[u32]>::to_vec),
            method: None,
            // each may neighbour all remaining ones
            width: variables.saturating_sub(1) as u32,
            joint_entries: f64::INFINITY,
            largest: f64::INFINITY,
        }
    }

    /// Whether one order is cheaper than another.
    pub(super) fn rank(&self) -> (f64, u32) {
        (self.joint_entries, self.width)
    }
}
