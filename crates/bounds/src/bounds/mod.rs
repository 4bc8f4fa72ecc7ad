//! Lower bounds, from a reduced problem to its certificate.
//!
//! [`Proving`] bounds a network. A [`Bounder`] is its loop: each step is one bounded slice of work. A [`BoundSchedule`]
//! chooses the next stage: cost shifting between functions ([`Shift`]) or between mini-buckets ([`JoinGraph`]), an
//! elimination plan of a [`SizeSchedule`], or a turn of a [`Search`], such as branch and bound ([`Branch`]).
//!
//! Sparse elimination leaves out entries that no solution below the limit uses: its bound is at most the limit.
//!
//! To add a method: implement [`Search`] in a file of its own, and add its line to [`METHODS`], with a
//! [`BoundChoice`]; command line, help and schedule follow.

mod bounder;
#[cfg(test)]
mod bounder_tests;
mod branch;
#[cfg(feature = "sat")]
mod cores;
mod cost_shifting;
pub mod early;
mod join_graph;
mod moved;
mod network;
mod proof;
mod schedule;
mod search;
mod shifting;
mod solutions;
mod step;
mod sweep;
mod trace;
mod tuning;

pub use bounder::Bounder;
pub use branch::{Branch, Probe, Probed, Sent, Style};
#[cfg(feature = "sat")]
pub use cores::Cores;
pub use cost_shifting::Shift;
pub use join_graph::{JoinGraph, Patience};
pub use network::{News, Proved, Proving, ProvingOptions};
pub use proof::{Proof, weaker};
pub use schedule::{Attempt, BoundSchedule, DeviceUse, Graphs, SizeSchedule, Spent, Stage};
pub use search::{Begin, Begun, Search, Searcher, Steady};
pub use shifting::Shifting;
pub use solutions::{SolutionOptions, solutions};
pub use step::{BoundResult, BounderOptions, Notice, Part, Step, TableSizes};
pub use trace::BranchingTrace;

use crate::device::Source;
use crate::model::{Cost, Problem};
use tuning::{DEVICE_EXACT_WORK, EXACT_WORK};

/// The method of the constant bound of a network that is not reduced: the sum of the least costs of its functions.
pub const CONSTANT: &str = "constant";
/// The method of bounds by the reductions alone: the constant that they leave, or a proof that nothing is left.
pub const REDUCTIONS: &str = "reductions";

/// Whether a bound of a method, as results name it, depends on an elimination order.
pub fn follows_order(method: &str) -> bool {
    #[cfg(feature = "sat")]
    if method == BoundChoice::Cores.name() {
        return false;
    }
    let without = [CONSTANT, REDUCTIONS, BoundChoice::None.name(), BoundChoice::Shift.name()];
    !without.contains(&method)
}

/// How lower bounds are made: the `about` of each stands in [`METHODS`].
#[allow(missing_docs, reason = "the list says what each is")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundChoice {
    Auto,
    None,
    Shift,
    JoinGraph,
    Mbe,
    MbeMm,
    Be,
    SparseBe,
    Branch,
    #[cfg(feature = "sat")]
    Cores,
}

/// A line of the list of methods.
#[derive(Clone, Copy, Debug)]
pub struct BoundMethod {
    /// What programs call it.
    pub choice: BoundChoice,
    /// The name on the command line, and older ones that help does not show.
    pub names: &'static [&'static str],
    /// One line for help.
    pub about: &'static str,
    /// What it runs.
    pub strategies: Strategies,
    /// What helps where it needs more memory than it may take: options of the command line.
    pub advice: Option<&'static str>,
}

/// Every method.
pub static METHODS: &[BoundMethod] = &[
    BoundMethod {
        choice: BoundChoice::Auto,
        names: &["auto"],
        about: "Exact elimination where affordable, else shift, join-graph, mbe, sparse-be, branch and cores in turn",
        strategies: Strategies {
            plain: true,
            shift: true,
            shifted: true,
            graphs: Graphs::Growing,
            rows: true,
            searches: SEARCHERS,
            exact_work: [EXACT_WORK, DEVICE_EXACT_WORK],
        },
        advice: None,
    },
    method(
        BoundChoice::None,
        &["none"],
        "Only the constant bound: the sum of the least costs of all functions, after the reductions",
        NOTHING,
    ),
    method(
        BoundChoice::Shift,
        &["shift"],
        "Cost shifting (reparametrisation) between functions",
        Strategies { shift: true, ..NOTHING },
    ),
    method(
        BoundChoice::JoinGraph,
        &["join-graph"],
        "Cost shifting, also between mini-buckets of growing size",
        Strategies { shift: true, graphs: Graphs::Growing, ..NOTHING },
    ),
    method(
        BoundChoice::Mbe,
        &["mbe"],
        "Mini-bucket elimination of the network as it is",
        Strategies { plain: true, ..NOTHING },
    ),
    method(
        BoundChoice::MbeMm,
        &["mbe-mm"],
        "Mini-bucket elimination with moment matching",
        Strategies { graphs: Graphs::Matching, ..NOTHING },
    ),
    method(
        BoundChoice::Be,
        &["be"],
        "Exact bucket elimination, whatever it costs, within the limits of memory and disk",
        Strategies { plain: true, exact_work: [u64::MAX; 2], ..NOTHING },
    )
    .advised("--bound-memory and --spill raise the limits, --method mbe splits buckets"),
    method(
        BoundChoice::SparseBe,
        &["sparse-be"],
        "Exact bucket elimination of the tuples that cost shifting leaves",
        Strategies { shift: true, graphs: Graphs::Growing, rows: true, ..NOTHING },
    ),
    method(
        BoundChoice::Branch,
        &["branch"],
        "Branch and bound over values",
        Strategies { searches: &[Branch::LIGHT, Branch::HEAVY], ..NOTHING },
    )
    .advised("--bound-memory raises the limit, --method mbe takes any costs"),
    #[cfg(feature = "sat")]
    method(
        BoundChoice::Cores,
        &["cores"],
        "Core-guided search: a SAT solver finds costs that cannot all be avoided",
        Strategies { searches: &[Cores::SEARCHER], ..NOTHING },
    )
    .advised("--bound-memory raises the limit, --method mbe takes any tables"),
];

/// The searches that take turns, the first to begin first.
const SEARCHERS: &[&Searcher] = &[
    Branch::LIGHT,
    #[cfg(feature = "sat")]
    Cores::SEARCHER,
    Branch::HEAVY,
];

const fn method(
    choice: BoundChoice,
    names: &'static [&'static str],
    about: &'static str,
    strategies: Strategies,
) -> BoundMethod {
    BoundMethod { choice, names, about, strategies, advice: None }
}

impl BoundMethod {
    const fn advised(self, advice: &'static str) -> Self {
        BoundMethod { advice: Some(advice), ..self }
    }
}

impl BoundChoice {
    /// The line of the list that describes it.
    pub fn method(self) -> &'static BoundMethod {
        METHODS.iter().find(|method| method.choice == self).expect("each choice has a line")
    }

    /// All choices with their names.
    pub fn all() -> impl ExactSizeIterator<Item = (&'static str, BoundChoice)> {
        METHODS.iter().map(|method| (method.names[0], method.choice))
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.method().names[0]
    }

    /// What it runs.
    pub fn strategies(self) -> Strategies {
        self.method().strategies
    }
}

/// What a method runs.
#[derive(Clone, Copy, Debug)]
pub struct Strategies {
    /// Mini-buckets of the original network.
    pub plain: bool,
    /// Cost shifting.
    pub shift: bool,
    /// Mini-buckets of the shifted network.
    pub shifted: bool,
    /// Shifting between mini-buckets.
    pub graphs: Graphs,
    /// Exact elimination with sparse tables of what shifting leaves.
    pub rows: bool,
    /// Searches, each with turns of its own.
    pub searches: &'static [&'static Searcher],
    /// Work up to which elimination is exact without mini-buckets before it: on the CPU, and on a device.
    pub exact_work: [u64; 2],
}

const NOTHING: Strategies = Strategies {
    plain: false,
    shift: false,
    shifted: false,
    graphs: Graphs::None,
    rows: false,
    searches: &[],
    exact_work: [0; 2],
};

impl Strategies {
    /// Cost shifting, if it is one of these, and nothing else.
    fn shifting_alone(&self) -> Strategies {
        Strategies { shift: self.shift, ..NOTHING }
    }

    /// What one of several processes runs of these: cost shifting with all that follows from it, branch and bound, and
    /// mini-buckets of the original network are dealt out. Processes beyond that run none.
    fn part(self, Part { place, of }: Part) -> Strategies {
        let families = [self.shift || self.go_on_from_shifting(), !self.searches.is_empty(), self.plain];
        let mut before = 0;
        let [shifting, searching, plain] = families.map(|is_there| {
            let is_own = is_there && before % of == place;
            before += usize::from(is_there);
            is_own
        });
        let searches = if searching { self.searches } else { &[] };
        let rest = if shifting { self } else { Strategies { exact_work: self.exact_work, ..NOTHING } };
        Strategies { plain, searches, ..rest }
    }

    /// Whether z limits their tables: exact plans and searches alone have none.
    pub fn have_z(&self) -> bool {
        self.exact_work[0] < u64::MAX && (self.searches.is_empty() || self.plain || self.go_on_from_shifting())
    }

    fn are_none(&self) -> bool {
        !self.plain && !self.shift && !self.go_on_from_shifting() && self.searches.is_empty()
    }

    /// Whether something works on what cost shifting between functions leaves.
    fn go_on_from_shifting(&self) -> bool {
        self.shifted || self.graphs != Graphs::None || self.rows
    }
}

/// The kernels of bounds, to compile them without a device.
pub fn sources() -> Vec<Source> {
    vec![join_graph::kernels(), cost_shifting::kernels()]
}

/// The constant bound of a problem: the constant, to which the reductions have moved the least cost of every function.
pub fn constant_bound(problem: &Problem) -> Cost {
    problem.constant.min(problem.top)
}
