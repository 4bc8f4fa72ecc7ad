//! Networks with one more global function that only forbids.

use super::{Globals, Network, Variable};
use crate::model::{CostFunction, Global, Part, Parts};
use std::sync::Arc;

impl Network {
    /// Returns the network with a global function in addition, whose costs are 0 or forbidden, given with its
    /// decomposition. The file's own numbers, if costs are rounded logarithms of them, are left out.
    pub fn restricted(&self, global: Global, parts: Parts) -> Network {
        let number = self.function_count() as u32;
        let mut network = Network { reading: None, ..self.clone() };
        let mut globals = network.globals.take().map_or_else(
            || Globals {
                functions: Vec::new(),
                expanded: Network { function_names: Arc::default(), ..network.clone() },
                chains: Vec::new(),
                parts: Vec::new(),
                relaxed: false,
            },
            |globals| Globals::clone(&globals),
        );
        let expanded = &mut globals.expanded;
        let (first, start) = (expanded.variables.len() as u32, expanded.functions.len());
        for &domain in &parts.added {
            Arc::make_mut(&mut expanded.domains).push(domain);
            Arc::make_mut(&mut expanded.variables).push(Variable { domain, name: None, values: None });
        }
        let mut chain = Vec::new();
        for (scope, table) in parts.tables {
            let own = |part: &Part| match *part {
                Part::Own(v) => v,
                Part::Added(place) => first + place,
            };
            if scope.iter().any(|part| matches!(part, Part::Added(_))) {
                chain.push(expanded.functions.len() as u32);
            }
            let scope: Vec<u32> = scope.iter().map(own).collect();
            expanded.largest_arity = expanded.largest_arity.max(scope.len());
            expanded.forbids |= scope.len() <= 2;
            Arc::make_mut(&mut expanded.functions).push(CostFunction { scope: scope.as_slice().into(), table });
        }
        globals.parts.push(start..expanded.functions.len());
        globals.chains.extend((!chain.is_empty()).then_some(chain));
        globals.relaxed |= parts.relaxed;
        globals.functions.push((number, global));
        network.globals = Some(globals.into());
        network
    }
}
