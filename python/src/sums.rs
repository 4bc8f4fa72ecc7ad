//! Functions of many variables that are not tables: sums, counts, different values.

use crate::error::usage;
use crate::names::Names;
use crate::network::Network;
use fangs_model::model::{Measure, Target, ValueCount};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};

/// Parses how a price grows with the distance.
fn measure(name: &str) -> PyResult<Measure> {
    let all = [("hard", Measure::Hard), ("linear", Measure::Linear), ("quadratic", Measure::Quadratic)];
    crate::options::choice(name, "measure", all.into_iter())
}

#[pymethods]
impl Network {
    /// Adds a price for the distance of a weighted sum from a range.
    #[pyo3(signature = (
        scope, weights, low = None, high = None, *, other_than = None, price = f64::INFINITY, measure = "hard"
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn linear(
        &self,
        py: Python<'_>,
        scope: &Bound<'_, PyAny>,
        weights: &Bound<'_, PyAny>,
        low: Option<i64>,
        high: Option<i64>,
        other_than: Option<i64>,
        price: f64,
        measure: &str,
    ) -> PyResult<usize> {
        let scope = Names::new(self.variables()).scope(scope)?;
        let weights: PyResult<Vec<Vec<i64>>> = weights
            .try_iter()?
            .zip(&scope)
            .map(|(weight, &v)| {
                let weight = weight?;
                match weight.extract::<i64>() {
                    Ok(factor) => {
                        let domain = i64::from(self.variables()[v as usize].domain);
                        let all = (0..domain).map(|value| value.checked_mul(factor)).collect::<Option<Vec<i64>>>();
                        all.ok_or_else(|| usage(format!("weights of {factor} pass 64 bits")))
                    }
                    Err(_) => weight.extract(),
                }
            })
            .collect();
        let target = match (low, high, other_than) {
            (None, None, Some(number)) => Target::Not(number),
            (None, None, None) => return Err(usage("a sum has a lower limit, an upper one, or both")),
            (low, high, None) => Target::Within(low.unwrap_or(i64::MIN / 4), high.unwrap_or(i64::MAX / 4)),
            _ => return Err(usage("other_than stands alone")),
        };
        let (weights, measure) = (weights?, self::measure(measure)?);
        self.add_to(py, |draft| draft.linear(scope, weights, target, price, measure))
    }

    /// Adds bounds on how many variables have certain values.
    #[pyo3(signature = (scope, bounds, *, price = f64::INFINITY, measure = "hard"))]
    fn counting(
        &self,
        py: Python<'_>,
        scope: &Bound<'_, PyAny>,
        bounds: &Bound<'_, PyMapping>,
        price: f64,
        measure: &str,
    ) -> PyResult<usize> {
        let names = Names::new(self.variables());
        let scope = names.scope(scope)?;
        let first = scope.first().copied().ok_or_else(|| usage("nothing is counted in an empty scope"))?;
        let mut counts = Vec::new();
        for pair in bounds.items()? {
            let (key, (low, high)): (Bound<'_, PyAny>, (i64, i64)) = pair.extract()?;
            let value = match key.is_instance_of::<PyString>() {
                true => names.value(first, &key)?,
                false => key.extract()?,
            };
            counts.push(ValueCount { value, low, high });
        }
        let measure = self::measure(measure)?;
        self.add_to(py, |draft| draft.counting(scope, counts, price, measure))
    }

    /// Adds a price for each pair of equal values.
    #[pyo3(signature = (scope, *, price = f64::INFINITY))]
    fn all_different(&self, py: Python<'_>, scope: &Bound<'_, PyAny>, price: f64) -> PyResult<usize> {
        let scope = Names::new(self.variables()).scope(scope)?;
        self.add_to(py, |draft| draft.all_different(scope, price))
    }
}
