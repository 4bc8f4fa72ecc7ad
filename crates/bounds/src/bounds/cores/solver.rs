//! The SAT solver: clauses, and searches under assumptions that end by the flag or after counted work.

use crate::bounds::tuning::cores::{CLAUSE_BYTES, CONFLICT_TICKS, CONFLICT_WORK, LITERAL_BYTES, PROPAGATION_WORK};
use crate::stop::Stop;
pub use batsat::Lit;
use batsat::{Callbacks, ClauseKind, Solver, SolverInterface, SolverOpts, lbool};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a search came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is a model ([`Sat::holds`]).
    Satisfiable,
    /// There is none ([`Sat::core`]).
    Unsatisfiable,
    /// The work or the time was over before.
    Unknown,
}

/// Clauses, and what was learnt from them.
pub struct Sat {
    solver: Solver<Meter>,
    clause: Vec<Lit>,
    /// Clauses and literals added.
    added: (u64, u64),
}

/// Counts decisions and conflicts, and ends a search.
#[derive(Default)]
struct Meter {
    ticks: AtomicU64,
    end: u64,
    stop: Stop,
    /// Clauses learnt and kept, and their literals.
    learnt: (u64, u64),
}

impl Callbacks for Meter {
    fn on_new_clause(&mut self, clause: &[Lit], kind: ClauseKind) {
        if kind == ClauseKind::Learnt {
            *self.ticks.get_mut() += CONFLICT_TICKS;
            self.learnt = (self.learnt.0 + 1, self.learnt.1 + clause.len() as u64);
        }
    }

    fn on_delete_clause(&mut self, clause: &[Lit]) {
        let (clauses, literals) = self.learnt;
        self.learnt = (clauses.saturating_sub(1), literals.saturating_sub(clause.len() as u64));
    }

    fn stop(&self) -> bool {
        let before = self.ticks.fetch_add(1, Ordering::Relaxed);
        before >= self.end || self.stop.is_set()
    }
}

impl fmt::Debug for Sat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Sat").field("added", &self.added).finish_non_exhaustive()
    }
}

impl Sat {
    /// No clauses.
    pub fn new() -> Sat {
        let options = SolverOpts { restart_first: 50, min_learnts_lim: 2000, ..SolverOpts::default() };
        Sat { solver: Solver::new(options, Meter::default()), clause: Vec::new(), added: (0, 0) }
    }

    /// One more.
    pub fn literal(&mut self) -> Lit {
        Lit::new(self.solver.new_var_default(), true)
    }

    /// One of these literals holds.
    pub fn add(&mut self, clause: &[Lit]) {
        self.clause.clear();
        self.clause.extend_from_slice(clause);
        self.added = (self.added.0 + 1, self.added.1 + clause.len() as u64);
        // that there is no model any more is what the next search says
        let _ = self.solver.add_clause_reuse(&mut self.clause);
    }

    /// Searches for a model in which the assumptions hold, for so many decisions; a conflict counts as several.
    pub fn solve(&mut self, assumptions: &[Lit], ticks: u64, stop: &Stop) -> Verdict {
        let now = self.ticks();
        let meter = self.solver.cb_mut();
        (meter.end, meter.stop) = (now.saturating_add(ticks), stop.clone());
        match self.solver.solve_limited(assumptions) {
            verdict if verdict == lbool::TRUE => Verdict::Satisfiable,
            verdict if verdict == lbool::FALSE => Verdict::Unsatisfiable,
            _ => Verdict::Unknown,
        }
    }

    /// Decisions and conflicts of all searches.
    pub fn ticks(&self) -> u64 {
        self.solver.cb().ticks.load(Ordering::Relaxed)
    }

    /// Whether a literal holds in the last model.
    pub fn holds(&self, literal: Lit) -> bool {
        self.solver.value_lit(literal) == lbool::TRUE
    }

    /// The assumptions that contradict each other; none where there is no model at all.
    pub fn core(&self) -> Vec<Lit> {
        self.solver.unsat_core().iter().map(|&literal| !literal).collect()
    }

    /// Work of all searches, in entries of a table.
    pub fn work(&self) -> u64 {
        let (propagations, conflicts) = (self.solver.num_propagations(), self.solver.num_conflicts());
        let propagating = PROPAGATION_WORK.saturating_mul(propagations);
        propagating.saturating_add(CONFLICT_WORK.saturating_mul(conflicts)).saturating_add(self.ticks())
    }

    /// Bytes that it takes, about.
    pub fn bytes(&self) -> u64 {
        let (clauses, literals) = self.solver.cb().learnt;
        bytes(self.solver.num_vars().into(), self.added.0 + clauses, self.added.1 + literals)
    }
}

/// Bytes that so many variables, clauses and literals in them take, about.
pub fn bytes(variables: u64, clauses: u64, literals: u64) -> u64 {
    let clauses = clauses.saturating_mul(CLAUSE_BYTES).saturating_add(literals.saturating_mul(size_of::<Lit>() as u64));
    variables.saturating_mul(LITERAL_BYTES).saturating_add(clauses)
}
