//! The working state: the loading of a network, and the few edits that all reductions use.

use super::departure::Departure;
use super::named::Named;
use super::report::{Reduction, Size};
use super::tuning::VALUE_BYTES;
use super::{Function, Reducer, cheapest, table};
use crate::Error;
use crate::memory;
use crate::model::{Cost, Costs, FORBIDDEN, Network, Scope, Table, add};
use crate::stop::Stop;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use std::sync::Arc;

/// A table in normal form: its least cost is subtracted, so that the least entry is 0.
#[derive(Clone)]
struct Normal {
    least: Cost,
    table: Table,
    minima: Costs,
    peak: Cost,
}

/// Normal forms of tables that several functions of the network share.
#[derive(Default)]
struct Taken {
    /// Normal forms by address of the table; tables of a single function are not kept.
    forms: FxHashMap<usize, Vec<Form>>,
    /// Order of the current function's variables.
    order: Vec<usize>,
    /// Domain sizes of the current function's variables.
    sizes: Vec<usize>,
}

/// A table in normal form, for one order of its variables (empty if it stays) and their domain sizes.
struct Form {
    order: Box<[usize]>,
    sizes: Box<[usize]>,
    normal: Normal,
}

impl Reducer {
    /// Loads a network without reducing it; variables have only the values in `named`.
    pub(super) fn load(network: &Network, named: Named, reduce: bool, stop: &Stop) -> Result<Self, Error> {
        let n = network.domains().len();
        let domains: Vec<u32> =
            (0..).zip(network.domains()).map(|(v, &domain)| named.domain(v).unwrap_or(domain)).collect();
        let count = domains.iter().map(|&domain| u64::from(domain)).sum::<u64>();
        memory::must_fit(count * VALUE_BYTES, || format!("{count} values of variables"))?;
        let mut identities: FxHashMap<u32, Arc<[u32]>> = FxHashMap::default();
        let mut identity = |(v, &d): (u32, &u32)| {
            named.values(v).unwrap_or_else(|| identities.entry(d).or_insert_with(|| (0..d).collect()).clone())
        };
        let mut reducer = Reducer {
            reduce,
            // entries may still be negative, so none reaches a limit yet
            top: FORBIDDEN,
            values: stop.each((0..).zip(&domains)).map(|item| Ok(identity(item?))).collect::<Result<_, Error>>()?,
            unary: stop.each(&domains).map(|d| Ok(vec![0; *d? as usize])).collect::<Result<_, Error>>()?,
            domains,
            dearest: vec![FORBIDDEN; n],
            present: vec![true; n],
            functions: Vec::with_capacity(network.functions().len()),
            by_scope: FxHashMap::with_capacity_and_hasher(network.functions().len(), FxBuildHasher),
            incidence: vec![Vec::new(); n],
            report: Reduction { before: Size::of(network), ..Reduction::default() },
            ..Reducer::default()
        };
        let forms = table::repeated(network.functions()).into_iter().map(|address| (address, Vec::new())).collect();
        let mut taken = Taken { forms, ..Taken::default() };
        for function in network.functions() {
            stop.check()?;
            let table = named.table(function);
            let table = table.as_ref().unwrap_or(&function.table);
            match &function.scope[..] {
                [] => reducer.raise(function.min(network.domains())),
                &[v] => {
                    let costs = table::dense(table, &reducer.sizes(&[v]));
                    reducer.add_unary(v, &costs.wide());
                }
                scope => reducer.take(scope, table, &mut taken),
            }
        }
        reducer.top = network.top();
        reducer.raise(0);
        for v in stop.each(0..n as u32) {
            reducer.touch(v?);
        }
        Ok(reducer)
    }

    /// Returns a copy, to be reduced further.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub fn copy(&self, stop: &Stop) -> Result<Reducer, Error> {
        fn copied<T: Clone>(list: &[T], stop: &Stop) -> Result<Vec<T>, Error> {
            stop.each(list).map(|item| item.cloned()).collect()
        }
        let mut by_scope = FxHashMap::with_capacity_and_hasher(self.by_scope.len(), FxBuildHasher);
        for item in stop.each(&self.by_scope) {
            let (scope, &slot) = item?;
            let _ = by_scope.insert(scope.clone(), slot);
        }
        Ok(Reducer {
            reduce: self.reduce,
            infeasible: self.infeasible,
            top: self.top,
            constant: self.constant,
            domains: self.domains.clone(),
            values: copied(&self.values, stop)?,
            unary: copied(&self.unary, stop)?,
            dearest: self.dearest.clone(),
            present: self.present.clone(),
            functions: copied(&self.functions, stop)?,
            by_scope,
            incidence: copied(&self.incidence, stop)?,
            departures: copied(&self.departures, stop)?,
            merges: self.merges,
            ties: copied(&self.ties, stop)?,
            core: self.core.clone(),
            pending: self.pending.clone(),
            limits: self.limits.clone(),
            report: self.report.clone(),
            log: self.log.as_deref().map(|log| copied(log, stop)).transpose()?,
            lemmas: copied(&self.lemmas, stop)?,
            original: self.original.clone(),
        })
    }

    /// Loads one function of the network; a table stays shared unless its order or its minimum changes it.
    fn take(&mut self, scope: &[u32], table: &Table, taken: &mut Taken) {
        let Taken { forms, order, sizes } = taken;
        order.clear();
        if !scope.is_sorted() {
            order.extend(0..scope.len());
            order.sort_unstable_by_key(|&k| scope[k]);
        }
        sizes.clear();
        sizes.extend(scope.iter().map(|&v| self.domains[v as usize] as usize));
        let ordered: Scope = if order.is_empty() { scope.into() } else { order.iter().map(|&k| scope[k]).collect() };
        let mut forms = forms.get_mut(&table.address());
        let is_this = |form: &&Form| form.order[..] == order[..] && form.sizes[..] == sizes[..];
        let known = forms.as_deref().and_then(|forms| forms.iter().find(is_this)).map(|form| form.normal.clone());
        let normal = known.unwrap_or_else(|| {
            let table = table::densify_small(table.clone(), sizes);
            let table = if order.is_empty() { table } else { table::reorder(&table, sizes, order) };
            let normal = Normal::new(table, &self.sizes(&ordered));
            if let Some(forms) = &mut forms {
                forms.push(Form { order: order[..].into(), sizes: sizes[..].into(), normal: normal.clone() });
            }
            normal
        });
        self.install(ordered, normal);
    }

    pub(super) fn sizes(&self, scope: &[u32]) -> SmallVec<[usize; 4]> {
        scope.iter().map(|&v| self.domains[v as usize] as usize).collect()
    }

    pub(super) fn function(&self, slot: u32) -> Option<&Function> {
        self.functions[slot as usize].as_ref()
    }

    /// Returns the functions of a variable, each with the variable's position in its scope.
    pub(super) fn functions_of(&self, v: u32) -> impl Iterator<Item = (&Function, usize)> + Clone {
        self.incidence[v as usize].iter().filter_map(move |&slot| {
            let function = self.function(slot)?;
            Some((function, function.scope.binary_search(&v).ok()?))
        })
    }

    pub(super) fn raise(&mut self, cost: Cost) {
        self.constant = if cost >= FORBIDDEN { FORBIDDEN } else { add(self.constant, cost) };
        self.infeasible |= self.constant >= self.top;
        self.pending.lower |= cost > 0 && self.top < FORBIDDEN;
    }

    /// Records a change of a variable: its elimination may pay now, or it may have dominated values.
    pub(super) fn touch(&mut self, v: u32) {
        self.pending.checks.push(v);
        self.pending.eliminations.push(v);
        self.pending.dominance.push(v);
    }

    /// Adds costs to the values of a variable and moves the least to the constant.
    pub(super) fn add_unary(&mut self, v: u32, costs: &[Cost]) {
        let unary = &mut self.unary[v as usize];
        for (own, &cost) in unary.iter_mut().zip(costs) {
            *own = add(*own, cost);
        }
        let least = unary[cheapest(unary)];
        if least < FORBIDDEN {
            unary.iter_mut().filter(|cost| **cost < FORBIDDEN).for_each(|cost| *cost -= least);
        }
        self.raise(least);
        self.pending.moved.push(v);
        self.touch(v);
    }

    /// Adds a function over an ascending scope of any length.
    pub(super) fn add_function(&mut self, scope: &[u32], table: Table) {
        let sizes = self.sizes(scope);
        match (scope, &table::densify_small(table, &sizes)) {
            ([], Table::Dense(costs)) => self.raise(costs.get(0)),
            (&[v], Table::Dense(costs)) => self.add_unary(v, &costs.wide()),
            (_, table) => self.install(scope.into(), Normal::new(table.clone(), &sizes)),
        }
    }

    /// Stores a function, or adds it to one of the same scope.
    fn install(&mut self, scope: Scope, normal: Normal) {
        if normal.is_zero() {
            return self.raise(normal.least);
        }
        let Some(&slot) = self.by_scope.get(&scope) else {
            let slot = self.functions.len() as u32;
            self.functions.push(None);
            let _ = self.by_scope.insert(scope.clone(), slot);
            for &v in scope.iter() {
                self.incidence[v as usize].push(slot);
            }
            return self.put(slot, scope, normal);
        };
        self.raise(normal.least);
        self.report.merged += 1;
        let sizes = self.sizes(&scope);
        let present = &self.function(slot).expect("a scope leads to a function in place").table;
        let merged = table::densify_small(table::merge(present, &normal.table, &sizes), &sizes);
        self.put(slot, scope, Normal::new(merged, &sizes));
    }

    /// Stores a function in its slot and queues it for all reductions.
    fn put(&mut self, slot: u32, scope: Scope, normal: Normal) {
        self.raise(normal.least);
        self.pending.scans.push(slot);
        self.pending.shapes.push(slot);
        self.pending.ties.push(slot);
        for &v in scope.iter() {
            self.touch(v);
        }
        let Normal { table, minima, peak, .. } = normal;
        let function = Function { scope, table, minima, peak, witness: FORBIDDEN, settled: false };
        self.functions[slot as usize] = Some(function);
    }

    pub(super) fn remove_function(&mut self, slot: u32) -> Option<Function> {
        let function = self.functions[slot as usize].take()?;
        let _ = self.by_scope.remove(&function.scope);
        for &v in function.scope.iter() {
            let slots = &mut self.incidence[v as usize];
            if let Ok(place) = slots.binary_search(&slot) {
                let _ = slots.remove(place);
            }
            self.touch(v);
        }
        Some(function)
    }

    pub(super) fn remove_functions_of(&mut self, v: u32) -> Vec<Function> {
        let slots = std::mem::take(&mut self.incidence[v as usize]);
        slots.into_iter().filter_map(|slot| self.remove_function(slot)).collect()
    }

    /// Restricts a variable to some values, in all tables. An empty list means that there is no solution.
    pub(super) fn keep_values(&mut self, v: u32, kept: &[u32]) {
        if kept.is_empty() {
            self.infeasible = true;
            return;
        }
        let variable = v as usize;
        // tables first, because their shape is that of the old domains
        let slots = self.incidence[variable].clone();
        let mut filtered = Vec::with_capacity(slots.len());
        for &slot in &slots {
            let Some(function) = self.function(slot) else { continue };
            let mut sizes = self.sizes(&function.scope);
            let Ok(position) = function.scope.binary_search(&v) else { continue };
            let table = table::filter(&function.table, &sizes, position, kept);
            sizes[position] = kept.len();
            filtered.push((slot, function.scope.clone(), table::densify_small(table, &sizes), sizes));
        }
        self.domains[variable] = kept.len() as u32;
        self.values[variable] = kept.iter().map(|&value| self.values[variable][value as usize]).collect();
        let unary: Vec<Cost> = kept.iter().map(|&value| self.unary[variable][value as usize]).collect();
        self.unary[variable] = vec![0; kept.len()];
        self.add_unary(v, &unary);
        for (slot, scope, table, sizes) in filtered {
            let normal = Normal::new(table, &sizes);
            if normal.is_zero() {
                self.raise(normal.least);
                let _ = self.remove_function(slot);
            } else {
                self.put(slot, scope, normal);
            }
        }
    }

    /// Returns the network's values of some present values of a variable.
    pub(super) fn originals(&self, v: u32, values: impl Iterator<Item = u32>) -> Box<[u32]> {
        values.map(|value| self.values[v as usize][value as usize]).collect()
    }

    /// Removes a variable; `choice` gives its present value for each combination of `scope`.
    pub(super) fn depart(&mut self, v: u32, scope: &[u32], choice: impl Iterator<Item = usize>) {
        let values = &self.values[v as usize];
        self.departures.push(Departure {
            variable: v,
            scope: scope.iter().map(|&u| (u, self.values[u as usize].clone())).collect(),
            choice: choice.map(|value| values[value]).collect(),
        });
        self.present[v as usize] = false;
    }
}

impl Normal {
    /// Subtracts the least cost; a table that forbids everything stays as it is.
    fn new(table: Table, sizes: &[usize]) -> Self {
        let minima = table::minima(&table, sizes);
        let least = minima.iter().take(sizes[0]).min().unwrap_or(0);
        let peak = table::peak(&table);
        if least == 0 || least >= FORBIDDEN {
            return Normal { least, table, minima, peak };
        }
        let shift = |cost: Cost| if cost >= FORBIDDEN { FORBIDDEN } else { cost - least };
        let minima = minima.iter().map(shift).collect();
        Normal { least, table: table.map(shift), minima, peak: peak - least }
    }

    fn is_zero(&self) -> bool {
        self.peak == 0 && self.minima.iter().all(|cost| cost == 0) && self.table.costs().all(|cost| cost < FORBIDDEN)
    }
}

impl Reducer {
    /// Returns the size of the reduced problem, without functions of one variable.
    pub(super) fn size<'a>(&self, functions: impl Iterator<Item = (&'a [u32], &'a Table)>) -> Size {
        let mut size = Size::over(self.core.iter().map(|&v| self.domains[v as usize]));
        functions.for_each(|(scope, table)| size.count(scope.len(), table));
        size
    }
}
