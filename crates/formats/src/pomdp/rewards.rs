//! Rewards that may depend on the next state and the observation, reduced to expectations.

use crate::model::SparseRows;

/// The numbers of a line `R:`.
#[derive(Debug)]
pub(super) enum Amount {
    /// One number for all cases.
    One(f64),
    /// A number for each observation.
    Row(Vec<f64>),
    /// A number for each next state and observation.
    Matrix(Vec<f64>),
}

/// A line `R:`; `None` means all.
#[derive(Debug)]
pub(super) struct Reward {
    pub actions: Vec<usize>,
    pub state: Option<usize>,
    pub next: Option<usize>,
    pub seen: Option<Vec<usize>>,
    pub amount: Amount,
}

impl Reward {
    /// Returns the reward for a next state and an observation; `None` if the line does not apply to them.
    fn of(&self, next: usize, seen: usize, observations: usize) -> Option<f64> {
        let here = self.next.is_none_or(|own| own == next) && self.seen.as_ref().is_none_or(|own| own.contains(&seen));
        here.then(|| match &self.amount {
            Amount::One(number) => *number,
            Amount::Row(numbers) => numbers[seen],
            Amount::Matrix(numbers) => numbers[next * observations + seen],
        })
    }
}

/// Returns the expected reward of an action in each state. In each case the last line that applies counts; if there is
/// none, the reward is 0.
pub(super) fn expected(
    action: usize,
    rewards: &[Reward],
    transitions: &SparseRows,
    seen: &SparseRows,
    observations: usize,
) -> Vec<f64> {
    let states = transitions.len();
    let mut of_state: Vec<Vec<u32>> = vec![Vec::new(); states];
    let mut of_all = Vec::new();
    for (place, reward) in (0..).zip(rewards).filter(|(_, reward)| reward.actions.contains(&action)) {
        match reward.state {
            Some(state) => of_state[state].push(place),
            None => of_all.push(place),
        }
    }
    let fold = |state: usize| {
        // latest line first
        let (mut own, mut all) = (of_state[state].iter().rev().peekable(), of_all.iter().rev().peekable());
        let mut lines = Vec::new();
        while let Some(&&line) = own.peek().max(all.peek()) {
            let _ = if own.peek() == Some(&&line) { own.next() } else { all.next() };
            lines.push(&rewards[line as usize]);
        }
        let mut sum = 0.0;
        for &(next, p) in transitions.row(state) {
            for &(o, q) in seen.row(next as usize) {
                let found = lines.iter().find_map(|line| line.of(next as usize, o as usize, observations));
                sum += p * q * found.unwrap_or(0.0);
            }
        }
        sum
    };
    (0..states).map(fold).collect()
}
