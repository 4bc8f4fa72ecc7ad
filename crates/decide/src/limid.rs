//! Limited-memory influence diagrams (LIMIDs), whose decisions have no perfect recall: single policy updating, which is
//! exact for soluble diagrams, and a search over all policies if there are few.

use super::options::Options;
use super::pairs::{Outcome, Pairs, Place, Plan, execute, plan};
use super::process::best_beside;
use super::tuning::POLICY_TABLE;
use crate::error::Error;
use crate::model::{DecisionRule, Diagram, Potential};
use crate::stop::Stop;
use rustc_hash::FxHashSet;

/// Largest number of rounds of single policy updating. Each round is a strict improvement and few are needed; the limit
/// guards against cycles by rounding.
const ROUNDS: usize = 1000;

/// A policy and its expected utility.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The expected utility.
    pub value: f64,
    /// The absolute error of `value` against exact arithmetic, at most.
    pub error: f64,
    /// The rules of the decisions, the first decision first; their names are empty.
    pub rules: Vec<DecisionRule>,
    /// Whether no policy is better.
    pub exact: bool,
    /// The largest plan that was executed.
    pub plan: Option<Plan>,
}

/// The probability of the observation, and its relative error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    pub probability: f64,
    pub error: f64,
}

impl Found {
    /// Returns the policy with its value divided by the probability of the observation.
    pub fn given(self, given: Given) -> Found {
        let value = self.value / given.probability;
        Found { value, error: self.error / given.probability + given.error * value.abs(), ..self }
    }
}

/// A diagram whose decisions see given variables only.
#[derive(Debug)]
pub(super) struct Limited<'a> {
    diagram: &'a Diagram,
    /// The decisions, and the variables that each one sees.
    domains: Vec<u32>,
    decisions: Vec<(u32, Vec<u32>)>,
    place: Place<'a>,
    /// Whether variables are observed, so that not all probabilities are distributions.
    conditional: bool,
}

impl<'a> Limited<'a> {
    /// Prepares a diagram whose `decisions` see the listed variables only.
    pub fn new(diagram: &'a Diagram, decisions: Vec<(u32, Vec<u32>)>, options: &'a Options) -> Self {
        let place = Place { device: &options.device, memory: options.memory as f64 };
        Limited { diagram, domains: diagram.domains(), decisions, place, conditional: !options.observe.is_empty() }
    }

    fn size(&self, scope: &[u32]) -> f64 {
        scope.iter().map(|&v| f64::from(self.domains[v as usize])).product()
    }

    /// Returns the functions of the diagram and of the policies, with all variables but `keep` in one block.
    fn pairs(&self, policies: impl Iterator<Item = Potential>, keep: &[u32]) -> Pairs {
        let mut probabilities = self.diagram.probabilities.clone();
        probabilities.extend(policies);
        let all = self.diagram.blocks.iter().flatten().copied().filter(|v| !keep.contains(v)).collect();
        let utilities = self.diagram.utilities.clone();
        Pairs { domains: self.domains.clone(), probabilities, utilities, blocks: vec![(false, all)] }
    }

    /// Returns the policy that takes all values with equal probability.
    fn uniform(&self, decision: usize) -> Potential {
        let (variable, sees) = &self.decisions[decision];
        let domain = self.domains[*variable as usize];
        let scope: Box<[u32]> = sees.iter().copied().chain([*variable]).collect();
        let table = vec![1.0 / f64::from(domain); self.size(&scope) as usize].into();
        Potential { scope, table }
    }

    /// Returns the policy that takes these values.
    fn fixed(&self, decision: usize, choices: &[u32]) -> Potential {
        let (variable, sees) = &self.decisions[decision];
        let domain = self.domains[*variable as usize];
        let scope = sees.iter().copied().chain([*variable]).collect();
        let row = |&choice: &u32| (0..domain).map(move |value| f64::from(u8::from(value == choice)));
        Potential { scope, table: choices.iter().flat_map(row).collect() }
    }

    /// Returns whether the policy of every decision fits into memory as a table.
    pub fn fits(&self) -> bool {
        self.decisions.iter().all(|(d, sees)| 16.0 * self.size(sees) * self.size(&[*d]) <= self.place.memory)
    }

    /// Updates one policy after the other until nothing changes (Lauritzen, Nilsson, "Representing and solving decision
    /// problems with limited information", 2001). In a soluble diagram, one round in the right order is optimal.
    /// Returns `None` if a table has no room.
    ///
    /// # Errors
    /// Returns an error if there is no memory, and [`Error::Stopped`] if `stop` is set.
    pub fn update(&self, stop: &Stop) -> Result<Option<Found>, Error> {
        let count = self.decisions.len();
        let soluble = if self.conditional { None } else { self.soluble() };
        let order: Vec<usize> = soluble.clone().unwrap_or_else(|| (0..count).rev().collect());
        let mut policies: Vec<Potential> = (0..count).map(|k| self.uniform(k)).collect();
        let mut choices: Vec<Option<Vec<u32>>> = vec![None; count];
        let mut certain: Vec<Vec<bool>> = vec![Vec::new(); count];
        let mut plans: Vec<Option<Plan>> = vec![None; count];
        let mut found = Found { value: 0.0, error: 0.0, rules: Vec::new(), exact: soluble.is_some(), plan: None };
        if count == 0 {
            let outcome = self.evaluate(&policies, stop)?;
            return Ok(outcome.map(|(outcome, plan)| Found {
                value: total(&outcome.left),
                error: self.error(&outcome),
                exact: true,
                plan: Some(plan),
                ..found
            }));
        }
        for round in 0..ROUNDS {
            let mut changed = false;
            for &k in &order {
                stop.check()?;
                let (variable, sees) = &self.decisions[k];
                let keep: Vec<u32> = sees.iter().copied().chain([*variable]).collect();
                let others = policies.iter().enumerate().filter(|&(other, _)| other != k);
                let pairs = self.pairs(others.map(|(_, policy)| policy.clone()), &keep);
                if plans[k].is_none() {
                    plans[k] = Some(plan(&pairs, stop)?);
                }
                let Some(plan) = &plans[k] else { return Ok(None) };
                let Some(outcome) = execute(&pairs, plan, 0.0, self.place, stop)? else { return Ok(None) };
                let rows = self.rows(&outcome.left, &keep, *variable);
                // an unlikely observation makes all values small
                let size = largest(rows.iter().flatten());
                let pick = |row: &Vec<f64>| best_beside(row.iter().copied(), size);
                let picks: Vec<(usize, f64)> = rows.iter().map(pick).collect();
                let unsure = 2.0 * self.error(&outcome);
                let sure = |(row, pick): (&Vec<f64>, &(usize, f64))| {
                    let others = row.iter().enumerate().filter(|&(value, _)| value != pick.0);
                    others.map(|(_, &worth)| worth).fold(f64::NEG_INFINITY, f64::max) < pick.1 - unsure
                };
                certain[k] = rows.iter().zip(&picks).map(sure).collect();
                let mut made: Vec<u32> = picks.iter().map(|pick| pick.0 as u32).collect();
                let value: f64 = picks.iter().map(|pick| pick.1).sum();
                let kept = choices[k].as_ref().map(|own| {
                    let worth = rows.iter().zip(own).map(|(row, &choice)| row[choice as usize]);
                    (own.clone(), worth.sum::<f64>())
                });
                match kept {
                    // only a gain changes the rule, so that updates cannot cycle
                    Some((own, worth)) if value <= worth + unsure => {
                        made = own;
                        found.value = worth;
                    }
                    _ => {
                        found.value = value;
                        changed = true;
                    }
                }
                found.error = self.error(&outcome);
                policies[k] = self.fixed(k, &made);
                choices[k] = Some(made);
            }
            if !changed || (soluble.is_some() && round == 0) {
                break;
            }
        }
        let largest = plans.into_iter().flatten().max_by(|a, b| a.largest.total_cmp(&b.largest));
        let choices: Vec<Vec<u32>> = choices.into_iter().flatten().collect();
        found.rules = self.rules(&choices, certain);
        Ok(Some(Found { plan: largest, ..found }))
    }

    /// Returns the probability of the observation, which no policy changes, or `None` if a table has no room.
    ///
    /// # Errors
    /// Returns an error if there is no memory, and [`Error::Stopped`] if `stop` is set.
    pub fn observed(&self, stop: &Stop) -> Result<Option<Given>, Error> {
        let policies: Vec<Potential> = (0..self.decisions.len()).map(|k| self.uniform(k)).collect();
        let pairs = Pairs { utilities: Vec::new(), ..self.pairs(policies.into_iter(), &[]) };
        let outcome = execute(&pairs, &plan(&pairs, stop)?, 0.0, self.place, stop)?;
        let given = |outcome: Outcome| Given {
            probability: total(&outcome.left_probability),
            error: 2.0 * outcome.normaliser_error,
        };
        Ok(outcome.map(given))
    }

    fn evaluate(&self, policies: &[Potential], stop: &Stop) -> Result<Option<(Outcome, Plan)>, Error> {
        let pairs = self.pairs(policies.iter().cloned(), &[]);
        let plan = plan(&pairs, stop)?;
        let outcome = execute(&pairs, &plan, 0.0, self.place, stop)?;
        Ok(outcome.map(|outcome| (outcome, plan)))
    }

    /// Returns the absolute error of a sum over the remaining variables. Each product has the error of the utility
    /// times the probability, and that of the probability times the utility.
    fn error(&self, outcome: &Outcome) -> f64 {
        outcome.error * total(&outcome.left_probability) + 2.0 * outcome.normaliser_error * total_abs(&outcome.left)
    }

    /// Rearranges values over the ascending variables of `keep` as rows of a decision's values, one row for each
    /// combination of what it sees.
    fn rows(&self, values: &[f64], keep: &[u32], decision: u32) -> Vec<Vec<f64>> {
        let mut sorted = keep.to_vec();
        sorted.sort_unstable();
        // the seen variables are sorted too, so that only the decision's axis moves
        let place = sorted.iter().position(|&v| v == decision).unwrap_or(0);
        let inner = self.size(&sorted[place + 1..]) as usize;
        let domain = self.domains[decision as usize] as usize;
        let rows = values.len() / domain;
        let entry = |row: usize, value: usize| values[(row / inner * domain + value) * inner + row % inner];
        (0..rows).map(|row| (0..domain).map(|value| entry(row, value)).collect()).collect()
    }

    fn rules(&self, choices: &[Vec<u32>], certain: Vec<Vec<bool>>) -> Vec<DecisionRule> {
        let own = self.decisions.iter().zip(choices).zip(certain);
        own.map(|(((decision, sees), choices), certain)| DecisionRule {
            decision: *decision,
            name: String::new(),
            sees: sees.clone(),
            choices: choices.clone(),
            certain,
        })
        .collect()
    }

    /// Returns the parents of each variable, followed by those of each utility.
    fn parents(&self) -> Vec<Vec<u32>> {
        let n = self.domains.len();
        let mut parents = vec![Vec::new(); n];
        for function in &self.diagram.probabilities {
            if let Some((&child, others)) = function.scope.split_last() {
                parents[child as usize].extend(others);
            }
        }
        self.decisions.iter().for_each(|(d, sees)| parents[*d as usize].extend(sees));
        parents.extend(self.diagram.utilities.iter().map(|function| function.scope.to_vec()));
        parents
    }

    /// Returns an order in which each decision can be optimised while those after it are uniform, or `None` if there is
    /// none. Each decision of the order is extremal: given its family, its utilities do not depend on the families of
    /// the other decisions (Lauritzen, Nilsson, section 5).
    fn soluble(&self) -> Option<Vec<usize>> {
        let parents = self.parents();
        let mut children = vec![Vec::new(); parents.len()];
        for (child, own) in (0..).zip(&parents) {
            own.iter().for_each(|&parent| children[parent as usize].push(child));
        }
        let family = |k: usize| self.decisions[k].1.iter().copied().chain([self.decisions[k].0]);
        let utilities = self.domains.len() as u32..parents.len() as u32;
        let mut left: Vec<usize> = (0..self.decisions.len()).collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            let extremal = |&k: &usize| {
                let given: FxHashSet<u32> = family(k).collect();
                let others: FxHashSet<u32> =
                    left.iter().filter(|&&other| other != k).flat_map(|&o| family(o)).collect();
                let others: FxHashSet<u32> = others.difference(&given).copied().collect();
                let below = reachable(&children, [self.decisions[k].0]);
                let own = utilities.clone().filter(|u| below.contains(u));
                own.into_iter().all(|u| separated(&parents, u, &others, &given))
            };
            // later decisions first
            let place = left.iter().rposition(extremal)?;
            order.push(left.remove(place));
        }
        Some(order)
    }

    /// Returns the best of all policies, or `None` if there are more than `most` or the joint table has no room. The
    /// policies of one decision are included in that number, but not enumerated, because its best one follows from the
    /// others.
    ///
    /// # Errors
    /// Returns an error if there is no memory, and [`Error::Stopped`] if `stop` is set.
    pub fn search(&self, most: f64, stop: &Stop) -> Result<Option<Found>, Error> {
        let policies = |(d, sees): &(u32, Vec<u32>)| self.size(&[*d]).powf(self.size(sees));
        let Some(last) = (0..self.decisions.len())
            .max_by(|&a, &b| policies(&self.decisions[a]).total_cmp(&policies(&self.decisions[b])))
        else {
            return Ok(None);
        };
        let all: f64 = self.decisions.iter().map(policies).product();
        let mut keep: Vec<u32> = self.decisions.iter().flat_map(|(d, sees)| sees.iter().copied().chain([*d])).collect();
        keep.sort_unstable();
        keep.dedup();
        if all > most || self.size(&keep) > POLICY_TABLE as f64 {
            return Ok(None);
        }
        let pairs = self.pairs(std::iter::empty(), &keep);
        let plan = plan(&pairs, stop)?;
        let Some(outcome) = execute(&pairs, &plan, 0.0, self.place, stop)? else { return Ok(None) };
        // for each entry, the row and the value of each decision
        let sizes: Vec<usize> = keep.iter().map(|&v| self.domains[v as usize] as usize).collect();
        let steps = crate::tensor::strides(&sizes);
        let value = |entry: usize, v: u32| {
            let axis = keep.binary_search(&v).unwrap_or(0);
            entry / steps[axis] % sizes[axis]
        };
        let row = |entry: usize, sees: &[u32]| {
            sees.iter().fold(0, |row, &v| row * self.domains[v as usize] as usize + value(entry, v))
        };
        let places: Vec<Vec<(usize, u32)>> = self
            .decisions
            .iter()
            .map(|(d, sees)| (0..outcome.left.len()).map(|e| (row(e, sees), value(e, *d) as u32)).collect())
            .collect();
        let rows: Vec<usize> = self.decisions.iter().map(|(_, sees)| self.size(sees) as usize).collect();
        let mut choices: Vec<Vec<u32>> = rows.iter().map(|&rows| vec![0; rows]).collect();
        let domain = self.domains[self.decisions[last].0 as usize] as usize;
        let mut top: Option<(f64, Vec<Vec<u32>>)> = None;
        loop {
            stop.check()?;
            let mut worth = vec![0.0; rows[last] * domain];
            for (entry, weight) in outcome.left.iter().enumerate() {
                let taken = (0..places.len()).all(|k| {
                    let (row, value) = places[k][entry];
                    k == last || choices[k][row] == value
                });
                if taken {
                    let (row, value) = places[last][entry];
                    worth[row * domain + value as usize] += weight;
                }
            }
            let size = largest(&worth);
            let pick = |row: &[f64]| best_beside(row.iter().copied(), size);
            let picks: Vec<(usize, f64)> = worth.chunks(domain).map(pick).collect();
            let value: f64 = picks.iter().map(|pick| pick.1).sum();
            if top.as_ref().is_none_or(|(known, _)| value > *known) {
                let mut policy = choices.clone();
                policy[last] = picks.iter().map(|pick| pick.0 as u32).collect();
                top = Some((value, policy));
            }
            // the next combination of the other decisions' policies
            let mut digits = choices.iter_mut().enumerate().filter(|&(k, _)| k != last).flat_map(|(k, own)| {
                let domain = self.domains[self.decisions[k].0 as usize];
                own.iter_mut().map(move |digit| (domain, digit))
            });
            let advanced = digits.any(|(domain, digit)| {
                *digit += 1;
                if *digit == domain {
                    *digit = 0;
                }
                *digit != 0
            });
            if !advanced {
                break;
            }
        }
        let Some((value, policy)) = top else { return Ok(None) };
        let unknown = rows.iter().map(|&rows| vec![false; rows]).collect();
        let rules = self.rules(&policy, unknown);
        Ok(Some(Found { value, error: self.error(&outcome), rules, exact: true, plan: Some(plan) }))
    }
}

fn largest<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    values.into_iter().fold(0.0, |most, value| most.max(value.abs()))
}

fn total(values: &[f64]) -> f64 {
    values.iter().sum()
}

fn total_abs(values: &[f64]) -> f64 {
    values.iter().map(|value| value.abs()).sum()
}

/// Returns the nodes that can be reached along edges, including the starting ones.
pub(super) fn reachable(edges: &[Vec<u32>], from: impl IntoIterator<Item = u32>) -> FxHashSet<u32> {
    let mut stack: Vec<u32> = from.into_iter().collect();
    let mut seen: FxHashSet<u32> = stack.iter().copied().collect();
    while let Some(node) = stack.pop() {
        for &next in &edges[node as usize] {
            if seen.insert(next) {
                stack.push(next);
            }
        }
    }
    seen
}

/// Returns whether given nodes separate a node from others, in the moral graph of all ancestors (Lauritzen, Dawid,
/// Larsen, Leimer, "Independence properties of directed Markov fields", 1990).
fn separated(parents: &[Vec<u32>], node: u32, others: &FxHashSet<u32>, given: &FxHashSet<u32>) -> bool {
    let ancestors = reachable(parents, others.iter().chain(given).copied().chain([node]));
    let mut edges = vec![Vec::new(); parents.len()];
    for &child in &ancestors {
        let family: Vec<u32> = parents[child as usize].iter().copied().chain([child]).collect();
        for &a in family.iter().filter(|v| !given.contains(v)) {
            edges[a as usize].extend(family.iter().copied().filter(|v| !given.contains(v)));
        }
    }
    given.contains(&node) || reachable(&edges, [node]).is_disjoint(others)
}
