//! Smaller networks, for shrinking.

use super::{Costs, Entry, Form, Function, Global, Network};
use crate::number::Decimal;

impl Network {
    /// Returns networks with one reduction each, those that lose most first.
    pub fn smaller(&self) -> Vec<Network> {
        let mut all = Vec::new();
        self.without_functions(&mut all);
        for v in 0..self.domains.len() {
            let own = self.domains[v];
            let single = (0..own).filter(|_| own > 1).map(|value| self.restricted(v, &|other| other == value));
            let others = (0..own).filter(|_| own > 2).map(|value| self.restricted(v, &|other| other != value));
            all.extend(single.chain(others));
            if own == 1 && self.domains.len() > 1 {
                all.push(self.without_variable(v));
            }
        }
        for o in 0..self.observed.len() {
            all.push(self.changed(|network| network.observed.retain(|own| *own != self.observed[o])));
        }
        self.with_simpler_costs(&mut all);
        if !self.form.is_product() {
            let tops = [1_000_000_000, 1000, self.top / 2, self.top - 1].into_iter();
            let tops = tops.filter(|&top| 0 < top && top < self.top);
            all.extend(tops.map(|top| self.changed(|network| network.top = top)));
        }
        all
    }

    fn changed(&self, change: impl FnOnce(&mut Network)) -> Network {
        let mut network = self.clone();
        change(&mut network);
        network
    }

    fn without_functions(&self, all: &mut Vec<Network>) {
        let count = self.functions.len();
        for share in [count / 2, count / 4].into_iter().filter(|&share| share > 1) {
            for begin in (0..count).step_by(share) {
                let range = begin..(begin + share).min(count);
                all.push(self.changed(|network| drop(network.functions.drain(range))));
            }
        }
        all.extend((0..count).map(|f| self.changed(|network| drop(network.functions.remove(f)))));
    }

    fn with_simpler_costs(&self, all: &mut Vec<Network>) {
        let neutral = Some(Decimal::integer(i128::from(self.form == Form::Uai)));
        for (f, function) in self.functions.iter().enumerate() {
            let simpler: Vec<Costs> = match &function.costs {
                Costs::Global(global) => simpler_globals(global).into_iter().map(Costs::Global).collect(),
                Costs::Table(table) => {
                    let changed = |place: usize, entry: Entry| {
                        let mut table = table.clone();
                        table[place] = entry;
                        Costs::Table(table)
                    };
                    let entries = table.iter().enumerate();
                    let simpler = |entry: Entry| simpler_entries(entry, neutral).into_iter();
                    entries.flat_map(|(place, &own)| simpler(own).map(move |new| changed(place, new))).collect()
                }
            };
            all.extend(simpler.into_iter().map(|costs| self.changed(|network| network.functions[f].costs = costs)));
        }
    }

    /// Returns the network in which a variable keeps only some of its values, at least one.
    fn restricted(&self, v: usize, keeps: &dyn Fn(u32) -> bool) -> Network {
        let domains = &self.domains;
        let kept: Vec<u32> = (0..domains[v]).filter(|&value| keeps(value)).collect();
        let mut network = self.clone();
        for Function { scope, costs } in &mut network.functions {
            let Costs::Table(table) = costs else { continue };
            let Some(axis) = scope.iter().position(|&own| own == v) else { continue };
            let inner: usize = scope[axis + 1..].iter().map(|&own| domains[own] as usize).product();
            let rows = table.chunks(inner).enumerate();
            let rows = rows.filter(|(row, _)| keeps((row % domains[v] as usize) as u32));
            *table = rows.flat_map(|(_, row)| row.iter().copied()).collect();
        }
        network.domains[v] = kept.len() as u32;
        let renamed = |value: u32| kept.iter().position(|&other| other == value).map(|place| place as u32);
        let observed = self.observed.iter();
        let observed = observed.filter_map(|&(own, value)| Some((own, if own == v { renamed(value)? } else { value })));
        network.observed = observed.collect();
        network
    }

    /// Returns the network without a variable that has one value.
    fn without_variable(&self, v: usize) -> Network {
        let mut network = self.clone();
        let _ = network.domains.remove(v);
        for Function { scope, costs } in &mut network.functions {
            let place = scope.iter().position(|&own| own == v);
            if let (Some(place), Costs::Global(Global::Knapsack { weights, .. })) = (place, costs) {
                let _ = weights.remove(place);
            }
            scope.retain(|&own| own != v);
            scope.iter_mut().filter(|own| **own > v).for_each(|own| *own -= 1);
        }
        network.functions.retain(|function| matches!(function.costs, Costs::Table(_)) || !function.scope.is_empty());
        network.observed.retain(|&(own, _)| own != v);
        network.observed.iter_mut().filter(|(own, _)| *own > v).for_each(|(own, _)| *own -= 1);
        network
    }
}

fn simpler_entries(entry: Entry, neutral: Entry) -> Vec<Entry> {
    if entry == neutral {
        return Vec::new();
    }
    let Some(Decimal { digits, exponent }) = entry else { return vec![neutral] };
    let mut all = vec![neutral];
    if exponent != 0 {
        all.extend([0, exponent / 2].map(|exponent| Some(Decimal { digits, exponent })));
    }
    let size = digits.unsigned_abs();
    if size > 1 {
        let sign = digits.signum();
        let lowest = digits & -digits;
        let mut simpler = vec![sign, sign << size.ilog2(), digits / 2, digits - sign * lowest];
        if size < 1000 {
            simpler.push(digits - sign);
        }
        // few steps lead to 0, so that shrinking ends
        let simpler = simpler.into_iter().filter(|&other| other != digits);
        all.extend(simpler.map(|digits| Some(Decimal { digits, exponent })));
    }
    all
}

fn simpler_globals(global: &Global) -> Vec<Global> {
    match global {
        Global::Different { cost } if *cost > 1 => [1, cost / 2].map(|cost| Global::Different { cost }).to_vec(),
        Global::Among { cost, range, values } if *cost > 1 => {
            [1, cost / 2].map(|cost| Global::Among { cost, range: *range, values: values.clone() }).to_vec()
        }
        _ => Vec::new(),
    }
}
