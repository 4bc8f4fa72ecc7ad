//! Descriptions of global cost functions, and the tables into which they are decomposed.

use super::{Cost, FORBIDDEN, Table};

/// The price of a deviation g from a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// The base price c, at least 0; [`FORBIDDEN`] forbids deviations.
    pub cost: Cost,
    /// How the price grows with g.
    pub measure: Measure,
}

/// How a price c grows with the deviation g.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The price is c if g is not 0.
    Hard,
    /// The price is c times g.
    Linear,
    /// The price is c times the square of g.
    Quadratic,
}

impl Price {
    /// The price that forbids any deviation.
    pub const HARD: Price = Price { cost: FORBIDDEN, measure: Measure::Hard };
}

/// The target of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The interval between both numbers, inclusive; the deviation is the distance to it.
    Within(i64, i64),
    /// Any other number; the deviation of this one is 1.
    Not(i64),
}

/// A weighted sum, priced by its deviation from a target.
#[derive(Clone, Debug)]
pub struct Linear {
    /// The weight of each value of each variable.
    pub weights: Vec<Vec<i64>>,
    /// The target of the sum.
    pub target: Target,
    /// The price of deviating from the target.
    pub price: Price,
    /// Sets of pairs of a position of the scope and a value; an assignment may contain at most one pair of each set.
    pub at_most_one: Vec<Vec<(u32, u32)>>,
}

/// Bounds on the numbers of variables that take certain values (a global cardinality constraint).
#[derive(Clone, Debug)]
pub struct Counting {
    /// The values with bounds, each once.
    pub bounds: Vec<ValueCount>,
    /// The price of violating the bounds.
    pub cost: CountCost,
    /// For each variable, the number that each of its values counts as; `None` if values count as themselves.
    pub classes: Option<Vec<Vec<u32>>>,
}

/// Bounds on the number of variables that take a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueCount {
    /// The value.
    pub value: u32,
    /// The least number of variables that should take the value.
    pub low: i64,
    /// The largest number of variables that should take the value.
    pub high: i64,
}

/// The price of counts outside of their bounds: below by `short`, or above by `excess`.
#[derive(Clone, Debug)]
pub enum CountCost {
    /// A price of `short + excess`, for each value.
    Each(Price),
    /// A cost times the larger of the sum of all `short` and the sum of all `excess`. Forbidden if no assignment,
    /// whatever its values, meets all bounds.
    Larger(Cost),
    /// Two costs for each value, times `short` and times `excess`.
    Weighted(Vec<(Cost, Cost)>),
}

/// Two groups of variables that should take each value equally often.
#[derive(Clone, Debug)]
pub struct Same {
    /// The left group, as positions of the scope.
    pub left: Vec<u32>,
    /// The right group, as positions of the scope.
    pub right: Vec<u32>,
    /// Whether a value counts only if the left group takes it more often.
    pub one_sided: bool,
    /// The price, for each value, of the difference of its numbers in both groups.
    pub price: Price,
    /// Bounds on the numbers in each group, at the price of `price` each.
    pub bounds: Vec<ValueCount>,
}

/// A weighted finite automaton.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// Number of states.
    pub states: u32,
    /// Initial states and their costs.
    pub starts: Vec<(u32, Cost)>,
    /// Final states and their costs.
    pub ends: Vec<(u32, Cost)>,
    /// Transitions: state before, value, state after, cost.
    pub transitions: Vec<(u32, u32, u32, Cost)>,
    /// How the values may deviate from an accepted word, and at which cost.
    pub repair: Repair,
}

/// The edits that may turn the values into a word of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// None.
    None,
    /// Substitutions, each at this cost.
    Substitute(Cost),
    /// Substitutions, deletions and insertions, each at this cost.
    Edit(Cost),
}

/// A weighted context-free grammar in Chomsky normal form.
#[derive(Clone, Debug)]
pub struct Grammar {
    /// Number of symbols.
    pub symbols: u32,
    /// The start symbol.
    pub start: u32,
    /// Terminal rules: symbol, value, cost.
    pub terminals: Vec<(u32, u32, Cost)>,
    /// Binary rules: symbol, the two symbols that replace it, cost.
    pub pairs: Vec<(u32, u32, u32, Cost)>,
    /// The cost of substituting a letter; `None` if substitutions are not possible.
    pub substitute: Option<Cost>,
}

/// Functions of the values x and y of two variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// max(0, y + shift - x), forbidden above `most`.
    AtLeast {
        /// What is added to y.
        shift: i64,
        /// The largest feasible cost.
        most: i64,
    },
    /// max(0, x - shift - y), forbidden above `most`.
    AtMost {
        /// What is added to y.
        shift: i64,
        /// The largest feasible cost.
        most: i64,
    },
    /// |y + shift - x|, forbidden above `most`.
    Equal {
        /// What is added to y.
        shift: i64,
        /// The largest feasible cost.
        most: i64,
    },
    /// 0 if x >= y + `after_y` or y >= x + `after_x`, else `cost`.
    Apart {
        /// The least distance if y follows x.
        after_x: i64,
        /// The least distance if x follows y.
        after_y: i64,
        /// The cost if neither holds.
        cost: Cost,
    },
    /// Forbidden if x > `most.0` or y > `most.1`, or if both are smaller and neither x >= y + `after_y` nor y >= x +
    /// `after_x`. Otherwise the sum of `costs.0` if x = `most.0` and of `costs.1` if y = `most.1`.
    ApartUnless {
        /// The least distance if y follows x.
        after_x: i64,
        /// The least distance if x follows y.
        after_y: i64,
        /// The largest values, which stand for "not scheduled".
        most: (i64, i64),
        /// The costs of the largest values.
        costs: (Cost, Cost),
    },
}

/// The decomposition of a global function: tables over its variables and added ones, whose costs total that of the
/// function when the added variables take their best values.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// Domain sizes of the added variables.
    pub added: Vec<u32>,
    /// Tables and the variables that each reads.
    pub tables: Vec<(Vec<Part>, Table)>,
    /// Whether the parts may reach the limit by their sum although no single one does. Their tables then do not forbid
    /// this.
    pub sums: bool,
    /// Whether the tables give only a lower bound on the cost of the function.
    pub relaxed: bool,
}

/// A variable in the scope of a table of [`Parts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A variable of the network.
    Own(u32),
    /// An added variable, by its index in [`Parts::added`].
    Added(u32),
}
