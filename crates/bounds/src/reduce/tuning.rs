//! Tuned constants of the reductions: the unit and meaning of each, and the measurement that chose it.

/// Combinations up to which a sparse table is always made dense.
pub(super) const ALWAYS_DENSE: u64 = 1 << 12;
/// Combinations up to which a sparse table is made dense if it has few enough for each listed tuple: thousands of dense
/// tables for clauses over twenty binary variables would fill any memory.
pub(super) const OFTEN_DENSE: u64 = 1 << 20;
/// Combinations for each listed tuple up to which a sparse table of at most [`OFTEN_DENSE`] is made dense.
pub(super) const DENSE_RATIO: u64 = 256;

/// Limits of the tables of an elimination and of merging.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// Most combinations visited for one variable.
    pub joint: usize,
    /// Most entries of a new table over two neighbours, if they exceed those replaced.
    pub pair: usize,
    /// Most entries of a new table over more than two neighbours, if they exceed those replaced.
    pub several: usize,
    /// Most neighbours of a variable to be eliminated.
    pub neighbours: usize,
    /// Most combinations visited to eliminate a whole component.
    pub component: usize,
    /// Most values of a merged variable: a byte on a device.
    pub tie_values: usize,
    /// Most values of a merged variable, as a multiple of the larger of the two domains.
    pub tie_multiple: usize,
    /// Part of all combinations of the two variables' values that a merged variable may have, at most one in this many.
    pub tie_share: usize,
    /// Most growth, as a factor, of the entries of tables by a merge. Half of it left 5 % costlier solutions of
    /// `generate quads`, and no others of `frequency`. If more than a quarter of all combinations count, as in
    /// `side-chains`, merging cost time and bounds (results/ties).
    pub tie_entries: usize,
    /// Most growth, as a factor, of the entries that visits of single variables add up.
    pub tie_visits: usize,
}

impl Default for Limits {
    /// Returns the limits by which all five ISCAS89 networks vanish, and 99 variables of SPOT5 42b stay. Three
    /// neighbours leave 195 variables of ISCAS89 and more, twelve gain nothing; 256 entries leave fewer variables, but
    /// larger tables and arities up to 8.
    fn default() -> Self {
        Limits {
            joint: 1 << 21,
            pair: 1 << 16,
            several: 64,
            neighbours: 8,
            component: 100_000,
            tie_values: 256,
            tie_multiple: 4,
            tie_share: 4,
            tie_entries: 8,
            tie_visits: 4,
        }
    }
}

/// Most variables of a component to eliminate as a whole: its next variable is found by a linear search.
pub(super) const COMPONENT_VARIABLES: usize = 200;

/// A variable is substituted if its functions then have at most this many times their entries.
pub(super) const GROWTH: usize = 2;
/// A variable is substituted if its functions then have at most this many entries.
pub(super) const SMALL: usize = 1 << 12;
/// Most entries compared for the dominated values of one variable.
pub(super) const DOMINANCE_WORK: usize = 1 << 22;
/// Entries compared since a dominated value was last found after which the search for such values ends: some tenths of
/// a second. On 1000 customers and 100 warehouses (capa) it took four seconds to find none.
pub(super) const DOMINANCE_IN_VAIN: usize = 1 << 25;
/// Number of sampled variables of a large network before it is reduced: if a part of 1/16 would go, the sample
/// estimates it within 1/64 (two standard deviations).
pub(super) const SAMPLE: usize = 1 << 10;
/// Number of values that count as removed for each value that is dominated at first, for those that follow: of `potts`
/// of 200x200 twelve go in the end (results/scale), and if fewer are counted than follow, reductions that pay are
/// omitted.
pub(super) const CASCADE: f64 = 16.0;
/// Only longer domains are searched for unnamed values: those too long for local search.
pub(super) const LONG: u32 = u16::MAX as u32;

/// Bytes for each value of a variable, for reductions, bounds and search together; `bound` took 42.
pub(super) const VALUE_BYTES: u64 = 48;
/// Bytes of a pair of variables that share a function: in a list for each variable, and in one of all.
pub(super) const PAIR_BYTES: u64 = 8;
