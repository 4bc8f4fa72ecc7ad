//! Constants of marginals, each with its unit and what chose it.

/// Sizes of tables and parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Bytes of the first tables that bound the whole, and of the last.
    pub whole: (u64, u64),
    /// Bytes of tables that bound a part.
    pub part: u64,
    /// Entries of all cliques of a part that is summed exactly.
    pub exact: f64,
    /// Entries of all tables under all partial assignments, up to which a search goes on beside the parts.
    pub states: u64,
}

/// Restarts of each rule for an order, at most.
pub(super) const RESTARTS: u32 = 64;

/// Steps of the search for an order between two looks at whether more of them pay; about a nanosecond each.
pub(super) const SLICE: u64 = 1_000_000;

/// Steps of the search that an entry of the best tree so far is worth: an entry takes some 3 ns both ways, of which a
/// tenth goes to a better order.
pub(super) const STEPS_OF_AN_ENTRY: f64 = 0.3;

/// Entries of a tree beyond which better orders are worth no more time: sums of more entries are bounded, and bounds
/// need the time.
pub(super) const MOST_ENTRIES: f64 = (1u64 << 30) as f64;

/// The first slice may take one part in so many of the time, or its share where that is more: it says how long all
/// take.
pub(super) const FIRST_SLICE: f64 = 16.0;

/// Combinations of a second that no machine reaches: an H200 makes 3e13 products and sums.
pub(super) const COMBINATIONS_OF_A_SECOND: f64 = 1e14;

/// Under a time limit, bounds precede exact tables and take this fraction of the tables' time, unless it is below
/// `WORTH_BOUNDS` seconds. Neither is tuned.
pub(super) const BOUNDS_FIRST: f64 = 0.125;
pub(super) const WORTH_BOUNDS: f64 = 0.02;

/// Exact tables are begun if their estimated time is at most this multiple of the remaining time. Not tuned.
pub(super) const HOPE: f64 = 4.0;
/// Seconds of an entry in both directions: on one thread, and on a device, which is assumed and was not measured.
pub(super) const SECONDS_OF_AN_ENTRY: f64 = 3e-9;
pub(super) const SECONDS_OF_AN_ENTRY_ON_A_DEVICE: f64 = 1e-10;

/// Where tables do not fit: the whole is bounded by tables of 1 MiB to 1 GiB, some milliseconds to some seconds; a part
/// by 4 MiB, which takes about as long as planning it, or summed where that takes some tenths of a second.
pub(super) const SIZES: Sizes =
    Sizes { whole: (1 << 20, 1 << 30), part: 4 << 20, exact: (1u64 << 26) as f64, states: 1 << 24 };

/// The same of marginal MAP: bounds on the whole end sooner, as there are several orders; those of parts are worth more
/// time, as smaller tables say no more of a part than is known of the whole.
pub(super) const MAP_SIZES: Sizes =
    Sizes { whole: (1 << 20, 1 << 28), part: 1 << 25, exact: (1u64 << 24) as f64, states: 0 };

/// A neighbourhood may have so many times the entries of a part that is solved exactly: few are solved, and each helps.
pub(super) const NEIGHBOURHOOD: f64 = 16.0;

/// Entries of cliques before a maximised variable goes first, of the orders that bound marginal MAP.
pub(super) const LARGEST_CLIQUES: [f64; 4] = [(1 << 8) as f64, (1 << 12) as f64, (1 << 16) as f64, (1 << 20) as f64];

/// Bytes of the tables that assignments are read off, for each entry of a part that is solved exactly: of marginal MAP
/// some seconds.
pub(super) const START_BYTES_OF_AN_ENTRY: f64 = 2.0;

/// Entries of tables that take as long as a row of a list, and bytes of a level's tables that stand for one.
pub(super) const ENTRIES_OF_A_ROW: f64 = 64.0;
pub(super) const BYTES_OF_A_ROW: u64 = 32;

/// Assignments that are read off them.
pub(super) const STARTS: usize = 16;

/// Variables of the first neighbourhood; the factor where one fits, and where it does not.
pub(super) const FREED: f64 = 4.0;
pub(super) const GROWTH: f64 = 1.05;
pub(super) const SHRINKAGE: f64 = 0.7;

/// The part of the time that the checker may take while a search runs, and the least time it is given, in seconds.
pub(super) const CHECKING: f64 = 0.2;
pub(super) const LEAST_CHECK: f64 = 0.2;

/// Functions whose entries differ too much for a table of doubles.
pub(super) mod near {
    /// Nepers by which all assignments with an entry that is left out are together below the witness: 2^-100 of the
    /// sum.
    pub const BELOW: f64 = 70.0;
    /// What sums and differences of logarithms may lose in doubles, relative to these.
    pub const LOST: f64 = 1.0 / (1u64 << 48) as f64;
    /// Tables of a function that keeps all entries: 9,600 decades.
    pub const TABLES: usize = 32;
    /// Entries of tables beyond the first of each function, up to which all entries are kept: half a megabyte. The
    /// campaign's functions have 48 tables of 8 entries.
    pub const KEPT: usize = 1 << 16;
    /// Entries of such tables, beyond [`TABLES`] of each function, from which on the sum is refused: 32 megabytes.
    pub const ENTRIES: usize = 1 << 22;
}

/// Lower bounds by a cutset.
pub(super) mod floor {
    /// Entries of all cliques with the first cutset: the first bound takes about a millisecond.
    pub const LEAST: f64 = (1 << 14) as f64;
    /// Growth of the entries from cutset to cutset: earlier cutsets take a sixteenth of the time.
    pub const GROWTH: f64 = 16.0;
    /// Bytes of an entry of the wider number type.
    pub const BYTES_OF_AN_ENTRY: u64 = 16;
}

/// The search over components.
pub(super) mod components {
    /// Work between two looks at the flag and the clock: a millisecond or less.
    pub const TURN: u64 = 1 << 14;
    /// It may take one part in so many of the memory.
    pub const MEMORY: u64 = 4;
}
