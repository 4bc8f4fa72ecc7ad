//! Mapping of assignments of the reduced problem to those of the network, and back.

use super::{Reducer, cheapest};
use crate::Error;
use crate::stop::Stop;

impl Reducer {
    /// Returns the assignment of the network for one of the reduced problem: removed variables take their best values,
    /// and variables that were added for global cost functions are dropped.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` ends the work.
    pub fn lift(&self, core: &[u32], stop: &Stop) -> Result<Vec<u32>, Error> {
        let mut assignment = vec![0; self.domains.len()];
        for item in stop.finish(self.core.iter().zip(core)) {
            let (&v, &value) = item?;
            assignment[v as usize] = self.values[v as usize][value as usize];
        }
        for departure in stop.finish(self.departures.iter().rev()) {
            departure?.undo(&mut assignment);
        }
        // drop the variables that were added after the network's own
        let own = self.original.as_ref().map_or(self.report.before.variables, |network| network.domains().len());
        assignment.truncate(own);
        Ok(assignment)
    }

    /// Returns the reduced problem's part of an assignment of the network. A removed value is replaced by the remaining
    /// one of least unary cost.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` ends the work.
    pub fn project(&self, assignment: &[u32], stop: &Stop) -> Result<Vec<u32>, Error> {
        let extended = self.original.as_ref().map(|network| network.extend(assignment));
        let assignment = extended.as_deref().unwrap_or(assignment);
        let assignment = self.with_merged(assignment);
        let value = |v: Result<&u32, Error>| {
            let v = *v? as usize;
            Ok(self.values[v].binary_search(&assignment[v]).unwrap_or_else(|_| cheapest(&self.unary[v])) as u32)
        };
        stop.finish(&self.core).map(value).collect()
    }
}
