//! Explanations: what an assignment costs, and why a network has no solution.

use crate::activity::Activity;
use crate::check;
use crate::device::Choice;
use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Network};
use crate::reduce::Reducer;
use crate::stop::Stop;
use crate::{Options, Status, solve};
use std::cmp::Reverse;

/// A function and its cost.
pub type Priced = (usize, Cost);

/// Returns the functions whose cost under an assignment is not 0: the violated ones ([`FORBIDDEN`]) first, then by
/// decreasing cost.
pub fn costs(network: &Network, assignment: &[u32]) -> Vec<Priced> {
    let entry = |function| check::function_cost(function, network.domains(), assignment).min(FORBIDDEN);
    let mut all: Vec<Priced> = network.all_functions().map(entry).enumerate().filter(|&(_, cost)| cost != 0).collect();
    all.sort_by_key(|&(_, cost)| Reverse(cost));
    all
}

/// Returns the functions whose costs differ between two assignments, with both costs, by decreasing difference.
pub fn differences(network: &Network, one: &[u32], other: &[u32]) -> Vec<(usize, [Cost; 2])> {
    let domains = network.domains();
    let entries = |function| [one, other].map(|values| check::function_cost(function, domains, values).min(FORBIDDEN));
    let mut all: Vec<(usize, [Cost; 2])> = network.all_functions().map(entries).enumerate().collect();
    all.retain(|(_, [one, other])| one != other);
    all.sort_by_key(|(_, [one, other])| Reverse(one.abs_diff(*other)));
    all
}

/// The result of [`conflict`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The network has a solution.
    Solution(Vec<u32>),
    /// These functions have no common solution.
    Conflict {
        /// Function indices, ascending.
        functions: Vec<usize>,
        /// Whether the set is proven minimal: without any one of them, the others have a common solution.
        minimal: bool,
    },
    /// The run was stopped before either was proved.
    Unknown,
}

/// Searches for a small set of functions without a common solution by deletion filtering: it leaves out halves of the
/// functions at first, then smaller parts, and finally single ones (Chinneck and Dravnieks, "Locating minimal
/// infeasible constraint sets in linear programs", 1991). A function that is left out counts with its least cost if
/// that is negative; global functions with negative costs are never left out. `rounds` limits each search after the
/// first.
///
/// # Errors
/// The errors of [`solve`]. A stop only ends the deletions.
pub fn conflict(network: &Network, rounds: u64, activity: &Activity, stop: &Stop) -> Result<Finding, Error> {
    let (mut kept, stay): (Vec<usize>, Vec<usize>) =
        (0..network.function_count()).partition(|&number| network.can_leave_out(number));
    // only the search of the whole network has no limit of rounds
    match holds(network, &kept, None, stop)? {
        Outcome::Solution(solution) => return Ok(Finding::Solution(solution)),
        Outcome::Unknown => return Ok(Finding::Unknown),
        Outcome::None => {}
    }
    activity.step("leaving functions out");
    let found = |kept: Vec<usize>, minimal: bool| {
        let mut functions: Vec<usize> = stay.iter().copied().chain(kept).collect();
        functions.sort_unstable();
        Ok(Finding::Conflict { functions, minimal: minimal && stay.is_empty() })
    };
    let mut size = kept.len().div_ceil(2);
    loop {
        let (mut minimal, mut start) = (true, 0);
        while start < kept.len() {
            let end = (start + size).min(kept.len());
            let without: Vec<usize> = kept[..start].iter().chain(&kept[end..]).copied().collect();
            match holds(network, &without, Some(rounds), stop)? {
                Outcome::None => kept = without,
                outcome => {
                    minimal &= matches!(outcome, Outcome::Solution(_));
                    start = end;
                }
            }
            if stop.is_set() {
                return found(kept, false);
            }
        }
        if size <= 1 {
            return found(kept, minimal);
        }
        size = size.div_ceil(2);
    }
}

enum Outcome {
    Solution(Vec<u32>),
    None,
    Unknown,
}

/// Decides whether the functions `functions`, ascending, and those that cannot be left out have a common solution.
fn holds(network: &Network, functions: &[usize], rounds: Option<u64>, stop: &Stop) -> Result<Outcome, Error> {
    let part = network.without(|number| functions.binary_search(&number).is_err() && network.can_leave_out(number));
    if part.least() >= part.top() {
        return Ok(Outcome::None);
    }
    match Reducer::new(&part, true, stop) {
        Ok(reducer) if reducer.infeasible() => return Ok(Outcome::None),
        Err(error) if error.is_stop() => return Ok(Outcome::Unknown),
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    let worst = if part.units().maximise { f64::MIN } else { f64::MAX };
    let options = Options::default().with(|options| {
        options.rounds = rounds;
        options.device = Choice::Cpu.into();
        options.target = Some(worst.into()); // the first solution ends the search
    });
    let summary = solve(&part, &options, &stop.below(), &mut |_| ())?;
    Ok(match (summary.solution, summary.status) {
        (Some(solution), _) => Outcome::Solution(solution),
        (None, Status::Infeasible) => Outcome::None,
        _ => Outcome::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a network of two colors on a triangle with a path attached to it, and one soft cost.
    fn triangle_with_a_tail(top: Cost) -> Network {
        let mut builder = Network::builder("t");
        for _ in 0..6 {
            let _ = builder.variable(2).expect("a variable");
        }
        let _ = builder.dense(&[5], vec![3, 4]).expect("a function");
        for pair in [[2, 3], [0, 1], [3, 4], [1, 2], [4, 5], [0, 2]] {
            let _ = builder.dense(&pair, vec![FORBIDDEN, 0, 0, FORBIDDEN]).expect("a function");
        }
        let _ = builder.top(top);
        builder.build()
    }

    fn find(network: &Network) -> Finding {
        conflict(network, 50, &Activity::default(), &Stop::new()).expect("no error")
    }

    #[test]
    fn the_triangle_is_the_conflict() {
        let network = triangle_with_a_tail(FORBIDDEN);
        assert_eq!(find(&network), Finding::Conflict { functions: vec![2, 4, 6], minimal: true });
        // the soft cost alone is at least top
        let network = triangle_with_a_tail(3);
        let Finding::Conflict { functions, minimal: true } = find(&network) else { panic!("a conflict") };
        assert!(functions == [0] || functions == [2, 4, 6], "{functions:?}");
    }

    #[test]
    fn global_functions_are_left_out_too() {
        use crate::formats::{Format, ReadOptions, read_from};
        let text = "1 x4 2 x5 3 x6 >= 3 ;\n1 x1 1 x2 >= 2 ;\n1 x1 1 x2 1 x3 <= 1 ;\n1 x3 1 x4 >= 1 ;\n";
        let network = read_from(text.as_bytes(), "t", Format::Opb, &ReadOptions::default(), &Stop::new());
        let mut network = network.expect("a network");
        assert_eq!(find(&network), Finding::Conflict { functions: vec![1, 2], minimal: true });
        // evidence is numbered after all functions
        let without: Network = network.without(|number| number == 1);
        assert!(matches!(find(&without), Finding::Solution(_)));
        network = without;
        network.observe(&[(3, 1), (4, 1), (5, 0)]).expect("evidence");
        assert_eq!(find(&network), Finding::Conflict { functions: vec![2, 4, 5], minimal: true });
    }

    #[test]
    fn soft_costs_conflict_with_top() {
        let mut builder = Network::builder("t");
        let v = builder.variable(2).expect("a variable");
        let _ = builder.dense(&[v], vec![4, 0]).expect("a function");
        let _ = builder.dense(&[v], vec![0, 5]).expect("a function");
        let _ = builder.dense(&[v], vec![1, 1]).expect("a function");
        let mut feasible = builder.clone();
        let _ = builder.top(4);
        assert_eq!(find(&builder.build()), Finding::Conflict { functions: vec![0, 1], minimal: true });
        let _ = feasible.top(6);
        assert_eq!(find(&feasible.build()), Finding::Solution(vec![0]));
    }

    #[test]
    fn costs_and_differences_are_sorted() {
        let network = triangle_with_a_tail(FORBIDDEN);
        let (bad, good) = ([0, 1, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1]);
        assert_eq!(costs(&network, &bad), [(4, FORBIDDEN), (0, 3)]);
        assert_eq!(costs(&network, &good), [(6, FORBIDDEN), (0, 4)]);
        assert_eq!(differences(&network, &bad, &good), [(4, [FORBIDDEN, 0]), (6, [0, FORBIDDEN]), (0, [3, 4])]);
    }
}
