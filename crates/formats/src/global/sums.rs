//! The parameters of global functions that add weights.

use super::{P, Parameters, Read};
use crate::error::Error;
use crate::model::{GlobalKind, Linear, Measure, Price, Target};

/// Returns the weights of all values of all variables.
fn weights(p: P<'_, '_, '_>, weight: impl Fn(usize, u32) -> i64) -> Vec<Vec<i64>> {
    let row = |(place, &size): (usize, &u32)| (0..size).map(|value| weight(place, value)).collect();
    p.sizes.iter().enumerate().map(row).collect()
}

fn linear(weights: Vec<Vec<i64>>, target: Target, price: Price) -> GlobalKind {
    GlobalKind::Linear(Linear { weights, target, price, at_most_one: Vec::new() })
}

fn number_of(p: P<'_, '_, '_>, values: &[u32], target: Target, price: Price) -> GlobalKind {
    linear(weights(p, |_, value| i64::from(values.contains(&value))), target, price)
}

pub(super) fn samong(p: P<'_, '_, '_>) -> Read {
    let _ = p.one_of("metric", &["var"])?;
    let price = Price { cost: p.price("cost")?, measure: Measure::Linear };
    let target = Target::Within(p.number("min")?, p.number("max")?);
    let values = p.list("values", Parameters::value)?;
    Ok(number_of(p, &values, target, price))
}

pub(super) fn wamong(p: P<'_, '_, '_>) -> Read {
    let price = p.measured()?;
    let values = p.list("values", Parameters::value)?;
    let target = Target::Within(p.number("min")?, p.number("max")?);
    Ok(number_of(p, &values, target, price))
}

pub(super) fn wvaramong(p: P<'_, '_, '_>) -> Read {
    let _ = p.one_of("metric", &["hard"])?;
    let price = Price { cost: p.price("cost")?, measure: Measure::Hard };
    let values = p.list("values", Parameters::value)?;
    let last = p.scope.len() - 1;
    let weight = |place, value| if place == last { -i64::from(value) } else { i64::from(values.contains(&value)) };
    Ok(linear(weights(p, weight), Target::Within(0, 0), price))
}

pub(super) fn wsum(p: P<'_, '_, '_>) -> Read {
    let price = p.measured()?;
    let target = p.comparison(|p| p.number("to"))?;
    Ok(linear(weights(p, |_, value| value.into()), target, price))
}

pub(super) fn wvarsum(p: P<'_, '_, '_>) -> Read {
    let price = p.measured()?;
    let target = p.comparison(|_| Ok(0))?;
    let last = p.scope.len() - 1;
    Ok(linear(weights(p, |place, value| if place == last { -i64::from(value) } else { value.into() }), target, price))
}

pub(super) fn woverlap(p: P<'_, '_, '_>) -> Read {
    let price = p.measured()?;
    Ok(GlobalKind::Overlap { target: p.comparison(|p| p.number("to"))?, price })
}

pub(super) fn wdiverse(p: P<'_, '_, '_>) -> Read {
    let distance = p.number("distance")?;
    let values = p.for_each("values", Parameters::value)?;
    let differs = weights(p, |place, value| i64::from(values[place] != value));
    Ok(linear(differs, Target::Within(distance, i64::MAX), Price::HARD))
}

/// Reads a weight, which must be small enough to leave room for sums.
fn weight(p: P<'_, '_, '_>) -> Result<i64, Error> {
    let weight = p.tokens.integer("a weight")?;
    if weight.abs() < 1 << 40 { Ok(weight) } else { Err(p.tokens.error("a weight within ±2^40")) }
}

fn at_least_weight(weights: Vec<Vec<i64>>, capacity: i64, at_most_one: Vec<Vec<(u32, u32)>>) -> GlobalKind {
    let target = Target::Within(capacity, i64::MAX);
    GlobalKind::Linear(Linear { weights, target, price: Price::HARD, at_most_one })
}

pub(super) fn knapsack(p: P<'_, '_, '_>) -> Read {
    let capacity = p.number("capacity")?;
    let own = p.for_each("weights", weight)?;
    let weights = weights(p, |place, value| if value == 1 { own[place] } else { 0 });
    Ok(at_least_weight(weights, capacity, Vec::new()))
}

/// Adds to the weight of a value, if the variable has that value.
fn enter(weights: &mut [Vec<i64>], place: u32, value: u32, weight: i64) {
    if let Some(own) = weights[place as usize].get_mut(value as usize) {
        *own = own.saturating_add(weight);
    }
}

pub(super) fn knapsackv(p: P<'_, '_, '_>) -> Read {
    let capacity = p.number("capacity")?;
    let mut all = weights(p, |_, _| 0);
    for (place, value, weight) in
        p.list("weightedvalues", |p| p.group(|p| Ok((p.variable()?, p.value()?, weight(p)?))))?
    {
        enter(&mut all, place, value, weight);
    }
    Ok(at_least_weight(all, capacity, Vec::new()))
}

fn weights_of_each(p: P<'_, '_, '_>) -> Result<Vec<Vec<i64>>, Error> {
    let mut all = weights(p, |_, _| 0);
    let lists = p.for_each("weights", |p| p.items(|p| Ok((p.value()?, weight(p)?))))?;
    for (place, list) in (0..).zip(lists) {
        list.into_iter().for_each(|(value, weight)| enter(&mut all, place, value, weight));
    }
    Ok(all)
}

pub(super) fn knapsackp(p: P<'_, '_, '_>) -> Read {
    let capacity = p.number("capacity")?;
    Ok(at_least_weight(weights_of_each(p)?, capacity, Vec::new()))
}

pub(super) fn knapsackc(p: P<'_, '_, '_>) -> Read {
    let capacity = p.number("capacity")?;
    let weights = weights_of_each(p)?;
    let sets = p.items(|p| p.items(|p| Ok((p.variable()?, p.value()?))))?;
    Ok(at_least_weight(weights, capacity, sets))
}

pub(super) fn clique(p: P<'_, '_, '_>) -> Read {
    if p.number("rhs")? != 1 {
        return Err(p.tokens.error("1, the most variables with one of their values"));
    }
    let sets = p.for_each("values", |p| p.items(Parameters::value))?;
    let weights = weights(p, |place, value| i64::from(sets[place].contains(&value)));
    Ok(linear(weights, Target::Within(0, 1), Price::HARD))
}
