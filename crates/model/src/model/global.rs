//! Global cost functions: functions of many variables that a few parameters describe in place of a table.

use super::{Cost, CostFunction, FORBIDDEN, Network, Table};
use std::sync::Arc;

/// A global cost function of a network.
#[derive(Clone, Debug)]
pub struct Global {
    /// The variables it reads, all different.
    pub scope: Box<[u32]>,
    /// Its keyword in the file.
    pub keyword: Box<str>,
    /// What it computes.
    pub kind: GlobalKind,
    /// A cost from here on is forbidden: `top` in `.wcsp`, [`FORBIDDEN`] elsewhere.
    pub limit: Cost,
}

/// What global cost functions compute of the values of their scope, x0 to x(n-1).
#[derive(Clone, Debug)]
pub enum GlobalKind {
    /// A price for how far a sum of weights is from where it should be.
    Linear(Linear),
    /// A price for each pair of equal values.
    EqualPairs {
        /// The price of a pair.
        price: Cost,
    },
    /// Prices for how far the numbers of variables that have certain values are from their bounds.
    Counting(Counting),
    /// Prices for how far the numbers of two groups of variables that have each value differ.
    Same(Same),
    /// A price for how far the number of positions in the first half of the scope that have the value, not 0, of their
    /// counterpart in the second half is from where it should be.
    Overlap {
        /// Where the number should be.
        target: Target,
        /// The price of being away from it.
        price: Price,
    },
    /// The least cost of a path of a finite automaton that the values label.
    Regular(Automaton),
    /// The least cost of deriving the values from a grammar.
    Grammar(Grammar),
    /// The largest of the costs that the values have.
    Max {
        /// The cost of each value of each variable.
        costs: Vec<Vec<Cost>>,
    },
    /// 0 where the values are the parents of one tree, the root being its own; forbidden otherwise.
    Tree,
    /// A function of two numbers.
    Arithmetic(Arithmetic),
    /// 0 where the cost of a network of its own lies within bounds, forbidden otherwise.
    Nested {
        /// The network, whose variables are those of the scope.
        network: Arc<Network>,
        /// The least cost allowed.
        low: Cost,
        /// Costs from here on are not allowed.
        high: Cost,
    },
}

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

/// A function of a network, in the order of its file.
#[derive(Clone, Copy, Debug)]
pub enum Function<'a> {
    /// One with a table.
    Table(&'a CostFunction),
    /// A global one.
    Global(&'a Global),
}

impl<'a> Function<'a> {
    /// The variables it reads.
    pub fn scope(self) -> &'a [u32] {
        match self {
            Function::Table(function) => &function.scope,
            Function::Global(global) => &global.scope,
        }
    }
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

/// The global functions of a network, and the network of tables that stands for it where it is searched.
#[derive(Clone, Debug)]
pub(super) struct Globals {
    /// With the number of functions before them in the file.
    pub functions: Vec<(u32, Global)>,
    /// The variables of the network and the added ones; its tables and the parts.
    pub expanded: Network,
    /// The parts of each function that adds variables: places of tables in `expanded`, in the order of their chain.
    pub chains: Vec<Vec<u32>>,
    /// The places in `expanded` of the parts of each function.
    pub parts: Vec<std::ops::Range<usize>>,
    /// Whether parts of some function only bound its cost from below.
    pub relaxed: bool,
}

impl Globals {
    /// An assignment of the expanded network from one of the network: added variables take their best values.
    pub fn extend(&self, assignment: &[u32], variables: usize) -> Vec<u32> {
        let mut extended = assignment.to_vec();
        extended.resize(self.expanded.domains().len(), 0);
        for chain in &self.chains {
            self.best_path(chain, variables, &mut extended);
        }
        extended
    }

    /// The states of a chain of tables, each of a state before, own variables, and a state after, by dynamic
    /// programming.
    fn best_path(&self, chain: &[u32], variables: usize, values: &mut [u32]) {
        // for each table the least cost to each state after it, and the state before
        let mut layers: Vec<Vec<(Cost, u32)>> = Vec::new();
        let is_added = |v: u32| v as usize >= variables;
        for &place in chain {
            let function = &self.expanded.functions()[place as usize];
            let Table::Sparse(table) = &function.table else { return };
            let (before, after) = (is_added(function.scope[0]), function.scope.last().is_some_and(|&v| is_added(v)));
            let states =
                if after { self.expanded.domains()[function.scope[function.scope.len() - 1] as usize] } else { 1 };
            let mut layer = vec![(FORBIDDEN, 0); states as usize];
            for (tuple, cost) in table.iter() {
                let own = function.scope.iter().zip(tuple).filter(|(v, _)| !is_added(**v));
                if own.into_iter().any(|(&v, &value)| values[v as usize] != value) {
                    continue;
                }
                let from = if before { tuple[0] } else { 0 };
                let to = if after { tuple[tuple.len() - 1] } else { 0 };
                let so_far = if before { layers.last().map_or(0, |layer| layer[from as usize].0) } else { 0 };
                let cost = super::add(so_far, cost);
                if cost < layer[to as usize].0 {
                    layer[to as usize] = (cost, from);
                }
            }
            layers.push(layer);
        }
        let mut state = 0;
        for (&place, layer) in chain.iter().zip(&layers).rev() {
            let scope = &self.expanded.functions()[place as usize].scope;
            if let Some(&last) = scope.last().filter(|&&v| is_added(v)) {
                values[last as usize] = state;
            }
            state = layer[state as usize].1;
        }
    }
}
