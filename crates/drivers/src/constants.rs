//! The constants of the drivers that cannot be set: those that each step of a walk reads, that kernels share, or that
//! are lists. Each has its unit, its meaning and the measurement that chose it.
//!
//! "Work" is about one nanosecond of one CPU core; on a device it is the work of the CPU in the same time.

/// The driver `guided`.
pub mod guided {
    /// Number of states whose trajectories open a run. They are cold and begin at the first solution, which improves
    /// scen07 to 424807 when annealing has 1848156 a little later (results/notes/heuristics.md).
    pub const OPENING_STATES: usize = 4;
    /// Largest number of passes of the longest trajectory.
    pub const LONGEST: u64 = 512;
    /// Least number of passes of the longest trajectory.
    pub const SHORTEST: u64 = 8;
    /// Lengths of trajectories as parts of the longest. A trajectory's choices are pairs of a length and a start.
    pub const LENGTHS: [u64; 3] = [1, 8, 64];
    /// Starts of trajectories on the schedule, from 0 (hot) to 1 (cold).
    pub const STARTS: [f64; 4] = [0.0, 0.35, 0.7, 1.0];
    /// Largest number of states that move to another reduced problem: each is lifted to the network and projected
    /// again. The other states begin at the same assignments.
    pub const MOVED: usize = 256;
    /// Largest number of costs of values that all states together keep.
    pub const MOST_KEPT: usize = 1 << 27;
    /// Work of a device in the time that a CPU core does one unit; a cautious value, as for tabu walks.
    pub const SPEED: u64 = 400;
    /// Evaluations that a device's thread keeps in registers. More cost more than they save: each needs a copy of the
    /// loop that computes it, and correspondingly more compilation time.
    pub const KEEP: usize = 2;
    /// Number of states for which the kernel's shape is chosen if none was requested.
    pub const MANY: usize = 4096;
}

/// Tabu walks, constraint-weighting walks and walks on sums.
pub mod walks {
    /// Least number of steps of a slice, on the CPU and on a device.
    pub const LEAST_STEPS: [u64; 2] = [16, 64];
    /// Largest number of steps of a slice.
    pub const MOST_STEPS: u64 = 20_000;
    /// Steps between two checks of the stop flag.
    pub const LOOK_EVERY: u32 = 64;
}

/// Tabu search.
pub mod tabu {
    /// The first tenure of a walk, in steps.
    pub const FIRST_TENURE: u32 = 10;
    /// The least tenure, in steps.
    pub const LEAST_TENURE: u32 = 3;
    /// At most one variable in this number counts as being in conflict, because in a cut or a quadratic form almost all
    /// are.
    pub const CONFLICTS: u32 = 10;
    /// Steps without a repeated assignment after which tenures shorten.
    pub const CALM: u32 = 1000;
    /// Largest number of assignments that a walk remembers: each replaces an earlier one whose hash has the same index.
    pub const REMEMBERED: usize = 4096;
    /// Approximate number of the problem's moves for each thread of a device's walk. Half and twice this number were no
    /// faster (results/notes/tabu-cuda.md).
    pub const RATED: u32 = 32;
}

/// Thermal cycling of networks of binary variables in pairs.
pub mod spins {
    /// Number of initial temperatures: the schedule's hot end, halved up to one time fewer than this number.
    pub const TOPS: usize = 5;
    /// Largest number of sweeps of an anneal: each has a rule of 12 bytes in five lists.
    pub const LONGEST: u32 = 1 << 17;
}

/// Ejection chains.
pub mod ejection {
    /// The ratio of the initial to the final temperature. Others were not tried.
    pub const COLD: f64 = 1000.0;
    /// Work between two checks of the stop flag, and largest work of a move: about a millisecond.
    pub const LOOK_WORK: u64 = 1_000_000;
}

/// The driver `sums`.
pub mod sums {
    /// The ratio of the initial to the final temperature.
    pub const COLD: f64 = 1000.0;
    /// Factor of the price of a violated sum after each number of moves equal to that of free variables. Of five pairs
    /// with [`FALL`] the best on knapsacks, assignments, covers and warehouses (results/sums).
    pub const RISE: f64 = 1.1;
    /// Factor of all prices if no sum is violated, after each number of moves equal to that of free variables.
    pub const FALL: f64 = 0.9;
    /// Largest number of repairs after the first change of a move.
    pub const CHAIN: usize = 3;
    /// Largest number of variables that are tried for a change.
    pub const TRIED: usize = 16;
    /// Number of walks of a multiprocessor: equal to that of constraint weighting; others were not tried.
    pub const RESIDENT: u32 = 8;
}

/// Constraint weighting (results/notes/weights.md).
pub mod weighting {
    /// Guaranteed part of the time until a feasible assignment is known, because fewer violations hardly predict which
    /// driver will find it. The second value is for problems with one annealed state: 3-SAT of 10^5 variables with 4.2
    /// clauses each had 2185 violations after 30 s of this driver alone, 286 after annealing among violations (two
    /// threads; results/notes/search-cuda.md).
    pub const FLOOR: [f64; 2] = [0.5, 0.35];
    /// Walks of a multiprocessor: 4 to 16 were the fastest on four networks of six (one H200).
    pub const RESIDENT: u32 = 8;
    /// Number of violated functions, drawn at random, whose variables' moves are evaluated in a step. With 8, random
    /// formulas of 1000 variables and forced random networks took several times as long.
    pub const LOOKED_AT: usize = 30;
    /// Number of variables, drawn at random, whose moves are evaluated if nothing is violated.
    pub const IMPROVED: u64 = 50;
    /// Number of local minima after which every weight above one falls by one, while a walk forgets.
    pub const SMOOTHING: u32 = 10;
    /// Number of local minima after which a walk changes between forgetting and remembering. The number doubles each
    /// time the walk has done both: random formulas need a short memory, Latin squares a long one.
    pub const PHASE: u32 = 4096;
    /// Largest number of doublings of a phase: weights stay below 2^17, and their sums fit into 32 bits.
    pub const LONGEST: u32 = 4;
    /// Number of steps for which a variable is not moved again after a move, plus a random number up to this one.
    pub const REST: u32 = 3;
    /// Inverse of the part of a weight that a mean difference in cost counts at first.
    pub const PRESSURES: i64 = 8;
    /// Work of evaluating a value, in nanoseconds.
    pub const VALUE_WORK: u64 = 2;
    /// Work of visiting a variable or a row of a function, as a number of values.
    pub const ROW_WORK: u64 = 6;
}

/// Large-neighbourhood search.
pub mod lns {
    /// Discrepancies of the states: how often a path may deviate from the best child. Few discrepancies have large
    /// clusters.
    pub const DISCREPANCIES: [usize; 4] = [3, 8, 1, usize::MAX];
    /// Number of variables of which the one of highest cost begins a cluster, in half of the cases.
    pub const BEGINNINGS: usize = 4;
    /// Largest number of variables at a cluster's border of which the one with the most neighbours in the cluster is
    /// next.
    pub const TRIED: usize = 4;
    /// Work of a search without its variables and entries.
    pub const SEARCH_WORK: u64 = 1000;
    /// Work for each variable of a search.
    pub const VARIABLE_WORK: u64 = 50;
}

/// Limited-discrepancy search.
pub mod limited_discrepancy {
    /// Number of entries that take as much time as the overhead of a function, at each of its variables.
    pub const FUNCTION_WORK: u64 = 32;
}
