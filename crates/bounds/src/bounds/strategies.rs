//! What methods run.

use super::search::Searcher;

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

pub(super) const NOTHING: Strategies = Strategies {
    plain: false,
    shift: false,
    shifted: false,
    graphs: Graphs::None,
    rows: false,
    searches: &[],
    exact_work: [0; 2],
};

/// Which graphs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graphs {
    /// None.
    None,
    /// Each of the original network and with one pass: mini-buckets with moment matching.
    Matching,
    /// Each of the tables that the last one left.
    Growing,
}

impl Strategies {
    /// Cost shifting, if it is one of these, and nothing else.
    pub(super) fn shifting_alone(&self) -> Strategies {
        Strategies { shift: self.shift, ..NOTHING }
    }

    /// What one of several processes runs of these: cost shifting with all that follows from it, branch and bound, and
    /// mini-buckets of the original network are dealt out. Processes beyond that run none.
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

    /// Whether z limits their tables: exact plans and searches alone have none.
    pub fn have_z(&self) -> bool {
        self.exact_work[0] < u64::MAX && (self.searches.is_empty() || self.plain || self.go_on_from_shifting())
    }

    pub(super) fn are_none(&self) -> bool {
        !self.plain && !self.shift && !self.go_on_from_shifting() && self.searches.is_empty()
    }

    /// Whether something works on what cost shifting between functions leaves.
    pub(super) fn go_on_from_shifting(&self) -> bool {
        self.shifted || self.graphs != Graphs::None || self.rows
    }
}

/// The place of a process among those that deal out the methods of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// From 0 on.
    pub place: usize,
    /// How many there are.
    pub of: usize,
}
