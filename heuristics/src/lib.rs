//! Local heuristics that steer the search on networks: what a value is worth, seen from its variable.
//!
//! To add one:
//!
//! 1. Write a file in `list/` with a type that implements [`ValueHeuristic`]: a name, and
//!    [`weigh`](ValueHeuristic::weigh), which turns the inputs of a visit ([`Inputs`]) into a weight for each value.
//!    `min_conflicts.rs` is the plainest example.
//! 2. Say which inputs it [`needs`](ValueHeuristic::needs): others are not computed.
//! 3. Where values of several variables belong together, give it a [`Neighbourhood`]; where first assignments better
//!    than random ones are known, a [`Start`].
//! 4. Add its two lines to `list.rs`, and compare it: `fangs heuristics try FILE --heuristic NAME --heuristic default`.
//!
//! `fangs heuristics new NAME` writes such a file. Users also write heuristics without a Rust compiler: [`FromFile`]
//! reads the small language of [`language`], [`FromCuda`] a CUDA text. Outside this package a heuristic is handed to
//! `search::Options::heuristic`, as `examples/talks.rs` does. The driver `guided` makes
//! the passes: see ARCHITECTURE.md.

pub mod cuda;
mod cuda_file;
mod ejection;
mod file;
mod inputs;
pub mod language;
mod list;
mod template;
mod view;

// other crates, by the names that their areas have everywhere
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
pub use view::{Origin, View};

use crate::device::Source;
use crate::model::Problem;
use crate::rng::Rng;
use language::Table;
use std::fmt::Debug;

/// Weighs the values of one variable.
pub trait ValueHeuristic: Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// A weight for each value of the variable; values are drawn by weight, 0 forbids. Where all are 0 the variable
    /// keeps its value, and the run says so once.
    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]);

    /// Its description: a summary line, then any number of lines.
    fn about(&self) -> &str {
        "described nowhere"
    }

    /// The inputs that it reads.
    fn needs(&self) -> Needs {
        Needs::ALL
    }

    /// Whether the variable visited may get a new value.
    fn active(&self, inputs: &Inputs<'_>) -> bool {
        let _ = inputs;
        true
    }

    /// The condition of [`active`](Self::active) in the words of messages, and the inputs that it reads.
    fn condition(&self) -> (&str, Needs) {
        ("active", self.needs())
    }

    /// Whether it suits this reduced problem; if not, what is missing.
    ///
    /// # Errors
    /// What is missing. The run then does not begin.
    fn fits(&self, problem: &Problem) -> Result<(), String> {
        let _ = problem;
        Ok(())
    }

    /// The same in CUDA: a text for `heuristics/network.cuh`, whose weights equal those of [`weigh`](Self::weigh) to
    /// the last bit. It sees only the inputs of [`needs`](Self::needs).
    fn cuda(&self) -> Option<Source> {
        None
    }

    /// The tables of numbers that its text reads, in the text's order.
    fn tables(&self) -> Vec<&Table> {
        Vec::new()
    }

    /// Whether it works only on devices: a run without a device then does not begin.
    fn is_for_devices(&self) -> bool {
        false
    }

    /// A fault that it noticed in its own results; the run reports it once.
    fn nonsense(&self) -> Option<&str> {
        None
    }

    /// Changes of several variables at a time, proposed between passes.
    fn neighbourhood(&self) -> Option<&dyn Neighbourhood> {
        None
    }

    /// First assignments of states; random values without it.
    fn start(&self) -> Option<&dyn Start> {
        None
    }
}

/// Proposes groups of variables to assign together. The search computes the cost of a proposal and accepts it by the
/// temperature: always where it costs nothing, by exp(-cost / temperature) where it does.
pub trait Neighbourhood {
    /// Adds variables and their new values to `group`, each variable once; none if there is no proposal.
    fn propose(&self, view: &View<'_>, rng: &mut Rng, group: &mut Vec<(u32, u16)>);

    /// The number of proposals after a pass over `variables` variables.
    fn proposals(&self, variables: usize) -> usize {
        1 + variables / 8
    }

    /// The same in CUDA: a text for `kernels/groups.cuh`, which proposes the same groups by the same draws.
    fn cuda(&self) -> Option<Source> {
        None
    }
}

/// Proposes first assignments.
pub trait Start {
    /// Gives every variable a value; `values` holds random ones. `view` shows the reduced problem; its assignment is
    /// meaningless.
    fn start(&self, view: &View<'_>, rng: &mut Rng, values: &mut [u16]);
}

/// The cost of a value above `least`, in the form that weights use.
fn above(cost: f64, least: f64) -> u32 {
    (cost - least).clamp(0.0, f64::from(u32::MAX)) as u32
}
