//! The list of methods.

use super::branch::Branch;
#[cfg(feature = "sat")]
use super::cores::Cores;
use super::search::Searcher;
use super::strategies::{Graphs, NOTHING, Strategies};
use super::tuning::{DEVICE_EXACT_WORK, EXACT_WORK};
use crate::model::{Cost, Problem};

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

/// The constant bound of a problem: the constant, to which the reductions have moved the least cost of every function.
pub fn constant_bound(problem: &Problem) -> Cost {
    problem.constant.min(problem.top)
}
