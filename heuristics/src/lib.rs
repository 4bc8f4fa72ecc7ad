//! Local heuristics that steer the search on networks: weights of a variable's values, computed from numbers about
//! the variable.
//!
//! To add one:
//!
//! 1. Write a file in `list/` with a type that implements [`ValueHeuristic`]: a name, and
//!    [`weigh`](ValueHeuristic::weigh), which turns the inputs of a visit ([`Inputs`]) into a weight for each value.
//!    `min_conflicts.rs` is the simplest example.
//! 2. State which inputs it [`needs`](ValueHeuristic::needs): others are not computed.
//! 3. If values of several variables belong together, give it a [`Neighbourhood`]; if initial assignments better than
//!    random ones are known, a [`Start`].
//! 4. Add its two lines to `list.rs`, and compare it: `fangs heuristics try FILE --heuristic NAME --heuristic default`.
//!
//! `fangs heuristics new NAME` writes such a file. Users also write heuristics without a Rust compiler: [`FromFile`]
//! reads the small language of [`language`], [`FromCuda`] a CUDA source. Outside this package a heuristic is passed to
//! `search::Options::heuristic`, as in `examples/talks.rs`. The driver `guided` makes the passes: see ARCHITECTURE.md.

pub mod cuda;
mod cuda_file;
mod ejection;
mod file;
mod inputs;
pub mod language;
mod list;
mod template;
mod texts;
mod view;

// The areas of other crates, by the names that they have in every crate.
use fangs_base::{Error, error, files, rng, stop, terminal, text};
use fangs_device as device;
use fangs_elimination::{elimination, value_tables};
use fangs_fang as fang;
use fangs_kernels as kernels;
use fangs_model::{graph, model};

pub use crate::fang::boltzmann::Boltzmann as Weights;
pub use cuda_file::FromCuda;
pub use ejection::Ejection;
pub use file::FromFile;
pub use inputs::{INPUTS, Input, Inputs, Kind, Needs};
pub use list::*;
pub use template::template;
pub use texts::TEXTS;
pub use view::{Origin, View};

use crate::device::Source;
use crate::model::Problem;
use crate::rng::Rng;
use language::Table;
use std::fmt::Debug;

/// A heuristic that weights the values of one variable.
pub trait ValueHeuristic: Debug + Send + Sync {
    /// Returns the name of the heuristic.
    fn name(&self) -> &str;

    /// Computes a weight for each value of the variable; values are sampled by weight, and 0 excludes a value. If all
    /// weights are 0, the variable keeps its value, and the run reports that once.
    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]);

    /// Returns a description: a summary line, then any number of lines.
    fn about(&self) -> &str {
        "described nowhere"
    }

    /// Returns the inputs that it reads.
    fn needs(&self) -> Needs {
        Needs::ALL
    }

    /// Returns whether the visited variable may get a new value.
    fn active(&self, inputs: &Inputs<'_>) -> bool {
        let _ = inputs;
        true
    }

    /// Returns the condition of [`active`](Self::active) as text for messages, and the inputs that it reads.
    fn condition(&self) -> (&str, Needs) {
        ("active", self.needs())
    }

    /// Checks whether the heuristic suits this reduced problem.
    ///
    /// # Errors
    /// Returns what is missing. The run then does not begin.
    fn fits(&self, problem: &Problem) -> Result<(), String> {
        let _ = problem;
        Ok(())
    }

    /// Returns the heuristic's CUDA source for `kernels/network.cuh`, or `None` if there is none. Its weights must
    /// equal those of [`weigh`](Self::weigh) to the last bit. It has only the inputs of [`needs`](Self::needs).
    fn cuda(&self) -> Option<Source> {
        None
    }

    /// Returns the tables of numbers that its source reads, in the source's order.
    fn tables(&self) -> Vec<&Table> {
        Vec::new()
    }

    /// Returns whether it works only on devices; a run without a device then does not begin.
    fn is_for_devices(&self) -> bool {
        false
    }

    /// Returns an error that it noticed in its own results, or `None`; the run reports it once.
    fn nonsense(&self) -> Option<&str> {
        None
    }

    /// Returns a generator of changes of several variables at a time, which are proposed between passes.
    fn neighbourhood(&self) -> Option<&dyn Neighbourhood> {
        None
    }

    /// Returns a generator of initial assignments of states; without one, values are random.
    fn start(&self) -> Option<&dyn Start> {
        None
    }
}

/// Proposes groups of variables to assign together. The search computes the change of cost of a proposal and accepts it
/// by the temperature: always if the cost does not rise, otherwise with probability exp(-rise / temperature).
pub trait Neighbourhood {
    /// Adds variables and their new values to `group`, each variable once; none if there is no proposal.
    fn propose(&self, view: &View<'_>, rng: &mut Rng, group: &mut Vec<(u32, u16)>);

    /// Returns the number of proposals after a pass over `variables` variables.
    fn proposals(&self, variables: usize) -> usize {
        1 + variables / 8
    }

    /// Returns the CUDA source for `kernels/groups.cuh`, or `None` if there is none. It must propose the same groups by
    /// the same draws.
    fn cuda(&self) -> Option<Source> {
        None
    }
}

/// Proposes initial assignments.
pub trait Start {
    /// Gives every variable a value; `values` initially holds random ones. `view` shows the reduced problem; its
    /// assignment is meaningless.
    fn start(&self, view: &View<'_>, rng: &mut Rng, values: &mut [u16]);
}

/// Returns the cost of a value above `least`, in the form that weights use.
fn above(cost: f64, least: f64) -> u32 {
    (cost - least).clamp(0.0, f64::from(u32::MAX)) as u32
}
