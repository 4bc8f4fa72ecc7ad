//! Cover inequalities: columns of different variables that exceed a row's bound together cannot all be used (Crowder,
//! Johnson, Padberg, "Solving large-scale zero-one linear programming problems", 1983). They follow from a row in
//! integers, so they hold for every solution.

use super::domains::Domains;
use super::program::{NO_HIGH, NO_LOW, Program, Row};
use crate::model::FORBIDDEN;
use std::cmp::Reverse;

/// Least violation of an inequality that is added.
const VIOLATED: f64 = 0.01;

/// Some columns of a variable, each of which takes at least `size` of a row's room.
#[derive(Clone, Debug)]
struct Item {
    columns: Vec<u32>,
    size: i64,
    /// The value of the columns together.
    value: f64,
}

/// Returns cover inequalities that the values of the columns violate, at most one for each bound of the first `count`
/// rows.
pub fn covers(program: &Program, domains: &Domains, count: usize, value: impl Fn(usize) -> f64) -> Vec<Row> {
    let mut found = Vec::new();
    for row in &program.rows[..count] {
        if row.excess >= FORBIDDEN && row.high != NO_HIGH {
            found.extend(cover(program, domains, row, false, &value));
        }
        if row.short >= FORBIDDEN && row.low != NO_LOW {
            found.extend(cover(program, domains, row, true, &value));
        }
    }
    found
}

/// Returns a violated cover of the row's upper bound, or of its lower bound with all weights negated.
fn cover(
    program: &Program,
    domains: &Domains,
    row: &Row,
    is_negated: bool,
    value: impl Fn(usize) -> f64,
) -> Option<Row> {
    let mut room = if is_negated { row.low.checked_neg()? } else { row.high };
    let mut items: Vec<Item> = Vec::new();
    for group in row.terms.chunk_by(|a, b| program.owner[a.0 as usize] == program.owner[b.0 as usize]) {
        let variable = program.owner[group[0].0 as usize] as usize;
        let mut terms = group.iter().peekable();
        let weights = program.columns(variable).map(|column| {
            let weight = terms.next_if(|term| term.0 as usize == column).map_or(0, |term| term.1);
            (column, if is_negated { -weight } else { weight })
        });
        let weights: Vec<(usize, i64)> = weights.filter(|&(column, _)| domains.has(column)).collect();
        let least = weights.iter().map(|&(_, weight)| weight).min()?;
        room -= least;
        // the columns in use that take any room decide the size
        let used = weights.iter().filter(|&&(column, weight)| weight > least && value(column) > 1e-9);
        let taken = used.map(|&(_, weight)| weight).min();
        let Some(weight) = taken.or_else(|| weights.iter().map(|&(_, weight)| weight).max().filter(|&w| w > least))
        else {
            continue;
        };
        let columns: Vec<u32> =
            weights.iter().filter(|(_, w)| *w >= weight).map(|&(column, _)| column as u32).collect();
        let total = columns.iter().map(|&column| value(column as usize)).sum();
        items.push(Item { columns, size: weight - least, value: total });
    }
    if room < 0 {
        return None;
    }
    // items that lose little by being in the cover come first
    let loss = |item: &Item| (1.0 - item.value).max(0.0) / item.size as f64;
    items.sort_by(|a, b| loss(a).total_cmp(&loss(b)).then(Reverse(a.size).cmp(&Reverse(b.size))));
    let mut total = 0i64;
    let number = items.iter().take_while(|item| {
        let is_open = total <= room;
        total += if is_open { item.size } else { 0 };
        is_open
    });
    let number = number.count();
    if total <= room {
        return None;
    }
    let rest = items.split_off(number);
    // the items of least value that are not needed leave
    items.sort_by(|a, b| a.value.total_cmp(&b.value));
    items.retain(|item| {
        let is_needed = total - item.size <= room;
        total -= if is_needed { 0 } else { item.size };
        is_needed
    });
    let high = items.len() as i64 - 1;
    let largest = items.iter().map(|item| item.size).max()?;
    // an item that takes as much as any of them may stand for it
    items.extend(rest.into_iter().filter(|item| item.size >= largest));
    let used: f64 = items.iter().map(|item| item.value).sum();
    if used < high as f64 + VIOLATED {
        return None;
    }
    let mut terms: Vec<(u32, i64)> = items.iter().flat_map(|item| &item.columns).map(|&column| (column, 1)).collect();
    terms.sort_unstable();
    Some(Row { low: NO_LOW, high, short: FORBIDDEN, excess: FORBIDDEN, terms })
}
