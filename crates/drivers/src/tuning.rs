//! The tuned constants of the drivers: the unit and meaning of each, and the measurement that chose it.
//!
//! "Work" is what a core of the CPU does in a nanosecond or so; a device's counts as much as the CPU does in the time.

/// Work of a round at least, so that a round's overhead does not count: some 20 ms.
pub const ROUND_WORK: u64 = 20_000_000;

/// What a core is like.
pub mod core {
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
    /// Rows that a schedule is read from, as far as each incidence has one at least and eight at most, and rows that a
    /// narrowed one is.
    pub const SAMPLES: usize = 1 << 16;
    pub const SETTLED_ROWS: usize = 2000;
    /// Rows for a thread at least: waking 16 threads for each step took 9 ms of SPOT5 414 (results/notes/cpu.md).
    pub const WORTH_A_THREAD: usize = 500;
}

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
    pub const FLOOR: f64 = 0.5;
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

/// The memetic algorithm with simulated annealing.
pub mod annealing {
    /// The share of the time at first.
    pub const WEIGHT: f64 = 6.0;
    /// The least part of it on large cores: large-neighbourhood search gains more for its time there, but annealing
    /// comes further (60 s: rnd1000 125245, without 125572; results/notes/cpu.md). Without a device thermal cycling has
    /// half of it where it leads, and `spins` where that fits, on a device, too: annealing found more on sparse random
    /// graphs (results/binary).
    pub const LARGE_FLOOR: f64 = 0.5;
    /// The least part of the time if the anneals of one state double as long as the run goes on: between the ends of
    /// two anneals other drivers gain more. Other numbers were not measured apart from other changes.
    pub const CLIMBING_FLOOR: f64 = 0.75;

    /// Sweeps of the two anneals that begin a pool: the first shows a solution at once, the second is worth its time on
    /// SPOT5.
    pub const FIRST_SWEEPS: u32 = 4;
    pub const OPENING_SWEEPS: u32 = 32;
    /// The second where all offspring are made at once, at the pace of a single state: 128 sweeps took longer than all
    /// that came after (results/notes/search-cuda.md).
    pub const SHORT_OPENING_SWEEPS: u32 = 16;
    /// Sweeps of a turn where all threads make one child together: what it has come to is looked at after it, which
    /// takes about as long as a sweep.
    pub const TURN_SWEEPS: u32 = 6;
    /// Sweeps of the anneals that begin a pool of few states: the first one of a large core and those of long
    /// annealing, whose later ones have twice as many each until one takes so much work, a fifth of a second.
    pub const LONG_SWEEPS: u32 = 256;
    /// The hottest of [`COLD_SHARES`] from which anneals begin at a solution that is known. After 1000 sweeps of 30000
    /// variables, 4000 more came to 2273867 from a temperature of 14, to 2272015 from 18, to 2271942 from 22, and from
    /// random values and 30 to 2272529 (results/notes/cpu.md). This share is at 27 to 33; others were not measured.
    pub const HOTTEST_CLIMB: usize = 6;
    /// Sweeps of one thread that a round of one state is worth at least: what the host does between rounds grows with
    /// the variables as sweeps do. Other numbers were not tried.
    pub const ROUND_SWEEPS: u64 = 2;
    pub const LONG_WORK: u64 = 200_000_000;
    /// Sweeps of the last anneal from a known solution, after 4 and 8, before those that begin at random values: on the
    /// CPU alone, as devices have better ones as soon (results/scale).
    pub const LONGEST_CLIMB: u32 = 16;
    /// Generations without a new best of the pool after which it counts as converged if its median has come to the
    /// best.
    pub const PATIENCE: u32 = 8;
    /// Work of the first offspring on large cores, about: 50 to 200 sweeps. After so many generations without a new
    /// best their sweeps double, up to so many times: ever more sweeps pay there as a run goes on.
    pub const LARGE_CHILD_WORK: u64 = 70_000_000;
    pub const LEAST_SWEEPS: u32 = 50;
    pub const LARGE_PATIENCE: u32 = 4;
    pub const DOUBLINGS: u32 = 6;
    /// Doublings in vain after which a pool on a large core stagnates; the second where what differs between pools
    /// falls into parts (H200, 20 s: 100x100 grid 290894 after one, 290900 after two; rnd1000 125095 and 125059).
    pub const IN_VAIN: [u32; 2] = [2, 1];
    /// States of a subpopulation of a pool's first offspring on other large cores; it doubles with the sweeps: among
    /// all states a good one is soon in all others (H200, 20 s: rnd1000 125074 before, 125065 so).
    pub const LEAST_SUBPOPULATION: usize = 4;
    /// Elites that move to another core, best first: each is lifted to the network and projected again.
    pub const MOVED: usize = 256;
    /// Sweeps of a child that a checkpoint may name: more than any run comes to.
    pub const MOST_SWEEPS: u32 = 1 << 20;
    /// Bests of converged pools that are kept, and how often a new pool begins with them.
    pub const ARCHIVE: usize = 64;
    pub const CROSS_EVERY: u32 = 4;

    /// Where on the schedule a child's anneal begins, as a share of it from the cold end.
    pub const COLD_SHARES: [f64; 8] = [0.05, 0.12, 0.2, 0.3, 0.4, 0.5, 0.62, 0.75];
    /// Largest share of the variables copied from the second parent, in 65536ths; the least is half of it.
    pub const REGION_SHARES: [u64; 4] = [3932, 9830, 21627, 43254];
    /// The least share of an operator: of where anneals begin, and of the other choices.
    pub const LEAST_SHARES: [f64; 2] = [0.15, 0.2];
    /// States that share the order of their sweeps and the forests of their tree moves: they read the same tables at
    /// about the same time.
    pub const GROUP: u64 = 32;
    /// Temperatures that a schedule is cut into.
    pub const STEPS: usize = 1024;
    /// Sweeps from one tree move to the next; a child of fewer has one after its last. One for every 4 to 5 sweeps is
    /// worth 25 % of the time on CELAR.
    pub const TREE_EVERY: u32 = 5;
    /// Sweeps at no temperature that end a child.
    pub const GREEDY_SWEEPS: u32 = 1;

    /// Of the values that a sweep visits fewer than one in so many changed: ratings are kept in the next. One in two
    /// was level on twelve cores, one in five took up to 1.3 times as long (results/notes/cpu.md).
    pub const COOL: usize = 3;
    /// Sweeps that are left where a child's rows are gone with it: the first that keeps ratings makes all rows again.
    pub const WORTH_KEEPING: u32 = 4;
    /// Values of all variables up to which a state keeps its ratings: 64 kB of them.
    pub const MOST_KEPT: usize = 1 << 14;
    /// Work of a generation on small cores at most: some 200 ms.
    pub const GENERATION_WORK: u64 = 200_000_000;
    /// States of a first pool at most; later ones have twice as many each. With 256 from the beginning scen07's mean
    /// distance from the best known over 10 s was 0.20, with 32 it is 0.06 (results/notes/cpu.md).
    pub const FIRST_STATES: usize = 32;
    /// States of a first pool for each thread at least. With two, as 16 threads had, scen07 was at its best after 1.3 s
    /// and not after 0.4 to 0.7 (results/notes/cpu.md).
    pub const FIRST_FOR_EACH: usize = 4;
    /// States on a large core, whose parts improve independently, for one thread and for more: few, so that each comes
    /// far (rnd1000 126352 with 4, 127342 with 8; grid, two threads, 292893 with 4, 292386 with 8;
    /// results/notes/cpu.md).
    pub const LARGE_POPULATION: [usize; 2] = [4, 8];
    /// Sweeps that take about as long as a tree move.
    pub const TREE_SWEEPS: f64 = 1.25;

    /// On a device (results/notes/search-cuda.md).
    /// One state over a whole device.
    pub mod wide {
        /// Variables whose values the shared memory of every multiprocessor in use has no room for.
        pub const MOST_SHARED: usize = 200_000;
        /// Work that a device does in the time that a core of the CPU does one unit, and nanoseconds of a barrier for
        /// all blocks. Both are estimates (174 and 48 microseconds a sweep were seen at 10^6 and 10^5 variables).
        pub const SPEED: u64 = 300;
        pub const BARRIER: u64 = 2_000;
        /// Threads of a multiprocessor that are at work at once, about.
        pub const OCCUPANCY: u32 = 1024;
        /// Nanoseconds between two looks at what the state has come to.
        pub const TURN_WORK: u64 = 10_000_000;
        /// Work of sweeps on one core that takes as long as evaluating an assignment on the host, times the part of the
        /// time that may go to it: a tenth.
        pub const TELLING: u64 = 10;
        /// A child's sweeps are those of all before it, divided by this. Other numbers were not tried.
        pub const GROWTH: u64 = 8;
    }

    pub mod device {
        use std::time::Duration;

        /// Work that a device does in the time that a core of the CPU does one unit; cautious: an H200 made 700 to 1700
        /// times the visits of one core of its host (results/speed/h200-search.csv). The second where ratings are kept.
        pub const SPEED: u64 = 400;
        pub const CACHED_SPEED: u64 = 1200;
        /// States of a first pool for each multiprocessor, and from how many on a state has only as many lanes as a row
        /// takes: on an H200 with 2112 to 32768 states. And states of a population at most: more were not measured.
        pub const FIRST_STATES: usize = 32;
        pub const SATURATING: u32 = 65;
        pub const MOST_STATES: usize = 32768;
        /// Threads of a multiprocessor, as many as it has registers for.
        pub const THREADS: u32 = 1024;
        /// Blocks of a multiprocessor on a large core, and the states of each; the second where such a block goes
        /// through color classes several times over. In 20 s the grid comes further with eight states than with four or
        /// sixteen, rnd1000 about as far with two, four and eight. A block has one where children have the least sweeps
        /// (results/scale).
        pub const BLOCKS: [u32; 2] = [2, 1];
        pub const TOGETHER: [u32; 2] = [1, 8];
        /// Threads of a block whose lane groups have a state each, at most.
        pub const SMALL_THREADS: u32 = 256;
        /// Threads of a block of a small core of narrow rows, which has one state: as many as a class takes, within
        /// these.
        pub const FEW_THREADS: [u32; 2] = [32, 512];
        /// Lanes that share a state, at most, where a row takes fewer.
        pub const MOST_LANES: u32 = 16;
        /// A node of a tree takes about as long as so many visits, the second where ratings are kept: a tree move of a
        /// grid is 2.5 sweeps with four states and 2.1 with eight, where 2.5 and 2.6 were measured.
        pub const NODE_VISITS: [usize; 2] = [3, 5];
        /// How long the kernels of a first population are waited for: a few milliseconds bring them from the cache.
        pub const PATIENCE: Duration = Duration::from_millis(20);
    }
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
