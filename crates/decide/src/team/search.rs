//! The best joint policy of a team, exactly if that has room.
//!
//! Branch and bound over joint decision rules, step by step (Szer, Charpillet and Zilberstein, "MAA*: a heuristic
//! search algorithm for solving decentralized POMDPs", UAI 2005). The bound of a partial policy is the value that
//! agents with shared observations reach from there. Histories of an agent with equal beliefs about the state and about
//! the other agents are merged (Oliehoek, Whiteson and Spaan, "Lossless clustering of histories in decentralized
//! POMDPs", AAMAS 2009). The first policy comes from [`Ascent`](super::ascent::Ascent).

use crate::model::{PolicyGraph, PolicyNode, Pomdp};
use crate::process::{Process, best, dot};
use crate::stop::Stop;
use crate::tuning::DIGITS;
use std::collections::BTreeMap;

/// An action for each agent and each of its histories at a step.
type Rule = Vec<Vec<usize>>;

/// The history of the next step for each agent, each of its histories and each of its observations.
type Leads = Vec<Vec<Vec<Option<usize>>>>;

/// An upper bound on the value of agents with shared observations, from the number of steps to go and an unnormalised
/// belief.
pub(super) type Shared<'a> = &'a dyn Fn(usize, &[f64]) -> f64;

/// A joint history: the observations of all agents up to a step.
struct Joint {
    /// The number of each agent's history.
    own: Vec<usize>,
    /// For each state, its joint probability with these histories.
    belief: Vec<f64>,
}

/// The histories of a step.
struct Stage {
    /// The number of histories of each agent.
    sizes: Vec<usize>,
    joints: Vec<Joint>,
}

/// A joint policy: the rules of each step, and the histories to which observations lead.
#[derive(Clone, Default)]
struct Plan {
    rules: Vec<Rule>,
    leads: Vec<Leads>,
}

/// A search over joint policies.
pub(super) struct Team<'a> {
    pomdp: &'a Pomdp,
    horizon: usize,
    shared: Shared<'a>,
    stop: &'a Stop,
    /// The largest number of joint histories of a step.
    most: usize,
    /// The value that a policy must exceed.
    best: f64,
    /// The difference up to which a value is no improvement.
    tolerance: f64,
    found: Option<Plan>,
    path: Plan,
    /// The number of bounds that were computed.
    pub nodes: u64,
    /// The largest number of joint histories of a step so far.
    pub widest: usize,
    is_complete: bool,
}

/// The payoffs of a step, one for each joint history and each joint action.
struct Game {
    step: usize,
    stage: Stage,
    payoffs: Vec<Vec<f64>>,
    /// For each joint action, the action of each agent.
    actions: Vec<Vec<usize>>,
    /// The expected reward of the earlier steps.
    before: f64,
    /// The discount of the step.
    weight: f64,
}

impl<'a> Team<'a> {
    /// Returns a search that has not begun.
    pub fn new(pomdp: &'a Pomdp, horizon: usize, shared: Shared<'a>, most: usize, stop: &'a Stop) -> Self {
        Team {
            pomdp,
            horizon,
            shared,
            stop,
            most,
            best: f64::NEG_INFINITY,
            tolerance: 0.0,
            found: None,
            path: Plan::default(),
            nodes: 0,
            widest: 1,
            is_complete: true,
        }
    }

    /// Searches all policies that may exceed the value `best` by more than `tolerance`. Returns the graphs of the best
    /// one found, or `None` if there is none, and whether the search is complete.
    pub fn run(&mut self, best: f64, tolerance: f64) -> (Option<Vec<PolicyGraph>>, bool) {
        (self.best, self.tolerance) = (best, tolerance);
        let agents = self.pomdp.agents.len();
        let joint = Joint { own: vec![0; agents], belief: self.pomdp.start.clone() };
        let stage = Stage { sizes: vec![1; agents], joints: vec![joint] };
        self.descend(0, stage, 0.0, 1.0);
        (self.found.as_ref().map(|plan| graphs(self.pomdp, plan)), self.is_complete)
    }

    fn descend(&mut self, step: usize, stage: Stage, before: f64, weight: f64) {
        let pomdp = self.pomdp;
        let states = pomdp.states.len();
        let mut payoffs = Vec::with_capacity(stage.joints.len());
        for joint in &stage.joints {
            if self.is_stopped() {
                return;
            }
            let of = |action: usize| {
                let now = dot(&joint.belief, &pomdp.rewards[action]);
                if step + 1 == self.horizon {
                    return weight * now;
                }
                let mut next = vec![0.0; pomdp.observed() * states];
                pomdp.advance(step, action, &joint.belief, &mut next);
                let to_go = self.horizon - step - 1;
                let later: f64 = next.chunks(states).map(|belief| (self.shared)(to_go, belief)).sum();
                weight * (now + pomdp.discount * later)
            };
            payoffs.push((0..pomdp.actions()).map(of).collect());
        }
        let actions = (0..pomdp.actions()).map(|action| pomdp.action_of(action)).collect();
        let mut chosen: Vec<Vec<Option<usize>>> = stage.sizes.iter().map(|&size| vec![None; size]).collect();
        self.choose(&Game { step, stage, payoffs, actions, before, weight }, &mut chosen);
    }

    fn is_stopped(&mut self) -> bool {
        if self.stop.is_set() {
            self.is_complete = false;
        }
        self.stop.is_set()
    }

    /// Chooses an action for the next history that has none. In the last step, the last agent takes best replies.
    fn choose(&mut self, game: &Game, chosen: &mut Vec<Vec<Option<usize>>>) {
        if self.is_stopped() {
            return;
        }
        let is_last = game.step + 1 == self.horizon;
        let last = chosen.len() - 1;
        let mut open = (0..chosen.len()).flat_map(|agent| (0..chosen[agent].len()).map(move |own| (agent, own)));
        let next = open.find(|&(agent, own)| chosen[agent][own].is_none());
        let Some((agent, own)) = next.filter(|&(agent, _)| agent < last || !is_last) else {
            return self.finish(game, chosen);
        };
        let mut branches: Vec<(f64, usize)> = Vec::new();
        for action in 0..self.pomdp.agents[agent].actions.len() {
            chosen[agent][own] = Some(action);
            self.nodes += 1;
            branches.push((game.before + bound(game, chosen).0, action));
        }
        branches.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (bound, action) in branches {
            if bound <= self.best + self.tolerance {
                break;
            }
            chosen[agent][own] = Some(action);
            self.choose(game, chosen);
        }
        chosen[agent][own] = None;
    }

    /// Completes the rule of a step: the policy is complete, or the search descends to the next step.
    fn finish(&mut self, game: &Game, chosen: &[Vec<Option<usize>>]) {
        let (value, replies) = bound(game, chosen);
        if game.before + value <= self.best + self.tolerance {
            return;
        }
        let mut rule: Rule = chosen.iter().map(|own| own.iter().map(|action| action.unwrap_or(0)).collect()).collect();
        if game.step + 1 == self.horizon {
            let _ = rule.pop();
            rule.push(replies);
            self.best = game.before + value;
            let mut plan = self.path.clone();
            plan.rules.push(rule);
            self.found = Some(plan);
            return;
        }
        let reward =
            |joint: &Joint| dot(&joint.belief, &self.pomdp.rewards[joint_action(self.pomdp, &rule, &joint.own)]);
        let rewards = game.stage.joints.iter().map(reward);
        let before = game.before + game.weight * rewards.sum::<f64>();
        let Some((stage, leads)) = self.expand(&game.stage, &rule, game.step) else {
            self.is_complete = false;
            return;
        };
        self.path.rules.push(rule);
        self.path.leads.push(leads);
        self.descend(game.step + 1, stage, before, game.weight * self.pomdp.discount);
        let _ = (self.path.rules.pop(), self.path.leads.pop());
    }

    /// Returns the histories of the next step, or `None` if they have no room.
    fn expand(&mut self, stage: &Stage, rule: &Rule, step: usize) -> Option<(Stage, Leads)> {
        let (pomdp, states) = (self.pomdp, self.pomdp.states.len());
        let seen: Vec<usize> = pomdp.agents.iter().map(|agent| agent.observations.len()).collect();
        let mut joints = Vec::new();
        for joint in &stage.joints {
            let mut next = vec![0.0; pomdp.observed() * states];
            pomdp.advance(step, joint_action(pomdp, rule, &joint.own), &joint.belief, &mut next);
            for (observation, belief) in next.chunks(states).enumerate() {
                if belief.iter().any(|&p| p > 0.0) {
                    let observed = pomdp.observation_of(observation);
                    let own = (0..seen.len()).map(|i| joint.own[i] * seen[i] + observed[i]).collect();
                    joints.push(Joint { own, belief: belief.to_vec() });
                }
            }
            if joints.len() > self.most || self.stop.is_set() {
                return None;
            }
        }
        self.widest = self.widest.max(joints.len());
        let classes = clusters(&mut joints, seen.len());
        let leads = (0..seen.len()).map(|i| {
            let lead = |own: usize, o: usize| classes[i].get(&(own * seen[i] + o)).copied();
            (0..stage.sizes[i]).map(|own| (0..seen[i]).map(|o| lead(own, o)).collect()).collect()
        });
        let sizes = classes.iter().map(|own| own.values().max().map_or(0, |most| most + 1)).collect();
        Some((Stage { sizes, joints }, leads.collect()))
    }
}

fn joint_action(pomdp: &Pomdp, rule: &Rule, own: &[usize]) -> usize {
    let agents = pomdp.agents.iter().zip(rule).zip(own);
    agents.fold(0, |joint, ((agent, rule), &own)| joint * agent.actions.len() + rule[own])
}

/// Returns an upper bound on the sum of payoffs under partly chosen rules, and the last agent's best replies. It takes
/// the largest payoff of each joint history, but one action for each of the last agent's histories.
fn bound(game: &Game, chosen: &[Vec<Option<usize>>]) -> (f64, Vec<usize>) {
    let last = chosen.len() - 1;
    let replies = game.actions.iter().map(|action| action[last] + 1).max().unwrap_or(1);
    let mut sums = vec![vec![0.0; replies]; chosen[last].len()];
    let mut largest = vec![0.0f64; replies];
    for (joint, payoffs) in game.stage.joints.iter().zip(&game.payoffs) {
        largest.fill(f64::NEG_INFINITY);
        for (actions, &payoff) in game.actions.iter().zip(payoffs) {
            let own = joint.own.iter().zip(chosen).zip(actions);
            if own.into_iter().all(|((&own, chosen), &action)| chosen[own].is_none_or(|chosen| chosen == action)) {
                largest[actions[last]] = largest[actions[last]].max(payoff);
            }
        }
        sums[joint.own[last]].iter_mut().zip(&largest).for_each(|(sum, payoff)| *sum += payoff);
    }
    let best: Vec<(usize, f64)> = sums.iter().map(|sums| best(sums.iter().copied())).collect();
    (best.iter().map(|(_, value)| value).sum(), best.into_iter().map(|(reply, _)| reply).collect())
}

/// Merges the histories of each agent that have equal beliefs about the state and the other agents. Returns the merged
/// history of each history.
fn clusters(joints: &mut Vec<Joint>, agents: usize) -> Vec<BTreeMap<usize, usize>> {
    let numbered = |joints: &[Joint], i: usize| -> BTreeMap<usize, usize> {
        let known: BTreeMap<usize, usize> = joints.iter().map(|joint| (joint.own[i], 0)).collect();
        known.into_keys().zip(0..).collect()
    };
    let mut classes: Vec<BTreeMap<usize, usize>> = (0..agents).map(|i| numbered(joints, i)).collect();
    for joint in joints.iter_mut() {
        joint.own.iter_mut().zip(&classes).for_each(|(own, classes)| *own = classes[own]);
    }
    loop {
        let before = joints.len();
        for (i, classes) in classes.iter_mut().enumerate() {
            let merged = alike(joints, i);
            classes.values_mut().for_each(|class| *class = merged[class]);
            let mut all: BTreeMap<Vec<usize>, Vec<f64>> = BTreeMap::new();
            for mut joint in joints.drain(..) {
                joint.own[i] = merged[&joint.own[i]];
                match all.get_mut(&joint.own) {
                    Some(belief) => belief.iter_mut().zip(&joint.belief).for_each(|(sum, p)| *sum += p),
                    None => drop(all.insert(joint.own, joint.belief)),
                }
            }
            joints.extend(all.into_iter().map(|(own, belief)| Joint { own, belief }));
        }
        if joints.len() == before {
            return classes;
        }
    }
}

/// Returns for each history of an agent its class: histories of a class have equal probabilities of states and the
/// others' histories.
fn alike(joints: &[Joint], agent: usize) -> BTreeMap<usize, usize> {
    let mut mass: BTreeMap<usize, f64> = BTreeMap::new();
    for joint in joints {
        *mass.entry(joint.own[agent]).or_insert(0.0) += joint.belief.iter().sum::<f64>();
    }
    let mut given: BTreeMap<usize, BTreeMap<Vec<usize>, Vec<i64>>> = BTreeMap::new();
    for joint in joints {
        let own = joint.own[agent];
        let mut others = joint.own.clone();
        let _ = others.remove(agent);
        let rounded = joint.belief.iter().map(|p| (p / mass[&own] * DIGITS).round() as i64).collect();
        let _ = given.entry(own).or_default().insert(others, rounded);
    }
    let mut known = BTreeMap::new();
    let class = |(own, beliefs): (usize, BTreeMap<Vec<usize>, Vec<i64>>)| {
        let next = known.len();
        (own, *known.entry(beliefs).or_insert(next))
    };
    given.into_iter().map(class).collect()
}

/// Returns the graph of each agent's policy.
fn graphs(pomdp: &Pomdp, plan: &Plan) -> Vec<PolicyGraph> {
    let graph = |i: usize| {
        let agent = &pomdp.agents[i];
        let mut nodes: Vec<PolicyNode> = Vec::new();
        for (step, rule) in plan.rules.iter().enumerate() {
            let after = nodes.len() + rule[i].len();
            for (own, &action) in rule[i].iter().enumerate() {
                let next = match plan.leads.get(step) {
                    Some(leads) => leads[i][own].iter().map(|to| to.map(|to| after + to)).collect(),
                    None => vec![None; agent.observations.len()],
                };
                nodes.push(PolicyNode { step, action, next });
            }
        }
        let (actions, observations) = (agent.actions.clone(), agent.observations.clone());
        PolicyGraph { horizon: plan.rules.len(), actions, observations, nodes }
    };
    (0..pomdp.agents.len()).map(graph).collect()
}
