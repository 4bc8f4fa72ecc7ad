//! An estimate, from a sample of variables, of how much the reductions would leave of a large network. On such networks
//! the reductions take the most memory of all, and occupy a thread for longer than the search needs to its first
//! solutions.

use super::Reducer;
use super::named::Named;
use super::tuning::{CASCADE, SAMPLE};
use crate::Error;
use crate::model::{FORBIDDEN, Network};
use crate::rng::Rng;
use crate::stop::Stop;
use rustc_hash::FxHashMap;

impl Reducer {
    /// Estimates the part of a network's values and functions that the reductions would leave, by what they first
    /// remove from a sample. Returns 0 if the sample has a forbidden tuple, because its consequences may reach far.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set, and [`Error::Memory`] if the sample does not fit.
    pub fn outlook(network: &Network, stop: &Stop) -> Result<f64, Error> {
        let Some((sampled, reducer)) = Reducer::of_sample(network, stop)? else { return Ok(0.0) };
        let (mut all, mut gone) = (0.0, 0.0);
        for v in stop.each(0..sampled) {
            let v = v?;
            let functions: Vec<_> = reducer.functions_of(v).map(|(function, _)| function).collect();
            let values = f64::from(reducer.domains[v as usize]);
            // each function is in the lists of all its variables
            let shares = functions.iter().map(|function| 1.0 / function.scope.len() as f64);
            all += values + shares.clone().sum::<f64>();
            gone += if reducer.price(v).is_some() {
                // one function replaces those of the variable
                values + functions.len().saturating_sub(1) as f64
            } else {
                let separable = functions.iter().map(|function| reducer.split(function).is_some());
                let simpler = shares.zip(separable).filter(|&(_, separable)| separable).map(|(share, _)| share);
                CASCADE * reducer.dominated(v).0.len() as f64 + simpler.sum::<f64>()
            };
        }
        Ok(if reducer.infeasible { 0.0 } else { 1.0 - gone / f64::max(all, 1.0) })
    }

    /// Loads some variables, which come first, with all their functions and the variables of these. Returns `None` if
    /// such a function forbids a tuple.
    fn of_sample(network: &Network, stop: &Stop) -> Result<Option<(u32, Reducer)>, Error> {
        let (domains, mut rng) = (network.domains(), Rng::new(0));
        let mut variables: Vec<u32> = (0..SAMPLE).map(|_| rng.index(domains.len()) as u32).collect();
        variables.sort_unstable();
        variables.dedup();
        let mut places: FxHashMap<u32, u32> = variables.iter().copied().zip(0..).collect();
        let sampled = variables.len() as u32;
        let mut functions = Vec::new();
        for function in stop.each(network.functions()) {
            let function = function?;
            if function.scope.iter().any(|v| places.contains_key(v)) {
                functions.push(function);
            }
        }
        let mut builder = Network::builder("sample");
        for v in functions.iter().flat_map(|function| &function.scope) {
            let next = places.len() as u32;
            if *places.entry(*v).or_insert(next) == next {
                variables.push(*v);
            }
        }
        for v in variables {
            let _ = builder.variable(domains[v as usize])?;
        }
        let dear = network.top().min(FORBIDDEN);
        for function in functions {
            if function.table.costs().any(|cost| cost >= dear) {
                return Ok(None);
            }
            let scope: Vec<u32> = function.scope.iter().map(|v| places[v]).collect();
            let _ = builder.table(&scope, &function.table)?;
        }
        let _ = builder.top(network.top());
        let reducer = Reducer::load(&builder.build(), Named::default(), true, stop)?;
        Ok(Some((sampled, reducer)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::reduce::Size;

    #[test]
    fn a_sample_tells_what_reductions_leave() {
        let (few, many) = (["n", "9000"], ["n", "3000"]);
        for (family, settings, cascades) in [
            ("large-sparse", vec![few, ["d", "5"], ["functions", "27000"]], false),
            ("large-sparse", vec![few, ["d", "3"], ["functions", "18000"]], false),
            ("random", vec![many, ["d", "4"], ["p2", "0.001"]], false),
            ("grid", vec![["side", "60"], ["d", "4"], ["p2", "0"]], true),
            ("potts", vec![["side", "100"]], true),
            ("ising", vec![["side", "60"]], true),
        ] {
            let settings: Vec<(&str, &str)> = settings.iter().map(|&[name, value]| (name, value)).collect();
            let network = generate(family, &settings, 3).expect("a family");
            let stop = Stop::new();
            let outlook = Reducer::outlook(&network, &stop).expect("no limit");
            let reduction = Reducer::new(&network, true, &stop).expect("no limit").report();
            let extent = |size: &Size| size.values as f64 + size.functions.iter().sum::<usize>() as f64;
            let left = extent(&reduction.after) / extent(&reduction.before);
            let is_close = if cascades { outlook < left } else { (outlook - left).abs() < 0.04 };
            assert!(is_close, "{family}: {outlook}, but they leave {left}");
        }
        let forbidding = generate("latin", &[], 1).expect("a family");
        assert_eq!(Reducer::outlook(&forbidding, &Stop::new()).expect("no limit"), 0.0);
    }
}
