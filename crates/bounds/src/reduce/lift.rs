//! The way back: assignments of the reduced problem to those of the network, and the other way round.

use super::{Reducer, cheapest};
use crate::Error;
use crate::stop::Stop;

impl Reducer {
    /// An assignment of the network from one of the reduced problem: removed variables take their best values, those
    /// that were added for global cost functions are left out.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn lift(&self, core: &[u32], stop: &Stop) -> Result<Vec<u32>, Error> {
        let mut assignment = vec![0; self.domains.len()];
        for item in stop.finish(self.core.iter().zip(core)) {
            let (&v, &value) = item?;
            assignment[v as usize] = self.values[v as usize][value as usize];
        }
        for departure in stop.finish(self.departures.iter().rev()) {
            departure?.undo(&mut assignment);
        }
        // what was added behind the network's own variables
        let own = self.original.as_ref().map_or(self.report.before.variables, |network| network.domains().len());
        assignment.truncate(own);
        Ok(assignment)
    }

    /// The reduced problem's part of an assignment of the network. A value that was removed becomes the cheapest one
    /// left.
    ///
    /// # Errors
    /// [`Error::Stopped`].
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
