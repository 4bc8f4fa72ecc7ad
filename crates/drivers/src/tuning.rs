//! The tuned constants of the drivers: the unit and meaning of each, and the measurement that chose it.
//!
//! "Work" is what a core of the CPU does in a nanosecond or so; a device's counts as much as the CPU does in the time.

/// The driver `guided`.
pub mod guided {
    /// Its share at first, beside 1 of most drivers: the user asked for it.
    pub const WEIGHT: f64 = 3.0;
    /// Work of a run before its trajectories begin. A round of them is long; where they began at once, networks that
    /// the other drivers solve within tenths of a second were solved that much later (results/notes/heuristics.md).
    pub const BEGIN: u64 = 300_000_000;
    /// What opens a run: cold trajectories of this number of states and of passes; fewer passes where they would take
    /// more than this work. They set out from the first solution, which brings scen07 to 424807 where annealing has
    /// 1848156 a little later (results/notes/heuristics.md).
    pub const OPENING_STATES: usize = 4;
    pub const OPENING_PASSES: u64 = 8;
    pub const OPENING_WORK: u64 = 20_000_000;
    /// States, where no other number was asked for; threads do not change it.
    pub const STATES: usize = 16;
    /// Work of a round, about: a trajectory is no longer than that allows.
    pub const ROUND_WORK: u64 = 200_000_000;
    /// Passes of the longest and the shortest trajectory.
    pub const LONGEST: u64 = 512;
    pub const SHORTEST: u64 = 8;
    /// Lengths of trajectories as parts of the longest, and where on the schedule they begin: the choices of a
    /// trajectory are pairs.
    pub const LENGTHS: [u64; 3] = [1, 8, 64];
    pub const STARTS: [f64; 4] = [0.0, 0.35, 0.7, 1.0];
    /// Trajectories without anything better after which a state begins again.
    pub const PATIENCE: u32 = 24;
    /// States that move to another core, at most: each is lifted to the network and projected again. Others begin at
    /// the same places.
    pub const MOVED: usize = 256;
    /// Costs of values kept by all states together, at most.
    pub const MOST_KEPT: usize = 1 << 27;
    /// Work that a device does in the time that a core of the CPU does one unit; cautious, as for tabu walks.
    pub const SPEED: u64 = 400;
    /// Ratings that a device's thread keeps in registers. More cost more than they save: each takes a copy of the loop
    /// that makes it, and so as much longer to compile.
    pub const KEEP: usize = 2;
    /// States for which the kernel's shape is chosen where no number was asked for.
    pub const MANY: usize = 4096;
}

/// Tabu and constraint-weighting walks, and those on sums.
pub mod walks {
    /// Work of a run before a device's walks begin, a tenth of a second: making room for them takes half of that.
    pub const BEGIN: u64 = 100_000_000;
    /// Work of a device's turn: some ten milliseconds.
    pub const DEVICE_TURN: u64 = 10_000_000;
    /// Steps of a turn at least, on the CPU and on a device, and at most.
    pub const LEAST_STEPS: [u64; 2] = [16, 64];
    pub const MOST_STEPS: u64 = 20_000;
    /// Steps between two looks at the stop flag.
    pub const LOOK_EVERY: u32 = 64;
}

/// Tabu search.
pub mod tabu {
    /// Moves of all variables above which a step costs more than it can give.
    pub const MOST_MOVES: usize = 200_000;
    /// States that search side by side on the CPU.
    pub const STATES: usize = 8;
    /// The share of pairs of walks at first: 0 to 3 conflicts were left of DSJC1000.1 with 20 colors after 20 s of a
    /// device, 1 to 5 with a share of twenty (results/notes/tabu-cuda.md).
    pub const TWO_PARENT_WEIGHT: f64 = 60.0;
    /// The least part of the time of pairs of walks: gains are so rare where few conflicts are left that what others
    /// once gained kept them at 44 % of it on DSJC250.5 (results/notes/coloring.md).
    pub const TWO_PARENT_FLOOR: f64 = 0.5;
    /// The first tenure of a walk and the least one, in steps.
    pub const FIRST_TENURE: u32 = 10;
    pub const LEAST_TENURE: u32 = 3;
    /// Of the variables at most one in so many counts as being in conflict: in a cut or a quadratic form nearly all
    /// are.
    pub const CONFLICTS: u32 = 10;
    /// Steps without a repeated assignment after which tenures shorten.
    pub const CALM: u32 = 1000;
    /// Assignments that a walk remembers, at most: each replaces an earlier one whose hash ends in the same bits.
    pub const REMEMBERED: usize = 4096;
    /// Steps without a new best after which a walk is over that began at an elite.
    pub const PATIENCE: u32 = 20_000;
    /// Steps of a pair's walks, at least, and how often they double at most. Ten times as many lose what the children
    /// inherited (results/notes/coloring.md).
    pub const SHORT_WALK: u32 = 3_000;
    pub const DOUBLINGS: u32 = 6;
    /// Pairs of walks after which the best of as many before comes back in the place of one (HEAD, section 3.2).
    pub const CYCLE: u32 = 10;
    /// One variable in so many begins with a random value, so that two walks from one elite differ.
    pub const SCATTER: u64 = 20;
    /// Moves of the core for each thread of a device's walk, about. Half as many and twice as many were no faster
    /// (results/notes/tabu-cuda.md).
    pub const RATED: u32 = 32;
}

/// Single flips of binary variables.
pub mod one_flip {
    /// Solutions between which walks begin (Wang, Lü, Glover, Hao, 2012, section 4.1).
    pub const KEPT: usize = 10;
    /// Steps of a walk without anything better, for each variable (the same section).
    pub const PATIENCE: u64 = 20;
    /// Walks side by side where a run must be the same on all machines.
    pub const PORTABLE: usize = 4;
}

/// Thermal cycling.
pub mod cycling {
    /// Sweeps of the first anneals.
    pub const FIRST_SWEEPS: u32 = 32;
    /// Anneals without anything better after which they are twice as long.
    pub const PATIENCE: u32 = 16;
    /// Anneals begin at the schedule's hot end, or up to so many halves below it but one, and the part of the draws
    /// that is shared evenly between them.
    pub const TOPS: usize = 5;
    pub const FLOOR: f64 = 0.2;
    /// Walks side by side where a run must be the same on all machines.
    pub const PORTABLE: usize = 4;
}

/// Thermal cycling of binary variables in pairs.
pub mod spins {
    /// The share at first, next to annealing's six, so that it opens runs; and its part of the time once a solution is
    /// known.
    pub const OPENING: f64 = 12.0;
    pub const OWN_SHARE: f64 = 0.5;
    /// Sweeps of a round at least: to show others a solution takes as long as some hundred.
    pub const SHOWN: u32 = 128;
    /// Cycles of a device's hundreds of anneals without anything better after which anneals are twice as long; with 16,
    /// as on the CPU, unions of planar graphs were behind after 4 s (results/binary).
    pub const DEVICE_PATIENCE: u32 = 4;
    /// Sweeps of an anneal at most: each has a rule, 12 bytes of five lists.
    pub const LONGEST: u32 = 1 << 17;
}

/// Ejection chains.
pub mod ejection {
    /// Walks begin as warm as moves are dear on average, or by up to so many halves less, and end at one part in so
    /// many of that. The first one has so many moves for each variable. Others were not tried.
    pub const COOLER: u64 = 8;
    pub const COLD: f64 = 1000.0;
    pub const FIRST_LENGTH: u64 = 4;
    /// Work between two looks at the stop flag, and of a move at most: a millisecond or so.
    pub const LOOK_WORK: u64 = 1_000_000;
    /// Walks side by side where a run must be the same on all machines.
    pub const PORTABLE: usize = 4;
}

/// The driver `sums`.
pub mod sums {
    /// Walks begin as warm as moves are dear on average, or by up to so many halves less, and end at one part in so
    /// many of that. The first one has so many moves for each variable.
    pub const COOLER: u64 = 8;
    pub const COLD: f64 = 1000.0;
    pub const FIRST_LENGTH: u64 = 64;
    /// What becomes of the price of a violated sum with each sweep, and of all prices where none is: of five pairs the
    /// best on knapsacks, assignments, covers and warehouses (results/sums).
    pub const RISE: f64 = 1.1;
    pub const FALL: f64 = 0.9;
    /// Changes that answer the first one of a move, at most.
    pub const CHAIN: usize = 3;
    /// Variables that are tried for a change, at most.
    pub const TRIED: usize = 16;
    /// Its share at first beside 1 of most drivers, and part of the time that is its own.
    pub const OPENING: f64 = 3.0;
    pub const OWN_SHARE: f64 = 0.5;
    /// Work of a walk between two looks at what others found, on the CPU: some five milliseconds, of walks of ten or
    /// more.
    pub const TURN_WORK: u64 = 5_000_000;
    /// Walks side by side where a run must be the same on all machines.
    pub const PORTABLE: usize = 4;
    /// Walks of a multiprocessor: as many as of constraint weighting; others were not tried.
    pub const RESIDENT: u32 = 8;
}

/// Constraint weighting (results/notes/weights.md).
pub mod weighting {
    /// The share at first next to annealing's six, before and after something allowed is known. Half a share then,
    /// where most functions forbid and do nothing else, was level, two shares everywhere were worse.
    pub const WEIGHT: f64 = 5.0;
    pub const SOLVED_WEIGHT: f64 = 0.5;
    /// The least part of the time until something allowed is known: fewer violations say little of who will find it.
    /// The second on cores with one state: 3-SAT of 10^5 variables with 4.2 clauses each had 2185 violations after 30 s
    /// of this alone, 286 after annealing among violations (two threads; results/notes/search-cuda.md).
    pub const FLOOR: [f64; 2] = [0.5, 0.35];
    /// Assignments offered after a turn, at most.
    pub const OFFERED: usize = 8;
    /// Walks, at least: one that remembers beside one that forgets.
    pub const WALKS: usize = 2;
    /// Work of a walk in a turn on the CPU: some ten milliseconds.
    pub const TURN_WORK: u64 = 5_000_000;
    /// Walks of a multiprocessor: 4 to 16 were the soonest to find something on four networks of six (one H200).
    pub const RESIDENT: u32 = 8;
    /// Violated functions, drawn at random, whose variables' moves are looked at in a step. With 8 random formulas of
    /// 1000 variables and forced random networks took several times as long.
    pub const LOOKED_AT: usize = 30;
    /// Variables, drawn at random, whose moves are looked at where nothing is violated.
    pub const IMPROVED: u64 = 50;
    /// Places without a better move after which every weight above one falls by one, while a walk forgets.
    pub const SMOOTHING: u32 = 10;
    /// Places without a better move until a walk that forgets remembers all, and the other way round. They double each
    /// time it has done both: random formulas want a short memory, Latin squares a long one.
    pub const PHASE: u32 = 4096;
    /// Doublings of a phase at most: weights stay below 2^17, and their sums in 32 bits.
    pub const LONGEST: u32 = 4;
    /// Steps for which a variable rests that moved, and up to as many more.
    pub const REST: u32 = 3;
    /// A mean difference in cost counts one in so many of a weight at first.
    pub const PRESSURES: i64 = 8;
    /// Nanoseconds of a value, and what it takes to look at a variable or at a row of a function besides, in values.
    pub const VALUE_WORK: u64 = 2;
    pub const ROW_WORK: u64 = 6;
}

/// Large-neighbourhood search.
pub mod lns {
    /// Discrepancies of the states, how often a path may leave the best child: few ones have large clusters.
    pub const DISCREPANCIES: [usize; 4] = [3, 8, 1, usize::MAX];
    /// Work of a state's turn, about.
    pub const TURN_WORK: u64 = 2_500_000;
    /// Work of a run before states take part, half a second: until then annealing gains more on nearly all networks.
    pub const BEGIN: u64 = 500_000_000;
    /// Variables of a cluster, at first and at least, and the part by which it grows and shrinks.
    pub const LEAST: f64 = 5.0;
    pub const GROWTH: f64 = 0.05;
    pub const SHRINKAGE: f64 = 0.1;
    /// Entries that a search looks at, at first and at most; they double after so many searches in vain.
    pub const LEAST_REACH: u64 = 1_000_000;
    pub const MOST_REACH: u64 = 16_000_000;
    pub const DOUBLING: u32 = 100;
    /// Searches without anything better after which a state goes on from another elite.
    pub const PATIENCE: u32 = 400;
    /// One search in so many is a fusion.
    pub const FUSION: u64 = 3;
    /// What the variables of a fusion have for degrees in all, at most: to set up so many takes about two turns.
    pub const FUSED: usize = 40_000;
    /// Variables of which the dearest begins a cluster, one time in two.
    pub const BEGINNINGS: usize = 4;
    /// Variables at a cluster's border, at most, of which the one of most neighbours there is next.
    pub const TRIED: usize = 4;
    /// What a search takes besides, and each of its variables.
    pub const SEARCH_WORK: u64 = 1000;
    pub const VARIABLE_WORK: u64 = 50;
}

/// Limited-discrepancy search.
pub mod limited_discrepancy {
    /// Work of a run before the first search, a third of a second: the better the solution known, the more is pruned.
    pub const BEGIN: u64 = 300_000_000;
    /// What a search may look at, at first: so many passes over all functions, and at least and at most so many
    /// entries. It doubles where that was not enough to find anything.
    pub const PASSES: u64 = 256;
    pub const LEAST_REACH: u64 = 1 << 24;
    pub const MOST_REACH: u64 = 1 << 29;
    /// Passes that must be possible: with fewer no search comes far, and annealing uses the time better.
    pub const LEAST_PASSES: u64 = 64;
    /// Entries that could be looked at in the time that a function takes besides, at each of its variables.
    pub const FUNCTION_WORK: u64 = 32;
}
