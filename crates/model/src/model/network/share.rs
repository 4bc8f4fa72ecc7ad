//! One of several parts of a network: an interval of its variables.

use super::Network;
use std::ops::Range;
use std::sync::Arc;

/// The part of a network that one of several threads or processes holds: an interval of the variables, and all
/// functions on any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of the part, from 0.
    pub place: usize,
    /// The number of parts, at least 1.
    pub of: usize,
}

impl Share {
    /// Returns the part's own variables among `variables`.
    pub fn own(self, variables: usize) -> Range<u32> {
        let start = |place: usize| (variables as u64 * place as u64 / self.of as u64) as u32;
        start(self.place)..start(self.place + 1)
    }

    /// Returns the number of the part that has a variable.
    pub fn owner(self, variable: u32, variables: usize) -> usize {
        let near = (u64::from(variable) * self.of as u64 / variables.max(1) as u64) as usize;
        let has = |place: &usize| Share { place: *place, ..self }.own(variables).contains(&variable);
        (near..self.of).find(has).unwrap_or(self.of - 1)
    }

    /// Returns whether a function with this scope belongs to the part. A constant belongs to the first one.
    pub fn reads(self, scope: &[u32], variables: usize) -> bool {
        let own = self.own(variables);
        scope.iter().any(|v| own.contains(v)) || (scope.is_empty() && self.place == 0)
    }

    /// Returns whether the part counts the cost of a function with this scope: each function is counted by one part.
    pub fn counts(self, scope: &[u32], variables: usize) -> bool {
        scope.first().map_or(self.place == 0, |v| self.own(variables).contains(v))
    }
}

impl Network {
    /// Returns the network with all variables and the functions with tables of one part. Tables are not copied.
    pub fn share(&self, share: Share) -> Network {
        let variables = self.domains.len();
        let own = self.functions.iter().filter(|function| share.reads(&function.scope, variables)).cloned();
        Network { functions: Arc::new(own.collect()), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variable_has_one_owner_and_each_function_is_counted_once() {
        for (variables, of) in [(1, 1), (7, 3), (3, 7), (1000, 6)] {
            let shares: Vec<Share> = (0..of).map(|place| Share { place, of }).collect();
            for v in 0..variables as u32 {
                let owners: Vec<usize> =
                    shares.iter().filter(|share| share.own(variables).contains(&v)).map(|share| share.place).collect();
                assert_eq!(owners, [shares[0].owner(v, variables)], "{v} of {variables}");
                let scope = [v, (v + 1) % variables as u32];
                assert_eq!(shares.iter().filter(|share| share.counts(&scope, variables)).count(), 1);
                assert!(shares.iter().all(|share| share.reads(&scope, variables) || !share.counts(&scope, variables)));
            }
            assert_eq!(shares.iter().filter(|share| share.counts(&[], variables)).count(), 1);
        }
    }
}
