//! An assignment with the cost of every value, given the values of the other variables, kept up to date, for drivers on
//! the CPU that move one variable at a time.

use crate::core::layout::{MoveLayout, UNWATCHED, ValueMove, energy};
use crate::error::Error;
use crate::stop::Stop;
use crate::value_tables::ValueTables;

/// The assignment and its costs.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub values: Vec<u16>,
    /// The cost of each value, given the values of the other variables.
    pub costs: Vec<i32>,
    /// Sum of the tables' entries.
    pub energy: i64,
}

impl Kept {
    /// # Errors
    /// [`Error::Stopped`].
    pub fn new(tables: &ValueTables, layout: &MoveLayout, values: Vec<u16>, stop: &Stop) -> Result<Kept, Error> {
        let mut costs = vec![0; layout.moves()];
        for v in stop.each(0..values.len()) {
            let v = v?;
            tables.rate(v, &values, &mut costs[layout.range(v)], |_| true);
        }
        let energy = energy(tables, &values, stop)?;
        Ok(Kept { values, costs, energy })
    }

    /// Returns the cost of each value of a variable.
    #[inline(always)]
    pub fn costs_of(&self, layout: &MoveLayout, v: usize) -> &[i32] {
        &self.costs[layout.range(v)]
    }

    /// Moves a variable to a value.
    #[inline(always)]
    pub fn set(&mut self, tables: &ValueTables, layout: &MoveLayout, v: usize, value: u16) {
        let costs = self.costs_of(layout, v);
        self.energy += i64::from(costs[usize::from(value)]) - i64::from(costs[usize::from(self.values[v])]);
        layout.update(
            tables,
            ValueMove { values: &self.values, variable: v, value },
            &mut self.costs,
            |cost| cost,
            UNWATCHED,
        );
        self.values[v] = value;
    }
}
