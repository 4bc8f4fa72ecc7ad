//! Seeded instances: equal kind, parameters and seed give equal networks on every machine.
//!
//! [`KINDS`] is the list of networks that the command line offers, [`DIAGRAMS`] the list of interactive diagrams. Each
//! kind is one function of this module, which can also be called directly. A new kind is one function and one entry of
//! a list.

use crate::error::Error;
use crate::model::{Builder, Cost, FORBIDDEN, Network};
use crate::rng::Rng;
use rustc_hash::FxHashSet;

mod arrangements;
mod frequency;
mod graph;
mod hidden;
mod interactive;
mod kinds;
mod location;
mod schedules;
mod tied;

pub use arrangements::{cliques, permutation, routes};
pub use frequency::{Frequency, frequency};
pub use hidden::{latin, sat};
pub use interactive::{DIAGRAMS, idid_tiger, idid_uav};
pub use kinds::KINDS;
pub use location::warehouse;
pub use schedules::{Timetable, roster, timetable};
pub use tied::{Parity, Quads, parity, quads, side_chains};

/// Largest number of table entries of a generated network: 1 GiB if a byte holds each, as is usual.
const ENTRIES: u64 = 1 << 30;

/// Largest number of functions; each takes about 100 bytes besides its table.
const FUNCTIONS: u64 = 1 << 25;

/// Largest cost of the benchmark networks, whose costs are in 0..=100 (GpuBE, section 8.1).
const LARGEST_COST: u64 = 100;

/// A kind of network or diagram that can be generated.
pub struct Kind<M = Network> {
    /// The name of the kind.
    pub name: &'static str,
    /// Its description in one line, to follow "Generate".
    pub about: &'static str,
    /// The parameters of the kind.
    pub parameters: &'static [Parameter],
    build: fn(&Values<'_>, &mut Rng) -> Result<M, Error>,
}

/// A parameter of a kind.
pub struct Parameter {
    /// The name of the parameter.
    pub name: &'static str,
    /// Its description in a few words.
    pub about: &'static str,
    /// The default value.
    pub default: f64,
    /// The least and the largest value.
    pub range: (f64, f64),
    /// Whether the value is a whole number.
    pub whole: bool,
}

/// Generates a network of a kind; parameters that are not given have their defaults.
///
/// # Errors
/// Returns an error if the kind or a parameter is unknown, if a value is out of range, or if parameters do not fit
/// together.
pub fn generate(kind: &str, parameters: &[(&str, &str)], seed: u64) -> Result<Network, Error> {
    let mut network = build(&KINDS, kind, parameters, seed)?;
    network.name = format!("{kind}-{seed}");
    Ok(network)
}

/// Generates an interactive diagram of a kind, as the text of an `.idid` file; parameters that are not given have their
/// defaults.
///
/// # Errors
/// Returns an error if the kind or a parameter is unknown, if a value is out of range, or if parameters do not fit
/// together.
pub fn generate_diagram(kind: &str, parameters: &[(&str, &str)], seed: u64) -> Result<String, Error> {
    build(&DIAGRAMS, kind, parameters, seed)
}

fn build<M>(kinds: &[Kind<M>], kind: &str, parameters: &[(&str, &str)], seed: u64) -> Result<M, Error> {
    let Some(kind) = kinds.iter().find(|known| known.name == kind) else {
        let names: Vec<_> = kinds.iter().map(|known| known.name).collect();
        return usage(format!("unknown kind `{}`; there are {}", kind.escape_debug(), names.join(", ")));
    };
    let mut values: Vec<f64> = kind.parameters.iter().map(|parameter| parameter.default).collect();
    for &(name, text) in parameters {
        let Some(position) = kind.parameters.iter().position(|parameter| parameter.name == name) else {
            let names: Vec<_> = kind.parameters.iter().map(|parameter| parameter.name).collect();
            let name = name.escape_debug();
            return usage(format!("{} has no parameter `{name}`; it has {}", kind.name, names.join(", ")));
        };
        values[position] = kind.parameters[position].parse(text)?;
    }
    (kind.build)(&Values { parameters: kind.parameters, values: &values }, &mut Rng::new(seed))
}

impl Parameter {
    fn parse(&self, text: &str) -> Result<f64, Error> {
        let (least, largest) = self.range;
        match text.parse::<f64>() {
            Ok(value) if (least..=largest).contains(&value) && !(self.whole && value.fract() != 0.0) => Ok(value),
            _ => {
                let number = if self.whole { "a whole number" } else { "a number" };
                usage(format!("{} = {}: expected {number} from {least} to {largest}", self.name, text.escape_debug()))
            }
        }
    }
}

/// The values of a kind's parameters.
struct Values<'a> {
    parameters: &'a [Parameter],
    values: &'a [f64],
}

impl Values<'_> {
    fn real(&self, name: &str) -> f64 {
        let position = self.parameters.iter().position(|parameter| parameter.name == name);
        self.values[position.expect("a kind asks for parameters of its own list")]
    }

    fn whole(&self, name: &str) -> u32 {
        self.real(name) as u32
    }
}

/// Generates a connected random network (GpuBE, section 8.1): `n` variables of `d` values, and functions on a share
/// `p1` of all pairs. In each table a share `p2` of the entries is forbidden; the other costs are in 0..=100.
///
/// The paper's text says n(n-1)p1 edges. Its induced widths (2.9 at n = 10, p1 = 0.3; p1 up to 0.9) are those of half
/// as many edges, which is the meaning of p1 as a density.
///
/// # Errors
/// Returns an error if there are too few functions to connect the variables, or if the network is too large.
pub fn random(n: u32, d: u32, p1: f64, p2: f64, rng: &mut Rng) -> Result<Network, Error> {
    let edges = graph::share_of_pairs(n, p1);
    if edges + 1 < u64::from(n) {
        return usage(format!("{edges} functions cannot connect {n} variables: p1 is too small"));
    }
    check_size(n, d, edges)?;
    let edges = graph::connected(n, edges as usize, rng);
    partly_forbidden(n, d, p2, &edges, rng)
}

/// Generates a scale-free network (GpuBE, section 8.1; Barabási and Albert): starting with two connected variables,
/// each new variable is connected to two others, chosen with probabilities proportional to their degrees.
///
/// # Errors
/// Returns an error if the network is too large.
pub fn scale_free(n: u32, d: u32, p2: f64, rng: &mut Rng) -> Result<Network, Error> {
    check_size(n, d, 2 * u64::from(n))?;
    let edges = graph::preferential(n, rng);
    partly_forbidden(n, d, p2, &edges, rng)
}

/// Generates a grid (GpuBE, section 8.1) of variables of `d` values. In each table a share `p2` of the entries is
/// forbidden; the other costs are in 0..=100.
///
/// # Errors
/// Returns an error if the network is too large.
pub fn grid(rows: u32, columns: u32, d: u32, p2: f64, rng: &mut Rng) -> Result<Network, Error> {
    let n = check_grid(rows, columns, d)?;
    partly_forbidden(n, d, p2, &graph::grid(rows, columns, false), rng)
}

/// Generates a network of `functions` functions on random pairs of variables, with costs in 0..=`max_cost`.
///
/// # Errors
/// Returns an error if there are more functions than pairs, or if the network is too large.
pub fn large_sparse(n: u32, d: u32, functions: u32, max_cost: u32, rng: &mut Rng) -> Result<Network, Error> {
    let pairs = graph::share_of_pairs(n, 1.0);
    if u64::from(functions) > pairs {
        return usage(format!("{functions} functions, but {n} variables have only {pairs} pairs"));
    }
    check_size(n, d, u64::from(functions))?;
    let edges = graph::distinct(n, functions as usize, FxHashSet::default(), Vec::new(), rng);
    let mut draft = Draft::new(n, d)?;
    for edge in &edges {
        let _ = draft.add(edge, random_costs(u64::from(d) * u64::from(d), max_cost, rng))?;
    }
    Ok(draft.finish())
}

/// Generates a random graph with a share `p` of all pairs as edges, to be colored with `k` colors: an edge whose ends
/// have equal colors costs 1.
///
/// # Errors
/// Returns an error if the network is too large.
pub fn coloring(n: u32, p: f64, k: u32, rng: &mut Rng) -> Result<Network, Error> {
    let edges = graph::share_of_pairs(n, p);
    check_size(n, 1, edges)?;
    let edges = graph::distinct(n, edges as usize, FxHashSet::default(), Vec::new(), rng);
    let mut draft = Draft::new(n, k)?;
    for edge in &edges {
        draft.share(edge, 0, || pair_table(k, k, |a, b| Cost::from(a == b)))?;
    }
    Ok(draft.finish())
}

/// Generates the problem of `n` queens on a board, one in each row; the value of a row's variable is the queen's
/// column. Squares cost 0..=`max_cost`.
///
/// # Errors
/// Returns an error if the network is too large.
pub fn queens(n: u32, max_cost: u32, rng: &mut Rng) -> Result<Network, Error> {
    check_size(n, n, u64::from(n))?; // rows at equal distances share a table
    let mut draft = Draft::new(n, n)?;
    for row in 0..n {
        let _ = draft.add(&[row], random_costs(u64::from(n), max_cost, rng))?;
    }
    for upper in 0..n {
        for lower in upper + 1..n {
            let distance = lower - upper;
            let attack = |a: u32, b: u32| if a == b || a.abs_diff(b) == distance { FORBIDDEN } else { 0 };
            draft.share(&[upper, lower], distance as usize, || pair_table(n, n, attack))?;
        }
    }
    Ok(draft.finish())
}

/// Generates an Ising spin glass on a square grid. Couplings are in -`coupling`..=`coupling`: a positive one costs its
/// strength if the spins differ, a negative one if they agree. Fields are in -`field`..=`field`.
///
/// # Errors
/// Returns an error if the network is too large.
pub fn ising(side: u32, wrap: bool, coupling: u32, field: u32, rng: &mut Rng) -> Result<Network, Error> {
    let n = check_grid(side, side, 2)?;
    let mut draft = Draft::new(n, 2)?;
    for spin in 0..n {
        let strength = signed(field, rng);
        let _ = draft.add(&[spin], vec![(-strength).max(0), strength.max(0)])?;
    }
    for edge in graph::grid(side, side, wrap) {
        let strength = signed(coupling, rng);
        let (agree, differ) = ((-strength).max(0), strength.max(0));
        let _ = draft.add(&edge, vec![agree, differ, differ, agree])?;
    }
    Ok(draft.finish())
}

/// Generates a Potts model on a square grid: `d` labels with data costs in 0..=`data`, and for each pair of neighbours
/// one price in 0..=`smoothness` if their labels differ.
///
/// # Errors
/// Returns an error if the network is too large.
pub fn potts(side: u32, d: u32, smoothness: u32, data: u32, rng: &mut Rng) -> Result<Network, Error> {
    let n = check_grid(side, side, d)?;
    let mut draft = Draft::new(n, d)?;
    for site in 0..n {
        let _ = draft.add(&[site], random_costs(u64::from(d), data, rng))?;
    }
    for edge in graph::grid(side, side, false) {
        let price = rng.below(u64::from(smoothness) + 1) as Cost;
        let _ = draft.add(&edge, pair_table(d, d, |a, b| if a == b { 0 } else { price }))?;
    }
    Ok(draft.finish())
}

/// Returns a network with a random table for each of `edges`, in each of which exactly a share `p2` of the entries is
/// forbidden.
fn partly_forbidden(n: u32, d: u32, p2: f64, edges: &[[u32; 2]], rng: &mut Rng) -> Result<Network, Error> {
    let mut draft = Draft::new(n, d)?;
    let entries = u64::from(d) * u64::from(d);
    let forbidden = (p2 * entries as f64).round() as usize;
    let mut order: Vec<usize> = (0..entries as usize).collect();
    for edge in edges {
        let mut costs = random_costs(entries, LARGEST_COST as u32, rng);
        rng.shuffle(&mut order);
        for &entry in &order[..forbidden] {
            costs[entry] = FORBIDDEN;
        }
        let _ = draft.add(edge, costs)?;
    }
    Ok(draft.finish())
}

/// A network under construction, with the sum of the largest costs of its functions.
struct Draft {
    builder: Builder,
    sum: Cost,
    /// Tables that several functions share: the first function of each and its largest cost.
    shared: Vec<Option<(u32, Cost)>>,
}

impl Draft {
    fn new(n: u32, d: u32) -> Result<Self, Error> {
        Self::of((0..n).map(|_| d))
    }

    fn of(domains: impl Iterator<Item = u32>) -> Result<Self, Error> {
        let mut builder = Network::builder("generated");
        for domain in domains {
            let _ = builder.variable(domain)?;
        }
        Ok(Draft { builder, sum: 0, shared: Vec::new() })
    }

    fn add(&mut self, scope: &[u32], costs: Vec<Cost>) -> Result<(u32, Cost), Error> {
        let largest = costs.iter().copied().filter(|&cost| cost != FORBIDDEN).max().unwrap_or(0);
        self.sum += largest;
        Ok((self.builder.dense(scope, costs)?, largest))
    }

    /// Adds a function whose table is shared by all functions added with the same number.
    fn share(&mut self, scope: &[u32], number: usize, table: impl FnOnce() -> Vec<Cost>) -> Result<(), Error> {
        if self.shared.len() <= number {
            self.shared.resize(number + 1, None);
        }
        if let Some((original, largest)) = self.shared[number] {
            let _ = self.builder.shared(scope, original)?;
            self.sum += largest;
        } else {
            self.shared[number] = Some(self.add(scope, table())?);
        }
        Ok(())
    }

    /// Returns the network. Its `top` is one more than the largest cost of an assignment without a forbidden entry.
    fn finish(mut self) -> Network {
        let _ = self.builder.top(self.sum + 1);
        self.builder.build()
    }
}

fn random_costs(entries: u64, largest: u32, rng: &mut Rng) -> Vec<Cost> {
    (0..entries).map(|_| rng.below(u64::from(largest) + 1) as Cost).collect()
}

fn pair_table(rows: u32, columns: u32, cost: impl Fn(u32, u32) -> Cost) -> Vec<Cost> {
    (0..rows).flat_map(|a| (0..columns).map(move |b| (a, b))).map(|(a, b)| cost(a, b)).collect()
}

fn signed(largest: u32, rng: &mut Rng) -> Cost {
    rng.below(2 * u64::from(largest) + 1) as Cost - Cost::from(largest)
}

fn check_grid(rows: u32, columns: u32, d: u32) -> Result<u32, Error> {
    let n = u64::from(rows) * u64::from(columns);
    let Ok(variables) = u32::try_from(n) else {
        return usage(format!("a grid of {rows} by {columns} is too large"));
    };
    check_size(variables, d, 2 * n)?;
    Ok(variables)
}

fn check_size(n: u32, d: u32, functions: u64) -> Result<(), Error> {
    let entries = u64::from(d).saturating_mul(functions.saturating_mul(u64::from(d)).saturating_add(u64::from(n)));
    if entries <= ENTRIES && functions <= FUNCTIONS {
        return Ok(());
    }
    let limit = format!("{FUNCTIONS} functions and {ENTRIES} table entries are possible");
    usage(format!("{n} variables of {d} values with {functions} functions are too large: {limit}"))
}

fn usage<T>(message: String) -> Result<T, Error> {
    Err(Error::Usage(message))
}

#[cfg(test)]
mod tests;

// other crates, by the names that their areas have everywhere
use fangs_base::{error, rng};
#[cfg(test)]
use fangs_check as check;
#[cfg(test)]
use fangs_formats as formats;
use fangs_model::model;
