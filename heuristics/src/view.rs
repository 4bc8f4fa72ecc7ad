//! The view of a state's assignment for heuristics.

use crate::graph::Graph;
use crate::model::Problem;
use crate::value_tables::ValueTables;
use std::sync::Arc;

/// The numbers that the variables and values of a reduced problem have in the network.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// For each variable of the reduced problem, its number in the network.
    pub variables: &'a [u32],
    /// For each variable of the network, its values that are left in the reduced problem, ascending.
    pub values: &'a [Arc<[u32]>],
}

impl<'a> Origin<'a> {
    fn values_of(&self, variable: usize) -> &'a [u32] {
        &self.values[self.variables[variable] as usize]
    }
}

/// An assignment of a reduced problem. Variables and values have the reduced problem's numbers; [`View::origin`]
/// returns the network's.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The tables of the problem.
    pub tables: &'a ValueTables,
    /// The graph of variables with common functions.
    pub graph: &'a Graph,
    /// The numbers in the network; `None` if the problem is the network itself.
    pub origin: Option<Origin<'a>>,
    /// The value of each variable.
    pub values: &'a [u16],
}

impl<'a> View<'a> {
    /// Returns a view of the problem with other values.
    pub fn with<'b>(&self, values: &'b [u16]) -> View<'b>
    where
        'a: 'b,
    {
        View { values, ..*self }
    }

    /// Returns the reduced problem: domains, unary costs, functions.
    pub fn problem(&self) -> &'a Problem {
        &self.tables.problem
    }

    /// Returns the number of variables.
    pub fn variables(&self) -> usize {
        self.values.len()
    }

    /// Returns the number of values of a variable.
    pub fn domain(&self, variable: usize) -> usize {
        self.tables.domain(variable)
    }

    /// Returns the value of a variable.
    #[inline]
    pub fn value(&self, variable: usize) -> usize {
        usize::from(self.values[variable])
    }

    /// Returns the value of each variable.
    pub fn values(&self) -> &'a [u16] {
        self.values
    }

    /// Returns the variables that share a function with `variable`, ascending.
    pub fn neighbours(&self, variable: usize) -> &'a [u32] {
        self.graph.neighbours(variable)
    }

    /// Computes the cost of the functions on a variable for each of its values, given the values of the others.
    pub fn costs(&self, variable: usize, row: &mut Vec<i32>) {
        let tables = self.tables;
        row.resize(tables.width[variable] as usize, 0);
        tables.rate(variable, self.values, row, |_| true);
        row.truncate(tables.domain(variable));
    }

    /// Lists the other variables of the functions whose cost rises if `variable` takes `value`, each once, those of the
    /// largest increase first. Functions too large to be laid out by variables are skipped.
    pub fn clashes(&self, variable: usize, value: usize, others: &mut Vec<u32>) {
        let tables = self.tables;
        let held = self.value(variable);
        let mut rises: Vec<(i32, u32)> = Vec::new();
        for incidence in tables.incidences(variable) {
            let row = tables.row(tables.offset(incidence, self.values), tables.domain(variable));
            let rise = row.at(value) - row.at(held);
            if rise > 0 {
                rises.extend(tables.others(incidence).map(|(other, _)| (-rise, other)));
            }
        }
        rises.sort_unstable();
        others.clear();
        for (_, other) in rises {
            if !others.contains(&other) {
                others.push(other);
            }
        }
    }

    /// Returns the number that a variable of the reduced problem has in the network.
    pub fn origin(&self, variable: usize) -> usize {
        self.origin.map_or(variable, |origin| origin.variables[variable] as usize)
    }

    /// Returns the number that a value has in the network.
    pub fn origin_value(&self, variable: usize, value: usize) -> usize {
        self.origin.map_or(value, |origin| origin.values_of(variable)[value] as usize)
    }

    /// Returns the reduced problem's number of a value of the network, or `None` if the value was removed.
    pub fn value_of_origin(&self, variable: usize, value: usize) -> Option<usize> {
        match self.origin {
            Some(origin) => origin.values_of(variable).binary_search(&(value as u32)).ok(),
            None => Some(value).filter(|&value| value < self.domain(variable)),
        }
    }
}
