//! The tuned constants of the drivers, each with its unit, its meaning and the measurement that chose it.
//!
//! "Work" is about one nanosecond of one CPU core; on a device it is the work of the CPU in the same time.

/// The driver `guided`.
pub mod guided {
    /// The initial share, relative to 1 for most drivers: the user asked for the heuristic.
    pub const WEIGHT: f64 = 3.0;
    /// Work of a run before its trajectories begin. Their rounds are long; when they began at once, networks that the
    /// other drivers solve within tenths of a second were solved that much later (results/notes/heuristics.md).
    pub const BEGIN: u64 = 300_000_000;
    /// Number of states whose trajectories open a run. They are cold and begin at the first solution, which improves
    /// scen07 to 424807 when annealing has 1848156 a little later (results/notes/heuristics.md).
    pub const OPENING_STATES: usize = 4;
    /// Largest number of passes of a trajectory that opens a run.
    pub const OPENING_PASSES: u64 = 8;
    /// Largest work of the trajectories that open a run.
    pub const OPENING_WORK: u64 = 20_000_000;
    /// Number of states if none was requested; it does not depend on the threads.
    pub const STATES: usize = 16;
    /// Approximate work of a round, which limits the length of a trajectory.
    pub const ROUND_WORK: u64 = 200_000_000;
    /// Largest number of passes of the longest trajectory.
    pub const LONGEST: u64 = 512;
    /// Least number of passes of the longest trajectory.
    pub const SHORTEST: u64 = 8;
    /// Lengths of trajectories as parts of the longest. A trajectory's choices are pairs of a length and a start.
    pub const LENGTHS: [u64; 3] = [1, 8, 64];
    /// Starts of trajectories on the schedule, from 0 (hot) to 1 (cold).
    pub const STARTS: [f64; 4] = [0.0, 0.35, 0.7, 1.0];
    /// Number of trajectories without improvement after which a state restarts.
    pub const PATIENCE: u32 = 24;
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
    /// Work of a run before a device's walks begin, a tenth of a second: allocating memory for them takes half of that.
    pub const BEGIN: u64 = 100_000_000;
    /// Work of a device's slice: some ten milliseconds.
    pub const DEVICE_TURN: u64 = 10_000_000;
    /// Least number of steps of a slice, on the CPU and on a device.
    pub const LEAST_STEPS: [u64; 2] = [16, 64];
    /// Largest number of steps of a slice.
    pub const MOST_STEPS: u64 = 20_000;
    /// Steps between two checks of the stop flag.
    pub const LOOK_EVERY: u32 = 64;
}

/// Tabu search.
pub mod tabu {
    /// Number of moves of all variables above which a step costs more than it can gain.
    pub const MOST_MOVES: usize = 200_000;
    /// Number of concurrent walks on the CPU.
    pub const STATES: usize = 8;
    /// The initial share of pairs of walks: 0 to 3 conflicts were left of DSJC1000.1 with 20 colors after 20 s of a
    /// device, 1 to 5 with a share of twenty (results/notes/tabu-cuda.md).
    pub const TWO_PARENT_WEIGHT: f64 = 60.0;
    /// Guaranteed part of the time of pairs of walks. With few conflicts left gains are so rare that earlier gains of
    /// other drivers kept them at 44 % of it on DSJC250.5 (results/notes/coloring.md).
    pub const TWO_PARENT_FLOOR: f64 = 0.5;
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
    /// Steps without a new best after which a walk is over that began at an elite.
    pub const PATIENCE: u32 = 20_000;
    /// Least number of steps of a pair's walks. With ten times this number the children lose what they inherited
    /// (results/notes/coloring.md).
    pub const SHORT_WALK: u32 = 3_000;
    /// Largest number of doublings of the length of a pair's walks.
    pub const DOUBLINGS: u32 = 6;
    /// Pairs of walks after which the best of the previous cycle replaces one parent (HEAD, section 3.2).
    pub const CYCLE: u32 = 10;
    /// One variable in this number begins with a random value, so that two walks from one elite differ.
    pub const SCATTER: u64 = 20;
    /// Approximate number of the problem's moves for each thread of a device's walk. Half and twice this number were no
    /// faster (results/notes/tabu-cuda.md).
    pub const RATED: u32 = 32;
}

/// Tabu search by single flips of binary variables.
pub mod one_flip {
    /// Number of solutions between which walks begin (Wang, Lü, Glover, Hao, 2012, section 4.1).
    pub const KEPT: usize = 10;
    /// Steps of a walk without improvement, for each variable, after which it ends (Wang, Lü, Glover, Hao, 2012,
    /// section 4.1).
    pub const PATIENCE: u64 = 20;
    /// Number of concurrent walks in a repeatable run.
    pub const PORTABLE: usize = 4;
}

/// Thermal cycling.
pub mod cycling {
    /// Number of sweeps of the first anneals.
    pub const FIRST_SWEEPS: u32 = 32;
    /// Number of anneals without improvement after which their length doubles.
    pub const PATIENCE: u32 = 16;
    /// Number of initial temperatures: the schedule's hot end, halved up to one time fewer than this number.
    pub const TOPS: usize = 5;
    /// Part of the draws that is shared evenly between the initial temperatures.
    pub const FLOOR: f64 = 0.2;
    /// Number of concurrent walks in a repeatable run.
    pub const PORTABLE: usize = 4;
}

/// Thermal cycling of networks of binary variables in pairs.
pub mod spins {
    /// The initial share, relative to 6 for annealing, so that the driver opens runs.
    pub const OPENING: f64 = 12.0;
    /// Guaranteed part of the time once a solution is known.
    pub const OWN_SHARE: f64 = 0.5;
    /// Least number of sweeps of a round: offering a solution takes as long as some hundred.
    pub const SHOWN: u32 = 128;
    /// Number of cycles of a device's hundreds of anneals without improvement after which the length of anneals
    /// doubles. With 16, as on the CPU, unions of planar graphs were behind after 4 s (results/binary).
    pub const DEVICE_PATIENCE: u32 = 4;
    /// Largest number of sweeps of an anneal: each has a rule of 12 bytes in five lists.
    pub const LONGEST: u32 = 1 << 17;
}

/// Ejection chains.
pub mod ejection {
    /// Number of initial temperatures of walks: the average cost of a move, halved up to one time fewer than this
    /// number. Other numbers were not tried.
    pub const COOLER: u64 = 8;
    /// The ratio of the initial to the final temperature. Others were not tried.
    pub const COLD: f64 = 1000.0;
    /// Number of moves of the first walk, for each variable. Others were not tried.
    pub const FIRST_LENGTH: u64 = 4;
    /// Work between two checks of the stop flag, and largest work of a move: about a millisecond.
    pub const LOOK_WORK: u64 = 1_000_000;
    /// Number of concurrent walks in a repeatable run.
    pub const PORTABLE: usize = 4;
}

/// The driver `sums`.
pub mod sums {
    /// Number of initial temperatures of walks: the average cost of a move, halved up to one time fewer than this
    /// number.
    pub const COOLER: u64 = 8;
    /// The ratio of the initial to the final temperature.
    pub const COLD: f64 = 1000.0;
    /// Number of moves of the first walk, for each variable.
    pub const FIRST_LENGTH: u64 = 64;
    /// Factor of the price of a violated sum after each number of moves equal to that of free variables. Of five pairs
    /// with [`FALL`] the best on knapsacks, assignments, covers and warehouses (results/sums).
    pub const RISE: f64 = 1.1;
    /// Factor of all prices if no sum is violated, after each number of moves equal to that of free variables.
    pub const FALL: f64 = 0.9;
    /// Largest number of repairs after the first change of a move.
    pub const CHAIN: usize = 3;
    /// Largest number of variables that are tried for a change.
    pub const TRIED: usize = 16;
    /// The initial share, relative to 1 for most drivers.
    pub const OPENING: f64 = 3.0;
    /// Guaranteed part of the time.
    pub const OWN_SHARE: f64 = 0.5;
    /// Work of a walk on the CPU between two exchanges with the pool: some five milliseconds, of walks of ten or more.
    pub const TURN_WORK: u64 = 5_000_000;
    /// Number of concurrent walks in a repeatable run.
    pub const PORTABLE: usize = 4;
    /// Number of walks of a multiprocessor: equal to that of constraint weighting; others were not tried.
    pub const RESIDENT: u32 = 8;
}

/// Constraint weighting (results/notes/weights.md).
pub mod weighting {
    /// The initial share, relative to 6 for annealing, until a feasible assignment is known.
    pub const WEIGHT: f64 = 5.0;
    /// The initial share once a feasible assignment is known. On problems whose functions mostly only forbid, half a
    /// share was equal to a full one; two shares everywhere were worse.
    pub const SOLVED_WEIGHT: f64 = 0.5;
    /// Guaranteed part of the time until a feasible assignment is known, because fewer violations hardly predict which
    /// driver will find it. The second value is for problems with one annealed state: 3-SAT of 10^5 variables with 4.2
    /// clauses each had 2185 violations after 30 s of this driver alone, 286 after annealing among violations (two
    /// threads; results/notes/search-cuda.md).
    pub const FLOOR: [f64; 2] = [0.5, 0.35];
    /// Largest number of assignments offered after a slice.
    pub const OFFERED: usize = 8;
    /// Least number of walks: one that remembers and one that forgets.
    pub const WALKS: usize = 2;
    /// Work of a walk in a slice on the CPU: some ten milliseconds.
    pub const TURN_WORK: u64 = 5_000_000;
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
    /// Approximate work of a state's slice.
    pub const TURN_WORK: u64 = 2_500_000;
    /// Work of a run before the states begin, half a second: until then annealing gains more on almost all networks.
    pub const BEGIN: u64 = 500_000_000;
    /// Number of variables of the first and of the smallest cluster.
    pub const LEAST: f64 = 5.0;
    /// The part by which a cluster grows after a complete search.
    pub const GROWTH: f64 = 0.05;
    /// The part by which a cluster shrinks after an incomplete search.
    pub const SHRINKAGE: f64 = 0.1;
    /// Number of entries that a search may read at first.
    pub const LEAST_REACH: u64 = 1_000_000;
    /// Largest number of entries that a search may read.
    pub const MOST_REACH: u64 = 16_000_000;
    /// Number of searches without improvement after which the limit of entries doubles.
    pub const DOUBLING: u32 = 100;
    /// Number of searches without improvement after which a state continues from another elite.
    pub const PATIENCE: u32 = 400;
    /// One search in this number is a fusion.
    pub const FUSION: u64 = 3;
    /// Largest total degree of the variables of a fusion, whose setup takes about two slices.
    pub const FUSED: usize = 40_000;
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
    /// Work of a run before the first search, a third of a second: the better the incumbent, the more is pruned.
    pub const BEGIN: u64 = 300_000_000;
    /// Passes over all functions whose entries a search may read at first. The limit doubles when it was too low to
    /// find anything.
    pub const PASSES: u64 = 256;
    /// Least number of entries that a search may read at first.
    pub const LEAST_REACH: u64 = 1 << 24;
    /// Largest number of entries that a search may read.
    pub const MOST_REACH: u64 = 1 << 29;
    /// Passes that must be possible: with fewer, searches find little, and annealing uses the time better.
    pub const LEAST_PASSES: u64 = 64;
    /// Number of entries that take as much time as the overhead of a function, at each of its variables.
    pub const FUNCTION_WORK: u64 = 32;
}
