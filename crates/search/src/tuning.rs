//! The tuned constants of the search: the unit and meaning of each, and the measurement that chose it. Those of a
//! driver alone stand in its own file.
//!
//! "Work" is counted in the unit of `SearchContext::sweep_work`: about a nanosecond of one core.

use std::time::Duration;

/// Work of a search, or nanoseconds of bounds, in which a run has hardly begun: no search counts as stalled, as the
/// greedy solution came before it, and bounds take turns, by which small networks are proved.
pub(super) const EARLY: u64 = 200_000_000;
/// How long a round is in which there is nothing to do but to wait: what others find meanwhile is looked at after it.
pub(super) const POLLING: Duration = Duration::from_millis(5);

/// Whose turn it is among drivers.
pub(super) mod portfolio {
    use std::time::Duration;

    /// The first rounds are those of the driver with the largest share: it shows a solution soonest and fills the pool
    /// for the others. Annealing's, they took 1.1 s on DSJC1000.1, whose conflicts tabu walks then brought from 62 to
    /// 27 in a quarter of a second.
    pub const FIRST: u64 = 4;
    /// How long they take at least where a run need not be repeated. On one core 20, 40 and 80 ms are level, on 16
    /// threads of a slower machine SPOT5 414 wants 80 or more (results/first-seconds).
    pub const FIRST_TIME: Duration = Duration::from_millis(120);
    /// After so much of it the others that want all threads have a short round each where nothing better is found, and
    /// another one if they find something: SPOT5 5 has its best by constraint-weighting walks.
    pub const PROBING: Duration = Duration::from_millis(20);
    /// Work that a round counts at least: one that does nothing must not be due again for ever.
    pub const LEAST_WORK: u64 = 1_000_000;
    /// How long drivers beside the others are waited for once their rounds are over: two hundred times what they have
    /// to look at the stop flag.
    pub const PATIENCE: Duration = Duration::from_secs(10);
}

/// Searches for other computations.
pub(super) mod seek {
    use std::time::Duration;
    /// Time of the search that begins lower bounds of sums, at most; it is a twentieth of the time limit. With 50 ms
    /// all 57 published networks of potentials have a lower bound (results/notes/marginals.md).
    pub const SEEKING: Duration = Duration::from_millis(50);
}

/// Rules that end a run by its record.
pub(super) mod rules {
    /// Seconds before returns can be called diminishing: drivers have had their first turns, kernels are compiled.
    pub const LEAST_TIME: f64 = 20.0;
    /// Part of all improvement that is not worth as much time again.
    pub const HARDLY_ANY: f64 = 1e-3;
}

/// Shares of drivers by what they gained.
pub(super) mod shares {
    /// Rounds of a period, at least; it goes on until a driver has gained.
    pub const PERIOD: u32 = 16;
    /// Part of the work that is dealt out evenly.
    pub const FLOOR: f64 = 0.15;
    /// What earlier periods count of the next one.
    pub const FADING: f64 = 0.8;
    /// What is believed of everybody beside what was seen: this part of a period's average.
    pub const BELIEF: f64 = 0.1;
    /// More than in proportion to gain for work: its power.
    pub const SHARPNESS: f64 = 1.5;
}

/// Bounds beside the search.
pub(super) mod bounds {
    use std::time::Duration;

    /// Work that an exact elimination may take before the search has its turn: less than a second of two cores.
    pub const EXACT_FIRST: u64 = 1_000_000_000;
    /// The bounds' work for each unit of the search's.
    pub const SHARE: f64 = 0.5;
    /// The same once the search has found nothing better for half of its work (results/notes/cpu.md).
    pub const STALLED_SHARE: f64 = 2.0;
    /// What becomes of the share after a result that closed next to nothing of the gap.
    pub const SLOW: f64 = 0.25;
    /// The share of a stalled search's bounds while a branch and bound tells that it will end soon: only the proof is
    /// left.
    pub const ENDING_SHARE: f64 = 6.0;
    /// Bytes of tables where a run must not depend on the machine's free memory.
    pub const FIXED_MEMORY: u64 = 1 << 30;
    /// What a first slice of bounds is taken for: so many sweeps, and this at most. A slice is due once there is room
    /// for one like the last: where the first came at once, scen07's search began a tenth of a second later
    /// (results/notes/cpu.md).
    pub const FIRST_SWEEPS: u64 = 1000;
    pub const FIRST_SLICE: u64 = 50_000_000;
    /// Sweeps that take as long as the first run of a rule for an elimination order, by which the first slice is taken
    /// for longer on the largest cores: 0.4 s of 30000 variables, 1.1 of 100000 (results/scale).
    pub const ORDER_SWEEPS: u64 = 256;
    /// How long the end of a run waits for a slice. Plans of dense networks are made in a quarter of a second in which
    /// they do not look up.
    pub const PATIENCE: Duration = Duration::from_millis(50);
    /// What a search leaves a device to them for at a time, at most.
    pub const LONGEST_TURN: Duration = Duration::from_millis(50);
}

/// How threads are shared out.
pub(super) mod threads {
    /// One thread in so many is the bounds', and one the drivers' that go on by themselves.
    pub const PART: usize = 4;
    /// Threads of these drivers at most: as many as large-neighbourhood search has states. On large cores it is one:
    /// annealing takes in what large-neighbourhood search finds, and with three threads of them the pool was theirs too
    /// soon (results/notes/search-cuda.md).
    pub const MOST_DRIVERS: usize = 4;
    /// One thread of this number is the drivers' beside a device on large cores that forbid something: `frequency` with
    /// 8000 variables, 16 threads, had 20319 after 22 s, and 22262 when drivers had one thread. Other numbers were not
    /// tried (results/notes/search-cuda.md).
    pub const FORBIDDING_PART: usize = 2;
    /// Threads from which on a run on the CPU has parts: with four, two for the search's rounds, it was slower than in
    /// turns, with six level (results/scheduler/thread-split.csv).
    pub const LEAST: usize = 8;
}

/// The loop of a run.
pub(super) mod run {
    /// Work between two reductions, for each value that the core's tables hold: reducing again costs about 50.
    pub const TIGHTEN_EVERY: u64 = 1000;
    /// The part of the core's values that, forbidden by bounds, is worth reducing again at once: with it, states, rows
    /// and orders are made again.
    pub const WORTH_TIGHTENING: usize = 32;
    /// What a unit of the bounds' time counts where one state's anneals double: they then have a ninth of one thread's
    /// time and not a third. Bounds of such networks stay far from the best solution (large-sparse, 10^5 variables:
    /// 22 % after 40 s with a third), whose anneals need all the time that there is. Other numbers were not tried.
    pub const CLIMBING_PRICE: u64 = 4;
    /// Work of a sweep of a core up to which bounds are worked on while a device opens: slices of larger ones may take
    /// longer than that.
    pub const MOST_MEANWHILE: u64 = 30_000;
    /// Slices of bounds that count as a round while no driver searches: small networks are proved within three rounds.
    pub const SLICES_OF_A_ROUND: u64 = 64;
    /// How often the greedy solution looks at all entries around a variable, on average and at most.
    pub const VISITS: u64 = 8;
    /// Entries that it looks at after kicks: less than a millisecond.
    pub const KICKED: u64 = 1 << 17;
    /// A core is worth moving to where its values and functions are less than this part of the present one's.
    pub const WORTH_MOVING: f64 = 15.0 / 16.0;
    /// Passes that let variables take better values: with eight the solution is better than the greedy one on
    /// `large-sparse` of 10^5 and 10^6 variables. Sixteen better it by 0.2 % on a smaller one, by 4.8 % where variables
    /// have sixteen functions instead of six (results/scale).
    pub const PASSES: usize = 8;
    /// Bytes of a function of a network, its table not counted, twice: the network's and that of a core.
    pub const FUNCTION_BYTES: u64 = 200;
    /// The part of the time until the limit, as its inverse, that the reductions of a vast network have before a search
    /// of one thread. A timetable of 30000 lessons was reduced for 18 of 20 s, and not searched. Other parts were not
    /// tried.
    pub const REDUCING_PART: u32 = 8;
    /// Bytes that reductions take for each place of a scope beside copies of all tables.
    pub const REDUCING_BYTES: u64 = 200;
    /// Seconds that the loop has to answer the stop flag.
    pub const PATIENCE: f64 = 0.12;
}

/// The least number of colors.
pub(super) mod coloring {
    /// Entries that the first look for a clique takes, for each vertex and edge: a small part of what reading them
    /// took.
    pub const FIRST_CLIQUES: u64 = 16;
    /// Ratings of the search for each entry that proofs look at in turn with it: what a proof has not found by an
    /// eighth of the time it seldom finds by all of it.
    pub const PROOF_SHARE: u64 = 8;
    /// By how much a pass for cliques allows more leaves than the one before.
    pub const MORE: u64 = 8;
}
