//! The `.dat` format of QAPLIB for quadratic assignment: `n`, a matrix A, a matrix B. The objective is the least sum
//! over i, j of A(i, j) B(p(i), p(j)) over all permutations p. Variable i has the value p(i), and all variables must
//! differ. Entries may be decimals; costs have as many digits as both matrices together, so that all products are
//! exact.

use super::decimal::Real;
use super::options::ReadOptions;
use super::tokens::Tokens;
use crate::error::Error;
use crate::memory;
use crate::model::{COST_LIMIT, Cost, FORBIDDEN, Network, Units};
use rustc_hash::FxHashMap;

/// The maximum number of objects; the table of a pair has that number squared entries.
const OBJECTS: usize = 1 << 10;

/// The maximum number of decimal digits of the entries of a matrix.
const MOST_DECIMALS: u32 = 15;

/// Reads a problem.
pub(super) fn read(tokens: &mut Tokens<'_>, _: &ReadOptions) -> Result<Network, Error> {
    let n = tokens.count("the number of objects")?;
    if !(1..=OBJECTS).contains(&n) {
        return Err(tokens.error(format!("a number of objects from 1 to {OBJECTS}")));
    }
    let Matrix { entries: flows, decimals } = read_matrix(tokens, n)?;
    let Matrix { entries: distances, decimals: others } = read_matrix(tokens, n)?;
    let decimals = decimals + others;
    tokens.finish(|| format!("two matrices of {n} rows and columns"))?;
    let largest = |matrix: &[i64]| matrix.iter().map(|entry| entry.unsigned_abs()).max().unwrap_or(0);
    let sum = flows.iter().map(|flow| u128::from(flow.unsigned_abs())).sum::<u128>();
    if sum.saturating_mul(largest(&distances).into()) >= COST_LIMIT as u128 {
        return Err(tokens.error_with("smaller entries", "the products add up to more than 64-bit costs hold"));
    }
    let mut builder = Network::builder(tokens.file());
    for _ in 0..n {
        let _ = builder.variable(n as u32)?;
    }
    let stop = tokens.stop();
    // pairs of objects with equal flows have equal tables
    let mut first: FxHashMap<(i64, i64), u32> = FxHashMap::default();
    for i in stop.each(0..n) {
        let i = i?;
        let own = flows[i * n + i];
        if own != 0 {
            let _ = builder.dense(&[i as u32], (0..n).map(|p| own * distances[p * n + p]).collect())?;
        }
        for j in i + 1..n {
            if stop.is_set() {
                return Err(Error::Stopped);
            }
            let (there, back) = (flows[i * n + j], flows[j * n + i]);
            let scope = [i as u32, j as u32];
            if let Some(&known) = first.get(&(there, back)) {
                let _ = builder.shared(&scope, known)?;
                continue;
            }
            let cost = |p: usize, q: usize| -> Cost {
                if p == q { FORBIDDEN } else { there * distances[p * n + q] + back * distances[q * n + p] }
            };
            // the size of all tables so far and of this one
            memory::must_fit(8 * ((first.len() + 1) * n * n) as u64, || {
                format!("{}: the tables of pairs with different flows", tokens.file())
            })?;
            let costs = (0..n * n).map(|place| cost(place / n, place % n)).collect();
            let _ = first.insert((there, back), builder.dense(&scope, costs)?);
        }
    }
    let _ = builder.units(Units { decimals, ..Units::INTEGER });
    Ok(builder.build())
}

/// A matrix, with entries in units of 10^-`decimals`.
struct Matrix {
    entries: Vec<i64>,
    decimals: u32,
}

fn read_matrix(tokens: &mut Tokens<'_>, n: usize) -> Result<Matrix, Error> {
    let mut numbers: Vec<Real> = Vec::new();
    for _ in 0..n * n {
        numbers.push(tokens.real("an entry of a matrix")?);
    }
    let decimals = numbers.iter().map(|number| number.decimals()).max().unwrap_or(0);
    let mut entries = Vec::new();
    for number in numbers {
        match number.units(decimals) {
            (entry, true) if decimals <= MOST_DECIMALS && entry.unsigned_abs() < COST_LIMIT as u64 => {
                entries.push(entry)
            }
            _ => {
                let hint = format!("the entry {} with {decimals} decimals passes 64-bit costs", number.as_f64());
                return Err(tokens.error_with("smaller entries, or fewer digits", hint));
            }
        }
    }
    Ok(Matrix { entries, decimals })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::add;
    use crate::stop::Stop;
    use crate::{Format, read_from};

    fn parse(text: &str) -> Result<Network, Error> {
        read_from(text.as_bytes(), "t.dat", Format::Dat, &ReadOptions::default(), &Stop::new())
    }

    #[test]
    fn both_directions_and_the_diagonal_count() {
        let (a, b) = ([[1, 2, 0], [3, 0, 5], [0, 7, 2]], [[1, 4, 6], [2, 3, 8], [9, 1, 5]]);
        let text = |m: [[i64; 3]; 3]| m.map(|row| row.map(|e| e.to_string()).join(" ")).join("\n");
        let network = parse(&format!("3\n\n{}\n\n{}\n", text(a), text(b))).expect("a problem");
        for p in [[0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 0, 1], [2, 1, 0]] {
            let cost = network.functions().iter().fold(0, |sum, f| add(sum, f.cost(network.domains(), &p)));
            let pairs = || (0..3).flat_map(|i| (0..3).map(move |j| (i, j)));
            let expected: i64 = pairs().map(|(i, j)| a[i][j] * b[p[i] as usize][p[j] as usize]).sum();
            let differ = pairs().all(|(i, j)| i == j || p[i] != p[j]);
            assert_eq!(cost, if differ { expected } else { FORBIDDEN }, "{p:?}");
        }
    }

    #[test]
    fn decimals_are_exact() {
        let network = parse("2\n0 0.5\n1.25 0\n\n0 2\n.1 0\n").expect("a problem");
        assert_eq!(*network.units(), Units { decimals: 3, maximise: false, rounded: 0 });
        let cost = |p: [u32; 2]| network.functions().iter().fold(0, |sum, f| add(sum, f.cost(network.domains(), &p)));
        assert_eq!([[0, 1], [1, 0]].map(cost), [1000 + 125, 50 + 2500]);
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("0", "1:1: found `0`, expected a number of objects from 1 to 1024"),
            ("2 0 1 1 0 0 1 1", "found the end of the file, expected an entry"),
            ("1 3 4 5", "1:7: found `5`, expected the end of the file (two matrices"),
            ("1 x 4", "1:3: found `x`"),
            ("1 4000000000 4000000000", "expected smaller entries"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
