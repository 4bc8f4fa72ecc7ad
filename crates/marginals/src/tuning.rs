//! Constants of this crate, each with its unit and the reason for its value.

/// Sizes of tables and of parts, which are products with some variables fixed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Bytes of the first and of the last tables that bound the whole sum.
    pub whole: (u64, u64),
    /// Bytes of the tables that bound a part.
    pub part: u64,
    /// Entries of all cliques of a part, up to which its sum is computed exactly.
    pub exact: f64,
    /// Entries of all tables under all partial assignments, up to which a component search runs beside the bounds on
    /// parts.
    pub states: u64,
}

/// Largest number of restarts of each rule for an elimination order.
pub(super) const RESTARTS: u32 = 64;

/// Steps of the order search between two checks of whether more of them pay; a step takes about a nanosecond.
pub(super) const SLICE: u64 = 1_000_000;

/// Steps of the order search for each entry of the best tree so far. An entry takes some 3 ns in both directions, and a
/// tenth of that time goes to a better order.
pub(super) const STEPS_OF_AN_ENTRY: f64 = 0.3;

/// Entries of a bucket tree, beyond which the order search gets no more time. Sums of more entries are bounded, and the
/// bounds need the time.
pub(super) const MOST_ENTRIES: f64 = (1u64 << 30) as f64;

/// Divisor of the remaining time that limits the first slice of a conditioned sum; if there are fewer slices, their
/// number is the divisor. The first slice shows how long all of them take.
pub(super) const FIRST_SLICE: f64 = 16.0;

/// Combinations (products and sums) per second that no machine reaches; an H200 makes 3e13.
pub(super) const COMBINATIONS_OF_A_SECOND: f64 = 1e14;

/// Fraction of the exact tables' time, or of the remaining time if that is shorter, that bounds take before the tables
/// are begun. Not tuned.
pub(super) const BOUNDS_FIRST: f64 = 0.125;
/// Seconds of that share below which bounds do not precede the exact tables. Not tuned.
pub(super) const WORTH_BOUNDS: f64 = 0.02;

/// Exact tables are begun if their estimated time is at most this multiple of the remaining time. Not tuned.
pub(super) const HOPE: f64 = 4.0;
/// Seconds of an entry in both directions on one thread.
pub(super) const SECONDS_OF_AN_ENTRY: f64 = 3e-9;
/// Seconds of an entry in both directions on a device, which is assumed and was not measured.
pub(super) const SECONDS_OF_AN_ENTRY_ON_A_DEVICE: f64 = 1e-10;

/// Sizes for sums whose tables do not fit. Tables of 1 MiB to 1 GiB bound the whole in some milliseconds to some
/// seconds. Tables of 4 MiB bound a part in about the time that planning it takes. A part is summed exactly if that
/// takes at most some tenths of a second.
pub(super) const SIZES: Sizes =
    Sizes { whole: (1 << 20, 1 << 30), part: 4 << 20, exact: (1u64 << 26) as f64, states: 1 << 24 };

/// Sizes for marginal MAP. The tables that bound the whole end at 256 MiB because there are several orders. Bounds on
/// parts get larger tables because smaller ones do not improve on the bound of the whole.
pub(super) const MAP_SIZES: Sizes =
    Sizes { whole: (1 << 20, 1 << 28), part: 1 << 25, exact: (1u64 << 24) as f64, states: 0 };

/// Entries of the cliques of a neighbourhood, as a multiple of those of a part that is solved exactly: few
/// neighbourhoods are solved, and each helps.
pub(super) const NEIGHBOURHOOD: f64 = 16.0;

/// Largest cliques, in entries, that the orders for bounds of marginal MAP allow before they eliminate a maximised
/// variable ahead of a summed one; one order each.
pub(super) const LARGEST_CLIQUES: [f64; 4] = [(1 << 8) as f64, (1 << 12) as f64, (1 << 16) as f64, (1 << 20) as f64];

/// Bytes of the tables that initial assignments are decoded from, for each clique entry of a neighbourhood; they take
/// some seconds for marginal MAP.
pub(super) const START_BYTES_OF_AN_ENTRY: f64 = 2.0;

/// Table entries that take as long as one row of a message stored as a list.
pub(super) const ENTRIES_OF_A_ROW: f64 = 64.0;
/// Bytes of tables that count as one row of a message stored as a list.
pub(super) const BYTES_OF_A_ROW: u64 = 32;

/// Number of initial assignments that are decoded from the messages.
pub(super) const STARTS: usize = 16;

/// Number of variables of the first neighbourhood.
pub(super) const FREED: f64 = 4.0;
/// Factor by which a neighbourhood grows after its tables fitted.
pub(super) const GROWTH: f64 = 1.05;
/// Factor by which a neighbourhood shrinks after its tables did not fit.
pub(super) const SHRINKAGE: f64 = 0.7;

/// Fraction of the search time that the checker may take.
pub(super) const CHECKING: f64 = 0.2;
/// Time limit of a check while the search runs, in seconds, at least.
pub(super) const LEAST_CHECK: f64 = 0.2;

/// Constants for functions whose entries differ too much for a table of doubles.
pub(super) mod near {
    /// Nepers below the product of the witness, at which all assignments with a dropped entry lie together: 2^-100 of
    /// the sum.
    pub const BELOW: f64 = 70.0;
    /// Bound on the rounding error of sums and differences of logarithms in doubles, relative to the logarithms.
    pub const LOST: f64 = 1.0 / (1u64 << 48) as f64;
    /// Largest number of tables of a function that keeps all entries; they span 9,600 decades.
    pub const TABLES: usize = 32;
    /// Largest number of additional table entries, over all functions, with which all entries are kept; half a
    /// megabyte. The functions of the campaign have 48 tables of 8 entries.
    pub const KEPT: usize = 1 << 16;
    /// Largest number of additional table entries, beyond [`TABLES`] tables of each function, for which a sum is
    /// attempted; 32 megabytes.
    pub const ENTRIES: usize = 1 << 22;
}

/// Constants for lower bounds by cutset conditioning.
pub(super) mod floor {
    /// Entries of all cliques that the first cutset leaves; the first bound takes about a millisecond.
    pub const LEAST: f64 = (1 << 14) as f64;
    /// Growth of the entries from one cutset to the next; all earlier cutsets together take a sixteenth of the time.
    pub const GROWTH: f64 = 16.0;
    /// Bytes of an entry in the wider number type.
    pub const BYTES_OF_AN_ENTRY: u64 = 16;
}

/// Constants for the search over components.
pub(super) mod components {
    /// Units of work between two checks of the stop flag and the clock; a millisecond or less.
    pub const TURN: u64 = 1 << 14;
    /// Divisor of the memory limit that gives the share of the component search.
    pub const MEMORY: u64 = 4;
    /// Divisor of the search's memory that gives the share of learnt clauses.
    pub const CLAUSES: u64 = 16;
    /// Approximate bytes of a learnt clause besides its literals, with its watches.
    pub const BYTES_OF_A_CLAUSE: u64 = 96;
    /// Bytes of a literal.
    pub const BYTES_OF_A_LITERAL: u64 = 16;
    /// Factor on the weight of a conflict for each later conflict. Not tuned.
    pub const DECAY: f64 = 0.99;
    /// Weight of a variable's position in the elimination order, from first to last, against one function or one recent
    /// conflict. 2bitmax_6 takes 1.5 s with 20, more than 4 s with 0.
    pub const LATE: f64 = 20.0;
    /// States of a function, free or at a value for each variable, beyond which bans replace it if they can.
    pub const BANNED_STATES: u64 = 256;
    /// Largest number of bans of a function. Not tuned.
    pub const MOST_BANS: usize = 16;
    /// Units of work of the tests of all values before the search; some tenths of a second. Not tuned.
    pub const TESTS: u64 = 1 << 24;
    /// Largest number of literals of a clause that is applied again whenever more of the search is undone. Not tuned.
    pub const SHORT: usize = 8;
    /// Rounds of these tests, each of which may remove values that let later ones remove more. Not tuned.
    pub const TEST_ROUNDS: u32 = 3;
}
