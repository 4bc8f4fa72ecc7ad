//! Helpers for the tests of several crates: resources that a machine may lack, and random networks and problems.

pub mod cores;
pub mod globals;
pub mod networks;
pub mod problems;

use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_device::{Choice, Cuda};
use fangs_formats::{self as formats, ReadOptions, Source};
use fangs_model::model::{
    Builder, Cost, CostFunction, FORBIDDEN, Network, Potentials, Problem, SparseTable, Table, Variable,
};
use std::env::var_os;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Reports that this test, or a part of it, does not run here: on the standard error stream, past the test harness,
/// which hides the output of passing tests; and in the file that `FANGS_SKIPPED` names.
pub fn skip(why: impl Display) {
    let thread = std::thread::current();
    let line = format!("skipped: {}: {why}\n", thread.name().unwrap_or("a thread of a test"));
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = var_os("FANGS_SKIPPED") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("FANGS_SKIPPED names a file");
    }
}

/// Returns a resource that a test needs. If it was not found, reports a skipped test and returns `None`.
///
/// # Panics
/// Panics if the resource was not found and the environment variable `required` is set.
pub fn needs<T, E: Display>(required: &str, found: Result<T, E>) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(error) if var_os(required).is_some() => panic!("{required} is set: {error}"),
        Err(error) => {
            skip(error);
            None
        }
    }
}

/// Returns the first device; `None`, with a skipped test reported, if there is none.
pub fn gpu() -> Option<Arc<Cuda>> {
    needs("FANGS_REQUIRE_GPU", Choice::Cuda(0).open())?.cuda
}

/// Returns `None`, with a skipped test reported, if there are fewer than two devices.
pub fn two_gpus() -> Option<()> {
    needs("FANGS_REQUIRE_TWO_GPUS", Choice::Several(vec![0, 1]).open()).map(drop)
}

/// Returns the CUDA compiler; `None`, with a skipped test reported, if there is none.
pub fn nvrtc() -> Option<&'static fangs_device::nvrtc::Nvrtc> {
    needs("FANGS_REQUIRE_NVRTC", fangs_device::nvrtc::Nvrtc::get())
}

/// Returns the path of a published instance in `FANGS_INSTANCES` or `../shared/instances`; `None`, with a skipped test
/// reported, if it is not there.
pub fn published(name: &str) -> Option<PathBuf> {
    // tests run in the folder of their package
    let near = ["../shared/instances", "../../shared/instances", "../../../shared/instances"].map(PathBuf::from);
    let [first, ..] = &near;
    let near = || near.iter().find(|folder| folder.is_dir()).unwrap_or(first).clone();
    let folder = var_os("FANGS_INSTANCES").map_or_else(near, PathBuf::from);
    let file = folder.join(name);
    let found = if file.is_file() { Ok(file) } else { Err(format!("there is no {}", file.display())) };
    needs("FANGS_REQUIRE_INSTANCES", found)
}

/// Returns a published network; `None`, with a skipped test reported, if it is not there.
pub fn published_network(name: &str) -> Option<Network> {
    let read = |file| formats::read(&Source::File(file), None, &ReadOptions::default(), &Stop::new());
    Some(read(published(name)?).expect("a published network"))
}

/// The parameters of random networks and problems.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    /// Number of variables.
    pub variables: usize,
    /// Domain sizes, one of which is drawn for each variable.
    pub domains: &'a [u32],
    /// Number of functions; a problem drops those of fewer than two variables and of repeated scopes.
    pub functions: usize,
    /// Arities, one of which is drawn for each function, limited by the number of variables.
    pub arities: &'a [usize],
    /// The least and the largest finite cost.
    pub costs: (Cost, Cost),
    /// Average number of forbidden entries among ten.
    pub forbidden: u64,
    /// Average number of sparse tables among twelve, and their largest number of tuples.
    pub sparse: (u64, usize),
    /// Average number of functions among twelve that share the table of another one, if one fits.
    pub shared: u64,
    /// Average number of functions of two variables among twelve that are a mapping or a sum of unary costs.
    pub separable: u64,
    /// Largest number of assignments. Variables that would exceed it have one value.
    pub assignments: u64,
}

/// A function's table. A sparse one has the default cost, the tuples, and their costs.
enum Drawn {
    Dense(Vec<Cost>),
    Sparse(Cost, Vec<u32>, Vec<Cost>),
}

impl Shape<'_> {
    /// Functions of two variables with dense tables, which share nothing.
    pub const PLAIN: Shape<'static> = Shape {
        variables: 1,
        domains: &[2],
        functions: 0,
        arities: &[2],
        costs: (0, 0),
        forbidden: 0,
        sparse: (0, 0),
        shared: 0,
        separable: 0,
        assignments: u64::MAX,
    };

    fn cost(&self, rng: &mut Rng) -> Cost {
        let (low, high) = self.costs;
        if rng.below(10) < self.forbidden { FORBIDDEN } else { low + rng.below((high - low + 1) as u64) as Cost }
    }

    fn domains(&self, rng: &mut Rng) -> Vec<u32> {
        let mut left = self.assignments;
        let mut domain = |_| match self.domains[rng.index(self.domains.len())] {
            domain if u64::from(domain) > left => 1,
            domain => {
                left /= u64::from(domain);
                domain
            }
        };
        (0..self.variables).map(&mut domain).collect()
    }

    fn scope(&self, rng: &mut Rng) -> Vec<u32> {
        let mut scope: Vec<u32> = (0..self.variables as u32).collect();
        rng.shuffle(&mut scope);
        scope.truncate(self.arities[rng.index(self.arities.len())]);
        scope
    }

    fn table(&self, rng: &mut Rng, sizes: &[u32]) -> Drawn {
        let size: usize = sizes.iter().map(|&size| size as usize).product();
        let (sparse, most) = self.sparse;
        if !sizes.is_empty() && rng.below(12) < sparse {
            let count = rng.index(size.min(most) + 1);
            let any = |size: &u32, rng: &mut Rng| rng.below(u64::from(*size)) as u32;
            let tuples = (0..count).flat_map(|_| sizes).map(|size| any(size, rng)).collect();
            let costs = (0..count).map(|_| self.cost(rng)).collect();
            return Drawn::Sparse(self.cost(rng), tuples, costs);
        }
        if let [first, second] = sizes.iter().map(|&size| size as usize).collect::<Vec<_>>()[..]
            && rng.below(12) < self.separable
        {
            let is_sum = rng.below(2) == 0;
            let ours: Vec<Cost> = (0..first).map(|_| self.cost(rng).min(50)).collect();
            let theirs: Vec<Cost> = (0..second).map(|_| self.cost(rng)).collect();
            let image: Vec<usize> = (0..first).map(|_| rng.index(second)).collect();
            let entry = |i: usize, rng: &mut Rng| match (i / second, i % second) {
                (a, b) if is_sum => fangs_model::model::add(ours[a], theirs[b]),
                (a, b) if image[a] == b => rng.below(3) as Cost,
                _ => FORBIDDEN,
            };
            return Drawn::Dense((0..size).map(|i| entry(i, rng)).collect());
        }
        Drawn::Dense((0..size).map(|_| self.cost(rng)).collect())
    }

    /// Returns a network without an upper bound. Scopes are in any order and may be empty or equal.
    pub fn network(&self, rng: &mut Rng) -> Builder {
        let mut builder = Network::builder("random");
        let domains = self.domains(rng);
        for &domain in &domains {
            let _ = builder.variable(domain).expect("a domain with values");
        }
        for number in 0..self.functions {
            let scope = self.scope(rng);
            if number > 0
                && rng.below(12) < self.shared
                && builder.shared(&scope, rng.below(number as u64) as u32).is_ok()
            {
                continue;
            }
            let sizes: Vec<u32> = scope.iter().map(|&v| domains[v as usize]).collect();
            let added = match self.table(rng, &sizes) {
                Drawn::Dense(costs) => builder.dense(&scope, costs),
                Drawn::Sparse(default, tuples, costs) => builder.sparse(&scope, default, tuples, costs),
            };
            let _ = added.expect("a fitting table");
        }
        builder
    }

    /// Returns a problem without an upper bound, with unary costs, a constant, and the functions of two or more
    /// variables, at most one on each scope.
    pub fn problem(&self, rng: &mut Rng) -> Problem {
        let domains = self.domains(rng);
        let unary = |&size: &u32, rng: &mut Rng| {
            (0..size).map(|_| if rng.below(2) == 0 { 0 } else { self.cost(rng) }).collect()
        };
        let unary = domains.iter().map(|size| unary(size, rng)).collect();
        let mut functions: Vec<CostFunction> = Vec::new();
        for _ in 0..self.functions {
            let mut scope = self.scope(rng);
            scope.sort_unstable();
            if scope.len() < 2 || functions.iter().any(|function| function.scope[..] == scope) {
                continue;
            }
            let sizes = |scope: &[u32]| scope.iter().map(|&v| domains[v as usize]).collect::<Vec<_>>();
            let own = sizes(&scope);
            let twin = functions.iter().find(|function| sizes(&function.scope) == own);
            let table = match (twin.filter(|_| rng.below(12) < self.shared), self.table(rng, &own)) {
                (Some(twin), _) => twin.table.clone(),
                (None, Drawn::Dense(costs)) => Table::dense(costs),
                (None, Drawn::Sparse(default, tuples, costs)) => {
                    Table::Sparse(SparseTable::new(own.len(), default, tuples, costs).into())
                }
            };
            functions.push(CostFunction { scope: scope.into(), table });
        }
        Problem { domains, unary, functions, constant: rng.below(9) as Cost - 4, top: FORBIDDEN }
    }
}

/// Returns a problem with functions between all variables whose indices differ by less than `reach`.
pub fn band(rng: &mut Rng, n: usize, domain: u32, reach: usize) -> Problem {
    let mut functions = Vec::new();
    for a in 0..n {
        for b in a + 1..n.min(a + reach) {
            let costs = (0..domain * domain).map(|_| rng.below(100) as Cost).collect();
            functions.push(CostFunction { scope: [a as u32, b as u32].into(), table: Table::dense(costs) });
        }
    }
    let unary = (0..n).map(|_| (0..domain).map(|_| rng.below(9) as Cost).collect()).collect();
    Problem { domains: vec![domain; n], unary, functions, constant: 0, top: FORBIDDEN }
}

/// Returns a random product over `variables` variables of one to four values: for each a function of it and of up to
/// two others, with about an eighth of the entries 0.
pub fn product(rng: &mut Rng, variables: u64) -> Potentials {
    let mut product = Potentials::new("random");
    for _ in 0..variables {
        let domain = 1 + rng.below(4) as u32;
        let _ = product.variable(Variable { domain, name: None, values: None }).expect("it has values");
    }
    for own in 0..variables {
        let mut scope = vec![own as u32];
        for _ in 0..rng.below(3) {
            let other = rng.below(variables) as u32;
            if !scope.contains(&other) {
                scope.push(other);
            }
        }
        let entries: u32 = scope.iter().map(|&v| product.domains[v as usize]).product();
        let entry = |_| if rng.below(8) == 0 { 0.0 } else { (1 + rng.below(1000)) as f64 / 1000.0 };
        let table: Vec<f64> = (0..entries).map(entry).collect();
        product.function(&scope, &table).expect("it fits");
    }
    product
}
