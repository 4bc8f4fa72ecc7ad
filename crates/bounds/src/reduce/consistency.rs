//! Arc consistency on forbidden combinations, generalised to any arity by table scans (Mackworth 1977 as AC-3). A
//! combination whose cost reaches `top` is forbidden too, as in node and arc consistency of Larrosa and Schiex,
//! "Solving weighted CSP by maintaining arc consistency", 2004.
//!
//! A value without support gets a forbidden unary cost at once, which is all that other scans need to see. Tables are
//! rewritten only when no scan is left, once for all removed values of a variable.

use super::table::{combinations, sum};
use super::{Function, Reducer};
use crate::Error;
use crate::certificate::Step;
use crate::model::{Cost, Entry, FORBIDDEN, Odometer, SparseTable, Table, on_entries};
use crate::stop::Stop;

/// Values of the variables of a scope that have a support: a combination below the limit.
struct Supports {
    seen: Vec<Vec<bool>>,
    /// Number of values of each variable that still lack a support.
    missing: Vec<usize>,
    /// The highest cost of a support that was needed.
    witness: Cost,
}

impl Supports {
    /// Creates the supports; values that reach the limit already need none.
    fn new(unary: &[&[Cost]], limit: Cost) -> Self {
        let seen: Vec<Vec<bool>> =
            unary.iter().map(|costs| costs.iter().map(|&cost| cost >= limit).collect()).collect();
        let missing = seen.iter().map(|seen| seen.iter().filter(|&&seen| !seen).count()).collect();
        Supports { seen, missing, witness: 0 }
    }

    #[inline]
    fn mark(&mut self, position: usize, value: usize) {
        if !std::mem::replace(&mut self.seen[position][value], true) {
            self.missing[position] -= 1;
        }
    }

    fn complete(&self) -> bool {
        self.missing.iter().all(|&missing| missing == 0)
    }
}

impl Reducer {
    /// Removes values without support until each has one.
    pub(super) fn propagate(&mut self, stop: &Stop) {
        while !self.done(stop) {
            if let Some(v) = self.pending.moved.pop() {
                for i in 0..self.incidence[v as usize].len() {
                    self.pending.scans.push(self.incidence[v as usize][i]);
                }
            } else if let Some(slot) = self.pending.scans.pop() {
                self.scan(slot, stop);
            } else if let Some(v) = self.pending.checks.pop() {
                self.check(v);
            } else if std::mem::take(&mut self.pending.lower) {
                // if stopped, some reductions are merely missed
                let _ = self.limit_fell(stop);
            } else {
                break;
            }
        }
    }

    /// Queues the checks that a lower limit makes necessary.
    fn limit_fell(&mut self, stop: &Stop) -> Result<(), Error> {
        let limit = self.limit();
        for item in stop.each((0..).zip(&self.functions)) {
            let (slot, function) = item?;
            if function.as_ref().is_some_and(|function| function.witness >= limit) {
                self.pending.scans.push(slot);
            }
        }
        for (v, _) in (0..).zip(&self.dearest).filter(|&(_, &dearest)| dearest >= limit) {
            self.pending.checks.push(v);
        }
        Ok(())
    }

    /// Finds the values without support in a function.
    fn scan(&mut self, slot: u32, stop: &Stop) {
        let limit = self.limit();
        let Some(function) = self.function(slot) else { return };
        // each value's least entry is a support, whatever the unary costs of the other values
        let dearest = |&v: &u32| self.unary[v as usize].iter().copied().max().unwrap_or(0);
        let paid = function.scope.iter().map(dearest).fold(0, sum);
        let witness = function.minima.iter().fold(paid, |most, least| most.max(sum(least, paid)));
        if witness < limit {
            self.functions[slot as usize].iter_mut().for_each(|function| function.witness = witness);
            return;
        }
        let scope = function.scope.clone();
        let unary: Vec<&[Cost]> = scope.iter().map(|&v| &self.unary[v as usize][..]).collect();
        let mut supports = Supports::new(&unary, limit);
        match &function.table {
            Table::Dense(costs) => {
                let scanned = on_entries!(costs, entries => scan_dense(entries, &unary, limit, &mut supports, stop));
                if scanned.is_err() {
                    return;
                }
            }
            Table::Sparse(sparse) => scan_sparse(sparse, &unary, limit, &mut supports),
        }
        for (position, &v) in scope.iter().enumerate().filter(|&(position, _)| supports.missing[position] > 0) {
            let lost = || (0..).zip(&supports.seen[position]).filter(|(_, seen)| !**seen).map(|(value, _)| value);
            self.note(|reducer| Step::Unsupported {
                scope: scope[..].into(),
                variable: v,
                values: reducer.originals(v, lost()),
            });
            lost().for_each(|value| self.unary[v as usize][value as usize] = FORBIDDEN);
            self.pending.moved.push(v);
            self.pending.checks.push(v);
        }
        if let Some(function) = &mut self.functions[slot as usize] {
            function.witness = supports.witness;
        }
    }

    /// Removes the values of a variable whose unary cost plus the least cost of each function reaches the limit.
    fn check(&mut self, v: u32) {
        if !self.present[v as usize] {
            return;
        }
        let limit = self.limit();
        // without a limit only values that a scan has forbidden reach it
        let least = if limit < FORBIDDEN { self.least_totals(v) } else { self.unary[v as usize].clone() };
        self.dearest[v as usize] = least.iter().copied().filter(|&total| total < limit).max().unwrap_or(0);
        let kept: Vec<u32> = (0..).zip(&least).filter(|&(_, &total)| total < limit).map(|(value, _)| value).collect();
        if kept.len() < least.len() {
            let lost = (0..).zip(&least).filter(|&(_, &total)| total >= limit).map(|(value, _)| value);
            self.note(|reducer| Step::TooDear { variable: v, values: reducer.originals(v, lost) });
            self.report.inconsistent += least.len() - kept.len();
            self.keep_values(v, &kept);
        }
    }

    /// Returns the least total of each value of a variable: its unary cost plus the least cost of each function.
    pub(super) fn least_totals(&self, v: u32) -> Vec<Cost> {
        let mut totals = self.unary[v as usize].clone();
        for (function, position) in self.functions_of(v) {
            let minima = function.minima.iter().skip(self.first_minimum(function, position));
            for (total, least) in totals.iter_mut().zip(minima) {
                *total = sum(*total, least);
            }
        }
        totals
    }

    /// Returns the index among a function's minima of those of the variable at `position`.
    pub(super) fn first_minimum(&self, function: &Function, position: usize) -> usize {
        function.scope[..position].iter().map(|&v| self.domains[v as usize] as usize).sum()
    }
}

/// Scans row by row, and only rows that may hold a missing support. A stopped scan proves nothing.
fn scan_dense<T: Entry>(
    entries: &[T],
    unary: &[&[Cost]],
    limit: Cost,
    supports: &mut Supports,
    stop: &Stop,
) -> Result<(), Error> {
    let Some((last_unary, outer)) = unary.split_last() else { return Ok(()) };
    let last = outer.len();
    let mut odometer = Odometer::new(outer.iter().map(|costs| costs.len()).collect());
    let mut prefix = vec![0; unary.len()];
    let mut changed = 0;
    for row in stop.each(entries.chunks_exact(last_unary.len())) {
        let row = row?;
        for k in changed..last {
            prefix[k + 1] = sum(prefix[k], outer[k][odometer.digits[k]]);
        }
        let paid = prefix[last];
        let wanted = (0..last).any(|k| !supports.seen[k][odometer.digits[k]]);
        if paid < limit && (wanted || supports.missing[last] > 0) {
            let mut found = false;
            for (value, (entry, &own)) in row.iter().zip(*last_unary).enumerate() {
                let total = sum(sum(entry.cost(), own), paid);
                if total < limit {
                    if !found || !supports.seen[last][value] {
                        supports.witness = supports.witness.max(total);
                    }
                    found = true;
                    supports.mark(last, value);
                    if supports.missing[last] == 0 {
                        break;
                    }
                }
            }
            if found && wanted {
                for k in 0..last {
                    supports.mark(k, odometer.digits[k]);
                }
            }
            if supports.complete() {
                return Ok(());
            }
        }
        match odometer.advance() {
            Some(k) => changed = k,
            None => return Ok(()),
        }
    }
    Ok(())
}

/// Scans the listed tuples. If an unlisted tuple may be a support, it counts as one, whatever its unary costs: that
/// only misses removals.
fn scan_sparse(sparse: &SparseTable, unary: &[&[Cost]], limit: Cost, supports: &mut Supports) {
    let sizes: Vec<usize> = unary.iter().map(|costs| costs.len()).collect();
    let mut listed: Vec<Vec<u64>> = sizes.iter().map(|&size| vec![0; size]).collect();
    for (tuple, cost) in sparse.iter() {
        let own = |(k, &value): (usize, &u32)| unary[k][value as usize];
        let paid = tuple.iter().enumerate().map(own).fold(0, sum);
        if paid >= FORBIDDEN {
            continue;
        }
        for (k, &value) in tuple.iter().enumerate() {
            listed[k][value as usize] += 1;
        }
        let total = sum(paid, cost);
        if total < limit {
            // the highest cost of a needed support is not computed: any change of the limit repeats the scan
            supports.witness = FORBIDDEN;
            for (k, &value) in tuple.iter().enumerate() {
                supports.mark(k, value as usize);
            }
        }
    }
    if sparse.default_cost() >= limit {
        return;
    }
    supports.witness = FORBIDDEN;
    let alive: Vec<usize> = unary.iter().map(|costs| costs.iter().filter(|&&cost| cost < FORBIDDEN).count()).collect();
    for k in 0..sizes.len() {
        let others: Vec<usize> = (0..sizes.len()).filter(|&other| other != k).map(|other| alive[other]).collect();
        let room = combinations(&others);
        for (value, &listed) in listed[k].iter().enumerate() {
            if listed < room {
                supports.mark(k, value);
            }
        }
    }
}
