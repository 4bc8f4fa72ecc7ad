//! An elimination order and its size.

use crate::error::Error;

/// A rule for the next variable to eliminate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// The variable with the fewest edges to add between its neighbours.
    MinFill,
    /// The variable with the least weight of edges to add, an edge weighing the product of its ends' domain sizes.
    WeightedMinFill,
    /// The variable with the fewest neighbours.
    MinDegree,
    /// Sweep: the neighbour of the eliminated variables that adds the fewest others.
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

    /// Returns the name of the method.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

/// An elimination order and the size of bucket elimination along it.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The variables in the order of their elimination.
    pub sequence: Vec<u32>,
    /// The rule that made the order; `None` if no rule did.
    pub method: Option<Method>,
    /// Induced width: the largest number of neighbours that a variable has when it is eliminated. Only an upper bound
    /// if `joint_entries` is infinite.
    pub width: u32,
    /// Sum over all buckets of the number of combinations of the variable and its neighbours. Infinite if counting was
    /// given up because the graph became too dense.
    pub joint_entries: f64,
    /// Number of entries of the largest message, which is the number of combinations of the neighbours of one variable.
    pub largest: f64,
}

impl Order {
    /// Reads the variable indices of an order file, separated by blanks; `#` starts a comment.
    ///
    /// # Errors
    /// Returns an error if a word is not a variable index.
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

    /// Returns the given sequence, or else an arbitrary one, without its size, for a run whose stop flag is set.
    pub(super) fn uncounted(sequence: Option<&[u32]>, variables: usize) -> Order {
        Order {
            sequence: sequence.map_or_else(|| (0..variables as u32).collect(), <[u32]>::to_vec),
            method: None,
            // each variable may neighbour all remaining ones
            width: variables.saturating_sub(1) as u32,
            joint_entries: f64::INFINITY,
            largest: f64::INFINITY,
        }
    }

    /// Returns the key by which orders are compared; better orders have lesser keys.
    pub(super) fn rank(&self) -> (f64, u32) {
        (self.joint_entries, self.width)
    }
}
