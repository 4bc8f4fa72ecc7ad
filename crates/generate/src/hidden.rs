//! Networks with a hidden feasible assignment that is hard to find.

use super::{Draft, check_size, pair_table, random_costs, usage};
use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Network};
use crate::rng::Rng;

/// A clause with `t` literals that the hidden assignment satisfies is accepted with a probability of this to the power
/// `t - 1`, so that on average literals do not reveal the assignment (Jia, Moore and Strain, "Generating hard
/// satisfiable formulas by hiding solutions deceptively", 2005).
const BALANCE: f64 = 0.618;

/// Generates random hard clauses of three literals. One value of each variable costs up to `max_cost`.
///
/// # Errors
/// Returns an error if there are fewer than three variables, or if the network is too large.
pub fn sat(n: u32, clauses: u32, max_cost: u32, rng: &mut Rng) -> Result<Network, Error> {
    if n < 3 {
        return usage(format!("clauses of three literals among {n} variables"));
    }
    check_size(n, 2, 4 * u64::from(clauses))?;
    let mut draft = Draft::new(n, 2)?;
    let hidden: Vec<bool> = (0..n).map(|_| rng.below(2) == 1).collect();
    for variable in 0..n {
        let cost = rng.below(u64::from(max_cost) + 1) as Cost;
        let _ = draft.add(&[variable], if rng.below(2) == 0 { vec![cost, 0] } else { vec![0, cost] })?;
    }
    let mut left = clauses;
    while left > 0 {
        let mut scope = [0; 3].map(|_: u32| rng.index(n as usize) as u32);
        scope.sort_unstable();
        // the entry of the one tuple that violates the clause
        let violated = rng.index(8);
        let holds = |place: usize| hidden[scope[place] as usize] != (violated >> (2 - place) & 1 == 1);
        let true_literals = (0..3).filter(|&place| holds(place)).count() as i32;
        let distinct = scope[0] < scope[1] && scope[1] < scope[2];
        if distinct && true_literals > 0 && rng.unit() < BALANCE.powi(true_literals - 1) {
            draft.share(&scope, violated, || {
                (0..8).map(|entry| if entry == violated { FORBIDDEN } else { 0 }).collect()
            })?;
            left -= 1;
        }
    }
    Ok(draft.finish())
}

/// Generates a Latin square of `order` symbols with `holes` empty cells to fill; each symbol of a cell costs up to
/// `max_cost`.
///
/// # Errors
/// Returns an error if there are more holes than cells, or if the network is too large.
pub fn latin(order: u32, holes: u32, max_cost: u32, rng: &mut Rng) -> Result<Network, Error> {
    let cells = order * order;
    if holes > cells {
        return usage(format!("{holes} holes, but a square of {order} by {order} has {cells} cells"));
    }
    check_size(holes, order, u64::from(holes) * 2 * u64::from(order))?;
    let square = shuffled_square(order, rng);
    let mut open: Vec<u32> = (0..cells).collect();
    rng.shuffle(&mut open);
    open.truncate(holes as usize);
    open.sort_unstable();
    let is_open = |cell: u32| open.binary_search(&cell).is_ok();
    let sees = |a: u32, b: u32| a != b && (a / order == b / order || a % order == b % order);
    let symbols = |cell: u32| -> Vec<u32> {
        let line = |k: u32| [cell / order * order + k, k * order + cell % order];
        let given = (0..order).flat_map(line).filter(|&other| !is_open(other)).map(|other| square[other as usize]);
        let mut free = vec![true; order as usize];
        given.for_each(|symbol| free[symbol as usize] = false);
        (0..order).filter(|&symbol| free[symbol as usize]).collect()
    };
    let values: Vec<Vec<u32>> = open.iter().map(|&cell| symbols(cell)).collect();
    let mut draft = Draft::of(values.iter().map(|values| values.len() as u32))?;
    for (variable, values) in values.iter().enumerate() {
        let _ = draft.add(&[variable as u32], random_costs(values.len() as u64, max_cost, rng))?;
    }
    for (a, &cell) in open.iter().enumerate() {
        for (b, _) in open.iter().enumerate().skip(a + 1).filter(|pair| sees(cell, *pair.1)) {
            let [rows, columns] = [a, b].map(|place| values[place].len() as u32);
            let same = |x: u32, y: u32| values[a][x as usize] == values[b][y as usize];
            let table = pair_table(rows, columns, |x, y| if same(x, y) { FORBIDDEN } else { 0 });
            if table.contains(&FORBIDDEN) {
                let _ = draft.add(&[a as u32, b as u32], table)?;
            }
        }
    }
    Ok(draft.finish())
}

/// Returns a Latin square, row by row: the cyclic one after many random switches of the cycles of two rows or two
/// columns.
fn shuffled_square(order: u32, rng: &mut Rng) -> Vec<u32> {
    let n = order as usize;
    let mut square: Vec<u32> = (0..order * order).map(|cell| (cell / order + cell % order) % order).collect();
    for _ in 0..if n < 2 { 0 } else { 10 * n } {
        let (first, second) = (rng.index(n), rng.index(n));
        if first != second {
            let row = square[first * n..][..n].to_vec();
            // follow the cycle: from a column to that in which the first row holds the symbol swapped in, until it
            // closes
            let begin = rng.index(n);
            let mut column = begin;
            loop {
                square.swap(first * n + column, second * n + column);
                let symbol = square[first * n + column];
                column = row.iter().position(|&held| held == symbol).unwrap_or(begin);
                if column == begin {
                    break;
                }
            }
        }
        square = (0..n * n).map(|cell| square[cell % n * n + cell / n]).collect();
    }
    square
}
