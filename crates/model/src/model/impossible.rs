//! Observations that a single function excludes.

use super::{Function, Names, Network, Observation, Observations, Odometer, Potentials};
use crate::terminal::line;

/// The maximum number of tuples of a function that are compared with observations.
const TUPLES: u64 = 1 << 16;

/// Observations that exclude each other, because a function has no possible tuple with all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible<'o> {
    /// The number of the function in file order.
    pub function: usize,
    /// The observations of the function's variables, in the order of its scope.
    pub observations: Vec<&'o Observation>,
}

impl Impossible<'_> {
    /// Describes the observations and the function, beginning with the origin of the last observation.
    pub fn message(&self, names: &Names<'_>, function: Option<&str>) -> String {
        let shown = |own: &&Observation| {
            let (name, value) = (names.name(own.variable), names.value_name(own.variable, own.value));
            format!("{}={}", line(&name), line(&value))
        };
        let all: Vec<String> = self.observations.iter().map(shown).collect();
        let function = function.map_or_else(|| format!("function {}", self.function), |name| line(name).into_owned());
        let origin = self.observations.last().map_or("evidence", |own| &own.origin);
        format!("{origin}: impossible evidence: {function} excludes {}", all.join(", "))
    }
}

impl Observations {
    /// Returns observations that a function of the network forbids; `None` if no single function does.
    pub fn impossible_in(&self, network: &Network) -> Option<Impossible<'_>> {
        let tables = network.all_functions().enumerate();
        let scopes = tables.filter_map(|(number, function)| match function {
            Function::Table(table) => Some((number, &table.scope[..])),
            Function::Global(_) => None,
        });
        let is_possible = |number: usize, values: &[u32]| match network.function(number) {
            Some(Function::Table(table)) => table.cost(network.domains(), values) < network.top(),
            _ => true,
        };
        self.impossible(network.domains(), scopes, is_possible)
    }

    /// Returns observations whose probability is 0 by one of the potentials; `None` if no single potential excludes
    /// them.
    pub fn impossible_of(&self, potentials: &Potentials) -> Option<Impossible<'_>> {
        let scopes = potentials.functions.iter().map(|function| &function.scope[..]).enumerate();
        let is_possible = |function: usize, values: &[u32]| {
            let function = &potentials.functions[function];
            let along =
                |index: usize, &v: &u32| index * potentials.domains[v as usize] as usize + values[v as usize] as usize;
            function.table[function.scope.iter().fold(0, along)] > 0.0
        };
        self.impossible(&potentials.domains, scopes, is_possible)
    }

    fn impossible<'s>(
        &self,
        domains: &[u32],
        scopes: impl Iterator<Item = (usize, &'s [u32])>,
        is_possible: impl Fn(usize, &[u32]) -> bool,
    ) -> Option<Impossible<'_>> {
        let mut values = vec![0; domains.len()];
        for &(v, value) in &self.pairs() {
            values[v as usize] = value;
        }
        for (function, scope) in scopes {
            let free: Vec<u32> = scope.iter().copied().filter(|&v| self.value(v).is_none()).collect();
            let sizes: Vec<usize> = free.iter().map(|&v| domains[v as usize] as usize).collect();
            let tuples = sizes.iter().fold(1u64, |product, &size| product.saturating_mul(size as u64));
            if free.len() == scope.len() || tuples > TUPLES {
                continue;
            }
            let mut odometer = Odometer::new(sizes);
            let possible = (0..tuples).any(|_| {
                free.iter().zip(&odometer.digits).for_each(|(&v, &digit)| values[v as usize] = digit as u32);
                let _ = odometer.advance();
                is_possible(function, &values)
            });
            if !possible {
                let observations = scope.iter().filter_map(|&v| self.of(v)).collect();
                return Some(Impossible { function, observations });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FORBIDDEN, Variable};

    #[test]
    fn the_function_that_excludes_observations_is_found() {
        let mut builder = Network::builder("t");
        for name in ["a", "b", "c"] {
            let variable = Variable { domain: 2, name: Some(name.into()), values: None };
            let _ = builder.named_variable(variable).expect("a variable");
        }
        let _ = builder.dense(&[0, 1], vec![0, 3, 0, 1]).expect("a function");
        let _ = builder.dense(&[0, 1, 2], vec![0, 0, FORBIDDEN, FORBIDDEN, 1, 1, 1, 1]).expect("a function");
        let network = builder.build();
        let names = Names::new(network.variables());
        let seen = |texts: &[&str]| {
            let mut seen = Observations::default();
            texts.iter().for_each(|text| seen.observe(&names, text).expect(text));
            seen
        };
        let both = seen(&["b=1", "a=0"]);
        let found = both.impossible_in(&network).expect("it is impossible");
        let message = "--observe b=1: impossible evidence: function 1 excludes a=0, b=1";
        assert_eq!((found.function, found.message(&names, None)), (1, message.to_string()));
        assert!(found.message(&names, Some("f")).contains("f excludes"));
        for possible in [&["b=1"][..], &["a=0", "c=1"], &["a=1", "b=1"], &[]] {
            assert_eq!(seen(possible).impossible_in(&network), None, "{possible:?}");
        }
        let mut potentials = Potentials::new("t");
        for variable in network.variables() {
            let _ = potentials.variable(variable.clone()).expect("a variable");
        }
        potentials.function(&[2, 0], &[0.5, 0.0, 1.0, 0.0]).expect("a function");
        assert_eq!(seen(&["a=1"]).impossible_of(&potentials).map(|found| found.function), Some(0));
        assert_eq!(seen(&["a=0", "c=0"]).impossible_of(&potentials), None);
    }
}
