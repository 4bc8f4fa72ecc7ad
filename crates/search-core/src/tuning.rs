//! The tuned values that drivers share, and constants that cannot be set: lists, and numbers that inner loops read.
//!
//! "Work" is about one nanosecond of one CPU core; on a device it is the work of the CPU in the same time.

fangs_base::tuning! {
    "core";

    /// The size of a problem.
    size: SizeTuning {
        /// Largest number of entries of a table whose rows are copied if sums have chains of tables: some 45 different
        /// sums of bits. With larger ones only the driver `sums` works: preparing the others took 6 s for 20 sums of
        /// 200 bits.
        copied_chain: u64 = 1 << 12, 0..=1_000_000_000_000_000, "entries", "text";
        /// Average number of variables with a choice in a color class, above which a problem is large. The variables of
        /// a class are not adjacent, so that states differ in many components at a time, and combining the better
        /// components is worthwhile (results/notes/large-cores.md).
        large_class: usize = 64, 1..=1_000_000_000, "variables", "results/notes/large-cores.md";
        /// Work of a sweep above which a problem is large regardless of its classes: many states would wait too long
        /// for each other (results/notes/large-cores.md).
        large_sweep: u64 = 400_000, 0..=1_000_000_000_000_000, "work", "results/notes/large-cores.md";
        /// Work of a sweep above which a problem is vast and all threads sweep one state together: some 200000
        /// variables with three functions each. Smaller ones were not tried.
        vast_sweep: u64 = 10_000_000, 0..=1_000_000_000_000_000, "work", "estimate";
        /// Least number of variables of a large problem for annealing one state, if differences between states do not
        /// have several components. On an H200 with 30000, 10^5 and 10^6 variables and three functions each, it found
        /// better solutions than many states did; fewer variables were not tried.
        one_state: usize = 20_000, 0..=1_000_000_000_000_000, "variables", "text";
        /// Least number of functions per variable for which networks of binary variables in pairs have no tables. An
        /// entry of a form takes eight bytes, the rows of a function a hundred, and drivers that read rows found little
        /// on random networks of 3000 variables with 1200 functions each (results/binary).
        dense: usize = 32, 1..=1_000_000_000, "functions for a variable", "results/binary";
        /// Largest number of variables in a tree of a forest on a large problem: a device assigns the levels of a tree
        /// one after the other.
        large_tree: u32 = 64, 2..=1_000_000, "variables", "estimate";
    }

    /// The temperatures of anneals.
    schedule: ScheduleTuning {
        /// The share of variables of settled assignments that leave their best values at the first temperature.
        hot: f64 = 0.5, 0.0..=1.0, "share of the variables", "estimate";
        /// The factor on the share at the final temperature if all excitations cost about the same, such as one
        /// conflict. A coloring of 20000 vertices of degree 12 with 5 colors has 486 conflicts after 20 s of two
        /// threads without this (annealing alone); after 15 s, three seeds, 33, 25 and 23 with 3e-5, 38, 22 and 30 with
        /// 2e-3, 28, 21 and 23 with 1e-6 (results/notes/cpu.md).
        colder: f64 = 1.0 / 32_768.0, 0.0..=1.0, "factor", "results/notes/cpu.md";
        /// The factor on the share and the ratio of the temperatures at the two shares below which all excitations
        /// count as equally expensive: the ratio is 2.3 for colorings and 10 to 40 for costs of 0 to 100.
        steep_share: f64 = 1.0 / 64.0, 0.0..=1.0, "factor", "text";
        /// See `steep_share`.
        steep: f64 = 3.0, 1.0..=1e6, "ratio", "text";
        /// The value in place of `hot` if all excitations cost about the same.
        steep_hot: f64 = 0.2, 0.0..=1.0, "share of the variables", "estimate";
        /// Number of rows from which a schedule is computed, with at least one and at most eight for each incidence.
        samples: usize = 1 << 16, 1..=1_000_000_000, "rows", "estimate";
        /// Number of rows from which a narrowed schedule is computed.
        settled_rows: usize = 2000, 1..=1_000_000_000, "rows", "estimate";
    }
}

/// Least work of a round, so that its overhead is negligible: some 20 ms.
pub const ROUND_WORK: u64 = 20_000_000;

/// The size of a problem.
pub mod size {
    /// Approximate work of a child of annealing on large problems: 50 to 200 sweeps.
    pub const LARGE_CHILD_WORK: u64 = 70_000_000;
    /// Least number of sweeps of a child of annealing on large problems.
    pub const LEAST_SWEEPS: u32 = 50;
    /// Largest row length, in units, for which a device caches evaluations on problems that are not large: updates
    /// after a move of a wide row cost more than the visits save (one H100, a generation of 4224 states: pedigree18 3.5
    /// to 0.35 ms, SPOT5 414 4.2 to 2.4, scen07, six units, 1.5 to 3.2; results/speed/h100-generations.csv).
    pub const NARROW: u32 = 2;
    /// Rows are stored as lists of the entries that are not 0 if at most one entry in this number is.
    pub const SPARSE: usize = 8;
    /// Least number of variables, and least total arity of functions, for which the first solution comes from passes
    /// over all functions, because the greedy one takes longer than a tenth of a second. Fewer variables suffice for
    /// networks of binary variables in pairs, which are searched at once: warehouses of 1100 variables were worse by 39
    /// % after 10 s.
    pub const VAST: [usize; 2] = [1 << 14, 1 << 17];
}

/// The temperatures of anneals.
pub mod schedule {
    /// The share of variables of settled assignments that leave their best values at the final temperature. On large
    /// problems each generation chooses between the two, because 0.04 is better for rnd1000 and much worse for a
    /// formula (results/notes/cpu.md).
    pub const ENDS: [f64; 2] = [0.02, 0.04];
    /// Least number of rows for a thread: waking 16 threads for each step took 9 ms of SPOT5 414
    /// (results/notes/cpu.md).
    pub const WORTH_A_THREAD: usize = 500;
}

/// The share of the leading drivers.
pub mod leading {
    /// Initial share of the leading driver, relative to 1 for the others.
    pub const WEIGHT: f64 = 6.0;
    /// Guaranteed share of annealing on large problems. Large-neighbourhood search gains more for its time there, but
    /// annealing finds better solutions in the end (60 s: rnd1000 125245, without it 125572; results/notes/cpu.md).
    /// `spins` has half of it if it applies: annealing found more on sparse random graphs (results/binary).
    pub const LARGE_FLOOR: f64 = 0.5;
}
