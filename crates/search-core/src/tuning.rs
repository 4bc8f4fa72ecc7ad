//! The tuned constants of what drivers share: the unit and meaning of each, and the measurement that chose it.
//!
//! "Work" is what a core of the CPU does in a nanosecond or so; a device's counts as much as the CPU does in the time.

/// Work of a round at least, so that a round's overhead does not count: some 20 ms.
pub const ROUND_WORK: u64 = 20_000_000;

/// How large a core is.
pub mod size {
    /// Entries of a table up to which its rows are copied where sums have chains of tables: with some 45 different sums
    /// of bits. Where one has more only the driver `sums` works: preparing the others took 6 s for 20 sums of 200 bits.
    pub const COPIED_CHAIN: u64 = 1 << 12;
    /// Variables with a choice for each color class, on average, above which a core is large: the variables of a class
    /// change without seeing each other, so that states differ in many parts at a time, and taking the better of each
    /// part pays (results/notes/large-cores.md).
    pub const LARGE_CLASS: usize = 64;
    /// Work of a sweep above which a core is large all the same: many states would wait for each other too long
    /// (results/notes/large-cores.md).
    pub const LARGE_SWEEP: u64 = 400_000;
    /// Work of a sweep above which a core is vast: all threads make one state's sweeps together, some 200000 variables
    /// with three functions each. Smaller ones were not tried.
    pub const VAST_SWEEP: u64 = 10_000_000;
    /// Variables of a large core from which on one state is annealed, where what differs between states does not fall
    /// into parts. On an H200 with 30000, 10^5 and 10^6 variables and three functions each it came further than many
    /// states did; fewer were not tried.
    pub const ONE_STATE: usize = 20_000;
    /// Work of a child of annealing on large cores, about: 50 to 200 sweeps.
    pub const LARGE_CHILD_WORK: u64 = 70_000_000;
    /// The least sweeps of such a child.
    pub const LEAST_SWEEPS: u32 = 50;
    /// Functions a variable from which on binary variables in pairs have no tables: an entry of a form takes eight
    /// bytes, rows of a function a hundred, and what reads rows found little on random networks of 3000 variables with
    /// 1200 functions each (results/binary).
    pub const DENSE: usize = 32;
    /// Variables of a tree of a forest, at most, where a core is large: a device assigns the levels of a tree one after
    /// the other.
    pub const LARGE_TREE: u32 = 64;
    /// Units of a row up to which a device keeps ratings on cores that are not large: what follows a move of a wide row
    /// costs more than visits save (one H100, a generation of 4224 states: pedigree18 3.5 to 0.35 ms, SPOT5 414 4.2 to
    /// 2.4, scen07, six units, 1.5 to 3.2; results/speed/h100-generations.csv).
    pub const NARROW: u32 = 2;
    /// Rows of which at most one entry in this number is not 0 are kept as lists of those entries.
    pub const SPARSE: usize = 8;
    /// Variables, and places in scopes, from which on the first solution comes from passes over all functions: the
    /// greedy one takes longer than a tenth of a second then. Fewer variables have it where they are binary ones in
    /// pairs, which are searched at once: warehouses of 1100 variables were worse by 39 % after 10 s.
    pub const VAST: [usize; 2] = [1 << 14, 1 << 17];
}

/// The temperatures of anneals.
pub mod schedule {
    /// Where anneals end, as the share of variables of settled assignments that leave their best values: on large cores
    /// each generation chooses, as 0.04 is better for rnd1000 and much worse for a formula (results/notes/cpu.md).
    pub const ENDS: [f64; 2] = [0.02, 0.04];
    /// Where they begin, as such a share.
    pub const HOT: f64 = 0.5;
    /// Rows that a schedule is read from, as far as each incidence has one at least and eight at most.
    pub const SAMPLES: usize = 1 << 16;
    /// Rows that a narrowed schedule is read from.
    pub const SETTLED_ROWS: usize = 2000;
    /// Rows for a thread at least: waking 16 threads for each step took 9 ms of SPOT5 414 (results/notes/cpu.md).
    pub const WORTH_A_THREAD: usize = 500;
}

/// The drivers that lead.
pub mod leading {
    /// Their share of the time at first.
    pub const WEIGHT: f64 = 6.0;
    /// The least part of it on large cores: large-neighbourhood search gains more for its time there, but annealing
    /// comes further (60 s: rnd1000 125245, without 125572; results/notes/cpu.md). Without a device thermal cycling has
    /// half of it where it leads, and `spins` where that fits, on a device, too: annealing found more on sparse random
    /// graphs (results/binary).
    pub const LARGE_FLOOR: f64 = 0.5;
}
