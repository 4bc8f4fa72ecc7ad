//! Dominated values: those that another value can replace in any context without a higher total (dead-end elimination
//! of Goldstein 1994, with the differences bounded function by function).

use super::Reducer;
use super::tuning::{DOMINANCE_IN_VAIN, DOMINANCE_WORK};
use crate::certificate::Step;
use crate::model::{Cost, Costs, Entry, FORBIDDEN, Table, on_entries};
use crate::stop::Stop;

/// A function as seen from one of its variables.
struct View<'a> {
    costs: &'a Costs,
    /// Number of values of the variable.
    size: usize,
    /// Number of consecutive entries for one value of the variable.
    inner: usize,
    /// The function's least cost with each value of each variable.
    minima: &'a Costs,
    /// Index of the variable's first value in `minima`.
    first: usize,
}

impl Reducer {
    /// Checks every variable that changed, as long as that pays. Returns whether a value was removed.
    pub(super) fn remove_dominated(&mut self, stop: &Stop) -> bool {
        let mut changed = false;
        while !self.done(stop) {
            let Some(v) = self.pending.dominance.pop() else { break };
            if self.pending.in_vain >= DOMINANCE_IN_VAIN {
                continue;
            }
            let (pairs, work) = self.dominated(v);
            if pairs.is_empty() {
                self.pending.in_vain += work;
                continue;
            }
            self.pending.in_vain = 0;
            self.report.dominated += pairs.len();
            let mut keep = vec![true; self.domains[v as usize] as usize];
            pairs.iter().for_each(|&(lost, _)| keep[lost as usize] = false);
            let kept: Vec<u32> = (0..).zip(keep).filter(|&(_, keep)| keep).map(|(value, _)| value).collect();
            self.note(|reducer| {
                let values = &reducer.values[v as usize];
                let pairs = pairs.iter().map(|&(lost, by)| (values[lost as usize], values[by as usize])).collect();
                Step::Dominated { variable: v, pairs }
            });
            self.keep_values(v, &kept);
            changed = true;
        }
        changed
    }

    /// Returns the dominated values, each with a dominating one, which may itself be dominated later in the list; and
    /// the number of entries compared.
    pub(super) fn dominated(&self, v: u32) -> (Vec<(u32, u32)>, usize) {
        let size = self.domains[v as usize] as usize;
        let mut pairs = Vec::new();
        if !self.present[v as usize] || size < 2 {
            return (pairs, 0);
        }
        let views = self.functions_of(v).map(|(function, position)| match &function.table {
            Table::Dense(costs) => {
                let inner = function.scope[position + 1..].iter().map(|&u| self.domains[u as usize] as usize).product();
                Some(View {
                    costs,
                    size,
                    inner,
                    minima: &function.minima,
                    first: self.first_minimum(function, position),
                })
            }
            Table::Sparse(_) => None,
        });
        let Some(views) = views.collect::<Option<Vec<View>>>() else { return (pairs, 0) };
        let (limit, least, unary) = (self.limit(), self.least_totals(v), &self.unary[v as usize]);
        let mut keep = vec![true; size];
        let mut work = DOMINANCE_WORK;
        // from the last value down, so that the first of equal values stays
        for a in (0..size).rev().filter(|&a| least[a] < limit) {
            let dominates = |b: usize, keep: &[bool], work: &mut usize| {
                b != a && keep[b] && least[b] <= least[a] && {
                    // what `b` may lose in the functions: the difference of the least totals, an optimistic estimate
                    let slack = least[a] - least[b];
                    let limit = limit - unary[a];
                    views.iter().try_fold(slack, |slack, view| view.slack_left(a, b, slack, limit, work)).is_some()
                }
            };
            if let Some(b) = (0..size).find(|&b| dominates(b, &keep, &mut work)) {
                keep[a] = false;
                pairs.push((a as u32, b as u32));
            }
            if work == 0 {
                break;
            }
        }
        (pairs, DOMINANCE_WORK - work)
    }
}

impl View<'_> {
    /// Returns what is left of `slack` after the most that `b` costs more than `a` in this function, beyond the
    /// difference of their least costs; `None` if that exceeds it. Contexts in which `a` reaches the limit do not
    /// count.
    fn slack_left(&self, a: usize, b: usize, slack: Cost, limit: Cost, work: &mut usize) -> Option<Cost> {
        let optimistic = self.minima.get(self.first + b) - self.minima.get(self.first + a);
        let most = optimistic + slack;
        on_entries!(self.costs, entries => self.worst(entries, [a, b], [optimistic, most], limit, work))
            .map(|worst| most - worst)
    }

    /// Returns the most that `b` costs more than `a` in `entries`, at least `optimistic`; `None` if that exceeds
    /// `most`.
    fn worst<T: Entry>(
        &self,
        entries: &[T],
        [a, b]: [usize; 2],
        [optimistic, most]: [Cost; 2],
        limit: Cost,
        work: &mut usize,
    ) -> Option<Cost> {
        let mut worst = optimistic;
        for block in entries.chunks_exact(self.size * self.inner) {
            *work = work.checked_sub(self.inner).or_else(|| {
                *work = 0;
                None
            })?;
            let row = |value: usize| &block[value * self.inner..(value + 1) * self.inner];
            for (a, b) in row(a).iter().zip(row(b)) {
                let (a, b) = (a.cost(), b.cost());
                if a < limit {
                    if b >= FORBIDDEN || b - a > most {
                        return None;
                    }
                    worst = worst.max(b - a);
                }
            }
        }
        Some(worst)
    }
}
