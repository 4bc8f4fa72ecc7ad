//! The tuned constants of the search, each with its unit, its meaning and the measurement that chose it. Constants of a
//! single driver are in the driver's crate.
//!
//! "Work" has the unit of `SearchContext::sweep_work`: about a nanosecond of one core.

use std::time::Duration;

/// Work of the search, or nanoseconds of bounds, up to which a run counts as just begun. The search cannot count as
/// stalled, because the greedy solution came before it. Bounds alternate with the search, which proves small networks.
pub(super) const EARLY: u64 = 200_000_000;
/// Length of a round in which there is nothing to do but to wait; results of concurrent work are collected after it.
pub(super) const POLLING: Duration = Duration::from_millis(5);

/// The choice of the driver of the next round.
pub(super) mod portfolio {
    use std::time::Duration;

    /// Number of first rounds, which belong to the driver with the largest share: it finds a solution soonest and fills
    /// the pool for the others. With annealing alone they took 1.1 s on DSJC1000.1; tabu walks then reduced its
    /// conflicts from 62 to 27 in a quarter of a second.
    pub const FIRST: u64 = 4;
    /// Least time of the first rounds if the run need not be repeatable. On one core 20, 40 and 80 ms are equal; on 16
    /// threads of a slower machine SPOT5 414 needs 80 ms or more (results/first-seconds).
    pub const FIRST_TIME: Duration = Duration::from_millis(120);
    /// Time of first rounds without improvement after which each other driver that uses all threads has one short
    /// round, and another one if it improves the solution: constraint-weighting walks find the best solution of SPOT5
    /// 5.
    pub const PROBING: Duration = Duration::from_millis(20);
    /// Least work that a round counts: otherwise a round that does nothing would remain due for ever.
    pub const LEAST_WORK: u64 = 1_000_000;
    /// How long the end of a run waits for the rounds of concurrent drivers: two hundred times the time between two of
    /// their checks of the stop flag.
    pub const PATIENCE: Duration = Duration::from_secs(10);
}

/// Searches on behalf of other computations.
pub(super) mod seek {
    use std::time::Duration;
    /// Time limit of the search that begins lower bounds of sums; it has at most a twentieth of the run's time limit.
    /// With 50 ms all 57 published networks of potentials have a lower bound (results/notes/marginals.md).
    pub const SEEKING: Duration = Duration::from_millis(50);
}

/// Rules that end a run by the course of its solutions.
pub(super) mod rules {
    /// Seconds before returns count as diminishing: by then all drivers have had a round and kernels are compiled.
    pub const LEAST_TIME: f64 = 20.0;
    /// Part of the whole improvement that does not justify as much time again.
    pub const HARDLY_ANY: f64 = 1e-3;
}

/// Shares of drivers by their gains.
pub(super) mod shares {
    /// Least number of rounds of a period, which continues until a driver has gained.
    pub const PERIOD: u32 = 16;
    /// Part of the work that is shared evenly.
    pub const FLOOR: f64 = 0.15;
    /// Factor by which the weight of earlier periods decreases with each period.
    pub const FADING: f64 = 0.8;
    /// Prior on each driver's gain and work, as a part of a period's average.
    pub const BELIEF: f64 = 0.1;
    /// Exponent of the ratio of gain to work, which favours better drivers more than in proportion.
    pub const SHARPNESS: f64 = 1.5;
}

/// Bounds beside the search.
pub(super) mod bounds {
    use std::time::Duration;

    /// Work that an exact elimination may use before the search begins: less than a second of two cores.
    pub const EXACT_FIRST: u64 = 1_000_000_000;
    /// Work of the bounds for each unit of the search's work.
    pub const SHARE: f64 = 0.5;
    /// Work of the bounds for each unit of the search's work, once the search has found nothing better for half of its
    /// work (results/notes/cpu.md).
    pub const STALLED_SHARE: f64 = 2.0;
    /// Factor on the share of the bounds after a result that closed almost nothing of the gap.
    pub const SLOW: f64 = 0.25;
    /// Work of the bounds for each unit of a stalled search's work, while a branch and bound reports that it will end
    /// soon: only the proof is missing.
    pub const ENDING_SHARE: f64 = 6.0;
    /// Bytes of tables if a run must not depend on the free memory of the machine.
    pub const FIXED_MEMORY: u64 = 1 << 30;
    /// Assumed length of the first slice of bounds, in sweeps. A slice is due once there is room for one like the last.
    /// When the first slice was due at once, the search of scen07 began a tenth of a second later
    /// (results/notes/cpu.md).
    pub const FIRST_SWEEPS: u64 = 1000;
    /// Upper limit on the assumed length of the first slice, in work.
    pub const FIRST_SLICE: u64 = 50_000_000;
    /// Sweeps that take as long as the first run of a rule for an elimination order, which lengthens the assumed first
    /// slice on the largest reduced problems: 0.4 s with 30000 variables, 1.1 s with 100000 (results/scale).
    pub const ORDER_SWEEPS: u64 = 256;
    /// How long the end of a run waits for a slice. Plans of dense networks take a quarter of a second, in which the
    /// stop flag is not checked.
    pub const PATIENCE: Duration = Duration::from_millis(50);
    /// Longest time for which a search leaves a device to the bounds at once.
    pub const LONGEST_TURN: Duration = Duration::from_millis(50);
}

/// Numbers of threads for search, bounds and drivers.
pub(super) mod threads {
    /// One thread in this number belongs to the bounds, and one to the drivers that work concurrently.
    pub const PART: usize = 4;
    /// Largest number of threads of concurrent drivers: the number of states of large-neighbourhood search. On large
    /// problems it is one, because annealing takes in what large-neighbourhood search finds, and with three threads its
    /// solutions filled the pool too soon (results/notes/search-cuda.md).
    pub const MOST_DRIVERS: usize = 4;
    /// Beside a device, on large problems with forbidden tuples, one thread in this number belongs to the drivers. With
    /// 16 threads `frequency` with 8000 variables reached cost 20319 after 22 s, and 22262 when drivers had one thread.
    /// Other numbers were not tried (results/notes/search-cuda.md).
    pub const FORBIDDING_PART: usize = 2;
    /// Least number of threads for which a run on the CPU splits them. With four, two of them for the search's rounds,
    /// a run was slower than with alternating work; with six both were equal (results/scheduler/thread-split.csv).
    pub const LEAST: usize = 8;
}

/// The loop of a run.
pub(super) mod run {
    /// Work between two reductions, for each entry of the reduced problem's tables: a reduction costs about 50.
    pub const TIGHTEN_EVERY: u64 = 1000;
    /// One value in this number, if bounds exclude it, is worth an immediate new reduction, after which states, rows
    /// and orders are made again.
    pub const WORTH_TIGHTENING: usize = 32;
    /// Factor on the time of the bounds while the anneals of one state double. The bounds then have a ninth of one
    /// thread's time instead of a third. Bounds of such networks stay far from the incumbent (large-sparse, 10^5
    /// variables: 22 % after 40 s with a third), and their anneals need all the available time. Other numbers were not
    /// tried.
    pub const CLIMBING_PRICE: u64 = 4;
    /// Largest work of a sweep for which bounds are computed while a device opens: slices of larger problems may take
    /// longer than that.
    pub const MOST_MEANWHILE: u64 = 30_000;
    /// Slices of bounds that count as one round while no driver searches: small networks are proved within three
    /// rounds.
    pub const SLICES_OF_A_ROUND: u64 = 64;
    /// Work limit of the greedy descent, as an average number of visits of each variable.
    pub const VISITS: u64 = 8;
    /// Entries that kicks of the greedy solution may read: less than a millisecond.
    pub const KICKED: u64 = 1 << 17;
    /// A new reduced problem is worth moving to if its values and functions are less than this part of the present
    /// ones.
    pub const WORTH_MOVING: f64 = 15.0 / 16.0;
    /// Passes in which variables take better values. With eight the solution is better than the greedy one on
    /// `large-sparse` of 10^5 and 10^6 variables. Sixteen improve it by 0.2 % on a smaller one, by 4.8 % if variables
    /// have sixteen functions instead of six (results/scale).
    pub const PASSES: usize = 8;
    /// Bytes of a function without its table, for the network and for one reduced problem together.
    pub const FUNCTION_BYTES: u64 = 200;
    /// Inverse of the part of the remaining time that the reductions of a vast network have before a search on one
    /// thread. A timetable of 30000 lessons was reduced for 18 of 20 s, and not searched. Other parts were not tried.
    pub const REDUCING_PART: u32 = 8;
    /// Bytes that reductions use for each variable of a scope, besides copies of all tables.
    pub const REDUCING_BYTES: u64 = 200;
    /// Seconds within which the loop must react to the stop flag.
    pub const PATIENCE: f64 = 0.12;
}

/// Graph coloring.
pub(super) mod coloring {
    /// Work limit of the first clique search for each vertex and edge, in entries: a small part of the time for reading
    /// them.
    pub const FIRST_CLIQUES: u64 = 16;
    /// Evaluations of the search for each entry that the alternating proofs look at. A proof that has not succeeded
    /// after an eighth of the time seldom succeeds with all of it.
    pub const PROOF_SHARE: u64 = 8;
    /// Factor on the limit of leaves from one pass of the clique search to the next.
    pub const MORE: u64 = 8;
}
