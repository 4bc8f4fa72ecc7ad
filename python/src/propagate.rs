//! Soft arc consistency of a network, as a bound on its solutions and on those with each value.

use crate::event::number;
use crate::network::Network;
use crate::wait::wait;
use fangs_base::stop::Stop;
use fangs_bounds::bounds::Shift;
use fangs_bounds::reduce::Reducer;
use fangs_model::model::FORBIDDEN;
use numpy::PyArray1;
use pyo3::prelude::*;
use std::sync::Arc;

/// A lower bound, and for each variable whether each value may be in a solution.
type Propagated<'py> = (Option<Py<PyAny>>, Vec<Bound<'py, PyArray1<bool>>>);

#[pymethods]
impl Network {
    /// Establishes soft arc consistency; returns a bound on all solutions and the values that solutions may have.
    fn propagate<'py>(&self, py: Python<'py>) -> PyResult<Propagated<'py>> {
        let network = self.built(py)?;
        let own = network.clone();
        let (lower, bounds) = wait(py, &Stop::new(), move |stop| {
            let reducer = Reducer::new(&own, false, stop)?;
            let problem = Arc::new(reducer.fitting_problem(stop)?);
            let order: Vec<u32> = (0..problem.domains.len() as u32).collect();
            let mut bounds: Vec<Vec<bool>> = own.domains().iter().map(|&size| vec![true; size as usize]).collect();
            let mut lower = problem.constant;
            if let Some(mut shift) = Shift::new(&problem, None, &order, stop) {
                let _ = shift.advance(u64::MAX, stop);
                lower = lower.max(shift.lower_bound(own.top()));
                for (index, costs) in shift.value_bounds(stop)?.iter().enumerate() {
                    let Some(bounds) = bounds.get_mut(reducer.variables()[index] as usize) else { continue };
                    for (&value, &cost) in reducer.values(index).iter().zip(costs) {
                        bounds[value as usize] = cost < own.top().min(FORBIDDEN);
                    }
                }
            }
            Ok((lower, bounds))
        })?;
        let feasible = lower < network.top() && bounds.iter().all(|values| values.contains(&true));
        let bound = if feasible { number(py, network.bound(lower))? } else { None };
        Ok((bound, bounds.into_iter().map(|values| PyArray1::from_vec(py, values)).collect()))
    }
}
