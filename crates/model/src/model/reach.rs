//! The relevant entries of a network whose values differ too much for 64-bit costs, or for their sums. An entry that
//! costs more than a *witness* does in total, whatever the other functions cost, is in no assignment as good as the
//! witness.

use crate::error::Error;
use crate::rng::Rng;
use crate::stop::Stop;

/// The effort of the descents to a witness, in visits for each entry and each value of the network.
const LOOKS: u64 = 64;

/// A relative margin for sums of differences: far above the rounding errors of doubles, far below the entries excluded.
const MARGIN: f64 = 1.0 + 1.0 / (1 << 20) as f64;

/// The entries within reach of a witness.
pub struct Reach {
    /// For each function, the largest cost of an entry within reach.
    pub dear: Vec<f64>,
    /// The witness; `None` if all entries are within reach.
    pub witness: Option<Box<[u32]>>,
}

impl Reach {
    /// Returns the reach that contains every entry of `functions` functions.
    pub fn all(functions: usize) -> Self {
        Reach { dear: vec![f64::INFINITY; functions], witness: None }
    }
}

/// Computes the reach of the best assignment of several descents, which keep the variables of `fixed` at their values.
/// Every entry is within reach if all of these assignments are infeasible.
pub fn near_a_witness(
    domains: &[u32],
    scopes: &[&[u32]],
    tables: &[Vec<f64>],
    fixed: &[(u32, u32)],
    stop: &Stop,
) -> Result<Reach, Error> {
    let least: Vec<f64> = tables.iter().map(|table| table.iter().copied().fold(f64::INFINITY, f64::min)).collect();
    let excess = |descent: &Descent<'_>| -> f64 {
        (0..tables.len()).map(|function| descent.entry(function) - least[function]).sum()
    };
    let mut descent = Descent::new(domains, scopes, tables, fixed);
    let entries = tables.iter().map(|table| table.len() as u64).sum::<u64>();
    let looks = LOOKS.saturating_mul(entries.saturating_add(domains.iter().copied().map(u64::from).sum()));
    let mut best: Option<(f64, Box<[u32]>)> = None;
    let mut rng = Rng::new(0);
    while best.is_none() || descent.looks < looks {
        descent.run(stop)?;
        let excess = excess(&descent);
        if excess.is_finite() && best.as_ref().is_none_or(|(least, _)| excess < *least) {
            best = Some((excess, descent.values.as_slice().into()));
        }
        if descent.looks >= looks || descent.free.is_empty() {
            break;
        }
        descent.restart(&mut rng);
    }
    Ok(match best {
        Some((excess, witness)) => {
            let dear = least.iter().map(|least| least + excess * MARGIN).collect();
            Reach { dear, witness: Some(witness) }
        }
        None => Reach::all(tables.len()),
    })
}

/// Coordinate descent on sums of doubles.
struct Descent<'a> {
    scopes: &'a [&'a [u32]],
    tables: &'a [Vec<f64>],
    domains: &'a [u32],
    /// The functions of each variable.
    functions: Vec<Vec<usize>>,
    free: Vec<usize>,
    values: Vec<u32>,
    /// The number of visits of entries and values so far.
    looks: u64,
}

impl<'a> Descent<'a> {
    fn new(domains: &'a [u32], scopes: &'a [&'a [u32]], tables: &'a [Vec<f64>], fixed: &[(u32, u32)]) -> Self {
        let mut functions = vec![Vec::new(); domains.len()];
        for (function, scope) in scopes.iter().enumerate() {
            scope.iter().for_each(|&v| functions[v as usize].push(function));
        }
        let mut values = vec![0; domains.len()];
        let mut is_fixed = vec![false; domains.len()];
        for &(variable, value) in fixed {
            (values[variable as usize], is_fixed[variable as usize]) = (value, true);
        }
        let free = (0..domains.len()).filter(|&v| !is_fixed[v]).collect();
        Descent { scopes, tables, domains, functions, free, values, looks: 0 }
    }

    fn restart(&mut self, rng: &mut Rng) {
        for &v in &self.free {
            self.values[v] = rng.below(u64::from(self.domains[v])) as u32;
        }
    }

    /// Assigns each variable in turn its best value until no variable improves.
    fn run(&mut self, stop: &Stop) -> Result<(), Error> {
        let mut better = true;
        while better {
            better = false;
            for k in 0..self.free.len() {
                if stop.is_set() {
                    return Err(Error::Stopped);
                }
                let v = self.free[k];
                let costs: Vec<(u32, f64)> = (0..self.domains[v]).map(|value| self.cost(v, value)).collect();
                // a variable that no function reads takes time too
                self.looks += costs.len() as u64 * (1 + self.functions[v].len() as u64);
                let (mut own, before) = (self.values[v], self.values[v]);
                for (value, cost) in costs.iter().enumerate() {
                    if *cost < costs[own as usize] {
                        own = value as u32;
                    }
                }
                self.values[v] = own;
                better |= own != before;
            }
        }
        Ok(())
    }

    /// Returns the cost of a value of a variable over its functions: the number of infinite entries, and the sum of the
    /// finite ones.
    fn cost(&self, v: usize, value: u32) -> (u32, f64) {
        self.functions[v].iter().fold((0, 0.0), |(impossible, sum), &function| {
            let cost = self.entry_with(function, |u| if u == v { value } else { self.values[u] });
            if cost == f64::INFINITY { (impossible + 1, sum) } else { (impossible, sum + cost) }
        })
    }

    fn entry(&self, function: usize) -> f64 {
        self.entry_with(function, |u| self.values[u])
    }

    fn entry_with(&self, function: usize, value: impl Fn(usize) -> u32) -> f64 {
        let next = |index: usize, &u: &u32| index * self.domains[u as usize] as usize + value(u as usize) as usize;
        self.tables[function][self.scopes[function].iter().fold(0, next)]
    }
}
