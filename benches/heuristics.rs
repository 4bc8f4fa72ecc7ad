//! Weights per second of heuristics in files, compared with the same heuristics written in Rust.
//!
//! `cargo bench --bench heuristics` prints weighted values per second as items, for domains from 4 to 512.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use fangs_base::rng::Rng;
use fangs_heuristics::INPUTS;
use fangs_heuristics::language::arithmetic::{exp, scale};
use fangs_heuristics::language::{Heuristic, Numbers, Scratch};

fn main() {
    divan::main();
}

const DOMAINS: [usize; 5] = [4, 8, 18, 44, 512];

const BOLTZMANN: &str = include_str!("../heuristics/boltzmann.toml");

/// The heuristic of docs/heuristics-language.md.
const TABU: &str = "
allowed = 'age > tenure or delta < 0'
rating = 'delta + 0.1 * frequency'
weight = 'rating == best(rating)'
[let]
tenure = 'clamp(floor(domain / 3), 2, 10)'
";

/// Returns random numbers for all inputs.
struct Visit {
    scalars: Vec<f64>,
    columns: Vec<Vec<f64>>,
}

impl Visit {
    fn new(domain: usize) -> Visit {
        let mut rng = Rng::new(1);
        let mut number = || rng.below(100) as f64;
        let columns = INPUTS.iter().map(|_| (0..domain).map(|_| number()).collect()).collect();
        Visit { scalars: INPUTS.iter().map(|_| number() + 1.0).collect(), columns }
    }
}

impl Numbers for Visit {
    fn scalar(&self, place: usize) -> f64 {
        self.scalars[place]
    }

    fn column(&self, place: usize) -> &[f64] {
        &self.columns[place]
    }
}

fn weigh(bencher: Bencher, text: &str, domain: usize) {
    let heuristic = Heuristic::parse("bench.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let (visit, mut scratch, mut weights) = (Visit::new(domain), Scratch::default(), vec![0; domain]);
    let weigh = || heuristic.weigh(0, black_box(&visit), &mut scratch, black_box(&mut weights)).sum;
    bencher.counter(ItemsCount::new(domain)).bench_local(weigh);
}

#[divan::bench(args = DOMAINS, sample_size = 1000)]
fn boltzmann_in_a_file(bencher: Bencher, domain: usize) {
    weigh(bencher, BOLTZMANN, domain);
}

#[divan::bench(args = DOMAINS, sample_size = 1000)]
fn tabu_in_a_file(bencher: Bencher, domain: usize) {
    weigh(bencher, TABU, domain);
}

/// The Boltzmann heuristic's arithmetic in one loop.
struct Boltzmann<'a> {
    costs: &'a [f64],
    temperature: f64,
    weights: &'a mut [u32],
}

impl pulp::WithSimd for Boltzmann<'_> {
    type Output = u64;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> u64 {
        let least = self.costs.iter().fold(f64::INFINITY, |least, &cost| if cost < least { cost } else { least });
        for (weight, &cost) in self.weights.iter_mut().zip(self.costs) {
            *weight = scale(exp((least - cost) / self.temperature), 1.0);
        }
        self.weights.iter().map(|&weight| u64::from(weight)).sum()
    }
}

#[divan::bench(args = DOMAINS, sample_size = 1000)]
fn boltzmann_in_rust(bencher: Bencher, domain: usize) {
    let place = |name: &str| INPUTS.iter().position(|input| input.name == name).unwrap_or_default();
    let (cost, temperature) = (place("cost"), place("temperature"));
    let (visit, mut weights) = (Visit::new(domain), vec![0u32; domain]);
    let weigh = || {
        let (visit, weights) = (black_box(&visit), black_box(&mut weights[..]));
        let (costs, temperature) = (visit.column(cost), visit.scalar(temperature));
        pulp::Arch::new().dispatch(Boltzmann { costs, temperature, weights })
    };
    bencher.counter(ItemsCount::new(domain)).bench_local(weigh);
}
