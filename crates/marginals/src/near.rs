//! Functions whose entries differ too much for a table of doubles become products of several tables, without entries
//! that no sum notices if there would be too many tables.

use super::tuning::near::{BELOW, ENTRIES, KEPT, LOST, TABLES};
use crate::error::Error;
use crate::model::{Factor, Scaled, near_a_witness};
use crate::stop::Stop;

/// Returns functions with tables of doubles only, whose product has the same sum to all digits of a double, and
/// whether entries are left out. All entries are kept, so that posteriors keep their relative precision, if the further
/// tables of all functions have at most [`KEPT`] entries, or if a function takes at most [`TABLES`] tables. Of other
/// functions, entries are left out if all assignments with them together are below 2^-100 of the product of a witness,
/// an assignment with a large product.
///
/// # Errors
/// Returns an error if entries still differ too much, and [`Error::Stopped`] if `stop` is set.
pub(super) fn near(
    functions: Vec<Factor>,
    domains: &[u32],
    name: &str,
    stop: &Stop,
) -> Result<(Vec<Factor>, bool), Error> {
    let range_of = |own: &Factor| own.depths.as_ref().map(|_| own.range());
    let tables = |own: &Factor| range_of(own).map_or(1, |(most, least)| Factor::tables(most, least));
    let split = |own: &Factor| match own.depths {
        Some(_) => Factor::of(&own.scope, own.table.len(), |index| own.entry(index)),
        None => vec![own.clone()],
    };
    let added = |own: &Factor| (tables(own) - 1).saturating_mul(own.table.len());
    if functions.iter().map(added).fold(0, usize::saturating_add) <= KEPT {
        return Ok((functions.iter().flat_map(split).collect(), false));
    }
    let costs = |own: &Factor| (0..own.table.len()).map(|index| -own.entry(index).ln()).collect();
    let costs: Vec<Vec<f64>> = functions.iter().map(costs).collect();
    let scopes: Vec<&[u32]> = functions.iter().map(|own| &own.scope[..]).collect();
    let reach = near_a_witness(domains, &scopes, &costs, &[], stop)?;
    let largest =
        |table: &Vec<f64>| table.iter().filter(|cost| cost.is_finite()).fold(0.0, |m, cost| cost.abs().max(m));
    let lost = costs.iter().map(largest).sum::<f64>() * LOST;
    // every assignment may have a dropped entry
    let margin = BELOW + lost + domains.iter().map(|&domain| f64::from(domain).ln()).sum::<f64>();
    let (mut near, mut is_near, mut entries) = (Vec::new(), false, 0usize);
    for ((function, costs), dear) in functions.iter().zip(&costs).zip(&reach.dear) {
        stop.check()?;
        if tables(function) <= TABLES {
            near.extend(split(function));
            continue;
        }
        let is_far = |index: usize| costs[index].is_finite() && costs[index] > dear + margin;
        is_near |= (0..costs.len()).any(is_far);
        let entry = |index: usize| if is_far(index) { Scaled::ZERO } else { function.entry(index) };
        let (most, least) = Factor::whole(&function.scope, costs.len(), entry).range();
        let count = Factor::tables(most, least);
        entries = entries.saturating_add(count.saturating_sub(TABLES).saturating_mul(costs.len()));
        if entries > ENTRIES {
            let apart = (most - least) as f64 * std::f64::consts::LN_2;
            return Err(Error::Usage(format!(
                "{name}: potentials of a function whose logarithms differ by {apart:.3e} all matter, which is too much \
                 for tables of sums (write 0, or -inf in .LG, for what is impossible)"
            )));
        }
        near.extend(Factor::of(&function.scope, costs.len(), entry));
    }
    Ok((near, is_near))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Potentials;
    use crate::{Evidence, Options, compute};

    fn of(functions: &[(&[u32], &[f64])]) -> Potentials {
        let mut potentials = Potentials::new("t");
        for _ in 0..2 {
            let _ = potentials.variable(crate::model::Variable { domain: 2, name: None, values: None });
        }
        let whole =
            |(scope, logs): &(&[u32], &[f64])| Factor::whole(scope, logs.len(), |index| Scaled::exp(logs[index]));
        potentials.functions = functions.iter().map(whole).collect();
        potentials
    }

    fn sum(potentials: &Potentials, values: &[(u32, u32)]) -> Result<f64, Error> {
        let evidence = Evidence { values: values.to_vec(), ..Evidence::default() };
        Ok(compute(potentials, &evidence, &Options::default(), &Stop::new())?.ln_z)
    }

    #[test]
    fn what_no_sum_notices_takes_no_tables() {
        let first: (&[u32], &[f64]) = (&[0], &[3e9, 0.0]);
        let potentials = of(&[first, (&[0, 1], &[0.5, 2.0, 0.0, 1.0])]);
        let all = sum(&potentials, &[]).expect("a sum");
        assert!((all - 3e9 - (0.5f64.exp() + 2f64.exp()).ln()).abs() < 1e-5, "{all}");
        // the dropped entry matters for other observations
        let other = sum(&potentials, &[(0, 1)]).expect("a sum");
        assert!((other - (1.0 + 1f64.exp()).ln()).abs() < 1e-12, "{other}");
        // it also matters for weights that leave a function of the same variable no other entry
        let evidence = Evidence { weights: vec![(0, vec![0.0, 1.0])], ..Evidence::default() };
        let found = compute(&potentials, &evidence, &Options::default(), &Stop::new()).expect("a sum");
        assert!((found.ln_z - other).abs() < 1e-5, "{}", found.ln_z);
        let same = sum(&of(&[first, (&[0], &[0.0, 3e9])]), &[]).expect("a sum");
        assert!((same - 3e9 - 4f64.ln()).abs() < 1e-5, "{same}");
        // the other function compensates for each entry, so none can be dropped
        let refused = sum(&of(&[first, (&[0, 1], &[0.0, 0.0, 3e9, 3e9])]), &[]).expect_err("too much");
        assert!(refused.to_string().contains("all matter"), "{refused}");
        let deep = sum(&of(&[(&[0], &[3e5, 0.0]), (&[0, 1], &[0.0, 0.0, 3e5, 3e5])]), &[]).expect("a sum");
        assert!((deep - 3e5 - 4f64.ln()).abs() < 1e-6, "{deep}");
    }
}
