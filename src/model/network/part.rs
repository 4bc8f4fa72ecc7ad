//! A network with less in it.

use super::Network;
use crate::model::{CostFunction, FORBIDDEN, Table, add};
use std::sync::Arc;

impl Network {
    /// The same without a limit on totals.
    pub fn without_top(&self) -> Network {
        let mut network = self.clone();
        network.top = FORBIDDEN;
        if let Some(globals) = &mut network.globals {
            Arc::make_mut(globals).expanded.top = FORBIDDEN;
        }
        network
    }

    /// The same without some of the functions with tables, which are chosen by their number among all functions. In
    /// place of each is a constant: 0, or its least cost where that is negative.
    pub fn without(&self, left_out: impl Fn(usize) -> bool) -> Network {
        let mut network = Network { reading: None, ..self.clone() };
        let is_global = |number: usize| self.located().binary_search_by_key(&number, |&(at, _)| at as usize).is_ok();
        let numbers = (0..self.function_count()).filter(|&number| !is_global(number)).enumerate();
        for (index, _) in numbers.filter(|&(_, number)| left_out(number)) {
            let own = &self.functions[index];
            let nothing = vec![own.min(&self.domains).min(0)];
            let nothing = CostFunction { scope: [].into(), table: Table::dense(nothing) };
            if let Some(globals) = &mut network.globals {
                let all = Arc::make_mut(&mut Arc::make_mut(globals).expanded.functions);
                // evidence stands behind the parts of the global functions
                let parts = all.len() - self.functions.len();
                let here = all[index].scope == own.scope && all[index].table == own.table;
                all[if here { index } else { index + parts }] = nothing.clone();
            }
            Arc::make_mut(&mut network.functions)[index] = nothing;
        }
        network.least = network.sum_of_leasts();
        if let Some(globals) = &mut network.globals {
            let expanded = &mut Arc::make_mut(globals).expanded;
            expanded.least = expanded.sum_of_leasts();
        }
        network
    }

    fn sum_of_leasts(&self) -> i64 {
        self.functions.iter().map(|function| function.min(&self.domains)).fold(0, add)
    }
}
