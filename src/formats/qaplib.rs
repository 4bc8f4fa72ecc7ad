//! Quadratic assignment as QAPLIB has it (`.dat`): `n`, a matrix A, a matrix B. The least sum over i, j of A(i, j)
//! B(p(i), p(j)) of any permutation p: variables that all differ, of which i has the value p(i).

use super::ReadOptions;
use super::tokens::Tokens;
use crate::error::Error;
use crate::memory;
use crate::model::{COST_LIMIT, Cost, FORBIDDEN, Network};
use rustc_hash::FxHashMap;

/// Largest number of objects: the table of a pair has its square.
const OBJECTS: usize = 1 << 10;

/// Reads a problem.
pub(super) fn read(tokens: &mut Tokens<'_>, _: &ReadOptions) -> Result<Network, Error> {
    let n = tokens.count("the number of objects")?;
    if !(1..=OBJECTS).contains(&n) {
        return Err(tokens.error(format!("a number of objects from 1 to {OBJECTS}")));
    }
    let flows = read_matrix(tokens, n)?;
    let distances = read_matrix(tokens, n)?;
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
    // objects with the same flows have the same table
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
            // what all tables so far and this one take
            memory::must_fit(8 * ((first.len() + 1) * n * n) as u64, || {
                format!("{}: the tables of pairs with different flows", tokens.file())
            })?;
            let costs = (0..n * n).map(|place| cost(place / n, place % n)).collect();
            let _ = first.insert((there, back), builder.dense(&scope, costs)?);
        }
    }
    Ok(builder.build())
}

fn read_matrix(tokens: &mut Tokens<'_>, n: usize) -> Result<Vec<i64>, Error> {
    let mut entries = Vec::new();
    for _ in 0..n * n {
        let entry = tokens.integer("an entry of a matrix")?;
        if entry.unsigned_abs() >= COST_LIMIT as u64 {
            return Err(tokens.error(format!("an entry within ±{COST_LIMIT}")));
        }
        entries.push(entry);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{Format, read_from};
    use crate::model::add;
    use crate::stop::Stop;

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
