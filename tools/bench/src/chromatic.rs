//! Simulated annealing of one state on a device, with a kernel launch for each color class: the plain method with which
//! the search on large networks is compared. It supports networks whose variables have equal numbers of values and
//! whose functions have at most two variables and costs of one byte.

#![allow(unsafe_code, reason = "launches of kernels")]

use crate::device::{Blocks, Cuda, CudaSlice, DeviceError, Kernel, PushKernelArg, Source};
use crate::kernels;
use crate::model::{CostFunction, FORBIDDEN, Network};
use crate::stop::Stop;
use fangs_model::graph::first_fit;
use std::sync::Arc;

/// Threads of a block.
const THREADS: u32 = 128;
/// The inverse temperatures of the first and the last but one sweep, times the highest cost of an entry.
const BETAS: [f32; 2] = [2.0, 100.0];
/// The inverse temperature of the last sweep, times the highest cost of an entry.
const GREEDY: f32 = 5000.0;
/// The numbers of values for which kernels are compiled if there is no network.
const USUAL: [usize; 3] = [2, 5, 8];

/// A network on the device, and one state of it.
pub struct Chromatic {
    cuda: Arc<Cuda>,
    visit: Kernel,
    /// The variables, color class by color class.
    members: CudaSlice<u32>,
    /// The cumulative number of variables of the classes, up to and including each one.
    ends: Vec<u32>,
    /// The number of neighbours of all members before each one.
    first: CudaSlice<u32>,
    neighbours: CudaSlice<u32>,
    rows: CudaSlice<u64>,
    unary: CudaSlice<u64>,
    values: CudaSlice<u8>,
    highest: f32,
}

/// The arrays of the device, on the host.
struct Rows {
    values: usize,
    classes: Vec<Vec<u32>>,
    first: Vec<u32>,
    neighbours: Vec<u32>,
    rows: Vec<u64>,
    unary: Vec<u64>,
    highest: u8,
}

impl Chromatic {
    /// Colors a network greedily, lays out its costs and uploads them. Returns `None` if the method does not support
    /// it.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn new(cuda: &Arc<Cuda>, network: &Network) -> Result<Option<Chromatic>, DeviceError> {
        let Some(host) = Rows::new(network) else { return Ok(None) };
        let module = cuda.load(&source(&[host.values]))?;
        let ends = host.classes.iter().scan(0, |end, class| {
            *end += class.len() as u32;
            Some(*end)
        });
        Ok(Some(Chromatic {
            visit: module.kernel(&name(host.values), 0)?,
            ends: ends.collect(),
            members: cuda.upload(&host.classes.concat())?,
            first: cuda.upload(&host.first)?,
            neighbours: cuda.upload(&host.neighbours)?,
            rows: cuda.upload(&host.rows)?,
            unary: cuda.upload(&host.unary)?,
            values: cuda.zeros(network.domains().len())?,
            highest: f32::from(host.highest.max(1)),
            cuda: cuda.clone(),
        }))
    }

    /// Makes an anneal from value 0 of all variables, and returns the values at its end.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn anneal(&self, sweeps: u32, key: u32) -> Result<Vec<u8>, DeviceError> {
        self.cuda.set_bytes(&self.values, 0)?;
        for sweep in 0..sweeps {
            let part = sweep as f32 / sweeps as f32;
            let beta = if sweep + 1 == sweeps { GREEDY } else { BETAS[0] * (BETAS[1] / BETAS[0]).powf(part) };
            let (beta, mut begin) = (beta / self.highest, 0);
            for (class, &end) in (0..).zip(&self.ends) {
                let draw =
                    key.wrapping_mul(0x9e37_79b9).wrapping_add(sweep.wrapping_mul(self.ends.len() as u32) + class);
                let blocks = Blocks::new((end - begin).div_ceil(THREADS), THREADS);
                // SAFETY: the arguments are the kernel's, and there are values, rows and neighbours for each member.
                unsafe {
                    self.visit.launch(self.cuda.stream(), blocks, |arguments| {
                        let arguments = arguments.arg(&self.members).arg(&begin).arg(&end).arg(&self.first);
                        let arguments = arguments.arg(&self.neighbours).arg(&self.rows).arg(&self.unary);
                        arguments.arg(&self.values).arg(&beta).arg(&draw)
                    })?;
                }
                begin = end;
            }
        }
        self.cuda.read(&self.values)
    }
}

impl Rows {
    fn new(network: &Network) -> Option<Rows> {
        let domains = network.domains();
        let (n, values) = (domains.len(), *domains.first()? as usize);
        let suits = |function: &CostFunction| function.scope.len() <= 2;
        if !(1..=16).contains(&values)
            || domains.iter().any(|&domain| domain as usize != values)
            || network.globals().len() > 0
            || !network.functions().iter().all(suits)
        {
            return None;
        }
        let words = values.div_ceil(8);
        let mut first = vec![0u32; n + 1];
        let pairs = || network.functions().iter().filter(|function| function.scope.len() == 2);
        pairs().for_each(|pair| pair.scope.iter().for_each(|&v| first[v as usize + 1] += 1));
        (0..n).for_each(|v| first[v + 1] += first[v]);
        // in the order of the variables; `by_class` brings them into the order of the classes
        let mut free = first.clone();
        let mut neighbours = vec![0u32; first[n] as usize];
        let mut rows = vec![0u64; neighbours.len() * values * words];
        let (mut unary, mut highest) = (vec![0u64; n * words], 0);
        for function in network.functions() {
            let least = function.entries(domains).min()?;
            let entries =
                function.entries(domains).map(|cost| (cost < FORBIDDEN).then(|| u8::try_from(cost - least).ok())?);
            let entries: Vec<u8> = entries.collect::<Option<_>>()?;
            highest = entries.iter().fold(highest, |a, &b| a.max(b));
            match function.scope[..] {
                [] => {}
                [v] => (0..values).try_for_each(|k| {
                    let word = &mut unary[v as usize * words + k / 8];
                    let sum = u8::try_from(u16::from((*word >> (k % 8 * 8)) as u8) + u16::from(entries[k])).ok()?;
                    *word = *word & !(255 << (k % 8 * 8)) | u64::from(sum) << (k % 8 * 8);
                    Some(())
                })?,
                [u, v, ..] => {
                    for (own, other, strides) in [(u, v, [values, 1]), (v, u, [1, values])] {
                        let edge = free[own as usize] as usize;
                        free[own as usize] += 1;
                        neighbours[edge] = other;
                        for (theirs, row) in rows[edge * values * words..].chunks_mut(words).take(values).enumerate() {
                            for k in 0..values {
                                row[k / 8] |= u64::from(entries[k * strides[0] + theirs * strides[1]]) << (k % 8 * 8);
                            }
                        }
                    }
                }
            }
        }
        let classes = color(&first, &neighbours)?;
        Some(Rows { values, highest, first, neighbours, rows, unary, classes }.by_class(words))
    }

    /// Brings all arrays into the order of the classes' members.
    fn by_class(self, words: usize) -> Rows {
        let (members, row) = (self.classes.concat(), self.values * words);
        let edges = |v: u32| self.first[v as usize] as usize..self.first[v as usize + 1] as usize;
        let mut first = vec![0];
        first.extend(members.iter().scan(0, |end, &v| {
            *end += edges(v).len() as u32;
            Some(*end)
        }));
        let collect = |of: &[u64], range: &dyn Fn(u32) -> std::ops::Range<usize>| {
            members.iter().flat_map(|&v| of[range(v)].iter().copied()).collect()
        };
        Rows {
            neighbours: members.iter().flat_map(|&v| self.neighbours[edges(v)].iter().copied()).collect(),
            rows: collect(&self.rows, &|v| edges(v).start * row..edges(v).end * row),
            unary: collect(&self.unary, &|v| v as usize * words..(v as usize + 1) * words),
            first,
            ..self
        }
    }
}

/// Colors the variables in their order, each with the first color that no neighbour has, and returns the classes.
fn color(first: &[u32], neighbours: &[u32]) -> Option<Vec<Vec<u32>>> {
    let order: Vec<u32> = (0..first.len() as u32 - 1).collect();
    let of = |v: u32| neighbours[first[v as usize] as usize..first[v as usize + 1] as usize].iter().copied();
    first_fit(&order, of, usize::MAX, usize::MAX, &Stop::new()).ok()?
}

fn name(values: usize) -> String {
    format!("visit<{values}>")
}

/// Returns the source of the kernels for the given numbers of values.
fn source(values: &[usize]) -> Source {
    let text = kernels::own("chromatic.cu", include_str!("../kernels/chromatic.cu"));
    values.iter().fold(text, |source, &values| source.kernel(name(values)))
}

/// Returns the source of kernels for usual numbers of values, which compile without a device.
pub(crate) fn sources() -> Source {
    source(&USUAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;

    #[test]
    fn rows_hold_the_costs_of_each_function_for_both_of_its_variables() {
        let network = generate("potts", &[("side", "7"), ("d", "9")], 3).expect("a kind");
        let rows = Rows::new(&network).expect("it suits");
        let (members, mut seen) = (rows.classes.concat(), vec![0; 49]);
        assert_eq!((rows.values, rows.classes.len(), rows.neighbours.len()), (9, 2, 2 * 84));
        for (member, &v) in members.iter().enumerate() {
            seen[v as usize] += 1;
            for edge in rows.first[member]..rows.first[member + 1] {
                let other = rows.neighbours[edge as usize];
                let pair = network.functions().iter().find(|f| f.scope[..] == [v, other] || f.scope[..] == [other, v]);
                let pair = pair.expect("they have a function");
                for (own, theirs) in [(0, 0), (8, 3), (5, 5)] {
                    let mut values = vec![0; 49];
                    (values[v as usize], values[other as usize]) = (own, theirs);
                    let word = rows.rows[(edge as usize * 9 + theirs as usize) * 2 + own as usize / 8];
                    let cost = pair.cost(network.domains(), &values) - pair.min(network.domains());
                    assert_eq!((word >> (own % 8 * 8)) as u8, cost as u8);
                }
            }
        }
        assert!(seen.iter().all(|&times| times == 1));
        let forbids = generate("grid", &[("side", "4"), ("d", "3"), ("p2", "0.3")], 3).expect("a kind");
        assert!(Rows::new(&forbids).is_none(), "entries that are no bytes");
        assert!(Rows::new(&generate("sat", &[("n", "9")], 3).expect("a kind")).is_none(), "three variables");
    }
}
