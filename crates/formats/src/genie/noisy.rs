//! Noisy-MAX nodes (Díez and Druzdzel, "Canonical probabilistic models for knowledge engineering", 2006): each parent
//! and the leak independently draw a value of the variable, and the largest value is taken. The first state is the
//! largest, and the last one means "no effect". The parameters are those of one parent without the leak.

use crate::memory;
use crate::model::Stated;
use crate::text::{Wrong, quote};
use crate::xmlbif::{child, probabilities as numbers};
use roxmltree::Node;

/// Returns the conditional probability table of a noisy-MAX variable. `sizes` has the domain sizes of its parents, then
/// its own.
pub(crate) fn probabilities(sizes: &[usize], node: Node<'_, '_>) -> Result<Vec<f64>, Wrong> {
    let Some((&size, parents)) = sizes.split_last() else { return Ok(Vec::new()) };
    let columns: usize = parents.iter().sum::<usize>() + 1;
    let element = child(node, "parameters")?;
    let parameters: Vec<f64> = numbers(element, columns * size)?
        .iter()
        .map(|stated| if let Stated::Double(double) = stated { double } else { 0.0 })
        .collect();
    let column = |index: usize| &parameters[index * size..(index + 1) * size];
    // for each parent and value, the probabilities that its draw is at most each state
    let mut first = 0;
    let mut draws: Vec<Vec<Vec<f64>>> = Vec::new();
    for (&domain, order) in parents.iter().zip(orders(parents, node)?) {
        let weakest = order[domain - 1];
        let nothing = |index: usize| column(first + index).iter().rev().skip(1).all(|&p| p == 0.0);
        // columns follow the states of the parent, unless the position of the column without effect shows that they
        // follow the strengths
        let place = |state: usize| match nothing(weakest) || !nothing(domain - 1) {
            true => state,
            false => order.iter().position(|&own| own == state).unwrap_or(state),
        };
        draws.push((0..domain).map(|state| cumulative(column(first + place(state)))).collect());
        first += domain;
    }
    let leak = cumulative(column(first));
    let entries = sizes.iter().fold(1usize, |entries, &size| entries.saturating_mul(size));
    memory::must_fit(entries.saturating_mul(16) as u64, || "the table of a noisy-MAX".into())
        .map_err(|error| Wrong::new(node.range(), "a smaller table").found("a noisy-MAX").hint(error.to_string()))?;
    let mut table = Vec::with_capacity(entries);
    for mut row in 0..entries / size {
        let mut below = leak.clone();
        for (draw, &domain) in draws.iter().zip(parents).rev() {
            below.iter_mut().zip(&draw[row % domain]).for_each(|(product, p)| *product *= p);
            row /= domain;
        }
        below.push(0.0);
        table.extend(below.windows(2).map(|pair| (pair[0] - pair[1]).max(0.0)));
    }
    Ok(table)
}

/// Returns for each state the probability of this or a later state.
fn cumulative(column: &[f64]) -> Vec<f64> {
    let mut sums = column.to_vec();
    (0..sums.len().saturating_sub(1)).rev().for_each(|state| sums[state] += sums[state + 1]);
    sums
}

/// Returns the states of each parent, from the strongest to the weakest.
fn orders(parents: &[usize], node: Node<'_, '_>) -> Result<Vec<Vec<usize>>, Wrong> {
    if parents.is_empty() {
        return Ok(Vec::new());
    }
    let element = child(node, "strengths")?;
    let text = element.text().unwrap_or_default();
    let mut words = text.split_whitespace();
    let mut orders = Vec::new();
    for &domain in parents {
        let expected = || format!("each state of a parent of {domain} states once, by its index");
        let mut order = Vec::new();
        for word in words.by_ref().take(domain) {
            match word.parse().ok().filter(|state| *state < domain && !order.contains(state)) {
                Some(state) => order.push(state),
                None => return Err(Wrong::new(element.range(), expected()).found(quote(word))),
            }
        }
        if order.len() < domain {
            return Err(Wrong::new(element.range(), expected()).found(format!("{} strengths", order.len())));
        }
        orders.push(order);
    }
    match words.next() {
        None => Ok(orders),
        Some(word) => Err(Wrong::new(element.range(), "the strengths of the parents only").found(quote(word))),
    }
}
