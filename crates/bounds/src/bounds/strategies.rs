//! The strategies that bound methods combine.

use super::search::{Searcher, Steady};
use crate::tuning::StrategiesTuning;
use std::sync::OnceLock;

/// The strategies that a bound method runs.
#[derive(Clone, Copy, Debug)]
pub struct Strategies {
    /// Whether mini-bucket elimination runs on the unshifted problem.
    pub plain: bool,
    /// Whether cost shifting between functions runs.
    pub shift: bool,
    /// Whether mini-bucket elimination runs on the shifted problem.
    pub shifted: bool,
    /// Cost shifting between mini-buckets.
    pub graphs: Graphs,
    /// Whether exact elimination with sparse tables runs on the shifted problem.
    pub rows: bool,
    /// Searches, each of which is granted work in turn.
    pub searches: &'static [&'static Searcher],
    /// Work up to which elimination is exact without preceding mini-buckets: on the CPU, and on a device.
    pub exact_work: [u64; 2],
}

pub(super) const NOTHING: Strategies = Strategies {
    plain: false,
    shift: false,
    shifted: false,
    graphs: Graphs::None,
    rows: false,
    searches: &[],
    exact_work: [0; 2],
};

/// Which join graphs are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graphs {
    /// No join graph.
    None,
    /// Each from the unshifted problem and with one pass: mini-buckets with moment matching.
    Matching,
    /// Each from the tables that the preceding graph left.
    Growing,
}

impl Strategies {
    /// Returns cost shifting alone, if it is among these strategies.
    pub(super) fn shifting_alone(&self) -> Strategies {
        Strategies { shift: self.shift, ..NOTHING }
    }

    /// Returns the strategies that one of several processes runs. Three families are dealt out: cost shifting with all
    /// that builds on it, searches, and mini-buckets of the unshifted problem. A process beyond the number of families
    /// runs none.
    pub(super) fn part(self, Part { place, of }: Part) -> Strategies {
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

    /// Returns the strategies that are switched on.
    pub(super) fn switched(self, on: &StrategiesTuning) -> Strategies {
        /// The searches that are switched on; a process has one choice.
        static SEARCHES: OnceLock<Vec<&'static Searcher>> = OnceLock::new();
        let is_on = |searcher: &Searcher| match searcher.steady {
            Some(Steady::Light) => on.light,
            Some(Steady::Cores) => on.cores,
            Some(Steady::Linear) => on.linear,
            None => on.heavy,
        };
        let searches = SEARCHES.get_or_init(|| self.searches.iter().copied().filter(|one| is_on(one)).collect());
        Strategies {
            plain: self.plain && on.plain,
            shift: self.shift && on.shift,
            shifted: self.shifted && on.shifted,
            graphs: if on.graphs { self.graphs } else { Graphs::None },
            rows: self.rows && on.rows,
            searches,
            exact_work: if on.exact { self.exact_work } else { [0; 2] },
        }
    }

    /// Returns whether the strategies depend on z, the number of variables of a mini-bucket. Exact plans and searches
    /// alone do not.
    pub fn have_z(&self) -> bool {
        self.exact_work[0] < u64::MAX && (self.searches.is_empty() || self.plain || self.go_on_from_shifting())
    }

    pub(super) fn are_none(&self) -> bool {
        !self.plain && !self.shift && !self.go_on_from_shifting() && self.searches.is_empty()
    }

    /// Returns whether a strategy works on the problem that cost shifting between functions leaves.
    pub(super) fn go_on_from_shifting(&self) -> bool {
        self.shifted || self.graphs != Graphs::None || self.rows
    }
}

/// A process among those that split the strategies of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Index of the process, from 0.
    pub place: usize,
    /// Number of processes.
    pub of: usize,
}
