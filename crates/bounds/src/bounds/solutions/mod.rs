//! Enumeration of all solutions up to a cost, their number, and the best ones.
//!
//! A depth-first search removes values by propagation (`tree`). What is left at a node is enumerated or counted by the
//! tables of elimination once these are small (`walk`, `count`). Problems too large for the search are enumerated along
//! mini-bucket messages alone.

mod best;
mod count;
mod different;
mod enumerate;
mod primes;
mod setting;
mod tree;
mod walk;

use crate::check::{self, Evaluation};
use crate::error::Error;
use crate::memory;
use crate::model::{Cost, FORBIDDEN, Network, Number};
use crate::stop::Stop;
pub use best::{Best, best};
pub use count::{Counted, count};
use enumerate::{Sizes, enumerate};
use setting::Setting;
use std::ops::ControlFlow;

/// Which solutions to enumerate, for example `SolutionOptions::default().with(|options| options.worst =
/// Some(3.0.into()))`.
#[derive(Clone, Debug)]
pub struct SolutionOptions {
    /// Variables whose joint values must differ between any two solutions. `None` means all variables.
    pub of: Option<Vec<u32>>,
    /// The worst value of a reported solution, in the file's convention; `None` means any.
    pub worst: Option<Number>,
    /// Memory limit of the tables in bytes.
    pub memory: u64,
}

impl Default for SolutionOptions {
    fn default() -> Self {
        SolutionOptions { of: None, worst: None, memory: memory::available() / 2 }
    }
}

impl SolutionOptions {
    /// Returns these options after `change` has been applied.
    pub fn with(mut self, change: impl FnOnce(&mut SolutionOptions)) -> SolutionOptions {
        change(&mut self);
        self
    }
}

/// The receiver of each solution.
type Tell<'a> = &'a mut dyn FnMut(&[u32], &Evaluation) -> ControlFlow<()>;

/// Enumerates the solutions that the options select, each evaluated by [`check`], until `tell` breaks. Their order is
/// deterministic, but not by cost. Returns whether all solutions were reported.
///
/// ```
/// use fangs_bounds::bounds::{SolutionOptions, solutions};
/// use std::ops::ControlFlow;
///
/// let network = fangs_generate::generate("coloring", &[("n", "5"), ("p", "0"), ("k", "2")], 1)?;
/// let mut count = 0;
/// let all = solutions(&network, &SolutionOptions::default(), &fangs_base::stop::Stop::new(), &mut |_, _| {
///     count += 1;
///     ControlFlow::Continue(())
/// })?;
/// assert!(all && count == 32);
/// # Ok::<(), fangs_base::Error>(())
/// ```
///
/// # Errors
/// Returns [`Error::Memory`] if even the smallest tables do not fit, and an error if a variable does not exist. A set
/// stop flag is no error: the function then returns `false`.
pub fn solutions(network: &Network, options: &SolutionOptions, stop: &Stop, tell: Tell<'_>) -> Result<bool, Error> {
    match all(network, options, Sizes::DEFAULT, stop, tell) {
        Err(Error::Stopped) => Ok(false),
        ended => ended,
    }
}

/// What the receiver makes of a complete assignment.
enum Leaf {
    Refused,
    Taken,
    Last,
}

/// The receiver of values of all variables of a problem, which may lower the cost that solutions must stay below.
type Receiver<'a> = &'a mut dyn FnMut(&[u32], &mut Cost) -> Result<Leaf, Error>;

/// Returns the cost that solutions up to the worst one stay below.
fn limit(network: &Network, setting: &Setting, worst: Option<Number>) -> Cost {
    // one more, because of rounding; the comparison of values decides
    let limit = |worst: Number| network.units().largest_cost(worst).saturating_add(1);
    worst.map_or(FORBIDDEN, limit).min(setting.problem.top)
}

fn all(network: &Network, options: &SolutionOptions, sizes: Sizes, stop: &Stop, tell: Tell<'_>) -> Result<bool, Error> {
    let setting = Setting::new(network, options.of.as_deref(), stop)?;
    let units = network.units();
    let ub = limit(network, &setting, options.worst);
    let mut leaf = |core: &[u32], _: &mut Cost| {
        let assignment = setting.reducer.lift(core, stop)?;
        let evaluation = check::evaluate(network, &assignment);
        let value = units.number(evaluation.cost);
        let is_worse = options.worst.is_some_and(|worst| units.is_better(worst, value));
        if !evaluation.is_solution() || is_worse {
            return Ok(Leaf::Refused);
        }
        Ok(if tell(&assignment, &evaluation).is_break() { Leaf::Last } else { Leaf::Taken })
    };
    let sizes = Sizes { bytes: options.memory, ..sizes };
    enumerate(&setting, ub, sizes, stop, &mut leaf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use fangs_testing::networks::{assignments, random};
    use std::collections::BTreeSet;

    /// Returns the solutions, and whether they are all; the receiver breaks after `most` of them.
    fn found(network: &Network, options: &SolutionOptions, sizes: Sizes, most: usize) -> (Vec<Vec<u32>>, bool) {
        let (mut solutions, stop) = (Vec::new(), Stop::new());
        let mut tell = |assignment: &[u32], evaluation: &Evaluation| {
            assert_eq!(evaluation.cost, check::evaluate(network, assignment).cost);
            solutions.push(assignment.to_vec());
            if solutions.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let complete = all(network, options, sizes, &stop, &mut tell).expect("small tables");
        (solutions, complete)
    }

    #[test]
    fn solutions_are_those_of_enumeration_each_once() {
        let (mut rng, mut count) = (Rng::new(5), [0; 3]);
        for case in 0..3000 {
            let network = if case % 2 == 0 { random(&mut rng) } else { fangs_testing::globals::network(&mut rng) };
            let variables = network.domains().len();
            let of = (rng.below(2) == 0).then(|| (0..variables as u32).filter(|_| rng.below(2) == 0).collect());
            let every = assignments(&network).into_iter().map(|values| (check::evaluate(&network, &values), values));
            let every: Vec<_> = every.filter(|(evaluation, _)| evaluation.is_solution()).collect();
            let worst = every.get(rng.index(every.len().max(1))).filter(|_| rng.below(2) == 0);
            let worst = worst.map(|(evaluation, _)| network.units().number(evaluation.cost));
            let options = SolutionOptions::default().with(|options| (options.of, options.worst) = (of.clone(), worst));
            let wanted = every
                .iter()
                .filter(|(evaluation, _)| worst.is_none_or(|worst| network.units().number(evaluation.cost) <= worst));
            let part = |values: &Vec<u32>| match &of {
                Some(of) => of.iter().map(|&v| values[v as usize]).collect(),
                None => values.clone(),
            };
            let wanted: BTreeSet<Vec<u32>> = wanted.map(|(_, values)| part(values)).collect();
            // some of the first tables are so small that they hardly bound anything, and some searches have none
            let first_tables = [1 << 20, 8, 256][rng.index(3)];
            let (first_leaf, propagates) = ([0, 10, 1 << 14][rng.index(3)], rng.below(3) > 0);
            let sizes = Sizes { first_tables, first_leaf, propagates, ..Sizes::DEFAULT };
            let (solutions, complete) = found(&network, &options, sizes, usize::MAX);
            let parts: Vec<Vec<u32>> = solutions.iter().map(part).collect();
            assert!(complete && parts.len() == wanted.len(), "case {case}: {} of {}", parts.len(), wanted.len());
            assert_eq!(parts.into_iter().collect::<BTreeSet<_>>(), wanted, "case {case}");
            if solutions.len() > 1 {
                let (few, complete) = found(&network, &options, sizes, solutions.len() / 2);
                assert!(!complete && few.len() == solutions.len() / 2 && few[..] == solutions[..few.len()]);
            }
            count[solutions.len().min(2)] += 1;
        }
        assert!(count.iter().all(|&count| count > 100), "{count:?}");
    }

    #[test]
    fn values_are_compared_in_the_files_convention() {
        let mut builder = Network::builder("t");
        let _ = builder.variable(4).expect("a variable");
        let _ = builder.dense(&[0], vec![28, 29, 30, 31]).expect("a table");
        for maximise in [false, true] {
            let _ = builder.units(crate::model::Units { decimals: 2, maximise, rounded: 0 });
            let network = builder.clone().build();
            let worst = Some(if maximise { -0.29 } else { 0.29 });
            let options = SolutionOptions::default().with(|options| options.worst = worst.map(Number::Real));
            assert_eq!(found(&network, &options, Sizes::DEFAULT, 9), (vec![vec![0], vec![1]], true));
        }
    }

    #[test]
    fn forbidden_values_end_branches() {
        let mut builder = Network::builder("t");
        (0..40).for_each(|_| drop(builder.variable(10)));
        for v in 1..40 {
            let equal = (0..100).map(|entry| if entry % 11 == 0 { 0 } else { FORBIDDEN });
            let _ = builder.dense(&[v - 1, v], equal.collect()).expect("a table");
        }
        let (solutions, complete) = found(&builder.build(), &SolutionOptions::default(), Sizes::DEFAULT, usize::MAX);
        assert!(complete && solutions.len() == 10);
    }

    #[test]
    fn a_stop_leaves_what_was_told() {
        let network = crate::generate::generate("coloring", &[("n", "40"), ("p", "0.05"), ("k", "3")], 1);
        let (stop, mut count) = (Stop::new(), 0);
        let all = solutions(&network.expect("a family"), &SolutionOptions::default(), &stop, &mut |_, _| {
            count += 1;
            if count == 1000 {
                stop.set(crate::stop::Cause::Signal);
            }
            ControlFlow::Continue(())
        });
        assert!(matches!(all, Ok(false)) && (1000..3000).contains(&count), "{count}");
    }
}
