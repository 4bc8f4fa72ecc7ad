//! The rows of a core and what is read of them: ratings, incidences, energies.

use super::quantization::{Forbidding, quantize};
use super::rows::{Row, RowEntry, Rows, on_rows};
use crate::error::Error;
use crate::model::{Cost, CostFunction, FORBIDDEN, Problem};
use crate::stop::Stop;
use crate::threads;
use std::sync::Arc;

/// A function as seen from one of its variables: where its rows begin and how the other values move the row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Incidence {
    /// Where the table begins.
    pub base: u32,
    /// The first two other variables; for arity 2 the second has stride 0.
    pub first: u32,
    /// The stride of the first other variable.
    pub first_stride: u32,
    /// The second other variable.
    pub second: u32,
    /// Its stride.
    pub second_stride: u32,
    /// Further pairs in `ValueTables::further`.
    pub(super) further: u32,
    pub(super) further_len: u32,
}

/// All rows of a core.
#[derive(Debug)]
pub struct ValueTables {
    /// The core.
    pub problem: Arc<Problem>,
    /// Row length of each variable: its domain size, padded for vector code.
    pub width: Vec<u32>,
    /// Right shift from the core's costs to entries.
    pub shift: u32,
    /// What a forbidden entry costs, in entries' units.
    pub hard: i32,
    /// What forbidden entries cost.
    pub forbidding: Forbidding,
    pub(super) rows: Rows,
    pub(super) unary: Vec<u32>,
    pub(super) ranges: Vec<u32>,
    pub(super) incidences: Vec<Incidence>,
    /// The function of each incidence.
    pub(super) functions: Vec<u32>,
    pub(super) further: Vec<(u32, u32)>,
    /// Functions read where they are, by variable.
    pub(super) in_place: Vec<Vec<u32>>,
    /// Entries of a table that is copied, at most.
    pub(super) limit: u64,
}

impl ValueTables {
    /// Bytes of all of it, the core's own tables not counted.
    pub fn bytes(&self) -> u64 {
        let of_variables = size_of_val(&self.width[..]) + size_of_val(&self.unary[..]) + size_of_val(&self.ranges[..]);
        let of_functions = size_of_val(&self.incidences[..]) + size_of_val(&self.functions[..]);
        (self.rows.bytes() + of_variables + of_functions + size_of_val(&self.further[..])) as u64
    }

    /// Number of variables.
    #[inline(always)]
    pub fn variables(&self) -> usize {
        self.width.len()
    }

    /// Domain size of a variable.
    #[inline(always)]
    pub fn domain(&self, variable: usize) -> usize {
        self.problem.domains[variable] as usize
    }

    /// The functions on a variable.
    #[inline(always)]
    pub fn incidences(&self, variable: usize) -> &[Incidence] {
        &self.incidences[self.ranges[variable] as usize..self.ranges[variable + 1] as usize]
    }

    /// The functions of [`incidences`](Self::incidences), one each.
    pub fn functions_on(&self, variable: usize) -> &[u32] {
        &self.functions[self.ranges[variable] as usize..self.ranges[variable + 1] as usize]
    }

    /// The incidence of a function on a variable of it.
    pub fn incidence(&self, variable: usize, function: u32) -> Incidence {
        let place = self.functions_on(variable).partition_point(|&other| other < function);
        self.incidences(variable)[place]
    }

    /// Whether several functions, or a function's variables, have rows in one place.
    pub fn shares_rows(&self) -> bool {
        let rows = |v: usize| self.incidences(v).iter().map(|incidence| self.row_count(incidence)).sum::<usize>();
        let places = |v: usize| (1 + rows(v)) * self.width[v] as usize;
        (0..self.variables()).map(places).sum::<usize>() > self.rows.len()
    }

    /// Number of functions on a variable, those read in place included.
    pub fn degree(&self, variable: usize) -> usize {
        self.incidences(variable).len() + self.in_place(variable).len()
    }

    /// The functions on a variable that are read where they are.
    #[inline(always)]
    fn in_place(&self, variable: usize) -> &[u32] {
        self.in_place.get(variable).map_or(&[], Vec::as_slice)
    }

    /// For each function with copied rows, its variables and their incidences, as (function, variable, incidence) in
    /// order, by counting sort.
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

    /// Number of incidences of all variables.
    pub fn incidence_count(&self) -> usize {
        self.incidences.len()
    }

    /// Places of all values of all variables, padding included.
    pub fn moves(&self) -> usize {
        self.width.iter().map(|&width| width as usize).sum()
    }

    /// Whether every function's rows are copied.
    pub fn all_copied(&self) -> bool {
        self.in_place.iter().all(Vec::is_empty)
    }

    /// Where the row of an incidence begins under `values`.
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

    /// How far apart the rows of an incidence are for neighbouring values of `other`, a variable of its function.
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

    /// The variables that share a function of more than two variables, or one read in place, with `variable`; some
    /// may come more than once.
    pub fn larger_neighbours(&self, variable: usize) -> impl Iterator<Item = u32> {
        let copied = self.incidences(variable).iter().filter(|incidence| Self::binary(incidence).is_none());
        let others = copied.flat_map(|incidence| self.others(incidence).map(|pair| pair.0));
        let in_place = self.in_place(variable).iter().flat_map(|&f| self.problem.functions[f as usize].scope.iter());
        others.chain(in_place.copied().filter(move |&u| u as usize != variable))
    }

    /// The entries of all rows.
    #[inline(always)]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Where the unary row of a variable begins.
    pub fn unary_at(&self, variable: usize) -> u32 {
        self.unary[variable]
    }

    /// The pairs of variable and stride of an incidence beyond the first two.
    pub fn further(&self, incidence: &Incidence) -> &[(u32, u32)] {
        &self.further[incidence.further as usize..][..incidence.further_len as usize]
    }

    /// The other variables of an incidence's function, with how far apart the rows of their neighbouring values are.
    pub fn others(&self, incidence: &Incidence) -> impl Iterator<Item = (u32, u32)> {
        let Incidence { first, first_stride, second, second_stride, .. } = *incidence;
        let two = [(first, first_stride), (second, second_stride)];
        two.into_iter().chain(self.further(incidence).iter().copied()).filter(|&(_, stride)| stride > 0)
    }

    /// `width` entries from an offset.
    #[inline(always)]
    pub fn row(&self, offset: usize, width: usize) -> Row<'_> {
        self.rows.row(offset, width)
    }

    /// The unary row of a variable, padding included.
    pub fn unary(&self, variable: usize) -> &[i32] {
        self.rows.unary(self.unary[variable] as usize, self.width[variable] as usize)
    }

    /// How many rows an incidence of `variable` has.
    pub fn row_count(&self, incidence: &Incidence) -> usize {
        let domain = |v: u32| self.problem.domains[v as usize] as usize;
        let start = incidence.further as usize;
        let further = &self.further[start..start + incidence.further_len as usize];
        let second = if incidence.second_stride == 0 { 1 } else { domain(incidence.second) };
        domain(incidence.first) * second * further.iter().map(|pair| domain(pair.0)).product::<usize>()
    }

    /// Where the `index`-th row of an incidence of `variable` begins.
    pub fn nth_row(&self, variable: usize, incidence: &Incidence, index: usize) -> usize {
        incidence.base as usize + index * self.width[variable] as usize
    }

    /// Whether the incidence is a function of two variables, and then where its rows begin, the other variable, and
    /// how far apart the rows of its neighbouring values are.
    #[inline]
    pub fn binary(incidence: &Incidence) -> Option<(usize, usize, usize)> {
        (incidence.second_stride == 0 && incidence.further_len == 0).then_some((
            incidence.base as usize,
            incidence.first as usize,
            incidence.first_stride as usize,
        ))
    }

    /// Fills `row` (of the variable's width) with the cost of each value under the others' values; padded places get
    /// at least [`PADDING`](super::PADDING). Only incidences that `keep` accepts count.
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

    /// The same for a width known at compile time: the row stays in registers.
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

    /// The energy of an assignment: the sum of its entries in the core's units without the constant, a forbidden entry
    /// counting `hard << shift`; and how many are forbidden.
    pub fn energy(&self, values: &[u16]) -> Energy {
        self.energy_until(values, &Stop::new()).expect("no stop is set")
    }

    /// The same, or [`Error::Stopped`].
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

    /// What a forbidden entry costs in the core's units.
    #[inline(always)]
    pub fn price(&self) -> Cost {
        Cost::from(self.hard) << self.shift
    }

    /// The cost of a function under `values`.
    #[inline(always)]
    pub fn entry(&self, function: &CostFunction, values: &[u16]) -> Cost {
        function.cost_at(&self.problem.domains, |v| u32::from(values[v as usize]))
    }

    /// A function as seen from one of its variables, whose rows begin at `base`; pairs beyond two go to `further`.
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
                // for arity 2 the second is the first, which moves nothing
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
