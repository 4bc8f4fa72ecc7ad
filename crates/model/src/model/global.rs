//! What describes global cost functions, in place of tables, and the tables that they become.

use super::{Cost, FORBIDDEN, Table};

/// What being off by some amount g costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// The price c, at least 0; [`FORBIDDEN`] forbids.
    pub cost: Cost,
    /// How it grows with the amount.
    pub measure: Measure,
}

/// How a price c grows with the amount g by which something is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// c, once g is not 0.
    Hard,
    /// c times g.
    Linear,
    /// c times the square of g.
    Quadratic,
}

impl Price {
    /// Forbids whatever is off.
    pub const HARD: Price = Price { cost: FORBIDDEN, measure: Measure::Hard };
}

/// Where a number should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// From the first to the second, both included; it is off by its distance to them.
    Within(i64, i64),
    /// Anywhere but here; it is off by 1 here.
    Not(i64),
}

/// A sum of weights, one for each variable by its value.
#[derive(Clone, Debug)]
pub struct Linear {
    /// The weight of each value of each variable.
    pub weights: Vec<Vec<i64>>,
    /// Where the sum should be.
    pub target: Target,
    /// The price of being away from it.
    pub price: Price,
    /// Sets of pairs, a position of the scope and a value; of each set at most one may be in the assignment.
    pub at_most_one: Vec<Vec<(u32, u32)>>,
}

/// Bounds of the numbers of variables that have certain values.
#[derive(Clone, Debug)]
pub struct Counting {
    /// The values with bounds, each once.
    pub bounds: Vec<ValueCount>,
    /// What being outside of them costs.
    pub cost: CountCost,
    /// For each variable the number that each of its values counts as, where these are not the values themselves.
    pub classes: Option<Vec<Vec<u32>>>,
}

/// The bounds of a value's number of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueCount {
    /// The value.
    pub value: u32,
    /// At least so many variables should have it.
    pub low: i64,
    /// At most so many.
    pub high: i64,
}

/// What numbers of variables outside of their bounds cost: too few by `short`, too many by `excess`.
#[derive(Clone, Debug)]
pub enum CountCost {
    /// For each value the price of `short + excess`.
    Each(Price),
    /// The cost times the larger one of the sums of all `short` and of all `excess`. Forbidden where no assignment of
    /// any values meets all bounds.
    Larger(Cost),
    /// For each value its own costs, times `short` and times `excess`.
    Weighted(Vec<(Cost, Cost)>),
}

/// Two groups of variables that should have the same values.
#[derive(Clone, Debug)]
pub struct Same {
    /// Positions of the scope.
    pub left: Vec<u32>,
    /// Positions of the scope.
    pub right: Vec<u32>,
    /// Whether only what the left group has more often counts.
    pub one_sided: bool,
    /// The price, for each value, of the difference of both numbers.
    pub price: Price,
    /// Bounds of the numbers in each group, at the same price each.
    pub bounds: Vec<ValueCount>,
}

/// A finite automaton with costs.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// Number of states.
    pub states: u32,
    /// Where paths begin, at which cost.
    pub starts: Vec<(u32, Cost)>,
    /// Where they end, at which cost.
    pub ends: Vec<(u32, Cost)>,
    /// From, value, to, cost.
    pub transitions: Vec<(u32, u32, u32, Cost)>,
    /// What departing from the values costs, and how one may.
    pub repair: Repair,
}

/// How a word of a language may differ from the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Not at all.
    None,
    /// In its letters, at this cost each.
    Substitute(Cost),
    /// In letters, and by letters left out and put in, at this cost each.
    Edit(Cost),
}

/// A context-free grammar in Chomsky's normal form with costs.
#[derive(Clone, Debug)]
pub struct Grammar {
    /// Number of symbols.
    pub symbols: u32,
    /// The symbol that derives the whole.
    pub start: u32,
    /// Symbol, value, cost.
    pub terminals: Vec<(u32, u32, Cost)>,
    /// Symbol, the two that replace it, cost.
    pub pairs: Vec<(u32, u32, u32, Cost)>,
    /// The cost of a letter that differs from the value; `None` where none may.
    pub substitute: Option<Cost>,
}

/// Functions of two numbers x and y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// max(0, y + shift - x), forbidden above `most`.
    AtLeast {
        /// What is added to y.
        shift: i64,
        /// The largest cost allowed.
        most: i64,
    },
    /// max(0, x - shift - y), forbidden above `most`.
    AtMost {
        /// What is added to y.
        shift: i64,
        /// The largest cost allowed.
        most: i64,
    },
    /// |y + shift - x|, forbidden above `most`.
    Equal {
        /// What is added to y.
        shift: i64,
        /// The largest cost allowed.
        most: i64,
    },
    /// 0 where x >= y + `after_y` or y >= x + `after_x`, else `cost`.
    Apart {
        /// How far y is behind x.
        after_x: i64,
        /// How far x is behind y.
        after_y: i64,
        /// The cost otherwise.
        cost: Cost,
    },
    /// Forbidden where x > `most.0` or y > `most.1`, and where both are smaller and not apart as above; else `costs.0`
    /// where x = `most.0` plus `costs.1` where y = `most.1`.
    ApartUnless {
        /// How far y is behind x.
        after_x: i64,
        /// How far x is behind y.
        after_y: i64,
        /// The largest values, which stand for none.
        most: (i64, i64),
        /// Their costs.
        costs: (Cost, Cost),
    },
}

/// Tables that have the cost of a global function between them, once added variables take their best values.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// Domain sizes of the added variables.
    pub added: Vec<u32>,
    /// Tables and what they read.
    pub tables: Vec<(Vec<Part>, Table)>,
    /// Whether the parts may reach the limit together where none does alone: then they forbid nothing.
    pub sums: bool,
    /// Whether the tables only bound the cost of the function from below.
    pub relaxed: bool,
}

/// A variable of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// One of the network.
    Own(u32),
    /// An added one, by its place.
    Added(u32),
}
