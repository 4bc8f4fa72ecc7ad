//! A plain simulated annealing on one thread: a peer for `compare.py` where complete solvers find no good solutions.
//! It shares the readers with the program, and no part of its search.
//!
//! usage: annealing FILE SECONDS SEED [COLORS]
//! Prints a line `seconds cost` for each better solution, costs in the file's own numbers.

use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_formats::{self as formats, ReadOptions, Source};
use fangs_model::model::{Cost, FORBIDDEN, Network};
use std::time::Instant;

/// Sweeps of the first anneal; each one after has twice as many.
const FIRST_SWEEPS: u32 = 250;
/// The last temperature as a part of the first.
const COLDEST: f64 = 2e-3;

struct Annealing<'a> {
    network: &'a Network,
    /// The functions on each variable.
    incident: Vec<Vec<u32>>,
    /// What a forbidden entry costs on the way.
    penalty: Cost,
    values: Vec<u32>,
}

impl<'a> Annealing<'a> {
    fn new(network: &'a Network) -> Self {
        let mut incident = vec![Vec::new(); network.domains().len()];
        let mut dearest: Cost = 1;
        for (index, function) in (0..).zip(network.functions()) {
            function.scope.iter().for_each(|&v| incident[v as usize].push(index));
            let costs = function.entries(network.domains());
            dearest = costs.filter(|&cost| cost < network.top().min(FORBIDDEN)).fold(dearest, |a, b| a.max(b.abs()));
        }
        let values = vec![0; network.domains().len()];
        Annealing { network, incident, penalty: dearest.saturating_mul(4), values }
    }

    /// The costs of some functions and how many of them forbid the values.
    fn cost(&self, functions: impl Iterator<Item = u32>) -> (Cost, i64) {
        functions.fold((0, 0), |(sum, violations), index| {
            let cost = self.network.functions()[index as usize].cost(self.network.domains(), &self.values);
            let forbidden = cost >= self.network.top().min(FORBIDDEN);
            (sum + if forbidden { self.penalty } else { cost }, violations + i64::from(forbidden))
        })
    }

    /// What it changes to give `v` another value, which it then has.
    fn set(&mut self, v: usize, value: u32) -> (Cost, i64) {
        let before = self.cost(self.incident[v].iter().copied());
        self.values[v] = value;
        let after = self.cost(self.incident[v].iter().copied());
        (after.0 - before.0, after.1 - before.1)
    }

    /// The mean of what moves of random states cost.
    fn hot(&mut self, rng: &mut Rng, movable: &[usize]) -> f64 {
        let mut sum = 0.0;
        for _ in 0..1000 {
            let v = movable[rng.index(movable.len())];
            let value = rng.index(self.network.domains()[v] as usize) as u32;
            sum += self.set(v, value).0.abs() as f64;
        }
        (sum / 1000.0).max(1e-3)
    }

    fn run(&mut self, seconds: f64, rng: &mut Rng, found: &mut dyn FnMut(Cost)) {
        let domains = self.network.domains();
        let movable: Vec<usize> = (0..domains.len()).filter(|&v| domains[v] > 1).collect();
        for (value, &domain) in self.values.iter_mut().zip(domains) {
            *value = rng.index(domain.max(1) as usize) as u32;
        }
        let began = Instant::now();
        let all = || 0..self.network.functions().len() as u32;
        let hot = if movable.is_empty() { 1.0 } else { self.hot(rng, &movable) };
        let (mut cost, mut violations) = self.cost(all());
        let mut best = Cost::MAX;
        let mut sweeps = FIRST_SWEEPS;
        loop {
            for sweep in 0..sweeps {
                let temperature = hot * COLDEST.powf(f64::from(sweep) / f64::from(sweeps));
                for _ in 0..movable.len().max(1) {
                    if violations == 0 && cost < best && cost < self.network.top() {
                        best = cost;
                        found(best);
                    }
                    if movable.is_empty() {
                        return;
                    }
                    let v = movable[rng.index(movable.len())];
                    let (old, value) = (self.values[v], rng.index(domains[v] as usize) as u32);
                    let (delta, more) = self.set(v, value);
                    if delta > 0 && rng.unit() >= (-(delta as f64) / temperature).exp() {
                        self.values[v] = old;
                    } else {
                        (cost, violations) = (cost + delta, violations + more);
                    }
                }
                if began.elapsed().as_secs_f64() > seconds {
                    return;
                }
            }
            sweeps = sweeps.saturating_mul(2);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let began = Instant::now();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, seconds, seed, colors @ ..] = &arguments[..] else {
        return Err("usage: annealing FILE SECONDS SEED [COLORS]".into());
    };
    let colors = colors.first().map(|colors| colors.parse()).transpose()?;
    let options = ReadOptions::default().with(|options| options.colors = colors);
    let network = formats::read(&Source::File(file.into()), None, &options, &Stop::new())?;
    let mut rng = Rng::new(seed.parse()?);
    let left = seconds.parse::<f64>()? - began.elapsed().as_secs_f64();
    let mut annealing = Annealing::new(&network);
    annealing.run(left, &mut rng, &mut |cost| {
        println!("{:.6} {}", began.elapsed().as_secs_f64(), network.units().number(cost).as_f64());
    });
    Ok(())
}
