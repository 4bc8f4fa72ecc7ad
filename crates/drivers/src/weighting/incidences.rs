//! The input of a walk: the functions of a problem with their variables.

use crate::error::Error;
use crate::stop::Stop;
use crate::value_tables::{Incidence, ValueTables};
use std::ops::Range;

/// The functions of a problem with their variables, whose tables are all copied into rows.
#[derive(Debug, Default)]
pub(crate) struct IncidenceLists {
    /// Index of the first incidence of each function, and the number of incidences.
    pub starts: Vec<u32>,
    /// The variable and the incidence of each entry.
    pub incidences: Vec<(u32, Incidence)>,
}

impl IncidenceLists {
    #[cfg(test)]
    pub fn new(tables: &ValueTables) -> Self {
        IncidenceLists::until(tables, &Stop::new()).expect("no stop is set")
    }

    /// Lists the incidences of a problem.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn until(tables: &ValueTables, stop: &Stop) -> Result<Self, Error> {
        let (mut starts, mut incidences) = (Vec::new(), Vec::new());
        for item in stop.each(tables.incidences_by_function(stop)?) {
            let (function, variable, incidence) = item?;
            starts.resize(function as usize + 1, incidences.len() as u32);
            incidences.push((variable, incidence));
        }
        starts.resize(tables.problem.functions.len() + 1, incidences.len() as u32);
        Ok(IncidenceLists { starts, incidences })
    }

    pub(super) fn of(&self, function: u32) -> &[(u32, Incidence)] {
        &self.incidences[self.starts[function as usize] as usize..self.starts[function as usize + 1] as usize]
    }
}

/// Returns the range of the sums of a variable's values, which equals that of its unary row among the entries.
pub(super) fn sums_of(tables: &ValueTables, variable: u32) -> Range<usize> {
    let first = tables.unary_at(variable as usize) as usize;
    first..first + tables.width[variable as usize] as usize
}

/// The input of a walk.
#[derive(Clone, Copy)]
pub(crate) struct WalkInput<'a> {
    pub tables: &'a ValueTables,
    pub incidences: &'a IncidenceLists,
}

/// Replaces values that are forbidden by themselves by the variable's value of lowest cost: walks never take such
/// values.
///
/// # Errors
/// [`Error::Stopped`].
pub(crate) fn without_forbidden(tables: &ValueTables, mut values: Vec<u16>, stop: &Stop) -> Result<Vec<u16>, Error> {
    for item in stop.each(values.iter_mut().enumerate()) {
        let (v, value) = item?;
        let unary = &tables.unary(v)[..tables.domain(v)];
        if unary[usize::from(*value)] >= tables.hard {
            *value = (0..unary.len()).min_by_key(|&value| unary[value]).unwrap_or(0) as u16;
        }
    }
    Ok(values)
}
