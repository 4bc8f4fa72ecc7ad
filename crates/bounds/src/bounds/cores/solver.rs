//! The SAT solver: clauses, and calls under assumptions that end by the stop flag or after counted work.

use crate::bounds::tuning::cores::{CLAUSE_BYTES, CONFLICT_TICKS, CONFLICT_WORK, LITERAL_BYTES, PROPAGATION_WORK};
use crate::stop::Stop;
pub use batsat::Lit;
use batsat::{Callbacks, ClauseKind, Solver, SolverInterface, SolverOpts, lbool};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The outcome of a call of the solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A model was found ([`Sat::holds`]).
    Satisfiable,
    /// The assumptions have no model ([`Sat::core`]).
    Unsatisfiable,
    /// The limit of work or the stop flag ended the call.
    Unknown,
}

/// The clauses, and those learnt from them.
pub struct Sat {
    solver: Solver<Meter>,
    clause: Vec<Lit>,
    /// Number of clauses and of literals added.
    added: (u64, u64),
}

/// A counter of decisions and conflicts that ends a call.
#[derive(Default)]
struct Meter {
    ticks: AtomicU64,
    end: u64,
    stop: Stop,
    /// Number of clauses learnt and kept, and of their literals.
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
    /// Creates a solver without clauses.
    pub fn new() -> Sat {
        let options = SolverOpts { restart_first: 50, min_learnts_lim: 2000, ..SolverOpts::default() };
        Sat { solver: Solver::new(options, Meter::default()), clause: Vec::new(), added: (0, 0) }
    }

    /// Returns the positive literal of a new variable.
    pub fn literal(&mut self) -> Lit {
        Lit::new(self.solver.new_var_default(), true)
    }

    /// Adds a clause: at least one of the literals holds.
    pub fn add(&mut self, clause: &[Lit]) {
        self.clause.clear();
        self.clause.extend_from_slice(clause);
        self.added = (self.added.0 + 1, self.added.1 + clause.len() as u64);
        // if there is no model any more, the next call reports it
        let _ = self.solver.add_clause_reuse(&mut self.clause);
    }

    /// Searches for a model in which the assumptions hold, with at most `ticks` decisions; a conflict counts as
    /// several.
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

    /// Returns the decisions of all calls, conflicts counted as several.
    pub fn ticks(&self) -> u64 {
        self.solver.cb().ticks.load(Ordering::Relaxed)
    }

    /// Returns whether a literal holds in the last model.
    pub fn holds(&self, literal: Lit) -> bool {
        self.solver.value_lit(literal) == lbool::TRUE
    }

    /// Returns assumptions that contradict each other; empty if there is no model at all.
    pub fn core(&self) -> Vec<Lit> {
        self.solver.unsat_core().iter().map(|&literal| !literal).collect()
    }

    /// Returns the work of all calls, in table entries.
    pub fn work(&self) -> u64 {
        let (propagations, conflicts) = (self.solver.num_propagations(), self.solver.num_conflicts());
        let propagating = PROPAGATION_WORK.saturating_mul(propagations);
        propagating.saturating_add(CONFLICT_WORK.saturating_mul(conflicts)).saturating_add(self.ticks())
    }

    /// Returns the approximate number of bytes in use.
    pub fn bytes(&self) -> u64 {
        let (clauses, literals) = self.solver.cb().learnt;
        bytes(self.solver.num_vars().into(), self.added.0 + clauses, self.added.1 + literals)
    }
}

/// Returns the approximate bytes of variables, clauses and the literals in them.
pub fn bytes(variables: u64, clauses: u64, literals: u64) -> u64 {
    let clauses = clauses.saturating_mul(CLAUSE_BYTES).saturating_add(literals.saturating_mul(size_of::<Lit>() as u64));
    variables.saturating_mul(LITERAL_BYTES).saturating_add(clauses)
}
