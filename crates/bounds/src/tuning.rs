//! The tuned values of bounds. Sizes of memory, blocks of threads, intervals of polling and limits of certificates are
//! constants, in `bounds/tuning.rs` and `reduce/tuning.rs`.
//!
//! "Work" is a number of table entries or of combinations of values visited: about a nanosecond each on one core.

fangs_base::tuning! {
    "bounds";

    /// Switches of the strategies of the method `auto`, for studies that leave one out.
    strategies: StrategiesTuning {
        /// Whether the method `auto` runs exact elimination without preceding mini-buckets.
        exact: bool = true, false..=true, "switch", "estimate";
        /// Whether the method `auto` runs mini-bucket elimination of the unshifted problem.
        plain: bool = true, false..=true, "switch", "estimate";
        /// Whether the method `auto` reports bounds of cost shifting between functions. Strategies that build on it
        /// (`shifted`, `graphs`, `rows`) shift costs in any case.
        shift: bool = true, false..=true, "switch", "estimate";
        /// Whether the method `auto` runs mini-bucket elimination of the shifted problem.
        shifted: bool = true, false..=true, "switch", "estimate";
        /// Whether the method `auto` runs join graphs.
        graphs: bool = true, false..=true, "switch", "estimate";
        /// Whether the method `auto` runs sparse elimination.
        rows: bool = true, false..=true, "switch", "estimate";
        /// Whether the method `auto` runs branch and bound with nodes bounded by cost shifting.
        light: bool = true, false..=true, "switch", "estimate";
        /// Whether the method `auto` runs branch and bound with nodes bounded by mini-buckets.
        heavy: bool = true, false..=true, "switch", "estimate";
        /// Whether the method `auto` runs core-guided search.
        cores: bool = true, false..=true, "switch", "estimate";
        /// Whether the method `auto` runs branch and bound by linear programming.
        linear: bool = true, false..=true, "switch", "estimate";
    }

    /// Values of several strategies.
    general: GeneralTuning {
        /// Variables plus functions from which cost shifting alone bounds a problem.
        vast: usize = 1 << 20, 0..=1_000_000_000_000_000, "variables and functions", "estimate";
        /// Variables plus functions from which one pass of cost shifting precedes reductions and orders: the first
        /// order of 10^5 variables with 3 * 10^5 functions takes 6 s, the pass a tenth of a second of one core.
        large: usize = 1 << 16, 0..=1_000_000_000_000_000, "variables and functions", "text";
        /// Running cost shifting reports its bound when it has risen by one in this many units of the gap.
        shift_steps: i64 = 100, 1..=1_000_000_000, "inverse part of the gap", "estimate";
        /// Work of a slice of cost shifting, of a search and of the search for orders: a tenth of a second of one core.
        slice: u64 = 50_000_000, 1..=1_000_000_000_000_000, "work", "estimate";
        /// Combinations of a slice of elimination: some tenths of a second of one core.
        elimination_slice: u64 = 200_000_000, 1..=1_000_000_000_000_000, "combinations", "estimate";
        /// Units of work that an entry of cost shifting counts as, because it takes twice as long as others.
        shift_work: u64 = 2, 1..=1_000_000, "units of work", "text";
        /// Number of elimination orders that the mini-buckets of each z follow.
        orders: usize = 2, 1..=1_000, "orders", "estimate";
        /// Restarts of the order rules, times the number of variables and functions.
        order_restarts: usize = 50_000, 0..=1_000_000_000_000_000, "restarts for a variable or function", "estimate";
        /// Most restarts of the order rules.
        most_restarts: usize = 32, 0..=1_000_000, "restarts", "estimate";
        /// Work from which a pass of cost shifting, or a join graph, pays on a device: it then takes less than half the
        /// time of a core on all but one of the networks tried (results/notes/shifting.md).
        device_worthwhile: u64 = 1 << 21, 0..=1_000_000_000_000_000, "work", "results/notes/shifting.md";
    }

    /// The choice of the next strategy.
    schedule: ScheduleTuning {
        /// Factor on the work of a strategy that would not take the lead by gaining as much again as last time. Giving
        /// such a strategy up was worse: on SPOT5 505 mini-buckets of the unshifted problem pass those of the shifted
        /// one at z = 16.
        behind: u64 = 4, 1..=1_000_000_000, "factor", "text";
        /// Work that value bounds may take beyond the work on bounds of the network: less than a second.
        free: u64 = 100_000_000, 0..=1_000_000_000_000_000, "work", "estimate";
        /// Mini-buckets on what a join graph left have at least this many times the entries of the graph.
        beyond: u64 = 4, 1..=1_000_000_000, "factor", "estimate";
        /// Work first granted to a search: a tenth of a second. Each grant doubles the search's work.
        first_turn: u64 = 1 << 26, 1..=1_000_000_000_000_000, "work", "estimate";
        /// Work of an exact plan on the CPU from which light branch and bound, with nodes bounded by cost shifting,
        /// comes first: some tenths of a second. On Promedas_24 a plan of 2.4e9 took half a minute of memory
        /// allocation; the light search proves it in 0.3 s.
        long_exact: u64 = 1 << 28, 0..=1_000_000_000_000_000, "work", "text";
        /// Combinations of dense tables that are visited in the time of one tuple of a sparse table.
        row: u64 = 8, 1..=1_000_000, "combinations for a tuple", "estimate";
        /// A search may take one in this many bytes of the memory.
        search_memory: u64 = 8, 1..=1_000_000, "inverse part of the memory", "estimate";
        /// Light branch and bound has one in this many units of the work before an exact plan and while join graphs
        /// grow.
        light_part: u64 = 4, 1..=1_000_000, "inverse part of the work", "estimate";
        /// Light branch and bound has one in this many units of the time if it expects to be half done
        /// (results/notes/branch.md).
        more_time: u64 = 2, 1..=1_000_000, "inverse part of the time", "results/notes/branch.md";
        /// Light branch and bound, and core-guided search, have one in this many units of the time in general
        /// (results/notes/branch.md; results/cores).
        light_time: u64 = 3, 1..=1_000_000, "inverse part of the time", "results/notes/branch.md";
        /// A hopeless search, and any beside a device, which waits meanwhile, has one in this many units of the time
        /// (results/notes/branch.md; results/cores).
        less_time: u64 = 8, 1..=1_000_000, "inverse part of the time", "results/notes/branch.md";
        /// Work after which a search may count as hopeless.
        tried: u64 = 1 << 30, 0..=1_000_000_000_000_000, "work", "estimate";
        /// A search is hopeless if more than this many times its work so far is left.
        hopeless: u64 = 1000, 1..=1_000_000_000, "multiple of the work so far", "estimate";
        /// A search is about to end if at most this many times the work so far is left; its work then counts this many
        /// times less.
        ending: u64 = 8, 1..=1_000_000_000, "multiple of the work so far", "estimate";
        /// Memory limit in bytes of a sparse elimination that has limited work: longer tables do not pay, and take
        /// seconds to sort.
        sparse_memory: u64 = 1 << 29, 0..=1_000_000_000_000_000, "bytes", "estimate";
    }

    /// Branch and bound.
    branch: BranchTuning {
        /// Least work on a node of a batch.
        least_dive: u64 = 1 << 18, 1..=1_000_000_000_000_000, "work", "estimate";
        /// Most work on a node of a batch.
        most_dive: u64 = 1 << 24, 1..=1_000_000_000_000_000, "work", "estimate";
        /// Factor on the work of the first descent from the best node, because solutions come from leaves.
        descent: u64 = 1 << 10, 1..=1_000_000_000, "factor", "estimate";
        /// Combinations up to which a light node is eliminated: from 10^4 to 10^6 it hardly matters on CELAR, but 3000
        /// was worse on scen07.
        leaf: f64 = 65536.0, 0.0..=1e15, "combinations", "text";
        /// Least combinations of the mini-buckets of a heavy node.
        least_mini: f64 = 1e7, 0.0..=1e15, "combinations", "estimate";
        /// Combinations of the mini-buckets of a heavy node, as a part of the work so far.
        mini_part: f64 = 1.0 / 16.0, 0.0..=1e6, "part of the work so far", "estimate";
    }

    /// Core-guided search.
    cores: CoresTuning {
        /// Most times that a core is trimmed by solving again under its own literals.
        trims: u32 = 5, 0..=1_000_000, "calls", "estimate";
        /// Literals of the largest core that is minimised.
        minimised: usize = 100, 0..=1_000_000_000, "literals", "estimate";
        /// Most decisions of a call that trims a core.
        trimming: u64 = 30_000, 0..=1_000_000_000_000_000, "decisions", "estimate";
        /// Most decisions of the minimisation of one core.
        minimising: u64 = 100_000, 0..=1_000_000_000_000_000, "decisions", "estimate";
        /// Most decisions of a call that asks whether one more literal of a core must be false.
        exhausting: u64 = 30_000, 0..=1_000_000_000_000_000, "decisions", "estimate";
        /// Ratio of literals to different weights beyond which a stratum ends (Ansótegui, Bonet, Levy, "SAT-based
        /// MaxSAT algorithms", 2013).
        diversity: f64 = 1.25, 1.0..=1e6, "ratio", "Ansótegui, Bonet, Levy 2013";
        /// A stratum has more than one in this many of the different weights left, because real costs are all
        /// different.
        strata: usize = 16, 1..=1_000_000, "inverse part of the weights", "estimate";
    }

    /// Linear programming.
    linear: LinearTuning {
        /// Most columns, and most weights of rows, of a linear program.
        columns: usize = 1 << 22, 1..=1_000_000_000, "columns", "estimate";
        /// Most tuples of all tables that become columns of a linear program.
        tuples: u64 = 1 << 15, 0..=1_000_000_000, "tuples", "estimate";
        /// Most rows of a program for the simplex method, because the inverse of its basis is dense; beyond it, the
        /// volume algorithm chooses multipliers.
        rows: u64 = 1500, 1..=100_000, "rows", "estimate";
        /// Work up to which the linear program of the root has all the time.
        root: u64 = 1 << 32, 0..=1_000_000_000_000_000, "work", "estimate";
        /// Work on the linear program of a node between two looks at the stop flag.
        slice: u64 = 1 << 24, 1..=1_000_000_000_000_000, "work", "estimate";
        /// Slices without gain after which the root's linear program is left as it is.
        stalls: u32 = 200, 1..=1_000_000, "slices", "estimate";
        /// Most times that the linear program of a node is solved after values have been removed.
        resolves: u32 = 4, 1..=1_000, "times", "estimate";
        /// A linear program is solved again if at least one in this many columns was removed.
        worth_resolving: usize = 20, 1..=1_000_000, "inverse part of the columns", "estimate";
        /// Work of the root's linear program, for one set of covers, from which on no more covers are added.
        cover_work: u64 = 1 << 27, 0..=1_000_000_000_000_000, "work", "estimate";
        /// Least gain of a round of covers, as a part of the bound.
        cover_gain: f64 = 1e-4, 0.0..=1.0, "part of the bound", "estimate";
        /// Rounds of covers without gain after which no more are added.
        cover_rounds: u32 = 3, 0..=1_000, "rounds", "estimate";
        /// Value of a column from which on the child that fixes it comes first.
        fixed_first: f64 = 0.4, 0.0..=1.0, "value", "estimate";
        /// Branch and bound by linear programming has one in this many units of the time.
        time: u64 = 2, 1..=1_000_000, "inverse part of the time", "estimate";
    }

    /// Join graphs.
    join_graph: JoinGraphTuning {
        /// Most passes forward and back.
        passes: u32 = 24, 1..=1_000_000, "passes", "estimate";
        /// Most passes of averaging along all edges.
        long_passes: u32 = 8, 0..=1_000_000, "passes", "estimate";
        /// Most entries of a graph on the CPU: a pass over more takes longer than a second.
        largest: u64 = 1 << 26, 0..=1_000_000_000_000_000, "entries", "estimate";
        /// Most entries of a graph on a device.
        device_largest: u64 = 1 << 34, 0..=1_000_000_000_000_000, "entries", "estimate";
        /// The next graph has at least this many times the entries, if there is room.
        growth: u64 = 4, 1..=1_000_000, "factor", "estimate";
        /// Number z of variables of a mini-bucket of the first graph: two variables gain little after shifting between
        /// functions.
        first_z: u32 = 3, 2..=64, "variables", "text";
        /// Factor by which the work of a graph counts less than that of mini-buckets: on satellite schedules it gains
        /// more.
        leading: u64 = 4, 1..=1_000_000, "factor", "text";
        /// Orders that get one round of passes each before the best of them continues.
        first_orders: u32 = 9, 1..=1_000, "orders", "estimate";
        /// Number of all orders that graphs follow.
        orders: u32 = 25, 1..=1_000, "orders", "estimate";
        /// A round must gain one in this many units of the bound to be followed by another along the same order.
        worthwhile: i64 = 500, 1..=1_000_000_000, "inverse part of the bound", "estimate";
    }

    /// Cost shifting between functions.
    cost_shifting: CostShiftingTuning {
        /// Most passes, forward and backward ones counted.
        passes: u32 = 200, 1..=1_000_000, "passes", "estimate";
    }
}
