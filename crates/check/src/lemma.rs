//! Lemmas: values whose cost reaches the limit, as shown on a copy of the network, and their later removal.
//!
//! A value that reaches the limit in the copy is in no assignment below the limit, because limits, moves and the
//! removal of values at the limit keep the cost of every other assignment. The later steps in the network itself, such
//! as elimination and dominance, keep that cost too, or remove assignments. So a lemma stays true for the remaining
//! values. The separation of a function may lower costs; then lemmas are forgotten.

use super::elimination::Layout;
use super::search;
use super::state::State;
use super::tables::{combinations, sum};
use super::tuning::ROUNDS;
use crate::certificate::{Lemma, Step};
use crate::model::{Cost, FORBIDDEN};
use rustc_hash::FxHashSet;

impl State {
    /// Shows that the values of a lemma reach the limit, and stores them.
    pub(super) fn lemma(&mut self, lemma: &Lemma) -> Result<(), String> {
        for (v, values) in &lemma.values {
            self.present(*v)?;
            values.iter().try_for_each(|&value| self.value(*v, value).map(drop))?;
        }
        let mut copy = self.clone();
        for (index, step) in lemma.steps.iter().enumerate() {
            let result = match step {
                Step::Limit(_)
                | Step::Forbid
                | Step::Unsupported { .. }
                | Step::TooDear { .. }
                | Step::Scale(_)
                | Step::Move { .. }
                | Step::Graph(_) => copy.step(step),
                _ => Err("no such step of a lemma keeps what values cost".into()),
            };
            result.map_err(|what| format!("step {} of a lemma: {what}", index + 1))?;
        }
        copy.settle();
        if !copy.closed {
            copy.limit_to_finite_costs();
            copy.check_room()?;
            copy.show(lemma)?;
        }
        self.limit = self.limit.min(copy.limit);
        for (v, values) in &lemma.values {
            self.known.extend(values.iter().map(|&value| (*v, value)));
        }
        Ok(())
    }

    /// Forbids values that lemmas have shown to reach the limit.
    pub(super) fn by_lemma(&mut self, v: u32, values: &[u32]) -> Result<(), String> {
        self.present(v)?;
        for &value in values {
            let place = self.value(v, value)?;
            if !self.known.contains(&(v, value)) {
                return Err(format!("no lemma says that value {value} of variable {v} is too dear"));
            }
            self.unary_mut(v)[place] = FORBIDDEN;
        }
        Ok(())
    }

    /// Removes values that reach the limit until those of a lemma are removed.
    fn show(&mut self, lemma: &Lemma) -> Result<(), String> {
        self.by_tables()?;
        if let Some(plan) = lemma.back.as_ref().filter(|_| !self.are_gone(lemma)) {
            let sizes: Vec<usize> = self.values.iter().map(|values| values.len()).collect();
            // costs relative to the current constant
            let (bounds, dear) = (Layout::new(plan, &sizes)?.marginals(self), self.dear());
            for (v, bounds) in (0..).zip(bounds) {
                let _ = self.keep_below(v, &bounds, dear)?;
            }
            self.by_tables()?;
        }
        if self.are_gone(lemma) {
            return Ok(());
        }
        let left: Vec<(u32, u32)> = lemma
            .values
            .iter()
            .flat_map(|(v, values)| values.iter().map(move |&value| (*v, value)))
            .filter_map(|(v, value)| Some((v, self.value(v, value).ok()? as u32)))
            .collect();
        search::show(self, &left, lemma.work, lemma.bytes)
    }

    fn are_gone(&self, lemma: &Lemma) -> bool {
        let is_gone = |v: u32, value: u32| self.value(v, value).is_err();
        self.closed || lemma.values.iter().all(|(v, values)| values.iter().all(|&value| is_gone(*v, value)))
    }

    /// Removes values whose unary cost plus the least cost of each table reaches the limit, repeatedly while there are
    /// any.
    fn by_tables(&mut self) -> Result<(), String> {
        for _ in 0..ROUNDS {
            let mut lost = false;
            for v in 0..self.values.len() as u32 {
                if self.closed {
                    return Ok(());
                }
                if !self.values[v as usize].is_empty() {
                    let (least, dear) = (self.least_totals(v)?, self.dear());
                    lost |= self.keep_below(v, &least, dear)?;
                }
            }
            if !lost {
                break;
            }
        }
        Ok(())
    }

    /// Removes the values of a variable that cost `dear` or more; returns whether there were any.
    fn keep_below(&mut self, v: u32, costs: &[Cost], dear: Cost) -> Result<bool, String> {
        if self.closed {
            return Ok(false);
        }
        let kept: Vec<usize> = (0..costs.len()).filter(|&value| costs[value] < dear).collect();
        if kept.len() == costs.len() {
            return Ok(false);
        }
        self.keep_values(v, &kept)?;
        self.settle();
        Ok(true)
    }
}

impl Layout<'_> {
    /// Returns lower bounds of all values by mini-buckets and a backward pass through them, without the constant. A
    /// variable in no mini-bucket costs nothing.
    fn marginals(&self, state: &State) -> Vec<Vec<Cost>> {
        let mut bounds: Vec<Vec<Cost>> = state.values.iter().map(|values| vec![0; values.len()]).collect();
        let messages = self.messages(state);
        let least = |message: &[Cost]| message.iter().copied().fold(FORBIDDEN, Cost::min);
        let taken: FxHashSet<u32> = self.plan.joins.iter().flat_map(|join| join.messages.iter().copied()).collect();
        // messages that are not joined count with their least cost
        let roots: Vec<usize> = (0..messages.len()).filter(|&index| !taken.contains(&(index as u32))).collect();
        let total = roots.iter().fold(0, |total, &root| sum(total, least(&messages[root])));
        let mut outside: Vec<Option<Vec<Cost>>> = vec![None; messages.len()];
        if total >= FORBIDDEN {
            return bounds.iter().map(|bounds| vec![FORBIDDEN; bounds.len()]).collect();
        }
        for root in roots {
            outside[root] = Some(vec![total - least(&messages[root]); messages[root].len()]);
        }
        for (index, join) in self.plan.joins.iter().enumerate().rev() {
            // without its dense table, a function gives no bounds
            let Some(rest) = outside[index].take() else { continue };
            let scope = &self.scopes[index];
            let all: Vec<Cost> = messages[index].iter().zip(&rest).map(|(&own, &rest)| sum(own, rest)).collect();
            let sizes = state.sizes(scope);
            let mut inner = combinations(&sizes) as usize;
            for (&u, &size) in scope.iter().zip(&sizes) {
                inner /= size;
                let mut own = vec![FORBIDDEN; size];
                for (run, costs) in all.chunks_exact(inner).enumerate() {
                    own[run % size] = own[run % size].min(least(costs));
                }
                raise(&mut bounds[u as usize], &own);
            }
            if join.keep.is_some() {
                continue;
            }
            let taken: Vec<(u32, Vec<Cost>)> =
                join.messages.iter().map(|&from| (from, messages[from as usize].clone())).collect();
            let (own, below) = self.back(state, join, scope, &taken, &rest);
            raise(&mut bounds[join.variable as usize], &own);
            for ((from, message), all) in taken.iter().zip(below) {
                let rest = message.iter().zip(all);
                // if the message forbids a combination, its rest does not matter
                let less =
                    rest.map(|(&own, all)| if own >= FORBIDDEN || all >= FORBIDDEN { FORBIDDEN } else { all - own });
                outside[*from as usize] = Some(less.collect());
            }
        }
        bounds
    }
}

fn raise(bounds: &mut [Cost], own: &[Cost]) {
    bounds.iter_mut().zip(own).for_each(|(bound, &own)| *bound = (*bound).max(own));
}
