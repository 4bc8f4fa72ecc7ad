//! Networks with some functions or limits removed.

use super::Network;
use crate::model::{CostFunction, FORBIDDEN, Global, GlobalKind, Linear, Price, Table, Target, add};
use std::sync::Arc;

impl Network {
    /// Returns the network without a limit on the cost of solutions.
    pub fn without_top(&self) -> Network {
        let mut network = self.clone();
        network.top = FORBIDDEN;
        if let Some(globals) = &mut network.globals {
            Arc::make_mut(globals).expanded.top = FORBIDDEN;
        }
        network
    }

    /// Iterates over the tables of the expanded network that replace a global function, given by its number among all
    /// functions.
    pub fn parts(&self, number: usize) -> impl Iterator<Item = &CostFunction> {
        let place = self.globals.as_ref().zip(self.place_of_global(number));
        let parts = place.map(|(globals, place)| &globals.expanded.functions[globals.parts[place].clone()]);
        parts.into_iter().flatten()
    }

    /// Returns whether [`Network::without`] can remove a function, given by its number among all functions. Global
    /// functions with negative costs cannot be removed.
    pub fn can_leave_out(&self, number: usize) -> bool {
        let Some((globals, place)) = self.globals.as_ref().zip(self.place_of_global(number)) else { return true };
        globals.parts[place].clone().all(|part| globals.expanded.functions[part].min(&globals.expanded.domains) >= 0)
    }

    /// Returns the network without some functions, chosen by their numbers among all functions; all of them must be
    /// removable. Each is replaced by a constant function of cost 0, or of its least cost if that is negative.
    pub fn without(&self, left_out: impl Fn(usize) -> bool) -> Network {
        let mut network = Network { reading: None, ..self.clone() };
        let constant = |cost| CostFunction { scope: [].into(), table: Table::dense(vec![cost]) };
        let mut index = 0;
        for number in 0..self.function_count() {
            let place = self.place_of_global(number);
            if let (Some(place), Some(globals)) = (place, network.globals.as_mut().filter(|_| left_out(number))) {
                let globals = Arc::make_mut(globals);
                globals.functions[place].1 = nothing();
                let all = Arc::make_mut(&mut globals.expanded.functions);
                all[globals.parts[place].clone()].fill(constant(0));
            } else if place.is_none() && left_out(number) {
                let own = &self.functions[index];
                let least = constant(own.min(&self.domains).min(0));
                if let Some(globals) = &mut network.globals {
                    let globals = Arc::make_mut(globals);
                    // evidence functions come after the tables of the global functions
                    let first = globals.parts.first().map_or(0, |range| range.start);
                    let added: usize = globals.parts.iter().map(ExactSizeIterator::len).sum();
                    let all = Arc::make_mut(&mut globals.expanded.functions);
                    all[if index < first { index } else { index + added }] = least.clone();
                }
                Arc::make_mut(&mut network.functions)[index] = least;
            }
            index += usize::from(place.is_none());
        }
        network.least = network.sum_of_leasts();
        if let Some(globals) = &mut network.globals {
            let expanded = &mut Arc::make_mut(globals).expanded;
            expanded.least = expanded.sum_of_leasts();
        }
        network
    }

    fn place_of_global(&self, number: usize) -> Option<usize> {
        self.located().binary_search_by_key(&number, |&(at, _)| at as usize).ok()
    }

    fn sum_of_leasts(&self) -> i64 {
        self.functions.iter().map(|function| function.min(&self.domains)).fold(0, add)
    }
}

/// Returns a global function without variables that is always satisfied.
fn nothing() -> Global {
    let linear =
        Linear { weights: Vec::new(), target: Target::Within(0, 0), price: Price::HARD, at_most_one: Vec::new() };
    Global { scope: [].into(), keyword: "nothing".into(), kind: GlobalKind::Linear(linear), limit: FORBIDDEN }
}
