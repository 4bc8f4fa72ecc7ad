//! The tuned constants of annealing: the unit and meaning of each, and the measurement that chose it.
//!
//! "Work" is what a core of the CPU does in a nanosecond or so; a device's counts as much as the CPU does in the time.

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
/// annealing, whose later ones have twice as many each until one takes `LONG_WORK`, a fifth of a second.
pub const LONG_SWEEPS: u32 = 256;
/// The hottest of [`COLD_SHARES`] from which anneals begin at a solution that is known. After 1000 sweeps of 30000
/// variables, 4000 more came to 2273867 from a temperature of 14, to 2272015 from 18, to 2271942 from 22, and from
/// random values and 30 to 2272529 (results/notes/cpu.md). This share is at 27 to 33; others were not measured.
pub const HOTTEST_CLIMB: usize = 6;
/// Sweeps of all threads among violations after which a better state is reported: evaluating it takes as long as many
/// such sweeps. Other numbers were not tried.
pub const REPORT_EVERY: u32 = 96;
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
/// Generations on large cores without a new best after which sweeps double, and how often they do: ever more sweeps pay
/// there as a run goes on.
pub const LARGE_PATIENCE: u32 = 4;
pub const DOUBLINGS: u32 = 6;
/// Doublings in vain after which a pool on a large core stagnates; the second where what differs between pools
/// falls into parts (H200, 20 s: 100x100 grid 290894 after one, 290900 after two; rnd1000 125095 and 125059).
pub const IN_VAIN: [u32; 2] = [2, 1];
/// States of a subpopulation of a pool's first offspring on other large cores; it doubles with the sweeps: among
/// all states a good one is soon in all others (H200, 20 s: rnd1000 125074 before, 125065 so).
pub const LEAST_SUBPOPULATION: usize = 4;
/// The part of the estimated remaining sweeps that the last anneal of a run takes, and the remaining sweeps, in lengths
/// of the next anneal, from which on that anneal is not the last. Other numbers were not measured
/// (results/notes/cpu.md).
pub const SURE: f64 = 0.93;
pub const LAST: f64 = 1.5;
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
/// Where anneals among violations begin and end: the logarithm of how much less a value with one violation more
/// weighs. 3-SAT of 10^4 variables with 4.2 clauses each in a program of its own, violations left: from 1.0 to 3.0 2
/// after 200000 sweeps, from 1.0 to 2.0 14 and from 1.2 to 2.5 8 after 40000; by Metropolis at 1.6 throughout 24 after
/// 40000 and 7 after 400000. An anneal from a known state begins at 1.0 (results/notes/search-cuda.md).
pub const VIOLATIONS_HOT: f64 = 0.6;
pub const VIOLATIONS_COLD: f64 = 2.3;
/// The part of the time of anneals among violations, next to that of constraint weighting: which driver gains says
/// little about which one will find a feasible assignment. Other numbers were not tried.
pub const VIOLATIONS_FLOOR: f64 = 0.45;
/// How much colder they are for each further value, as a part of the logarithm of their number. A timetable of 30000
/// lessons in 30 slots, two threads, violations after 17 s: 5227 with 0, 270, 96, 230, 1474 and 2108 with 0.3, 0.4,
/// 0.5, 0.6 and 1; 30000 variables of ten values in 9000 cliques of ten, after 12 s: 5014, 3973, 3305 and 3015 with
/// 0.2, 0.4, 0.6 and 1.
pub const VIOLATIONS_VALUES: f64 = 0.4;
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

/// One state over a whole device (results/notes/search-cuda.md).
pub mod wide {
    /// The variables of a large core from which on a device begins with one state; the second if what differs between
    /// states falls into parts. On an H200, one state with as many children as keep the device busy, and many states:
    /// networks with three functions for each variable, 377135 and 379264 for 5000 after 2 s, 301402 and 302504 for
    /// 4000, 226337 and 226924 for 3000 after 2 s and 226173 and 226096 after 4 s, 151583 and 151524 for 2000; grids of
    /// 50x50 71751 and 72859 after 1 s, 100x100 290792 and 297378 after 2 s, both followed by many states
    /// (results/notes/search-cuda.md).
    pub const LEAST_VARIABLES: [usize; 2] = [4_000, 2_500];
    /// The nanoseconds for each variable after which many states follow one if parts fall apart. On an H200 a grid of
    /// 200x200 has 1175877 after 4 s with many states from 1 s on (which began at no temperature by a mistake),
    /// 1179056 with one state, 1182625 with many alone.
    pub const ONE_STATE_TIME: u64 = 25_000;
    /// Work that a device does in the time that a core of the CPU does one unit, and nanoseconds of a barrier for
    /// all blocks. Both are estimates: 66, 27 and 21 microseconds a sweep were seen at 10^6, 10^5 and 30000 variables.
    pub const SPEED: u64 = 1_000;
    pub const BARRIER: u64 = 2_000;
    /// Threads of a multiprocessor that are at work at once, about.
    pub const OCCUPANCY: u32 = 1024;
    /// The length of a turn in nanoseconds, and its least length as the inverse of a share of one core's sweep. The
    /// host evaluates a better state for about as long as such a sweep, while the device executes the next turn.
    pub const TURN_WORK: u64 = 10_000_000;
    pub const TURN_PART: u64 = 2;
    /// Work of sweeps on one core that takes as long as evaluating an assignment on the host, times the part of the
    /// time that may go to it: a tenth.
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
    /// A child's sweeps are those of all before it, divided by this. Other numbers were not tried.
    pub const GROWTH: u64 = 8;
}

/// Populations on a device (results/notes/search-cuda.md).
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
    /// The estimated nanoseconds of an anneal of all states of a large core up to which anneals from known solutions
    /// double, and the part of the last one's sweeps that the offspring after it have. On an H200, rnd1000 after 6 s,
    /// seeds 1 to 3: 125144, 125071 and 125095 without such anneals; 125065 three times with these; 125083, 125083 and
    /// 125080 with 0.3 s; 125093, 125065 and 125074 with a 16th.
    pub const CLIMB_WORK: u64 = 1_000_000_000;
    pub const CLIMB_PART: u32 = 4;
    /// How long the kernels of a first population are waited for: a few milliseconds bring them from the cache.
    pub const PATIENCE: Duration = Duration::from_millis(20);
}
