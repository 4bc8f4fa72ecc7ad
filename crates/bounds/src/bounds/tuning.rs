//! The tuned constants of bounds: the unit and meaning of each, and the measurement that chose it.
//!
//! "Work" is a number of table entries or combinations visited: about a nanosecond each on one core.

/// Variables and functions from which on costs are shifted and nothing else is done for a bound.
pub(super) const VAST: usize = 1 << 20;
/// Variables and functions from which on one pass of cost shifting comes before reductions and orders: the first order
/// of 10^5 variables with 3 * 10^5 functions takes 6 s, the pass a tenth of a second of one core.
pub(super) const LARGE: usize = 1 << 16;
/// The part of the gap, one in so many, that is worth telling while costs are still shifted.
pub(super) const SHIFT_STEPS: i64 = 100;
/// Work of a slice of cost shifting, of branch and bound and of the search for orders: a tenth of a second of one core.
pub(super) const SLICE: u64 = 50_000_000;
/// Combinations of a slice of elimination: some tenths of a second of one core.
pub(super) const ELIMINATION_SLICE: u64 = 200_000_000;
/// Work that an entry of cost shifting counts as where runs must be repeatable: it takes twice as long.
pub(super) const SHIFT_WORK: u64 = 2;
/// Combinations up to which elimination is exact without mini-buckets before it: some ten seconds of two cores.
pub(super) const EXACT_WORK: u64 = 10_000_000_000;
/// The same on a device: less than a second of a large one.
pub(super) const DEVICE_EXACT_WORK: u64 = 500_000_000_000;
/// Elimination orders that mini-buckets of one z follow, one after the other.
pub(super) const ORDERS: usize = 2;
/// Restarts of the order rules, times the number of variables and functions, and the most restarts.
pub(super) const ORDER_RESTARTS: usize = 50_000;
pub(super) const MOST_RESTARTS: usize = 32;

/// Combinations of a sparse function that is written out as a dense table.
pub(super) const WRITTEN_OUT: u64 = 1 << 16;
/// Costs are multiplied by two to this power at most: more gained nothing on SPOT5.
pub(super) const MOST_BITS: u32 = 8;
/// Work from which on a pass of cost shifting, or a join graph, pays on a device: it then takes less than half the time
/// of a core on all but one of the networks tried (results/notes/shifting.md).
pub(super) const DEVICE_WORTHWHILE: u64 = 1 << 21;
/// Entries that a device shifts in the time of one entry of a core, about.
pub(super) const DEVICE_SPEED: u64 = 512;

/// Entries of tables that are copied to a device at a time.
pub(super) const STAGED: usize = 1 << 24;

/// Which strategy is next.
pub(super) mod schedule {
    /// Factor on the work of a strategy that another step like the last would not bring into the lead. Giving such a
    /// strategy up was worse: on SPOT5 505 plain mini-buckets pass the shifted ones at z = 16.
    pub const BEHIND: u64 = 4;
    /// Work on bounds of values that is allowed before work on bounds of the network: less than a second.
    pub const FREE: u64 = 100_000_000;
    /// Plain mini-buckets of what a join graph left have at least this many times its entries.
    pub const BEYOND: u64 = 4;
    /// Work of the first turn of branch and bound: a tenth of a second. Each turn doubles its work.
    pub const FIRST_TURN: u64 = 1 << 26;
    /// Work of an exact plan on the CPU from which on the light search has a turn before it: some tenths of a second.
    /// On Promedas_24 a plan of 2.4e9 took half a minute of memory allocation; the light search proves it in 0.3 s.
    pub const LONG_EXACT: u64 = 1 << 28;
    /// Combinations of dense tables that take as long as one tuple of a sparse one.
    pub const ROW: u64 = 8;
    /// Branch and bound may take one part in so many of the memory.
    pub const SEARCH_MEMORY: u64 = 8;
    /// The light search has one part in so many of the work before an exact plan and while join graphs grow.
    pub const LIGHT_PART: u64 = 4;
    /// The light search and that for cores have one part in so many of the time each: a light one that expects to be
    /// half done, in general, and a hopeless one or beside a device, which waits meanwhile (results/notes/branch.md;
    /// results/cores).
    pub const MORE_TIME: u64 = 2;
    pub const LIGHT_TIME: u64 = 3;
    pub const LESS_TIME: u64 = 8;
    /// A search is hopeless after so much work, if so many times that work is left.
    pub const TRIED: u64 = 1 << 30;
    pub const HOPELESS: u64 = 1000;
    /// A search ends soon if at most so many times the work so far is left; its work then counts as much less.
    pub const ENDING: u64 = 8;
    /// Bytes of a limited sparse elimination: longer tables do not pay, and take seconds to sort.
    pub const SPARSE_MEMORY: u64 = 1 << 29;
}

/// Branch and bound.
pub(super) mod branch {
    use crate::model::Cost;

    /// Nodes of a batch; fixed, so that the number of threads does not change the result.
    pub const BATCH: usize = 16;
    /// Work on a node of a batch, at first and at most.
    pub const LEAST_DIVE: u64 = 1 << 18;
    pub const MOST_DIVE: u64 = 1 << 24;
    /// Factor on that for the first descent from the best node: solutions come from leaves.
    pub const DESCENT: u64 = 1 << 10;
    /// Combinations up to which a light node is eliminated: from 10^4 to 10^6 it hardly matters on CELAR, but 3000 was
    /// worse on scen07.
    pub const LEAF: f64 = 65536.0;
    /// Combinations of a heavy node's mini-buckets: at least, and as a part of the work so far.
    pub const LEAST_MINI: f64 = 1e7;
    pub const MINI_PART: f64 = 1.0 / 16.0;
    /// Combinations of a heavy node on a device, at least: its overhead takes as long as 10^11 of them.
    pub const DEVICE_MINI: f64 = 1e11;
    /// Combinations that a device makes in the time of one entry of a core: an H200 and its host (`fangs bench mbe`).
    pub const DEVICE_SPEED: u64 = 1000;
    /// States that memory is counted for; fixed, so that nothing depends on the machine.
    pub const STATES: u64 = 16;
    /// Bytes of an open node, about.
    pub const NODE: u64 = 256;
    /// How long passes of cost shifting go on.
    #[derive(Clone, Copy, Debug)]
    pub struct Passes {
        /// Passes, at most.
        pub most: u32,
        /// A pair of them has to gain one part in this of what is missing to the limit.
        pub part: Cost,
    }

    /// Passes of cost shifting, and the part of the gap that a pair of them has to gain: at the root, at a node, and at
    /// the root of a neighbourhood.
    pub const ROOT_PASSES: Passes = Passes { most: 400, part: 1000 };
    pub const NODE_PASSES: Passes = Passes { most: 20, part: 8 };
    pub const PROBE_PASSES: Passes = Passes { most: 40, part: 32 };
    /// Bytes of the tables of a neighbourhood's leaf.
    pub const PROBE_MEMORY: u64 = 1 << 26;
    /// Work that the set-up of a variable or function takes, before the search of a neighbourhood.
    pub const SET_UP: u64 = 300;
    /// Work that the planning of a leaf takes for each variable and function.
    pub const PLANNING: u64 = 2000;
    /// Work that a function takes in a pass besides its entries.
    pub const FUNCTION_WORK: u64 = 32;
    /// Variables of the largest bucket that are tried for branching in a heavy node.
    pub const HUBS: usize = 32;
    /// Combinations of values left up to which a sparse function takes part in cost shifting.
    pub const LATE: u64 = 1 << 10;
}

/// Core-guided search.
#[cfg(feature = "sat")]
pub(super) mod cores {
    /// Tuples of the largest function, and of all, at most.
    pub const LARGEST: u64 = 1 << 18;
    pub const TUPLES: u64 = 1 << 21;
    /// Values of a variable up to which each pair of them excludes each other.
    pub const DOMAIN: u32 = 64;
    /// Pairs of literals of which one holds that are looked at for groups.
    pub const PAIRS: usize = 1 << 20;
    /// Bytes of a clause, besides its literals, and of a variable of the solver.
    pub const CLAUSE_BYTES: u64 = 64;
    pub const LITERAL_BYTES: u64 = 128;
    /// Decisions that a conflict counts as, and work that a decision counts as where the work is limited.
    pub const CONFLICT_TICKS: u64 = 32;
    pub const TICK_WORK: u64 = 300;
    /// Work of a propagated literal and of a conflict, besides.
    pub const PROPAGATION_WORK: u64 = 150;
    pub const CONFLICT_WORK: u64 = 10_000;
    /// Decisions of the shortest search.
    pub const LEAST_TICKS: u64 = 1 << 12;
    /// Times that a core is searched for again within itself, and literals of the largest one that is minimised.
    pub const TRIMS: u32 = 5;
    pub const MINIMISED: usize = 100;
    /// Decisions for a core within itself, for all that is left out of one, and for one more of its literals than must
    /// be false.
    pub const TRIMMING: u64 = 30_000;
    pub const MINIMISING: u64 = 100_000;
    pub const EXHAUSTING: u64 = 30_000;
    /// Literals for each different weight from which on a stratum ends (Ansótegui, Bonet, Levy, "SAT-based MaxSAT
    /// algorithms", 2013).
    pub const DIVERSITY: f64 = 1.25;
    /// A stratum has more than one part in so many of the different weights left: real costs are all different.
    pub const STRATA: usize = 16;
}

/// Join graphs.
pub(super) mod join_graph {
    use crate::model::Cost;

    /// Passes forward and back, and passes of averages along all edges, at most.
    pub const PASSES: u32 = 24;
    pub const LONG_PASSES: u32 = 8;
    /// Entries between two looks at the stop flag: some milliseconds of a core, or of a device.
    pub const POLL: u64 = 1 << 22;
    pub const DEVICE_POLL: u64 = 1 << 33;
    /// Entries of a graph on the CPU, at most: a pass over more takes longer than a second.
    pub const LARGEST: u64 = 1 << 26;
    /// The same on a device.
    pub const DEVICE_LARGEST: u64 = 1 << 34;
    /// The same for a certificate: the replay makes as many passes on a CPU, with entries of 64 bits.
    pub const CHECKED_LARGEST: u64 = 1 << 23;
    /// The next graph has at least so many times the entries, if there is room.
    pub const GROWTH: u64 = 4;
    /// z of the first graph: two variables gain little after shifting between functions.
    pub const FIRST_Z: u32 = 3;
    /// Work of a graph counts so many times less than that of mini-buckets: on satellite schedules it gains more.
    pub const LEADING: u64 = 4;
    /// Orders that have a round of passes before the best of them goes on, and orders in all.
    pub const FIRST_ORDERS: u32 = 9;
    pub const ORDERS: u32 = 25;
    /// A round must gain one part in so many of the bound for another along the same order.
    pub const WORTHWHILE: Cost = 500;
    /// Entries of a wave from which on several threads pay.
    pub const SHARED: u64 = 1 << 15;
    /// Tiles of a table for a block of threads, at most, and its entries: where a wave fills the device, and where not.
    pub const BLOCKS: usize = 64;
    pub const WALK: usize = 1 << 14;
    pub const SHORT_WALK: usize = 1 << 11;
    /// Blocks of threads that fill a device.
    pub const DEVICE: usize = 512;
    /// Entries of messages for a block of threads.
    pub const CHUNK: u64 = 4096;
}

/// Cost shifting between functions.
pub(super) mod cost_shifting {
    /// Passes there and back, at most.
    pub const PASSES: u32 = 200;
    /// Entries and waves of a device between two looks at the stop flag: some milliseconds.
    pub const DEVICE_POLL: u64 = 1 << 30;
    pub const DEVICE_WAVES: usize = 1 << 10;
    /// Entries of a core in the time that a device takes for a small wave: 14 us, at 2 to 4 ns an entry.
    pub const LAUNCH: u64 = 1 << 13;
    /// Entries of a wave from which on several threads pay, some 200 us of one: at 2^14 two threads took longer than
    /// one on some networks (results/notes/bounds-cuda.md).
    pub const SHARED: u64 = 1 << 16;
    /// Parts of a wave that threads take at a time.
    pub const PARTS: usize = 32;
    /// Rows of a piece, at most, and its entries, about.
    pub const ROWS: usize = 128;
    pub const PIECE: usize = 1024;
}

/// Limits of a certificate's replay.
pub(super) mod proof {
    /// Work of the replay, as a multiple of the search's or of the sparse elimination's: it bounds differently and
    /// visits each node again. This is the largest ratio measured (results/notes/certificates.md).
    pub const MORE_WORK: u64 = 8;
    /// Work, bytes and depth that it may have besides.
    pub const LEAST_WORK: u64 = 1 << 22;
    pub const LEAST_BYTES: u64 = 1 << 26;
    pub const MORE_DEPTH: u64 = 64;
    /// Times that the passes and searches of a lemma may visit all tables.
    pub const LOOKS: u64 = 1 << 7;
    /// Further passes of the replay over the last join graph: it stops once it has reached the bound.
    pub const MORE_PASSES: u32 = 16;
}
