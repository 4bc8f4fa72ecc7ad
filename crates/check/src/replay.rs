//! The replay of certificates, step by step. The code shares only the plain data of the model and of the certificate
//! with the reductions, the orders, the bounds and the search.

use super::elimination::{Effort, Layout};
use super::state::State;
use super::{evaluate, verify};
use super::{rows, search};
use crate::certificate::{Branch, Certificate, Ending, ReadAs, Step, digest};
use crate::error::Error;
use crate::model::{Cost, Network};

/// A certificate that has been checked against its network, and can be followed.
#[derive(Debug)]
pub struct Replay<'a> {
    network: &'a Network,
    certificate: &'a Certificate,
    effort: Effort,
}

impl<'a> Replay<'a> {
    /// Checks that the certificate belongs to this network, and computes its effort.
    ///
    /// # Errors
    /// Returns [`Error::Refused`] if the certificate is for another network, costs do not follow from the file's
    /// numbers, its solution has another cost, or steps have unknown names.
    pub fn new(network: &'a Network, certificate: &'a Certificate) -> Result<Self, Error> {
        let found = digest(network);
        if certificate.network != found {
            return Err(Error::Refused(format!(
                "it is for another network: SHA-256 {}, this one has {found} (evidence and precision count)",
                certificate.network
            )));
        }
        if certificate.reading != ReadAs::of(network) {
            return Err(Error::Refused("it names another way of reading the file's numbers".into()));
        }
        verify(network).map_err(Error::Refused)?;
        if let Some(solution) = &certificate.solution {
            let fits = solution.values.len() == network.domains().len()
                && solution.values.iter().zip(network.domains()).all(|(value, domain)| value < domain);
            if !fits {
                return Err(Error::Refused("its solution does not fit the network".into()));
            }
            let evaluation = evaluate(network, &solution.values);
            if !evaluation.is_solution() || evaluation.cost != solution.cost {
                return Err(Error::Refused(format!(
                    "its solution costs {} by the tables, not {}",
                    evaluation.cost, solution.cost
                )));
            }
        }
        let sizes: Vec<usize> = network.domains().iter().map(|&domain| domain as usize).collect();
        let mut effort = branch_effort(&certificate.proof, sizes).map_err(Error::Refused)?;
        // steps may leave costs that take all their bytes
        let tables = network.functions().iter().map(|f| (f.table.size() * size_of::<Cost>()) as u64).sum::<u64>();
        // a lemma works on a copy of the tables
        let copies = 1 + u64::from(certificate.proof.steps.iter().any(|step| matches!(step, Step::Lemma(_))));
        effort.bytes = effort.bytes.saturating_add(tables.saturating_mul(copies));
        Ok(Replay { network, certificate, effort })
    }

    /// Returns the effort: combinations of eliminations plus entries of tables between which costs move, and bytes of
    /// tables.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// Follows the steps and returns the lower bound that they prove, which is at least the certificate's.
    ///
    /// # Errors
    /// Returns [`Error::Refused`] if tables do not fit into `memory` bytes, a step is not valid, or the bound does not
    /// follow.
    pub fn run(&self, memory: u64) -> Result<Cost, Error> {
        if self.effort.bytes > memory {
            return Err(Error::Refused(format!(
                "following it takes {} bytes of tables, {memory} are free: it is neither right nor wrong",
                self.effort.bytes
            )));
        }
        let state = State::new(self.network).map_err(Error::Refused)?;
        let proven = follow(state, &self.certificate.proof).map_err(Error::Refused)?;
        if proven < self.certificate.bound {
            let claimed = self.certificate.bound;
            return Err(Error::Refused(format!("its steps prove {proven}, less than the {claimed} that it claims")));
        }
        Ok(proven)
    }
}

/// Returns the bound that a branch proves for the current network.
fn follow(mut state: State, branch: &Branch) -> Result<Cost, String> {
    for (index, step) in branch.steps.iter().enumerate() {
        state.step(step).map_err(|what| format!("step {}: {what}", index + 1))?;
    }
    state.settle();
    if state.closed {
        return Ok(state.proven(0));
    }
    match &branch.ending {
        Ending::Constant => Ok(state.proven(0)),
        Ending::Elimination(plan) => {
            state.limit_to_finite_costs();
            state.check_room()?;
            let sizes: Vec<usize> = state.values.iter().map(|values| values.len()).collect();
            let least = Layout::new(plan, &sizes)?.run(&state);
            Ok(state.proven(least))
        }
        Ending::Search(task) => search::run(state, task),
        Ending::Rows(task) => rows::run(state, task),
        Ending::Cases { variable, cases } => {
            state.present(*variable)?;
            let values = state.values[*variable as usize].clone();
            if let Some(left) = values.iter().find(|value| !cases.iter().any(|(set, _)| set.contains(value))) {
                return Err(format!("no case has value {left} of variable {variable}"));
            }
            // a case without values has nothing to prove
            let mut least = state.proven(i128::MAX >> 1);
            for (number, (set, branch)) in cases.iter().enumerate() {
                let kept: Vec<usize> = (0..values.len()).filter(|&place| set.contains(&values[place])).collect();
                let mut state = state.clone();
                state.keep_values(*variable, &kept)?;
                let proven = follow(state, branch);
                let case = |what| format!("variable {variable}, case {}: {what}", number + 1);
                least = least.min(proven.map_err(case)?);
            }
            Ok(least)
        }
    }
}

/// Adds the effort of steps on variables with `sizes` values, and updates `sizes`; `held` has the bytes of the last
/// graph's tables. Returns whether some variable loses all its values. A malformed step is reported when it is
/// followed.
fn steps_effort(steps: &[Step], sizes: &mut Vec<usize>, effort: &mut Effort, held: &mut u64) -> Result<bool, String> {
    let room = |sizes: &[usize], scope: &[u32]| {
        let size = |&v: &u32| sizes.get(v as usize).map_or(1, |&size| size as u64);
        scope.iter().map(size).fold(1, u64::saturating_mul)
    };
    let lose = |sizes: &mut [usize], v: u32, lost: usize| {
        sizes.iter_mut().skip(v as usize).take(1).for_each(|size| *size = size.saturating_sub(lost));
    };
    for step in steps {
        match step {
            Step::Unsupported { scope, .. } | Step::Move { scope, .. } | Step::Separate { scope, .. } => {
                let entries = room(sizes, scope);
                effort.add(entries, entries.saturating_mul(8), 0);
            }
            Step::TooDear { variable, values } => {
                lose(sizes, *variable, values.len());
                if sizes.get(*variable as usize) == Some(&0) {
                    // no assignment below the limit is left
                    return Ok(true);
                }
            }
            Step::Dominated { variable, pairs } => lose(sizes, *variable, pairs.len()),
            Step::Eliminate { variable, over } => {
                let entries = room(sizes, over).saturating_mul(room(sizes, &[*variable]));
                effort.add(entries, entries.saturating_mul(16), 0);
                lose(sizes, *variable, usize::MAX);
            }
            Step::Substitute { variable, .. } => lose(sizes, *variable, usize::MAX),
            Step::Merge { variables, pairs } => {
                let entries = room(sizes, variables);
                effort.add(entries, entries.saturating_mul(8), 0);
                variables.iter().for_each(|&v| lose(sizes, v, usize::MAX));
                sizes.push(pairs.len());
            }
            Step::Graph(graph) => {
                let (own, stay) = super::graph::effort(graph, sizes)?;
                effort.add(own.joint_entries, own.bytes, *held);
                *held = stay;
            }
            Step::Lemma(lemma) => {
                let (mut sizes, mut held) = (sizes.to_vec(), *held);
                if steps_effort(&lemma.steps, &mut sizes, effort, &mut held)? {
                    continue;
                }
                let back = match &lemma.back {
                    Some(plan) => Layout::new(plan, &sizes)?.both_ways(&sizes),
                    None => Effort::default(),
                };
                effort.add(lemma.work.saturating_add(back.joint_entries), lemma.bytes.max(back.bytes), held);
            }
            Step::Limit(_) | Step::Forbid | Step::Scale(_) | Step::ByLemma { .. } => {}
        }
    }
    Ok(false)
}

fn branch_effort(branch: &Branch, mut sizes: Vec<usize>) -> Result<Effort, String> {
    let (mut effort, mut held) = (Effort::default(), 0);
    if steps_effort(&branch.steps, &mut sizes, &mut effort, &mut held)? {
        return Ok(effort);
    }
    match &branch.ending {
        Ending::Constant => {}
        Ending::Elimination(plan) => {
            let plan = Layout::new(plan, &sizes)?.effort;
            effort.add(plan.joint_entries, plan.bytes, held);
        }
        Ending::Search(task) => effort.add(task.work, task.bytes, held),
        // all tables are visited
        Ending::Rows(task) => effort.add(task.work.saturating_add(held / 8), task.bytes, held),
        Ending::Cases { variable, cases } => {
            for (set, branch) in cases {
                let mut sizes = sizes.clone();
                if let Some(size) = sizes.get_mut(*variable as usize) {
                    *size = (*size).min(set.len());
                }
                let case = branch_effort(branch, sizes)?;
                effort.add(case.joint_entries, case.bytes, held);
            }
        }
    }
    Ok(effort)
}
