//! Solutions that differ: each next one is the best at a distance from all earlier ones.

use crate::check::{Evaluation, evaluate};
use crate::checkpoint::Keeping;
use crate::error::Error;
use crate::event::Status;
use crate::model::{FORBIDDEN, Global, GlobalKind, Linear, Network, Price, Target};
use crate::options::Options;
use crate::run::solve::solve;
use crate::stop::Stop;
use fangs_model::globals::{Decomposer, Refusal};
use std::time::Instant;

/// Solutions that differ.
#[derive(Clone, Copy, Debug)]
pub struct Diverse<'a> {
    /// The number of solutions, the first included.
    pub count: usize,
    /// The least number of variables in which any two differ.
    pub distance: u32,
    /// The variables that are compared, all different.
    pub on: &'a [u32],
    /// The end of the time for all of them.
    pub deadline: Option<Instant>,
}

/// A solution of a set of solutions that differ.
#[derive(Clone, Debug)]
pub struct Member {
    /// Value indices.
    pub assignment: Vec<u32>,
    /// Its evaluation.
    pub evaluation: Evaluation,
    /// The least distance from an earlier solution; `None` for the first.
    pub distance: Option<usize>,
    /// Whether it is proved that no solution that differs enough from all earlier ones is better.
    pub proven: bool,
}

/// Finds solutions after the first one, which `members` has: each is the best found at the distance from all earlier
/// ones. Returns whether there are as many as wanted, or it is proved that no other solution differs enough from these,
/// and each is proved to be the best.
///
/// # Errors
/// Returns an error if the distance needs tables that are too large, and the errors of [`solve`].
pub fn diverse(
    network: &Network,
    wanted: Diverse<'_>,
    options: &Options,
    stop: &Stop,
    members: &mut Vec<Member>,
) -> Result<bool, Error> {
    let mut restricted = network.clone();
    while members.len() < wanted.count {
        let Some(last) = members.last() else { return Ok(false) };
        if stop.is_set() {
            return Ok(false);
        }
        restricted = apart(&restricted, &last.assignment, wanted, stop)?;
        let left = wanted.deadline.map(|end| end.saturating_duration_since(Instant::now()));
        let own = Options {
            time: left.map(|left| left / (wanted.count - members.len()) as u32),
            warm_starts: Vec::new(),
            keeping: Keeping::default(),
            certificate: false,
            // these end the search for the first solution alone
            target: None,
            gap: None,
            stop: Vec::new(),
            ..options.clone()
        };
        let summary = solve(&restricted, &own, &stop.below(), &mut |_| ())?;
        let Some(assignment) = summary.least else { return Ok(summary.status == Status::Infeasible && all(members)) };
        let differs = |other: &Member| {
            wanted.on.iter().filter(|&&v| other.assignment[v as usize] != assignment[v as usize]).count()
        };
        let distance = members.iter().map(differs).min();
        let evaluation = evaluate(network, &assignment);
        if !evaluation.is_solution() || distance.is_some_and(|distance| distance < wanted.distance as usize) {
            return Err(Error::Internal("a solution is too close to an earlier one".into()));
        }
        members.push(Member { assignment, evaluation, distance, proven: summary.status == Status::Optimal });
    }
    Ok(all(members))
}

fn all(members: &[Member]) -> bool {
    members.iter().all(|member| member.proven)
}

/// Forbids assignments that differ too little from `other`.
fn apart(network: &Network, other: &[u32], wanted: Diverse<'_>, stop: &Stop) -> Result<Network, Error> {
    let sizes: Vec<u32> = wanted.on.iter().map(|&v| network.domains()[v as usize]).collect();
    let differs = |(&v, &size): (&u32, &u32)| (0..size).map(|value| i64::from(value != other[v as usize])).collect();
    let kind = GlobalKind::Linear(Linear {
        weights: wanted.on.iter().zip(&sizes).map(differs).collect(),
        target: Target::Within(wanted.distance.into(), wanted.on.len() as i64),
        price: Price::HARD,
        at_most_one: Vec::new(),
    });
    let global = Global { scope: wanted.on.into(), keyword: "distance".into(), kind, limit: FORBIDDEN };
    let parts = Decomposer::default().parts(&global, &sizes, stop).map_err(|refusal| match refusal {
        Refusal::TooLarge(what) => Error::Usage(format!("the distance of solutions would take {what}")),
        Refusal::Error(error) => error,
    })?;
    Ok(network.restricted(global, parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use fangs_testing::networks::{assignments, random};

    #[test]
    fn each_is_the_best_at_the_distance() {
        let (mut rng, mut several, mut none) = (Rng::new(8), 0, 0);
        for case in 0..120 {
            let network = if case % 2 == 0 { random(&mut rng) } else { fangs_testing::globals::network(&mut rng) };
            let every: Vec<_> = assignments(&network)
                .into_iter()
                .map(|values| (evaluate(&network, &values), values))
                .filter(|(evaluation, _)| evaluation.is_solution())
                .collect();
            let Some((evaluation, assignment)) = every.iter().min_by_key(|(found, _)| found.cost).cloned() else {
                continue;
            };
            let n = network.domains().len();
            let on: Vec<u32> = (0..n as u32).filter(|_| rng.below(4) > 0).collect();
            let (count, distance) = (2 + rng.index(3), rng.below(3) as u32);
            let wanted = Diverse { count, distance, on: &on, deadline: None };
            let options = Options { rounds: Some(10_000), threads: Some(1), ..Options::default() };
            let mut members = vec![Member { assignment, evaluation, distance: None, proven: true }];
            let complete = diverse(&network, wanted, &options, &Stop::new(), &mut members).expect("small tables");
            assert!(complete, "case {case}");
            for k in 1..=members.len().min(count - 1) {
                let far = |values: &Vec<u32>| {
                    members[..k].iter().all(|member| {
                        let differs = |v: &&u32| member.assignment[**v as usize] != values[**v as usize];
                        on.iter().filter(differs).count() >= distance as usize
                    })
                };
                let best = every.iter().filter(|(_, values)| far(values)).map(|(found, _)| found.cost).min();
                assert_eq!(members.get(k).map(|member| member.evaluation.cost), best, "case {case}, solution {k}");
            }
            if members.len() < count { none += 1 } else { several += 1 }
        }
        assert!(several > 5 && none > 5, "{several} {none}");
    }
}
