//! Networks of potentials far outside the range of doubles, checked with exact decimal arithmetic: every sum of
//! exponents and every product of digits is an integer here.

use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_check::{self as check, Replay};
use fangs_formats::{Format, ReadOptions, read_from};
use fangs_model::certificate::Certificate;
use fangs_model::model::{Network, Number};
use fangs_search::{Options, Status, Summary, solve};
use rayon::prelude::*;
use std::cmp::Ordering;

const NETWORKS: u64 = 5000;

/// digits * 10^exponent; 0 if `digits` is 0.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    digits: u128,
    exponent: i64,
}

impl Decimal {
    fn times(self, other: Decimal) -> Decimal {
        Decimal { digits: self.digits * other.digits, exponent: self.exponent + other.exponent }
    }

    fn ln(self) -> f64 {
        (self.digits as f64).ln() + self.exponent as f64 * std::f64::consts::LN_10
    }

    /// Compares two numbers. Products of up to five factors have at most 20 digits, so that 18 more fit.
    fn compare(self, other: Decimal) -> Ordering {
        if self.digits == 0 || other.digits == 0 {
            return self.digits.min(1).cmp(&other.digits.min(1));
        }
        let shift = self.exponent - other.exponent;
        let scaled = |digits: u128, shift: i64| digits * 10u128.pow(shift.unsigned_abs() as u32);
        match shift {
            21.. => Ordering::Greater,
            ..=-21 => Ordering::Less,
            19.. | ..=-19 => {
                let (more, less) = if shift > 0 { (self.digits, other.digits) } else { (other.digits, self.digits) };
                // more * 10^19 or 10^20, compared with at most 10^20
                let order = if more >= 10 { Ordering::Greater } else { scaled(more, shift).cmp(&less) };
                if shift > 0 { order } else { order.reverse() }
            }
            0.. => scaled(self.digits, shift).cmp(&other.digits),
            _ => self.digits.cmp(&scaled(other.digits, shift)),
        }
    }
}

/// Domains and scopes of a random network.
struct Shape {
    domains: Vec<u32>,
    scopes: Vec<Vec<u32>>,
}

impl Shape {
    fn random(rng: &mut Rng) -> Self {
        let domains: Vec<u32> = (0..1 + rng.below(4)).map(|_| 1 + rng.below(3) as u32).collect();
        let scope = |rng: &mut Rng| {
            let first = rng.index(domains.len()) as u32;
            let second = rng.index(domains.len()) as u32;
            if first == second || rng.below(3) == 0 { vec![first] } else { vec![first, second] }
        };
        let scopes = (0..1 + rng.below(5)).map(|_| scope(rng)).collect();
        Shape { domains, scopes }
    }

    fn entries(&self, scope: &[u32]) -> usize {
        scope.iter().map(|&v| self.domains[v as usize] as usize).product()
    }

    fn index(&self, scope: &[u32], values: &[u32]) -> usize {
        scope.iter().fold(0, |index, &v| index * self.domains[v as usize] as usize + values[v as usize] as usize)
    }

    fn assignments(&self) -> impl Iterator<Item = Vec<u32>> {
        let count: u32 = self.domains.iter().product();
        (0..count).map(|mut index| {
            let mut digit = |&domain: &u32| (index % domain, index /= domain).0;
            self.domains.iter().map(&mut digit).collect()
        })
    }

    fn text(&self, tables: &[Vec<String>]) -> String {
        let words = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let mut text = format!("MARKOV\n{}\n{}\n", self.domains.len(), words(&self.domains));
        text += &format!("{}\n", self.scopes.len());
        self.scopes.iter().for_each(|scope| text += &format!("{} {}\n", scope.len(), words(scope)));
        tables.iter().for_each(|table| text += &format!("\n{}\n{}\n", table.len(), table.join(" ")));
        text
    }
}

fn read(text: &str, format: Format) -> Result<Network, fangs_base::Error> {
    read_from(text.as_bytes(), "random", format, &ReadOptions::default(), &Stop::new())
}

/// Solves a network, and verifies the certificate.
fn solved(network: &Network, context: &str) -> Summary {
    let options = Options::default().with(|options| (options.threads, options.certificate) = (Some(1), true));
    let summary = solve(network, &options, &Stop::new(), &mut |_| ()).expect(context);
    check::verify(network).expect(context);
    let (bound, proof) = &summary.proof;
    let solution = summary.least.as_ref().map(|values| (check::evaluate(network, values).cost, &values[..]));
    let text = proof.certificate(network, *bound, solution).to_text().expect(context);
    let certificate = Certificate::from_text(&text).expect(context);
    let proven = Replay::new(network, &certificate).and_then(|replay| replay.run(1 << 30)).expect(context);
    assert!(proven >= *bound, "{context}");
    summary
}

/// Checks a summary if the best value of the file is `best`; `worth` returns the value of an assignment in the file.
fn is_right(summary: &Summary, best: Option<f64>, worth: impl Fn(&[u32]) -> f64, context: &str) {
    let Some(best) = best else {
        assert_eq!(summary.status, Status::Infeasible, "{context}");
        return;
    };
    // the error of doubles
    let lost = 1e-12 * best.abs().max(1.0);
    assert_eq!(summary.status, Status::Optimal, "{context}");
    assert!(summary.precision_slack <= 1e-3, "{context}: slack {}", summary.precision_slack);
    let cost = summary.cost.map(Number::as_f64).expect(context);
    let bound = summary.bound.map_or(f64::NAN, |bound| bound.as_f64());
    assert!(bound >= best - lost, "{context}: bound {bound}, best {best}");
    assert!((bound - cost - summary.precision_slack).abs() <= lost, "{context}");
    let solution = summary.solution.as_deref().expect(context);
    assert!((worth(solution) - cost).abs() <= lost, "{context}: cost {cost}, worth {}", worth(solution));
    assert!(best - cost <= summary.precision_slack + lost, "{context}: cost {cost}, best {best}");
}

#[test]
fn potentials_of_any_size() {
    (0..NETWORKS).into_par_iter().for_each(|seed| {
        let rng = &mut Rng::new(seed);
        let shape = Shape::random(rng);
        let (zeros, far) = (rng.below(4), [3, 330, 5000][rng.index(3)]);
        let entry = |rng: &mut Rng| {
            let digits = if rng.below(8) < zeros { 0 } else { 1 + u128::from(rng.below(9999)) };
            Decimal { digits, exponent: rng.below(2 * far + 1) as i64 - far as i64 }
        };
        let tables: Vec<Vec<Decimal>> =
            shape.scopes.iter().map(|scope| (0..shape.entries(scope)).map(|_| entry(rng)).collect()).collect();
        let written = |decimal: &Decimal| match seed % 3 {
            0 => format!("{}e{}", decimal.digits, decimal.exponent),
            1 => format!("{}.{:03}E{:+}", decimal.digits / 1000, decimal.digits % 1000, decimal.exponent + 3),
            _ => format!("0.00{:04}e{}", decimal.digits, decimal.exponent + 6),
        };
        let text = shape.text(&tables.iter().map(|table| table.iter().map(written).collect()).collect::<Vec<_>>());
        let context = format!("seed {seed}:\n{text}");
        let value = |values: &[u32]| {
            let entries = shape.scopes.iter().zip(&tables).map(|(scope, table)| table[shape.index(scope, values)]);
            entries.fold(Decimal { digits: 1, exponent: 0 }, Decimal::times)
        };
        let best = shape.assignments().map(|values| value(&values)).max_by(|a, b| a.compare(*b)).expect("one");
        let network = read(&text, Format::Uai).expect(&context);
        let best = Some(best).filter(|best| best.digits > 0).map(Decimal::ln);
        is_right(&solved(&network, &context), best, |values| value(values).ln(), &context);
    });
}

#[test]
fn logarithms_of_any_size() {
    let refused = (0..NETWORKS).into_par_iter().filter(|seed| {
        let rng = &mut Rng::new(!seed);
        let shape = Shape::random(rng);
        let (zeros, far) = (rng.below(4), [2, 12, 23][rng.index(3)]);
        let mut entry = || {
            let digits = i128::from(rng.below(9999)) * if rng.below(4) == 0 { 1 } else { -1 };
            // most exponents are 0, and some, if entries are costs, large
            let exponent = if digits < 0 && rng.below(3) == 0 { rng.below(far) as u32 } else { 0 };
            if rng.below(8) < zeros { None } else { Some((digits, exponent)) }
        };
        let mut table = |scope: &Vec<u32>| (0..shape.entries(scope)).map(|_| entry()).collect();
        let tables: Vec<Vec<Option<(i128, u32)>>> = shape.scopes.iter().map(&mut table).collect();
        let written = |entry: &Option<(i128, u32)>| match entry {
            None => "-inf".to_string(),
            Some((digits, exponent)) => format!("{digits}e{}", i64::from(*exponent) - 3),
        };
        let text = shape.text(&tables.iter().map(|table| table.iter().map(written).collect()).collect::<Vec<_>>());
        let context = format!("seed {seed}:\n{text}");
        // the value of an assignment in thousandths
        let value = |values: &[u32]| -> Option<i128> {
            let entries = shape.scopes.iter().zip(&tables).map(|(scope, table)| table[shape.index(scope, values)]);
            entries.map(|entry| entry.map(|(digits, exponent)| digits * 10i128.pow(exponent))).sum()
        };
        let best = shape.assignments().filter_map(|values| value(&values)).max();
        match read(&text, Format::Lg) {
            Ok(network) => {
                let thousandths = |sum: i128| sum as f64 / 1000.0;
                let worth = |values: &[u32]| value(values).map_or(f64::NEG_INFINITY, thousandths);
                is_right(&solved(&network, &context), best.map(thousandths), worth, &context);
                false
            }
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("differ too much") && far > 2, "{context}: {error}");
                true
            }
        }
    });
    // most networks have an assignment without a large entry
    let refused = refused.count() as u64;
    assert!(refused < NETWORKS / 4, "{refused} of {NETWORKS} refused");
}
