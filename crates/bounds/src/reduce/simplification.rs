//! Functions with a simpler form: pairs of variables of which one determines the other, and tables to which one
//! variable adds a cost that is independent of the rest.

use super::tuning::{GROWTH, SMALL};
use super::{Function, Reducer, table};
use crate::certificate::Step;
use crate::model::{Cost, Entry, FORBIDDEN, Table, on_entries};
use crate::stop::Stop;

impl Reducer {
    /// Checks every function that changed. Returns whether it changed anything.
    pub(super) fn simplify(&mut self, stop: &Stop) -> bool {
        let mut changed = false;
        while !self.done(stop) {
            let Some(slot) = self.pending.shapes.pop() else { break };
            changed |= self.substitute(slot) || self.separate(slot);
        }
        changed
    }

    /// Replaces `y` by a function of `x` if each value of `x` admits exactly one value of `y`.
    fn substitute(&mut self, slot: u32) -> bool {
        let Some(Function { scope, table: Table::Dense(costs), .. }) = self.function(slot) else { return false };
        let &[first, second] = &scope[..] else { return false };
        let strides = [self.domains[second as usize] as usize, 1];
        let candidates = [(first, strides[0], second, strides[1]), (second, strides[1], first, strides[0])];
        let images = candidates.map(|(x, x_stride, y, y_stride)| {
            let image = on_entries!(costs, entries => self.image(entries, x, x_stride, y, y_stride))?;
            Some((self.growth(x, y)?, x, y, image))
        });
        // on a tie (a bijection) the lower variable stays
        let Some((_, x, y, image)) = images.into_iter().flatten().min_by_key(|&(growth, ..)| growth) else {
            return false;
        };
        self.replace_by_image(x, y, &image);
        self.report.substituted += 1;
        true
    }

    /// Returns the only admissible value of `y` for each value of `x`; `None` if a value of `x` has none or several.
    fn image<T: Entry>(&self, entries: &[T], x: u32, x_stride: usize, y: u32, y_stride: usize) -> Option<Vec<usize>> {
        let limit = self.limit();
        let (x_unary, y_unary) = (&self.unary[x as usize], &self.unary[y as usize]);
        let only = |a: usize| {
            let allowed = |&b: &usize| {
                let cost = entries[a * x_stride + b * y_stride].cost();
                table::sum(table::sum(cost, x_unary[a]), y_unary[b]) < limit
            };
            let mut values = (0..y_unary.len()).filter(allowed);
            let value = values.next()?;
            values.next().is_none().then_some(value)
        };
        (0..x_unary.len()).map(only).collect()
    }

    /// Returns the number of entries of the functions of `y` after `x` replaces it; `None` if that is too large or some
    /// are sparse.
    fn growth(&self, x: u32, y: u32) -> Option<usize> {
        let (mut before, mut after) = (0, 0usize);
        for (function, _) in self.functions_of(y) {
            let Table::Dense(costs) = &function.table else { return None };
            before += costs.len();
            let rest = costs.len() / self.domains[y as usize] as usize;
            let both = function.scope.binary_search(&x).is_ok();
            let growth = if both { 1 } else { self.domains[x as usize] as usize };
            after = after.saturating_add(rest.saturating_mul(growth));
        }
        (after <= SMALL.max(before.saturating_mul(GROWTH))).then_some(after)
    }

    fn replace_by_image(&mut self, x: u32, y: u32, image: &[usize]) {
        self.note(|reducer| {
            let image = reducer.originals(y, image.iter().map(|&value| value as u32));
            Step::Substitute { variable: y, by: x, image }
        });
        self.depart(y, &[x], image.iter().copied());
        let functions = self.remove_functions_of(y);
        let unary: Vec<Cost> = image.iter().map(|&b| self.unary[y as usize][b]).collect();
        self.add_unary(x, &unary);
        for function in functions {
            self.add_through(&function, &[(y, image)], x);
        }
    }

    /// Adds a function in which `by` replaces removed variables, each given with its value for each value of `by`.
    pub(super) fn add_through(&mut self, function: &Function, gone: &[(u32, &[usize])], by: u32) {
        // there are no sparse functions here: replacement of variables refuses them
        let Table::Dense(costs) = &function.table else { return };
        let scope = &function.scope;
        let mut axes: Vec<(u32, Vec<usize>)> = scope.iter().copied().zip(table::axes(&self.sizes(scope))).collect();
        for &(variable, image) in gone {
            let Ok(place) = axes.binary_search_by_key(&variable, |&(v, _)| v) else { continue };
            let (_, own) = axes.remove(place);
            let offsets = image.iter().map(|&value| own[value]);
            match axes.binary_search_by_key(&by, |&(v, _)| v) {
                Ok(k) => axes[k].1.iter_mut().zip(offsets).for_each(|(offset, more)| *offset += more),
                Err(k) => axes.insert(k, (by, offsets.collect())),
            }
        }
        let (scope, axes): (Vec<u32>, Vec<Vec<usize>>) = axes.into_iter().unzip();
        self.add_function(&scope, Table::dense(table::gather(costs, &axes)));
    }

    /// Splits a function into a cost of one of its variables and a function of the others, if it is such a sum.
    fn separate(&mut self, slot: u32) -> bool {
        let Some(function) = self.function(slot) else { return false };
        let Some((position, shares)) = self.split(function) else { return false };
        let Function { scope, table: Table::Dense(costs), .. } = function.clone() else { return false };
        let (sizes, limit) = (self.sizes(&scope), self.limit());
        self.note(|_| {
            let shares = shares[..].into();
            Step::Separate { scope: scope[..].into(), variable: scope[position], shares }
        });
        let _ = self.remove_function(slot);
        self.report.separated += 1;
        self.add_unary(scope[position], &shares);
        // the slice of the first value holds its share and the rest
        let mut axes = table::axes(&sizes);
        let _ = axes.remove(position);
        let rest = table::gather(&costs, &axes);
        let rest = rest.iter().map(|&cost| if cost >= limit { FORBIDDEN } else { cost - shares[0] });
        let others: Vec<u32> = scope.iter().copied().filter(|&v| v != scope[position]).collect();
        self.add_function(&others, Table::dense(rest.collect()));
        true
    }

    /// Returns the scope position of a variable whose cost is independent of the others, and that cost for each value.
    pub(super) fn split(&self, function: &Function) -> Option<(usize, Vec<Cost>)> {
        let Table::Dense(costs) = &function.table else { return None };
        let (sizes, limit) = (self.sizes(&function.scope), self.limit());
        (0..sizes.len()).find_map(|k| Some((k, on_entries!(costs, entries => shares(entries, &sizes, k, limit))?)))
    }
}

/// Returns the cost that each value of the variable at `position` adds to the others', the least being 0.
fn shares<T: Entry>(entries: &[T], sizes: &[usize], position: usize, limit: Cost) -> Option<Vec<Cost>> {
    let (size, inner) = (sizes[position], sizes[position + 1..].iter().product::<usize>());
    let share = |value: usize| {
        let mut share = None;
        for block in entries.chunks_exact(size * inner) {
            let row = |value: usize| &block[value * inner..(value + 1) * inner];
            for (cost, reference) in row(value).iter().zip(row(0)) {
                let (cost, reference) = (cost.cost(), reference.cost());
                match (cost >= limit, reference >= limit) {
                    (true, true) => {}
                    (false, false) if *share.get_or_insert(cost - reference) == cost - reference => {}
                    _ => return None,
                }
            }
        }
        // a first value that is always forbidden gives no information; it is about to be removed
        share
    };
    // most tables are not such sums, which the second value shows
    let mut shares = (1..size).map(share).collect::<Option<Vec<Cost>>>()?;
    shares.insert(0, 0);
    let least = shares.iter().copied().min()?;
    shares.iter_mut().for_each(|share| *share -= least);
    Some(shares)
}
