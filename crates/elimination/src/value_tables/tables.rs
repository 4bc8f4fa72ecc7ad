//! The rows of a reduced problem and their use: evaluations, incidences, energies.

use super::quantization::{Forbidding, quantize};
use super::rows::{Row, RowEntry, Rows, on_rows};
use crate::error::Error;
use crate::model::{Cost, CostFunction, FORBIDDEN, Problem};
use crate::stop::Stop;
use crate::threads;
use std::sync::Arc;

/// A function as seen from one of its variables: where its rows begin, and how the values of the other variables select
/// the row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Incidence {
    /// Offset of the first row.
    pub base: u32,
    /// The first of the other variables. A function of two variables has `second` equal to `first`, with stride 0.
    pub first: u32,
    /// The stride of the first other variable, in entries.
    pub first_stride: u32,
    /// The second other variable.
    pub second: u32,
    /// The stride of the second other variable, in entries.
    pub second_stride: u32,
    /// Index of the first further pair in `ValueTables::further`.
    pub(super) further: u32,
    pub(super) further_len: u32,
}

/// All rows of a reduced problem.
#[derive(Debug)]
pub struct ValueTables {
    /// The reduced problem.
    pub problem: Arc<Problem>,
    /// Padded length of each variable's rows, in entries: its domain size, rounded up for vector code.
    pub width: Vec<u32>,
    /// Right shift from the problem's costs to entries.
    pub shift: u32,
    /// The cost of a forbidden entry, in the units of entries.
    pub hard: i32,
    /// The occurrence of forbidden tuples.
    pub forbidding: Forbidding,
    pub(super) rows: Rows,
    pub(super) unary: Vec<u32>,
    pub(super) ranges: Vec<u32>,
    pub(super) incidences: Vec<Incidence>,
    /// The function of each incidence.
    pub(super) functions: Vec<u32>,
    pub(super) further: Vec<(u32, u32)>,
    /// Functions that are read in place, by variable.
    pub(super) in_place: Vec<Vec<u32>>,
    /// Largest number of entries of a table that is copied.
    pub(super) limit: u64,
}

impl ValueTables {
    /// Returns the bytes of rows and incidences, without the problem's own tables.
    pub fn bytes(&self) -> u64 {
        let of_variables = size_of_val(&self.width[..]) + size_of_val(&self.unary[..]) + size_of_val(&self.ranges[..]);
        let of_functions = size_of_val(&self.incidences[..]) + size_of_val(&self.functions[..]);
        (self.rows.bytes() + of_variables + of_functions + size_of_val(&self.further[..])) as u64
    }

    /// Returns the number of variables.
    #[inline(always)]
    pub fn variables(&self) -> usize {
        self.width.len()
    }

    /// Returns the domain size of a variable.
    #[inline(always)]
    pub fn domain(&self, variable: usize) -> usize {
        self.problem.domains[variable] as usize
    }

    /// Returns the incidences of a variable with the functions whose rows are copied.
    #[inline(always)]
    pub fn incidences(&self, variable: usize) -> &[Incidence] {
        &self.incidences[self.ranges[variable] as usize..self.ranges[variable + 1] as usize]
    }

    /// Returns the functions of [`incidences`](Self::incidences), one for each incidence.
    pub fn functions_on(&self, variable: usize) -> &[u32] {
        &self.functions[self.ranges[variable] as usize..self.ranges[variable + 1] as usize]
    }

    /// Returns the incidence of a function on one of its variables.
    pub fn incidence(&self, variable: usize, function: u32) -> Incidence {
        let place = self.functions_on(variable).partition_point(|&other| other < function);
        self.incidences(variable)[place]
    }

    /// Returns whether several functions, or several variables of one function, share rows.
    pub fn shares_rows(&self) -> bool {
        let rows = |v: usize| self.incidences(v).iter().map(|incidence| self.row_count(incidence)).sum::<usize>();
        let places = |v: usize| (1 + rows(v)) * self.width[v] as usize;
        (0..self.variables()).map(places).sum::<usize>() > self.rows.len()
    }

    /// Returns the number of functions on a variable, including those read in place.
    pub fn degree(&self, variable: usize) -> usize {
        self.incidences(variable).len() + self.in_place(variable).len()
    }

    /// Returns the functions on a variable that are read in place.
    #[inline(always)]
    fn in_place(&self, variable: usize) -> &[u32] {
        self.in_place.get(variable).map_or(&[], Vec::as_slice)
    }

    /// Returns the incidences of all functions with copied rows as (function, variable, incidence), sorted by function
    /// and variable with counting sort.
    pub fn incidences_by_function(&self, stop: &Stop) -> Result<Vec<(u32, u32, Incidence)>, Error> {
        let mut next = vec![0u32; self.problem.functions.len()];
        for &function in stop.each(&self.functions).flatten() {
            next[function as usize] += 1;
        }
        let mut before = 0;
        next.iter_mut().for_each(|count| before += std::mem::replace(count, before));
        let mut all = Vec::with_capacity(self.incidences.len());
        while all.len() < self.incidences.len() {
            stop.check()?;
            all.resize((all.len() + (1 << 16)).min(self.incidences.len()), (0, 0, Incidence::default()));
        }
        for v in stop.each(0..self.variables()) {
            let v = v?;
            for (&function, &incidence) in self.functions_on(v).iter().zip(self.incidences(v)) {
                let place = &mut next[function as usize];
                all[*place as usize] = (function, v as u32, incidence);
                *place += 1;
            }
        }
        Ok(all)
    }

    /// Returns the number of incidences of all variables.
    pub fn incidence_count(&self) -> usize {
        self.incidences.len()
    }

    /// Returns the number of entries of all unary rows, padding included.
    pub fn moves(&self) -> usize {
        self.width.iter().map(|&width| width as usize).sum()
    }

    /// Returns whether every function's rows are copied.
    pub fn all_copied(&self) -> bool {
        self.in_place.iter().all(Vec::is_empty)
    }

    /// Returns the offset of the row of an incidence under `values`.
    #[inline(always)]
    pub fn offset(&self, incidence: &Incidence, values: &[u16]) -> usize {
        let mut offset = incidence.base
            + u32::from(values[incidence.first as usize]) * incidence.first_stride
            + u32::from(values[incidence.second as usize]) * incidence.second_stride;
        if incidence.further_len != 0 {
            let start = incidence.further as usize;
            for &(variable, stride) in &self.further[start..start + incidence.further_len as usize] {
                offset += u32::from(values[variable as usize]) * stride;
            }
        }
        offset as usize
    }

    /// Returns the distance between the rows of an incidence for adjacent values of `other`, a variable of its
    /// function, in entries.
    #[inline(always)]
    pub fn stride(&self, incidence: &Incidence, other: u32) -> u32 {
        if incidence.first == other {
            return incidence.first_stride;
        }
        if incidence.second == other {
            return incidence.second_stride;
        }
        self.further(incidence).iter().find(|pair| pair.0 == other).map_or(0, |pair| pair.1)
    }

    /// Returns the variables that share with `variable` a function of more than two variables or one read in place.
    /// Some may occur more than once.
    pub fn larger_neighbours(&self, variable: usize) -> impl Iterator<Item = u32> {
        let copied = self.incidences(variable).iter().filter(|incidence| Self::binary(incidence).is_none());
        let others = copied.flat_map(|incidence| self.others(incidence).map(|pair| pair.0));
        let in_place = self.in_place(variable).iter().flat_map(|&f| self.problem.functions[f as usize].scope.iter());
        others.chain(in_place.copied().filter(move |&u| u as usize != variable))
    }

    /// Returns the entries of all rows.
    #[inline(always)]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Returns the offset of the unary row of a variable.
    pub fn unary_at(&self, variable: usize) -> u32 {
        self.unary[variable]
    }

    /// Returns the pairs of variable and stride of an incidence beyond the first two.
    pub fn further(&self, incidence: &Incidence) -> &[(u32, u32)] {
        &self.further[incidence.further as usize..][..incidence.further_len as usize]
    }

    /// Returns the other variables of an incidence's function, each with the distance between the rows of its adjacent
    /// values.
    pub fn others(&self, incidence: &Incidence) -> impl Iterator<Item = (u32, u32)> {
        let Incidence { first, first_stride, second, second_stride, .. } = *incidence;
        let two = [(first, first_stride), (second, second_stride)];
        two.into_iter().chain(self.further(incidence).iter().copied()).filter(|&(_, stride)| stride > 0)
    }

    /// Returns `width` entries from an offset.
    #[inline(always)]
    pub fn row(&self, offset: usize, width: usize) -> Row<'_> {
        self.rows.row(offset, width)
    }

    /// Returns the unary row of a variable, padding included.
    pub fn unary(&self, variable: usize) -> &[i32] {
        self.rows.unary(self.unary[variable] as usize, self.width[variable] as usize)
    }

    /// Returns the number of rows of an incidence.
    pub fn row_count(&self, incidence: &Incidence) -> usize {
        let domain = |v: u32| self.problem.domains[v as usize] as usize;
        let start = incidence.further as usize;
        let further = &self.further[start..start + incidence.further_len as usize];
        let second = if incidence.second_stride == 0 { 1 } else { domain(incidence.second) };
        domain(incidence.first) * second * further.iter().map(|pair| domain(pair.0)).product::<usize>()
    }

    /// Returns the offset of the `index`-th row of an incidence of `variable`.
    pub fn nth_row(&self, variable: usize, incidence: &Incidence, index: usize) -> usize {
        incidence.base as usize + index * self.width[variable] as usize
    }

    /// Returns the offset of the first row, the other variable, and the distance between the rows of its adjacent
    /// values, if the incidence belongs to a function of two variables; otherwise `None`.
    #[inline]
    pub fn binary(incidence: &Incidence) -> Option<(usize, usize, usize)> {
        (incidence.second_stride == 0 && incidence.further_len == 0).then_some((
            incidence.base as usize,
            incidence.first as usize,
            incidence.first_stride as usize,
        ))
    }

    /// Fills `row`, of the variable's padded length, with the cost of each value under the values of the other
    /// variables; padding gets at least [`PADDING`](super::PADDING). Of the copied functions only incidences that
    /// `keep` accepts count.
    #[inline(always)]
    pub fn rate(&self, variable: usize, values: &[u16], row: &mut [i32], keep: impl Fn(&Incidence) -> bool) {
        on_rows!(&self.rows, entries => self.rate_in(entries, variable, values, row, keep));
        if !self.in_place(variable).is_empty() {
            self.rate_in_place(variable, values, row);
        }
    }

    #[inline(always)]
    fn rate_in<E: RowEntry>(
        &self,
        entries: &[E],
        variable: usize,
        values: &[u16],
        row: &mut [i32],
        keep: impl Fn(&Incidence) -> bool,
    ) {
        let unary = self.rows.unary(self.unary[variable] as usize, row.len());
        let incidences = self.incidences(variable);
        match row.len() {
            4 => self.rate_fixed::<4, E>(entries, unary, incidences, values, row, keep),
            8 => self.rate_fixed::<8, E>(entries, unary, incidences, values, row, keep),
            16 => self.rate_fixed::<16, E>(entries, unary, incidences, values, row, keep),
            24 => self.rate_fixed::<24, E>(entries, unary, incidences, values, row, keep),
            32 => self.rate_fixed::<32, E>(entries, unary, incidences, values, row, keep),
            40 => self.rate_fixed::<40, E>(entries, unary, incidences, values, row, keep),
            48 => self.rate_fixed::<48, E>(entries, unary, incidences, values, row, keep),
            _ => {
                row.copy_from_slice(unary);
                for incidence in incidences.iter().filter(|incidence| keep(incidence)) {
                    let addend = &entries[self.offset(incidence, values)..][..row.len()];
                    for (total, &cost) in row.iter_mut().zip(addend) {
                        *total += cost.cost();
                    }
                }
            }
        }
    }

    /// Like `rate_in`, for a padded length known at compile time, so that the row stays in registers.
    #[inline(always)]
    fn rate_fixed<const WIDTH: usize, E: RowEntry>(
        &self,
        entries: &[E],
        unary: &[i32],
        incidences: &[Incidence],
        values: &[u16],
        row: &mut [i32],
        keep: impl Fn(&Incidence) -> bool,
    ) {
        let mut total = [0i32; WIDTH];
        total.copy_from_slice(&unary[..WIDTH]);
        for incidence in incidences.iter().filter(|incidence| keep(incidence)) {
            let addend = &entries[self.offset(incidence, values)..][..WIDTH];
            for lane in 0..WIDTH {
                total[lane] += addend[lane].cost();
            }
        }
        row.copy_from_slice(&total);
    }

    #[cold]
    fn rate_in_place(&self, variable: usize, values: &[u16], row: &mut [i32]) {
        let domain = self.domain(variable);
        for &f in self.in_place(variable) {
            let function = &self.problem.functions[f as usize];
            for (value, total) in row[..domain].iter_mut().enumerate() {
                let of = |u: u32| if u as usize == variable { value as u32 } else { u32::from(values[u as usize]) };
                *total += quantize(function.cost_at(&self.problem.domains, of), self.shift, self.hard);
            }
        }
    }

    /// Returns the energy of an assignment: the sum of its entries in the problem's units without the constant, in
    /// which a forbidden entry counts `hard << shift`, and the number of forbidden entries.
    pub fn energy(&self, values: &[u16]) -> Energy {
        self.energy_until(values, &Stop::new()).expect("no stop is set")
    }

    /// Like [`ValueTables::energy`], but returns [`Error::Stopped`] if `stop` is set.
    pub fn energy_until(&self, values: &[u16], stop: &Stop) -> Result<Energy, Error> {
        let mut energy = Energy::default();
        for item in stop.finish(self.problem.unary.iter().zip(values)) {
            let (unary, &value) = item?;
            energy.add(unary[value as usize], self.price());
        }
        let parts = threads::finish_in_parts(&self.problem.functions, stop, |functions| {
            let mut energy = Energy::default();
            functions.iter().for_each(|function| energy.add(self.entry(function, values), self.price()));
            energy
        });
        for Energy { total, violations } in parts? {
            energy.total = energy.total.saturating_add(total);
            energy.violations += violations;
        }
        Ok(energy)
    }

    /// Returns the cost of a forbidden entry in the problem's units.
    #[inline(always)]
    pub fn price(&self) -> Cost {
        Cost::from(self.hard) << self.shift
    }

    /// Returns the cost of a function under `values`.
    #[inline(always)]
    pub fn entry(&self, function: &CostFunction, values: &[u16]) -> Cost {
        function.cost_at(&self.problem.domains, |v| u32::from(values[v as usize]))
    }

    /// Returns the incidence of a function on one of its variables, with rows from `base` on. Pairs beyond two are
    /// appended to `further`.
    pub(super) fn incidence_of(
        &self,
        function: &CostFunction,
        position: usize,
        base: u32,
        further: &mut Vec<(u32, u32)>,
    ) -> Incidence {
        let mut incidence = Incidence { base, further: further.len() as u32, ..Incidence::default() };
        let mut stride = self.width[function.scope[position] as usize];
        let others = function.scope.iter().enumerate().rev().filter(|&(k, _)| k != position);
        for (count, (_, &u)) in others.enumerate() {
            match count {
                // for arity 2 the second is the first with stride 0
                0 => (incidence.first, incidence.first_stride, incidence.second) = (u, stride, u),
                1 => (incidence.second, incidence.second_stride) = (u, stride),
                _ => further.push((u, stride)),
            }
            stride *= self.problem.domains[u as usize];
        }
        incidence.further_len = further.len() as u32 - incidence.further;
        incidence
    }
}

/// The energy of an assignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Energy {
    /// Soft costs plus a price for each forbidden entry.
    pub total: Cost,
    /// Number of forbidden entries.
    pub violations: u32,
}

impl Energy {
    #[inline(always)]
    fn add(&mut self, cost: Cost, price: Cost) {
        if cost >= FORBIDDEN {
            self.violations += 1;
            self.total = self.total.saturating_add(price);
        } else {
            self.total = self.total.saturating_add(cost);
        }
    }
}
