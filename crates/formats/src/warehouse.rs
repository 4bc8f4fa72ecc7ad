//! The warehouse location format of the OR-Library (`cap*.txt`): `m n`; m lines `capacity fixed-cost`; for each of n
//! customers its demand and m costs of serving all of it. Capacities are ignored, so the problem is uncapacitated.
//!
//! There is a variable for each warehouse (1: open) and one for each customer, whose value is the warehouse that serves
//! it.

use super::cost_units::Range;
use super::decimal::Real;
use super::options::ReadOptions;
use super::repeated::Repeated;
use super::tokens::Tokens;
use crate::error::Error;
use crate::model::{FORBIDDEN, Network, Variable};

/// The maximum number of warehouses, and of customers; each pair of them has a function.
const SITES: usize = 1 << 13;

/// Reads a problem.
pub(super) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let warehouses = sites(tokens, "warehouses")?;
    let customers = sites(tokens, "customers")?;
    let mut capacities = Repeated::default();
    let mut fixed = Vec::new();
    for _ in 0..warehouses {
        let _ = tokens.word("a capacity")?; // a number or, in capa to capc, the word `capacity`
        capacities.note(tokens.place());
        fixed.push([tokens.real("a fixed cost")?]);
    }
    let mut serving = Vec::new();
    for _ in 0..customers {
        let _ = tokens.real("a demand")?;
        let mut costs = Vec::new();
        for _ in 0..warehouses {
            costs.push(tokens.real("a cost of serving a customer")?);
        }
        serving.push(costs);
    }
    tokens.finish(|| format!("{warehouses} warehouses and {customers} customers are announced"))?;
    capacities.warn(tokens, |times| format!("the capacities ({times} in all) do not count: uncapacitated location"));

    let mut range = Range::default();
    fixed.iter().for_each(|cost| range.add(cost));
    serving.iter().for_each(|costs| range.add(costs));
    let mut unit = range.unit(tokens, options)?;
    let mut builder = Network::builder(tokens.file());
    let mut declare = |domain: usize, name: String| {
        builder.named_variable(Variable { domain: domain as u32, name: Some(name.into()), values: None })
    };
    for warehouse in 0..warehouses {
        let _ = declare(2, format!("open{warehouse}"))?;
    }
    for customer in 0..customers {
        let _ = declare(warehouses, format!("customer{customer}"))?;
    }
    for (warehouse, &[cost]) in fixed.iter().enumerate() {
        let _ = builder.dense(&[warehouse as u32], unit.costs([Real::default(), cost]).into())?;
    }
    for (customer, costs) in tokens.stop().each(serving.iter().enumerate()).collect::<Result<Vec<_>, _>>()? {
        let served = (warehouses + customer) as u32;
        let _ = builder.dense(&[served], unit.table(costs))?;
        for warehouse in 0..warehouses as u32 {
            let _ = builder.sparse(&[warehouse, served], 0, vec![0, warehouse], vec![FORBIDDEN])?;
        }
    }
    let _ = builder.units(unit.units(false));
    Ok(builder.build())
}

fn sites(tokens: &mut Tokens<'_>, what: &str) -> Result<usize, Error> {
    let count = tokens.count(&format!("a number of {what}"))?;
    if !(1..=SITES).contains(&count) {
        return Err(tokens.error(format!("a number of {what} from 1 to {SITES}")));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::add;
    use crate::stop::Stop;
    use crate::{Format, read_from};

    fn parse(text: &str) -> Result<Network, Error> {
        read_from(text.as_bytes(), "cap.txt", Format::Cap, &ReadOptions::default(), &Stop::new())
    }

    #[test]
    fn open_warehouses_serve() {
        for capacities in ["5000", "capacity"] {
            let text = format!(" 2 3\n {capacities} 7500.\n {capacities} 10.25\n 146\n1 2.5\n9 8. 7\n0 100.125 0\n");
            let network = parse(&text).expect("a problem");
            assert_eq!((network.domains(), network.units().decimals), (&[2, 2, 2, 2, 2][..], 3));
            let value = |assignment: [u32; 5]| {
                let cost = |sum, f: &crate::model::CostFunction| add(sum, f.cost(network.domains(), &assignment));
                network.functions().iter().fold(0, cost)
            };
            assert_eq!(value([1, 0, 0, 0, 0]), 7_500_000 + 1000 + 8000 + 100_125);
            assert_eq!(value([0, 1, 1, 1, 1]), 10_250 + 2500 + 7000);
            assert_eq!(value([1, 0, 0, 1, 0]), FORBIDDEN);
            assert_eq!(network.warnings().len(), 1);
            assert_eq!([network.variable_name(1), network.variable_name(2)], ["open1", "customer0"]);
        }
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("0 1", "1:1: found `0`, expected a number of warehouses from 1 to 8192"),
            ("1 99999", "found `99999`, expected a number of customers from 1 to 8192"),
            ("1 1 5 x", "1:7: found `x`, expected a fixed cost"),
            ("1 1 5 1 1", "found the end of the file, expected a cost of serving"),
            ("1 1 5 1 1 1 1", "1:13: found `1`, expected the end of the file"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
