//! The tuned values of the search. Values of a single driver are in the driver's crate.
//!
//! "Work" has the unit of `SearchContext::sweep_work`: about a nanosecond of one core.

use fangs_base::tuning::Area;

/// The tuned values of the search, and of the crates below it that have some.
pub static AREAS: [&Area; 4] =
    [&AREA, &fangs_bounds::tuning::AREA, &fangs_search_core::tuning::AREA, &fangs_drivers::tuning::AREA];

fangs_base::tuning! {
    "search";

    /// Switches of the drivers, for studies that leave one out.
    drivers: DriversTuning {
        /// Whether the driver `anneal` takes part in a portfolio.
        anneal: bool = true, false..=true, "switch", "results/ablation";
        /// Whether the driver `tabu` takes part in a portfolio.
        tabu: bool = true, false..=true, "switch", "results/ablation";
        /// Whether the driver `lns` takes part in a portfolio.
        lns: bool = true, false..=true, "switch", "results/ablation";
        /// Whether the driver `weighting` takes part in a portfolio.
        weighting: bool = true, false..=true, "switch", "results/ablation";
        /// Whether the driver `limited-discrepancy` takes part in a portfolio.
        limited_discrepancy: bool = true, false..=true, "switch", "results/ablation";
        /// Whether the driver `long-anneal` takes part in a portfolio.
        long_anneal: bool = true, false..=true, "switch", "results/ablation";
        /// Whether the driver `one-flip` takes part in a portfolio.
        one_flip: bool = true, false..=true, "switch", "results/ablation";
        /// Whether the driver `ejection` takes part in a portfolio.
        ejection: bool = true, false..=true, "switch", "results/ablation";
        /// Whether the driver `sums` takes part in a portfolio.
        sums: bool = true, false..=true, "switch", "results/ablation";
        /// Whether the driver `guided` takes part in a portfolio.
        guided: bool = true, false..=true, "switch", "results/ablation";
        /// Whether the driver `spins` takes part in a portfolio.
        spins: bool = true, false..=true, "switch", "results/ablation";
    }

    /// The choice of the driver of the next round.
    portfolio: PortfolioTuning {
        /// Number of first rounds, which belong to the driver with the largest share: it finds a solution soonest and
        /// fills the pool for the others. With annealing alone they took 1.1 s on DSJC1000.1; tabu walks then reduced
        /// its conflicts from 62 to 27 in a quarter of a second.
        first: u64 = 4, 0..=1_000_000, "rounds", "text";
        /// Least time of the first rounds if the run need not be repeatable. On one core 20, 40 and 80 ms are equal; on
        /// 16 threads of a slower machine SPOT5 414 needs 80 ms or more (results/first-seconds).
        first_time: std::time::Duration = std::time::Duration::from_millis(120),
            std::time::Duration::ZERO..=std::time::Duration::from_secs(60), "s", "results/first-seconds";
        /// Time of first rounds without improvement after which each other driver that uses all threads has one short
        /// round, and another one if it improves the solution: constraint-weighting walks find the best solution of
        /// SPOT5 5.
        probing: std::time::Duration = std::time::Duration::from_millis(20),
            std::time::Duration::ZERO..=std::time::Duration::from_secs(60), "s", "text";
        /// Least work that a round counts: otherwise a round that does nothing would remain due for ever.
        least_work: u64 = 1_000_000, 1..=1_000_000_000_000, "work", "estimate";
        /// How long the end of a run waits for the rounds of concurrent drivers: two hundred times the time between two
        /// of their checks of the stop flag.
        patience: std::time::Duration = std::time::Duration::from_secs(10),
            std::time::Duration::ZERO..=std::time::Duration::from_secs(3600), "s", "estimate";
    }

    /// Searches on behalf of other computations.
    seek: SeekTuning {
        /// Time limit of the search that begins lower bounds of sums; it has at most a twentieth of the run's time
        /// limit. With 50 ms all 57 published networks of potentials have a lower bound (results/notes/marginals.md).
        seeking: std::time::Duration = std::time::Duration::from_millis(50),
            std::time::Duration::ZERO..=std::time::Duration::from_secs(60), "s", "results/notes/marginals.md";
    }

    /// Rules that end a run by the course of its solutions.
    rules: RulesTuning {
        /// Seconds before returns count as diminishing: by then all drivers have had a round and kernels are compiled.
        least_time: f64 = 20.0, 0.0..=1e9, "s", "estimate";
        /// Part of the whole improvement that does not justify as much time again.
        hardly_any: f64 = 1e-3, 0.0..=1.0, "part of the improvement", "estimate";
    }

    /// Shares of drivers by their gains.
    shares: SharesTuning {
        /// Least number of rounds of a period, which continues until a driver has gained.
        period: u32 = 16, 1..=1_000_000, "rounds", "results/scheduler";
        /// Part of the work that is shared evenly.
        floor: f64 = 0.15, 0.0..=1.0, "part of the work", "results/scheduler";
        /// Factor by which the weight of earlier periods decreases with each period.
        fading: f64 = 0.8, 0.0..=1.0, "factor", "results/scheduler";
        /// Prior on each driver's gain and work, as a part of a period's average.
        belief: f64 = 0.1, 0.0..=1e6, "part of an average period", "results/scheduler";
        /// Exponent of the ratio of gain to work, which favours better drivers more than in proportion.
        sharpness: f64 = 1.5, 0.0..=100.0, "exponent", "results/scheduler";
    }

    /// Bounds beside the search.
    bounds: BoundsTuning {
        /// Work that an exact elimination may use before the search begins: less than a second of two cores.
        exact_first: u64 = 1_000_000_000, 0..=1_000_000_000_000_000, "work", "estimate";
        /// Work of the bounds for each unit of the search's work.
        share: f64 = 0.5, 0.0..=1e6, "work for a unit of work", "estimate";
        /// Work of the bounds for each unit of the search's work, once the search has found nothing better for half of
        /// its work (results/notes/cpu.md).
        stalled_share: f64 = 2.0, 0.0..=1e6, "work for a unit of work", "results/notes/cpu.md";
        /// Factor on the share of the bounds after a result that closed almost nothing of the gap.
        slow: f64 = 0.25, 0.0..=1.0, "factor", "estimate";
        /// Work of the bounds for each unit of a stalled search's work, while a branch and bound reports that it will
        /// end soon: only the proof is missing.
        ending_share: f64 = 6.0, 0.0..=1e6, "work for a unit of work", "estimate";
        /// Assumed length of the first slice of bounds, in sweeps. A slice is due once there is room for one like the
        /// last. When the first slice was due at once, the search of scen07 began a tenth of a second later
        /// (results/notes/cpu.md).
        first_sweeps: u64 = 1000, 0..=1_000_000_000, "sweeps", "results/notes/cpu.md";
        /// Upper limit on the assumed length of the first slice, in work.
        first_slice: u64 = 50_000_000, 0..=1_000_000_000_000, "work", "estimate";
        /// Sweeps that take as long as the first run of a rule for an elimination order, which lengthens the assumed
        /// first slice on the largest reduced problems: 0.4 s with 30000 variables, 1.1 s with 100000 (results/scale).
        order_sweeps: u64 = 256, 0..=1_000_000_000, "sweeps", "results/scale";
        /// Longest time for which a search leaves a device to the bounds at once.
        longest_turn: std::time::Duration = std::time::Duration::from_millis(50),
            std::time::Duration::ZERO..=std::time::Duration::from_secs(60), "s", "estimate";
    }

    /// Numbers of threads for search, bounds and drivers.
    threads: ThreadsTuning {
        /// One thread in this number belongs to the bounds, and one to the drivers that work concurrently.
        part: usize = 4, 1..=1024, "threads", "estimate";
        /// Largest number of threads of concurrent drivers: the number of states of large-neighbourhood search. On
        /// large problems it is one, because annealing takes in what large-neighbourhood search finds, and with three
        /// threads its solutions filled the pool too soon (results/notes/search-cuda.md).
        most_drivers: usize = 4, 1..=1024, "threads", "results/notes/search-cuda.md";
        /// Beside a device, on large problems with forbidden tuples, one thread in this number belongs to the drivers.
        /// With 16 threads `frequency` with 8000 variables reached cost 20319 after 22 s, and 22262 when drivers had
        /// one thread. Other numbers were not tried (results/notes/search-cuda.md).
        forbidding_part: usize = 2, 1..=1024, "threads", "results/notes/search-cuda.md";
        /// Least number of threads for which a run on the CPU splits them. With four, two of them for the search's
        /// rounds, a run was slower than with alternating work; with six both were equal
        /// (results/scheduler/thread-split.csv).
        least: usize = 8, 2..=4096, "threads", "results/scheduler/thread-split.csv";
    }

    /// The loop of a run.
    run: RunTuning {
        /// Work of the search, or nanoseconds of bounds, up to which a run counts as just begun. The search cannot
        /// count as stalled, because the greedy solution came before it. Bounds alternate with the search, which proves
        /// small networks.
        early: u64 = 200_000_000, 0..=1_000_000_000_000, "work", "estimate";
        /// Length of a round in which there is nothing to do but to wait; results of concurrent work are collected
        /// after it.
        polling: std::time::Duration = std::time::Duration::from_millis(5),
            std::time::Duration::from_micros(100)..=std::time::Duration::from_secs(1), "s", "estimate";
        /// Work between two reductions, for each entry of the reduced problem's tables: a reduction costs about 50.
        tighten_every: u64 = 1000, 0..=1_000_000_000, "work for an entry", "estimate";
        /// One value in this number, if bounds exclude it, is worth an immediate new reduction, after which states,
        /// rows and orders are made again.
        worth_tightening: usize = 32, 1..=1_000_000_000, "values", "estimate";
        /// Factor on the time of the bounds while the anneals of one state double. The bounds then have a ninth of one
        /// thread's time instead of a third. Bounds of such networks stay far from the incumbent (large-sparse, 10^5
        /// variables: 22 % after 40 s with a third), and their anneals need all the available time. Other numbers were
        /// not tried.
        climbing_price: u64 = 4, 1..=1_000_000, "factor", "text";
        /// Largest work of a sweep for which bounds are computed while a device opens: slices of larger problems may
        /// take longer than that.
        most_meanwhile: u64 = 30_000, 0..=1_000_000_000_000, "work", "estimate";
        /// Slices of bounds that count as one round while no driver searches: small networks are proved within three
        /// rounds.
        slices_of_a_round: u64 = 64, 1..=1_000_000_000, "slices", "estimate";
        /// Work limit of the greedy descent, as an average number of visits of each variable.
        visits: u64 = 8, 0..=1_000_000, "visits for a variable", "estimate";
        /// Entries that kicks of the greedy solution may read: less than a millisecond.
        kicked: u64 = 1 << 17, 0..=1_000_000_000_000, "entries", "estimate";
        /// A new reduced problem is worth moving to if its values and functions are less than this part of the present
        /// ones.
        worth_moving: f64 = 15.0 / 16.0, 0.0..=1.0, "part", "estimate";
        /// Passes in which variables take better values. With eight the solution is better than the greedy one on
        /// `large-sparse` of 10^5 and 10^6 variables. Sixteen improve it by 0.2 % on a smaller one, by 4.8 % if
        /// variables have sixteen functions instead of six (results/scale).
        passes: usize = 8, 0..=1_000_000, "passes", "results/scale";
        /// Inverse of the part of the remaining time that the reductions of a vast network have before a search on one
        /// thread. A timetable of 30000 lessons was reduced for 18 of 20 s, and not searched. Other parts were not
        /// tried.
        reducing_part: u32 = 8, 1..=1_000_000, "inverse part of the time", "text";
    }

    /// Graph coloring.
    coloring: ColoringTuning {
        /// Work limit of the first clique search for each vertex and edge, in entries: a small part of the time for
        /// reading them.
        first_cliques: u64 = 16, 0..=1_000_000_000, "entries for a vertex or edge", "estimate";
        /// Evaluations of the search for each entry that the alternating proofs look at. A proof that has not succeeded
        /// after an eighth of the time seldom succeeds with all of it.
        proof_share: u64 = 8, 1..=1_000_000_000, "evaluations for an entry", "estimate";
        /// Factor on the limit of leaves from one pass of the clique search to the next.
        more: u64 = 8, 2..=1_000_000, "factor", "estimate";
    }
}

// what follows are limits of memory and of waiting, which no study varies

/// Bounds beside the search.
pub(super) mod bounds {
    use std::time::Duration;

    /// Bytes of tables if a run must not depend on the free memory of the machine.
    pub const FIXED_MEMORY: u64 = 1 << 30;
    /// How long the end of a run waits for a slice. Plans of dense networks take a quarter of a second, in which the
    /// stop flag is not checked.
    pub const PATIENCE: Duration = Duration::from_millis(50);
}

/// The loop of a run.
pub(super) mod run {
    /// Bytes of a function without its table, for the network and for one reduced problem together.
    pub const FUNCTION_BYTES: u64 = 200;
    /// Bytes that reductions use for each variable of a scope, besides copies of all tables.
    pub const REDUCING_BYTES: u64 = 200;
    /// Seconds within which the loop must react to the stop flag.
    pub const PATIENCE: f64 = 0.12;
}
