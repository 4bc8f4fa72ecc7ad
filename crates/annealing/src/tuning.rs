//! The tuned constants of annealing, each with its unit, its meaning and the measurement that chose it.
//!
//! A unit of work is about what one core of the CPU does in a nanosecond. The work of a device is counted as the work
//! that the CPU would do in the same time.

/// The minimum share of the time if the anneals of one state double as long as the run goes on: between the ends of two
/// anneals other drivers gain more. Other values were not measured on their own.
pub const CLIMBING_FLOOR: f64 = 0.75;

/// Sweeps of the first anneal of a pool, which yields a solution at once.
pub const FIRST_SWEEPS: u32 = 4;
/// Sweeps of the second anneal of a pool; it is worth its time on SPOT5.
pub const OPENING_SWEEPS: u32 = 32;
/// Sweeps of the second anneal of a pool if all offspring are made at once, at the pace of a single state. With 128
/// sweeps it took longer than all that came after (results/notes/search-cuda.md).
pub const SHORT_OPENING_SWEEPS: u32 = 16;
/// Sweeps of a slice if all threads make one child together. The state is evaluated after each slice, which takes about
/// as long as a sweep.
pub const TURN_SWEEPS: u32 = 6;
/// Sweeps of the opening anneal of the first pool on a large problem, and of the first pool of the long driver. The
/// later ones of that driver double until one takes `LONG_WORK`.
pub const LONG_SWEEPS: u32 = 256;
/// The index into [`COLD_SHARES`] of the highest temperature at which anneals from a known solution begin. After 1000
/// sweeps of 30000 variables, 4000 more reached 2273867 from a temperature of 14, 2272015 from 18, 2271942 from 22, and
/// 2272529 from random values and 30 (results/notes/cpu.md). This share is at 27 to 33; others were not measured.
pub const HOTTEST_CLIMB: usize = 6;
/// The sweeps of all threads among violations after which a better state is reported, because evaluating one takes as
/// long as a number of sweeps. Other values were not tried.
pub const REPORT_EVERY: u32 = 96;
/// The minimum work of a round of one state, in sweeps of one thread: the work of the host between rounds grows with
/// the variables as that of a sweep does. Other values were not tried.
pub const ROUND_SWEEPS: u64 = 2;
/// The maximum work of an anneal of the long driver: a fifth of a second.
pub const LONG_WORK: u64 = 200_000_000;
/// Sweeps of the last anneal from a known solution, after those of 4 and 8 sweeps and before anneals from random
/// values. It applies to the CPU only, because devices have better solutions as soon (results/scale).
pub const LONGEST_CLIMB: u32 = 16;
/// The generations without improvement after which a pool counts as converged if most of its states have the best
/// energy.
pub const PATIENCE: u32 = 8;
/// The generations without improvement on a large problem after which the sweeps of a child double. Longer anneals pay
/// more there as a run goes on.
pub const LARGE_PATIENCE: u32 = 4;
/// The maximum number of doublings of a child's sweeps.
pub const DOUBLINGS: u32 = 6;
/// The doublings without improvement after which a pool on a large problem stagnates. The second value applies if the
/// differences between states fall into independent components (H200, 20 s: 100x100 grid 290894 after one, 290900 after
/// two; rnd1000 125095 and 125059).
pub const IN_VAIN: [u32; 2] = [2, 1];
/// The minimum number of states of a subpopulation of a pool's first offspring on large problems without independent
/// components; it grows with the sweeps. Without subpopulations a good state soon spreads to all others (H200, 20 s:
/// rnd1000 125074 before, 125065 so).
pub const LEAST_SUBPOPULATION: usize = 4;
/// The fraction of the estimated remaining sweeps that the last anneal of a run takes. Other values were not measured
/// (results/notes/cpu.md).
pub const SURE: f64 = 0.93;
/// An anneal is the last one of a run if the remaining sweeps are fewer than its own times this. Other values were not
/// measured (results/notes/cpu.md).
pub const LAST: f64 = 1.5;
/// The maximum number of elites that move to another reduced problem, best first: each is lifted to the network and
/// projected again.
pub const MOVED: usize = 256;
/// The maximum sweeps of a child that a checkpoint may name. It exceeds those of any run.
pub const MOST_SWEEPS: u32 = 1 << 20;
/// The maximum number of best elites of converged pools that are kept.
pub const ARCHIVE: usize = 64;
/// Every this many pools, a new pool begins with elites of the archive.
pub const CROSS_EVERY: u32 = 4;

/// The points where a child's anneal may begin, as a share of the schedule from its cold end.
pub const COLD_SHARES: [f64; 8] = [0.05, 0.12, 0.2, 0.3, 0.4, 0.5, 0.62, 0.75];
/// The largest shares of the variables copied from the second parent, in 65536ths; the smallest region has half as
/// many.
pub const REGION_SHARES: [u64; 4] = [3932, 9830, 21627, 43254];
/// The minimum shares of an operator: of the point where anneals begin, and of the other choices.
pub const LEAST_SHARES: [f64; 2] = [0.15, 0.2];
/// The number of states that share the order of their sweeps and the forests of their tree moves, so that they read the
/// same tables at about the same time.
pub const GROUP: u64 = 32;
/// The number of temperatures of a schedule.
pub const STEPS: usize = 1024;
/// Where anneals among violations begin and end: the logarithm of how much less a value with one violation more weighs.
/// Violations left in 3-SAT of 10^4 variables with 4.2 clauses each, in a separate program: from 1.0 to 3.0 2 after
/// 200000 sweeps, from 1.0 to 2.0 14 and from 1.2 to 2.5 8 after 40000; by Metropolis at 1.6 throughout 24 after 40000
/// and 7 after 400000. An anneal from a known state begins at 1.0 (results/notes/search-cuda.md).
pub const VIOLATIONS_HOT: f64 = 0.6;
pub const VIOLATIONS_COLD: f64 = 2.3;
/// The minimum share of the time for anneals among violations, beside that of constraint weighting: the gain of a
/// driver says little about which one will find a feasible assignment. Other values were not tried.
pub const VIOLATIONS_FLOOR: f64 = 0.45;
/// How much colder anneals among violations are with more values, as a factor of the logarithm of the number of other
/// values. A timetable of 30000 lessons in 30 slots, two threads, violations after 17 s: 5227 with 0, 270, 96, 230,
/// 1474 and 2108 with 0.3, 0.4, 0.5, 0.6 and 1; 30000 variables of ten values in 9000 cliques of ten, after 12 s: 5014,
/// 3973, 3305 and 3015 with 0.2, 0.4, 0.6 and 1.
pub const VIOLATIONS_VALUES: f64 = 0.4;
/// The sweeps from one tree move to the next; a child of fewer sweeps has one after its last. One for every 4 to 5
/// sweeps is worth 25 % of the time on CELAR.
pub const TREE_EVERY: u32 = 5;
/// Sweeps at temperature 0 that end a child.
pub const GREEDY_SWEEPS: u32 = 1;

/// Evaluations are kept in the next sweep if fewer than one in this many variables changed its value in the last one.
/// One in two took equally long on twelve cores, one in five up to 1.3 times as long (results/notes/cpu.md).
pub const COOL: usize = 3;
/// The minimum number of remaining sweeps for which keeping evaluations pays if they are dropped at the end of the
/// child: the first such sweep computes all rows.
pub const WORTH_KEEPING: u32 = 4;
/// The maximum number of values of all variables for which a state keeps its evaluations, which take 64 kB then.
pub const MOST_KEPT: usize = 1 << 14;
/// The maximum work of a generation on small problems: about 200 ms.
pub const GENERATION_WORK: u64 = 200_000_000;
/// The number of states of a first pool, unless [`FIRST_FOR_EACH`] asks for more; each later pool has twice as many.
/// With 256 from the beginning scen07's mean distance from the best known over 10 s was 0.20, with 32 it is 0.06
/// (results/notes/cpu.md).
pub const FIRST_STATES: usize = 32;
/// The minimum number of states of a first pool for each thread. With two, which 16 threads had, scen07 reached its
/// best after 1.3 s and not after 0.4 to 0.7 (results/notes/cpu.md).
pub const FIRST_FOR_EACH: usize = 4;
/// The minimum number of states on a large problem, whose parts improve independently, for one thread and for more. Few
/// states improve further each (rnd1000 126352 with 4, 127342 with 8; grid, two threads, 292893 with 4, 292386 with 8;
/// results/notes/cpu.md).
pub const LARGE_POPULATION: [usize; 2] = [4, 8];
/// Sweeps that take about as long as a tree move.
pub const TREE_SWEEPS: f64 = 1.25;

/// One state over a whole device (results/notes/search-cuda.md).
pub mod wide {
    /// The number of variables of a large problem from which on a device begins with one state. The second value
    /// applies if the differences between states fall into independent components. Costs on an H200, with one state
    /// (and the number of children that keeps the device busy) and with many states: networks with three functions for
    /// each variable, 377135 and 379264 for 5000 after 2 s, 301402 and 302504 for 4000, 226337 and 226924 for 3000
    /// after 2 s and 226173 and 226096 after 4 s, 151583 and 151524 for 2000; grids of 50x50 71751 and 72859 after 1 s,
    /// 100x100 290792 and 297378 after 2 s, both followed by many states (results/notes/search-cuda.md).
    pub const LEAST_VARIABLES: [usize; 2] = [4_000, 2_500];
    /// The nanoseconds for each variable after which many states replace one if states fall into independent
    /// components. On an H200 a grid of 200x200 has 1175877 after 4 s with many states from 1 s on (which began at
    /// temperature 0 by a mistake), 1179056 with one state, 1182625 with many alone.
    pub const ONE_STATE_TIME: u64 = 25_000;
    /// The work that a device does while a core of the CPU does one unit. It is an estimate: 66, 27 and 21 microseconds
    /// a sweep were measured at 10^6, 10^5 and 30000 variables.
    pub const SPEED: u64 = 1_000;
    /// The estimated nanoseconds of a barrier for all blocks.
    pub const BARRIER: u64 = 2_000;
    /// The approximate number of threads that a multiprocessor executes at once.
    pub const OCCUPANCY: u32 = 1024;
    /// The length of a slice in nanoseconds. The host evaluates a better state while the device executes the next
    /// slice.
    pub const TURN_WORK: u64 = 10_000_000;
    /// The length of a slice is at least a core's sweep divided by this, because the host's evaluation takes about as
    /// long as such a sweep.
    pub const TURN_PART: u64 = 2;
    /// The minimum time between two reports of unfinished children, in sweeps of one core. The host's evaluation of a
    /// state takes about as long as one such sweep, and evaluations may take a tenth of the time.
    pub const TELLING: u64 = 10;
    /// The maximum number of devices that share a state. More than two were not tried.
    pub const MOST_PARTS: usize = 8;
    /// Sweeps that a part makes between looking at the others: it goes on while they are less than two such legs
    /// behind.
    pub const LEG: usize = 4;
    /// The nanoseconds for which a device waits for another one before that one counts as lost. A class takes some
    /// milliseconds at most.
    pub const WAIT_NANOSECONDS: u64 = 1_000_000_000;
    /// The estimated nanoseconds of a sweep from which on several devices share a state: 10^6 variables with three
    /// functions each are above. Two H200 make 1.2 times the sweeps of one there and 1.4 times at 10^7; 0.4 times at
    /// 10^5 (results/notes/search-cuda.md).
    pub const SHARED_SWEEP: u64 = 60_000;
    /// The factor from an anneal that starts at the incumbent to the next one. Costs on an H200 (seed 1) with the
    /// factors 2, 3 and 4: 7549237, 7550934 and 7545660 for 10^5 variables after 14 s, 75624867, 75651799 and 75564951
    /// for 10^6 after 8 s, 2263362, 2263874 and 2262887 for 30000 after 5 s. On one core of a CPU 2 and 4 differ by
    /// 0.05 %.
    pub const CLIMB_GROWTH: u32 = 4;
    /// The sweeps of a child are those of all children before it, divided by this. Other values were not tried.
    pub const GROWTH: u64 = 8;
}

/// Populations on a device (results/notes/search-cuda.md).
pub mod device {
    use std::time::Duration;

    /// The work that a device does while a core of the CPU does one unit. It is a cautious value: an H200 made 700 to
    /// 1700 times the visits of one core of its host (results/speed/h200-search.csv).
    pub const SPEED: u64 = 400;
    /// The work that a device does while a core of the CPU does one unit, if evaluations are kept.
    pub const CACHED_SPEED: u64 = 1200;
    /// The states of a first pool for each multiprocessor.
    pub const FIRST_STATES: usize = 32;
    /// The states for each multiprocessor from which on a state has only the lanes that hold a row; measured on an H200
    /// with 2112 to 32768 states.
    pub const SATURATING: u32 = 65;
    /// The maximum number of states of a population. More were not measured.
    pub const MOST_STATES: usize = 32768;
    /// Threads of a multiprocessor, limited by its registers.
    pub const THREADS: u32 = 1024;
    /// Blocks of a multiprocessor on a large problem. The second value applies if color classes have at least
    /// [`THREADS`] variables on average.
    pub const BLOCKS: [u32; 2] = [2, 1];
    /// States of a block on a large problem, chosen like [`BLOCKS`]. In 20 s the grid improves further with eight
    /// states than with four or sixteen, rnd1000 about equally with two, four and eight. A block has one state if
    /// children have the least sweeps (results/scale).
    pub const TOGETHER: [u32; 2] = [1, 8];
    /// The maximum number of threads of a block if each lane group has a state of its own.
    pub const SMALL_THREADS: u32 = 256;
    /// The bounds on the threads of a block that has one state of a small problem with narrow rows. Between them the
    /// number is that of a color class's visits.
    pub const FEW_THREADS: [u32; 2] = [32, 512];
    /// The maximum number of lanes that share a state if a row takes fewer.
    pub const MOST_LANES: u32 = 16;
    /// The visits that take about as long as a node of a tree, without and with kept evaluations. By this estimate a
    /// tree move of a grid takes 2.5 sweeps with four states and 2.1 with eight; 2.5 and 2.6 were measured.
    pub const NODE_VISITS: [usize; 2] = [3, 5];
    /// The estimated nanoseconds of an anneal of all states of a large problem up to which anneals from known solutions
    /// double. On an H200, rnd1000 after 6 s, seeds 1 to 3: 125144, 125071 and 125095 without such anneals; 125065
    /// three times with these; 125083, 125083 and 125080 with 0.3 s.
    pub const CLIMB_WORK: u64 = 1_000_000_000;
    /// The offspring after the anneals from known solutions have the sweeps of the last one divided by this. A 16th
    /// gave 125093, 125065 and 125074 in the measurement of [`CLIMB_WORK`].
    pub const CLIMB_PART: u32 = 4;
    /// How long the driver waits for the kernels of a first population; loading them from the cache takes a few
    /// milliseconds.
    pub const PATIENCE: Duration = Duration::from_millis(20);
}

/// Constants of states that are divided among threads or processes.
pub mod divided {
    /// Sweeps of the first anneal. None of the constants here was compared with other values.
    pub const FIRST_SWEEPS: u32 = 64;
    /// The factor from the sweeps of an anneal to those of the next one: the last anneal of a run takes three quarters
    /// of its time.
    pub const GROWTH: u32 = 4;
    /// Sweeps at temperature 0 at the end of an anneal.
    pub const GREEDY_SWEEPS: u32 = 2;
    /// The moves of a sweep at the first temperature of later anneals, as a part of the most moves of a sweep.
    pub const HOT_MOVES: f64 = 0.5;
    /// The moves of a sweep at the last temperature of later anneals, as a part of the variables.
    pub const COLD_MOVES: f64 = 0.01;
    /// The part of the time left that an anneal takes at most: its greedy sweeps and its evaluation follow.
    pub const SURE: f64 = 0.95;
}
