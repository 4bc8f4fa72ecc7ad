//! The tuned constants of the reductions: the unit and meaning of each, and the measurement that chose it.

/// Combinations up to which a sparse table is made dense; larger ones up to [`OFTEN_DENSE`] only with so many for each
/// listed tuple: thousands of dense tables for clauses over twenty binary variables would fill any memory.
pub(super) const ALWAYS_DENSE: u64 = 1 << 12;
pub(super) const OFTEN_DENSE: u64 = 1 << 20;
pub(super) const DENSE_RATIO: u64 = 256;

/// Limits for the tables of an elimination.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// Combinations visited for one variable.
    pub joint: usize,
    /// Entries over two neighbours, and over more, where they exceed those replaced.
    pub pair: usize,
    pub several: usize,
    /// Most neighbours of a variable to be eliminated.
    pub neighbours: usize,
    /// Combinations visited for a whole component, where that makes it vanish.
    pub component: usize,
    /// Values of a variable that stands for two, at most: a byte on a device.
    pub tie_values: usize,
    /// The same, by the larger domain of the two, and the part of all combinations that it may be at most.
    pub tie_multiple: usize,
    pub tie_share: usize,
    /// How many times as many the entries of tables, and those that visits of single variables add up, may become: half
    /// of it left 5 % dearer solutions of `generate quads`, and no others of `frequency`. Where more than a quarter of
    /// all combinations count, as in `side-chains`, merging cost time and bounds (results/ties).
    pub tie_entries: usize,
    pub tie_visits: usize,
}

impl Default for Limits {
    /// All five ISCAS89 networks vanish, and 99 variables of SPOT5 42b stay. Three neighbours leave 195 of ISCAS89 and
    /// more, twelve gain nothing; 256 entries leave fewer variables, but larger tables and arities up to 8.
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

/// Variables of a component to eliminate as a whole, at most: its next variable is found by a linear search.
pub(super) const COMPONENT_VARIABLES: usize = 200;

/// A variable is substituted where its functions then have at most so many times their entries, or so many entries.
pub(super) const GROWTH: usize = 2;
pub(super) const SMALL: usize = 1 << 12;
/// Entries compared for the dominated values of one variable, at most.
pub(super) const DOMINANCE_WORK: usize = 1 << 22;
/// Entries compared since a value was found, after which the search for them ends: some tenths of a second. Of 1000
/// customers and 100 warehouses (capa) it took four seconds to find none.
pub(super) const DOMINANCE_IN_VAIN: usize = 1 << 25;
/// Variables of a large network that are looked at before it is reduced: of a part of 1/16 that goes the sample tells
/// within 1/64 (two standard deviations).
pub(super) const SAMPLE: usize = 1 << 10;
/// Values that count as gone for each that is dominated at first, for those that follow: of `potts` of 200x200 twelve
/// go in the end (results/scale), and where fewer are counted than follow, reductions that pay are left out.
pub(super) const CASCADE: f64 = 16.0;
/// Only longer domains are searched for values without a name: those too long for local search.
pub(super) const LONG: u32 = u16::MAX as u32;

/// Bytes for each value of a variable, reductions, bounds and search together; `bound` took 42.
pub(super) const VALUE_BYTES: u64 = 48;
/// Bytes of a pair of variables that share a function: in a list for each variable, and in one of all.
pub(super) const PAIR_BYTES: u64 = 8;
