//! Plans of elimination on pairs: which functions each step joins, as plain data.

use super::Pairs;
use crate::error::Error;
use crate::rng::mix;
use crate::stop::Stop;
use crate::tuning::{PLANNING, RESTARTS, STEP};
use rustc_hash::FxHashSet;

/// A sum of utilities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The utilities, by number: first those of the file, then those that steps make, in that order.
    pub inputs: Vec<usize>,
    /// The scope of the sum.
    pub scope: Vec<u32>,
    /// The scope of the table that the step makes of the sum.
    pub output: Vec<u32>,
}

/// The elimination of a variable. Scopes are ascending positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The position of the variable.
    pub position: u32,
    /// Whether the variable is a decision.
    pub decision: bool,
    /// The probabilities that the step joins, numbered like utilities.
    pub probabilities: Vec<usize>,
    /// The scope of the probability that the step makes; meaningless if the variable has no probabilities.
    pub output: Vec<u32>,
    /// The utilities that the step joins; a decision has at most one group.
    pub groups: Vec<Group>,
}

/// A plan of elimination.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The variables in the order of elimination; those that are not eliminated are last.
    pub sequence: Vec<u32>,
    /// The domain size at each position.
    pub domains: Vec<u32>,
    /// The steps, one for each eliminated variable.
    pub steps: Vec<Step>,
    /// The largest number of variables of a table besides the eliminated one.
    pub width: usize,
    /// Entries of the largest joint table.
    pub largest: f64,
    /// Combinations that all eliminations visit together.
    pub joint_entries: f64,
    /// Peak bytes of tables.
    pub peak_bytes: f64,
    /// Mean entries of the joint tables of probabilities, and of those with utilities.
    pub mean: (f64, f64),
}

/// A rule that selects the next variable of a block.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// The variable with the smallest joint tables.
    Size,
    /// The variable with the smallest growth: entries of the tables made minus those of the tables used.
    Growth,
}

/// Returns the plan with the fewest combinations among those that rules and restarts find.
///
/// # Errors
/// Returns [`Error::Stopped`] if `stop` is set.
pub fn plan(pairs: &Pairs, stop: &Stop) -> Result<Plan, Error> {
    let mut cheapest: Option<Plan> = None;
    let mut steps = 0;
    for seed in 0..=RESTARTS {
        for rule in [Rule::Size, Rule::Growth] {
            let limit = cheapest.as_ref().map_or(f64::INFINITY, |plan| plan.joint_entries);
            if seed > 0 && (steps * STEP) as f64 > PLANNING * limit {
                break;
            }
            if let Some(plan) = simulate(pairs, rule, seed, limit, &mut steps, stop)? {
                cheapest = Some(plan);
            }
        }
    }
    cheapest.ok_or_else(|| Error::Internal("no order costs more than infinity".into()))
}

/// The scopes of functions during elimination, as ascending variables; `None` after a function was used.
struct Alive {
    probabilities: Vec<Option<Vec<u32>>>,
    utilities: Vec<Option<Vec<u32>>>,
    /// For each variable, the probabilities and the utilities that read it, including used ones.
    readers: Vec<[Vec<usize>; 2]>,
}

/// A step with variables in place of positions.
struct Draft {
    variable: u32,
    decision: bool,
    probabilities: Vec<usize>,
    /// The variables of all probabilities, including the eliminated one.
    joint: Vec<u32>,
    /// The utilities and the variables of each group.
    groups: Vec<(Vec<usize>, Vec<u32>)>,
}

fn entries(scope: &[u32], domains: &[u32]) -> f64 {
    scope.iter().map(|&v| f64::from(domains[v as usize])).product()
}

fn union<'a>(scopes: impl IntoIterator<Item = &'a Vec<u32>>) -> Vec<u32> {
    let mut all: Vec<u32> = scopes.into_iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

impl Alive {
    /// Adds a function.
    fn push(&mut self, utility: bool, scope: Vec<u32>) {
        let list = if utility { &mut self.utilities } else { &mut self.probabilities };
        scope.iter().for_each(|&v| self.readers[v as usize][usize::from(utility)].push(list.len()));
        list.push(Some(scope));
    }

    fn of(&self, utility: bool, variable: u32) -> Vec<usize> {
        let list = if utility { &self.utilities } else { &self.probabilities };
        let readers = self.readers[variable as usize][usize::from(utility)].iter().copied();
        readers.filter(|&k| list[k].is_some()).collect()
    }

    /// Returns the step that eliminates a variable.
    fn draft(&self, variable: u32, decision: bool, domains: &[u32]) -> Draft {
        let probabilities = self.of(false, variable);
        let own = vec![variable];
        let joint = union(probabilities.iter().filter_map(|&k| self.probabilities[k].as_ref()).chain([&own]));
        let utilities = self.of(true, variable);
        let mut groups: Vec<(Vec<usize>, Vec<u32>)> = Vec::new();
        let with = |scope: &Vec<u32>| if decision { scope.clone() } else { union([scope, &joint]) };
        let mut sorted: Vec<(usize, &Vec<u32>)> =
            utilities.iter().filter_map(|&k| Some((k, self.utilities[k].as_ref()?))).collect();
        // the largest first, because others then fit into it
        sorted.sort_by(|a, b| entries(b.1, domains).total_cmp(&entries(a.1, domains)).then(a.0.cmp(&b.0)));
        for (k, scope) in sorted {
            let alone = entries(&with(scope), domains);
            let cheaper = groups.iter_mut().find_map(|group| {
                let both = union([&group.1, scope]);
                let apart = entries(&with(&group.1), domains) + alone;
                (decision || entries(&with(&both), domains) <= apart).then_some((group, both))
            });
            match cheaper {
                Some((group, both)) => {
                    group.0.push(k);
                    group.1 = both;
                }
                None => groups.push((vec![k], scope.clone())),
            }
        }
        Draft { variable, decision, probabilities, joint, groups }
    }
}

impl Draft {
    /// Returns the entries of all joint tables.
    fn joint_entries(&self, domains: &[u32]) -> f64 {
        entries(&self.joint, domains) + self.with_utilities(domains).iter().sum::<f64>()
    }

    fn with_utilities(&self, domains: &[u32]) -> Vec<f64> {
        self.tables().iter().map(|scope| entries(scope, domains)).collect()
    }

    /// Returns the variables of the joint tables with utilities.
    fn tables(&self) -> Vec<Vec<u32>> {
        let all = |(_, scope): &(Vec<usize>, Vec<u32>)| match self.decision {
            true => scope.clone(),
            false => union([scope, &self.joint]),
        };
        self.groups.iter().map(all).collect()
    }
}

/// Eliminates scopes by a rule. Returns `None` if that takes at least `limit` combinations.
fn simulate(
    pairs: &Pairs,
    rule: Rule,
    seed: u64,
    limit: f64,
    steps: &mut u64,
    stop: &Stop,
) -> Result<Option<Plan>, Error> {
    let domains = &pairs.domains;
    let readers = vec![[Vec::new(), Vec::new()]; domains.len()];
    let mut alive = Alive { probabilities: Vec::new(), utilities: Vec::new(), readers };
    for (utility, list) in [(false, &pairs.probabilities), (true, &pairs.utilities)] {
        for function in list {
            let mut scope = function.scope.to_vec();
            scope.sort_unstable();
            alive.push(utility, scope);
        }
    }
    let mut drafts: Vec<Draft> = Vec::new();
    let mut joint_entries = 0.0;
    for (decision, block) in &pairs.blocks {
        let mut left: Vec<u32> = block.clone();
        // a score stays valid until a neighbour is eliminated
        let mut scores: Vec<Option<f64>> = vec![None; left.len()];
        while !left.is_empty() {
            stop.check()?;
            for (score, &variable) in scores.iter_mut().zip(&left) {
                let _ = score.get_or_insert_with(|| {
                    let draft = alive.draft(variable, *decision, domains);
                    *steps += 1;
                    let joint = draft.joint_entries(domains);
                    match rule {
                        Rule::Size => joint,
                        Rule::Growth => {
                            let gone = draft.probabilities.iter().filter_map(|&k| alive.probabilities[k].as_ref());
                            let used = draft.groups.iter().flat_map(|(inputs, _)| inputs);
                            let gone = gone.chain(used.filter_map(|&k| alive.utilities[k].as_ref()));
                            let gone: f64 = gone.map(|scope| entries(scope, domains)).sum();
                            joint / f64::from(domains[variable as usize]) - gone
                        }
                    }
                });
            }
            let rank = |k: &usize| (scores[*k].unwrap_or(0.0), mix(seed, u64::from(left[*k])));
            let ranks = |a: &usize, b: &usize| {
                let (a, b) = (rank(a), rank(b));
                a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
            };
            let Some(place) = (0..left.len()).min_by(ranks) else { break };
            let variable = left.swap_remove(place);
            let _ = scores.swap_remove(place);
            let draft = alive.draft(variable, *decision, domains);
            joint_entries += draft.joint_entries(domains);
            // the first plan counts whatever it costs
            if joint_entries >= limit && limit < f64::INFINITY {
                return Ok(None);
            }
            // the functions that the step makes
            let mut touched: FxHashSet<u32> = draft.joint.iter().copied().collect();
            draft.tables().iter().for_each(|scope| touched.extend(scope));
            draft.probabilities.iter().for_each(|&k| alive.probabilities[k] = None);
            draft.groups.iter().flat_map(|group| &group.0).for_each(|&k| alive.utilities[k] = None);
            let without = |scope: &Vec<u32>| scope.iter().copied().filter(|&v| v != variable).collect();
            if !draft.probabilities.is_empty() {
                alive.push(false, without(&draft.joint));
            }
            draft.tables().iter().for_each(|scope| alive.push(true, without(scope)));
            for (score, v) in scores.iter_mut().zip(&left) {
                if touched.contains(v) {
                    *score = None;
                }
            }
            drafts.push(draft);
        }
    }
    Ok(Some(lay_out(pairs, &drafts, joint_entries)))
}

/// Converts drafts to a plan, with positions in place of variables.
fn lay_out(pairs: &Pairs, drafts: &[Draft], joint_entries: f64) -> Plan {
    let mut sequence: Vec<u32> = drafts.iter().map(|draft| draft.variable).collect();
    let mut position = vec![u32::MAX; pairs.domains.len()];
    sequence.iter().zip(0..).for_each(|(&v, p)| position[v as usize] = p);
    for v in 0..pairs.domains.len() as u32 {
        if position[v as usize] == u32::MAX {
            position[v as usize] = sequence.len() as u32;
            sequence.push(v);
        }
    }
    let positions = |scope: &[u32]| {
        let mut scope: Vec<u32> = scope.iter().map(|&v| position[v as usize]).collect();
        scope.sort_unstable();
        scope
    };
    let domains: Vec<u32> = sequence.iter().map(|&v| pairs.domains[v as usize]).collect();
    let mut plan = Plan {
        sequence,
        domains,
        steps: Vec::new(),
        width: 0,
        largest: 0.0,
        joint_entries,
        peak_bytes: 0.0,
        mean: (0.0, 0.0),
    };
    let own = &pairs.domains;
    let size = |f: &crate::model::Potential| entries(&f.scope, own);
    // sizes of tables by number, in the order in which they are made
    let mut probabilities: Vec<f64> = pairs.probabilities.iter().map(size).collect();
    let mut utilities: Vec<f64> = pairs.utilities.iter().map(size).collect();
    let mut alive: f64 = probabilities.iter().chain(&utilities).sum();
    let (mut with_utilities, mut tables) = (0.0, 0u32);
    for draft in drafts {
        let domain = f64::from(own[draft.variable as usize]);
        let joint = entries(&draft.joint, own);
        plan.mean.0 += joint / drafts.len() as f64;
        plan.largest = plan.largest.max(joint);
        plan.width = plan.width.max(draft.joint.len() - 1);
        let mut made = 0.0;
        let used: f64 = draft.probabilities.iter().map(|&k| probabilities[k]).sum();
        let used = used + draft.groups.iter().flat_map(|g| &g.0).map(|&k| utilities[k]).sum::<f64>();
        if !draft.probabilities.is_empty() {
            probabilities.push(joint / domain);
            made += joint / domain;
        }
        let mut groups = Vec::new();
        let mut sums = 0.0f64;
        for ((inputs, scope), all) in draft.groups.iter().zip(draft.tables()) {
            let size = entries(&all, own);
            with_utilities += size;
            tables += 1;
            plan.largest = plan.largest.max(size);
            plan.width = plan.width.max(all.len() - 1);
            utilities.push(size / domain);
            made += size / domain;
            if inputs.len() > 1 {
                sums = sums.max(entries(scope, own));
            }
            let output = positions(&all).into_iter().filter(|&p| p != position[draft.variable as usize]).collect();
            groups.push(Group { inputs: inputs.clone(), scope: positions(scope), output });
        }
        plan.peak_bytes = plan.peak_bytes.max(8.0 * (alive + made + sums));
        alive += made - used;
        plan.steps.push(Step {
            position: position[draft.variable as usize],
            decision: draft.decision,
            probabilities: draft.probabilities.clone(),
            output: positions(&draft.joint).into_iter().filter(|&p| p != position[draft.variable as usize]).collect(),
            groups,
        });
    }
    plan.mean.1 = with_utilities / f64::from(tables.max(1));
    plan
}
