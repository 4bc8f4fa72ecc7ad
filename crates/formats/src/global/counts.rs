//! The parameters of global functions that count values.

use super::{Form, P, Parameters, Read};
use crate::error::Error;
use crate::model::{CountCost, Counting, FORBIDDEN, GlobalKind, Measure, Price, Same, ValueCount};

/// Returns the function that prices values taken by more than one variable (all different).
fn different(p: P<'_, '_, '_>, price: Price) -> GlobalKind {
    let values = p.sizes.iter().max().copied().unwrap_or(0);
    let bounds = (0..values).map(|value| ValueCount { value, low: 0, high: 1 }).collect();
    GlobalKind::Counting(Counting { bounds, cost: CountCost::Each(price), classes: None })
}

pub(super) fn salldiff(p: P<'_, '_, '_>) -> Read {
    let metric = p.one_of("metric", &["var", "dec", "decbi"])?;
    let cost = p.price("cost")?;
    Ok(match metric {
        0 => different(p, Price { cost, measure: Measure::Linear }),
        _ => GlobalKind::EqualPairs { price: cost },
    })
}

pub(super) fn salldiffdp(p: P<'_, '_, '_>) -> Read {
    let _ = p.one_of("metric", &["var"])?;
    let cost = p.price("cost")?;
    Ok(different(p, Price { cost, measure: Measure::Linear }))
}

/// Consumes the metric `hard` and a cost that forbids.
fn forbidding(p: P<'_, '_, '_>) -> Result<(), Error> {
    let _ = p.one_of("metric", &["hard"])?;
    match p.price("cost")? {
        FORBIDDEN => Ok(()),
        // in .cfn, the cost should be at least the bound
        _ if p.is_cfn() => Ok(()),
        _ => Err(p.tokens.error("a cost of at least top")),
    }
}

pub(super) fn salldiffkp(p: P<'_, '_, '_>) -> Read {
    forbidding(p)?;
    Ok(different(p, Price::HARD))
}

pub(super) fn walldiff(p: P<'_, '_, '_>) -> Read {
    let price = p.measured()?;
    Ok(different(p, price))
}

/// Reads a value, and the least and the largest number of variables that may take it.
fn value_count(p: P<'_, '_, '_>) -> Result<ValueCount, Error> {
    let value = p.value()?;
    Ok(ValueCount { value, low: p.bound("a lower bound")?, high: p.bound("an upper bound")? })
}

fn bounds(p: P<'_, '_, '_>) -> Result<Vec<ValueCount>, Error> {
    let mut known = Vec::new();
    p.list("bounds", |p| {
        p.group(|p| {
            let bound = value_count(p)?;
            if known.contains(&bound.value) {
                return Err(p.tokens.error(format!("one entry for value {}", bound.value)));
            }
            known.push(bound.value);
            Ok(bound)
        })
    })
}

fn counting(bounds: Vec<ValueCount>, cost: CountCost) -> GlobalKind {
    GlobalKind::Counting(Counting { bounds, cost, classes: None })
}

pub(super) fn sgcc(p: P<'_, '_, '_>) -> Read {
    let metric = p.one_of("metric", &["var", "dec", "wdec"])?;
    let price = p.price("cost")?;
    if metric < 2 {
        let cost = match metric {
            0 => CountCost::Larger(price),
            _ => CountCost::Each(Price { cost: price, measure: Measure::Linear }),
        };
        return Ok(counting(bounds(p)?, cost));
    }
    let weighted = p.list("bounds", |p| {
        p.group(|p| Ok((value_count(p)?, (p.form.cost(p.tokens, "a cost")?, p.form.cost(p.tokens, "a cost")?))))
    })?;
    let (bounds, prices) = weighted.into_iter().unzip();
    Ok(counting(bounds, CountCost::Weighted(prices)))
}

pub(super) fn sgccdp(p: P<'_, '_, '_>) -> Read {
    let _ = p.one_of("metric", &["var"])?;
    let cost = p.price("cost")?;
    Ok(counting(bounds(p)?, CountCost::Each(Price { cost, measure: Measure::Linear })))
}

pub(super) fn sgcckp(p: P<'_, '_, '_>) -> Read {
    forbidding(p)?;
    Ok(counting(bounds(p)?, CountCost::Each(Price::HARD)))
}

pub(super) fn wgcc(p: P<'_, '_, '_>) -> Read {
    let price = p.measured()?;
    Ok(counting(bounds(p)?, CountCost::Each(price)))
}

/// Reads parameters that, in `.wcsp`, end with the line of the keyword.
fn on_one_line(p: P<'_, '_, '_>, read: impl FnOnce(P<'_, '_, '_>) -> Read) -> Read {
    let kind = read(p)?;
    if !p.is_cfn() {
        p.tokens.skip_line()?;
    }
    Ok(kind)
}

/// Reads a list of items, which is empty if the line of a `.wcsp` ends before their number.
fn list_on_line<T>(
    p: P<'_, '_, '_>,
    tag: &str,
    item: impl FnMut(&mut Parameters<'_, '_>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    if !p.is_cfn() && p.tokens.at_line_end()? { Ok(Vec::new()) } else { p.list(tag, item) }
}

fn no_delta_costs(p: P<'_, '_, '_>) -> Result<(), Error> {
    let delta = list_on_line(p, "deltacosts", |p| p.group(|p| Ok((p.value()?, p.form.cost(p.tokens, "a cost")?))))?;
    match delta.is_empty() {
        true => Ok(()),
        false => Err(p.tokens.error_with("no costs of values", "deltacosts are not read")),
    }
}

/// Returns the class of each value of each variable by name, if names differ between the variables of a `.cfn`, and
/// translates the bounds to classes.
fn by_name(p: P<'_, '_, '_>, bounds: &mut [ValueCount]) -> Option<Vec<Vec<u32>>> {
    let Form::Cfn { names, .. } = p.form else { return None };
    names.classes(p.scope, p.sizes, bounds)
}

pub(super) fn alldiff(p: P<'_, '_, '_>) -> Read {
    on_one_line(p, |p| {
        let excepted = list_on_line(p, "exceptedvalues", |p| p.value())?;
        no_delta_costs(p)?;
        let mut free: Vec<ValueCount> = excepted.iter().map(|&value| ValueCount { value, low: 0, high: 0 }).collect();
        let classes = by_name(p, &mut free);
        let largest = match &classes {
            Some(classes) => classes.iter().flatten().max().map_or(0, |most| most + 1),
            None => p.sizes.iter().max().copied().unwrap_or(0),
        };
        let bounded = (0..largest).filter(|value| free.iter().all(|free| free.value != *value));
        let bounds = bounded.map(|value| ValueCount { value, low: 0, high: 1 }).collect();
        Ok(GlobalKind::Counting(Counting { bounds, cost: CountCost::Each(Price::HARD), classes }))
    })
}

pub(super) fn gcc(p: P<'_, '_, '_>) -> Read {
    on_one_line(p, |p| {
        let mut bounds = if !p.is_cfn() && p.tokens.at_line_end()? { Vec::new() } else { bounds(p)? };
        no_delta_costs(p)?;
        let classes = by_name(p, &mut bounds);
        Ok(GlobalKind::Counting(Counting { bounds, cost: CountCost::Each(Price::HARD), classes }))
    })
}

pub(super) fn ssame(p: P<'_, '_, '_>) -> Read {
    let cost = p.price("cost")?;
    let counts = match p.is_cfn() {
        true => [None; 2],
        false => [Some(p.tokens.count("the size of a group")?), Some(p.tokens.count("the size of a group")?)],
    };
    p.tag("vars1")?;
    let left = p.counted(counts[0], Parameters::variable)?;
    p.tag("vars2")?;
    let right = p.counted(counts[1], Parameters::variable)?;
    if left.len() != right.len() {
        return Err(p
            .tokens
            .error_with("two groups of one size", format!("they have {} and {}", left.len(), right.len())));
    }
    let price = Price { cost, measure: Measure::Linear };
    Ok(GlobalKind::Same(Same { left, right, one_sided: true, price, bounds: Vec::new() }))
}

fn halves(p: P<'_, '_, '_>, price: Price, bounds: Vec<ValueCount>) -> Read {
    let n = p.scope.len() as u32;
    if !n.is_multiple_of(2) {
        return Err(p.tokens.error_with("an even number of variables", format!("the scope has {n}")));
    }
    let (left, right) = ((0..n / 2).collect(), (n / 2..n).collect());
    Ok(GlobalKind::Same(Same { left, right, one_sided: false, price, bounds }))
}

pub(super) fn wsame(p: P<'_, '_, '_>) -> Read {
    let price = p.measured()?;
    halves(p, price, Vec::new())
}

pub(super) fn wsamegcc(p: P<'_, '_, '_>) -> Read {
    let price = p.measured()?;
    let bounds = bounds(p)?;
    halves(p, price, bounds)
}
