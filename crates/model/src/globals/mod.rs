//! Global cost functions as tables, for all code that works on tables.
//!
//! A function that consists of forbidden or priced pairs becomes these pairs. A function whose scope has few
//! combinations becomes a single table. Any other becomes a chain: a finite automaton reads the variables one after the
//! other (`machine`), and variables added between them hold its states (Quimper and Walsh, "Global grammar
//! constraints", 2006; Allouche et al., "Tractability-preserving transformations of global cost functions", 2016). A
//! sum over the values becomes a chain for each value. A weighted sum whose chain would be too large becomes a smaller
//! chain with lower costs: the network is then relaxed, and only a search that evaluates the sums themselves (`sums`)
//! finds its solutions.
//!
//! `check` evaluates global functions by their formulas and shares no code with this module.

mod counters;
mod languages;
mod machine;
mod pairs;
pub mod sums;

use crate::error::{Error, ModelError};
use crate::model::{
    Arithmetic, Builder, Cost, CountCost, Counting, FORBIDDEN, Global, GlobalKind, Part, Parts, Same, Table, ValueCount,
};
use crate::stop::Stop;
use machine::{Layers, Machine};
use pairs::WHOLE_PAIR;

/// The number of combinations of values up to which a function becomes a single table: 8 MiB of costs.
const WHOLE: u64 = 1 << 20;
/// The number of combinations up to which a sum becomes a single table. It is smaller than [`WHOLE`] because chains of
/// sums have few states.
const WHOLE_SUM: u64 = 1 << 12;
/// The number of entries of all single tables of a network: 256 MiB of costs. Beyond it, functions become chains if
/// those are smaller.
const ENTRIES: u64 = 1 << 25;
/// The maximum number of transitions of a chain, whose tables take about 20 bytes for each.
const TRANSITIONS: usize = 1 << 22;
/// The maximum number of transitions of the chain of a weighted sum: about 1.5 GB.
const LONGEST: usize = 1 << 26;
/// The maximum number of different sums of an exact chain; a coarser chain replaces a longer one. Other values were not
/// tried.
const SUMS: usize = 256;

/// Converts global functions while a network is built, within limits on the total size of their tables.
#[derive(Debug)]
pub struct Decomposer {
    /// The number of entries that single tables may still have.
    entries: u64,
    /// Whether a function that consists of pairs is decomposed into them.
    pairs: bool,
    /// Whether the parts of some function may reach the limit only by their sum.
    sums: bool,
    /// The number of different sums up to which a chain is exact.
    narrow: usize,
}

/// Why a function cannot be converted.
#[derive(Debug)]
pub enum Refusal {
    /// The function's tables would be too large; the text describes their size.
    TooLarge(String),
    /// The conversion failed for another reason.
    Error(Error),
}

impl From<ModelError> for Refusal {
    fn from(error: ModelError) -> Self {
        Refusal::Error(error.into())
    }
}

impl Default for Decomposer {
    fn default() -> Self {
        Decomposer { entries: ENTRIES, pairs: true, sums: false, narrow: SUMS }
    }
}

impl Decomposer {
    /// Returns a decomposer with other limits, for tests: the number of entries of single tables and of different sums
    /// of an exact chain. Functions become pairs only if `pairs` is set.
    #[doc(hidden)]
    pub fn limited(entries: u64, narrow: usize, pairs: bool) -> Self {
        Decomposer { entries, narrow, pairs, ..Decomposer::default() }
    }

    /// Converts and adds a function. Returns its number among all functions.
    ///
    /// # Errors
    /// Returns an error if the scope does not fit the network, if the tables would be too large, or if `stop` is set.
    pub fn add(&mut self, builder: &mut Builder, global: Global, stop: &Stop) -> Result<u32, Refusal> {
        let sizes: Vec<u32> = global.scope.iter().filter_map(|&v| builder.domain(v)).collect();
        if sizes.len() < global.scope.len() {
            return Ok(builder.global(global, Parts::default())?); // the builder reports the fault
        }
        let parts = self.parts(&global, &sizes, stop)?;
        Ok(builder.global(global, parts)?)
    }

    /// Returns whether the parts of a function may reach the limit only by their sum. Negative costs elsewhere could
    /// then compensate for what the function forbids.
    pub fn may_reach_limit_in_sum(&self) -> bool {
        self.sums
    }

    /// Refuses a function whose variables have more values in total than a chain may have transitions, before its
    /// parameters take memory for each value.
    ///
    /// # Errors
    /// Returns [`Refusal::TooLarge`] if there are too many values.
    pub fn must_fit(sizes: &[u32]) -> Result<(), Refusal> {
        match sizes.iter().map(|&size| u64::from(size)).sum::<u64>() {
            values if values <= TRANSITIONS as u64 => Ok(()),
            values => Err(too_long(&format!("{values} values of variables"))),
        }
    }

    /// Returns the decomposition of a function whose variables have these numbers of values.
    ///
    /// # Errors
    /// Returns an error if the tables would be too large, or if `stop` is set.
    pub fn parts(&mut self, global: &Global, sizes: &[u32], stop: &Stop) -> Result<Parts, Refusal> {
        Decomposer::must_fit(sizes)?;
        let Global { scope, kind, limit, .. } = global;
        let combinations = sizes.iter().fold(1u64, |n, &size| n.saturating_mul(size.into()));
        if let Some(pairs) = (sizes.len() > 2 && self.pairs).then(|| pairs::of(kind, scope, sizes, *limit)).flatten() {
            self.sums |= pairs.sums;
            return Ok(pairs);
        }
        let whole = match kind {
            GlobalKind::Arithmetic(function) if combinations <= WHOLE_PAIR => {
                self.entries = self.entries.saturating_sub(combinations);
                let costs = arithmetic(function, sizes).map(|cost| capped(cost, *limit)).collect();
                return Ok(single(scope, costs));
            }
            _ => machine(kind, sizes),
        };
        let Some(whole) = whole else { return Err(Refusal::TooLarge(format!("a table of {combinations} entries"))) };
        let most = match kind {
            _ if sizes.len() <= 2 => WHOLE_PAIR,
            GlobalKind::Linear(_) | GlobalKind::Counting(_) | GlobalKind::Same(_) => WHOLE_SUM,
            _ => WHOLE,
        };
        let is_small = combinations <= most.min(self.entries);
        if is_small {
            let layers = Layers::new(&*whole, sizes, TRANSITIONS.max(combinations as usize), stop);
            if let Some(layers) = layers.map_err(Refusal::Error)? {
                self.entries -= combinations;
                let costs = layers.table(sizes, stop).map_err(Refusal::Error)?;
                return Ok(single(scope, costs.into_iter().map(|cost| capped(cost, *limit)).collect()));
            }
        }
        // each chain has at least one transition for each value of each variable
        let values: usize = sizes.iter().map(|&size| size as usize).sum();
        if chains_of(kind, sizes).saturating_mul(values) > TRANSITIONS {
            return Err(too_long(&format!("a table of {combinations} entries")));
        }
        let machines = by_value(kind, sizes).unwrap_or_else(|| vec![whole]);
        // bounds cannot use a chain of many sums, and the driver `sums` needs none
        let mut left = match kind {
            GlobalKind::Linear(_) => self.narrow.saturating_mul(values).min(LONGEST),
            _ => TRANSITIONS,
        };
        let mut all = Vec::new();
        for machine in machines {
            let Some(layers) = Layers::new(&*machine, sizes, left, stop).map_err(Refusal::Error)? else {
                let parts = self.coarse(global, sizes, stop)?;
                self.sums |= parts.as_ref().is_some_and(|parts| parts.sums);
                return parts.ok_or_else(|| too_long(&format!("a table of {combinations} entries")));
            };
            let layers = layers.minimised(*limit);
            left -= layers.transitions();
            all.push(layers);
        }
        let parts = chains(scope, all, *limit);
        self.sums |= parts.sums;
        Ok(parts)
    }

    /// Returns a chain with fewer sums that never costs more than the weighted sum; `None` if the function is no
    /// weighted sum, its target is any number but one, or the chain is too long.
    fn coarse(&self, global: &Global, sizes: &[u32], stop: &Stop) -> Result<Option<Parts>, Refusal> {
        let GlobalKind::Linear(linear) = &global.kind else { return Ok(None) };
        let Some(machine) = counters::Coarse::new(linear, self.narrow as i128) else { return Ok(None) };
        let layers = Layers::new(&machine, sizes, LONGEST, stop).map_err(Refusal::Error)?;
        let parts = layers.map(|layers| chains(&global.scope, [layers.minimised(global.limit)], global.limit));
        Ok(parts.map(|parts| Parts { relaxed: true, ..parts }))
    }
}

/// Returns the refusal of a function whose table (`other`) is too large and whose chain is too long.
fn too_long(other: &str) -> Refusal {
    Refusal::TooLarge(format!("{other}, or a chain of more than {TRANSITIONS}"))
}

/// Returns the number of machines that [`by_value`] makes; 1 if the function is not split by value.
fn chains_of(kind: &GlobalKind, sizes: &[u32]) -> usize {
    match kind {
        GlobalKind::Counting(Counting { cost: CountCost::Larger(_), .. }) => 1,
        GlobalKind::Counting(counting) => counting.bounds.len(),
        GlobalKind::Same(_) => sizes.iter().max().map_or(0, |&most| most as usize),
        _ => 1,
    }
}

/// Returns chains whose costs add up to the cost of a function.
fn chains(scope: &[u32], all: impl IntoIterator<Item = Layers>, limit: Cost) -> Parts {
    let (mut parts, mut total) = (Parts::default(), 0);
    for layers in all {
        total = crate::model::add(total, layers.most());
        layers.chain(scope, &mut parts);
    }
    // a function with hard costs only has a total of 0
    parts.sums = total >= limit;
    parts
}

fn capped(cost: Cost, limit: Cost) -> Cost {
    if cost >= limit { FORBIDDEN } else { cost }
}

fn single(scope: &[u32], costs: Vec<Cost>) -> Parts {
    let own = scope.iter().map(|&v| Part::Own(v)).collect();
    Parts { tables: vec![(own, Table::dense(costs))], ..Parts::default() }
}

/// Returns the machine of a whole function; `None` for [`GlobalKind::Arithmetic`].
fn machine(kind: &GlobalKind, sizes: &[u32]) -> Option<Box<dyn Machine>> {
    Some(match kind.clone() {
        GlobalKind::Linear(linear) => Box::new(counters::Sum::new(linear)),
        GlobalKind::EqualPairs { price } => {
            Box::new(counters::Counts { sizes: sizes.into(), rule: counters::Rule::Pairs(price) })
        }
        GlobalKind::Counting(counting) => {
            Box::new(counters::Counts { sizes: sizes.into(), rule: counters::Rule::Bounds(counting) })
        }
        GlobalKind::Same(same) => Box::new(counters::Groups::new(same, sizes)),
        GlobalKind::Overlap { target, price } => Box::new(counters::Overlap { arity: sizes.len(), target, price }),
        GlobalKind::Regular(automaton) => Box::new(languages::Regular::new(automaton, sizes.len())),
        GlobalKind::Grammar(grammar) => Box::new(languages::Stack { grammar, arity: sizes.len() }),
        GlobalKind::Max { costs } => Box::new(counters::Largest(costs)),
        GlobalKind::Tree => Box::new(languages::Tree { arity: sizes.len() }),
        GlobalKind::Nested { network, low, high } => Box::new(languages::Nested { network, low, high }),
        GlobalKind::Arithmetic(_) => return None,
    })
}

/// Returns a machine for each value if the function is a sum over the values, else `None`.
fn by_value(kind: &GlobalKind, sizes: &[u32]) -> Option<Vec<Box<dyn Machine>>> {
    match kind {
        GlobalKind::Counting(counting) => {
            if let CountCost::Larger(_) = counting.cost {
                return None;
            }
            let one = |place: usize| {
                let cost = match &counting.cost {
                    CountCost::Weighted(prices) => CountCost::Weighted(vec![prices[place]]),
                    other => other.clone(),
                };
                let counting =
                    Counting { bounds: vec![counting.bounds[place]], cost, classes: counting.classes.clone() };
                Box::new(counters::Counts { sizes: sizes.into(), rule: counters::Rule::Bounds(counting) })
                    as Box<dyn Machine>
            };
            Some((0..counting.bounds.len()).map(one).collect())
        }
        GlobalKind::Same(same) => {
            let values = sizes.iter().max().copied().unwrap_or(0);
            let of = |value: u32| {
                let bounds = same.bounds.iter().copied().filter(|bound: &ValueCount| bound.value == value).collect();
                let same = Same { bounds, ..same.clone() };
                Box::new(counters::Groups::of(same, sizes, vec![value])) as Box<dyn Machine>
            };
            Some((0..values).map(of).collect())
        }
        _ => None,
    }
}

/// Returns all costs of a function of two numbers, the second varying fastest.
fn arithmetic(function: &Arithmetic, sizes: &[u32]) -> impl Iterator<Item = Cost> {
    let function = *function;
    let (rows, columns) = (sizes[0], sizes[1]);
    let bounded = |gap: i64, most: i64| if gap > most { FORBIDDEN } else { gap };
    (0..i64::from(rows)).flat_map(move |x| {
        (0..i64::from(columns)).map(move |y| {
            let apart = |after_x: i64, after_y: i64| x - y >= after_y || y - x >= after_x;
            match function {
                Arithmetic::AtLeast { shift, most } => bounded((y + shift - x).max(0), most),
                Arithmetic::AtMost { shift, most } => bounded((x - shift - y).max(0), most),
                Arithmetic::Equal { shift, most } => bounded((y + shift - x).abs(), most),
                Arithmetic::Apart { after_x, after_y, cost } => {
                    if apart(after_x, after_y) {
                        0
                    } else {
                        cost
                    }
                }
                Arithmetic::ApartUnless { after_x, after_y, most, costs } => {
                    let (at_x, at_y) = (x == most.0, y == most.1);
                    if x > most.0 || y > most.1 || !at_x && !at_y && !apart(after_x, after_y) {
                        FORBIDDEN
                    } else {
                        let cost = |at: bool, cost: Cost| if at { cost } else { 0 };
                        crate::model::add(cost(at_x, costs.0), cost(at_y, costs.1))
                    }
                }
            }
        })
    })
}
