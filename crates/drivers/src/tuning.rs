//! The tuned values of the drivers except annealing. Values that each step of a walk reads, sizes that kernels share
//! and lists are constants, in `constants.rs`.
//!
//! "Work" is about one nanosecond of one CPU core; on a device it is the work of the CPU in the same time.

fangs_base::tuning! {
    "drivers";

    /// The driver `guided`.
    guided: GuidedTuning {
        /// The initial share, relative to 1 for most drivers: the user asked for the heuristic.
        weight: f64 = 3.0, 0.0..=1e6, "relative share", "estimate";
        /// Work of a run before its trajectories begin. Their rounds are long; when they began at once, networks that
        /// the other drivers solve within tenths of a second were solved that much later (results/notes/heuristics.md).
        begin: u64 = 300_000_000, 0..=1_000_000_000_000_000, "work", "results/notes/heuristics.md";
        /// Largest number of passes of a trajectory that opens a run.
        opening_passes: u64 = 8, 1..=1_000_000, "passes", "estimate";
        /// Largest work of the trajectories that open a run.
        opening_work: u64 = 20_000_000, 0..=1_000_000_000_000_000, "work", "estimate";
        /// Number of states if none was requested; it does not depend on the threads.
        states: usize = 16, 1..=1_000_000, "states", "estimate";
        /// Approximate work of a round, which limits the length of a trajectory.
        round_work: u64 = 200_000_000, 0..=1_000_000_000_000_000, "work", "estimate";
        /// Number of trajectories without improvement after which a state restarts.
        patience: u32 = 24, 1..=1_000_000, "trajectories", "estimate";
    }

    /// Tabu walks, constraint-weighting walks and walks on sums.
    walks: WalksTuning {
        /// Work of a run before a device's walks begin, a tenth of a second: allocating memory for them takes half of
        /// that.
        begin: u64 = 100_000_000, 0..=1_000_000_000_000_000, "work", "text";
        /// Work of a device's slice: some ten milliseconds.
        device_turn: u64 = 10_000_000, 0..=1_000_000_000_000_000, "work", "estimate";
    }

    /// Tabu search.
    tabu: TabuTuning {
        /// Number of moves of all variables above which a step costs more than it can gain.
        most_moves: usize = 200_000, 0..=1_000_000_000, "moves", "estimate";
        /// Number of concurrent walks on the CPU.
        states: usize = 8, 1..=1_000_000, "walks", "estimate";
        /// The initial share of pairs of walks: 0 to 3 conflicts were left of DSJC1000.1 with 20 colors after 20 s of a
        /// device, 1 to 5 with a share of twenty (results/notes/tabu-cuda.md).
        two_parent_weight: f64 = 60.0, 0.0..=1e6, "relative share", "results/notes/tabu-cuda.md";
        /// Guaranteed part of the time of pairs of walks. With few conflicts left gains are so rare that earlier gains
        /// of other drivers kept them at 44 % of it on DSJC250.5 (results/notes/coloring.md).
        two_parent_floor: f64 = 0.5, 0.0..=1.0, "part of the time", "results/notes/coloring.md";
        /// Steps without a new best after which a walk is over that began at an elite.
        patience: u32 = 20_000, 1..=1_000_000_000, "steps", "estimate";
        /// Least number of steps of a pair's walks. With ten times this number the children lose what they inherited
        /// (results/notes/coloring.md).
        short_walk: u32 = 3_000, 1..=1_000_000_000, "steps", "results/notes/coloring.md";
        /// Largest number of doublings of the length of a pair's walks.
        doublings: u32 = 6, 0..=16, "doublings", "estimate";
        /// Pairs of walks after which the best of the previous cycle replaces one parent (HEAD, section 3.2).
        cycle: u32 = 10, 1..=1_000_000, "pairs of walks", "HEAD, section 3.2";
        /// One variable in this number begins with a random value, so that two walks from one elite differ.
        scatter: u64 = 20, 1..=1_000_000, "inverse part of the variables", "estimate";
    }

    /// Tabu search by single flips of binary variables.
    one_flip: OneFlipTuning {
        /// Number of solutions between which walks begin (Wang, Lü, Glover, Hao, 2012, section 4.1).
        kept: usize = 10, 2..=10_000, "solutions", "Wang, Lü, Glover, Hao 2012";
        /// Steps of a walk without improvement, for each variable, after which it ends (Wang, Lü, Glover, Hao, 2012,
        /// section 4.1).
        patience: u64 = 20, 1..=1_000_000, "steps for a variable", "Wang, Lü, Glover, Hao 2012";
        /// Number of concurrent walks in a repeatable run.
        portable: usize = 4, 1..=1024, "walks", "estimate";
    }

    /// Thermal cycling of networks of binary variables in pairs.
    spins: SpinsTuning {
        /// The initial share, relative to 6 for annealing, so that the driver opens runs.
        opening: f64 = 12.0, 0.0..=1e6, "relative share", "estimate";
        /// Guaranteed part of the time once a solution is known.
        own_share: f64 = 0.5, 0.0..=1.0, "part of the time", "estimate";
        /// Number of sweeps of the first anneals.
        first_sweeps: u32 = 32, 1..=1_000_000, "sweeps", "estimate";
        /// Number of a thread's anneals without improvement after which their length doubles.
        patience: u32 = 16, 1..=1_000_000, "anneals", "estimate";
        /// Part of the draws that is shared evenly between the initial temperatures.
        floor: f64 = 0.2, 0.0..=1.0, "part of the draws", "estimate";
        /// Number of concurrent walks in a repeatable run.
        portable: usize = 4, 1..=1024, "walks", "estimate";
        /// Least number of sweeps of a round: offering a solution takes as long as some hundred.
        shown: u32 = 128, 1..=1_000_000, "sweeps", "estimate";
        /// Number of cycles of a device's hundreds of anneals without improvement after which the length of anneals
        /// doubles. With 16, as on the CPU, unions of planar graphs were behind after 4 s (results/binary).
        device_patience: u32 = 4, 1..=1_000_000, "cycles", "results/binary";
    }

    /// Ejection chains.
    ejection: EjectionTuning {
        /// Number of initial temperatures of walks: the average cost of a move, halved up to one time fewer than this
        /// number. Other numbers were not tried.
        cooler: u64 = 8, 1..=64, "temperatures", "estimate";
        /// Number of moves of the first walk, for each variable. Others were not tried.
        first_length: u64 = 4, 1..=1_000_000, "moves for a variable", "estimate";
        /// Number of concurrent walks in a repeatable run.
        portable: usize = 4, 1..=1024, "walks", "estimate";
    }

    /// The driver `sums`.
    sums: SumsTuning {
        /// Number of initial temperatures of walks: the average cost of a move, halved up to one time fewer than this
        /// number.
        cooler: u64 = 8, 1..=64, "temperatures", "estimate";
        /// Number of moves of the first walk, for each variable.
        first_length: u64 = 64, 1..=1_000_000, "moves for a variable", "estimate";
        /// The initial share, relative to 1 for most drivers.
        opening: f64 = 3.0, 0.0..=1e6, "relative share", "estimate";
        /// Guaranteed part of the time.
        own_share: f64 = 0.5, 0.0..=1.0, "part of the time", "estimate";
        /// Work of a walk on the CPU between two exchanges with the pool: some five milliseconds, of walks of ten or
        /// more.
        turn_work: u64 = 5_000_000, 0..=1_000_000_000_000_000, "work", "estimate";
        /// Number of concurrent walks in a repeatable run.
        portable: usize = 4, 1..=1024, "walks", "estimate";
    }

    /// Constraint weighting.
    weighting: WeightingTuning {
        /// The initial share, relative to 6 for annealing, until a feasible assignment is known.
        weight: f64 = 5.0, 0.0..=1e6, "relative share", "results/notes/weights.md";
        /// The initial share once a feasible assignment is known. On problems whose functions mostly only forbid, half
        /// a share was equal to a full one; two shares everywhere were worse.
        solved_weight: f64 = 0.5, 0.0..=1e6, "relative share", "text";
        /// Largest number of assignments offered after a slice.
        offered: usize = 8, 1..=1_000_000, "assignments", "estimate";
        /// Least number of walks: one that remembers and one that forgets.
        walks: usize = 2, 1..=1024, "walks", "estimate";
        /// Work of a walk in a slice on the CPU: some ten milliseconds.
        turn_work: u64 = 5_000_000, 0..=1_000_000_000_000_000, "work", "estimate";
    }

    /// Large-neighbourhood search.
    lns: LnsTuning {
        /// Approximate work of a state's slice.
        turn_work: u64 = 2_500_000, 0..=1_000_000_000_000_000, "work", "estimate";
        /// Work of a run before the states begin, half a second: until then annealing gains more on almost all
        /// networks.
        begin: u64 = 500_000_000, 0..=1_000_000_000_000_000, "work", "text";
        /// Number of variables of the first and of the smallest cluster.
        least: f64 = 5.0, 1.0..=1e6, "variables", "estimate";
        /// The part by which a cluster grows after a complete search.
        growth: f64 = 0.05, 0.0..=10.0, "part", "estimate";
        /// The part by which a cluster shrinks after an incomplete search.
        shrinkage: f64 = 0.1, 0.0..=1.0, "part", "estimate";
        /// Number of entries that a search may read at first.
        least_reach: u64 = 1_000_000, 0..=1_000_000_000_000_000, "entries", "estimate";
        /// Largest number of entries that a search may read.
        most_reach: u64 = 16_000_000, 0..=1_000_000_000_000_000, "entries", "estimate";
        /// Number of searches without improvement after which the limit of entries doubles.
        doubling: u32 = 100, 1..=1_000_000, "searches", "estimate";
        /// Number of searches without improvement after which a state continues from another elite.
        patience: u32 = 400, 1..=1_000_000, "searches", "estimate";
        /// One search in this number is a fusion.
        fusion: u64 = 3, 1..=1_000_000, "searches", "estimate";
        /// Largest total degree of the variables of a fusion, whose setup takes about two slices.
        fused: usize = 40_000, 0..=1_000_000_000, "total degree", "estimate";
    }

    /// Limited-discrepancy search.
    limited_discrepancy: LimitedDiscrepancyTuning {
        /// Work of a run before the first search, a third of a second: the better the incumbent, the more is pruned.
        begin: u64 = 300_000_000, 0..=1_000_000_000_000_000, "work", "estimate";
        /// Passes over all functions whose entries a search may read at first. The limit doubles when it was too low to
        /// find anything.
        passes: u64 = 256, 1..=1_000_000, "passes", "estimate";
        /// Least number of entries that a search may read at first.
        least_reach: u64 = 1 << 24, 0..=1_000_000_000_000_000, "entries", "estimate";
        /// Largest number of entries that a search may read.
        most_reach: u64 = 1 << 29, 0..=1_000_000_000_000_000, "entries", "estimate";
        /// Passes that must be possible: with fewer, searches find little, and annealing uses the time better.
        least_passes: u64 = 64, 1..=1_000_000, "passes", "estimate";
    }
}
