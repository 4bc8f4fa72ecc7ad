//! Constants of the bounds that are not set by `--tune` ([`crate::tuning`]): the unit and meaning of each, and the
//! measurement that chose it.
//!
//! "Work" is a number of table entries or of combinations of values visited: about a nanosecond each on one core.

/// Combinations up to which elimination is exact without preceding mini-buckets: some ten seconds of two cores.
pub(super) const EXACT_WORK: u64 = 10_000_000_000;
/// Combinations up to which elimination on a device is exact without preceding mini-buckets: less than a second of a
/// large device.
pub(super) const DEVICE_EXACT_WORK: u64 = 500_000_000_000;

/// Combinations up to which a sparse function is written out as a dense table.
pub(super) const WRITTEN_OUT: u64 = 1 << 16;
/// Largest exponent of the power of two that costs are multiplied by: more gained nothing on SPOT5.
pub(super) const MOST_BITS: u32 = 8;
/// Approximate number of entries that a device shifts in the time in which a core shifts one.
pub(super) const DEVICE_SPEED: u64 = 512;

/// Entries of tables that are copied to a device at once.
pub(super) const STAGED: usize = 1 << 24;

/// Branch and bound.
pub(super) mod branch {
    use crate::model::Cost;

    /// Nodes of a batch; fixed, so that the number of threads does not change the result.
    pub const BATCH: usize = 16;
    /// Least combinations of a heavy node on a device: its overhead takes as long as 10^11 of them.
    pub const DEVICE_MINI: f64 = 1e11;
    /// Combinations that a device visits in the time of one entry of a core: an H200 and its host (`fangs bench mbe`).
    pub const DEVICE_SPEED: u64 = 1000;
    /// Number of states for which memory is reserved; fixed, so that nothing depends on the machine.
    pub const STATES: u64 = 16;
    /// Approximate bytes of an open node.
    pub const NODE: u64 = 256;
    /// Limits of the cost-shifting passes at a node.
    #[derive(Clone, Copy, Debug)]
    pub struct Passes {
        /// Largest number of passes.
        pub most: u32,
        /// The second pass of each pair must gain at least one in this many units of the gap to the limit.
        pub part: Cost,
    }

    /// Passes at the root.
    pub const ROOT_PASSES: Passes = Passes { most: 400, part: 1000 };
    /// Passes at a node.
    pub const NODE_PASSES: Passes = Passes { most: 20, part: 8 };
    /// Passes at the root of a neighbourhood.
    pub const PROBE_PASSES: Passes = Passes { most: 40, part: 32 };
    /// Memory limit in bytes of the tables of a leaf in the search of a neighbourhood.
    pub const PROBE_MEMORY: u64 = 1 << 26;
    /// Work counted for each variable and function to set up the search of a neighbourhood.
    pub const SET_UP: u64 = 300;
    /// Work counted for each variable and function to plan the elimination of a leaf.
    pub const PLANNING: u64 = 2000;
    /// Work of a function in a pass, besides its entries.
    pub const FUNCTION_WORK: u64 = 32;
    /// Most variables of the largest bucket that a heavy node tries for branching.
    pub const HUBS: usize = 32;
    /// Combinations of remaining values up to which a sparse function takes part in cost shifting.
    pub const LATE: u64 = 1 << 10;
}

/// Core-guided search.
#[cfg(feature = "sat")]
pub(super) mod cores {
    /// Most tuples of a function.
    pub const LARGEST: u64 = 1 << 18;
    /// Most tuples of all functions together.
    pub const TUPLES: u64 = 1 << 21;
    /// Largest domain whose values exclude each other by one clause for each pair.
    pub const DOMAIN: u32 = 64;
    /// Most pairs of literals, one of which must hold, from which groups are made.
    pub const PAIRS: usize = 1 << 20;
    /// Bytes of a clause, besides its literals.
    pub const CLAUSE_BYTES: u64 = 64;
    /// Bytes of a variable of the solver.
    pub const LITERAL_BYTES: u64 = 128;
    /// Decisions that a conflict counts as.
    pub const CONFLICT_TICKS: u64 = 32;
    /// Work that a decision counts as when the work is limited.
    pub const TICK_WORK: u64 = 300;
    /// Work of a propagated literal.
    pub const PROPAGATION_WORK: u64 = 150;
    /// Work of a conflict, besides its propagated literals.
    pub const CONFLICT_WORK: u64 = 10_000;
    /// Decisions that the shortest call of the solver may take.
    pub const LEAST_TICKS: u64 = 1 << 12;
}

/// Join graphs.
pub(super) mod join_graph {
    /// Entries between two checks of the stop flag on the CPU: some milliseconds of a core.
    pub const POLL: u64 = 1 << 22;
    /// Entries between two checks of the stop flag on a device: some milliseconds.
    pub const DEVICE_POLL: u64 = 1 << 33;
    /// Most entries of a graph for a certificate: the replay makes the same passes on a CPU, with entries of 64 bits.
    pub const CHECKED_LARGEST: u64 = 1 << 23;
    /// Entries of a wave from which several threads pay.
    pub const SHARED: u64 = 1 << 15;
    /// Most tiles of a table for one block of threads.
    pub const BLOCKS: usize = 64;
    /// Most entries of a table for one block of threads, in a wave that fills the device.
    pub const WALK: usize = 1 << 14;
    /// Entries of a table for one block of threads, at least, in a wave that does not fill the device.
    pub const SHORT_WALK: usize = 1 << 11;
    /// Number of blocks of threads that fill a device.
    pub const DEVICE: usize = 512;
    /// Entries of messages for a block of threads.
    pub const CHUNK: u64 = 4096;
}

/// Cost shifting between functions.
pub(super) mod cost_shifting {
    /// Entries between two checks of the stop flag on a device: some milliseconds.
    pub const DEVICE_POLL: u64 = 1 << 30;
    /// Waves between two checks of the stop flag on a device.
    pub const DEVICE_WAVES: usize = 1 << 10;
    /// Entries that a core visits in the time that a device takes for a small wave: 14 us, at 2 to 4 ns an entry.
    pub const LAUNCH: u64 = 1 << 13;
    /// Entries of a wave from which several threads pay, some 200 us of one thread: at 2^14 two threads took longer
    /// than one on some networks (results/notes/bounds-cuda.md).
    pub const SHARED: u64 = 1 << 16;
    /// Number of pieces into which a wave is split for threads.
    pub const PARTS: usize = 32;
    /// Most rows of a piece of a table.
    pub const ROWS: usize = 128;
    /// Approximate number of entries of a piece of a table.
    pub const PIECE: usize = 1024;
}

/// Limits of a certificate's replay.
pub(super) mod proof {
    /// Work of the replay, as a multiple of the search's or of the sparse elimination's: it bounds differently and
    /// visits each node again. This is the largest ratio measured (results/notes/certificates.md).
    pub const MORE_WORK: u64 = 8;
    /// Work granted to the replay in addition.
    pub const LEAST_WORK: u64 = 1 << 22;
    /// Bytes granted to the replay in addition.
    pub const LEAST_BYTES: u64 = 1 << 26;
    /// Depth of the branching granted to the replay in addition.
    pub const MORE_DEPTH: u64 = 64;
    /// Number of times that the passes and searches of a lemma may visit all tables.
    pub const LOOKS: u64 = 1 << 7;
    /// Further passes that the replay may make over the last join graph: it stops once it has reached the bound.
    pub const MORE_PASSES: u32 = 16;
}

/// Enumeration and counting of solutions.
pub(super) mod solutions {
    /// Bytes of the first mini-bucket messages, which take milliseconds.
    pub const FIRST_TABLES: u64 = 1 << 20;
    /// Growth factor of these messages: earlier ones then cost little compared with the last ones.
    pub const GROWTH: u64 = 8;
    /// Combinations that elimination visits in the time in which the search tries one value: a microsecond or two.
    pub const VALUE_WORK: u64 = 256;
    /// Combinations up to which what is left at a node is enumerated by tables, at first: about as long as a few
    /// nodes.
    pub const FIRST_LEAF: u64 = 1 << 14;
    /// Combinations up to which what is left at a node is counted by tables, at first.
    pub const FIRST_COUNTED: u64 = 1 << 16;
    /// Work after which a search without a solution begins again, at first: some ten milliseconds.
    pub const FIRST_WORK: u64 = 1 << 24;
    /// Factor by which tables and work grow when a search begins again.
    pub const BEGIN_AGAIN: u64 = 16;
    /// A part is enumerated by tables of one in this many combinations of the work done without a solution.
    pub const LEAF_PART: u64 = 4;
    /// Number of states for which memory is reserved.
    pub const STATES: u64 = 4;
    /// Visits of variables between two checks of the stop flag: below a millisecond.
    pub const VISITS: u32 = 1 << 8;
    /// Largest number of pairs of variables that must differ from which sets are made.
    pub const DIFFERENT_PAIRS: usize = 1 << 18;
    /// Work of each remaining value when values that must differ are matched.
    pub const DIFFERENT_WORK: u64 = 32;
}
