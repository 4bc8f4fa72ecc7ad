//! The list of bound methods.

use super::branch::Branch;
#[cfg(feature = "sat")]
use super::cores::Cores;
use super::linear::LinearSearch;
use super::search::Searcher;
use super::strategies::{Graphs, NOTHING, Strategies};
use super::tuning::{DEVICE_EXACT_WORK, EXACT_WORK};
use crate::model::{Cost, Problem};
use crate::tuning::tuning;

/// The method name of the constant bound of an unreduced network: the sum of the least costs of its functions.
pub const CONSTANT: &str = "constant";
/// The method name of bounds by the reductions alone: the constant that they leave, or a proof of infeasibility.
pub const REDUCTIONS: &str = "reductions";

/// Returns whether a bound of a method, named as in results, depends on an elimination order.
pub fn follows_order(method: &str) -> bool {
    #[cfg(feature = "sat")]
    if method == BoundChoice::Cores.name() {
        return false;
    }
    let without =
        [CONSTANT, REDUCTIONS, BoundChoice::None.name(), BoundChoice::Shift.name(), BoundChoice::Linear.name()];
    !without.contains(&method)
}

/// A bound method that users choose; [`METHODS`] describes each.
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
    Linear,
    #[cfg(feature = "sat")]
    Cores,
}

/// The entry of a bound method in [`METHODS`].
#[derive(Clone, Copy, Debug)]
pub struct BoundMethod {
    /// The method.
    pub choice: BoundChoice,
    /// The name on the command line, followed by older names that the help does not show.
    pub names: &'static [&'static str],
    /// The description in the help, in one line.
    pub about: &'static str,
    /// The strategies that the method runs.
    pub strategies: Strategies,
    /// Command-line options that help if the method needs more memory than its limit.
    pub advice: Option<&'static str>,
}

/// All bound methods.
pub static METHODS: &[BoundMethod] = &[
    BoundMethod {
        choice: BoundChoice::Auto,
        names: &["auto"],
        about: "Exact elimination if affordable, else shift, join-graph, mbe, sparse-be, branch, cores, linear in turn",
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
    method(
        BoundChoice::Linear,
        &["linear"],
        "Branch and bound by linear programming, for networks with weighted sums or counts",
        Strategies { searches: &[LinearSearch::SEARCHER], ..NOTHING },
    )
    .advised("--bound-memory raises the limit, --method auto takes any network"),
    #[cfg(feature = "sat")]
    method(
        BoundChoice::Cores,
        &["cores"],
        "Core-guided search: a SAT solver finds costs that cannot all be avoided",
        Strategies { searches: &[Cores::SEARCHER], ..NOTHING },
    )
    .advised("--bound-memory raises the limit, --method mbe takes any tables"),
];

/// The searches of the method `auto`, in the order in which they begin; [`Strategies::switched`] names them too.
const SEARCHERS: &[&Searcher] = &[
    LinearSearch::SEARCHER,
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

/// Access to the entries of [`METHODS`].
impl BoundChoice {
    /// Returns the entry of [`METHODS`] for this method.
    pub fn method(self) -> &'static BoundMethod {
        METHODS.iter().find(|method| method.choice == self).expect("each choice has a line")
    }

    /// Returns all methods with their names on the command line.
    pub fn all() -> impl ExactSizeIterator<Item = (&'static str, BoundChoice)> {
        METHODS.iter().map(|method| (method.names[0], method.choice))
    }

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        self.method().names[0]
    }

    /// Returns the strategies that the method runs: those of `auto` that are switched on, all of the others.
    pub fn strategies(self) -> Strategies {
        let all = self.method().strategies;
        if self == BoundChoice::Auto { all.switched(&tuning().strategies) } else { all }
    }
}

/// Returns the constant bound of a problem: its constant, into which the reductions have moved the least cost of each
/// function.
pub fn constant_bound(problem: &Problem) -> Cost {
    problem.constant.min(problem.top)
}
