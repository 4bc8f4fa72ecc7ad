//! Tuned constants of the bounds: the unit and meaning of each, and the measurement that chose it.
//!
//! "Work" is a number of table entries or of combinations of values visited: about a nanosecond each on one core.

/// Variables plus functions from which cost shifting alone bounds a problem.
pub(super) const VAST: usize = 1 << 20;
/// Variables plus functions from which one pass of cost shifting precedes reductions and orders: the first order of
/// 10^5 variables with 3 * 10^5 functions takes 6 s, the pass a tenth of a second of one core.
pub(super) const LARGE: usize = 1 << 16;
/// Running cost shifting reports its bound when it has risen by one in this many units of the gap.
pub(super) const SHIFT_STEPS: i64 = 100;
/// Work of a slice of cost shifting, of a search and of the search for orders: a tenth of a second of one core.
pub(super) const SLICE: u64 = 50_000_000;
/// Combinations of a slice of elimination: some tenths of a second of one core.
pub(super) const ELIMINATION_SLICE: u64 = 200_000_000;
/// Units of work that an entry of cost shifting counts as, because it takes twice as long as others.
pub(super) const SHIFT_WORK: u64 = 2;
/// Combinations up to which elimination is exact without preceding mini-buckets: some ten seconds of two cores.
pub(super) const EXACT_WORK: u64 = 10_000_000_000;
/// Combinations up to which elimination on a device is exact without preceding mini-buckets: less than a second of a
/// large device.
pub(super) const DEVICE_EXACT_WORK: u64 = 500_000_000_000;
/// Number of elimination orders that the mini-buckets of each z follow.
pub(super) const ORDERS: usize = 2;
/// Restarts of the order rules, times the number of variables and functions.
pub(super) const ORDER_RESTARTS: usize = 50_000;
/// Most restarts of the order rules.
pub(super) const MOST_RESTARTS: usize = 32;

/// Combinations up to which a sparse function is written out as a dense table.
pub(super) const WRITTEN_OUT: u64 = 1 << 16;
/// Largest exponent of the power of two that costs are multiplied by: more gained nothing on SPOT5.
pub(super) const MOST_BITS: u32 = 8;
/// Work from which a pass of cost shifting, or a join graph, pays on a device: it then takes less than half the time of
/// a core on all but one of the networks tried (results/notes/shifting.md).
pub(super) const DEVICE_WORTHWHILE: u64 = 1 << 21;
/// Approximate number of entries that a device shifts in the time in which a core shifts one.
pub(super) const DEVICE_SPEED: u64 = 512;

/// Entries of tables that are copied to a device at once.
pub(super) const STAGED: usize = 1 << 24;

/// The choice of the next strategy.
pub(super) mod schedule {
    /// Factor on the work of a strategy that would not take the lead by gaining as much again as last time. Giving such
    /// a strategy up was worse: on SPOT5 505 mini-buckets of the unshifted problem pass those of the shifted one at z =
    /// 16.
    pub const BEHIND: u64 = 4;
    /// Work that value bounds may take beyond the work on bounds of the network: less than a second.
    pub const FREE: u64 = 100_000_000;
    /// Mini-buckets on what a join graph left have at least this many times the entries of the graph.
    pub const BEYOND: u64 = 4;
    /// Work first granted to a search: a tenth of a second. Each grant doubles the search's work.
    pub const FIRST_TURN: u64 = 1 << 26;
    /// Work of an exact plan on the CPU from which light branch and bound, with nodes bounded by cost shifting, comes
    /// first: some tenths of a second. On Promedas_24 a plan of 2.4e9 took half a minute of memory allocation; the
    /// light search proves it in 0.3 s.
    pub const LONG_EXACT: u64 = 1 << 28;
    /// Combinations of dense tables that are visited in the time of one tuple of a sparse table.
    pub const ROW: u64 = 8;
    /// A search may take one in this many bytes of the memory.
    pub const SEARCH_MEMORY: u64 = 8;
    /// Light branch and bound has one in this many units of the work before an exact plan and while join graphs grow.
    pub const LIGHT_PART: u64 = 4;
    /// Light branch and bound has one in this many units of the time if it expects to be half done
    /// (results/notes/branch.md).
    pub const MORE_TIME: u64 = 2;
    /// Light branch and bound, and core-guided search, have one in this many units of the time in general
    /// (results/notes/branch.md; results/cores).
    pub const LIGHT_TIME: u64 = 3;
    /// A hopeless search, and any beside a device, which waits meanwhile, has one in this many units of the time
    /// (results/notes/branch.md; results/cores).
    pub const LESS_TIME: u64 = 8;
    /// Work after which a search may count as hopeless.
    pub const TRIED: u64 = 1 << 30;
    /// A search is hopeless if more than this many times its work so far is left.
    pub const HOPELESS: u64 = 1000;
    /// A search is about to end if at most this many times the work so far is left; its work then counts this many
    /// times less.
    pub const ENDING: u64 = 8;
    /// Memory limit in bytes of a sparse elimination that has limited work: longer tables do not pay, and take seconds
    /// to sort.
    pub const SPARSE_MEMORY: u64 = 1 << 29;
}

/// Branch and bound.
pub(super) mod branch {
    use crate::model::Cost;

    /// Nodes of a batch; fixed, so that the number of threads does not change the result.
    pub const BATCH: usize = 16;
    /// Least work on a node of a batch.
    pub const LEAST_DIVE: u64 = 1 << 18;
    /// Most work on a node of a batch.
    pub const MOST_DIVE: u64 = 1 << 24;
    /// Factor on the work of the first descent from the best node, because solutions come from leaves.
    pub const DESCENT: u64 = 1 << 10;
    /// Combinations up to which a light node is eliminated: from 10^4 to 10^6 it hardly matters on CELAR, but 3000 was
    /// worse on scen07.
    pub const LEAF: f64 = 65536.0;
    /// Least combinations of the mini-buckets of a heavy node.
    pub const LEAST_MINI: f64 = 1e7;
    /// Combinations of the mini-buckets of a heavy node, as a part of the work so far.
    pub const MINI_PART: f64 = 1.0 / 16.0;
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
    /// Most times that a core is trimmed by solving again under its own literals.
    pub const TRIMS: u32 = 5;
    /// Literals of the largest core that is minimised.
    pub const MINIMISED: usize = 100;
    /// Most decisions of a call that trims a core.
    pub const TRIMMING: u64 = 30_000;
    /// Most decisions of the minimisation of one core.
    pub const MINIMISING: u64 = 100_000;
    /// Most decisions of a call that asks whether one more literal of a core must be false.
    pub const EXHAUSTING: u64 = 30_000;
    /// Ratio of literals to different weights beyond which a stratum ends (Ansótegui, Bonet, Levy, "SAT-based MaxSAT
    /// algorithms", 2013).
    pub const DIVERSITY: f64 = 1.25;
    /// A stratum has more than one in this many of the different weights left, because real costs are all different.
    pub const STRATA: usize = 16;
}

/// Join graphs.
pub(super) mod join_graph {
    use crate::model::Cost;

    /// Most passes forward and back.
    pub const PASSES: u32 = 24;
    /// Most passes of averaging along all edges.
    pub const LONG_PASSES: u32 = 8;
    /// Entries between two checks of the stop flag on the CPU: some milliseconds of a core.
    pub const POLL: u64 = 1 << 22;
    /// Entries between two checks of the stop flag on a device: some milliseconds.
    pub const DEVICE_POLL: u64 = 1 << 33;
    /// Most entries of a graph on the CPU: a pass over more takes longer than a second.
    pub const LARGEST: u64 = 1 << 26;
    /// Most entries of a graph on a device.
    pub const DEVICE_LARGEST: u64 = 1 << 34;
    /// Most entries of a graph for a certificate: the replay makes the same passes on a CPU, with entries of 64 bits.
    pub const CHECKED_LARGEST: u64 = 1 << 23;
    /// The next graph has at least this many times the entries, if there is room.
    pub const GROWTH: u64 = 4;
    /// Number z of variables of a mini-bucket of the first graph: two variables gain little after shifting between
    /// functions.
    pub const FIRST_Z: u32 = 3;
    /// Factor by which the work of a graph counts less than that of mini-buckets: on satellite schedules it gains more.
    pub const LEADING: u64 = 4;
    /// Orders that get one round of passes each before the best of them continues.
    pub const FIRST_ORDERS: u32 = 9;
    /// Number of all orders that graphs follow.
    pub const ORDERS: u32 = 25;
    /// A round must gain one in this many units of the bound to be followed by another along the same order.
    pub const WORTHWHILE: Cost = 500;
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
    /// Most passes, forward and backward ones counted.
    pub const PASSES: u32 = 200;
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
