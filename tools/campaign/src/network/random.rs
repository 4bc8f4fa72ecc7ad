//! Random networks.

use super::{Costs, Entry, Form, Function, Global, Network};
use crate::number::Decimal;
use fangs_base::rng::Rng;

/// The limits of a random network.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The format.
    pub form: Form,
    /// The largest number of variables.
    pub variables: usize,
    /// The largest number of assignments.
    pub assignments: u64,
    /// Whether the network may have global cost functions.
    pub globals: bool,
}

/// The magnitude of costs.
#[derive(Clone, Copy, Debug)]
enum Magnitude {
    /// Costs below a bound.
    Below(i64),
    /// A large number plus some small ones, so that doubles cannot distinguish the costs.
    Near(i64),
}

/// Ranges of the exponents of a product's numbers, in powers of ten.
const TENS: [u64; 6] = [0, 0, 3, 320, 700, 2000];

/// Returns a random item.
pub(crate) fn one_of<T: Copy>(rng: &mut Rng, items: &[T]) -> T {
    items[rng.index(items.len())]
}

/// Returns true in `percent` of all calls.
pub(crate) fn happens(rng: &mut Rng, percent: u64) -> bool {
    rng.below(100) < percent
}

/// Returns a random network.
pub fn network(rng: &mut Rng, shape: Shape) -> Network {
    let domains = domains(rng, &shape);
    let mut network =
        Network { form: shape.form, domains, functions: Vec::new(), top: i128::MAX, observed: Vec::new() };
    let n = network.domains.len();
    let (count, hard) = (rng.index(2 * n + 2), one_of(rng, &[0, 0, 10, 30, 60]));
    let sparse = happens(rng, 30);
    let kind = Kind::new(rng, shape.form);
    for _ in 0..count {
        let arity = one_of(rng, &[0, 1, 1, 2, 2, 2, 2, 3, 3, 4]).min(n);
        let mut scope: Vec<usize> = (0..n).collect();
        rng.shuffle(&mut scope);
        scope.truncate(arity);
        if shape.globals && arity > 1 && happens(rng, 15) {
            let costs = Costs::Global(kind.global(rng, &scope, &network.domains));
            network.functions.push(Function { scope, costs });
            continue;
        }
        let size: usize = scope.iter().map(|&v| network.domains[v] as usize).product();
        let entry = |rng: &mut Rng| if happens(rng, hard) { None } else { kind.entry(rng) };
        let default = entry(rng);
        let table = (0..size).map(|_| if sparse && happens(rng, 70) { default } else { entry(rng) }).collect();
        network.functions.push(Function { scope, costs: Costs::Table(table) });
    }
    if !shape.form.is_product() {
        network.top = top(rng, &network);
    }
    if happens(rng, 10) {
        let v = rng.index(n);
        network.observed.push((v, rng.below(network.domains[v].into()) as u32));
    }
    network
}

fn domains(rng: &mut Rng, shape: &Shape) -> Vec<u32> {
    let (n, most) = (1 + rng.index(shape.variables), one_of(rng, &[2, 2, 3, 4, 6]));
    let mut domains: Vec<u32> = Vec::new();
    let mut left = shape.assignments;
    for _ in 0..n {
        let domain = match rng.below(12) {
            0 => 1,
            1 => 1 + rng.below(12) as u32,
            _ => 2 + rng.below(most - 1) as u32,
        };
        if u64::from(domain) > left {
            break;
        }
        left /= u64::from(domain);
        domains.push(domain);
    }
    if domains.is_empty() {
        domains.push(2);
    }
    domains
}

/// The common properties of a network's numbers.
#[derive(Clone, Copy, Debug)]
struct Kind {
    form: Form,
    magnitude: Magnitude,
    /// Percentage of negative costs.
    negative: u64,
    /// Range of exponents, in powers of ten.
    tens: u64,
}

impl Kind {
    fn new(rng: &mut Rng, form: Form) -> Kind {
        let bits = match rng.below(4) {
            0 => 50 + rng.below(13),
            1 => 10 + rng.below(40),
            _ => 2 + rng.below(4),
        };
        let magnitude = match happens(rng, 30) {
            true => Magnitude::Near(1 << bits),
            false => Magnitude::Below(1 << bits),
        };
        Kind { form, magnitude, negative: one_of(rng, &[0, 0, 0, 20, 50]), tens: one_of(rng, &TENS) }
    }

    fn cost(&self, rng: &mut Rng) -> i64 {
        let cost = match self.magnitude {
            Magnitude::Below(limit) => rng.below(limit as u64) as i64,
            Magnitude::Near(base) => base + rng.below(5) as i64 - 2,
        };
        if happens(rng, self.negative) { -cost } else { cost }
    }

    fn entry(&self, rng: &mut Rng) -> Entry {
        let most = one_of(rng, &[3, 10, 1000]);
        let digits = 1 + i128::from(rng.below(most));
        Some(match self.form {
            Form::Uai => {
                let exponent = rng.below(2 * self.tens + 1) as i32 - self.tens as i32;
                Decimal { digits, exponent }
            }
            Form::Lg => {
                let scale = one_of(rng, &[1, 100, 1 + 2 * i128::from(self.tens)]);
                Decimal { digits: (digits - 500) * scale, exponent: -2 }
            }
            _ => Decimal::integer(self.cost(rng).into()),
        })
    }

    fn global(&self, rng: &mut Rng, scope: &[usize], domains: &[u32]) -> Global {
        let cost = self.cost(rng).abs();
        let count = scope.len() as u64 + 1;
        match rng.below(3) {
            0 => Global::Different { cost },
            1 => {
                let (a, b) = (rng.below(count) as i64, rng.below(count) as i64);
                let most = scope.iter().map(|&v| domains[v]).min().unwrap_or(1);
                let values = (0..most).filter(|_| happens(rng, 50)).collect();
                Global::Among { cost, range: (a.min(b), a.max(b)), values }
            }
            _ => {
                let weights: Vec<i64> = scope.iter().map(|_| rng.below(9) as i64 - 2).collect();
                Global::Knapsack { capacity: rng.below(10) as i64 - 2, weights }
            }
        }
    }
}

/// Returns a limit on totals: far beyond the totals, small, or near them.
fn top(rng: &mut Rng, network: &Network) -> i128 {
    let largest = |function: &Function| function.costs.finite(function.scope.len()).into_iter().max().unwrap_or(0);
    let sum: i128 = network.functions.iter().map(largest).sum();
    match rng.below(6) {
        0 => 1 + i128::from(rng.below(20)),
        1 => (sum / 2).max(1),
        2 => (sum - 1).max(1),
        3 => 1 << (50 + rng.below(13)),
        4 => sum.max(0) + 1,
        _ => 1_000_000_000_000_000.max(2 * sum),
    }
}
